//! Lengths of the measured part of runs, and of their warm-up, from what their pilot shows.
//!
//! A mean over repeats is no better than what each repeat measures. The p99 of a run with three independent
//! requests beyond it is biased, however many such runs are averaged; so is a mean of runs that begin with an
//! empty queue; and runs in which a queue grows have no mean that more of them would come nearer to. So the
//! pilot is examined before repeats are counted, in this order:
//!
//! 1. **Settling.** Where response times settle later than the warm-up ends, warm-ups become longer.
//! 2. **Length.** Each run says how long it would need to be for an interval of its own
//!    ([`farfield_measure::batches::interval`]); half of a point's runs decide. Runs of all points become as
//!    long as the neediest point's.
//! 3. **Repeats.** Where Stein's rule asks for more repeats than there may be, runs become longer instead.
//! 4. **Stationarity.** The logarithm of the ratio of the mean response times of both halves of a run is 0
//!    on average where nothing drifts; Student's test over a point's runs says if it is not. Runs of
//!    different seeds are independent, so that the test holds however alike requests of one run are.
//!
//! Where they drift and their ends differ, runs end before that: what is at fault at a certain time, such as
//! a load or a server that stops, is left out, and runs become no longer any more.
//!
//! After a change the pilot is made again, with the same seeds, and the runs before count for nothing: what
//! they decided does not bias the runs that follow. Everything follows from the runs' own results, so that an
//! interrupted sweep comes to the same lengths again.

use super::make::{PILOT, SweepPlan};
use super::report::RunRecord;
use crate::report::LEVEL;
use crate::stein;
use crate::trial::Validity;
use farfield_base::Duration;
use farfield_measure::interval::MeanEstimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Changes of length at most. Where these do not do, runs need the longer the longer they are.
const CHANGES_MAX: usize = 5;
/// Runs become longer by so much more than they need: what one run says of its needs varies.
const MARGIN: f64 = 1.2;
/// Warm-ups become so many times as long as runs took to settle on average: the rule that finds this errs to
/// the short side (White 1997 and those who tried it; `farfield-measure/src/settling/tests.rs`).
const WARM_UP: f64 = 2.0;
/// The probability of calling runs of any point not stationary if all are.
const FALSE_ALARMS: f64 = 0.01;
/// Change of mean response times within a run that matters, however exactly it is known.
const DRIFT_MIN: f64 = 0.1;
/// The ratio of the halves of a single run from which on it may drift.
const MAY_DRIFT: f64 = 1.5;
/// Runs of a point that a drift is shown by at least.
const DRIFT_RUNS: usize = 4;
/// The part of the load from which on an end that differs is more than the rule cuts off anything: one by
/// this.
const END: u64 = 32;
/// Number of times that a run that drifts from end to end is taken for one that has not settled yet, and is
/// preceded by as long again. A run that still drifts then is not stationary.
const DRIFTS_MAX: usize = 2;

/// Bounds of what runs may become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LengthPlan {
    /// The scenario's own measured part.
    pub own: Duration,
    /// The longest measured part.
    pub max: Duration,
    /// The scenario's own warm-up.
    pub warm_up: Duration,
    /// True if the warm-up may become longer: not where the user says how long it is.
    pub may_warm_up: bool,
}

/// The length of a run, where that is not its scenario's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLength {
    /// The measured part.
    pub measured: Duration,
    /// The warm-up.
    pub warm_up: Duration,
}

/// The need of a metric of a run for an interval of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Need {
    /// About how long the measured part would need to be; null if that is not known.
    pub length_ns: Option<u64>,
    /// The shortfall, as a clause: "p99 of 3 independent requests a run beyond it, of 20".
    pub lacks: String,
}

/// The course of response times of a run from its beginning to its end.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Course {
    /// From the start of the load until they had settled; null if they had not by the middle of the run.
    pub settled_ns: Option<u64>,
    /// The mean response time of the second half of the measured part over that of the first.
    pub halves_ratio: Option<f64>,
    /// Before the end of the load, the length of the end at which they differ from the rest; 0 if they do
    /// not.
    #[serde(default)]
    pub end_ns: u64,
}

/// Lengths of a sweep's runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LengthReport {
    /// The measured part of the runs that count.
    pub measured_ns: u64,
    /// The warm-up of the runs that count.
    pub warm_up_ns: u64,
    /// Changes of these lengths, in order; empty where the scenario's own lengths do.
    pub changes: Vec<LengthChange>,
    /// Why the interval that was asked for cannot be had; null if nothing speaks against it.
    pub refused: Option<String>,
}

