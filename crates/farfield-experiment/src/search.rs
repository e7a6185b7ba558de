//! The highest load that keeps all goals: the search of MLRsearch (RFC 9971), and an estimate at its end.
//!
//! 1. *Short trials* double the load until goals break, then halve the interval to a quarter of its load.
//! 2. *Full trials* confirm both ends and halve on. A load needs two of them, or one of two (an exceed ratio
//!    of a half, so that a tie counts as kept); short ones count as the RFC has it.
//! 3. Once the margins at both ends are within a factor of three of the limit, they fall gradually with load,
//!    and the load at which they cross it is [estimated](crate::crossing): blocks of four full trials on both
//!    sides, in an order that is drawn, as many as a first few show to be enough. Where margins jump, as errors
//!    do, halving goes on instead, and the bounds are the answer.
//!
//! An invalid trial is made again; where that does not help, its load is a ceiling, and what is below it is
//! all that can be said. All goals share all trials.

use crate::bounds::{Counted, RelevantBounds, Target};
use crate::crossing::{Crossing, Line, Variance};
use crate::journal::{Journal, Made, Rules};
use crate::report::{
    Answer, CapacityReport, Ended, GoalBounds, LEVEL, Method, SCHEMA_VERSION, TrialRecord, curve,
};
use crate::trial::{Runner, Stop};
use farfield_base::Duration;

/// Full trials are so much longer than short ones.
const SHORTER: u64 = 4;
/// The width, over its lower end, of the interval that short trials leave.
const SHORT_WIDTH: f64 = 0.25;
/// Margins of both ends at which they fall gradually: within this factor of the limit.
const GRADUAL: f64 = 3.0;
/// The lowest load that is tried, as a share of the first.
const LOWEST: f64 = 1.0 / 1024.0;
/// How far from the crossing trials lie: where the margin is expected to differ from 1 by this much.
const MARGIN_APART: f64 = 0.5;
/// Blocks from whose interval follows how many there are to be, at least. The width is looked at this once:
/// who goes on until an interval happens to be narrow stops at those that are too narrow.
const PILOT: u32 = 3;
/// Blocks at most.
const BLOCKS_MAX: f64 = 60.0;

/// What is searched for, and how long.
#[derive(Debug, Clone)]
pub struct SearchPlan {
    /// The experiment's name.
    pub experiment: String,
    /// The goals, in words; runs hold them against their results. Empty for a peak.
    pub goals: Vec<String>,
    /// The key that sets the load.
    pub key: String,
    /// The unit of loads: "requests/s", "users".
    pub unit: String,
    /// Whether loads are whole numbers.
    pub whole: bool,
    /// The load of the first trial.
    pub from: f64,
    /// The highest load that may be tried.
    pub to: Option<f64>,
    /// Length of a full trial.
    pub length: Duration,
    /// Half the width of the interval that is good enough, over its load.
    pub precision: f64,
    /// The time for all trials.
    pub budget: Duration,
    /// The seed.
    pub seed: u64,
}

impl SearchPlan {
    pub(crate) fn rules(&self) -> Rules {
        Rules {
            experiment: self.experiment.clone(),
            key: self.key.clone(),
            seed: self.seed,
            budget: self.budget,
            whole: self.whole,
        }
    }

    pub(crate) fn short(&self) -> Duration {
        Duration::from_ns(self.length.as_ns() / SHORTER)
    }

    /// One short trial decides.
    fn short_target(&self) -> Target {
        Target { trial_length: self.short(), length_sum: self.short(), exceed_ratio: 0.5 }
    }

    fn full_target(&self) -> Target {
        Target { trial_length: self.length, length_sum: self.length.times(2), exceed_ratio: 0.5 }
    }
}

/// A load that could not be offered validly.
#[derive(Debug, Clone)]
pub(crate) struct Ceiling {
    pub(crate) load: f64,
    pub(crate) cause: String,
    pub(crate) is_full: bool,
}

impl Ceiling {
    /// Why no more could be offered, as a clause.
    pub(crate) fn because(&self) -> String {
        match self.is_full {
            true => format!("the generator was full ({})", self.cause),
            false => format!("no run with more was valid ({})", self.cause),
        }
    }
}

