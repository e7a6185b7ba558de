//! Rounding, differences of rounded instants and cuts between thresholds: the observation of values by a log.
//!
//! - Rounded to the nearest multiple of a tick: a value stands for an interval, whose probability is a
//!   difference of the distribution function (the grouped-data likelihood, Heitjan 1989, "Inference from
//!   grouped continuous data").
//! - A difference of two instants that were each rounded down: the interval lies anywhere within half a
//!   tick to either side, as the phase of the first instant has it. Averaged over a uniform phase the value
//!   is blurred by the triangular kernel of two roundings.
//! - Cut: values outside of two thresholds are not seen at all, so that what is seen follows the
//!   conditional distribution.
//!
//! [`Observation`] is the one source of the likelihood, the statistics of goodness and the curves, so that
//! they agree.

use farfield_traffic::distribution::{Component, Family, GAUSS_2, GAUSS_4, Model, integrated, probability};
use serde::{Deserialize, Serialize};

/// Observation of values: rounding, differences, thresholds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Observation {
    /// The multiple that values were rounded to; 0 if they are exact.
    pub tick: f64,
    /// The least value that rounding can give: what lies below it becomes it (1 for counts).
    pub least: f64,
    /// True if values are differences of two instants, each rounded down to a multiple of `tick`.
    pub differenced: bool,
    /// True if values are multiples of `tick`: differences need not be, if something exact was subtracted.
    pub on_grid: bool,
    /// Thresholds, both included, between which values are seen; nothing is known of the rest.
    pub between: Option<(f64, f64)>,
}

/// Probabilities at the upper end of a value's interval.
type CdfAndTail = (f64, f64);

impl Observation {
    /// Exact values, all of them.
    pub const EXACT: Observation =
        Observation { tick: 0.0, least: 0.0, differenced: false, on_grid: true, between: None };

    /// Counts: draws rounded to whole numbers, at least 1.
    pub fn counts() -> Observation {
        Observation { tick: 1.0, least: 1.0, ..Observation::EXACT }
    }

    /// Values rounded to the nearest multiple of `tick`.
    pub fn rounded(tick: f64) -> Observation {
        Observation { tick, ..Observation::EXACT }
    }

    /// Differences of instants that were each rounded down to a multiple of `tick`.
    pub fn differenced(tick: f64) -> Observation {
        Observation { tick, differenced: tick > 0.0, ..Observation::EXACT }
    }

    /// The observation, seen from `least` to `most` only.
    pub fn cut(self, least: f64, most: f64) -> Observation {
        Observation { between: Some((least, most)), ..self }
    }

    /// ln `value`; of a third of a tick for a value that was rounded down to less, so that closed forms
    /// have a start.
    pub(crate) fn ln(&self, value: f64) -> f64 {
        let value = value.max(self.tick / 3.0);
        if value > 0.0 { value.ln() } else { f64::NEG_INFINITY }
    }

    /// True if the likelihood of a value is its density.
    pub(crate) fn is_exact(&self) -> bool {
        self.tick == 0.0
    }

    /// True if values are cells of one grid: many fall into the same.
    pub(crate) fn is_grouped(&self) -> bool {
        self.tick > 0.0 && self.on_grid
    }

    /// True if likeliest parameters have closed forms or nearly so: nothing was rounded or cut.
    pub(crate) fn is_plain(&self) -> bool {
        self.is_exact() && self.between.is_none()
    }

    /// The distribution function and the tail at `edge`, averaged over the phase of the clock where values
    /// are differences.
    fn edge(&self, component: &Component, edge: f64) -> CdfAndTail {
        if !self.differenced {
            return component.cdf_and_tail(edge);
        }
        averaged(component, edge - self.tick / 2.0, edge + self.tick / 2.0)
    }

