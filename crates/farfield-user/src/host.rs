//! The hosts that users ask: what is known of each before the run, and the clients of TLS, HTTP/3 and proxies
//! that connections to it are opened with.

use crate::book::{HttpVersion, Target};
use crate::connection::Connection;
use crate::plan::Share;
use bytes::Bytes;
use farfield_base::HostNumber;
use farfield_base::random::Seed;
use farfield_http::{quic, tls};
use std::borrow::Cow;
use std::sync::Arc;
use url::Url;

/// A host as its requests name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HostName {
    /// Name or address, with the port where it is not the scheme's own.
    pub authority: Box<str>,
    /// The version that its requests are written for.
    pub version: HttpVersion,
    /// The scheme, `://` and the authority.
    pub origin: Box<str>,
}

impl HostName {
    /// The names of all `targets`, in their order.
    pub fn of_all(targets: &[Target]) -> Arc<[HostName]> {
        let name = |target: &Target| HostName {
            authority: target.host.as_str().into(),
            version: target.version,
            origin: format!("{}://{}", target.scheme(), target.host).into(),
        };
        targets.iter().map(name).collect()
    }
}

/// The host of a request for `target`, a path or a URL, and the path that it is asked for there: of a path
/// the first of `hosts`; nothing of a URL that is of none.
pub(crate) fn place<'a>(hosts: &[HostName], target: &'a str) -> Option<(HostNumber, Cow<'a, str>)> {
    let Some((scheme, rest)) = target.split_once("://").filter(|_| !target.starts_with('/')) else {
        return Some((HostNumber::TARGET, target.into()));
    };
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let scheme = match scheme.to_ascii_lowercase().as_str() {
        "ws" => "http",
        "wss" => "https",
        _ => scheme,
    };
    // Names are compared as browsers have them, and a usual port may be written.
    let root = Url::parse(&format!("{scheme}://{authority}/")).ok()?;
    // Credentials are the host's, and not one request's.
    if authority.contains('@') {
        return None;
    }
    let is_of = |host: &HostName| {
        Url::parse(&format!("{}/", host.origin)).is_ok_and(|own| own.origin() == root.origin())
    };
    let place = hosts.iter().position(is_of)?;
    let path = if path.starts_with('/') { path.into() } else { format!("/{path}").into() };
    Some((HostNumber::at(place), path))
}

/// A host that connections lead to.
#[derive(Debug)]
pub(crate) struct Host {
    /// The version of HTTP that users speak with it.
    pub version: HttpVersion,
    /// The client of connections of TCP; absent where the scheme is http.
    pub tls: Option<tls::Client>,
    /// The client of connections that are upgraded to WebSockets, where those of requests may have streams.
    pub upgrades: Option<tls::Client>,
    /// The client of users who may speak HTTP/3.
    pub http3: Option<quic::Client>,
    /// The request for a tunnel through a proxy, where there is one to go through.
    pub tunnel: Option<Bytes>,
}

impl Host {
    /// All hosts of a flow, by number.
    pub fn of_all(plan: &Share) -> Vec<Host> {
        let names = plan.itinerary.hosts().iter();
        names.enumerate().map(|(place, name)| Host::of(plan, place, name)).collect()
    }

    fn of(plan: &Share, place: usize, name: &HostName) -> Host {
        let version = name.version;
        let tls = plan.tls.get(place).and_then(Option::as_ref);
        let tunnel = plan.policy.proxy.as_ref().filter(|_| tls.is_some() || !version.has_absolute_form());
        let carries_quic = version == HttpVersion::Http3 || plan.policy.carries_datagrams();
        Host {
            version,
            tunnel: tunnel.map(|proxy| proxy.tunnel_request(&name.authority, tls.is_some()).into()),
            http3: quic_client(version, tls, (plan.seed, plan.worker.number, place)).filter(|_| carries_quic),
            upgrades: upgrade_client(version, tls).filter(|_| plan.itinerary.opens_websockets()),
            tls: tls.filter(|_| version != HttpVersion::Http3).map(tls::Client::new),
        }
    }

