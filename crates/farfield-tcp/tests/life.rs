//! The life of a connection: opening, closing, resets (RFC 9293 §3.5, §3.6, §3.10).

mod scene;

use farfield_base::{Duration, Instant};
use farfield_tcp::syn::SynSchedule;
use farfield_tcp::time_wait::TimeWaitReply;
use farfield_tcp::{
    Config, Connection, Event, Failure, Flags, ReceiveBuffer, Segment, SeqNumber, State, TimeWait,
    reply_to_stray,
};
use scene::*;

#[test]
fn three_segments_open_it() {
    let pair = twice(|| Pair::new(plain(), plain()).connected());
    let flags: Vec<_> = pair.log.iter().map(|sent| sent.segment.flags).collect();
    assert_eq!(flags, [Flags::SYN, Flags::SYN_ACK, Flags::ACK]);
    assert_eq!(pair.a.events, [(Instant::ZERO + ms(100), Event::Connected)]);
    assert_eq!(pair.b.events, [(Instant::ZERO + ms(150), Event::Connected)]);
    assert_eq!(pair.a.tcp.srtt(), Some(ms(100)));
}

#[test]
fn both_may_open_at_once() {
    let pair = twice(|| Pair::simultaneous(plain()).connected());
    assert_eq!(pair.states(), (State::Established, State::Established));
    let syn_acks = pair.log.iter().filter(|sent| sent.segment.flags == Flags::SYN_ACK).count();
    assert_eq!(syn_acks, 2);
}

#[test]
fn options_hold_only_if_both_offer_them() {
    for (a, b) in [(true, true), (true, false), (false, true)] {
        let with = |on| {
            plain().with(|config| (config.sack, config.timestamps, config.window_scaling) = (on, on, on))
        };
        let mut pair = Pair::new(with(a), with(b)).connected();
        pair.write(A, b"x");
        let (syn_ack, last) = (pair.log[1].segment.options, pair.log.last().unwrap().segment.options);
        assert_eq!(syn_ack.sack_permitted, a && b);
        assert_eq!(syn_ack.window_scale.is_some(), a && b);
        assert_eq!(last.timestamps.is_some(), a && b);
    }
}

#[test]
fn a_segment_is_no_larger_than_both_announce() {
    let config = |mss, timestamps| plain().with(|config| (config.mss, config.timestamps) = (mss, timestamps));
    for (a, b, timestamps, largest) in [(1460, 536, false, 536), (536, 1460, true, 524)] {
        let mut pair = Pair::new(config(a, timestamps), config(b, timestamps)).connected();
        pair.write(A, &body(5000));
        pair.run_for(ms(500));
        assert_eq!(pair.sent(A).map(|sent| sent.len).max(), Some(largest));
    }
}

#[test]
fn syns_go_by_the_schedule_and_end() {
    let seconds = |schedule: fn() -> SynSchedule, config: fn() -> Config| {
        let config = config().with(|config| config.syn = schedule());
        let pair = twice(|| {
            let mut pair = Pair::new(config.clone(), plain()).losing(|_| true);
            pair.run_for(Duration::from_secs(200));
            pair
        });
        let (at, event) = pair.a.events[0];
        assert_eq!(event, Event::Failed(Failure::TimedOut));
        let sent: Vec<_> = pair.times_ms(A, |_| true).iter().map(|ms| ms / 1000).collect();
        (sent, at.as_secs_f64())
    };
    assert_eq!(seconds(SynSchedule::bsd, Config::bsd), (vec![0, 6, 30], 75.0));
    assert_eq!(seconds(SynSchedule::linux, Config::linux), (vec![0, 1, 3, 7, 15, 31, 63], 127.0));
    assert_eq!(seconds(SynSchedule::windows, Config::windows), (vec![0, 3, 9], 21.0));
}

#[test]
fn a_lost_syn_ack_is_sent_again_when_the_syn_is() {
    let lost = |sent: &Sent| sent.segment.flags == Flags::SYN_ACK && sent.time == 1;
    let mut pair = Pair::new(plain(), plain()).losing(lost);
    pair.run_for(Duration::from_secs(2));
    assert_eq!(pair.states(), (State::Established, State::Established));
    // B's own timer and A's SYN both bring it: at 1,050 ms
    assert_eq!(pair.times_ms(B, |sent| sent.segment.flags.syn)[..2], [50, 1050]);
}

