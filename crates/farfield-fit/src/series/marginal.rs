//! The marginal distribution of a series: frequencies of the values, whatever the order.

use super::{SeriesError, mean};

/// The values of a series in ascending order, and what follows from them.
#[derive(Debug, Clone, PartialEq)]
pub struct Marginal {
    ascending: Vec<f64>,
}

impl Marginal {
    /// The marginal of a series of at least one value, all finite.
    pub fn of(series: &[f64]) -> Result<Marginal, SeriesError> {
        if series.is_empty() {
            return Err(SeriesError::TooShort { given: 0, needed: 1 });
        }
        if let Some(index) = series.iter().position(|value| !value.is_finite()) {
            return Err(SeriesError::NotFinite { index });
        }
        let mut ascending = series.to_vec();
        ascending.sort_unstable_by(f64::total_cmp);
        Ok(Marginal { ascending })
    }

    /// The values, ascending: what a distribution is fitted to.
    pub fn values(&self) -> &[f64] {
        &self.ascending
    }

    /// The least value that `share` of all do not exceed, `share` from 0 to 1.
    pub fn quantile(&self, share: f64) -> f64 {
        let n = self.ascending.len();
        let rank = (share * n as f64).ceil() as usize;
        self.ascending[rank.clamp(1, n) - 1]
    }

    /// The share of values above `value`.
    pub fn above(&self, value: f64) -> f64 {
        let up_to = self.ascending.partition_point(|v| *v <= value);
        (self.ascending.len() - up_to) as f64 / self.ascending.len() as f64
    }

    /// The largest value over the mean: how high peaks are.
    pub fn peak_to_mean(&self) -> f64 {
        self.quantile(1.0) / mean(&self.ascending)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_came() {
        let marginal = Marginal::of(&[4.0, 1.0, 1.0, 10.0]).expect("good values");
        assert_eq!([0.0, 0.5, 0.51, 1.0].map(|share| marginal.quantile(share)), [1.0, 1.0, 4.0, 10.0]);
        assert_eq!((marginal.above(1.0), marginal.above(10.0)), (0.5, 0.0));
        assert_eq!(marginal.peak_to_mean(), 2.5);
        assert!(Marginal::of(&[]).is_err());
    }
}
