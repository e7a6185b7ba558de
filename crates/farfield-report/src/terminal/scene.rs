//! The vocabulary of this crate's tests: runs made of samples, folded and judged as real ones are.

use farfield_base::{Duration, Instant, NetworkDrops, Note, Outcome, PacketCounts, Sample, Stamp, Window};
use farfield_measure::summary::SummaryContext;
use farfield_measure::{
    Arrivals, EngineStats, Fold, Heading, LoadKind, MachineStats, NetworkStats, ServerEnd, ServerStatus,
    Summary, Threshold, VerdictLimits, WorkerStats,
};

const MS: u64 = 1_000_000;

/// All that a summary is made of, to be changed before it is made.
pub struct Scene {
    pub heading: Heading,
    pub samples: Vec<Sample>,
    pub stats: EngineStats,
    pub thresholds: Vec<&'static str>,
    pub classes: Vec<String>,
    pub states: Vec<String>,
    pub notes: Vec<Note>,
    pub limits: VerdictLimits,
}

impl Scene {
    /// 2 s measured after 1 s: a request every 2 ms on four connections, the n-th taking 1 + n % 10 ms;
    /// all well.
    pub fn good() -> Scene {
        let mut stats = EngineStats {
            plane: "sockets".to_owned(),
            processors: vec![1],
            placement: None,
            workers: vec![WorkerStats {
                cpu: Duration::from_ms(680),
                wall: Duration::from_secs(2),
                slept: Duration::from_ms(1320),
                waited: None,
                stall: Some(Duration::from_ms(2)),
                stall_waited: None,
                stalled: Duration::ZERO,
                handshakes: Duration::ZERO,
                ..WorkerStats::default()
            }],
            arrivals: Some(Arrivals { expected: Some(1000.0), scheduled: 1000, begun: 1000, dropped: 0 }),
            connections_open: vec![4, 4, 4],
            ..EngineStats::default()
        };
        for _ in 0..100 {
            stats.lateness.record(Duration::from_us(34));
            stats.loop_lag.record(Duration::from_us(120));
        }
        let samples: Vec<_> = (0..1500).map(request).collect();
        stats.in_system_ns = in_window(&samples);
        let heading = Heading {
            note: None,
            path: None,
            farfield: "0.1.0".to_owned(),
            scenario: "quick".to_owned(),
            target: "http://127.0.0.1:8080/index.html".to_owned(),
            seed: 42,
            load: LoadKind::Open,
            load_words: "open loop, constant 500/s".to_owned(),
            started_at: "2026-03-01T12:00:00Z".to_owned(),
        };
        let thresholds = vec!["p99<200ms", "errors<0.1%"];
        Scene {
            heading,
            samples,
            stats,
            thresholds,
            classes: Vec::new(),
            states: Vec::new(),
            notes: Vec::new(),
            limits: VerdictLimits::default(),
        }
    }

    /// The worst that a screen must hold: every outcome, every check failed, far too much of everything.
    pub fn worst() -> Scene {
        let mut scene = Scene::good();
        let long = "a".repeat(300);
        scene.heading.target = format!("https://{long}.example/\u{1b}[2J");
        scene.heading.load_words = format!("hybrid, {long}");
        scene.heading.scenario = long.clone();
        scene.heading.seed = u64::MAX;
        for (at, sample) in scene.samples.iter_mut().enumerate() {
            sample.outcome = Outcome::ALL[at % Outcome::ALL.len()];
            sample.body_bytes = 123_456_789_012;
            sample.reply_bytes = 123_456_789_012;
        }
        let stats = &mut scene.stats;
        stats.workers = vec![
            WorkerStats {
                cpu: Duration::from_secs(1),
                wall: Duration::from_secs(2),
                slept: Duration::ZERO,
                waited: Some(Duration::from_secs(1)),
                stall: Some(Duration::from_secs(1)),
                stall_waited: None,
                stalled: Duration::ZERO,
                handshakes: Duration::ZERO,
                ..WorkerStats::default()
            };
            16
        ];
        for _ in 0..2 {
            stats.lateness.record(Duration::from_secs(999));
            stats.loop_lag.record(Duration::from_secs(999));
        }
        stats.last_received = Some(Duration::from_ms(1500));
        stats.server = Some(ServerStatus {
            ended: Some(ServerEnd {
                at: None,
                status: long.clone(),
                last_words: long.clone(),
                out_of_memory: None,
            }),
        });
        stats.machine = Some(MachineStats {
            processors: 2,
            load: Some(99.9),
            others: 0.9,
            stolen: 0.1,
            ..MachineStats::default()
        });
        stats.arrivals =
            Some(Arrivals { expected: None, scheduled: 1_234_567, begun: 3, dropped: 7_654_321 });
        stats.in_system_ns = 1;
        stats.generator.samples_lost = 123_456_789;
        stats.interrupted = Some(format!("interrupted by {long}"));
        stats.connections_open = vec![1_000_000];
        stats.warnings = vec![long; 5];
        scene.thresholds = vec!["p99.9(service)<1us", "errors<0.1%", "rate>1000000", "dropped<1", "max<1us"];
        scene
    }

