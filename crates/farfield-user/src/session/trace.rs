//! Events of a session, for those who write one and watch it go once through.
//!
//! The events come from the session machine that every run uses, at the places where it acts. A run that is
//! not watched has no [`Tracer`], and does nothing here.

use super::check::UnmetInWords;
use super::coding::{Coding, Decoder};
use super::mask::Mask;
use super::request::RequestBytes;
use super::socket_part::SocketPart;
use super::visit::Visit;
use super::{RequestRole, Sessions};
use farfield_base::{Duration, Ending, Instant, Outcome};
use farfield_http::Head;
use farfield_http::http1::Fields;
use farfield_traffic::session::course::Condition;
use farfield_traffic::session::websocket::SocketStep;
use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// Bytes of a traced reply's body that are kept at most.
pub const TRACED_BODY_BYTES: usize = 64 << 10;

/// Something that happened in a traced session.
#[derive(Debug, Clone, PartialEq)]
pub enum TraceEvent {
    /// A session begins, with the rows of data that it has: columns and values.
    Begun(Vec<(String, String)>),
    /// The user comes to a state; `again` where it failed before and is tried once more.
    State {
        /// The state's name.
        name: String,
        /// The request is a retry.
        again: bool,
    },
    /// A state is left out because its condition does not hold.
    Skipped {
        /// The state's name.
        name: String,
        /// The condition, as the scenario has it.
        condition: String,
    },
    /// Something in the scenario that does not fit the page, though the request could be sent.
    Warning(String),
    /// The state's request cannot be written.
    NotAsked {
        /// Outcome of the request.
        outcome: Outcome,
        /// The check or the name of what is lacking.
        reason: String,
    },
    /// A request is written and sent as soon as there is a connection.
    Request(TracedRequest),
    /// A request is over.
    Reply(TracedReply),
    /// A value was extracted, or (`None`) was not there.
    Extracted {
        /// The variable.
        name: String,
        /// The value.
        value: Option<Vec<u8>>,
        /// The reply had none, and the value is the extraction's `default`.
        by_default: bool,
    },
    /// A check does not hold.
    CheckFailed {
        /// The check, as in `contains "Welcome ann"`.
        check: String,
        /// The value that the reply has instead, where that is one value.
        instead: Option<String>,
    },
    /// The state's page is over and has failed.
    Failed(Outcome),
    /// The session is over.
    Ended {
        /// The state that it ended in.
        state: String,
        /// The session came to the end of its way.
        completed: bool,
        /// The values of variables then, by number: to go on with, and not to be shown.
        values: Vec<Option<Box<[u8]>>>,
    },
}

impl TraceEvent {
    /// The event without values of secrets.
    pub(super) fn masked(self, mask: &Mask) -> TraceEvent {
        if mask.is_empty() {
            return self;
        }
        let pairs = |pairs: Vec<(String, String)>| {
            pairs.into_iter().map(|(name, value)| (name, mask.text(value))).collect::<Vec<_>>()
        };
        match self {
            TraceEvent::Begun(data) => TraceEvent::Begun(pairs(data)),
            TraceEvent::Warning(warning) => TraceEvent::Warning(mask.text(warning)),
            TraceEvent::NotAsked { outcome, reason } => {
                TraceEvent::NotAsked { outcome, reason: mask.text(reason) }
            }
            TraceEvent::Request(mut request) => {
                request.url = mask.text(request.url);
                request.fields = pairs(request.fields);
                request.head = mask.bytes(request.head);
                request.body = mask.bytes(request.body);
                TraceEvent::Request(request)
            }
            TraceEvent::Reply(mut reply) => {
                reply.url = mask.text(reply.url);
                let fields = reply.fields.into_iter().map(|(name, value)| (name, mask.bytes(value)));
                reply.fields = fields.collect();
                reply.body = mask.bytes(reply.body);
                reply.detail = reply.detail.map(|detail| mask.text(detail));
                TraceEvent::Reply(reply)
            }
            TraceEvent::Extracted { name, value, by_default } => {
                TraceEvent::Extracted { name, value: value.map(|value| mask.bytes(value)), by_default }
            }
            TraceEvent::CheckFailed { check, instead } => TraceEvent::CheckFailed {
                check: mask.text(check),
                instead: instead.map(|instead| mask.text(instead)),
            },
            TraceEvent::State { .. }
            | TraceEvent::Skipped { .. }
            | TraceEvent::Failed(_)
            | TraceEvent::Ended { .. } => self,
        }
    }
}

/// Why a request is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceRole {
    /// The state's own request.
    Page,
    /// A redirect led to it.
    Redirect,
    /// The page embeds it.
    Object,
    /// A message of a WebSocket, or the end of one.
    Message(SocketStep),
}

