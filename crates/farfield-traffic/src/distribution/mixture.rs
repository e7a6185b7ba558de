//! Finite mixtures: a draw is from one of the parts, chosen with probability in proportion to its weight.

use super::{Distribution, Univariate};
use crate::alias::{AliasTable, WeightError};
use farfield_base::random::Stream;
use std::sync::Arc;

/// Parts with weights wᵢ that are scaled to sum to 1. Mean Σ wᵢ mᵢ, variance Σ wᵢ (vᵢ + (mᵢ − mean)²), with
/// mᵢ and vᵢ the parts' means and variances.
#[derive(Debug, Clone, PartialEq)]
pub struct Mixture {
    parts: Arc<Parts>,
}

#[derive(Debug, PartialEq)]
struct Parts {
    distributions: Vec<(f64, Distribution)>,
    choice: AliasTable,
}

impl Mixture {
    /// A mixture of weights and distributions; at least one weight must be above 0.
    pub fn new(mut parts: Vec<(f64, Distribution)>) -> Result<Mixture, WeightError> {
        // A part that is never drawn must not bring its infinite moments in.
        parts.retain(|(weight, _)| *weight != 0.0);
        let weights: Vec<f64> = parts.iter().map(|(weight, _)| *weight).collect();
        let choice = AliasTable::new(&weights)?;
        let total: f64 = weights.iter().sum();
        parts.iter_mut().for_each(|(weight, _)| *weight /= total);
        Ok(Mixture { parts: Arc::new(Parts { distributions: parts, choice }) })
    }

    fn weighted(&self, of: impl Fn(&Distribution) -> f64) -> f64 {
        self.parts.distributions.iter().map(|(weight, distribution)| weight * of(distribution)).sum()
    }
}

impl Univariate for Mixture {
    fn sample(&self, rng: &mut Stream) -> f64 {
        self.parts.distributions[self.parts.choice.sample(rng)].1.sample(rng)
    }
    fn mean(&self) -> f64 {
        self.weighted(Distribution::mean)
    }
    fn variance(&self) -> f64 {
        match self.mean() {
            mean if mean.is_finite() => {
                self.weighted(|distribution| distribution.variance() + (distribution.mean() - mean).powi(2))
            }
            _ => f64::INFINITY,
        }
    }
    fn support(&self) -> (f64, f64) {
        let distributions = || self.parts.distributions.iter().map(|(_, distribution)| distribution);
        (
            distributions().map(Distribution::minimum).fold(f64::INFINITY, f64::min),
            distributions().map(Distribution::maximum).fold(f64::NEG_INFINITY, f64::max),
        )
    }
}
