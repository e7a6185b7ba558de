//! Failures in sessions, as notes: which check of which state, what came instead and, of the first failures,
//! the request and the reply.
//!
//! Names of checks are made before the run. What came instead is put into words once for each kind of
//! failure, and replies are kept only until as many failures as [`KeptExchange::MOST`] were noted: a server
//! that fails everything costs no more from then on than the note itself.

use super::mask::Mask;
use super::request::RequestBytes;
use farfield_base::{Cause, Detail, Instant, KeptExchange, Note, Outcome, SessionFailure};
use farfield_http::Head;
use farfield_http::http1::Fields;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

/// Kinds of failures that a worker distinguishes; of objects, all others are one more.
const KINDS_MAX: usize = 256;
/// Bytes of a line about what came instead.
const LINE_BYTES: usize = 200;

/// The failures of the users of one worker.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    notes: Vec<Note>,
    /// The number of each kind that had their exchange kept.
    kinds: BTreeMap<(u16, u8, Arc<str>, Option<Cause>), usize>,
    kept: usize,
    /// Covers values of the environment, which are kept nowhere.
    mask: Arc<Mask>,
}

/// A request that failed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Failed<'a> {
    pub at: Instant,
    pub due: Instant,
    pub user: u32,
    pub session: u64,
    pub state: u16,
    pub outcome: Outcome,
    /// The reply's status, if its head came.
    pub status: Option<u16>,
    /// Detail of a failure of the connection or of the reply.
    pub detail: Option<&'a Arc<Detail>>,
    /// The request, if it could be written.
    pub request: Option<&'a RequestBytes>,
    /// The reply's head as [`head`] writes it.
    pub head: &'a [u8],
    /// The part of its body that was kept.
    pub body: &'a [u8],
}

impl Failures {
    /// No failures as yet, of sessions whose secrets `mask` covers.
    pub fn of(mask: Arc<Mask>) -> Failures {
        Failures { mask, ..Failures::default() }
    }

    /// The mask, for another worker.
    pub fn mask(&self) -> Arc<Mask> {
        Arc::clone(&self.mask)
    }

    /// True as long as the reply to a request that fails is to be kept.
    pub fn keep(&self) -> bool {
        self.kept < KeptExchange::MOST
    }

    /// The next note.
    pub fn pop(&mut self) -> Option<Note> {
        self.notes.pop()
    }

    /// True for a kind of failure of which none was noted, so that what came instead is to be said.
    pub fn is_new(&self, state: u16, outcome: Outcome, what: &Arc<str>) -> bool {
        self.kinds.len() < KINDS_MAX
            && !self.kinds.contains_key(&(state, outcome.code(), Arc::clone(what), None))
    }

    /// A detail without values of the environment, which a server may send back.
    fn covered(&self, detail: &Arc<Detail>) -> Arc<Detail> {
        let Some(found) = &detail.found else { return Arc::clone(detail) };
        match self.mask.text(found.to_string()) {
            text if *text == **found => Arc::clone(detail),
            text => Arc::new(Detail { cause: detail.cause, found: Some(text.into()) }),
        }
    }

    /// Notes that a request `failed` for `what`; `instead` says what came, if it is wanted.
    pub fn note(&mut self, failed: Failed<'_>, what: Arc<str>, instead: impl FnOnce() -> String) {
        let Failed { at, due, user, session, state, outcome, status, detail, .. } = failed;
        let key = (state, outcome.code(), Arc::clone(&what), detail.map(|detail| detail.cause));
        let full = self.kinds.len() >= KINDS_MAX;
        let (mut first, mut exchange) = (None, None);
        if let Some(kept) = self.kinds.get_mut(&key).filter(|kept| **kept < KeptExchange::OF_A_KIND) {
            if self.kept < KeptExchange::MOST {
                *kept += 1;
                self.kept += 1;
                exchange = Some(Box::new(failed.exchange(&self.mask)));
            }
        } else if !full && !self.kinds.contains_key(&key) {
            let keeps = self.keep();
            self.kinds.insert(key, usize::from(keeps));
            self.kept += usize::from(keeps);
            exchange = keeps.then(|| Box::new(failed.exchange(&self.mask)));
            first = Some(self.mask.text(instead()).into_boxed_str());
        }
        let detail = detail.map(|detail| self.covered(detail));
        self.notes.push(Note::Failed(Box::new(SessionFailure {
            at,
            due,
            user,
            session: session as u32,
            state,
            outcome,
            status: status.unwrap_or(0),
            what,
            detail,
            instead: first,
            exchange,
        })));
    }
}

