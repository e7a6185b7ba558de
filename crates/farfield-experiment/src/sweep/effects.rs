//! Effects of factors on a metric, with their sizes: the analysis of variance of a full factorial design in
//! complete blocks (Fisher 1935; Jain 1991, "The art of computer systems performance analysis", chapters 21
//! to 23).
//!
//! The number of a run is a sum: the mean of all, an effect of each factor's value, an interaction of each
//! two, what more of them do together, an effect of the block, and an error. The effects are least-squares
//! estimates, which means of a complete design are. Their squares add up to the variation of all numbers, and
//! shares of it say what matters; F says what could be the error. Only blocks that have a run of every point
//! that counts are taken. Errors are taken for alike at all points, which logarithms of times are more nearly
//! than times.

use super::factor::{Factor, Setting};
use super::points::Point;
use super::scale::Scale;
use crate::report::LEVEL;
use farfield_measure::interval::{MeanEstimate, holm};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, FisherSnedecor};

/// Effects of the factors on a metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricEffects {
    /// The metric.
    pub metric: String,
    /// Blocks that have a run of every point that counts.
    pub blocks: u32,
    /// The sources of the metric's variation; empty if there is none.
    pub variation: Vec<Variation>,
    /// Each value against its factor's first, and each two values together against each alone.
    pub changes: Vec<EffectChange>,
    /// Why there is nothing.
    pub unknown: Option<String>,
}

/// The part of the variation that comes from a factor, or from factors together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Variation {
    /// Source of the part.
    pub from: Origin,
    /// The source's share of the sum of squares.
    pub share: f64,
    /// Degrees of freedom.
    pub degrees: u32,
    /// The probability of at least as much of it, if it were error (F test); null for the error.
    pub p_value: Option<f64>,
}

/// Source of variation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// One factor.
    Factor(String),
    /// Two factors together, beyond what each does alone.
    Interaction(String, String),
    /// More factors together.
    HigherInteractions,
    /// The blocks: when runs were made, and with which seed.
    Blocks,
    /// The error.
    Error,
}

/// A change of a metric with its interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EffectChange {
    /// The value, or two values together.
    pub settings: Vec<Setting>,
    /// The values that they are held against.
    pub against: Vec<Setting>,
    /// A ratio less 1, or a difference; of two values, that beyond what each does alone.
    pub by: f64,
    /// The lower end of its interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The probability of a change of at least this size, if there were none.
    pub p_value: f64,
    /// The change is significant, with all other changes of the metric considered (Holm 1979).
    pub differs: bool,
}

/// The numbers of a metric: for each point those of the complete blocks, on the scale on which they add.
pub(super) struct MetricTable<'a> {
    pub factors: &'a [Factor],
    pub points: &'a [Point],
    pub numbers: Vec<Vec<f64>>,
    /// The variance that a number has at least: of shares of requests, which agree where failures are rare.
    pub least: f64,
}

/// The effects on a metric, of a full factorial design.
pub(super) fn effects(metric: &str, scale: Scale, table: &MetricTable) -> MetricEffects {
    let blocks = table.blocks();
    let unknown = |reason: &str| MetricEffects {
        metric: metric.to_owned(),
        blocks: blocks as u32,
        variation: Vec::new(),
        changes: Vec::new(),
        unknown: Some(reason.to_owned()),
    };
    if blocks < 2 {
        return unknown("fewer than two blocks have a run of every point that counts and has the metric");
    }
    if table.numbers.iter().flatten().any(|number| !number.is_finite()) {
        return unknown("a run has 0 for it, which has no ratio");
    }
    let analysis = Analysis::of(table);
    let mut changes = analysis.changes(scale);
    let p_values: Vec<f64> = changes.iter().map(|change| change.p_value).collect();
    for (change, differs) in changes.iter_mut().zip(holm(&p_values, LEVEL)) {
        change.differs = differs;
    }
    let variation = analysis.variation();
    MetricEffects { metric: metric.to_owned(), blocks: blocks as u32, variation, changes, unknown: None }
}

