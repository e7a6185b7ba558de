//! What the collector says of a run while samples are on their way.

use super::*;
use crate::sample_channel::SampleSender;
use farfield_base::{Duration, Outcome, Window};
use farfield_measure::{Heading, LoadKind, VerdictLimits};
use std::cell::Cell;

/// A run of 100 requests a second whose clock stands at 4 s, and of which the collector has what ended in the
/// first two seconds: rates are over these.
#[test]
fn rates_are_over_the_time_that_is_whole() {
    let at = |ms: u64| Instant::ZERO + Duration::from_ms(ms);
    let heading = Heading {
        farfield: String::new(),
        scenario: String::new(),
        target: String::new(),
        seed: 1,
        load: LoadKind::Open,
        load_words: String::new(),
        started_at: String::new(),
    };
    let limits = VerdictLimits::default();
    let aborts = ["rate>90".parse::<Threshold>().expect("a threshold")];
    let context =
        SummaryContext { heading: &heading, limits: &limits, thresholds: &aborts, series_file: None };
    let fold = Fold::new(Window { measure_from: at(0), measure_to: at(10_000) });
    let mut collector = Collector::new(fold, 2, context, &aborts, None, Pace::alone());
    let (out, chunks) = SampleSender::channel(2);
    let (mut senders, returns): (Vec<_>, Vec<_>) =
        (0..2).map(|worker| SampleSender::new(worker, out.clone())).unzip();
    for number in 0..100 {
        for sender in &mut senders {
            let due = at(20 * number);
            let request = farfield_testkit::samples::request(due, due + Duration::from_ms(20), Outcome::Ok);
            sender.push(request);
        }
    }
    // The first has ended; what the second has handed over is of two seconds.
    senders[0].live.at = Instant::MAX;
    senders.iter_mut().for_each(SampleSender::flush);
    drop((senders, out));
    let mut seen = Vec::new();
    let mut aborted = false;
    let on_progress = |run: &Progress<'_>| seen.push((run.now, run.folded_to, run.fold.steady().requests()));
    // The clock goes on to 4 s between the two.
    let looks = Cell::new(0);
    let now = || at(if looks.replace(looks.get() + 1) == 0 { 0 } else { 4000 });
    collector.collect(&chunks, &returns, now, on_progress, || aborted = true);
    assert_eq!(seen, [(at(4000), at(2000), 200)]);
    assert_eq!((aborted, collector.stats.interrupted), (false, None));
}