/// A request as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TracedRequest {
    /// A number that the reply has too, and no other request that is open at the same time.
    pub number: u32,
    /// Why it is made.
    pub role: TraceRole,
    /// The method.
    pub method: String,
    /// The whole URL.
    pub url: String,
    /// Names and values of the form that is sent; of a file, its name and size.
    pub fields: Vec<(String, String)>,
    /// The head, with its line ends.
    pub head: Vec<u8>,
    /// The body.
    pub body: Vec<u8>,
}

/// The end of a request: a reply, or its failure.
#[derive(Debug, Clone, PartialEq)]
pub struct TracedReply {
    /// The request's number.
    pub number: u32,
    /// Why the request was made.
    pub role: TraceRole,
    /// The request's URL.
    pub url: String,
    /// From when the request was written to when it was over.
    pub took: Duration,
    /// The status, if there is a reply.
    pub status: Option<u16>,
    /// The fields of the head.
    pub fields: Vec<(Vec<u8>, Vec<u8>)>,
    /// Bytes of the body as they came.
    pub body_bytes: u64,
    /// The body's beginning, without its content coding, up to [`TRACED_BODY_BYTES`].
    pub body: Vec<u8>,
    /// The outcome, as far as the connection and the status decide it.
    pub outcome: Outcome,
    /// Detail of a failure of the connection or of the reply.
    pub detail: Option<String>,
}

impl TracedReply {
    /// The value of the last field of this name, which is in lower case.
    pub fn field(&self, name: &str) -> Option<&[u8]> {
        let named = |(own, _): &&(Vec<u8>, Vec<u8>)| own.eq_ignore_ascii_case(name.as_bytes());
        self.fields.iter().rev().find(named).map(|(_, value)| &value[..])
    }
}

/// Receiver of events.
#[derive(Clone)]
pub(super) struct Tracer {
    watcher: Sender<TraceEvent>,
    mask: Arc<Mask>,
}

impl fmt::Debug for Tracer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tracer")
    }
}

impl Tracer {
    /// Sends an event to the watcher, if there is one and it is still there.
    pub fn send(&self, event: TraceEvent) {
        let _ = self.watcher.send(event.masked(&self.mask));
    }
}

/// A traced request under way, and its reply as far as it has come.
#[derive(Debug)]
pub(super) struct Traced {
    begun: Instant,
    reply: TracedReply,
    decoder: Option<Decoder>,
}

impl Traced {
    /// The head of the reply has come.
    pub fn head(&mut self, head: Head, fields: Fields<'_>) {
        self.reply.status = Some(head.status);
        self.reply.fields = fields.into_iter().map(|(name, value)| (name.to_vec(), value.to_vec())).collect();
        self.decoder =
            Coding::of(fields).ok().flatten().map(|coding| Decoder::new(coding, TRACED_BODY_BYTES));
    }

    /// Bytes of the reply's body have come.
    pub fn body(&mut self, bytes: &[u8]) {
        self.reply.body_bytes += bytes.len() as u64;
        let room = TRACED_BODY_BYTES - self.reply.body.len();
        match &mut self.decoder {
            Some(decoder) => {
                let decoded = decoder.read(bytes);
                self.reply.body.extend_from_slice(&decoded[..decoded.len().min(room)]);
            }
            None => self.reply.body.extend_from_slice(&bytes[..bytes.len().min(room)]),
        }
    }

    /// The request is over.
    pub fn over(mut self, now: Instant, status: Option<u16>, ending: &Ending) -> TraceEvent {
        self.reply.took = now.since(self.begun);
        self.reply.outcome = ending.outcome;
        self.reply.detail = ending.detail.as_ref().map(|detail| detail.to_string());
        if status.is_none() {
            self.reply.status = None;
        }
        TraceEvent::Reply(self.reply)
    }
}

/// A form is sent with fields that its page does not have.
pub(super) fn unknown_fields(tracer: Option<&Tracer>, unknown: &[&str], names: &[&str]) {
    if let Some(tracer) = tracer {
        let names = if names.is_empty() { "none".to_owned() } else { format!("`{}`", names.join("`, `")) };
        let warning = format!("the form has no field or button `{}`; it has {names}", unknown.join("`, `"));
        tracer.send(TraceEvent::Warning(warning));
    }
}

impl Sessions {
    /// Sends what happens in sessions to `watcher`, from all workers that are made of this.
    pub(crate) fn trace(&mut self, watcher: Sender<TraceEvent>) {
        self.tracer = Some(Tracer { watcher, mask: Arc::new(Mask::of(&self.session.environment)) });
        self.writer.keep_fields();
    }

    /// Sends the event that `make` gives, if somebody watches.
    pub(super) fn traced(&self, make: impl FnOnce(&Sessions) -> TraceEvent) {
        if let Some(tracer) = &self.tracer {
            tracer.send(make(self));
        }
    }

