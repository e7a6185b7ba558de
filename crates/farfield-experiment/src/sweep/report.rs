//! The result of a sweep: every run, the numbers of each point with their intervals, each point against the
//! first, and the effects of the factors.

use super::claims::{ClaimReport, errors, judge};
use super::doubts::{Doubt, doubts};
use super::effects::{MetricEffects, MetricTable, effects};
use super::factor::{Factor, Setting};
use super::lengths::{Course, LengthReport};
use super::make::{PILOT, PlannedRun, PointRun, Reading, SweepPlan};
use super::points::Layout;
use super::scale::Scale;
use super::shares;
use super::unit::{ColumnInfo, Unit};
use crate::report::{Ended, LEVEL};
use crate::stein;
use crate::trial::{Design, Validity};
use farfield_measure::interval::{MeanEstimate, holm};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The version of [`SweepReport`]'s schema.
pub const SCHEMA_VERSION: u32 = 1;

/// All of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepReport {
    /// The version of this schema.
    pub schema_version: u32,
    /// The experiment's name.
    pub experiment: String,
    /// The keys that were varied.
    pub factors: Vec<Factor>,
    /// The combinations of their values that are points.
    pub layout: Layout,
    /// The width that intervals were to reach, in words; null if that was not asked.
    pub until: Option<String>,
    /// The probability with which intervals contain the true value.
    pub level: f64,
    /// The way in which it ended.
    pub ended: Ended,
    /// The columns that the runs were read for.
    #[serde(default)]
    pub columns: Vec<ColumnInfo>,
    /// The points, in their order.
    pub points: Vec<PointReport>,
    /// The claims, each with its verdict.
    pub claims: Vec<ClaimReport>,
    /// The effects on each metric, of a full design with at least one factor.
    pub effects: Vec<MetricEffects>,
    /// Every run, in the order in which they were planned.
    pub runs: Vec<RunRecord>,
    /// The length of the runs that count, and how it was found; null where they are as long as their scenario
    /// says.
    #[serde(default)]
    pub lengths: Option<LengthReport>,
    /// Runs of lengths that turned out too short: they decided the length, and count for nothing else.
    #[serde(default)]
    pub earlier_runs: Vec<RunRecord>,
    /// Seconds that all runs took, added up.
    pub spent_s: f64,
}

/// A run of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunRecord {
    /// The number of its point, from 0.
    pub point: usize,
    /// Number of attempts before, which were disturbed.
    pub attempt: u32,
    /// The run's place in the experiment.
    pub design: Design,
    /// The validity: the run counts only if it is valid.
    pub validity: Validity,
    /// A reading for each metric.
    pub readings: Vec<Reading>,
    /// The course of its response times; null if that is not known.
    #[serde(default)]
    pub course: Option<Course>,
    /// Thresholds of the scenario that it did not meet.
    pub missed: Vec<String>,
    /// Checks that failed, and that the experiment does without.
    #[serde(default)]
    pub relaxed: Vec<String>,
    /// Warnings of the run.
    #[serde(default)]
    pub warnings: u32,
    /// The run directory, from the folder of the sweep.
    pub directory: PathBuf,
    /// Seconds that it took, with start and end.
    pub took_s: f64,
}

/// A point with its numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PointReport {
    /// The point's settings.
    pub settings: Vec<Setting>,
    /// Runs that count.
    pub runs: u32,
    /// Runs that do not.
    pub invalid: u32,
    /// The checks that they failed, each once.
    pub causes: Vec<String>,
    /// Checks that runs that count have failed, and that the experiment does without; each once.
    #[serde(default)]
    pub relaxed: Vec<String>,
    /// Runs that count and have warnings.
    #[serde(default)]
    pub warned: u32,
    /// Each metric's mean over the runs that count.
    pub estimates: Vec<PointEstimate>,
    /// Each metric against the first point, by pairs of runs with the same seed; empty for the first.
    pub against_first: Vec<PairedChange>,
}

/// A mean over the runs of a point, with its interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PointEstimate {
    /// The metric.
    pub metric: String,
    /// The scale on which its numbers are averaged.
    pub scale: Scale,
    /// The mean, geometric for ratios; null if no run has the metric.
    pub mean: Option<f64>,
    /// The ends of its interval; null with fewer than two runs.
    pub interval: Option<[f64; 2]>,
    /// True if the interval is as narrow as was asked; null if that was not asked.
    pub narrow: Option<bool>,
    /// Why there is no mean, or no interval.
    pub unknown: Option<String>,
    /// Reasons to doubt the interval.
    pub doubts: Vec<Doubt>,
}

