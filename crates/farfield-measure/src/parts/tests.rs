//! Parts that are written, read and summed.

use super::*;
use crate::fold::scene::{fold, sample, window};
use crate::summary::LoadKind;
use crate::verdict::scene::{END, good_run};
use farfield_base::{Cause, Detail, Note, Outcome, Rule, Sample, SessionFailure};
use std::sync::Arc;

fn heading() -> Heading {
    Heading {
        farfield: "0.1.0".to_owned(),
        scenario: "quick".to_owned(),
        note: None,
        path: None,
        target: "http://127.0.0.1:8080/".to_owned(),
        seed: 1,
        load: LoadKind::Open,
        load_words: String::new(),
        started_at: "2026-01-02T03:04:05Z".to_owned(),
    }
}

fn label(part: &str) -> PartLabel {
    PartLabel {
        part: part.parse().unwrap(),
        scenario: "seed = 1\nname = \"a\"\n".to_owned(),
        thresholds: vec!["p99<1s".parse().unwrap()],
        skew_max: Duration::from_ms(100),
        clock: None,
    }
}

/// A part with these counts, after it was written and read.
fn kept(label: PartLabel, (fold, stats): (&Fold, &EngineStats)) -> JudgedPart {
    let (heading, limits) = (heading(), VerdictLimits::default());
    let heading = Heading { load_words: PartLabel::words(label.part, "open"), ..heading };
    let context = SummaryContext { heading: &heading, limits: &limits, thresholds: &[], series_file: None };
    let verdict = Summary::new(context, fold, stats, END).verdict;
    let mut file = Vec::new();
    PartResult::new(label, context, (fold, stats), END).write(&mut file).unwrap();
    let result = PartResult::read(&file[..]).unwrap();
    JudgedPart { directory: String::new(), result, verdict }
}

/// The good run's 200 requests, every `of`-th from `first` on, with what the engine says of so many.
fn share(first: u64, of: u64) -> (Fold, EngineStats) {
    let (_, mut stats) = good_run();
    let own = |n: &u64| n % of == first;
    let mut samples: Vec<Sample> = (0..200)
        .filter(own)
        .map(|n| Sample {
            user: n as u32,
            connection: n as u32,
            ..sample(n * 5_000_000, n * 5_000_000 + 1_000_000)
        })
        .collect();
    let failed = samples.iter_mut().find(|sample| sample.user == 1);
    let failed = failed.map(|sample| {
        sample.outcome = Outcome::ConnectTimedOut;
        *sample
    });
    let mut fold = fold(window(0, 1000), &samples);
    if let Some(sample) = failed {
        fold.note(&failure_of(&sample));
    }
    let share = samples.len() as u64;
    let arrivals = stats.arrivals.as_mut().unwrap();
    (arrivals.expected, arrivals.scheduled, arrivals.begun) = (Some(share as f64), share, share);
    stats.in_system_ns = share * 1_000_000;
    (fold, stats)
}

fn failure_of(sample: &Sample) -> Note {
    Note::Failed(Box::new(SessionFailure {
        at: sample.done,
        due: sample.due,
        user: sample.user,
        session: Sample::NO_SESSION,
        state: SessionFailure::NO_STATE,
        outcome: Outcome::ConnectTimedOut,
        status: 0,
        what: Arc::from(""),
        detail: Some(Arc::new(Detail::broken(Rule::new("a head without an end", "RFC 9112 section 2")))),
        instead: Some("nothing".into()),
        exchange: None,
    }))
}

fn named(parts: Vec<JudgedPart>) -> Vec<JudgedPart> {
    let name = |(number, part)| JudgedPart { directory: format!("dir-{number}"), ..part };
    parts.into_iter().enumerate().map(name).collect()
}

fn of_shares(all: &[(&str, u64)], of: u64) -> Vec<JudgedPart> {
    let part = |(part, first): &(&str, u64)| {
        let (fold, stats) = share(*first, of);
        kept(label(part), (&fold, &stats))
    };
    named(all.iter().map(part).collect())
}

#[test]
fn what_is_read_is_what_was_written() {
    let (fold, stats) = share(1, 2);
    let part = kept(label("1/2"), (&fold, &stats)).result;
    assert_eq!(part.stats, stats);
    let text = |fold: &Fold| serde_json::to_string(fold).unwrap();
    assert_eq!(text(&part.fold), text(&fold));
    assert_eq!(part.fold.steady(), fold.steady());
    assert_eq!(part.fold.failures(), fold.failures());
    assert_eq!(part.fold.series().rows(&[]), fold.series().rows(&[]));
}

