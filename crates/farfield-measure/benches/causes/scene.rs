//! A run in virtual time to plant faults into: ten seconds of an open load before a server that answers in a
//! millisecond, on a worker that has a processor to itself and hardly anything to do. As it is, it is valid.

use super::worker::{self, Away, Due, MS, Why};
use farfield_base::{Duration, Instant, Outcome, PacketCounts, Sample, Window};
use farfield_measure::summary::SummaryContext;
use farfield_measure::{
    Arrivals, EngineStats, Fold, Heading, Histogram, LoadKind, MachineStats, NetworkStats, PacketLateness,
    ServerBeside, ServerStatus, Verdict, VerdictLimits,
};

/// Length of the run in nanoseconds.
pub const END: u64 = 10_000 * MS;
/// Requests a second, and the worker's time for each.
const RATE: f64 = 300.0;
const COST: u64 = 100_000;
const RESPONSE: u64 = MS;
/// Processors of the machine; the worker has one of them.
const PROCESSORS: u32 = 2;
/// A tick of the kernel's, in which it counts what the host took.
const TICK: u64 = 10 * MS;

/// A run, to be made worse before it is judged.
pub struct Scene {
    pub load: LoadKind,
    pub asks_at_once: bool,
    pub dues: Vec<Due>,
    pub away: Vec<Away>,
    /// The outcome of a request that is due at this instant, and when it is over.
    pub ends: Box<dyn Fn(u64, u64) -> (Outcome, u64)>,
    /// Changes to what the engine reports.
    pub reports: Vec<fn(&mut EngineStats)>,
    pub warm_up: u64,
}

impl Scene {
    pub fn good(seed: u64) -> Scene {
        let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut uniform = move || {
            // Xorshift (Marsaglia 2003).
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random >> 11) as f64 / (1_u64 << 53) as f64
        };
        let mut gap = move || (-(1.0 - uniform()).ln() / RATE * 1e9) as u64;
        let mut dues = Vec::new();
        let mut at = gap();
        while at < END {
            dues.push(Due { at, cost: COST });
            at += gap();
        }
        Scene {
            load: LoadKind::Open,
            asks_at_once: false,
            dues,
            away: Vec::new(),
            ends: Box::new(|_, begun| (Outcome::Ok, begun + RESPONSE)),
            reports: Vec::new(),
            warm_up: 0,
        }
    }

    /// Takes the processor away for `length` every `period`, between two instants; all in milliseconds.
    pub fn take(&mut self, why: Why, [from, to]: [u64; 2], length: f64, period: f64) {
        let ns = |ms: f64| (ms * MS as f64) as u64;
        let mut at = from * MS;
        while at < to * MS {
            self.away.push(Away { from: at, to: (at + ns(length)).min(to * MS), why });
            at += ns(period);
        }
    }

    /// Every request takes the worker so many milliseconds.
    pub fn cost(&mut self, ms: f64) {
        self.dues.iter_mut().for_each(|due| due.cost = (ms * MS as f64) as u64);
    }

    /// Once a second `count` more are due at once.
    pub fn burst(&mut self, count: usize, cost_ms: f64) {
        let cost = (cost_ms * MS as f64) as u64;
        let bursts = (0..10).flat_map(|second| vec![Due { at: (second * 1000 + 350) * MS, cost }; count]);
        self.dues.extend(bursts);
        self.dues.sort_by_key(|due| due.at);
    }

    pub fn judge(mut self) -> Verdict {
        self.away.sort_by_key(|away| away.from);
        let mut free = 0;
        for away in &mut self.away {
            (away.from, free) = (away.from.max(free), away.to.max(free));
            away.to = away.to.max(away.from);
        }
        self.away.retain(|away| away.to > away.from);
        let report = worker::run(&self.dues, &self.away, END);
        let window =
            Window { measure_from: Instant::from_ns(self.warm_up), measure_to: Instant::from_ns(END) };
        let mut fold = Fold::new(window);
        let (mut last, mut in_system_ns) = (0, 0_u64);
        for (due, begun) in self.dues.iter().zip(&report.begun) {
            let (outcome, done) = (self.ends)(due.at, *begun);
            let sample = sample(due.at, done, outcome);
            in_system_ns += window.overlap(sample.due, sample.done).as_ns();
            fold.record(&sample);
            if outcome == Outcome::Ok {
                last = last.max(done);
            }
        }
        let begun = report.begun.iter().filter(|at| **at <= END + 1_000 * MS).count() as u64;
        let mut stats = EngineStats {
            plane: "emulated".to_owned(),
            processors: vec![1],
            placement: Some("workers real-time".to_owned()),
            arrivals: Some(Arrivals { expected: None, scheduled: self.dues.len() as u64, begun, dropped: 0 }),
            lateness: report.lateness,
            loop_lag: report.turns,
            workers: vec![report.stats],
            in_system_ns,
            connections_open: vec![2; 10],
            last_received: Some(Duration::from_ns(last.min(END))),
            server: Some(ServerStatus::default()),
            server_beside: Some(ServerBeside::default()),
            machine: Some(machine(&self.away)),
            network: Some(network()),
            asks_at_once: self.asks_at_once,
            load_ended: true,
            ..EngineStats::default()
        };
        self.reports.iter().for_each(|change| change(&mut stats));
        if self.load == LoadKind::Closed {
            stats.arrivals = None;
        }
        let heading = Heading {
            farfield: String::new(),
            scenario: String::new(),
            note: None,
            path: None,
            target: String::new(),
            seed: 1,
            load: self.load,
            load_words: String::new(),
            started_at: String::new(),
        };
        let limits = VerdictLimits::default();
        let context =
            SummaryContext { heading: &heading, limits: &limits, thresholds: &[], series_file: None };
        Verdict::judge(context, &fold, &stats, Instant::from_ns(END))
    }
}

fn sample(due: u64, done: u64, outcome: Outcome) -> Sample {
    let [due, done] = [due, done].map(Instant::from_ns);
    farfield_testkit::samples::request(due, done, outcome)
}

/// The machine's counters of the time that the worker was kept from its processor.
fn machine(away: &[Away]) -> MachineStats {
    let of = |why| away.iter().filter(|away| away.why == why).map(|away| away.to - away.from).sum::<u64>();
    let share = |ns: u64| ns as f64 / (END * u64::from(PROCESSORS)) as f64;
    MachineStats {
        processors: PROCESSORS,
        load: Some(1.0),
        // Something always runs.
        others: 0.02 + share(of(Why::Others)),
        server: 0.1 + share(of(Why::Server)),
        stolen: share(of(Why::Host)),
        stolen_from_workers: Some((of(Why::Host) / TICK * TICK) as f64 / END as f64),
        oom_kills: 0,
        quota: Some(1.0),
        throttled: Some(Duration::from_ns(of(Why::Quota))),
    }
}

/// An emulated network on which nothing is late.
fn network() -> NetworkStats {
    let on_time = |us| {
        let mut times = Histogram::new();
        (0..1000).for_each(|_| times.record(Duration::from_us(us)));
        times
    };
    NetworkStats {
        clients: 10,
        shards: 1,
        lateness: PacketLateness {
            departure: on_time(30),
            delivery: on_time(15),
            arrival: on_time(40),
            ..PacketLateness::default()
        },
        packets: PacketCounts { up: 10_000, down: 10_000, ..PacketCounts::default() },
        receive_threads: vec![0],
        ..NetworkStats::default()
    }
}
