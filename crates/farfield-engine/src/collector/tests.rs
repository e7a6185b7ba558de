//! Interim figures of a run, from the collector, while samples are on their way.

use super::*;
use crate::sample_channel::SampleSender;
use farfield_base::{Duration, Outcome, Window};
use farfield_measure::{Heading, LoadKind, VerdictLimits};
use std::cell::{Cell, RefCell};

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_ms(ms)
}

/// Requests of which one ends every 20 ms.
fn hand_over(sender: &mut SampleSender, requests: u64) {
    for number in 0..requests {
        let due = at(20 * number);
        let request = farfield_testkit::samples::request(due, due + Duration::from_ms(20), Outcome::Ok);
        sender.push(request);
    }
}

/// Calls `collect` with the collector of a run of two workers that is to have more than 90 requests a second.
fn collecting(collect: impl FnOnce(&mut Collector<'_>)) {
    let heading = Heading {
        farfield: String::new(),
        scenario: String::new(),
        note: None,
        path: None,
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
    collect(&mut Collector::new(fold, 2, context, &aborts, None, Pace::alone()));
}

/// A run of 100 requests a second whose clock stands at 4 s, and of which the collector has what ended in the
/// first two seconds: rates are over these.
#[test]
fn rates_are_over_the_time_that_is_whole() {
    let (out, chunks) = SampleSender::channel(2);
    let (mut senders, returns): (Vec<_>, Vec<_>) =
        (0..2).map(|worker| SampleSender::new(worker, out.clone())).unzip();
    senders.iter_mut().for_each(|sender| hand_over(sender, 100));
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
    collecting(|collector| {
        collector.collect(&chunks, &returns, now, on_progress, || aborted = true);
        assert_eq!((aborted, &collector.stats.interrupted), (false, &None));
        assert_eq!(collector.stats.warnings, Vec::<String>::new());
    });
    assert_eq!(seen, [(at(4000), at(2000), 200)]);
}

/// One of two workers makes 50 requests a second, and the other reports nothing for five seconds: it holds
/// nothing up, and the run, which has too few, is ended.
#[test]
fn a_worker_that_never_reports_is_left_out() {
    let (out, chunks) = SampleSender::channel(2);
    let (mut sender, first) = SampleSender::new(0, out.clone());
    let (away, second) = SampleSender::new(1, out);
    hand_over(&mut sender, 250);
    sender.live.at = Instant::MAX;
    sender.flush();
    drop(sender);
    let away = RefCell::new(Some(away));
    let mut seen = Vec::new();
    let on_progress = |run: &Progress<'_>| {
        seen.push((run.now, run.folded_to));
        // The run ends.
        away.take();
    };
    let looks = Cell::new(0);
    let now = || at(if looks.replace(looks.get() + 1) == 0 { 0 } else { 5000 });
    let mut aborted = false;
    collecting(|collector| {
        collector.collect(&chunks, &[first, second], now, on_progress, || aborted = true);
        assert_eq!((aborted, collector.stats.interrupted.is_some()), (true, true));
        let [warning] = &collector.stats.warnings[..] else { panic!("{:?}", collector.stats.warnings) };
        assert!(warning.starts_with("worker 1 reported nothing for 3s"), "{warning}");
    });
    assert_eq!(seen, [(at(5000), at(5000))]);
}

/// Events of a stream are in a file as long as the disk budget has room for them; a part of them is in none.
#[test]
fn a_file_of_events_that_outgrows_the_budget_is_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let directory = RunDirectory::create_new(&folder.path().join("run")).expect("a directory");
    let label = farfield_measure::samples::RunLabel { scenario: String::new(), seed: 1 };
    let file = directory.samples().expect("a file");
    let mut files = RunFiles {
        samples: SamplesWriter::create(file, label, Keep::All, None).expect("a file"),
        reserve: directory.reserve().expect("space"),
        directory,
        keep: Keep::All,
        events: None,
        events_budget: 1_000,
        events_refused: false,
        side_files: None,
    };
    let path = files.directory.path().join(EVENTS_FILE);
    let event = |number: u64| ReplyEvent {
        at: at(number),
        gap: (number > 0).then(|| Duration::from_ms(1)),
        alongside: 0,
        user: 0,
        connection: 0,
        number: 0,
        request: 0,
        class: 0,
        host: farfield_base::HostNumber::TARGET,
        due: Instant::ZERO,
    };
    let written = (0..200_000).map(|number| files.write_event(&event(number)));
    let refused: Vec<String> = written.filter_map(|written| Some(written.err()?.to_string())).collect();
    assert_eq!(refused, ["the disk budget is spent"], "once");
    assert!(!path.exists());
    files.keep = Keep::None;
    (files.events_refused, files.events_budget) = (false, u64::MAX);
    files.write_event(&event(0)).expect("nothing is kept");
    assert!(!path.exists());
}