#[test]
fn the_sum_is_the_run() {
    let (whole, stats) = share(0, 1);
    let halves = PartsSum::of(of_shares(&[("2/2", 1), ("1/2", 0)], 2)).unwrap();
    let (heading, limits) = (heading(), VerdictLimits::default());
    let thresholds = ["p99<1s".parse().unwrap()];
    let context =
        SummaryContext { heading: &heading, limits: &limits, thresholds: &thresholds, series_file: None };
    let mut expected = Summary::new(context, &whole, &stats, END);
    let found = halves.summary(None);
    assert!(found.verdict.valid, "{:?}", found.verdict.failed().collect::<Vec<_>>());
    assert_eq!((found.heading.load_words.as_str(), found.thresholds.len()), ("open", 1));
    assert_eq!(found.steady.times, expected.steady.times);
    assert_eq!((&found.steady, &found.failures), (&expected.steady, &expected.failures));
    assert_eq!((found.steady.requests, found.failures[0].instead.as_deref()), (200, Some("nothing")));
    assert_eq!(found.generator.arrivals, expected.generator.arrivals);
    assert_eq!(found.generator.in_system_mean, expected.generator.in_system_mean);
    let names = |summary: &Summary| summary.parts.iter().map(|part| part.part.clone()).collect::<Vec<_>>();
    assert_eq!((names(&found), names(&expected)), (vec!["1/2".to_owned(), "2/2".to_owned()], vec![]));
    expected.parts.clone_from(&found.parts);
    assert_eq!(Summary::from_json(&found.to_json()).unwrap(), found);
}

#[test]
fn order_and_grouping_do_not_matter() {
    let shares = [("1/4", 0), ("2/4", 1), ("3/4", 2), ("4/4", 3)];
    let forwards = PartsSum::of(of_shares(&shares, 4)).unwrap().summary(None);
    let mut backwards = of_shares(&shares, 4);
    backwards.reverse();
    let backwards = PartsSum::of(backwards).unwrap().summary(None);
    assert_eq!(forwards, backwards);
    let mut grouped = share(3, 4).0;
    grouped.merge(&{
        let mut two = share(1, 4).0;
        two.merge(&share(2, 4).0);
        two
    });
    grouped.merge(&share(0, 4).0);
    let one_by_one = PartsSum::of(of_shares(&shares, 4)).unwrap().fold;
    assert_eq!(grouped.steady().outcomes, one_by_one.steady().outcomes);
    assert_eq!(grouped.steady().times, one_by_one.steady().times);
}

#[test]
fn what_is_missing_or_invalid_makes_the_run_invalid() {
    let failed = |parts: Vec<JudgedPart>| {
        let summary = PartsSum::of(parts).unwrap().summary(None);
        let check = summary.verdict.checks.iter().find(|check| check.name == "parts").unwrap().clone();
        assert!(!summary.verdict.valid);
        check.note.unwrap()
    };
    let gaps = of_shares(&[("3/9", 0), ("5..6/9", 1)], 2);
    assert_eq!(failed(gaps), "1..2/9 is missing; 4/9 is missing; 7..9/9 is missing");
    let mut one_invalid = of_shares(&[("1/2", 0), ("2/2", 1)], 2);
    let (fold, mut stats) = share(1, 2);
    stats.generator.samples_lost = 3;
    one_invalid[1] = JudgedPart { directory: "dir-1".to_owned(), ..kept(label("2/2"), (&fold, &stats)) };
    let note = failed(one_invalid);
    assert!(note.contains("2/2 in dir-1 is invalid: samples-lost"), "{note}");
}

#[test]
fn an_invalid_part_is_listed_with_its_first_cause() {
    let (fold, mut stats) = share(1, 2);
    stats.generator.samples_lost = 3;
    let mut parts = of_shares(&[("1/2", 0), ("2/2", 1)], 2);
    parts[1] = JudgedPart { directory: "dir-1".to_owned(), ..kept(label("2/2"), (&fold, &stats)) };
    let summary = PartsSum::of(parts).unwrap().summary(None);
    let causes: Vec<Option<&str>> = summary.parts.iter().map(|part| part.cause.as_deref()).collect();
    assert_eq!(causes, [None, Some("samples-lost")]);
}

