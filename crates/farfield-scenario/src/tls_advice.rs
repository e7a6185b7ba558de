//! Advice on a server whose TLS cannot be used, by the reason and by what the scenario says already: nobody
//! is advised to do what was just done.

use crate::Scenario;
use crate::http::HttpVersion;
use crate::tls::{TlsSpec, TlsVersion};
use farfield_base::{Cause, Outcome, Rule};
use farfield_engine::tls_probe::ServerRefusal;
use farfield_http::tls::{BAD_SIGNATURE, EXPIRED, NO_PIN, NO_TRUSTED_ROOT, NOT_VALID_YET, OF_A_CA};

impl Scenario {
    /// The sentence about `refusal`, with what to do.
    pub fn advise(&self, refusal: &ServerRefusal) -> String {
        format!("{refusal}; {}", self.remedy(refusal))
    }

    fn remedy(&self, refusal: &ServerRefusal) -> String {
        let spec = self.tls.clone().unwrap_or_default();
        match refusal.outcome {
            Outcome::TlsUntrusted => trust(&spec, refusal),
            Outcome::TlsNameMismatch => self.name(&spec),
            Outcome::TlsAlpnRefused => self.protocol(),
            Outcome::TlsIncompatible => versions(&spec, self.http),
            Outcome::TlsCertificateRefused => {
                "give users one that it trusts with `--cert` and `--key` (tls.certificate, tls.key)".to_owned()
            }
            Outcome::NotTls => {
                "write http:// in the target, or the port on which the server speaks TLS".to_owned()
            }
            Outcome::NoQuicVersion => {
                "users speak QUIC version 1 (RFC 9000): let the server speak it, or write `--http 2` or `--http 1.1`"
                    .to_owned()
            }
            _ => "the server's log may say why".to_owned(),
        }
    }

    /// The name that users ask for is not the certificate's.
    fn name(&self, spec: &TlsSpec) -> String {
        let asked = match (&spec.server_name, &self.target) {
            (Some(name), _) => format!("users ask for `{name}` because of tls.server-name: write there"),
            (None, Some(url)) => {
                format!("users ask for `{}`, the target's host: write in tls.server-name", url.host())
            }
            (None, None) => "write in tls.server-name".to_owned(),
        };
        format!("{asked} a name that the certificate is for, or accept any with `--insecure`")
    }

    /// The server does not speak the version of HTTP that is asked for.
    fn protocol(&self) -> String {
        let (asked, others) = match self.http {
            HttpVersion::Http2 => ("HTTP/2 (http, `--http`)", "`--http 1.1`, or `--http auto`"),
            HttpVersion::Http3 => ("HTTP/3 (http, `--http`)", "`--http 2` or `--http 1.1`"),
            _ => ("HTTP/1.1 (http, `--http`)", "`--http 2`"),
        };
        format!("users speak {asked}: let the server speak it over TLS, or write {others}")
    }
}

fn trust(spec: &TlsSpec, refusal: &ServerRefusal) -> String {
    let rule = match refusal.detail.as_ref().map(|detail| detail.cause) {
        Some(Cause::Broken(rule)) => rule,
        _ => Rule::new("", ""),
    };
    let anyway = "to measure it as it is, accept any certificate with `--insecure`";
    match rule {
        EXPIRED => format!("renew it, or see whether this machine's clock is right; {anyway}"),
        NOT_VALID_YET => {
            format!("see whether this machine's clock is right, and the dates of the certificate; {anyway}")
        }
        NO_PIN => "write the pin of the server's key, if it is the server that is meant".to_owned(),
        BAD_SIGNATURE => match &spec.ca {
            Some(ca) => format!(
                "{} (`--cacert`, tls.ca) has an issuer of the name that it has, with another key: name the CA that issued \
                 it; {anyway}",
                ca.display()
            ),
            None => format!("let its issuer sign it anew; {anyway}"),
        },
        // Nobody else has signed it: whoever trusts it names it.
        OF_A_CA => match &spec.ca {
            Some(ca) => format!(
                "{} (`--cacert`, tls.ca) does not have it: name there the server's own certificate; {anyway}",
                ca.display()
            ),
            None => format!("name it with `--cacert`, if it is the one that the server is to have; {anyway}"),
        },
        NO_TRUSTED_ROOT => match &spec.ca {
            Some(ca) => format!(
                "{} (`--cacert`, tls.ca) has none of its issuers: name the CA that issued it, have the server send the \
                 certificates between the two, or pin its key with tls.pins",
                ca.display()
            ),
            None => "the roots of this system were asked: name the server's CA with `--cacert`, its key with tls.pins, \
                     have the server send the certificates between its own and the root's, or accept any with \
                     `--insecure`"
                .to_owned(),
        },
        _ => format!("give the server another; {anyway}"),
    }
}

