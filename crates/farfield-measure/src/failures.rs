//! What failed in sessions, counted by check and by embedded object, and the first failures with request and reply.
//!
//! A kind of failure is a state, what failed of it and the outcome. Kinds are bounded, and so is what is kept of the first
//! failures: five exchanges of 48 KiB at most. [`Failures::document`] is a text for people: no control character of a
//! reply is left in it, so that it can be shown in a terminal.

use crate::sessions::name;
use farfield_base::{KeptExchange, Outcome, SessionFailure, Window, printable, without_authorization};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

/// The name of the file with the first failures.
pub const FAILURES_FILE: &str = "failures.txt";

/// The failures of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Failures {
    names: Vec<String>,
    kinds: BTreeMap<(u16, Arc<str>, Outcome), Counted>,
    left_out: u64,
    kept: Vec<SessionFailure>,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Counted {
    /// Requests due in the measured part.
    count: u64,
    instead: Option<Box<str>>,
}

/// Failures of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailureKind<'a> {
    /// The name of the state; empty where states have no names.
    pub state: &'a str,
    /// What failed: a check as the scenario writes it, or the path of an embedded object; empty where the outcome says all.
    pub what: &'a str,
    /// What became of the requests.
    pub outcome: Outcome,
    /// Requests due in the measured part.
    pub count: u64,
    /// What came instead the first time, in one line.
    pub instead: Option<&'a str>,
}

impl Failures {
    /// The most kinds that are counted by themselves: the first that occur.
    pub const KINDS: usize = 500;

    /// Failures in states with these names, by number.
    pub fn named(names: Vec<String>) -> Failures {
        Failures { names, ..Failures::default() }
    }

    /// Counts a failure of a request that was due in the measured part, and keeps the exchange of one of the first,
    /// whenever it was due.
    pub fn note(&mut self, failure: &SessionFailure, window: Window) {
        let key = (failure.state, Arc::clone(&failure.what), failure.outcome);
        let inside = u64::from(window.contains(failure.due));
        if self.kinds.len() < Failures::KINDS || self.kinds.contains_key(&key) {
            let counted = self.kinds.entry(key).or_default();
            counted.count += inside;
            if counted.instead.is_none() {
                counted.instead.clone_from(&failure.instead);
            }
        } else {
            self.left_out += inside;
        }
        if failure.exchange.is_some() {
            self.keep(failure.clone());
        }
    }

    /// Keeps a failure, if it is one of the first.
    fn keep(&mut self, failure: SessionFailure) {
        let kind = |failure: &SessionFailure| (failure.state, failure.outcome, Arc::clone(&failure.what));
        let of_a_kind = self.kept.iter().filter(|kept| kind(kept) == kind(&failure)).count();
        if self.kept.len() < KeptExchange::MOST && of_a_kind < KeptExchange::OF_A_KIND {
            self.kept.push(failure);
        }
    }

    /// Adds what was counted elsewhere of the same run.
    pub fn merge(&mut self, other: &Failures) {
        for (key, theirs) in &other.kinds {
            if self.kinds.len() < Failures::KINDS || self.kinds.contains_key(key) {
                let mine = self.kinds.entry(key.clone()).or_default();
                mine.count += theirs.count;
                mine.instead = mine.instead.take().or_else(|| theirs.instead.clone());
            } else {
                self.left_out += theirs.count;
            }
        }
        self.left_out += other.left_out;
        let mut kept = std::mem::take(&mut self.kept);
        kept.extend(other.kept.iter().cloned());
        kept.sort_by_key(|failure| (failure.at, failure.user, failure.session));
        kept.into_iter().for_each(|failure| self.keep(failure));
    }

    /// The kinds that occurred in the measured part, the most frequent first.
    pub fn kinds(&self) -> Vec<FailureKind<'_>> {
        let counted = self.kinds.iter().filter(|(_, counted)| counted.count > 0);
        let mut kinds: Vec<_> = counted
            .map(|((state, what, outcome), Counted { count, instead })| FailureKind {
                state: name(&self.names, *state),
                what,
                outcome: *outcome,
                count: *count,
                instead: instead.as_deref(),
            })
            .collect();
        kinds.sort_by_key(|kind| std::cmp::Reverse(kind.count));
        kinds
    }

    /// Failures of kinds that are not counted by themselves.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Failures whose request and reply are kept.
    pub fn kept(&self) -> usize {
        self.kept.len()
    }

    /// The first failures with request and reply, as text; `None` if there are none.
    pub fn document(&self) -> Option<String> {
        if self.kept.is_empty() {
            return None;
        }
        let mut text = String::new();
        for (number, failure) in (1..).zip(&self.kept) {
            self.write(number, failure, &mut text).expect("a string takes all");
        }
        Some(text)
    }

    fn write(&self, number: usize, failure: &SessionFailure, text: &mut String) -> std::fmt::Result {
        let state = name(&self.names, failure.state);
        writeln!(
            text,
            "==== failure {number} of {}: {} in state {state}",
            self.kept.len(),
            failure.outcome.name()
        )?;
        let at = failure.at.as_ns() as f64 / 1e9;
        writeln!(text, "at {at:.6} s, user {}, session {}", failure.user, failure.session)?;
        if !failure.what.is_empty() {
            writeln!(text, "failed: {}", plain(failure.what.as_bytes()))?;
        }
        if let Some(instead) = &failure.instead {
            writeln!(text, "instead: {}", plain(instead.as_bytes()))?;
        }
        let Some(exchange) = &failure.exchange else { return Ok(()) };
        let KeptExchange { request, request_bytes, head, body, body_bytes } = &**exchange;
        match request.is_empty() {
            true => writeln!(text, "\n---- no request could be written")?,
            false => {
                let bytes =
                    ExchangePart { shown: &hidden(request), kept: whole(request), whole: *request_bytes };
                write_exchange_part(text, "request", &bytes)?;
            }
        }
        match head.is_empty() {
            true => writeln!(text, "\n---- no reply")?,
            false => {
                let bytes = ExchangePart { shown: &plain(head), kept: whole(head), whole: whole(head) };
                write_exchange_part(text, "head of the reply", &bytes)?;
            }
        }
        if *body_bytes > 0 {
            let bytes = ExchangePart { shown: &plain(body), kept: whole(body), whole: *body_bytes };
            write_exchange_part(text, "body of the reply, as far as it was looked at", &bytes)?;
        }
        text.push('\n');
        Ok(())
    }
}

