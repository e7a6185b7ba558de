//! The laws that were tried for one variable, from the best to the worst, and what that order cannot tell.
//!
//! The order is the combined metric of Liu et al. 1999, section 2.2: each law's place by λ², by Cramér–von Mises
//! and by Anderson–Darling, added; equal sums are ordered by the Bayesian information criterion.

use super::estimate::{Narrowest, likeliest};
use super::family::{Component, Family};
use super::goodness::{Goodness, Subsamples, goodness, subsamples};
use super::information::{StandardErrors, standard_errors};
use super::mixture::{Effort, fit_mixture};
use super::model::Model;
use super::points::Points;
use crate::distribution::DistributionSpec;
use farfield_base::random::Stream;
use serde::{Deserialize, Serialize};

/// Why a family cannot be fitted to some values.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("the {family} law takes {wants}, and there is {value}; leave such values out, or take another law")]
pub struct FitError {
    /// The family.
    pub family: Family,
    /// What it takes.
    pub wants: &'static str,
    /// A value that it does not.
    pub value: f64,
}

/// Which laws are tried, and how hard.
#[derive(Debug, Clone, PartialEq)]
pub struct Trials {
    /// Single laws.
    pub families: Vec<Family>,
    /// Mixtures, each of two or three families.
    pub mixtures: Vec<Vec<Family>>,
    /// Beside those, all pairs among so many of the best single laws, a law with itself among them.
    pub pairs_of_best: usize,
    /// How hard the EM algorithm tries.
    pub effort: Effort,
    /// A mixture is fitted to at most so many of the values; its standard errors tell what that costs.
    pub mixture_values: usize,
    /// Values in a subsample for tests.
    pub subsample: usize,
    /// How many subsamples are tested.
    pub subsamples: u32,
}

impl Default for Trials {
    /// All families; the mixtures of Table 2 of Liu et al. and lognormal with Pareto; pairs of the best three;
    /// 5,000 values for a mixture; 100 subsamples of 200.
    fn default() -> Trials {
        use Family::{Exponential, InverseGaussian, Lognormal, Normal, Pareto, Weibull};
        Trials {
            families: Family::ALL.to_vec(),
            mixtures: vec![
                vec![Exponential, Normal],
                vec![Weibull, InverseGaussian],
                vec![InverseGaussian, InverseGaussian],
                vec![Lognormal, Pareto],
            ],
            pairs_of_best: 3,
            effort: Effort::default(),
            mixture_values: 5_000,
            subsample: 200,
            subsamples: 100,
        }
    }
}

/// One law that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// The families' names: `weibull`, `weibull + inverse-gaussian`.
    pub name: String,
    /// The law as a scenario takes it.
    pub law: DistributionSpec,
    /// What was estimated: `shape`, `scale`, and in a mixture `1.weight`, `1.shape`, …
    pub estimates: Vec<Estimate>,
    /// The logarithm of the likelihood of all values.
    #[serde(with = "super::number")]
    pub ln_likelihood: f64,
    /// The Bayesian information criterion, k ln n − 2 ln L: less is better.
    #[serde(with = "super::number")]
    pub bic: f64,
    /// The statistics for all values.
    pub goodness: Goodness,
    /// Tests on subsamples.
    pub subsamples: Subsamples,
}

/// An estimated number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The parameter.
    pub name: String,
    /// Its likeliest value.
    pub value: f64,
    /// Its standard error, from the observed Fisher information; none where that tells nothing.
    pub error: Option<f64>,
}

/// The laws that were tried for a variable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ranking {
    /// From the best to the worst.
    pub candidates: Vec<Candidate>,
    /// Why families were left out, a sentence each.
    pub left_out: Vec<String>,
    /// What the order cannot tell, a sentence each.
    pub caveats: Vec<String>,
}

impl Candidate {
    /// The law as a function, from its name and its estimates. `None` if they are no law's: a report that was written by
    /// hand, or by another program.
    pub fn model(&self) -> Option<Model> {
        let families: Option<Vec<Family>> = self.name.split(" + ").map(Family::named).collect();
        let families = families?;
        let mut values = self.estimates.iter().map(|estimate| estimate.value);
        let mut part = |family: &Family| {
            let weight = if families.len() > 1 { values.next()? } else { 1.0 };
            let theta = [values.next()?, if family.parameters().len() > 1 { values.next()? } else { 0.0 }];
            Some((weight, Component::new(*family, theta).ok()?))
        };
        let parts: Option<Vec<(f64, Component)>> = families.iter().map(&mut part).collect();
        Model::mixture(parts?)
    }

