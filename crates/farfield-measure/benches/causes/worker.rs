//! A worker in virtual time: a processor that it does not always have, things that are due and take time on
//! it, and the readings by which a real worker finds out how late it was and what it did with its time
//! (`farfield-engine/src/meters.rs`).
//!
//! The worker takes what is due in the order in which it is due, at most 64 in a turn, and sleeps until the
//! next is due. Where it has no processor it goes on when it has one again.

use farfield_base::{Duration, Instant, Tenths};
use farfield_measure::{Histogram, WorkerStats};

pub const MS: u64 = 1_000_000;
const HEARTBEAT: u64 = 100 * MS;
const STALL_MIN: u64 = 20 * MS;
const STRETCH_MIN: u64 = 10 * MS;
const NAP_MIN: u64 = 100_000;
const A_TURN: usize = 64;

/// Why a worker is without a processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// Other work has it.
    Others,
    /// A thread of the server's has it.
    Server,
    /// The quota of its group is used up.
    Quota,
    /// The machine's host has it, which nobody inside counts but in ticks.
    Host,
    /// The process is stopped.
    Stopped,
}

/// A time without a processor, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct Away {
    pub from: u64,
    pub to: u64,
    pub why: Why,
}

/// Something that is due, and the time that it takes on a processor, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct Due {
    pub at: u64,
    pub cost: u64,
}

/// Counts and times of a worker.
pub struct Report {
    pub stats: WorkerStats,
    pub lateness: Histogram,
    pub turns: Histogram,
    /// Instants, in nanoseconds, at which each thing that was due was begun.
    pub begun: Vec<u64>,
}

/// Counts of the kernel's for a thread.
#[derive(Debug, Clone, Copy, Default)]
struct Used {
    cpu: u64,
    waited: u64,
}

#[derive(Default)]
struct Meters {
    used: Used,
    slept: u64,
    stall: u64,
    stall_waited: Option<u64>,
    stalled: u64,
    stopped: u64,
    held: u64,
    crowded: u64,
    disturbed: Tenths,
    /// At the last heartbeat, the last stall and the last stretch.
    before: Used,
    beat: Used,
    beat_at: u64,
    before_stretch: Used,
    awake_since: (u64, u64),
}

impl Meters {
    fn heartbeat(&mut self, now: u64) {
        let waited = self.used.waited - self.beat.waited;
        if waited > MS {
            self.held += waited;
            self.disturb(self.beat_at, now);
        }
        (self.beat, self.before, self.before_stretch, self.beat_at) = (self.used, self.used, self.used, now);
    }

    fn disturb(&mut self, from: u64, to: u64) {
        let [from, to] = [from, to].map(Instant::from_ns);
        self.disturbed.add(from);
        self.disturbed.add_between(from, to);
        self.disturbed.add(to);
    }

    fn stall(&mut self, from: u64, to: u64, computed: u64) {
        let stall = to - from;
        if stall >= STALL_MIN {
            let waited = self.used.waited - self.before.waited;
            let stopped = stall.saturating_sub(waited).saturating_sub(computed);
            self.before = self.used;
            self.stalled += stall;
            if stopped >= STALL_MIN {
                self.stopped += stopped;
                self.disturb(from, to);
            }
            if stall > self.stall {
                self.stall_waited = Some(waited);
            }
        }
        self.stall = self.stall.max(stall);
    }

    fn work_until(&mut self, now: u64) {
        let (from, slept) = self.awake_since;
        if now - from < STRETCH_MIN {
            return;
        }
        let taken = (self.slept - slept) + (self.used.waited - self.before_stretch.waited);
        let computed = (now - from).saturating_sub(taken).min(self.used.cpu - self.before_stretch.cpu);
        if computed * 10 >= (now - from) * 9 {
            self.crowded += computed;
        }
        (self.before_stretch, self.awake_since) = (self.used, (now, self.slept));
    }

    fn slept_from(&mut self, from: u64, to: u64) {
        self.slept += to - from;
        if to - from >= NAP_MIN {
            self.awake_since = (to, self.slept);
        }
    }
}

/// The processor, with the times without it that are still to come.
struct Processor<'a> {
    away: &'a [Away],
    next: usize,
}

impl Processor<'_> {
    /// The time without it in which `now` lies, if it lies in one.
    fn missing_at(&mut self, now: u64) -> Option<Away> {
        while self.away.get(self.next).is_some_and(|away| away.to <= now) {
            self.next += 1;
        }
        self.away.get(self.next).copied().filter(|away| away.from <= now)
    }

    /// Instant, in nanoseconds, from which a worker that is ready at `now` has the processor.
    fn wait(&mut self, mut now: u64, used: &mut Used) -> u64 {
        while let Some(away) = self.missing_at(now) {
            if matches!(away.why, Why::Others | Why::Server | Why::Quota) {
                used.waited += away.to - now;
            }
            now = away.to;
        }
        now
    }

    /// Instant, in nanoseconds, at which work of `cost` that is ready at `now` is done.
    fn work(&mut self, now: u64, cost: u64, used: &mut Used) -> u64 {
        let (mut now, mut left) = (self.wait(now, used), cost);
        while left > 0 {
            let until = self.away.get(self.next).map_or(u64::MAX, |away| away.from);
            let step = left.min(until - now);
            used.cpu += step;
            left -= step;
            now = if left > 0 { self.wait(now + step, used) } else { now + step };
        }
        now
    }
}

/// A worker that has `dues`, in order, until `end`; what is left then it still begins.
pub fn run(dues: &[Due], away: &[Away], end: u64) -> Report {
    let (mut lateness, mut turns, mut begun) = (Histogram::new(), Histogram::new(), Vec::new());
    let (mut meters, mut processor) = (Meters::default(), Processor { away, next: 0 });
    let (mut now, mut next, mut next_beat) = (0, 0, HEARTBEAT);
    while next < dues.len() || now < end {
        if now >= next_beat {
            next_beat = now + HEARTBEAT;
            meters.heartbeat(now);
        }
        let turn = now;
        for _ in 0..A_TURN {
            now = processor.wait(now, &mut meters.used);
            let Some(due) = dues.get(next).filter(|due| due.at <= now) else { break };
            lateness.record(Duration::from_ns(now - due.at));
            begun.push(now);
            now = processor.work(now, due.cost, &mut meters.used);
            next += 1;
        }
        let computed = meters.used.cpu - meters.before.cpu;
        meters.stall(turn, now, computed);
        turns.record(Duration::from_ns(now - turn));
        meters.work_until(now);
        let until = dues.get(next).map_or(next_beat, |due| due.at.min(next_beat)).max(now);
        let woken = processor.wait(until, &mut meters.used);
        meters.slept_from(now, woken);
        meters.stall(until, woken, 0);
        now = woken;
    }
    let ns = Duration::from_ns;
    let stats = WorkerStats {
        cpu: ns(meters.used.cpu),
        wall: ns(now),
        slept: ns(meters.slept),
        waited: Some(ns(meters.used.waited)),
        stall: Some(ns(meters.stall)),
        stall_waited: meters.stall_waited.map(ns),
        stalled: ns(meters.stalled),
        stopped: ns(meters.stopped),
        held: Some(ns(meters.held)),
        crowded: ns(meters.crowded),
        disturbed: meters.disturbed,
        handshakes: Duration::ZERO,
    };
    Report { stats, lateness, turns, begun }
}
