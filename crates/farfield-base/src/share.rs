//! A part of a whole, 0 to 1, as people type it: `0.05` or `5%`.

use crate::quantity::{QuantityError, quantity_serde, split};
use std::fmt;
use std::str::FromStr;

/// A share, in [0, 1].
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Share(f64);

const EXPECTED: &str = "write a share such as `0.05` or `5%`, from 0 to 1";

impl Share {
    /// Nothing of it.
    pub const NONE: Share = Share(0.0);
    /// All of it.
    pub const ALL: Share = Share(1.0);

    /// A share in [0, 1]; refuses everything else.
    pub fn new(share: f64) -> Result<Share, QuantityError> {
        if (0.0..=1.0).contains(&share) {
            Ok(Share(share))
        } else {
            Err(QuantityError::Range { given: share.to_string(), expected: EXPECTED })
        }
    }

    /// The share as a number in [0, 1].
    pub fn as_f64(self) -> f64 {
        self.0
    }
}

impl FromStr for Share {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Share, QuantityError> {
        let (number, unit) = split(text, EXPECTED)?;
        let share = match unit {
            "" => number,
            "%" => number / 100.0,
            _ => return Err(QuantityError::Unit { given: text.to_owned(), expected: EXPECTED }),
        };
        Share::new(share).map_err(|_| QuantityError::Range { given: text.to_owned(), expected: EXPECTED })
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

quantity_serde!(Share, "a share such as 0.05 or \"5%\"", Share::new);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stays_between_nothing_and_all() {
        assert_eq!("5%".parse(), Share::new(0.05));
        assert_eq!("1".parse(), Ok(Share::ALL));
        for text in ["1.01", "101%", "-0.1", "half"] {
            assert!(text.parse::<Share>().is_err(), "{text}");
        }
    }
}