/// A metric against the first point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PairedChange {
    /// The metric.
    pub metric: String,
    /// Pairs of runs.
    pub pairs: u32,
    /// A ratio less 1, or a difference.
    pub by: f64,
    /// The ends of its interval (Student's t, of the pairs' differences).
    pub interval: [f64; 2],
    /// The probability of a change of at least this size, if there were none.
    pub p_value: f64,
    /// True if there is a change, with all other points of the metric considered (Holm 1979).
    pub differs: bool,
}

impl RunRecord {
    /// The record of a run that came to this.
    pub(super) fn of(run: &PlannedRun, came_to: PointRun) -> RunRecord {
        RunRecord::at(run.point, run.attempt, run.design.clone(), came_to)
    }

    /// The record of a run at this point that was made for the attempt of this number.
    pub fn at(point: usize, attempt: u32, design: Design, came_to: PointRun) -> RunRecord {
        let PointRun { validity, readings, course, missed, relaxed, warnings, directory, took_s } = came_to;
        RunRecord {
            point,
            attempt,
            design,
            validity,
            readings,
            course,
            missed,
            relaxed,
            warnings,
            directory,
            took_s,
        }
    }

    /// True if its numbers count. Those of a run whose server did not cope do not: they are of a moment of
    /// its failing.
    pub fn counts(&self) -> bool {
        self.validity == Validity::Valid
    }

    /// True if the server did not cope.
    pub fn is_overwhelmed(&self) -> bool {
        matches!(self.validity, Validity::Overwhelmed { .. })
    }

    /// The run's reading of a metric.
    pub fn reading(&self, metric: &str) -> Option<&Reading> {
        self.readings.iter().find(|reading| reading.metric == metric)
    }

    /// The run's number of a metric, on the scale on which changes add.
    fn number(&self, metric: &str) -> Option<f64> {
        let reading = self.reading(metric)?;
        Some(reading.scale.forth(reading.value?))
    }
}

impl SweepReport {
    /// The report on these runs of a plan, which ended so.
    pub fn of(plan: &SweepPlan, runs: Vec<RunRecord>, ended: Ended) -> SweepReport {
        let metrics: Vec<(String, Scale)> = runs.first().map_or(Vec::new(), |run| {
            run.readings.iter().map(|reading| (reading.metric.clone(), reading.scale)).collect()
        });
        let points = (0..plan.points.len()).map(|point| PointReport::of(plan, &runs, point, &metrics));
        let mut points: Vec<PointReport> = points.collect();
        mark_differences(&mut points, &metrics);
        let is_factorial = plan.layout == Layout::Full && !plan.factors.is_empty();
        let effects = metrics.iter().filter(|_| is_factorial).map(|(metric, scale)| {
            let numbers = complete_blocks(plan.points.len(), &runs, metric);
            let least = least_variance(plan.points.len(), &runs, metric);
            let table = MetricTable { factors: &plan.factors, points: &plan.points, numbers, least };
            effects(metric, *scale, &table)
        });
        let effects = effects.collect();
        let errors = errors(plan, &runs);
        let judged = plan.claims.iter().zip(errors);
        let judged = judged.map(|(claim, errors)| judge(claim, &plan.points, &runs, errors));
        let claims = judged.collect();
        SweepReport {
            schema_version: SCHEMA_VERSION,
            experiment: plan.experiment.clone(),
            factors: plan.factors.clone(),
            layout: plan.layout,
            until: plan.until.as_ref().map(ToString::to_string),
            level: LEVEL,
            ended,
            columns: plan.columns.clone(),
            points,
            claims,
            effects,
            // The sum of no numbers is a negative zero.
            spent_s: runs.iter().map(|run| run.took_s).sum::<f64>() + 0.0,
            runs,
            lengths: None,
            earlier_runs: Vec::new(),
        }
    }

    /// The report with what was found of the runs' lengths, and the runs that showed it.
    pub(super) fn with_lengths(self, lengths: Option<LengthReport>, earlier: Vec<RunRecord>) -> SweepReport {
        let spent_s = self.spent_s + earlier.iter().map(|run| run.took_s).sum::<f64>();
        SweepReport { lengths, spent_s, earlier_runs: earlier, ..self }
    }