    /// A session has begun.
    pub(super) fn trace_begun(&self, visit: &Visit) {
        self.traced(|sessions| {
            let columns = sessions.session.data.iter().zip(0..).flat_map(|(data, number)| {
                let row = visit.row(number);
                data.columns()
                    .iter()
                    .zip(0..)
                    .map(move |(name, column)| (name.clone(), data.value(row, column).to_owned()))
            });
            TraceEvent::Begun(columns.collect())
        });
    }

    /// A request is written: what will be sent of it once its reply has come.
    pub(super) fn trace_request(
        &mut self,
        written: &RequestBytes,
        kind: RequestRole,
        now: Instant,
    ) -> Option<Box<Traced>> {
        self.tracer.as_ref()?;
        let role = match kind {
            _ if written.is_message() => {
                TraceRole::Message(written.part().map_or(SocketStep::Await, SocketPart::step))
            }
            RequestRole::Object => TraceRole::Object,
            RequestRole::Main { redirects } if redirects == self.session.redirects => TraceRole::Page,
            RequestRole::Main { .. } if written.part().is_some() => TraceRole::Page,
            RequestRole::Main { .. } => TraceRole::Redirect,
        };
        let number = self.pending.vacant_key() as u32;
        let url = [self.writer.servers.at(written.host).origin(), written.target()].concat();
        let (head, body) = written.parts();
        let request = TracedRequest {
            number,
            role,
            method: written.method.to_string(),
            url: url.clone(),
            fields: self.writer.take_fields(),
            head: head.to_vec(),
            body: body.to_vec(),
        };
        self.traced(|_| TraceEvent::Request(request));
        let reply = TracedReply {
            number,
            role,
            url,
            took: Duration::ZERO,
            status: None,
            fields: Vec::new(),
            body_bytes: 0,
            body: Vec::new(),
            outcome: Outcome::Ok,
            detail: None,
        };
        Some(Box::new(Traced { begun: now, reply, decoder: None }))
    }

    /// The user comes to its state.
    pub(super) fn trace_state(&self, visit: &Visit) {
        self.traced(|sessions| {
            let name = sessions.session.states[usize::from(visit.state)].name.clone();
            TraceEvent::State { name, again: visit.retries > 0 }
        });
    }

    /// A state is left out.
    pub(super) fn trace_skipped(&self, name: &str, unmet: Condition) {
        self.traced(|sessions| {
            let variable = &sessions.session.variables[usize::from(unmet.variable)];
            let has = if unmet.found { "no value" } else { "a value" };
            TraceEvent::Skipped { name: name.to_owned(), condition: format!("`{variable}` has {has}") }
        });
    }

    /// The request of the user's state cannot be written.
    pub(super) fn trace_not_asked(&self, visit: &Visit, outcome: Outcome) {
        self.traced(|sessions| {
            let form = sessions.session.states[usize::from(visit.state)].form;
            let form = form.map(|number| sessions.session.forms[usize::from(number)].name.as_str());
            let reason = match (outcome, form) {
                (Outcome::WebSocketClosed, _) => "no WebSocket is open that it could go over".to_owned(),
                (Outcome::ExtractFailed, Some(form)) => {
                    format!("the page before has no form {form:?}, which this state sends")
                }
                (_, Some(form)) => format!("the form {form:?} is sent to another server, or not over HTTP"),
                _ => "its path leads to another server, or not over HTTP".to_owned(),
            };
            TraceEvent::NotAsked { outcome, reason }
        });
    }

    /// Checks do not hold.
    pub(super) fn trace_unmet(&self, unmet: impl Iterator<Item = UnmetInWords>) {
        if let Some(tracer) = &self.tracer {
            for UnmetInWords { check, instead } in unmet {
                tracer.send(TraceEvent::CheckFailed { check, instead });
            }
        }
    }

    /// A value was taken from a reply, or was not there.
    pub(super) fn trace_extracted(&self, variable: u16, value: Option<&[u8]>, by_default: bool) {
        self.traced(|sessions| TraceEvent::Extracted {
            name: sessions.session.variables[usize::from(variable)].clone(),
            value: value.map(<[u8]>::to_vec),
            by_default: by_default && value.is_some(),
        });
    }

    /// The session is over: gone its whole way, or `broken_off` in a state.
    pub(super) fn trace_ended(&self, visit: &Visit, broken_off: Option<u16>) {
        self.traced(|sessions| {
            let state = usize::from(broken_off.unwrap_or(visit.state));
            TraceEvent::Ended {
                state: sessions.session.states[state].name.clone(),
                completed: broken_off.is_none(),
                values: visit.variables().to_vec(),
            }
        });
    }
}
