//! The trials of a search as they are made: numbers, seeds, repeats of invalid ones, and the time they take.

use crate::bounds::CountedTrial;
use crate::report::TrialRecord;
use crate::trial::{Design, Observed, Runner, Stop, Trial, Validity};
use farfield_base::Duration;
use farfield_base::random::{Purpose, Seed};
use rand_core::Rng;
use std::collections::BTreeMap;

/// Attempts at a trial in which the generator is full, after which its load is taken for one that cannot be
/// offered here.
const ATTEMPTS_FULL: u32 = 3;
/// Attempts at a trial that something disturbs.
const ATTEMPTS_DISTURBED: u32 = 5;
/// Seconds that a trial by the clock takes for one of its length.
const BY_CLOCK: f64 = 1.25;

/// Settings of the journal.
#[derive(Debug, Clone)]
pub struct Rules {
    /// The experiment's name.
    pub experiment: String,
    /// The key that sets the load.
    pub key: String,
    /// The seed; each trial has another that follows from it.
    pub seed: u64,
    /// The time for all trials.
    pub budget: Duration,
    /// Loads are whole numbers.
    pub whole: bool,
}

/// Result of a trial that was wanted.
#[derive(Debug, Clone, PartialEq)]
pub enum TrialResult {
    /// The trial counts; its place among the records.
    Counted(usize),
    /// The trial was invalid again and again, by farfield or its machine.
    Refused {
        /// The check that failed in the end.
        cause: String,
        /// The generator had no more to give.
        is_full: bool,
    },
    /// Too few requests were due in it to judge by.
    TooShort,
}

/// All trials so far.
pub struct Journal<'a> {
    rules: Rules,
    runner: &'a mut dyn Runner,
    records: Vec<TrialRecord>,
    repeats: BTreeMap<(u64, u64), u32>,
}