    /// Why the interval that was asked for cannot be had.
    pub fn refused(&self) -> Option<&str> {
        self.lengths.as_ref()?.refused.as_deref()
    }

    /// The unit of a metric's numbers.
    pub fn unit(&self, metric: &str) -> Unit {
        self.column(metric).map_or_else(|| Unit::of_name(metric), |column| column.unit)
    }

    /// The scale on which a metric's numbers are compared.
    pub fn scale(&self, metric: &str) -> Scale {
        self.column(metric).map_or_else(|| Unit::of_name(metric).scale(), |column| column.scale)
    }

    /// The column of a metric.
    pub fn column(&self, metric: &str) -> Option<&ColumnInfo> {
        self.columns.iter().find(|column| column.name == metric)
    }

    /// True if a run that counts did not meet a threshold.
    pub fn misses_thresholds(&self) -> bool {
        self.runs.iter().any(|run| run.counts() && !run.missed.is_empty())
    }

    /// True if every point has a run that counts and none in which the server did not cope, and every
    /// interval is as narrow as was asked, and could be had.
    pub fn is_decided(&self) -> bool {
        let narrow =
            |point: &PointReport| point.estimates.iter().all(|estimate| estimate.narrow != Some(false));
        let copes = !self.runs.iter().any(RunRecord::is_overwhelmed);
        copes && self.refused().is_none() && self.points.iter().all(|point| point.runs > 0 && narrow(point))
    }
}

impl PointReport {
    fn of(plan: &SweepPlan, runs: &[RunRecord], point: usize, metrics: &[(String, Scale)]) -> PointReport {
        let own: Vec<&RunRecord> = runs.iter().filter(|run| run.point == point).collect();
        let counted: Vec<&RunRecord> = own.iter().copied().filter(|run| run.counts()).collect();
        let mut causes: Vec<String> = Vec::new();
        for run in own.iter().filter(|run| !run.counts()) {
            if let Some(cause) =
                run.validity.cause().filter(|cause| !causes.iter().any(|known| known == cause))
            {
                causes.push(cause.to_owned());
            }
        }
        let mut relaxed: Vec<String> = counted.iter().flat_map(|run| run.relaxed.iter().cloned()).collect();
        relaxed.sort_unstable();
        relaxed.dedup();
        let is_overwhelmed = own.iter().any(|run| run.is_overwhelmed());
        let estimates = metrics.iter().map(|(metric, scale)| {
            let mut estimate = PointEstimate::of(plan, &counted, metric, *scale);
            estimate.doubts.extend((is_overwhelmed && !counted.is_empty()).then_some(Doubt::Survivors));
            estimate
        });
        let changes = metrics.iter().filter(|_| point > 0);
        PointReport {
            settings: plan.points[point].settings.clone(),
            runs: counted.len() as u32,
            invalid: (own.len() - counted.len()) as u32,
            causes,
            relaxed,
            warned: counted.iter().filter(|run| run.warnings > 0).count() as u32,
            estimates: estimates.collect(),
            against_first: changes
                .filter_map(|(metric, scale)| paired(runs, &counted, metric, *scale))
                .collect(),
        }
    }

    /// The estimate of a metric.
    pub fn estimate(&self, metric: &str) -> Option<&PointEstimate> {
        self.estimates.iter().find(|estimate| estimate.metric == metric)
    }
}

impl PointEstimate {
    fn of(plan: &SweepPlan, runs: &[&RunRecord], metric: &str, scale: Scale) -> PointEstimate {
        let asked = plan.until.as_ref().filter(|until| until.metric == metric);
        let none = |mean: Option<f64>, reason: &str| PointEstimate {
            metric: metric.to_owned(),
            scale,
            mean,
            interval: None,
            narrow: asked.map(|_| false),
            unknown: Some(reason.to_owned()),
            doubts: Vec::new(),
        };
        let numbers: Vec<f64> = runs.iter().filter_map(|run| run.number(metric)).collect();
        if numbers.is_empty() {
            let reason = runs.iter().find_map(|run| run.reading(metric)?.unknown.clone());
            return none(None, &reason.unwrap_or_else(|| "no run counts".to_owned()));
        }
        let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
        if !mean.is_finite() {
            return none(Some(scale.number(mean)), "a run has 0 for it, which has no ratio");
        }
        if numbers.len() < runs.len() {
            return none(None, "not every run has it");
        }
        let pilot = if asked.is_some() { PILOT as usize } else { numbers.len() };
        let Some(half) = stein::half_width(&numbers, pilot.max(plan.repeats as usize), LEVEL) else {
            return none(Some(scale.number(mean)), "one run has no interval of repeats");
        };
        let least = shares::variance(runs.iter().filter_map(|run| run.reading(metric)));
        let half = half.max(shares::half_width(least));
        let is_share = runs.iter().all(|run| run.reading(metric).is_some_and(|own| own.requests.is_some()));
        let end = |end: f64| if is_share { end.clamp(0.0, 1.0) } else { end };
        let width = asked.map(|until| scale.width(until.width));
        PointEstimate {
            metric: metric.to_owned(),
            scale,
            mean: Some(scale.number(mean)),
            interval: Some([mean - half, mean + half].map(|place| end(scale.number(place)))),
            // As wide as asked is narrow, also with what rounding leaves.
            narrow: width.map(|width| half <= width * 1.000_001),
            unknown: None,
            doubts: doubts(&numbers),
        }
    }
}

