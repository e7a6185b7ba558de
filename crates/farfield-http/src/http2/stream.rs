//! Streams: a request and its reply each (RFC 9113, 5.1).

use super::flow::{ReceiveWindow, SendWindow};
use crate::http1::{Answering, Limits, Malformed, Reply};
use bytes::Bytes;
use std::collections::VecDeque;

/// Streams that were given up here and are remembered one by one.
const REMEMBERED: usize = 32;

/// A stream whose reply is not over.
#[derive(Debug)]
pub(super) struct Stream {
    pub id: u32,
    pub answering: Answering,
    /// Bytes of the request's body that are still to be sent.
    pub unsent: Bytes,
    pub send: SendWindow,
    pub receive: ReceiveWindow,
    /// Status of the last head, interim or final; 0 if none has come.
    pub status: u16,
    /// The final head has come.
    pub in_body: bool,
    /// Bytes that the body must have in all, if that is known.
    pub length: Option<u64>,
    pub body_bytes: u64,
    pub reply_bytes: u64,
    /// Bytes since the reply began or, if later, since the last byte of body: what `Limits::head_bytes`
    /// limits.
    pub bodiless_bytes: u32,
}

impl Stream {
    /// Counts bytes of frames that carry no body.
    pub(super) fn count_bodiless(&mut self, bytes: u32, limits: &Limits) -> Result<(), Malformed> {
        self.reply_bytes += u64::from(bytes);
        self.bodiless_bytes = self.bodiless_bytes.saturating_add(bytes);
        if self.bodiless_bytes > limits.head_bytes { Err(Malformed::HeadTooLarge) } else { Ok(()) }
    }

    /// Bytes of body that may still come, of which there are some to come.
    ///
    /// # Errors
    /// The fault of one more.
    pub(super) fn body_room(&self, limits: &Limits) -> Result<u64, Malformed> {
        match (self.length.map(|length| length - self.body_bytes), limits.body_bytes - self.body_bytes) {
            (Some(0), _) => Err(Malformed::BadLength),
            (_, 0) => Err(Malformed::BodyTooLarge),
            (left, limit) => Ok(left.map_or(limit, |left| left.min(limit))),
        }
    }

    /// Counts bytes of the body, for which there is [room](Self::body_room).
    pub(super) fn count_body(&mut self, bytes: u64) {
        self.body_bytes += bytes;
        self.reply_bytes += bytes;
        self.bodiless_bytes = 0;
    }

    /// The server has ended the stream: the reply is cut if its body is shorter than its head says (RFC
    /// 9113, 8.1.1), as one over HTTP/1 is that ends with its connection.
    pub(super) fn end(&self) -> Result<(), Malformed> {
        match self.length {
            Some(length) if length != self.body_bytes => Err(Malformed::Truncated),
            _ => Ok(()),
        }
    }

    pub(super) fn reply(&self, persistent: bool) -> Reply {
        Reply { status: self.status, persistent, body_bytes: self.body_bytes, reply_bytes: self.reply_bytes }
    }
}

/// The streams of a connection.
#[derive(Debug, Default)]
pub(super) struct Streams {
    /// In the order of their numbers.
    open: Vec<Stream>,
    /// The number of the stream that was opened last, 0 before the first.
    last: u32,
    /// Streams that were given up here, the latest at the end: what comes on them was sent before the server
    /// knew.
    given_up: VecDeque<u32>,
    /// The greatest of those that are no longer remembered: what comes on streams up to here is let pass.
    forgotten: u32,
}

/// The stream that has a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamLookup {
    /// A stream whose reply is not over, at this place.
    Open(usize),
    /// A stream that was given up here.
    GivenUp,
    /// A stream that the server has ended.
    Over,
    /// No stream yet.
    Idle,
}

impl Streams {
    /// The number of the next stream, if there is one left.
    pub(super) fn next_id(&self) -> Option<u32> {
        let next = if self.last == 0 { 1 } else { self.last + 2 };
        (next < 1 << 31).then_some(next)
    }

    pub(super) fn open(&mut self, stream: Stream) {
        self.last = stream.id;
        self.open.push(stream);
    }

    pub(super) fn find(&self, id: u32) -> StreamLookup {
        match self.open.binary_search_by_key(&id, |stream| stream.id) {
            Ok(place) => StreamLookup::Open(place),
            // Even numbers are the server's streams, of which there are none without push.
            Err(_) if id > self.last || id.is_multiple_of(2) => StreamLookup::Idle,
            Err(_) if id <= self.forgotten || self.given_up.contains(&id) => StreamLookup::GivenUp,
            Err(_) => StreamLookup::Over,
        }
    }

    pub(super) fn get(&self, id: u32) -> Option<&Stream> {
        match self.find(id) {
            StreamLookup::Open(place) => self.open.get(place),
            _ => None,
        }
    }

    pub(super) fn find_mut(&mut self, id: u32) -> Option<&mut Stream> {
        match self.find(id) {
            StreamLookup::Open(place) => self.open.get_mut(place),
            _ => None,
        }
    }

    pub(super) fn at(&mut self, place: usize) -> &mut Stream {
        &mut self.open[place]
    }

    pub(super) fn remove(&mut self, place: usize) -> Stream {
        self.open.remove(place)
    }

    /// Remembers that the stream was given up here.
    pub(super) fn give_up(&mut self, id: u32) {
        if self.given_up.len() == REMEMBERED
            && let Some(forgotten) = self.given_up.pop_front()
        {
            self.forgotten = self.forgotten.max(forgotten);
        }
        self.given_up.push_back(id);
    }

    /// The place of the stream with the greatest number, if that is above `id`.
    pub(super) fn last_above(&self, id: u32) -> Option<usize> {
        let last = self.open.last()?;
        (last.id > id).then(|| self.open.len() - 1)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Stream> {
        self.open.iter_mut()
    }

    pub(super) fn len(&self) -> usize {
        self.open.len()
    }
}
