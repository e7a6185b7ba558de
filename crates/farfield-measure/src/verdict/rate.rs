//! Check that the load was begun that the scenario schedules, and of a rate that no share of this machine's
//! time could have begun.
//!
//! A worker that is a little too slow is late with everything, and the rate is a symptom. A rate of many
//! times what its workers begin is the cause itself: they never come to most arrivals, and what they lack
//! meanwhile (descriptors, memory, samples) they would not lack at a rate that fits. [`explains`] tells one
//! from the other by what the workers would have begun had they computed all the time.

use super::advice::{RunView, rounded};
use super::{Check, LimitUnit};
use crate::engine_stats::{Arrivals, WorkerStats};

pub const NAME: &str = "achieved-rate";

pub const CLOSED: &str = "a closed loop has no intended rate: its users come back when they are answered";

/// The rate is the cause if workers that computed all the time would have begun at most this share of it.
const SHARE_BEGUN: f64 = 0.5;

pub fn achieved(run: &RunView<'_>) -> Check {
    let what = "As many arrivals were begun as the load scheduled.";
    let (stats, limit) = (run.stats, run.context.limits.rate_error.as_f64());
    let skip = |why| Check::skipped(NAME, what, limit, LimitUnit::Share, why);
    let arrivals = match stats.arrivals {
        None => return skip(CLOSED),
        Some(arrivals) if arrivals.scheduled == 0 && arrivals.begun == 0 => {
            return skip("no arrival was scheduled");
        }
        Some(arrivals) => arrivals,
    };
    let (begun, scheduled) = (arrivals.begun as f64, arrivals.scheduled as f64);
    let error = (begun - scheduled).abs() / scheduled.max(1.0);
    let seconds = run.fold.window().elapsed(run.until).as_secs_f64();
    let note = (error > limit).then(|| match is_too_high(run) && seconds > 0.0 {
        true => format!(
            "{}/s were offered, more than this machine can begin: {begun} of {scheduled} arrivals were begun",
            rounded(scheduled / seconds)
        ),
        false => format!("{begun} of {scheduled} arrivals were begun"),
    });
    let check = Check::at_most(NAME, what, error, limit, LimitUnit::Share).noted(note);
    check.advised(|| match is_too_high(run) {
        true => "offer a rate that fits this machine (`load.arrivals`, `-R`): one that is a tenth or less of this one, and \
                 more once a run is valid"
            .to_owned(),
        false => run.keep_up(),
    })
}

/// True if most of the arrivals would have been missed even by workers that computed all the time.
fn is_too_high(run: &RunView<'_>) -> bool {
    let Some(Arrivals { scheduled, begun, dropped, .. }) = run.stats.arrivals else { return false };
    let computing: f64 = run.stats.workers.iter().map(WorkerStats::computing).sum();
    let share = computing / run.stats.workers.len().max(1) as f64;
    let missed = scheduled.saturating_sub(begun + dropped);
    let could_take = (begun + dropped) as f64 / share.max(0.01);
    2 * missed > scheduled && could_take < SHARE_BEGUN * scheduled as f64
}

/// True if the rate, as `cause`, explains the failure of `check`, or another cause that of the rate; `None`
/// where the rate decides nothing.
pub fn explains(run: &RunView<'_>, cause: &str, check: &str) -> Option<bool> {
    match (cause, check) {
        (NAME, _) => Some(is_too_high(run)),
        (_, NAME) if is_too_high(run) => Some(false),
        _ => None,
    }
}
