//! Proxies of HTTP: another way to the server, by a machine that is asked to fetch or to connect.
//!
//! Requests in plain HTTP/1 go to the proxy in absolute form (RFC 9112 section 3.2.2); for all else the proxy
//! is asked for a tunnel first (CONNECT, RFC 9110 section 9.3.6), through which users talk to the server as
//! they do without it. Not spoken: TLS to the proxy itself, SOCKS, and challenges of a proxy other than basic
//! authentication, which is sent without being asked for.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use url::Url;

/// A proxy: `http://[user:password@]host:port`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Proxy {
    /// User and password as a URL has them.
    credentials: Option<String>,
    host: String,
    port: u16,
}

impl Proxy {
    /// The name or address of the proxy, without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port of the proxy.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The value of Proxy-Authorization: basic (RFC 7617), if there is a user.
    pub(crate) fn authorization(&self) -> Option<String> {
        let given = self.credentials.as_deref()?;
        let (user, password) = given.split_once(':').unwrap_or((given, ""));
        let decoded = |text| percent_decode_str(text).collect::<Vec<u8>>();
        let plain = [decoded(user), b":".to_vec(), decoded(password)].concat();
        Some(format!("Basic {}", BASE64_STANDARD.encode(plain)))
    }

    /// The request for a tunnel to `host`, which has a port where it is not that of its scheme: https if
    /// `secure`.
    pub fn tunnel_request(&self, host: &str, secure: bool) -> String {
        let has_port = host.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
        let usual = if secure { 443 } else { 80 };
        let to = if has_port { host.to_owned() } else { format!("{host}:{usual}") };
        let credentials = self
            .authorization()
            .map_or_else(String::new, |value| format!("Proxy-Authorization: {value}\r\n"));
        let agent = concat!("farfield/", env!("CARGO_PKG_VERSION"));
        format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\nUser-Agent: {agent}\r\n{credentials}\r\n")
    }
}

impl FromStr for Proxy {
    type Err = String;

    /// Errors never repeat the text, which may hold a password.
    fn from_str(text: &str) -> Result<Proxy, String> {
        let form = "write http://host:port, or http://user:password@host:port";
        let text = match text.contains("://") {
            true => Cow::Borrowed(text),
            // Proxies are shown without user and password, which are found by the scheme before them.
            false if text.contains('@') => return Err(format!("a proxy with a user has its scheme; {form}")),
            false => Cow::Owned(format!("http://{text}")),
        };
        let url =
            Url::parse(&text).map_err(|error| format!("the proxy's URL cannot be read ({error}); {form}"))?;
        if url.scheme() != "http" {
            return Err(format!(
                "proxies are spoken to in plain HTTP: neither TLS to the proxy itself nor SOCKS is spoken; {form}"
            ));
        }
        let host =
            url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']').to_owned();
        let is_usual_port = || text.trim_end_matches('/').ends_with(":80").then_some(80);
        let port = url.port().or_else(is_usual_port).filter(|port| *port > 0);
        let Some(port) = port else { return Err(format!("the proxy's URL names no port; {form}")) };
        if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
            return Err(format!("a proxy's URL ends with its port; {form}"));
        }
        let credentials = match (url.username(), url.password()) {
            ("", None) => None,
            (user, None) => Some(user.to_owned()),
            (user, Some(password)) => Some(format!("{user}:{password}")),
        };
        let is_sent = |given: &String| {
            let user = given.split(':').next().unwrap_or_default();
            let decoded = |text| percent_decode_str(text).collect::<Vec<u8>>();
            !decoded(user).contains(&b':') && !decoded(given).iter().any(u8::is_ascii_control)
        };
        if credentials.as_ref().is_some_and(|given| !is_sent(given)) {
            return Err(
                "the name of a proxy's user has no `:`, and neither it nor the password a control character"
                    .to_owned(),
            );
        }
        Ok(Proxy { credentials, host, port })
    }
}

impl TryFrom<String> for Proxy {
    type Error = String;

    fn try_from(text: String) -> Result<Proxy, String> {
        text.parse()
    }
}

impl From<Proxy> for String {
    /// The URL with user and password, so that it reads again.
    fn from(proxy: Proxy) -> String {
        let user = proxy.credentials.as_ref().map_or_else(String::new, |given| format!("{given}@"));
        let place = proxy.to_string();
        format!("http://{user}{}", &place["http://".len()..])
    }
}

/// Without user and password.
impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "http://[{}]:{}", self.host, self.port),
            false => write!(f, "http://{}:{}", self.host, self.port),
        }
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proxy({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_are_urls_with_a_port() {
        for (text, host, port, authorization, shown) in [
            ("http://p.test:3128", "p.test", 3128, None, "http://p.test:3128"),
            ("p.test:3128", "p.test", 3128, None, "http://p.test:3128"),
            ("http://p.test:80/", "p.test", 80, None, "http://p.test:80"),
            ("http://[::1]:81", "::1", 81, None, "http://[::1]:81"),
            ("http://a:b@p.test:81", "p.test", 81, Some("Basic YTpi"), "http://p.test:81"),
            ("http://a:%62@p.test:81", "p.test", 81, Some("Basic YTpi"), "http://p.test:81"),
            ("http://a@p.test:81", "p.test", 81, Some("Basic YTo="), "http://p.test:81"),
        ] {
            let proxy: Proxy = text.parse().expect(text);
            assert_eq!((proxy.host(), proxy.port()), (host, port), "{text}");
            assert_eq!(proxy.authorization().as_deref(), authorization, "{text}");
            assert_eq!(
                (proxy.to_string(), format!("{proxy:?}")),
                (shown.to_owned(), format!("Proxy({shown})"))
            );
            assert_eq!(String::from(proxy.clone()).parse(), Ok(proxy), "it reads again");
        }
        for text in [
            "",
            "http://",
            "http://p",
            "p",
            "http://p:0",
            "http://p:70000",
            "https://p:81",
            "socks5://SECRET:SECRET@p:81",
            "http://SECRET@p:81/path",
            "http://SECRET@p:81?q",
            "SECRET:SECRET@p:81",
            "http://SECRET%0d%0aX:y@p:81",
            "http://SEC%3aRET:y@p:81",
            "http://SECRET@p:81 x",
        ] {
            let error = text.parse::<Proxy>().expect_err(text);
            assert!(!error.contains("SECRET"), "{error}");
        }
    }

    #[test]
    fn a_tunnel_is_asked_for_with_a_port() {
        let proxy: Proxy = "http://a:b@p.test:81".parse().expect("a proxy");
        let head = proxy.tunnel_request("shop.test", true);
        assert!(head.starts_with("CONNECT shop.test:443 HTTP/1.1\r\nHost: shop.test:443\r\n"), "{head}");
        assert!(head.ends_with("\r\nProxy-Authorization: Basic YTpi\r\n\r\n"), "{head}");
        for (host, secure, to) in [
            ("shop.test", false, "shop.test:80"),
            ("shop.test:8443", true, "shop.test:8443"),
            ("[::1]", true, "[::1]:443"),
            ("[::1]:1", true, "[::1]:1"),
        ] {
            let head = proxy.tunnel_request(host, secure);
            assert!(head.starts_with(&format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n")), "{head}");
        }
    }
}
