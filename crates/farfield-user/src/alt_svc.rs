//! Alternative services as replies name them: the field Alt-Svc (RFC 7838 section 3), as far as it is about
//! HTTP/3.

use farfield_base::{Duration, SpokenVersion};
use farfield_http::http1::Fields;

/// The version of HTTP of the alternatives that are read here.
pub(crate) const VERSION: SpokenVersion = SpokenVersion::Http3;

/// The age of an alternative that says none (RFC 7838 section 3.1).
const AGE: u64 = 24 * 3600;
/// The longest age, so that instants can be reckoned with: ten years.
const AGE_MAX: u64 = 10 * 365 * 24 * 3600;

/// Content of a reply's Alt-Svc, as far as it is about HTTP/3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AltSvc {
    /// Nothing, or that what was said before is over (`clear`).
    Nothing,
    /// HTTP/3 on other hosts alone.
    Elsewhere,
    /// HTTP/3 on this port of the same host, for so long.
    Here(u16, Duration),
}

/// Alternative that the head of a reply from `host` names, if it says anything.
pub(crate) fn alternative_in(fields: Fields<'_>, host: &str) -> Option<AltSvc> {
    let mut found = None;
    for value in fields.named("alt-svc") {
        let named = http3_in(value, host);
        found = match (found, named) {
            (Some(AltSvc::Here(..)), _) | (Some(AltSvc::Elsewhere), AltSvc::Nothing) => found,
            _ => Some(named),
        };
    }
    found
}

/// Alternative of HTTP/3 in a value of Alt-Svc from `host`; of several on the same host it is the first.
fn http3_in(value: &[u8], host: &str) -> AltSvc {
    let text = std::str::from_utf8(value).unwrap_or_default();
    let mut named = split_outside_quotes(text, ',').filter_map(|alternative| {
        let mut parts = split_outside_quotes(alternative, ';').map(str::trim);
        let (protocol, authority) = parts.next()?.split_once('=')?;
        let authority = authority.trim().strip_prefix('"')?.strip_suffix('"')?;
        let (named, port) = authority.rsplit_once(':')?;
        let is_here = named.is_empty() || named.eq_ignore_ascii_case(name_of(host));
        let port = port.parse().ok().filter(|port| *port > 0)?;
        let age = parts.find_map(|part| {
            let (name, age) = part.split_once('=')?;
            name.trim().eq_ignore_ascii_case("ma").then(|| age.trim().trim_matches('"').parse::<u64>().ok())
        });
        let age = age.map_or(AGE, |age| age.unwrap_or(0)).min(AGE_MAX);
        let here = AltSvc::Here(port, Duration::from_secs(age));
        (protocol.trim() == "h3").then_some(if is_here { here } else { AltSvc::Elsewhere })
    });
    let first = named.next().unwrap_or(AltSvc::Nothing);
    let is_here = |own: &AltSvc| matches!(own, AltSvc::Here(..));
    if is_here(&first) { first } else { named.find(is_here).unwrap_or(first) }
}

/// The name or address in a Host field, without the port.
fn name_of(host: &str) -> &str {
    let port = host.rfind(':').filter(|at| host[at + 1..].bytes().all(|byte| byte.is_ascii_digit()));
    port.filter(|at| !host[..*at].contains(':') || host[..*at].ends_with(']')).map_or(host, |at| &host[..at])
}

fn split_outside_quotes(text: &str, at: char) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    text.split(move |character| {
        quoted ^= character == '"';
        character == at && !quoted
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternatives_are_read_as_the_rfc_has_them() {
        let check = |value: &str, port: u16, seconds: u64| {
            let expected = match port {
                0 => AltSvc::Nothing,
                port => AltSvc::Here(port, Duration::from_secs(seconds)),
            };
            assert_eq!(http3_in(value.as_bytes(), "shop.example:8443"), expected, "{value}");
        };
        check("h3=\":443\"; ma=2592000,h3-29=\":443\"; ma=2592000", 443, 2_592_000);
        check("h2=\"alt.example:443\", h3 = \":8443\" ; persist=1 ; ma=60", 8443, 60);
        check("h3=\":443\"", 443, 24 * 3600);
        check("h3=\"SHOP.example:444\"; ma=\"7\"", 444, 7);
        check("h3=\"a,b;c:1\", h3=\":2\"", 2, 24 * 3600);
        check("h3=\":443\"; ma=99999999999999999", 443, AGE_MAX);
        check("h3=\":443\"; ma=-1", 443, 0);
        for none in ["clear", "", "h3-29=\":443\"", "h3=\":0\"", "h3=\":99999\"", "h3=:443"] {
            check(none, 0, 0);
        }
        assert_eq!(http3_in(b"h3=\"\xff:443\"", "a"), AltSvc::Nothing);
        let elsewhere = b"h3-29=\":443\", h3=\"other.example:443\"";
        assert_eq!(http3_in(elsewhere, "shop.example"), AltSvc::Elsewhere);
        check("h3=\"other.example:443\", h3=\":444\"; ma=1", 444, 1);
    }

    #[test]
    fn hosts_are_compared_without_their_ports() {
        for (host, name) in
            [("a", "a"), ("a:443", "a"), ("[::1]:443", "[::1]"), ("[::1]", "[::1]"), ("::1", "::1")]
        {
            assert_eq!(name_of(host), name);
        }
    }
}
