//! Summaries of runs whose every sample is known.

use super::*;
use crate::fold::scene::{fold, sample, window};
use crate::quantile::Quantile;
use crate::verdict::scene::{END, good_run};
use farfield_base::{EventStats, Outcome, Sample};

fn heading() -> Heading {
    Heading {
        farfield: "0.1.0".to_owned(),
        scenario: "quick".to_owned(),
        note: None,
        path: None,
        target: "http://127.0.0.1:8080/".to_owned(),
        seed: u64::MAX,
        load: LoadKind::Open,
        load_words: "open loop, constant, 200/s".to_owned(),
        started_at: "2026-01-02T03:04:05Z".to_owned(),
    }
}

fn summary(fold: &Fold, stats: &EngineStats, until: Instant) -> Summary {
    let thresholds = ["p99<200ms".parse().expect("a threshold")];
    let (heading, limits) = (heading(), VerdictLimits::default());
    let context = SummaryContext {
        heading: &heading,
        limits: &limits,
        thresholds: &thresholds,
        series_file: Some("series.parquet"),
    };
    Summary::new(context, fold, stats, until)
}

#[test]
fn says_what_the_run_was() {
    let (fold, stats) = good_run();
    let summary = summary(&fold, &stats, END);
    assert!(summary.complete && summary.verdict.valid && summary.thresholds[0].passed);
    assert_eq!(
        summary.phases,
        Phases { warm_up_ns: 0, steady_ns: END.as_ns(), drain_ns: 0, ended_early: false }
    );
    let ended = Some(END.since(Instant::ZERO) + Duration::from_ms(340));
    let drained = self::summary(&fold, &EngineStats { ended, ..stats.clone() }, END);
    assert_eq!(drained.phases.drain_ns, 340_000_000);
    let rates = summary.steady.rates.expect("a second");
    assert_eq!((rates.offered_per_s, rates.completed_per_s), (200.0, Some(200.0)));
    assert_eq!(rates.body_bytes_per_s, 20_000.0);
    assert_eq!(summary.warm_up.rates, None);
    assert_eq!(summary.warm_up.times.response, None);
    let response = summary.steady.times.response.as_ref().expect("200 times");
    assert_eq!((response.count, response.mean_ns, response.sd_ns), (200, 1_000_000, Some(0)));
    assert_eq!(response.quantile_ns(Quantile::P99), Some(1_000_000));
    assert_eq!(response.quantiles[3].interval_ns, None); // 200 are too few for the p99
    assert!(response.quantiles[0].interval_ns.is_some());
    assert_eq!(summary.generator.in_system_mean, Some(0.2));
    assert_eq!(summary.steady.outcomes.len(), 1);
}

#[test]
fn survives_json_to_the_last_bit() {
    let (fold, stats) = good_run();
    for until in [END, Instant::from_ns(333_333_333)] {
        let summary = summary(&fold, &stats, until);
        assert_eq!(Summary::from_json(&summary.to_json()).expect("its own text"), summary);
    }
}

#[test]
fn nothing_measured_makes_no_number_up() {
    let empty = summary(&fold(window(0, 1000), &[]), &EngineStats::default(), Instant::ZERO);
    assert_eq!(empty.steady.rates, None);
    assert_eq!(empty.generator.in_system_mean, None);
    assert!(!empty.complete);
    assert_eq!(Summary::from_json(&empty.to_json()).expect("its own text"), empty);
}

/// Ten requests of 4 s each, due in a measured part of a second: they have a mean, and no rate.
#[test]
fn replies_that_all_came_too_late_are_said() {
    const MS: u64 = 1_000_000;
    let warned = |took_ms: u64| {
        let samples: Vec<Sample> = (0..10).map(|n| sample(n * MS, (n + took_ms) * MS)).collect();
        let summary = summary(&fold(window(0, 1000), &samples), &good_run().1, END);
        let late = summary.warnings.iter().find(|warning| warning.starts_with("no request succeeded"));
        (late.cloned(), summary.steady.rates.expect("a second").succeeded_per_s)
    };
    let (warning, succeeded_per_s) = warned(4000);
    assert_eq!(succeeded_per_s, 0.0);
    let warning = warning.expect("a warning");
    assert!(warning.contains("the 10 that were due in it were answered after it"), "{warning}");
    assert!(warning.contains("several times the 4.0 s that the longest took"), "{warning}");
    assert_eq!(warned(900), (None, 10.0));
}

