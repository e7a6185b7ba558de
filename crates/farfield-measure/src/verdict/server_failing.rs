//! Check that the server still answered at the end of the load: what stands before a server that is gone, a
//! proxy or a listener without a worker behind it, resets connections, breaks replies off or sends statuses
//! of 500 and more. That is no silence, and leaves as little to measure.
//!
//! The check fails if, from some instant to the end of the load, requests failed in these ways and the server
//! sent no reply of its own. Its own are a success, a status from 400 to 499, and a reply that a check, a
//! limit or a rule of the scenario refuses. Requests that the client gave up count neither way: a server
//! whose queue grows past what clients wait for is slow. A refused connection is for
//! [`server-silent`](super::server). As many failures in a row must be no chance at the share of failures
//! before them, so that a server that fails most requests throughout fails no check.

use super::advice::RunView;
use super::server::limit;
use super::{Check, CheckState, LimitUnit};
use crate::failing::{self, Ends, is_no_chance};
use farfield_base::{Duration, Fault, Instant, Outcome};

pub const NAME: &str = "server-failing";

/// `silent` is what the check of the server's silence came to.
pub fn failing(run: &RunView<'_>, silent: CheckState) -> Check {
    let what = "The server did not fail everything from some instant to the end of the load.";
    let limit = limit(run, failing::LEAST, |limits| limits.server_failing);
    let skip = |why: &str| Check::skipped(NAME, what, limit.as_ns() as f64, LimitUnit::Ns, why);
    if run.stats.plane == "simulated" {
        return skip("the server is a model");
    }
    if run.context.heading.load.is_overload() {
        return skip("an overload may make a server fail everything: that is what it measures");
    }
    if run.context.limits.succeeded.as_f64() == 0.0 {
        return skip("the scenario allows that nothing succeeds");
    }
    if silent == CheckState::Failed {
        return skip("the server was silent");
    }
    let (measured, note) = match failing_end(run) {
        Some((time, note)) => (time, (time > limit).then_some(note)),
        None => (Duration::ZERO, None),
    };
    let check = Check::at_most(NAME, what, measured.as_ns() as f64, limit.as_ns() as f64, LimitUnit::Ns);
    check.noted(note).advised(|| {
        "see whether the server behind what answers still runs (its log, that of the proxy before it, `curl`), and run \
         again; a server that may fail everything for longer needs a longer `verdict.server-failing`"
            .to_owned()
    })
}

/// The time at the end of the load in which everything failed, in words too; `None` if it is no chance.
fn failing_end(run: &RunView<'_>) -> Option<(Duration, String)> {
    let times = run.fold.outcome_times();
    let over = run.until.min(run.fold.window().measure_to);
    let ends = failing::ends(times, is_own_reply, is_failing, times.cells_before(over));
    let first = ends.iter().rposition(|cell| cell.good > 0)? + 1;
    let mut failed = (first..ends.len()).filter(|cell| ends[*cell].bad > 0);
    let stretch = failed.next()?..failed.next_back()? + 1;
    let count: u64 = ends[stretch.clone()].iter().map(|cell| cell.bad).sum();
    let mut before = Ends::default();
    for cell in &ends[..stretch.start] {
        (before.good, before.bad) = (before.good + cell.good, before.bad + cell.bad);
    }
    if !is_no_chance(count, before) {
        return None;
    }
    let from = times.begin(stretch.start);
    let time = times.begin(stretch.end).min(over).since(from);
    let second = from.since(Instant::ZERO).as_secs_f64();
    let named = failing::named(times, stretch);
    Some((time, format!("every request failed from second {second:.1} on ({named})")))
}

/// True if a server that runs sent the reply.
fn is_own_reply(outcome: Outcome) -> bool {
    use Outcome::*;
    matches!(
        outcome,
        Ok | Status4xx
            | CheckFailed
            | ExtractFailed
            | RedirectLoop
            | RedirectElsewhere
            | LinkElsewhere
            | BodyTooLarge
            | BadCoding
    )
}

/// True if something answered, and not with a reply of a server that runs.
fn is_failing(outcome: Outcome) -> bool {
    let answered = outcome == Outcome::Reset || matches!(outcome.fault(), Fault::Server | Fault::Protocol);
    answered && !is_own_reply(outcome)
}
