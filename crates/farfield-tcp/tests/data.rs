//! Data and its timers: delivery, delayed ACKs, Nagle, windows, retransmission timeouts, PAWS.

mod scene;

use farfield_base::Duration;
use farfield_tcp::delayed_ack::DelayedAckPolicy;
use farfield_tcp::{Algorithm, Config, Event, Flags, ReceiveBuffer};
use scene::*;

fn delayed(delay: Duration, heartbeat: bool, quick_segments: u8) -> Config {
    plain().with(|config| config.delayed_ack = DelayedAckPolicy { delay, heartbeat, quick_segments })
}

#[test]
fn sequence_numbers_wrap() {
    let pair = twice(|| {
        let mut pair = Pair::from_numbers(plain(), plain(), u32::MAX - 5_000, u32::MAX).connected();
        pair.write(A, &body(100_000));
        pair.write(B, &body(7));
        pair.run_for(Duration::from_secs(3));
        pair
    });
    assert_eq!((pair.b.received, pair.a.received), (body(100_000), body(7)));
}

#[test]
fn timeouts_double_exactly() {
    let pair = twice(|| {
        let mut pair = Pair::new(plain(), plain()).connected();
        pair = pair.losing(|sent| sent.from == A);
        pair.write(A, b"request");
        pair.run_for(Duration::from_secs(30));
        pair
    });
    // SRTT 100 ms, RTTVAR 50 ms: RTO = 100 + max (200, 4 * 50) = 300 ms, from 200 ms on
    let sent = pair.times_ms(A, |sent| sent.len > 0);
    let expected: Vec<_> = (0..7).map(|doubling| 200 + 300 * ((1 << doubling) - 1)).collect();
    assert_eq!(sent, expected);
    assert_eq!(pair.a.tcp.counters().timeouts, 6);
}

#[test]
fn a_lost_syn_makes_the_first_timeout_three_seconds() {
    let mut config = plain();
    config.timestamps = false;
    let syn_or_data = |sent: &Sent| sent.from == A && sent.time == 1 && sent.segment.sequence_len() > 0;
    let mut pair = Pair::new(config.clone(), config).losing(syn_or_data);
    pair.run_for(Duration::from_secs(2));
    pair.write(A, b"request");
    pair.run_for(Duration::from_secs(5));
    assert_eq!(pair.times_ms(A, |sent| sent.len > 0), [2000, 5000]);
}

#[test]
fn a_lone_segment_is_acknowledged_after_the_delay() {
    for (delay, heartbeat, expected) in [(40, false, 250 + 40), (200, true, 400), (0, false, 250)] {
        let mut pair = Pair::new(plain(), delayed(ms(delay), heartbeat, 0)).connected();
        pair.write(A, b"request");
        pair.run_for(ms(400));
        let acks = pair.times_ms(B, |sent| sent.ack == 8);
        assert_eq!(acks, [expected], "delay {delay} heartbeat {heartbeat}");
    }
}

#[test]
fn every_second_full_segment_is_acknowledged_at_once() {
    let mut pair = Pair::new(plain(), delayed(ms(40), false, 0)).connected();
    pair.write(A, &body(5000));
    pair.run_for(ms(300));
    let acks: Vec<_> = pair.sent(B).skip(1).map(|sent| (sent.at.as_ns() / 1_000_000, sent.ack)).collect();
    assert_eq!(acks, [(250, 2001), (250, 4001), (290, 5001)]);
}

#[test]
fn the_first_segments_are_acknowledged_quickly() {
    let mut pair = Pair::new(plain(), delayed(ms(40), false, 3)).connected();
    pair.write(A, &body(5000));
    pair.run_for(ms(300));
    let acks: Vec<_> = pair.sent(B).skip(1).map(|sent| sent.ack).collect();
    assert_eq!(acks, [1001, 2001, 3001, 5001]);
}

