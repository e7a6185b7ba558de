//! Finite mixtures by the EM algorithm (Dempster, Laird and Rubin 1977; the updates of Liu et al. 1999,
//! section 2.3, equation 2).
//!
//! A step first shares each value among the parts in proportion to weight times density, then makes each part
//! the likeliest distribution for its shares. That cannot lower the likelihood. Where it leads depends on
//! where it starts: several starts go a short way, and the best of them all the way.
//!
//! A Pareto part keeps the scale that its start gave it: below the scale its density is zero, so that no step
//! could ever lower it. Other parts keep a least width (see `estimate`), without which a tied value would
//! draw one of them to a spike of unbounded likelihood.
//!
//! The search goes over values of which near ones are joined, so that its length does not grow with the
//! log. What it finds is polished on all of them: Newton's method in all parameters at once, from where the
//! EM algorithm crawls.
//!
//! Rounded and cut values are fitted by the probabilities of what was observed. Cut off, each part is the
//! conditional distribution between the thresholds, with the share of what is *seen* for a weight; at the
//! end weights become shares of all.

use crate::climb::climb;
use crate::estimate::{Approach, Narrowest, SEEN_MIN, likeliest};
use crate::points::Points;
use farfield_base::random::Stream;
use farfield_traffic::distribution::Model;
use farfield_traffic::distribution::{Component, Family};
use rand::RngExt;

/// Effort of the EM algorithm: starts and steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// Random starts, beside three for each order of the parts along the values.
    pub random_starts: u32,
    /// Steps that each start gets.
    pub short_steps: u32,
    /// Steps that the best start gets at most.
    pub steps: u32,
}

impl Default for Effort {
    /// 4 random starts of 10 steps, then up to 100 steps; the polish goes on from there.
    fn default() -> Effort {
        Effort { random_starts: 4, short_steps: 10, steps: 100 }
    }
}

/// A mixture that was fitted.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct MixtureFit {
    /// The likeliest mixture that was found.
    pub model: Model,
    /// The logarithm of the likelihood before each step of the best start, after the last, and after the
    /// polish; where near values were joined for the search, before and after the polish alone. It never
    /// falls.
    pub ln_likelihoods: Vec<f64>,
    /// True if the last step gained almost nothing; false if the steps ran out.
    pub converged: bool,
}

/// Fits the mixture of `families` to `points`. Two parts of one family come out in the order of their means.
/// `None` if some value has no density under any part, or no start holds together.
pub fn fit_mixture(
    families: &[Family],
    points: &Points,
    effort: Effort,
    rng: &mut Stream,
) -> Option<MixtureFit> {
    let kinds = kinds(families, points)?;
    let few = points.condensed(SEARCHED_PARTS);
    let mut best: Option<Em<'_>> = None;
    for start in starts(families.len(), effort.random_starts, rng) {
        let Some(mut em) = Em::begin(&few, &kinds, &start) else { continue };
        em.run(effort.short_steps);
        if em.sound() && best.as_ref().is_none_or(|best| em.latest() > best.latest()) {
            best = Some(em);
        }
    }
    let mut em = best?;
    em.run(effort.steps);
    let fit = em.finish()?;
    polished(fit, &kinds, points, few.values.len() < points.values.len())
}

/// Near values are joined for the search if they are closer than this part of themselves.
const SEARCHED_PARTS: f64 = 24.0;
/// And for the polish.
pub(crate) const POLISHED_PARTS: f64 = 96.0;

/// The mixture after Newton's steps on all values.
fn polished(
    fit: MixtureFit,
    kinds: &[BoundedFamily],
    points: &Points,
    was_joined: bool,
) -> Option<MixtureFit> {
    const STEPS: u32 = 12;
    let fine = points.condensed(POLISHED_PARTS);
    let allowed = |model: &Model| {
        let parts = || model.parts().iter().zip(kinds);
        let seen = |component: &Component| {
            points.observation.between.is_none() || points.observation.seen(component) >= SEEN_MIN
        };
        parts().all(|((_, component), kind)| kind.narrowest.allows(component) && seen(component))
    };
    let objective = |model: &Model| match allowed(model) {
        true => fine.ln_likelihood(model),
        false => f64::NEG_INFINITY,
    };
    let mut ln_likelihoods = fit.ln_likelihoods;
    if was_joined {
        ln_likelihoods = vec![points.ln_likelihood(&fit.model)];
    }
    // A thousandth of a unit of likelihood is a thirtieth of a standard error, and the next step is the
    // square of that.
    let found = climb(fit.model.clone(), &fine, STEPS, 1e-3, &objective);
    let after = points.ln_likelihood(&found);
    let is_better = ln_likelihoods.last().is_none_or(|before| after > *before);
    let mut parts = if is_better { found } else { fit.model }.parts().to_vec();
    if is_better {
        ln_likelihoods.push(after);
    }
    in_order_of_means(&mut parts);
    Some(MixtureFit { model: Model::mixture(parts)?, ln_likelihoods, converged: fit.converged })
}

