//! Values that were measured, drawn by inverting their empirical distribution function: every draw is one of
//! the values, each as likely as it is frequent. Nothing between them is made up, and no tail beyond them.

use super::Univariate;
use crate::amount::Amount;
use crate::file::{self, FileError, Load};
use farfield_base::random::Stream;
use rand::RngExt;
use std::path::Path;
use std::sync::Arc;

/// The distribution function of n values, a step of 1/n at each. Mean and variance are those of the values,
/// the variance with divisor n, since the values are the whole distribution and not a sample of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Empirical {
    /// Ascending, so that the order in a file does not matter.
    values: Arc<[f64]>,
    mean: f64,
    variance: f64,
}

impl Empirical {
    /// The distribution of `values`; `None` if there is none, or one that is not finite.
    pub fn new(mut values: Vec<f64>) -> Option<Empirical> {
        if values.is_empty() || values.iter().any(|v| !v.is_finite()) {
            return None;
        }
        values.sort_unstable_by(f64::total_cmp);
        let n = values.len() as f64;
        let mean = values.iter().map(|v| v / n).sum::<f64>();
        let variance = values.iter().map(|v| (v - mean).powi(2) / n).sum();
        Some(Empirical { values: values.into(), mean, variance })
    }

    /// Reads the file at `path`: one number a line in the plain unit (seconds, bytes), `#` before a comment.
    pub(super) fn read(path: &Path, load: &mut Load<'_>) -> Result<Empirical, FileError> {
        let values = file::entries(path, load, "one number", |entry| match entry.parse() {
            Ok(Amount::Number(number)) => Ok(number),
            _ => Err(format!("`{entry}` is not a finite number; write one a line, such as `0.25`")),
        })?;
        Empirical::new(values)
            .ok_or_else(|| FileError::Whole { path: path.to_owned(), problem: "holds no number".to_owned() })
    }
}

impl Univariate for Empirical {
    fn sample(&self, rng: &mut Stream) -> f64 {
        self.values[rng.random_range(0..self.values.len())]
    }
    fn mean(&self) -> f64 {
        self.mean
    }
    fn variance(&self) -> f64 {
        self.variance
    }
    fn support(&self) -> (f64, f64) {
        (self.values[0], self.values[self.values.len() - 1])
    }
}
