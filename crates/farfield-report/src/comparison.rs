//! Runs compared: whether two servers, two configurations or two versions differ, by how much, and with what
//! confidence.
//!
//! A [`ComparisonSide`] is one run or a set of repeats. Repeats are compared by Student's t as Welch has it,
//! on the numbers of whole runs: each counts once, however many requests it had, since runs of one server
//! process agree with each other more than servers do (Zhang, Meisner, Mars and Tang, "Treadmill", ISCA
//! 2016). Repeats that share seeds in virtual time, or blocks of a sweep, are pairs, whose differences are
//! averaged. Rates and times are compared by their logarithms, so that a change is a ratio; the share of
//! errors by its difference. One run against one is compared by the intervals that each has of itself, which
//! know nothing of what differs between two starts of a server.
//!
//! Only valid runs count. Nothing is opened but run directories.

mod cells;
pub mod drawing;
pub mod fail_if;
pub mod html;
pub(crate) mod inputs;
pub mod markdown;
mod measured;
pub mod metric;
mod pairs;
pub mod scoped;
pub mod side;
pub mod text;

use farfield_experiment::sweep::Scale;
use farfield_measure::interval::{BoundedEstimate, MeanEstimate, holm};
use inputs::InputChange;
use pairs::Pairs;
use scoped::ScopedMetric;
use serde::Serialize;
use side::{ComparisonSide, LeftOut, SideError};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The probability with which intervals contain the true change, and with which no difference is shown where
/// there is none.
pub const LEVEL: f64 = 0.95;

/// Sides compared with the first of them.
#[derive(Debug, Serialize)]
pub struct Comparison {
    /// Probability of the intervals.
    pub level: f64,
    /// The side that the others are compared with.
    pub base: SideSummary,
    /// The other sides, in the order in which they were named.
    pub others: Vec<Against>,
}

/// A side, in a few words.
#[derive(Debug, Clone, Serialize)]
pub struct SideSummary {
    /// The path by which it was named.
    pub name: String,
    /// Number of valid runs, which are compared.
    pub runs: usize,
    /// Runs that are not, and the reasons.
    pub left_out: Vec<LeftOut>,
    /// The load, in words.
    pub load: String,
}

/// A side compared with the base.
#[derive(Debug, Serialize)]
pub struct Against {
    /// The side.
    pub side: SideSummary,
    /// The basis of the intervals.
    pub evidence: IntervalBasis,
    /// A row for each metric.
    pub rows: Vec<MetricComparison>,
    /// Keys of the scenario and of the machine that differ between the first runs of the two sides.
    pub inputs: Vec<InputChange>,
    /// Doubts for the reader, one sentence each.
    pub notes: Vec<String>,
}

/// Basis of the intervals of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum IntervalBasis {
    /// Repeats on both sides.
    Repeats,
    /// Repeats on both sides that belong together, each with one of the other side.
    Pairs,
    /// A single run on one side, which is compared with the spread of the other's repeats.
    OneAgainstRepeats,
    /// Single runs on both sides, compared by the intervals of each.
    WithinRuns,
}

/// A metric on both sides.
#[derive(Debug, Clone, Serialize)]
pub struct MetricComparison {
    /// The metric, of the whole run or of a part.
    pub metric: ScopedMetric,
    /// The value on the base's side, in the mean over the runs; null if no run has it.
    pub base: Option<f64>,
    /// The value on the other side.
    pub other: Option<f64>,
    /// The change; null if nothing is known of it.
    pub change: Option<Change>,
    /// The reason why nothing is known of the change.
    pub unknown: Option<&'static str>,
}

/// A change from the base: a ratio less 1, or a difference of shares.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Change {
    /// The change.
    pub by: f64,
    /// The lower end of its interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The probability of a change of at least this size, if there were none.
    pub p_value: f64,
    /// True if a difference is shown, also with all other metrics considered (Holm 1979).
    pub differs: bool,
}

/// Compares `others` with `base` in `metrics`.
pub fn compare(base: &ComparisonSide, others: &[ComparisonSide], metrics: &[ScopedMetric]) -> Comparison {
    let against = others.iter().map(|other| Against::of(base, other, metrics)).collect();
    Comparison { level: LEVEL, base: base.summary(), others: against }
}

