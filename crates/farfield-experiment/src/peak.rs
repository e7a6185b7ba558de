//! The maximum of the throughput over load, with an interval that allows for its selection.
//!
//! Short trials double the load until throughput has stopped to grow. Full trials of the loads around the
//! best one, in blocks whose order is drawn, select the load with the most, and its *rivals*: loads that
//! may have more for all that these trials show. Loads between the selected one and its neighbours follow,
//! as long as it has clearly more than these and the time suffices. The numbers are then put aside, since the
//! highest of several noisy numbers is too high, and fresh trials are made of the load and its rivals, in
//! blocks as well.
//!
//! The interval is that of the maximum. The selected load's lower end is a lower end of the maximum,
//! whichever load has it. The upper end is the highest of all rivals' upper ends: it is too low only
//! where that of the one load that has the maximum is, so that rivals need no correction for their number
//! (Edwards and Hsu 1983, "Multiple comparisons with the best treatment"). The errors of screening, of the
//! lower and of the upper end come to 5 % together. How many fresh trials there are follows from the first of
//! them (Stein 1945). To the upper end comes what a load that was not tried, between the selected one and its
//! neighbours, may have more: throughput that rises towards the selected load from one side goes on no
//! steeper, up to the neighbour on the other, where it is concave.

use crate::journal::{Journal, TrialResult};
use crate::report::{Answer, CapacityReport, Ended, LEVEL, Method, SCHEMA_VERSION, TrialRecord, curve};
use crate::search::{Ceiling, NO_MORE, SearchPlan, disturbed, ended, short_of};
use crate::trial::{Runner, Stop, Validity};
use farfield_measure::interval::student_quantile;

/// Growth of throughput from one load to its double that is none.
const GROWTH: f64 = 1.02;
/// Loads up to so many times the first are tried while there is no throughput at all.
const SILENT: f64 = 1024.0;
/// Loads without growth, one after the other, that end the ascent.
const FLAT: u32 = 2;
/// Blocks of full trials that select the load.
const SELECTING: u32 = 2;
/// The factor between loads of the first such blocks.
const APART: f64 = std::f64::consts::SQRT_2;
/// Three loads with as much throughput, farther from each other than by this factor, are a plateau; nearer
/// ones may be the two sides of a maximum.
const PLATEAU: f64 = 1.25;
/// Loads nearer to each other than by this factor are not distinguished.
const NEAREST: f64 = 1.02;
/// Fresh trials at most.
const REPEATS_MAX: f64 = 60.0;
/// Probabilities of error: that screening leaves out the load with the maximum, that the maximum lies below
/// the interval, and that it lies above.
const SCREENING: f64 = 0.007;
const BELOW: f64 = 0.035;
const ABOVE: f64 = 0.008;

/// Blocks of fresh trials of so many loads, from whose spread follows how many there are to be.
fn pilot(loads: usize) -> u32 {
    match loads {
        0 | 1 => 6,
        2 => 4,
        _ => 3,
    }
}

/// Searches for the load with the most throughput.
pub fn peak(plan: &SearchPlan, runner: &mut dyn Runner) -> CapacityReport {
    let journal = Journal::new(plan.rules(), runner);
    let mut peak =
        Peak { plan, journal, ceiling: None, tried: Vec::new(), selected: None, rivals: Vec::new() };
    let ended = match peak.run() {
        Ok(()) => Ended::Done,
        Err(stop) => ended(stop),
    };
    peak.report(ended)
}

struct Peak<'a> {
    plan: &'a SearchPlan,
    journal: Journal<'a>,
    ceiling: Option<Ceiling>,
    /// The loads of full trials that select, in rising order.
    tried: Vec<f64>,
    selected: Option<f64>,
    /// The loads that may have the maximum, the selected one among them.
    rivals: Vec<f64>,
}

/// The numbers of one load.
#[derive(Debug, Clone, PartialEq)]
struct Numbers {
    load: f64,
    numbers: Vec<f64>,
}

