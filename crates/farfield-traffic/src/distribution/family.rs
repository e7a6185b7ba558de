//! The distributions that are fitted, as functions: density, distribution function and tail at given
//! parameters.
//!
//! The order and meaning of parameters is that of the crate's distributions, so that a fit is usable as it
//! stands in a scenario. Everything is exact to about 1e-12 also far out in a tail, where the statistics of
//! Anderson and Darling look.

use super::special::{erfcx, incomplete_gamma, normal_cdf};
use super::{
    Distribution, Exponential, Gamma, Geometric, InverseGaussian, Lognormal, Normal, ParameterError, Pareto,
    Weibull,
};
use serde::{Deserialize, Serialize};
use std::f64::consts::{PI, SQRT_2};
use std::fmt;

/// A family of distributions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Density e^(−x/mean) / mean.
    Exponential,
    /// P(k) = (1 − p)^(k−1) p on k = 1, 2, …
    Geometric,
    /// Distribution function 1 − e^(−(x/scale)^shape).
    Weibull,
    /// Normal, of given mean and standard deviation.
    Normal,
    /// ln x is normal.
    Lognormal,
    /// P(X > x) = (scale/x)^shape.
    Pareto,
    /// Also called Wald.
    InverseGaussian,
    /// Sums of exponentials, and between.
    Gamma,
}

/// A family with its parameters: a distribution, or a component of a mixture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Component {
    family: Family,
    /// Parameters in the order of [`Family::parameters`]; a family of one parameter leaves the second at 0.
    theta: [f64; 2],
}

impl Family {
    /// All families.
    pub const ALL: [Family; 8] = [
        Family::Exponential,
        Family::Geometric,
        Family::Weibull,
        Family::Normal,
        Family::Lognormal,
        Family::Pareto,
        Family::InverseGaussian,
        Family::Gamma,
    ];

    /// The family with this name in a scenario.
    pub fn named(name: &str) -> Option<Family> {
        Family::ALL.into_iter().find(|family| family.name() == name)
    }

