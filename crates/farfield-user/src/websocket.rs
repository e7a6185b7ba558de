//! One end of a WebSocket (RFC 6455): messages as they come, those that are kept for a state which awaits one
//! later, and the frames that go out.
//!
//! The module `messages` has what is asked and awaited on it, and what its user makes of that.

use crate::exchange::Exchange;
use crate::protocol::{Protocol, ReplyContext};
use farfield_base::{Ending, Instant, Outcome};
use farfield_http::http1::{Fields, Reply};
use farfield_http::websocket::{FrameKind, Incoming, MaskSource, Message, MessageReader, write_frame};
use farfield_http::{Event, Heads};
use std::collections::VecDeque;
use std::sync::Arc;

/// Messages that are kept while none is awaited, and their bytes but for the longest.
const EARLY_MAX: usize = 64;
const EARLY_BYTES: usize = 64 << 10;
/// The code with which users close: all is well (RFC 6455 section 7.4.1).
const NORMAL_CLOSURE: u16 = 1000;

/// One end of a WebSocket.
#[derive(Debug)]
pub(crate) struct WebSocket {
    pub reader: MessageReader,
    masks: MaskSource,
    /// Arrival of the first byte of the message that comes, or came last.
    pub begun: Instant,
    /// Messages since the last that was awaited, with their arrival.
    early: VecDeque<(Instant, Message, Box<[u8]>)>,
    early_bytes: usize,
    /// The early message that the state which awaits now has found, with its arrival.
    pub found: Option<(Instant, Message)>,
    /// A Close frame went out.
    pub is_closing: bool,
    /// The code with which the user closes.
    pub leaving: u16,
    /// The server has closed, behind messages that are kept.
    pub ended: Option<Ending>,
}

impl WebSocket {
    /// A WebSocket that is open, and keeps up to `kept_max` bytes of a message of at most `bytes_max`.
    pub fn new(kept_max: usize, bytes_max: u64, masks: MaskSource) -> WebSocket {
        WebSocket {
            reader: MessageReader::new(kept_max, bytes_max),
            masks,
            begun: Instant::ZERO,
            early: VecDeque::new(),
            early_bytes: 0,
            found: None,
            is_closing: false,
            leaving: NORMAL_CLOSURE,
            ended: None,
        }
    }

    /// Keeps the message that is whole for a state to come; how many had to go for it.
    pub fn keep(&mut self, now: Instant, message: Message) -> u64 {
        let payload: Box<[u8]> = self.reader.payload().into();
        self.early_bytes += payload.len();
        self.early.push_back((now, message, payload));
        let mut forgotten = 0;
        while self.early.len() > EARLY_MAX || self.early_bytes - self.longest_early() > EARLY_BYTES {
            if self.take_early().is_none() {
                break;
            }
            forgotten += 1;
        }
        forgotten
    }

    fn longest_early(&self) -> usize {
        // Where all fit there is nothing to look for.
        let is_little = self.early_bytes <= EARLY_BYTES;
        let longest = || self.early.iter().map(|(_, _, payload)| payload.len()).max();
        if is_little { 0 } else { longest().unwrap_or(0) }
    }

    /// Forgets the messages that came before now: how many there were.
    pub fn forget_early(&mut self) -> u64 {
        self.early_bytes = 0;
        std::mem::take(&mut self.early).len() as u64
    }

    /// Takes the earliest message that came before it was awaited, with its arrival.
    pub fn take_early(&mut self) -> Option<(Instant, Message, Box<[u8]>)> {
        let earliest = self.early.pop_front()?;
        self.early_bytes -= earliest.2.len();
        Some(earliest)
    }

    /// A frame that no request is, as it goes out.
    pub fn control_frame(&mut self, kind: FrameKind, payload: &[u8]) -> Vec<u8> {
        self.is_closing |= kind == FrameKind::Close;
        let mut frame = Vec::new();
        write_frame(kind, payload, self.masks.next_mask(), &mut frame);
        frame
    }

    /// True if messages are kept for its user, or one was found for it.
    pub fn has_messages(&self) -> bool {
        self.found.is_some() || !self.early.is_empty()
    }
}

impl Protocol for WebSocket {
    fn read<'b>(
        &mut self,
        _reading: &mut ReplyContext<'_>,
        _in_flight: &mut [Exchange],
        now: Instant,
        bytes: &'b [u8],
    ) -> Result<(usize, Event<'b>), Ending> {
        let mut used = 0;
        loop {
            let (taken, incoming) = self.reader.read(&bytes[used..]).map_err(|violation| {
                self.leaving = violation.close_code();
                Ending { outcome: violation.outcome(), detail: violation.detail().map(Arc::new) }
            })?;
            used += taken;
            let event = match incoming {
                Incoming::Begun => {
                    self.begun = now;
                    continue;
                }
                Incoming::NeedMore => Event::NeedMore,
                Incoming::Message(message) => Event::Message(message),
                Incoming::Ping => Event::Ping,
                Incoming::Close(code) => Event::Close(code),
            };
            return Ok((used, event));
        }
    }

    fn fields<'a>(&'a self, _heads: &'a Heads, _taken: &'a [u8]) -> Fields<'a> {
        Fields::none()
    }

    fn so_far(&self, _in_flight: &[Exchange], _number: u32) -> Option<Reply> {
        None
    }

    fn has_streams(&self) -> bool {
        false
    }

    fn takes_more(&self, _in_flight: &[Exchange]) -> bool {
        false
    }

    fn is_over(&self) -> bool {
        true
    }

    fn ending_of(&self, _exchange: &Exchange, ending: &Ending) -> Ending {
        match ending.outcome {
            Outcome::ClosedUnanswered => Ending { outcome: Outcome::WebSocketClosed, ..ending.clone() },
            _ => ending.clone(),
        }
    }
}
