//! A run that is as it should be, to be broken.

use super::*;
use crate::engine_stats::{Arrivals, MachineStats, NetworkStats, ServerStatus, WorkerStats};
use crate::fold::scene::{fold, sample, window};
use crate::histogram::Histogram;
use crate::summary::{Heading, LoadKind, SummaryContext};
use farfield_base::Duration;

/// A fold of 200 requests of 1 ms each, one every 5 ms, and stats that agree with it in everything.
pub fn good_run() -> (Fold, EngineStats) {
    let samples: Vec<_> = (0..200).map(|n| sample(n * 5_000_000, n * 5_000_000 + 1_000_000)).collect();
    let mut stats = EngineStats {
        plane: "sockets".to_owned(),
        processors: vec![1],
        placement: None,
        workers: vec![WorkerStats {
            cpu: Duration::from_ms(300),
            wall: Duration::from_secs(1),
            slept: Duration::from_ms(700),
            waited: Some(Duration::from_ms(10)),
            stall: Some(Duration::from_ms(2)),
            stall_waited: None,
            stalled: Duration::ZERO,
            handshakes: Duration::ZERO,
            ..WorkerStats::default()
        }],
        arrivals: Some(Arrivals { expected: Some(200.0), scheduled: 200, begun: 200, dropped: 0 }),
        in_system_ns: 200_000_000,
        connections_open: vec![1],
        last_received: Some(Duration::from_ms(996)),
        server: Some(ServerStatus::default()),
        machine: Some(MachineStats {
            processors: 2,
            load: Some(0.5),
            others: 0.02,
            server: 0.0,
            stolen: 0.0,
            stolen_from_workers: Some(0.0),
            oom_kills: 0,
            quota: Some(2.0),
            throttled: Some(Duration::ZERO),
        }),
        ..EngineStats::default()
    };
    fill(&mut stats.lateness, Duration::from_us(20));
    fill(&mut stats.loop_lag, Duration::from_us(50));
    let mut network = NetworkStats { clients: 10, shards: 1, ..NetworkStats::default() };
    fill(&mut network.lateness.departure, Duration::from_us(30));
    fill(&mut network.lateness.delivery, Duration::from_us(15));
    fill(&mut network.lateness.pickup, Duration::from_us(25));
    fill(&mut network.lateness.arrival, Duration::from_us(40));
    fill(&mut network.lateness.crossing, Duration::from_us(5));
    stats.network = Some(network);
    (fold(window(0, 1000), &samples), stats)
}

/// The verdict on that run under a load of this kind, once `damage` is done to what the engine counted.
pub fn judge(load: LoadKind, damage: impl FnOnce(&mut EngineStats)) -> Verdict {
    let (fold, mut stats) = good_run();
    damage(&mut stats);
    let heading = heading(load);
    let limits = VerdictLimits::default();
    let context = SummaryContext { heading: &heading, limits: &limits, thresholds: &[], series_file: None };
    Verdict::judge(context, &fold, &stats, END)
}

/// The heading of a run under a load of this kind.
pub fn heading(load: LoadKind) -> Heading {
    let text = String::new;
    Heading {
        farfield: text(),
        scenario: text(),
        note: None,
        path: None,
        target: text(),
        seed: 1,
        load,
        load_words: text(),
        started_at: text(),
    }
}

/// A hundred times the same time: its p99 is that, and remains it with one other.
fn fill(times: &mut Histogram, time: Duration) {
    (0..100).for_each(|_| times.record(time));
}

/// End of that run.
pub const END: Instant = Instant::from_ns(1_000_000_000);
