//! The intervals of a run as a summary has them, from batches and a histogram.

use super::processes::{FAILED, Process, Run, SERVICE_NS, Tally};
use farfield_base::{Duration, Instant, Outcome, Sample, Stamp};
use farfield_measure::batches::{Batches, MeasuredPart};
use farfield_measure::summary::TimingSummary;
use farfield_measure::{Histogram, Quantile, Timing};

/// Percentiles that are looked at.
pub const QUANTILES: [(&str, Quantile); 4] =
    [("p50", Quantile::P50), ("p90", Quantile::P90), ("p95", Quantile::P95), ("p99", Quantile::P99)];

/// The true numbers of a process.
pub struct Truth {
    quantiles_ns: [f64; 4],
    mean_ns: f64,
    succeeded_per_s: f64,
}

impl Truth {
    /// By formula, or else by all `runs` together.
    pub fn of(process: Process, runs: impl Iterator<Item = Run>) -> Truth {
        let quantiles = QUANTILES.map(|(_, quantile)| process.quantile(quantile.as_f64()));
        let succeeded_per_s = process.rate() / SERVICE_NS * 1e9;
        if let ([Some(a), Some(b), Some(c), Some(d)], Some(mean)) = (quantiles, process.mean()) {
            let quantiles_ns = [a, b, c, d].map(|time| time * SERVICE_NS);
            return Truth { quantiles_ns, mean_ns: mean * SERVICE_NS, succeeded_per_s };
        }
        let mut all = Histogram::new();
        for request in runs.flat_map(|run| run.requests) {
            all.record(Duration::from_ns(request.response_ns));
        }
        let ns = |quantile| all.quantile(quantile).map_or(0.0, |time| time.as_ns() as f64);
        let mean_ns = all.sum_ns() as f64 / all.count() as f64;
        Truth { quantiles_ns: QUANTILES.map(|(_, quantile)| ns(quantile)), mean_ns, succeeded_per_s }
    }
}

/// Counts the intervals of `run` in `tally`.
pub fn count(tally: &mut Tally, run: &Run, truth: &Truth) {
    let lasted = Duration::from_ns(run.lasted_ns);
    let session = run.session_ns.map(Duration::from_ns);
    let part = MeasuredPart { lasted, session };
    let (batches, response) = measured(run);
    let intervals = batches.times(Timing::Response, part);
    let times = TimingSummary::with_intervals(&response, intervals, &|| {}).expect("requests");
    for (at, (name, quantile)) in QUANTILES.into_iter().enumerate() {
        let own = quantile.to_string();
        let found = times.quantiles.iter().find(|found| found.name == own).expect("a percentile");
        let interval = found.interval_ns.map(|ends| ends.map(|ns| ns as f64));
        tally.count(name, interval, truth.quantiles_ns[at]);
    }
    tally.count("mean", times.mean_interval_ns.map(|ends| ends.map(|ns| ns as f64)), truth.mean_ns);
    tally.count("rate", batches.succeeded_per_s(part).ok(), truth.succeeded_per_s);
    let offered_per_s = truth.succeeded_per_s / (1.0 - FAILED);
    tally.count("offered", batches.due_per_s(part).ok(), offered_per_s);
    tally.count("errors", batches.error_share(lasted).ok(), FAILED);
    tally.count("one outcome", batches.outcome_share(Outcome::Reset, lasted).ok(), FAILED / 2.0);
}

/// The run in batches, and its response times.
fn measured(run: &Run) -> (Batches, Histogram) {
    let (mut batches, mut response) = (Batches::new(Instant::ZERO), Histogram::new());
    for (number, request) in run.requests.iter().enumerate() {
        let due = Instant::from_ns(request.due_ns);
        // Failures are of two kinds, each of every other.
        let outcome = match (request.failed, number % 2) {
            (false, _) => Outcome::Ok,
            (true, 0) => Outcome::Reset,
            (true, _) => Outcome::Status5xx,
        };
        let sample = Sample {
            due,
            sent: Stamp::at(due),
            first_byte: Stamp::at(due),
            done: Instant::from_ns(request.due_ns + request.response_ns),
            body_bytes: 100,
            reply_bytes: 150,
            connection: 0,
            number: number as u32,
            status: 200,
            outcome,
            ..Sample::EMPTY
        };
        batches.record_response(&sample, false);
        if !request.failed {
            response.record(sample.response_time());
            if sample.done.as_ns() < run.lasted_ns {
                batches.record_completed(sample.done, true);
            }
        }
    }
    (batches, response)
}
