//! Faults of a reply.

use farfield_base::{Outcome, Rule};

/// Why a reply cannot be read to its end. The connection it came on is of no further use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Malformed {
    /// The bytes are not the head of an HTTP/1.0 or HTTP/1.1 reply.
    #[error("the reply's head cannot be read")]
    BadHead,
    /// The heads have more bytes than [`Limits::head_bytes`](super::Limits::head_bytes), or one has more
    /// fields than [`Limits::head_fields`](super::Limits::head_fields).
    #[error("the reply's head exceeds the limit")]
    HeadTooLarge,
    /// Content-Length is not a number or says two things, or Transfer-Encoding contradicts itself.
    #[error("the reply's length is contradictory or not a number")]
    BadLength,
    /// A chunk's size, its line, its end or the trailer section is wrong, or exceeds
    /// [`Limits::head_bytes`](super::Limits::head_bytes).
    #[error("the reply's chunked coding is malformed")]
    BadChunk,
    /// The connection was closed in the middle of a reply.
    #[error("the connection closed in the middle of a reply")]
    Truncated,
    /// The body has more bytes than [`Limits::body_bytes`](super::Limits::body_bytes).
    #[error("the reply's body exceeds the limit")]
    BodyTooLarge,
}

impl Malformed {
    /// The outcome that a sample of this reply records.
    pub const fn outcome(self) -> Outcome {
        match self {
            Malformed::BadHead => Outcome::BadHead,
            Malformed::HeadTooLarge => Outcome::HeadTooLarge,
            Malformed::BadLength => Outcome::BadLength,
            Malformed::BadChunk => Outcome::BadChunk,
            Malformed::Truncated => Outcome::Truncated,
            Malformed::BodyTooLarge => Outcome::BodyTooLarge,
        }
    }

    /// The rule of HTTP/2 that the reply does not keep to, unless the outcome says all.
    #[cfg(feature = "http2")]
    pub(crate) const fn rule_of_http2(self) -> Option<Rule> {
        self.rule("RFC 9113 §8.1.1", "RFC 9113 §8.1.1")
    }

    /// The rule of HTTP/3.
    #[cfg(feature = "http2")]
    pub(crate) const fn rule_of_http3(self) -> Option<Rule> {
        self.rule("RFC 9114 §4.1.2", "RFC 9114 §4.1.2")
    }

    /// The rule of HTTP/1, as far as this says it.
    pub(super) const fn rule_of_http1(self) -> Option<Rule> {
        self.rule("RFC 9112 §2.1", "RFC 9112 §6.3")
    }

    const fn rule(self, of_heads: &'static str, of_lengths: &'static str) -> Option<Rule> {
        let (wrong, section) = match self {
            Malformed::BadHead => ("the reply's head is malformed", of_heads),
            Malformed::BadLength => ("the body is not as long as the head says", of_lengths),
            Malformed::BadChunk => ("the chunked coding is malformed", "RFC 9112 §7.1"),
            Malformed::HeadTooLarge | Malformed::Truncated | Malformed::BodyTooLarge => return None,
        };
        Some(Rule::new(wrong, section))
    }
}