/// Opens the sides at these paths, each another one.
pub fn open(paths: &[PathBuf]) -> Result<Vec<ComparisonSide>, SideError> {
    let mut seen = BTreeSet::new();
    // A path that cannot be resolved is refused where it is opened.
    let twice = paths.iter().find(|path| path.canonicalize().is_ok_and(|real| !seen.insert(real)));
    if let Some(twice) = twice {
        return Err(SideError::Twice(twice.clone()));
    }
    paths.iter().map(|path| ComparisonSide::open(path)).collect()
}

impl Against {
    fn of(base: &ComparisonSide, other: &ComparisonSide, metrics: &[ScopedMetric]) -> Against {
        let pairs = pairs::between(base.runs(), other.runs());
        let evidence = match (base.runs().len(), other.runs().len()) {
            (1, 1) => IntervalBasis::WithinRuns,
            (1, _) | (_, 1) => IntervalBasis::OneAgainstRepeats,
            _ if pairs.is_some() => IntervalBasis::Pairs,
            _ => IntervalBasis::Repeats,
        };
        let row = |metric: &ScopedMetric| match &pairs {
            Some(pairs) if evidence == IntervalBasis::Pairs => {
                MetricComparison::of_pairs(metric.clone(), pairs)
            }
            _ => MetricComparison::of(metric.clone(), [base, other], evidence),
        };
        let mut rows: Vec<MetricComparison> = metrics.iter().map(row).collect();
        mark_differences(&mut rows);
        let (inputs, notes) = (inputs::changes(base, other), notes(base, other, evidence, pairs.as_ref()));
        Against { side: other.summary(), evidence, rows, inputs, notes }
    }

    /// True if at least one metric is shown to differ.
    pub fn differs(&self) -> bool {
        self.rows.iter().any(|row| row.change.is_some_and(|change| change.differs))
    }

    /// True if there is a metric of which the change is known.
    pub fn is_known(&self) -> bool {
        self.rows.iter().any(|row| row.change.is_some())
    }
}

impl MetricComparison {
    /// The comparison of a metric in pairs of runs.
    fn of_pairs(metric: ScopedMetric, pairs: &Pairs) -> MetricComparison {
        let scale = metric.metric.scale();
        let values = |side: usize| -> Result<Vec<f64>, &'static str> {
            pairs.runs.iter().map(|pair| metric.of_run(pair[side])).collect()
        };
        let values = [values(0), values(1)];
        let variance = |base: &[f64], other: &[f64]| -> f64 {
            let runs = |side: usize| pairs.runs.iter().map(|pair| pair[side]).collect::<Vec<_>>();
            metric.variance_of_mean(&runs(0), base) + metric.variance_of_mean(&runs(1), other)
        };
        let [base, other] = values.clone().map(|values| values.ok().map(|values| scale.mean(&values)));
        let (change, unknown) = match &values {
            [Err(reason), _] | [_, Err(reason)] => (None, Some(*reason)),
            [Ok(base), Ok(other)] => match Change::of_pairs(scale, base, other, variance(base, other)) {
                None => (None, Some("the numbers of the runs do not show it")),
                change => (change, None),
            },
        };
        MetricComparison { metric, base, other, change, unknown }
    }

    /// The comparison of a metric on both sides.
    fn of(metric: ScopedMetric, sides: [&ComparisonSide; 2], evidence: IntervalBasis) -> MetricComparison {
        let scale = metric.metric.scale();
        let values = sides.map(|side| metric.of_runs(side.runs()));
        let mean = |values: &Result<Vec<f64>, &'static str>| values.as_ref().ok().map(|of| scale.mean(of));
        let [base, other] = [mean(&values[0]), mean(&values[1])];
        let unknown = |reason| MetricComparison {
            metric: metric.clone(),
            base,
            other,
            change: None,
            unknown: Some(reason),
        };
        let [numbers, others] = match &values {
            [Err(reason), _] | [_, Err(reason)] => return unknown(reason),
            [Ok(base), Ok(other)] => [base, other],
        };
        let change = if evidence == IntervalBasis::WithinRuns {
            match sides.map(|side| metric.estimate_of(&side.runs()[0])) {
                [Err(reason), _] | [_, Err(reason)] => return unknown(reason),
                [Ok(base), Ok(other)] => Change::of_estimates(scale, [base, other]),
            }
        } else {
            let runs = sides.map(|side| side.runs().iter().collect::<Vec<_>>());
            let variances = [(&runs[0], numbers), (&runs[1], others)];
            let variance = variances.map(|(runs, numbers)| metric.variance_of_mean(runs, numbers));
            Change::between(scale, [numbers, others], variance.iter().sum())
        };
        match change {
            Some(change) => {
                MetricComparison { metric: metric.clone(), base, other, change: Some(change), unknown: None }
            }
            None => unknown("the numbers of the runs do not show it"),
        }
    }
}

