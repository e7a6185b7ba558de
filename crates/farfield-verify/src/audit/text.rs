//! Numbers as tools print them: times with units, counts and sizes with prefixes. Anything else is `None`.

use super::reported::Time;

impl Time {
    /// A time of so many seconds, given to the `step` of a second.
    pub(super) fn of_s(seconds: f64, step_s: f64) -> Option<Time> {
        // 584 years: beyond them it is no time that a tool measured.
        let valid = seconds.is_finite() && (0.0..=1.8e10).contains(&seconds);
        valid.then_some(Time { ns: (seconds * 1e9).round() as u64, step_ns: (step_s * 1e9).round() as u64 })
    }

    /// A number of `unit_s` seconds each, as printed: the last decimal is the step.
    pub(super) fn in_units(number: &str, unit_s: f64) -> Option<Time> {
        let value: f64 = number.parse().ok()?;
        let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        Time::of_s(value * unit_s, unit_s * 0.1_f64.powi(i32::try_from(decimals).ok()?))
    }

    /// A number with its unit: `1.23ms`, `505us`, `2.06s`, `1.5m`.
    pub(super) fn read(text: &str) -> Option<Time> {
        let (number, unit) = split_unit(text.trim());
        Time::in_units(number, seconds_of(unit)?)
    }

    /// Reads a time as Go prints durations, with several units: `1m2.5s`, `101.5µs`.
    pub(super) fn read_go(text: &str) -> Option<Time> {
        let (mut seconds, mut step_s, mut rest) = (0.0, 0.0, text.trim());
        if rest.is_empty() {
            return None;
        }
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
            let unit_end = rest[digits..]
                .find(|c: char| c.is_ascii_digit())
                .map_or(rest.len(), |length| digits + length);
            let unit = rest[digits..unit_end].trim();
            let unit_s =
                if unit.is_empty() && rest[..digits].parse() == Ok(0.0) { 1.0 } else { seconds_of(unit)? };
            seconds += rest[..digits].parse::<f64>().ok()? * unit_s;
            // Trailing zeros are not printed: two decimals of the last unit.
            step_s = unit_s / 100.0;
            rest = &rest[unit_end..];
        }
        Time::of_s(seconds, step_s)
    }
}

fn seconds_of(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" => 1e-9,
        "us" | "µs" | "μs" => 1e-6,
        "ms" => 1e-3,
        "s" | "sec" | "secs" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return None,
    })
}

/// A number and what follows it.
fn split_unit(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

/// A number with a decimal prefix: `6.52k`, `12`.
pub(super) fn count(text: &str) -> Option<f64> {
    let (number, unit) = split_unit(text.trim());
    let factor = match unit {
        "" => 1.0,
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * factor)
}

/// A size with its unit, where the prefixes are powers of `base` (1000 or 1024): `11.72MB`. An `i` in the
/// prefix always means 1024.
pub(super) fn bytes(text: &str, base: f64) -> Option<u64> {
    let (number, unit) = split_unit(text.trim());
    let unit = unit.strip_suffix('B').unwrap_or(unit);
    let base = if unit.ends_with('i') { 1024.0 } else { base };
    let power = match unit.trim_end_matches('i') {
        "" => 0,
        "k" | "K" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        _ => return None,
    };
    Some((number.parse::<f64>().ok()? * base.powi(power)).round() as u64)
}

/// The whole number at the beginning of a text.
pub(super) fn whole(text: &str) -> Option<u64> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

/// The number at the beginning of a text.
pub(super) fn number(text: &str) -> Option<f64> {
    split_unit(text.trim_start()).0.parse().ok()
}

/// The text behind `key` on the first line that has it, without spaces around it.
pub(super) fn after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.split_once(key)).map(|(_, behind)| behind.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(ns: u64, step_ns: u64) -> Option<Time> {
        Some(Time { ns, step_ns })
    }

    #[test]
    fn times_keep_the_step_to_which_they_are_printed() {
        assert_eq!(Time::read("1.23ms"), time(1_230_000, 10_000));
        assert_eq!(Time::read("505us"), time(505_000, 1_000));
        assert_eq!(Time::read(" 2.06s"), time(2_060_000_000, 10_000_000));
        assert_eq!(Time::in_units("13", 1e-3), time(13_000_000, 1_000_000));
        assert_eq!(Time::read_go("1m2.5s"), time(62_500_000_000, 10_000_000));
        assert_eq!(Time::read_go("101.5µs"), time(101_500, 10));
        assert_eq!(Time::read_go("0s"), time(0, 10_000_000));
        for nothing in ["", "ms", "x", "1.2.3ms", "5 parsecs", "-1ms", "NaN", "1e30s"] {
            assert_eq!(Time::read(nothing), None, "{nothing}");
            assert_eq!(Time::read_go(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn prefixes_are_decimal_or_binary_as_the_tool_has_them() {
        assert_eq!(count("6.52k"), Some(6_520.0));
        assert_eq!(bytes("11.72MB", 1024.0), Some(12_289_311));
        assert_eq!(bytes("3.8 MB", 1000.0), Some(3_800_000));
        assert_eq!(bytes("1.5 KiB", 1000.0), Some(1_536));
        assert_eq!(bytes("12 parsecs", 1000.0), None);
    }
}
