//! The distributions that were tried for one variable, from the best to the worst, and the caveats of that
//! order.
//!
//! The order is the combined metric of Liu et al. 1999, section 2.2: each distribution's place by λ², by
//! Cramér–von Mises and by Anderson–Darling, added; equal sums are ordered by the Bayesian information
//! criterion, for which all likelihoods are of the same observations. Statistics that the true distribution
//! itself has in 19 of 20 samples are equal: to fit better than the truth is luck, or a parameter more.

use crate::estimate::{Approach, Narrowest, SEEN_MIN, likeliest};
use crate::goodness::{Goodness, Subsamples, goodness, subsamples};
use crate::information::{StandardErrors, standard_errors};
use crate::mixture::{Effort, POLISHED_PARTS, fit_mixture, spike};
use crate::points::Points;
use farfield_base::random::Stream;
use farfield_traffic::distribution::DistributionSpec;
use farfield_traffic::distribution::Model;
use farfield_traffic::distribution::{Component, Family};
use serde::{Deserialize, Serialize};

/// Error of values that a family cannot explain.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error(
    "the {family} distribution takes {wants}, and there is {value}; leave such values out, or take another distribution"
)]
#[non_exhaustive]
pub struct FitError {
    /// The family.
    pub family: Family,
    /// The values that the family takes.
    pub wants: &'static str,
    /// A value that it does not.
    pub value: f64,
}

/// Distributions to try, and the effort for each.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Trials {
    /// Single distributions.
    pub families: Vec<Family>,
    /// Mixtures, each of two or three families.
    pub mixtures: Vec<Vec<Family>>,
    /// Beside those, all pairs among so many of the best single distributions, a distribution with itself
    /// among them.
    pub pairs_of_best: usize,
    /// Effort of the EM algorithm.
    pub effort: Effort,
    /// Values in a subsample for tests.
    pub subsample: usize,
    /// Subsamples to test.
    pub subsamples: u32,
}

impl Default for Trials {
    /// All families; the mixtures of Table 2 of Liu et al. and lognormal with Pareto; pairs of the best
    /// three; 100 subsamples of 200.
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
            subsample: 200,
            subsamples: 100,
        }
    }
}

impl Trials {
    /// All families, and no mixtures.
    pub fn singles() -> Trials {
        Trials { mixtures: Vec::new(), pairs_of_best: 0, ..Trials::default() }
    }
}

/// A distribution that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Candidate {
    /// The families' names: `weibull`, `weibull + inverse-gaussian`.
    pub name: String,
    /// The distribution as a scenario takes it: between the thresholds, where there are any.
    #[serde(alias = "law")]
    pub distribution: DistributionSpec,
    /// Mean as the values are observed: of counts after rounding, of cut values between the thresholds.
    #[serde(with = "crate::number", default = "unknown")]
    pub observed_mean: f64,
    /// Estimated numbers: `shape`, `scale`, and in a mixture `1.weight`, `1.shape`, …
    pub estimates: Vec<Estimate>,
    /// The logarithm of the likelihood of all values.
    #[serde(with = "crate::number")]
    pub ln_likelihood: f64,
    /// The Bayesian information criterion, k ln n − 2 ln L: less is better.
    #[serde(with = "crate::number")]
    pub bic: f64,
    /// The statistics for all values.
    pub goodness: Goodness,
    /// Tests on subsamples.
    pub subsamples: Subsamples,
    /// Estimates that stand at a bound of the fit and not at a maximum of the likelihood, a sentence each.
    #[serde(default)]
    pub bounds: Vec<String>,
}

/// The mean in a report that has none.
fn unknown() -> f64 {
    f64::NAN
}

/// An estimated number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Estimate {
    /// The parameter.
    pub name: String,
    /// The likeliest value.
    pub value: f64,
    /// Standard error, from the observed Fisher information; `None` where that is singular.
    pub error: Option<f64>,
}

/// The distributions that were tried for a variable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Ranking {
    /// Candidates, from the best to the worst.
    pub candidates: Vec<Candidate>,
    /// Reasons for which families were left out, a sentence each.
    pub left_out: Vec<String>,
    /// Caveats of the order, a sentence each.
    pub caveats: Vec<String>,
}

impl Candidate {
    /// The distribution as a function, from its name and its estimates. `None` if they are no distribution's:
    /// a report that was written by hand, or by another program.
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

    /// The distribution's mean as the values are observed, which may be infinite.
    pub fn mean(&self) -> f64 {
        if !self.observed_mean.is_nan() {
            return self.observed_mean;
        }
        self.distribution
            .resolve(&mut |_| Err(std::io::ErrorKind::NotFound.into()))
            .map_or(f64::NAN, |distribution| distribution.mean())
    }
}

impl Ranking {
    /// A distribution whose mean is off by more than this share of the data's makes a load of another size.
    pub const MEAN_OFF_MAX: f64 = 0.2;

