//! The runs of a sweep: their order, their seeds, who makes them side by side, and how many there are.

use super::claims::{Claim, errors, undecided};
use super::factor::{Factor, Setting};
use super::lengths::{Course, LengthPlan, Lengths, Need, RunLength, pilot_numbers};
use super::points::{Layout, Point};
use super::report::{RunRecord, SweepReport};
use super::scale::Scale;
use super::shares;
use super::unit::ColumnInfo;
use super::until::Until;
use crate::report::{Ended, LEVEL};
use crate::stein;
use crate::trial::{Design, Stop, Validity};
use farfield_base::Duration;
use farfield_base::random::{Purpose, Seed};
use rand_core::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// Repeats of which the spread says how many there are to be.
pub const PILOT: u32 = 5;

/// Runs at the beginning of a list that may all be disturbed, each as often as it is made.
const DISTURBED_MAX: usize = 2;

/// The runs that there are to be.
#[derive(Debug, Clone)]
pub struct SweepPlan {
    /// The experiment's name.
    pub experiment: String,
    /// The keys that are varied.
    pub factors: Vec<Factor>,
    /// The combinations of their values that are points.
    pub layout: Layout,
    /// The points, at least one.
    pub points: Vec<Point>,
    /// Runs of each point, at least one.
    pub repeats: u32,
    /// The width of interval that each point is to reach; the repeats are at least five then.
    pub until: Option<Until>,
    /// Runs of a point at most.
    pub repeats_max: u32,
    /// Bounds of the lengths of runs for an interval that is asked for; none where they are as long as their
    /// scenario says.
    pub lengths: Option<LengthPlan>,
    /// The columns that runs are read for; a metric that is not among them goes by its name.
    pub columns: Vec<ColumnInfo>,
    /// The claims to judge.
    pub claims: Vec<Claim>,
    /// Number of looks at undecided claims, each with twice as many blocks as the one before.
    pub looks: u32,
    /// All claims together are wrong with at most 5 %, in place of each by itself.
    pub claims_together: bool,
    /// The time for all runs, side by side.
    pub budget: Option<Duration>,
    /// The seed of the first block; the next has the next one.
    pub seed: u64,
    /// Runs that are made at once.
    pub jobs: usize,
    /// Attempts at a run that something disturbs, at most.
    pub attempts: u32,
}

/// A run that is to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedRun {
    /// The number of its point, from 0.
    pub point: usize,
    /// Number of attempts before, which were disturbed.
    pub attempt: u32,
    /// The settings of its point.
    pub settings: Vec<Setting>,
    /// The run's length, where that is not its scenario's own.
    pub length: Option<RunLength>,
    /// The run's place in the experiment.
    pub design: Design,
    /// Runs that are planned so far.
    pub planned: u32,
}

/// The number of a metric in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reading {
    /// The metric's name.
    pub metric: String,
    /// The scale on which its numbers are compared.
    pub scale: Scale,
    /// The number, in nanoseconds, a second, or as a share; null if there is none.
    pub value: Option<f64>,
    /// Why there is none.
    pub unknown: Option<String>,
    /// The run's need for an interval of the number of its own; null if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub need: Option<Need>,
    /// Requests that a share of errors is one of; null of other numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct PointRun {
    /// The validity: the run counts only if it is valid.
    pub validity: Validity,
    /// A reading for each metric, in the same order in all runs.
    pub readings: Vec<Reading>,
    /// The course of its response times; none if that is not known.
    pub course: Option<Course>,
    /// Thresholds of the scenario that it did not meet.
    pub missed: Vec<String>,
    /// Checks that failed, and that the experiment does without.
    pub relaxed: Vec<String>,
    /// Warnings of the run.
    pub warnings: u32,
    /// The run directory, from the folder of the sweep.
    pub directory: PathBuf,
    /// Seconds that it took on the wall clock, with start and end.
    pub took_s: f64,
}

/// Makes runs, several at once if it is asked to.
pub trait PointRunner: Sync {
    /// Makes the run, or reads it back if it was made already.
    ///
    /// # Errors
    /// If it was interrupted, or could not be made.
    fn run(&self, run: &PlannedRun) -> Result<PointRun, Stop>;
}

/// Makes all runs of a sweep.
pub fn sweep(plan: &SweepPlan, runner: &dyn PointRunner) -> SweepReport {
    let lengths = Lengths::of(plan);
    let mut sweep = Sweep { plan, runner, records: Vec::new(), earlier: Vec::new(), lengths, numbered: 0 };
    let ended = match sweep.all() {
        Ok(()) => Ended::Done,
        Err(stop) => crate::search::ended(stop),
    };
    let lengths = sweep.lengths.map(Lengths::report);
    SweepReport::of(plan, sweep.records, ended).with_lengths(lengths, sweep.earlier)
}

