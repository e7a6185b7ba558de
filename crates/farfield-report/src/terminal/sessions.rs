//! Sessions, and what failed: a few lines of what became of sessions, and the most frequent failures with
//! their causes.

use super::{COLUMNS, LABEL, fit, labelled, list};
use crate::figures::{count, time};
use farfield_base::words;
use farfield_measure::Quantile;
use farfield_measure::Summary;
use farfield_measure::failures::FAILURES_FILE;
use farfield_measure::summary::{FailureSummary, SessionsSummary};

/// Kinds of failures that have lines; how many more there are is said.
const FAILURES: usize = 6;
/// Lines of a failure with its cause at most.
const CAUSE_LINES: usize = 3;

/// The outcomes of sessions, and a blank line behind them; nothing where there are none.
pub(super) fn lines(sessions: Option<&SessionsSummary>) -> Vec<String> {
    let Some(sessions) = sessions else { return Vec::new() };
    let SessionsSummary { begun, completed, broken_off, unfinished, broken_off_in, duration, .. } = sessions;
    let mut words = vec![format!("{} begun, {} completed", count(*begun), count(*completed))];
    if *broken_off > 0 {
        words.push(format!("{} broken off", count(*broken_off)));
    }
    if *unfinished > 0 {
        words.push(format!("{} open at the end", count(*unfinished)));
    }
    let mut lines = vec![labelled("sessions", &words.join(", "))];
    if let Some(duration) = duration {
        let quantile = |quantile| duration.quantile_ns(quantile).map_or("-".to_owned(), time);
        let (median, p99) = (quantile(Quantile::P50), quantile(Quantile::P99));
        lines.push(labelled("", &format!("completed in {median} (median), {p99} (p99)")));
    }
    if !broken_off_in.is_empty() {
        let states = broken_off_in.iter().map(|state| format!("{} {}", state.state, count(state.count)));
        let says = "broken off in ";
        lines.push(labelled("", &format!("{says}{}", list(states.collect(), COLUMNS - LABEL - says.len()))));
    }
    lines.push(String::new());
    lines
}

/// The most frequent failures, a few lines each, where the first are kept, and a blank line; nothing where
/// there are none to tell of.
pub(super) fn failures(summary: &Summary) -> Vec<String> {
    let failures = &summary.failures;
    if failures.is_empty() {
        return Vec::new();
    }
    let mut lines: Vec<String> = failures.iter().take(FAILURES).flat_map(failure).collect();
    if let Some(rest) = failures.len().checked_sub(FAILURES).filter(|rest| *rest > 0) {
        lines.push(labelled("", &format!("and {rest} more kinds of failures, in summary.json")));
    }
    if summary.failures_file.is_some() {
        let with = match failures.iter().any(|failure| failure.cause.is_none()) {
            true => " with request and reply",
            false => "",
        };
        lines.push(labelled("", &format!("the first{with} are in {FAILURES_FILE}")));
    }
    lines.push(String::new());
    lines
}

fn failure(failure: &FailureSummary) -> Vec<String> {
    let FailureSummary { state, what, outcome, cause, count: times, first_ns, last_ns, instead } = failure;
    let what = what.as_ref().map(|what| format!(": {what}")).unwrap_or_default();
    let state = if state.is_empty() { String::new() } else { format!(" in {state}") };
    let label = fit(&format!("{}x", count(*times)), LABEL - 2);
    let label = format!("{label:>width$}", width = LABEL - 2);
    let mut lines = match cause {
        Some(cause) => {
            let mut lines = wrapped(&format!("{outcome}{state}{what}: {cause}"), CAUSE_LINES).into_iter();
            let first = labelled(&label, &lines.next().unwrap_or_default());
            std::iter::once(first).chain(lines.map(|line| labelled("", &line))).collect()
        }
        None => vec![labelled(&label, &format!("{outcome}{state}{what}"))],
    };
    lines.extend(instead.as_ref().map(|instead| labelled("", &format!("came: {instead}"))));
    if let (Some(_), Some(first), Some(last)) = (cause, first_ns, last_ns) {
        let when = match first == last {
            true => format!("at {}", time(*first)),
            false => format!("the first at {}, the last at {}", time(*first), time(*last)),
        };
        lines.push(labelled("", &when));
    }
    lines
}

