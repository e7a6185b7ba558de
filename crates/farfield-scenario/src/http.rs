//! `http`: the version that users speak, and what it leaves out.

use crate::mistake::Mistake;
use crate::scenario::Scenario;
use crate::tls::TlsVersion;
use farfield_engine::PlaneKind;
use farfield_http::tls::Alpn;
use farfield_user::Reuse;
use serde::{Deserialize, Serialize};

/// The version of HTTP that users speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum HttpVersion {
    /// HTTP/1.0.
    #[serde(rename = "1.0")]
    Http10,
    /// HTTP/1.1.
    #[serde(rename = "1.1")]
    Http11,
    /// HTTP/2: over TLS if the server agrees to it (ALPN), else by prior knowledge.
    #[serde(rename = "2")]
    Http2,
    /// HTTP/3: over QUIC, straight away, to the target's port.
    #[serde(rename = "3")]
    Http3,
    /// The version that a browser would choose. Over https the server chooses HTTP/2 or HTTP/1.1 (ALPN), and
    /// a user tries HTTP/3 once the server has named it (Alt-Svc); over http it is HTTP/1.1.
    #[default]
    #[serde(rename = "auto")]
    Auto,
}

impl HttpVersion {
    /// The version as users have it, who talk TLS with cryptography or not.
    pub(crate) fn of_users(self, encrypted: bool) -> farfield_user::HttpVersion {
        match self {
            HttpVersion::Auto if encrypted => farfield_user::HttpVersion::Auto,
            HttpVersion::Auto => farfield_user::HttpVersion::Http11,
            HttpVersion::Http10 => farfield_user::HttpVersion::Http10,
            HttpVersion::Http11 => farfield_user::HttpVersion::Http11,
            HttpVersion::Http2 => farfield_user::HttpVersion::Http2,
            HttpVersion::Http3 => farfield_user::HttpVersion::Http3,
        }
    }

    /// The protocol that sessions of TLS are for.
    pub(crate) fn alpn(self) -> Alpn {
        match self {
            HttpVersion::Http10 | HttpVersion::Http11 => Alpn::Http11,
            HttpVersion::Http2 => Alpn::Http2,
            HttpVersion::Http3 => Alpn::Http3,
            HttpVersion::Auto => Alpn::Either,
        }
    }
}

impl Scenario {
    /// Refuses HTTP/3 where there is no TLS 1.3, or where a process holds a connection, and policies of the
    /// other version.
    pub(crate) fn check_http(&self) -> Result<(), Mistake> {
        let policy = self.connections.policy;
        let streams = self.simulated.as_ref().is_some_and(|model| model.events.is_some());
        if self.plane == PlaneKind::Simulated
            && streams
            && !matches!(self.http, HttpVersion::Http11 | HttpVersion::Auto)
        {
            let sentence = "the model of a server streams over HTTP/1.1 alone; leave `http` out, or write http = \"1.1\"";
            return Err(Mistake::at("simulated.events", sentence));
        }
        let is_chosen = self.has_secure_host() && self.plane != PlaneKind::Simulated;
        if self.http == HttpVersion::Auto && is_chosen {
            return self.check_auto();
        }
        if !matches!(self.http, HttpVersion::Http2 | HttpVersion::Http3) {
            let sentence = "`multiplexed` is about streams, which HTTP/1 does not have; write http = \"2\" (--http 2) or \"3\", or \
                            `pipelined`";
            return match policy {
                Reuse::Multiplexed => Err(Mistake::at("connections.policy", sentence)),
                _ => Ok(()),
            };
        }
        if policy.pipelines() {
            let sentence = "HTTP/2 and HTTP/3 have streams in place of pipelining; write `multiplexed` or `persistent`, and `streams`";
            return Err(Mistake::at("connections.policy", sentence));
        }
        if self.http == HttpVersion::Http3 { self.check_http3() } else { Ok(()) }
    }
}

impl Scenario {
    /// True if `auto` leaves the version to the server: without TLS it is HTTP/1.1, and the simulated
    /// plane's model of a server chooses nothing else.
    pub(crate) fn chooses_version(&self) -> bool {
        self.is_secure() && self.plane != PlaneKind::Simulated
    }

    /// A policy that needs one version is refused where the server may choose another.
    fn check_auto(&self) -> Result<(), Mistake> {
        let sentence = match self.connections.policy {
            Reuse::Multiplexed => {
                "`multiplexed` needs streams, and with http = \"auto\" the server may choose HTTP/1.1; write http = \"2\" \
                 (--http 2) or \"3\", or `persistent`"
            }
            policy if policy.pipelines() => {
                "pipelining is of HTTP/1.1, and with http = \"auto\" the server may choose another version; write \
                 http = \"1.1\" (--http 1.1), or `persistent`"
            }
            _ => return Ok(()),
        };
        Err(Mistake::at("connections.policy", sentence))
    }

