//! Events a second, as people type them: `500/s`, `30/min`, or a bare `500`.

use crate::quantity::{QuantityError, quantity_serde, split};
use crate::time::Duration;
use std::fmt;
use std::str::FromStr;

/// Events a second: finite and never negative (a schedule may rest at zero).
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Rate(f64);

impl Rate {
    /// Nothing happens.
    pub const ZERO: Rate = Rate(0.0);

    /// `per_second` events a second; refuses negative and non-finite.
    pub fn per_second(per_second: f64) -> Result<Rate, QuantityError> {
        if per_second.is_finite() && per_second >= 0.0 {
            Ok(Rate(per_second))
        } else {
            Err(QuantityError::Range { given: per_second.to_string(), expected: EXPECTED })
        }
    }

    /// Events a second.
    pub fn as_per_second(self) -> f64 {
        self.0
    }

    /// The mean gap between two events; [`Duration::MAX`] at rate zero.
    pub fn mean_gap(self) -> Duration {
        Duration::from_secs_f64(1.0 / self.0)
    }
}

const EXPECTED: &str = "write a rate such as `500/s`, `30/min` or a bare `500` (a second)";

impl FromStr for Rate {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Rate, QuantityError> {
        let (number, unit) = split(text, EXPECTED)?;
        // `5k` and `5k/s` are 5,000: people type both.
        let (scale, unit) = match unit.as_bytes().first() {
            Some(b'k') => (1e3, &unit[1..]),
            Some(b'M') => (1e6, &unit[1..]),
            _ => (1.0, unit),
        };
        let seconds = match unit {
            "" | "/s" | "/sec" => 1.0,
            "/m" | "/min" => 60.0,
            "/h" => 3600.0,
            _ => return Err(QuantityError::Unit { given: text.to_owned(), expected: EXPECTED }),
        };
        Rate::per_second(number * scale / seconds)
            .map_err(|_| QuantityError::Range { given: text.to_owned(), expected: EXPECTED })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s", self.0)
    }
}

quantity_serde!(Rate, "a rate such as \"500/s\"", Rate::per_second);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_type() {
        let check = |text: &str, rate: f64| assert_eq!(text.parse(), Ok(Rate(rate)), "{text}");
        check("500", 500.0);
        check("500/s", 500.0);
        check("5k/s", 5000.0);
        check("30/min", 0.5);
        check("0.1/s", 0.1);
    }

    #[test]
    fn refuses_what_cannot_be_meant() {
        for text in ["-1/s", "fast", "5/fortnight", "1e999"] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
    }
}
