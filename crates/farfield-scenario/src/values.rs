//! Values of a scenario: the target's URL, and which samples are kept.

use base64::prelude::{BASE64_STANDARD, Engine};
use farfield_measure::samples::Keep;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

/// A server and what to ask of it: `http[s]://[user:password@]host[:port][/path]`.
///
/// User and password are written into the scenario, which must run again, and shown nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    secure: bool,
    credentials: Option<Credentials>,
    host: String,
    port: u16,
    path: String,
}

/// `user:password`, percent-encoded as it was given.
#[derive(Clone, PartialEq, Eq)]
struct Credentials(String);

impl Credentials {
    /// The credentials of a URL, if it has any. RFC 7617 section 2: a user's name has no colon, and neither
    /// part a control character.
    fn of(url: &url::Url) -> Result<Option<Credentials>, ()> {
        let given = match (url.username(), url.password()) {
            ("", None) => return Ok(None),
            (user, None) => user.to_owned(),
            (user, Some(password)) => format!("{user}:{password}"),
        };
        let user = percent_decoded(url.username());
        let password = percent_decoded(url.password().unwrap_or_default());
        if user.contains(&b':') || user.iter().chain(&password).any(u8::is_ascii_control) {
            return Err(());
        }
        Ok(Some(Credentials(given)))
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(user and password)")
    }
}

/// Why a URL is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// No URL.
    #[error("`{text}` is not a URL ({reason}); write `http://host:port/path`")]
    Malformed {
        /// The text given.
        text: String,
        /// The parser's reason.
        reason: String,
    },
    /// Neither HTTP nor HTTP over TLS.
    #[error("`{0}`: farfield speaks http:// and https://")]
    Scheme(String),
    /// A user or password that basic authentication cannot send.
    #[error("`{0}`: a user's name has no `:`, and neither it nor the password a control character")]
    Credentials(String),
}

impl Url {
    /// The root of the server at `address`.
    pub fn of(address: std::net::SocketAddr) -> Url {
        let (host, port) = (address.ip().to_string(), address.port());
        Url { secure: false, credentials: None, host, port, path: "/".to_owned() }
    }

    /// The URL with https for its scheme if `secure`, else with http.
    pub fn over_tls_if(self, secure: bool) -> Url {
        Url { secure, ..self }
    }

    /// True if the scheme is https.
    pub fn is_secure(&self) -> bool {
        self.secure
    }

    /// The scheme.
    pub fn scheme(&self) -> &'static str {
        if self.secure { "https" } else { "http" }
    }

    /// The scheme's own port.
    fn usual_port(&self) -> u16 {
        if self.secure { 443 } else { 80 }
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

    /// The Authorization field that its user and password ask for: basic (RFC 7617).
    pub fn authorization(&self) -> Option<String> {
        let Credentials(given) = self.credentials.as_ref()?;
        let (user, password) = given.split_once(':').unwrap_or((given, ""));
        let plain = [percent_decoded(user), b":".to_vec(), percent_decoded(password)].concat();
        Some(format!("Basic {}", BASE64_STANDARD.encode(plain)))
    }

    /// The Host field (RFC 9110 section 7.2): without the port where it is the scheme's own.
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.port == self.usual_port() { host } else { format!("{host}:{}", self.port) }
    }
}

impl FromStr for Url {
    type Err = UrlError;

    /// Reads a URL as browsers and curl do (WHATWG URL): what is not ASCII is percent-encoded, names are put
    /// into ASCII (IDNA), dot segments are resolved, and a fragment stays behind.
    fn from_str(text: &str) -> Result<Url, UrlError> {
        let malformed =
            |reason: &str| UrlError::Malformed { text: without_credentials(text), reason: reason.to_owned() };
        let url = url::Url::parse(text).map_err(|error| malformed(&error.to_string()))?;
        if !text.contains("://") {
            return Err(malformed("it has no scheme"));
        }
        let secure = match url.scheme() {
            "http" => false,
            "https" => true,
            _ => return Err(UrlError::Scheme(without_credentials(text))),
        };
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or_else(|| malformed("empty host"))?;
        let port = url.port_or_known_default().unwrap_or(80);
        if port == 0 {
            return Err(malformed("no server listens on port 0"));
        }
        let path = &url[url::Position::BeforePath..url::Position::AfterQuery];
        let credentials =
            Credentials::of(&url).map_err(|()| UrlError::Credentials(without_credentials(text)))?;
        Ok(Url {
            secure,
            credentials,
            host: host.trim_matches(['[', ']']).to_owned(),
            port,
            path: path.to_owned(),
        })
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme(), self.authority(), self.path)
    }
}

