//! Did other work on the machine keep a worker from its processor?
//!
//! Measured at the workers: the share of its time for which one was ready to run and had no processor
//! (`/proc/PID/task/TID/schedstat`), where the kernel counts that; else what other processes and a hypervisor took of
//! the processors. That alone makes no run invalid: where nothing came of it the check does not apply. Where
//! something was late, it is the first cause; but not where the worker would have been full by itself.

use super::advice::Situation;
use super::{Check, CheckState, Unit, timing};

/// Other work below this share of the processors holds nobody up.
const OTHERS_LEAST: f64 = 0.1;
/// Where the kernel does not count how long a worker waited, as much other work as this is taken for the cause.
const OTHERS_MOST: f64 = 0.5;

const NAME: &str = "machine-busy";

pub fn busy(run: &Situation<'_>) -> Check {
    let what = "Where something was late, it was not for want of a processor that other work held.";
    let limit = run.asked.limits.machine_busy.as_f64();
    let skip = |why: &str| Check::skipped(NAME, what, limit, Unit::Share, why);
    let (Some(busiest), Some(machine)) = (run.most_held_up(), run.facts.machine) else {
        return skip("what else runs here is not known");
    };
    let others = machine.others + machine.stolen;
    let waited = match busiest.waited_share() {
        Some(waited)
            if others < OTHERS_LEAST || busiest.computing() > run.asked.limits.worker_busy.as_f64() =>
        {
            // It waited for itself, or for the server that the run started.
            return Check::at_most(NAME, what, waited.min(limit), limit, Unit::Share);
        }
        Some(waited) => waited,
        None if others > OTHERS_MOST => others,
        None => 0.0,
    };
    let check = Check::at_most(NAME, what, waited, limit, Unit::Share);
    let note = (check.state == CheckState::Failed).then(|| run.other_work());
    check.noted(note).advised(|| run.stop_other_work())
}

/// Whether the failure of `cause` explains that of `check`: whatever is listed does, but other work explains no stall
/// for most of which the worker did not wait for a processor. (A process that is stopped does not wait for one.)
pub fn explains(run: &Situation<'_>, cause: &str, check: &str) -> bool {
    if (cause, check) != (NAME, "longest-stall") {
        return true;
    }
    let most_held = run.facts.workers.iter().max_by_key(|worker| worker.stall);
    let (stall, waited) = most_held.map(|worker| (worker.stall, worker.stall_waited)).unwrap_or_default();
    stall.zip(waited).is_none_or(|(stall, waited)| waited.times(2) >= stall)
}

/// Takes the failure back where all the same nothing was late for it.
pub fn excuse_punctual(checks: &mut [Check], explains: impl Fn(&str, &str) -> bool) {
    let late = checks.iter().any(|check| {
        check.state == CheckState::Failed && timing::is_of_time(check) && explains(NAME, &check.name)
    });
    let busy = checks.iter_mut().find(|check| check.name == NAME && check.state == CheckState::Failed);
    if let Some(check) = busy.filter(|_| !late) {
        check.state = CheckState::Skipped;
        check.advice = None;
        let note = check.note.take().unwrap_or_default();
        check.note = Some(format!("{note}, and nothing was late for it"));
    }
}
