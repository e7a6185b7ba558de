//! Maximum likelihood for one distribution from weighted values: the M step of the EM algorithm, and with the
//! counts as weights the whole fit of a single distribution.
//!
//! Updates are those of Liu et al. 1999, section 2.3, with what its text leaves out: the Pareto
//! distribution's scale (its exponent's update there holds for a scale of 1), the Weibull distribution's
//! scale (the profile likelihood), and the gamma distribution (Minka 2002, "Estimating a Gamma
//! distribution").
//!
//! These updates are for exact values. Where values were rounded, are differences, or were cut off, they are
//! only the start of a climb of the likelihood of the [observation](super::observation).

use crate::climb::climb;
use crate::points::Points;
use farfield_traffic::distribution::Model;
use farfield_traffic::distribution::special::{digamma, trigamma};
use farfield_traffic::distribution::{Component, Family};

/// Bound on the narrowness of a distribution, for the parameter that sets it. Without one, a part
/// of a mixture can shrink onto one tied value, and the likelihood has no maximum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Narrowest(f64);

impl Narrowest {
    /// None but what keeps numbers finite.
    pub(crate) const FREE: Narrowest = Narrowest(0.0);

    /// Bound for a part of a mixture fitted to `points`: a spread (in units or, for distributions of values
    /// above zero, in logarithms) not below a twentieth of that of the middle half of all values.
    pub(crate) fn part_of(family: Family, points: &Points) -> Narrowest {
        /// The normal distribution's quartiles are this many standard deviations apart.
        const QUARTILES: f64 = 1.349;
        let (low, middle, high) = (points.quantile(0.25), points.quantile(0.5), points.quantile(0.75));
        let or_else = |spread: f64, other: f64| if spread > 0.0 { spread } else { other };
        let spread = or_else((high - low) / QUARTILES, points.deviation());
        // At most 1: a distribution of widely spread values has parts that are narrow beside it.
        let logarithmic = or_else((high / low.max(1e-300)).ln() / QUARTILES, 1.0).min(1.0);
        let narrow = logarithmic / 20.0;
        Narrowest(match family {
            Family::Normal => spread / 20.0,
            Family::Lognormal => narrow,
            Family::Weibull => 1.3 / narrow,
            Family::Gamma => 1.0 / (narrow * narrow),
            Family::InverseGaussian => middle.abs().max(1e-300) / (narrow * narrow),
            Family::Pareto => 1.0 / narrow,
            Family::Exponential | Family::Geometric => 0.0,
        })
    }

    fn at_least(self, spread: f64) -> f64 {
        spread.max(self.0).max(1e-12)
    }

    fn at_most(self, shape: f64) -> f64 {
        shape.min(if self.0 > 0.0 { self.0 } else { 1e12 })
    }
}

/// A distribution of which thresholds let less than this through is an extrapolation from what they do.
pub(crate) const SEEN_MIN: f64 = 0.05;

impl Narrowest {
    /// True if `component` is not narrower.
    pub(crate) fn allows(self, component: &Component) -> bool {
        let [.., last] = component.parameters() else { return false };
        match component.family() {
            Family::Exponential | Family::Geometric => true,
            Family::Normal | Family::Lognormal => *last >= self.at_least(0.0),
            Family::InverseGaussian => *last <= self.at_most(f64::INFINITY),
            Family::Weibull | Family::Pareto | Family::Gamma => {
                component.parameters()[0] <= self.at_most(f64::INFINITY)
            }
        }
    }

    /// True if `component` is as narrow as this allows, to a hundredth.
    pub(crate) fn binds(self, component: &Component) -> bool {
        let [.., last] = component.parameters() else { return false };
        match component.family() {
            Family::Exponential | Family::Geometric => false,
            Family::Normal | Family::Lognormal => *last <= 1.01 * self.at_least(0.0),
            Family::InverseGaussian => *last >= 0.99 * self.at_most(f64::INFINITY),
            Family::Weibull | Family::Pareto | Family::Gamma => {
                component.parameters()[0] >= 0.99 * self.at_most(f64::INFINITY)
            }
        }
    }
}

