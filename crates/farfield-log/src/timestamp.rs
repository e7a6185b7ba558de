//! Dates as logs write them, into nanoseconds since the start of 1970. A date before that, or one that is not
//! in the calendar, is `None`.

use crate::parser::number;
use farfield_base::Instant;
use farfield_base::calendar::days_since_1970;

const MONTHS: [&[u8; 3]; 12] =
    [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];

/// `01/Jul/1995:00:00:01 -0400`
pub(crate) fn common(text: &[u8]) -> Option<Instant> {
    if text.len() != 26 || text[2] != b'/' || text[6] != b'/' || text[11] != b':' || text[20] != b' ' {
        return None;
    }
    let seconds =
        civil(number(&text[7..11])?, month(&text[3..6])?, number(&text[..2])?)? + time(&text[12..20])?;
    instant(seconds - offset(&text[21..])?, 0)
}

/// `06/Feb/2009:12:14:14.655`, as HAProxy writes it. Taken as UTC: there is no zone.
pub(crate) fn common_without_zone(text: &[u8]) -> Option<Instant> {
    if text.len() < 20 || text[2] != b'/' || text[6] != b'/' || text[11] != b':' {
        return None;
    }
    let days = civil(number(&text[7..11])?, month(&text[3..6])?, number(&text[..2])?)?;
    let fraction = match text[20..].split_first() {
        None => 0,
        Some((_, digits)) if text[20] == b'.' => nanoseconds(digits)?,
        Some(_) => return None,
    };
    instant(days + time(&text[12..20])?, fraction)
}

/// `Tue Aug 22 00:00:05 1995`, or with a blank before a day of one digit. Taken as UTC: there is no zone.
pub(crate) fn unix(text: &[u8]) -> Option<Instant> {
    if text.len() != 24 || text[3] != b' ' || text[7] != b' ' || text[10] != b' ' || text[19] != b' ' {
        return None;
    }
    let day = text[8..10].strip_prefix(b" ").unwrap_or(&text[8..10]);
    let days = civil(number(&text[20..])?, month(&text[4..7])?, number(day)?)?;
    instant(days + time(&text[11..19])?, 0)
}

/// `2025-04-17` and `05:10:56` or `05:10:56.123`, in UTC.
pub(crate) fn date_and_time(date: &[u8], clock: &[u8]) -> Option<Instant> {
    if date.len() != 10 || date[4] != b'-' || date[7] != b'-' || clock.len() < 8 {
        return None;
    }
    let days = civil(number(&date[..4])?, number(&date[5..7])?, number(&date[8..])?)?;
    let fraction = match clock[8..].split_first() {
        None => 0,
        Some((b'.' | b',', digits)) => nanoseconds(digits)?,
        Some(_) => return None,
    };
    instant(days + time(&clock[..8])?, fraction)
}

/// `2025-04-17T05:10:56.123+01:00`, or with `Z`, or with a blank for the `T` (RFC 3339).
pub fn rfc3339(text: &[u8]) -> Option<Instant> {
    if text.len() < 20 || !matches!(text[10], b'T' | b't' | b' ') {
        return None;
    }
    let zone = text[19..].iter().position(|byte| matches!(byte, b'Z' | b'z' | b'+' | b'-'))? + 19;
    let at = date_and_time(&text[..10], &text[11..zone])?;
    let east = if matches!(text[zone], b'Z' | b'z') { 0 } else { offset(&text[zone..])? };
    let ns = i128::from(at.as_ns()) - i128::from(east) * 1_000_000_000;
    u64::try_from(ns).ok().map(Instant::from_ns)
}

fn month(name: &[u8]) -> Option<u64> {
    MONTHS.iter().position(|month| month.as_slice() == name).map(|at| at as u64 + 1)
}

/// Seconds into the day; a leap second is the last of its minute.
fn time(text: &[u8]) -> Option<i64> {
    let (hour, minute, second) = (number(&text[..2])?, number(&text[3..5])?, number(&text[6..8])?);
    let good = text[2] == b':' && text[5] == b':' && hour < 24 && minute < 60 && second <= 60;
    good.then_some((hour * 3600 + minute * 60 + second.min(59)) as i64)
}

/// Seconds east of UTC: `-0400`, `+01:00`.
fn offset(text: &[u8]) -> Option<i64> {
    let (sign, digits) = text.split_first()?;
    let minutes = match digits.len() {
        4 => number(&digits[2..])?,
        5 if digits[2] == b':' => number(&digits[3..])?,
        _ => return None,
    };
    let seconds = (number(&digits[..2])? * 60 + minutes) as i64 * 60;
    match sign {
        b'+' => Some(seconds),
        b'-' => Some(-seconds),
        _ => None,
    }
}

fn nanoseconds(digits: &[u8]) -> Option<u64> {
    let kept = &digits[..digits.len().min(9)];
    Some(number(kept)? * 10u64.pow(9 - kept.len() as u32))
}

/// Seconds from 1970 to the start of a day; `None` if the calendar has no such day.
fn civil(year: u64, month: u64, day: u64) -> Option<i64> {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let longest = match month {
        2 => 28 + u64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1970..=2500).contains(&year) || day == 0 || day > longest {
        return None;
    }
    Some(days_since_1970(year as i64, month as i64, day as i64) * 86_400)
}

fn instant(seconds: i64, ns: u64) -> Option<Instant> {
    let seconds = u64::try_from(seconds).ok()?;
    Some(Instant::from_ns(seconds.checked_mul(1_000_000_000)?.checked_add(ns)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracles: `date -u -d … +%s`.
    #[test]
    fn dates_are_those_of_the_calendar() {
        let seconds = |at: Option<Instant>| at.map(|at| at.as_ns() / 1_000_000_000);
        assert_eq!(seconds(common(b"01/Jul/1995:00:00:01 -0400")), Some(804_571_201));
        assert_eq!(seconds(common(b"29/Feb/2024:23:59:59 +0530")), Some(1_709_231_399));
        assert_eq!(seconds(unix(b"Tue Aug 22 00:00:05 1995")), Some(809_049_605));
        assert_eq!(seconds(unix(b"Sat Jan  1 00:00:00 2000")), Some(946_684_800));
        assert_eq!(seconds(date_and_time(b"2025-04-17", b"05:10:56")), Some(1_744_866_656));
        assert_eq!(rfc3339(b"1970-01-01T01:00:00.25+01:00"), Some(Instant::from_ns(250_000_000)));
        assert_eq!(rfc3339(b"1970-01-01 00:00:01Z"), Some(Instant::from_ns(1_000_000_000)));
    }

    #[test]
    fn what_no_calendar_has_is_none() {
        for text in
            ["31/Apr/1995:00:00:01 -0400", "29/Feb/1900:00:00:01 -0400", "01/Jul/1995:24:00:01 -0400", ""]
        {
            assert_eq!(common(text.as_bytes()), None, "{text}");
        }
        assert_eq!(rfc3339(b"1970-01-01T00:00:00+01:00"), None, "before 1970");
        assert_eq!(rfc3339(b"2025-13-01T00:00:00Z"), None);
    }
}