#[test]
fn merged_segments_count_as_several() {
    // Two full segments in one are acknowledged at once, and so are 60 KB; one waits
    for (len, at_once) in [(1000, false), (1001, true), (2000, true), (60_000, true)] {
        let mut pair = Pair::new(delayed(ms(40), false, 0), plain()).connected();
        let before = pair.sent(A).count();
        pair.inject(A, pair.forged(B, Flags::ACK, 1, 1), &body(len));
        assert_eq!(pair.sent(A).count() - before, usize::from(at_once), "{len}");
    }
    // Of three that are acknowledged quickly, one that is two leaves one
    let mut pair = Pair::new(delayed(ms(40), false, 3), plain()).connected();
    for (seq, len, acks) in [(1, 2000, 1), (2001, 1000, 1), (3001, 1000, 0), (4001, 1000, 1)] {
        let before = pair.sent(A).count();
        pair.inject(A, pair.forged(B, Flags::ACK, seq, 1), &body(len));
        assert_eq!(pair.sent(A).count() - before, acks, "{seq}");
    }
}

#[test]
fn an_answer_carries_the_acknowledgment() {
    let mut pair = Pair::new(plain(), delayed(ms(40), false, 0)).connected();
    pair.write(A, b"request");
    pair.run_for(ms(60));
    pair.write(B, b"reply");
    pair.run_for(ms(200));
    let from_b: Vec<_> = pair.sent(B).skip(1).map(|sent| (sent.len, sent.ack)).collect();
    assert_eq!(from_b, [(5, 8)]);
}

#[test]
fn nagle_holds_a_small_segment_while_one_is_out() {
    for (nagle, expected) in [(true, vec![200, 300]), (false, vec![200, 200, 200])] {
        let mut pair = Pair::new(plain().with(|config| config.nagle = nagle), plain()).connected();
        [b"a", b"b", b"c"].into_iter().for_each(|piece| pair.write(A, piece));
        pair.run_for(ms(500));
        assert_eq!(pair.times_ms(A, |sent| sent.len > 0), expected);
        assert_eq!(pair.b.received, b"abc");
    }
}

#[test]
fn a_closed_window_is_probed_ever_more_rarely_and_opens() {
    let mut pair =
        Pair::new(plain(), plain().with(|config| config.receive_buffer = ReceiveBuffer::Fixed(4000)))
            .connected();
    pair.set_unread(B, 4000);
    pair.write(A, &body(10_000));
    pair.run_for(Duration::from_secs(5));
    assert_eq!(pair.b.received.len(), 4000, "the window that was offered, and no more");
    // The last ACK comes at 300 ms and closes the window. SRTT 100, RTTVAR 37.5 or less: RTO = 300 ms; then
    // doubled.
    let probes = pair.times_ms(A, |sent| sent.seq == 4001);
    assert_eq!(probes, [600, 1200, 2400, 4800]);
    pair.set_unread(B, 0);
    pair.run_for(ms(500));
    assert_eq!(pair.b.received, body(10_000));
    assert_eq!(pair.a.tcp.counters().timeouts, 0);
}

#[test]
fn a_silly_window_is_not_offered() {
    let mut pair =
        Pair::new(plain(), plain().with(|config| config.receive_buffer = ReceiveBuffer::Fixed(4000)))
            .connected();
    pair.set_unread(B, 4000);
    pair.write(A, &body(10_000));
    pair.run_for(ms(200));
    let before = pair.sent(B).count();
    pair.set_unread(B, 3500);
    assert_eq!(pair.sent(B).count(), before, "500 bytes are less than half the buffer");
    pair.set_unread(B, 2000);
    assert_eq!(pair.sent(B).count(), before + 1);
}

