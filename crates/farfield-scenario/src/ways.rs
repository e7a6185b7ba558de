//! Ways to the server that the sockets plane alone has: several addresses of a name, and their renewal.

use crate::elsewhere::ConnectTo;
use crate::http::HttpVersion;
use crate::mistake::Mistake;
use crate::{Scenario, Url};
use farfield_base::Duration;
use farfield_engine::PlaneKind;
use farfield_engine::sockets::PeerBook;
use farfield_user::{Addresses, Policy};
use std::net::SocketAddr;
use std::sync::Arc;

/// The shortest time between two look-ups: a resolver is not the server that is measured.
const RESOLVE_EVERY_MIN: Duration = Duration::from_ms(100);

impl Scenario {
    /// Refuses keys on ways to the server that the plane, or other keys, exclude.
    pub(crate) fn check_ways(&self) -> Result<(), Mistake> {
        let Policy { addresses, resolve_every, unix_socket, proxy, .. } = &self.connections;
        let (addresses, resolve_every) = (*addresses, *resolve_every);
        if self.plane != PlaneKind::Sockets {
            let name = self.plane.name();
            let own = "remove this key, or write plane = \"sockets\"";
            let resolver = format!(
                "it is about the addresses that a resolver knows, and the server of the {name} plane has one of each \
                 family; {own}"
            );
            let packets = format!("clients of the {name} plane send packets to their server; {own}");
            let tunnels = format!("clients of the {name} plane connect to the server itself; {own}");
            let written = [
                ("connections.addresses", addresses != Addresses::First, &resolver),
                ("connections.resolve-every", resolve_every.is_some(), &resolver),
                ("connections.unix-socket", unix_socket.is_some(), &packets),
                ("connections.proxy", proxy.is_some(), &tunnels),
            ];
            let found = written.into_iter().find(|(_, written, _)| *written);
            return found.map_or(Ok(()), |(key, _, sentence)| Err(Mistake::at(key, sentence)));
        }
        if unix_socket.is_some() {
            return self.check_unix_socket();
        }
        if proxy.is_some() {
            self.check_proxy()?;
        }
        match (addresses, resolve_every) {
            (Addresses::First | Addresses::All, Some(_)) => Err(Mistake::at(
                "connections.resolve-every",
                "the name is resolved once, before the run; write connections.addresses = \"each-connection\", or remove \
                 this key",
            )),
            (_, Some(every)) if every < RESOLVE_EVERY_MIN => {
                let sentence =
                    format!("a resolver is asked every {RESOLVE_EVERY_MIN} at most; write so much or more");
                Err(Mistake::at("connections.resolve-every", sentence))
            }
            (Addresses::All | Addresses::EachConnection, _) if self.target.is_none() => Err(Mistake::at(
                "connections.addresses",
                "the built-in server has one address; name a target, or remove this key",
            )),
            (Addresses::EachConnection, _) if self.capture.is_some() => Err(Mistake::at(
                "connections.addresses",
                "a capture is of addresses that are known before the run; write \"first\" or \"all\", or remove [capture]",
            )),
            _ => Ok(()),
        }
    }

    /// Refuses keys that cannot be together with a Unix socket.
    fn check_unix_socket(&self) -> Result<(), Mistake> {
        let key = "connections.unix-socket";
        if self.target.is_none() {
            let sentence = "the URL says which host and path to ask for; name it, such as http://localhost/";
            return Err(Mistake::at(key, sentence));
        }
        let policy = &self.connections;
        let written = [
            ("connections.addresses", policy.addresses != Addresses::First),
            ("connections.resolve-every", policy.resolve_every.is_some()),
            ("sockets.connect-to", !self.sockets.connect_to.is_empty()),
            ("sockets.sources", self.sockets.sources.is_some()),
            ("connections.proxy", policy.proxy.is_some()),
            ("capture", self.capture.is_some()),
            ("http", self.http == HttpVersion::Http3),
        ];
        match written.into_iter().find(|(_, written)| *written) {
            None => Ok(()),
            Some((other, _)) => {
                let sentence = format!(
                    "a Unix socket ({key}) has no addresses, no packets and no datagrams; remove this key, or {key}"
                );
                Err(Mistake::at(other, sentence))
            }
        }
    }

    /// Refuses keys that cannot be together with a proxy.
    fn check_proxy(&self) -> Result<(), Mistake> {
        let key = "connections.proxy";
        if self.target.is_none() {
            let sentence = "a proxy is asked for the server of a URL, and the built-in one has none; name a target, or \
                            remove this key";
            return Err(Mistake::at(key, sentence));
        }
        let refuse = |other: &str, sentence: &str| {
            Err(Mistake::at(other, format!("{sentence}; remove this key, or {key}")))
        };
        if self.http == HttpVersion::Http3 {
            return refuse("http", "a proxy's tunnel (CONNECT) carries TCP, and HTTP/3 goes over UDP");
        }
        if !self.sockets.connect_to.is_empty() {
            let sentence = "the proxy looks the target's name up and connects to it, not farfield";
            return refuse("sockets.connect-to", sentence);
        }
        if self.capture.is_some() {
            let sentence = "what is captured is the way to the proxy, in which the requests are not those that the server has";
            return refuse("capture", sentence);
        }
        Ok(())
    }

    /// The host and port that connections go to for `target`.
    pub(crate) fn connects_to(&self, target: &Url) -> (String, u16) {
        match &self.connections.proxy {
            Some(proxy) => (proxy.host().to_owned(), proxy.port()),
            None => ConnectTo::place(&self.sockets.connect_to, target.host(), target.port()),
        }
    }