impl Serialize for Url {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.credentials {
            None => serializer.collect_str(self),
            Some(Credentials(given)) => {
                let (scheme, authority) = (self.scheme(), self.authority());
                serializer.collect_str(&format_args!("{scheme}://{given}@{authority}{}", self.path))
            }
        }
    }
}

/// The text given, fit to be quoted in a message. It need not be a URL: anything before an `@` may be a
/// password.
fn without_credentials(text: &str) -> String {
    let Some((before, after)) = text.rsplit_once('@') else { return text.to_owned() };
    let scheme = before.split_once("://").map_or("", |(scheme, _)| scheme);
    let slashes = if scheme.is_empty() { "" } else { "://" };
    format!("{scheme}{slashes}…@{after}")
}

fn percent_decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [byte, after @ ..] = rest {
        let hex = |digit: u8| char::from(digit).to_digit(16);
        let hidden = match after {
            [high, low, ..] if *byte == b'%' => hex(*high).zip(hex(*low)),
            _ => None,
        };
        bytes.push(hidden.map_or(*byte, |(high, low)| (high << 4 | low) as u8));
        rest = if hidden.is_some() { &after[2..] } else { after };
    }
    bytes
}

impl<'de> Deserialize<'de> for Url {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Url, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// The choice of samples that are kept.
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
        check("https://example.org:443/a", "example.org", "/a");
        check("https://example.org:80/a", "example.org:80", "/a");
        check("http://example.org:443/a", "example.org:443", "/a");
    }

    #[test]
    fn what_is_no_url_is_refused() {
        for text in ["example.org", "localhost:80", "http://", "https://", "ftp://x/"] {
            assert!(text.parse::<Url>().is_err(), "{text}");
        }
    }

    /// The examples of RFC 7617: sections 2 and, in UTF-8, 2.1.
    #[test]
    fn a_user_and_a_password_are_sent_and_not_shown() {
        let check = |text: &str, field: &str| {
            let url: Url = text.parse().expect(text);
            assert_eq!(url.authorization().as_deref(), Some(field), "{text}");
            let shown = format!("{url} {url:?} {}", url.authority());
            assert!(
                !shown.contains("sesame") && !shown.contains("Aladdin") && !shown.contains("test"),
                "{shown}"
            );
            let written = toml::Value::try_from(&url).expect("TOML");
            assert_eq!(written.as_str(), Some(text));
        };
        check("http://Aladdin:open%20sesame@a/", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        check("http://test:123%C2%A3@a:8080/x?y", "Basic dGVzdDoxMjPCow==");
        check("http://Aladdin@a/", "Basic QWxhZGRpbjo=");
        assert_eq!("http://a/".parse::<Url>().expect("a URL").authorization(), None);
        for text in [
            "ftp://Aladdin:sesame@a/",
            "http://Aladdin:sesame@/",
            "http://a%3Ab:sesame@a/",
            "http://a:sesame%0a@a/",
            "http://a:sesame/x@a/",
        ] {
            let said = text.parse::<Url>().expect_err(text).to_string();
            assert!(!said.contains("sesame"), "{said}");
        }
    }

    /// A misread port would load another server.
    #[test]
    fn a_port_that_is_none_is_refused() {
        for port in ["99999", "8080abc", "-1", "0", "80 80"] {
            let error = format!("http://127.0.0.1:{port}/").parse::<Url>().expect_err(port);
            assert!(error.to_string().contains("port"), "{error}");
        }
    }
}
