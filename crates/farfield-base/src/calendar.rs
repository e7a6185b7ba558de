//! The proleptic Gregorian calendar, as far as dates of logs and cookies need it.

/// Days from 1970-01-01 to a day of the proleptic Gregorian calendar, negative before it. `month` counts from
/// 1 and `day` from 1; neither is checked. Years begin in March here, so that the leap day is the last
/// (Hinnant, "chrono-Compatible Low-Level Date Algorithms", days_from_civil).
pub fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let of_years = 365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let of_months = (153 * month + 2) / 5;
    of_years + of_months + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::days_since_1970;

    /// Oracle: `date -u -d … +%s`, by 86,400.
    #[test]
    fn days_are_those_of_the_calendar() {
        for ((year, month, day), days) in [
            ((1970, 1, 1), 0),
            ((1969, 12, 31), -1),
            ((1601, 1, 1), -134_774),
            ((2000, 2, 29), 11_016),
            ((2024, 2, 29), 19_782),
            ((2100, 3, 1), 47_541),
        ] {
            assert_eq!(days_since_1970(year, month, day), days, "{year}-{month}-{day}");
        }
    }
}