    /// The scene across an emulated network, with clients of these classes.
    pub fn across(mut self, classes: &[&str]) -> Scene {
        self.classes = classes.iter().map(|name| (*name).to_owned()).collect();
        let drops = NetworkDrops { lost: 3, ..NetworkDrops::default() };
        let mut network = NetworkStats {
            clients: 30,
            shards: 1,
            packets: PacketCounts { up: 10, down: 20, ..PacketCounts::default() },
            drops,
            ..Default::default()
        };
        network.lateness.departure.record(Duration::from_us(30));
        network.lateness.arrival.record(Duration::from_us(40));
        self.stats.plane = "emulated".to_owned();
        self.stats.network = Some(network);
        self
    }

    pub fn fold(&self) -> Fold {
        let mut fold = Fold::of_classes(WINDOW, &self.classes).naming_states(self.states.clone());
        self.samples.iter().for_each(|sample| fold.record(sample));
        self.notes.iter().for_each(|note| fold.note(note));
        fold
    }

    pub fn summary(&self) -> Summary {
        self.made_by(Summary::new)
    }

    fn made_by(&self, make: impl Fn(SummaryContext<'_>, &Fold, &EngineStats, Instant) -> Summary) -> Summary {
        let thresholds: Vec<Threshold> =
            self.thresholds.iter().map(|text| text.parse().expect("a threshold")).collect();
        let asked = SummaryContext {
            heading: &self.heading,
            limits: &self.limits,
            thresholds: &thresholds,
            series_file: Some("series.parquet"),
        };
        make(asked, &self.fold(), &self.stats, WINDOW.measure_to)
    }
}

/// The summary that a killed run leaves behind.
pub fn killed() -> Summary {
    Scene::good().made_by(|asked, fold, stats, until| {
        Summary::checkpoint(asked, fold, &mut stats.clone(), until, &|| {})
    })
}

/// A run of which nothing is known yet.
pub fn unborn() -> Summary {
    let mut scene = Scene::good();
    scene.samples.clear();
    scene.stats = EngineStats::default();
    scene.summary()
}

const WINDOW: Window =
    Window { measure_from: Instant::from_ns(1000 * MS), measure_to: Instant::from_ns(3000 * MS) };

fn request(n: u64) -> Sample {
    let at = |ms_tenths: u64| Instant::from_ns(n * 2 * MS + ms_tenths * MS / 10);
    let took = (1 + n % 10) * 10;
    let opens = n < 4;
    let stamp = |instant| if opens { Stamp::at(instant) } else { Stamp::NEVER };
    Sample {
        due: at(0),
        connect_begun: stamp(at(0)),
        connected: stamp(at(1)),
        sent: Stamp::at(at(1)),
        first_byte: Stamp::at(at(took - 5)),
        done: at(took),
        body_bytes: 1000,
        reply_bytes: 1200,
        user: (n % 4) as u32,
        connection: (n % 4) as u32,
        number: (n / 4) as u32,
        status: 200,
        outcome: Outcome::Ok,
        ..Sample::EMPTY
    }
}

/// Request-nanoseconds inside the window.
fn in_window(samples: &[Sample]) -> u64 {
    let inside = |sample: &Sample| {
        sample.done.min(WINDOW.measure_to).since(sample.due.max(WINDOW.measure_from)).as_ns()
    };
    samples.iter().map(inside).sum()
}
