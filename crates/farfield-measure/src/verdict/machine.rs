//! Checks that neither other load on the machine, nor the machine's host, nor a quota of farfield's own
//! control group, kept a worker from its processor.
//!
//! Other load is measured at the workers: the share of its time for which a worker was ready to run and had
//! no processor (`/proc/PID/task/TID/schedstat`), if the kernel counts that; otherwise the share of other
//! processes in the processors' time. The time that a virtual machine's host took from the workers'
//! processors (steal) is the kernel's count, and so is the time for which a quota was used up.
//!
//! None of them makes a run invalid by itself: if nothing was late the check does not apply. If something was
//! late, it is the first cause, unless the worker would have been too busy by itself.
//!
//! In a closed load without think times users ask again as soon as they are answered, and ask for the less
//! the longer a worker waits: a few of many requests are late, and all the others never came to be. No
//! schedule shows that, so there other load is judged by itself.

use super::advice::RunView;
use super::{Check, CheckState, Unit, timing};
use farfield_base::{Duration, Instant};

/// Other load below this share of the processors delays no worker.
const OTHERS_LEAST: f64 = 0.1;
/// Share of other load that counts as the cause if the kernel does not count a worker's wait.
const OTHERS_MOST: f64 = 0.5;

pub const BUSY: &str = "machine-busy";
const STEAL: &str = "host-steal";
const THROTTLED: &str = "throttled";

pub fn busy(run: &RunView<'_>) -> Check {
    let what = match is_judged_alone(run) {
        true => "No worker was kept from its processor for long by other work.",
        false => "Where something was late, it was not for want of a processor that other work held.",
    };
    let limit = run.context.limits.machine_busy.as_f64();
    let skip = |why: &str| Check::skipped(BUSY, what, limit, Unit::Share, why);
    let (Some(held_up), Some(machine)) = (run.most_held_up(), run.stats.machine) else {
        return skip("what else runs here is not known");
    };
    let others = machine.others;
    let waited = match held_up.waited_share() {
        Some(waited) if others < OTHERS_LEAST || is_full(run) => {
            // It waited for itself, or for the server.
            return Check::at_most(BUSY, what, waited.min(limit), limit, Unit::Share);
        }
        // Of what was there to wait for, the server is no other work.
        Some(waited) => waited * others / (others + machine.server),
        None if others > OTHERS_MOST => others,
        None => 0.0,
    };
    let check = Check::at_most(BUSY, what, waited, limit, Unit::Share);
    let note = (check.state == CheckState::Failed).then(|| run.other_work());
    check.noted(note).advised(|| run.stop_other_work())
}

/// Time that the host takes is taken in pieces of milliseconds, and what was due meanwhile is late, one
/// after the other: a share far below the hundredth that a p99 allows can be the cause.
pub fn steal(run: &RunView<'_>) -> Check {
    let what = "Where something was late, the machine's host had not taken the workers' processors away.";
    let limit = run.context.limits.host_steal.as_f64();
    let Some(stolen) = run.stats.machine.and_then(|machine| machine.stolen_from_workers) else {
        return Check::skipped(STEAL, what, limit, Unit::Share, "what the host takes is not known");
    };
    if is_full(run) {
        return Check::at_most(STEAL, what, stolen.min(limit), limit, Unit::Share);
    }
    let check = Check::at_most(STEAL, what, stolen, limit, Unit::Share);
    // So short that it stands behind the share on a line of the terminal.
    let note = (check.state == CheckState::Failed).then(|| "taken by the virtual machine's host".to_owned());
    check.noted(note).advised(|| {
        "measure when the host is quiet, or on a machine of its own: nothing on this machine can change it"
            .to_owned()
    })
}

/// Whether other load is judged though nothing was late: no schedule would show it, and there is more than a
/// moment of it.
fn is_judged_alone(run: &RunView<'_>) -> bool {
    run.stats.asks_at_once && run.fold.steady().requests() >= timing::FEW
}

/// The quota of a control group is used up a part of each period, of mostly 100 ms, and nothing in the group
/// runs for the rest of it: like steal, a small share makes a p99 late.
pub fn throttled(run: &RunView<'_>) -> Check {
    let what = "Where something was late, the quota of farfield's control group was not used up.";
    let limit = run.context.limits.throttled.as_f64();
    let skip = |why: &str| Check::skipped(THROTTLED, what, limit, Unit::Share, why);
    let Some((machine, time)) = run.stats.machine.and_then(|machine| Some((machine, machine.throttled?)))
    else {
        return skip("no control group limits farfield's processor time");
    };
    let wall = run.until.since(Instant::ZERO).as_secs_f64();
    if wall <= 0.0 {
        return skip("no time has passed");
    }
    let share = (time.as_secs_f64() / wall / run.stats.workers.len().max(1) as f64).min(1.0);
    let processors = machine.quota.map_or(String::new(), |quota| format!(" of {quota:.2} processors"));
    let check = Check::at_most(THROTTLED, what, share, limit, Unit::Share);
    let note = (check.state == CheckState::Failed).then(|| {
        format!(
            "the quota{processors} of farfield's control group was used up, and it waited for {:.2} s in all",
            time.as_secs_f64()
        )
    });
    check.noted(note).advised(|| {
        "give farfield's control group more processor time (`cpu.max`, in version 1 `cpu.cfs_quota_us`; a container's \
         `--cpus`), run outside it, or offer less"
            .to_owned()
    })
}

/// Whether a worker computed for longer than it may: it would have been late whatever else ran.
fn is_full(run: &RunView<'_>) -> bool {
    let limit = run.context.limits.worker_busy.as_f64();
    run.stats.workers.iter().any(|worker| worker.computing() > limit)
}

/// Whether the failure of `cause` explains that of `check`: whatever is listed does, but neither other work
/// nor the host explains a stall that was mostly something else. (A process that is stopped does not wait
/// for a processor.)
pub fn explains(run: &RunView<'_>, cause: &str, check: &str) -> bool {
    let most_held = run.stats.workers.iter().max_by_key(|worker| worker.stall);
    let Some((worker, stall)) = most_held.and_then(|worker| Some((worker, worker.stall?))) else {
        return true;
    };
    let held = match (cause, check) {
        (BUSY, "longest-stall") => worker.stall_waited.map(Duration::as_secs_f64),
        (STEAL, "longest-stall") => {
            let share = run.stats.machine.and_then(|machine| machine.stolen_from_workers);
            share.map(|share| share * worker.wall.as_secs_f64())
        }
        _ => None,
    };
    held.is_none_or(|held| 2.0 * held >= stall.as_secs_f64())
}

/// Takes a failure of these checks back where all the same nothing was late for it. Other load, and a quota
/// that was used up, stay one where no schedule shows what is late: users who come back at once are slower
/// for it.
pub fn excuse_punctual(run: &RunView<'_>, checks: &mut [Check], explains: impl Fn(&str, &str) -> bool) {
    let is_alone = is_judged_alone(run);
    let nothing_is_due = run.stats.network.is_none() && run.stats.lateness.count() < timing::FEW;
    let names = [(BUSY, is_alone), (STEAL, false), (THROTTLED, is_alone || nothing_is_due)];
    for name in names.into_iter().filter_map(|(name, stays)| (!stays).then_some(name)) {
        let late = checks.iter().any(|check| {
            check.state == CheckState::Failed && timing::is_of_time(check) && explains(name, &check.name)
        });
        let held_up = checks.iter_mut().find(|check| check.name == name && check.state == CheckState::Failed);
        if let Some(check) = held_up.filter(|_| !late) {
            check.take_back("and nothing was late for it");
        }
    }
}
