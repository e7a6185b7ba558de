//! A fit of the middle of the values, beside the likelihood of them all.
//!
//! A few values of another kind can ruin a likelihood: 36 short gaps among 20,000 put a Pareto distribution's
//! scale at the shortest of them, and its shape at 0.27 where 1.5 is true. So where no distribution explains
//! the values, each family is fitted once more to those between their 1 % and 99 % quantiles, by the
//! likelihood of values that are seen between two thresholds: a trimmed likelihood (Hadi and Luceño 1997,
//! "Maximum trimmed likelihood estimators"), whose estimates no hundredth of the values can move far. It is
//! kept if it explains many more of the subsamples, of all the values, than the distribution that the ranking
//! prefers.

use crate::estimate::SEEN_MIN;
use crate::points::Points;
use crate::ranking::{Candidate, Ranking, Trials, candidate, fit_single};
use farfield_base::random::Stream;
use farfield_traffic::distribution::{Component, Family, Model};
use serde::{Deserialize, Serialize};

/// A distribution that was fitted to the middle of the values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RobustFit {
    /// The distribution, with its goodness for all values.
    pub candidate: Candidate,
    /// The quantiles between which values were fitted.
    pub between: (f64, f64),
    /// The share of values outside of the distribution's range, or beyond one in a thousand of its own.
    pub alien: f64,
}

impl RobustFit {
    /// The share of values that is left out at either end.
    const CUT: f64 = 0.01;
    /// Below this, the preferred distribution does not explain the values.
    const EXPLAINED_MIN: f64 = 0.5;
    /// Many more subsamples passed.
    const GAIN_MIN: f64 = 0.2;

    /// The best of the families; `None` where the values are explained without, or not explained with it.
    /// Draws from `rng` for subsamples.
    pub(crate) fn of(
        points: &Points,
        ranking: &Ranking,
        trials: &Trials,
        rng: &mut Stream,
    ) -> Option<RobustFit> {
        let mean = points.mean();
        let passed = |candidate: &Candidate| candidate.subsamples.anderson_darling_passed;
        let before = ranking.preferred(mean).map_or(0.0, passed);
        let between = (points.quantile(RobustFit::CUT), points.quantile(1.0 - RobustFit::CUT));
        let is_plain = points.observation().between.is_none() && between.0 > 0.0;
        if before >= RobustFit::EXPLAINED_MIN || !is_plain {
            return None;
        }
        let middle = points.seen_between(between.0, between.1)?;
        let mut best: Option<Candidate> = None;
        for family in &trials.families {
            let Ok(model) = fit_single(*family, &middle) else { continue };
            let Some(model) = whole(model, between) else { continue };
            let tried = candidate(model, &middle, points, trials, rng).0;
            let is_near = (tried.mean() / mean - 1.0).abs() <= Ranking::MEAN_OFF_MAX;
            if is_near && best.as_ref().is_none_or(|best| passed(&tried) > passed(best)) {
                best = Some(tried);
            }
        }
        let candidate = best.filter(|best| passed(best) >= before + RobustFit::GAIN_MIN)?;
        let alien = alien(&candidate.model()?, points);
        Some(RobustFit { candidate, between, alien })
    }
}

/// The distribution of all values, of which the middle was fitted: a Pareto distribution's scale, of which
/// values above a threshold say nothing, is put where the share below the threshold is what was cut. `None`
/// where too little of it lies in the middle.
fn whole(model: Model, (low, high): (f64, f64)) -> Option<Model> {
    let [(_, component)] = model.parts() else { return Some(model) };
    let model = match component.family() {
        Family::Pareto => {
            let shape = component.parameters()[0];
            let scale = low * (1.0 - RobustFit::CUT).powf(1.0 / shape);
            Model::single(Component::new(Family::Pareto, [shape, scale]).ok()?)
        }
        _ => model,
    };
    let seen = model.cdf_and_tail(high).0 - model.cdf_and_tail(low).0;
    (seen > SEEN_MIN).then_some(model)
}

/// The share of values that the distribution has next to never: more extreme than one in a thousand at either
/// end, less what it has there itself.
fn alien(model: &Model, points: &Points) -> f64 {
    const RARE: f64 = 1e-3;
    let half = points.tick() / 2.0;
    let is_rare = |value: f64| {
        model.cdf_and_tail(value + half).0 < RARE || model.cdf_and_tail((value - half).max(0.0)).1 < RARE
    };
    let counts = points.values.iter().zip(&points.counts);
    let rare: f64 = counts.filter(|(value, _)| is_rare(**value)).map(|(_, count)| count).sum();
    (rare / points.n - 2.0 * RARE).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranking::rank;
    use farfield_base::random::{Purpose, Seed};
    use farfield_traffic::distribution::{Pareto, Univariate};
    use rand::RngExt;

    /// Pareto gaps with a shape of 1.5, and two in a thousand that are shorter than any of theirs.
    #[test]
    fn a_few_short_gaps_do_not_hide_a_power_law() {
        let mut rng = Seed(12).stream(Purpose::Arrivals, 0);
        let pareto = Pareto::new(1.5, 0.667).expect("good");
        let mut values: Vec<f64> = (0..8_000).map(|_| pareto.sample(&mut rng)).collect();
        values.extend((0..16).map(|_| 0.03 + 0.6 * rng.random::<f64>()));
        let points = Points::new(values).expect("good values");
        let trials = Trials {
            families: vec![Family::Lognormal, Family::Pareto, Family::Weibull],
            mixtures: vec![],
            pairs_of_best: 0,
            subsamples: 40,
            ..Trials::default()
        };
        let ranking = rank(&points, &trials, &mut rng);
        let robust = RobustFit::of(&points, &ranking, &trials, &mut rng).expect("the likelihood fails");
        assert_eq!(robust.candidate.name, "pareto");
        let [shape, scale] = robust.candidate.estimates.as_slice() else { panic!("{robust:?}") };
        assert!((shape.value - 1.5).abs() < 0.08 && (scale.value / 0.667 - 1.0).abs() < 0.02, "{robust:?}");
        let ordinary = ranking.candidates.iter().find(|candidate| candidate.name == "pareto");
        assert!(ordinary.expect("it was tried").estimates[0].value < 0.6, "what this is for");
    }
}