    /// The law's mean, which may be infinite.
    pub fn mean(&self) -> f64 {
        self.law.resolve(&mut |_| Err(std::io::ErrorKind::NotFound.into())).map_or(f64::NAN, |law| law.mean())
    }
}

impl Ranking {
    /// A law whose mean is off by more than this share of the data's makes a load of another size.
    pub const MEAN_OFF_MAX: f64 = 0.2;

    /// The law to generate with, for data of this `mean`: the best of those whose mean is near, and if that is a mixture,
    /// the best single law that passes as many Anderson–Darling tests on subsamples, up to what chance makes of
    /// their number (two standard errors of the difference), provided that the mixture passes half of them. Where
    /// no law has such a mean, the best.
    pub fn preferred(&self, mean: f64) -> Option<&Candidate> {
        let near = |candidate: &&Candidate| {
            (candidate.mean() / mean - 1.0).abs() <= Self::MEAN_OFF_MAX && candidate.model().is_some()
        };
        let best = self.candidates.iter().find(near).or(self.candidates.first())?;
        let passed = |candidate: &Candidate| candidate.subsamples.anderson_darling_passed;
        let draws = f64::from(best.subsamples.draws.max(1));
        // The true law passes 95 %: to pass more is luck.
        let wanted = passed(best).min(0.95);
        let chance = 2.0 * (2.0 * wanted * (1.0 - wanted) / draws).sqrt();
        let single = |candidate: &&Candidate| Family::named(&candidate.name).is_some();
        let as_good = |candidate: &&Candidate| passed(candidate) >= wanted - chance;
        let found = self.candidates.iter().filter(near).filter(single).find(as_good);
        found.filter(|_| wanted >= 0.5).or(Some(best))
    }
}

/// The likeliest single law of `family` for `points`.
pub fn fit_single(family: Family, points: &Points) -> Result<Model, FitError> {
    let bad = points.values.iter().find_map(|x| family.refuses(*x).map(|wants| (*x, wants)));
    if let Some((value, wants)) = bad {
        return Err(FitError { family, wants, value });
    }
    let law = likeliest(family, points, &points.counts, None, Narrowest::FREE);
    let value = points.least();
    law.map(Model::single).ok_or(FitError { family, wants: "values of which some are above 0", value })
}

/// Tries laws on `points`. Draws from `rng` for the starts of mixtures and for subsamples.
pub fn rank(points: &Points, trials: &Trials, rng: &mut Stream) -> Ranking {
    let mut left_out = Vec::new();
    let mut tried = Vec::new();
    for family in &trials.families {
        match fit_single(*family, points) {
            Ok(model) => tried.push(candidate(model, points, points, trials, rng)),
            Err(error) => left_out.push(error.to_string()),
        }
    }
    order(&mut tried);
    let few = points.drawn(trials.mixture_values, rng);
    for families in mixtures(&tried, trials) {
        match fit_mixture(&families, &few, trials.effort, rng) {
            Some(fit) => tried.push(candidate(fit.model, &few, points, trials, rng)),
            None => {
                let names: Vec<&str> = families.iter().map(|family| family.name()).collect();
                left_out
                    .push(format!("the mixture {} found no start that holds together", names.join(" + ")));
            }
        }
    }
    order(&mut tried);
    let candidates: Vec<Candidate> = tried.into_iter().map(|(candidate, _)| candidate).collect();
    let caveats = caveats(&candidates, points, &few);
    Ranking { candidates, left_out, caveats }
}

/// A law that was tried, told and as a function.
type Tried = (Candidate, Model);

/// The mixtures to try: those that are named, and the pairs of the best.
fn mixtures(singles: &[Tried], trials: &Trials) -> Vec<Vec<Family>> {
    let family = |(_, model): &Tried| model.parts()[0].1.family();
    let best: Vec<Family> = singles.iter().map(family).take(trials.pairs_of_best).collect();
    let mut all = trials.mixtures.clone();
    for (at, one) in best.iter().enumerate() {
        for other in &best[at..] {
            all.push(vec![*one, *other]);
        }
    }
    all.iter_mut().for_each(|families| families.sort_unstable());
    all.sort();
    all.dedup();
    all
}

