//! The receive buffer that fits itself to what the application takes, in virtual time and against what
//! follows from windows and round trips.

mod scene;

use farfield_base::Duration;
use farfield_tcp::{Config, ReceiveBuffer};
use rand::RngExt;
use scene::*;

/// Data in a full segment, beside timestamps.
const MSS: u64 = 1448;
/// There and back again.
const RTT: Duration = Duration::from_ms(100);

fn receiving(receive_buffer: ReceiveBuffer) -> Config {
    Config::linux().with(|config| {
        (config.receive_buffer, config.reassembly_max) = (receive_buffer, receive_buffer.max())
    })
}

/// A sends `bytes` to B, which has `config`.
fn download(config: Config, bytes: usize) -> Pair {
    let mut pair = Pair::new(Config::linux(), config).connected();
    pair.write(A, &body(bytes));
    pair
}

/// Windows that B offered with each of its acknowledgments: (position acknowledged, bytes from there).
fn windows(pair: &Pair) -> impl Iterator<Item = (i64, i64)> {
    let shift = pair.sent(B).find_map(|sent| sent.segment.options.window_scale).expect("a SYN-ACK");
    let after_syn = pair.sent(B).filter(|sent| !sent.segment.flags.syn);
    after_syn.map(move |sent| (sent.ack, i64::from(sent.segment.window) << shift))
}

/// The unit of windows of a buffer: what the shift cuts off is rounded up to it.
fn unit(buffer: ReceiveBuffer) -> i64 {
    (0..14).map(|shift| 1 << shift).find(|unit| i64::from(buffer.max()) / unit <= 65_535).expect("a shift")
}

#[test]
fn slow_start_never_meets_the_window() {
    let data = |receive_buffer| {
        let pair = twice(|| {
            let mut pair = download(receiving(receive_buffer), 4_000_000);
            pair.run_for(RTT.times(12));
            pair
        });
        let sent = pair.sent(A).filter(|sent| sent.len > 0);
        sent.map(|sent| (sent.at, sent.seq, sent.len)).collect::<Vec<_>>()
    };
    let grown = data(ReceiveBuffer::LINUX);
    assert_eq!(grown, data(ReceiveBuffer::Fixed(6 << 20)), "as if all had been offered from the first");
    // RFC 6928 and doubling: 10 (2^n - 1) segments after n flights; 2,763 segments take nine
    let (first, last) = (grown[0].0, grown.last().expect("data").0);
    assert_eq!((grown.len() as u64, last.since(first)), (4_000_000u64.div_ceil(MSS), RTT.times(8)));
    // A buffer that stays as it is at first is full in each round trip
    let fixed = data(ReceiveBuffer::Fixed(65_536));
    assert!(fixed.len() < 12 * 65_536 / MSS as usize, "{}", fixed.len());
}

/// Bytes a second that come to B over 20 Mbit/s and 100 ms, of which the product is 250 kB, after 4 s.
fn over_a_long_path(config: &Config) -> f64 {
    let mut pair = Pair::new(Config::linux(), config.clone()).rate(20_000_000).connected();
    pair.write(A, &body(30_000_000));
    pair.run_for(Duration::from_secs(4));
    let before = pair.b.received.len();
    pair.run_for(Duration::from_secs(5));
    (pair.b.received.len() - before) as f64 / 5.0
}

#[test]
fn a_long_path_is_filled_as_far_as_the_maximum_allows() {
    let near = |seen: f64, expected: f64| {
        assert!((seen / expected - 1.0).abs() < 0.01, "{seen} bytes a second and not {expected}");
    };
    // 40 bytes of headers, and 12 of timestamps where there are any, in packets of 1,500
    near(over_a_long_path(&Config::linux()), 2.5e6 * 1448.0 / 1500.0);
    near(over_a_long_path(&Config::windows()), 2.5e6 * 1460.0 / 1500.0);
    // Whole segments in a window, each acknowledged at once, each round trip and the time that one takes to
    // leave
    let round_s = 0.1 + 1500.0 * 8.0 / 20e6;
    for max in [131_072, 196_608] {
        let mut config = receiving(ReceiveBuffer::Auto { initial: 65_536, max });
        config.delayed_ack.delay = Duration::ZERO;
        near(over_a_long_path(&config), f64::from(max / 1448 * 1448) / round_s);
    }
}

