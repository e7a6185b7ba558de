//! Samples fall where they belong, and folds merge to what one fold has.

use super::scene::{fold, sample, window};
use super::*;
use crate::set_aside::Disturbance;
use crate::threshold::Threshold;
use farfield_base::{Duration, EventStats, Merge, Outcome, Stamp};
use proptest::prelude::*;

const MS: u64 = 1_000_000;

#[test]
fn a_sample_belongs_where_it_was_due_and_its_events_where_they_happened() {
    // Due in the warm-up and done in the window; due in the window and done after it; due after it.
    let fold =
        fold(window(10, 20), &[sample(9 * MS, 11 * MS), sample(19 * MS, 25 * MS), sample(20 * MS, 21 * MS)]);
    assert_eq!((fold.warm_up().requests(), fold.steady().requests(), fold.drained()), (1, 1, 1));
    assert_eq!(fold.warm_up().times.response.max(), Some(Duration::from_ms(2)));
    assert_eq!(fold.steady().times.response.max(), Some(Duration::from_ms(6)));
    let steady = fold.steady().events;
    assert_eq!((steady.offered, steady.sent, steady.completed, steady.succeeded), (1, 1, 1, 1));
    let warm_up = fold.warm_up().events;
    assert_eq!((warm_up.offered, warm_up.sent, warm_up.completed, warm_up.succeeded), (1, 1, 0, 0));
    assert_eq!(steady.body_bytes, 100);
}

#[test]
fn times_are_of_the_successful_but_every_connection_counts() {
    let failed = Sample { outcome: Outcome::Truncated, ..sample(0, 10 * MS) };
    let fold = fold(window(0, 100), &[sample(0, 20 * MS), failed]);
    let times = &fold.steady().times;
    assert_eq!(times.response.count(), 1);
    assert_eq!(times.response.max(), Some(Duration::from_ms(20)));
    assert_eq!(times.service.max(), Some(Duration::from_ms(18)));
    assert_eq!(times.reply.max(), Some(Duration::from_ms(8)));
    assert_eq!(times.transfer.max(), Some(Duration::from_ms(10)));
    assert_eq!(times.connect.count(), 2);
    assert_eq!(fold.steady().count(Outcome::Truncated), 1);
}

#[test]
fn unfinished_requests_are_errors_unless_they_are_ignored() {
    let ended = |outcome| Sample { outcome, ..sample(0, MS) };
    let of = |outcomes: &[Outcome], ignored| {
        let mut fold = Fold::new(window(0, 100)).ignoring_unfinished(ignored);
        outcomes.iter().for_each(|&outcome| fold.record(&ended(outcome)));
        (
            fold.steady().error_share(),
            fold.steady().censored.response.count(),
            fold.steady().unfinished.count(),
        )
    };
    let mixed = [Outcome::Ok, Outcome::Reset, Outcome::Ok, Outcome::Ok, Outcome::Unfinished];
    assert_eq!(of(&[Outcome::Unfinished], false), (Some(1.0), 1, 1));
    assert_eq!(of(&mixed, false), (Some(0.4), 1, 1));
    assert_eq!(of(&[Outcome::Unfinished], true), (None, 0, 1));
    assert_eq!(of(&mixed, true), (Some(0.25), 0, 1));
    // A request that the client gave up was not open at the end of the run.
    assert_eq!(of(&[Outcome::Ok, Outcome::TimedOut], true), (Some(0.5), 1, 0));
}

/// An unfinished request has not ended: where a run is broken off in its measured part, no rate counts it as
/// over.
#[test]
fn what_is_open_at_the_end_is_no_end() {
    let open = Sample { outcome: Outcome::Unfinished, ..sample(MS, 50 * MS) };
    let events = fold(window(0, 100), &[sample(0, MS), open]).steady().events;
    assert_eq!((events.offered, events.sent, events.completed, events.ended), (2, 2, 1, 1));
}

