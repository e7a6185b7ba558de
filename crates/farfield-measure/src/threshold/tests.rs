//! Thresholds as they are written, and what they make of a run.

use super::*;
use crate::fold::scene::{fold, sample, window};
use farfield_base::Sample;

const MS: u64 = 1_000_000;

/// 100 requests over a second, the n-th taking n + 1 ms; two end in errors.
fn measured() -> Fold {
    let outcome = |n| match n {
        0 => Outcome::Status5xx,
        1 => Outcome::TimedOut,
        _ => Outcome::Ok,
    };
    let samples: Vec<_> = (0..100)
        .map(|n| Sample { outcome: outcome(n), ..sample(n * 5 * MS, (n * 5 + n + 1) * MS) })
        .collect();
    fold(window(0, 1000), &samples)
}

fn result(text: &str) -> ThresholdResult {
    let threshold: Threshold = text.parse().unwrap_or_else(|error| panic!("{error}"));
    threshold.evaluate(&measured(), Instant::from_ns(1000 * MS), true)
}

#[test]
fn measures_what_it_names() {
    let check = |text: &str, measured: f64, unit| {
        let result = result(text);
        let found = result.measured.expect(text);
        assert!((found - measured).abs() <= measured / 1024.0, "{text}: {found} for {measured}");
        assert_eq!(result.unit, unit, "{text}");
    };
    check("max<1s", 100.0 * MS as f64, LimitUnit::Ns);
    check("min<1s", 3.0 * MS as f64, LimitUnit::Ns);
    check("p50<1s", 51.0 * MS as f64, LimitUnit::Ns); // the 49th of 98, from 3 ms on
    check("mean<1s", 51.5 * MS as f64, LimitUnit::Ns);
    check("max(connect) < 1s", 10.0 * MS as f64, LimitUnit::Ns);
    check("errors<1%", 0.02, LimitUnit::Share);
    check("rate>1", 98.0, LimitUnit::PerSecond);
    check("offered>1", 100.0, LimitUnit::PerSecond);
    check("requests>1", 100.0, LimitUnit::Count);
    check("timed-out<1", 1.0, LimitUnit::Count);
    check("dropped<1", 0.0, LimitUnit::Count);
}

/// The 98 times are from 3 to 100 ms: one timed out, and would have been one of the longest.
#[test]
fn the_share_beyond_a_percentiles_limit_is_counted() {
    let beyond = |text: &str| result(text).beyond_share;
    let close = |text: &str, share: f64| {
        let found = beyond(text).expect(text);
        assert!((found - share).abs() < 0.002, "{text}: {found} for {share}");
    };
    close("p99<91.5ms", 9.0 / 98.0);
    close("p50 <= 50.5ms", 50.0 / 98.0);
    assert_eq!(beyond("p90<2s"), Some(0.0));
    for text in ["mean<1ms", "p99>1ms", "errors<1%", "max<1ms"] {
        assert_eq!(beyond(text), None, "{text}");
    }
}

#[test]
fn a_class_is_measured_alone() {
    let names = ["dsl", "modem"].map(str::to_owned);
    let mut fold = Fold::of_classes(window(0, 1000), &names);
    for n in 0..100 {
        fold.record(&Sample { class: u16::from(n >= 90), ..sample(n * 5 * MS, (n * 5 + n + 1) * MS) });
    }
    let measured = |text: &str| {
        let threshold: Threshold = text.parse().expect("a threshold");
        threshold.evaluate(&fold, Instant::from_ns(1000 * MS), true).measured
    };
    assert_eq!(measured("requests{dsl}>1"), Some(90.0));
    assert_eq!(measured("offered { modem }>1"), Some(10.0));
    assert_eq!(measured("max{dsl}<1s"), Some(90.0 * MS as f64));
    assert_eq!(measured("max{modem}<1s"), Some(100.0 * MS as f64));
    assert_eq!(measured("p50(connect){fibre}<1s"), None, "there is no such class");
    assert_eq!("p99{dsl}<1s".parse::<Threshold>().expect("a threshold").scope(), Some("dsl"));
    let of = |text: &str| {
        let threshold: Threshold = text.parse().expect("a threshold");
        threshold.evaluate(&fold, Instant::from_ns(1000 * MS), true).requests
    };
    assert_eq!(["p99<1s", "p99{modem}<1s", "p99{fibre}<1s"].map(of), [Some(100), Some(10), None]);
}

