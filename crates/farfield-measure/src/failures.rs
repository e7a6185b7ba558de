//! Failures, counted by check, by embedded object and by cause, and the first failures: in sessions with
//! request and reply.
//!
//! A kind of failure is a state, what failed of it, the outcome and the cause. Causes are a closed set,
//! kinds are bounded, and so is what is kept of the first failures: five exchanges of 48 KiB at most, and
//! one failure without an exchange of each of twenty kinds. [`Failures::document`] is a text for people: no
//! control character of a reply is left in it, so that it can be shown in a terminal.

use crate::sessions::name;
use farfield_base::{
    Cause, Instant, KeptExchange, Merge, Outcome, Sample, SessionFailure, Window, printable,
    without_credentials,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

/// The name of the file with the first failures.
pub const FAILURES_FILE: &str = "failures.txt";

/// The failures of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Failures {
    names: Vec<String>,
    #[serde(with = "crate::pairs")]
    kinds: BTreeMap<KindKey, CountedFailures>,
    left_out: u64,
    kept: Vec<SessionFailure>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct CountedFailures {
    /// Requests due in the measured part.
    count: u64,
    /// Instants at which the first and the last of these failed.
    first: Option<Instant>,
    last: Option<Instant>,
    /// The unexpected value at the first failure that has one, and its instant.
    example: Option<(Instant, Box<str>)>,
}

impl CountedFailures {
    fn add(&mut self, other: CountedFailures) {
        self.count += other.count;
        self.first = self.first.into_iter().chain(other.first).min();
        self.last = self.last.max(other.last);
        self.example = self.example.take().into_iter().chain(other.example).min();
    }
}

/// Failures of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailureKind<'a> {
    /// The name of the state; empty where states have no names.
    pub state: &'a str,
    /// The subject of the failure: a check as the scenario writes it, or the path of an embedded object;
    /// empty where the outcome says all.
    pub what: &'a str,
    /// Outcome of the requests.
    pub outcome: Outcome,
    /// The cause, where more is known than the outcome.
    pub cause: Option<Cause>,
    /// Requests due in the measured part.
    pub count: u64,
    /// Instant at which the first of these failed.
    pub first: Option<Instant>,
    /// Instant at which the last of them failed.
    pub last: Option<Instant>,
    /// The unexpected value at the first failure, or what the peer said, in one line.
    pub instead: Option<&'a str>,
}

impl Failures {
    /// The most kinds that are counted by themselves: the first that occur.
    pub const KINDS: usize = 500;
    /// Kinds of which a failure without an exchange is kept.
    const WITHOUT_EXCHANGE: usize = 20;

    /// Failures in states with these names, by number.
    pub fn named(names: Vec<String>) -> Failures {
        Failures { names, ..Failures::default() }
    }

    /// Counts a failure of a request that was due in the measured part, and keeps the exchange of one of the
    /// first, whenever it was due.
    pub fn note(&mut self, failure: &SessionFailure, window: Window) {
        let inside = window.contains(failure.due);
        let at = inside.then_some(failure.at);
        let found = failure.detail.as_ref().and_then(|detail| detail.found.as_ref());
        let example = found.or(failure.instead.as_ref()).map(|words| (failure.at, words.clone()));
        self.count(
            kind_of(failure),
            CountedFailures { count: u64::from(inside), first: at, last: at, example },
        );
        if failure.exchange.is_some() || failure.detail.is_some() {
            self.keep(failure.clone());
        }
    }

    fn count(&mut self, kind: KindKey, counted: CountedFailures) {
        if self.kinds.len() < Failures::KINDS || self.kinds.contains_key(&kind) {
            self.kinds.entry(kind).or_default().add(counted);
        } else {
            self.left_out += counted.count;
        }
    }

    /// Keeps a failure, if it is one of the first.
    fn keep(&mut self, failure: SessionFailure) {
        let has_exchange = failure.exchange.is_some();
        let (most, most_of_a_kind) = match has_exchange {
            true => (KeptExchange::MOST, KeptExchange::OF_A_KIND),
            false => (Failures::WITHOUT_EXCHANGE, 1),
        };
        let kind = kind_of(&failure);
        let alike = self.kept.iter().filter(|kept| kept.exchange.is_some() == has_exchange);
        let (kept, of_a_kind) =
            alike.fold((0, 0), |(kept, same), other| (kept + 1, same + usize::from(kind_of(other) == kind)));
        if kept < most && of_a_kind < most_of_a_kind {
            self.kept.push(failure);
        }
    }

