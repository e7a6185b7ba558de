//! A session in words: events of the session machine as lines for a terminal.
//!
//! Pure: events go in, text comes out. Control characters that a server or a page put into a value are left
//! to [`crate::output`], which lets none reach a terminal; line ends in values are written as `\n`, so that
//! a value is one line.

use farfield_base::{Duration, Outcome, without_credentials};
use farfield_traffic::session::websocket::SocketStep;
use farfield_user::{TraceEvent, TraceRole, TracedReply, TracedRequest};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Characters of a value that are shown at most.
const VALUE_CHARS: usize = 160;
/// Characters of a page's text that are shown where something in it was missed.
const EXCERPT_CHARS: usize = 400;
/// Characters of a body that are shown at most where whole messages are.
const BODY_CHARS: usize = 4000;

/// The end of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Completed without a failure.
    Well,
    /// Something failed.
    Broken,
    /// There was no session.
    NeverBegun,
}

/// One session as text, event by event.
pub struct Narrator {
    target: String,
    /// Whole heads and bodies are shown.
    whole: bool,
    pages: usize,
    requests: usize,
    failures: usize,
    /// Objects that failed.
    failed_objects: usize,
    /// The state that the user is in.
    state: String,
    /// Requests without a reply so far.
    open: BTreeSet<u32>,
    /// The last reply that was a page's.
    page: Option<TracedReply>,
    /// The state that the session ended in, and whether it was completed.
    ended: Option<(String, bool)>,
}

impl Narrator {
    /// A narrator of a session on `target`, with `whole` messages or the main parts of them.
    pub fn new(target: &str, whole: bool) -> Narrator {
        Narrator {
            target: target.to_owned(),
            whole,
            pages: 0,
            requests: 0,
            failures: 0,
            failed_objects: 0,
            state: String::new(),
            open: BTreeSet::new(),
            page: None,
            ended: None,
        }
    }

    /// The line before all others.
    pub fn heading(&self) -> String {
        format!("one session on {}\n", self.target)
    }

    /// The lines of an event.
    pub fn narrate(&mut self, event: TraceEvent) -> String {
        let mut out = String::new();
        match event {
            TraceEvent::Begun(data) => {
                for (name, value) in data {
                    line(&mut out, "  data", &name, &value);
                }
            }
            TraceEvent::State { name, again } => {
                self.pages += 1;
                let again = if again { ", again" } else { "" };
                let _ = writeln!(out, "\n{} {name}{again}", self.pages);
                (self.state, self.page) = (name, None);
            }
            TraceEvent::Skipped { name, condition } => {
                let _ = writeln!(out, "\n- {name}: left out, {condition}");
            }
            TraceEvent::Warning(warning) => {
                let _ = writeln!(out, "  warning: {warning}");
            }
            TraceEvent::NotAsked { outcome, reason } => {
                self.failures += 1;
                let _ = writeln!(out, "  FAILED {}, and nothing was sent: {reason}", outcome.name());
            }
            TraceEvent::Request(request) => self.request(&request, &mut out),
            TraceEvent::Reply(reply) => self.reply(reply, &mut out),
            TraceEvent::Extracted { name, value: None, .. } => {
                let _ = writeln!(out, "  extract {name}: nothing there");
            }
            TraceEvent::Extracted { name, value: Some(value), by_default } => {
                let name = if by_default { format!("{name} (default)") } else { name };
                line(&mut out, "  extract", &name, &String::from_utf8_lossy(&value));
            }
            TraceEvent::CheckFailed { check, instead } => {
                let _ = writeln!(out, "  check {} does not hold", cut(&check, VALUE_CHARS));
                if let Some(instead) = instead {
                    let _ = writeln!(out, "    instead: {}", cut(&instead, VALUE_CHARS));
                }
            }
            TraceEvent::Failed(outcome) => self.failed(outcome, &mut out),
            TraceEvent::Ended { state, completed, .. } => self.ended = Some((state, completed)),
        }
        out
    }

