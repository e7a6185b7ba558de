//! HTTP/2 on a connection of the server, which a client that knows of it begins (RFC 9113 section 3.3), or
//! agrees on over TLS.
//!
//! Each request waits for a worker by itself, in the order in which requests become whole: event loops serve
//! as many of a connection at once as there are, a process that holds the connection one after the other, as
//! Apache's prefork does. What is served is written as far as the send buffer and the client's windows allow;
//! heads at once, bodies in turns of one frame (see [`farfield_http::http2::server`]). In a session of TLS,
//! frames that are ready together share records.

use super::connection::Connection;
use super::core::ServerCore;
use super::http::{Replies, ServedRequest, filler};
use super::objects::Objects;
use super::output::Alarm;
use super::setup::ServerSetup;
use super::work::{ServiceStart, WorkerJob};
use crate::slots::ServedSlot;
use bytes::Bytes;
use farfield_base::Instant;
use farfield_http::http2::StreamId;
use farfield_http::http2::server::{BodySource, RequestHeads, ServerConnection, ServerEvent, ServerSettings};
use farfield_http::tls::model::RECORD_BYTES_MAX;
use farfield_net::timeout_queue::Owner;
use farfield_user::Outgoing;
use smallvec::SmallVec;
use std::collections::VecDeque;

/// Bytes of heads and answers that may wait beyond what the send buffer holds: bodies wait elsewhere.
const ANSWERS_MAX: u64 = 64 << 10;

/// The streams of a connection.
#[derive(Debug)]
pub(crate) struct Multiplexer {
    core: ServerConnection,
    /// Frames that are not handed to TCP yet: all but those of bodies.
    to_send: Vec<u8>,
    /// Requests of which the body is still to come.
    coming: SmallVec<[(StreamId, ServedRequest); 1]>,
    /// Whole requests that wait for a worker, the first first.
    waiting: VecDeque<(StreamId, ServedRequest)>,
    /// Waiting requests that no worker was asked for yet.
    unannounced: u32,
    /// Requests that are served.
    served: SmallVec<[(StreamId, ServedRequest); 1]>,
    /// The client was sent its error, or does not read what it asks for.
    is_broken: bool,
}

impl Multiplexer {
    pub fn new(settings: ServerSettings) -> Multiplexer {
        let mut to_send = Vec::new();
        Multiplexer {
            core: ServerConnection::new(settings, &mut to_send),
            to_send,
            coming: SmallVec::new(),
            waiting: VecDeque::new(),
            unannounced: 0,
            served: SmallVec::new(),
            is_broken: false,
        }
    }

    /// Takes bytes that came; returns how many requests are whole with them.
    pub fn read(&mut self, bytes: &[u8], objects: &Objects, heads: &mut RequestHeads) -> u32 {
        let Multiplexer { core, to_send, coming, waiting, unannounced, served, is_broken } = self;
        if *is_broken {
            return 0;
        }
        let before = *unannounced;
        let read = core.receive(heads, bytes, to_send, &mut |event| match event {
            ServerEvent::Head { stream, method, path } => {
                let text = |bytes| std::str::from_utf8(bytes).unwrap_or_default();
                coming.push((stream, ServedRequest::of(text(method), text(path), objects)));
            }
            ServerEvent::Asked(stream) => {
                if let Some(at) = coming.iter().position(|(own, _)| *own == stream) {
                    waiting.push_back(coming.remove(at));
                    *unannounced += 1;
                }
            }
            ServerEvent::Reset(stream) => {
                coming.retain(|(own, _)| *own != stream);
                waiting.retain(|(own, _)| *own != stream);
                served.retain(|(own, _)| *own != stream);
            }
        });
        *is_broken = read.is_err();
        *unannounced - before
    }

    /// True if nothing is asked.
    pub fn is_idle(&self) -> bool {
        self.core.streams() == 0
    }

    /// Says that no more requests are taken, unless that was said.
    pub fn go_away(&mut self) {
        if !self.is_broken {
            self.core.go_away(&mut self.to_send);
        }
    }
}

impl ServerCore {
    /// Does what there is to do on a connection of HTTP/2 that was accepted.
    pub(crate) fn go_on_streams(&mut self, now: Instant, slot: ServedSlot) {
        self.ask_for_workers(now, slot);
        let ServerCore { setup, connections, counters, http, .. } = self;
        let connection = &mut connections[slot];
        counters.replies += connection.write_streams(u64::from(setup.plan.send_buffer), &mut http.outgoing);
        let Some(own) = &connection.http2 else { return };
        if own.is_broken {
            return self.close(now, slot);
        }
        if !own.is_idle() {
            connection.idle_until = Instant::MAX;
        } else if connection.peer_finished || own.core.is_going_away() {
            self.close(now, slot);
        } else if connection.idle_until == Instant::MAX {
            self.await_request(now, slot);
        }
    }

