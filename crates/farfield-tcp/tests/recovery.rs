//! Loss recovery and congestion control, segment by segment and against theory.

mod scene;

use farfield_base::Duration;
use farfield_tcp::{Algorithm, Config, Event, InitialWindow, LossRecovery};
use rand::RngExt;
use scene::*;

/// Loses the first transmission of the segments at these positions.
fn losing_once(positions: &'static [i64]) -> impl FnMut(&Sent) -> bool {
    move |sent| sent.from == A && sent.len > 0 && sent.time == 1 && positions.contains(&sent.seq)
}

fn patient(config: Config) -> Config {
    let mut config = config;
    config.rto.min = Duration::from_secs(1);
    config
}

/// A sends `len` bytes to B, and all arrives.
fn transfer(config: Config, len: usize, lost: &'static [i64]) -> Pair {
    let pair = twice(|| {
        let mut pair = Pair::new(config.clone(), config.clone()).connected().losing(losing_once(lost));
        pair.write(A, &body(len));
        pair.run_for(Duration::from_secs(20));
        pair
    });
    assert_eq!(pair.b.received, body(len));
    pair
}

#[test]
fn the_initial_window_and_slow_start() {
    let config = plain().with(|config| config.initial_window = InitialWindow::Segments(2));
    let pair = transfer(config, 30_000, &[]);
    let rounds: Vec<_> = [200, 300, 400, 500].iter().map(|at| pair.data_at(A, *at).len()).collect();
    assert_eq!(rounds, [2, 4, 8, 16]);
}

#[test]
fn fast_retransmit_after_limited_transmit() {
    let pair = transfer(patient(plain()), 20_000, &[2001]);
    // Two ACKs open the window by two segments each; limited transmit sends one for each of two duplicates;
    // the third sends the lost one again
    assert_eq!(pair.data_at(A, 300), [10001, 11001, 12001, 13001, 14001, 15001, 2001]);
    let counters = pair.a.tcp.counters();
    assert_eq!((counters.retransmits, counters.recoveries, counters.timeouts), (1, 1, 0));
    // FlightSize 14,000 less 2,000 of limited transmit, halved
    assert_eq!(pair.a.tcp.window().ssthresh, 6000);
}

#[test]
fn limited_transmit_saves_a_small_window_from_the_timeout() {
    for (limited_transmit, timeouts) in [(true, 0), (false, 1)] {
        let initial_window = InitialWindow::Segments(3);
        let pair = transfer(
            patient(plain().with(|config| {
                (config.limited_transmit, config.initial_window) = (limited_transmit, initial_window)
            })),
            8_000,
            &[1],
        );
        assert_eq!(pair.a.tcp.counters().timeouts, timeouts, "limited transmit {limited_transmit}");
    }
}

const FOUR: &[i64] = &[2001, 4001, 6001, 8001];

#[test]
fn newreno_fills_one_hole_a_round_trip() {
    let pair = transfer(patient(plain()), 20_000, FOUR);
    assert_eq!(pair.times_ms(A, |sent| sent.time == 2), [300, 400, 500, 600]);
    let counters = pair.a.tcp.counters();
    assert_eq!((counters.retransmits, counters.recoveries, counters.timeouts), (4, 1, 0));
}

#[test]
fn sack_fills_all_holes_in_one_round_trip() {
    let pair = transfer(patient(with_sack()), 20_000, FOUR);
    assert_eq!(pair.times_ms(A, |sent| sent.time == 2 && FOUR.contains(&sent.seq)), [300, 400, 400, 400]);
    let counters = pair.a.tcp.counters();
    assert_eq!((counters.retransmits, counters.recoveries, counters.timeouts), (4, 1, 0));
}

#[test]
fn sack_blocks_tell_the_latest_first() {
    let pair = transfer(patient(with_sack()), 20_000, &[2001, 4001]);
    let sacked = |sent: &Sent| -> Vec<(u32, u32)> {
        let blocks = sent.segment.options.sack.as_slice().iter();
        blocks.map(|(left, right)| (left.0 - ISN_A, right.0 - ISN_A)).collect()
    };
    let blocks: Vec<_> = pair.sent(B).map(sacked).filter(|blocks| !blocks.is_empty()).take(3).collect();
    assert_eq!(blocks[0], [(3001, 4001)]);
    assert_eq!(blocks[1], [(5001, 6001), (3001, 4001)]);
    assert_eq!(blocks[2], [(5001, 7001), (3001, 4001)]);
}

#[test]
fn reno_leaves_recovery_with_the_first_new_ack() {
    let reno = patient(plain().with(|config| config.recovery = LossRecovery::Reno));
    let time = |config| transfer(config, 20_000, FOUR).a.tcp.counters().timeouts;
    assert!(time(reno) > 0, "four losses in a window are too many for Reno (Fall and Floyd 1996)");
}

#[test]
fn a_lost_tail_waits_for_the_timeout_and_nothing_else_is_sent_again() {
    for config in [patient(plain()), patient(with_sack())] {
        let pair = transfer(config, 10_000, &[9001]);
        assert_eq!(pair.a.tcp.counters().timeouts, 1);
        assert_eq!(pair.a.tcp.counters().retransmits, 1);
        assert_eq!(pair.times_ms(A, |sent| sent.time == 2), [1300]);
    }
}

