//! A distribution that was or may be fitted: one [`Component`], or a finite mixture of several.

use super::{Component, Distribution, DistributionSpec, Mixture, integrated};
use serde_json::{Map, Value, json};
use std::fmt;

/// Components with their weights, which sum to 1. One component alone has weight 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    parts: Vec<(f64, Component)>,
}

impl Model {
    /// A single component.
    pub fn single(component: Component) -> Model {
        Model { parts: vec![(1.0, component)] }
    }

    /// A mixture of distributions whose weights are above 0; they are scaled to sum to 1. `None` without any
    /// part, or if a weight is not above 0.
    pub fn mixture(mut parts: Vec<(f64, Component)>) -> Option<Model> {
        let total: f64 = parts.iter().map(|(weight, _)| weight).sum();
        let good = total.is_finite() && parts.iter().all(|(weight, _)| *weight > 0.0);
        parts.iter_mut().for_each(|(weight, _)| *weight /= total);
        (good && !parts.is_empty()).then_some(Model { parts })
    }

    /// The components with their weights.
    pub fn parts(&self) -> &[(f64, Component)] {
        &self.parts
    }

    /// Number of free parameters: those of the components, and all weights but one.
    pub fn free_parameters(&self) -> usize {
        self.parts.iter().map(|(_, part)| part.parameters().len()).sum::<usize>() + self.parts.len() - 1
    }

    /// The distribution to draw from. Parameters that came from a fit are always good ones.
    pub fn distribution(&self) -> Distribution {
        let of = |part: &Component| part.distribution().expect("a component's parameters are good");
        match self.parts.as_slice() {
            [(_, part)] => of(part),
            parts => {
                let distributions = parts.iter().map(|(weight, part)| (*weight, of(part))).collect();
                Distribution::Mixture(Mixture::new(distributions).expect("weights are above 0"))
            }
        }
    }

    /// The distribution of values that are `factor` times as large: see [`Component::scaled`].
    pub fn scaled(&self, factor: f64) -> Model {
        Model { parts: self.parts.iter().map(|(weight, part)| (*weight, part.scaled(factor))).collect() }
    }

    /// The distribution as a scenario writes it; parameters are bare numbers (seconds, bytes, counts).
    pub fn spec(&self) -> DistributionSpec {
        let written = match self.parts.as_slice() {
            [(_, part)] => table(part),
            parts => {
                let parts: Vec<_> = parts
                    .iter()
                    .map(|(weight, part)| json!({ "weight": weight, "of": table(part) }))
                    .collect();
                json!({ "distribution": "mixture", "parts": parts })
            }
        };
        serde_json::from_value(written).expect("what a component writes, a spec reads")
    }

    /// The distribution as a scenario writes it, drawn between two thresholds where there are any.
    pub fn spec_between(&self, between: Option<(f64, f64)>) -> DistributionSpec {
        let Some((min, max)) = between else { return self.spec() };
        let written = json!({ "distribution": "truncated", "of": self.spec(), "min": min, "max": max });
        // A geometric distribution cannot be cut: its draws are counts.
        serde_json::from_value(written).unwrap_or_else(|_| self.spec())
    }

    /// ln of the density at `x`; `ln_x` is ln `x`.
    pub fn ln_density(&self, x: f64, ln_x: f64) -> f64 {
        match self.parts.as_slice() {
            [(_, part)] => part.ln_density(x, ln_x),
            parts => {
                let ln = |(weight, part): &(f64, Component)| weight.ln() + part.ln_density(x, ln_x);
                let most = parts.iter().map(ln).fold(f64::NEG_INFINITY, f64::max);
                if most == f64::NEG_INFINITY {
                    return most;
                }
                most + parts.iter().map(|part| (ln(part) - most).exp()).sum::<f64>().ln()
            }
        }
    }

    /// The density at `x` above 0 (the probability, for the geometric distribution).
    pub fn density(&self, x: f64) -> f64 {
        self.ln_density(x, x.ln()).exp()
    }

