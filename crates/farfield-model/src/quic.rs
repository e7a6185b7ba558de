//! HTTP/3 on the server: connections of QUIC, whose datagrams come and go beside TCP's segments.
//!
//! Handshakes and requests wait for a worker each by itself, in the order in which they become whole, behind
//! and before those of other connections. The answer to a handshake leaves when a worker has taken its time
//! for it. There is no accept queue, and no process that holds a connection: the socket is all workers'.
//!
//! QUIC itself is the library's: see [`farfield_http::quic`]. A connection that has nothing to do for the
//! keep-alive time is closed.

use super::ServerPlan;
use super::core::{HttpParts, ServerCore};
use super::http::{ServedRequest, filler};
use super::output::Alarm;
use super::work::{ServiceStart, WorkerJob, WorkerPool};
use crate::payload::IpPayload;
use crate::payload::Udp;
use crate::slots::ClientId;
use bytes::Bytes;
use farfield_base::Instant;
use farfield_base::random::Seed;
use farfield_http::http2::server::{BodySource, RequestHeads};
use farfield_http::http3::server::{ServerConnection, ServerEvent};
use farfield_http::quic::{Arrival, SEED_BYTES, Server, ServerSettings};
use farfield_http::tls::model::Terms;
use farfield_wire::Ecn;
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

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
    connections: Vec<Option<Box<QuicConnection>>>,
    /// Connections that there are.
    open: u32,
    /// Connections that there have been.
    begun: u32,
    /// Buffer for datagrams on their way.
    buffer: Vec<u8>,
}

/// A connection.
#[derive(Debug)]
struct QuicConnection {
    core: ServerConnection,
    /// The client that began it, and the address that it has now.
    client: ClientId,
    remote: SocketAddr,
    serial: u32,
    handshake: Handshake,
    /// Requests of which the body is still to come.
    coming: SmallVec<[(u32, ServedRequest); 1]>,
    /// Whole requests that wait for a worker, the first first.
    waiting: VecDeque<(u32, ServedRequest)>,
    served: SmallVec<[(u32, ServedRequest); 1]>,
    answered: u32,
    /// The connection was closed, or the client has closed it: it stays until what is on its way has passed.
    is_over: bool,
    /// For when the alarm of its timers is set, if it is.
    wakes_at: Option<Instant>,
    idle_until: Instant,
    /// For when the alarm of its idle time is set; [`Instant::MAX`] if it is not.
    idle_alarm_at: Instant,
}

/// Progress of a handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Handshake {
    /// The client's first message is not whole.
    Begun,
    /// A worker is to answer it: nothing is sent until then.
    Held { resumes: bool },
    /// The client's first message was answered.
    Answered,
}

impl Quic {
    /// The server's end, if it speaks QUIC: it has TLS, as `terms` say.
    pub fn new(plan: &ServerPlan, terms: &Arc<Terms>, seed: Seed) -> Quic {
        let settings =
            ServerSettings { streams_max: plan.streams.streams_max, send_buffer: plan.send_buffer };
        let server = Server::modelled(Arc::clone(terms), settings, seed_of(seed));
        Quic { server, connections: Vec::new(), open: 0, begun: 0, buffer: Vec::new() }
    }

    fn find(&mut self, owner: QuicOwner) -> Option<&mut QuicConnection> {
        let served = self.connections.get_mut(owner.number as usize)?.as_deref_mut()?;
        (served.serial == owner.serial).then_some(served)
    }

    /// Adds a connection under the number that the endpoint has for it.
    fn add(
        &mut self,
        number: usize,
        core: ServerConnection,
        client: ClientId,
        remote: SocketAddr,
    ) -> QuicOwner {
        let serial = self.begun;
        self.begun = serial.wrapping_add(1);
        if self.connections.len() <= number {
            self.connections.resize_with(number + 1, || None);
        }
        self.connections[number] = Some(QuicConnection::new(core, client, remote, serial).into());
        self.open += 1;
        QuicOwner { number: number as u32, serial }
    }

