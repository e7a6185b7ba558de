//! The version of HTTP that users speak with a host, as the scenario names it, and what follows from it ahead
//! of any connection.

use farfield_base::SpokenVersion;
use farfield_http::http1::Version;

/// A version of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpVersion {
    /// HTTP/1.0.
    Http10,
    /// HTTP/1.1.
    Http11,
    /// HTTP/2: over TLS as ALPN agrees (RFC 9113 section 3.2), else by prior knowledge (section 3.3).
    Http2,
    /// HTTP/3, over QUIC (RFC 9114).
    Http3,
    /// Over TLS, as browsers choose it: of HTTP/2 and HTTP/1.1 what ALPN agrees on, and HTTP/3 where the
    /// server names it as an alternative (RFC 7838).
    Auto,
}

impl HttpVersion {
    /// The version of HTTP/1 that heads announce, if it is one.
    pub(crate) fn of_http1(self) -> Option<Version> {
        match self {
            HttpVersion::Http10 => Some(Version::Http10),
            HttpVersion::Http11 | HttpVersion::Auto => Some(Version::Http11),
            HttpVersion::Http2 | HttpVersion::Http3 => None,
        }
    }

    /// The version of all connections, if that is known before they are opened.
    pub(crate) fn of_connections(self) -> Option<SpokenVersion> {
        match self {
            HttpVersion::Http10 => Some(SpokenVersion::Http10),
            HttpVersion::Http11 => Some(SpokenVersion::Http11),
            HttpVersion::Http2 => Some(SpokenVersion::Http2),
            HttpVersion::Http3 => Some(SpokenVersion::Http3),
            HttpVersion::Auto => None,
        }
    }

    /// True if requests without TLS may be in absolute form (RFC 9112 section 3.2.2).
    pub(crate) fn has_absolute_form(self) -> bool {
        self.of_http1().is_some()
    }

    /// True if connections may have streams.
    pub(crate) fn may_have_streams(self) -> bool {
        self.of_connections().is_none_or(SpokenVersion::has_streams)
    }

    /// True if all connections are of QUIC.
    pub(crate) fn is_over_quic(self) -> bool {
        self.of_connections().is_some_and(SpokenVersion::is_over_quic)
    }

    /// True if connections may speak `version`.
    pub(crate) fn may_be(self, version: SpokenVersion) -> bool {
        match self.of_connections() {
            Some(own) => own == version,
            None => version != SpokenVersion::Http10,
        }
    }

    /// The version as it is written in request lines.
    pub(crate) fn name(self) -> &'static str {
        match self {
            HttpVersion::Http10 => Version::Http10.name(),
            HttpVersion::Http11 | HttpVersion::Auto => Version::Http11.name(),
            HttpVersion::Http2 => "HTTP/2",
            HttpVersion::Http3 => "HTTP/3",
        }
    }
}