    fn request(&mut self, request: &TracedRequest, out: &mut String) {
        self.requests += 1;
        self.open.insert(request.number);
        if let TraceRole::Message(step) = request.role {
            return message_sent(out, step, &request.body);
        }
        if request.role != TraceRole::Object || self.whole {
            let _ = writeln!(out, "  {} {}", request.method, cut(&request.url, 4 * VALUE_CHARS));
        }
        if self.whole {
            lines(out, "    > ", &without_credentials(&String::from_utf8_lossy(&request.head)));
            body(out, "    > ", &request.body);
            return;
        }
        if request.role == TraceRole::Object {
            return;
        }
        for (name, value) in &request.fields {
            line(out, "    field", name, value);
        }
        if request.fields.is_empty() && !request.body.is_empty() {
            let text = String::from_utf8_lossy(&request.body);
            let _ = writeln!(out, "    body = {}", value_of(&text));
        }
    }

    fn reply(&mut self, reply: TracedReply, out: &mut String) {
        self.open.remove(&reply.number);
        if let TraceRole::Message(step) = reply.role {
            message_came(out, step, &reply);
            self.page = Some(reply);
            return;
        }
        let what = match reply.status {
            None => {
                let cause = reply.detail.as_ref().map(|detail| format!(": {}", cut(detail, 3 * VALUE_CHARS)));
                format!("no reply: {}{}", reply.outcome.name(), cause.unwrap_or_default())
            }
            Some(status) => {
                let media =
                    reply.field("content-type").map(|media| String::from_utf8_lossy(media).into_owned());
                let of = media.map_or(String::new(), |media| format!(" of {}", cut(&media, VALUE_CHARS)));
                format!("{status}, {} bytes{of}", reply.body_bytes)
            }
        };
        let took = milliseconds(reply.took);
        if reply.role == TraceRole::Object {
            let failed = reply.outcome != Outcome::Ok;
            self.failed_objects += usize::from(failed);
            let mark = if failed { "FAILED " } else { "" };
            let _ = writeln!(out, "    {mark}embedded {}: {what}, {took}", cut(&reply.url, VALUE_CHARS));
        } else {
            let _ = writeln!(out, "  {what}, {took}");
        }
        if self.whole && reply.status.is_some() {
            for (name, value) in &reply.fields {
                let (name, value) = (String::from_utf8_lossy(name), String::from_utf8_lossy(value));
                lines(out, "    < ", &without_credentials(&format!("{name}: {value}")));
            }
            body(out, "    < ", &reply.body);
        } else if let Some(location) = reply.field("location").filter(|_| reply.role != TraceRole::Object) {
            let _ = writeln!(out, "    location: {}", value_of(&String::from_utf8_lossy(location)));
        }
        if reply.role != TraceRole::Object {
            self.page = Some(reply);
        }
    }

    /// The state's page has failed: why, and what came.
    fn failed(&mut self, outcome: Outcome, out: &mut String) {
        self.failures += 1;
        let _ = writeln!(out, "  FAILED {}", outcome.name());
        let Some(page) = self.page.as_ref().filter(|page| page.status.is_some() && !self.whole) else {
            return;
        };
        let text = visible(&String::from_utf8_lossy(&page.body));
        if text.is_empty() {
            let _ = writeln!(out, "    the reply has no text");
        } else {
            let _ = writeln!(out, "    the reply's text: {}", cut(&text, EXCERPT_CHARS));
        }
    }

    /// The last lines, and how the session ended.
    pub fn end(&self) -> (String, End) {
        let count = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
        let all = format!("{}, {}", count(self.pages, "page"), count(self.requests, "request"));
        let objects = match self.failed_objects {
            0 => String::new(),
            failed => format!(", {} failed", count(failed, "embedded object")),
        };
        if self.pages == 0 {
            return (
                "\nno session was begun: no row of data is left for it, or all of its states are left out\n"
                    .to_owned(),
                End::NeverBegun,
            );
        }
        let (sentence, end) = match &self.ended {
            _ if !self.open.is_empty() => (
                format!(
                    "session not over: {} without a reply yet, in {}",
                    count(self.open.len(), "request"),
                    self.state
                ),
                End::Broken,
            ),
            Some((state, false)) => (format!("session broken off at {state}: {all}{objects}"), End::Broken),
            ended if self.failures > 0 => {
                let over = if ended.is_some() { "completed" } else { "ended" };
                (
                    format!("session {over} with {}: {all}{objects}", count(self.failures, "failed page")),
                    End::Broken,
                )
            }
            Some(_) => (format!("session completed: {all}{objects}"), End::Well),
            None => (format!("session ended by its `clicks`: {all}{objects}"), End::Well),
        };
        let end = if self.failed_objects > 0 { End::Broken } else { end };
        (format!("\n{sentence}\n"), end)
    }
}

