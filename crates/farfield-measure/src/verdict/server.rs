//! Checks that the server was present: a server that ended or fell silent in mid-run leaves nothing to
//! measure from then on.
//!
//! [`ended`] checks a server whose process farfield knows. [`silent`] checks any server: it fails if no byte
//! was received at the end of the load, though requests were due. Late replies are legitimate; so silence
//! counts only beyond three times the longest response time, only while the load lasts, only from when a
//! request was due, and not in an [outage](crate::outages) that was asked for. Errors of the kernel (a
//! refused connection) are not bytes of the server.

use super::advice::RunView;
use super::{Check, LimitUnit, VerdictLimits};
use crate::engine_stats::{EngineStats, OutOfMemory};
use farfield_base::{Duration, Instant};

/// Silence counts beyond this many times the longest response time.
const RESPONSES: u64 = 3;
/// Shorter times never count as silence.
const LEAST: Duration = Duration::from_ms(200);

pub fn ended(stats: &EngineStats) -> Check {
    let (name, what) = ("server-ended", "The server was there to the end of the run.");
    let Some(server) = &stats.server else {
        return Check::skipped(name, what, 0.0, LimitUnit::Count, "the server's process is not known");
    };
    let Some(end) = &server.ended else { return Check::at_most(name, what, 0.0, 0.0, LimitUnit::Count) };
    let when = end.at.map(|at| format!(" after {:.1} s", at.as_secs_f64())).unwrap_or_default();
    let words = match end.last_words.as_str() {
        "" => String::new(),
        words => format!("; its last words: {words}"),
    };
    let memory = match end.out_of_memory {
        Some(OutOfMemory::Limit) => ": the kernel's, since `server.memory` was used up",
        Some(OutOfMemory::Machine) => ", as the kernel killed for want of memory on this machine",
        None => "",
    };
    let advice = match end.out_of_memory {
        Some(OutOfMemory::Limit) => "give the server more with `server.memory`, or offer less",
        Some(OutOfMemory::Machine) => {
            "free memory on this machine, or offer less, so that the server holds less (`dmesg` names who was killed)"
        }
        None if end.at.is_none() => "see the server's own log for why; start it again before the next run",
        None => "see server.log in the run directory; a server that goes to the background may leave a child",
    };
    Check::at_most(name, what, 1.0, 0.0, LimitUnit::Count)
        .noted(Some(format!("the server ended{when} ({}{memory}){words}", end.status)))
        .advised(|| advice.to_owned())
}

pub fn silent(run: &RunView<'_>) -> Check {
    let (name, what) = ("server-silent", "The server sent something for as long as requests were due.");
    let limit = limit(run, LEAST, |limits| limits.server_silent);
    let skip = |why: &str| Check::skipped(name, what, limit.as_ns() as f64, LimitUnit::Ns, why);
    if run.stats.plane == "simulated" {
        return skip("the server is a model");
    }
    if run.context.heading.load.is_overload() {
        return skip("an overload may silence a server: that is what it measures");
    }
    let Some(last_byte) = run.stats.last_received.map(|at| Instant::ZERO + at) else {
        return skip("nothing ever came from the server");
    };
    let load_over = run.fold.window().measure_to.min(run.fold.unanswered().until);
    let since = run.fold.unanswered().first_due_after(last_byte);
    let silent = since.map(|since| run.fold.outages().left_of((since, load_over.since(since))));
    let silence = silent.into_iter().flatten().fold(Duration::ZERO, |sum, (_, length)| sum + length);
    let seconds = (last_byte.since(Instant::ZERO)).as_secs_f64();
    let check = Check::at_most(name, what, silence.as_ns() as f64, limit.as_ns() as f64, LimitUnit::Ns);
    let killed = run.stats.machine.is_some_and(|machine| machine.oom_kills > 0);
    let memory = if killed { ", and the kernel killed for want of memory during the run" } else { "" };
    let note =
        (silence > limit).then(|| format!("nothing came from the server after second {seconds:.1}{memory}"));
    check.noted(note).advised(|| {
        if killed {
            return "see whether it is the server that the kernel killed (`dmesg`), and give it more memory, or offer \
                    less"
                .to_owned();
        }
        "see whether the server still runs and answers (its log, `curl`), and run again; a server that may fall \
         silent needs a longer `verdict.server-silent`"
            .to_owned()
    })
}

/// Longest absence of a server that passes, of the kind whose limit is `key` and by default no less than
/// `least`.
pub(super) fn limit(run: &RunView<'_>, least: Duration, key: fn(&VerdictLimits) -> Duration) -> Duration {
    let asked = key(run.context.limits);
    let measured = run.fold.window().elapsed(run.until);
    let brief = Duration::from_ns(measured.as_ns() / 10).max(least);
    let longest = run.fold.steady().times.response.max().unwrap_or(Duration::ZERO);
    let by_default = asked == key(&VerdictLimits::default());
    let limit = if by_default { asked.min(brief) } else { asked };
    limit.max(Duration::from_ns(longest.as_ns().saturating_mul(RESPONSES)))
}
