//! Changes of the share of failures in series whose change is known, and in series without one.

use super::*;
use crate::fold::scene::{fold, sample, window};
use farfield_base::Sample;

const MS: u64 = 1_000_000;

/// A run of 10 s with `a_second` requests a second of 5 ms each; `fails` gives the outcome of the n-th, by
/// its number and its end in milliseconds.
fn run(a_second: u64, fails: impl Fn(u64, u64) -> Option<Outcome>) -> Fold {
    let samples: Vec<Sample> = (0..10 * a_second)
        .map(|n| {
            let due = n * 1_000 / a_second;
            let outcome = fails(n, due + 5).unwrap_or(Outcome::Ok);
            Sample { outcome, ..sample(due * MS, (due + 5) * MS) }
        })
        .collect();
    fold(window(1_000, 10_000), &samples)
}

fn warned(a_second: u64, fails: impl Fn(u64, u64) -> Option<Outcome>) -> Option<String> {
    warning(&run(a_second, fails), Instant::from_ns(10_000 * MS), false)
}

/// A number from 0 to 1 that looks random, by splitmix64 (Steele, Lea and Flood 2014).
fn random(seed: u64) -> f64 {
    let mut z = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

#[track_caller]
fn of(warning: &Option<String>) -> &str {
    warning.as_deref().expect("a warning")
}

#[test]
fn an_outage_is_reported_with_its_tenths_and_its_outcome() {
    let between =
        |from: u64, to: u64, outcome| move |_: u64, ms: u64| (from..to).contains(&ms).then_some(outcome);
    for (from, to, words) in [
        (3_200, u64::MAX, "every request failed from second 3.2 on (reset)"),
        (0, 1_700, "every request failed until second 1.7 (reset)"),
        (4_300, 5_100, "every request failed between second 4.3 and 5.1 (reset)"),
    ] {
        for a_second in [50, 2_000] {
            let warning = warned(a_second, between(from, to, Outcome::Reset));
            assert!(of(&warning).starts_with(words), "{warning:?}, {a_second}/s");
        }
    }
    // Too short, outside the measured part, and as long as a run that never succeeded.
    for (from, to) in [(4_300, 4_500), (0, 1_000), (0, u64::MAX)] {
        assert_eq!(warned(100, between(from, to, Outcome::Status5xx)), None, "{from} to {to}");
    }
}

#[test]
fn more_outages_and_outcomes_than_one() {
    let warning = warned(100, |n, ms| {
        let fails = (2_000..3_000).contains(&ms) || (5_000..5_500).contains(&ms) || ms >= 9_600;
        fails.then_some(if n % 4 == 0 { Outcome::ConnectRefused } else { Outcome::Truncated })
    });
    let words = "every request failed between second 2.0 and 3.0 (mostly truncated); 2 more such stretches make it 1.9 s in \
                 all";
    assert!(of(&warning).starts_with(words), "{warning:?}");
}

#[test]
fn what_a_check_judges_is_not_warned_of() {
    let fold = run(100, |_, ms| (ms >= 3_200).then_some(Outcome::Reset));
    assert_eq!(warning(&fold, Instant::from_ns(10_000 * MS), true), None);
    // An earlier one is.
    let fold = run(100, |_, ms| (ms >= 8_000 || (3_000..4_000).contains(&ms)).then_some(Outcome::Reset));
    let warning = warning(&fold, Instant::from_ns(10_000 * MS), true);
    assert!(of(&warning).starts_with("every request failed between second 3.0 and 4.0 (reset): "));
}

#[test]
fn a_share_that_changes_is_reported_with_both_and_its_tenth() {
    let warning = warned(1_000, |n, ms| {
        let share = if ms < 3_200 { 0.001 } else { 0.4 };
        (random(n) < share).then_some(Outcome::ConnectRefused)
    });
    let text = of(&warning);
    let begins = text.strip_prefix("errors rose from 0.").and_then(|rest| rest.split_once(" % to "));
    let (_, rest) = begins.unwrap_or_else(|| panic!("{text}"));
    let (share, rest) = rest.split_once(" % at second ").unwrap_or_else(|| panic!("{text}"));
    assert!((37..=43).contains(&share.parse::<u32>().expect("a share")), "{text}");
    assert!(rest.starts_with("3.2 (connect-refused): "), "{text}");

    let warning = warned(200, |n, ms| (ms < 6_000 && random(n) < 0.5).then_some(Outcome::Status5xx));
    let text = of(&warning);
    assert!(
        text.starts_with("errors fell from ") && text.contains(" to 0 % at second 6.0 (status-5xx)"),
        "{text}"
    );
}

#[test]
fn a_share_that_changes_for_a_while() {
    let warning = warned(500, |n, ms| {
        let share = if (4_000..6_500).contains(&ms) { 0.3 } else { 0.02 };
        (random(n) < share).then_some(Outcome::TimedOut)
    });
    let text = of(&warning);
    assert!(text.starts_with("errors were ") && text.contains(" otherwise (timed-out): "), "{text}");
    let seconds = text.split_once("between second ").and_then(|(_, rest)| rest.split_once(" and "));
    let (from, rest) = seconds.unwrap_or_else(|| panic!("{text}"));
    let (to, _) = rest.split_once(' ').expect("more words");
    let tenths = |text: &str| (text.parse::<f64>().expect("a second") * 10.0).round() as i64;
    assert!((tenths(from) - 40).abs() <= 1 && (tenths(to) - 65).abs() <= 1, "{text}");
}

/// Errors throughout, at any share and rate, alone or in bursts, are no change: none of 300 runs warns.
#[test]
fn errors_throughout_are_no_change() {
    for (share, a_second) in [(0.001, 500), (0.02, 100), (0.6, 20), (0.6, 500), (0.99, 500), (0.4, 3)] {
        for seed in 0..25 {
            let failing = |n: u64| random(seed * 1_000_003 + n) < share;
            let alone = warned(a_second, |n, _| failing(n).then_some(Outcome::Reset));
            // Ten in a row fail together or not, as on one connection.
            let in_bursts = warned(a_second, |n, _| failing(n / 10).then_some(Outcome::Reset));
            let is_change = |warning: &String| warning.starts_with("errors ");
            assert_eq!(alone, None, "{share} of {a_second}/s, seed {seed}");
            assert_eq!(in_bursts.filter(is_change), None, "{share} of {a_second}/s, seed {seed}");
        }
    }
}

/// A server that answers one request each 400 ms and refuses all others succeeds at intervals.
#[test]
fn successes_at_intervals_are_no_outages() {
    let samples: Vec<Sample> = (0..5_000)
        .map(|n| {
            let due = n * 2;
            match n % 200 {
                0 => sample(due * MS, (due + 400) * MS),
                _ => Sample { outcome: Outcome::Status5xx, ..sample(due * MS, (due + 1) * MS) },
            }
        })
        .collect();
    let fold = fold(window(1_000, 10_000), &samples);
    assert_eq!(warning(&fold, Instant::from_ns(10_000 * MS), false), None);
}

/// In cells of more than a tenth, and among more of them than are tried at first.
#[test]
fn hours_are_searched_too() {
    let samples: Vec<Sample> = (0..4 * 3_600)
        .map(|n| {
            let fails = n >= 7_000 && random(n) < 0.3;
            let outcome = if fails { Outcome::Truncated } else { Outcome::Ok };
            Sample { outcome, ..sample(n * 1_000 * MS, (n * 1_000 + 5) * MS) }
        })
        .collect();
    let until = 4 * 3_600_000;
    let fold = fold(window(0, until), &samples);
    let warning = warning(&fold, Instant::from_ns(until * MS), false);
    let text = of(&warning);
    let at = text.split_once(" at second ").and_then(|(_, rest)| rest.split_once(' '));
    let second: f64 = at.expect("the second").0.parse().expect("a number");
    assert!(text.starts_with("errors rose from 0 % to ") && (6_999.0..7_020.0).contains(&second), "{text}");
}

#[test]
fn shares_have_digits_that_count() {
    let words = [0.0, 0.000_12, 0.001, 0.015, 0.4, 1.0].map(percent);
    assert_eq!(words, ["0 %", "0.01 %", "0.10 %", "1.5 %", "40 %", "100 %"]);
}
