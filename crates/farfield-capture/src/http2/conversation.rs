//! Requests and replies of a connection of HTTP/2: streams (RFC 9113, section 5), in the order in which the
//! client began them.

use super::frames::{FrameHeader, FrameSink, Frames, HEADER};
use super::hpack::{Decoder, Head};
use crate::events::EventBody;
use crate::http::{Body, HttpCounts, HttpLimits};
use crate::instant::UnixNs;
use crate::stream::StreamPiece;
use crate::transaction::{Transaction, TransactionState};
use std::collections::VecDeque;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const PUSH_PROMISE: u8 = 5;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const PADDED: u8 = 8;
const PRIORITY: u8 = 0x20;

/// A request and what came of it so far.
#[derive(Debug, Default)]
struct Exchange {
    stream: u32,
    request_first: UnixNs,
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

/// A header block that goes on in further frames.
#[derive(Debug)]
struct Block {
    stream: u32,
    /// The type of the frame that began it.
    kind: u8,
    ends_stream: bool,
    first: UnixNs,
    bytes: Vec<u8>,
}

/// State that both directions share.
#[derive(Debug)]
struct Shared {
    limits: HttpLimits,
    /// Requests that are not over, or not handed on yet, by ascending streams.
    exchanges: VecDeque<Exchange>,
    /// Requests so far.
    requests: u32,
    /// Replies cannot be read any more.
    replies_lost: bool,
    /// The instant at which the server said that it takes no more requests.
    going_away: Option<UnixNs>,
    not_http: bool,
    counts: HttpCounts,
}

/// One direction's header blocks.
#[derive(Debug, Default)]
struct Blocks {
    decoder: Decoder,
    open: Option<Block>,
}

/// The HTTP/2 of one connection.
#[derive(Debug)]
pub(crate) struct Conversation {
    requests: Frames,
    replies: Frames,
    request_blocks: Blocks,
    reply_blocks: Blocks,
    shared: Shared,
}

impl Conversation {
    /// Begins a conversation, at the beginning of its connection.
    pub fn new(limits: HttpLimits) -> Conversation {
        let shared = Shared {
            limits,
            exchanges: VecDeque::new(),
            requests: 0,
            replies_lost: false,
            going_away: None,
            not_http: false,
            counts: HttpCounts::default(),
        };
        Conversation {
            requests: Frames::new(true, limits.head_bytes_max),
            replies: Frames::new(false, limits.head_bytes_max),
            request_blocks: Blocks::default(),
            reply_blocks: Blocks::default(),
            shared,
        }
    }

    /// Takes in what the client sent. A byte counts when it was first captured.
    pub fn handle_request(&mut self, piece: &StreamPiece<'_>) {
        let mut owner = RequestSink { shared: &mut self.shared, blocks: &mut self.request_blocks };
        self.requests.handle(piece.what, piece.captured, &mut owner);
        self.settle();
    }

    /// Takes in what the server sent. A byte counts when it is available in order.
    pub fn handle_reply(&mut self, piece: &StreamPiece<'_>) {
        let mut owner = ReplySink { shared: &mut self.shared, blocks: &mut self.reply_blocks };
        self.replies.handle(piece.what, piece.available, &mut owner);
        self.settle();
    }

    fn settle(&mut self) {
        if self.shared.not_http {
            self.requests.ignore();
            self.replies.ignore();
        }
    }

    /// Requests so far.
    pub fn requests(&self) -> u32 {
        self.shared.requests
    }

    /// The instant at which the server said that it takes no more requests.
    pub fn going_away(&self) -> Option<UnixNs> {
        self.shared.going_away
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
        let done = front.request_done && front.reply_done;
        if !done && !front.is_reset && !ended {
            return None;
        }
        let number = shared.requests - shared.exchanges.len() as u32;
        let exchange = shared.exchanges.pop_front()?;
        let state = match &exchange {
            Exchange { not_http: true, .. } => TransactionState::NotHttp,
            Exchange { lossy: true, .. } => TransactionState::Lossy,
            // A server may answer before it has read the request, and then give the rest of it up.
            Exchange { reply_done: true, .. } => TransactionState::Complete,
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
            events: exchange.events.end(exchange.reply_last.filter(|_| exchange.reply_done)),
            message: None,
            state,
        })
    }
}

impl Shared {
    fn find(&mut self, stream: u32) -> Option<&mut Exchange> {
        let place = self.exchanges.binary_search_by_key(&stream, |exchange| exchange.stream).ok()?;
        self.exchanges.get_mut(place)
    }