#[test]
fn starts_apart_are_judged_by_what_the_load_bears() {
    let at = |starts: [u64; 2]| {
        let mut parts = of_shares(&[("1/2", 0), ("2/2", 1)], 2);
        for (part, start_unix_ns) in parts.iter_mut().zip(starts) {
            part.result.stats.clock = Some(crate::RunClock { start_unix_ns, drift_ns: 0 });
        }
        PartsSum::of(parts).unwrap().summary(None)
    };
    let close = at([5_000_000_000, 5_099_000_000]);
    assert!(close.verdict.valid, "{:?}", close.verdict.failed().collect::<Vec<_>>());
    assert_eq!(close.parts[1].skew_ns, Some(99_000_000));
    let apart = at([5_101_000_000, 5_000_000_000]);
    assert!(apart.verdict.failed().any(|check| check.name == "start-skew"));
    assert_eq!((apart.parts[0].skew_ns, apart.parts[1].skew_ns), (Some(101_000_000), Some(0)));
}

/// The second part's clock is an hour ahead, as was measured to 20 µs.
#[test]
fn clocks_that_were_compared_are_corrected_for() {
    const HOUR: i64 = 3_600_000_000_000;
    let with_error = |error_ns: u64| {
        let mut parts = of_shares(&[("1/2", 0), ("2/2", 1)], 2);
        for (part, (start_unix_ns, offset_ns)) in
            parts.iter_mut().zip([(5_000_000_000, 0), (5_000_300_000 + HOUR as u64, HOUR)])
        {
            part.result.stats.clock = Some(crate::RunClock { start_unix_ns, drift_ns: 0 });
            part.result.label.clock = Some(PartClock { offset_ns, error_ns });
        }
        PartsSum::of(parts).unwrap().summary(None)
    };
    let close = with_error(20_000);
    assert!(close.verdict.valid, "{:?}", close.verdict.failed().collect::<Vec<_>>());
    assert_eq!((close.parts[0].skew_ns, close.parts[1].skew_ns), (Some(0), Some(300_000)));
    assert_eq!((close.parts[1].clock_offset_ns, close.parts[1].clock_error_ns), (Some(HOUR), Some(20_000)));
    // Clocks that are known to 60 ms may be 120 ms apart.
    assert!(with_error(60_000_000).verdict.failed().any(|check| check.name == "start-skew"));
}

#[test]
fn parts_of_other_runs_are_refused() {
    let (fold, stats) = share(0, 2);
    let part = |label: PartLabel| kept(label, (&fold, &stats));
    let refused = |parts: Vec<JudgedPart>| PartsSum::of(named(parts)).unwrap_err().to_string();
    let other = PartLabel { scenario: "seed = 2\nname = \"a\"\n".to_owned(), ..label("2/2") };
    assert_eq!(
        refused(vec![part(label("1/2")), part(other)]),
        "dir-0 and dir-1 are of different runs: `seed = 1` and `seed = 2`"
    );
    assert!(refused(vec![part(label("1/2")), part(label("2/3"))]).contains("1/2 and 2/3"));
    let twice = refused(vec![part(label("2..4/5")), part(label("1..3/5"))]);
    assert_eq!(twice, "dir-1 and dir-0 both have 2/5: a part of a run is counted once");
    let mut older = part(label("2/2"));
    older.result.heading.farfield = "0.0.9".to_owned();
    assert!(refused(vec![part(label("1/2")), older]).contains("farfield 0.1.0 and 0.0.9"));
    let mut shorter = part(label("2/2"));
    shorter.result.fold = crate::fold::scene::fold(window(0, 500), &[]);
    assert!(refused(vec![part(label("1/2")), shorter]).contains("measured parts differ"));
    assert_eq!(PartsSum::of(Vec::new()).unwrap_err(), PartsError::Nothing);
}

#[test]
fn damaged_files_are_refused() {
    let (fold, stats) = share(0, 2);
    let mut part = kept(label("1/2"), (&fold, &stats)).result;
    part.version = 7;
    let mut file = Vec::new();
    part.write(&mut file).unwrap();
    let error = PartResult::read(&file[..]).unwrap_err();
    assert!(error.to_string().contains("version 7"), "{error}");
    let mut late = kept(label("1/2"), (&fold, &stats)).result;
    late.until = END + Duration::from_ns(1);
    let mut beyond = Vec::new();
    late.write(&mut beyond).unwrap();
    assert!(matches!(PartResult::read(&beyond[..]), Err(PartError::Io(_))));
    let half = &file[..file.len() / 2];
    for damaged in [&b""[..], b"no such thing", half] {
        assert!(matches!(PartResult::read(damaged), Err(PartError::Io(_))));
    }
    let (fold, _) = share(1, 2);
    let cause = fold.failures().kinds()[0].cause;
    assert_eq!(cause, Some(Cause::Broken(Rule::new("a head without an end", "RFC 9112 section 2"))));
}