#[test]
fn a_closed_port_refuses() {
    let mut pair = Pair::new(plain(), plain());
    pair.run_for(ms(10));
    let reset = reply_to_stray(&pair.log[0].segment).expect("a SYN gets an answer");
    pair.inject(A, reset, &[]);
    assert_eq!(pair.a.events[0].1, Event::Failed(Failure::Refused));
    assert_eq!(reply_to_stray(&reset), None);
}

#[test]
fn a_half_closed_connection_still_carries_the_other_way() {
    let pair = twice(|| {
        let mut pair = Pair::new(plain(), plain()).connected();
        pair.a.tcp.write(bytes::Bytes::from_static(b"request")).expect("open");
        pair.close(A);
        pair.run_for(ms(300));
        assert_eq!(pair.states(), (State::FinWait2, State::CloseWait));
        pair.write(B, &body(30_000));
        pair.close(B);
        pair.run_for(ms(500));
        assert_eq!(pair.states(), (State::TimeWait, State::Closed));
        pair.run_for(ms(1000));
        pair
    });
    assert_eq!(pair.states(), (State::Closed, State::Closed));
    assert_eq!((&pair.b.received[..], &pair.a.received), (&b"request"[..], &body(30_000)));
    let kinds = |end: &End| end.events.iter().map(|(_, event)| *event).collect::<Vec<_>>();
    assert_eq!(kinds(&pair.a), [Event::Connected, Event::PeerFinished, Event::Closed]);
    assert_eq!(kinds(&pair.b), [Event::Connected, Event::PeerFinished, Event::Closed]);
    // The FIN goes with the data (RFC 9293 §3.10.4), and nothing was sent in vain
    assert!(pair.sent(A).any(|sent| sent.len == 7 && sent.segment.flags.fin));
    assert_eq!(pair.a.tcp.counters().retransmits + pair.b.tcp.counters().retransmits, 0);
}

#[test]
fn both_may_close_at_once() {
    let pair = twice(|| {
        let mut pair = Pair::new(plain(), plain()).connected();
        pair.close(A);
        pair.close(B);
        pair.run_for(ms(60));
        assert_eq!(pair.states(), (State::Closing, State::Closing));
        pair.run_for(ms(60));
        assert_eq!(pair.states(), (State::TimeWait, State::TimeWait));
        pair.run_for(ms(1000));
        pair
    });
    assert_eq!(pair.states(), (State::Closed, State::Closed));
}

#[test]
fn a_lost_last_ack_is_sent_again_and_time_wait_begins_anew() {
    let fin_seen = std::cell::Cell::new(false);
    let mut pair = Pair::new(plain(), plain()).connected().losing(move |sent| {
        let last_ack = sent.from == A && sent.ack == 2;
        last_ack && !fin_seen.replace(true)
    });
    pair.close(A);
    pair.run_for(ms(60));
    pair.close(B);
    pair.run_for(Duration::from_secs(3));
    assert_eq!(pair.states(), (State::Closed, State::Closed));
    let fins = pair.times_ms(B, |sent| sent.segment.flags.fin);
    assert_eq!(fins.len(), 2);
    let closed_at = pair.a.events.last().unwrap().0;
    assert_eq!(closed_at, Instant::ZERO + ms(fins[1] + 50 + 1000));
}

#[test]
fn no_time_wait_still_sends_the_last_ack() {
    let mut pair = Pair::new(plain().with(|config| config.time_wait = Duration::ZERO), plain()).connected();
    pair.close(A);
    pair.run_for(ms(60));
    pair.close(B);
    pair.run_for(ms(200));
    assert_eq!(pair.states(), (State::Closed, State::Closed));
    assert_eq!(pair.b.tcp.counters().retransmits, 0);
}