#[test]
fn residence_is_clipped_to_the_window() {
    let dropped = sample(12 * MS, 12 * MS);
    let samples = [
        sample(5 * MS, 12 * MS),  // 2 ms inside
        sample(13 * MS, 14 * MS), // 1 ms
        sample(18 * MS, 50 * MS), // 2 ms
        sample(0, 9 * MS),        // none
        dropped,
    ];
    let residence = fold(window(10, 20), &samples).residence();
    assert_eq!(residence, Residence { total_ns: u128::from(5 * MS), requests: 3 });
}

/// A user who leaves a stream before its first event has waited for it in vain: the server that sends none to
/// some of them is not as fast as to the others.
#[test]
fn a_stream_that_is_left_before_its_first_event_counts_with_its_age() {
    let left = |first_ms: Option<u64>| {
        let first = first_ms.map_or(Stamp::NEVER, |ms| Stamp::at(Instant::from_ns(ms * MS)));
        let events = u32::from(first_ms.is_some());
        let events = Some(EventStats { events, first, last: first, left: true });
        Sample { events, ..sample(0, 50 * MS) }
    };
    let fold = fold(window(0, 100), &[left(Some(30)), left(Some(30)), left(Some(30)), left(None)]);
    let steady = fold.steady();
    assert_eq!((steady.times.first_event.count(), steady.censored.first_event.count()), (3, 1));
    assert_eq!((steady.error_share(), steady.censored.response.count()), (Some(0.0), 0));
    let is_broken = |text: &str| {
        let threshold = text.parse::<Threshold>().expect("a threshold");
        threshold.broken(&fold, Instant::from_ns(100 * MS))
    };
    assert!(!is_broken("p50(first-event)<40ms") && is_broken("p90(first-event)<40ms"));
}

fn at(ms: u64) -> Instant {
    Instant::from_ns(ms * MS)
}

/// A stream that was opened in the warm-up, and left at 210 ms.
fn stream(connection: u32, last_ms: u64, longest_gap_ms: u64) -> Sample {
    let (first, last) = (Stamp::at(at(50)), Stamp::at(at(last_ms)));
    Sample {
        connection,
        longest_gap: Duration::from_ms(longest_gap_ms),
        events: Some(EventStats { events: 5, first, last, left: true }),
        ..sample(5 * MS, 210 * MS)
    }
}

/// An event of such a stream.
fn event(connection: u32, at_ms: u64, gap_ms: u64) -> Note {
    event_of(5, connection, (at_ms, gap_ms))
}

/// An event of a stream that was due then.
fn event_of(due_ms: u64, connection: u32, (at_ms, gap_ms): (u64, u64)) -> Note {
    Note::Event(ReplyEvent {
        at: at(at_ms),
        gap: Some(Duration::from_ms(gap_ms)),
        alongside: 0,
        user: 0,
        connection,
        number: 0,
        request: 0,
        class: 0,
        host: HostNumber::TARGET,
        due: at(due_ms),
    })
}

fn spans(of: &[(&str, u64, u64)]) -> Vec<StageSpan> {
    let span = |&(name, from, to): &(&str, u64, u64)| StageSpan {
        name: name.to_owned(),
        course: String::new(),
        from: at(from),
        to: at(to),
    };
    of.iter().map(span).collect()
}

fn stalls_of_stages(fold: &Fold) -> Vec<u64> {
    fold.stages().iter().map(|own| own.part.streams.stalled.count()).collect()
}