fn line(out: &mut String, what: &str, name: &str, value: &str) {
    let _ = writeln!(out, "{what} {} = {}", cut(name, VALUE_CHARS), value_of(value));
}

/// A value on one line, cut.
fn value_of(value: &str) -> String {
    cut(&one_line(value), VALUE_CHARS)
}

fn one_line(text: &str) -> String {
    text.replace("\r\n", "\\n").replace(['\n', '\r'], "\\n").replace('\t', "\\t")
}

/// The first `most` characters, and how many there are beyond them.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}… ({} more)", &text[..at], text[at..].chars().count()),
    }
}

fn lines(out: &mut String, before: &str, text: &str) {
    for text in text.trim_end().lines() {
        let _ = writeln!(out, "{before}{}", text.trim_end());
    }
}

/// A message that is sent on a WebSocket, or what is awaited there.
fn message_sent(out: &mut String, step: SocketStep, payload: &[u8]) {
    match step {
        SocketStep::Ask | SocketStep::Send => {
            let _ = writeln!(out, "  sends {}", payload_of(payload));
        }
        SocketStep::Close => out.push_str("  closes the WebSocket\n"),
        SocketStep::Open | SocketStep::Await => {}
    }
}

/// The message that came in answer, or why there is none.
fn message_came(out: &mut String, step: SocketStep, reply: &TracedReply) {
    let took = milliseconds(reply.took);
    let _ = match (reply.outcome, step) {
        (Outcome::Ok, SocketStep::Send) => Ok(()),
        (Outcome::Ok, SocketStep::Close) => writeln!(out, "  closed, {took}"),
        (Outcome::Ok, _) => writeln!(out, "  gets {}, {took}", payload_of(&reply.body)),
        (outcome, _) => {
            let cause = reply.detail.as_ref().map(|detail| format!(": {}", cut(detail, 3 * VALUE_CHARS)));
            writeln!(out, "  no message: {}{}, {took}", outcome.name(), cause.unwrap_or_default())
        }
    };
}

/// A message on one line; of one that is no text, its length.
fn payload_of(payload: &[u8]) -> String {
    match std::str::from_utf8(payload) {
        Ok(text) => cut(&one_line(text), 2 * VALUE_CHARS),
        Err(_) => format!("{} bytes that are no text", payload.len()),
    }
}

