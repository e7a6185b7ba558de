//! Workers: who accepts, who serves, and when a connection is closed.

use super::connection::{ConnectionStage, ReplyBegun};
use super::core::ServerCore;
use super::http::ServedRequest;
use super::output::{Alarm, ServerOutput};
use super::peers::PeerTable;
use super::quic::QuicOwner;
use super::setup::ServerSetup;
use super::{ObjectCost, ServerCounters, Workers};
use crate::slots::{ClientId, ServedSlot};
use farfield_base::random::Purpose;
use farfield_base::{Duration, Instant};
use farfield_net::timeout_queue::Owner;
use std::collections::VecDeque;

/// Something that waits for an event loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkerJob {
    /// The next request of the connection, or a step of its handshake.
    Connection(Owner<ServedSlot>),
    /// The answer to a handshake of QUIC.
    QuicHandshake(QuicOwner),
    /// The next request of a connection of QUIC.
    QuicRequest(QuicOwner),
}

/// The workers of a server: processes or event loops.
#[derive(Debug)]
pub(crate) struct WorkerPool {
    idle: u32,
    /// Jobs that wait for an event loop.
    jobs: VecDeque<WorkerJob>,
}

impl WorkerPool {
    /// A pool of these workers, all idle.
    pub fn new(workers: Workers) -> WorkerPool {
        let (Workers::Processes(count) | Workers::Events(count)) = workers;
        WorkerPool { idle: count.get(), jobs: VecDeque::new() }
    }

    /// A worker has something to do.
    fn occupy(&mut self) {
        self.idle -= 1;
    }

    /// A worker has nothing to do any more.
    pub fn free(&mut self) {
        self.idle += 1;
    }

    /// A job is to be done.
    pub fn ask(&mut self, job: WorkerJob) {
        self.jobs.push_back(job);
    }

    /// The next job, if a worker is idle. Whoever takes it sees whether it is to be done still.
    fn next_job(&mut self) -> Option<WorkerJob> {
        if self.idle > 0 { self.jobs.pop_front() } else { None }
    }
}

/// The beginning of a worker's work: how long it takes, and when it is done.
pub(crate) struct ServiceStart<'a> {
    pub setup: &'a ServerSetup,
    pub counters: &'a mut ServerCounters,
    pub peers: &'a mut PeerTable,
    pub output: &'a mut ServerOutput,
}

impl ServiceStart<'_> {
    /// A worker begins with the next request of `client`, and comes to its end with `done`.
    pub fn begin(&mut self, now: Instant, client: ClientId, ask: Option<&mut ServedRequest>, done: Alarm) {
        let service = self.draw(client, ask);
        self.occupy(now, service, done);
    }

    /// A worker begins with something that takes it so long.
    pub fn occupy(&mut self, now: Instant, service: Duration, done: Alarm) {
        self.counters.busy = self.counters.busy + service;
        self.output.alarms.push((now + service, done));
    }

    /// The time that a worker takes for the next request of `client`; draws the size of a reply that is not
    /// known.
    fn draw(&mut self, client: ClientId, ask: Option<&mut ServedRequest>) -> Duration {
        let peer = &mut self.peers[client];
        let number = u64::from(client.get()) << 32 | u64::from(peer.requests);
        peer.requests = peer.requests.wrapping_add(1);
        let mut rng = self.setup.seed.stream(Purpose::Server, number);
        let service = self.setup.plan.service.sample_duration(&mut rng);
        let Some(ask) = ask else { return service };
        let is_stream = self.setup.plan.events.is_some() && ask.known.is_none() && ask.fixed.is_none();
        ask.stream = is_stream.then_some(number);
        let mut drawn = || self.setup.plan.reply.sample(&mut rng).max(0.0).round() as u64;
        let known = ask.known.unwrap_or_else(|| ObjectCost { size: drawn(), cost: Duration::ZERO });
        ask.known = Some(known);
        service + known.cost
    }
}

impl ServerCore {
    /// Free workers accept what waits: a process one connection, an event loop all.
    pub(crate) fn accept(&mut self, now: Instant) {
        while self.workers.idle > 0
            && let Some(owner) = self.listener.next()
        {
            // It may have died in the queue; that is found out now.
            let Some(connection) = self.connections.find(owner) else { continue };
            connection.stage = ConnectionStage::Accepted;
            self.counters.accepted += 1;
            if self.setup.is_prefork() {
                connection.held = true;
                self.workers.occupy();
            }
            self.go_on(now, owner.slot);
        }
    }

    /// Does what there is to do for an accepted connection: writes on, serves, closes, or waits.
    pub(crate) fn go_on(&mut self, now: Instant, slot: ServedSlot) {
        let connection = &mut self.connections[slot];
        if connection.unwritten > 0 {
            self.write_on(now, slot);
            return;
        }
        if connection.lingering && connection.peer_finished {
            self.release(now, slot);
            return;
        }
        if connection.closing || connection.streaming.is_some() {
            return;
        }
        if connection.http2.is_some() {
            return self.go_on_streams(now, slot);
        }
        if connection.busy {
            return;
        }
        if connection.has_work() {
            connection.busy = true;
            connection.idle_until = Instant::MAX;
            if self.setup.is_prefork() {
                self.serve(now, slot);
            } else {
                self.workers.ask(WorkerJob::Connection(self.connections.owner_of(slot)));
                self.dispatch(now);
            }
        } else if connection.peer_finished {
            self.close(now, slot);
        } else if connection.idle_until == Instant::MAX {
            self.await_request(now, slot);
        }
    }

