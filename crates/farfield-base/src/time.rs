//! Time in whole nanoseconds: an [`Instant`] counts from the start of the run, a [`Duration`] between two.
//!
//! Both are 8 bytes and hold 584 years. The run's start is the engine's affair (a clock reading on the real
//! planes, zero on the simulated one); nothing here reads a clock. Arithmetic that would leave the range
//! saturates, because a sample that is absurd must be seen in the report, not end the run.

use crate::quantity::{QuantityError, quantity_serde, split, whole};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Sub};
use std::str::FromStr;

/// Nanoseconds since the start of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Instant(u64);

/// A length of time in nanoseconds, never negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(u64);

impl Instant {
    /// The start of the run.
    pub const ZERO: Instant = Instant(0);
    /// Later than anything that happens.
    pub const MAX: Instant = Instant(u64::MAX);

    /// The instant `ns` nanoseconds into the run.
    pub const fn from_ns(ns: u64) -> Instant {
        Instant(ns)
    }

    /// Nanoseconds since the start of the run.
    pub const fn as_ns(self) -> u64 {
        self.0
    }

    /// Seconds since the start of the run.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Time since `earlier`, zero if `earlier` is later.
    pub const fn since(self, earlier: Instant) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// No time.
    pub const ZERO: Duration = Duration(0);
    /// Longer than any run.
    pub const MAX: Duration = Duration(u64::MAX);

    /// `ns` nanoseconds.
    pub const fn from_ns(ns: u64) -> Duration {
        Duration(ns)
    }
    /// `us` microseconds.
    pub const fn from_us(us: u64) -> Duration {
        Duration(us.saturating_mul(1_000))
    }
    /// `ms` milliseconds.
    pub const fn from_ms(ms: u64) -> Duration {
        Duration(ms.saturating_mul(1_000_000))
    }
    /// `secs` seconds.
    pub const fn from_secs(secs: u64) -> Duration {
        Duration(secs.saturating_mul(1_000_000_000))
    }

    /// `secs` seconds rounded to the nanosecond; negative and NaN become zero, too large becomes
    /// [`Duration::MAX`].
    pub fn from_secs_f64(secs: f64) -> Duration {
        Duration((secs * 1e9).round() as u64) // `as` saturates, and takes NaN to zero
    }

    /// Nanoseconds.
    pub const fn as_ns(self) -> u64 {
        self.0
    }
    /// Seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// True for no time at all.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
    /// `count` times as long.
    pub const fn times(self, count: u64) -> Duration {
        Duration(self.0.saturating_mul(count))
    }
    /// The standard library's type, for calls of the system.
    pub const fn to_std(self) -> std::time::Duration {
        std::time::Duration::from_nanos(self.0)
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    fn add(self, by: Duration) -> Instant {
        Instant(self.0.saturating_add(by.0))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, by: Duration) {
        *self = *self + by;
    }
}

impl Add for Duration {
    type Output = Duration;
    fn add(self, other: Duration) -> Duration {
        Duration(self.0.saturating_add(other.0))
    }
}

impl Sub for Duration {
    type Output = Duration;
    fn sub(self, other: Duration) -> Duration {
        Duration(self.0.saturating_sub(other.0))
    }
}

const EXPECTED: &str = "write a time such as `300ms`, `1.5s`, `20us` or `2m`";

impl FromStr for Duration {
    type Err = QuantityError;

    /// Reads `10ns`, `20us` (or `20µs`), `300ms`, `1.5s`, `2m`/`2min`, `1h`, and a bare `0`.
    fn from_str(text: &str) -> Result<Duration, QuantityError> {
        let (number, unit) = split(text, EXPECTED)?;
        let ns = match unit {
            "ns" => 1.0,
            "us" | "µs" | "μs" => 1e3,
            "ms" => 1e6,
            "s" | "sec" => 1e9,
            "m" | "min" => 60e9,
            "h" => 3600e9,
            "" if number == 0.0 => 1.0,
            _ => return Err(QuantityError::Unit { given: text.to_owned(), expected: EXPECTED }),
        };
        whole(number, ns, text, EXPECTED).map(Duration)
    }
}

impl fmt::Display for Duration {
    /// The shortest exact spelling in one unit, which `from_str` reads back to the same value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(3_600_000_000_000, "h"), (60_000_000_000, "m"), (1_000_000_000, "s")];
        match self.0 {
            0 => f.write_str("0s"),
            ns => match units.iter().find(|(scale, _)| ns % scale == 0) {
                Some((scale, unit)) => write!(f, "{}{unit}", ns / scale),
                None if ns >= 1_000_000_000 && ns % 1_000_000 == 0 => {
                    write!(f, "{}", TrimmedFraction(ns / 1_000_000, 3))?;
                    f.write_str("s")
                }
                None if ns % 1_000_000 == 0 => write!(f, "{}ms", ns / 1_000_000),
                None if ns % 1_000 == 0 => write!(f, "{}us", ns / 1_000),
                None => write!(f, "{ns}ns"),
            },
        }
    }
}

/// `TrimmedFraction(1500, 3)` prints `1.5`.
struct TrimmedFraction(u64, u32);

impl fmt::Display for TrimmedFraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scale = 10u64.pow(self.1);
        let fraction = format!("{:0width$}", self.0 % scale, width = self.1 as usize);
        write!(f, "{}.{}", self.0 / scale, fraction.trim_end_matches('0'))
    }
}

quantity_serde!(Duration, "a time such as \"300ms\" or \"1.5s\"", |number| {
    if number == 0.0 {
        Ok(Duration::ZERO)
    } else {
        Err(QuantityError::Unit { given: number.to_string(), expected: EXPECTED })
    }
});

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_what_people_type() {
        let check = |text: &str, ns: u64| assert_eq!(text.parse(), Ok(Duration::from_ns(ns)), "{text}");
        check("300ms", 300_000_000);
        check("1.5s", 1_500_000_000);
        check("20 us", 20_000);
        check("2m", 120_000_000_000);
        check("1e-3s", 1_000_000);
        check("0", 0);
    }

    #[test]
    fn refuses_what_cannot_be_meant() {
        let refuse = |text: &str| {
            let error = text.parse::<Duration>().expect_err(text);
            assert!(error.to_string().contains("300ms"), "the sentence must show what would do: {error}");
        };
        ["", "ms", "5", "5 parsecs", "-1s", "inf", "1e300s"].into_iter().for_each(refuse);
    }

    proptest! {
        #[test]
        fn prints_what_it_reads(ns in any::<u64>().prop_map(|n| n >> 12)) {
            let duration = Duration::from_ns(ns);
            prop_assert_eq!(duration.to_string().parse(), Ok(duration));
        }
    }
}