/// The runs of a point against those of the first point in the same blocks; absent with fewer than two pairs.
fn paired(all: &[RunRecord], runs: &[&RunRecord], metric: &str, scale: Scale) -> Option<PairedChange> {
    let first =
        |block: u32| all.iter().find(|run| run.point == 0 && run.counts() && run.design.block == block);
    let pairs: Vec<[&RunRecord; 2]> =
        runs.iter().filter_map(|run| Some([*run, first(run.design.block)?])).collect();
    let difference = |[run, first]: &[&RunRecord; 2]| Some(run.number(metric)? - first.number(metric)?);
    let differences = pairs.iter().filter_map(difference);
    let differences: Vec<f64> = differences.filter(|difference| difference.is_finite()).collect();
    let side = |side: usize| shares::variance(pairs.iter().filter_map(|pair| pair[side].reading(metric)));
    let mean = MeanEstimate::of(&differences)?.with_variance_of_at_least(side(0) + side(1));
    let (low, high) = mean.ends(LEVEL);
    Some(PairedChange {
        metric: metric.to_owned(),
        pairs: differences.len() as u32,
        by: scale.back(mean.mean),
        interval: [scale.back(low), scale.back(high)],
        p_value: mean.p_value(),
        differs: false,
    })
}

/// Marks the changes of a metric that are differences, with all points considered.
fn mark_differences(points: &mut [PointReport], metrics: &[(String, Scale)]) {
    for (metric, _) in metrics {
        let changes = points.iter_mut().flat_map(|point| point.against_first.iter_mut());
        let mut changes: Vec<&mut PairedChange> = changes.filter(|change| change.metric == *metric).collect();
        let p_values: Vec<f64> = changes.iter().map(|change| change.p_value).collect();
        for (change, differs) in changes.iter_mut().zip(holm(&p_values, LEVEL)) {
            change.differs = differs;
        }
    }
}

/// For each point its numbers in the blocks in which every point has one.
/// The variance that a run's number has at least, on average over the points: of shares of requests.
fn least_variance(points: usize, runs: &[RunRecord], metric: &str) -> f64 {
    let of_point = |point: usize| {
        let counts = runs.iter().filter(move |run| run.point == point && run.counts());
        let readings = || counts.clone().filter_map(|run| run.reading(metric));
        let known = readings().filter(|reading| reading.value.is_some() && reading.requests.is_some());
        // Of one run's number, where that of the mean of all is known.
        shares::variance(readings()) * known.count() as f64
    };
    (0..points).map(of_point).sum::<f64>() / points.max(1) as f64
}

fn complete_blocks(points: usize, runs: &[RunRecord], metric: &str) -> Vec<Vec<f64>> {
    let number = |point: usize, block: u32| {
        let counts = |run: &&RunRecord| run.point == point && run.design.block == block && run.counts();
        runs.iter().find(counts).and_then(|run| run.number(metric))
    };
    let mut numbers = vec![Vec::new(); points];
    let last = runs.iter().map(|run| run.design.block).max().unwrap_or(0);
    for block in 1..=last {
        let whole: Option<Vec<f64>> = (0..points).map(|point| number(point, block)).collect();
        for (of_point, number) in numbers.iter_mut().zip(whole.into_iter().flatten()) {
            of_point.push(number);
        }
    }
    numbers
}

/// The JSON schema of [`SweepReport`].
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(SweepReport).to_value()
}
