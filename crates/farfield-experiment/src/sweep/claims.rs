//! Claims about a sweep, such as "the p99 grows by at least 10 %", and whether they hold.
//!
//! A claim is about a metric at some points, or about its change from other points to these. It *holds* if
//! the whole interval does, *fails* if none of it does, and is *undecided* between. Undecided claims get more
//! blocks: twice as many each time, up to a number of *looks* that is fixed in advance. Who looks several
//! times and stops when a claim is decided would be wrong more often than one who looks once; so each look
//! has an interval of the level 1 − 0.05/looks (Bonferroni), and all together are wrong with at most 5 %.
//!
//! A claim may be about *each* of several values of a key. It holds if it does at each of them, which needs
//! no wider intervals (Berger 1982, "Multiparameter hypothesis testing and acceptance sampling": an
//! intersection-union test). It fails if it does at any, whose intervals have the level of so many looks
//! times values.

use super::factor::Setting;
use super::make::SweepPlan;
use super::report::RunRecord;
use super::scale::Scale;
use super::shares;
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
    /// Between the limit and its negative: of a change, by no more than the limit in either direction.
    Within,
}

/// The values of a key, each of which a claim is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EachValue {
    /// The key.
    pub key: String,
    /// The key's values, as the points have them.
    pub values: Vec<String>,
}

/// A claim as it was before, and what came of it then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EarlierClaim {
    /// The claim in words; null if the words are the same.
    #[serde(default)]
    pub says: Option<String>,
    /// The finding, in words.
    pub seen: String,
    /// The verdict, in words.
    pub verdict: String,
    /// Why the claim was changed, or what has changed since; may be empty.
    #[serde(default)]
    pub why: String,
}

/// A claim about a metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// The claim in words.
    pub says: String,
    /// The metric.
    pub metric: String,
    /// The settings of the points that it is about; of several such points the mean is meant.
    pub at: Vec<Setting>,
    /// The settings of the points that they are held against; null if the claim is about the number itself.
    pub against: Option<Vec<Setting>>,
    /// The values of a further key, each of which it is about, on both sides; null if it is about one number.
    #[serde(default)]
    pub each: Option<EachValue>,
    /// The side of the limit on which the number or the change is.
    pub side: Side,
    /// The limit: in the metric's unit, or as a change: a ratio less 1, or a difference.
    pub limit: f64,
    /// The claim as it was before, the latest first.
    #[serde(default)]
    pub was: Vec<EarlierClaim>,
}

/// The verdict on a claim.
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
    /// The verdict on it.
    pub verdict: Verdict,
    /// The scale on which the metric's numbers are compared.
    pub scale: Scale,
    /// The value that decides, of a claim about each of several: the one at which it fails, or the one whose
    /// interval is nearest to its limit.
    #[serde(default)]
    pub decided_at: Option<Setting>,
    /// The number or the change, at the value that decides; null if nothing is known.
    pub found: Option<f64>,
    /// The ends of its interval.
    pub interval: Option<[f64; 2]>,
    /// Probability with which such an interval contains the true number.
    pub level: f64,
    /// Blocks that it follows from.
    pub blocks: u32,
}

/// A claim at one of its values.
struct Part {
    value: Option<Setting>,
    verdict: Verdict,
    found: Option<f64>,
    interval: Option<[f64; 2]>,
    /// Distance of the interval's nearer end from the limit, within what is claimed, on the scale on which
    /// changes add; negative beyond it.
    margin: f64,
    blocks: u32,
    /// The server did not cope in a run of its points.
    is_of_survivors: bool,
}

/// The level of an interval at one of so many looks.
pub fn level(looks: u32) -> f64 {
    1.0 - (1.0 - LEVEL) / f64::from(looks.max(1))
}

impl Claim {
    /// The claims that this one consists of: itself, or one for each value.
    pub fn parts(&self) -> Vec<(Option<Setting>, Claim)> {
        let Some(each) = &self.each else { return vec![(None, self.clone())] };
        let part = |value: &String| {
            let setting = Setting { key: each.key.clone(), value: value.clone() };
            let with = |settings: &[Setting]| -> Vec<Setting> {
                let has = settings.iter().any(|own| own.key == setting.key);
                settings.iter().cloned().chain((!has).then(|| setting.clone())).collect()
            };
            let part = Claim {
                at: with(&self.at),
                against: self.against.as_deref().map(with),
                each: None,
                ..self.clone()
            };
            (Some(setting), part)
        };
        each.values.iter().map(part).collect()
    }
}

/// The number of errors among which the 5 % are shared for each claim: its looks, and, where claims are taken
/// together, times the claims that are not decided yet. All claims are judged at the strictest level first;
/// those that are left, at the level of their number, and so on until none is decided any more (Holm 1979,
/// "A simple sequentially rejective multiple test procedure", with each look counted as a test).
pub(super) fn errors(plan: &SweepPlan, runs: &[RunRecord]) -> Vec<u32> {
    let mut errors = vec![plan.looks; plan.claims.len()];
    let mut open: Vec<usize> = (0..plan.claims.len()).filter(|_| plan.claims_together).collect();
    loop {
        let together = plan.looks.saturating_mul(u32::try_from(open.len()).unwrap_or(u32::MAX));
        open.iter().for_each(|place| errors[*place] = together);
        let before = open.len();
        open.retain(|place| {
            judge(&plan.claims[*place], &plan.points, runs, together).verdict == Verdict::Undecided
        });
        if open.is_empty() || open.len() == before {
            return errors;
        }
    }
}

