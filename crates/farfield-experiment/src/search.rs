//! The highest load that keeps all goals: the search of MLRsearch (RFC 9971), and an estimate at its end.
//!
//! 1. *Short trials* double the load until goals break, then halve the interval to a quarter of its load.
//! 2. Blocks of four *full trials* on both sides of it, in an order that is drawn, show how fast margins fall
//!    with load. Where they fall gradually, as times do, the blocks go on around the load at which margins
//!    [cross](crate::crossing) the limit, as many as the first few show to be enough.
//! 3. Where they jump, as errors do, the interval is halved on with full trials. A load needs two of them,
//!    or one of two (an exceed ratio of a half, so that a tie counts as kept); short ones count as the RFC
//!    has it. The bounds are the answer.
//!
//! An invalid trial is made again; where that does not help, its load is a ceiling, and what is below it is
//! all that can be said. All goals share all trials.

use crate::bounds::{CountedTrial, RelevantBounds, Target};
use crate::crossing::Crossing;
use crate::journal::{Journal, Rules, TrialResult};
use crate::needs::Needs;
use crate::report::{
    Answer, CapacityReport, Ended, GoalBounds, LEVEL, Method, SCHEMA_VERSION, Throughput, TrialRecord, curve,
};
use crate::trial::{Runner, Stop};
use farfield_base::Duration;

mod estimate;
mod judged;

use estimate::Focus;
pub use judged::TRIALS_OF_SEARCH;

/// Full trials are so much longer than short ones.
const SHORTER: u64 = 4;
/// The width, over its lower end, of the interval that short trials leave.
const SHORT_WIDTH: f64 = 0.25;
/// The lowest load that is tried, as a share of the first.
const LOWEST: f64 = 1.0 / 1024.0;
/// The search that is asked for: its goals, its loads and its time.
#[derive(Debug, Clone)]
pub struct SearchPlan {
    /// The experiment's name.
    pub experiment: String,
    /// The goals, in words; runs hold them against their results. Empty for a peak.
    pub goals: Vec<String>,
    /// The throughput whose maximum a peak is.
    pub peak_of: Throughput,
    /// The key that sets the load.
    pub key: String,
    /// The unit of loads: "requests/s", "users".
    pub unit: String,
    /// True if loads are whole numbers.
    pub whole: bool,
    /// The load of the first trial.
    pub from: f64,
    /// The highest load that may be tried.
    pub to: Option<f64>,
    /// The load that the generator can offer, as was measured before; none if that is found as trials fail.
    pub generator: Option<f64>,
    /// Length of a full trial.
    pub length: Duration,
    /// Conditions on the length of trials.
    pub needs: Needs,
    /// Half the width of the interval that is good enough, over its load.
    pub precision: f64,
    /// The time for all trials.
    pub budget: Duration,
    /// The budget of the search that began, if this one goes on with another.
    pub first_budget: Option<Duration>,
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

    /// The highest load that may be tried, by what was asked and what the generator can offer.
    pub(crate) fn most(&self) -> Option<f64> {
        self.to.into_iter().chain(self.generator).reduce(f64::min)
    }

    /// Why no more than this load was offered, if that is what the generator can offer.
    pub(crate) fn is_full_at(&self, load: f64) -> Option<String> {
        let full =
            self.generator.filter(|full| self.to.is_none_or(|to| *full < to) && load >= full * 0.999)?;
        Some(format!("the generator was full (--generator-limit {})", full.round()))
    }

    pub(crate) fn short(&self) -> Duration {
        Duration::from_ns(self.length.as_ns() / SHORTER)
    }

    /// The target of one short trial, which decides.
    fn short_target(&self) -> Target {
        Target { trial_length: self.short(), length_sum: self.short(), exceed_ratio: 0.5 }
    }

    fn full_target(&self) -> Target {
        Target { trial_length: self.length, length_sum: self.length.times(2), exceed_ratio: 0.5 }
    }
}

