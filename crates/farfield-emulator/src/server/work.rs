//! Workers: who accepts, who serves, and when a connection is closed.

use super::connection::Stage;
use super::core::{Alarm, Core, Ready};
use super::http::Ask;
use super::{Known, Workers};
use crate::slots::{ClientId, ServedSlot};
use crate::timeout_queue::{Owner, Put};
use farfield_base::random::Purpose;
use farfield_base::{Duration, Instant};

/// The longest wait for the first request of a connection (nginx: `client_header_timeout`).
pub(crate) const FIRST_REQUEST: Duration = Duration::from_secs(60);

impl Workers {
    pub(crate) fn count(self) -> u32 {
        let (Workers::Processes(count) | Workers::Events(count)) = self;
        count.get()
    }
}

impl Core {
    pub fn is_prefork(&self) -> bool {
        matches!(self.plan.workers, Workers::Processes(_))
    }

    /// Free workers accept what waits: a process one connection, an event loop all.
    pub fn accept(&mut self, now: Instant) {
        while self.idle_workers > 0
            && let Some(Owner { slot, serial }) = self.accept_queue.pop_front()
        {
            // It may have died in the queue; that is found out now.
            let Some(connection) = self.connections.get_mut(slot.index()) else { continue };
            if connection.serial != serial {
                continue;
            }
            connection.stage = Stage::Accepted;
            self.counters.accepted += 1;
            if self.is_prefork() {
                self.idle_workers -= 1;
                self.connections[slot.index()].held = true;
            }
            self.go_on(now, slot);
        }
    }

    /// Does what there is to do for an accepted connection: writes on, serves, closes, or waits.
    pub fn go_on(&mut self, now: Instant, slot: ServedSlot) {
        let connection = &self.connections[slot.index()];
        if connection.unwritten > 0 {
            self.write_on(now, slot);
            return;
        }
        if connection.lingering && connection.peer_finished {
            self.release(now, slot);
            return;
        }
        if connection.closing {
            return;
        }
        if connection.http2.is_some() {
            return self.go_on_streams(now, slot);
        }
        if connection.busy {
            return;
        }
        if connection.has_work() {
            let connection = &mut self.connections[slot.index()];
            connection.busy = true;
            connection.idle_until = Instant::MAX;
            if self.is_prefork() {
                self.serve(now, slot);
            } else {
                let serial = self.connections[slot.index()].serial;
                self.ready.push_back(Ready::Connection(Owner { slot, serial }));
                self.dispatch(now);
            }
        } else if connection.peer_finished {
            self.close(now, slot);
        } else if connection.idle_until == Instant::MAX {
            self.await_request(now, slot);
        }
    }

    /// Event loops that are free take what is ready.
    pub fn dispatch(&mut self, now: Instant) {
        while self.idle_workers > 0
            && let Some(ready) = self.ready.pop_front()
        {
            let Owner { slot, serial } = match ready {
                Ready::Connection(owner) => owner,
                Ready::QuicHandshake(owner) => {
                    self.idle_workers -= u32::from(self.begin_quic_handshake(now, owner));
                    continue;
                }
                Ready::QuicRequest(owner) => {
                    self.idle_workers -= u32::from(self.begin_quic_request(now, owner));
                    continue;
                }
            };
            let connection = self.connections.get(slot.index()).filter(|own| own.serial == serial);
            let begins = match connection.map(|own| own.http2.is_some()) {
                None => false,
                Some(true) => self.begin_stream(now, slot),
                Some(false) => {
                    self.serve(now, slot);
                    true
                }
            };
            self.idle_workers -= u32::from(begins);
        }
    }

    /// A worker begins with the connection's next request.
    fn serve(&mut self, now: Instant, slot: ServedSlot) {
        if let Some(step) = self.handshake_step(slot) {
            return self.begin_step(now, slot, step);
        }
        let connection = &self.connections[slot.index()];
        let (client, serial) = (connection.client, connection.serial);
        let mut ask = connection.asks.first().copied();
        let service = self.draw(client, ask.as_mut());
        if let (Some(own), Some(ask)) = (self.connections[slot.index()].asks.first_mut(), ask) {
            *own = ask;
        }
        self.counters.busy = self.counters.busy + service;
        self.alarms.push((now + service, Alarm::Served(Owner { slot, serial })));
    }

    /// The time that a worker takes for the next request of `client`; draws the size of a reply that is not
    /// known.
    pub fn draw(&mut self, client: ClientId, ask: Option<&mut Ask>) -> Duration {
        let peer = &mut self.peers[client.index()];
        let number = u64::from(client.get()) << 32 | u64::from(peer.requests);
        peer.requests = peer.requests.wrapping_add(1);
        let mut rng = self.seed.stream(Purpose::Server, number);
        let service = self.plan.service.sample_duration(&mut rng);
        let Some(ask) = ask else { return service };
        let mut drawn = || self.plan.reply.sample(&mut rng).max(0.0).round() as u64;
        let known = ask.known.unwrap_or_else(|| Known { size: drawn(), cost: Duration::ZERO });
        ask.known = Some(known);
        service + known.cost
    }