    /// The distribution to generate with, for data of this `mean`: of those whose mean is near the single one
    /// with the least Bayesian information criterion that passes as many Anderson–Darling tests on subsamples
    /// as the first of the ranking, up to the sampling error of their number (two standard errors of the
    /// difference), provided that the first passes half of them; else the first. Where no distribution has
    /// such a mean, the first of all.
    pub fn preferred(&self, mean: f64) -> Option<&Candidate> {
        let near = |candidate: &&Candidate| {
            (candidate.mean() / mean - 1.0).abs() <= Self::MEAN_OFF_MAX && candidate.model().is_some()
        };
        let best = self.candidates.iter().find(near).or(self.candidates.first())?;
        let passed = |candidate: &Candidate| candidate.subsamples.anderson_darling_passed;
        let draws = f64::from(best.subsamples.draws.max(1));
        // The true distribution passes 95 %: to pass more is luck.
        let wanted = passed(best).min(0.95);
        let noise = 2.0 * (2.0 * wanted * (1.0 - wanted) / draws).sqrt();
        let single = |candidate: &&Candidate| Family::named(&candidate.name).is_some();
        let as_good = |candidate: &&Candidate| passed(candidate) >= wanted - noise;
        let singles = self.candidates.iter().filter(near).filter(single).filter(as_good);
        let found = singles.min_by(|a, b| a.bic.total_cmp(&b.bic));
        found.filter(|_| wanted >= 0.5).or(Some(best))
    }
}

/// The likeliest single distribution of `family` for `points`.
///
/// ```
/// use farfield_fit::{Family, Points, fit_single};
///
/// let points = Points::new(vec![1.0, 2.0, 6.0])?;
/// let model = fit_single(Family::Exponential, &points)?;
/// // The likeliest mean of an exponential distribution is that of the values.
/// assert!((model.parts()[0].1.parameters()[0] - 3.0).abs() < 1e-9);
/// assert!(fit_single(Family::Weibull, &Points::new(vec![-1.0, 2.0, 6.0])?).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The first value that the family cannot have, or that no fit of the family was found.
pub fn fit_single(family: Family, points: &Points) -> Result<Model, FitError> {
    let refuses = |x: &f64| family.refuses_observed(*x, points.tick()).map(|wants| (*x, wants));
    let bad = points.values.iter().find_map(refuses);
    if let Some((value, wants)) = bad {
        return Err(FitError { family, wants, value });
    }
    let joined = if points.observation.is_plain() { None } else { Some(points.condensed(POLISHED_PARTS)) };
    let few = joined.as_ref().unwrap_or(points);
    let component = likeliest(family, few, &few.counts, None, Narrowest::FREE, Approach::Whole);
    let value = points.least();
    let wants = match points.observation.between {
        None => "values of which some are above 0",
        Some(_) => "values that are not nearly all beyond the thresholds for it",
    };
    component.map(Model::single).ok_or(FitError { family, wants, value })
}

/// Tries distributions on `points`. Draws from `rng` for the starts of mixtures and for subsamples.
pub fn rank(points: &Points, trials: &Trials, rng: &mut Stream) -> Ranking {
    let mut left_out = Vec::new();
    let mut tried = Vec::new();
    let fine = points.condensed(POLISHED_PARTS);
    for family in &trials.families {
        match fit_single(*family, points) {
            Ok(model) => tried.push(candidate(model, &fine, points, trials, rng)),
            Err(error) => left_out.push(error.to_string()),
        }
    }
    order(&mut tried, points.n);
    for families in mixtures(&tried, trials) {
        let names: Vec<&str> = families.iter().map(|family| family.name()).collect();
        let Some(fit) = fit_mixture(&families, points, trials.effort, rng) else {
            left_out.push(format!("the mixture {} found no start that holds together", names.join(" + ")));
            continue;
        };
        if let Some((part, value)) = spike(&fit.model, points) {
            left_out.push(format!(
                "part {} of the mixture {} explains hardly more than one value, {value}, that came again and again",
                part + 1,
                names.join(" + ")
            ));
            continue;
        }
        tried.push(candidate(fit.model, &fine, points, trials, rng));
    }
    order(&mut tried, points.n);
    let candidates: Vec<Candidate> = tried.into_iter().map(|(candidate, _)| candidate).collect();
    let caveats = caveats(&candidates, points);
    Ranking { candidates, left_out, caveats }
}

/// A distribution that was tried, as reported and as a function.
pub(crate) type Tried = (Candidate, Model);

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
pub(crate) fn candidate(
    model: Model,
    fitted: &Points,
    points: &Points,
    trials: &Trials,
    rng: &mut Stream,
) -> Tried {
    let ln_likelihood = points.ln_likelihood(&model);
    let candidate = Candidate {
        name: model.to_string(),
        distribution: model.spec_between(points.observation().between),
        observed_mean: points.observation().mean(&model),
        estimates: estimates(&model, &standard_errors(&model, fitted)),
        ln_likelihood,
        bic: model.free_parameters() as f64 * points.n.ln() - 2.0 * ln_likelihood,
        goodness: goodness(&model, points),
        subsamples: subsamples(&model, points, trials.subsample, trials.subsamples, rng),
        bounds: bounds(&model, points),
    };
    (candidate, model)
}

