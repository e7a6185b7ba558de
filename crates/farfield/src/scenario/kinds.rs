//! Values of a scenario that belong to no other room.

use farfield_measure::samples::Keep;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

/// A server and what to ask of it: `http://host[:port][/path]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    host: String,
    port: u16,
    path: String,
}

/// Why a URL does not do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// It is none.
    #[error("`{text}` is not a URL ({reason}); write `http://host:port/path`")]
    Malformed {
        /// What was written.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// TLS.
    #[error("`{0}`: farfield speaks http:// only as yet")]
    Scheme(String),
}

impl Url {
    /// The root of the server at `address`.
    pub fn of(address: std::net::SocketAddr) -> Url {
        Url { host: address.ip().to_string(), port: address.port(), path: "/".to_owned() }
    }

    /// The host's name or address, without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Path and query.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The Host field (RFC 9110 section 7.2): without the port where it is the scheme's own.
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.port == 80 { host } else { format!("{host}:{}", self.port) }
    }
}

impl FromStr for Url {
    type Err = UrlError;

    /// Reads a URL as browsers and curl do (WHATWG URL): what is not ASCII is percent-encoded, names are put into
    /// ASCII (IDNA), dot segments are resolved, and a fragment stays behind.
    fn from_str(text: &str) -> Result<Url, UrlError> {
        let malformed =
            |reason: &str| UrlError::Malformed { text: text.to_owned(), reason: reason.to_owned() };
        let url = url::Url::parse(text).map_err(|error| malformed(&error.to_string()))?;
        if !text.contains("://") {
            return Err(malformed("it has no scheme"));
        }
        if url.scheme() != "http" {
            return Err(UrlError::Scheme(text.to_owned()));
        }
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or_else(|| malformed("empty host"))?;
        let port = url.port().unwrap_or(80);
        if port == 0 {
            return Err(malformed("no server listens on port 0"));
        }
        let path = &url[url::Position::BeforePath..url::Position::AfterQuery];
        Ok(Url { host: host.trim_matches(['[', ']']).to_owned(), port, path: path.to_owned() })
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.authority(), self.path)
    }
}

impl Serialize for Url {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Url {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Url, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// Which samples are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Samples(pub Keep);

impl Default for Samples {
    fn default() -> Samples {
        Samples(Keep::All)
    }
}

impl Serialize for Samples {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Keep::All => serializer.serialize_str("all"),
            Keep::None => serializer.serialize_str("none"),
            Keep::EveryKth(k) => serializer.serialize_u32(k.get()),
        }
    }
}

impl<'de> Deserialize<'de> for Samples {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Samples, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Word(String),
            Every(i64),
        }
        let refuse = |given: &dyn fmt::Display| {
            D::Error::custom(format!(
                "`{given}` keeps no samples; write \"all\", \"none\", or k to keep every k-th"
            ))
        };
        let keep = match Written::deserialize(deserializer)? {
            Written::Word(word) => match word.as_str() {
                "all" => Keep::All,
                "none" => Keep::None,
                _ => return Err(refuse(&word)),
            },
            Written::Every(1) => Keep::All,
            Written::Every(k) => {
                Keep::EveryKth(u32::try_from(k).ok().and_then(NonZeroU32::new).ok_or_else(|| refuse(&k))?)
            }
        };
        Ok(Samples(keep))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_apart() {
        let check = |text: &str, authority: &str, path: &str| {
            let url: Url = text.parse().expect(text);
            assert_eq!((url.authority().as_str(), url.path()), (authority, path));
            assert_eq!(url.to_string().parse(), Ok(url));
        };
        check("http://example.org", "example.org", "/");
        check("http://example.org:80/a?b=c", "example.org", "/a?b=c");
        check("http://[::1]:8080/x", "[::1]:8080", "/x");
        check("http://127.0.0.1/ü b?q=ö#part", "127.0.0.1", "/%C3%BC%20b?q=%C3%B6");
        check("http://bücher.example/", "xn--bcher-kva.example", "/");
    }

    #[test]
    fn what_is_no_url_is_refused() {
        for text in ["example.org", "localhost:80", "https://example.org/", "http://", "ftp://x/"] {
            assert!(text.parse::<Url>().is_err(), "{text}");
        }
    }

    /// Another port than the one that was meant would load another server.
    #[test]
    fn a_port_that_is_none_is_refused() {
        for port in ["99999", "8080abc", "-1", "0", "80 80"] {
            let error = format!("http://127.0.0.1:{port}/").parse::<Url>().expect_err(port);
            assert!(error.to_string().contains("port"), "{error}");
        }
    }
}