/// Requests of a state that timed out count by their ages, as they do of the whole.
#[test]
fn a_state_is_measured_alone() {
    let names = ["home", "login", "never"].map(str::to_owned).to_vec();
    let mut fold = Fold::new(window(0, 1000)).naming_states(names);
    for n in 0..100 {
        let (request, outcome) = (u32::from(n >= 90), if n == 99 { Outcome::TimedOut } else { Outcome::Ok });
        fold.record(&Sample { request, outcome, ..sample(n * 5 * MS, (n * 5 + n + 1) * MS) });
    }
    let measured = |text: &str| {
        let threshold: Threshold = text.parse().expect("a threshold");
        let result = threshold.evaluate(&fold, Instant::from_ns(1000 * MS), true);
        (result.measured.map(|found| (found / 1e5).round() / 10.0), result.is_lower_bound)
    };
    assert_eq!(measured("max{home}<1s"), (Some(90.0), false));
    assert_eq!(measured("p50{login}<1s"), (Some(95.0), false));
    assert_eq!(measured("max{login}<1s"), (Some(100.0), true), "it is known to be more");
    let count = |text: &str| {
        let threshold: Threshold = text.parse().expect("a threshold");
        threshold.evaluate(&fold, Instant::from_ns(1000 * MS), true).measured
    };
    assert_eq!(["requests{login}>1", "timed-out{login}<1"].map(count), [Some(10.0), Some(1.0)]);
    assert_eq!(count("errors{login}<1%"), Some(0.1));
    let of: Threshold = "p99{login}<1s".parse().expect("a threshold");
    assert_eq!(of.evaluate(&fold, Instant::from_ns(1000 * MS), true).requests, Some(10));
    assert_eq!(count("requests{never}>1"), Some(0.0));
    assert_eq!(measured("p99{never}<1s"), (None, false), "nobody came there");
    assert_eq!(measured("p99{elsewhere}<1s"), (None, false), "there is no such state");
    let fits = |text: &str| text.parse::<Threshold>().expect("a threshold").fits_states();
    assert_eq!(["p99{a}<1s", "errors{a}<1%", "ok{a}>5", "requests{a}>5"].map(fits), [true; 4]);
    assert_eq!(["p99(connect){a}<1s", "rate{a}>5"].map(fits), [false; 2]);
}

/// 98 requests of 10 ms, and two still open after 300 ms and 400 ms.
#[test]
fn what_is_open_is_known_to_take_longer() {
    let mut samples: Vec<_> = (0..98).map(|n| sample(n * 5 * MS, (n * 5 + 10) * MS)).collect();
    samples.extend(
        [300, 400].map(|age| Sample { outcome: Outcome::Unfinished, ..sample(500 * MS, (500 + age) * MS) }),
    );
    let fold = fold(window(0, 1000), &samples);
    let result = |text: &str| {
        let threshold: Threshold = text.parse().expect(text);
        let result = threshold.evaluate(&fold, Instant::from_ns(1000 * MS), true);
        let broken = threshold.broken(&fold, Instant::from_ns(1000 * MS));
        let ms = result.measured.map(|ns| (ns / MS as f64).round());
        (ms, result.is_lower_bound, [result.passed, broken])
    };
    const KEPT: [bool; 2] = [true, false];
    const BROKEN: [bool; 2] = [false, true];
    /// Neither can be shown.
    const OPEN: [bool; 2] = [false, false];
    assert_eq!(result("p98<200ms"), (Some(10.0), false, KEPT));
    assert_eq!(result("p99<200ms"), (Some(400.0), true, BROKEN));
    assert_eq!(result("p99<1s"), (Some(400.0), true, OPEN));
    assert_eq!(result("p99>350ms"), (Some(400.0), true, KEPT));
    assert_eq!(result("p99>500ms"), (Some(400.0), true, OPEN));
    assert_eq!(result("max<1s"), (Some(400.0), true, OPEN));
    // 0.98 · 10 ms + 0.02 · 400 ms at least.
    assert_eq!(result("mean<17ms"), (Some(18.0), true, BROKEN));
    assert_eq!(result("mean>17ms"), (Some(18.0), true, KEPT));
    assert_eq!(result("min<11ms"), (Some(10.0), false, KEPT));
    assert_eq!([result("errors<0.1%").2, result("unfinished<=2").2], [BROKEN, KEPT]);
}