impl Numbers {
    fn count(&self) -> f64 {
        self.numbers.len() as f64
    }

    fn mean(&self) -> f64 {
        self.numbers.iter().sum::<f64>() / self.count()
    }

    /// Squares of the deviations from the mean of the first `count`, and their degrees of freedom.
    fn squares(&self, count: usize) -> (f64, f64) {
        let first = &self.numbers[..count.min(self.numbers.len())];
        let mean = first.iter().sum::<f64>() / first.len() as f64;
        (first.iter().map(|number| (number - mean).powi(2)).sum(), first.len() as f64 - 1.0)
    }
}

/// The standard deviation within loads by their first `count` numbers, and its degrees of freedom; absent
/// where no load has two.
fn deviation(all: &[Numbers], count: usize) -> Option<(f64, f64)> {
    let each = all.iter().filter(|load| !load.numbers.is_empty()).map(|load| load.squares(count));
    let (squares, degrees) = each.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    (degrees > 0.0).then(|| ((squares / degrees).sqrt(), degrees))
}

/// The interval of the maximum.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Interval {
    value: f64,
    low: f64,
    high: f64,
    half_width: f64,
}

impl Peak<'_> {
    fn run(&mut self) -> Result<(), Stop> {
        let Some(best) = self.ascend()? else { return Ok(()) };
        self.select(best)?;
        let blocks = pilot(self.rivals.len());
        let (mut block, mut last) = (0, blocks);
        while block < last {
            block += 1;
            let loads = self.rivals.clone();
            for (load, made) in self.journal.measure_block(&loads, self.plan.length, SELECTING + block)? {
                self.note(load, made);
            }
            if let Some(found) = self.interval().filter(|_| block == blocks) {
                let wider = found.half_width / (self.plan.precision * found.value);
                let most = (REPEATS_MAX / self.rivals.len() as f64).floor();
                last = (f64::from(blocks) * wider.powi(2)).ceil().clamp(0.0, most) as u32;
            }
        }
        Ok(())
    }

    /// Doubles the load while throughput grows; returns the load with the most.
    fn ascend(&mut self) -> Result<Option<f64>, Stop> {
        let most = self.plan.most().map_or(f64::INFINITY, |most| self.journal.rounded(most));
        let (mut load, mut flat) = (self.journal.rounded(self.plan.from).min(most), 0);
        let mut best: Option<(f64, f64)> = None;
        let silent_to = load * SILENT;
        while flat < FLAT && (load <= silent_to || best.is_some_and(|(_, highest)| highest > 0.0)) {
            let Some((achieved, at_most)) = self.measure(load)? else { break };
            match best {
                Some((_, highest)) if achieved < highest * GROWTH => {
                    // Where twice as much may have come to so little, nothing is shown.
                    flat += u32::from(at_most < 2.0 * highest);
                }
                _ => (best, flat) = (Some((load, achieved)), 0),
            }
            if load >= most {
                break;
            }
            load = self.journal.rounded(load * 2.0).min(most);
        }
        Ok(best.map(|(load, _)| load))
    }

    /// Throughput in a short trial, and the most that it may be on average if replies come independently:
    /// within three standard deviations of their number, which is one more than was seen.
    fn measure(&mut self, load: f64) -> Result<Option<(f64, f64)>, Stop> {
        match self.journal.measure(load, self.plan.short(), 0)? {
            TrialResult::Counted(at) => {
                let observed = self.journal.observed(at);
                let achieved = observed.throughput(self.plan.peak_of);
                let replies = observed.achieved_per_s * self.plan.short().as_secs_f64();
                let at_most = (replies + 1.0 + 3.0 * (replies + 1.0).sqrt()) / replies * achieved;
                Ok(Some(match observed.validity {
                    Validity::Valid if replies > 0.0 => (achieved, at_most),
                    // One that came to none by a hair.
                    Validity::Valid => (achieved, f64::INFINITY),
                    // What a server that does not cope gives is no matter of counting.
                    _ => (achieved, achieved),
                }))
            }
            TrialResult::TooShort => Ok(Some((0.0, f64::INFINITY))),
            made @ TrialResult::Refused { .. } => {
                self.note(load, made);
                Ok(None)
            }
        }
    }

    fn note(&mut self, load: f64, made: TrialResult) {
        if let TrialResult::Refused { cause, is_full } = made
            && self.ceiling.as_ref().is_none_or(|ceiling| load < ceiling.load)
        {
            self.ceiling = Some(Ceiling { load, cause, is_full });
        }
    }

    /// Selects the load with the highest mean of those around the best and of those between, and its rivals.
    fn select(&mut self, best: f64) -> Result<(), Stop> {
        (self.selected, self.rivals) = (Some(best), vec![best]);
        let mut loads = vec![best];
        loads.extend([1.0 / APART, APART].into_iter().filter_map(|factor| self.beside(best, factor)));
        while !loads.is_empty() {
            self.tried.extend(&loads);
            self.tried.sort_by(f64::total_cmp);
            for block in 1..=SELECTING {
                for (load, made) in self.journal.measure_block(&loads, self.plan.length, block)? {
                    self.note(load, made);
                }
            }
            self.choose();
            let is_between = self.neighbours().iter().all(Option::is_some);
            loads = self.untried();
            if is_between && !self.has_room(loads.len()) {
                break;
            }
        }
        Ok(())
    }

    /// Chooses the load with the highest mean, and its rivals, by the trials so far.
    fn choose(&mut self) {
        let tried: Vec<Numbers> = self.selecting().into_iter().filter(|load| load.mean() > 0.0).collect();
        let Some(highest) = tried.iter().max_by(|a, b| a.mean().total_cmp(&b.mean())) else { return };
        self.selected = Some(highest.load);
        let rivals = tried.iter().filter(|load| may_have_more(load, highest, &tried));
        self.rivals = rivals.map(|load| load.load).collect();
    }

    /// The numbers by which a load is selected.
    fn selecting(&self) -> Vec<Numbers> {
        self.numbers(&self.tried, |block| (1..=SELECTING).contains(&block))
    }

    /// The load at this factor of another, or the next whole one; absent if it cannot be offered.
    fn beside(&self, load: f64, factor: f64) -> Option<f64> {
        let most = self.plan.most().map_or(f64::INFINITY, |most| self.journal.rounded(most));
        let mut beside = self.journal.rounded(load * factor).min(most);
        if self.plan.whole && beside == load {
            beside += if factor > 1.0 { 1.0 } else { -1.0 };
        }
        let below = self.ceiling.as_ref().is_none_or(|ceiling| beside < ceiling.load) && beside <= most;
        (below && beside > 0.0 && beside != load).then_some(beside)
    }

    /// The loads next to the selected one that were tried, below and above.
    fn neighbours(&self) -> [Option<f64>; 2] {
        let Some(selected) = self.selected else { return [None, None] };
        let tried = self.selecting();
        let loads = || tried.iter().map(|load| load.load);
        [
            loads().filter(|load| *load < selected).reduce(f64::max),
            loads().filter(|load| *load > selected).reduce(f64::min),
        ]
    }

    /// The loads to try next, that may have more than the selected one where throughput has one maximum:
    /// beyond it, where it is the lowest or the highest, and between it and its neighbours, but for those
    /// that have as much.
    fn untried(&self) -> Vec<f64> {
        let Some(selected) = self.selected else { return Vec::new() };
        let is_rival = |load: f64| self.rivals.contains(&load);
        let [lower, upper] = self.neighbours();
        let middle = |load: f64| self.journal.rounded((selected * load).sqrt());
        let next = match (lower, upper) {
            (Some(lower), Some(upper)) => {
                let (below, above) = (is_rival(lower), is_rival(upper));
                let is_apart = (upper / lower).sqrt() > PLATEAU;
                match (below, above) {
                    // Three that have as much, far from each other, are a plateau.
                    (true, _) | (_, true) if self.rivals.len() > 2 && is_apart => Vec::new(),
                    (true, false) => vec![middle(lower)],
                    (false, true) => vec![middle(upper)],
                    _ => vec![middle(lower), middle(upper)],
                }
            }
            (lower, upper) => {
                let beyond = [(lower, 1.0 / APART), (upper, APART)];
                let beyond = beyond.into_iter().filter(|(tried, _)| tried.is_none());
                let beyond: Vec<f64> =
                    beyond.filter_map(|(_, factor)| self.beside(selected, factor)).collect();
                // At the last load that may be offered only one side is left.
                let inner = lower.or(upper).filter(|load| beyond.is_empty() && !is_rival(*load));
                beyond.into_iter().chain(inner.map(middle)).collect()
            }
        };
        let is_new = |load: &f64| {
            let factor = load.max(selected) / load.min(selected);
            !self.tried.contains(load) && factor >= NEAREST
        };
        next.into_iter().filter(is_new).collect()
    }

    /// True if there is time for trials of so many more loads, beside the fresh ones.
    fn has_room(&self, loads: usize) -> bool {
        let longest = self.journal.full(self.plan.length).map(|record| record.observed.took_s);
        let fresh = pilot(self.rivals.len()) as usize * self.rivals.len();
        let trials = (loads * SELECTING as usize + fresh) as f64;
        let needed_s = trials * longest.fold(0.0, f64::max);
        // One that goes on with more time makes the trials again that it made with less.
        let budget = self.plan.first_budget.unwrap_or(self.plan.budget);
        self.journal.spent_s() + needed_s <= budget.as_secs_f64()
    }

    /// The most that a load between the selected one and its neighbours may have more, in all full trials,
    /// where throughput is concave: it goes on as steeply as it rose, less what trials vary by.
    fn between(&self) -> f64 {
        let tried = self.numbers(&self.tried, |_| true);
        let of = |load: f64| tried.iter().find(|other| other.load == load);
        let [Some(lower), Some(upper)] = self.neighbours() else { return 0.0 };
        let (Some(own), Some(below), Some(above)) = (self.selected.and_then(of), of(lower), of(upper)) else {
            return 0.0;
        };
        let spread = deviation(&tried, usize::MAX).map_or(0.0, |(deviation, _)| deviation);
        let rise = |side: &Numbers| {
            let noise = spread * (1.0 / own.count() + 1.0 / side.count()).sqrt();
            (own.mean() - side.mean() - noise).max(0.0)
        };
        let (to_lower, to_upper) = (own.load - below.load, above.load - own.load);
        (rise(below) * to_upper / to_lower).max(rise(above) * to_lower / to_upper)
    }

    /// Throughput of full trials at these loads, in blocks of some numbers.
    fn numbers(&self, loads: &[f64], of_block: impl Fn(u32) -> bool) -> Vec<Numbers> {
        let at = |load: f64| {
            let records = self.journal.full(self.plan.length);
            let records = records.filter(|record| record.load == load && of_block(record.design.block));
            records.map(|record: &TrialRecord| record.observed.throughput(self.plan.peak_of)).collect()
        };
        let all = loads.iter().map(|load| Numbers { load: *load, numbers: at(*load) });
        all.filter(|load| !load.numbers.is_empty()).collect()
    }

    /// The interval of the maximum, by fresh trials of the selected load and its rivals; absent while one
    /// of them has none, or the selected one fewer than two.
    fn interval(&self) -> Option<Interval> {
        let fresh = self.numbers(&self.rivals, |block| block > SELECTING);
        let own = fresh.iter().find(|load| Some(load.load) == self.selected)?;
        if fresh.len() < self.rivals.len() || own.numbers.len() < 2 {
            return None;
        }
        let (deviation, degrees) = deviation(&fresh, pilot(self.rivals.len()) as usize)?;
        let end = |error: f64, load: &Numbers| {
            student_quantile(1.0 - 2.0 * error, degrees) * deviation / load.count().sqrt()
        };
        let low = own.mean() - end(BELOW, own);
        let high = fresh.iter().map(|load| load.mean() + end(ABOVE, load)).fold(f64::MIN, f64::max);
        let half_width = (high - low) / 2.0;
        Some(Interval { value: own.mean(), low, high: high + self.between(), half_width })
    }

    fn answer(&self, short_of: &str) -> Answer {
        let undecided = |because: String| Answer::Undecided { low: None, high: None, because };
        let (Some(found), Some(at_load)) = (self.interval(), self.selected) else {
            let ceiling = self.ceiling.as_ref().map(Ceiling::because);
            return undecided(ceiling.unwrap_or_else(|| short_of.to_owned()));
        };
        let Interval { value, low, high, .. } = found;
        // Nothing above it was measured in full: it may well not be the maximum.
        let is_highest = self.journal.full(self.plan.length).all(|trial| trial.load <= at_load);
        if !is_highest {
            return Answer::Found { value, low, high, method: Method::Repeats, at_load };
        }
        let full = self.plan.is_full_at(at_load);
        let most = self.plan.most().is_some_and(|most| at_load >= self.journal.rounded(most));
        let (because, generator_full) = match &self.ceiling {
            _ if full.is_some() => (full.unwrap_or_default(), true),
            Some(ceiling) => (ceiling.because(), ceiling.is_full),
            None if most => (NO_MORE.to_owned(), false),
            None => (short_of.to_owned(), false),
        };
        Answer::AtLeast { value: low, because, generator_full }
    }

    fn report(self, ended: Ended) -> CapacityReport {
        let answer = match &ended {
            Ended::Disturbed(cause) => disturbed(cause),
            _ => self.answer(short_of(&ended)),
        };
        let at_peak = self.journal.records().iter().rev().filter(|record| record.counts());
        let mut at_peak = at_peak.filter(|record| self.selected.is_some_and(|load| record.load >= load));
        let gave_out = at_peak.find_map(|record| record.observed.gave_out.clone());
        let more_time = match (&ended, self.interval()) {
            (Ended::BudgetOver, Some(found)) => {
                let half = found.half_width / std::f64::consts::SQRT_2 / found.value * 100.0;
                Some(format!("with {:.0} s about ± {half:.1} %", 2.0 * self.plan.budget.as_secs_f64()))
            }
            _ => None,
        };
        let (spent_s, plan) = (self.journal.spent_s(), self.plan);
        let trials = self.journal.into_records();
        CapacityReport {
            schema_version: SCHEMA_VERSION,
            goals: Vec::new(),
            peak_of: plan.peak_of,
            key: plan.key.clone(),
            unit: plan.unit.clone(),
            answer,
            level: LEVEL,
            goal_bounds: Vec::new(),
            conditional_per_s: None,
            gave_out,
            ended,
            more_time,
            curve: curve(&trials),
            trials,
            spent_s,
            length_ns: plan.length.as_ns(),
            length_max_ns: plan.needs.length_max.as_ns(),
            first_budget_ns: plan.first_budget.unwrap_or(plan.budget).as_ns(),
            overstated_by: None,
            few_beyond: None,
            generator: None,
        }
    }
}

/// True if the load may have more than the highest mean for all that the trials of all loads show.
fn may_have_more(load: &Numbers, highest: &Numbers, all: &[Numbers]) -> bool {
    let relative = |load: &Numbers| {
        let mean = load.mean();
        Numbers { load: load.load, numbers: load.numbers.iter().map(|number| number / mean).collect() }
    };
    let all: Vec<Numbers> = all.iter().map(relative).collect();
    let Some((deviation, degrees)) = deviation(&all, usize::MAX) else { return true };
    // Each of the others may be taken for higher than the one that has the maximum.
    let error = SCREENING / (all.len() as f64 - 1.0).max(1.0);
    let room = student_quantile(1.0 - 2.0 * error, degrees)
        * deviation
        * (1.0 / load.count() + 1.0 / highest.count()).sqrt();
    (highest.mean() / load.mean()).ln() <= room
}
