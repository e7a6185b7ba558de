//! A hostile peer: whatever it sends, nothing panics, states follow the RFC's diagram, and data is that of
//! the stream.

mod scene;

use farfield_base::Duration;
use farfield_tcp::{Config, Connection, Flags, Options, SackBlocks, Segment, SeqNumber, State, Timestamps};
use proptest::prelude::*;
use scene::*;
use std::sync::Arc;

fn flags() -> impl Strategy<Value = Flags> {
    let ack = prop::bool::weighted(0.8);
    (prop::bool::weighted(0.1), ack, prop::bool::weighted(0.1), prop::bool::weighted(0.05), any::<bool>())
        .prop_map(|(syn, ack, fin, rst, psh)| Flags { syn, ack, fin, rst, psh, ..Flags::default() })
}

/// Mostly near the connection's own numbers, sometimes anywhere.
fn near(isn: u32) -> impl Strategy<Value = SeqNumber> {
    prop_oneof![
        8 => (-3i64..6000).prop_map(move |off| SeqNumber(isn).at(off)),
        1 => any::<u32>().prop_map(SeqNumber),
    ]
}

fn options() -> impl Strategy<Value = Options> {
    let sack = prop::collection::vec((near(ISN_A), near(ISN_A)), 0..5);
    let stamps = prop::option::weighted(0.7, (6_990u32..7_300, any::<u32>()));
    let syn = (prop::option::of(any::<u16>()), prop::option::of(any::<u8>()), any::<bool>());
    (sack, stamps, syn).prop_map(|(sack, stamps, (mss, window_scale, sack_permitted))| {
        let mut blocks = SackBlocks::default();
        sack.into_iter().for_each(|(left, right)| {
            blocks.push(left, right);
        });
        let timestamps = stamps.map(|(value, echo)| Timestamps { value, echo });
        Options { mss, window_scale, sack_permitted, sack: blocks, timestamps }
    })
}

fn segment() -> impl Strategy<Value = (Segment, usize)> {
    (near(ISN_B), near(ISN_A), flags(), any::<u16>(), options(), 0usize..3000).prop_map(
        |(seq, ack, flags, window, options, len)| {
            (Segment { seq, ack, flags, window, options, payload_len: len as u32, ..Segment::default() }, len)
        },
    )
}

#[derive(Debug, Clone)]
enum Step {
    Segment(Box<Segment>, usize),
    Pass(u64),
    Write(usize),
    Close,
    Unread(u32),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        10 => segment().prop_map(|(segment, len)| Step::Segment(Box::new(segment), len)),
        3 => (0u64..4_000).prop_map(Step::Pass),
        2 => (0usize..5_000).prop_map(Step::Write),
        1 => Just(Step::Close),
        1 => (0u32..70_000).prop_map(Step::Unread),
    ]
}

/// The arrows that one segment or timer can follow (RFC 9293 figure 5), several at once where it carries both
/// ACK and FIN.
fn is_arrow(from: State, to: State) -> bool {
    use State::*;
    from == to
        || to == Closed
        || match from {
            Listen => to == SynReceived,
            SynSent => matches!(to, SynReceived | Established),
            SynReceived => matches!(to, Established | CloseWait | FinWait1 | Closing),
            Established => to == CloseWait,
            FinWait1 => matches!(to, FinWait2 | Closing | TimeWait),
            FinWait2 | Closing => to == TimeWait,
            Closed | CloseWait | LastAck | TimeWait => false,
        }
}

fn profiles() -> impl Strategy<Value = Config> {
    let all = vec![plain(), with_sack(), Config::linux(), Config::windows(), Config::bsd()];
    prop::sample::select(all)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn any_segments_leave_a_legal_state(
        config in profiles(), listens: bool, opened: bool, steps in prop::collection::vec(step(), 1..60),
    ) {
        let config = Arc::new(config);
        let mut tcp = match listens {
            true => Connection::listen(config, numbers(ISN_A)),
            false => Connection::open(config, numbers(ISN_A)),
        };
        let mut now = farfield_base::Instant::ZERO;
        while tcp.poll_transmit(now).is_some() {}
        if opened {
            let flags = if listens { Flags::SYN } else { Flags::SYN_ACK };
            let (seq, ack) = (SeqNumber(ISN_B), SeqNumber(ISN_A + 1));
            let syn = Segment { seq, ack, flags, window: 9_000, ..Segment::default() };
            tcp.handle_segment(now, &syn, &[], |_| {});
        }
        let bytes = body(5_000);
        for step in steps {
            let before = tcp.state();
            match step {
                Step::Segment(segment, len) => {
                    tcp.handle_segment(now, &segment, &bytes[..len], |_| {});
                    prop_assert!(is_arrow(before, tcp.state()), "{:?} to {:?}", before, tcp.state());
                }
                Step::Pass(ms) => {
                    now += Duration::from_ms(ms);
                    tcp.handle_timer(now);
                    prop_assert!(is_arrow(before, tcp.state()));
                }
                Step::Write(len) => {
                    let _ = tcp.write(bytes::Bytes::copy_from_slice(&bytes[..len]));
                }
                Step::Close => tcp.close(),
                Step::Unread(unread) => tcp.set_unread(unread),
            }
            let mut sent = 0;
            while let Some(transmit) = tcp.poll_transmit(now) {
                let pieces: usize = tcp.payload(transmit.payload).map(<[u8]>::len).sum();
                prop_assert_eq!(pieces, transmit.segment.payload_len as usize);
                sent += 1;
                prop_assert!(sent < 2_000, "sending ends");
            }
            while tcp.poll_event().is_some() {}
            prop_assert!(tcp.poll_timer().is_none_or(|at| at > now || before == State::Closed), "no timer spins");
        }
    }

    /// Forged segments may end a transfer, never change it: what was delivered is a prefix of what was sent.
    #[test]
    fn what_is_delivered_is_a_prefix(
        config in profiles(),
        forged in prop::collection::vec((0u64..300, segment(), any::<bool>()), 0..20),
    ) {
        let mut pair = Pair::new(config.clone(), config).connected();
        let stream = body(30_000);
        pair.write(A, &stream);
        for (after, (segment, len), to_b) in forged {
            pair.run_for(Duration::from_ms(after));
            if to_b {
                // To B come replays of the stream's own bytes with other headers
                let seq = segment.ack.position(SeqNumber(ISN_A), 0);
                let from = (seq - 1).clamp(0, 29_999) as usize;
                let bytes = if (1..=30_000).contains(&seq) { &stream[from..(from + len).min(30_000)] } else { &[][..] };
                let segment = Segment { seq: segment.ack, ack: segment.seq, ..segment };
                let segment = Segment { flags: Flags { fin: false, ..segment.flags }, ..segment };
                let syn = segment.flags.syn;
                pair.inject(B, segment, if syn { &[] } else { bytes });
            } else {
                pair.inject(A, segment, &body(len));
            }
        }
        pair.run_for(Duration::from_secs(5));
        prop_assert!(stream.starts_with(&pair.b.received));
    }
}