/// Versions, cipher suites and groups have nothing in common with the server's.
fn versions(spec: &TlsSpec, http: HttpVersion) -> String {
    let usual = TlsSpec::default();
    let missing = [TlsVersion::Tls12, TlsVersion::Tls13].into_iter().find(|own| !spec.versions.contains(own));
    let version = match (http, missing) {
        // QUIC has TLS 1.3 alone.
        (HttpVersion::Http3, _) | (_, None) => None,
        (_, Some(TlsVersion::Tls12)) => {
            Some("users offer TLS 1.3 alone: offer \"1.2\" as well in tls.versions")
        }
        (_, Some(TlsVersion::Tls13)) => {
            Some("users offer TLS 1.2 alone: offer \"1.3\" as well in tls.versions")
        }
    };
    let groups = (spec.groups != usual.groups).then_some("offer more groups in tls.groups");
    let own: Vec<&str> = version.into_iter().chain(groups).collect();
    match own.is_empty() {
        true => {
            "users offer TLS 1.2 and 1.3 with the suites and groups of today: let the server have one of them"
                .to_owned()
        }
        false => own.join(", or "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_base::Detail;

    fn advice(text: &str, outcome: Outcome, rule: Option<Rule>) -> String {
        let scenario: Scenario = toml::from_str(text).expect("a scenario");
        let server = "127.0.0.1:443".to_owned();
        scenario.advise(&ServerRefusal { server, outcome, detail: rule.map(Detail::broken) })
    }

    /// Keys that the scenario sets already are named, and nobody is advised to set them.
    #[test]
    fn nobody_is_advised_to_do_what_was_done() {
        let untrusted = |text: &str| advice(text, Outcome::TlsUntrusted, Some(NO_TRUSTED_ROOT));
        assert!(untrusted("target = 'https://a.test/'").contains("name the server's CA with `--cacert`"));
        let own = untrusted("target = 'https://a.test/'\ntls.ca = 'own.pem'");
        assert!(own.contains("own.pem") && own.contains("none of its issuers"), "{own}");
        assert!(!own.contains("with `--cacert`"), "{own}");
        let named = |text: &str| advice(text, Outcome::TlsNameMismatch, None);
        let own = named("target = 'https://a.test/'\ntls.server-name = 'b.test'");
        assert!(own.contains("`b.test` because of tls.server-name"), "{own}");
        assert!(named("target = 'https://a.test/'").contains("`a.test`, the target's host"));
        let old = |text: &str| advice(text, Outcome::TlsIncompatible, None);
        assert!(old("tls.versions = ['1.3']").contains("offer \"1.2\" as well"));
        assert!(old("tls.versions = ['1.2']").contains("offer \"1.3\" as well"));
        assert!(!old("").contains("tls.versions"), "{}", old(""));
        assert!(old("tls.groups = ['x25519']").contains("more groups"));
        let dates = |rule| advice("tls.ca = 'own.pem'", Outcome::TlsUntrusted, Some(rule));
        assert!(dates(EXPIRED).contains("has expired") && dates(EXPIRED).contains("renew it"));
        assert!(!dates(EXPIRED).contains("--cacert") && dates(NOT_VALID_YET).contains("clock"));
        let spoken = |http: &str| advice(&format!("http = '{http}'"), Outcome::TlsAlpnRefused, None);
        assert!(spoken("2").contains("`--http 1.1`") && spoken("1.1").contains("`--http 2`"));
    }
}
