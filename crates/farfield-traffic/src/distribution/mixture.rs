//! Finite mixtures: a draw is from one of the parts, chosen with probability in proportion to its weight.

use super::{Distribution, Law};
use crate::alias::{AliasTable, WeightError};
use farfield_base::random::Stream;
use std::sync::Arc;

/// Parts with weights wᵢ that are scaled to sum to 1. Mean Σ wᵢ mᵢ, variance Σ wᵢ (vᵢ + (mᵢ − mean)²), with mᵢ
/// and vᵢ the parts' means and variances.
#[derive(Debug, Clone, PartialEq)]
pub struct Mixture {
    parts: Arc<Parts>,
}

#[derive(Debug, PartialEq)]
struct Parts {
    laws: Vec<(f64, Distribution)>,
    choice: AliasTable,
}

impl Mixture {
    /// From weights and laws; at least one weight must be above 0.
    pub fn new(mut parts: Vec<(f64, Distribution)>) -> Result<Mixture, WeightError> {
        // A part that is never drawn must not bring its infinite moments in.
        parts.retain(|(weight, _)| *weight != 0.0);
        let weights: Vec<f64> = parts.iter().map(|(weight, _)| *weight).collect();
        let choice = AliasTable::new(&weights)?;
        let total: f64 = weights.iter().sum();
        parts.iter_mut().for_each(|(weight, _)| *weight /= total);
        Ok(Mixture { parts: Arc::new(Parts { laws: parts, choice }) })
    }

    fn weighted(&self, of: impl Fn(&Distribution) -> f64) -> f64 {
        self.parts.laws.iter().map(|(weight, law)| weight * of(law)).sum()
    }
}

impl Law for Mixture {
    fn sample(&self, rng: &mut Stream) -> f64 {
        self.parts.laws[self.parts.choice.sample(rng)].1.sample(rng)
    }
    fn mean(&self) -> f64 {
        self.weighted(Distribution::mean)
    }
    fn variance(&self) -> f64 {
        match self.mean() {
            mean if mean.is_finite() => self.weighted(|law| law.variance() + (law.mean() - mean).powi(2)),
            _ => f64::INFINITY,
        }
    }
    fn support(&self) -> (f64, f64) {
        let laws = || self.parts.laws.iter().map(|(_, law)| law);
        (
            laws().map(Distribution::minimum).fold(f64::INFINITY, f64::min),
            laws().map(Distribution::maximum).fold(f64::NEG_INFINITY, f64::max),
        )
    }
}
