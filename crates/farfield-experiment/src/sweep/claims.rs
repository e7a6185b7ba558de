//! Claims about a sweep, such as "the p99 grows by at least 10 %", and whether they hold.
//!
//! A claim is about a metric at some points, or about its change from other points to these. It *holds* if
//! the whole interval does, *fails* if none of it does, and is *undecided* between. Undecided claims get more
//! blocks: twice as many each time, up to a number of *looks* that is fixed in advance. Who looks several
//! times and stops when a claim is decided would be wrong more often than one who looks once; so each look
//! has an interval of the level 1 − 0.05/looks (Bonferroni), and all together are wrong with at most 5 %.

use super::factor::Setting;
use super::report::RunRecord;
use super::scale::Scale;
use crate::report::LEVEL;
use farfield_measure::interval::MeanEstimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The side of a limit on which a number is claimed to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// Above it.
    Above,
    /// Below it.
    Below,
}

/// What is claimed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// The claim in words.
    pub says: String,
    /// The metric.
    pub metric: String,
    /// What the points set that it is about; of several such points the mean is meant.
    pub at: Vec<Setting>,
    /// What the points set that they are held against; null if the claim is about the number itself.
    pub against: Option<Vec<Setting>>,
    /// Where the number or the change is.
    pub side: Side,
    /// The limit: in the metric's unit, or as a change: a ratio less 1, or a difference.
    pub limit: f64,
}

/// Whether a claim holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The whole interval lies where it is claimed to lie.
    Holds,
    /// None of it does.
    Fails,
    /// A part of it does, or nothing is known.
    Undecided,
}

/// A claim with what was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClaimReport {
    /// The claim.
    pub claim: Claim,
    /// Whether it holds.
    pub verdict: Verdict,
    /// How the metric's numbers are compared.
    pub scale: Scale,
    /// The number or the change; null if nothing is known.
    pub found: Option<f64>,
    /// The ends of its interval.
    pub interval: Option<[f64; 2]>,
    /// Probability with which such an interval contains the true number.
    pub level: f64,
    /// Blocks that it follows from.
    pub blocks: u32,
}

/// The level of an interval at one of so many looks.
pub fn level(looks: u32) -> f64 {
    1.0 - (1.0 - LEVEL) / f64::from(looks.max(1))
}

/// A claim, judged by the runs so far, at one of so many looks.
pub(super) fn judge(claim: &Claim, points: &[super::Point], runs: &[RunRecord], looks: u32) -> ClaimReport {
    let scale = runs.iter().find_map(|run| run.reading(&claim.metric)).map_or(Scale::Ratio, |own| own.scale);
    let numbers = numbers(claim, points, runs);
    let level = level(looks);
    let (estimate, is_change) = (MeanEstimate::of(&numbers), claim.against.is_some());
    let shown = |place: f64| if is_change { scale.back(place) } else { scale.number(place) };
    let limit = match (is_change, scale) {
        (true, Scale::Ratio) => claim.limit.ln_1p(),
        (false, Scale::Ratio) => claim.limit.ln(),
        (_, Scale::Difference) => claim.limit,
    };
    let ends = estimate
        .map(|estimate| estimate.ends(level))
        .filter(|(low, high)| low.is_finite() && high.is_finite());
    let verdict = match (ends, claim.side) {
        (None, _) => Verdict::Undecided,
        (Some((low, _)), Side::Above) if low > limit => Verdict::Holds,
        (Some((_, high)), Side::Below) if high < limit => Verdict::Holds,
        (Some((_, high)), Side::Above) if high <= limit => Verdict::Fails,
        (Some((low, _)), Side::Below) if low >= limit => Verdict::Fails,
        (Some(_), _) => Verdict::Undecided,
    };
    ClaimReport {
        claim: claim.clone(),
        verdict,
        scale,
        found: estimate.map(|estimate| shown(estimate.mean)).filter(|found| found.is_finite()),
        interval: ends.map(|(low, high)| [shown(low), shown(high)]),
        level,
        blocks: numbers.len() as u32,
    }
}

/// What is claimed something of, in each block in which all of its points have a number that counts.
fn numbers(claim: &Claim, points: &[super::Point], runs: &[RunRecord]) -> Vec<f64> {
    let chosen = |settings: &[Setting]| -> Vec<usize> {
        let has_all = |point: &super::Point| settings.iter().all(|setting| point.settings.contains(setting));
        points.iter().enumerate().filter(|(_, point)| has_all(point)).map(|(at, _)| at).collect()
    };
    let at = chosen(&claim.at);
    let against = claim.against.as_deref().map(chosen);
    let last = runs.iter().map(|run| run.design.block).max().unwrap_or(0);
    let mean = |points: &[usize], block: u32| -> Option<f64> {
        let of_point = |point: &usize| {
            let counts = |run: &&RunRecord| run.point == *point && run.design.block == block && run.counts();
            let reading = runs.iter().find(counts)?.reading(&claim.metric)?;
            Some(reading.scale.forth(reading.value?))
        };
        let all: Option<Vec<f64>> = points.iter().map(of_point).collect();
        all.filter(|all| !all.is_empty()).map(|all| all.iter().sum::<f64>() / all.len() as f64)
    };
    let of_block = |block: u32| match &against {
        None => mean(&at, block),
        Some(against) => Some(mean(&at, block)? - mean(against, block)?),
    };
    (1..=last).filter_map(of_block).collect()
}
