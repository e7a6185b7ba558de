//! A worker of the emulated plane: one thread, its shard's event loop from the first arrival to the last reply.
//!
//! The loop does what is due, each thing at its own instant; hands to the server what has arrived at its gateway port; takes what
//! the server sends; and sleeps until the next of either. Shortly before something is due it does not sleep any more:
//! being woken takes longer. Where shards share links, the loop of the first does also what is due there, and all
//! [exchange](super::exchange) packets.

use crate::capture_file::CaptureSender;
use crate::emulated::breaks::Breaks;
use crate::emulated::exchange::Exchange;
use crate::emulated::gateway_port::GatewayPort;
use crate::sample_channel::{LiveCounts, SampleSender};
use crate::worker_loop::{WorkerLoop, timespec};
use crate::worker_report::{NetworkReport, WorkerReport};
use farfield_base::{Duration, Instant, Window};
use farfield_emulator::{Lateness, Packet, Shard};
use farfield_measure::Histogram;
use rustix::event::{PollFd, PollFlags, poll};
use std::io;

/// Things done before the server is listened to again.
const STEPS_A_TURN: usize = 64;
/// Reads of the gateway before samples are posted again. Nothing is to wait there: a reply that does makes its user look
/// busy, the next arrival opens a connection in its stead, and that costs two or three times as much.
const READS_A_TURN: usize = 64;
/// Things done before the packet that was just read, though they were due before it: whoever has fallen behind always has
/// something due, and reads must go on.
const STEPS_A_READ: usize = 4;
/// What is due sooner than this is waited for without sleeping: being woken takes some 10 µs, and while the worker sleeps
/// the collector, where it shares the processor, gets on with its work instead of taking the time for it when something
/// is due.
const TOO_SOON_TO_SLEEP: Duration = Duration::from_us(30);