#[test]
fn compares_as_written() {
    let check = |text: &str, passed| assert_eq!(result(text).passed, passed, "{text}");
    check("max<100ms", false);
    check("max<=100ms", true);
    check("rate>98", false);
    check("rate >= 98/s", true);
    check("p99.9(service) < 1s", true);
    check("errors<2.1%", true);
    check("errors<0.019", false);
    check("sd>100ms", false);
}

#[test]
fn what_cannot_be_read_is_named_with_what_there_is() {
    let check = |text: &str, says: &str| {
        let error = text.parse::<Threshold>().expect_err(text).to_string();
        assert!(error.contains(says), "{text}: {error}");
    };
    check("p99", "compares nothing");
    check("p99=3ms", "compares nothing");
    check("latency<3ms", "`latency`");
    check("latency<3ms", "mean, min, max");
    check("p101<3ms", "`p101`");
    check("p99(dns)<3ms", "response, service, connect, reply and transfer");
    check("p99(dns<3ms", "no metric");
    check("p99{dsl<3ms", "no metric");
    check("errors(connect)<1%", "no metric");
    check("p99<200", "300ms");
    check("errors<5", "5%");
    check("errors < 1", "`1` is all of it: write `1%`");
    check("errors<=1.0", "`1.0` is all of it");
    assert!("errors<=100%".parse::<Threshold>().is_ok());
    check("rate>fast", "500/s");
    check("dropped<1%", "number of requests");
    check("<3ms", "no metric");
    check("status.999x<1", "`status.999x`");
    check("status.6xx<1", "status.429");
    check("status.42<1", "no status");
    check("status.429<1ms", "number of requests");
    check("p99==1ms", "only a number of requests");
    check("status.5xx==0%", "only a number of requests");
}

/// 50 replies with 200, 30 with 429, 10 with 404, 5 with 503, and 5 requests that were not answered.
#[test]
fn replies_are_counted_by_status_and_by_their_share() {
    let samples: Vec<_> = (0..100)
        .map(|n| {
            let (status, outcome) = match n {
                0..50 => (200, Outcome::Ok),
                50..80 => (429, Outcome::Status4xx),
                80..90 => (404, Outcome::Status4xx),
                90..95 => (503, Outcome::Status5xx),
                _ => (0, Outcome::TimedOut),
            };
            Sample { status, outcome, ..sample(n * 5 * MS, (n * 5 + 1) * MS) }
        })
        .collect();
    let fold = fold(window(0, 1000), &samples);
    let result = |text: &str| {
        let threshold: Threshold = text.parse().expect(text);
        let result = threshold.evaluate(&fold, Instant::from_ns(1000 * MS), true);
        (result.measured, result.unit, result.passed)
    };
    assert_eq!(result("status.429<30"), (Some(30.0), LimitUnit::Count, false));
    assert_eq!(result("status.4xx <= 40"), (Some(40.0), LimitUnit::Count, true));
    assert_eq!(result("status.5xx == 5"), (Some(5.0), LimitUnit::Count, true));
    assert_eq!(result("status.500==0"), (Some(0.0), LimitUnit::Count, true));
    assert_eq!(result("status.429 < 32%"), (Some(30.0 / 95.0), LimitUnit::Share, true));
    assert_eq!(result("status.2xx > 99%"), (Some(50.0 / 95.0), LimitUnit::Share, false));
    let unanswered: Threshold = "status.5xx<1%".parse().expect("a threshold");
    let empty = crate::fold::scene::fold(window(0, 1000), &samples[95..]);
    let result = unanswered.evaluate(&empty, Instant::from_ns(1000 * MS), true);
    assert_eq!((result.measured, result.passed), (None, false), "of no reply there is no share");
    assert!(unanswered.fits_paths() && unanswered.fits_states());
}