/// A claim, judged by the runs so far, at one of so many looks.
pub(super) fn judge(claim: &Claim, points: &[super::Point], runs: &[RunRecord], looks: u32) -> ClaimReport {
    let scale = runs.iter().find_map(|run| run.reading(&claim.metric)).map_or(Scale::Ratio, |own| own.scale);
    let parts = judged_parts(claim, points, runs, looks);
    let verdict = match () {
        () if parts.iter().any(|part| part.verdict == Verdict::Fails) => Verdict::Fails,
        () if parts.iter().all(|part| part.verdict == Verdict::Holds) => Verdict::Holds,
        () => Verdict::Undecided,
    };
    // Of those that decide it in this way, the one that lies farthest on the side of doubt.
    let decides = |part: &&Part| part.verdict == verdict;
    let decisive = parts.iter().filter(decides).min_by(|a, b| a.margin.total_cmp(&b.margin));
    ClaimReport {
        claim: claim.clone(),
        verdict,
        scale,
        decided_at: decisive.and_then(|part| part.value.clone()),
        found: decisive.and_then(|part| part.found),
        interval: decisive.and_then(|part| part.interval),
        level: level(looks),
        blocks: decisive.map_or(0, |part| part.blocks),
    }
}

/// The parts of a claim that are undecided.
pub(super) fn undecided(
    claim: &Claim,
    points: &[super::Point],
    runs: &[RunRecord],
    looks: u32,
) -> Vec<Claim> {
    let judged = judged_parts(claim, points, runs, looks);
    // One value at which it fails has decided it.
    if judged.iter().any(|part| part.verdict == Verdict::Fails) {
        return Vec::new();
    }
    // More runs do not undo one in which the server did not cope.
    let is_open = |part: &Part| part.verdict == Verdict::Undecided && !part.is_of_survivors;
    let open = judged.iter().zip(claim.parts()).filter(|(part, _)| is_open(part));
    open.map(|(_, (_, claim))| claim).collect()
}

fn judged_parts(claim: &Claim, points: &[super::Point], runs: &[RunRecord], looks: u32) -> Vec<Part> {
    let parts = claim.parts();
    let count = u32::try_from(parts.len()).unwrap_or(u32::MAX);
    parts.into_iter().map(|(value, claim)| Part::of(value, &claim, points, runs, [looks, count])).collect()
}

impl Part {
    fn of(
        value: Option<Setting>,
        claim: &Claim,
        points: &[super::Point],
        runs: &[RunRecord],
        [looks, parts]: [u32; 2],
    ) -> Part {
        let reading = runs.iter().find_map(|run| run.reading(&claim.metric));
        let scale = reading.map_or(Scale::Ratio, |own| own.scale);
        let found = numbers(claim, points, runs);
        let is_of_survivors = found.is_none();
        let (numbers, variance) = found.unwrap_or_default();
        let (estimate, is_change) = (MeanEstimate::of(&numbers), claim.against.is_some());
        let estimate = estimate.map(|estimate| estimate.with_variance_of_at_least(variance));
        let shown = |place: f64| if is_change { scale.back(place) } else { scale.number(place) };
        let on_scale = |limit: f64| match (is_change, scale) {
            (true, Scale::Ratio) => limit.ln_1p(),
            (false, Scale::Ratio) => limit.ln(),
            (_, Scale::Difference) => limit,
        };
        let (below, above) = match claim.side {
            Side::Above => (on_scale(claim.limit), f64::INFINITY),
            Side::Below => (f64::NEG_INFINITY, on_scale(claim.limit)),
            Side::Within => (on_scale(-claim.limit), on_scale(claim.limit)),
        };
        let ends = |level: f64| {
            let ends = estimate.map(|estimate| estimate.ends(level));
            ends.filter(|(low, high)| low.is_finite() && high.is_finite())
        };
        let (own, wide) = (ends(level(looks)), ends(level(looks.saturating_mul(parts))));
        let verdict = match (own, wide) {
            (Some((low, high)), _) if low > below && high < above => Verdict::Holds,
            (_, Some((low, high))) if high <= below || low >= above => Verdict::Fails,
            _ => Verdict::Undecided,
        };
        Part {
            value,
            verdict,
            found: estimate.map(|estimate| shown(estimate.mean)).filter(|found| found.is_finite()),
            interval: own.map(|(low, high)| [shown(low), shown(high)]),
            margin: own.map_or(f64::NEG_INFINITY, |(low, high)| (low - below).min(above - high)),
            blocks: numbers.len() as u32,
            is_of_survivors,
        }
    }
}

/// The numbers that a claim is about, one for each block in which all of its points have one that counts, and
/// the squared standard error that their mean has at least; `None` where the server did not cope in a
/// run of these points: the others are those in which it did, and say nothing of all.
fn numbers(claim: &Claim, points: &[super::Point], runs: &[RunRecord]) -> Option<(Vec<f64>, f64)> {
    let chosen = |settings: &[Setting]| -> Vec<usize> {
        let has_all = |point: &super::Point| settings.iter().all(|setting| point.settings.contains(setting));
        points.iter().enumerate().filter(|(_, point)| has_all(point)).map(|(at, _)| at).collect()
    };
    let at = chosen(&claim.at);
    let against = claim.against.as_deref().map(chosen);
    let is_about = |run: &&RunRecord| {
        at.contains(&run.point) || against.as_ref().is_some_and(|against| against.contains(&run.point))
    };
    if runs.iter().filter(is_about).any(RunRecord::is_overwhelmed) {
        return None;
    }
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
    let variance = |points: &[usize]| {
        let own = runs.iter().filter(|run| points.contains(&run.point) && run.counts());
        shares::variance(own.filter_map(|run| run.reading(&claim.metric)))
    };
    let variance = variance(&at) + against.as_deref().map_or(0.0, variance);
    Some(((1..=last).filter_map(of_block).collect(), variance))
}