struct Sweep<'a> {
    plan: &'a SweepPlan,
    runner: &'a dyn PointRunner,
    records: Vec<RunRecord>,
    /// Runs of other lengths, which count for nothing.
    earlier: Vec<RunRecord>,
    lengths: Option<Lengths<'a>>,
    numbered: u32,
}

impl Sweep<'_> {
    fn all(&mut self) -> Result<(), Stop> {
        let everywhere: Vec<usize> = (0..self.plan.points.len()).collect();
        let first = match self.plan.until {
            Some(_) => self.plan.repeats.max(PILOT),
            None => self.plan.repeats,
        };
        self.pilot(first, &everywhere)?;
        if self.lengths.as_ref().is_some_and(Lengths::is_refused) {
            return Ok(());
        }
        let wanted: Vec<u32> = everywhere.iter().map(|point| self.wanted(*point, first)).collect();
        let last = wanted.iter().copied().max().unwrap_or(first);
        let mut runs = Vec::new();
        for block in first + 1..=last {
            let points: Vec<usize> =
                everywhere.iter().copied().filter(|point| wanted[*point] >= block).collect();
            runs.extend(self.block(block, &points));
        }
        self.make(runs)?;
        self.decide(first)
    }

    /// The first blocks; where lengths are to be found, of runs that are as long as they need to be. The
    /// first block goes ahead of the others, so that runs that are far too short are few.
    fn pilot(&mut self, first: u32, points: &[usize]) -> Result<(), Stop> {
        if self.lengths.is_none() {
            let runs = (1..=first).flat_map(|block| self.block(block, points)).collect();
            return self.make(runs);
        }
        loop {
            let runs = self.block(1, points);
            self.make(runs)?;
            if self.is_to_be_longer(false) {
                continue;
            }
            let runs = (2..=first).flat_map(|block| self.block(block, points)).collect();
            self.make(runs)?;
            if !self.is_to_be_longer(true) {
                return Ok(());
            }
        }
    }

    /// True if runs become longer by what the runs so far show, which then count for nothing.
    fn is_to_be_longer(&mut self, is_whole: bool) -> bool {
        let spent_s = self.spent_s();
        let Some(lengths) = &mut self.lengths else { return false };
        if lengths.is_refused() || !lengths.conclude(&self.records, is_whole, spent_s) {
            return false;
        }
        self.earlier.append(&mut self.records);
        true
    }

    fn spent_s(&self) -> f64 {
        self.earlier.iter().chain(&self.records).map(|record| record.took_s).sum()
    }

    /// More blocks of the points of claims that are undecided, twice as many for each look.
    fn decide(&mut self, first: u32) -> Result<(), Stop> {
        let mut blocks = self.records.iter().map(|record| record.design.block).max().unwrap_or(first);
        for _ in 1..self.plan.looks {
            let points = self.undecided();
            let last = blocks.saturating_mul(2).min(self.plan.repeats_max);
            if points.is_empty() || last <= blocks {
                break;
            }
            let runs = (blocks + 1..=last).flat_map(|block| self.block(block, &points)).collect();
            self.make(runs)?;
            blocks = last;
        }
        Ok(())
    }

    /// The points of claims that are undecided.
    fn undecided(&self) -> Vec<usize> {
        let plan = self.plan;
        let errors = errors(plan, &self.records);
        let parts = plan.claims.iter().zip(errors);
        let parts = parts.map(|(claim, errors)| undecided(claim, &plan.points, &self.records, errors));
        let open: Vec<Claim> = parts.flatten().collect();
        let is_of = |point: &Point, settings: &[Setting]| {
            settings.iter().all(|setting| point.settings.contains(setting))
        };
        let is_open = |point: &Point| {
            open.iter().any(|claim| {
                is_of(point, &claim.at) || claim.against.as_ref().is_some_and(|against| is_of(point, against))
            })
        };
        (0..plan.points.len()).filter(|point| is_open(&plan.points[*point])).collect()
    }

    /// The runs of a block, in an order that is drawn.
    fn block(&mut self, block: u32, points: &[usize]) -> Vec<PlannedRun> {
        let mut order = points.to_vec();
        let mut random = Seed(self.plan.seed).stream(Purpose::Arrivals, u64::from(block));
        for last in (1..order.len()).rev() {
            order.swap(last, (random.next_u64() % (last as u64 + 1)) as usize);
        }
        // Seeds of a scenario are read as signed numbers.
        let seed = self.plan.seed.wrapping_add(u64::from(block) - 1) & (u64::MAX >> 1);
        let length = self.lengths.as_ref().and_then(Lengths::now);
        let run = |point: usize| {
            self.numbered += 1;
            let design = Design {
                experiment: self.plan.experiment.clone(),
                number: self.numbered,
                point: self.plan.points[point].label(),
                repeat: block,
                block,
                seed,
            };
            PlannedRun {
                point,
                attempt: 0,
                settings: self.plan.points[point].settings.clone(),
                length,
                design,
                planned: 0,
            }
        };
        order.into_iter().map(run).collect()
    }

    /// Number of runs that a point is to have for its interval to be as narrow as was asked.
    fn wanted(&self, point: usize, first: u32) -> u32 {
        let counted = self.records.iter().filter(|record| record.point == point && record.counts());
        let Some((numbers, width)) = pilot_numbers(self.plan, counted) else { return first };
        let needed = stein::needed(&numbers, width, LEVEL).unwrap_or(f64::from(first));
        let most = self.plan.repeats_max.max(first);
        let metric = self.plan.until.as_ref().map_or("", |until| until.metric.as_str());
        let counted = self.records.iter().filter(|record| record.point == point && record.counts());
        let readings = counted.filter_map(|record| record.reading(metric));
        let needed = needed.max(f64::from(shares::needed(readings, width, most)));
        // As a float it ends at the largest number; runs that did not count are made up for.
        let missing = first.saturating_sub(numbers.len() as u32);
        (needed as u32).saturating_add(missing).clamp(first, most)
    }

    /// Makes these runs, as many at once as the plan says, and keeps their records in the order of the list.
    fn make(&mut self, runs: Vec<PlannedRun>) -> Result<(), Stop> {
        let spent_s = self.spent_s();
        let mut runs = runs;
        runs.iter_mut().for_each(|run| run.planned = self.numbered);
        let at_once = self.plan.jobs.clamp(1, runs.len().max(1));
        let queue = Mutex::new(Queue { waiting: runs.into(), made: Vec::new(), spent_s, stop: None });
        let (plan, runner) = (self.plan, self.runner);
        thread::scope(|scope| {
            for _ in 0..at_once {
                scope.spawn(|| work(plan, runner, &queue));
            }
        });
        let mut queue = queue.into_inner().unwrap_or_else(PoisonError::into_inner);
        queue.made.sort_by_key(|record| (record.design.number, record.attempt));
        self.records.append(&mut queue.made);
        queue.stop.map_or(Ok(()), Err)
    }
}