#[test]
fn an_old_stamp_is_dropped_and_acknowledged() {
    let config = plain().with(|config| config.timestamps = true);
    let mut pair = Pair::new(config.clone(), config).connected();
    let refused = pair.a.tcp.counters().refused;
    pair.inject(A, stamped(pair.forged(B, Flags::ACK, 1, 1), 6_000), b"old");
    assert!(pair.a.received.is_empty());
    assert_eq!(pair.a.tcp.counters().refused, refused + 1);
    assert_eq!(pair.sent(A).next_back().unwrap().segment.flags, Flags::ACK);
    pair.inject(A, pair.forged(B, Flags::ACK, 1, 1), b"none");
    assert!(pair.a.received.is_empty(), "without the option that was agreed upon");
    pair.inject(A, stamped(pair.forged(B, Flags::ACK, 1, 1), 7_400), b"new");
    assert_eq!(pair.a.received, b"new");
}

#[test]
fn a_retransmission_is_timed_by_its_stamp_alone() {
    let timing = |timestamps| {
        let mut config = plain().with(|config| config.timestamps = timestamps);
        (config.rto.min, config.rto.granularity) = (ms(1), ms(1));
        let mut pair = Pair::new(config.clone(), config).connected();
        pair = pair.losing(|sent| sent.from == A && sent.len > 0 && sent.time == 1);
        pair.write(A, b"request");
        pair.run_for(Duration::from_secs(2));
        pair.a.tcp.rto()
    };
    // The SYN gave 100 + 4 * 50 ms; a second sample of 100 ms makes RTTVAR 37.5 ms
    assert_eq!(timing(true), ms(250));
    // Without a stamp there is no sample, and without a sample no end of backing off (Karn's algorithm)
    assert_eq!(timing(false), ms(600));
}

#[test]
fn what_lies_outside_the_window_is_not_taken() {
    let mut pair =
        Pair::new(plain().with(|config| config.receive_buffer = ReceiveBuffer::Fixed(1000)), plain())
            .connected();
    pair.inject(A, pair.forged(B, Flags::ACK, 1 + 1000, 1), b"beyond");
    pair.inject(A, pair.forged(B, Flags::ACK, 1 - 6, 1), b"before");
    assert_eq!(pair.a.tcp.counters().refused, 2);
    let long = [7u8; 1500];
    pair.inject(A, pair.forged(B, Flags::ACK, 1, 1), &long);
    assert_eq!(pair.a.received.len(), 1000, "what exceeds the window is cut");
}

#[test]
fn where_two_segments_disagree_the_first_wins() {
    let mut pair = Pair::new(plain(), plain()).connected();
    for (seq, bytes) in [(5, "EFGH"), (3, "cdef"), (9, "ij"), (1, "abXXXXXXXXk")] {
        pair.inject(A, pair.forged(B, Flags::ACK, seq, 1), bytes.as_bytes());
    }
    assert_eq!(pair.a.received, b"abcdEFGHijk");
    assert_eq!(pair.a.tcp.counters().out_of_order, 3);
}

#[test]
fn a_fin_waits_for_what_is_missing() {
    let mut pair = Pair::new(plain(), plain()).connected();
    pair.inject(A, pair.forged(B, Flags::FIN_ACK, 4, 1), b"def");
    assert!(!pair.a.saw(Event::PeerFinished));
    pair.inject(A, pair.forged(B, Flags::ACK, 7, 1), b"after the end");
    pair.inject(A, pair.forged(B, Flags::ACK, 1, 1), b"abc");
    assert_eq!(pair.a.received, b"abcdef");
    assert!(pair.a.saw(Event::PeerFinished));
}

#[test]
fn a_smaller_path_takes_smaller_segments() {
    let mut pair = Pair::new(plain(), plain()).connected().losing(|sent| sent.len > 600);
    pair.write(A, &body(5000));
    pair.a.tcp.reduce_mss(600);
    pair.run_for(ms(150));
    assert_eq!(pair.b.received, body(5000));
    assert_eq!(pair.a.tcp.counters().timeouts, 0);
}

#[path = "../examples/transfer.rs"]
#[allow(dead_code, reason = "its main is not run")]
mod transfer;

#[test]
fn the_example_prints_what_the_readme_shows() {
    let output = transfer::report("CUBIC", Algorithm::Cubic);
    assert!(include_str!("../README.md").contains(&output), "README.md is to show:\n{output}");
}
