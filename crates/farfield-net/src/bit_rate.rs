//! Bit rates of links, as people type them: `56kbit`, `1.5Mbit`, `1Gbit`, each a second.

use farfield_base::QuantityError;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

/// Bits a second, at least one: a link of rate zero is no link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BitRate(NonZeroU64);

const EXPECTED: &str = "write a rate above 0 such as `56kbit`, `1.5Mbit` or `1Gbit` (a second)";

impl BitRate {
    /// `bits` a second; refuses zero.
    ///
    /// # Errors
    /// If `bits` is 0.
    pub fn per_second(bits: u64) -> Result<BitRate, QuantityError> {
        let range = || QuantityError::Range { given: bits.to_string(), expected: EXPECTED };
        NonZeroU64::new(bits).map(BitRate).ok_or_else(range)
    }

    /// Bits a second.
    pub const fn as_bits(self) -> u64 {
        self.0.get()
    }
}

impl FromStr for BitRate {
    type Err = QuantityError;

    /// Reads decimal multiples: `bit`, `kbit`, `Mbit`, `Gbit`, the same with `/s`, and `kb/s`, `kbps` and
    /// their like (a `b` is a bit; bytes a second are not taken, so that no rate is wrong by eight).
    fn from_str(text: &str) -> Result<BitRate, QuantityError> {
        let text = text.trim();
        let end = text.find(|c: char| !(c.is_ascii_digit() || "+-.".contains(c))).unwrap_or(text.len());
        let given = || text.to_owned();
        let number: f64 = text[..end]
            .parse()
            .map_err(|_| QuantityError::NoNumber { given: given(), expected: EXPECTED })?;
        let unit = text[end..].trim();
        let (scale, unit) = match unit.as_bytes().first() {
            Some(b'k' | b'K') => (1e3, &unit[1..]),
            Some(b'M') => (1e6, &unit[1..]),
            Some(b'G') => (1e9, &unit[1..]),
            _ => (1.0, unit),
        };
        if !matches!(unit, "bit" | "bit/s" | "bits/s" | "b/s" | "bps") {
            return Err(QuantityError::Unit { given: given(), expected: EXPECTED });
        }
        let bits = (number * scale).round();
        if !(1.0..1e15).contains(&bits) {
            return Err(QuantityError::Range { given: given(), expected: EXPECTED });
        }
        BitRate::per_second(bits as u64)
    }
}

impl fmt::Display for BitRate {
    /// The largest unit that is exact, which `from_str` reads back to the same value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.as_bits();
        let units = [(1_000_000_000, "Gbit"), (1_000_000, "Mbit"), (1_000, "kbit")];
        match units.iter().find(|(scale, _)| bits.is_multiple_of(*scale)) {
            Some((scale, unit)) => write!(f, "{}{unit}", bits / scale),
            None => write!(f, "{bits}bit"),
        }
    }
}

impl TryFrom<String> for BitRate {
    type Error = QuantityError;
    fn try_from(text: String) -> Result<BitRate, QuantityError> {
        text.parse()
    }
}

impl From<BitRate> for String {
    fn from(rate: BitRate) -> String {
        rate.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_what_people_type() {
        let check = |text: &str, bits| assert_eq!(text.parse(), BitRate::per_second(bits), "{text}");
        check("56kbit", 56_000);
        check("1.5Mb/s", 1_500_000);
        check("100 Mbps", 100_000_000);
        check("1Gbit/s", 1_000_000_000);
        check("300bit", 300);
    }

    #[test]
    fn refuses_what_cannot_be_meant() {
        for text in ["0bit", "-1Mbit", "5", "5MB/s", "fast", "1e99Gbit", ""] {
            let error = text.parse::<BitRate>().expect_err(text).to_string();
            assert!(error.contains("56kbit"), "the sentence must show what would do: {error}");
        }
    }

    proptest! {
        #[test]
        fn prints_what_it_reads(bits in 1u64..1_000_000_000_000) {
            let rate = BitRate::per_second(bits).unwrap();
            prop_assert_eq!(rate.to_string().parse(), Ok(rate));
        }
    }
}