impl Failed<'_> {
    fn exchange(&self, mask: &Mask) -> KeptExchange {
        let begin = |bytes: &[u8]| {
            let bytes = mask.bytes(bytes.to_vec());
            bytes[..bytes.len().min(KeptExchange::BYTES)].into()
        };
        let request: &[u8] = self.request.map_or(&[], |request| &request.bytes);
        KeptExchange {
            request: begin(request),
            request_bytes: request.len() as u64,
            head: begin(self.head),
            body: begin(self.body),
            body_bytes: self.body.len() as u64,
        }
    }

    /// The reply in a line: its status and how its body begins.
    pub fn reply_line(&self) -> String {
        let Some(status) = self.status else { return "no reply".to_owned() };
        let length = self.body.len();
        match one_line(self.body, LINE_BYTES / 2) {
            begins if begins.is_empty() => format!("status {status}"),
            begins => format!("status {status} and {length} bytes that begin `{begins}`"),
        }
    }
}

/// The head of a reply as it is kept: status and fields, a line each. The version is not written.
pub(crate) fn write_head(head: Head, fields: Fields<'_>, out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(format!("HTTP {}\r\n", head.status).as_bytes());
    for (name, value) in fields {
        if out.len() >= KeptExchange::BYTES {
            return;
        }
        for part in [name, b": ", value, b"\r\n"] {
            out.extend_from_slice(part);
        }
    }
}

/// The beginning of `text` in one line of at most `most` bytes: blanks are one, and no control character is
/// left.
pub(crate) fn one_line(text: &[u8], most: usize) -> String {
    // Four bytes are the longest character; more than that of blanks is no reason to look further.
    let looked_at = &text[..text.len().min(4 * most)];
    let mut line = String::new();
    for word in String::from_utf8_lossy(looked_at).split(|c: char| c.is_whitespace() || c.is_control()) {
        if word.is_empty() {
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        for letter in word.chars() {
            if line.len() + letter.len_utf8() > most {
                line.push('…');
                return line;
            }
            line.push(letter);
        }
    }
    if looked_at.len() < text.len() {
        let _ = write!(line, "…");
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_is_one_line() {
        assert_eq!(one_line(b" <p>\r\n\tone \x1b[2Jtwo\x07</p>", 80), "<p> one [2Jtwo </p>");
        assert_eq!(one_line(b"abcdef", 4), "abcd…");
        assert_eq!(one_line("ééé".as_bytes(), 4), "éé…");
        assert_eq!(one_line(&[b' '; 4000], 100), "…");
        assert_eq!(one_line(b"", 100), "");
    }

    proptest! {
        #[test]
        fn any_bytes_make_a_line_without_control_characters(
            bytes in prop::collection::vec(any::<u8>(), 0..300), most in 1..100usize,
        ) {
            let line = one_line(&bytes, most);
            prop_assert!(!line.chars().any(char::is_control));
            prop_assert!(line.len() <= most + '…'.len_utf8() + 1, "{} of {most}", line.len());
        }
    }

    fn failed(at: u64) -> Failed<'static> {
        Failed {
            at: Instant::from_ns(at),
            due: Instant::ZERO,
            user: 1,
            session: 2,
            state: 3,
            outcome: Outcome::CheckFailed,
            status: Some(200),
            detail: None,
            request: None,
            head: b"HTTP 200\r\n",
            body: b"ok",
        }
    }

    /// Exchanges are kept of the first failures, two of a kind at most, and what came instead is said once
    /// for each.
    #[test]
    fn the_first_of_each_kind_are_kept() {
        let mut failures = Failures::default();
        for at in 0..10 {
            for what in ["a", "b", "c"] {
                let failed = failed(at);
                failures.note(failed, what.into(), || failed.reply_line());
            }
        }
        let notes: Vec<Note> = std::iter::from_fn(|| failures.pop()).collect();
        let failures: Vec<&SessionFailure> = notes
            .iter()
            .rev()
            .map(|note| match note {
                Note::Failed(failure) => &**failure,
                _ => unreachable!("only failures are noted"),
            })
            .collect();
        assert_eq!(failures.len(), 30);
        let kept: Vec<(&str, u64)> = failures
            .iter()
            .filter(|failure| failure.exchange.is_some())
            .map(|failure| (&*failure.what, failure.at.as_ns()))
            .collect();
        assert_eq!(kept, [("a", 0), ("b", 0), ("c", 0), ("a", 1), ("b", 1)]);
        let instead: Vec<_> = failures.iter().filter_map(|failure| failure.instead.as_deref()).collect();
        assert_eq!(instead, ["status 200 and 2 bytes that begin `ok`"; 3]);
    }

    #[test]
    fn kinds_are_bounded_and_failures_still_counted() {
        let mut failures = Failures::default();
        for n in 0..1000 {
            failures.note(failed(n), n.to_string().into(), String::new);
        }
        assert_eq!((failures.kinds.len(), failures.notes.len()), (KINDS_MAX, 1000));
    }
}