    /// Event loops that are free take what is ready.
    pub(crate) fn dispatch(&mut self, now: Instant) {
        while let Some(job) = self.workers.next_job() {
            let begins = match job {
                WorkerJob::Connection(owner) => {
                    match self.connections.find(owner).map(|own| own.http2.is_some()) {
                        None => false,
                        Some(true) => self.begin_stream(now, owner.slot),
                        Some(false) => {
                            self.serve(now, owner.slot);
                            true
                        }
                    }
                }
                WorkerJob::QuicHandshake(owner) => {
                    self.quic_end().is_some_and(|mut end| end.begin_handshake(now, owner))
                }
                WorkerJob::QuicRequest(owner) => {
                    self.quic_end().is_some_and(|mut end| end.begin_request(now, owner))
                }
            };
            if begins {
                self.workers.occupy();
            }
        }
    }

    /// A worker begins with the connection's next request, or with a step of its handshake.
    fn serve(&mut self, now: Instant, slot: ServedSlot) {
        let ServerCore { setup, counters, peers, connections, output, .. } = self;
        let done = Alarm::Served(connections.owner_of(slot));
        let connection = &mut connections[slot];
        let mut service = ServiceStart { setup, counters, peers, output };
        match (connection.handshake_step(), &setup.plan.tls) {
            (Some(step), Some(terms)) => service.occupy(now, step.cost(terms), done),
            (Some(_), None) => {}
            (None, _) => service.begin(now, connection.client, connection.asks.first_mut(), done),
        }
    }

    /// The service of the connection's request is over; the connection may have died meanwhile.
    pub(crate) fn served(&mut self, now: Instant, owner: Owner<ServedSlot>) {
        let (slot, lives) = (owner.slot, self.connections.has(owner));
        if !self.setup.is_prefork() || !lives {
            self.workers.free();
        }
        if lives {
            match self.connections[slot].handshake_step() {
                Some(step) => self.take_step(now, slot, step),
                None => self.reply(now, slot),
            }
            self.handle_events(now, slot);
        }
        self.accept(now);
        self.dispatch(now);
    }

    fn reply(&mut self, now: Instant, slot: ServedSlot) {
        let ServerCore { setup, connections, http, output, .. } = self;
        match connections[slot].begin_reply(setup, &mut http.replies) {
            ReplyBegun::Nothing => {}
            ReplyBegun::WritesOn => self.write_on(now, slot),
            ReplyBegun::Stream(first) => {
                output.alarms.push((now + first, Alarm::Event(connections.owner_of(slot))));
            }
        }
    }

    /// Writes as much of the reply as TCP may hold, and goes on with what comes after it.
    fn write_on(&mut self, now: Instant, slot: ServedSlot) {
        let room = u64::from(self.setup.plan.send_buffer);
        let connection = &mut self.connections[slot];
        if !connection.write_on(room) {
            return;
        }
        self.counters.replies += 1;
        if connection.closing {
            self.close(now, slot);
        } else {
            self.go_on(now, slot);
        }
    }

    /// Closes; a process is free for the next connection once the client has closed too, or it has waited for
    /// that long enough.
    pub(crate) fn close(&mut self, now: Instant, slot: ServedSlot) {
        let ServerCore { setup, connections, counters, http, .. } = self;
        let (linger, room) = (setup.plan.linger, u64::from(setup.plan.send_buffer));
        let connection = &mut connections[slot];
        counters.replies += connection.write_goaway(room, &mut http.outgoing);
        connection.closing = true;
        connection.say_goodbye();
        connection.tcp.close();
        let lingers = connection.held && !connection.peer_finished && !linger.is_zero();
        if lingers {
            connection.lingering = true;
            connection.idle_until = now + linger;
        }
        connections.note_closed(slot);
        if lingers {
            self.arm_idle(now, slot);
        } else {
            self.release(now, slot);
        }
    }

    /// The process that holds the connection, if one does, is free for the next.
    fn release(&mut self, now: Instant, slot: ServedSlot) {
        let connection = &mut self.connections[slot];
        connection.lingering = false;
        if std::mem::take(&mut connection.held) {
            self.workers.free();
            self.accept(now);
        }
    }

    /// The connection is idle from now on: what happens to it before its next request makes the wait no
    /// longer.
    pub(crate) fn await_request(&mut self, now: Instant, slot: ServedSlot) {
        let connection = &mut self.connections[slot];
        connection.idle_until = now + self.setup.longest_wait_after(connection.answered);
        self.arm_idle(now, slot);
    }

    fn arm_idle(&mut self, now: Instant, slot: ServedSlot) {
        self.output.set_alarm(self.connections.arm_idle(now, slot));
    }

    /// A connection may have waited for its request for too long.
    pub(crate) fn end_idle(&mut self, now: Instant, slot: ServedSlot) {
        let connection = &mut self.connections[slot];
        if connection.idle_alarm_at > now {
            return;
        }
        connection.idle_alarm_at = Instant::MAX;
        let idle = !connection.is_at_work() && !connection.closing;
        if !idle && !connection.lingering {
            return;
        }
        if connection.idle_until > now {
            return self.arm_idle(now, slot);
        }
        if connection.lingering {
            return self.release(now, slot);
        }
        self.counters.idle_closes += 1;
        self.close(now, slot);
        self.handle_events(now, slot);
    }

    /// Takes a connection off the table.
    pub(crate) fn remove(&mut self, now: Instant, slot: ServedSlot) {
        let gone = self.connections.remove(slot);
        if gone.stage == ConnectionStage::Handshake {
            self.listener.give_up();
        }
        // A worker in the middle of its request is free once it has served it for nothing.
        if gone.held && !gone.busy {
            self.workers.free();
            self.accept(now);
        }
    }
}
