//! Requests that wait for the server's word before their content: `Expect: 100-continue` (RFC 9110 section
//! 10.1.1), over HTTP/1.1.
//!
//! The head goes, and the content behind it once the server sends 100 (Continue), or after a time that the
//! policy bounds, since a server or an intermediary may know nothing of expectations. A final status before
//! that ends the request without its content. The server may take what comes next on the connection for that
//! content, of which the head has said how long it is (RFC 9112 section 6.3), so nothing more is sent there:
//! the connection is closed behind the reply. 417 (Expectation Failed) is a status like any other; the
//! request is not repeated without the field.
//!
//! HTTP/1.0 has no expectations (RFC 9110 section 10.1.1), and over HTTP/2 and HTTP/3 the field is sent and
//! the content behind it at once.

use bytes::Bytes;
use farfield_base::Instant;
use farfield_http::http1::RequestError;

/// Content that waits for the server's word.
#[derive(Debug)]
pub(crate) struct Withheld {
    /// Number on the connection of the request that it belongs to.
    pub number: u32,
    /// Instant at which the wait ends at the latest.
    pub until: Instant,
    pub content: Bytes,
}

/// True if a field asks for 100 (Continue). Names and this value have no case.
pub(crate) fn is_expectation(name: &[u8], value: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"expect") && value.trim_ascii().eq_ignore_ascii_case(b"100-continue")
}

/// Refuses an expectation of a request that has no content: a client must not send one (RFC 9110 section
/// 10.1.1).
pub(crate) fn check_expectation(headers: &[(String, String)], has_content: bool) -> Result<(), RequestError> {
    let expects = headers.iter().any(|(name, value)| is_expectation(name.as_bytes(), value.as_bytes()));
    if expects && !has_content { Err(RequestError::ExpectsWithoutContent) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expectation_has_no_case_and_needs_content() {
        for (name, value, expects) in [
            ("Expect", "100-continue", true),
            ("EXPECT", " 100-Continue ", true),
            ("Expect", "100", false),
            ("Expect", "", false),
            ("X-Expect", "100-continue", false),
        ] {
            assert_eq!(is_expectation(name.as_bytes(), value.as_bytes()), expects, "{name}: {value}");
            let headers = [(name.to_owned(), value.to_owned())];
            assert_eq!(check_expectation(&headers, true), Ok(()));
            assert_eq!(check_expectation(&headers, false).is_err(), expects, "{name}: {value}");
        }
    }
}