#[test]
fn an_abort_resets_the_peer() {
    let mut pair = Pair::new(plain(), plain()).connected();
    pair.abort(A);
    pair.run_for(ms(100));
    assert!(pair.b.saw(Event::Failed(Failure::Reset)) && pair.a.tcp.is_done() && pair.b.tcp.is_done());
}

#[test]
fn a_blind_reset_is_challenged_and_an_exact_one_obeyed() {
    let mut pair = Pair::new(plain(), plain()).connected();
    let blind = pair.forged(B, Flags::RST, 1 + 500, 1);
    pair.inject(A, blind, &[]);
    let answer = pair.log.last().expect("a challenge");
    assert_eq!((answer.from, answer.segment.flags, answer.seq, answer.ack), (A, Flags::ACK, 1, 1));
    pair.inject(A, pair.forged(B, Flags::RST, -7, 1), &[]);
    pair.inject(A, pair.forged(B, Flags::RST, 5_000_000, 1), &[]);
    assert_eq!(pair.a.tcp.state(), State::Established);
    pair.inject(A, pair.forged(B, Flags::RST, 1, 1), &[]);
    assert!(pair.a.saw(Event::Failed(Failure::Reset)));
}

#[test]
fn a_blind_syn_is_challenged_ten_times_in_five_seconds() {
    let mut pair = Pair::new(plain(), plain()).connected();
    let before = pair.sent(A).count();
    for at in 0..30 {
        pair.inject(A, pair.forged(B, Flags::SYN, 1 + at, 0), &[]);
    }
    assert_eq!(pair.sent(A).count() - before, 10);
    assert_eq!(pair.a.tcp.state(), State::Established);
    pair.run_for(Duration::from_secs(5));
    pair.inject(A, pair.forged(B, Flags::SYN, 1, 0), &[]);
    assert_eq!(pair.sent(A).count() - before, 11);
}

#[test]
fn an_ack_of_the_unsent_is_challenged_and_its_data_dropped() {
    let mut pair = Pair::new(plain(), plain()).connected();
    for ack in [2, 100, -2_000_000] {
        pair.inject(A, pair.forged(B, Flags::ACK, 1, ack), b"injected");
        let answer = pair.sent(A).next_back().unwrap();
        assert_eq!((answer.segment.flags, answer.ack), (Flags::ACK, 1));
    }
    assert!(pair.a.received.is_empty());
    assert_eq!(pair.a.tcp.counters().refused, 3);
}

#[test]
fn an_ack_of_another_syn_is_reset() {
    let mut pair = Pair::new(plain(), plain()).losing(|_| true);
    pair.run_for(ms(1));
    pair.inject(A, pair.forged(B, Flags::SYN_ACK, 0, 9), &[]);
    let answer = pair.log.last().unwrap();
    assert_eq!((answer.segment.flags, answer.seq), (Flags::RST, 9));
    assert_eq!(pair.a.tcp.state(), State::SynSent);
}

#[test]
fn a_deaf_peer_is_abandoned() {
    let config = plain().with(|config| config.abandon_after = Some(Duration::from_secs(30)));
    let mut pair = Pair::new(config, plain()).connected().losing(|_| true);
    pair.write(A, b"request");
    let written = pair.now;
    pair.run_for(Duration::from_secs(60));
    assert_eq!(
        pair.a.events.last(),
        Some(&(written + Duration::from_secs(30), Event::Failed(Failure::TimedOut)))
    );
}

#[test]
fn a_connection_is_small() {
    // The tables of loss, of reordering and of CUBIC are elsewhere, and only while there is something in them
    assert!(size_of::<Connection>() <= 536, "{} bytes", size_of::<Connection>());
    assert!(size_of::<TimeWait>() <= 32, "{} bytes", size_of::<TimeWait>());
}

