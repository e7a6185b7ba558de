//! Requests and replies of a connection: its client-initiated bidirectional streams (RFC 9114, section 4.1),
//! in the order in which the client may open them.

use super::frames::{FrameEvent, Frames};
use super::qpack;
use crate::events::EventBody;
use crate::http::{Body, HttpLimits};
use crate::instant::UnixNs;
use crate::stream::StreamPiece;
use crate::transaction::{Transaction, TransactionState};
use std::collections::VecDeque;

/// Requests that are open at once; a stream further ahead is none that a server allows.
pub(crate) const OPEN_MAX: u64 = 1 << 14;

/// Requests by which a reply may be ahead of those that were captured: requests are missing from a capture
/// in small numbers, and a server may send on any stream, each of which would be kept.
const REPLY_AHEAD_MAX: u64 = 64;

/// A request and what came of it so far.
#[derive(Debug)]
struct Exchange {
    request: Frames,
    reply: Frames,
    request_first: Option<UnixNs>,
    request_last: UnixNs,
    request_done: bool,
    reply_first: Option<UnixNs>,
    reply_last: Option<UnixNs>,
    reply_done: bool,
    /// One of the ends gave the stream up.
    is_reset: bool,
    method: String,
    target: String,
    authority: u64,
    status: u16,
    body_bytes: u64,
    reply_bytes: u64,
    events: EventBody,
    pipelined: bool,
    lossy: bool,
    not_http: bool,
}

/// The HTTP/3 of one connection.
#[derive(Debug)]
pub(crate) struct Conversation {
    limits: HttpLimits,
    /// Requests that are not over, or not handed on yet.
    exchanges: VecDeque<Exchange>,
    /// Requests that were handed on.
    passed: u64,
}

impl Exchange {
    fn new(pipelined: bool) -> Exchange {
        Exchange {
            request: Frames::new(),
            reply: Frames::new(),
            request_first: None,
            request_last: UnixNs::default(),
            request_done: false,
            reply_first: None,
            reply_last: None,
            reply_done: false,
            is_reset: false,
            method: String::new(),
            target: String::new(),
            authority: 0,
            status: 0,
            body_bytes: 0,
            reply_bytes: 0,
            events: EventBody::default(),
            pipelined,
            lossy: false,
            not_http: false,
        }
    }

    fn is_over(&self) -> bool {
        self.request_done && self.reply_done || self.is_reset
    }

    fn handle_request(&mut self, piece: &StreamPiece<'_>, limits: HttpLimits) {
        let at = piece.captured;
        self.request_first.get_or_insert(at);
        self.request_last = self.request_last.max(at);
        let mut frames = std::mem::replace(&mut self.request, Frames::new());
        frames.handle(piece.what, at, limits.head_bytes_max, &mut |event| match event {
            FrameEvent::Section(_, section) => match qpack::read(section) {
                // Behind a body there may be trailers, which name nothing.
                Some(head) if self.method.is_empty() => {
                    self.method = String::from_utf8_lossy(&head.method).into_owned();
                    let target = &head.path[..head.path.len().min(limits.target_bytes_max)];
                    self.target = String::from_utf8_lossy(target).into_owned();
                    self.authority = head.authority;
                }
                Some(_) => {}
                None => self.not_http = true,
            },
            FrameEvent::Lossy | FrameEvent::Lost => self.lossy = true,
            FrameEvent::End => self.request_done = true,
            FrameEvent::Bytes(_) | FrameEvent::Body(_) => {}
        });
        self.request = frames;
    }

    fn handle_reply(&mut self, piece: &StreamPiece<'_>, limits: HttpLimits) {
        let at = piece.available;
        let mut frames = std::mem::replace(&mut self.reply, Frames::new());
        frames.handle(piece.what, at, limits.head_bytes_max, &mut |event| match event {
            FrameEvent::Bytes(count) => {
                self.reply_bytes += count;
                self.reply_last = self.reply_last.max(Some(at));
            }
            FrameEvent::Body(body) => {
                self.body_bytes += body.count();
                match body {
                    Body::Known(bytes) => self.events.take(bytes, at),
                    Body::Unknown(_) => self.events.lose(),
                }
            }
            FrameEvent::Section(first, section) => {
                match qpack::read(section).map(|head| (head.status, head.media)) {
                    // Another head follows.
                    Some((100..200, _)) => (self.reply_first, self.reply_last) = (None, None),
                    // Trailers.
                    Some((0, _)) => {}
                    Some((status, media)) => {
                        self.status = status;
                        self.events = EventBody::of(media);
                        self.reply_first.get_or_insert(first);
                        self.reply_last = self.reply_last.max(Some(at));
                    }
                    None => self.not_http = true,
                }
            }
            FrameEvent::Lossy | FrameEvent::Lost => self.lossy = true,
            FrameEvent::End => {
                self.reply_done = true;
                self.reply_last = self.reply_last.max(self.reply_first.map(|_| at));
            }
        });
        self.reply = frames;
    }
}