impl MetricTable<'_> {
    fn blocks(&self) -> usize {
        self.numbers.iter().map(Vec::len).min().unwrap_or(0)
    }

    fn mean(&self, includes: impl Fn(usize) -> bool) -> f64 {
        let of_points = self.numbers.iter().enumerate().filter(|(point, _)| includes(*point));
        let all: Vec<f64> = of_points.flat_map(|(_, numbers)| numbers.iter().copied()).collect();
        all.iter().sum::<f64>() / all.len() as f64
    }

    /// True if a point has this level of this factor.
    fn has(&self, point: usize, factor: usize, level: usize) -> bool {
        self.points[point].settings[factor].value == self.factors[factor].levels[level]
    }

    /// The level that a point has of a factor.
    fn level(&self, point: usize, factor: usize) -> usize {
        (0..self.factors[factor].levels.len())
            .find(|level| self.has(point, factor, *level))
            .expect("a point's values are levels")
    }

    fn levels(&self, factor: usize) -> usize {
        self.factors[factor].levels.len()
    }

    fn setting(&self, factor: usize, level: usize) -> Setting {
        let Factor { key, levels } = &self.factors[factor];
        Setting { key: key.clone(), value: levels[level].clone() }
    }

    /// Mean of the points with this level.
    fn with(&self, factor: usize, level: usize) -> f64 {
        self.mean(|point| self.has(point, factor, level))
    }

    /// Mean of the points with both levels.
    fn with_both(&self, one: (usize, usize), other: (usize, usize)) -> f64 {
        self.mean(|point| self.has(point, one.0, one.1) && self.has(point, other.0, other.1))
    }

    /// Each two factors.
    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let count = self.factors.len();
        (0..count).flat_map(move |one| (one + 1..count).map(move |other| (one, other)))
    }
}

/// Sums of squares, and the variance of the error.
struct Analysis<'a> {
    table: &'a MetricTable<'a>,
    mean: f64,
    total: f64,
    of_cells: f64,
    of_blocks: f64,
    error: f64,
    degrees: f64,
    /// The variance of one number.
    variance: f64,
}

