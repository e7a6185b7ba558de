//! Batches of requests that are known, and intervals that follow by hand.

use super::interval::NoIntervalReason;
use super::*;
use crate::fold::scene::sample;
use crate::quantile::Quantile;
use proptest::prelude::*;

const MS: u64 = 1_000_000;

fn batches(samples: &[(u64, u64)]) -> Batches {
    let mut batches = Batches::new(Instant::ZERO);
    for (number, (due, took)) in samples.iter().enumerate() {
        let outcome = if number % 7 == 3 { Outcome::Reset } else { Outcome::Ok };
        let sample = Sample { outcome, ..sample(*due, due + took) };
        batches.record(&sample, false);
        batches.record_completed(sample.done, outcome == Outcome::Ok);
    }
    batches
}

/// A thousand requests, one a millisecond, of times that repeat in this order.
fn repeating(times_ms: &[u64]) -> Batches {
    let mut batches = Batches::new(Instant::ZERO);
    for n in 0..1000 {
        batches.record(&sample(n * MS, n * MS + times_ms[n as usize % times_ms.len()] * MS), false);
    }
    batches
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any order and grouping, over spans from microseconds to hours and times over many octaves.
    #[test]
    fn merging_is_counting_together(
        samples in prop::collection::vec((0_u64..1 << 44, 0_u64..1 << 40), 1..300),
        span_bits in 0_u32..30,
        cut in 0_usize..300,
    ) {
        // Times a number of octaves apart, which are not all in one.
        let samples: Vec<(u64, u64)> =
            samples.iter().map(|(due, took)| (due >> span_bits, took >> (due % 24))).collect();
        // Outcomes repeat every seven requests.
        let (left, right) = samples.split_at(cut.min(samples.len()) / 7 * 7);
        let whole = batches(&samples);
        let mut merged = batches(right);
        merged.merge(&batches(left));
        prop_assert_eq!(&merged, &whole);
        let mut merged = batches(left);
        merged.merge(&batches(right));
        prop_assert_eq!(&merged, &whole);
    }
}

#[test]
fn there_are_at_most_256_batches_however_long_the_run() {
    let mut batches = Batches::new(Instant::from_ns(MS));
    for hour in 0..1000 {
        batches.record(&sample(MS + hour * 3_600_000 * MS, MS + hour * 3_600_000 * MS + 5), false);
    }
    assert!((128..=256).contains(&batches.due.len()), "{}", batches.due.len());
    assert_eq!((total(&batches.due), total(&batches.failed)), (1000, 0));
}

/// Times that are all alike have no spread: the interval is the time itself.
#[test]
fn a_constant_time_has_an_interval_of_no_width() {
    let batches = repeating(&[3]);
    let lasted = Duration::from_secs(1);
    let times = batches.times(Timing::Response, MeasuredPart::of(lasted)).expect("enough");
    assert_eq!(times.mean_factors(), Ok([1.0, 1.0]));
    assert_eq!(times.ranks(Quantile::P50), Ok([1, 1000]));
    assert_eq!(times.ranks(Quantile::P99).map_err(|none| none.reason), Err(NoIntervalReason::TooFew));
}

/// Two times in turn make each batch like every other, up to a request at its ends: far less uncertain than
/// independent ones, whose share would be known to 0.5 ± 0.037.
#[test]
fn regular_times_are_less_uncertain_than_independent_ones() {
    let batches = repeating(&[1, 9]);
    let times = batches.times(Timing::Response, MeasuredPart::of(Duration::from_secs(1))).expect("enough");
    let [low, high] = times.ranks(Quantile::P50).expect("enough");
    assert!(low > 490 && high < 510, "{low} {high}");
}

/// Half of the run slow and half fast: one change is worth a handful of requests, and says so.
#[test]
fn a_run_of_one_change_is_too_correlated() {
    let mut batches = Batches::new(Instant::ZERO);
    for n in 0..100_000_u64 {
        let took = if n < 50_000 { 1 + n % 2 } else { 9 + n % 2 };
        batches.record(&sample(n * MS, (n + took) * MS), false);
    }
    let lasted = Duration::from_secs(100);
    let times = batches.times(Timing::Response, MeasuredPart::of(lasted)).expect("enough");
    let none = times.ranks(Quantile::P99).expect_err("no p99");
    assert_eq!(none.reason, NoIntervalReason::TooCorrelated);
    assert!(none.needs_ns.expect("a length") > lasted.as_ns());
    assert_eq!(times.mean_factors().map_err(|none| none.reason), Err(NoIntervalReason::TooCorrelated));
}