pub(crate) struct Worker {
    shard: Shard,
    port: GatewayPort,
    exchange: Option<Exchange>,
    /// It never sleeps.
    polls: bool,
    /// It asks for a real-time priority.
    real_time: bool,
    breaks: Breaks,
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
        port: GatewayPort,
        course: WorkerLoop,
        samples: SampleSender,
        capture: Option<CaptureSender>,
    ) -> Worker {
        let window = course.phases.window;
        Worker {
            shard,
            port,
            exchange: None,
            polls: false,
            real_time: false,
            breaks: Breaks::none(),
            course,
            samples,
            capture,
            lateness: LatenessHistograms { window, begun: Histogram::new(), arrived: Histogram::new() },
            packets: Vec::new(),
        }
    }

    /// The same for a shard that shares links with others.
    pub fn exchanging(self, exchange: Option<Exchange>) -> Worker {
        Worker { exchange, ..self }
    }

    /// The same, awake all the time if it `polls`: nothing waits until a processor that sleeps has woken up.
    pub fn polling(self, polls: bool) -> Worker {
        Worker { polls, ..self }
    }

    /// This worker at a real-time priority, if the system allows one.
    pub fn at_real_time_priority(self, real_time: bool) -> Worker {
        Worker { real_time, ..self }
    }

    /// Runs until the load is over and drained.
    pub fn run(mut self) -> WorkerReport {
        self.course.prepare();
        if self.real_time {
            self.breaks = Breaks::at_real_time_priority();
        }
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
            match self.take_packets() {
                Ok(took) if took || worked => {
                    self.course.end_turn(turn);
                }
                Ok(_) => self.sleep(turn),
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        self.wind_up(failed)
    }

    /// Does what is due by now, up to a turn's share; false if nothing was.
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

    /// Does the next thing that is due by `wall`, here or at the shared links that are held here.
    fn step(&mut self, wall: Instant) -> bool {
        let (own, lateness) = (&mut self.shard, &mut self.lateness);
        let Some(exchange) = &mut self.exchange else { return own.step(wall, lateness) };
        match (exchange.next_at(), own.next_at()) {
            (Some(links_at), own_at) if own_at.is_none_or(|own_at| links_at < own_at) => exchange.step(wall),
            _ => own.step(wall, lateness),
        }
    }

    /// Takes packets over that other workers have sent.
    fn take_over(&mut self) {
        let clock = self.course.clock;
        if let Some(exchange) = &mut self.exchange
            && exchange.take(|| clock.now(), &mut self.shard)
        {
            self.let_out();
        }
    }

    /// Hands over what has come to shared links, and to the server what has arrived at its gateway port.
    fn let_out(&mut self) {
        if let Some(exchange) = &mut self.exchange {
            exchange.hand_over(&mut self.shard);
        }
        while let Some(departure) = self.shard.poll_departure() {
            self.port.send(&departure);
        }
    }

    /// Takes what the server sends, up to a turn's share; false if nothing came.
    fn take_packets(&mut self) -> io::Result<bool> {
        for read in 0..READS_A_TURN {
            let packets = &mut self.packets;
            if !self.port.receive(|packet| packets.push(packet))? {
                return Ok(read > 0);
            }
            let at = self.catch_up(self.course.clock.now());
            let mut packets = std::mem::take(&mut self.packets);
            for packet in packets.drain(..) {
                self.shard.handle_packet(at, packet);
            }
            self.packets = packets;
            self.let_out();
        }
        Ok(true)
    }

    /// Does what was due before a packet that has come by `now`, and tells at which instant the packet comes.
    ///
    /// A shard that has fallen behind takes it at its own time, which lies behind the clock: what the packet answers has left
    /// so much too late. Else round trips would grow by how late the shard is, until clients sent everything again: it
    /// would do the less the more it is asked for. How late it is stands in the lateness of all that follows.
    fn catch_up(&mut self, now: Instant) -> Instant {
        for _ in 0..STEPS_A_READ {
            if !self.step(now) {
                return now;
            }
            self.let_out();
        }
        self.shard.next_at().map_or(now, |due| due.min(now))
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
        // Whoever is overdue has not been asked yet, so that the population cannot say whether it is done.
        let ended = self.course.phases.load_has_ended(now, self.shard.next_at());
        if ended {
            self.shard.finish();
        }
        let all_begun = ended || now < self.course.phases.window.measure_to;
        let done = all_begun && self.shard.population().is_done();
        let over = self.exchange.as_mut().map_or(done, |exchange| exchange.is_over(done));
        over || now >= self.course.phases.drain_until
    }

    /// Sleeps until something is due or comes, after a turn from `turn` on in which nothing was. Waiting awake counts as
    /// sleep: the worker had nothing to do.
    fn sleep(&mut self, turn: Instant) {
        let before = self.course.clock.now();
        self.course.meters.slept = self.course.meters.slept + before.since(turn);
        self.course.meters.record_stall(turn, before);
        let links_at = self.exchange.as_ref().and_then(Exchange::next_at);
        let next = self.shard.next_at().into_iter().chain(links_at).min();
        let until = self.course.sleeps_until(next);
        let wait = until.since(before);
        if self.polls || wait <= TOO_SOON_TO_SLEEP {
            return;
        }
        self.wait(until, wait - TOO_SOON_TO_SLEEP);
        let woken = self.course.clock.now();
        self.course.meters.slept = self.course.meters.slept + woken.since(before);
        self.course.meters.record_stall(until, woken);
        self.breaks.slept(before, woken);
    }

    /// Waits for packets, from the server or from other workers if these are due before `until`.
    fn wait(&mut self, until: Instant, wait: Duration) {
        let clock = self.course.clock;
        if let Some(exchange) = &mut self.exchange
            && !exchange.may_sleep(until, || clock.now(), &mut self.shard)
        {
            exchange.wake(false);
            return self.let_out();
        }
        let timeout = timespec(wait);
        let gateway = self.port.as_fd();
        let mut listened = [Some(gateway), self.exchange.as_ref().map(Exchange::as_fd)]
            .map(|source| PollFd::from_borrowed_fd(source.unwrap_or(gateway), PollFlags::IN));
        let sources = if self.exchange.is_some() { 2 } else { 1 };
        // Interrupted, it comes back with nothing, and the turn goes on.
        let _ = poll(&mut listened[..sources], Some(&timeout));
        let heard = sources > 1 && listened[1].revents().contains(PollFlags::IN);
        if let Some(exchange) = &mut self.exchange {
            exchange.wake(heard);
        }
    }

    fn heartbeat(&mut self, now: Instant) {
        if !self.course.heartbeat_is_due(now) {
            return;
        }
        self.samples.live = self.live_counts();
        self.samples.flush();
    }

    fn live_counts(&self) -> LiveCounts {
        LiveCounts {
            connections: self.shard.population().connections() as u64,
            in_system: self.shard.population().in_system(),
            connects: self.shard.connects(),
        }
    }

    fn wind_up(mut self, failed: Option<io::Error>) -> WorkerReport {
        let now = self.course.clock.now();
        self.shard.cut(now);
        self.let_out();
        let mut drops = self.shard.drops();
        if let Some(exchange) = &self.exchange {
            drops.add(&exchange.drops());
        }
        self.send_samples();
        self.samples.live = self.live_counts();
        self.samples.flush();
        let network = NetworkReport {
            departed: self.port.lateness,
            arrived: self.lateness.arrived,
            crossed: self.exchange.map(|exchange| exchange.lateness).unwrap_or_default(),
            port: self.port.counts,
            drops,
            failed,
        };
        let (area, stalls) = (self.shard.in_system_area(now), self.samples.stalls);
        let report = self.course.report(now, self.lateness.begun, self.shard.population(), area, stalls);
        WorkerReport { network: Some(network), ..report }
    }
}