/// Sums over the values that a family needs.
struct Sums {
    weight: f64,
    x: f64,
    ln_x: f64,
}

/// Start and extent of the search of [`likeliest`] where there is no closed form.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Approach {
    /// From the closed form, all the way.
    Whole,
    /// From the closed form, a few steps: a start.
    Begin,
    /// From this one, which is near: a step of the EM algorithm.
    On(Component),
}

/// The distribution of `family` that makes `points`, weighted with `weights`, most likely, as they were
/// observed. `scale` fixes a Pareto distribution's. `None` if the weights leave nothing to fit. Exact
/// values: of all distributions of that scale and within `narrowest` this one is the likeliest. Others:
/// none that [`Approach::On`] returns is less likely than the one it began with, so that an EM step built on
/// either cannot lose likelihood.
pub(crate) fn likeliest(
    family: Family,
    points: &Points,
    weights: &[f64],
    scale: Option<f64>,
    narrowest: Narrowest,
    way: Approach,
) -> Option<Component> {
    let observation = points.observation;
    let is_whole =
        family == Family::Geometric && observation.is_grouped() && observation.least == observation.tick;
    if observation.is_plain() || (is_whole && observation.between.is_none()) {
        return closed_form(family, points, weights, scale, narrowest);
    }
    let (start, steps) = match way {
        Approach::On(component) => (component, 1),
        Approach::Begin => (closed_form(family, points, weights, scale, narrowest)?, 4),
        Approach::Whole => (closed_form(family, points, weights, scale, narrowest)?, 80),
    };
    let start = observable(start, points, scale);
    let total: f64 = weights.iter().sum();
    let objective = |model: &Model| {
        let component = &model.parts()[0].1;
        let seen = if observation.between.is_some() { observation.seen(component) } else { 1.0 };
        if !narrowest.allows(component) || seen < SEEN_MIN {
            return f64::NEG_INFINITY;
        }
        let mut sum = -total * seen.ln();
        observation.ln_each(component, &points.values, &points.logs, |at, ln| {
            if weights[at] > 0.0 {
                sum += weights[at] * ln;
            }
        });
        sum
    };
    let model = climb(Model::single(start), points, steps, 1e-9 * total, &objective);
    let component = model.parts()[0].1;
    objective(&model).is_finite().then_some(component)
}

/// A start from which the likelihood can be climbed: a Pareto distribution's scale is below the least
/// rounded value and, where nothing is known of what lies under a threshold, at the threshold.
fn observable(start: Component, points: &Points, scale: Option<f64>) -> Component {
    let observation = points.observation;
    if start.family() != Family::Pareto || scale.is_some() {
        return start;
    }
    let least = match observation.between {
        Some(_) if observation.lower_end() > 0.0 => observation.lower_end(),
        Some(_) => points.least(),
        None => (points.least() - 0.3 * observation.tick).max(0.3 * observation.tick),
    };
    let shape = start.parameters()[0];
    Component::known(Family::Pareto, [shape.min(20.0), least])
}

fn closed_form(
    family: Family,
    points: &Points,
    weights: &[f64],
    scale: Option<f64>,
    narrowest: Narrowest,
) -> Option<Component> {
    let mut sums = Sums { weight: 0.0, x: 0.0, ln_x: 0.0 };
    for (at, weight) in weights.iter().enumerate() {
        if *weight > 0.0 {
            sums.weight += weight;
            sums.x += weight * points.values[at];
            sums.ln_x += weight * points.logs[at];
        }
    }
    if sums.weight <= 1e-9 * points.n {
        return None;
    }
    let mean = sums.x / sums.weight;
    let ln_mean = sums.ln_x / sums.weight;
    let average = |of: &dyn Fn(usize) -> f64| average(weights, sums.weight, of);
    let theta = match family {
        Family::Exponential => [mean, 0.0],
        Family::Geometric => [(1.0 / mean).min(1.0), 0.0],
        Family::Normal => {
            let variance = average(&|at| (points.values[at] - mean).powi(2));
            [mean, narrowest.at_least(variance.sqrt())]
        }
        Family::Lognormal => {
            let variance = average(&|at| (points.logs[at] - ln_mean).powi(2));
            [ln_mean, narrowest.at_least(variance.sqrt())]
        }
        Family::Pareto => {
            let scale = scale.unwrap_or_else(|| least(points, weights));
            let above = ln_mean - scale.ln();
            [narrowest.at_most(if above > 1e-12 { 1.0 / above } else { 1e12 }), scale]
        }
        Family::InverseGaussian => {
            // The paper's Σ w (x − μ)² / μ² x, summed without cancelling.
            let spread = average(&|at| (points.values[at] / mean - 1.0).powi(2) / points.logs[at].exp());
            [mean, narrowest.at_most(if spread > 0.0 { 1.0 / spread } else { 1e12 })]
        }
        Family::Weibull => weibull(points, weights, ln_mean, narrowest),
        Family::Gamma => {
            let shape = narrowest.at_most(gamma_shape((mean.ln() - ln_mean).max(0.0)));
            [shape, mean / shape]
        }
    };
    theta.iter().all(|t| t.is_finite()).then(|| Component::known(family, theta))
}