/// State that is shared by those who make runs.
struct Queue {
    waiting: VecDeque<PlannedRun>,
    made: Vec<RunRecord>,
    spent_s: f64,
    stop: Option<Stop>,
}

impl Queue {
    /// The next run, unless its end would lie beyond the budget.
    fn next(&mut self, plan: &SweepPlan) -> Option<PlannedRun> {
        if self.stop.is_some() {
            return None;
        }
        let run = self.waiting.pop_front()?;
        let longest = self.made.iter().map(|record| record.took_s).fold(0.0, f64::max);
        let jobs = plan.jobs.max(1) as f64;
        if plan.budget.is_some_and(|budget| self.spent_s / jobs + longest > budget.as_secs_f64()) {
            self.stop = Some(Stop::BudgetOver);
            return None;
        }
        Some(run)
    }

    /// Keeps what came of a run; one that was disturbed is made again, before all others.
    fn keep(&mut self, plan: &SweepPlan, run: PlannedRun, came_to: Result<PointRun, Stop>) {
        let came_to = match came_to {
            Ok(came_to) => came_to,
            Err(stop) => return self.stop = self.stop.take().or(Some(stop)),
        };
        self.spent_s += came_to.took_s;
        let again = matches!(came_to.validity, Validity::Invalid { .. }) && run.attempt + 1 < plan.attempts;
        self.made.push(RunRecord::of(&run, came_to));
        if again {
            self.waiting.push_front(PlannedRun { attempt: run.attempt + 1, ..run });
        } else if self.stop.is_none() {
            self.stop = self.disturbed(plan);
        }
    }

    /// Nothing but disturbed runs at first: what disturbs them does not come from a point, and would disturb
    /// the others as well.
    fn disturbed(&self, plan: &SweepPlan) -> Option<Stop> {
        let disturbed =
            |record: &&RunRecord| matches!(&record.validity, Validity::Invalid { is_full: false, .. });
        let runs = self.made.iter().filter(|record| record.attempt + 1 == plan.attempts).count();
        let all = self.made.iter().filter(disturbed).count() == self.made.len();
        let cause = self.made.last()?.validity.cause()?;
        (all && plan.attempts > 1 && runs == DISTURBED_MAX).then(|| Stop::Disturbed(cause.to_owned()))
    }
}

fn work(plan: &SweepPlan, runner: &dyn PointRunner, queue: &Mutex<Queue>) {
    // The queue is whole between any two of its operations.
    let locked = || -> MutexGuard<Queue> { queue.lock().unwrap_or_else(PoisonError::into_inner) };
    loop {
        let Some(run) = locked().next(plan) else { return };
        let came_to = runner.run(&run);
        locked().keep(plan, run, came_to);
    }
}
