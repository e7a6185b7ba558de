//! Causes of a failed check of time: what would have had to be different for it to pass.
//!
//! A worker is late where something took time from it: a quota, the server beside it, other work, the
//! machine's host, a stop, or more work of its own than it has time for. Of each is measured how much time
//! that was ([`Loss`]), and of a failed check by how much it is beyond its limit. What is due while a
//! worker has no processor is late, and so is what comes while it makes up for that, which takes 1 / (1 -
//! u) times as long for a worker that is busy for a share u (the work that comes meanwhile, added up): of
//! what is due all the time, that share. A worker that seldom has something to do loses time only then, for
//! which the lateness added up is the measure. So the time that was lost bounds what can have been late for
//! it, and taken off what was late leaves what would have been late without it. That is a bound, and some
//! of it is chance; a cause counts if it can be half of the excess ([`ENOUGH`]).
//!
//! A check follows from the largest. Where what that leaves is still beyond the limit, the next is taken as
//! well ([`Blame`] each). Where all of them are too little, none is a cause, and the check says so. A limit
//! that the scenario set for a cause is believed: what is within it is not blamed.
//!
//! Sources: Lewis 1973, "Causation" (Journal of Philosophy 70:17), for what a cause is; the length of a
//! busy period that begins with a delay, for example Kleinrock 1975, Queueing Systems 1, section 5.8.

use super::advice::{FULL, RunView};
use super::{APART, BUSY, Check, CheckState, STALL, STEAL, THROTTLED, VerdictLimits, WORKER, timing};
use crate::engine_stats::{MachineStats, WorkerStats};
use crate::histogram::Histogram;
use crate::quantile::Quantile;
use farfield_base::Duration;

/// A cause explains a failed check if it can be this share of what is beyond the limit.
const ENOUGH: f64 = 0.5;
/// A further cause is named if it can be this share.
const FURTHER: f64 = 0.05;
/// Other load below this share of the processors is background work of any machine.
const OTHERS_SOME: f64 = 0.03;
/// Share of other load that counts as lost if the kernel does not count a worker's wait.
const OTHERS_MOST: f64 = 0.5;
/// Work that comes while a worker makes up for a loss makes that at most ten times as long.
const BUSY_MOST: f64 = 0.9;
/// Time that the host took is counted in ticks of the kernel.
const TICK_S: f64 = 0.01;
/// The share of a stall that must be a cause's own.
const OF_A_STALL: f64 = 0.5;
/// Times that are looked up to add up all that are beyond a limit.
const LOOKED_UP: u64 = 32;

/// A cause of a failed check.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Blame {
    /// The check that measures it.
    pub cause: &'static str,
    /// The share of what is beyond the limit that it can be: at most 1.
    pub explained: f64,
    /// Largest measurement of the cause's check for which the failed check passes.
    passes_at: f64,
    /// Measurement of the cause's check.
    measured: f64,
}

/// The causes found for a failed check.
#[derive(Debug, Clone, PartialEq)]
pub struct CauseFinding {
    /// The failed check.
    pub check: String,
    /// Causes of the failure, the largest first; empty if nothing that was measured explains it.
    pub causes: Vec<Blame>,
    /// The largest of what was measured, where all of it is too little.
    pub too_little: Option<Blame>,
}

/// Time that workers lost to a cause.
#[derive(Debug, Clone, Copy)]
struct Loss {
    cause: &'static str,
    /// Share of the time in which something could be late for it, on average.
    reach: f64,
    /// Share of its time that the worker lost that lost most.
    most: f64,
    /// Seconds in which that worker could be late for it.
    longest_s: f64,
    /// Seconds that all of them lost.
    all_s: f64,
}