/// A change of the runs' lengths.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LengthChange {
    /// The measured part before, in nanoseconds.
    pub measured_from_ns: u64,
    /// The measured part after, in nanoseconds.
    pub measured_to_ns: u64,
    /// The warm-up before.
    pub warm_up_from_ns: u64,
    /// The warm-up after, in nanoseconds.
    pub warm_up_to_ns: u64,
    /// The point that needed it, in words; empty where there is one point.
    pub point: String,
    /// Why, as a clause.
    pub why: String,
}

impl LengthChange {
    /// The change as a sentence: "runs of 10s were lengthened to 40s: …".
    pub fn in_words(&self) -> String {
        let time = Duration::from_ns;
        let what = match (
            self.measured_from_ns == self.measured_to_ns,
            self.warm_up_from_ns == self.warm_up_to_ns,
        ) {
            (false, true) => {
                let became =
                    if self.measured_to_ns < self.measured_from_ns { "shortened" } else { "lengthened" };
                format!(
                    "runs of {} were {became} to {}",
                    time(self.measured_from_ns),
                    time(self.measured_to_ns)
                )
            }
            (true, false) => {
                format!(
                    "warm-ups of {} were lengthened to {}",
                    time(self.warm_up_from_ns),
                    time(self.warm_up_to_ns)
                )
            }
            _ => format!(
                "runs of {} after {} were lengthened to {} after {}",
                time(self.measured_from_ns),
                time(self.warm_up_from_ns),
                time(self.measured_to_ns),
                time(self.warm_up_to_ns)
            ),
        };
        let at = if self.point.is_empty() { String::new() } else { format!(" at {}", self.point) };
        format!("{what}: {}{at}", self.why)
    }
}

/// The conclusion from a pilot.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Decision {
    /// The runs are as long as they need to be.
    Enough,
    /// The runs become longer, or end earlier.
    Longer(RunLength, String, usize),
    /// The interval cannot be had, and why.
    Refused(String),
}

/// The lengths of a sweep's runs as they are found.
pub(super) struct Lengths<'a> {
    plan: &'a SweepPlan,
    bounds: LengthPlan,
    now: RunLength,
    changes: Vec<LengthChange>,
    /// Number of the changes that are for drift.
    drifts: usize,
    /// Runs end early, since their ends differ.
    ends_early: bool,
    refused: Option<String>,
}