/// The part of `model` that hardly explains more than one value that came again and again, and the value:
/// it describes no variable, and must not be drawn from.
pub(crate) fn spike(model: &Model, points: &Points) -> Option<(usize, f64)> {
    const MOST: f64 = 0.8;
    if model.parts().len() < 2 {
        return None;
    }
    let mut shares: Vec<Vec<f64>> = Vec::new();
    for (weight, component) in model.parts() {
        let mut own = vec![0.0; points.values.len()];
        points
            .observation
            .ln_each(component, &points.values, &points.logs, |at, ln| own[at] = weight.ln() + ln);
        shares.push(own);
    }
    for at in 0..points.values.len() {
        let most = shares.iter().map(|own| own[at]).fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = shares.iter().map(|own| (own[at] - most).exp()).sum();
        shares.iter_mut().for_each(|own| own[at] = points.counts[at] * (own[at] - most).exp() / total);
    }
    shares.iter().enumerate().find_map(|(part, own)| {
        let all: f64 = own.iter().sum();
        let (at, share) = own.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1))?;
        (points.counts[at] > 2.0 && *share > MOST * all).then_some((part, points.values[at]))
    })
}

/// A family with the bound on its narrowness.
#[derive(Debug, Clone, Copy)]
struct BoundedFamily {
    family: Family,
    narrowest: Narrowest,
}

fn kinds(families: &[Family], points: &Points) -> Option<Vec<BoundedFamily>> {
    let complete = |family: Family| points.values.iter().all(|x| family.refuses(*x).is_none());
    // A probability of whole numbers and a density do not compare where values are not all whole.
    let compares = |family: Family| family != Family::Geometric || complete(family);
    let tick = points.tick();
    if !points.observation.is_plain()
        && points.values.iter().any(|x| families.iter().any(|f| f.refuses_observed(*x, tick).is_some()))
    {
        return None;
    }
    let kind =
        |family: &Family| BoundedFamily { family: *family, narrowest: Narrowest::part_of(*family, points) };
    families.iter().all(|family| compares(*family)).then(|| families.iter().map(kind).collect())
}

/// Bands of a start along the sorted values: part `order[i]` is favoured on the i-th band, up to
/// the share `cuts[i]` of the values. A part may have several bands.
struct Start {
    order: Vec<usize>,
    cuts: Vec<f64>,
    /// Parts begin with nothing but their bands; if not, with some of every value. The first finds parts that
    /// lie apart, and is not led astray by a few extreme values; the second finds parts that overlap.
    apart: bool,
}

fn starts(parts: usize, random: u32, rng: &mut Stream) -> Vec<Start> {
    let even = |bands: usize| -> Vec<f64> { (1..=bands).map(|i| i as f64 / bands as f64).collect() };
    let mut starts = Vec::new();
    for order in orders(parts) {
        for apart in [false, true] {
            starts.push(Start { order: order.clone(), cuts: even(parts), apart });
        }
        // One inside the other: a wide part has both ends.
        let nested: Vec<usize> = order.iter().chain(order.iter().rev().skip(1)).copied().collect();
        starts.push(Start { cuts: even(nested.len()), order: nested, apart: true });
    }
    for _ in 0..random {
        let orders = orders(parts);
        let order = orders[rng.random_range(0..orders.len())].clone();
        let mut cuts: Vec<f64> = (1..parts).map(|_| rng.random_range(0.05..0.95)).collect();
        cuts.sort_unstable_by(f64::total_cmp);
        cuts.push(1.0);
        starts.push(Start { order, cuts, apart: rng.random() });
    }
    starts
}

/// All orders of 0 … n − 1.
fn orders(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for shorter in orders(n - 1) {
        for at in 0..n {
            let mut order = shorter.clone();
            order.insert(at, n - 1);
            all.push(order);
        }
    }
    all
}

/// A run of the algorithm.
struct Em<'a> {
    points: &'a Points,
    parts: Vec<WeightedComponent>,
    /// Share of each component in each value, times the count of the value.
    shares: Vec<Vec<f64>>,
    ln_likelihoods: Vec<f64>,
    converged: bool,
}

struct WeightedComponent {
    kind: BoundedFamily,
    weight: f64,
    component: Component,
    scale: Option<f64>,
}

