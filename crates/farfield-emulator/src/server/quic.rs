//! HTTP/3 on the server: connections of QUIC, whose datagrams come and go beside TCP's segments.
//!
//! Handshakes and requests wait for a worker each by itself, in the order in which they become whole, behind
//! and before those of other connections. The answer to a handshake leaves when a worker has taken its time
//! for it. There is no accept queue, and no process that holds a connection: the socket is all workers'.
//!
//! What QUIC does is the library's: see [`farfield_http::quic`]. A connection that has nothing to do for the
//! keep-alive time is closed.

use super::ServerPlan;
use super::core::{Alarm, Core, Ready};
use super::http::{Ask, filler};
use crate::packet::{Packet, Tcp, Udp};
use crate::slots::ClientId;
use bytes::Bytes;
use farfield_base::Instant;
use farfield_base::random::Seed;
use farfield_http::http2::server::{Body, RequestHeads};
use farfield_http::http3::server::{ServerConnection, ServerEvent};
use farfield_http::quic::{Arrival, SEED_BYTES, Server, ServerSettings};
use farfield_http::tls::model::Terms;
use farfield_wire::{Addresses, Ecn};
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

/// What the server sends.
#[derive(Debug, Clone)]
pub(crate) enum Sent {
    Segment(Tcp),
    Datagram(Ecn, Udp),
}

impl Sent {
    /// The packet that carries it between `addresses`.
    pub fn into_packet(self, addresses: Addresses) -> Packet {
        match self {
            Sent::Segment(tcp) => Packet::tcp(addresses, tcp),
            Sent::Datagram(ecn, udp) => Packet::udp(addresses, ecn, udp),
        }
    }
}

/// A connection, by the number that its endpoint has for it and by its serial number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QuicOwner {
    number: u32,
    serial: u32,
}

/// The server's end of QUIC.
#[derive(Debug)]
pub(crate) struct Quic {
    server: Server,
    /// By the numbers that the endpoint has for them.
    connections: Vec<Option<Box<Served>>>,
    /// Connections that there are.
    open: u32,
    /// Buffer for datagrams on their way.
    buffer: Vec<u8>,
}

/// A connection.
#[derive(Debug)]
struct Served {
    core: ServerConnection,
    /// The client that began it, and the address that it has now.
    client: ClientId,
    remote: SocketAddr,
    serial: u32,
    handshake: Handshake,
    /// Requests of which the body is still to come.
    coming: SmallVec<[(u32, Ask); 1]>,
    /// Whole requests that wait for a worker, the first first.
    waiting: VecDeque<(u32, Ask)>,
    served: SmallVec<[(u32, Ask); 1]>,
    answered: u32,
    /// It was closed, or the client has closed it: it stays until what is on its way has passed.
    is_over: bool,
    /// For when the alarm of its timers is set, if it is.
    wakes_at: Option<Instant>,
    idle_until: Instant,
    /// For when the alarm of its idle time is set; [`Instant::MAX`] if it is not.
    idle_alarm_at: Instant,
}

/// How far a handshake is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Handshake {
    /// The client's first message is not whole.
    Begun,
    /// A worker is to answer it: nothing is sent until then.
    Held { resumes: bool },
    /// It was answered.
    Answered,
}

impl Quic {
    /// The server's end, if it speaks QUIC: it has TLS, as `terms` say.
    pub fn new(plan: &ServerPlan, terms: &Arc<Terms>, seed: Seed) -> Quic {
        let settings =
            ServerSettings { streams_max: plan.streams.streams_max, send_buffer: plan.send_buffer };
        let server = Server::modelled(Arc::clone(terms), settings, seed_of(seed));
        Quic { server, connections: Vec::new(), open: 0, buffer: Vec::new() }
    }

    fn find(&mut self, owner: QuicOwner) -> Option<&mut Served> {
        let served = self.connections.get_mut(owner.number as usize)?.as_deref_mut()?;
        (served.serial == owner.serial).then_some(served)
    }

    fn owner_of(&self, number: usize) -> Option<QuicOwner> {
        let served = self.connections.get(number)?.as_ref()?;
        Some(QuicOwner { number: number as u32, serial: served.serial })
    }
}