impl Change {
    /// The change from the first number to the second, each with its interval; absent if a logarithm does not
    /// exist.
    fn of_estimates(scale: Scale, estimates: [BoundedEstimate; 2]) -> Option<Change> {
        let [base, other] = estimates.map(|own| BoundedEstimate {
            value: scale.forth(own.value),
            low: scale.forth(own.low),
            high: scale.forth(own.high),
        });
        let difference = other.minus(base);
        let BoundedEstimate { value, low, high } = difference;
        [value, low, high].iter().all(|end| end.is_finite()).then(|| Change {
            by: scale.back(value),
            low: scale.back(low),
            high: scale.back(high),
            p_value: difference.p_value(),
            differs: false,
        })
    }

    /// The mean of the changes from each number to its partner, whose squared standard error is at least
    /// `variance`; absent if a logarithm does not exist.
    fn of_pairs(scale: Scale, base: &[f64], other: &[f64], variance: f64) -> Option<Change> {
        let differences =
            base.iter().zip(other).map(|(base, other)| scale.forth(*other) - scale.forth(*base));
        let differences: Vec<f64> = differences.collect();
        let mean = MeanEstimate::of(&differences)?.with_variance_of_at_least(variance);
        let (low, high) = mean.ends(LEVEL);
        (low.is_finite() && high.is_finite()).then(|| Change {
            by: scale.back(mean.mean),
            low: scale.back(low),
            high: scale.back(high),
            p_value: mean.p_value(),
            differs: false,
        })
    }

    /// The change from the first numbers to the second, whose squared standard error is at least `variance`;
    /// absent if a logarithm does not exist, or if numbers that agree exactly face a single one that differs.
    fn between(scale: Scale, numbers: [&Vec<f64>; 2], variance: f64) -> Option<Change> {
        let scaled =
            numbers.map(|numbers| numbers.iter().map(|number| scale.forth(*number)).collect::<Vec<_>>());
        if scaled.iter().flatten().any(|number| !number.is_finite()) {
            return None;
        }
        let difference = match [scaled[0].as_slice(), scaled[1].as_slice()] {
            [[one], repeats] => MeanEstimate::one_against(*one, repeats)?.scaled(-1.0, 0.0),
            [repeats, [one]] => MeanEstimate::one_against(*one, repeats)?,
            [base, other] => MeanEstimate::of(other)?.minus(MeanEstimate::of(base)?),
        };
        let difference = difference.with_variance_of_at_least(variance);
        let (low, high) = difference.ends(LEVEL);
        Some(Change {
            by: scale.back(difference.mean),
            low: scale.back(low),
            high: scale.back(high),
            p_value: difference.p_value(),
            differs: false,
        })
    }
}

/// Marks the changes that are shown to be differences, all of them considered together.
fn mark_differences(rows: &mut [MetricComparison]) {
    let mut changes: Vec<&mut Change> = rows.iter_mut().filter_map(|row| row.change.as_mut()).collect();
    let p_values: Vec<f64> = changes.iter().map(|change| change.p_value).collect();
    for (change, differs) in changes.iter_mut().zip(holm(&p_values, LEVEL)) {
        change.differs = differs;
    }
}

fn notes(
    base: &ComparisonSide,
    other: &ComparisonSide,
    evidence: IntervalBasis,
    pairs: Option<&Pairs>,
) -> Vec<String> {
    let mut notes = Vec::new();
    match evidence {
        IntervalBasis::Repeats => {}
        IntervalBasis::Pairs => notes.extend(pairs.and_then(Pairs::note)),
        IntervalBasis::WithinRuns => notes.push(
            "one run against one: the intervals are of how a run varies within itself, and know nothing of what differs \
             between two starts of the same server; repeat both, each with a server that is started anew"
                .to_owned(),
        ),
        IntervalBasis::OneAgainstRepeats => notes.push(
            "a single run is compared by the spread of the other side's repeats, as if its own were the same; \
             repeat it as well"
                .to_owned(),
        ),
    }
    let unfinished =
        |side: &ComparisonSide| side.runs().iter().any(|run| run.summary().steady.unfinished.is_some());
    for side in [base, other].into_iter().filter(|side| unfinished(side)) {
        notes.push(format!(
            "{}: requests were open at the end of runs; times count them by their ages (Kaplan and Meier 1958)",
            side.name()
        ));
    }
    notes
}

#[cfg(test)]
mod tests;