/// A part of an exchange.
struct ExchangePart<'a> {
    shown: &'a str,
    /// Bytes that were kept of it, and all that it had.
    kept: u64,
    whole: u64,
}

/// A part under a line that says how long it is.
fn write_exchange_part(text: &mut String, name: &str, part: &ExchangePart<'_>) -> std::fmt::Result {
    let cut = match part.kept {
        kept if kept < part.whole => format!(", of which the first {kept} follow"),
        _ => String::new(),
    };
    writeln!(text, "\n---- {name}: {} bytes{cut}", part.whole)?;
    writeln!(text, "{}", part.shown.trim_end())
}

fn whole(bytes: &[u8]) -> u64 {
    bytes.len() as u64
}

/// Bytes as text that a terminal can be shown, with its line ends and tabs.
fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
    printable(&text, &['\n', '\t']).into_owned()
}

/// A request as text, without the credentials in its head.
fn hidden(request: &[u8]) -> String {
    let text = plain(request);
    match text.split_once("\n\n") {
        Some((head, body)) => format!("{}\n\n{body}", without_authorization(head)),
        None => without_authorization(&text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::scene::window;
    use farfield_base::{Duration, Instant};

    fn failure(ms: u64, state: u16, what: &str) -> SessionFailure {
        let at = Instant::ZERO + Duration::from_ms(ms);
        SessionFailure {
            at,
            due: at,
            user: 1,
            session: 7,
            state,
            outcome: Outcome::CheckFailed,
            status: 200,
            what: what.into(),
            instead: Some(format!("came at {ms}").into()),
            exchange: Some(Box::new(KeptExchange {
                request: (*b"POST / HTTP/1.1\r\nAuthorization: Basic YTpi\r\n\r\na=1").into(),
                request_bytes: 49,
                head: (*b"HTTP 200\r\nX: \x1b[2J\r\n").into(),
                body: (*b"<p>no\x07\x9b</p>").into(),
                body_bytes: 40_000,
            })),
        }
    }

    fn failures(noted: &[SessionFailure]) -> Failures {
        let mut failures = Failures::named(vec!["home".to_owned(), "buy".to_owned()]);
        noted.iter().for_each(|failure| failures.note(failure, window(10, 20)));
        failures
    }

    #[test]
    fn kinds_are_counted_where_requests_were_due() {
        let noted = [failure(5, 0, "a"), failure(11, 0, "a"), failure(12, 1, "a"), failure(13, 1, "a")];
        let failures = failures(&noted);
        let kinds: Vec<_> =
            failures.kinds().iter().map(|kind| (kind.state, kind.what, kind.count, kind.instead)).collect();
        assert_eq!(kinds, [("buy", "a", 2, Some("came at 12")), ("home", "a", 1, Some("came at 5"))]);
    }

    #[test]
    fn the_document_says_all_and_holds_no_control_character() {
        let failures = failures(&[failure(11, 1, "check.contains `Welcome`")]);
        let text = failures.document().expect("one is kept");
        for part in [
            "==== failure 1 of 1: check-failed in state buy\nat 0.011000 s, user 1, session 7\n",
            "failed: check.contains `Welcome`\ninstead: came at 11\n",
            "---- request: 49 bytes\nPOST / HTTP/1.1\nAuthorization: Basic (not shown)\n\na=1\n",
            "X: \\u001B[2J\n",
            "body of the reply, as far as it was looked at: 40000 bytes, of which the first 11 follow\n<p>no\\u0007",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
        assert_eq!(Failures::default().document(), None);
    }

    /// However they come together, the first are kept, and no more than two of a kind.
    #[test]
    fn merging_is_noting_together() {
        let whats = ["a", "a", "a", "b", "c", "d", "e"];
        let noted: Vec<_> = (0..).zip(whats).map(|(n, what)| failure(11 + n, 0, what)).collect();
        let whole = failures(&noted);
        let kept: Vec<&str> = whole.kept.iter().map(|failure| &*failure.what).collect();
        assert_eq!(kept, ["a", "a", "b", "c", "d"]);
        for cut in 0..noted.len() {
            let mut merged = failures(&noted[cut..]);
            merged.merge(&failures(&noted[..cut]));
            assert_eq!((&merged.kept, merged.kinds().len()), (&whole.kept, 5), "cut at {cut}");
        }
    }

    #[test]
    fn kinds_are_bounded_and_the_rest_is_counted() {
        let noted: Vec<_> = (0..600).map(|n| failure(15, 0, &format!("/{n}"))).collect();
        let failures = failures(&noted);
        assert_eq!((failures.kinds().len(), failures.left_out()), (Failures::KINDS, 100));
    }
}