/// `fitted` are the values that the model was fitted to, some or all of `points`.
fn candidate(model: Model, fitted: &Points, points: &Points, trials: &Trials, rng: &mut Stream) -> Tried {
    let ln_likelihood = model.ln_likelihood(points);
    let told = Candidate {
        name: model.to_string(),
        law: model.spec(),
        estimates: estimates(&model, &standard_errors(&model, fitted)),
        ln_likelihood,
        bic: model.free_parameters() as f64 * points.n.ln() - 2.0 * ln_likelihood,
        goodness: goodness(&model, points),
        subsamples: subsamples(&model, points, trials.subsample, trials.subsamples, rng),
    };
    (told, model)
}

fn estimates(model: &Model, errors: &StandardErrors) -> Vec<Estimate> {
    let mut all = Vec::new();
    let several = model.parts().len() > 1;
    for (part, (weight, law)) in model.parts().iter().enumerate() {
        let name = |name: &str| if several { format!("{}.{name}", part + 1) } else { name.to_owned() };
        if several {
            all.push(Estimate { name: name("weight"), value: *weight, error: errors.weights[part] });
        }
        let parameters = law.family().parameters().iter().zip(law.parameters());
        for ((parameter, value), error) in parameters.zip(&errors.parameters[part]) {
            all.push(Estimate { name: name(parameter), value: *value, error: *error });
        }
    }
    all
}

/// Sorts by the sum of places.
fn order(tried: &mut Vec<Tried>) {
    let metrics: [fn(&Goodness) -> f64; 3] =
        [|g| g.lambda_squared, |g| g.cramer_von_mises, |g| g.anderson_darling];
    let mut sums = vec![0usize; tried.len()];
    for metric in metrics {
        // NaN is no fit: it goes last.
        let keys: Vec<f64> = tried.iter().map(|(candidate, _)| metric(&candidate.goodness)).collect();
        let keys: Vec<f64> = keys.iter().map(|key| if key.is_nan() { f64::INFINITY } else { *key }).collect();
        for (key, sum) in keys.iter().zip(&mut sums) {
            *sum += keys.iter().filter(|other| *other < key).count();
        }
    }
    let mut placed: Vec<(usize, Tried)> = sums.into_iter().zip(tried.drain(..)).collect();
    placed.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.0.bic.total_cmp(&b.1.0.bic)));
    tried.extend(placed.into_iter().map(|(_, tried)| tried));
}

fn caveats(candidates: &[Candidate], points: &Points, few: &Points) -> Vec<String> {
    let mut said = Vec::new();
    let Some(best) = candidates.first() else { return said };
    if points.n >= 2_000.0 && best.subsamples.anderson_darling_passed < 0.9 {
        said.push(format!(
            "With {} values any law is rejected by a test for which no departure is too small. The best law here \
             passes {:.0} % of Anderson–Darling tests on {} values each: judge by that share and by the plot.",
            points.n,
            100.0 * best.subsamples.anderson_darling_passed,
            best.subsamples.size,
        ));
    } else if points.n < 200.0 {
        said.push(format!(
            "{} values tell near laws apart by luck: the order would change with another log.",
            points.n
        ));
    }
    if let [best, second, ..] = candidates
        && (second.bic - best.bic).abs() < 10.0
    {
        said.push(format!(
            "The first two, {} and {}, are about equally likely; the order says nothing about which is true.",
            best.name, second.name
        ));
    }
    if points.tick > 0.0 && points.tied_share() > 0.1 {
        said.push(format!(
            "{:.0} % of the values are tied, as whole multiples of {} are. Statistics compare rounded with rounded; \
             what happens within one multiple nobody can tell, and parameters that live there (a Pareto law's \
             scale, a narrow part) are the clock's as much as the users'.",
            100.0 * points.tied_share(),
            points.tick
        ));
    } else if points.tied_share() > 0.1 {
        said.push(format!(
            "{:.0} % of the values equal another one: no continuous law does that, so that every statistic here is \
             larger than for the values before rounding.",
            100.0 * points.tied_share()
        ));
    }
    if few.n < points.n {
        said.push(format!("Mixtures were fitted to {} of the {} values.", few.n, points.n));
    }
    said
}