    /// Takes the alarm of a connection's timers; false if it is stale.
    fn expire(&mut self, now: Instant, owner: QuicOwner) -> bool {
        let Some(served) = self.find(owner) else { return false };
        // An earlier alarm was set since, and has come.
        if served.wakes_at.is_none_or(|at| at > now) {
            return false;
        }
        served.wakes_at = None;
        if served.core.quic.next_timeout().is_some_and(|at| at <= now)
            && let Some(Some(served)) = self.connections.get_mut(owner.number as usize)
        {
            self.server.handle_timeout(&mut served.core.quic, now);
        }
        true
    }

    /// Forgets a connection that its endpoint has forgotten.
    fn forget_drained(&mut self, owner: QuicOwner) {
        if self.find(owner).is_some_and(|served| served.core.quic.is_drained()) {
            self.connections[owner.number as usize] = None;
            self.open -= 1;
        }
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

impl QuicConnection {
    fn new(core: ServerConnection, client: ClientId, remote: SocketAddr, serial: u32) -> QuicConnection {
        QuicConnection {
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

/// The server's end of QUIC, with what it works on: a workers' queue, and the parts of HTTP.
pub(crate) struct QuicEnd<'a> {
    quic: &'a mut Quic,
    http: &'a mut HttpParts,
    workers: &'a mut WorkerPool,
    service: ServiceStart<'a>,
}

impl QuicEnd<'_> {
    /// Takes a datagram of client `client`; returns the connection that it belongs to, and whether that is
    /// new.
    fn receive(&mut self, now: Instant, client: ClientId, ecn: Ecn, udp: &Udp) -> Option<(QuicOwner, bool)> {
        let address = self.service.setup.clients.address_of(client);
        let remote = SocketAddr::new(address, udp.source_port);
        let quic = &mut *self.quic;
        quic.buffer.clear();
        match quic.server.receive(now, remote, ecn.bits(), &udp.payload, &mut quic.buffer) {
            Arrival::Nothing => None,
            Arrival::Answered => {
                let payload = self.http.outgoing.keep(&quic.buffer);
                self.send(client, udp.source_port, Ecn::NotEct, payload);
                None
            }
            Arrival::New(connection) => Some((
                quic.add(connection.number(), ServerConnection::new(*connection), client, remote),
                true,
            )),
            Arrival::Of(number, datagram) => {
                let owner = quic.owner_of(number)?;
                if let Some(Some(served)) = quic.connections.get_mut(number) {
                    quic.server.hand_over(&mut served.core.quic, now, datagram);
                }
                Some((owner, false))
            }
        }
    }

    /// Takes what came on a connection, or what its timers led to, and asks for workers; false if the
    /// connection is gone.
    fn take(&mut self, owner: QuicOwner) -> bool {
        self.take_events(owner);
        let Some(served) = self.quic.find(owner) else { return false };
        if served.handshake == Handshake::Begun
            && let Some(resumes) = served.core.quic.agreed()
        {
            served.handshake = Handshake::Held { resumes };
            self.workers.ask(WorkerJob::QuicHandshake(owner));
        }
        true
    }

    fn take_events(&mut self, owner: QuicOwner) {
        let QuicEnd { quic, http: HttpParts { heads, .. }, workers, service } = self;
        let (counters, plan) = (&mut *service.counters, &service.setup.plan);
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
                    // Requests that come within the handshake wait for its answer.
                    if served.handshake == Handshake::Answered {
                        workers.ask(WorkerJob::QuicRequest(owner));
                    }
                }
                ServerEvent::Reset(number) => served.forget(number),
                ServerEvent::Replied(_) => counters.replies += 1,
                ServerEvent::Lost => served.end(),
            }
        }
    }

    /// A worker begins with the answer to a handshake; false if the connection is gone.
    pub fn begin_handshake(&mut self, now: Instant, owner: QuicOwner) -> bool {
        let Some(terms) = &self.service.setup.plan.tls else { return false };
        let Some(QuicConnection { handshake: Handshake::Held { resumes }, .. }) = self.quic.find(owner)
        else {
            return false;
        };
        let cost = if *resumes { terms.resumed } else { terms.full };
        self.service.occupy(now, cost, Alarm::QuicAnswered(owner));
        true
    }