impl<'a> Em<'a> {
    fn begin(points: &'a Points, kinds: &[BoundedFamily], start: &Start) -> Option<Em<'a>> {
        // Share of a band that is the favoured part's.
        let favour = if start.apart { 1.0 } else { 0.85 };
        let cumulative = points.cumulative();
        let band = |at: usize| {
            let middle = (cumulative[at] - points.counts[at] / 2.0) / points.n;
            start.cuts.iter().position(|cut| middle <= *cut).unwrap_or(start.cuts.len() - 1)
        };
        let others = (1.0 - favour) / (kinds.len() as f64 - 1.0).max(1.0);
        let (mut parts, mut shares) = (Vec::new(), Vec::new());
        for (own, kind) in kinds.iter().enumerate() {
            let place = start.order.iter().position(|part| *part == own)?;
            let first = (0..points.values.len()).find(|at| band(*at) >= place)?;
            let from = points.values[if start.apart { first } else { 0 }] - points.tick() / 2.0;
            let scale = (kind.family == Family::Pareto).then(|| from.max(points.observation.ln(0.0).exp()));
            let share = |at: usize| {
                let x = points.values[at];
                let refused = kind.family.refuses_observed(x, points.tick()).is_some();
                let possible = !refused && scale.is_none_or(|scale| x + points.tick() / 2.0 > scale);
                let share = if start.order[band(at)] == own { favour } else { others };
                if possible { share * points.counts[at] } else { 0.0 }
            };
            let own_shares: Vec<f64> = (0..points.values.len()).map(share).collect();
            let weight = own_shares.iter().sum::<f64>() / points.n;
            let component =
                likeliest(kind.family, points, &own_shares, scale, kind.narrowest, Approach::Begin)?;
            parts.push(WeightedComponent { kind: *kind, weight, component, scale });
            shares.push(own_shares);
        }
        let total: f64 = parts.iter().map(|part| part.weight).sum();
        parts.iter_mut().for_each(|part| part.weight /= total);
        Some(Em { points, parts, shares, ln_likelihoods: Vec::new(), converged: false })
    }

    fn run(&mut self, steps: u32) {
        /// A step that gains less than this a value has arrived.
        const GAIN_MIN: f64 = 1e-8;
        for _ in 0..steps {
            if self.ln_likelihoods.is_empty() {
                let first = self.expect();
                self.ln_likelihoods.push(first);
            }
            if !self.sound() || self.converged {
                return;
            }
            self.maximize();
            let before = self.latest();
            let now = self.expect();
            self.ln_likelihoods.push(now);
            self.converged = now - before < GAIN_MIN * self.points.n;
        }
    }

    fn latest(&self) -> f64 {
        self.ln_likelihoods.last().copied().unwrap_or(f64::NEG_INFINITY)
    }

    fn sound(&self) -> bool {
        self.latest().is_finite()
    }

    /// The E step. Returns the logarithm of the likelihood of the present parts.
    fn expect(&mut self) -> f64 {
        let (points, mut ln_likelihood) = (self.points, 0.0);
        for (part, shares) in self.parts.iter().zip(&mut self.shares) {
            let ln_weight = part.weight.ln() - points.observation.seen(&part.component).ln();
            points
                .observation
                .ln_each(&part.component, &points.values, &points.logs, |at, ln| shares[at] = ln_weight + ln);
        }
        for (at, count) in points.counts.iter().enumerate() {
            let most = self.shares.iter().map(|shares| shares[at]).fold(f64::NEG_INFINITY, f64::max);
            if !most.is_finite() {
                return f64::NEG_INFINITY;
            }
            let total: f64 = self.shares.iter().map(|shares| (shares[at] - most).exp()).sum();
            for shares in &mut self.shares {
                shares[at] = count * (shares[at] - most).exp() / total;
            }
            ln_likelihood += count * (most + total.ln());
        }
        ln_likelihood
    }

    /// The M step. A part that nothing is left of keeps its distribution.
    fn maximize(&mut self) {
        for (part, shares) in self.parts.iter_mut().zip(&self.shares) {
            part.weight = shares.iter().sum::<f64>() / self.points.n;
            let narrowest = part.kind.narrowest;
            let way = Approach::On(part.component);
            if let Some(component) =
                likeliest(part.kind.family, self.points, shares, part.scale, narrowest, way)
            {
                part.component = component;
            }
        }
    }

    fn finish(self) -> Option<MixtureFit> {
        let seen = |component: &Component| self.points.observation.seen(component);
        let parts =
            self.parts.iter().map(|part| (part.weight / seen(&part.component), part.component)).collect();
        let model = Model::mixture(parts)?;
        Some(MixtureFit { model, ln_likelihoods: self.ln_likelihoods, converged: self.converged })
    }
}

/// Sorts the components of one family by their means, among the indices that the family has.
fn in_order_of_means(parts: &mut [(f64, Component)]) {
    let mean =
        |part: &Component| part.distribution().map_or(f64::INFINITY, |distribution| distribution.mean());
    for one in 0..parts.len() {
        for other in one + 1..parts.len() {
            let (a, b) = (&parts[one].1, &parts[other].1);
            if a.family() == b.family() && mean(a) > mean(b) {
                parts.swap(one, other);
            }
        }
    }
}