#[test]
fn a_syn_ack_that_crosses_ours_is_not_scaled() {
    // RFC 7323 §2.2; both open at once, and B's SYN-ACK offers 1,000 bytes
    let mut pair =
        Pair::simultaneous(plain().with(|config| config.receive_buffer = ReceiveBuffer::Fixed(1 << 24)))
            .losing(|_| true);
    pair.run_for(ms(1));
    let mut syn = pair.forged(B, Flags::SYN, 0, 0);
    (syn.window, syn.options.window_scale, syn.options.mss) = (1000, Some(8), Some(1000));
    pair.inject(A, syn, &[]);
    pair.inject(A, Segment { flags: Flags::SYN_ACK, ack: SeqNumber(ISN_A + 1), ..syn }, &[]);
    pair.write(A, &body(9_000));
    assert_eq!(pair.a.tcp.state(), State::Established);
    assert_eq!(pair.sent(A).map(|sent| sent.len).sum::<usize>(), 1000);
}

/// A connection in TIME-WAIT, and what remains of it.
fn waiting(config: Config) -> (Pair, TimeWait) {
    let mut pair = Pair::new(config.clone(), config).connected();
    pair.close(A);
    pair.run_for(ms(60));
    assert_eq!(pair.a.tcp.time_wait(), None);
    pair.close(B);
    pair.run_for(ms(60));
    let waits = pair.a.tcp.time_wait().expect("in TIME-WAIT, and quiet");
    (pair, waits)
}

#[test]
fn time_wait_answers_as_the_connection_would() {
    let (mut pair, mut waits) = waiting(plain().with(|config| config.timestamps = true));
    assert_eq!(Some(waits.until()), pair.a.tcp.poll_timer());
    pair.run_for(ms(10));
    let fin = pair.sent(B).find(|sent| sent.segment.flags.fin).unwrap().segment;
    pair.inject(A, fin, &[]);
    let answer = pair.sent(A).next_back().unwrap().segment;
    assert_eq!(
        waits.handle_segment(pair.now, &fin, Duration::from_secs(1)),
        TimeWaitReply::Acknowledge(answer)
    );
    assert_eq!(Some(waits.until()), pair.a.tcp.poll_timer(), "both begin anew");
    let bare = pair.forged(B, Flags::ACK, 2, 2);
    assert_eq!(waits.handle_segment(pair.now, &bare, Duration::from_secs(1)), TimeWaitReply::Nothing);
    for (seq, answer) in [(1, TimeWaitReply::Nothing), (3, TimeWaitReply::Nothing), (2, TimeWaitReply::Over)]
    {
        let rst = pair.forged(B, Flags::RST, seq, 0);
        assert_eq!(waits.handle_segment(pair.now, &rst, Duration::from_secs(1)), answer);
    }
}

#[test]
fn time_wait_yields_to_a_later_syn_alone() {
    let (pair, waits) = waiting(plain().with(|config| config.timestamps = true));
    let reopens = |syn: Segment| matches!(waits.clone().handle_segment(pair.now, &syn, ms(1)), TimeWaitReply::Reopen(seq) if seq == SeqNumber(ISN_A + 2));
    // RFC 6191 §2: (position, stamp), where the last stamp of B is that of its FIN, at 260 ms
    for (seq, value, expected) in [(0, 7_261, true), (9, 7_259, false), (9, 7_260, true), (2, 7_260, false)] {
        let syn = stamped(pair.forged(B, Flags::SYN, seq, 0), value);
        assert_eq!(reopens(syn), expected, "{seq} {value}");
    }
    // RFC 9293 §3.10.7.4: without stamps the number decides
    let (pair, waits) = waiting(plain());
    for (seq, expected) in [(3, true), (2, false), (-5, false)] {
        let syn = pair.forged(B, Flags::SYN, seq, 0);
        let answer = waits.clone().handle_segment(pair.now, &syn, ms(1));
        assert_eq!(matches!(answer, TimeWaitReply::Reopen(_)), expected, "{seq}");
        assert!(expected || matches!(answer, TimeWaitReply::Acknowledge(_)));
    }
}

#[test]
fn a_closed_connection_takes_no_more() {
    let mut pair = Pair::new(plain(), plain()).connected();
    pair.close(A);
    assert!(pair.a.tcp.write(bytes::Bytes::from_static(b"late")).is_err());
    let stray = Segment { seq: SeqNumber(9), flags: Flags::SYN, ..Segment::default() };
    assert_eq!(reply_to_stray(&stray).map(|reset| reset.ack), Some(SeqNumber(10)));
}