    /// A worker has answered a handshake; false if the connection is gone.
    fn answer(&mut self, owner: QuicOwner) -> bool {
        let QuicEnd { quic, workers, service, .. } = self;
        let Some(served) = quic.find(owner) else { return false };
        if let Handshake::Held { resumes } = served.handshake {
            service.counters.handshakes_full += u64::from(!resumes);
            service.counters.handshakes_resumed += u64::from(resumes);
        }
        served.handshake = Handshake::Answered;
        served.waiting.iter().for_each(|_| workers.ask(WorkerJob::QuicRequest(owner)));
        true
    }

    /// A worker begins with a connection's next request; false if there is none any more.
    pub fn begin_request(&mut self, now: Instant, owner: QuicOwner) -> bool {
        let Some(served) = self.quic.find(owner) else { return false };
        let Some((number, mut ask)) = served.waiting.pop_front() else { return false };
        self.service.begin(now, served.client, Some(&mut ask), Alarm::QuicServed(owner, number));
        served.served.push((number, ask));
        true
    }

    fn reply(&mut self, owner: QuicOwner, number: u32) {
        let (setup, replies) = (self.service.setup, &mut self.http.replies);
        let Some(served) = self.quic.find(owner) else { return };
        let Some(at) = served.served.iter().position(|(of, _)| *of == number) else { return };
        let (_, ServedRequest { known, fixed, head_only, .. }) = served.served.remove(at);
        served.answered += 1;
        if setup.ends_after(served.answered) {
            served.core.go_away();
        }
        let (section, body) = match fixed {
            Some(fixed) => setup.plan.objects.section_reply(fixed, head_only),
            None => {
                let size = known.map_or(0, |known| known.size);
                (replies.section(size), if head_only { BodySource::None } else { filler(size) })
            }
        };
        served.core.reply(number, &section, body);
    }

    /// A connection that has nothing to do waits for its next request from now on.
    fn await_request(&mut self, now: Instant, owner: QuicOwner) {
        let Some(served) = self.quic.find(owner) else { return };
        if served.core.requests() > 0 || served.handshake != Handshake::Answered || served.is_over {
            served.idle_until = Instant::MAX;
            return;
        }
        if served.idle_until == Instant::MAX {
            served.idle_until = now + self.service.setup.longest_wait_after(served.answered);
        }
        if served.idle_until < served.idle_alarm_at {
            served.idle_alarm_at = served.idle_until;
            self.service.output.alarms.push((served.idle_until, Alarm::QuicIdle(owner)));
        }
    }

    /// A connection may have waited for its next request for too long.
    fn end_idle(&mut self, now: Instant, owner: QuicOwner) {
        let Some(served) = self.quic.find(owner) else { return };
        if served.idle_alarm_at > now {
            return;
        }
        served.idle_alarm_at = Instant::MAX;
        if served.idle_until <= now {
            self.service.counters.idle_closes += 1;
            served.core.close(now);
            served.end();
        }
        self.await_request(now, owner);
        self.flush(now, owner);
    }

    /// Sends the datagrams that are due, and sets the alarm of the next timer.
    fn flush(&mut self, now: Instant, owner: QuicOwner) {
        loop {
            let mut buffer = std::mem::take(&mut self.quic.buffer);
            buffer.clear();
            let Some(served) = self.quic.find(owner) else { return };
            let is_held = matches!(served.handshake, Handshake::Held { .. });
            let (client, remote) = (served.client, served.remote);
            let transmit = if is_held { None } else { served.core.quic.next_transmit(now, &mut buffer) };
            let row = if transmit.is_some() { self.http.outgoing.keep(&buffer) } else { Bytes::new() };
            self.quic.buffer = buffer;
            let Some(transmit) = transmit else { break };
            // A client may have come to another address (RFC 9000 section 9).
            let to = transmit.destination;
            let is_there = to.ip() == remote.ip();
            let found = if is_there { Some(client) } else { self.service.setup.client_at(to.ip()) };
            let (Some(client), port) = (found, to.port()) else { continue };
            let size = transmit.segment_bytes.max(1);
            for from in (0..row.len()).step_by(size) {
                let payload = row.slice(from..(from + size).min(row.len()));
                self.send(client, port, Ecn::from_bits(transmit.ecn), payload);
            }
        }
        let Some(served) = self.quic.find(owner) else { return };
        if let Some(at) = served.core.quic.next_timeout()
            && served.wakes_at.is_none_or(|wakes_at| at < wakes_at)
        {
            served.wakes_at = Some(at);
            self.service.output.alarms.push((at.max(now), Alarm::Quic(owner)));
        }
    }

