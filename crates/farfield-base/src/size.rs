//! Byte sizes, as people type them: `1500`, `64KiB`, `1.4MB`.

use crate::quantity::{QuantityError, quantity_serde, split, whole};
use std::fmt;
use std::str::FromStr;

/// A count of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(pub u64);

const EXPECTED: &str = "write a size such as `1500`, `64KiB` or `1.4MB`";

impl FromStr for Bytes {
    type Err = QuantityError;

    /// Reads bare bytes, the decimal `kB MB GB TB` and the binary `KiB MiB GiB TiB`, in either case of the
    /// `k`.
    fn from_str(text: &str) -> Result<Bytes, QuantityError> {
        let (number, unit) = split(text, EXPECTED)?;
        let scale = match unit {
            "" | "B" => 1.0,
            "kB" | "KB" | "k" => 1e3,
            "MB" | "M" => 1e6,
            "GB" | "G" => 1e9,
            "TB" => 1e12,
            "KiB" | "kiB" => 1024.0,
            "MiB" => 1024.0 * 1024.0,
            "GiB" => 1024.0 * 1024.0 * 1024.0,
            "TiB" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
            _ => return Err(QuantityError::Unit { given: text.to_owned(), expected: EXPECTED }),
        };
        whole(number, scale, text, EXPECTED).map(Bytes)
    }
}

impl fmt::Display for Bytes {
    /// The largest unit that is exact, which `from_str` reads back to the same value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(1 << 30, "GiB"), (1_000_000_000, "GB"), (1 << 20, "MiB"), (1_000_000, "MB")];
        let small = [(1 << 10, "KiB"), (1_000, "kB")];
        match units.iter().chain(&small).find(|(scale, _)| self.0 > 0 && self.0.is_multiple_of(*scale)) {
            Some((scale, unit)) => write!(f, "{}{unit}", self.0 / scale),
            None => write!(f, "{}B", self.0),
        }
    }
}

quantity_serde!(Bytes, "a size such as \"64KiB\"", |number| whole(
    number,
    1.0,
    &number.to_string(),
    EXPECTED
)
.map(Bytes));

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn decimal_and_binary_units_differ() {
        assert_eq!("64KiB".parse(), Ok(Bytes(65_536)));
        assert_eq!("64kB".parse(), Ok(Bytes(64_000)));
        assert_eq!("1.4MB".parse(), Ok(Bytes(1_400_000)));
        assert!("-1".parse::<Bytes>().is_err());
        assert!("12 bits".parse::<Bytes>().is_err());
    }

    proptest! {
        #[test]
        fn prints_what_it_reads(bytes in any::<u64>().prop_map(|n| n >> 12)) {
            prop_assert_eq!(Bytes(bytes).to_string().parse(), Ok(Bytes(bytes)));
        }
    }
}