    /// Name in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            Family::Exponential => "exponential",
            Family::Geometric => "geometric",
            Family::Weibull => "weibull",
            Family::Normal => "normal",
            Family::Lognormal => "lognormal",
            Family::Pareto => "pareto",
            Family::InverseGaussian => "inverse-gaussian",
            Family::Gamma => "gamma",
        }
    }

    /// The parameters, as a scenario spells them.
    pub fn parameters(self) -> &'static [&'static str] {
        match self {
            Family::Exponential => &["mean"],
            Family::Geometric => &["p"],
            Family::Normal => &["mean", "sigma"],
            Family::Lognormal => &["mu", "sigma"],
            Family::InverseGaussian => &["mean", "shape"],
            Family::Weibull | Family::Pareto | Family::Gamma => &["shape", "scale"],
        }
    }

    /// Values that the family can explain, in words; `None` if it can explain `value` as observed: rounding
    /// to multiples of `tick` may bring values to zero.
    pub fn refuses_observed(self, value: f64, tick: f64) -> Option<&'static str> {
        match self {
            Family::Normal | Family::Exponential | Family::Geometric => self.refuses(value),
            _ if tick > 0.0 && value >= 0.0 => None,
            _ => self.refuses(value),
        }
    }

    /// The values that the family can explain, in words; `None` if it can `value`.
    pub fn refuses(self, value: f64) -> Option<&'static str> {
        match self {
            Family::Normal => None,
            Family::Exponential => (value < 0.0).then_some("values from 0 up"),
            Family::Geometric => (value < 1.0 || value.fract() != 0.0).then_some("whole numbers from 1 up"),
            _ => (value <= 0.0).then_some("values above 0"),
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Component {
    /// `family` with `theta`, in the order of [`Family::parameters`] (the second is ignored where there is
    /// one).
    pub fn new(family: Family, theta: [f64; 2]) -> Result<Component, ParameterError> {
        let component = Component { family, theta };
        component.distribution().map(|_| component)
    }

    /// A component of parameters that are known to be valid.
    pub fn known(family: Family, theta: [f64; 2]) -> Component {
        Component { family, theta }
    }

    /// The family.
    pub fn family(&self) -> Family {
        self.family
    }

    /// The parameters, in the order of [`Family::parameters`].
    pub fn parameters(&self) -> &[f64] {
        &self.theta[..self.family.parameters().len()]
    }

    /// The component with one parameter changed.
    pub fn with(mut self, at: usize, change: impl FnOnce(f64) -> f64) -> Component {
        self.theta[at] = change(self.theta[at]);
        self
    }

    /// The distribution of values that are `factor` times as large, `factor` above 0. The geometric
    /// distribution becomes the exponential one of the same mean: its values are counts, and multiples of
    /// counts are none.
    pub fn scaled(&self, factor: f64) -> Component {
        let [a, b] = self.theta;
        let of = |family, a, b| Component::known(family, [a, b]);
        match self.family {
            Family::Exponential => of(Family::Exponential, a * factor, 0.0),
            Family::Geometric => of(Family::Exponential, factor / a, 0.0),
            Family::Lognormal => of(Family::Lognormal, a + factor.ln(), b),
            Family::Normal | Family::InverseGaussian => of(self.family, a * factor, b * factor),
            Family::Weibull | Family::Pareto | Family::Gamma => of(self.family, a, b * factor),
        }
    }

    /// The distribution to draw from.
    pub fn distribution(&self) -> Result<Distribution, ParameterError> {
        let [a, b] = self.theta;
        Ok(match self.family {
            Family::Exponential => Distribution::Exponential(Exponential::with_mean(a)?),
            Family::Geometric => Distribution::Geometric(Geometric::with_p(a)?),
            Family::Weibull => Distribution::Weibull(Weibull::new(a, b)?),
            Family::Normal => Distribution::Normal(Normal::new(a, b)?),
            Family::Lognormal => Distribution::Lognormal(Lognormal::new(a, b)?),
            Family::Pareto => Distribution::Pareto(Pareto::new(a, b)?),
            Family::InverseGaussian => Distribution::InverseGaussian(InverseGaussian::new(a, b)?),
            Family::Gamma => Distribution::Gamma(Gamma::new(a, b)?),
        })
    }

    /// ln of the density at `x` (of the probability, for the geometric distribution). `ln_x` is ln `x`.
    pub fn ln_density(&self, x: f64, ln_x: f64) -> f64 {
        let [a, b] = self.theta;
        if x < 0.0 && self.family != Family::Normal {
            return f64::NEG_INFINITY;
        }
        match self.family {
            Family::Exponential => -x / a - a.ln(),
            Family::Geometric if x < 1.0 => f64::NEG_INFINITY,
            Family::Geometric if x == 1.0 => a.ln(),
            Family::Geometric => (x - 1.0) * (-a).ln_1p() + a.ln(),
            Family::Normal => -((x - a) / b).powi(2) / 2.0 - b.ln() - (2.0 * PI).ln() / 2.0,
            _ if x == 0.0 => f64::NEG_INFINITY,
            Family::Weibull => {
                let ln_scaled = ln_x - b.ln();
                (a / b).ln() + (a - 1.0) * ln_scaled - (a * ln_scaled).exp()
            }
            Family::Lognormal => -((ln_x - a) / b).powi(2) / 2.0 - b.ln() - ln_x - (2.0 * PI).ln() / 2.0,
            Family::Pareto if x < b => f64::NEG_INFINITY,
            Family::Pareto => a.ln() + a * b.ln() - (a + 1.0) * ln_x,
            Family::InverseGaussian => {
                ((b / (2.0 * PI)).ln() - 3.0 * ln_x) / 2.0 - b * ((x - a) / a).powi(2) / (2.0 * x)
            }
            Family::Gamma => (a - 1.0) * ln_x - x / b - libm::lgamma(a) - a * b.ln(),
        }
    }

    /// The distribution function and the tail below `least` and at `most`: (P(X ≤ x), P(X > x)) of each. A
    /// count at the lower threshold lies between them.
    pub fn ends_between(&self, least: f64, most: f64) -> ((f64, f64), (f64, f64)) {
        let below = if self.family == Family::Geometric { least.ceil() - 1.0 } else { least };
        (self.cdf_and_tail(below), self.cdf_and_tail(most))
    }

    /// (P(X ≤ x), P(X > x)).
    pub fn cdf_and_tail(&self, x: f64) -> (f64, f64) {
        let [a, b] = self.theta;
        let from_tail = |ln_tail: f64| (-ln_tail.exp_m1(), ln_tail.exp());
        match self.family {
            Family::Normal => (normal_cdf((x - a) / b), normal_cdf((a - x) / b)),
            _ if x <= 0.0 => (0.0, 1.0),
            Family::Exponential => from_tail(-x / a),
            Family::Geometric if a >= 1.0 => {
                if x >= 1.0 {
                    (1.0, 0.0)
                } else {
                    (0.0, 1.0)
                }
            }
            Family::Geometric => from_tail(x.floor() * (-a).ln_1p()),
            Family::Weibull => from_tail(-(x / b).powf(a)),
            Family::Lognormal => {
                let z = (x.ln() - a) / b;
                (normal_cdf(z), normal_cdf(-z))
            }
            Family::Pareto if x <= b => (0.0, 1.0),
            Family::Pareto => from_tail(-a * (x / b).ln()),
            Family::InverseGaussian => {
                let root = (b / x).sqrt();
                let (low, high) = (root * (x / a - 1.0), root * (x / a + 1.0));
                // e^(2b/a) Φ(−high) with the two large exponents taken together, which is e^(−low²/2) times
                // a scaled function: neither overflows, and far out the tail is a difference of scaled
                // functions and not of two that vanish.
                let (half_square, scaled_high) = ((-low * low / 2.0).exp() / 2.0, erfcx(high / SQRT_2));
                let mirrored = half_square * scaled_high;
                let tail = match low > 0.0 {
                    true => half_square * (erfcx(low / SQRT_2) - scaled_high),
                    false => normal_cdf(-low) - mirrored,
                };
                ((normal_cdf(low) + mirrored).min(1.0), tail.max(0.0))
            }
            Family::Gamma => incomplete_gamma(a, x / b),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use statrs::distribution::{self as other, Continuous, ContinuousCDF, Discrete};

    fn agrees(family: Family, theta: [f64; 2], x: f64, ln_density: f64, cdf: f64) {
        let component = Component::new(family, theta).expect("good parameters");
        let found = component.ln_density(x, x.ln());
        assert!(
            (found - ln_density).abs() < 1e-9 * (1.0 + ln_density.abs()),
            "{component:?} at {x}: {found} not {ln_density}"
        );
        let (below, above) = component.cdf_and_tail(x);
        assert!(
            (below - cdf).abs() < 1e-9 && (below + above - 1.0).abs() < 1e-9,
            "{component:?} at {x}: {below} not {cdf}"
        );
    }

    proptest! {
        /// statrs 0.19 is the independent implementation.
        #[test]
        fn densities_and_distribution_functions_agree_with_statrs(
            a in 0.05..20.0f64, b in 0.05..20.0f64, x in 0.01..100.0f64, k in 1u64..50, p in 0.01..1.0f64,
        ) {
            let component = other::Exp::new(1.0 / a).expect("good");
            agrees(Family::Exponential, [a, 0.0], x, component.ln_pdf(x), component.cdf(x));
            let component = other::Weibull::new(a, b).expect("good");
            agrees(Family::Weibull, [a, b], x, component.ln_pdf(x), component.cdf(x));
            let component = other::Normal::new(a, b).expect("good");
            agrees(Family::Normal, [a, b], x, component.ln_pdf(x), component.cdf(x));
            let component = other::LogNormal::new(a, b).expect("good");
            agrees(Family::Lognormal, [a, b], x, component.ln_pdf(x), component.cdf(x));
            let component = other::Gamma::new(a, 1.0 / b).expect("good");
            agrees(Family::Gamma, [a, b], x, component.ln_pdf(x), component.cdf(x));
            let component = other::Pareto::new(b, a).expect("good");
            agrees(Family::Pareto, [a, b], b + x, component.ln_pdf(b + x), component.cdf(b + x));
            let component = other::Geometric::new(p).expect("good");
            agrees(Family::Geometric, [p, 0.0], k as f64, component.ln_pmf(k), 1.0 - (1.0 - p).powf(k as f64));
        }

        /// P(cX ≤ cx) = P(X ≤ x).
        #[test]
        fn a_scaled_distribution_is_that_of_scaled_values(a in 0.1..5.0f64, b in 0.1..5.0f64, x in 0.1..50.0f64, factor in 0.01..100.0f64) {
            for family in Family::ALL.into_iter().filter(|family| *family != Family::Geometric) {
                let component = Component::new(family, [a, b]).expect("good");
                let (one, other) = (component.cdf_and_tail(x), component.scaled(factor).cdf_and_tail(factor * x));
                // The Pareto distribution has a corner at its scale, which rounding may pass.
                prop_assert!((one.0 - other.0).abs() < 1e-9, "{} {:?} {:?}", family, one, other);
            }
        }

        /// statrs lacks this distribution: the density is the slope of the distribution function.
        #[test]
        fn the_inverse_gaussian_density_is_the_slope(mean in 0.5..50.0f64, shape in 0.5..50.0f64, at in 0.2..5.0f64) {
            let component = Component::new(Family::InverseGaussian, [mean, shape]).expect("good");
            let x = at * mean;
            let step = 1e-4 * x;
            let (low, high) = (component.cdf_and_tail(x - step), component.cdf_and_tail(x + step));
            let slope = (high.0 - low.0) / (2.0 * step);
            let density = component.ln_density(x, x.ln()).exp();
            prop_assert!((density - slope).abs() < 1e-5 * density + 1e-10, "{density} against {slope}");
            prop_assert!((low.0 + low.1 - 1.0).abs() < 1e-9);
        }
    }
}
