//! The writer of requests: a head becomes bytes once, ahead of time, and is then sent any number of times.
//!
//! Whatever could split or end the head before its time is refused here (RFC 9110, 5.5; RFC 9112, 11.1), so
//! that a scenario's typing error is found before the run and not by the server. The body is the caller's to
//! send behind the head.
//!
//! Only origins are spoken to: a target begins with `/`, or is the `*` of OPTIONS; CONNECT is refused.

use super::Version;
use super::chunked::{in_text, in_token};

/// The head of a request.
#[derive(Debug, Clone)]
pub struct RequestHead<'a> {
    /// The method, case-sensitive (RFC 9110, 9.1).
    pub method: &'a str,
    /// Path and query as they are to be sent, percent-encoded (RFC 9112, 3.2.1), or `*` for OPTIONS.
    pub target: &'a str,
    /// Host and, if it is not the scheme's own, `:port`, for the Host field.
    pub host: &'a str,
    /// The version to speak.
    pub version: Version,
    /// The connection is to be kept for another request.
    pub persistent: bool,
    /// More fields, in this order. A Host, User-Agent or Accept here replaces the one that would be sent.
    pub headers: &'a [(String, String)],
    /// Bytes of body that will follow; none if the request has no body.
    pub body_length: Option<u64>,
}

/// Why a request's head cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The method is not a token, or is CONNECT.
    #[error("`{0}` is no method to send: write a token such as `GET` or `POST`; CONNECT is not spoken")]
    Method(String),
    /// The target is not in origin-form.
    #[error(
        "`{0}` is no request target: write a path that begins with `/`, without a fragment, and with blanks and \
         characters outside ASCII percent-encoded"
    )]
    Target(String),
    /// The host cannot stand in the Host field.
    #[error("`{0}` is no host: write a name or an address, with `:port` if need be")]
    Host(String),
    /// A field's name is not a token.
    #[error("`{0}` is no header name: write a token such as `Accept-Language`")]
    HeaderName(String),
    /// A field's value holds a line end or another control character.
    #[error("the value of the header `{0}` holds a control character")]
    HeaderValue(String),
    /// A field that follows from how the request is sent.
    #[error("the header `{0}` is set by the policy of reuse and by the body; remove it")]
    HeaderReserved(String),
    /// A field of HTTP/1 connections that HTTP/2 forbids (RFC 9113, 8.2.2).
    #[error("the header `{0}` has no place in HTTP/2; remove it")]
    HeaderOfHttp1(String),
    /// An expectation of a request without content (RFC 9110, 10.1.1).
    #[error("`Expect: 100-continue` is for requests with a body, and this one has none; remove it")]
    ExpectsWithoutContent,
    /// There are two Host fields (RFC 9110, 7.2).
    #[error("the header `{0}` is given twice")]
    HeaderTwice(String),
}

impl RequestHead<'_> {
    /// The head's bytes, with the empty line that ends it.
    ///
    /// # Errors
    /// A part that would make it another request than the one meant.
    pub fn encode(&self) -> Result<Vec<u8>, RequestError> {
        self.check()?;
        let mut head = Vec::with_capacity(256);
        for part in [self.method, " ", self.target, " ", self.version.name(), "\r\n"] {
            head.extend_from_slice(part.as_bytes());
        }
        let mut push = |name: &str, value: &str| {
            for part in [name, ": ", value, "\r\n"] {
                head.extend_from_slice(part.as_bytes());
            }
        };
        // RFC 9110, 7.2: Host SHOULD be the first field. HTTP/1.0 has none, but servers with many sites need
        // it.
        push("Host", self.given("host").unwrap_or(self.host));
        if self.given("user-agent").is_none() {
            push("User-Agent", concat!("farfield/", env!("CARGO_PKG_VERSION")));
        }
        if self.given("accept").is_none() {
            push("Accept", "*/*");
        }
        for (name, value) in self.headers.iter().filter(|(name, _)| !name.eq_ignore_ascii_case("host")) {
            push(name, value);
        }
        // RFC 9112, 9.3 and appendix C.2.2: say only what is not the version's default.
        match (self.version, self.persistent) {
            (Version::Http11, false) => push("Connection", "close"),
            (Version::Http10, true) => push("Connection", "keep-alive"),
            (Version::Http11, true) | (Version::Http10, false) => {}
        }
        if let Some(bytes) = self.content_length() {
            push("Content-Length", &bytes.to_string());
        }
        head.extend_from_slice(b"\r\n");
        Ok(head)
    }

    /// RFC 9110, 8.6: a method that gives a body a meaning SHOULD send the length of an absent one too.
    pub(crate) fn content_length(&self) -> Option<u64> {
        let expects_body = matches!(self.method, "POST" | "PUT" | "PATCH");
        self.body_length.or(expects_body.then_some(0))
    }

    /// The first value given for the field `name`.
    pub(crate) fn given(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(given, _)| given.eq_ignore_ascii_case(name))?;
        Some(value)
    }

    /// Refuses what would make it another request than the one meant.
    pub(crate) fn check(&self) -> Result<(), RequestError> {
        if !is_token(self.method) || self.method == "CONNECT" {
            return Err(RequestError::Method(self.method.to_owned()));
        }
        let asterisk_form = self.target == "*" && self.method == "OPTIONS";
        if !is_target(self.target) && !asterisk_form {
            return Err(RequestError::Target(self.target.to_owned()));
        }
        if !is_host(self.host) {
            return Err(RequestError::Host(self.host.to_owned()));
        }
        let mut hosts = 0;
        for (name, value) in self.headers {
            let is = |other: &&str| name.eq_ignore_ascii_case(other);
            if !is_token(name) {
                return Err(RequestError::HeaderName(name.clone()));
            }
            if ["connection", "content-length", "transfer-encoding"].iter().any(is) {
                return Err(RequestError::HeaderReserved(name.clone()));
            }
            if !value.bytes().all(in_text) {
                return Err(RequestError::HeaderValue(name.clone()));
            }
            if is(&"host") {
                hosts += 1;
                if !is_host(value) {
                    return Err(RequestError::Host(value.clone()));
                }
            }
            if hosts > 1 {
                return Err(RequestError::HeaderTwice(name.clone()));
            }
        }
        Ok(())
    }
}

fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(in_token)
}

/// Visible ASCII from a slash on, without a fragment (RFC 9110, 4.2.5: it is never sent). What stands between
/// is not compared with RFC 3986: servers are also tested with targets that stretch it.
fn is_target(text: &str) -> bool {
    text.starts_with('/') && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#')
}

/// Visible ASCII without what would end an authority or begin one anew (RFC 3986, 3.2).
fn is_host(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic() && !b"/?#@\\".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get() -> RequestHead<'static> {
        RequestHead {
            method: "GET",
            target: "/",
            host: "example.org",
            version: Version::Http11,
            persistent: true,
            headers: &[],
            body_length: None,
        }
    }

    fn headers(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    /// The lines of the head behind the request line, without the defaults.
    fn fields(head: &RequestHead<'_>) -> String {
        let text = String::from_utf8(head.encode().expect("a good head")).expect("ASCII");
        let fields = text.split_once("\r\n").expect("a request line").1;
        let fields = fields.strip_suffix("\r\n\r\n").expect("an empty line at the end");
        let default = |line: &&str| !line.starts_with("User-Agent: farfield/") && *line != "Accept: */*";
        fields.split("\r\n").filter(default).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn writes_a_plain_request() {
        let expected = format!(
            "GET /a?b=c HTTP/1.1\r\nHost: example.org\r\nUser-Agent: farfield/{}\r\nAccept: */*\r\n\r\n",
            env!("CARGO_PKG_VERSION")
        );
        let head = RequestHead { target: "/a?b=c", ..get() };
        assert_eq!(head.encode().map(String::from_utf8), Ok(Ok(expected)));
    }

    #[test]
    fn says_of_the_connection_what_the_version_does_not() {
        let said = |version, persistent| fields(&RequestHead { version, persistent, ..get() });
        assert_eq!(said(Version::Http11, true), "Host: example.org");
        assert_eq!(said(Version::Http11, false), "Host: example.org|Connection: close");
        assert_eq!(said(Version::Http10, true), "Host: example.org|Connection: keep-alive");
        assert_eq!(said(Version::Http10, false), "Host: example.org");
    }

    #[test]
    fn tells_the_length_of_a_body_and_of_one_that_was_to_be_expected() {
        let written = |method, body_length| fields(&RequestHead { method, body_length, ..get() });
        assert_eq!(written("POST", Some(12)), "Host: example.org|Content-Length: 12");
        assert_eq!(written("GET", Some(0)), "Host: example.org|Content-Length: 0");
        assert_eq!(written("PUT", None), "Host: example.org|Content-Length: 0");
        assert_eq!(written("DELETE", None), "Host: example.org");
    }

    #[test]
    fn given_fields_replace_the_defaults_and_keep_their_order() {
        let given = headers(&[("X-B", "2"), ("user-agent", "me"), ("X-A", ""), ("ACCEPT", "text/html")]);
        assert_eq!(
            fields(&RequestHead { headers: &given, ..get() }),
            "Host: example.org|X-B: 2|user-agent: me|X-A: |ACCEPT: text/html"
        );
        let given = headers(&[("X-A", "1"), ("host", "other:8080")]);
        assert_eq!(fields(&RequestHead { headers: &given, ..get() }), "Host: other:8080|X-A: 1");
    }

    #[test]
    fn refuses_what_would_be_another_request() {
        let error = |head: RequestHead<'_>| head.encode().expect_err("a bad head");
        for method in ["", "GE T", "GET\r\n", "G\u{e9}T", "CONNECT"] {
            assert_eq!(error(RequestHead { method, ..get() }), RequestError::Method(method.to_owned()));
        }
        for target in ["", "a", "*", "/a b", "/a\r\nX: y", "/\u{e9}", "/a#b", "http://example.org/"] {
            assert_eq!(error(RequestHead { target, ..get() }), RequestError::Target(target.to_owned()));
        }
        for host in ["", "a b", "a/b", "user@a", "a\r\nX: y"] {
            assert_eq!(error(RequestHead { host, ..get() }), RequestError::Host(host.to_owned()));
        }
        assert!(RequestHead { method: "OPTIONS", target: "*", ..get() }.encode().is_ok());
    }

    #[test]
    fn refuses_fields_that_would_be_others() {
        let error = |pairs: &[(&str, &str)]| {
            RequestHead { headers: &headers(pairs), ..get() }.encode().expect_err("a bad field")
        };
        for name in ["", "a b", "a:", "a\r\nb"] {
            assert_eq!(error(&[(name, "1")]), RequestError::HeaderName(name.to_owned()));
        }
        for value in ["a\r\nb: c", "a\nb", "a\rb", "\0", "\u{7f}"] {
            assert_eq!(error(&[("X", value)]), RequestError::HeaderValue("X".to_owned()));
        }
        for name in ["Connection", "content-length", "TRANSFER-ENCODING"] {
            assert_eq!(error(&[(name, "5")]), RequestError::HeaderReserved(name.to_owned()));
        }
        assert_eq!(
            error(&[("Host", "a"), ("X", "y"), ("HOST", "a")]),
            RequestError::HeaderTwice("HOST".to_owned())
        );
        assert_eq!(error(&[("Host", "a b")]), RequestError::Host("a b".to_owned()));
    }
}
