//! Sentences about what a reader of the summary should know, and that no check of the verdict says.

use crate::engine_stats::EngineStats;
use crate::fold::Fold;
use crate::silence;
use crate::states::States;
use crate::verdict::{CheckState, Disturbed, Verdict};
use farfield_base::{Instant, Outcome};

/// All warnings of a run that has come to `until`.
pub(super) fn warnings(fold: &Fold, stats: &EngineStats, verdict: &Verdict, until: Instant) -> Vec<String> {
    let mut warnings = stats.warnings.clone();
    let judged = verdict
        .checks
        .iter()
        .any(|check| check.name == "server-silent" && check.state != CheckState::Skipped);
    warnings.extend(silence::warning(fold, stats, until, judged));
    let stall = verdict.checks.iter().find(|check| check.name == "longest-stall");
    let is_timed = stats.workers.iter().any(|worker| worker.stall.is_some());
    let excused = stall.filter(|check| check.state == CheckState::Skipped && is_timed);
    warnings.extend(excused.and_then(|check| check.note.clone()));
    let by_host = verdict.disturbed.as_ref().filter(|found| found.stolen_ns > 0 && found.lost_ns == 0);
    warnings.extend(by_host.filter(|_| verdict.valid).map(Disturbed::in_words));
    warnings.extend(completed_too_late(fold, until));
    let aside = fold.aside().map(|aside| aside.summary(fold.window(), until, fold.steady().requests()));
    warnings.extend(aside.and_then(|aside| aside.in_words()));
    warnings.extend(counted(fold, stats));
    warnings.extend(sent_again(fold, stats));
    warnings.extend(only_redirects(fold));
    let named = [
        (Outcome::Flooded, "requests met a server that sends without end what leads to nothing"),
        (Outcome::RedirectElsewhere, "redirects to another server or scheme were not followed"),
        (Outcome::RedirectLoop, "redirects came behind as many as `session.redirects` follows"),
        (Outcome::LinkElsewhere, "links or forms lead to another server or scheme and were not asked for"),
    ];
    for (outcome, sentence) in named {
        let count = fold.warm_up().count(outcome) + fold.steady().count(outcome);
        if count > 0 {
            warnings.push(format!("{count} {sentence}; they count as `{}`.", outcome.name()));
        }
    }
    if fold.series().outside() > 0 {
        warnings.push(format!("{} events lie past the end of the series.", fold.series().outside()));
    }
    warnings
}

/// Warnings about counts that should be 0.
fn counted(fold: &Fold, stats: &EngineStats) -> Vec<String> {
    let clamped: u64 = fold.steady().times.iter().map(|(_, times)| times.clamped()).sum();
    let states = format!("states beyond the first {} are not counted separately.", States::MAX);
    [
        (clamped, "times were longer than a day and count as a day."),
        (fold.states().left_out() as u64, states.as_str()),
        (
            fold.steady().streams.broken,
            "streams that were opened in the warm-up failed in the measured part: their requests were not due in it, and \
             are in no share of its errors.",
        ),
        (
            fold.steady().streams.empty,
            "streams came to their end without an event: they count as successes, and no time to the first event has them.",
        ),
        (fold.failures().left_out(), "failures are of kinds beyond those that are counted separately."),
        (stats.counts.unasked, "connections were given up: bytes came on them that no request had asked for."),
        (stats.counts.objects_left_out, "objects were not fetched: their pages embed more than a user fetches of one."),
        (
            stats.counts.bodies_cut,
            "replies were longer than `session.body-limit`: checks and extractions looked at their beginning alone, and what \
             `lacks` asks for may stand behind it.",
        ),
        (
            stats.counts.forms_unlike,
            "forms were sent with fields or a button that their page does not have: `farfield try` names them.",
        ),
        (
            stats.counts.unasked_content,
            "requests with `Expect: 100-continue` sent their content without the server's word, after waiting for \
             `connections.expect-timeout`, which is part of their times.",
        ),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{count} {what}"))
    .collect()
}

/// The warning that every reply came after the measured part: requests that were due in it have times, and
/// there is no rate of them.
fn completed_too_late(fold: &Fold, until: Instant) -> Option<String> {
    let (steady, lasted) = (fold.steady(), fold.window().elapsed(until));
    let (answered, longest) = (steady.count(Outcome::Ok), steady.times.response.max()?);
    (steady.events.succeeded == 0 && answered > 0 && !lasted.is_zero()).then(|| {
        format!(
            "no request succeeded in the measured part of {:.1} s, so that its rate of success is 0: the {answered} that were \
             due in it were answered after it, and their times are of these. Measure for several times the {:.1} s that \
             the longest took (`--duration`)",
            lasted.as_secs_f64(),
            longest.as_secs_f64()
        )
    })
}

/// Requests that are sent again in the ordinary course of persistent connections, at most: a number, and one
/// of so many requests.
const SENT_AGAIN: u64 = 10;
const SENT_AGAIN_OF: u64 = 100;

/// The warning that many requests were sent again: what failed at first counts as one request, and mostly as
/// a success.
fn sent_again(fold: &Fold, stats: &EngineStats) -> Option<String> {
    let (again, all) = (stats.counts.resent, fold.warm_up().requests() + fold.steady().requests());
    (again >= SENT_AGAIN && again >= all / SENT_AGAIN_OF).then(|| {
        format!(
            "{again} times a request was sent again, since its connection ended before anything of a reply came; there were \
             {all} requests, each of which counts once. The server may close connections that are in use."
        )
    })
}

/// The warning that most replies are redirects, which were not followed: only users of sessions follow them.
fn only_redirects(fold: &Fold) -> Option<String> {
    let (redirects, ok) = (fold.steady().redirects, fold.steady().count(Outcome::Ok));
    let followed = fold.states().counted().len() > 0;
    (!followed && redirects > 0 && 2 * redirects >= ok).then(|| {
        format!(
            "{redirects} of {ok} replies that count as ok are redirects, and what they lead to was not asked for: ask for that, or \
             write a `[session]`, whose users follow them."
        )
    })
}