    /// Asks for a worker for each request that has become whole. A process that holds the connection serves
    /// one at a time.
    fn ask_for_workers(&mut self, now: Instant, slot: ServedSlot) {
        let owner = self.connections.owner_of(slot);
        let connection = &mut self.connections[slot];
        let Some(own) = &mut connection.http2 else { return };
        let announced = std::mem::take(&mut own.unannounced);
        if connection.held {
            if !connection.busy && self.begin_stream(now, slot) {
                self.connections[slot].busy = true;
            }
        } else if announced > 0 {
            (0..announced).for_each(|_| self.workers.ask(WorkerJob::Connection(owner)));
            self.dispatch(now);
        }
    }

    /// A worker begins with the connection's next request; false if there is none any more.
    pub(crate) fn begin_stream(&mut self, now: Instant, slot: ServedSlot) -> bool {
        let ServerCore { setup, counters, peers, connections, output, .. } = self;
        let owner = connections.owner_of(slot);
        let connection = &mut connections[slot];
        let Some(own) = &mut connection.http2 else { return false };
        let Some((stream, mut ask)) = own.waiting.pop_front() else { return false };
        let mut service = ServiceStart { setup, counters, peers, output };
        service.begin(now, connection.client, Some(&mut ask), Alarm::StreamServed(owner, stream));
        own.served.push((stream, ask));
        true
    }

    /// The service of a request on a stream is over; the connection may have died meanwhile.
    pub(crate) fn stream_served(&mut self, now: Instant, owner: Owner<ServedSlot>, stream: StreamId) {
        let (slot, lives) = (owner.slot, self.connections.has(owner));
        if !self.setup.is_prefork() || !lives {
            self.workers.free();
        }
        if lives {
            let ServerCore { setup, connections, counters, http, .. } = self;
            let connection = &mut connections[slot];
            connection.busy = false;
            counters.replies += u64::from(connection.reply_on(stream, setup, &mut http.replies));
            self.handle_events(now, slot);
        }
        self.accept(now);
        self.dispatch(now);
    }
}

impl Connection {
    /// True if a request of it is being read, served, or replied to.
    pub fn is_at_work(&self) -> bool {
        self.busy
            || self.unwritten > 0
            || self.streaming.is_some()
            || self.http2.as_ref().is_some_and(|own| !own.is_idle())
    }

    /// Replies to a request that was served; true if that is all of the reply.
    fn reply_on(&mut self, stream: StreamId, setup: &ServerSetup, replies: &mut Replies) -> bool {
        let Some(own) = &mut self.http2 else { return false };
        // The client may have given it up.
        let Some(at) = own.served.iter().position(|(of, _)| *of == stream) else { return false };
        let (_, ServedRequest { known, fixed, head_only, .. }) = own.served.remove(at);
        self.answered += 1;
        if setup.ends_after(self.answered) {
            own.go_away();
        }
        let (block, body) = match fixed {
            Some(number) => setup.plan.objects.stream_reply(number, head_only),
            None => {
                let size = known.map_or(0, |known| known.size);
                (replies.block(size), if head_only { BodySource::None } else { filler(size) })
            }
        };
        own.core.reply(stream, &block, body, &mut own.to_send)
    }

    /// Hands frames to TCP, as far as it may hold them; returns how many replies ended with these.
    pub fn write_streams(&mut self, room: u64, outgoing: &mut Outgoing) -> u64 {
        let mut replies = 0;
        loop {
            let Some(own) = &mut self.http2 else { return replies };
            let mut parts: SmallVec<[Bytes; 8]> = SmallVec::new();
            let mut bytes = own.to_send.len();
            if self.tcp.unacknowledged() + bytes as u64 > room + ANSWERS_MAX {
                // A client that asks and does not read.
                own.is_broken = true;
                own.to_send.clear();
                return replies;
            }
            if bytes > 0 {
                parts.push(outgoing.keep(&own.to_send));
                own.to_send.clear();
            }
            // As many frames as a record holds; one that is larger than that has records of its own.
            while bytes < RECORD_BYTES_MAX / 2
                && self.tcp.unacknowledged() + (bytes as u64) < room
                && let Some(piece) = own.core.next_piece()
            {
                bytes += piece.header.len() + piece.payload.len();
                parts.push(outgoing.keep(&piece.header));
                parts.push(piece.payload);
                replies += u64::from(piece.ends.is_some());
            }
            if parts.is_empty() || self.write_parts(&mut parts).is_err() {
                return replies;
            }
        }
    }

    /// Says on a connection that is about to be closed that no more is asked for; returns how many replies
    /// ended with what was written.
    pub fn write_goaway(&mut self, room: u64, outgoing: &mut Outgoing) -> u64 {
        let (Some(own), false) = (&mut self.http2, self.peer_finished) else { return 0 };
        own.go_away();
        self.write_streams(room, outgoing)
    }
}