/// As many independent requests as have ten beyond the p99 need twice the time for twenty.
#[test]
fn what_is_missing_is_said_in_time() {
    let mut batches = Batches::new(Instant::ZERO);
    let mut state = 1_u64;
    for n in 0..1000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        batches.record(&sample(n * MS, n * MS + MS + (state >> 44)), false);
    }
    let times = batches.times(Timing::Response, MeasuredPart::of(Duration::from_secs(1))).expect("enough");
    let none = times.ranks(Quantile::P99).expect_err("ten are too few");
    assert_eq!(none.reason, NoIntervalReason::TooFew);
    let needs = none.needs_ns.expect("a length");
    assert!((1_900 * MS..3_000 * MS).contains(&needs), "{needs}");
    assert!(times.ranks(Quantile::P90).is_ok());
}

/// No failure of 1,000 independent requests leaves room for 3.7 in a thousand: 1 − 0.025^(1/1000) (Clopper
/// and Pearson 1934). None of no requests is nothing.
#[test]
fn a_share_of_no_failures_has_an_upper_end() {
    let [low, high] = repeating(&[1]).error_share(Duration::from_secs(1)).expect("requests");
    assert_eq!(low, 0.0);
    assert!((high - (1.0 - 0.025_f64.powf(0.001))).abs() < 1e-9, "{high}");
    let none = Batches::new(Instant::ZERO).error_share(Duration::from_secs(1));
    assert_eq!(none.map_err(|none| none.reason), Err(NoIntervalReason::TooFew));
}

/// A tenth of requests fails, in one outage: the interval is far wider than that of independent failures,
/// 8.2 % to 12.0 %.
#[test]
fn one_outage_is_one_failure() {
    let mut batches = Batches::new(Instant::ZERO);
    for n in 0..1000 {
        let outcome = if (400..500).contains(&n) { Outcome::ConnectRefused } else { Outcome::Ok };
        batches.record(&Sample { outcome, ..sample(n * MS, (n + 1) * MS) }, false);
    }
    let [low, high] = batches.error_share(Duration::from_secs(1)).expect("requests");
    assert!(low < 0.03 && high > 0.25, "{low} {high}");
}

/// A request every millisecond, to a few in a thousand. A rate of nothing has no interval.
#[test]
fn a_steady_rate_has_a_narrow_interval() {
    let mut batches = Batches::new(Instant::ZERO);
    (0..10_000).for_each(|n| batches.record_completed(Instant::from_ns(n * MS), true));
    let [low, high] = batches.succeeded_per_s(MeasuredPart::of(Duration::from_secs(10))).expect("replies");
    assert!(low > 990.0 && high < 1010.0 && low <= 1000.0 && high >= 1000.0, "{low} {high}");
    let none = Batches::new(Instant::ZERO).succeeded_per_s(MeasuredPart::of(Duration::from_secs(1)));
    assert_eq!(none.map_err(|none| none.reason), Err(NoIntervalReason::TooFew));
    let short = batches.succeeded_per_s(MeasuredPart::of(Duration::from_ms(1)));
    assert_eq!(short.map_err(|none| none.reason), Err(NoIntervalReason::TooShort));
}

/// Times that are known well enough by themselves are not, where few sessions have come and gone; the share
/// of errors goes by requests.
#[test]
fn a_run_of_few_session_lengths_is_refused() {
    let batches = repeating(&[1, 9]);
    let lasted = Duration::from_secs(1);
    let of_sessions = |ms| MeasuredPart { lasted, session: Some(Duration::from_ms(ms)) };
    assert!(batches.times(Timing::Response, of_sessions(20)).is_ok());
    let none = batches.times(Timing::Response, of_sessions(21)).map(|_| ()).expect_err("too short");
    assert_eq!((none.reason, none.needs_ns), (NoIntervalReason::TooFewSessions, Some(1_100 * MS)));
    assert_eq!(batches.succeeded_per_s(of_sessions(21)), Err(none));
    assert_ne!(batches.succeeded_per_s(of_sessions(20)), Err(none));
    assert!(batches.error_share(lasted).is_ok());
}
