//! Numbers as people read them: three significant digits with a unit, thousands in groups.
//!
//! Rounding never changes what a number claims: what is not all is never printed as 100 %, and what
//! happened never as 0 %.

use farfield_measure::Summary;
use farfield_measure::summary::StatusCount;

/// A time: `512ns`, `34.0µs`, `1.20ms`, `86,400s`.
pub fn time(ns: u64) -> String {
    if ns < 1_000 {
        return format!("{ns}ns");
    }
    let units = [(1e3, "µs"), (1e6, "ms")];
    let scaled = |scale: f64| ns as f64 / scale;
    match units.into_iter().find(|&(scale, _)| scaled(scale) < 999.5) {
        Some((scale, unit)) => format!("{}{unit}", three_digits(scaled(scale))),
        None => format!("{}s", three_digits(scaled(1e9))),
    }
}

/// Replies by status code, the most frequent first: `200 5,010, 404 12`; of many codes the first six.
pub fn by_status(statuses: &[StatusCount]) -> String {
    const SHOWN: usize = 6;
    let mut statuses = statuses.to_vec();
    statuses.sort_by_key(|own| (std::cmp::Reverse(own.count), own.status));
    let shown = statuses.iter().take(SHOWN).map(|own| format!("{} {}", own.status, count(own.count)));
    let more = statuses.len().checked_sub(SHOWN).filter(|more| *more > 0).map(|more| format!("+{more} more"));
    shown.chain(more).collect::<Vec<_>>().join(", ")
}

/// A count, in groups of three: `1,234,567`.
pub fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A number that need not be whole: three digits at least, whole from a hundred on.
pub fn three_digits(number: f64) -> String {
    if number == 0.0 {
        "0".to_owned()
    } else if number < 9.995 {
        format!("{number:.2}")
    } else if number < 99.95 {
        format!("{number:.1}")
    } else {
        count(number.round() as u64)
    }
}

/// Events a second: `5,000/s`, `0.50/s`.
pub fn rate(per_second: f64) -> String {
    format!("{}/s", three_digits(per_second))
}

/// Bytes, in decimal units: `12.3MB`.
pub fn bytes(bytes: f64) -> String {
    bytes_rate(bytes).trim_end_matches("/s").to_owned()
}

/// Bytes a second, in decimal units: `12.3MB/s`.
pub fn bytes_rate(per_second: f64) -> String {
    let units = [(1.0, "B/s"), (1e3, "kB/s"), (1e6, "MB/s"), (1e9, "GB/s")];
    let (scale, unit) = units.into_iter().find(|(scale, _)| per_second / scale < 999.5).unwrap_or(units[3]);
    format!("{}{unit}", three_digits(per_second / scale))
}

/// A share in per cent: `99.96%`, but `>99.99%` and `<0.01%` where rounding would claim all or nothing.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        p if p > 0.0 && p < 0.005 => "<0.01%".to_owned(),
        p if (99.995..100.0).contains(&p) => ">99.99%".to_owned(),
        p if p == p.round() => format!("{p:.0}%"),
        p => format!("{p:.2}%"),
    }
}

/// The ends of an interval: `180ms to 230ms`.
pub fn from_to<T>(ends: [T; 2], in_words: impl Fn(T) -> String) -> String {
    ends.map(in_words).join(" to ")
}

/// The reach of an interval from its number, to the farther end, as a share of it: `±1.2%`, `±35%`.
pub fn reach(number: f64, [low, high]: [f64; 2]) -> String {
    let percent = (number - low).max(high - number) / number * 100.0;
    match percent {
        p if !p.is_finite() => "-".to_owned(),
        p if p < 0.05 => "<±0.1%".to_owned(),
        p if p < 9.95 => format!("±{p:.1}%"),
        p => format!("±{}%", count(p.round() as u64)),
    }
}

/// The parts of a run, and how closely they started; `None` for one that was made whole.
pub(crate) fn parts_of_run(summary: &Summary) -> Option<String> {
    let skew = summary.parts.iter().filter_map(|part| part.skew_ns).max();
    let skew = skew.map_or_else(String::new, |skew| format!("; started within {}", time(skew)));
    let names: Vec<&str> = summary.parts.iter().map(|part| part.part.as_str()).collect();
    (!names.is_empty()).then(|| format!("{}{skew}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_keep_three_digits_and_carry_into_the_next_unit() {
        let check = |ns: u64, text: &str| assert_eq!(time(ns), text, "{ns}");
        check(0, "0ns");
        check(999, "999ns");
        check(1_000, "1.00µs");
        check(9_994, "9.99µs");
        check(9_995, "10.0µs");
        check(99_949, "99.9µs");
        check(99_950, "100µs");
        check(999_499, "999µs");
        check(999_500, "1.00ms");
        check(999_500_000, "1.00s");
        check(86_400_000_000_000, "86,400s");
    }

    #[test]
    fn counts_are_grouped() {
        let check = |number: u64, text: &str| assert_eq!(count(number), text);
        check(0, "0");
        check(999, "999");
        check(1_000, "1,000");
        check(1_234_567, "1,234,567");
    }

    #[test]
    fn rates_and_bytes() {
        assert_eq!(rate(4999.6), "5,000/s");
        assert_eq!(rate(0.5), "0.50/s");
        assert_eq!(bytes_rate(12_345_678.0), "12.3MB/s");
        assert_eq!(bytes_rate(999.6), "1.00kB/s");
        assert_eq!(bytes_rate(0.0), "0B/s");
        assert_eq!(bytes_rate(5e15), "5,000,000GB/s");
    }

    #[test]
    fn almost_all_is_not_all() {
        let check = |share: f64, text: &str| assert_eq!(percent(share), text, "{share}");
        check(1.0, "100%");
        check(0.999_99, ">99.99%");
        check(0.9996, "99.96%");
        check(0.00001, "<0.01%");
        check(0.0, "0%");
        check(0.34, "34%");
    }
}
