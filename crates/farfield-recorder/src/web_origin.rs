//! Origins of web resources: scheme, host and port (RFC 6454 section 4).

use http::Uri;
use http::uri::Authority;
use std::fmt;

/// Origin of a resource: its scheme, which is http or https, its host and its port.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct WebOrigin {
    /// The scheme is https.
    pub is_secure: bool,
    /// Name in lower case, or address without brackets.
    pub host: String,
    /// Port, also where it is the scheme's own.
    pub port: u16,
}

impl WebOrigin {
    /// The origin of a host, whose address may have brackets.
    pub fn new(is_secure: bool, host: &str, port: u16) -> WebOrigin {
        let host = host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
        WebOrigin { is_secure, host, port }
    }

    /// The origin of a URI in absolute form (RFC 9112 section 3.2.2); none of another scheme than http and
    /// https, or without a host.
    pub(crate) fn of_uri(uri: &Uri) -> Option<WebOrigin> {
        let is_secure = match uri.scheme_str()? {
            "http" => false,
            "https" => true,
            _ => return None,
        };
        Some(WebOrigin::of_authority(is_secure, uri.authority()?))
    }

    /// The origin of an authority, whose port is the scheme's own where it names none.
    pub(crate) fn of_authority(is_secure: bool, authority: &Authority) -> WebOrigin {
        let port = authority.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
        WebOrigin::new(is_secure, authority.host(), port)
    }

    /// The scheme.
    pub fn scheme(&self) -> &'static str {
        if self.is_secure { "https" } else { "http" }
    }

    /// The value of the Host field (RFC 9110 section 7.2): without the scheme's own port.
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        match (self.is_secure, self.port) {
            (true, 443) | (false, 80) => host,
            (_, port) => format!("{host}:{port}"),
        }
    }
}

impl fmt::Display for WebOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme(), self.authority())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_equal_by_scheme_host_and_port() {
        let of = |text: &str| WebOrigin::of_uri(&text.parse().expect("a URI"));
        assert_eq!(of("http://Shop.Example/a"), of("http://shop.example:80/b?c"));
        assert_ne!(of("http://shop.example/"), of("https://shop.example/"));
        assert_eq!(of("/a"), None);
        assert_eq!(of("ftp://shop.example/"), None);
        let six = of("https://[::1]:8443/").expect("an origin");
        assert_eq!((six.host.as_str(), six.to_string().as_str()), ("::1", "https://[::1]:8443"));
        assert_eq!(of("https://a:443/x").expect("an origin").to_string(), "https://a");
    }
}