impl Loss {
    fn of(cause: &'static str, workers: &[WorkerStats], lost: impl Fn(&WorkerStats) -> f64) -> Loss {
        let count = workers.len().max(1) as f64;
        let mut sum = Loss { cause, reach: 0.0, most: 0.0, longest_s: 0.0, all_s: 0.0 };
        for worker in workers.iter().filter(|worker| !worker.wall.is_zero()) {
            let wall_s = worker.wall.as_secs_f64();
            let lost_s = lost(worker).clamp(0.0, wall_s);
            let makes_up = 1.0 / (1.0 - worker.computing().min(BUSY_MOST));
            sum.reach += lost_s / wall_s * makes_up / count;
            sum.most = sum.most.max(lost_s / wall_s);
            sum.longest_s = sum.longest_s.max(lost_s * makes_up);
            sum.all_s += lost_s;
        }
        sum
    }
}

/// Division of a worker's wait for its processor.
struct Waits {
    /// Seconds of each worker for which a quota was used up.
    throttled_s: f64,
    /// The share of the rest in which the server's own threads ran, bound to its processor.
    beside: f64,
    /// The share in which other work ran.
    others: f64,
    /// Seconds for which other work ran on all processors, as a share of the time.
    others_of_time: f64,
}

impl Waits {
    fn of(run: &RunView<'_>) -> Waits {
        let machine = run.stats.machine.unwrap_or_default();
        let MachineStats { others, server, .. } = machine;
        let bound = run.stats.server_beside.as_ref().map(|beside| beside.threads > 0);
        let server_part = if others + server > 0.0 { server / (others + server) } else { 0.0 };
        let [beside, server] = match (bound, run.stats.server_time.is_some() || server > 0.0) {
            (Some(true), true) => [server_part; 2],
            // Its time is not known.
            (Some(true), false) => [1.0; 2],
            // It runs elsewhere.
            (Some(false), _) => [0.0; 2],
            // It may run there, which is no fault of its placement.
            (None, _) => [0.0, server_part],
        };
        let others_part = if others < OTHERS_SOME { 0.0 } else { 1.0 - server };
        let workers = run.stats.workers.len().max(1) as f64;
        Waits {
            throttled_s: machine.throttled.unwrap_or_default().as_secs_f64() / workers,
            beside,
            others: others_part,
            others_of_time: others * f64::from(machine.processors),
        }
    }

    /// Seconds for which a worker waited, for more than moments, and not for the quota.
    fn held_s(&self, worker: &WorkerStats) -> Option<f64> {
        let held = worker.held.or(worker.waited)?.as_secs_f64();
        Some((held - self.throttled_s).max(0.0))
    }

    /// Seconds for which others held its processor: no longer than they ran.
    fn by_others_s(&self, worker: &WorkerStats) -> f64 {
        let ran_s = self.others_of_time * worker.wall.as_secs_f64();
        match self.held_s(worker) {
            Some(held_s) => (held_s * self.others).min(ran_s),
            None if self.others > 0.0 && self.others_of_time > OTHERS_MOST => ran_s,
            None => 0.0,
        }
    }
}

/// Seconds that the host took of each worker: of all processors that it may use, as it may have used any. A
/// tick of the kernel's on each is none, as far as the count goes.
pub fn stolen_s(run: &RunView<'_>, worker: &WorkerStats) -> f64 {
    let Some(machine) = run.stats.machine else { return 0.0 };
    let processors = match run.stats.processors.len() {
        0 => f64::from(machine.processors),
        own => own as f64,
    };
    let taken_s = machine.stolen_from_workers.unwrap_or(0.0) * worker.wall.as_secs_f64() * processors;
    match taken_s > (processors + 1.0) * TICK_S {
        true => taken_s / (run.stats.workers.len() as f64).min(processors).max(1.0),
        false => 0.0,
    }
}

/// Losses of the workers, the strongest first where two are as large.
fn losses(run: &RunView<'_>) -> [Loss; 5] {
    let (workers, waits) = (&run.stats.workers[..], Waits::of(run));
    [
        Loss::of(THROTTLED, workers, |_| waits.throttled_s),
        Loss::of(APART, workers, |worker| waits.held_s(worker).unwrap_or(0.0) * waits.beside),
        Loss::of(BUSY, workers, |worker| waits.by_others_s(worker)),
        Loss::of(STEAL, workers, |worker| stolen_s(run, worker)),
        // Time that a host takes looks like a stop from inside.
        Loss::of(STALL, workers, |worker| worker.stopped.as_secs_f64() - stolen_s(run, worker)),
    ]
}

