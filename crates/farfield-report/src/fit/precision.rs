//! Numbers with as many digits as their errors leave: two digits of the error, and the value to the same
//! place.

/// Numbers from here on are written with an exponent, and so are such near zero.
const LARGE: f64 = 1e7;
const SMALL: f64 = 1e-4;
/// Digits of a number whose error nobody knows.
const DIGITS: i32 = 3;

/// A value whose standard error, or half of whose interval, is `error`.
pub fn to_error(value: f64, error: f64) -> String {
    match error.is_finite() && error > 0.0 && value.is_finite() {
        true => to_place(value, place(error) - 1),
        false => significant(value),
    }
}

/// A value with its error.
pub fn with_error(value: f64, error: f64) -> String {
    format!("{} ± {}", to_error(value, error), to_error(error, error))
}

/// A mean of `count` values with this standard deviation.
pub fn mean(mean: f64, deviation: f64, count: u64) -> String {
    to_error(mean, deviation / (count.max(1) as f64).sqrt())
}

/// Three digits.
pub fn significant(value: f64) -> String {
    match value.is_finite() && value != 0.0 {
        true => to_place(value, place(value) - DIGITS + 1),
        false => value.to_string(),
    }
}

/// The power of ten of the first digit.
fn place(value: f64) -> i32 {
    value.abs().log10().floor() as i32
}

/// `value` to the digit of this power of ten.
fn to_place(value: f64, last: i32) -> String {
    let size = value.abs();
    if value != 0.0 && !(SMALL..LARGE).contains(&size) {
        let digits = (place(value) - last).clamp(0, 15) as usize;
        return format!("{value:.digits$e}");
    }
    match usize::try_from(-last) {
        Ok(decimals) => format!("{value:.0$}", decimals.min(15)),
        Err(_) => {
            let unit = 10f64.powi(last);
            format!("{:.0}", (value / unit).round() * unit)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_that_the_error_leaves() {
        for (value, error, text) in [
            (12.345678, 1.234567, "12.3 ± 1.2"),
            (12_345.678, 1_234.567, "12300 ± 1200"),
            (0.5, 0.00012, "0.50000 ± 0.00012"),
            (-3.1316, 0.25, "-3.13 ± 0.25"),
            (1.25e9, 3.1e7, "1.250e9 ± 3.1e7"),
            (2.5e-6, 4e-8, "2.500e-6 ± 4.0e-8"),
            (0.0, 0.3, "0.00 ± 0.30"),
        ] {
            assert_eq!(with_error(value, error), text);
        }
        assert_eq!(mean(12.345678, 10.0, 100), "12.3");
        for (value, text) in [(1234.5, "1230"), (0.012345, "0.0123"), (0.0, "0"), (f64::INFINITY, "inf")] {
            assert_eq!(significant(value), text);
        }
        assert_eq!((to_error(7.0, 0.0), to_error(7.1234, f64::NAN)), ("7.00".to_owned(), "7.12".to_owned()));
    }
}
