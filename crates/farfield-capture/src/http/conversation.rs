//! Requests and replies of a connection, paired in their order (RFC 9112, section 9.3).
//!
//! Where a direction is lost behind a hole, pairing takes turns: a request that begins while the bounds of
//! replies are not known ends the reply before it, and a reply that begins ends a request whose end was not
//! seen. That is what clients without pipelining do. A reply is paired only with a request that the server's
//! packets acknowledge. What was inferred in this way is `Lossy`.

mod messages;

use super::head::{self, RequestLine};
use super::reader::{Body, MessageFraming, MessageParser, MessageSink};
use crate::events::EventBody;
use crate::instant::UnixNs;
use crate::stream::{StreamContent, StreamOffset, StreamPiece};
use crate::transaction::{Transaction, TransactionState};
use crate::websocket::{MessageReader, SocketMessage, SocketStage};
use std::collections::VecDeque;

/// Bounds of what is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HttpLimits {
    pub head_bytes_max: usize,
    pub target_bytes_max: usize,
}

/// Counts of what could not be read.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct HttpCounts {
    pub resynchronised: u64,
    pub unasked: u64,
    pub heads_too_long: u64,
    pub tunnels: u64,
}

/// A request and what came of it so far.
#[derive(Debug)]
struct Exchange {
    /// The place at which its request begins.
    offset: StreamOffset,
    request_first: UnixNs,
    request_last: UnixNs,
    request_done: bool,
    /// The request's content waits for the server's word, and none of it has come: a final status takes its
    /// place.
    awaits_word: bool,
    reply_first: Option<UnixNs>,
    reply_last: Option<UnixNs>,
    reply_done: bool,
    method: String,
    target: String,
    authority: u64,
    status: u16,
    body_bytes: u64,
    reply_bytes: u64,
    events: EventBody,
    /// Set for a message on a WebSocket.
    message: Option<Box<SocketMessage>>,
    pipelined: bool,
    lossy: bool,
    not_http: bool,
}

/// State that both directions share.
#[derive(Debug)]
struct Shared {
    limits: HttpLimits,
    /// Requests that are not over, or not handed on yet.
    exchanges: VecDeque<Exchange>,
    /// Number of them, from the front, that have their replies.
    replied: usize,
    /// Requests so far.
    requests: u32,
    /// The offset of the piece that is being read.
    offset: StreamOffset,
    /// Behind what the server's packets acknowledge of the requests.
    acked: StreamOffset,
    /// Bounds of replies are not known.
    replies_lost: bool,
    /// The reply that is being read belongs to no request.
    unasked: bool,
    /// Requests were lost, perhaps more than one, and not all since then is answered: replies may be off by
    /// one.
    doubtful: bool,
    /// A reply has ended since the connection or the capture began.
    settled: bool,
    tunnel: bool,
    /// The frames of the client and the server, once the connection is a WebSocket.
    frames: Option<Box<[MessageReader; 2]>>,
    not_http: bool,
    counts: HttpCounts,
}

/// The HTTP of one connection.
#[derive(Debug)]
pub(crate) struct Conversation {
    requests: MessageParser,
    replies: MessageParser,
    shared: Shared,
}

impl Conversation {
    /// Begins a conversation, at the beginning of its connection or in the middle.
    pub fn new(from_start: bool, limits: HttpLimits) -> Conversation {
        let shared = Shared {
            limits,
            exchanges: VecDeque::new(),
            replied: 0,
            requests: 0,
            offset: 0,
            acked: 0,
            replies_lost: !from_start,
            unasked: false,
            // There may be requests from before the capture.
            doubtful: !from_start,
            settled: from_start,
            tunnel: false,
            frames: None,
            not_http: false,
            counts: HttpCounts::default(),
        };
        Conversation {
            requests: MessageParser::new(false, from_start),
            replies: MessageParser::new(true, from_start),
            shared,
        }
    }

    /// Takes in what the client sent. A byte counts when it was first captured.
    pub fn handle_request(&mut self, piece: &StreamPiece<'_>) {
        self.shared.offset = piece.offset;
        let head_max = self.shared.limits.head_bytes_max;
        let mut owner = RequestSink(&mut self.shared);
        self.requests.handle(piece.what, piece.captured, piece.begins_packet, head_max, &mut owner);
        self.settle();
    }

    /// Takes in what the server sent, in packets that acknowledge the client's direction up to `acked`. A
    /// byte counts when it is available in order.
    pub fn handle_reply(&mut self, piece: &StreamPiece<'_>, acked: StreamOffset) {
        // Packets that were not captured may have acknowledged anything.
        self.shared.acked =
            if matches!(piece.what, StreamContent::Missing(_)) { StreamOffset::MAX } else { acked };
        let head_max = self.shared.limits.head_bytes_max;
        let mut owner = ReplySink(&mut self.shared);
        self.replies.handle(piece.what, piece.available, piece.begins_packet, head_max, &mut owner);
        self.settle();
    }