#[test]
fn what_is_offered_grows_by_twice_what_has_come_and_stays_within_the_maximum() {
    for (seed, loss, max) in [(1, 0.0, 6 << 20), (2, 0.0, 200_000), (3, 0.01, 6 << 20), (4, 0.05, 300_000)] {
        for profile in [Config::linux(), Config::windows()] {
            let buffer = ReceiveBuffer::Auto { initial: 65_536, max };
            let config =
                profile.with(|config| (config.receive_buffer, config.reassembly_max) = (buffer, max));
            let pair = twice(|| {
                let mut luck = luck(seed);
                let pair = download(config.clone(), 2_000_000).rate(50_000_000);
                let mut pair = pair.losing(move |sent| sent.len > 0 && luck.random::<f64>() < loss);
                pair.run_for(Duration::from_secs(20));
                pair
            });
            let (mut edge, mut largest) = (0, 0);
            for (ack, window) in windows(&pair) {
                // Data beyond a hole has come, too: at most what was offered before
                let come = if loss > 0.0 { edge.max(ack) } else { ack };
                let bound = (65_536 + 2 * come).min(i64::from(max)) + unit(buffer);
                assert!(window < bound, "{window} bytes are offered at {ack}, {bound} at most");
                assert!(ack + window >= edge, "the right edge moves back at {ack}");
                (edge, largest) = (ack + window, largest.max(window));
            }
            assert!(largest > 150_000, "{seed}: {largest} bytes at most");
        }
    }
}

#[test]
fn an_application_that_does_not_read_gets_no_more_room() {
    let mut pair = Pair::new(Config::linux(), Config::linux()).connected();
    pair.b.reads = false;
    pair.write(A, &body(500_000));
    pair.run_for(RTT.times(20));
    // An edge that is rounded up to its unit may move so far with each acknowledgment
    let creeps = unit(ReceiveBuffer::LINUX) as usize * windows(&pair).count();
    assert!(pair.b.received.len() <= 65_536 + creeps, "{} bytes", pair.b.received.len());
    // It wakes up, but to read a tenth of a window each round trip
    for _ in 0..40 {
        let taken = 6_500 + pair.b.received.len().saturating_sub(65_536) as u32;
        pair.set_unread(B, pair.b.received.len() as u32 - taken.min(pair.b.received.len() as u32));
        pair.run_for(RTT);
    }
    for (ack, window) in windows(&pair) {
        assert!(window <= 65_536, "{window} bytes are offered at {ack}");
    }
}

/// B asks for fifty replies of ten segments on one connection, then for six of a hundred kilobytes: the
/// largest window of the first, and how long the others took from their first byte on.
fn replies(receive_buffer: ReceiveBuffer) -> (i64, Vec<Duration>) {
    let mut pair = Pair::new(Config::linux(), receiving(receive_buffer)).connected();
    let mut reply = |bytes: usize| {
        pair.write(B, b"request");
        pair.run_for(RTT);
        let (from, before) = (pair.now, pair.b.received.len());
        pair.write(A, &body(bytes));
        while pair.b.received.len() < before + bytes {
            pair.run_for(ms(1));
        }
        let largest = windows(&pair).map(|(_, window)| window).max();
        (largest.expect("acknowledgments"), pair.now.since(from))
    };
    let (largest, _) = (0..50).map(|_| reply(10 * MSS as usize)).last().expect("fifty");
    (largest, (0..6).map(|_| reply(100_000).1).collect())
}

#[test]
fn replies_of_an_initial_window_are_no_reason_to_grow_and_larger_ones_are() {
    let (grown, took) = replies(ReceiveBuffer::LINUX);
    let (_, with_fixed) = replies(ReceiveBuffer::Fixed(65_536));
    assert_eq!(grown, 65_536);
    // Once the sender's window has grown too, a reply arrives after half a round trip, as a whole; 64 KiB
    // hold it up for a round trip more
    assert_eq!((took[0], took[5]), (ms(250), ms(50)), "{took:?}");
    assert_eq!(with_fixed[5], ms(150), "{with_fixed:?}");
}
