//! Clauses of the RFCs that a transfer between two of our own kind never meets: each against a peer made for
//! it.

mod scene;

use farfield_base::{Duration, Instant};
use farfield_tcp::config::{DEFAULT_MSS_IPV4, DEFAULT_MSS_IPV6};
use farfield_tcp::delayed_ack::DelayedAckPolicy;
use farfield_tcp::syn::SynSchedule;
use farfield_tcp::{Config, Event, Failure, Flags, ReceiveBuffer, Segment, SeqNumber, SlowStart, State};
use scene::*;

fn stamps() -> Config {
    plain().with(|config| config.timestamps = true)
}

/// A's segments go nowhere: what B says is forged.
fn alone(config: Config, len: usize) -> Pair {
    let mut pair = Pair::new(config.clone(), config).connected().losing(|sent| sent.from == A);
    pair.write(A, &body(len));
    pair
}

fn sacking(pair: &Pair, ack: i64, blocks: &[(i64, i64)]) -> Segment {
    let mut segment = pair.forged(B, Flags::ACK, 1, ack);
    for (left, right) in blocks {
        segment.options.sack.push(SeqNumber(ISN_A).at(*left), SeqNumber(ISN_A).at(*right));
    }
    segment
}

/// Recovery, RFC 6675.
mod recovery {
    use super::*;

    #[test]
    fn sack_news_on_an_ack_that_moves_on_begins_recovery() {
        // RFC 6675 §2 and §5 step 2: one ACK, the earlier ones lost, acknowledges 1,000 bytes in order and
        // 3,000 beyond a hole
        let mut pair = alone(with_sack(), 10_000);
        pair.run_for(ms(100));
        pair.inject(A, sacking(&pair, 1001, &[(2001, 5001)]), &[]);
        assert_eq!((pair.a.tcp.counters().recoveries, pair.data_at(A, 300)[0]), (1, 1001));
    }

    #[test]
    fn three_acks_that_move_on_and_tell_of_more_are_three_duplicates() {
        // RFC 6675 §5: "regardless of its status as a cumulative acknowledgment", but each such resets
        // DupAcks first
        let mut pair = alone(with_sack(), 10_000);
        pair.run_for(ms(100));
        pair.inject(A, sacking(&pair, 1001, &[(2001, 3001)]), &[]);
        pair.inject(A, sacking(&pair, 1001, &[(4001, 5001), (2001, 3001)]), &[]);
        assert_eq!(pair.a.tcp.counters().recoveries, 0);
        pair.inject(A, sacking(&pair, 1001, &[(6001, 7001), (4001, 5001), (2001, 3001)]), &[]);
        assert_eq!((pair.a.tcp.counters().recoveries, pair.data_at(A, 300).contains(&1001)), (1, true));
    }

    #[test]
    fn a_fast_retransmission_has_a_timeout_of_its_own() {
        // RFC 6675 §6 and RFC 6582 §4: the timer runs since 200 ms, for 300; duplicates at 450 ms; the ACK of
        // what they bring cannot be back before 550
        for config in [plain(), with_sack()] {
            let mut pair = alone(config, 5_000);
            pair.run_for(ms(250));
            // The first of them sets the window, too, and is a duplicate with SACK alone
            for right in [2001, 3001, 4001, 5001] {
                pair.inject(A, sacking(&pair, 1, &[(1001, right)]), &[]);
            }
            assert!(pair.data_at(A, 450).contains(&1));
            pair.run_for(ms(100));
            pair.inject(A, sacking(&pair, 5001, &[]), &[]);
            let counters = pair.a.tcp.counters();
            assert_eq!((counters.timeouts, counters.retransmits), (0, 1), "{counters:?}");
        }
    }

    #[test]
    fn a_lost_fast_retransmission_still_times_out() {
        let mut pair = alone(with_sack(), 5_000);
        pair.run_for(ms(250));
        pair.inject(A, sacking(&pair, 1, &[(1001, 4001)]), &[]);
        pair.run_for(Duration::from_secs(1));
        // Sent at 200, again at 450, and 300 ms after that
        assert_eq!(pair.times_ms(A, |sent| sent.seq == 1 && sent.len > 0)[..3], [200, 450, 750]);
    }

