//! A connection of the server: its TCP, what it has read, and where it is between the SYN and the close.

use super::events::Streaming;
use super::http::{PartialRequest, Persistence, Replies, ServedRequest, piece};
use super::http2::Multiplexer;
use super::setup::ServerSetup;
use super::{Objects, ServerPlan};
use crate::slots::ClientId;
use bytes::Bytes;
use farfield_base::{Duration, Instant};
use farfield_http::http2::server::{RequestHeads, ServerSettings, begins_http2};
use farfield_http::tls::model::{ServerSession, Terms};
use farfield_tcp::Segment;
use smallvec::SmallVec;

/// The stages of a connection's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectionStage {
    /// The handshake is under way.
    Handshake,
    /// In the accept queue.
    Queued,
    /// Accepted.
    Accepted,
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub tcp: farfield_tcp::Connection,
    pub client: ClientId,
    pub port: u16,
    pub stage: ConnectionStage,
    /// A process holds it.
    pub held: bool,
    /// A request of it is served, or waits for that.
    pub busy: bool,
    /// The client has sent its FIN.
    pub peer_finished: bool,
    /// The server has closed, or will once the reply is written.
    pub closing: bool,
    /// The server has closed, and the process that holds it waits for the client to close.
    pub lingering: bool,
    pub serial: u32,
    /// Requests answered.
    pub answered: u32,
    pub timer_at: Instant,
    /// The end of the wait for a request; [`Instant::MAX`] while none is awaited.
    pub idle_until: Instant,
    /// The earliest idle alarm that is set.
    pub idle_alarm_at: Instant,
    /// Bytes of the present reply that are not written yet.
    pub unwritten: u64,
    /// The event stream that is being sent.
    pub streaming: Option<Box<Streaming>>,
    pub reading: PartialRequest,
    /// The session between TCP and what is read, where the scheme is https.
    pub tls: Option<Box<ServerSession>>,
    /// Requests read and not begun, in order.
    pub asks: SmallVec<[ServedRequest; 1]>,
    /// Streams, where the client speaks HTTP/2.
    pub http2: Option<Box<Multiplexer>>,
}

/// The beginning of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplyBegun {
    /// There is none, or the connection takes none.
    Nothing,
    /// The rest of it is to be written.
    WritesOn,
    /// The reply's first event is due so much later.
    Stream(Duration),
}

/// A server's means of reading requests.
pub(crate) struct RequestReader<'a> {
    pub objects: &'a Objects,
    pub terms: Option<&'a Terms>,
    pub streams: ServerSettings,
    pub heads: &'a mut RequestHeads,
}

impl<'a> RequestReader<'a> {
    pub fn of(plan: &'a ServerPlan, heads: &'a mut RequestHeads) -> RequestReader<'a> {
        RequestReader { objects: &plan.objects, terms: plan.tls.as_deref(), streams: plan.streams, heads }
    }
}

impl Connection {
    pub fn new(tcp: farfield_tcp::Connection, client: ClientId, port: u16, serial: u32) -> Connection {
        Connection {
            tcp,
            client,
            port,
            stage: ConnectionStage::Handshake,
            held: false,
            busy: false,
            peer_finished: false,
            closing: false,
            lingering: false,
            serial,
            answered: 0,
            timer_at: Instant::MAX,
            idle_until: Instant::MAX,
            idle_alarm_at: Instant::MAX,
            unwritten: 0,
            streaming: None,
            reading: PartialRequest::default(),
            tls: None,
            asks: SmallVec::new(),
            http2: None,
        }
    }

    /// Takes a segment; returns how many requests it completed.
    pub fn handle_segment(
        &mut self,
        now: Instant,
        segment: &Segment,
        payload: &Bytes,
        reader: RequestReader<'_>,
    ) -> u32 {
        let Connection { tcp, reading, asks, closing, tls, http2, .. } = self;
        let terms = reader.terms;
        let (mut whole, mut requests) = (0, Requests { reading, asks, http2, reader });
        let mut read = |plain: &[u8]| whole += requests.read(plain);
        tcp.handle_segment(now, segment, payload, |bytes| match (&mut *tls, terms) {
            _ if *closing => {}
            (Some(session), Some(terms)) => session.receive(terms, bytes, &mut read),
            _ => read(bytes),
        });
        whole
    }

    /// Begins with the reply to the next request, if there is one.
    pub fn begin_reply(&mut self, setup: &ServerSetup, replies: &mut Replies) -> ReplyBegun {
        self.busy = false;
        if self.asks.is_empty() {
            return ReplyBegun::Nothing;
        }
        let ServedRequest { known, fixed, mut keeping, head_only, malformed, stream } = self.asks.remove(0);
        self.answered += 1;
        if setup.ends_after(self.answered) || malformed || (self.peer_finished && self.asks.is_empty()) {
            keeping = Persistence::Close;
        }
        self.closing = keeping == Persistence::Close;
        let size = known.map_or(0, |known| known.size);
        let (first, rest) = match fixed {
            None if stream.is_some() => (Streaming::head(keeping), 0),
            Some(number) => (setup.plan.objects.reply(number, keeping, head_only), 0),
            None => replies.begin(size, keeping, head_only, malformed),
        };
        if self.write(first).is_err() {
            return ReplyBegun::Nothing;
        }
        if let (Some(reply), Some(number), false) = (&setup.plan.events, stream, head_only) {
            let (streaming, first) = Streaming::begin(setup, reply, number);
            self.streaming = Some(streaming.into());
            return ReplyBegun::Stream(first);
        }
        self.unwritten = rest;
        ReplyBegun::WritesOn
    }

    /// Writes as much of the reply as TCP may hold; true if that is all of it.
    pub fn write_on(&mut self, room: u64) -> bool {
        while self.unwritten > 0 && self.tcp.unacknowledged() < room {
            let piece = piece(self.unwritten);
            self.unwritten -= piece.len() as u64;
            if self.write(piece).is_err() {
                self.unwritten = 0;
                return false;
            }
        }
        self.unwritten == 0
    }

    /// Reads what came within the handshake and is taken, once that is answered; returns how many requests it
    /// completed.
    pub fn read_early(&mut self, reader: RequestReader<'_>) -> u32 {
        let Connection { reading, asks, tls, http2, .. } = self;
        let plain = tls.as_mut().map(|session| session.take_early()).unwrap_or_default();
        if plain.is_empty() { 0 } else { Requests { reading, asks, http2, reader }.read(&plain) }
    }
}

/// A connection's requests, as they are read.
struct Requests<'a> {
    reading: &'a mut PartialRequest,
    asks: &'a mut SmallVec<[ServedRequest; 1]>,
    http2: &'a mut Option<Box<Multiplexer>>,
    reader: RequestReader<'a>,
}

impl Requests<'_> {
    /// Reads plaintext; returns how many requests are whole with it.
    fn read(&mut self, plain: &[u8]) -> u32 {
        let Requests { reading, asks, http2, reader: RequestReader { objects, streams, heads, .. } } = self;
        if let Some(own) = http2 {
            return own.read(plain, objects, heads);
        }
        let first = reading.first_bytes(plain);
        let before = asks.len();
        match first.as_deref().map_or(Some(false), begins_http2) {
            Some(false) => reading.read(plain, objects, asks),
            None => reading.keep(plain),
            Some(true) => {
                let own = http2.insert(Multiplexer::new(*streams).into());
                return own.read(first.as_deref().unwrap_or_default(), objects, heads);
            }
        }
        (asks.len() - before) as u32
    }
}