impl Conversation {
    /// Begins a conversation, at the beginning of its connection.
    pub fn new(limits: HttpLimits) -> Conversation {
        Conversation { limits, exchanges: VecDeque::new(), passed: 0 }
    }

    /// The request number `number`, if it is not over.
    fn find(&mut self, number: u64) -> Option<&mut Exchange> {
        let place = usize::try_from(number.checked_sub(self.passed)?).ok()?;
        self.exchanges.get_mut(place)
    }

    /// The request number `number`, which its client begins, with those before it.
    fn begin(&mut self, number: u64) -> Option<&mut Exchange> {
        if number.checked_sub(self.passed)? >= OPEN_MAX {
            return None;
        }
        if number >= u64::from(self.requests()) {
            let mut pipelined = self.exchanges.iter().any(|own| !own.reply_done && !own.is_reset);
            while number >= u64::from(self.requests()) {
                self.exchanges.push_back(Exchange::new(pipelined));
                pipelined = true;
            }
        }
        self.find(number)
    }

    /// Takes in what the client sent on the stream of request `number`.
    pub fn handle_request(&mut self, number: u64, piece: &StreamPiece<'_>) {
        let limits = self.limits;
        if let Some(exchange) = self.begin(number) {
            exchange.handle_request(piece, limits);
        }
    }

    /// Takes in what the server sent on it. Far ahead of all requests it is a reply to none.
    pub fn handle_reply(&mut self, number: u64, piece: &StreamPiece<'_>) {
        let limits = self.limits;
        if number >= u64::from(self.requests()) + REPLY_AHEAD_MAX {
            return;
        }
        if let Some(exchange) = self.begin(number) {
            exchange.handle_reply(piece, limits);
        }
    }

    /// An end gave the stream up.
    pub fn handle_reset(&mut self, number: u64) {
        if let Some(exchange) = self.find(number) {
            exchange.is_reset = true;
        }
    }

    /// Requests that were handed on.
    pub fn passed(&self) -> u64 {
        self.passed
    }

    /// Requests so far.
    pub fn requests(&self) -> u32 {
        (self.passed + self.exchanges.len() as u64) as u32
    }

    /// The next transaction that is over; if the connection `ended`, the next of all. Of a request that was
    /// not captured, `now` stands for its instant.
    pub fn poll_transaction(&mut self, connection: u32, ended: bool, now: UnixNs) -> Option<Transaction> {
        let front = self.exchanges.front()?;
        if !front.is_over() && !ended {
            return None;
        }
        let exchange = self.exchanges.pop_front()?;
        let number = self.passed as u32;
        self.passed += 1;
        let state = match &exchange {
            Exchange { not_http: true, .. } => TransactionState::NotHttp,
            Exchange { lossy: true, .. } | Exchange { request_first: None, .. } => TransactionState::Lossy,
            Exchange { reply_done: true, status: 200.., .. } if !exchange.method.is_empty() => {
                TransactionState::Complete
            }
            Exchange { request_done: true, reply_first: None, .. } => TransactionState::Unanswered,
            _ => TransactionState::Truncated,
        };
        let request_first = exchange.request_first.unwrap_or(now);
        Some(Transaction {
            connection,
            number,
            request_first,
            request_last: exchange.request_last.max(request_first),
            reply_first: exchange.reply_first,
            reply_last: exchange.reply_last.or(exchange.reply_first),
            pipelined: exchange.pipelined,
            method: exchange.method,
            target: exchange.target,
            authority: exchange.authority,
            status: exchange.status,
            body_bytes: exchange.body_bytes,
            events: exchange.events.end(exchange.reply_last.filter(|_| exchange.reply_done)),
            reply_bytes: exchange.reply_bytes,
            message: None,
            state,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::StreamContent;

    #[test]
    fn a_server_begins_no_requests_without_end() {
        let mut http = Conversation::new(HttpLimits { head_bytes_max: 1024, target_bytes_max: 1024 });
        let at = UnixNs::default();
        let what = StreamContent::Bytes(&[0, 1, b'x']);
        let piece = StreamPiece { offset: 1, what, captured: at, available: at, begins_packet: true };
        http.handle_reply(OPEN_MAX - 1, &piece);
        http.handle_reply(REPLY_AHEAD_MAX, &piece);
        assert_eq!(http.requests(), 0);
        // A few requests may be missing from the capture.
        http.handle_reply(2, &piece);
        assert_eq!(http.requests(), 3);
        http.handle_request(OPEN_MAX - 1, &piece);
        assert_eq!(u64::from(http.requests()), OPEN_MAX);
    }
}
