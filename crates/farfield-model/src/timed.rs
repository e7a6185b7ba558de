//! A server with a wheel of its own, beside networks that turn another.

use crate::{ClientAddresses, IpPayload, ServerAlarm, ServerCore, ServerCounters, ServerPlan, Tcp};
use farfield_base::random::Seed;
use farfield_base::{ClientId, Instant};
use farfield_net::Wheel;
use std::net::IpAddr;
use std::sync::Arc;

/// A server at work, with time handed in.
#[derive(Debug)]
pub struct TimedServer {
    core: ServerCore,
    wheel: Wheel<ServerAlarm>,
    now: Instant,
}

impl TimedServer {
    /// A server that listens for these clients at `port`.
    pub fn new(
        plan: Arc<ServerPlan>,
        port: u16,
        clients: Arc<dyn ClientAddresses>,
        seed: Seed,
    ) -> TimedServer {
        let core = ServerCore::new(plan, port, clients, seed);
        TimedServer { core, wheel: Wheel::new(), now: Instant::ZERO }
    }

    /// Takes what a packet of `client`'s carried, which came at `now`; `None` is a packet that no server
    /// reads. What was due before must have been done.
    pub fn handle_payload(&mut self, now: Instant, client: ClientId, payload: Option<IpPayload>) {
        self.now = self.now.max(now);
        match payload {
            Some(IpPayload::Segment(tcp)) => self.core.handle_segment(self.now, client, &tcp),
            Some(IpPayload::Datagram(ecn, udp)) => self.core.handle_datagram(self.now, client, ecn, &udp),
            None => self.core.handle_unreadable(),
        }
        self.set_alarms();
    }

    /// Takes a segment of `client`'s at `now`.
    pub fn handle_segment(&mut self, now: Instant, client: ClientId, tcp: &Tcp) {
        self.now = self.now.max(now);
        self.core.handle_segment(self.now, client, tcp);
        self.set_alarms();
    }

    /// The number of the client at `address`.
    pub fn client_at(&self, address: IpAddr) -> Option<ClientId> {
        self.core.client_at(address)
    }

    /// Does the next thing that is due by `due`, at `at`; false if nothing is.
    pub fn step_at(&mut self, due: Instant, at: Instant) -> bool {
        let Some((_, alarm)) = self.wheel.pop_due(due) else { return false };
        self.now = self.now.max(at);
        self.core.handle_alarm(self.now, alarm);
        self.set_alarms();
        true
    }

    /// Does the next thing that is due by `now`, at its own instant; false if nothing is.
    pub fn step(&mut self, now: Instant) -> bool {
        let Some((due, alarm)) = self.wheel.pop_due(now) else { return false };
        self.now = due;
        self.core.handle_alarm(due, alarm);
        self.set_alarms();
        true
    }

    /// The instant at which it did something last.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// The instant of the next event, if there is one.
    pub fn next_at(&self) -> Option<Instant> {
        self.wheel.next_at()
    }

    /// The next segment or datagram that it sends, with the client that it is for.
    pub fn poll_sent(&mut self) -> Option<(ClientId, IpPayload)> {
        self.core.poll_sent()
    }

    /// Counters so far.
    pub fn counters(&self) -> &ServerCounters {
        self.core.counters()
    }

    fn set_alarms(&mut self) {
        for (at, alarm) in self.core.take_alarms() {
            self.wheel.schedule(at, alarm);
        }
    }
}