/// The seed of the server's identifiers, which no client has.
fn seed_of(seed: Seed) -> [u8; SEED_BYTES] {
    let mut bytes = [0x5e; SEED_BYTES];
    bytes[..8].copy_from_slice(&seed.0.to_le_bytes());
    bytes
}

impl Served {
    fn new(core: ServerConnection, client: ClientId, remote: SocketAddr, serial: u32) -> Served {
        Served {
            core,
            client,
            remote,
            serial,
            handshake: Handshake::Begun,
            coming: SmallVec::new(),
            waiting: VecDeque::new(),
            served: SmallVec::new(),
            answered: 0,
            is_over: false,
            wakes_at: None,
            idle_until: Instant::MAX,
            idle_alarm_at: Instant::MAX,
        }
    }

    /// Nothing that it was asked for is of use any more.
    fn end(&mut self) {
        self.is_over = true;
        self.coming.clear();
        self.waiting.clear();
        self.served.clear();
    }

    fn forget(&mut self, number: u32) {
        self.coming.retain(|(own, _)| *own != number);
        self.waiting.retain(|(own, _)| *own != number);
        self.served.retain(|(own, _)| *own != number);
    }
}

impl Core {
    /// Takes a datagram from port `port` of client `client`.
    pub fn handle_datagram(&mut self, now: Instant, client: ClientId, ecn: Ecn, udp: &Udp) {
        self.counters.packets_in += 1;
        let remote = SocketAddr::new(self.network.addresses(client).source(), udp.source_port);
        let Some(quic) = &mut self.quic else { return };
        quic.buffer.clear();
        let arrival = quic.server.receive(now, remote, ecn.bits(), &udp.payload, &mut quic.buffer);
        match arrival {
            Arrival::Nothing => {}
            Arrival::Answered => {
                let payload = self.outgoing.keep(&quic.buffer);
                self.send_datagram(client, udp.source_port, Ecn::NotEct, payload);
            }
            Arrival::New(connection) => {
                let (number, serial) = (connection.number(), self.begun);
                self.begun = serial.wrapping_add(1);
                if quic.connections.len() <= number {
                    quic.connections.resize_with(number + 1, || None);
                }
                let core = ServerConnection::new(*connection);
                quic.connections[number] = Some(Served::new(core, client, remote, serial).into());
                quic.open += 1;
                let open = quic.open + self.connections.len() as u32;
                self.counters.connections_most = self.counters.connections_most.max(open);
                self.go_on_quic(now, QuicOwner { number: number as u32, serial });
            }
            Arrival::Of(number, datagram) => {
                let Some(owner) = quic.owner_of(number) else { return };
                if let Some(Some(served)) = quic.connections.get_mut(number) {
                    quic.server.hand_over(&mut served.core.quic, now, datagram);
                }
                self.go_on_quic(now, owner);
            }
        }
    }

    /// Handles what came on a connection, or what its timers led to, and sends what follows.
    fn go_on_quic(&mut self, now: Instant, owner: QuicOwner) {
        self.take_events(owner);
        let Core { quic: Some(quic), .. } = self else { return };
        let Some(served) = quic.find(owner) else { return };
        if served.handshake == Handshake::Begun
            && let Some(resumes) = served.core.quic.agreed()
        {
            served.handshake = Handshake::Held { resumes };
            self.ready.push_back(Ready::QuicHandshake(owner));
        }
        self.dispatch(now);
        self.await_on_quic(now, owner);
        self.flush_quic(now, owner);
        self.forget_drained(owner);
    }

    /// Forgets a connection that its endpoint has forgotten.
    fn forget_drained(&mut self, owner: QuicOwner) {
        let Some(quic) = &mut self.quic else { return };
        if quic.find(owner).is_some_and(|served| served.core.quic.is_drained()) {
            quic.connections[owner.number as usize] = None;
            quic.open -= 1;
        }
    }