/// The estimates that a bound holds.
fn bounds(model: &Model, points: &Points) -> Vec<String> {
    let several = model.parts().len() > 1;
    let mut said = Vec::new();
    for (part, (_, component)) in model.parts().iter().enumerate() {
        let whose = if several { format!("part {}", part + 1) } else { "the distribution".to_owned() };
        let narrowest =
            if several { Narrowest::part_of(component.family(), points) } else { Narrowest::FREE };
        if narrowest.binds(component) {
            said.push(format!(
                "{whose} is as narrow as the fit allows, so that its parameters say nothing of the values"
            ));
        }
        if points.observation().between.is_some() && points.observation().seen(component) < 1.02 * SEEN_MIN {
            said.push(format!(
                "{whose} has {:.0} % of its values between the thresholds, which is the least that the fit allows: use it \
                 between them and nowhere else",
                100.0 * SEEN_MIN
            ));
        }
    }
    said
}

fn estimates(model: &Model, errors: &StandardErrors) -> Vec<Estimate> {
    let mut all = Vec::new();
    let several = model.parts().len() > 1;
    for (part, (weight, component)) in model.parts().iter().enumerate() {
        let name = |name: &str| if several { format!("{}.{name}", part + 1) } else { name.to_owned() };
        if several {
            all.push(Estimate { name: name("weight"), value: *weight, error: errors.weights[part] });
        }
        let parameters = component.family().parameters().iter().zip(component.parameters());
        for ((parameter, value), error) in parameters.zip(&errors.parameters[part]) {
            all.push(Estimate { name: name(parameter), value: *value, error: *error });
        }
    }
    all
}

/// Sorts by the sum of places.
fn order(tried: &mut Vec<Tried>, n: f64) {
    // Of λ² twice the deviation of a χ² over so many bins, and 5 % quantiles (D'Agostino and Stephens 1986,
    // table 4.2).
    let by_chance = 2.0 * (2.0 * 2.0 * n.powf(0.4)).sqrt() / n;
    let metrics: [&dyn Fn(&Goodness) -> f64; 3] =
        [&|g| g.lambda_squared.max(by_chance), &|g| g.cramer_von_mises.max(0.461), &|g| {
            g.anderson_darling.max(2.492)
        }];
    let mut sums = vec![0usize; tried.len()];
    for metric in metrics {
        // NaN is no fit: it goes last.
        let is_none = |g: &Goodness| {
            [g.lambda_squared, g.cramer_von_mises, g.anderson_darling].iter().any(|s| s.is_nan())
        };
        let key = |g: &Goodness| if is_none(g) { f64::INFINITY } else { metric(g) };
        let keys: Vec<f64> = tried.iter().map(|(candidate, _)| key(&candidate.goodness)).collect();
        for (key, sum) in keys.iter().zip(&mut sums) {
            *sum += keys.iter().filter(|other| *other < key).count();
        }
    }
    let mut placed: Vec<(usize, Tried)> = sums.into_iter().zip(tried.drain(..)).collect();
    placed.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.0.bic.total_cmp(&b.1.0.bic)));
    tried.extend(placed.into_iter().map(|(_, tried)| tried));
}

fn caveats(candidates: &[Candidate], points: &Points) -> Vec<String> {
    let mut said = Vec::new();
    let Some(best) = candidates.first() else { return said };
    if points.n >= 2_000.0 && best.subsamples.anderson_darling_passed < 0.9 {
        said.push(format!(
            "With {} values any distribution is rejected by a test for which no departure is too small. The best distribution here \
             passes {:.0} % of Anderson–Darling tests on {} values each: judge by that share and by the plot.",
            points.n,
            100.0 * best.subsamples.anderson_darling_passed,
            best.subsamples.size,
        ));
    } else if points.n < 200.0 {
        said.push(format!(
            "{} values distinguish near distributions by luck: the order would change with another log.",
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
    let tick = points.tick();
    if tick > 0.0 && points.tied_share() > 0.1 {
        said.push(format!(
            "{:.0} % of the values are tied, as whole multiples of {tick} are. Likelihoods and statistics compare rounded with \
             rounded; what happens within one multiple is unknown.",
            100.0 * points.tied_share()
        ));
    } else if points.tied_share() > 0.1 {
        said.push(format!(
            "{:.0} % of the values equal another one: no continuous distribution does that, so that every statistic here is \
             larger than for the values before rounding.",
            100.0 * points.tied_share()
        ));
    }
    if let Some((least, most)) = points.observation.between {
        said.push(format!(
            "Only values from {least} to {most} are seen; distributions are fitted, compared and drawn between these two."
        ));
    }
    said.extend(best.bounds.iter().map(|bound| format!("{}: {bound}.", best.name)));
    said
}