    #[test]
    fn patience_is_not_renewed_by_retransmissions() {
        let config = with_sack().with(|config| config.abandon_after = Some(Duration::from_secs(5)));
        let mut pair = alone(config, 5_000);
        pair.run_for(ms(250));
        pair.inject(A, sacking(&pair, 1, &[(1001, 4001)]), &[]);
        pair.run_for(Duration::from_secs(10));
        let end = (Instant::ZERO + ms(5_200), Event::Failed(Failure::TimedOut));
        assert_eq!(pair.a.events.last(), Some(&end));
    }
}

/// Slow start and what it counts.
#[test]
fn bytes_or_acks_open_the_window() {
    // RFC 3465 §2.2 and RFC 5681 §3.1: every second segment is acknowledged
    let rounds = |slow_start| {
        let delayed_ack =
            DelayedAckPolicy { delay: Duration::from_ms(400), heartbeat: false, quick_segments: 0 };
        let config =
            plain().with(|config| (config.slow_start, config.delayed_ack) = (slow_start, delayed_ack));
        let mut pair = Pair::new(config.clone(), config).connected();
        pair.write(A, &body(200_000));
        pair.run_for(Duration::from_secs(1));
        [200, 300, 400, 500].map(|at| pair.data_at(A, at).len())
    };
    assert_eq!(rounds(SlowStart::PerByte), [10, 20, 40, 80]);
    // Of 15 the last waits for a second: it is outstanding still when 22 may be
    assert_eq!(rounds(SlowStart::PerAck), [10, 15, 21, 33]);
}

#[test]
fn a_silly_window_gets_its_bytes_once() {
    // RFC 9293 §3.8.6.2.1 (4): 300 bytes are less than a segment and than half the window; after the override
    // timeout they are sent, and are sent again only if they are lost
    let config = plain().with(|config| config.window_scaling = false);
    let mut pair = Pair::new(config.clone(), config).connected().losing(|sent| sent.from == A);
    let narrow = Segment { window: 300, ..pair.forged(B, Flags::ACK, 1, 1) };
    pair.inject(A, narrow, &[]);
    pair.write(A, &body(1_000));
    pair.run_for(ms(350));
    let sent: Vec<_> = pair.sent(A).filter(|sent| sent.len > 0).map(|sent| (sent.seq, sent.len)).collect();
    assert_eq!(sent, [(1, 300)]);
    assert_eq!(pair.a.tcp.counters().retransmits, 0);
    // The next of them follow its acknowledgment by another override
    pair.inject(A, Segment { window: 300, ..pair.forged(B, Flags::ACK, 1, 301) }, &[]);
    pair.run_for(ms(350));
    let sent: Vec<_> = pair.sent(A).filter(|sent| sent.len > 0).map(|sent| (sent.seq, sent.len)).collect();
    assert_eq!(sent, [(1, 300), (301, 300)]);
}

/// Timestamps, RFC 7323.
mod timestamps {
    use super::*;

    #[test]
    fn what_is_refused_leaves_no_stamp() {
        // RFC 7323 §5.3: an ACK of the unsent, or one of long ago, is dropped; its stamp of the future would
        // make the peer's own segments old
        for ack in [90_000, -3_000_000] {
            let mut pair = Pair::new(stamps(), stamps()).connected();
            pair.inject(A, stamped(pair.forged(B, Flags::ACK, 1, ack), 1_000_000), b"forged");
            pair.write(B, b"genuine");
            pair.run_for(ms(100));
            assert_eq!(pair.a.received, b"genuine", "ACK of {ack}");
        }
    }

    #[test]
    fn a_probe_of_a_closed_window_leaves_no_stamp() {
        let mut pair =
            Pair::new(stamps().with(|config| config.receive_buffer = ReceiveBuffer::Fixed(1_000)), stamps())
                .connected();
        pair.set_unread(A, 1_000);
        pair.inject(A, stamped(pair.forged(B, Flags::ACK, 1, 1), 7_300), &body(1_000));
        let before = pair.sent(A).next_back().unwrap().segment.options.timestamps.unwrap().echo;
        pair.inject(A, stamped(pair.forged(B, Flags::ACK, 1_001, 1), 9_000), b"p");
        let answer = pair.sent(A).next_back().unwrap().segment;
        assert_eq!((answer.window, before, answer.options.timestamps.unwrap().echo), (0, 7_300, 7_300));
    }