    fn settle(&mut self) {
        self.shared.replies_lost = self.replies.is_lost();
        if self.shared.frames.is_some() {
            self.requests.enter_tunnel();
        } else if self.shared.not_http || self.shared.tunnel {
            self.requests.ignore();
            self.replies.ignore();
        }
    }

    /// Requests so far.
    pub fn requests(&self) -> u32 {
        self.shared.requests
    }

    /// Counts of what could not be read.
    pub fn counts(&self) -> HttpCounts {
        self.shared.counts
    }

    /// Notes that one direction was not captured at all: what seems not to be over may have been.
    pub fn doubt(&mut self) {
        self.shared.exchanges.iter_mut().for_each(|exchange| exchange.lossy = true);
    }

    /// The next transaction that is over; if the connection `ended`, the next of all.
    pub fn poll_transaction(&mut self, connection: u32, ended: bool) -> Option<Transaction> {
        let shared = &mut self.shared;
        let front = shared.exchanges.front()?;
        // What comes behind the last message of the client's is kept beside it.
        let is_last = shared.exchanges.len() == 1;
        if shared.frames.is_some() && front.message.is_some() && is_last && !ended {
            return None;
        }
        let is_answered = front.message.is_some() && front.reply_first.is_some();
        let done = front.request_done && (front.reply_done || ended && is_answered);
        if !done && !ended {
            return None;
        }
        let number = shared.requests - shared.exchanges.len() as u32;
        let exchange = shared.exchanges.pop_front()?;
        shared.replied -= usize::from(exchange.reply_done);
        let state = match &exchange {
            Exchange { not_http: true, .. } => TransactionState::NotHttp,
            Exchange { lossy: true, .. } => TransactionState::Lossy,
            _ if done => TransactionState::Complete,
            Exchange { request_done: true, reply_first: None, .. } => TransactionState::Unanswered,
            _ => TransactionState::Truncated,
        };
        Some(Transaction {
            connection,
            number,
            request_first: exchange.request_first,
            request_last: exchange.request_last,
            reply_first: exchange.reply_first,
            reply_last: exchange.reply_last,
            pipelined: exchange.pipelined,
            method: exchange.method,
            target: exchange.target,
            authority: exchange.authority,
            status: exchange.status,
            body_bytes: exchange.body_bytes,
            reply_bytes: exchange.reply_bytes,
            message: exchange.message,
            events: exchange.events.end(exchange.reply_last.filter(|_| exchange.reply_done)),
            state,
        })
    }
}

impl Shared {
    /// Adds a request that begins at `at`.
    fn add(&mut self, at: UnixNs) -> &mut Exchange {
        if self.replies_lost && self.exchanges.get(self.replied).is_some_and(|it| it.reply_first.is_some()) {
            self.end_reply(true);
        }
        self.doubtful |= self.replies_lost && self.replied < self.exchanges.len();
        if let Some(before) = self.exchanges.back_mut() {
            before.request_done = true;
        }
        let pipelined = self.replied < self.exchanges.len();
        self.doubtful &= pipelined || !self.settled;
        self.requests += 1;
        self.exchanges.push_back(Exchange {
            offset: self.offset,
            request_first: at,
            request_last: at,
            request_done: false,
            awaits_word: false,
            reply_first: None,
            reply_last: None,
            reply_done: false,
            method: String::new(),
            target: String::new(),
            authority: 0,
            status: 0,
            body_bytes: 0,
            reply_bytes: 0,
            events: EventBody::default(),
            message: None,
            pipelined,
            lossy: self.doubtful,
            not_http: false,
        });
        self.exchanges.back_mut().expect("one was added")
    }

    /// The request whose reply is being read or comes next.
    fn current(&mut self) -> Option<&mut Exchange> {
        if self.unasked { None } else { self.exchanges.get_mut(self.replied) }
    }

    /// Bounds of replies are not known: where several requests wait, which reply is whose is not known
    /// either, until none waits.
    fn doubt_replies(&mut self) {
        if self.exchanges.len() > self.replied + 1 {
            self.doubtful = true;
            self.exchanges.iter_mut().skip(self.replied).for_each(|exchange| exchange.lossy = true);
        }
    }

    fn end_reply(&mut self, lossy: bool) {
        if let Some(exchange) = self.exchanges.get_mut(self.replied) {
            exchange.reply_done = true;
            exchange.lossy |= lossy;
            self.settled = true;
            self.replied += 1;
        }
    }

