//! Replies of a server model that are event streams, over HTTP/1: the head at once, then an event at a time.
//!
//! An event loop is free while its streams go on, and a process that holds the connection is not. A client
//! that does not read what it is sent gets no further event until TCP has room.

use super::connection::Connection;
use super::core::ServerCore;
use super::http::Persistence;
use super::output::Alarm;
use super::setup::ServerSetup;
use crate::slots::ServedSlot;
use bytes::Bytes;
use farfield_base::random::{Purpose, Stream};
use farfield_base::{Duration, Instant};
use farfield_net::timeout_queue::Owner;
use farfield_traffic::Distribution;
use std::num::NonZeroU32;

/// Events of the replies of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamedReply {
    /// Number of events of a reply; without end if absent.
    pub count: Option<NonZeroU32>,
    /// Seconds before each of them, drawn from a stream of each request's own.
    pub gap: Distribution,
}

/// A stream that is being sent.
#[derive(Debug)]
pub(crate) struct Streaming {
    sent: u32,
    gaps: Stream,
}

const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

impl Streaming {
    /// The reply to the request of this number, and the time before its first event.
    pub fn begin(setup: &ServerSetup, reply: &StreamedReply, number: u64) -> (Streaming, Duration) {
        // The request's own stream of random numbers is that of its service.
        let mut gaps = setup.seed.stream(Purpose::Server, number | 1 << 63);
        let first = reply.gap.sample_duration(&mut gaps);
        (Streaming { sent: 0, gaps }, first)
    }

    /// The head of a stream.
    pub fn head(keeping: Persistence) -> Bytes {
        let fields = "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n";
        format!("HTTP/1.1 200 OK\r\n{fields}{}\r\n", keeping.line()).into()
    }

    /// The next event, and the time before the one after it, if there is one.
    fn next(&mut self, reply: &StreamedReply) -> (Bytes, Option<Duration>) {
        let event = format!("data: {}\n\n", self.sent);
        let mut chunk = format!("{:x}\r\n{event}\r\n", event.len()).into_bytes();
        self.sent = self.sent.saturating_add(1);
        let is_last = reply.count.is_some_and(|count| self.sent >= count.get());
        if is_last {
            chunk.extend_from_slice(LAST_CHUNK);
        }
        (chunk.into(), (!is_last).then(|| reply.gap.sample_duration(&mut self.gaps)))
    }
}

impl Connection {
    /// Sends the next event of the stream, if TCP has `room` for it: the time before the one after it, or
    /// none if it was the last.
    fn send_event(&mut self, reply: &StreamedReply, room: u64) -> Option<Duration> {
        let streaming = self.streaming.as_mut()?;
        if self.tcp.unacknowledged() >= room {
            return Some(reply.gap.sample_duration(&mut streaming.gaps));
        }
        let (chunk, next) = streaming.next(reply);
        let failed = self.write(chunk).is_err();
        if failed || next.is_none() {
            self.streaming = None;
        }
        next.filter(|_| !failed)
    }
}

impl ServerCore {
    /// An event of the connection's stream is due; the connection may have died meanwhile.
    pub(crate) fn stream_on(&mut self, now: Instant, owner: Owner<ServedSlot>) {
        if !self.connections.has(owner) {
            return;
        }
        let slot = owner.slot;
        let ServerCore { setup, connections, counters, output, .. } = self;
        let Some(reply) = &setup.plan.events else { return };
        let connection = &mut connections[slot];
        if connection.streaming.is_none() {
            return;
        }
        if let Some(gap) = connection.send_event(reply, u64::from(setup.plan.send_buffer)) {
            output.alarms.push((now + gap, Alarm::Event(owner)));
        } else {
            counters.replies += 1;
            if connection.closing {
                self.close(now, slot);
            }
        }
        self.handle_events(now, slot);
    }
}