/// Searches for the highest load that keeps the goals.
pub fn search(plan: &SearchPlan, runner: &mut dyn Runner) -> CapacityReport {
    let journal = Journal::new(plan.rules(), runner);
    let mut search = Search { plan, journal, ceiling: None, centre: None, pilot: None };
    let ended = match search.run() {
        Ok(()) => Ended::Done,
        Err(stop) => ended(stop),
    };
    search.report(ended)
}

pub(crate) fn ended(stop: Stop) -> Ended {
    match stop {
        Stop::BudgetOver => Ended::BudgetOver,
        Stop::Interrupted => Ended::Interrupted,
        Stop::Failed(sentence) => Ended::Failed(sentence),
    }
}

struct Search<'a> {
    plan: &'a SearchPlan,
    journal: Journal<'a>,
    ceiling: Option<Ceiling>,
    /// Where the estimate looks, and how far to both sides, as a share.
    centre: Option<(f64, f64)>,
    /// The variance of margins in the first blocks, from which their number followed.
    pilot: Option<Variance>,
}

impl Search<'_> {
    fn run(&mut self) -> Result<(), Stop> {
        self.narrow(self.plan.short_target(), SHORT_WIDTH, self.plan.short())?;
        self.narrow(self.plan.full_target(), self.plan.precision, self.plan.length)?;
        self.estimate()
    }

    /// Narrows the bounds of a target to a width, or until they are gradual.
    fn narrow(&mut self, target: Target, width: f64, length: Duration) -> Result<(), Stop> {
        loop {
            let is_full = length >= self.plan.length;
            if is_full && self.is_gradual() {
                return Ok(());
            }
            let Some(load) = self.next(target, width) else { return Ok(()) };
            self.measure(load, length)?;
        }
    }

    fn measure(&mut self, load: f64, length: Duration) -> Result<(), Stop> {
        let made = self.journal.measure(load, length, 0)?;
        self.note(load, made);
        Ok(())
    }

    fn note(&mut self, load: f64, made: Made) {
        if let Made::Refused { cause, is_full } = made
            && self.ceiling.as_ref().is_none_or(|ceiling| load < ceiling.load)
        {
            self.ceiling = Some(Ceiling { load, cause, is_full });
        }
    }

    /// The load whose trial brings the bounds of a target on; `None` if they are narrow enough, or cannot be
    /// found.
    fn next(&self, target: Target, width: f64) -> Option<f64> {
        let counted = self.journal.counted();
        let (bounds, undecided) = target.bounds(&counted);
        let below = |load: &f64| self.ceiling.as_ref().is_none_or(|ceiling| *load < ceiling.load);
        let undecided: Vec<f64> = undecided.into_iter().filter(below).collect();
        match (bounds.lower, bounds.upper) {
            (None, upper) => {
                let likely = undecided.iter().rev().find(|load| mostly_kept(&counted, **load));
                likely.or(undecided.first()).copied().or_else(|| self.lower_than(upper))
            }
            (Some(lower), None) => undecided.first().copied().or_else(|| self.higher_than(lower, width)),
            (Some(lower), Some(upper)) if self.is_narrow(lower, upper, width) => None,
            (Some(lower), Some(upper)) => {
                let middle = (lower * upper).sqrt();
                let nearest =
                    |a: &&f64, b: &&f64| (*a / middle).ln().abs().total_cmp(&(*b / middle).ln().abs());
                let next = undecided.iter().min_by(nearest).copied();
                next.or_else(|| {
                    let middle = self.journal.rounded(middle);
                    (lower < middle && middle < upper).then_some(middle)
                })
            }
        }
    }

    fn is_narrow(&self, lower: f64, upper: f64, width: f64) -> bool {
        upper <= lower * (1.0 + width) || self.plan.whole && upper - lower <= 1.0
    }

    /// A load to begin with, or half of the lowest one that broke the goals or could not be offered.
    fn lower_than(&self, upper: Option<f64>) -> Option<f64> {
        let ceiling = self.ceiling.as_ref().map(|ceiling| ceiling.load);
        let highest = [upper, ceiling].into_iter().flatten().reduce(f64::min);
        let Some(highest) = highest else { return Some(self.journal.rounded(self.plan.from)) };
        let load = self.journal.rounded(highest / 2.0);
        (load < highest && load >= self.plan.from * LOWEST).then_some(load)
    }

    /// Twice the load, or as much as may be offered.
    fn higher_than(&self, lower: f64, width: f64) -> Option<f64> {
        let most = self.plan.to.map_or(f64::INFINITY, |to| self.journal.rounded(to));
        let load = match &self.ceiling {
            None => self.journal.rounded(lower * 2.0),
            Some(ceiling) if self.is_narrow(lower, ceiling.load, width) => return None,
            Some(ceiling) => {
                let middle = self.journal.rounded((lower * ceiling.load).sqrt());
                if middle >= ceiling.load { return None } else { middle }
            }
        };
        (lower < most).then_some(load.min(most)).filter(|load| *load > lower)
    }

    /// Whether both full bounds are known, with margins that are near to the limit.
    fn is_gradual(&self) -> bool {
        let (bounds, _) = self.plan.full_target().bounds(&self.journal.counted());
        let (Some(lower), Some(upper)) = (bounds.lower, bounds.upper) else { return false };
        let near = 1.0 / GRADUAL..=GRADUAL;
        let margins = [lower, upper].map(|load| {
            let at = self.journal.full(self.plan.length).filter(|record| record.load == load);
            let margins: Vec<f64> = at.map(|record| record.observed.margin()).collect();
            margins.iter().sum::<f64>() / margins.len() as f64
        });
        margins.iter().all(|margin| near.contains(margin))
    }

    /// Full trials on both sides of the crossing, until its interval is narrow.
    fn estimate(&mut self) -> Result<(), Stop> {
        if !self.is_gradual() {
            return Ok(());
        }
        let (bounds, _) = self.plan.full_target().bounds(&self.journal.counted());
        let (Some(lower), Some(upper)) = (bounds.lower, bounds.upper) else { return Ok(()) };
        let apart = (upper / lower - 1.0) / 2.0;
        self.centre = Some(((lower * upper).sqrt(), apart.max(self.plan.precision)));
        let (mut block, mut last) = (0, None);
        while last.is_none_or(|last| block < last) {
            block += 1;
            let (centre, apart) = self.centre.expect("it was set");
            let places = [-1.0, -1.0 / 3.0, 1.0 / 3.0, 1.0];
            let loads = places.map(|place| self.journal.rounded(centre * (1.0 + place * apart)));
            for made in self.journal.measure_block(&loads, self.plan.length, block)? {
                self.note(centre, made);
            }
            if self.ceiling.as_ref().is_some_and(|ceiling| ceiling.load <= centre) {
                return Ok(());
            }
            if let Some((line, fit)) = self.fit() {
                if block >= PILOT && last.is_none() {
                    self.pilot = Some(line.residual);
                    let wider = fit.half_width() / (self.plan.precision * fit.load);
                    last = Some((f64::from(block) * wider.powi(2)).ceil().clamp(1.0, BLOCKS_MAX) as u32);
                }
                let apart = (MARGIN_APART / -fit.relative_slope).clamp(self.plan.precision, 0.25);
                self.centre = Some((fit.load, apart));
            } else if f64::from(block) >= BLOCKS_MAX {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The estimate from full trials around the centre. They are selected by their loads alone.
    fn fit(&self) -> Option<(Line, Crossing)> {
        let (centre, apart) = self.centre?;
        let near = |record: &&TrialRecord| (record.load / centre - 1.0).abs() <= 1.5 * apart;
        let blocks =
            self.journal.full(self.plan.length).filter(|record| record.design.block > 0).filter(near);
        let margins: Vec<_> = blocks.map(|record| (record.load, record.observed.margin())).collect();
        let line = Line::of(&margins)?;
        Some((line, line.crossing(self.pilot.unwrap_or(line.residual), LEVEL)?))
    }

    fn report(self, ended: Ended) -> CapacityReport {
        let counted = self.journal.counted();
        let (bounds, _) = self.plan.full_target().bounds(&counted);
        let fit = self.fit().map(|(_, fit)| fit);
        let answer = self.answer(fit, bounds, &counted);
        let more_time = self.more_time(&answer, &ended);
        let goal_bounds = self.goal_bounds();
        let lower = bounds.lower;
        let at_lower = |record: &&TrialRecord| Some(record.load) == lower && record.observed.keeps_goals();
        let slowest = self.journal.full(self.plan.length).filter(at_lower);
        let conditional_per_s = slowest.map(|record| record.observed.achieved_per_s).reduce(f64::min);
        let broken = self.journal.records().iter().filter(|record| record.counts());
        let mut broken = broken.filter(|record| !record.observed.keeps_goals()).rev();
        let gave_out = broken.find_map(|record| record.observed.gave_out.clone());
        let (spent_s, plan) = (self.journal.spent_s(), self.plan);
        let trials = self.journal.into_records();
        CapacityReport {
            schema_version: SCHEMA_VERSION,
            goals: plan.goals.clone(),
            key: plan.key.clone(),
            unit: plan.unit.clone(),
            answer,
            level: LEVEL,
            goal_bounds,
            conditional_per_s,
            gave_out,
            ended,
            more_time,
            curve: curve(&trials),
            trials,
            spent_s,
        }
    }

    fn answer(&self, fit: Option<Crossing>, bounds: RelevantBounds, counted: &[Counted]) -> Answer {
        let ceiling = self.ceiling.as_ref();
        if let Some(fit) = fit.filter(|fit| ceiling.is_none_or(|ceiling| fit.high < ceiling.load)) {
            let Crossing { load, low, high, .. } = fit;
            return Answer::Found { value: load, low, high, method: Method::Regression, at_load: load };
        }
        let (short, _) = self.plan.short_target().bounds(counted);
        match (bounds.lower.or(short.lower), bounds.upper.or(short.upper)) {
            (Some(low), Some(high)) if self.is_narrow(low, high, 2.0 * self.plan.precision) => {
                // Of users, the most that keep the goals.
                let value = if self.plan.whole { low } else { f64::midpoint(low, high) };
                Answer::Found { value, low, high, method: Method::Bounds, at_load: value }
            }
            (Some(value), None) => self.at_least(value),
            (None, Some(value)) if self.lower_than(Some(value)).is_none() => Answer::LessThan { value },
            (low, high) => {
                let because = match ceiling {
                    Some(ceiling) => ceiling.because(),
                    None => "the time was over".to_owned(),
                };
                Answer::Undecided { low, high, because }
            }
        }
    }

    fn at_least(&self, value: f64) -> Answer {
        let (because, generator_full) = match (&self.ceiling, self.plan.to) {
            (Some(ceiling), _) => (ceiling.because(), ceiling.is_full),
            (None, Some(to)) if value >= self.journal.rounded(to) => {
                ("no more was to be offered (--to)".to_owned(), false)
            }
            (None, _) => {
                let because = "the time was over".to_owned();
                return Answer::Undecided { low: Some(value), high: None, because };
            }
        };
        Answer::AtLeast { value, because, generator_full }
    }

    /// What as much time again would give.
    fn more_time(&self, answer: &Answer, ended: &Ended) -> Option<String> {
        if *ended != Ended::BudgetOver {
            return None;
        }
        let whole_s = 2.0 * self.plan.budget.as_secs_f64();
        Some(match answer {
            Answer::Found { low, high, method: Method::Regression, .. } => {
                // As the root of the number of trials.
                let half = (high - low) / 2.0 / std::f64::consts::SQRT_2;
                format!("with {whole_s:.0} s about ± {half:.0}")
            }
            Answer::Found { .. } => return None,
            _ => format!("with {whole_s:.0} s it would go on from here"),
        })
    }

    fn goal_bounds(&self) -> Vec<GoalBounds> {
        let records: Vec<&TrialRecord> =
            self.journal.records().iter().filter(|record| record.counts()).collect();
        let of = |(place, goal): (usize, &String)| {
            let kept = |record: &&TrialRecord| Counted {
                load: record.load,
                length: record.length(),
                kept: record.observed.goals.get(place).is_some_and(|reading| reading.kept),
            };
            let counted: Vec<Counted> = records.iter().map(kept).collect();
            let (RelevantBounds { lower, upper }, _) = self.plan.full_target().bounds(&counted);
            GoalBounds { goal: goal.clone(), lower, upper }
        };
        self.plan.goals.iter().enumerate().map(of).collect()
    }
}

/// Whether more trials of a load kept the goals than broke them.
fn mostly_kept(counted: &[Counted], load: f64) -> bool {
    let (kept, broken): (Vec<&Counted>, Vec<&Counted>) =
        counted.iter().filter(|trial| trial.load == load).partition(|trial| trial.kept);
    kept.len() > broken.len()
}
