//! A number that may carry its unit: `0.3`, `"300ms"`, `"64KiB"`.
//!
//! A distribution has no unit, but its use has one. So a parameter keeps its
//! dimension as far as the unit has one, for the place that wants times to refuse sizes, and keeps its
//! spelling, for the resolved scenario to read like the one that was written.

use farfield_base::{Bytes, Duration};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;

/// A finite number, with or without a unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Amount {
    /// A finite number in the plain unit of wherever it stands: seconds for times, bytes for sizes.
    Number(f64),
    /// A time.
    Time(Duration),
    /// A size.
    Size(Bytes),
}

/// Dimension of an amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dimension {
    /// Seconds.
    Time,
    /// Bytes.
    Size,
}

/// Error of a text that is no amount.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is neither a number, nor a time such as `300ms`, nor a size such as `64KiB`")]
pub struct AmountError {
    given: String,
}

impl Amount {
    /// The number in the plain unit: seconds, bytes.
    pub fn value(self) -> f64 {
        match self {
            Amount::Number(number) => number,
            Amount::Time(time) => time.as_secs_f64(),
            Amount::Size(size) => size.0 as f64,
        }
    }

    /// Dimension of the unit, if there is one.
    pub fn dimension(self) -> Option<Dimension> {
        match self {
            Amount::Number(_) => None,
            Amount::Time(_) => Some(Dimension::Time),
            Amount::Size(_) => Some(Dimension::Size),
        }
    }

    /// A bare `number`, which must be finite.
    pub fn number(number: f64) -> Result<Amount, AmountError> {
        if number.is_finite() {
            Ok(Amount::Number(number))
        } else {
            Err(AmountError { given: number.to_string() })
        }
    }
}

impl FromStr for Amount {
    type Err = AmountError;

    fn from_str(text: &str) -> Result<Amount, AmountError> {
        if let Ok(number) = text.trim().parse() {
            return Amount::number(number);
        }
        text.parse()
            .map(Amount::Time)
            .or_else(|_| text.parse().map(Amount::Size))
            .map_err(|_| AmountError { given: text.to_owned() })
    }
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Dimension::Time => "times",
            Dimension::Size => "sizes",
        })
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Amount::Number(number) => serializer.serialize_f64(*number),
            Amount::Time(time) => time.serialize(serializer),
            Amount::Size(size) => size.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Amount, D::Error> {
        deserializer.deserialize_any(AmountVisitor)
    }
}

struct AmountVisitor;

impl de::Visitor<'_> for AmountVisitor {
    type Value = Amount;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, a time such as \"300ms\" or a size such as \"64KiB\"")
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Amount, E> {
        text.parse().map_err(E::custom)
    }
    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Amount, E> {
        Amount::number(number).map_err(E::custom)
    }
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Amount, E> {
        self.visit_f64(number as f64)
    }
    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Amount, E> {
        self.visit_f64(number as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_tells_the_dimension() {
        let check = |text: &str, value: f64, dimension| {
            let amount: Amount = text.parse().expect(text);
            assert_eq!((amount.value(), amount.dimension()), (value, dimension), "{text}");
        };
        check("-0.5", -0.5, None);
        check("300ms", 0.3, Some(Dimension::Time));
        check("64KiB", 65_536.0, Some(Dimension::Size));
        for text in ["", "inf", "NaN", "5 parsecs", "-1s"] {
            assert!(text.parse::<Amount>().is_err(), "{text}");
        }
    }
}
