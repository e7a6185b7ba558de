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
use crate::meters::{Meters, Phases};
use crate::os::clock::Clock;
use crate::os::processors;
use crate::sample_channel::{LiveCounts, SampleSender};
use crate::worker_report::{NetworkReport, WorkerReport};
use farfield_base::{Duration, Instant, Window};
use farfield_emulator::{Lateness, Packet, Shard};
use farfield_measure::Histogram;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Things done before the server is listened to again.
const STEPS_A_TURN: usize = 64;
/// Reads of the gateway before samples are posted again. Nothing is to wait there: a reply that does makes its user look
/// busy, the next arrival opens a connection in its stead, and that costs two or three times as much.
const READS_A_TURN: usize = 64;
/// Things done before the packet that was just read, though they were due before it: whoever has fallen behind always has
/// something due, and reads must go on.
const STEPS_A_READ: usize = 4;
/// The collector hears from a worker at least this often.
const HEARTBEAT: Duration = Duration::from_ms(100);
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
    clock: Clock,
    phases: Phases,
    samples: SampleSender,
    capture: Option<CaptureSender>,
    halt: Arc<AtomicBool>,
    lateness: LatenessHistograms,
    turns: Histogram,
    meters: Meters,
    packets: Vec<Packet>,
    next_heartbeat: Instant,
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
        clock: Clock,
        phases: Phases,
        samples: SampleSender,
        capture: Option<CaptureSender>,
        halt: Arc<AtomicBool>,
    ) -> Worker {
        let window = phases.window;
        Worker {
            shard,
            port,
            exchange: None,
            polls: false,
            real_time: false,
            breaks: Breaks::none(),
            clock,
            phases,
            samples,
            capture,
            halt,
            lateness: LatenessHistograms { window, begun: Histogram::new(), arrived: Histogram::new() },
            turns: Histogram::new(),
            meters: Meters::new(window),
            packets: Vec::new(),
            next_heartbeat: Instant::ZERO + HEARTBEAT,
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
        // Without it timers are up to 50 µs late, which the lateness shows.
        let _ = processors::reduce_wake_latency();
        if self.real_time {
            self.breaks = Breaks::at_real_time_priority();
        }
        wait_for_start(self.clock);
        self.shard.start();
        let mut failed = None;
        loop {
            let turn = self.clock.now();
            self.meters.read(turn);
            if self.is_over(turn) {
                break;
            }
            let worked = self.do_what_is_due();
            self.send_samples();
            self.heartbeat(turn);
            let clock = self.clock;
            self.breaks.take_if_due(turn, || clock.now());
            match self.take_packets() {
                Ok(took) if took || worked => {
                    let turned = self.clock.now();
                    if self.phases.window.contains(turn) {
                        self.turns.record(turned.since(turn));
                    }
                    self.meters.record_stall(turn, turned);
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
            if !self.step(self.clock.now()) {
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
        let clock = self.clock;
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
            let at = self.catch_up(self.clock.now());
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
        if self.halt.load(Ordering::Relaxed) {
            return true;
        }
        // Whoever is overdue has not been asked yet, so that the population cannot say whether it is done.
        let ended = self.phases.load_has_ended(now, self.shard.next_at());
        if ended {
            self.shard.finish();
        }
        let all_begun = ended || now < self.phases.window.measure_to;
        let done = all_begun && self.shard.population().is_done();
        let over = self.exchange.as_mut().map_or(done, |exchange| exchange.is_over(done));
        over || now >= self.phases.drain_until
    }

    /// Sleeps until something is due or comes, after a turn from `turn` on in which nothing was. Waiting awake counts as
    /// sleep: the worker had nothing to do.
    fn sleep(&mut self, turn: Instant) {
        let before = self.clock.now();
        self.meters.slept = self.meters.slept + before.since(turn);
        self.meters.record_stall(turn, before);
        let links_at = self.exchange.as_ref().and_then(Exchange::next_at);
        let next = self.shard.next_at().into_iter().chain(links_at).min();
        let until = next.unwrap_or(Instant::MAX).min(self.next_heartbeat);
        let wait = until.since(before);
        if self.polls || wait <= TOO_SOON_TO_SLEEP {
            return;
        }
        self.wait(until, wait - TOO_SOON_TO_SLEEP);
        let woken = self.clock.now();
        self.meters.slept = self.meters.slept + woken.since(before);
        self.meters.record_stall(until, woken);
        self.breaks.slept(before, woken);
    }

    /// Waits for packets, from the server or from other workers if these are due before `until`.
    fn wait(&mut self, until: Instant, wait: Duration) {
        let clock = self.clock;
        if let Some(exchange) = &mut self.exchange
            && !exchange.may_sleep(until, || clock.now(), &mut self.shard)
        {
            exchange.wake(false);
            return self.let_out();
        }
        let timeout = Timespec {
            tv_sec: (wait.as_ns() / 1_000_000_000) as i64,
            tv_nsec: (wait.as_ns() % 1_000_000_000) as i64,
        };
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
        if now < self.next_heartbeat {
            return;
        }
        self.next_heartbeat = now + HEARTBEAT;
        self.meters.heartbeat();
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
        let now = self.clock.now();
        self.shard.cut(now);
        self.let_out();
        let mut drops = self.shard.drops();
        if let Some(exchange) = &self.exchange {
            drops.add(&exchange.drops());
        }
        self.send_samples();
        self.samples.live = self.live_counts();
        self.samples.flush();
        WorkerReport {
            stats: self.meters.stats(now),
            lateness: self.lateness.begun,
            turns: self.turns,
            tally: self.shard.tally(),
            last_received: self.shard.population().last_received(),
            received: self.shard.population().received().clone(),
            in_system_area: self.shard.in_system_area(now),
            stalls: self.samples.stalls,
            network: Some(NetworkReport {
                departed: self.port.lateness,
                arrived: self.lateness.arrived,
                crossed: self.exchange.map(|exchange| exchange.lateness).unwrap_or_default(),
                port: self.port.counts,
                drops,
                failed,
            }),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a worker that is ready waits for the start that all share")]
fn wait_for_start(clock: Clock) {
    std::thread::sleep(clock.until_start().to_std());
}