    /// The request that its first frame begins, or the one that is on `stream` already.
    fn begin(&mut self, stream: u32, first: UnixNs) -> Option<&mut Exchange> {
        let is_new = self.exchanges.back().is_none_or(|last| last.stream < stream);
        // Streams of even numbers are the server's.
        if is_new && stream % 2 == 1 {
            let pipelined = self.exchanges.iter().any(|exchange| !exchange.reply_done && !exchange.is_reset);
            self.requests += 1;
            self.exchanges.push_back(Exchange {
                stream,
                request_first: first,
                request_last: first,
                pipelined,
                lossy: self.replies_lost,
                ..Exchange::default()
            });
        }
        self.find(stream)
    }

    fn reset(&mut self, stream: u32) {
        if let Some(exchange) = self.find(stream) {
            exchange.is_reset = true;
        }
    }

    /// Ends all: what comes cannot be read.
    fn give_up(&mut self) {
        self.not_http = true;
        for exchange in self.exchanges.iter_mut().filter(|own| !(own.request_done && own.reply_done)) {
            (exchange.not_http, exchange.is_reset) = (true, true);
        }
    }
}

impl Blocks {
    /// Takes in a frame of a header block; returns the block once it is whole, or `Err` if it cannot be read.
    fn handle(
        &mut self,
        frame: &FrameHeader,
        content: &[u8],
        bytes_max: usize,
    ) -> Result<Option<(Block, Head)>, ()> {
        match (frame.kind, &mut self.open) {
            (CONTINUATION, Some(open)) if open.stream == frame.stream => {
                open.bytes.extend_from_slice(content)
            }
            (HEADERS | PUSH_PROMISE, None) => {
                let bytes = fragment(frame, content).ok_or(())?.to_vec();
                let ends_stream = frame.kind == HEADERS && frame.flags & END_STREAM != 0;
                let FrameHeader { stream, kind, first, .. } = *frame;
                self.open = Some(Block { stream, kind, ends_stream, first, bytes });
            }
            // Nothing comes between the frames of a block (section 6.10).
            _ => return Err(()),
        }
        if self.open.as_ref().is_some_and(|open| open.bytes.len() > bytes_max) {
            return Err(());
        }
        if frame.flags & END_HEADERS == 0 {
            return Ok(None);
        }
        let block = self.open.take().ok_or(())?;
        let head = self.decoder.read(&block.bytes).ok_or(())?;
        Ok(Some((block, head)))
    }
}

/// The part of a header block in HEADERS or PUSH_PROMISE: without padding, priority, and promised stream.
fn fragment<'a>(frame: &FrameHeader, content: &'a [u8]) -> Option<&'a [u8]> {
    let (mut from, mut to) = (0, content.len());
    if frame.flags & PADDED != 0 {
        to = to.checked_sub(usize::from(*content.first()?))?;
        from = 1;
    }
    match frame.kind {
        HEADERS if frame.flags & PRIORITY != 0 => from += 5,
        PUSH_PROMISE => from += 4,
        _ => {}
    }
    content.get(from..to)
}

/// Bytes of a whole DATA frame that are no body: padding, and its length.
fn padding(frame: &FrameHeader, content: &[u8]) -> u64 {
    match content.first() {
        Some(length) if frame.flags & PADDED != 0 => u64::from(*length) + 1,
        _ => 0,
    }
}

/// Requests as they are read.
struct RequestSink<'a> {
    shared: &'a mut Shared,
    blocks: &'a mut Blocks,
}

