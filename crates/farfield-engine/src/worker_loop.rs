//! The scaffolding of a worker on the real-time planes: its start, its turns and heartbeats, its end, and
//! what it reports of itself. What a turn does is each plane's own.

use crate::meters::{Meters, Phases};
use crate::set_aside::{SharedSeconds, Watcher};
use crate::worker_report::WorkerReport;
use farfield_base::{Duration, Instant, Merge};
use farfield_measure::engine_stats::WorkerStats;
use farfield_measure::{GeneratorCounts, Histogram};
use farfield_os::clock::Clock;
use farfield_user::Population;
use rustix::event::Timespec;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The longest time between two messages of a worker to the collector.
const HEARTBEAT: Duration = Duration::from_ms(100);
/// A worker that has been silent for longer is away, and nobody waits for it.
pub(crate) const AWAY_MIN: Duration = Duration::from_secs(3);

pub(crate) struct WorkerLoop {
    pub clock: Clock,
    pub phases: Phases,
    pub meters: Meters,
    turns: Histogram,
    /// Lateness with which load left, on a plane that records it here.
    lateness: Histogram,
    /// The watch over seconds that are set aside, if they are.
    watcher: Option<Box<Watcher>>,
    /// Flags of which either ends the worker.
    halts: [Arc<AtomicBool>; 2],
    next_heartbeat: Instant,
}

impl WorkerLoop {
    pub fn new(clock: Clock, phases: Phases, halts: [Arc<AtomicBool>; 2]) -> WorkerLoop {
        WorkerLoop {
            clock,
            phases,
            meters: Meters::new(phases.window),
            turns: Histogram::new(),
            lateness: Histogram::new(),
            watcher: None,
            halts,
            next_heartbeat: Instant::ZERO + HEARTBEAT,
        }
    }

    /// Sets the watch over disturbed seconds.
    pub fn watched(self, shared: &Arc<SharedSeconds>, number: usize) -> WorkerLoop {
        let watcher = Watcher::new(Arc::clone(shared), number);
        let meters = self.meters.finding(Some(Arc::clone(shared)));
        WorkerLoop { watcher: Some(Box::new(watcher)), meters, ..self }
    }

    /// Looks at the seconds that are over at `now`; returns the end of the load where it was moved.
    pub fn look(&mut self, now: Instant) -> Option<Instant> {
        let watcher = self.watcher.as_mut()?;
        let moved = watcher.extend(&mut self.phases, &mut self.meters);
        watcher.look(now, &mut self.meters, [&mut self.lateness, &mut self.turns]);
        moved
    }

    /// Records that load that was due at `due`, in the measured part, left so late. That of a second in which
    /// a disturbance was found is set aside with it.
    pub fn record_lateness(&mut self, due: Instant, late: Duration) {
        if self.watcher.as_ref().is_none_or(|watcher| !watcher.is_disturbed(due)) {
            self.lateness.record(late);
        }
    }

    /// Waits for the start that all workers share.
    #[expect(
        clippy::disallowed_methods,
        reason = "a worker that is ready waits for the start that all share"
    )]
    pub fn await_start(&self) {
        std::thread::sleep(self.clock.until_start().to_std());
    }

    /// Begins a turn; returns when that was.
    pub fn begin_turn(&mut self) -> Instant {
        let now = self.clock.now();
        self.meters.read(now);
        now
    }

    /// Ends the work of a turn that began at `from`.
    pub fn end_turn(&mut self, from: Instant) {
        let now = self.clock.now();
        if self.phases.window.contains(from) {
            self.turns.record(now.since(from));
        }
        self.meters.record_turn(from, now);
        self.meters.work_until(now);
    }

    /// True if the collector is to be sent the samples and the counts so far.
    pub fn heartbeat_is_due(&mut self, now: Instant) -> bool {
        let is_due = now >= self.next_heartbeat;
        if is_due {
            self.next_heartbeat = now + HEARTBEAT;
            self.meters.heartbeat(now);
        }
        is_due
    }

    /// The instant at which the worker must be awake: for what is due next, or for its heartbeat.
    pub fn sleeps_until(&self, next: Option<Instant>) -> Instant {
        next.unwrap_or(Instant::MAX).min(self.next_heartbeat)
    }

    /// True if the run was halted from outside.
    pub fn is_halted(&self) -> bool {
        self.halts.iter().any(|halt| halt.load(Ordering::Relaxed))
    }

    /// The report of the worker at its end, `now`.
    pub fn report(
        mut self,
        now: Instant,
        lateness: Histogram,
        population: &Population,
        in_system_area: u128,
        stalls: u64,
    ) -> WorkerReport {
        let counts = population.counts();
        let (mut own, mut turns) = (self.lateness, self.turns);
        if let Some(watcher) = self.watcher.take() {
            [own, turns] = watcher.end(now, &mut self.meters, [&mut own, &mut turns]);
        }
        own.merge(&lateness);
        WorkerReport {
            ended: now,
            stats: WorkerStats { handshakes: counts.handshake_cpu, ..self.meters.stats(now) },
            lateness: own,
            turns,
            counts,
            generator: GeneratorCounts { writer_stalls: stalls, ..GeneratorCounts::default() },
            last_received: population.last_received(),
            received: population.received(),
            in_system_area,
            opened: Vec::new(),
            network: None,
        }
    }
}

/// A time to wait, as the kernel takes it.
pub(crate) fn timespec(wait: Duration) -> Timespec {
    Timespec { tv_sec: (wait.as_ns() / 1_000_000_000) as i64, tv_nsec: (wait.as_ns() % 1_000_000_000) as i64 }
}