impl Analysis<'_> {
    fn of<'a>(table: &'a MetricTable<'a>) -> Analysis<'a> {
        let (points, blocks) = (table.points.len() as f64, table.blocks());
        let mean = table.mean(|_| true);
        let squares =
            |numbers: &mut dyn Iterator<Item = f64>| numbers.map(|n| (n - mean).powi(2)).sum::<f64>();
        let total = squares(&mut table.numbers.iter().flatten().copied());
        let cells = &mut (0..table.points.len()).map(|point| table.mean(|other| other == point));
        let of_cells = blocks as f64 * squares(cells);
        let of_block =
            |block: usize| table.numbers.iter().map(|numbers| numbers[block]).sum::<f64>() / points;
        let of_blocks = points * squares(&mut (0..blocks).map(of_block));
        let degrees = (points - 1.0) * (blocks as f64 - 1.0);
        // The remainder from rounding is no error.
        let error = total - of_cells - of_blocks;
        let error = if error > total * 1e-12 { error } else { 0.0 };
        let variance = (error / degrees).max(table.least);
        Analysis { table, mean, total, of_cells, of_blocks, error, degrees, variance }
    }

    /// The squared standard error of the mean of so many numbers.
    fn variance(&self, numbers: f64) -> f64 {
        self.variance / numbers
    }

    fn variation(&self) -> Vec<Variation> {
        if self.total == 0.0 || self.degrees == 0.0 {
            return Vec::new();
        }
        let table = self.table;
        let blocks = table.blocks() as f64;
        let sum = |effect: &dyn Fn(usize) -> f64| {
            blocks * (0..table.points.len()).map(|point| effect(point).powi(2)).sum::<f64>()
        };
        let alone = |point: usize, factor: usize| table.with(factor, table.level(point, factor)) - self.mean;
        let mut rows = Vec::new();
        for factor in 0..table.factors.len() {
            let degrees = table.levels(factor) as u32 - 1;
            rows.push((
                Origin::Factor(table.factors[factor].key.clone()),
                sum(&|point| alone(point, factor)),
                degrees,
            ));
        }
        for (one, other) in table.pairs() {
            let effect = |point: usize| {
                let both = (one, table.level(point, one));
                table.with_both(both, (other, table.level(point, other)))
                    - self.mean
                    - alone(point, one)
                    - alone(point, other)
            };
            let degrees = (table.levels(one) as u32 - 1) * (table.levels(other) as u32 - 1);
            let keys = [one, other].map(|factor| table.factors[factor].key.clone());
            let [one, other] = keys;
            rows.push((Origin::Interaction(one, other), sum(&effect), degrees));
        }
        let explained: (f64, u32) = rows.iter().fold((0.0, 0), |sum, row| (sum.0 + row.1, sum.1 + row.2));
        let higher = table.points.len() as u32 - 1 - explained.1;
        if higher > 0 {
            rows.push((Origin::HigherInteractions, (self.of_cells - explained.0).max(0.0), higher));
        }
        rows.push((Origin::Blocks, self.of_blocks, table.blocks() as u32 - 1));
        let mut variation: Vec<Variation> = rows
            .into_iter()
            .map(|(from, squares, degrees)| Variation {
                p_value: Some(self.p_value(squares, f64::from(degrees))),
                from,
                share: squares / self.total,
                degrees,
            })
            .collect();
        let (share, degrees) = (self.error / self.total, self.degrees as u32);
        variation.push(Variation { from: Origin::Error, share, degrees, p_value: None });
        variation
    }

    /// The probability of at least such a sum of squares, if it were error.
    fn p_value(&self, squares: f64, degrees: f64) -> f64 {
        if squares <= self.total * 1e-12 {
            return 1.0;
        }
        if self.variance == 0.0 {
            return 0.0;
        }
        let ratio = squares / degrees / self.variance;
        FisherSnedecor::new(degrees, self.degrees).map_or(1.0, |distribution| distribution.sf(ratio))
    }

    fn changes(&self, scale: Scale) -> Vec<EffectChange> {
        if self.degrees == 0.0 {
            return Vec::new();
        }
        let table = self.table;
        let numbers = (table.points.len() * table.blocks()) as f64;
        let mut changes = Vec::new();
        for factor in 0..table.factors.len() {
            let per_level = numbers / table.levels(factor) as f64;
            let first = table.with(factor, 0);
            for level in 1..table.levels(factor) {
                let by = table.with(factor, level) - first;
                let estimate = MeanEstimate::with(by, 2.0 * self.variance(per_level), self.degrees);
                let settings = vec![table.setting(factor, level)];
                changes.push(change(scale, estimate, settings, vec![table.setting(factor, 0)]));
            }
        }
        for (one, other) in table.pairs() {
            let per_both = numbers / (table.levels(one) * table.levels(other)) as f64;
            for (i, j) in (1..table.levels(one)).flat_map(|i| (1..table.levels(other)).map(move |j| (i, j))) {
                let at = |i, j| table.with_both((one, i), (other, j));
                let by = at(i, j) - at(i, 0) - at(0, j) + at(0, 0);
                let estimate = MeanEstimate::with(by, 4.0 * self.variance(per_both), self.degrees);
                let settings = vec![table.setting(one, i), table.setting(other, j)];
                let against = vec![table.setting(one, 0), table.setting(other, 0)];
                changes.push(change(scale, estimate, settings, against));
            }
        }
        changes
    }
}

fn change(
    scale: Scale,
    estimate: MeanEstimate,
    settings: Vec<Setting>,
    against: Vec<Setting>,
) -> EffectChange {
    let (low, high) = estimate.ends(LEVEL);
    EffectChange {
        settings,
        against,
        by: scale.back(estimate.mean),
        low: scale.back(low),
        high: scale.back(high),
        p_value: estimate.p_value(),
        differs: false,
    }
}

#[cfg(test)]
mod tests;
