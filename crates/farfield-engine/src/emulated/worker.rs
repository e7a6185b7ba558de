//! A worker of the emulated plane: one thread, its shard's event loop from the first arrival to the last
//! reply.
//!
//! The loop handles due events, each at its own instant; sends the server the packets that have arrived at
//! the gateway port; reads the server's packets; and sleeps until the next of either. Shortly before an
//! event is due it does not sleep any more, since waking takes longer. If shards share links, the loop of
//! the first also handles the events there, and all [exchange](super::exchange) packets.

use crate::capture_file::CaptureSender;
use crate::emulated::at_work::AtWork;
use crate::emulated::breaks::Breaks;
use crate::emulated::exchange::Exchange;
use crate::emulated::gateway_port::GatewayPort;
use crate::emulated::hosts::Hosts;
use crate::emulated::pickup::SleepMeter;
use crate::sample_channel::{LiveCounts, SampleSender};
use crate::worker_loop::{WorkerLoop, timespec};
use crate::worker_report::{NetworkReport, WorkerReport};
use farfield_base::merge::by_place;
use farfield_base::{Duration, Instant, Merge, PacketCounts, Window};
use farfield_emulator::{Lateness, Packet, Shard, lag};
use farfield_measure::{Histogram, PacketLateness};
use rustix::event::{PollFd, PollFlags, poll};
use smallvec::SmallVec;
use std::io;

/// Events handled before the gateway is read again.
const STEPS_A_TURN: usize = 64;
/// Reads of the gateway before samples are sent again. No packet should wait there: while a reply waits its
/// user looks busy, and the next arrival opens a connection instead, which costs two or three times as much.
const READS_A_TURN: usize = 64;
/// Due events handled before a packet that was just read: a worker that has fallen behind always has due
/// events, and must continue to read.
const STEPS_A_READ: usize = 4;
/// An event due sooner than this is awaited without sleeping: waking takes some 10 µs. While the worker
/// sleeps, a collector on the same processor does its work, and does not need that time when an event is
/// due.
const TOO_SOON_TO_SLEEP: Duration = Duration::from_us(30);

pub(crate) struct Worker {
    shard: Shard,
    /// The first server's, and those of servers beside it.
    ports: Vec<GatewayPort>,
    exchange: Option<Exchange>,
    hosts: Hosts,
    at_work: AtWork,
    /// The worker never sleeps.
    polls: bool,
    /// The worker requests a real-time priority.
    real_time: bool,
    breaks: Breaks,
    waking: SleepMeter,
    course: WorkerLoop,
    samples: SampleSender,
    capture: Option<CaptureSender>,
    lateness: LatenessHistograms,
    packets: Vec<Packet>,
}

struct LatenessHistograms {
    window: Window,
    begun: Histogram,
    arrived: Histogram,
}

impl Lateness for LatenessHistograms {
    fn begun(&mut self, due: Instant, late: Duration) {
        if self.window.contains(due) {
            self.begun.record(late);
        }
    }

    fn arrived(&mut self, due: Instant, late: Duration) {
        if self.window.contains(due) {
            self.arrived.record(late);
        }
    }
}

impl Worker {
    pub fn new(
        shard: Shard,
        ports: Vec<GatewayPort>,
        course: WorkerLoop,
        samples: SampleSender,
        capture: Option<CaptureSender>,
        (hosts, at_work): (Hosts, AtWork),
    ) -> Worker {
        let window = course.phases.window;
        Worker {
            shard,
            ports: ports.into_iter().map(|port| port.with_hosts(hosts.addresses())).collect(),
            hosts,
            at_work,
            exchange: None,
            polls: false,
            real_time: false,
            breaks: Breaks::none(),
            waking: SleepMeter::default(),
            course,
            samples,
            capture,
            lateness: LatenessHistograms { window, begun: Histogram::new(), arrived: Histogram::new() },
            packets: Vec::new(),
        }
    }

