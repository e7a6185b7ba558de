//! Seconds that are set aside, and the requests that go with them.

use super::*;
use crate::fold::Fold;
use crate::fold::scene::{sample, window};

const MS: u64 = 1_000_000;

/// A request every 10 ms for four seconds from 500 ms on, answered in 1 ms; those due in the third second of
/// the measured part, which begins at 1 s, take 200 ms.
fn requests() -> Vec<Sample> {
    let due = (50..450).map(|number| number * 10 * MS);
    due.map(|due| sample(due, due + if (3_000..4_000).contains(&(due / MS)) { 200 } else { 1 } * MS))
        .collect()
}

fn fold(aside: &[u64]) -> Fold {
    let mut fold = Fold::new(window(1_000, 4_500)).setting_aside(Some(Duration::from_ms(2_500)));
    aside
        .iter()
        .for_each(|second| fold.set_aside(*second, Disturbance::Held.bit() | Disturbance::Stolen.bit()));
    requests().iter().for_each(|sample| fold.record(sample));
    fold
}

const END: Instant = Instant::from_ns(4_500 * MS);

#[test]
fn figures_are_those_of_the_seconds_that_are_left() {
    let all = fold(&[]);
    assert_eq!((all.steady().requests(), all.lasted(END)), (350, Duration::from_ms(3_500)));
    let left = fold(&[2]);
    assert_eq!((left.steady().requests(), left.lasted(END)), (250, Duration::from_ms(2_500)));
    let longest = left.steady().times.response.max().expect("answered");
    assert!(longest < Duration::from_ms(2), "{longest:?}");
    // As if the third second had never been.
    let cut: Vec<Sample> = requests()
        .iter()
        .filter(|own| !(3_000..4_000).contains(&(own.due.as_ns() / MS)))
        .map(|own| if own.due.as_ns() < 4_000 * MS { *own } else { earlier(own, SECOND) })
        .collect();
    let mut without = Fold::new(window(1_000, 3_500));
    cut.iter().for_each(|sample| without.record(sample));
    assert_eq!(left.steady().times, without.steady().times);
    assert_eq!(left.steady().batches(), without.steady().batches());
    assert_eq!(left.steady().events, without.steady().events);
    assert_eq!(left.warm_up(), without.warm_up());
    // The run as it went has all.
    assert_eq!(left.residence(), all.residence());
}

#[test]
fn what_is_set_aside_is_counted_and_named() {
    let left = fold(&[2]);
    let summary = left.aside().expect("set aside").summary(left.window(), END, left.steady().requests());
    assert_eq!((summary.requests, summary.failed, summary.left_ns), (100, 0, 2_500 * MS));
    let second = SecondAside {
        from_ns: 3_000 * MS,
        to_ns: 4_000 * MS,
        disturbances: vec!["held".to_owned(), "stolen".to_owned()],
    };
    assert_eq!(summary.seconds, [second]);
    let words = summary.in_words().expect("set aside");
    for part in
        ["1 s of disturbed time is set aside (held 1, stolen 1)", "100 requests (28.57 %)", "200.000 ms"]
    {
        assert!(words.contains(part), "{words}");
    }
    let none = fold(&[]);
    let summary = none.aside().expect("may be").summary(none.window(), END, 350);
    assert_eq!((summary.in_words(), summary.requests), (None, 0));
}

/// Slowness of the server is not left out with a disturbance that came while it lasted.
#[test]
fn a_request_counts_with_the_second_in_which_it_was_due() {
    let mut fold = Fold::new(window(0, 4_000)).setting_aside(Some(Duration::from_secs(3)));
    fold.set_aside(1, Disturbance::Stopped.bit());
    fold.record(&sample(900 * MS, 2_900 * MS));
    fold.record(&sample(1_900 * MS, 2_100 * MS));
    assert_eq!(fold.steady().requests(), 1);
    assert!(fold.steady().times.response.max().expect("one") >= Duration::from_secs(2));
    assert_eq!(fold.steady().events.succeeded, 1);
}

/// A last second that is shorter is set aside as far as it goes.
#[test]
fn the_part_that_lasted_is_what_is_left() {
    let mut fold = Fold::new(window(1_000, 4_500)).setting_aside(Some(Duration::from_ms(3_500)));
    fold.set_aside(1, Disturbance::Stolen.bit());
    fold.set_aside(3, Disturbance::Stolen.bit());
    assert_eq!(fold.lasted(END), Duration::from_secs(2));
    assert_eq!(fold.lasted(Instant::from_ns(2_500 * MS)), Duration::from_secs(1));
    let summary = fold.aside().expect("set aside").summary(fold.window(), END, 0);
    assert_eq!(summary.seconds.last().map(|second| second.to_ns), Some(4_500 * MS));
    assert_eq!(summary.spans(), [(2.0, 3.0), (4.0, 4.5)]);
    let words = summary.in_words().expect("set aside");
    assert!(words.starts_with("1.5 s of disturbed time are set aside (stolen 2)"), "{words}");
    assert!(words.contains("2.0 s of the 3.5 s that were asked for are left"), "{words}");
    // Before it was extended, the last second was no part of it.
    let mut short = Fold::new(window(1_000, 2_000)).setting_aside(Some(SECOND));
    short.set_aside(0, 1);
    short.extend_to(Instant::from_ns(3_000 * MS));
    assert_eq!(short.lasted(END), SECOND);
    // Charts shade what is beside each other as one.
    short.set_aside(1, 1);
    let summary = short.aside().expect("set aside").summary(short.window(), END, 0);
    assert_eq!(summary.spans(), [(1.0, 3.0)]);
}
