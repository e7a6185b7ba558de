//! The table as it is printed, and what follows from its numbers alone.

use crate::page::{Table, digits, percent};
use farfield_fit::{Component, Family, Goodness, Model};

/// A distribution of the table.
pub type Printed = Model;

/// λ², AD and CVM.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Statistics {
    pub lambda_squared: f64,
    pub anderson_darling: f64,
    pub cramer_von_mises: f64,
}

impl Statistics {
    pub fn new(lambda_squared: f64, anderson_darling: f64, cramer_von_mises: f64) -> Statistics {
        Statistics { lambda_squared, anderson_darling, cramer_von_mises }
    }

    /// Those of a fit.
    pub fn of(goodness: &Goodness) -> Statistics {
        Statistics::new(goodness.lambda_squared, goodness.anderson_darling, goodness.cramer_von_mises)
    }

    /// The mean of several.
    pub fn mean(all: &[Statistics]) -> Statistics {
        let mean = |of: fn(&Statistics) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
        Statistics::new(
            mean(|s| s.lambda_squared),
            mean(|s| s.anderson_darling),
            mean(|s| s.cramer_von_mises),
        )
    }

    /// True if each of the three is smaller than that of `other`.
    pub fn is_smaller_than(&self, other: &Statistics) -> bool {
        self.lambda_squared < other.lambda_squared
            && self.anderson_darling < other.anderson_darling
            && self.cramer_von_mises < other.cramer_von_mises
    }

    /// As three cells.
    pub fn cells(&self) -> [String; 3] {
        [self.lambda_squared, self.anderson_darling, self.cramer_von_mises].map(digits)
    }
}

/// A row of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    pub name: &'static str,
    pub mean: f64,
    pub single: (Printed, Statistics),
    pub mixture: (Printed, Statistics),
}

impl Variable {
    /// The parameters of the single distribution.
    pub fn single_parameters(&self) -> &[f64] {
        self.single.0.parts()[0].1.parameters()
    }
}

fn component(family: Family, theta: [f64; 2]) -> Component {
    Component::new(family, theta).expect("the paper's parameters are good")
}

fn mixture(weight: f64, one: Component, other: Component) -> Model {
    Model::mixture(vec![(weight, one), (1.0 - weight, other)]).expect("the paper's weights are good")
}

/// The single distribution's scale of the idle times, which the mixture's part lends itself.
const IDLE_SCALE: f64 = 11.34;

/// The three variables.
pub fn variables() -> [Variable; 3] {
    use Family::{Exponential, InverseGaussian, Lognormal, Normal, Weibull};
    let single = |family, theta, statistics| (Model::single(component(family, theta)), statistics);
    [
        Variable {
            name: "clicks",
            mean: 4.6,
            single: single(InverseGaussian, [4.61, 4.18], Statistics::new(0.106, 90.36, 13.17)),
            mixture: (
                mixture(0.571, component(Exponential, [1.0 / 0.154, 0.0]), component(Normal, [2.12, 0.91])),
                Statistics::new(0.091, 82.5, 11.6),
            ),
        },
        Variable {
            name: "idle times",
            mean: 33.4,
            single: single(Weibull, [0.33, IDLE_SCALE], Statistics::new(0.006, 484.2, 65.0)),
            mixture: (
                mixture(
                    0.442,
                    component(Weibull, [0.15, IDLE_SCALE]),
                    component(InverseGaussian, [39.5, 10.54]),
                ),
                Statistics::new(0.005, 351.1, 39.85),
            ),
        },
        Variable {
            name: "transfer times",
            mean: 7.03,
            single: single(Lognormal, [0.77, 1.53], Statistics::new(0.006, 27.9, 4.3)),
            mixture: (
                mixture(
                    0.856,
                    component(InverseGaussian, [6.12, 2.12]),
                    component(InverseGaussian, [12.47, 0.098]),
                ),
                Statistics::new(0.016, 7.79, 1.28),
            ),
        },
    ]
}

/// The share of the clicks' mixture that is below 0.
pub fn below_zero() -> f64 {
    variables()[0].mixture.0.cdf_and_tail(0.0).0
}

/// The Weibull scale with which the mixture of the idle times has the printed mean.
pub fn scale_for_the_mean() -> f64 {
    let idle = &variables()[1];
    let parts = idle.mixture.0.parts();
    let means: Vec<f64> =
        parts.iter().map(|(_, distribution)| Model::single(*distribution).distribution().mean()).collect();
    let left = (idle.mean - parts[1].0 * means[1]) / parts[0].0;
    IDLE_SCALE * left / means[0]
}

/// The printed figures, beside those that follow from them.
pub fn table(variables: &[Variable]) -> Table {
    let heads =
        ["variable", "distribution", "printed mean", "the distribution's mean", "below 2", "λ²", "AD", "CVM"];
    let mut table = Table::new(
        "As printed, with the mean of each distribution and its share below 2 (clicks, or seconds).",
        &heads,
    );
    for variable in variables {
        for (distribution, statistics) in [&variable.single, &variable.mixture] {
            let [l, a, c] = statistics.cells();
            table.push([
                variable.name.to_owned(),
                distribution.to_string(),
                variable.mean.to_string(),
                digits(distribution.distribution().mean()),
                percent(distribution.cdf_and_tail(2.0).0),
                l,
                a,
                c,
            ]);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 4.61; 0.571 / 0.154 + 0.429 · 2.12; exp(0.77 + 1.53² / 2); 0.856 · 6.12 + 0.144 · 12.47.
    #[test]
    fn means_are_those_of_the_printed_distributions() {
        let variables = variables();
        let mean = |distribution: &Printed| distribution.distribution().mean();
        let near =
            |value: f64, oracle: f64| assert!((value / oracle - 1.0).abs() < 1e-3, "{value} not {oracle}");
        near(mean(&variables[0].single.0), 4.61);
        near(mean(&variables[0].mixture.0), 4.6173);
        near(mean(&variables[2].single.0), 6.9615);
        near(mean(&variables[2].mixture.0), 7.0344);
        // Weibull: 11.34 · Γ(1 + 1 / 0.33), Γ(4.0303) = 6.2335.
        near(mean(&variables[1].single.0), 70.69);
    }

    /// 0.429 · Φ(−2.12 / 0.91) = 0.429 · 0.00991.
    #[test]
    fn little_of_the_clicks_mixture_is_below_zero() {
        assert!((below_zero() - 0.004_25).abs() < 2e-5, "{}", below_zero());
    }

    #[test]
    fn the_missing_scale_follows_from_the_mean() {
        let scale = scale_for_the_mean();
        let parts = variables()[1].mixture.0.parts().to_vec();
        let weibull = component(Family::Weibull, [0.15, scale]);
        let mean = mixture(0.442, weibull, parts[1].1).distribution().mean();
        assert!((mean - 33.4).abs() < 1e-6, "{mean}");
    }
}