    fn send(&mut self, client: ClientId, port: u16, ecn: Ecn, payload: Bytes) {
        let ServiceStart { setup, counters, output, .. } = &mut self.service;
        let udp = Udp { source_port: setup.port, destination_port: port, payload };
        output.send(counters, client, IpPayload::Datagram(ecn, udp));
    }
}

impl ServerCore {
    /// The server's end of QUIC, if it speaks that.
    pub(crate) fn quic_end(&mut self) -> Option<QuicEnd<'_>> {
        let ServerCore { setup, counters, peers, output, http, workers, quic, .. } = self;
        let service = ServiceStart { setup, counters, peers, output };
        Some(QuicEnd { quic: quic.as_mut()?, http, workers, service })
    }

    /// Takes a datagram from port `port` of client `client`.
    pub fn handle_datagram(&mut self, now: Instant, client: ClientId, ecn: Ecn, udp: &Udp) {
        self.counters.packets_in += 1;
        let Some(mut end) = self.quic_end() else { return };
        let Some((owner, is_new)) = end.receive(now, client, ecn, udp) else { return };
        let open = end.quic.open;
        if is_new {
            let all = open + self.connections.len();
            self.counters.connections_most = self.counters.connections_most.max(all);
        }
        self.go_on_quic(now, owner);
    }

    /// Handles what came on a connection, or what its timers led to, and sends what follows.
    fn go_on_quic(&mut self, now: Instant, owner: QuicOwner) {
        if !self.quic_end().is_some_and(|mut end| end.take(owner)) {
            return;
        }
        self.dispatch(now);
        if let Some(mut end) = self.quic_end() {
            end.await_request(now, owner);
            end.flush(now, owner);
            end.quic.forget_drained(owner);
        }
    }

    /// A worker has answered a handshake.
    pub(crate) fn quic_answered(&mut self, now: Instant, owner: QuicOwner) {
        self.workers.free();
        if self.quic_end().is_some_and(|mut end| end.answer(owner)) {
            self.go_on_quic(now, owner);
        }
        self.accept(now);
        self.dispatch(now);
    }

    /// The service of a request is over; the connection, or the client's interest, may be gone.
    pub(crate) fn quic_served(&mut self, now: Instant, owner: QuicOwner, number: u32) {
        self.workers.free();
        if let Some(mut end) = self.quic_end() {
            end.reply(owner, number);
        }
        self.go_on_quic(now, owner);
        self.accept(now);
        self.dispatch(now);
    }

    /// A timer of a connection may have come to its end.
    pub(crate) fn handle_quic_timer(&mut self, now: Instant, owner: QuicOwner) {
        if self.quic.as_mut().is_some_and(|quic| quic.expire(now, owner)) {
            self.go_on_quic(now, owner);
        }
    }

    /// A connection may have waited for its next request for too long.
    pub(crate) fn end_quic_idle(&mut self, now: Instant, owner: QuicOwner) {
        if let Some(mut end) = self.quic_end() {
            end.end_idle(now, owner);
        }
    }
}

/// The request whose head was read last.
fn ask_of(heads: &RequestHeads, plan: &ServerPlan) -> ServedRequest {
    let (method, path) = heads.request().unwrap_or_default();
    let text = |bytes| std::str::from_utf8(bytes).unwrap_or_default();
    ServedRequest::of(text(method), text(path), &plan.objects)
}