    fn name(&mut self, line: Option<RequestLine<'_>>) {
        let target_max = self.limits.target_bytes_max;
        if let (Some(line), Some(exchange)) = (line, self.exchanges.back_mut()) {
            let target = &line.target[..line.target.len().min(target_max)];
            exchange.method = String::from_utf8_lossy(line.method).into_owned();
            exchange.target = String::from_utf8_lossy(target).into_owned();
            exchange.authority = line.authority;
        }
    }

    /// Ends all: the connection is not HTTP/1 from the request on whose reply is being read.
    fn give_up(&mut self) {
        self.not_http = true;
        for exchange in self.exchanges.iter_mut().filter(|exchange| !exchange.reply_done) {
            (exchange.not_http, exchange.request_done, exchange.reply_done) = (true, true, true);
        }
        self.replied = self.exchanges.len();
    }
}

/// Requests as they are read.
struct RequestSink<'a>(&'a mut Shared);

impl RequestSink<'_> {
    fn last(&mut self) -> Option<&mut Exchange> {
        self.0.exchanges.back_mut().filter(|exchange| !exchange.request_done)
    }
}

impl MessageSink for RequestSink<'_> {
    fn begin(&mut self, at: UnixNs) {
        self.0.add(at);
    }

    fn took(&mut self, _count: u64, at: UnixNs) {
        if let Some(exchange) = self.last() {
            exchange.request_last = exchange.request_last.max(at);
        }
    }

    fn body(&mut self, _body: Body<'_>, _at: UnixNs) {
        if let Some(exchange) = self.last() {
            exchange.awaits_word = false;
        }
    }

    fn head(&mut self, head: &[u8]) -> MessageFraming {
        let Some((line, fields)) = head::request(head) else { return MessageFraming::NotHttp };
        self.0.name(Some(line));
        if let Some(exchange) = self.last() {
            exchange.awaits_word = fields.expects;
            exchange.message = fields.upgrades.then(|| SocketMessage::of(SocketStage::Opening));
        }
        match fields {
            _ if fields.chunked => MessageFraming::Chunked,
            _ if fields.contradictory || fields.coded => MessageFraming::NotHttp,
            _ => fields.length.map_or(MessageFraming::Empty, MessageFraming::Length),
        }
    }

    fn cut_head(&mut self, head: &[u8]) {
        self.0.name(head::cut_request_line(head));
        self.lossy();
    }

    fn lossy(&mut self) {
        if let Some(exchange) = self.last() {
            exchange.lossy = true;
        }
    }

    fn end(&mut self, _at: UnixNs) {
        if let Some(exchange) = self.last() {
            exchange.request_done = true;
        }
    }

    fn lost(&mut self, _count: u64, at: UnixNs) {
        let goes_on = self.last().is_some_and(|exchange| exchange.reply_first.is_none());
        let exchange = if goes_on { self.last() } else { Some(self.0.add(at)) };
        if let Some(exchange) = exchange {
            exchange.lossy = true;
            exchange.request_last = exchange.request_last.max(at);
        }
        self.0.doubtful = true;
    }

    fn found(&mut self) {
        self.0.counts.resynchronised += 1;
    }

    fn lost_end(&mut self) {
        self.end(UnixNs::default());
    }

    fn not_http(&mut self, at: UnixNs) -> bool {
        if self.last().is_none() {
            self.0.add(at);
        }
        if let Some(exchange) = self.last() {
            exchange.request_done = true;
            exchange.not_http = true;
        }
        self.0.give_up();
        false
    }

    fn too_long(&mut self, at: UnixNs) {
        self.0.counts.heads_too_long += 1;
        self.not_http(at);
    }

    fn tunnelled(&mut self, body: Body<'_>, at: UnixNs) {
        let Some(mut frames) = self.0.frames.take() else { return };
        frames[0].take(body, at, &mut |turn| self.0.turn_of_client(turn, at));
        self.0.frames = Some(frames);
    }
}

/// Replies as they are read.
struct ReplySink<'a>(&'a mut Shared);