    /// The kinds that occurred in the measured part, the most frequent first.
    pub fn kinds(&self) -> Vec<FailureKind<'_>> {
        let counted = self.kinds.iter().filter(|(_, counted)| counted.count > 0);
        let mut kinds: Vec<_> = counted
            .map(|((state, what, outcome, cause), CountedFailures { count, first, last, example })| {
                FailureKind {
                    state: name(&self.names, *state),
                    what,
                    outcome: *outcome,
                    cause: *cause,
                    count: *count,
                    first: *first,
                    last: *last,
                    instead: example.as_ref().map(|(_, words)| &**words),
                }
            })
            .collect();
        kinds.sort_by_key(|kind| std::cmp::Reverse(kind.count));
        kinds
    }

    /// Failures of kinds that are not counted by themselves.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// The most frequent cause of failures with this outcome, and the words of its first failure.
    pub fn cause_of(&self, outcome: Outcome) -> Option<(Cause, Option<&str>)> {
        let kinds = self.kinds();
        let kind = kinds.iter().find(|kind| kind.outcome == outcome && kind.cause.is_some())?;
        Some((kind.cause?, kind.instead))
    }

    /// Failures of which something is kept: request and reply, or the cause.
    pub fn kept(&self) -> usize {
        self.kept.len()
    }

    /// The first failures, with request and reply where these are kept, as text; `None` if there are none.
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
        let (all, outcome) = (self.kept.len(), failure.outcome.name());
        write!(text, "==== failure {number} of {all}: {outcome}")?;
        match name(&self.names, failure.state) {
            "" => writeln!(text)?,
            state => writeln!(text, " in state {state}")?,
        }
        let at = failure.at.as_ns() as f64 / 1e9;
        write!(text, "at {at:.6} s, user {}", failure.user)?;
        match failure.session {
            Sample::NO_SESSION => writeln!(text)?,
            session => writeln!(text, ", session {session}")?,
        }
        if !failure.what.is_empty() {
            writeln!(text, "failed: {}", plain(failure.what.as_bytes()))?;
        }
        if let Some(detail) = &failure.detail {
            writeln!(text, "cause: {}", detail.cause)?;
            if let Some(found) = &detail.found {
                writeln!(text, "found: {}", plain(found.as_bytes()))?;
            }
        }
        if let Some(instead) = &failure.instead {
            writeln!(text, "instead: {}", plain(instead.as_bytes()))?;
        }
        let Some(exchange) = &failure.exchange else { return writeln!(text) };
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
                let bytes = ExchangePart {
                    shown: &without_credentials(&plain(head)),
                    kept: whole(head),
                    whole: whole(head),
                };
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

/// Adds what was counted elsewhere of the same run.
impl Merge for Failures {
    fn merge(&mut self, other: &Failures) {
        for (kind, theirs) in &other.kinds {
            self.count(kind.clone(), theirs.clone());
        }
        self.left_out += other.left_out;
        let mut kept = std::mem::take(&mut self.kept);
        kept.extend(other.kept.iter().cloned());
        kept.sort_by_key(|failure| (failure.at, failure.user, failure.session));
        kept.into_iter().for_each(|failure| self.keep(failure));
    }
}

/// The key that failures are counted by: a state, what failed of it, the outcome and the cause.
type KindKey = (u16, Arc<str>, Outcome, Option<Cause>);