#[test]
fn a_tail_that_was_overtaken_is_rescued() {
    // RFC 6675 §4, NextSeg rule 4: the ACK of the retransmission of 2001 shows that 9001 was lost before it
    let pair = transfer(patient(with_sack()), 10_000, &[2001, 9001]);
    assert_eq!(pair.times_ms(A, |sent| sent.time == 2), [300, 400]);
    let counters = pair.a.tcp.counters();
    assert_eq!((counters.retransmits, counters.recoveries, counters.timeouts), (2, 1, 0));
}

#[test]
fn a_timeout_with_sack_sends_only_what_is_missing() {
    let mut pair = Pair::new(patient(with_sack()), patient(with_sack())).connected().losing(|sent| {
        sent.from == A && (sent.seq == 1 && sent.time <= 2 || sent.seq == 5001 && sent.time == 1)
    });
    pair.write(A, &body(10_000));
    pair.run_for(Duration::from_secs(20));
    assert_eq!(pair.b.received, body(10_000));
    let resent: Vec<_> = pair.sent(A).filter(|sent| sent.time > 1).map(|sent| sent.seq).collect();
    assert_eq!(resent, [1, 5001, 1]);
}

#[test]
fn reordering_by_less_than_three_is_no_loss() {
    let mut pair = Pair::new(plain(), plain()).connected();
    pair = pair.fate(|sent| if sent.seq == 3001 { Fate::Late(ms(1)) } else { Fate::Pass });
    pair.write(A, &body(6_000));
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.b.received, body(6_000));
    assert_eq!(pair.a.tcp.counters().retransmits, 0);
}

/// Loses a share of all segments, delays and repeats others, both ways.
fn rough(seed: u64) -> impl FnMut(&Sent) -> Fate {
    let mut luck = luck(seed);
    move |_| match luck.random_range(0..100) {
        0..5 => Fate::Drop,
        5..10 => Fate::Late(ms(30)),
        10..13 => Fate::Twice(ms(70)),
        _ => Fate::Pass,
    }
}

#[test]
fn bulk_arrives_exactly_over_a_rough_path() {
    let mut profiles = vec![plain(), with_sack(), Config::linux(), Config::windows(), Config::bsd()];
    profiles.push(plain().with(|config| config.recovery = LossRecovery::Reno));
    profiles.push(with_sack().with(|config| config.reassembly_max = 3_000));
    for (profile, config) in profiles.into_iter().enumerate() {
        for seed in 0..4 {
            let pair = twice(|| {
                let mut pair = Pair::new(config.clone(), config.clone()).fate(rough(seed));
                pair.run_for(Duration::from_secs(40));
                pair.write(A, &body(150_000));
                pair.write(B, &body(40_000));
                pair.close(A);
                pair.close(B);
                pair.run_for(Duration::from_secs(1200));
                pair
            });
            assert!(
                pair.b.received == body(150_000),
                "profile {profile} seed {seed}: {}",
                pair.b.received.len()
            );
            assert!(
                pair.a.received == body(40_000),
                "profile {profile} seed {seed}: {}",
                pair.a.received.len()
            );
            assert!(pair.a.saw(Event::Closed) && pair.b.saw(Event::Closed), "profile {profile} seed {seed}");
        }
    }
}

/// Segments a second under the loss of every `period`-th, after the first losses have ended slow start.
fn goodput(config: Config, period: usize) -> f64 {
    let mut count = 0;
    let mut pair = Pair::new(config.clone(), config).connected().losing(move |sent| {
        count += usize::from(sent.len > 0);
        sent.len > 0 && count % period == 0
    });
    pair.write(A, &body(30_000_000));
    pair.run_for(Duration::from_secs(15));
    let (before, span) = (pair.b.received.len(), 45);
    pair.run_for(Duration::from_secs(span));
    (pair.b.received.len() - before) as f64 / 1000.0 / span as f64
}

#[test]
fn throughput_under_periodic_loss_is_that_of_mathis() {
    // At windows of a dozen segments the round trip of recovery itself is felt; the formula is for rarer
    // losses.
    for period in [250, 500] {
        // Mathis, Semke, Mahdavi and Ott 1997, equation 3: BW = MSS/RTT * sqrt(3/2) / sqrt(p), each segment
        // ACKed
        let expected = (1.5 * period as f64).sqrt() / 0.1;
        for config in [plain(), with_sack()] {
            let seen = goodput(patient(config), period);
            assert!((seen / expected - 1.0).abs() < 0.15, "1 in {period}: {seen} against {expected}");
        }
    }
}

#[test]
fn cubic_is_faster_than_reno_on_a_long_path() {
    let cubic = goodput(patient(with_sack().with(|config| config.congestion = Algorithm::Cubic)), 400);
    let reno = goodput(patient(with_sack()), 400);
    // RFC 9438 §5.1: CUBIC is Reno-friendly where windows are small, and takes no less than Reno there
    assert!(cubic > 0.95 * reno, "{cubic} against {reno}");
}

#[test]
fn memory_is_returned_after_loss() {
    let pair = transfer(patient(with_sack()), 100_000, FOUR);
    assert_eq!(pair.a.tcp.unacknowledged(), 0);
}