    fn take_events(&mut self, owner: QuicOwner) {
        let Core { quic: Some(quic), heads, plan, counters, ready, .. } = self else { return };
        while let Some(served) = quic.find(owner) {
            let Some(event) = served.core.next_event(heads) else { return };
            match event {
                ServerEvent::Secured => {
                    counters.established += 1;
                    counters.accepted += 1;
                }
                ServerEvent::Head(number) => served.coming.push((number, ask_of(heads, plan))),
                ServerEvent::Asked(number) => {
                    let Some(at) = served.coming.iter().position(|(own, _)| *own == number) else { continue };
                    let asked = served.coming.remove(at);
                    served.waiting.push_back(asked);
                    counters.requests += 1;
                    // What comes within the handshake waits for its answer.
                    if served.handshake == Handshake::Answered {
                        ready.push_back(Ready::QuicRequest(owner));
                    }
                }
                ServerEvent::Reset(number) => served.forget(number),
                ServerEvent::Replied(_) => counters.replies += 1,
                ServerEvent::Lost => served.end(),
            }
        }
    }

    /// A worker begins with the answer to a handshake; false if the connection is gone.
    pub fn begin_quic_handshake(&mut self, now: Instant, owner: QuicOwner) -> bool {
        let (Some(terms), Some(quic)) = (&self.plan.tls, &mut self.quic) else { return false };
        let Some(Served { handshake: Handshake::Held { resumes }, .. }) = quic.find(owner) else {
            return false;
        };
        let cost = if *resumes { terms.resumed } else { terms.full };
        self.counters.busy = self.counters.busy + cost;
        self.alarms.push((now + cost, Alarm::QuicAnswered(owner)));
        true
    }

    /// A worker has answered a handshake.
    pub fn quic_answered(&mut self, now: Instant, owner: QuicOwner) {
        self.idle_workers += 1;
        if let Some(served) = self.quic.as_mut().and_then(|quic| quic.find(owner)) {
            if let Handshake::Held { resumes } = served.handshake {
                self.counters.handshakes_full += u64::from(!resumes);
                self.counters.handshakes_resumed += u64::from(resumes);
            }
            served.handshake = Handshake::Answered;
            let early = served.waiting.len();
            self.ready.extend((0..early).map(|_| Ready::QuicRequest(owner)));
            self.go_on_quic(now, owner);
        }
        self.accept(now);
        self.dispatch(now);
    }

    /// A worker begins with a connection's next request; false if there is none any more.
    pub fn begin_quic_request(&mut self, now: Instant, owner: QuicOwner) -> bool {
        let Some(served) = self.quic.as_mut().and_then(|quic| quic.find(owner)) else { return false };
        let client = served.client;
        let Some((number, mut ask)) = served.waiting.pop_front() else { return false };
        let service = self.draw(client, Some(&mut ask));
        if let Some(served) = self.quic.as_mut().and_then(|quic| quic.find(owner)) {
            served.served.push((number, ask));
        }
        self.counters.busy = self.counters.busy + service;
        self.alarms.push((now + service, Alarm::QuicServed(owner, number)));
        true
    }

    /// The service of a request is over; the connection, or the client's interest, may be gone.
    pub fn quic_served(&mut self, now: Instant, owner: QuicOwner, number: u32) {
        self.idle_workers += 1;
        self.reply_on_quic(owner, number);
        self.go_on_quic(now, owner);
        self.accept(now);
        self.dispatch(now);
    }

    fn reply_on_quic(&mut self, owner: QuicOwner, number: u32) {
        let Core { quic: Some(quic), plan, replies, .. } = self else { return };
        let Some(served) = quic.find(owner) else { return };
        let Some(at) = served.served.iter().position(|(of, _)| *of == number) else { return };
        let (_, Ask { known, fixed, head_only, .. }) = served.served.remove(at);
        served.answered += 1;
        if plan.keep_alive.is_none() || plan.requests_max.is_some_and(|max| served.answered >= max.get()) {
            served.core.go_away();
        }
        let (section, body) = match fixed {
            Some(fixed) => plan.objects.section_reply(fixed, head_only),
            None => {
                let size = known.map_or(0, |known| known.size);
                (replies.section(size), if head_only { Body::None } else { filler(size) })
            }
        };
        served.core.reply(number, &section, body);
    }