impl<'a> Journal<'a> {
    /// No trials yet.
    pub fn new(rules: Rules, runner: &'a mut dyn Runner) -> Journal<'a> {
        Journal { rules, runner, records: Vec::new(), repeats: BTreeMap::new() }
    }

    /// The trials that were made, in order.
    pub fn records(&self) -> &[TrialRecord] {
        &self.records
    }

    /// All of them, at the end.
    pub fn into_records(self) -> Vec<TrialRecord> {
        self.records
    }

    /// Seconds that all trials took.
    pub fn spent_s(&self) -> f64 {
        self.records.iter().map(|record| record.observed.took_s).sum()
    }

    /// A load near `load` that can be offered and named: users are whole, rates have four digits.
    pub fn rounded(&self, load: f64) -> f64 {
        if self.rules.whole {
            return load.round().max(1.0);
        }
        let unit = 10_f64.powf(load.log10().floor() - 3.0);
        // Divided by a whole power of ten it is the number that its four digits stand for.
        if unit < 1.0 { (load / unit).round() / (1.0 / unit).round() } else { (load / unit).round() * unit }
    }

    /// Makes a trial, again if it ends invalid.
    ///
    /// # Errors
    /// If the runner was interrupted or failed, or the time is over.
    pub fn measure(&mut self, load: f64, length: Duration, block: u32) -> Result<TrialResult, Stop> {
        let mut attempts = 0;
        loop {
            self.afford(length)?;
            let trial = self.trial(load, length, block);
            let observed = self.runner.run(&trial)?;
            let validity = observed.validity.clone();
            self.records.push(TrialRecord::of(trial, observed));
            let (cause, is_full) = match validity {
                Validity::Valid | Validity::Overwhelmed { .. } => {
                    return Ok(TrialResult::Counted(self.records.len() - 1));
                }
                // With another seed it would be as short.
                Validity::TooShort { .. } | Validity::StillRising { .. } => return Ok(TrialResult::TooShort),
                Validity::Invalid { cause, is_full } => (cause, is_full),
            };
            attempts += 1;
            if attempts < if is_full { ATTEMPTS_FULL } else { ATTEMPTS_DISTURBED } {
                continue;
            }
            // A disturbance of even the first load does not come from the load, and would disturb a lower
            // one.
            if !is_full && self.records.iter().all(|record| !record.counts()) {
                return Err(Stop::Disturbed(cause));
            }
            return Ok(TrialResult::Refused { cause, is_full });
        }
    }

    /// Trials of these loads, in an order that is drawn.
    ///
    /// # Errors
    /// As for [`measure`](Journal::measure).
    pub fn measure_block(
        &mut self,
        loads: &[f64],
        length: Duration,
        block: u32,
    ) -> Result<Vec<(f64, TrialResult)>, Stop> {
        let mut order = loads.to_vec();
        let mut random = Seed(self.rules.seed).stream(Purpose::Arrivals, u64::from(block));
        for last in (1..order.len()).rev() {
            order.swap(last, (random.next_u64() % (last as u64 + 1)) as usize);
        }
        order.into_iter().map(|load| Ok((load, self.measure(load, length, block)?))).collect()
    }

    /// The trials that count.
    pub fn counted(&self) -> Vec<CountedTrial> {
        let counts = self.records.iter().filter(|record| record.counts());
        counts
            .map(|record| CountedTrial {
                load: record.load,
                length: record.length(),
                kept: record.observed.keeps_goals(),
            })
            .collect()
    }

    /// The trials that count and are at least so long.
    pub fn full(&self, length: Duration) -> impl Iterator<Item = &TrialRecord> {
        self.records.iter().filter(move |record| record.counts() && record.length() >= length)
    }

    /// Requests that were due a second in the longest trial with the highest load up to this one; with a
    /// lower load than any, in proportion.
    pub fn requests_per_s(&self, load: f64) -> Option<f64> {
        let rate = |record: &TrialRecord| record.observed.requests as f64 / record.length().as_secs_f64();
        let order = |a: &&TrialRecord, b: &&TrialRecord| {
            a.load.total_cmp(&b.load).then(a.length_ns.cmp(&b.length_ns))
        };
        let below = self.records.iter().filter(|record| record.load <= load).max_by(order);
        let above = || self.records.iter().min_by(order);
        below.map(rate).or_else(|| above().map(|record| rate(record) * load / record.load))
    }

    /// Observations of the trial at a place.
    pub fn observed(&self, at: usize) -> &Observed {
        &self.records[at].observed
    }

    fn trial(&mut self, load: f64, length: Duration, block: u32) -> Trial {
        let repeats = self.repeats.entry((load.to_bits(), length.as_ns())).or_default();
        *repeats += 1;
        let number = self.records.len() as u32 + 1;
        let design = Design {
            experiment: self.rules.experiment.clone(),
            number,
            point: format!("{} = {load}", self.rules.key),
            repeat: *repeats,
            block,
            // Seeds of a scenario are read as signed numbers.
            seed: self.rules.seed.wrapping_add(u64::from(number)) & u64::from(u32::MAX),
        };
        Trial { load, length, design }
    }

    /// Refuses a trial whose length does not fit into the time that is left, going by those before it: each
    /// takes some time of its own, and some for each second of its length. By a clock it is a second for
    /// each, and as a rule a quarter of one for its warm-up; in virtual time it is less.
    fn afford(&self, length: Duration) -> Result<(), Stop> {
        let seconds = length.as_secs_f64();
        let by_length = |record: &TrialRecord| {
            let (took_s, its) = (record.observed.took_s, record.length().as_secs_f64());
            let is_by_clock = took_s >= its && seconds >= its;
            if is_by_clock { took_s + BY_CLOCK * (seconds - its) } else { took_s / its * seconds }
        };
        let alike = self.records.iter().filter(|record| record.length() == length);
        let expected = match alike.map(|record| record.observed.took_s).reduce(f64::max) {
            Some(longest) => longest,
            None => self.records.iter().map(by_length).fold(0.0, f64::max),
        };
        if self.spent_s() + expected > self.rules.budget.as_secs_f64() {
            return Err(Stop::BudgetOver);
        }
        Ok(())
    }
}