/// Streams that were opened in the warm-up and go on for as long as the run: they stall in the part in which
/// nothing comes, between two of their events or to their end, and each once.
#[test]
fn a_stream_from_before_stalls_in_the_part_in_which_nothing_comes() {
    let samples = [
        stream(1, 205, 35), // it pauses twice in the measured part
        stream(2, 120, 90), // it falls silent there, to its end
        stream(3, 205, 40), // it pauses in the warm-up alone
        stream(4, 195, 15), // it has not been silent for as long as it may by the end
    ];
    let notes = [event(1, 140, 30), event(1, 180, 35), event(3, 95, 40), event(3, 150, 20), event(4, 195, 9)];
    let spans = spans(&[("early", 0, 130), ("late", 130, 200)]);
    let empty = || Fold::new(window(100, 200)).counting_stalls(Duration::from_ms(20)).in_stages(&spans);
    // In whatever order samples and events come, and by one worker or two.
    let (mut one, mut other) = (empty(), empty());
    samples.iter().for_each(|sample| one.record(sample));
    notes.iter().for_each(|note| one.note(note));
    notes.iter().for_each(|note| other.note(note));
    samples.iter().for_each(|sample| other.record(sample));
    let (mut first, mut second) = (empty(), empty());
    samples[..2].iter().for_each(|sample| first.record(sample));
    notes[..2].iter().for_each(|note| first.note(note));
    samples[2..].iter().for_each(|sample| second.record(sample));
    notes[2..].iter().for_each(|note| second.note(note));
    first.merge(&second);
    for fold in [one, other, first] {
        let steady = &fold.steady().streams;
        assert_eq!((steady.stalled.count(), steady.longest_gap), (2, Duration::from_ms(90)));
        assert_eq!(
            stalls_of_stages(&fold),
            [0, 2],
            "the second has been silent for as long as it may at 140 ms"
        );
        // All were due in the warm-up.
        assert_eq!(fold.warm_up().streams.stalled.count(), 3);
        let stalls = "stalls==0".parse::<Threshold>().expect("a threshold");
        assert!(stalls.broken(&fold, at(200)));
    }
}

/// A silence is a stall of the part in which it had lasted for as long as it may, wherever the event after it
/// lies, which is of its own part.
#[test]
fn a_silence_is_of_the_part_in_which_it_became_a_stall() {
    let spans = spans(&[("before", 0, 130), ("outage", 130, 150), ("after", 150, 200)]);
    let stalls = "stalls==0".parse::<Threshold>().expect("a threshold");
    for (at_ms, gap_ms, expected, came) in [
        (215, 45, [0, 0, 1_u64], [0, 0, 0_u64]), // from 170 ms on, until the drain
        (110, 50, [0, 0, 0], [1, 0, 0]),         // from 60 ms on: it was one in the warm-up
        (165, 40, [0, 1, 0], [0, 0, 1]),         // from 125 ms on
        (215, 30, [0, 0, 0], [0, 0, 0]),         // from 185 ms on: it was none by the end
    ] {
        let mut fold = Fold::new(window(100, 200)).counting_stalls(Duration::from_ms(20)).in_stages(&spans);
        fold.note(&event(1, at_ms, gap_ms));
        let what = format!("{gap_ms} ms until {at_ms}");
        assert_eq!(stalls_of_stages(&fold), expected, "{what}");
        let events: Vec<u64> = fold.stages().iter().map(|own| own.part.streams.events).collect();
        assert_eq!(events, came, "{what}");
        let all: u64 = expected.iter().sum();
        assert_eq!(fold.steady().streams.stalled.count(), all, "{what}");
        assert_eq!(stalls.broken(&fold, at(200)), all > 0, "{what}");
    }
}

/// Streams that were due in a part are counted by their samples, and only those from before it are known one
/// by one: a part of a run writes these down.
#[test]
fn streams_that_were_due_in_a_part_are_counted_by_their_samples() {
    let spans = spans(&[("early", 100, 130), ("late", 130, 200)]);
    let mut fold = Fold::new(window(100, 200)).counting_stalls(Duration::from_ms(20)).in_stages(&spans);
    for connection in 0..1_000 {
        let Sample { longest_gap, events, .. } = stream(connection, 205, 30);
        fold.record(&Sample { connection, longest_gap, events, ..sample(120 * MS, 210 * MS) });
        fold.note(&event_of(120, connection, (170, 30)));
    }
    let kept = |part: &PhaseStats| serde_json::to_string(&part.streams.stalled).expect("plain data").len();
    assert_eq!(fold.steady().streams.stalled.count(), 1_000);
    assert!(kept(fold.steady()) < 100, "{} bytes", kept(fold.steady()));
    // They are from before the second stage, in which they stalled.
    assert_eq!(stalls_of_stages(&fold), [1_000, 1_000]);
    let of_stages: Vec<bool> = fold.stages().iter().map(|own| kept(own.part) < 100).collect();
    assert_eq!(of_stages, [true, false]);
}