    /// Distribution function and tail at thresholds of values that lie between multiples, whose own phase is
    /// uniform too.
    fn threshold(&self, component: &Component, at: f64) -> CdfAndTail {
        let nodes = GAUSS_4.iter().map(|(node, weight)| (at + node * self.tick / 2.0, weight / 2.0));
        nodes.fold((0.0, 0.0), |(cdf, tail), (at, weight)| {
            let (below, above) = self.edge(component, at);
            (cdf + weight * below, tail + weight * above)
        })
    }

    /// The lower and the upper end of what can be seen.
    fn ends(&self, component: &Component) -> (CdfAndTail, CdfAndTail) {
        let Some((least, most)) = self.between else { return ((0.0, 1.0), (1.0, 0.0)) };
        if self.is_exact() {
            return component.ends_between(least, most);
        }
        if !self.on_grid {
            return (self.threshold(component, least), self.threshold(component, most));
        }
        let tick = self.tick;
        // Thresholds hold for the rounded values.
        let first = (least / tick - 1e-9).ceil() * tick - tick / 2.0;
        let last = (most / tick + 1e-9).floor() * tick + tick / 2.0;
        (self.edge(component, first), self.edge(component, last))
    }

    /// The probability that a draw of `component` is seen.
    pub(crate) fn seen(&self, component: &Component) -> f64 {
        let (low, high) = self.ends(component);
        probability(low, high)
    }

    /// The least value that the lower threshold lets through; 0 without one.
    pub(crate) fn lower_end(&self) -> f64 {
        let slack = if self.differenced { 1.5 } else { 0.5 };
        self.between.map_or(0.0, |(least, _)| (least - slack * self.tick).max(self.tick / 2.0))
    }

    /// ln of the probability (of the density, for exact values) of each of `values`, among all draws, seen
    /// or not; `values` are in rising order.
    pub(crate) fn ln_each(
        &self,
        component: &Component,
        values: &[f64],
        logs: &[f64],
        mut to: impl FnMut(usize, f64),
    ) {
        if self.is_exact() {
            return (0..values.len()).for_each(|at| to(at, component.ln_density(values[at], logs[at])));
        }
        let half = self.tick / 2.0;
        let mut before: (f64, CdfAndTail) = (f64::NAN, (0.0, 1.0));
        for (at, value) in values.iter().enumerate() {
            let (low, high) = (value - half, value + half);
            let below = match *value <= self.least + half {
                true => (0.0, 1.0),
                false if (low - before.0).abs() < 1e-6 * self.tick => before.1,
                false => self.edge(component, low),
            };
            let above = self.edge(component, high);
            let p = probability(below, above);
            // The density is what is left where the difference underflows.
            to(at, if p > 1e-280 { p.ln() } else { component.ln_density(*value, logs[at]) + self.tick.ln() });
            before = (high, above);
        }
    }

    /// The distribution function and the tail of what is seen of `model`, up to the end of `value`'s
    /// interval.
    pub fn cdf_and_tail(&self, model: &Model, value: f64) -> (f64, f64) {
        let (mut cdf, mut tail, mut seen) = (0.0, 0.0, 0.0);
        for (weight, component) in model.parts() {
            let (low, high) = self.ends(component);
            let here = match self.is_grouped() || self.is_exact() {
                true => self.edge(component, value + self.tick / 2.0),
                false => self.threshold(component, value),
            };
            cdf += weight * probability(low, here);
            tail += weight * probability(here, high);
            seen += weight * probability(low, high);
        }
        ((cdf / seen).clamp(0.0, 1.0), (tail / seen).clamp(0.0, 1.0))
    }

    /// The mean of what is seen: of counts after rounding, of cut values between the thresholds. Without
    /// either, that of the distribution, with what is below zero as zero. May be infinite.
    pub fn mean(&self, model: &Model) -> f64 {
        if let Some((least, most)) = self.between {
            return model.mean_between(least, most);
        }
        let is_count = self.least > 0.0;
        let of =
            |component: &Component| if is_count { count_mean(component) } else { positive_mean(component) };
        model.parts().iter().map(|(weight, component)| weight * of(component)).sum()
    }
}