#[test]
fn only_thresholds_that_want_failures_judge_them_by_status() {
    let judges = |text: &str| text.parse::<Threshold>().expect(text).judges_outcomes();
    for text in
        ["status.503>=90%", "status.404>0", "status.4xx > 1%", "status.429==5", "errors<1%", "reset<1"]
    {
        assert!(judges(text), "{text}");
    }
    for text in ["status.5xx==0", "status.5xx<1%", "status.404>=0", "status.200>=95%", "status.4xx{/a}>1"] {
        assert!(!judges(text), "{text}");
    }
}

#[test]
fn signs_within_braces_compare_nothing() {
    let scope = |text: &str| text.parse::<Threshold>().map(|own| own.scope().map(str::to_owned));
    assert_eq!(scope("status.404{/a==}==0"), Ok(Some("/a==".to_owned())));
    assert_eq!(scope("status.404{/a<b>{c}} <= 1"), Ok(Some("/a<b>{c}".to_owned())));
    assert_eq!(scope("status.404==0"), Ok(None));
    let none = |text: &str| assert!(matches!(scope(text), Err(ThresholdError::NoComparison(_))), "{text}");
    none("status.404{/a==0}");
}

#[test]
fn nothing_measured_neither_passes_nor_breaks() {
    let empty = fold(window(0, 1000), &[]);
    let threshold: Threshold = "p99<1s".parse().expect("a threshold");
    assert!(!threshold.evaluate(&empty, Instant::ZERO, true).passed);
    assert!(!threshold.broken(&empty, Instant::ZERO));
    assert!(threshold.evaluate(&measured(), Instant::ZERO, true).passed);
}

#[test]
fn a_rate_is_of_the_time_that_has_passed() {
    // By 100 ms, what is due every 5 ms from 0 on makes 200 a second offered.
    let samples: Vec<_> = (0..20).map(|n| sample(n * 5 * MS, n * 5 * MS + MS)).collect();
    let threshold: Threshold = "offered>=200".parse().expect("a threshold");
    let partial = fold(window(0, 1000), &samples);
    assert!(!threshold.broken(&partial, Instant::from_ns(100 * MS)));
    assert!(threshold.broken(&partial, Instant::from_ns(101 * MS)));
}

#[test]
fn is_its_text_in_a_scenario() {
    let threshold: Threshold = serde_json::from_str(r#""p99 < 200ms""#).expect("a threshold");
    assert_eq!(serde_json::to_string(&threshold).expect("text"), r#""p99 < 200ms""#);
}

#[test]
fn a_limit_within_the_interval_is_close() {
    // Two requests each millisecond, of 1 to 10 ms in turn: the median is 5 ms, and of many.
    let samples: Vec<_> = (0..4000).map(|n| sample(n * MS / 2, n * MS / 2 + (1 + n * 7 % 10) * MS)).collect();
    let fold = fold(window(0, 2000), &samples);
    let until = Instant::from_ns(2000 * MS);
    let result = |text: &str| {
        let threshold: Threshold = text.parse().expect(text);
        threshold.evaluate(&fold, until, true)
    };
    for (text, is_close) in [
        ("mean<5500us", true),
        ("mean<9ms", false),
        ("rate>2000", true),
        ("rate>1000", false),
        ("errors<1%", false),
        ("p90<20ms", false),
    ] {
        let found = result(text);
        let [low, high] = found.interval.unwrap_or_else(|| panic!("{text} has an interval"));
        let measured = found.measured.expect(text);
        assert!(low <= measured && measured <= high, "{text}: {measured} in {low} to {high}");
        assert_eq!(found.is_close(), is_close, "{text}: {low} to {high}");
    }
    for text in ["max<1s", "requests>1", "offered>1", "p99.99<1s"] {
        assert_eq!(result(text).interval, None, "{text}");
    }
    let goes_on: Threshold = "mean<5500us".parse().expect("a threshold");
    assert_eq!(goes_on.evaluate(&fold, until, false).interval, None);
}

#[test]
fn estimates_with_censored_times_have_no_interval() {
    let mut samples: Vec<_> = (0..1000).map(|n| sample(n * MS, n * MS + (1 + n % 10) * MS)).collect();
    samples[900].outcome = Outcome::TimedOut;
    let fold = fold(window(0, 1000), &samples);
    let threshold: Threshold = "p50<1s".parse().expect("a threshold");
    let result = threshold.evaluate(&fold, Instant::from_ns(1000 * MS), true);
    assert!(result.measured.is_some() && result.interval.is_none(), "{result:?}");
}