    /// Sets the exchange, for a shard that shares links with others.
    pub fn exchanging(self, exchange: Option<Exchange>) -> Worker {
        Worker { exchange, ..self }
    }

    /// Sets whether the worker polls without sleeping: then no packet waits for a sleeping processor to
    /// wake.
    pub fn polling(self, polls: bool) -> Worker {
        Worker { polls, ..self }
    }

    /// Sets whether the worker runs at a real-time priority, if the system allows one.
    pub fn at_real_time_priority(self, real_time: bool) -> Worker {
        Worker { real_time, ..self }
    }

    /// Runs until the load is over and drained.
    pub fn run(mut self) -> WorkerReport {
        if self.real_time {
            self.breaks = Breaks::at_real_time_priority();
        }
        self.waking = SleepMeter::of_this_thread();
        self.course.await_start();
        self.shard.start();
        let mut failed = None;
        loop {
            let turn = self.course.begin_turn();
            if self.is_over(turn) {
                break;
            }
            let worked = self.do_what_is_due();
            self.send_samples();
            self.heartbeat(turn);
            let clock = self.course.clock;
            self.breaks.take_if_due(turn, || clock.now());
            let took_of_hosts = self.take_packets_of_hosts();
            match self.take_packets() {
                Ok(took) if took || worked || took_of_hosts => {
                    self.course.end_turn(turn);
                }
                Ok(_) if self.begin_late_load() => self.course.end_turn(turn),
                Ok(_) => self.sleep(turn),
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        self.wind_up(failed)
    }

    /// Handles the events that are due by now, up to a turn's share; false if there were none.
    fn do_what_is_due(&mut self) -> bool {
        for step in 0..STEPS_A_TURN {
            self.take_over();
            if !self.step(self.course.clock.now()) {
                return step > 0;
            }
            self.let_out();
        }
        true
    }

    /// Handles the next event that is due by `wall`, in the shard or at the shared links that are held here.
    fn step(&mut self, wall: Instant) -> bool {
        let (own, lateness) = (&mut self.shard, &mut self.lateness);
        let Some(exchange) = &mut self.exchange else { return own.step(wall, lateness) };
        match (exchange.next_at(), own.next_at()) {
            (Some(links_at), own_at) if own_at.is_none_or(|own_at| links_at < own_at) => exchange.step(wall),
            _ => own.step(wall, lateness),
        }
    }

    /// Begins load that is later than the longest lag, now that nothing else is to be done; false if there is
    /// none, or if the server's kernel has just refused a packet and would refuse more.
    fn begin_late_load(&mut self) -> bool {
        let now = self.course.clock.now();
        let begun = !self.ports.iter().any(|port| port.is_refused(now))
            && self.shard.begin_late_load(now, &mut self.lateness);
        self.let_out();
        begun
    }

    /// Takes over the packets that other workers have sent.
    fn take_over(&mut self) {
        let clock = self.course.clock;
        if let Some(exchange) = &mut self.exchange
            && exchange.take(|| clock.now(), &mut self.shard)
        {
            self.let_out();
        }
    }

    /// Sends packets on to shared links, and to the server those that have arrived at the gateway port.
    fn let_out(&mut self) {
        if let Some(exchange) = &mut self.exchange {
            exchange.hand_over(&mut self.shard);
        }
        while let Some(departure) = self.shard.poll_departure() {
            // All but those of models, which are few.
            let port = self.ports.iter_mut().find(|port| port.server == departure.server);
            port.expect("a port of each server").send(&departure);
        }
        if !self.hosts.is_empty() {
            self.hosts.write(&mut self.shard);
        }
    }

    /// Reads the packets of real hosts, up to a turn's share; false if there were none.
    fn take_packets_of_hosts(&mut self) -> bool {
        if self.hosts.is_empty() {
            return false;
        }
        let mut packets = std::mem::take(&mut self.packets);
        self.hosts.read(&mut packets);
        let took = !packets.is_empty();
        for packet in packets.drain(..) {
            let at = self.catch_up(self.course.clock.now());
            self.shard.handle_host_packet(at, packet);
            self.let_out();
        }
        self.packets = packets;
        took
    }

    /// Reads the servers' packets, up to a turn's share each; false if there were none.
    fn take_packets(&mut self) -> io::Result<bool> {
        let mut took = false;
        for port in 0..self.ports.len() {
            took |= self.take_packets_of(port)?;
        }
        Ok(took)
    }

    fn take_packets_of(&mut self, port: usize) -> io::Result<bool> {
        let mut looked = self.course.clock.now();
        for read in 0..READS_A_TURN {
            let packets = &mut self.packets;
            let of = &mut self.ports[port];
            if !of.receive(|packet| packets.push(packet))? {
                of.pickup.found_empty(looked);
                return Ok(read > 0);
            }
            looked = self.course.clock.now();
            of.pickup.read(looked);
            let at = self.catch_up(looked);
            let mut packets = std::mem::take(&mut self.packets);
            for packet in packets.drain(..) {
                self.shard.handle_packet(at, packet);
            }
            self.packets = packets;
            self.let_out();
        }
        Ok(true)
    }

    /// Handles the events that were due before a packet received by `now`, and returns the packet's instant
    /// of arrival.
    ///
    /// A shard that has fallen behind receives it at its own time, which is behind the clock, by the longest
    /// [lag](farfield_emulator::lag) at most: the packets that it answers have left late by as much.
    /// Otherwise round trips would grow by the shard's delay, until clients retransmitted everything, and the
    /// shard would do less the more load it has. The delay shows in the lateness of all that follows.
    fn catch_up(&mut self, now: Instant) -> Instant {
        for _ in 0..STEPS_A_READ {
            if !self.step(now) {
                return now;
            }
            self.let_out();
        }
        self.shard.next_at().map_or(now, |due| due.min(now)).max(lag::floor(now))
    }

    /// The instant at which the first of all that the shard has to do is due, or was.
    fn next_at(&self) -> Option<Instant> {
        self.shard.next_at().into_iter().chain(self.shard.late_load_at()).min()
    }

    fn send_samples(&mut self) {
        if let Some(capture) = &self.capture {
            capture.push(self.shard.take_captured());
        }
        for sample in self.shard.take_samples() {
            self.samples.push(sample);
        }
        for note in self.shard.take_notes() {
            self.samples.note(note);
        }
    }

    fn is_over(&mut self, now: Instant) -> bool {
        if self.course.is_halted() {
            return true;
        }
        // Overdue events have not been handled yet, so that the population does not know whether it is done.
        let ended = self.course.phases.load_has_ended(now, self.next_at());
        if ended {
            self.shard.finish();
        }
        let all_begun = ended || now < self.course.phases.load_until;
        let done = all_begun && self.shard.population().is_done();
        let holds_links = self.exchange.as_ref().is_some_and(Exchange::holds_links);
        self.at_work.is_over(done, holds_links || self.hosts.send_by_themselves())
            || now >= self.course.phases.drain_until
    }

    /// Sleeps until an event is due or a packet arrives, after an empty turn from `turn` on. Waiting awake
    /// counts as sleep: the worker had nothing to do.
    fn sleep(&mut self, turn: Instant) {
        let before = self.course.clock.now();
        self.course.meters.work_until(turn);
        self.course.meters.slept_from(turn, before);
        self.course.meters.record_turn(turn, before);
        let links_at = self.exchange.as_ref().and_then(Exchange::next_at);
        let resumes_at = self.shard.late_load_at().and_then(|_| self.resumes_at());
        let next = self.shard.next_at().into_iter().chain(links_at).chain(resumes_at).min();
        let until = self.course.sleeps_until(next);
        let wait = until.since(before);
        if self.polls || wait <= TOO_SOON_TO_SLEEP {
            return;
        }
        self.waking.sleeps();
        self.wait(until, wait - TOO_SOON_TO_SLEEP);
        let woken = self.course.clock.now();
        let ready = self.waking.woken(woken);
        self.ports.iter_mut().for_each(|port| port.pickup.nothing_before(ready));
        self.course.meters.slept_from(before, woken);
        self.course.meters.record_late_wake(until, woken);
        self.breaks.slept(before, woken);
    }

    /// The instant at which the last of the servers' kernels can be expected to have room again, or had.
    fn resumes_at(&self) -> Option<Instant> {
        self.ports.iter().map(GatewayPort::resumes_at).max()
    }

    /// Waits for packets from the servers, or from other workers if they are due before `until`.
    fn wait(&mut self, until: Instant, wait: Duration) {
        let clock = self.course.clock;
        if let Some(exchange) = &mut self.exchange
            && !exchange.may_sleep(until, || clock.now(), &mut self.shard)
        {
            exchange.wake(false);
            return self.let_out();
        }
        let timeout = timespec(wait);
        let exchange = self.exchange.as_ref().map(Exchange::as_fd);
        let ports = self.ports.iter().map(GatewayPort::as_fd);
        let sources = exchange.into_iter().chain(ports).chain(self.hosts.descriptors());
        let mut listened: SmallVec<[PollFd<'_>; 8]> =
            sources.map(|source| PollFd::from_borrowed_fd(source, PollFlags::IN)).collect();
        // If interrupted, the call returns no events, and the turn continues.
        let _ = poll(&mut listened, Some(&timeout));
        let heard = self.exchange.is_some() && listened[0].revents().contains(PollFlags::IN);
        drop(listened);
        if let Some(exchange) = &mut self.exchange {
            exchange.wake(heard);
        }
    }

    fn heartbeat(&mut self, now: Instant) {
        if !self.course.heartbeat_is_due(now) {
            return;
        }
        self.samples.live = self.live_counts(now);
        self.samples.flush();
    }

    fn live_counts(&self, at: Instant) -> LiveCounts {
        LiveCounts {
            connections: self.shard.population().connections() as u64,
            in_system: self.shard.population().in_system(),
            connects: self.shard.connects(),
            at,
        }
    }

    fn wind_up(mut self, failed: Option<io::Error>) -> WorkerReport {
        let now = self.course.clock.now();
        self.shard.cut(now);
        self.let_out();
        let (mut drops, mut cross) = (self.shard.drops(), self.shard.cross_counts());
        let mut links = self.shard.link_counts().to_vec();
        if let Some(exchange) = &self.exchange {
            drops.merge(&exchange.drops());
            cross.merge(&exchange.cross_counts());
            by_place(&mut links, exchange.link_counts());
        }
        self.send_samples();
        self.samples.live = self.live_counts(Instant::MAX);
        self.samples.flush();
        let (mut lateness, mut packets) = (PacketLateness::<Histogram>::default(), PacketCounts::default());
        for port in &mut self.ports {
            lateness.departure.merge(&port.lateness);
            lateness.pickup.merge(&port.pickup.lateness);
            packets.merge(&port.counts);
            drops.merge(&port.drops);
            if let Some(delivery) = &mut port.delivery {
                delivery.look();
                lateness.delivery.merge(&delivery.lateness);
            }
        }
        lateness.arrival = self.lateness.arrived;
        lateness.crossing = self.exchange.map(|exchange| exchange.lateness).unwrap_or_default();
        let network = NetworkReport {
            lateness,
            packets,
            drops,
            cross,
            links,
            hosts: self.hosts.into_reports().collect(),
            failed,
        };
        let (area, stalls) = (self.shard.in_system_area(now), self.samples.stalls);
        let report = self.course.report(now, self.lateness.begun, self.shard.population(), area, stalls);
        WorkerReport { network: Some(network), opened: self.shard.take_opened(), ..report }
    }
}