/// The distribution function and the tail of `component`, averaged over `from` … `to`.
fn averaged(component: &Component, from: f64, to: f64) -> CdfAndTail {
    let start = match component.family() {
        Family::Normal => f64::NEG_INFINITY,
        Family::Pareto => component.parameters()[1],
        _ => 0.0,
    };
    if to <= start {
        return (0.0, 1.0);
    }
    if component.family() == Family::Geometric {
        // Steps at whole numbers: their mean over the range, whose ends are whole numbers for a tick of 1.
        let (low, high) = (component.cdf_and_tail(from + 1e-9), component.cdf_and_tail(to - 1e-9));
        return ((low.0 + high.0) / 2.0, (low.1 + high.1) / 2.0);
    }
    let width = to - from;
    let mut mean = (0.0, 0.0);
    let mut add = |at: f64, weight: f64| {
        let (cdf, tail) = component.cdf_and_tail(at);
        mean.0 += weight * cdf;
        mean.1 += weight * tail;
    };
    let near_start = from - start < 3.0 * width;
    if from > start
        && !near_start
        && (component.family() != Family::Normal || component.parameters()[1] > width)
    {
        GAUSS_2.iter().for_each(|(node, weight)| add((from + to) / 2.0 + node * width / 2.0, weight / 2.0));
        return mean;
    }
    // From the start on in the square of the distance, where distribution functions begin like a power.
    let begins = from.max(start);
    let (first, last) = match component.family() {
        Family::Normal => (0.0, 1.0),
        _ => ((begins - start).sqrt(), (to - start).sqrt()),
    };
    const PIECES: u32 = 3;
    let step = (last - first) / f64::from(PIECES);
    for piece in 0..PIECES {
        for (node, weight) in GAUSS_4 {
            let u = first + step * (f64::from(piece) + (1.0 + node) / 2.0);
            match component.family() {
                Family::Normal => add(from + u * width, weight / 2.0 * step),
                _ => add(start + u * u, weight / 2.0 * step * 2.0 * u / width),
            }
        }
    }
    mean.1 += (begins - from) / width; // before the start everything is above
    mean
}

/// E max(X, 0).
fn positive_mean(component: &Component) -> f64 {
    let mean = component.distribution().map_or(f64::NAN, |distribution| distribution.mean());
    if component.family() != Family::Normal {
        return mean;
    }
    let sigma = component.parameters()[1];
    let z = mean / sigma;
    mean * component.cdf_and_tail(0.0).1 + sigma * (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

/// E max(1, round X) = 1 + Σ P(X > k + ½). The sum differs from E X = ∫ P(X > x) dx in its first terms only.
fn count_mean(component: &Component) -> f64 {
    const TERMS: u32 = 2_000;
    let mean = positive_mean(component);
    if component.family() == Family::Geometric || !mean.is_finite() {
        return mean; // whole numbers from 1 already
    }
    let tail = |x: f64| component.cdf_and_tail(x).1;
    let sum: f64 = (1..TERMS).map(|k| tail(f64::from(k) + 0.5)).sum();
    mean + 1.0 + sum - integrated(&tail, 0.0, 1.0) - integrated(&tail, 1.0, f64::from(TERMS))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Thresholds are included: of 2, 3 and 4 all three are seen.
    #[test]
    fn counts_at_a_threshold_are_seen() {
        let component = Component::new(Family::Geometric, [0.3, 0.0]).expect("good parameters");
        let probability = |k: i32| 0.3 * 0.7f64.powi(k - 1);
        let seen: f64 = (2..=4).map(probability).sum();
        for observation in [Observation::EXACT, Observation::rounded(1.0), Observation::differenced(1.0)] {
            let found = observation.cut(2.0, 4.0).seen(&component);
            assert!((found - seen).abs() < 1e-12, "{observation:?}: {found} and {seen}");
        }
    }
}