    #[test]
    fn a_reset_carries_them() {
        // §3.2: "and SHOULD be sent in an <RST> segment"
        let mut pair = Pair::new(stamps(), stamps()).connected();
        pair.write(B, b"the latest stamp");
        pair.run_for(ms(100));
        let latest = pair.sent(B).next_back().unwrap().segment.options.timestamps.unwrap().value;
        pair.abort(A);
        let reset = pair.sent(A).next_back().unwrap().segment;
        assert!(reset.flags.rst);
        assert_eq!(reset.options.timestamps.map(|stamps| stamps.echo), Some(latest));
        pair.run_for(ms(100));
        assert!(pair.b.saw(Event::Failed(Failure::Reset)));
    }

    #[test]
    fn without_agreement_a_reset_carries_none() {
        let mut pair = Pair::new(stamps(), plain()).connected();
        pair.abort(A);
        assert_eq!(pair.sent(A).next_back().unwrap().segment.options.timestamps, None);
    }

    #[test]
    fn a_syn_ack_that_was_sent_twice_is_timed_by_its_echo() {
        let lost = |sent: &Sent| sent.segment.flags == Flags::SYN_ACK && sent.time == 1;
        let config = stamps().with(|config| config.syn = SynSchedule::new([Duration::from_secs(9)]).unwrap());
        let mut pair = Pair::new(config, stamps()).losing(lost);
        pair.run_for(Duration::from_secs(2));
        assert_eq!(pair.b.tcp.srtt(), Some(ms(100)));
    }
}

/// SYNs where none are expected.
mod syns {
    use super::*;

    #[test]
    fn a_syn_without_stamps_is_challenged() {
        // RFC 5961 §4.2, where RFC 7323 §3.2 would drop: a peer that has begun anew must be answered, or
        // hangs
        let mut pair = Pair::new(stamps(), stamps()).connected();
        for syn in [
            pair.forged(B, Flags::SYN, 5_000, 0),
            stamped(pair.forged(B, Flags::SYN, 5_000, 0), 1),
            pair.forged(B, Flags::SYN_ACK, 0, 1),
        ] {
            let before = pair.sent(A).count();
            pair.inject(A, syn, &[]);
            assert_eq!(pair.sent(A).count(), before + 1);
            let answer = pair.sent(A).next_back().unwrap();
            assert_eq!((answer.segment.flags, answer.seq, answer.ack), (Flags::ACK, 1, 1));
            assert_eq!(pair.a.tcp.state(), State::Established);
        }
    }

    #[test]
    fn syns_outside_the_window_are_challenged_at_the_same_rate() {
        let mut pair = Pair::new(plain(), plain()).connected();
        let before = pair.sent(A).count();
        for at in 0..30 {
            pair.inject(A, pair.forged(B, Flags::SYN, 100_000_000 + at, 0), &[]);
        }
        assert_eq!(pair.sent(A).count() - before, 10);
    }

    #[test]
    fn a_syn_with_a_reset_gets_no_syn_ack() {
        let mut pair = Pair::new(plain(), plain()).losing(|sent| sent.from == B);
        pair.run_for(ms(60));
        assert_eq!(pair.b.tcp.state(), State::SynReceived);
        let before = pair.sent(B).count();
        pair.inject(B, pair.forged(A, Flags { rst: true, ..Flags::SYN }, 0, 0), &[]);
        assert_eq!(pair.sent(B).count(), before);
    }

    #[test]
    fn text_on_a_syn_ack_is_kept() {
        // RFC 9293 §3.10.7.3: "If there are other controls or text in the segment, then continue processing"
        let mut pair = Pair::new(plain(), plain()).losing(|_| true);
        pair.run_for(ms(1));
        pair.inject(A, pair.forged(B, Flags { fin: true, ..Flags::SYN_ACK }, 0, 1), b"at once");
        assert_eq!(pair.a.received, b"at once");
        assert!(pair.a.saw(Event::Connected) && pair.a.saw(Event::PeerFinished));
        assert_eq!(pair.a.tcp.state(), State::CloseWait);
        let answer = pair.sent(A).next_back().unwrap();
        assert_eq!((answer.segment.flags, answer.ack), (Flags::ACK, 1 + 7 + 1));
    }