    /// True if users look for alternatives in its replies.
    pub fn looks_for_alternatives(&self) -> bool {
        self.version == HttpVersion::Auto && self.http3.is_some()
    }

    /// The client of a connection of TCP.
    pub fn client_of(&self, connection: &Connection) -> Option<&tls::Client> {
        self.upgrades.as_ref().filter(|_| connection.upgrades).or(self.tls.as_ref())
    }

    /// Forgets the tickets of user `user`.
    pub fn forget(&self, user: u32) {
        for client in self.tls.iter().chain(&self.upgrades) {
            client.forget(user);
        }
        if let Some(client) = &self.http3 {
            client.forget(user);
        }
    }
}

/// The client of connections that are upgraded, which speak HTTP/1.1 whatever users speak beside them.
fn upgrade_client(version: HttpVersion, tls: Option<&tls::Sessions>) -> Option<tls::Client> {
    match tls {
        Some(tls::Sessions::Encrypted(settings)) if version.may_have_streams() => {
            let settings = tls::TlsSettings::clone(settings).speaking(tls::Alpn::Http11);
            Some(tls::Client::new(&tls::Sessions::Encrypted(settings)))
        }
        _ => None,
    }
}

/// The client of HTTP/3, whose handshakes are those of `tls`, where the version may be that.
///
/// # Panics
/// If it must be HTTP/3, without TLS, which whoever makes the plan checks. Without cryptography the numbers
/// of QUIC follow from the run's seed, the worker's number and the host's.
fn quic_client(
    version: HttpVersion,
    tls: Option<&tls::Sessions>,
    (seed, worker, host): (Seed, u32, usize),
) -> Option<quic::Client> {
    match (version, tls) {
        (HttpVersion::Http3, Some(tls::Sessions::Encrypted(settings))) => Some(quic::Client::new(settings)),
        (HttpVersion::Http3, Some(tls::Sessions::Modelled(offer))) => {
            let mut bytes = [0; quic::SEED_BYTES];
            bytes[..8].copy_from_slice(&seed.0.to_le_bytes());
            bytes[8..12].copy_from_slice(&worker.to_le_bytes());
            bytes[12] = host as u8;
            Some(quic::Client::modelled(Arc::clone(offer), bytes))
        }
        (HttpVersion::Http3, None) => unreachable!("HTTP/3 is refused without TLS"),
        // QUIC has TLS 1.3 alone (RFC 9001 section 4.2).
        (HttpVersion::Auto, Some(tls::Sessions::Encrypted(settings))) if settings.offers_tls13() => {
            Some(quic::Client::new(settings))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_lead_to_their_hosts() {
        let target = |host: &str, secure| Target {
            host: host.into(),
            version: HttpVersion::Http11,
            authorization: None,
            secure,
            proxy: None,
        };
        let hosts =
            HostName::of_all(&[target("shop", false), target("shop", true), target("api:8080", false)]);
        for (url, expected) in [
            ("/", Some((0, "/"))),
            ("/go?to=http://api:8080/", Some((0, "/go?to=http://api:8080/"))),
            ("*", Some((0, "*"))),
            ("http://shop/a?b", Some((0, "/a?b"))),
            ("http://Shop:80?b", Some((0, "/?b"))),
            ("http://user:pass@shop/", None),
            ("HTTPS://SHOP", Some((1, "/"))),
            ("http://api:8080/", Some((2, "/"))),
            ("ws://api:8080/chat", Some((2, "/chat"))),
            ("WSS://shop/chat", Some((1, "/chat"))),
            ("http://api:80801/", None),
            ("http://api/", None),
            ("http://shop.test/", None),
        ] {
            let found = place(&hosts, url).map(|(host, path)| (host.index(), path.into_owned()));
            assert_eq!(found, expected.map(|(host, path)| (host, path.to_owned())), "{url}");
        }
    }
}
