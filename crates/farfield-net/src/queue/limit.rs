//! Limits of queues, in bytes or in packets.

use farfield_base::{Bytes, QuantityError};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The most that may wait before a link, at least one byte or packet. The packet in transmission does not
/// count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Limit {
    /// Bytes, of packets with the link's overhead.
    Bytes(u64),
    /// Packets of any size.
    Packets(u64),
}

/// Reasons for which a limit is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LimitError {
    /// Not a size.
    #[error(transparent)]
    Quantity(#[from] QuantityError),
    /// Not a count of packets.
    #[error("`{0}` is no count of packets; write a whole number, such as `50 packets`")]
    Packets(String),
    /// Zero.
    #[error("a queue of `{0}` holds nothing; write a size such as `64KiB`, or `50 packets`")]
    Nothing(String),
}

impl Limit {
    /// True if a queue of `packets` and `bytes` may take another packet of `size`.
    pub(crate) fn admits(self, packets: u64, bytes: u64, size: u64) -> bool {
        match self {
            Limit::Bytes(most) => bytes + size <= most,
            Limit::Packets(most) => packets < most,
        }
    }

    /// The length of a queue, in the unit of the limit.
    pub(crate) fn measure(self, packets: u64, bytes: u64) -> u64 {
        match self {
            Limit::Bytes(_) => bytes,
            Limit::Packets(_) => packets,
        }
    }

    /// The number, in its unit.
    pub(crate) fn count(self) -> u64 {
        match self {
            Limit::Bytes(count) | Limit::Packets(count) => count,
        }
    }
}

impl FromStr for Limit {
    type Err = LimitError;

    /// Reads a size (`64KiB`, bare bytes) or a count (`50 packets`).
    fn from_str(text: &str) -> Result<Limit, LimitError> {
        let text = text.trim();
        let count = text.strip_suffix("packets").or_else(|| text.strip_suffix("packet"));
        let limit = match count {
            Some(count) => {
                Limit::Packets(count.trim().parse().map_err(|_| LimitError::Packets(text.to_owned()))?)
            }
            None => Limit::Bytes(text.parse::<Bytes>()?.0),
        };
        if limit.count() == 0 { Err(LimitError::Nothing(text.to_owned())) } else { Ok(limit) }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Bytes(bytes) => write!(f, "{}", Bytes(*bytes)),
            Limit::Packets(packets) => write!(f, "{packets} packets"),
        }
    }
}

impl TryFrom<String> for Limit {
    type Error = LimitError;
    fn try_from(text: String) -> Result<Limit, LimitError> {
        text.parse()
    }
}

impl From<Limit> for String {
    fn from(limit: Limit) -> String {
        limit.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_bytes_and_packets() {
        let check = |text: &str, limit: Limit| {
            assert_eq!(text.parse(), Ok(limit), "{text}");
            assert_eq!(limit.to_string().parse(), Ok(limit), "{text}");
        };
        check("2KiB", Limit::Bytes(2048));
        check("1500", Limit::Bytes(1500));
        check("50 packets", Limit::Packets(50));
        check("1packet", Limit::Packets(1));
    }

    #[test]
    fn refuses_a_queue_that_holds_nothing() {
        for text in ["0", "0 packets", "many packets", "1.5 packets", "64 parsecs"] {
            assert!(text.parse::<Limit>().is_err(), "{text}");
        }
    }
}