impl<'a> Lengths<'a> {
    /// None where runs are as long as their scenario says.
    pub fn of(plan: &'a SweepPlan) -> Option<Lengths<'a>> {
        let bounds = plan.lengths.filter(|_| plan.until.is_some())?;
        let now = RunLength { measured: bounds.own, warm_up: bounds.warm_up };
        Some(Lengths { plan, bounds, now, changes: Vec::new(), drifts: 0, ends_early: false, refused: None })
    }

    /// The length of the runs that are made now, if it is not the scenario's own.
    pub fn now(&self) -> Option<RunLength> {
        (!self.changes.is_empty()).then_some(self.now)
    }

    /// True if the interval cannot be had.
    pub fn is_refused(&self) -> bool {
        self.refused.is_some()
    }

    /// Draws the conclusion of the runs of this length so far, which took `spent_s` with all before them.
    /// True if they become longer, and are to be made again.
    pub fn conclude(&mut self, runs: &[RunRecord], is_whole: bool, spent_s: f64) -> bool {
        match self.decide(runs, is_whole, spent_s) {
            Decision::Enough => false,
            Decision::Refused(why) => {
                self.refused = Some(why);
                false
            }
            Decision::Longer(to, why, point) => {
                // A warm-up that becomes as long as the whole run before is for drift.
                let whole = self.now.warm_up + self.now.measured;
                if to.measured < self.now.measured {
                    self.ends_early = true;
                    self.bounds.max = to.measured;
                }
                let is_longer = to.warm_up > self.now.warm_up;
                self.drifts += usize::from(is_longer && to.warm_up >= whole.min(self.bounds.max));
                self.changes.push(LengthChange {
                    measured_from_ns: self.now.measured.as_ns(),
                    measured_to_ns: to.measured.as_ns(),
                    warm_up_from_ns: self.now.warm_up.as_ns(),
                    warm_up_to_ns: to.warm_up.as_ns(),
                    point: self.plan.points[point].label(),
                    why,
                });
                self.now = to;
                true
            }
        }
    }

    /// The report on the lengths.
    pub fn report(self) -> LengthReport {
        LengthReport {
            measured_ns: self.now.measured.as_ns(),
            warm_up_ns: self.now.warm_up.as_ns(),
            changes: self.changes,
            refused: self.refused,
        }
    }

    fn decide(&self, runs: &[RunRecord], is_whole: bool, spent_s: f64) -> Decision {
        let of_points: Vec<Vec<&RunRecord>> = (0..self.plan.points.len())
            .map(|point| runs.iter().filter(|run| run.point == point && run.counts()).collect())
            .collect();
        if let Some(why) = self.overwhelmed(runs) {
            return Decision::Refused(why);
        }
        // One run of a point shows no drift, but that there may be one: then the others are waited for.
        if !is_whole && of_points.iter().flatten().any(|run| may_drift(run)) {
            return Decision::Enough;
        }
        if let Some((to, why, point)) = self.early_end(&of_points, is_whole) {
            return Decision::Longer(to, why, point);
        }
        let unsettled = if is_whole { self.unsettled(&of_points) } else { None };
        let drift = if is_whole { self.drift(&of_points) } else { None };
        // Where something grows, requests are alike over any time, and no length would do.
        let longest = match drift {
            Some(_) => None,
            None => match self.needy(&of_points) {
                Ok(needy) => {
                    let many = if is_whole { self.too_many(&of_points) } else { None };
                    needy.into_iter().chain(many).max_by(|one, other| one.0.total_cmp(&other.0))
                }
                Err(why) => return Decision::Refused(why),
            },
        };
        let (mut to, mut whys, mut at) = (self.now, Vec::new(), 0);
        match (unsettled, drift) {
            // Times that fall fall to where they settle; those that grow may never.
            (Some((warm_up, point)), drift) if drift.is_none_or(|(drift, _)| drift < 0.0) => {
                to.warm_up = warm_up;
                whys.push("response times settle later than that".to_owned());
                at = point;
            }
            (_, Some((drift, point))) if self.bounds.may_warm_up && self.drifts < DRIFTS_MAX => {
                to.warm_up = (self.now.warm_up + self.now.measured).min(self.bounds.max);
                whys.push(drift_in_words(drift));
                at = point;
            }
            (_, Some((drift, point))) => {
                let advice = match (drift > 0.0, self.bounds.may_warm_up) {
                    (true, _) => "a queue fills; offer less load",
                    (false, true) => "they do not settle",
                    (false, false) => "write a longer warm-up, or none, and it is found",
                };
                return Decision::Refused(format!("{}{}: {advice}", drift_in_words(drift), self.at(point)));
            }
            (_, None) if longest.is_none() => return Decision::Enough,
            (_, None) => {}
        }
        if let Some((ns, why, point)) = longest {
            match self.rounded(ns) {
                Some(measured) => to.measured = measured,
                None => return Decision::Refused(self.too_long(ns, &why, point)),
            }
            whys.push(why);
            at = point;
        }
        if self.changes.len() == CHANGES_MAX {
            return Decision::Refused(format!(
                "runs need the longer the longer they are, at {} now ({}): something grows, or requests are alike over any time",
                self.now.measured,
                whys.join("; ")
            ));
        }
        let refused = self.beyond_budget(runs, to, spent_s).map(Decision::Refused);
        refused.unwrap_or_else(|| Decision::Longer(to, whys.join("; "), at))
    }

    /// Why no run of a point counts, where its server coped in none.
    fn overwhelmed(&self, runs: &[RunRecord]) -> Option<String> {
        (0..self.plan.points.len()).find_map(|point| {
            let own = || runs.iter().filter(move |run| run.point == point);
            let cause = own().next()?.validity.cause()?;
            let failed = |run: &RunRecord| matches!(run.validity, Validity::Overwhelmed { .. });
            own().all(failed).then(|| format!("the server did not cope{} ({cause})", self.at(point)))
        })
    }

    /// The longest length in nanoseconds that half of the runs of a point need, with what they lack; none
    /// where all are long enough.
    fn needy(&self, of_points: &[Vec<&RunRecord>]) -> Result<Option<(f64, String, usize)>, String> {
        let metric = self.metric();
        let mut longest: Option<(f64, String, usize)> = None;
        for (point, runs) in of_points.iter().enumerate() {
            let needs = runs.iter().filter_map(|run| run.reading(metric)?.need.as_ref());
            let mut needs: Vec<&Need> = needs.collect();
            // Those that have an interval need nothing more.
            if runs.is_empty() || needs.len() * 2 <= runs.len() {
                continue;
            }
            needs.sort_by_key(|need| need.length_ns.unwrap_or(u64::MAX));
            let enough = runs.len() - needs.len();
            let middle = (runs.len() / 2).saturating_sub(enough);
            let need = needs[middle.min(needs.len() - 1)];
            let Some(ns) = need.length_ns else {
                return Err(format!(
                    "{}{}, and no length is known that would do",
                    need.lacks,
                    self.at(point)
                ));
            };
            let ns = ns as f64;
            if longest.as_ref().is_none_or(|longest| ns > longest.0) {
                longest = Some((ns, need.lacks.clone(), point));
            }
        }
        Ok(longest)
    }

    /// The length at which there are no more repeats than there may be: a mean of a run twice as long varies
    /// half as much.
    fn too_many(&self, of_points: &[Vec<&RunRecord>]) -> Option<(f64, String, usize)> {
        let most = f64::from(self.plan.repeats_max);
        let of_point = |(point, runs): (usize, &Vec<&RunRecord>)| {
            let (numbers, width) = pilot_numbers(self.plan, runs.iter().copied())?;
            let needed = stein::needed(&numbers, width, LEVEL).filter(|needed| *needed > most)?;
            let why = format!(
                "{} takes {needed:.0} runs of {}, and there may be {most:.0}",
                self.plan.until.as_ref()?,
                self.now.measured
            );
            Some((self.now.measured.as_ns() as f64 * needed / most, why, point))
        };
        let longest = of_points.iter().enumerate().filter_map(of_point);
        longest.max_by(|one, other| one.0.total_cmp(&other.0))
    }

    /// The warm-up that the point needs whose response times settle last, if the warm-ups are shorter.
    fn unsettled(&self, of_points: &[Vec<&RunRecord>]) -> Option<(Duration, usize)> {
        if !self.bounds.may_warm_up {
            return None;
        }
        let settled = |(point, runs): (usize, &Vec<&RunRecord>)| {
            let mut all: Vec<u64> = runs.iter().filter_map(|run| run.course?.settled_ns).collect();
            // Where half of the runs have not settled, their length is what lacks, or they never do.
            if all.len() * 2 <= runs.len() {
                return None;
            }
            // One run's answer varies, and is often late where nothing has to settle: half of them decide.
            all.sort_unstable();
            let is_late = all[all.len() / 2] > self.now.warm_up.as_ns();
            let mean = all.iter().map(|ns| *ns as f64).sum::<f64>() / all.len() as f64;
            is_late.then(|| (Duration::from_ns(two_digits_up(WARM_UP * mean)), point))
        };
        let last = of_points.iter().enumerate().filter_map(settled).max_by_key(|(settled, _)| *settled);
        let last = last.map(|(settled, point)| (settled.min(self.bounds.max), point));
        last.filter(|(warm_up, _)| *warm_up > self.now.warm_up)
    }

    /// The length of runs that end before their ends differ, where they drift for that, and the point at
    /// which they do.
    fn early_end(&self, of_points: &[Vec<&RunRecord>], is_whole: bool) -> Option<(RunLength, String, usize)> {
        let (_, point) = self.drift(of_points).filter(|_| is_whole)?;
        let (measured, end) = self.without_end(&of_points[point])?;
        let why = format!("response times differ in the last {end} of them");
        Some((RunLength { measured, ..self.now }, why, point))
    }

    /// The measured part of runs that end before their ends differ, and the length of these ends, if most
    /// runs have such an end.
    fn without_end(&self, runs: &[&RunRecord]) -> Option<(Duration, Duration)> {
        let whole = self.now.warm_up + self.now.measured;
        let ends: Vec<u64> = runs.iter().filter_map(|run| Some(run.course?.end_ns)).collect();
        let late: Vec<u64> = ends.iter().copied().filter(|end| *end >= whole.as_ns() / END).collect();
        if self.ends_early || late.is_empty() || late.len() * 4 < ends.len() * 3 {
            return None;
        }
        // As for warm-ups, the rule errs to the short side.
        let mean = late.iter().map(|ns| *ns as f64).sum::<f64>() / late.len() as f64;
        let end = Duration::from_ns(two_digits_up(mean));
        let cut = Duration::from_ns(two_digits_up(WARM_UP * mean));
        let half = self.now.measured.as_ns() / 2;
        let left = self.now.measured.as_ns().saturating_sub(cut.as_ns()).max(half);
        Some((Duration::from_ns(left), end))
    }

    /// The mean logarithm of the halves' ratio at the point whose halves differ most, if at any they do.
    fn drift(&self, of_points: &[Vec<&RunRecord>]) -> Option<(f64, usize)> {
        let level = FALSE_ALARMS / of_points.len() as f64;
        let of_point = |(point, runs): (usize, &Vec<&RunRecord>)| {
            let ratios = runs.iter().filter_map(|run| run.course?.halves_ratio);
            let logs: Vec<f64> = ratios.map(f64::ln).filter(|log| log.is_finite()).collect();
            let mean = MeanEstimate::of(&logs).filter(|_| logs.len() >= DRIFT_RUNS)?;
            (mean.p_value() < level && mean.mean.abs() > DRIFT_MIN.ln_1p()).then_some((mean.mean, point))
        };
        let drifts = of_points.iter().enumerate().filter_map(of_point);
        drifts.max_by(|one, other| one.0.abs().total_cmp(&other.0.abs()))
    }

    /// The length that does, with a margin, in two digits; none if it would be longer than runs may be. Needs
    /// vary from run to run: where they are not twice as long as that, runs as long as they may be are tried.
    fn rounded(&self, ns: f64) -> Option<Duration> {
        let max = self.bounds.max;
        let length = Duration::from_ns(two_digits_up(ns * MARGIN)).min(max);
        (ns <= 2.0 * max.as_ns() as f64 && length > self.now.measured).then_some(length)
    }

    fn too_long(&self, ns: f64, why: &str, point: usize) -> String {
        let needed = Duration::from_ns(two_digits_up(ns));
        let (at, max) = (self.at(point), self.bounds.max);
        match self.ends_early {
            true => format!("{why}{at}: it takes runs of {needed}, and after {max} response times differ"),
            false => format!("{why}{at}: it takes runs of {needed}, and --length-max is {max}"),
        }
    }

    /// Why a pilot of runs as long as that would not end in the budget.
    fn beyond_budget(&self, runs: &[RunRecord], to: RunLength, spent_s: f64) -> Option<String> {
        let budget_s = self.plan.budget?.as_secs_f64();
        let jobs = self.plan.jobs.max(1) as f64;
        let (now, then) = (self.now.measured + self.now.warm_up, to.measured + to.warm_up);
        let longest_s = runs.iter().map(|run| run.took_s).fold(0.0, f64::max);
        let each_s = longest_s * then.as_secs_f64() / now.as_secs_f64().max(1e-9);
        let count = self.plan.repeats.max(PILOT) as usize * self.plan.points.len();
        let needed_s = each_s * (count as f64 / jobs).ceil();
        let left_s = (budget_s - spent_s / jobs).max(0.0);
        (needed_s > left_s).then(|| {
            format!(
                "it takes runs of {}: {count} of them take about {needed_s:.0} s, and {left_s:.0} s are left of --budget",
                to.measured
            )
        })
    }

    fn metric(&self) -> &str {
        self.plan.until.as_ref().map_or("", |until| &until.metric)
    }

    /// The point, where there is more than one.
    fn at(&self, point: usize) -> String {
        match self.plan.points[point].label() {
            label if label.is_empty() => String::new(),
            label => format!(" at {label}"),
        }
    }
}

/// The numbers that say how many repeats there must be, on their scale, and the width there; none where one
/// of them is not finite.
pub(super) fn pilot_numbers<'r>(
    plan: &SweepPlan,
    runs: impl Iterator<Item = &'r RunRecord>,
) -> Option<(Vec<f64>, f64)> {
    let until = plan.until.as_ref()?;
    let (mut numbers, mut width) = (Vec::new(), until.width);
    for reading in runs.filter_map(|run| run.reading(&until.metric)) {
        let Some(value) = reading.value else { continue };
        numbers.push(reading.scale.forth(value));
        width = reading.scale.width(until.width);
    }
    numbers.iter().all(|number| number.is_finite()).then_some((numbers, width))
}

/// True if the halves of a run differ by more than those of a run that is stationary mostly do.
fn may_drift(run: &RunRecord) -> bool {
    let ratio = run.course.and_then(|course| course.halves_ratio);
    ratio.is_some_and(|ratio| ratio.ln().abs() > MAY_DRIFT.ln())
}

/// A drift as a clause.
fn drift_in_words(drift: f64) -> String {
    let (word, percent) = if drift > 0.0 { ("grow", drift.exp_m1()) } else { ("fall", -drift.exp_m1()) };
    format!("response times {word} by {:.0} % from the first half of a run to the second", percent * 100.0)
}

/// Nanoseconds rounded up to two digits.
fn two_digits_up(ns: f64) -> u64 {
    let unit = 10_f64.powf(ns.max(1.0).log10().floor() - 1.0).max(1.0);
    ((ns / unit).ceil() * unit).round() as u64
}
