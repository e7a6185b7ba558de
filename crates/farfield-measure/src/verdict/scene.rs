//! A run that is as it should be, to be broken.

use super::*;
use crate::facts::{Arrivals, NetworkFacts, WorkerFacts};
use crate::fold::scene::{fold, sample, window};

/// A fold of 200 requests of 1 ms each, one every 5 ms, and facts that agree with it in everything.
pub fn good_run() -> (Fold, EngineFacts) {
    let samples: Vec<_> = (0..200).map(|n| sample(n * 5_000_000, n * 5_000_000 + 1_000_000)).collect();
    let mut facts = EngineFacts {
        plane: "sockets".to_owned(),
        processors: vec![1],
        placement: None,
        workers: vec![WorkerFacts {
            cpu: Duration::from_ms(300),
            wall: Duration::from_secs(1),
            slept: Duration::from_ms(700),
        }],
        arrivals: Some(Arrivals { expected: Some(200.0), scheduled: 200, begun: 200, dropped: 0 }),
        in_system_ns: 200_000_000,
        connections_open: vec![1],
        ..EngineFacts::default()
    };
    facts.lateness.record(Duration::from_us(20));
    facts.loop_lag.record(Duration::from_us(50));
    let mut network = NetworkFacts { clients: 10, shards: 1, ..NetworkFacts::default() };
    network.departure_lateness.record(Duration::from_us(30));
    network.arrival_lateness.record(Duration::from_us(40));
    network.crossing_lateness.record(Duration::from_us(5));
    facts.network = Some(network);
    (fold(window(0, 1000), &samples), facts)
}

/// When that run was over.
pub const END: Instant = Instant::from_ns(1_000_000_000);