    /// A timer of a connection may have come to its end.
    pub fn handle_quic_timer(&mut self, now: Instant, owner: QuicOwner) {
        let Some(quic) = &mut self.quic else { return };
        let Some(served) = quic.find(owner) else { return };
        // An earlier alarm was set since, and has come.
        if served.wakes_at.is_none_or(|at| at > now) {
            return;
        }
        served.wakes_at = None;
        if served.core.quic.next_timeout().is_some_and(|at| at <= now)
            && let Some(Some(served)) = quic.connections.get_mut(owner.number as usize)
        {
            quic.server.handle_timeout(&mut served.core.quic, now);
        }
        self.go_on_quic(now, owner);
    }

    /// A connection that has nothing to do waits for its next request from now on.
    fn await_on_quic(&mut self, now: Instant, owner: QuicOwner) {
        let keep_alive = self.plan.keep_alive.unwrap_or(super::work::FIRST_REQUEST);
        let Some(served) = self.quic.as_mut().and_then(|quic| quic.find(owner)) else { return };
        if served.core.requests() > 0 || served.handshake != Handshake::Answered || served.is_over {
            served.idle_until = Instant::MAX;
            return;
        }
        if served.idle_until == Instant::MAX {
            let wait = if served.answered == 0 { super::work::FIRST_REQUEST } else { keep_alive };
            served.idle_until = now + wait;
        }
        if served.idle_until < served.idle_alarm_at {
            served.idle_alarm_at = served.idle_until;
            self.alarms.push((served.idle_until, Alarm::QuicIdle(owner)));
        }
    }

    /// A connection may have waited for its next request for too long.
    pub fn end_quic_idle(&mut self, now: Instant, owner: QuicOwner) {
        let Some(served) = self.quic.as_mut().and_then(|quic| quic.find(owner)) else { return };
        if served.idle_alarm_at > now {
            return;
        }
        served.idle_alarm_at = Instant::MAX;
        if served.idle_until <= now {
            self.counters.idle_closes += 1;
            served.core.close(now);
            served.end();
        }
        self.await_on_quic(now, owner);
        self.flush_quic(now, owner);
    }

    /// Sends the datagrams that are due, and sets the alarm of the next timer.
    fn flush_quic(&mut self, now: Instant, owner: QuicOwner) {
        loop {
            let Core { quic: Some(quic), outgoing, .. } = self else { return };
            let mut buffer = std::mem::take(&mut quic.buffer);
            buffer.clear();
            let Some(served) = quic.find(owner) else { return };
            let is_held = matches!(served.handshake, Handshake::Held { .. });
            let (client, remote) = (served.client, served.remote);
            let transmit = if is_held { None } else { served.core.quic.next_transmit(now, &mut buffer) };
            let row = if transmit.is_some() { outgoing.keep(&buffer) } else { Bytes::new() };
            quic.buffer = buffer;
            let Some(transmit) = transmit else { break };
            // A client may have come to another address (RFC 9000 section 9).
            let to = transmit.destination;
            let found = if to.ip() == remote.ip() { Some(client) } else { self.directory.find(to.ip()) };
            let (Some(client), port) = (found, to.port()) else { continue };
            let size = transmit.segment_bytes.max(1);
            for from in (0..row.len()).step_by(size) {
                let payload = row.slice(from..(from + size).min(row.len()));
                self.send_datagram(client, port, Ecn::from_bits(transmit.ecn), payload);
            }
        }
        let Some(served) = self.quic.as_mut().and_then(|quic| quic.find(owner)) else { return };
        if let Some(at) = served.core.quic.next_timeout()
            && served.wakes_at.is_none_or(|wakes_at| at < wakes_at)
        {
            served.wakes_at = Some(at);
            self.alarms.push((at.max(now), Alarm::Quic(owner)));
        }
    }

    fn send_datagram(&mut self, client: ClientId, port: u16, ecn: Ecn, payload: Bytes) {
        self.counters.packets_out += 1;
        let udp = Udp { source_port: self.network.servers.port, destination_port: port, payload };
        self.departures.push_back((client, Sent::Datagram(ecn, udp)));
    }
}

/// The request whose head was read last.
fn ask_of(heads: &RequestHeads, plan: &ServerPlan) -> Ask {
    let (method, path) = heads.request().unwrap_or_default();
    let text = |bytes| std::str::from_utf8(bytes).unwrap_or_default();
    Ask::of(text(method), text(path), &plan.objects)
}