    /// HTTP/3 is never in cleartext, and QUIC has TLS 1.3 alone (RFC 9001 section 4.2).
    fn check_http3(&self) -> Result<(), Mistake> {
        let is_simulated = self.plane == PlaneKind::Simulated;
        if !self.is_secure() && is_simulated {
            let sentence = "HTTP/3 is always over TLS, and the model of a server has none; give it some with \
                            [simulated.tls], or write http = \"2\"";
            return Err(Mistake::at("http", sentence));
        }
        if !self.is_secure() {
            let sentence = "HTTP/3 is always over TLS; write an https:// target, or for the built-in server \
                            origin.tls = true (--tls), or http = \"2\"";
            return Err(Mistake::at("http", sentence));
        }
        let versions = self.tls.clone().unwrap_or_default().versions;
        if !versions.contains(&TlsVersion::Tls13) {
            let sentence =
                "HTTP/3 needs TLS 1.3, which is not among these; add \"1.3\", or write http = \"2\"";
            return Err(Mistake::at("tls.versions", sentence));
        }
        match self.simulated.as_ref().filter(|_| is_simulated) {
            Some(model) => model.check_http3(),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::from_text;
    use crate::overlay::Overlay;
    use std::path::Path;

    #[test]
    fn what_http2_leaves_out_is_refused_by_name() {
        let check = |text: &str, parts: &[&str]| {
            let text = format!("{text}\n");
            let read = from_text(&text, Some(Path::new("s.toml")), &Overlay::default());
            let sentence = read.expect_err(&text).to_string();
            for part in parts {
                assert!(sentence.contains(part), "`{part}` is not in: {sentence}");
            }
        };
        let url = "target = 'http://10.0.0.1/'\nhttp = '2'\n";
        let simulated = "http = '3'\nplane = 'simulated'";
        check(simulated, &["s.toml:1: http: ", "always over TLS", "[simulated.tls]"]);
        check(
            &format!("{simulated}\n[simulated]\nholding = 'connection'\n[simulated.tls]"),
            &["s.toml:4: simulated.holding: ", "HTTP/3", "\"request\""],
        );
        check(
            &format!("{simulated}\n[simulated.tls]\nversions = ['1.2']"),
            &["s.toml:4: simulated.tls.versions: ", "TLS 1.3"],
        );
        check(
            &format!("{simulated}\n[simulated.tls]\n[tls]\nversions = ['1.2']"),
            &["s.toml:5: tls.versions: ", "TLS 1.3"],
        );
        check("plane = 'simulated'\nsimulated.streams = 0", &["simulated.streams", "from 1"]);
        for text in ["http = '2'", "http = '2'\n[simulated.tls]", "http = '3'\n[simulated.tls]"] {
            let text = format!("plane = 'simulated'\n{text}");
            let read = from_text(&text, None, &Overlay::default()).expect(&text);
            let shown =
                from_text(&read.scenario.to_toml(), None, &Overlay::default()).expect("what is shown");
            assert_eq!(shown.scenario, read.scenario);
        }
        for policy in ["pipelined", "pipelined-early-close"] {
            check(
                &format!("{url}connections.policy = '{policy}'"),
                &["s.toml:3: connections.policy: ", "multiplexed"],
            );
        }
        check("connections.policy = 'multiplexed'", &["s.toml:1: connections.policy: ", "http = \"2\""]);
        check(
            &format!(
                "{url}load = {{ model = 'closed' }}\n[[session.state]]\nname = 'a'\npath = '/'\n\
                 headers = {{ Upgrade = '${{user}}' }}"
            ),
            &["session: ", "no place in HTTP/2"],
        );
        check(
            &format!("{url}[requests]\nrequest = [{{ path = '/', headers = {{ upgrade = 'x' }} }}]"),
            &["requests", "upgrade"],
        );
        from_text("http = '2'\n", None, &Overlay::default()).expect("the built-in server speaks HTTP/2");
        let secure = "target = 'https://10.0.0.1/'\nhttp = 'auto'\n";
        for (policy, part) in [("multiplexed", "may choose HTTP/1.1"), ("pipelined", "may choose another")] {
            let expected = ["s.toml:3: connections.policy: ", part];
            check(&format!("{secure}connections.policy = '{policy}'"), &expected);
        }
        for text in
            [secure, "http = 'auto'\nplane = 'simulated'", "http = 'auto'\nconnections.policy = 'pipelined'"]
        {
            from_text(text, None, &Overlay::default()).expect(text);
        }
        for policy in ["multiplexed", "persistent", "one-request", "early-close", "shared-pool"] {
            let text = format!("{url}connections.policy = '{policy}'\nconnections.streams = 7");
            let read = from_text(&text, None, &Overlay::default()).expect("a scenario");
            assert_eq!(read.scenario.connections.streams.get(), 7);
            let shown =
                from_text(&read.scenario.to_toml(), None, &Overlay::default()).expect("what is shown");
            assert_eq!(shown.scenario, read.scenario);
        }
    }
}