    /// (P(X ≤ x), P(X > x)), each exact where it is small.
    pub fn cdf_and_tail(&self, x: f64) -> (f64, f64) {
        self.parts.iter().fold((0.0, 0.0), |(cdf, tail), (weight, part)| {
            let (below, above) = part.cdf_and_tail(x);
            (cdf + weight * below, tail + weight * above)
        })
    }

    /// (P(X ≤ x), P(X > x)) given that X lies in [least, most].
    pub fn cdf_and_tail_between(&self, least: f64, most: f64, x: f64) -> (f64, f64) {
        let (mut cdf, mut tail, mut inside) = (0.0, 0.0, 0.0);
        for (weight, part) in &self.parts {
            let (low, high) = part.ends_between(least, most);
            let here = part.cdf_and_tail(x);
            cdf += weight * probability(low, here);
            tail += weight * probability(here, high);
            inside += weight * probability(low, high);
        }
        ((cdf / inside).clamp(0.0, 1.0), (tail / inside).clamp(0.0, 1.0))
    }

    /// The mean given that a value lies in [least, most], by quadrature of the tail.
    pub fn mean_between(&self, least: f64, most: f64) -> f64 {
        least + integrated(&|x: f64| self.cdf_and_tail_between(least, most, x).1, least, most)
    }

    /// The mean of the squares given that a value lies in [least, most], by quadrature of the tail.
    pub fn mean_square_between(&self, least: f64, most: f64) -> f64 {
        let tail = |x: f64| 2.0 * x * self.cdf_and_tail_between(least, most, x).1;
        least * least + integrated(&tail, least, most)
    }
}

/// The probability between two points, each given as (P(X ≤ x), P(X > x)): a difference of the two that are
/// smaller, which keeps its digits.
pub fn probability(low: (f64, f64), high: (f64, f64)) -> f64 {
    (if high.0 < 0.5 { high.0 - low.0 } else { low.1 - high.1 }).max(0.0)
}

/// The families' names, joined: `weibull + inverse-gaussian`.
impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (_, part)) in self.parts.iter().enumerate() {
            let joint = if at == 0 { "" } else { " + " };
            write!(f, "{joint}{}", part.family())?;
        }
        Ok(())
    }
}

fn table(part: &Component) -> Value {
    let mut table = Map::new();
    table.insert("distribution".to_owned(), part.family().name().into());
    for (name, value) in part.family().parameters().iter().zip(part.parameters()) {
        table.insert((*name).to_owned(), (*value).into());
    }
    Value::Object(table)
}

#[cfg(test)]
mod tests {
    use super::super::Family;
    use super::*;

    fn component(family: Family, theta: [f64; 2]) -> Component {
        Component::new(family, theta).expect("good parameters")
    }

    #[test]
    fn a_fit_is_a_distribution_of_a_scenario() {
        for family in Family::ALL {
            let model = Model::single(component(family, [0.5, 0.25]));
            let mut none = |_: &std::path::Path| unreachable!("no file is named");
            assert_eq!(model.spec().resolve(&mut none).expect("no file"), model.distribution(), "{family}");
        }
        let parts = vec![
            (3.0, component(Family::Weibull, [0.15, 2.0])),
            (1.0, component(Family::InverseGaussian, [39.5, 10.54])),
        ];
        let model = Model::mixture(parts).expect("good weights");
        let mut none = |_: &std::path::Path| unreachable!("no file is named");
        let Ok(Distribution::Mixture(_)) = model.spec().resolve(&mut none) else { panic!("not a mixture") };
        assert_eq!((model.to_string().as_str(), model.free_parameters()), ("weibull + inverse-gaussian", 5));
    }

    #[test]
    fn weights_must_be_above_zero() {
        assert_eq!(Model::mixture(vec![]), None);
        assert_eq!(Model::mixture(vec![(0.0, component(Family::Exponential, [1.0, 0.0]))]), None);
    }
}