    #[test]
    fn duplicates_do_not_use_up_the_schedule() {
        // Ten duplicates in the first second; the schedule of SYN-ACKs goes on as if there were none
        let once = plain().with(|config| config.syn = SynSchedule::new([Duration::from_secs(200)]).unwrap());
        let mut pair = Pair::new(once, plain()).losing(|sent| sent.from == B);
        pair.run_for(ms(95));
        let syn = pair.log[0].segment;
        for _duplicate in 0..10 {
            pair.inject(B, syn, &[]);
            pair.run_for(ms(10));
        }
        pair.run_for(Duration::from_secs(100));
        let sent = pair.times_ms(B, |sent| sent.segment.flags == Flags::SYN_ACK);
        assert_eq!(sent.len(), 10 + 6);
        let by_timer: Vec<_> = sent.into_iter().filter(|at| at % 1000 == 50).collect();
        assert_eq!(by_timer, [50, 1_050, 3_050, 7_050, 15_050, 31_050]);
        assert_eq!(pair.b.events, [(Instant::ZERO + ms(63_050), Event::Failed(Failure::TimedOut))]);
    }

    #[test]
    fn answers_to_duplicates_are_no_losses() {
        // RFC 6928 §2 and RFC 6298 §5.7 speak of timers that expired
        let mut duplicated = Pair::new(plain(), plain()).fate(|sent| match sent.segment.flags {
            Flags::SYN => Fate::Twice(ms(1)),
            _ => Fate::Pass,
        });
        duplicated.run_for(ms(151));
        assert_eq!(duplicated.b.tcp.counters().syns_sent, 2);
        let crossed = Pair::simultaneous(plain()).connected();
        for tcp in [&duplicated.b.tcp, &crossed.a.tcp] {
            assert_eq!(tcp.state(), State::Established);
            assert_eq!((tcp.rto(), tcp.window().cwnd), (Duration::from_secs(1), 10_000));
        }
    }
}

#[test]
fn without_the_option_a_segment_is_that_of_the_family() {
    // RFC 9293 §3.7.1: 536 bytes, or 1,220 with IPv6
    for default_mss in [DEFAULT_MSS_IPV4, DEFAULT_MSS_IPV6] {
        let config = plain().with(|config| (config.mss, config.default_mss) = (1440, default_mss));
        let mut pair = Pair::new(config, plain()).losing(|_| true);
        pair.run_for(ms(1));
        pair.inject(A, pair.forged(B, Flags::SYN_ACK, 0, 1), &[]);
        pair.write(A, &body(5_000));
        assert_eq!(pair.sent(A).map(|sent| sent.len).max(), Some(usize::from(default_mss)));
    }
}

/// FIN-WAIT-2.
mod half_closed {
    use super::*;

    #[test]
    fn a_peer_that_still_speaks_is_waited_for() {
        let mut pair = Pair::new(plain(), plain()).connected();
        pair.close(A);
        for piece in 0..5 {
            pair.run_for(Duration::from_secs(40));
            assert_eq!(pair.a.tcp.state(), State::FinWait2, "piece {piece}");
            pair.write(B, b"slowly");
        }
        pair.close(B);
        pair.run_for(Duration::from_secs(2));
        assert_eq!(pair.a.received.len(), 5 * 6);
        assert!(pair.a.saw(Event::PeerFinished) && pair.a.saw(Event::Closed));
    }

    #[test]
    fn a_peer_that_never_closes_is_no_clean_end() {
        let mut pair = Pair::new(plain(), plain()).connected();
        pair.close(A);
        pair.run_for(Duration::from_secs(100));
        // The ACK of the FIN came at 300 ms
        let end = (Instant::ZERO + ms(60_300), Event::Failed(Failure::TimedOut));
        assert_eq!(pair.a.events.last(), Some(&end));
        assert!(!pair.a.saw(Event::Closed));
    }
}