fn average(weights: &[f64], total: f64, of: &dyn Fn(usize) -> f64) -> f64 {
    weights.iter().enumerate().filter(|(_, w)| **w > 0.0).map(|(at, w)| w * of(at)).sum::<f64>() / total
}

fn least(points: &Points, weights: &[f64]) -> f64 {
    let first = weights.iter().position(|weight| *weight > 0.0).unwrap_or(0);
    let value = points.values[first];
    if value > 0.0 { value } else { points.logs[first].exp() }
}

/// The shape k solves ln k − ψ(k) = `s`, where s is the logarithm of the mean less the mean of the
/// logarithms.
fn gamma_shape(s: f64) -> f64 {
    if s < 1e-12 {
        return 1e12;
    }
    let mut shape = (3.0 - s + ((s - 3.0).powi(2) + 24.0 * s).sqrt()) / (12.0 * s);
    for _ in 0..50 {
        // Newton's step in 1 / k, which converges from this start for every s.
        let step = (-s + shape.ln() - digamma(shape)) / (shape * shape * (1.0 / shape - trigamma(shape)));
        let next = 1.0 / (1.0 / shape + step);
        let change = (next / shape - 1.0).abs();
        shape = next;
        if change < 1e-13 {
            break;
        }
    }
    shape
}

/// The shape solves Σ w xᵏ ln x / Σ w xᵏ − 1/k − (mean of ln x) = 0, whose left side grows in k: Newton's
/// method inside a bracket. Powers are of x over the largest x, which cannot overflow.
fn weibull(points: &Points, weights: &[f64], ln_mean: f64, narrowest: Narrowest) -> [f64; 2] {
    let used = || weights.iter().enumerate().filter(|(_, w)| **w > 0.0);
    let ln_most = used().map(|(at, _)| points.logs[at]).fold(f64::NEG_INFINITY, f64::max);
    let powers = |shape: f64| {
        used().fold([0.0; 4], |[total, s0, s1, s2], (at, weight)| {
            let ln_x = points.logs[at] - ln_most;
            let power = weight * (shape * ln_x).exp();
            [total + weight, s0 + power, s1 + power * ln_x, s2 + power * ln_x * ln_x]
        })
    };
    let (mut low, mut high) = (1e-4, narrowest.at_most(1e6));
    let mut shape = 1.0f64.min(high);
    for _ in 0..100 {
        let [_, s0, s1, s2] = powers(shape);
        let value = s1 / s0 - 1.0 / shape - (ln_mean - ln_most);
        let slope = s2 / s0 - (s1 / s0).powi(2) + 1.0 / (shape * shape);
        if value > 0.0 {
            high = shape
        } else {
            low = shape
        }
        let newton = shape - value / slope;
        let next = if newton > low && newton < high { newton } else { (low * high).sqrt() };
        let change = (next / shape - 1.0).abs();
        shape = next;
        if change < 1e-13 {
            break;
        }
    }
    let [total, s0, ..] = powers(shape);
    [shape, (ln_most + (s0 / total).ln() / shape).exp()]
}
