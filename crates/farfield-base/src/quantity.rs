//! Numbers with a unit, as people type them: `300ms`, `56kbit`, `64KiB`, `5000/s`.
//!
//! One splitter for all quantities, so that all of them take the same spellings: an optional fraction or
//! exponent, an optional blank, a unit. What the units mean is the quantity's own affair.

/// The error of parsing a quantity. The message quotes the text and shows the expected form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// There is no number in front.
    #[error("`{given}` does not start with a number; {expected}")]
    NoNumber {
        /// The text.
        given: String,
        /// Examples of what would do.
        expected: &'static str,
    },
    /// The unit is missing or unknown.
    #[error("`{given}` has no unit that fits; {expected}")]
    Unit {
        /// The text.
        given: String,
        /// Examples of what would do.
        expected: &'static str,
    },
    /// Negative, not finite, or too large to hold.
    #[error("`{given}` is out of range; {expected}")]
    Range {
        /// The text.
        given: String,
        /// Examples of what would do.
        expected: &'static str,
    },
}

/// Splits `text` into its number and its unit (trimmed, case kept).
pub(crate) fn split<'t>(text: &'t str, expected: &'static str) -> Result<(f64, &'t str), QuantityError> {
    let text = text.trim();
    let end = number_length(text);
    let number = text[..end]
        .parse::<f64>()
        .map_err(|_| QuantityError::NoNumber { given: text.to_owned(), expected })?;
    if !number.is_finite() {
        return Err(QuantityError::Range { given: text.to_owned(), expected });
    }
    Ok((number, text[end..].trim()))
}

/// Bytes of `text` that belong to its number: sign, digits, point, and an exponent only if digits follow it
/// (so that `3exa` is not read as `3e`).
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit() || **b == b'_').count();
    let mut at = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    at += digits(at);
    if bytes.get(at) == Some(&b'.') {
        at += 1 + digits(at + 1);
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let exponent = digits(at + 1 + sign);
        if exponent > 0 {
            at += 1 + sign + exponent;
        }
    }
    at
}

/// Scales `number` and rounds it to a whole count, if it is one that `u64` holds.
pub(crate) fn whole(
    number: f64,
    scale: f64,
    given: &str,
    expected: &'static str,
) -> Result<u64, QuantityError> {
    let scaled = (number * scale).round();
    if (0.0..1.8e19).contains(&scaled) {
        Ok(scaled as u64)
    } else {
        Err(QuantityError::Range { given: given.to_owned(), expected })
    }
}

/// Serde for a quantity: written as its text, read from its text or, where `$number` says how, from a bare
/// number.
macro_rules! quantity_serde {
    ($type:ty, $expecting:literal, $number:expr) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl serde::de::Visitor<'_> for Text {
                    type Value = $type;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str($expecting)
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }
                    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<$type, E> {
                        let read: fn(f64) -> Result<$type, $crate::quantity::QuantityError> = $number;
                        read(number).map_err(E::custom)
                    }
                    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<$type, E> {
                        self.visit_f64(number as f64)
                    }
                    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<$type, E> {
                        self.visit_f64(number as f64)
                    }
                }
                deserializer.deserialize_any(Text)
            }
        }
    };
}
pub(crate) use quantity_serde;
