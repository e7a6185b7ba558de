//! The maximum of the throughput over load, with an interval that allows for its selection.
//!
//! Short trials double the load until throughput has stopped to grow. Full trials of the loads around the
//! best one, in blocks whose order is drawn, select the load; their numbers are then put aside, since the
//! highest of several noisy numbers is too high. The interval is that of the mean of fresh trials at the
//! selected load (Student 1908; Stein 1945). It is an interval of that load's throughput, and of the maximum
//! as far as no other load has more: on the plateau of a server that is full, any of it will do.

use crate::journal::{Journal, Made};
use crate::report::{Answer, CapacityReport, Ended, LEVEL, Method, SCHEMA_VERSION, TrialRecord, curve};
use crate::search::{Ceiling, SearchPlan, disturbed, ended, short_of};
use crate::trial::{Runner, Stop};
use farfield_measure::interval::MeanEstimate;

/// Growth of throughput from one load to its double that is none.
const GROWTH: f64 = 1.02;
/// Loads without growth, one after the other, that end the ascent.
const FLAT: u32 = 2;
/// Blocks of full trials that select the load.
const SELECTING: u32 = 2;
/// Fresh trials of the selected load, from whose spread follows how many there are to be.
const PILOT: u32 = 6;
/// Fresh trials at most.
const REPEATS_MAX: f64 = 60.0;

/// Searches for the load with the most throughput.
pub fn peak(plan: &SearchPlan, runner: &mut dyn Runner) -> CapacityReport {
    let journal = Journal::new(plan.rules(), runner);
    let mut peak = Peak { plan, journal, ceiling: None, selected: None };
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
    selected: Option<f64>,
}

