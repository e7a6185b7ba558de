//! Did anything succeed? The one check of what came back instead of how it was asked for.
//!
//! How often a server fails is what a run is there to tell, and makes none invalid. But where next to nothing succeeds,
//! most likely a path is mistyped, the server is down or something stands between: the times are those of nothing, and
//! a load whose users come back at once has become one of errors. So a share of the requests must succeed, 1 in 100
//! unless the limit says otherwise, of those whose end was seen or, if no end was, of all: what is unfinished has a
//! [check of its own](super::unfinished).
//!
//! Where the scenario itself says what may go wrong, the check does not apply: where the limit is 0, and where a
//! threshold is about errors or outcomes, which then judges. An overload's attempts are meant to fail: one that
//! succeeds, at any time of the run, is enough.

use super::{Check, CheckState, Unit};
use crate::fold::{Fold, PhaseStats};
use crate::summary::{LoadKind, SummaryContext};
use farfield_base::Outcome;

pub fn something_succeeded(context: SummaryContext<'_>, fold: &Fold) -> Check {
    let (name, what) = ("something-succeeded", "At least a small share of the requests succeeded.");
    let limit = context.limits.succeeded.as_f64();
    if let Some(why) = excuse(context, fold) {
        return Check::skipped(name, what, limit, Unit::Share, why);
    }
    let steady = fold.steady();
    let seen = steady.requests() - steady.count(Outcome::Unfinished);
    let share = steady.count(Outcome::Ok) as f64 / seen.max(1) as f64;
    let check = Check::at_least(name, what, share, limit, Unit::Share);
    let failed = check.state == CheckState::Failed;
    let Some(most) = failed.then(|| most_frequent_failure(steady)).flatten() else { return check };
    check.noted(Some(outcome_sentence(steady, most))).advised(|| remedy(most).to_owned())
}

/// Why the check does not apply, if it does not.
fn excuse(context: SummaryContext<'_>, fold: &Fold) -> Option<&'static str> {
    let ok = |part: &PhaseStats| part.count(Outcome::Ok);
    if fold.steady().requests() == 0 {
        Some("no request was due in the measured part")
    } else if context.limits.succeeded.as_f64() == 0.0 {
        Some("the scenario allows that nothing succeeds")
    } else if context.thresholds.iter().any(|threshold| threshold.judges_outcomes()) {
        Some("a threshold judges what may go wrong")
    } else if context.heading.load == LoadKind::Overload && ok(fold.warm_up()) + ok(fold.steady()) > 0 {
        Some("an overload's attempts are meant to fail, and not all did")
    } else {
        None
    }
}

fn most_frequent_failure(part: &PhaseStats) -> Option<Outcome> {
    let failures = Outcome::ALL.into_iter().filter(|outcome| *outcome != Outcome::Ok);
    failures.max_by_key(|outcome| (part.count(*outcome), std::cmp::Reverse(outcome.code())))
}

/// How many succeeded, and what became of most others.
fn outcome_sentence(part: &PhaseStats, most: Outcome) -> String {
    let (ok, all, count) = (part.count(Outcome::Ok), part.requests(), part.count(most));
    format!("{ok} of {all} requests succeeded and {count} were {}", most.name())
}

/// What a user does about requests that end so.
pub(super) fn remedy(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ok => "all is well",
        Outcome::Status4xx => "ask for what is there, or name the status in a session's `check.status`",
        Outcome::Status5xx | Outcome::ClosedUnanswered | Outcome::Reset => "the server's log may say why",
        Outcome::ConnectRefused => "start the server, or mend the target",
        Outcome::ConnectTimedOut => "see that nothing between filters the server's port",
        Outcome::Unreachable => "see to a route to the target",
        Outcome::ConnectAbandoned => "see that the server listens, or lengthen `load.timeout`",
        Outcome::TimedOut => "ask for less, or lengthen `connections.request-timeout`",
        Outcome::NoDescriptor => "raise the limit of open files, `ulimit -n`, or ask for fewer connections",
        Outcome::NoAddress => "name more addresses in `sockets.sources`",
        Outcome::Dropped => "raise `load.users-max`",
        Outcome::Unfinished => "measure for longer with `--duration`, or wait longer with `run.drain`",
        Outcome::BadHead
        | Outcome::HeadTooLarge
        | Outcome::BadLength
        | Outcome::BadChunk
        | Outcome::Truncated
        | Outcome::Unasked => "see that the target speaks HTTP/1",
        Outcome::BodyTooLarge => "ask for smaller objects",
        Outcome::RedirectLoop => {
            "see where the server sends its users, or follow more with `session.redirects`"
        }
        Outcome::RedirectElsewhere => "drive the server that it names, over HTTP without TLS",
        Outcome::LinkElsewhere => "take a link or form that leads to the target",
        Outcome::BadCoding => "ask for a content coding that the server has, with `Accept-Encoding`",
        Outcome::CheckFailed | Outcome::ExtractFailed => "hold the session's states against the replies",
    }
}