fn kind_of(failure: &SessionFailure) -> KindKey {
    let cause = failure.detail.as_ref().map(|detail| detail.cause);
    (failure.state, Arc::clone(&failure.what), failure.outcome, cause)
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
        Some((head, body)) => format!("{}\n\n{body}", without_credentials(head)),
        None => without_credentials(&text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::scene::window;
    use farfield_base::{Detail, Duration, Rule, Sender, Signal};

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
            detail: None,
            instead: Some(format!("came at {ms}").into()),
            exchange: Some(Box::new(KeptExchange {
                request: (*b"POST / HTTP/1.1\r\nAuthorization: Basic YTpi\r\n\r\na=1").into(),
                request_bytes: 49,
                head: (*b"HTTP 200\r\nX: \x1b[2J\r\nX-Auth-Token: SECRET\r\n").into(),
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
            "X: \\u001B[2J\nX-Auth-Token: (not shown)\n",
            "body of the reply, as far as it was looked at: 40000 bytes, of which the first 11 follow\n<p>no\\u0007",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
        assert_eq!(Failures::default().document(), None);
    }

    /// A failure outside of sessions, of which no more is known than its cause.
    fn caused(ms: u64, detail: Detail) -> SessionFailure {
        SessionFailure {
            outcome: Outcome::GoneAway,
            status: 0,
            session: Sample::NO_SESSION,
            detail: Some(Arc::new(detail)),
            instead: None,
            exchange: None,
            ..failure(ms, SessionFailure::NO_STATE, "")
        }
    }

    fn goaway(code: u64, words: &str) -> Detail {
        Detail::sent(Signal::GoAway, code, Sender::Server).with(words.as_bytes())
    }

    #[test]
    fn causes_are_counted_apart_with_their_first_words_and_instants() {
        let rule = Detail::broken(Rule::new("no", "RFC 1 §1"));
        let noted = [
            caused(9, goaway(2, "before the measured part")),
            caused(13, goaway(2, "later")),
            caused(12, rule),
            caused(11, goaway(0xb, "calm\x1b[2J")),
            caused(18, goaway(2, "last")),
        ];
        let whole = failures(&noted);
        let kinds = whole.kinds();
        let shown = |kind: &FailureKind<'_>| {
            let at = |at: Option<Instant>| at.map(|at| at.as_ns() / 1_000_000);
            (kind.cause.map(|cause| cause.to_string()), kind.count, at(kind.first), at(kind.last))
        };
        let expected = [
            (Some("GOAWAY with INTERNAL_ERROR (0x2), sent by the server".to_owned()), 2, Some(13), Some(18)),
            (Some("no (RFC 1 §1)".to_owned()), 1, Some(12), Some(12)),
            (
                Some("GOAWAY with ENHANCE_YOUR_CALM (0xb), sent by the server".to_owned()),
                1,
                Some(11),
                Some(11),
            ),
        ];
        assert_eq!(kinds.iter().map(shown).collect::<Vec<_>>(), expected);
        assert_eq!(kinds[0].instead, Some("before the measured part"));
        let cause = whole.cause_of(Outcome::GoneAway).expect("a cause");
        assert_eq!(cause.0.to_string(), expected[0].0.clone().expect("a cause"));
        assert_eq!(whole.cause_of(Outcome::BadFrame), None);
        let text = whole.document().expect("some are kept");
        let first = "==== failure 1 of 3: gone-away\nat 0.009000 s, user 1\ncause: GOAWAY with INTERNAL_ERROR (0x2), \
                     sent by the server\nfound: before the measured part\n\n==== failure 2 of 3: gone-away\n";
        assert!(text.starts_with(first), "{text}");
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
    }

    /// Workers, parts and machines are folded in any order.
    #[test]
    fn causes_merge_in_any_order() {
        let noted: Vec<_> =
            (0..60).map(|n| caused(10 + n % 7, goaway(n % 5, &format!("{}", n % 11)))).collect();
        let parts: Vec<Failures> = noted.chunks(7).map(failures).collect();
        let merge = |parts: Vec<&Failures>| {
            let mut merged = failures(&[]);
            parts.into_iter().for_each(|part| merged.merge(part));
            merged
        };
        let forward = merge(parts.iter().collect());
        let backward = merge(parts.iter().rev().collect());
        let pairs: Vec<Failures> = parts.chunks(2).map(|pair| merge(pair.iter().collect())).collect();
        let by_pairs = merge(pairs.iter().rev().collect());
        assert_eq!(forward.kinds().len(), 5);
        assert_eq!(forward.kinds(), failures(&noted).kinds());
        assert_eq!(forward.kinds(), backward.kinds());
        assert_eq!(forward.kinds(), by_pairs.kinds());
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