impl Peak<'_> {
    fn run(&mut self) -> Result<(), Stop> {
        let Some(best) = self.ascend()? else { return Ok(()) };
        let selected = self.select(best)?;
        self.selected = Some(selected);
        let (mut repeat, mut last) = (0, PILOT);
        while repeat < last {
            repeat += 1;
            self.journal.measure(selected, self.plan.length, SELECTING + repeat)?;
            if let Some(mean) = self.mean().filter(|_| repeat == PILOT) {
                let wider = mean.half_width(LEVEL) / (self.plan.precision * mean.mean);
                last = (f64::from(PILOT) * wider.powi(2)).ceil().clamp(0.0, REPEATS_MAX) as u32;
            }
        }
        Ok(())
    }

    /// Doubles the load while throughput grows; returns the load with the most.
    fn ascend(&mut self) -> Result<Option<f64>, Stop> {
        let most = self.plan.most().map_or(f64::INFINITY, |most| self.journal.rounded(most));
        let (mut load, mut flat) = (self.journal.rounded(self.plan.from).min(most), 0);
        let mut best: Option<(f64, f64)> = None;
        while flat < FLAT {
            let Some(achieved) = self.measure(load, 0)? else { break };
            match best {
                Some((_, highest)) if achieved < highest * GROWTH => flat += 1,
                _ => (best, flat) = (Some((load, achieved)), 0),
            }
            if load >= most {
                break;
            }
            load = self.journal.rounded(load * 2.0).min(most);
        }
        Ok(best.map(|(load, _)| load))
    }

    fn measure(&mut self, load: f64, block: u32) -> Result<Option<f64>, Stop> {
        match self.journal.measure(load, self.plan.short(), block)? {
            Made::Counted(at) => Ok(Some(self.journal.observed(at).achieved_per_s)),
            Made::Refused { cause, is_full } => {
                self.ceiling = Some(Ceiling { load, cause, is_full });
                Ok(None)
            }
        }
    }

    /// Selects the load with the highest mean of those around the best.
    fn select(&mut self, best: f64) -> Result<f64, Stop> {
        let below = |load: &f64| {
            self.ceiling.as_ref().is_none_or(|ceiling| *load < ceiling.load)
                && self.plan.most().is_none_or(|most| *load <= most)
        };
        let around = [0.5, std::f64::consts::FRAC_1_SQRT_2, 1.0, std::f64::consts::SQRT_2, 2.0];
        let mut loads: Vec<f64> = around.map(|factor| self.journal.rounded(best * factor)).into();
        loads.dedup();
        loads.retain(below);
        for block in 1..=SELECTING {
            self.journal.measure_block(&loads, self.plan.length, block)?;
        }
        let mean = |load: f64| {
            let at = self.journal.full(self.plan.length).filter(|record| record.load == load);
            let all: Vec<f64> = at.map(|record| record.observed.achieved_per_s).collect();
            all.iter().sum::<f64>() / all.len() as f64
        };
        let highest = loads.iter().copied().max_by(|a, b| mean(*a).total_cmp(&mean(*b)));
        Ok(highest.unwrap_or(best))
    }

    /// Throughput of the fresh trials at the selected load.
    fn fresh(&self) -> Vec<f64> {
        let is_fresh =
            |record: &&TrialRecord| record.design.block > SELECTING && Some(record.load) == self.selected;
        let fresh = self.journal.full(self.plan.length).filter(is_fresh);
        fresh.map(|record| record.observed.achieved_per_s).collect()
    }

    fn mean(&self) -> Option<MeanEstimate> {
        MeanEstimate::of(&self.fresh())
    }

    /// Half the width of the interval of the mean of all fresh trials: with the standard deviation of the
    /// pilot, from which their number followed (Stein 1945).
    fn half_width(&self, mean: MeanEstimate) -> f64 {
        let fresh = self.fresh();
        let pilot = fresh.get(..PILOT as usize).and_then(MeanEstimate::of);
        pilot.map_or(mean.half_width(LEVEL), |pilot| {
            pilot.half_width(LEVEL) * (f64::from(PILOT) / fresh.len() as f64).sqrt()
        })
    }

    fn answer(&self, short_of: &str) -> Answer {
        let undecided = |because: String| Answer::Undecided { low: None, high: None, because };
        let (Some(mean), Some(at_load)) = (self.mean(), self.selected) else {
            let ceiling = self.ceiling.as_ref().map(Ceiling::because);
            return undecided(ceiling.unwrap_or_else(|| short_of.to_owned()));
        };
        let (low, high) = (mean.mean - self.half_width(mean), mean.mean + self.half_width(mean));
        let is_highest = self.journal.counted().iter().all(|trial| trial.load <= at_load);
        if let Some(because) = self.plan.is_full_at(at_load).filter(|_| is_highest) {
            return Answer::AtLeast { value: low, because, generator_full: true };
        }
        match &self.ceiling {
            // Nothing above it was measured: it may well not be the maximum.
            Some(ceiling) if is_highest => {
                Answer::AtLeast { value: low, because: ceiling.because(), generator_full: ceiling.is_full }
            }
            _ => Answer::Found { value: mean.mean, low, high, method: Method::Repeats, at_load },
        }
    }

    fn report(self, ended: Ended) -> CapacityReport {
        let answer = match &ended {
            Ended::Disturbed(cause) => disturbed(cause),
            _ => self.answer(short_of(&ended)),
        };
        let at_peak = self.journal.records().iter().rev().filter(|record| record.counts());
        let mut at_peak = at_peak.filter(|record| self.selected.is_some_and(|load| record.load >= load));
        let gave_out = at_peak.find_map(|record| record.observed.gave_out.clone());
        let more_time = match (&ended, self.mean()) {
            (Ended::BudgetOver, Some(mean)) => {
                let half = self.half_width(mean) / std::f64::consts::SQRT_2;
                Some(format!("with {:.0} s about ± {half:.0}", 2.0 * self.plan.budget.as_secs_f64()))
            }
            _ => None,
        };
        let (spent_s, plan) = (self.journal.spent_s(), self.plan);
        let trials = self.journal.into_records();
        CapacityReport {
            schema_version: SCHEMA_VERSION,
            goals: Vec::new(),
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
        }
    }
}