/// The share of their work that workers did where they had more to do than they could.
fn crowded_share(run: &RunView<'_>) -> f64 {
    let workers = &run.stats.workers;
    if is_full(run) {
        return 1.0;
    }
    let computed: f64 = workers.iter().map(|worker| worker.computing() * worker.wall.as_secs_f64()).sum();
    let crowded: f64 = workers.iter().map(|worker| worker.crowded.as_secs_f64()).sum();
    if computed > 0.0 { (crowded / computed).min(1.0) } else { 0.0 }
}

/// True if a worker computed for longer than it may: it would have been late whatever else ran.
pub fn is_full(run: &RunView<'_>) -> bool {
    fullest(run) > run.context.limits.worker_busy.as_f64()
}

fn fullest(run: &RunView<'_>) -> f64 {
    run.stats.workers.iter().map(WorkerStats::computing).fold(0.0, f64::max)
}

/// By how much a failed check is beyond its limit, in a unit of its own.
enum Excess<'a> {
    /// Times beyond a limit, more than one in a hundred.
    Late { times: &'a Histogram, limit: Duration, late: f64, over: f64 },
    /// Turns beyond a limit, more than one in a hundred; a loss makes a turn longer by itself.
    Turns { times: &'a Histogram, limit: Duration, late: f64, over: f64 },
    /// A worker is busy for so much more of its time.
    Busy(f64),
    /// A stall, in seconds, of this worker, and how much of that is too long.
    Stall { worker: &'a WorkerStats, stall_s: f64, over_s: f64 },
    /// Arrivals that were not begun, more of those `scheduled` than may be.
    Missed { scheduled: f64, missed: f64, over: f64 },
    /// The gateway lost packets, which nobody counts by cause.
    Overruns,
}

impl<'a> Excess<'a> {
    fn of(run: &RunView<'a>, check: &Check) -> Option<Excess<'a>> {
        let stats = run.stats;
        let limit = Duration::from_ns(check.limit as u64);
        let late = |times: &'a Histogram| {
            let (late, over) = beyond_p99(times, limit);
            Some(Excess::Late { times, limit, late, over })
        };
        match check.name.as_str() {
            "send-lateness" => late(&stats.lateness),
            "departure-lateness" => late(&stats.network.as_ref()?.lateness.departure),
            "pickup-lateness" => late(&stats.network.as_ref()?.lateness.pickup),
            "arrival-lateness" => late(&stats.network.as_ref()?.lateness.arrival),
            "crossing-lateness" => late(&stats.network.as_ref()?.lateness.crossing),
            "loop-lag" => {
                let times = &stats.loop_lag;
                let (late, over) = beyond_p99(times, limit);
                Some(Excess::Turns { times, limit, late, over })
            }
            WORKER => Some(Excess::Busy(check.measured? - check.limit)),
            STALL => {
                let worker = stats.workers.iter().max_by_key(|worker| worker.stall)?;
                let stall_s = worker.stall?.as_secs_f64();
                Some(Excess::Stall { worker, stall_s, over_s: stall_s - limit.as_secs_f64() })
            }
            "achieved-rate" => {
                let arrivals = stats.arrivals?;
                let (scheduled, begun) = (arrivals.scheduled as f64, arrivals.begun as f64);
                let missed = scheduled - begun;
                Some(Excess::Missed { scheduled, missed, over: missed - check.limit * scheduled })
            }
            "gateway-overruns" => Some(Excess::Overruns),
            _ => None,
        }
    }

    /// The excess over the limit, in the unit of each kind.
    fn over(&self) -> f64 {
        match *self {
            Excess::Late { over, .. } | Excess::Turns { over, .. } | Excess::Missed { over, .. } => over,
            Excess::Busy(over) => over,
            Excess::Stall { over_s, .. } => over_s,
            Excess::Overruns => 1.0,
        }
    }

    /// The amount beyond the limit in all, if only a part of that is too much.
    fn all(&self) -> f64 {
        match *self {
            Excess::Late { late, .. } | Excess::Turns { late, .. } => late,
            Excess::Missed { missed, .. } => missed,
            Excess::Stall { stall_s, .. } => stall_s,
            Excess::Busy(_) | Excess::Overruns => f64::INFINITY,
        }
    }

    /// The part of the excess that the loss can be.
    fn by(&self, run: &RunView<'_>, loss: &Loss) -> f64 {
        match self {
            Excess::Late { times, limit, late, .. } => {
                let all_the_time = times.count() as f64 * loss.reach;
                let seldom = late * loss.all_s / sum_beyond_s(times, *limit);
                all_the_time.max(seldom).min(beyond_within(times, *limit, loss.longest_s))
            }
            Excess::Turns { times, limit, late, .. } => {
                let turns = late * loss.all_s / sum_beyond_s(times, *limit);
                turns.min(beyond_within(times, *limit, loss.longest_s))
            }
            // A stop is no work to be done.
            Excess::Busy(_) => {
                if loss.cause == STALL {
                    0.0
                } else {
                    loss.most
                }
            }
            Excess::Stall { worker, stall_s, .. } => of_stall(run, worker, *stall_s, loss.cause),
            Excess::Missed { scheduled, missed, .. } => (scheduled * loss.reach).min(*missed),
            Excess::Overruns => {
                if loss.most > limit_of(run.context.limits, loss.cause) {
                    1.0
                } else {
                    0.0
                }
            }
        }
    }

    /// The part of the excess that the workers' own work can be, of which they did `crowded` where they had
    /// too much to do.
    fn by_own_work(&self, crowded: f64) -> f64 {
        match *self {
            Excess::Late { late, .. } | Excess::Turns { late, .. } => late * crowded,
            Excess::Missed { missed, .. } => missed * crowded,
            Excess::Overruns => crowded,
            Excess::Stall { worker, stall_s, .. } => own_stall(worker, stall_s),
            Excess::Busy(_) => 0.0,
        }
    }

    /// True if a worker that has little time to spare may be late, or miss, so much at random.
    fn may_be_chance(&self) -> bool {
        matches!(self, Excess::Late { .. } | Excess::Turns { .. } | Excess::Missed { .. } | Excess::Overruns)
    }
}

/// The number of times beyond the limit of their p99, and how many of these are too many.
fn beyond_p99(times: &Histogram, limit: Duration) -> (f64, f64) {
    let count = times.count();
    let rank = Quantile::P99.rank(count).unwrap_or(0).min(count.saturating_sub(1));
    let late = count - times.counts_up_to(&[limit], &|| {})[0];
    (late as f64, late.saturating_sub(count - rank) as f64)
}

/// The number of times beyond the limit, but not longer than `most_s` and the limit.
fn beyond_within(times: &Histogram, limit: Duration, most_s: f64) -> f64 {
    let most = limit + Duration::from_secs_f64(most_s);
    let counts = times.counts_up_to(&[limit, most], &|| {});
    (counts[1] - counts[0]) as f64
}

/// The sum of the times beyond the limit, of which some are looked up.
fn sum_beyond_s(times: &Histogram, limit: Duration) -> f64 {
    let up_to = times.counts_up_to(&[limit], &|| {})[0];
    let late = times.count() - up_to;
    let ranks: Vec<u64> =
        (0..LOOKED_UP).map(|nth| up_to + 1 + late.saturating_sub(1) * nth / (LOOKED_UP - 1)).collect();
    let seconds = times.at_ranks(&ranks).into_iter().flatten().map(Duration::as_secs_f64);
    (seconds.sum::<f64>() / LOOKED_UP as f64 * late as f64).max(f64::MIN_POSITIVE)
}

/// Seconds of a worker's longest stall in which it can have computed; none where that is the smaller part.
fn own_stall(worker: &WorkerStats, stall_s: f64) -> f64 {
    let away = worker.stall_waited.unwrap_or_default() + worker.stopped;
    let computed_s = (stall_s - away.as_secs_f64()).min(worker.crowded.as_secs_f64());
    if computed_s >= OF_A_STALL * stall_s { computed_s } else { 0.0 }
}

/// Seconds of a worker's longest stall that a cause can have taken; none where that is the smaller part.
fn of_stall(run: &RunView<'_>, worker: &WorkerStats, stall_s: f64, cause: &'static str) -> f64 {
    let waits = Waits::of(run);
    // A wait that was not seen takes the share that it has of the rest of the run.
    let waited_s = worker.stall_waited.map(Duration::as_secs_f64);
    let waited_s = waited_s.unwrap_or_else(|| worker.waited_share().unwrap_or(0.0) * stall_s).min(stall_s);
    let by_quota_s = waits.throttled_s.min(waited_s);
    let of_rest_s = waited_s - by_quota_s;
    let taken_s = match cause {
        THROTTLED => by_quota_s,
        APART => of_rest_s * waits.beside,
        BUSY => of_rest_s * waits.others,
        STEAL => stolen_s(run, worker).min(stall_s),
        _ => 0.0,
    };
    if taken_s >= OF_A_STALL * stall_s { taken_s } else { 0.0 }
}

/// The causes of each failed check of time.
pub fn findings(run: &RunView<'_>, checks: &[Check]) -> Vec<CauseFinding> {
    let failed = checks.iter().filter(|check| check.state == CheckState::Failed && timing::is_of_time(check));
    let losses = losses(run);
    let known =
        |name: &str| checks.iter().find(|check| check.name == name && check.state != CheckState::Skipped);
    failed
        .filter_map(|check| {
            let excess = Excess::of(run, check)?;
            let mut found: Vec<Blame> = losses
                .iter()
                .filter(|loss| loss.cause != check.name && known(loss.cause).is_some())
                .filter(|loss| !is_allowed(run.context.limits, loss.cause, measured_by(run, loss)))
                .filter(|loss| !(is_full(run) && [BUSY, STEAL].contains(&loss.cause)))
                .map(|loss| blame(&excess, loss.cause, excess.by(run, loss), measured_by(run, loss)))
                .collect();
            if check.name != WORKER
                && let Some(worker) = known(WORKER)
            {
                let by_own = excess.by_own_work(crowded_share(run));
                let busy = worker.measured.unwrap_or(0.0);
                if !is_allowed(run.context.limits, WORKER, busy) {
                    found.push(blame(&excess, WORKER, by_own, busy));
                }
            }
            Some(decide(run, check, &excess, found, known(WORKER)))
        })
        .collect()
}

fn blame(excess: &Excess<'_>, cause: &'static str, by: f64, measured: f64) -> Blame {
    let explained = by / excess.over().max(f64::MIN_POSITIVE);
    // Without so much of it, what is left is at the limit.
    let passes_at = measured * (1.0 - 1.0 / explained.max(1.0));
    Blame { cause, explained, passes_at, measured }
}

/// Takes the largest, and further ones until what they leave is within the limit.
fn decide(
    run: &RunView<'_>,
    check: &Check,
    excess: &Excess<'_>,
    mut found: Vec<Blame>,
    worker: Option<&Check>,
) -> CauseFinding {
    // Stable: of two that are as large, the stronger stays first.
    found.sort_by(|one, other| other.explained.total_cmp(&one.explained));
    let all = excess.all() / excess.over().max(f64::MIN_POSITIVE);
    let mut causes: Vec<Blame> = Vec::new();
    let mut left = all;
    for next in found.iter().filter(|next| next.explained >= FURTHER) {
        if !causes.is_empty() && left <= all - 1.0 {
            break;
        }
        left -= next.explained;
        causes.push(*next);
    }
    let sum: f64 = causes.iter().map(|cause| cause.explained).sum();
    let check_name = check.name.clone();
    if sum >= ENOUGH {
        let alone = causes.len() == 1;
        for cause in &mut causes {
            cause.explained = cause.explained.min(1.0);
            cause.passes_at = if alone { cause.passes_at } else { 0.0 };
        }
        return CauseFinding { check: check_name, causes, too_little: None };
    }
    let too_little = found.first().copied().filter(|blame| blame.explained > 0.01);
    let busy = fullest(run);
    let may_be_own = check.name != WORKER && excess.may_be_chance() && busy > FULL;
    match worker.filter(|_| may_be_own && !is_allowed(run.context.limits, WORKER, busy)) {
        Some(worker) => {
            let measured = worker.measured.unwrap_or(busy);
            let own = Blame { cause: WORKER, explained: 1.0, passes_at: FULL.min(measured), measured };
            CauseFinding { check: check_name, causes: vec![own], too_little: None }
        }
        None => CauseFinding { check: check_name, causes: Vec::new(), too_little },
    }
}

/// The measurement of a cause's check: of a stop the longest, of all else a share of the time.
fn measured_by(run: &RunView<'_>, loss: &Loss) -> f64 {
    match loss.cause {
        STALL => {
            let longest = run.stats.workers.iter().filter_map(|worker| worker.stall).max();
            longest.unwrap_or_default().as_ns() as f64
        }
        APART => run.stats.server_beside.as_ref().map_or(0.0, |beside| f64::from(beside.threads)),
        _ => loss.most,
    }
}

fn limit_of(limits: &VerdictLimits, cause: &str) -> f64 {
    match cause {
        THROTTLED => limits.throttled.as_f64(),
        BUSY => limits.machine_busy.as_f64(),
        STEAL => limits.host_steal.as_f64(),
        WORKER => limits.worker_busy.as_f64(),
        STALL => limits.longest_stall.as_ns() as f64,
        _ => 0.0,
    }
}

/// True if the scenario set a limit for the cause, and it is within that.
fn is_allowed(limits: &VerdictLimits, cause: &str, measured: f64) -> bool {
    let (limit, by_default) = (limit_of(limits, cause), limit_of(&VerdictLimits::default(), cause));
    limit != by_default && measured <= limit
}

/// Makes the checks of causes that were found fail, and takes failures of these back that were no cause;
/// `stays` names those that are judged by themselves.
pub fn apply(
    run: &RunView<'_>,
    checks: &mut [Check],
    findings: &[CauseFinding],
    stays: impl Fn(&str) -> bool,
) {
    for cause in [THROTTLED, APART, BUSY, STEAL, WORKER, STALL] {
        let blamed = findings.iter().flat_map(|finding| &finding.causes).filter(|blame| blame.cause == cause);
        let strictest = blamed.min_by(|one, other| one.passes_at.total_cmp(&other.passes_at));
        let Some(check) = checks.iter_mut().find(|check| check.name == cause) else { continue };
        match (strictest, check.state) {
            (Some(blame), CheckState::Passed) => {
                check.state = CheckState::Failed;
                (check.measured, check.limit) = (Some(blame.measured), blame.passes_at);
                (check.note, check.advice) = run.of_cause(cause);
            }
            (None, CheckState::Failed) if ![WORKER, STALL].contains(&cause) && !stays(cause) => {
                check.take_back("and nothing was late for it");
            }
            _ => {}
        }
    }
    for finding in findings.iter().filter(|finding| finding.causes.is_empty()) {
        let check = checks.iter_mut().find(|check| check.name == finding.check);
        let says_so = |check: &&mut Check| ![WORKER, STALL].contains(&check.name.as_str());
        if let Some(check) = check.filter(says_so) {
            check.advice = Some(run.unexplained(finding.too_little));
        }
    }
}