/// Text in lines of the column behind the labels, cut behind so many.
fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in words(text) {
        let last = lines.last_mut().expect("there is a line");
        let begins = last.is_empty();
        if begins || last.chars().count() + 1 + word.chars().count() <= COLUMNS - LABEL {
            if !begins {
                last.push(' ');
            }
            last.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    let rest = lines.split_off(most.min(lines.len()));
    if let Some(last) = lines.last_mut().filter(|_| !rest.is_empty()) {
        last.push_str(" …");
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::COLUMNS;
    use super::super::scene::Scene;
    use super::super::tests::plain;
    use farfield_base::{
        Detail, Duration, Instant, KeptExchange, Note, Outcome, Sender, SessionBegin, SessionEnd,
        SessionFailure, Signal,
    };
    use std::sync::Arc;

    fn scene() -> Scene {
        let mut scene = Scene::good();
        scene.states = ["home", "login", "buy"].map(str::to_owned).to_vec();
        for session in 0..100 {
            let due = Instant::from_ns(1_500_000_000);
            let begin = SessionBegin { due, user: session, session };
            scene.notes.push(Note::Begun(begin));
            let broken_off = (session % 10 == 0).then_some(1);
            if session % 10 != 9 {
                let at = due + Duration::from_ms(200);
                scene.notes.push(Note::Ended(SessionEnd { begin, at, broken_off }));
            }
        }
        scene
    }

    fn failure(state: u16, what: &str) -> Note {
        let due = Instant::from_ns(1_500_000_000);
        Note::Failed(Box::new(SessionFailure {
            at: due,
            due,
            user: 0,
            session: 0,
            state,
            outcome: Outcome::CheckFailed,
            status: 200,
            what: what.into(),
            detail: None,
            instead: Some("status 200 and 9 bytes that begin `Sorry \u{9b}2J`".into()),
            exchange: Some(Box::new(KeptExchange {
                request: [].into(),
                request_bytes: 0,
                head: [].into(),
                body: [].into(),
                body_bytes: 0,
            })),
        }))
    }

    #[test]
    fn sessions_have_lines() {
        let text = plain(&scene().summary());
        let expected = "\nsessions    100 begun, 80 completed, 10 broken off, 10 open at the end\n            \
                        completed in 200ms (median), 200ms (p99)\n            broken off in login 10\n";
        assert!(text.contains(expected), "{text}");
        assert!(!plain(&Scene::good().summary()).contains("sessions"));
    }

    #[test]
    fn failures_name_check_state_and_what_came() {
        let mut scene = scene();
        scene.notes.extend((0..1234).map(|_| failure(1, "check.contains `Welcome \x1b[2J`")));
        scene.notes.push(failure(2, "extract.token"));
        scene.notes.push(failure(SessionFailure::NO_STATE, "/a.png"));
        let text = plain(&scene.summary());
        let expected = "\n    1,234x  check-failed in login: check.contains `Welcome \\u001B[2J`\n            \
                        came: status 200 and 9 bytes that begin `Sorry \\u009B2J`\n        1x  check-failed in buy: extract.token\n            \
                        came: status 200 and 9 bytes that begin `Sorry \\u009B2J`\n        1x  check-failed: /a.png\n";
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("the first with request and reply are in failures.txt\n"), "{text}");
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
    }

    #[test]
    fn a_failure_has_its_cause_and_the_words_of_the_peer() {
        let mut scene = Scene::good();
        let sent = |code: u64, words: &str| {
            let Note::Failed(mut failure) = failure(SessionFailure::NO_STATE, "") else { unreachable!() };
            let detail = Detail::sent(Signal::CloseHttp3, code, Sender::Server).with(words.as_bytes());
            (failure.detail, failure.outcome) = (Some(Arc::new(detail)), Outcome::GoneAway);
            (failure.exchange, failure.instead) = (None, None);
            Note::Failed(failure)
        };
        scene.notes.extend((0..3).map(|_| sent(0x102, "shutting\x1b[2Jdown")));
        scene.notes.push(sent(0x3f3f, ""));
        let text = plain(&scene.summary());
        let expected = "\n        3x  gone-away: CONNECTION_CLOSE of HTTP/3 with H3_INTERNAL_ERROR\n            \
                        (0x102), sent by the server\n            came: shutting\\u001B[2Jdown\n            at 1.50s\n        \
                        1x  gone-away: CONNECTION_CLOSE of HTTP/3 with a code without a name,\n            \
                        sent by the server\n            came: code 0x3f3f\n";
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("            the first are in failures.txt\n"), "{text}");
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
    }

    #[test]
    fn many_failures_are_cut_to_the_most_frequent() {
        let mut scene = scene();
        for kind in 0..20 {
            scene.notes.extend((0..=kind).map(|_| failure(0, &format!("{kind} {}", "long ".repeat(40)))));
        }
        let text = plain(&scene.summary());
        assert!(text.contains("and 14 more kinds of failures, in summary.json"), "{text}");
        assert!(text.contains("\n       20x  check-failed in home: 19 long"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
    }
}
