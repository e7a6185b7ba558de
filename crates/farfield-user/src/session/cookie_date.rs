//! Dates of cookies, which servers write as they like (RFC 6265 section 5.1.1).

use farfield_base::calendar::days_since_1970;

/// A date, in seconds since 1970, by the lenient rules of section 5.1.1.
pub(crate) fn date(text: &str) -> Option<i64> {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    let delimits = |c: char| !(c.is_ascii_alphanumeric() || c == ':' || !c.is_ascii());
    for token in text.split(delimits).filter(|token| !token.is_empty()) {
        let digits = token.bytes().take_while(u8::is_ascii_digit).count();
        let number = || token[..digits].parse::<i64>().ok();
        let named = || {
            let start = token.get(..3)?.to_ascii_lowercase();
            MONTHS.iter().position(|month| *month == start)
        };
        if time.is_none() && token.contains(':') {
            time = clock(token);
        } else if day.is_none() && (1..=2).contains(&digits) {
            day = number();
        } else if month.is_none() && digits == 0 && named().is_some() {
            month = named();
        } else if year.is_none() && matches!(digits, 2 | 4) {
            year = number();
        }
    }
    let year = match year? {
        year @ 70..=99 => year + 1900,
        year @ 0..=69 => year + 2000,
        year => year,
    };
    let (time, day) = (time?, day?);
    if !(1601..=9999).contains(&year) || !(1..=31).contains(&day) {
        return None;
    }
    Some(days_since_1970(year, month? as i64 + 1, day) * 86_400 + time)
}

fn clock(token: &str) -> Option<i64> {
    let mut parts = token.split(':').map(|part| {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        part[..digits].parse::<i64>().ok()
    });
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    (hour < 24 && minute < 60 && second < 60).then(|| hour * 3600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_leniently() {
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            "08:49:37 6 november 1994",
        ] {
            assert_eq!(date(text), Some(784_111_777), "{text}");
        }
        assert_eq!(date("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(date("Thu, 29 Feb 2024 12:00:00 GMT"), Some(1_709_208_000));
        for text in [
            "",
            "yesterday",
            "06 Nov 1994",
            "32 Nov 1994 08:49:37",
            "06 Nov 1994 25:49:37",
            "06 Nov 94 9999999999999998:9:7",
        ] {
            assert_eq!(date(text), None, "{text}");
        }
    }
}