/// Each class against its samples counted one by one.
#[test]
fn classes_are_distinguished() {
    const MS: u64 = 1_000_000;
    let names = ["fibre", "modem"].map(str::to_owned);
    let samples: Vec<Sample> = (0..200_u64)
        .map(|n| {
            let class = u16::from(n % 4 == 0);
            let outcome = if n % 8 == 0 { Outcome::Reset } else { Outcome::Ok };
            Sample { class, outcome, ..sample(n * 5 * MS, (n * 5 + 1 + 100 * u64::from(class) + n % 9) * MS) }
        })
        .collect();
    let mut fold = Fold::of_classes(window(0, 1000), &names);
    samples.iter().for_each(|sample| fold.record(sample));
    let summary = summary(&fold, &EngineStats::default(), END);
    for (number, class) in summary.classes.iter().enumerate() {
        let own = || samples.iter().filter(|sample| usize::from(sample.class) == number);
        assert_eq!(class.name, names[number]);
        assert_eq!(class.steady.requests, own().count() as u64);
        assert_eq!(class.share, Some(own().count() as f64 / 200.0));
        let failed = own().filter(|sample| sample.outcome != Outcome::Ok).count();
        assert_eq!(class.steady.error_share, Some(failed as f64 / own().count() as f64));
        let mut took: Vec<u64> =
            own().filter(|s| s.outcome == Outcome::Ok).map(|s| s.response_time().as_ns()).collect();
        took.sort_unstable();
        let exact = took[took.len().div_ceil(2) - 1] as f64;
        let times = class.steady.times.response.as_ref().expect("times");
        let p50 = times.quantile_ns(Quantile::P50).expect("a median") as f64;
        assert!((p50 - exact).abs() <= exact / 1024.0, "{p50} for {exact}");
        assert_eq!((times.min_ns, times.max_ns), (took[0], took[took.len() - 1]));
    }
    assert_eq!(Summary::from_json(&summary.to_json()).expect("its own text"), summary);
}

#[test]
fn a_checkpoint_is_not_complete() {
    let (fold, stats) = good_run();
    let (heading, limits) = (heading(), VerdictLimits::default());
    let context = SummaryContext { heading: &heading, limits: &limits, thresholds: &[], series_file: None };
    let summary = Summary::checkpoint(context, &fold, &mut stats.clone(), END, &|| {});
    assert!(!summary.complete && !summary.verdict.valid);
    assert!(summary.incomplete_reason.expect("a reason").contains("not ended"));
}

#[test]
fn absurd_times_are_reported() {
    let absurd = Sample { done: Instant::MAX, ..sample(0, 1) };
    let summary = summary(&fold(window(0, 1000), &[absurd]), &EngineStats::default(), END);
    // That it is long, that it is beyond the series, and that it came after the measured part.
    assert_eq!(summary.warnings.len(), 3);
}

/// The schema lists each field of the document, and the units stand in the names.
#[test]
fn the_schema_knows_every_field() {
    let schema = summary_schema();
    let (fold, stats) = good_run();
    let document: serde_json::Value =
        serde_json::from_str(&summary(&fold, &stats, END).to_json()).expect("JSON");
    let known = |name: &str| schema["properties"].get(name).is_some();
    for name in document.as_object().expect("an object").keys() {
        assert!(known(name), "{name}");
    }
    let timing = &schema["$defs"]["TimingSummary"]["properties"];
    assert!(timing["mean_ns"]["description"].is_string());
}

/// Streams of the warm-up that a server breaks off later are in no share of errors, and the reader is warned.
#[test]
fn streams_of_the_warm_up_that_fail_later_are_warned_of() {
    let (ms, events) = (1_000_000, Some(EventStats { events: 1, ..EventStats::NONE }));
    let broken = Sample { outcome: Outcome::Reset, events, ..sample(10 * ms, 150 * ms) };
    let warned = |samples: &[Sample]| {
        let summary =
            summary(&fold(window(100, 200), samples), &EngineStats::default(), Instant::from_ns(200 * ms));
        assert!(summary.steady.error_share.is_none_or(|share| share == 0.0));
        summary
            .warnings
            .into_iter()
            .find(|warning| warning.contains("streams that were opened in the warm-up"))
    };
    let fine = sample(120 * ms, 130 * ms);
    let says = warned(&[fine, broken, broken]).expect("two of them");
    assert!(
        says.starts_with("2 streams that were opened in the warm-up failed in the measured part"),
        "{says}"
    );
    // Whole ones, replies that are no streams, and what failed before or after the measured part.
    let others = [
        Sample { outcome: Outcome::Ok, ..broken },
        Sample { events: None, ..broken },
        Sample { events, outcome: Outcome::Reset, ..sample(10 * ms, 90 * ms) },
        Sample { events, outcome: Outcome::Reset, ..sample(10 * ms, 210 * ms) },
    ];
    assert_eq!(warned(&others), None);
}

