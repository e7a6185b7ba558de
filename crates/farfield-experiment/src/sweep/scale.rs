//! Scales on which numbers of a metric are compared and averaged: ratios, or differences.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Scale on which numbers of a metric are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// By their ratio: by the difference of logarithms; means are geometric.
    Ratio,
    /// By their difference.
    Difference,
}

impl Scale {
    /// A number on the scale on which changes add.
    pub fn forth(self, number: f64) -> f64 {
        match self {
            Scale::Ratio => number.ln(),
            Scale::Difference => number,
        }
    }

    /// A sum of changes as a change: a ratio less 1, or the difference.
    pub fn back(self, difference: f64) -> f64 {
        match self {
            Scale::Ratio => difference.exp_m1(),
            Scale::Difference => difference,
        }
    }

    /// The number that stands at this place of the scale.
    pub fn number(self, place: f64) -> f64 {
        match self {
            Scale::Ratio => place.exp(),
            Scale::Difference => place,
        }
    }

    /// A half-width as it was asked for, a share of the number or a difference, on the scale.
    pub fn width(self, asked: f64) -> f64 {
        match self {
            Scale::Ratio => asked.ln_1p(),
            Scale::Difference => asked,
        }
    }

    /// The mean on that scale, as a number of the metric: the geometric mean of what is compared by ratios.
    pub fn mean(self, numbers: &[f64]) -> f64 {
        let mean = numbers.iter().map(|number| self.forth(*number)).sum::<f64>() / numbers.len() as f64;
        self.number(mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_have_geometric_means() {
        assert!((Scale::Ratio.mean(&[1.0, 100.0]) - 10.0).abs() < 1e-9);
        assert_eq!(Scale::Difference.mean(&[1.0, 100.0]), 50.5);
        assert!((Scale::Ratio.back(1.5_f64.ln()) - 0.5).abs() < 1e-12);
        assert!((Scale::Ratio.number(Scale::Ratio.width(0.05)) - 1.05).abs() < 1e-12);
    }
}