/// A body between a message's lines; of one that is no text, its length.
fn body(out: &mut String, before: &str, bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    let _ = writeln!(out, "{}", before.trim_end());
    let text = String::from_utf8_lossy(bytes);
    let strange =
        text.chars().filter(|c| *c == '\u{fffd}' || c.is_control() && !"\r\n\t".contains(*c)).count();
    if strange * 20 > text.chars().count() {
        let _ = writeln!(out, "{before}({} bytes that are no text)", bytes.len());
    } else {
        lines(out, before, &cut(&text, BODY_CHARS));
    }
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

/// The text of a page without its tags, scripts and styles, with one blank for any white space.
fn visible(page: &str) -> String {
    let mut text = String::new();
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        text.push_str(&rest[..at]);
        text.push(' ');
        let tag = &rest[at..];
        let hidden = ["script", "style"]
            .into_iter()
            .find(|name| tag.get(1..1 + name.len()).is_some_and(|own| own.eq_ignore_ascii_case(name)));
        let end = match hidden {
            Some(name) => tag.to_ascii_lowercase().find(&format!("</{name}")).unwrap_or(tag.len()),
            None => tag.find('>').map_or(tag.len(), |end| end + 1),
        };
        rest = &tag[end..];
    }
    text.push_str(rest);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(role: TraceRole, status: Option<u16>, body: &str, outcome: Outcome) -> TraceEvent {
        TraceEvent::Reply(TracedReply {
            number: 1,
            role,
            url: "http://shop/x".into(),
            took: Duration::from_us(1500),
            status,
            fields: vec![
                (b"Content-Type".to_vec(), b"text/html".to_vec()),
                (b"Location".to_vec(), b"/y".to_vec()),
            ],
            body_bytes: body.len() as u64,
            body: body.as_bytes().to_vec(),
            outcome,
            detail: None,
        })
    }

    fn request(role: TraceRole) -> TraceEvent {
        TraceEvent::Request(TracedRequest {
            number: 1,
            role,
            method: "POST".into(),
            url: "http://shop/x".into(),
            fields: vec![("a".into(), "1\r\n2".into())],
            head: b"POST /x HTTP/1.1\r\nHost: shop\r\n\r\n".to_vec(),
            body: b"a=1".to_vec(),
        })
    }

    fn state() -> TraceEvent {
        TraceEvent::State { name: "buy".into(), again: false }
    }

    fn narrated(whole: bool, events: Vec<TraceEvent>) -> (String, End) {
        let mut narrator = Narrator::new("shop", whole);
        let text: String = events.into_iter().map(|event| narrator.narrate(event)).collect();
        let (last, end) = narrator.end();
        (text + &last, end)
    }

    #[test]
    fn a_failed_check_is_shown_with_what_came() {
        let page = "<title>Shop</title><style>p {}</style><p>Sorry,\n ann</p><script>1 < 2</script>";
        let events = vec![
            state(),
            request(TraceRole::Page),
            reply(TraceRole::Page, Some(200), page, Outcome::Ok),
            TraceEvent::CheckFailed { check: "css \"#sum\" = \"3\"".into(), instead: Some("\"4\"".into()) },
            TraceEvent::Failed(Outcome::CheckFailed),
            TraceEvent::Ended { state: "buy".into(), completed: false, values: Vec::new() },
        ];
        let (text, end) = narrated(false, events);
        let expected = "\n1 buy\n  POST http://shop/x\n    field a = 1\\n2\n  200, 78 bytes of text/html, 1.5 ms\n    location: /y\n  \
                        check css \"#sum\" = \"3\" does not hold\n    instead: \"4\"\n  FAILED check-failed\n    \
                        the reply's text: Shop Sorry, ann\n\nsession broken off at buy: 1 page, 1 request\n";
        assert_eq!((text.as_str(), end), (expected, End::Broken));
    }

    #[test]
    fn an_object_that_failed_is_shown_with_its_url() {
        let events = vec![
            state(),
            request(TraceRole::Object),
            reply(TraceRole::Object, Some(404), "", Outcome::Status4xx),
            TraceEvent::Ended { state: "buy".into(), completed: true, values: Vec::new() },
        ];
        let (text, end) = narrated(false, events);
        assert!(
            text.contains("\n    FAILED embedded http://shop/x: 404, 0 bytes of text/html, 1.5 ms\n"),
            "{text}"
        );
        assert!(text.ends_with("session completed: 1 page, 1 request, 1 embedded object failed\n"), "{text}");
        assert_eq!(end, End::Broken);
    }

    #[test]
    fn whole_messages_are_shown_and_cut() {
        let long = "x".repeat(BODY_CHARS + 7);
        let events =
            vec![state(), request(TraceRole::Page), reply(TraceRole::Page, Some(200), &long, Outcome::Ok)];
        let (text, _) = narrated(true, events);
        for part in
            ["    > Host: shop\n    >\n    > a=1\n", "    < Location: /y\n    <\n    < xxx", "x… (7 more)\n"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn the_end_is_what_happened() {
        let check = |events: Vec<TraceEvent>, sentence: &str, expected: End| {
            let (text, end) = narrated(false, events);
            assert!(text.contains(sentence), "{text}");
            assert_eq!(end, expected, "{text}");
        };
        check(vec![], "no session was begun", End::NeverBegun);
        check(vec![state(), request(TraceRole::Page)], "1 request without a reply yet, in buy", End::Broken);
        let ended = TraceEvent::Ended { state: "buy".into(), completed: true, values: Vec::new() };
        check(vec![state(), ended.clone()], "session completed: 1 page, 0 requests", End::Well);
        let failed = TraceEvent::Failed(Outcome::Reset);
        check(vec![state(), failed, ended], "session completed with 1 failed page", End::Broken);
        check(vec![state()], "session ended by its `clicks`", End::Well);
    }
}