/// Streams that end without an event have no first one, and the reader is warned that they are in none of its
/// times.
#[test]
fn streams_without_an_event_are_warned_of() {
    const MS: u64 = 1_000_000;
    let stream = |events: EventStats| Sample { events: Some(events), ..sample(10 * MS, 20 * MS) };
    let (none, one) = (EventStats::NONE, EventStats { events: 1, ..EventStats::NONE });
    let warned_of = |fold: &Fold| {
        let summary = summary(fold, &EngineStats::default(), Instant::from_ns(100 * MS));
        summary.warnings.into_iter().find(|warning| warning.contains("without an event"))
    };
    let warned = |samples: &[Sample]| warned_of(&fold(window(0, 100), samples));
    let says = warned(&[stream(none), stream(one), stream(none)]).expect("two of them");
    assert!(says.starts_with("2 streams came to their end without an event"), "{says}");
    // Where pieces are events, every reply has some but those without a body.
    let mut by_pieces = Fold::new(window(0, 100)).with_events_by_pieces(true);
    by_pieces.record(&stream(none));
    assert_eq!(warned_of(&by_pieces), None);
    // With one, left before it, failed, and a reply that is no stream.
    let left = EventStats { left: true, ..none };
    let others = [
        stream(one),
        stream(left),
        Sample { outcome: Outcome::Truncated, ..stream(none) },
        Sample { events: None, ..stream(none) },
    ];
    assert_eq!(warned(&others), None);
}

/// Where half of what came or more are redirects that nobody follows, the reader is warned; users of
/// sessions follow theirs.
#[test]
fn redirects_that_nobody_follows_are_warned_of() {
    const MS: u64 = 1_000_000;
    let samples = |redirects: u64| {
        let status = |n| if n < redirects { 302 } else { 200 };
        (0..10).map(|n| Sample { status: status(n), ..sample(n * MS, (n + 1) * MS) }).collect::<Vec<_>>()
    };
    let warned = |fold: &Fold| {
        let summary = summary(fold, &EngineStats::default(), END);
        summary.warnings.into_iter().find(|warning| warning.contains("are redirects"))
    };
    assert_eq!(warned(&fold(window(0, 1000), &samples(4))), None);
    let warning = warned(&fold(window(0, 1000), &samples(5))).expect("half of them are");
    assert!(warning.starts_with("5 of 10 replies") && warning.contains("[session]"), "{warning}");
    let mut followed = Fold::new(window(0, 1000)).naming_states(vec!["home".to_owned()]);
    samples(10).iter().for_each(|sample| followed.record(sample));
    assert_eq!(warned(&followed), None);
}

/// Persistent connections that 9 of 1,000 requests find closed are nothing unusual.
#[test]
fn many_requests_that_were_sent_again_are_warned_of() {
    let (fold, mut stats) = good_run();
    let all = fold.warm_up().requests() + fold.steady().requests();
    assert!((10..=1000).contains(&all), "{all}");
    let mut of = |resent| {
        stats.counts.resent = resent;
        let warnings = summary(&fold, &stats, END).warnings;
        warnings.into_iter().find(|warning| warning.contains("sent again"))
    };
    assert_eq!(of(9), None);
    let warning = of(10).expect("a warning");
    assert!(warning.starts_with("10 times a request was sent again"), "{warning}");
    assert!(warning.contains(&format!("there were {all} requests")), "{warning}");
    let samples: Vec<Sample> = (0..2000).map(|n| sample(n * 1000, n * 1000 + 500)).collect();
    let fold = self::fold(window(0, 1000), &samples);
    stats.counts.resent = 19;
    assert!(!summary(&fold, &stats, END).warnings.iter().any(|warning| warning.contains("sent again")));
}
