//! The median of a few runs, with the least and the most beside it.

use std::fmt;

/// The middle and the ends of some numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The median; between the two in the middle if there is an even number.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The most.
    pub max: f64,
}

impl Spread {
    /// The spread of `values`.
    ///
    /// # Panics
    /// If there are none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Spread {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let count = values.len();
        assert!(count > 0, "the spread of nothing");
        let median = f64::midpoint(values[(count - 1) / 2], values[count / 2]);
        Spread { median, min: values[0], max: values[count - 1] }
    }

    /// The spread of `ours / theirs`, run by run: what a pair had in common, such as a busy machine, cancels.
    pub fn of_ratios(ours: &[f64], theirs: &[f64]) -> Spread {
        Spread::of(ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs))
    }
}

/// `12.3 (11.0–14.9)`, with as many decimals as the precision says.
impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(2);
        write!(f, "{:.digits$} ({:.digits$}–{:.digits$})", self.median, self.min, self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_of_odd_even_and_one() {
        assert_eq!(Spread::of([3.0, 1.0, 2.0]), Spread { median: 2.0, min: 1.0, max: 3.0 });
        assert_eq!(Spread::of([4.0, 1.0, 3.0, 2.0]).median, 2.5);
        assert_eq!(Spread::of([7.0]), Spread { median: 7.0, min: 7.0, max: 7.0 });
    }

    /// The ratio of the medians would be 1; the pairs say that ours is always half as much again.
    #[test]
    fn ratios_are_taken_pair_by_pair() {
        let spread = Spread::of_ratios(&[1.5, 3.0, 6.0], &[1.0, 2.0, 4.0]);
        assert_eq!(spread, Spread { median: 1.5, min: 1.5, max: 1.5 });
    }

    #[test]
    fn prints_median_and_ends() {
        let spread = Spread { median: 1.0, min: 0.954, max: 1.25 };
        assert_eq!(format!("{spread:.1}"), "1.0 (1.0–1.2)");
        assert_eq!(spread.to_string(), "1.00 (0.95–1.25)");
    }
}
