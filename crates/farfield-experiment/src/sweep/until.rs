//! Width of an interval at which repeats end: `p99 ± 5%`.

use farfield_base::Share;
use std::fmt;
use std::str::FromStr;

/// A number of each run, and the half-width that the interval of its mean is to have: of the mean, or of
/// shares in percentage points.
#[derive(Debug, Clone, PartialEq)]
pub struct Until {
    /// The number's name.
    pub metric: String,
    /// The half-width.
    pub width: f64,
}

/// Why a text says no width.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names no width: write a metric and a share, such as 'p99 ± 5%' or 'p99 +- 5%'")]
pub struct UntilError(String);

impl FromStr for Until {
    type Err = UntilError;

    fn from_str(text: &str) -> Result<Until, UntilError> {
        let refuse = || UntilError(text.to_owned());
        let parts = ["±", "+-", "+/-"].iter().find_map(|sign| text.split_once(sign));
        let (metric, width) = parts.or_else(|| text.trim().rsplit_once(' ')).ok_or_else(refuse)?;
        let width = width.trim().parse::<Share>().map_err(|_| refuse())?.as_f64();
        let metric = metric.trim().to_owned();
        if metric.is_empty() || width <= 0.0 {
            return Err(refuse());
        }
        Ok(Until { metric, width })
    }
}

impl fmt::Display for Until {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Rounded to what was written: 0.05 × 100 has no exact number.
        let percent = (self.width * 1e8).round() / 1e6;
        write!(f, "{} ± {percent}%", self.metric)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_width_is_written_with_any_sign() {
        for text in ["p99 ± 5%", "p99±5%", "p99 +- 5%", "p99 +/- 5 %", "p99 5%"] {
            let until: Until = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!((until.metric.as_str(), until.width), ("p99", 0.05), "{text}");
            assert_eq!(until.to_string(), "p99 ± 5%");
        }
        for text in ["p99", "± 5%", "p99 ± 0%", "p99 ± wide", ""] {
            assert!(text.parse::<Until>().is_err(), "{text}");
        }
    }
}