    /// The addresses of `host` that connections go to, where they are not the first alone: `all` of them, in
    /// order.
    pub(crate) fn peers(&self, host: &str, all: &[SocketAddr]) -> Option<Arc<PeerBook>> {
        let every = self.connections.resolve_every.unwrap_or(Policy::RESOLVE_EVERY);
        Some(Arc::new(match self.connections.addresses {
            Addresses::First => return None,
            Addresses::All => PeerBook::all(all),
            Addresses::EachConnection => PeerBook::renewed(host.to_owned(), *all.first()?, every),
        }))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Overlay, from_text};
    use std::net::TcpListener;

    #[test]
    fn keys_that_a_plane_cannot_have_are_named() {
        let refused = |text: &str, parts: &[&str]| {
            let error = from_text(text, None, &Overlay::default()).expect_err(text).to_string();
            for part in parts {
                assert!(error.contains(part), "{text}: {error}");
            }
        };
        let all = "connections.addresses = 'all'";
        refused(&format!("plane = 'emulated'\n{all}"), &["connections.addresses", "emulated plane"]);
        refused(&format!("plane = 'simulated'\n{all}"), &["connections.addresses", "simulated plane"]);
        refused("plane = 'simulated'\nconnections.resolve-every = '1s'", &["connections.resolve-every"]);
        refused(all, &["connections.addresses", "built-in server"]);
        let unix = "connections.unix-socket = '/run/a.sock'";
        refused(&format!("plane = 'emulated'\n{unix}"), &["connections.unix-socket", "packets"]);
        refused(unix, &["connections.unix-socket", "http://localhost/"]);
        let url = "target = 'http://a.test/'";
        for (other, key) in [
            ("connections.addresses = 'all'", "connections.addresses"),
            ("sockets.connect-to = ['a.test:80:127.0.0.1:81']", "sockets.connect-to"),
            ("sockets.sources = ['127.0.0.0/8']", "sockets.sources"),
            ("capture = {}", "capture"),
        ] {
            refused(&format!("{url}\n{unix}\n{other}"), &[key, "Unix socket"]);
        }
        refused(&format!("target = 'https://a.test/'\nhttp = '3'\n{unix}"), &["http", "datagrams"]);
        refused(&format!("{url}\nconnections.unix-socket = ''"), &["connections.unix-socket", "path"]);
        refused(
            &format!("{url}\n{all}\nconnections.resolve-every = '1s'"),
            &["resolve-every", "each-connection"],
        );
        let each = "connections.addresses = 'each-connection'";
        refused(&format!("{url}\n{each}\nconnections.resolve-every = '1ms'"), &["resolve-every", "100ms"]);
        refused(&format!("{url}\n{each}\ncapture = {{}}"), &["connections.addresses", "capture"]);
        for text in [
            unix.to_owned(),
            all.to_owned(),
            each.to_owned(),
            format!("{each}\nconnections.resolve-every = '1s'"),
        ] {
            let text = format!("{url}\n{text}");
            assert!(from_text(&text, None, &Overlay::default()).is_ok(), "{text}");
        }
    }
    /// Why a run of `text` does not begin, or the warnings with which it does.
    fn prepared(text: &str) -> Result<Vec<String>, String> {
        let plan = from_text(text, None, &Overlay::default()).map_err(|error| error.to_string())?;
        let prepared = plan.prepare(String::new()).map_err(|error| error.to_string())?;
        Ok(prepared.run.settings.warnings)
    }

    #[test]
    fn what_is_missing_before_a_run_is_named_as_what_it_is() {
        let server = TcpListener::bind("127.0.0.1:0").expect("a socket");
        let target = format!("target = 'http://{}/'", server.local_addr().expect("an address"));
        let free = TcpListener::bind("127.0.0.1:0").and_then(|there| there.local_addr()).expect("a port");
        let refused = |text: &str, parts: &[&str]| {
            let error = prepared(text).expect_err(text);
            for part in parts {
                assert!(error.contains(part), "{text}: {error}");
            }
        };
        let proxied = format!("{target}\nconnections.proxy = 'http://{free}'");
        refused(&proxied, &["no proxy answers at", &free.to_string(), "`--proxy`"]);
        refused(
            &format!("target = 'https://{free}/'\nhttp = '3'"),
            &["nothing answers at", "over UDP", "HTTP/3", "`--http`"],
        );
        let sources = format!("{target}\nsockets.sources = ['127.0.0.1', '192.0.2.7']");
        refused(&sources, &["sockets.sources", "192.0.2.7 is no address of this machine"]);
    }

    /// A rule for another host or port does nothing, and a run does not begin in silence.
    #[test]
    fn rules_about_nobody_are_named() {
        let server = TcpListener::bind("127.0.0.1:0").expect("a socket");
        let port = server.local_addr().expect("an address").port();
        let rules = |rules: &str, target: &str| {
            prepared(&format!("target = 'http://{target}/'\nsockets.connect-to = [{rules}]"))
        };
        let own = format!("127.0.0.1:{port}");
        let says =
            |warnings: &[String]| warnings.iter().any(|one| one.contains("no rule of sockets.connect-to"));
        let about = format!("'127.0.0.1:{port}::', 'b.test:80:127.0.0.1:'");
        assert!(!says(&rules(&about, &own).expect("a run")), "one of them is");
        let warnings = rules("'b.test:80:127.0.0.1:', '127.0.0.1:1:127.0.0.1:'", &own).expect("a run");
        assert!(says(&warnings) && warnings.iter().any(|one| one.contains(&own)), "{warnings:?}");
        let error = rules("'a.invalid:80:127.0.0.1:'", "a.invalid:8080").expect_err("no such name");
        assert!(error.contains("does not resolve") && error.contains("about a.invalid:8080"), "{error}");
    }
}
