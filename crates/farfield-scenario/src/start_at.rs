//! The wall-clock time at which a run starts, as people write it: `2026-12-01T09:30:00Z`, with a fraction of
//! a second if need be (RFC 3339, in UTC).

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A start in wall-clock time, to the nanosecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartAt {
    unix_ns: u64,
}

impl StartAt {
    /// Nanoseconds since 1970.
    pub fn unix_ns(self) -> u64 {
        self.unix_ns
    }

    fn time(self) -> SystemTime {
        UNIX_EPOCH + Duration::from_nanos(self.unix_ns)
    }
}

impl FromStr for StartAt {
    type Err = String;

    fn from_str(text: &str) -> Result<StartAt, String> {
        let wrong = || format!("`{text}` is no time in UTC; write one such as `2026-12-01T09:30:00Z`");
        let time = humantime::parse_rfc3339(text.trim()).map_err(|_| wrong())?;
        let since = time.duration_since(UNIX_EPOCH).map_err(|_| wrong())?;
        Ok(StartAt { unix_ns: since.as_nanos().try_into().map_err(|_| wrong())? })
    }
}

impl fmt::Display for StartAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_rfc3339(self.time()).fmt(f)
    }
}

impl Serialize for StartAt {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for StartAt {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<StartAt, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_a_time_in_utc() {
        for (text, unix_ns) in [
            ("2026-12-01T09:30:00Z", 1_796_117_400_000_000_000),
            ("2026-12-01T09:30:00.25Z", 1_796_117_400_250_000_000),
            ("1970-01-01T00:00:00.000000001Z", 1),
        ] {
            let start: StartAt = text.parse().unwrap();
            assert_eq!(start.unix_ns(), unix_ns, "{text}");
            assert_eq!(start.to_string().parse(), Ok(start));
        }
        for wrong in ["", "now", "09:30", "2026-12-01", "2026-12-01T09:30:00+01:00", "1969-12-31T23:59:59Z"] {
            let error = wrong.parse::<StartAt>().unwrap_err();
            assert!(error.contains("2026-12-01T09:30:00Z"), "{wrong}: {error}");
        }
    }
}
