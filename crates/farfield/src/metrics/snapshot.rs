//! Snapshot that the collector hands over for metrics: totals so far, and what holds at the moment.
//!
//! It is made on the collector's thread, so it is small, bounded, and pauses for workers between histograms.

use farfield_base::{Duration, Instant, Merge, Outcome};
use farfield_engine::Progress;
use farfield_measure::fold::{EventCounts, PhaseStats};
use farfield_measure::paths::Paths;
use farfield_measure::verdict::CheckState;
use farfield_measure::{Histogram, Quantile, Timing};
use farfield_os::clock;

/// Upper ends of the buckets of times, in microseconds: from what a loopback takes to what a user waits for.
const BOUNDS_US: [u64; 22] = [
    50, 100, 250, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 350_000, 500_000,
    750_000, 1_000_000, 1_500_000, 2_000_000, 5_000_000, 10_000_000, 30_000_000, 60_000_000,
];

/// Classes with figures of their own; those of further ones are added up.
pub const CLASSES_MAX: usize = 20;

/// Paths with figures of their own, the first ones of the set; those of further ones are added up.
pub const PATHS_MAX: usize = 50;

/// Times counted by buckets, from the shortest.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Buckets {
    /// Times up to each bound.
    pub up_to: Vec<u64>,
    pub count: u64,
    pub sum_ns: u128,
}

impl Buckets {
    /// The bounds, in order.
    pub fn bounds() -> impl Iterator<Item = Duration> {
        BOUNDS_US.into_iter().map(Duration::from_us)
    }

    fn of(times: &Histogram, pause: &dyn Fn()) -> Buckets {
        let bounds: Vec<Duration> = Buckets::bounds().collect();
        pause();
        let up_to = times.counts_up_to(&bounds, pause);
        Buckets { up_to, count: times.count(), sum_ns: times.sum_ns() }
    }

    fn add(&mut self, other: &Buckets) {
        self.up_to.iter_mut().zip(&other.up_to).for_each(|(mine, theirs)| *mine += theirs);
        self.count += other.count;
        self.sum_ns += other.sum_ns;
    }
}

/// Totals of a part of the run, or of a class of clients in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PartTotals {
    /// Requests by outcome; only those that occurred.
    pub outcomes: Vec<(Outcome, u64)>,
    /// Replies by status code; only those that occurred.
    pub statuses: ByStatus,
    /// Times of the successful requests.
    pub response: Buckets,
    pub service: Buckets,
}

impl PartTotals {
    fn of(part: &PhaseStats, pause: &dyn Fn()) -> PartTotals {
        let counted = Outcome::ALL.into_iter().map(|outcome| (outcome, part.count(outcome)));
        PartTotals {
            outcomes: counted.filter(|(_, count)| *count > 0).collect(),
            statuses: part.statuses.iter().collect(),
            response: Buckets::of(part.times.of(Timing::Response), pause),
            service: Buckets::of(part.times.of(Timing::Service), pause),
        }
    }

    fn add(&mut self, other: &PartTotals) {
        for (outcome, count) in &other.outcomes {
            match self.outcomes.iter_mut().find(|(known, _)| known == outcome) {
                Some((_, mine)) => *mine += count,
                None => self.outcomes.push((*outcome, *count)),
            }
        }
        for (status, count) in &other.statuses {
            match self.statuses.iter_mut().find(|(known, _)| known == status) {
                Some((_, mine)) => *mine += count,
                None => self.statuses.push((*status, *count)),
            }
        }
        self.response.add(&other.response);
        self.service.add(&other.service);
    }
}

/// The figures of a run up to an instant.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// The wall clock, in milliseconds since 1970.
    pub unix_ms: u64,
    /// Time since the start of the run.
    pub now: Instant,
    pub ended: bool,
    /// The warm-up and the measured part.
    pub parts: [PartTotals; 2],
    /// Events in these parts.
    pub events: [EventCounts; 2],
    /// Classes of clients in the measured part, and what further ones are together.
    pub classes: Vec<(String, PartTotals)>,
    pub further_classes: Option<PartTotals>,
    /// Flows of users, and hosts that they ask, in the measured part.
    pub flows: Vec<(String, PartTotals)>,
    pub hosts: Vec<(String, PartTotals)>,
    /// Replies of the measured part by path and status code, and those for further paths together.
    pub paths: Vec<(String, ByStatus)>,
    pub further_paths: Option<ByStatus>,
    pub connections: u64,
    pub in_system: u64,
    /// Percentiles of the response times of the measured part.
    pub response_ns: Vec<(Quantile, u64)>,
    /// Checks of the verdict that have failed so far.
    pub failed_checks: Vec<String>,
}

impl Snapshot {
    /// A snapshot of a run's progress.
    pub fn of(run: &Progress<'_>) -> Snapshot {
        let pause = || run.pause();
        let part = |part: &PhaseStats| PartTotals::of(part, &pause);
        let (warm_up, steady) = (run.fold.warm_up(), run.fold.steady());
        // A single class is all of them.
        let several = run.fold.classes().len() > 1;
        let apart = run.fold.classes().filter(|_| several);
        let mut apart = apart.map(|(name, stats)| (name.to_owned(), part(stats)));
        let classes: Vec<_> = apart.by_ref().take(CLASSES_MAX).collect();
        let further_classes = apart.map(|(_, totals)| totals).reduce(|mut sum, other| {
            sum.add(&other);
            sum
        });
        let flows = run.fold.flows().iter().map(|(name, _, stats)| (name.to_owned(), part(stats)));
        let hosts = run.fold.hosts().iter().map(|(label, stats)| (label.name.clone(), part(stats)));
        let (flows, hosts) = (flows.collect(), hosts.collect());
        let (paths, further_paths) = paths(run.fold.paths());
        let checks = run.summary.iter().flat_map(|summary| &summary.verdict.checks);
        let failed = checks.filter(|check| check.state == CheckState::Failed);
        // That a run in progress is not complete is no failure.
        let failed = failed.filter(|check| run.ended || check.name != "completed");
        let response = run.summary.and_then(|summary| summary.steady.times.response.as_ref());
        let quantiles = [Quantile::P50, Quantile::P90, Quantile::P95, Quantile::P99, Quantile::P99_9];
        Snapshot {
            unix_ms: clock::unix_ms(),
            now: run.now,
            ended: run.ended,
            parts: [part(warm_up), part(steady)],
            events: [warm_up.events, steady.events],
            classes,
            further_classes,
            flows,
            hosts,
            paths,
            further_paths,
            connections: run.live.connections,
            in_system: run.live.in_system,
            response_ns: response.map_or_else(Vec::new, |times| {
                quantiles.iter().filter_map(|wanted| Some((*wanted, times.quantile_ns(*wanted)?))).collect()
            }),
            failed_checks: failed.map(|check| check.name.clone()).collect(),
        }
    }
}

/// Replies, by status code.
pub type ByStatus = Vec<(u16, u64)>;

/// Replies by status code of the first paths, each that was asked for, and of all others together.
fn paths(all: &Paths) -> (Vec<(String, ByStatus)>, Option<ByStatus>) {
    let mut further = all.further().statuses.clone();
    all.counted().skip(PATHS_MAX).for_each(|(_, count)| further.merge(&count.statuses));
    let first = all.counted().take(PATHS_MAX).filter(|(_, count)| count.requests() > 0);
    let first = first.map(|(path, count)| (path.to_owned(), count.statuses.iter().collect())).collect();
    (first, (further.sum() > 0).then(|| further.iter().collect()))
}