impl FrameSink for RequestSink<'_> {
    fn data_begins(&mut self, _frame: &FrameHeader) {}

    fn data(&mut self, frame: &FrameHeader, _content: Body<'_>) {
        if let Some(exchange) = self.shared.find(frame.stream) {
            exchange.request_last = exchange.request_last.max(frame.last);
        }
    }

    fn lossy(&mut self, frame: &FrameHeader) {
        if let Some(exchange) = self.shared.find(frame.stream) {
            exchange.lossy = true;
        }
    }

    fn frame(&mut self, frame: &FrameHeader, content: &[u8]) {
        let (head_max, target_max) = (self.shared.limits.head_bytes_max, self.shared.limits.target_bytes_max);
        match frame.kind {
            HEADERS | CONTINUATION => {
                let Ok(whole) = self.blocks.handle(frame, content, head_max) else {
                    return self.not_http();
                };
                let first = self.blocks.open.as_ref().or(whole.as_ref().map(|(block, _)| block));
                let first = first.map_or(frame.first, |block| block.first);
                let Some(exchange) = self.shared.begin(frame.stream, first) else { return };
                exchange.request_last = exchange.request_last.max(frame.last);
                let Some((block, head)) = whole else { return };
                // Behind a body there may be trailers, which name nothing.
                if exchange.method.is_empty() {
                    exchange.method = String::from_utf8_lossy(&head.method).into_owned();
                    let target = &head.path[..head.path.len().min(target_max)];
                    exchange.target = String::from_utf8_lossy(target).into_owned();
                    exchange.authority = head.authority;
                }
                exchange.request_done |= block.ends_stream;
            }
            DATA => {
                if let Some(exchange) = self.shared.find(frame.stream) {
                    exchange.request_last = exchange.request_last.max(frame.last);
                    exchange.request_done |= frame.flags & END_STREAM != 0;
                }
            }
            RST_STREAM => self.shared.reset(frame.stream),
            _ => {}
        }
    }

    fn lost(&mut self) {
        for exchange in self.shared.exchanges.iter_mut().filter(|exchange| !exchange.request_done) {
            exchange.lossy = true;
        }
    }

    fn not_http(&mut self) {
        if self.shared.requests == 0 {
            self.shared.begin(1, UnixNs::default());
        }
        self.shared.give_up();
    }
}

/// Replies as they are read.
struct ReplySink<'a> {
    shared: &'a mut Shared,
    blocks: &'a mut Blocks,
}

impl ReplySink<'_> {
    /// The bytes of `frame`, and the end of the reply if it has it.
    fn took(exchange: &mut Exchange, frame: &FrameHeader, bytes: u64) {
        exchange.reply_bytes += bytes;
        exchange.reply_last = exchange.reply_last.max(Some(frame.last));
    }
}

impl FrameSink for ReplySink<'_> {
    fn data_begins(&mut self, frame: &FrameHeader) {
        if let Some(exchange) = self.shared.find(frame.stream) {
            ReplySink::took(exchange, frame, HEADER as u64);
        }
    }

    fn data(&mut self, frame: &FrameHeader, content: Body<'_>) {
        if let Some(exchange) = self.shared.find(frame.stream) {
            exchange.body_bytes += content.count();
            match content {
                Body::Known(bytes) if frame.flags & PADDED == 0 => exchange.events.take(bytes, frame.last),
                // What of it is padding is known at its end.
                _ => exchange.events.lose(),
            }
            ReplySink::took(exchange, frame, content.count());
        }
    }

    fn lossy(&mut self, frame: &FrameHeader) {
        if let Some(exchange) = self.shared.find(frame.stream) {
            exchange.lossy = true;
        }
    }

    fn frame(&mut self, frame: &FrameHeader, content: &[u8]) {
        match frame.kind {
            HEADERS | CONTINUATION | PUSH_PROMISE => {
                let head_max = self.shared.limits.head_bytes_max;
                let Ok(whole) = self.blocks.handle(frame, content, head_max) else {
                    return self.not_http();
                };
                let Some(exchange) = self.shared.find(frame.stream) else {
                    self.shared.counts.unasked += u64::from(frame.kind == HEADERS);
                    return;
                };
                if frame.kind != PUSH_PROMISE {
                    ReplySink::took(exchange, frame, HEADER as u64 + frame.length);
                }
                let Some((block, head)) = whole.filter(|(block, _)| block.kind == HEADERS) else { return };
                match head.status {
                    // Another head follows.
                    100..200 => (exchange.reply_first, exchange.reply_last) = (None, None),
                    // Trailers.
                    0 => {}
                    status => {
                        exchange.status = status;
                        exchange.events = EventBody::of(head.media);
                        exchange.reply_first.get_or_insert(block.first);
                    }
                }
                exchange.reply_done |= block.ends_stream;
            }
            DATA => {
                if let Some(exchange) = self.shared.find(frame.stream) {
                    exchange.body_bytes = exchange.body_bytes.saturating_sub(padding(frame, content));
                    exchange.reply_done |= frame.flags & END_STREAM != 0;
                }
            }
            GOAWAY => _ = self.shared.going_away.get_or_insert(frame.last),
            RST_STREAM => self.shared.reset(frame.stream),
            _ => {}
        }
    }

    fn lost(&mut self) {
        self.shared.replies_lost = true;
        for exchange in self.shared.exchanges.iter_mut().filter(|exchange| !exchange.reply_done) {
            exchange.lossy = true;
        }
    }

    fn not_http(&mut self) {
        self.shared.give_up();
    }
}