    /// The service of the connection's request is over; the connection may have died meanwhile.
    pub fn served(&mut self, now: Instant, slot: ServedSlot, lives: bool) {
        if !self.is_prefork() || !lives {
            self.idle_workers += 1;
        }
        if lives {
            match self.handshake_step(slot) {
                Some(step) => self.take_step(now, slot, step),
                None => self.reply(now, slot),
            }
            self.handle_events(now, slot);
        }
        self.accept(now);
        self.dispatch(now);
    }

    fn reply(&mut self, now: Instant, slot: ServedSlot) {
        let connection = &mut self.connections[slot.index()];
        connection.busy = false;
        if connection.asks.is_empty() {
            return;
        }
        let Ask { known, fixed, mut keeping, head_only, malformed } = connection.asks.remove(0);
        connection.answered += 1;
        let full = self.plan.requests_max.is_some_and(|max| connection.answered >= max.get());
        if full
            || self.plan.keep_alive.is_none()
            || malformed
            || (connection.peer_finished && connection.asks.is_empty())
        {
            keeping = super::http::Keeping::Close;
        }
        connection.closing = keeping == super::http::Keeping::Close;
        let size = known.map_or(0, |known| known.size);
        let (first, rest) = match fixed {
            Some(number) => (self.plan.objects.reply(number, keeping, head_only), 0),
            None => self.replies.begin(size, keeping, head_only, malformed),
        };
        if connection.write(first).is_err() {
            return;
        }
        connection.unwritten = rest;
        self.write_on(now, slot);
    }

    /// Writes as much of the reply as TCP may hold, and goes on with what comes after it.
    fn write_on(&mut self, now: Instant, slot: ServedSlot) {
        let room = u64::from(self.plan.send_buffer);
        let connection = &mut self.connections[slot.index()];
        while connection.unwritten > 0 && connection.tcp.unacknowledged() < room {
            let piece = super::http::piece(connection.unwritten);
            connection.unwritten -= piece.len() as u64;
            if connection.write(piece).is_err() {
                connection.unwritten = 0;
                return;
            }
        }
        if connection.unwritten > 0 {
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
    pub fn close(&mut self, now: Instant, slot: ServedSlot) {
        let linger = self.plan.linger;
        self.write_goaway(slot);
        let connection = &mut self.connections[slot.index()];
        connection.closing = true;
        connection.say_goodbye();
        connection.tcp.close();
        self.closed.push(slot);
        if connection.held && !connection.peer_finished && !linger.is_zero() {
            connection.lingering = true;
            connection.idle_until = now + linger;
            self.arm_idle(now, slot);
        } else {
            self.release(now, slot);
        }
    }

    /// The process that holds the connection, if one does, is free for the next.
    fn release(&mut self, now: Instant, slot: ServedSlot) {
        let connection = &mut self.connections[slot.index()];
        connection.lingering = false;
        if std::mem::take(&mut connection.held) {
            self.idle_workers += 1;
            self.accept(now);
        }
    }

    /// The connection is idle from now on: what happens to it before its next request makes the wait no
    /// longer.
    pub fn await_request(&mut self, now: Instant, slot: ServedSlot) {
        let keep_alive = self.plan.keep_alive.unwrap_or(FIRST_REQUEST);
        let connection = &mut self.connections[slot.index()];
        let wait = if connection.answered == 0 { FIRST_REQUEST } else { keep_alive };
        connection.idle_until = now + wait;
        self.arm_idle(now, slot);
    }

    fn arm_idle(&mut self, now: Instant, slot: ServedSlot) {
        let connection = &mut self.connections[slot.index()];
        let (at, serial) = (connection.idle_until, connection.serial);
        if at >= connection.idle_alarm_at {
            return;
        }
        match self.idles.put(now, at, Owner { slot, serial }) {
            Put::OnWheel => {
                connection.idle_alarm_at = at;
                self.alarms.push((at, Alarm::Idle(Owner { slot, serial })));
            }
            Put::Queued { asks_at, first_of } => {
                connection.idle_alarm_at = asks_at;
                if let Some(queue) = first_of {
                    self.alarms.push((asks_at, Alarm::Idles(queue)));
                }
            }
        }
    }

    /// A connection may have waited for its request for too long.
    pub fn end_idle(&mut self, now: Instant, slot: ServedSlot) {
        let connection = &mut self.connections[slot.index()];
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
    pub fn remove(&mut self, now: Instant, slot: ServedSlot) {
        let gone = self.connections.remove(slot.index());
        if gone.stage == Stage::Handshake {
            self.half_open -= 1;
        }
        // A worker in the middle of its request is free once it has served it for nothing.
        if gone.held && !gone.busy {
            self.idle_workers += 1;
            self.accept(now);
        }
    }
}
