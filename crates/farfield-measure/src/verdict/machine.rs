//! Checks that neither other load on the machine, nor the machine's host, nor a quota of farfield's own
//! control group, kept a worker from its processor.
//!
//! Other load is measured at the workers: the share of its time for which a worker was ready to run and had
//! no processor (`/proc/PID/task/TID/schedstat`), if the kernel counts that; otherwise the share of other
//! processes in the processors' time. The time that a virtual machine's host took from the workers'
//! processors (steal) is the kernel's count, and so is the time for which a quota was used up.
//!
//! None of them makes a run invalid by itself. Where something was late, [what they can have made
//! late](super::counterfactual) decides, whatever their limits; these are of where they are judged by
//! themselves.
//!
//! In a closed load without think times users ask again as soon as they are answered, and ask for the less
//! the longer a worker waits: a few of many requests are late, and all the others never came to be. No
//! schedule shows that, so there other load is judged by itself.

use super::advice::RunView;
use super::counterfactual::is_full;
use super::{Check, CheckState, LimitUnit, timing};
use farfield_base::Instant;

/// Other load below this share of the processors delays no worker.
const OTHERS_LEAST: f64 = 0.1;
/// Share of other load that counts as the cause if the kernel does not count a worker's wait.
const OTHERS_MOST: f64 = 0.5;

pub const BUSY: &str = "machine-busy";
pub const STEAL: &str = "host-steal";
pub const THROTTLED: &str = "throttled";

pub fn busy(run: &RunView<'_>) -> Check {
    let what = match is_judged_alone(run) {
        true => "No worker was kept from its processor for long by other work.",
        false => "Where something was late, it was not for want of a processor that other work held.",
    };
    let limit = run.context.limits.machine_busy.as_f64();
    let skip = |why: &str| Check::skipped(BUSY, what, limit, LimitUnit::Share, why);
    let (Some(held_up), Some(machine)) = (run.most_held_up(), run.stats.machine) else {
        return skip("what else runs here is not known");
    };
    let others = machine.others;
    // A group that used up its quota waits for that.
    let throttled = throttled_share(run).unwrap_or(0.0);
    let waited = match held_up.waited_share().map(|waited| (waited - throttled).max(0.0)) {
        Some(waited) if others < OTHERS_LEAST || is_full(run) => {
            // It waited for itself, or for the server.
            return Check::at_most(BUSY, what, waited.min(limit), limit, LimitUnit::Share);
        }
        // Of what was there to wait for, the server is no other work.
        Some(waited) => waited * others / (others + machine.server),
        None if others > OTHERS_MOST => others,
        None => 0.0,
    };
    described(run, Check::at_most(BUSY, what, waited, limit, LimitUnit::Share))
}

/// The check with its note and its advice, if it failed.
fn described(run: &RunView<'_>, check: Check) -> Check {
    if check.state != CheckState::Failed {
        return check;
    }
    let (note, advice) = run.of_cause(&check.name);
    Check { note, advice, ..check }
}

/// Time that the host takes is taken in pieces of milliseconds, and what was due meanwhile is late, one
/// after the other: a share far below the hundredth that a p99 allows can be the cause.
pub fn steal(run: &RunView<'_>) -> Check {
    let what = "Where something was late, the machine's host had not taken the workers' processors away.";
    let limit = run.context.limits.host_steal.as_f64();
    let Some(stolen) = run.stats.machine.and_then(|machine| machine.stolen_from_workers) else {
        return Check::skipped(STEAL, what, limit, LimitUnit::Share, "what the host takes is not known");
    };
    let stolen = if is_full(run) { stolen.min(limit) } else { stolen };
    described(run, Check::at_most(STEAL, what, stolen, limit, LimitUnit::Share))
}

/// True if other load is judged though nothing was late: no schedule would show it, and there is more than a
/// moment of it.
fn is_judged_alone(run: &RunView<'_>) -> bool {
    run.stats.asks_at_once && run.fold.steady().requests() >= timing::FEW
}

/// The quota of a control group is used up a part of each period, of mostly 100 ms, and nothing in the group
/// runs for the rest of it: like steal, a small share makes a p99 late.
pub fn throttled(run: &RunView<'_>) -> Check {
    let what = "Where something was late, the quota of farfield's control group was not used up.";
    let limit = run.context.limits.throttled.as_f64();
    let skip = |why: &str| Check::skipped(THROTTLED, what, limit, LimitUnit::Share, why);
    if run.stats.machine.is_none_or(|machine| machine.throttled.is_none()) {
        return skip("no control group limits farfield's processor time");
    }
    match throttled_share(run) {
        None => skip("no time has passed"),
        Some(share) => described(run, Check::at_most(THROTTLED, what, share, limit, LimitUnit::Share)),
    }
}

/// The share of their time for which the workers' group was kept from running.
fn throttled_share(run: &RunView<'_>) -> Option<f64> {
    let time = run.stats.machine?.throttled?;
    let wall = run.stats.ended.unwrap_or(run.until.since(Instant::ZERO)).as_secs_f64();
    (wall > 0.0).then(|| (time.as_secs_f64() / wall / run.stats.workers.len().max(1) as f64).min(1.0))
}

/// True if a failure of the check stays one where nothing was late: other load, and a quota that was used
/// up, where no schedule shows what is late. Users who come back at once are slower for it.
pub fn is_judged_by_itself(run: &RunView<'_>, check: &str) -> bool {
    let nothing_is_due = run.stats.network.is_none() && run.stats.lateness.count() < timing::FEW;
    match check {
        BUSY => is_judged_alone(run),
        THROTTLED => is_judged_alone(run) || nothing_is_due,
        _ => false,
    }
}