/// A stall of a second that is set aside is in no figure, and one that ends in such a second may be.
#[test]
fn a_stall_is_set_aside_with_the_second_in_which_it_became_one() {
    let fold = Fold::new(window(1_000, 4_500)).counting_stalls(Duration::from_ms(500));
    let mut fold = fold.setting_aside(Some(Duration::from_ms(2_500)));
    fold.set_aside(1, Disturbance::Held.bit());
    fold.note(&event(1, 3_200, 1_000));
    assert_eq!(fold.steady().streams.stalled.count(), 0, "it was one at 2.7 s");
    fold.note(&event(2, 2_900, 1_600));
    assert_eq!(fold.steady().streams.stalled.count(), 1, "it was one at 1.8 s");
}

fn any_sample() -> impl Strategy<Value = Sample> {
    (0..40 * MS, 0..30 * MS, 0..Outcome::ALL.len(), 0_u32..100, 0_u32..5).prop_map(
        |(due, took, outcome, number, connection)| Sample {
            outcome: Outcome::ALL[outcome],
            number,
            connection,
            ..sample(due, due + took)
        },
    )
}

proptest! {
    // Each case makes nine folds of 3 MiB.
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn merging_is_folding_together(
        samples in prop::collection::vec(any_sample(), 0..60),
        (a, b) in (0_usize..60, 0_usize..60),
    ) {
        let window = window(10, 30);
        let (a, b) = (a.min(b).min(samples.len()), a.max(b).min(samples.len()));
        let parts = [&samples[..a], &samples[a..b], &samples[b..]].map(|part| fold(window, part));
        let whole = fold(window, &samples);

        let mut left = parts[0].clone();
        left.merge(&parts[1]);
        left.merge(&parts[2]);
        let mut tail = parts[1].clone();
        tail.merge(&parts[2]);
        let mut right = parts[0].clone();
        right.merge(&tail);

        for merged in [left, right] {
            prop_assert_eq!(merged.warm_up(), whole.warm_up());
            prop_assert_eq!(merged.steady(), whole.steady());
            prop_assert_eq!(merged.drained(), whole.drained());
            prop_assert_eq!(merged.reuse(), whole.reuse());
            prop_assert_eq!(merged.series().rows(&[]), whole.series().rows(&[]));
            prop_assert_eq!(merged.residence(), whole.residence());
        }
    }
}

/// Each class against a fold of its own samples alone, and all of them against the fold of everything.
#[test]
fn classes_are_counted_as_if_each_were_alone() {
    let names = ["dsl", "modem", "idle"].map(str::to_owned);
    let window = window(10, 200);
    let samples: Vec<Sample> = (0..300)
        .map(|n| {
            let class = u16::from(n % 3 == 0);
            let outcome = if n % 7 == 0 { Outcome::Reset } else { Outcome::Ok };
            Sample { class, outcome, ..sample(n * MS, (n + 1 + n % 40) * MS) }
        })
        .collect();
    let mut whole = Fold::of_classes(window, &names);
    samples.iter().for_each(|sample| whole.record(sample));
    for (number, name) in names.iter().enumerate() {
        let own: Vec<Sample> =
            samples.iter().filter(|sample| usize::from(sample.class) == number).copied().collect();
        assert_eq!(whole.class(name), Some(fold(window, &own).steady()), "{name}");
    }
    assert_eq!(whole.steady(), fold(window, &samples).steady());
    assert_eq!(whole.class("fibre"), None);
    let (one, other) = samples.split_at(77);
    let mut merged = Fold::of_classes(window, &names);
    one.iter().for_each(|sample| merged.record(sample));
    let mut second = Fold::of_classes(window, &names);
    other.iter().for_each(|sample| second.record(sample));
    merged.merge(&second);
    assert!(merged.classes().eq(whole.classes()));
}