impl MessageSink for ReplySink<'_> {
    fn begin(&mut self, at: UnixNs) {
        // A reply is sent when something of its request has come.
        let acked = self.0.acked;
        self.0.unasked = self.0.exchanges.get(self.0.replied).is_none_or(|it| it.offset >= acked);
        if self.0.unasked {
            self.0.counts.unasked += 1;
        }
        if let Some(exchange) = self.0.current() {
            exchange.reply_first = Some(at);
            // A reply begins when its request has ended, if that was not seen.
            exchange.request_done |= exchange.lossy;
        }
    }

    fn took(&mut self, count: u64, at: UnixNs) {
        if let Some(exchange) = self.0.current() {
            exchange.reply_bytes += count;
            exchange.reply_last = Some(at);
        }
    }

    fn body(&mut self, body: Body<'_>, at: UnixNs) {
        if let Some(exchange) = self.0.current() {
            exchange.body_bytes += body.count();
            match body {
                Body::Known(bytes) => exchange.events.take(bytes, at),
                Body::Unknown(_) => exchange.events.lose(),
            }
        }
    }

    fn head(&mut self, head: &[u8]) -> MessageFraming {
        let Some((status, fields)) = head::reply(head) else { return MessageFraming::NotHttp };
        let asked = self.0.current();
        let is = |method: &str| asked.as_ref().is_some_and(|exchange| exchange.method == method);
        let framing = match status {
            101 => MessageFraming::Tunnel,
            100..200 => MessageFraming::Interim,
            204 | 304 => MessageFraming::Empty,
            _ if is("HEAD") => MessageFraming::Empty,
            // The request that it answers may have been HEAD.
            _ if asked.is_none() || is("") => MessageFraming::Unknown,
            200..300 if is("CONNECT") => MessageFraming::Tunnel,
            _ if fields.chunked => MessageFraming::Chunked,
            _ if fields.coded => MessageFraming::UntilClose,
            _ if fields.contradictory => MessageFraming::NotHttp,
            _ => fields.length.map_or(MessageFraming::UntilClose, MessageFraming::Length),
        };
        if let Some(exchange) = asked {
            exchange.lossy |= framing == MessageFraming::Unknown;
            match framing {
                MessageFraming::Interim => (exchange.reply_first, exchange.reply_last) = (None, None),
                _ => {
                    exchange.status = status;
                    exchange.events = EventBody::of(fields.media);
                }
            }
        }
        if status == 101 && fields.upgrades {
            self.0.frames = Some(Box::default());
        } else if framing == MessageFraming::Tunnel {
            self.0.tunnel = true;
            self.0.counts.tunnels += 1;
        }
        framing
    }

    fn cut_head(&mut self, head: &[u8]) {
        if let (Some(status), Some(exchange)) = (head::status(head), self.0.current()) {
            exchange.status = status;
        }
        self.lossy();
    }

    fn lossy(&mut self) {
        if let Some(exchange) = self.0.current() {
            exchange.lossy = true;
        }
    }

    fn end(&mut self, at: UnixNs) {
        if !std::mem::take(&mut self.0.unasked) {
            if let Some(exchange) = self.0.current() {
                exchange.reply_last = Some(at);
                exchange.request_done |= exchange.awaits_word;
            }
            self.0.end_reply(false);
        }
    }

    fn lost(&mut self, count: u64, at: UnixNs) {
        self.0.doubt_replies();
        let acked = self.0.acked;
        if let Some(exchange) = self.0.current()
            && (exchange.offset < acked || exchange.reply_first.is_some())
        {
            exchange.lossy = true;
            exchange.request_done = true;
            exchange.reply_first.get_or_insert(at);
            exchange.reply_last = Some(at);
            exchange.reply_bytes += count;
        }
    }

    fn found(&mut self) {
        self.0.counts.resynchronised += 1;
        self.0.doubt_replies();
        if std::mem::take(&mut self.0.unasked) {
            return;
        }
        let others = self.0.exchanges.len() > self.0.replied + 1;
        // Lost bytes without a head, and nothing else was asked: they were of an interim reply to the same.
        let same = self.0.current().is_some_and(|exchange| exchange.status == 0) && !others;
        if !same && self.0.current().is_some_and(|exchange| exchange.reply_first.is_some()) {
            self.0.end_reply(true);
        }
    }

    fn lost_end(&mut self) {
        if self.0.current().is_some_and(|exchange| exchange.reply_first.is_some()) {
            self.0.end_reply(true);
        }
    }

    fn not_http(&mut self, at: UnixNs) -> bool {
        let nobodys = self.0.exchanges.len() == self.0.replied || self.0.unasked;
        self.0.unasked = false;
        if nobodys && self.0.requests > 0 {
            // More than was asked for, such as a body behind a reply to HEAD: it was counted as it began.
            return true;
        }
        if !nobodys && self.0.current().is_some_and(|exchange| exchange.lossy) {
            // It may have been the reply to another request, such as HEAD.
            return true;
        }
        if nobodys {
            self.0.add(at);
        }
        if let Some(exchange) = self.0.current() {
            // Bytes that came are no reply.
            (exchange.reply_first, exchange.reply_last) = (None, None);
        }
        self.0.give_up();
        false
    }

    fn too_long(&mut self, at: UnixNs) {
        self.0.counts.heads_too_long += 1;
        self.not_http(at);
    }

    fn tunnelled(&mut self, body: Body<'_>, at: UnixNs) {
        let Some(mut frames) = self.0.frames.take() else { return };
        frames[1].take(body, at, &mut |turn| self.0.turn_of_server(turn, at));
        self.0.frames = Some(frames);
    }
}