/// Why no more was offered, where a flag says so.
pub(crate) const NO_MORE: &str = "no more was to be offered (--to)";

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
    let mut search = Search { plan, journal, ceiling: None, focus: None };
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
        Stop::Disturbed(cause) => Ended::Disturbed(cause),
        Stop::Failed(sentence) => Ended::Failed(sentence),
    }
}

struct Search<'a> {
    plan: &'a SearchPlan,
    journal: Journal<'a>,
    ceiling: Option<Ceiling>,
    /// The loads that the estimate looks at, once there is an estimate.
    focus: Option<Focus>,
}

impl Search<'_> {
    fn run(&mut self) -> Result<(), Stop> {
        self.narrow(self.plan.short_target(), SHORT_WIDTH, self.plan.short())?;
        if self.estimate()? {
            return Ok(());
        }
        self.focus = None;
        self.narrow(self.plan.full_target(), self.plan.precision, self.plan.length)
    }

    /// Narrows the bounds of a target to a width.
    fn narrow(&mut self, target: Target, width: f64, length: Duration) -> Result<(), Stop> {
        while let Some(load) = self.next(target, width) {
            let is_known = self.is_too_short(load, length);
            if is_known || !self.measure(load, length)? && self.next(target, width) == Some(load) {
                break;
            }
        }
        Ok(())
    }

    /// Makes a trial of at least this length, and longer while too few requests are due in it; false if too
    /// few are in the longest.
    fn measure(&mut self, load: f64, length: Duration) -> Result<bool, Stop> {
        let mut length = self.long_enough(load, length);
        loop {
            let made = self.journal.measure(load, length, 0)?;
            if made != TrialResult::TooShort {
                self.note(load, made);
                return Ok(true);
            }
            let longer = self.long_enough(load, length).max(length.times(2).min(self.plan.needs.length_max));
            if longer <= length {
                return Ok(false);
            }
            length = longer;
        }
    }

    /// The length of a trial with this load in which enough requests are due, from `length` up.
    fn long_enough(&self, load: f64, length: Duration) -> Duration {
        // Users ask as often as they did; where requests come by themselves, as often as the load says.
        let rate = if self.plan.whole { self.journal.requests_per_s(load) } else { Some(load) };
        // Sessions last as long with any load.
        let rising = self.journal.records().iter().filter(|record| record.is_still_rising());
        let longer = rising.map(|record| record.length().times(2).min(self.plan.needs.length_max));
        let length = longer.fold(length, Duration::max);
        rate.map_or(length, |rate| self.plan.needs.long_enough(length, rate))
    }

    /// The highest load at which trials of this length or longer had too few requests.
    fn floor(&self, length: Duration) -> Option<f64> {
        let records = self.journal.records().iter();
        let short = records.filter(|record| record.is_too_short() && record.length() >= length);
        short.map(|record| record.load).reduce(f64::max)
    }

    fn is_too_short(&self, load: f64, length: Duration) -> bool {
        let mut of_load = self.journal.records().iter().filter(|record| record.load == load);
        let longest = length.max(self.plan.needs.length_max);
        of_load.any(|record| record.is_too_short() && record.length() >= longest)
    }

    fn note(&mut self, load: f64, made: TrialResult) {
        // As much or more was offered validly: it was not the load.
        let offered = self.journal.counted().iter().any(|trial| trial.load >= load);
        if let TrialResult::Refused { cause, is_full } = made
            && !offered
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
                likely.or(undecided.first()).copied().or_else(|| self.lower_than(upper, target.trial_length))
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

    /// A load to begin with, or half of the lowest one that broke the goals or could not be offered; at loads
    /// with too few requests in a trial, twice as much.
    fn lower_than(&self, upper: Option<f64>, length: Duration) -> Option<f64> {
        let ceiling = self.ceiling.as_ref().map(|ceiling| ceiling.load);
        let highest = [upper, ceiling].into_iter().flatten().reduce(f64::min);
        let floor = self.floor(length);
        let Some(highest) = highest else {
            let Some(floor) = floor else { return Some(self.journal.rounded(self.plan.from)) };
            // More of them would not be over sooner.
            if self.journal.records().iter().any(TrialRecord::is_still_rising) {
                return None;
            }
            let most = self.plan.most().map_or(f64::INFINITY, |most| self.journal.rounded(most));
            let load = self.journal.rounded(floor * 2.0).min(most);
            return (load > floor && load <= self.plan.from / LOWEST).then_some(load);
        };
        let load = self.journal.rounded(highest / 2.0);
        let is_lower = load < highest && load >= self.plan.from * LOWEST;
        (is_lower && floor.is_none_or(|floor| load > floor)).then_some(load)
    }

    /// Twice the load, or as much as may be offered.
    fn higher_than(&self, lower: f64, width: f64) -> Option<f64> {
        let most = self.plan.most().map_or(f64::INFINITY, |most| self.journal.rounded(most));
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

    fn report(self, ended: Ended) -> CapacityReport {
        let counted = self.journal.counted();
        let (bounds, _) = self.plan.full_target().bounds(&counted);
        let fit = self.fit();
        let answer = match &ended {
            Ended::Disturbed(cause) => disturbed(cause),
            _ => self.answer(fit, bounds, &counted, short_of(&ended)),
        };
        let more_time = self.more_time(&answer, &ended);
        let judged = self.judged(answer.clone());
        // What is short of length gains nothing from more trials.
        let (answer, more_time) = (judged.clone(), more_time.filter(|_| judged == answer));
        let overstated_by = self.overstated_by(&answer);
        let few_beyond = self.allowed_beyond(&answer).map(|(allowed, _)| allowed);
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
            peak_of: plan.peak_of,
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
            length_ns: plan.length.as_ns(),
            length_max_ns: plan.needs.length_max.as_ns(),
            first_budget_ns: plan.first_budget.unwrap_or(plan.budget).as_ns(),
            overstated_by,
            few_beyond,
            generator: None,
        }
    }

    fn answer(
        &self,
        fit: Option<Crossing>,
        bounds: RelevantBounds,
        counted: &[CountedTrial],
        short_of: &str,
    ) -> Answer {
        let ceiling = self.ceiling.as_ref();
        if let Some(fit) = fit.filter(|fit| ceiling.is_none_or(|ceiling| fit.high < ceiling.load)) {
            let Crossing { load, low, high, .. } = fit;
            return match self.beyond_most(&fit) {
                Some(beyond) => beyond,
                None => Answer::Found { value: load, low, high, method: Method::Regression, at_load: load },
            };
        }
        let (short, _) = self.plan.short_target().bounds(counted);
        // Only full trials make an answer; short ones say where it lies.
        let is_full = bounds.lower.is_some() && bounds.upper.is_some();
        let (low, high) = (bounds.lower.or(short.lower), bounds.upper.or(short.upper));
        // A load above one that breaks the goals is no lower bound, though a trial of another length kept
        // them.
        let low = low.filter(|low| high.is_none_or(|high| *low < high));
        let no_lower = |high| self.lower_than(Some(high), self.plan.short()).is_none();
        match (low, high) {
            (Some(low), Some(high)) if is_full && self.is_narrow(low, high, 2.0 * self.plan.precision) => {
                // Of users, the most that keep the goals.
                let value = if self.plan.whole { low } else { f64::midpoint(low, high) };
                Answer::Found { value, low, high, method: Method::Bounds, at_load: value }
            }
            (Some(value), None) => self.at_least(value, short_of),
            (None, Some(value)) if self.too_short_below(value).is_none() && no_lower(value) => {
                Answer::LessThan { value }
            }
            (low, high) => {
                let because = match ceiling {
                    Some(ceiling) => ceiling.because(),
                    None => {
                        let short = self.too_short_below(high.unwrap_or(f64::INFINITY));
                        short.filter(|_| low.is_none()).unwrap_or_else(|| short_of.to_owned())
                    }
                };
                Answer::Undecided { low, high, because }
            }
        }
    }

    /// The answer where a line crosses beyond the loads that may be tried: none were measured there.
    fn beyond_most(&self, fit: &Crossing) -> Option<Answer> {
        let full = self.plan.generator.filter(|full| fit.high > *full);
        let full = full.filter(|full| self.plan.to.is_none_or(|to| *full <= to));
        let to = self.plan.to.filter(|to| fit.load > *to);
        let most = full.into_iter().chain(to).reduce(f64::min)?;
        let value = fit.low.min(most);
        let because = self.plan.is_full_at(most);
        let generator_full = because.is_some();
        let because = because.unwrap_or_else(|| NO_MORE.to_owned());
        Some(Answer::AtLeast { value, because, generator_full })
    }

    fn at_least(&self, value: f64, short_of: &str) -> Answer {
        let (because, generator_full) = match (&self.ceiling, self.plan.to) {
            (Some(ceiling), _) => (ceiling.because(), ceiling.is_full),
            (None, _) if self.plan.is_full_at(value).is_some() => {
                (self.plan.is_full_at(value).unwrap_or_default(), true)
            }
            (None, Some(to)) if value >= self.journal.rounded(to) => (NO_MORE.to_owned(), false),
            (None, _) => {
                let because = short_of.to_owned();
                return Answer::Undecided { low: Some(value), high: None, because };
            }
        };
        Answer::AtLeast { value, because, generator_full }
    }

    /// The gain from as much time again, in words.
    fn more_time(&self, answer: &Answer, ended: &Ended) -> Option<String> {
        if *ended != Ended::BudgetOver {
            return None;
        }
        let whole = in_words(self.plan.budget.times(2));
        Some(match answer {
            Answer::Found { low, high, method: Method::Regression, .. } => {
                // As the root of the number of trials.
                let half = (high - low) / 2.0 / std::f64::consts::SQRT_2;
                let digits =
                    if half >= 10.0 { 0 } else { (1.0 - half.log10().floor()).clamp(0.0, 6.0) as usize };
                format!("with {whole} about ± {half:.digits$}")
            }
            Answer::Found { .. } => return None,
            _ => format!("with {whole} it would go on from here"),
        })
    }

    fn goal_bounds(&self) -> Vec<GoalBounds> {
        let records: Vec<&TrialRecord> =
            self.journal.records().iter().filter(|record| record.counts()).collect();
        let of = |(place, goal): (usize, &String)| {
            let kept = |record: &&TrialRecord| CountedTrial {
                load: record.load,
                length: record.length(),
                kept: record.observed.goals.get(place).is_some_and(|reading| reading.kept),
            };
            let counted: Vec<CountedTrial> = records.iter().map(kept).collect();
            let (RelevantBounds { lower, upper }, _) = self.plan.full_target().bounds(&counted);
            GoalBounds { goal: goal.clone(), lower, upper }
        };
        self.plan.goals.iter().enumerate().map(of).collect()
    }
}

/// A budget in words: whole seconds, or less than one.
fn in_words(time: Duration) -> String {
    if time < Duration::from_secs(1) { time.to_string() } else { format!("{:.0} s", time.as_secs_f64()) }
}

/// Why a search that ended so does not know more.
pub(crate) fn short_of(ended: &Ended) -> &'static str {
    match ended {
        Ended::Interrupted => "it was interrupted",
        Ended::Failed(_) => "it ended early",
        Ended::Done | Ended::BudgetOver | Ended::Disturbed(_) => "the time was over",
    }
}

/// The answer where something disturbed all trials.
pub(crate) fn disturbed(cause: &str) -> Answer {
    let because = format!("no run was valid ({cause}), at any load; make the machine quieter");
    Answer::Undecided { low: None, high: None, because }
}

/// True if more trials of a load kept the goals than broke them.
fn mostly_kept(counted: &[CountedTrial], load: f64) -> bool {
    let (kept, broken): (Vec<&CountedTrial>, Vec<&CountedTrial>) =
        counted.iter().filter(|trial| trial.load == load).partition(|trial| trial.kept);
    kept.len() > broken.len()
}
