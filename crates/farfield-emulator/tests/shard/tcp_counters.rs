//! TCP counters in samples: SYNs, retransmissions, round trips.

use crate::scene::{Scene, link, ms, ok, with};
use farfield_base::{Duration, Outcome, Sample};

fn tries(sample: &Sample) -> u8 {
    sample.tcp.expect("TCP is emulated").syn_tries.get()
}

/// Without loss there is one SYN, nothing comes again, and the smoothed round trip is the path's.
#[test]
fn where_nothing_is_lost_there_is_nothing_to_tell() {
    let mut scene = Scene::crowd(8, ms(20));
    scene.path = "/bytes/50000".into();
    scene.length = Duration::from_secs(2);
    let played = scene.play();
    assert!(ok(&played).count() > 100);
    for sample in ok(&played) {
        let tcp = sample.tcp.expect("TCP is emulated");
        assert_eq!((tries(sample), tcp.retransmits, tcp.out_of_order), (1, 0, 0));
        // The delay of an ACK counts as well.
        let srtt = tcp.srtt_us.expect("the handshake was measured").get();
        assert!((20_000..60_000).contains(&srtt), "{srtt} µs");
    }
}

/// A lost SYN shows in the time to connect: Linux sends it again after 1, 3, 7 s.
#[test]
fn lost_syns_are_counted() {
    let mut scene = Scene::crowd(200, ms(20)).policy("policy = 'one-request'\nrequest-timeout = '1h'");
    scene.own = link("delay = '10ms'\nloss = '10%'");
    scene.length = Duration::from_secs(5);
    scene.drain = Duration::from_secs(60);
    let played = scene.play();
    let (mut again, mut retransmits) = (0, 0);
    for sample in ok(&played) {
        let connect = sample.connect_time().expect("a connection each").as_secs_f64();
        // The server's SYN-ACK may have been lost as well, and is sent again by itself.
        assert!((1 << (tries(sample) - 1)) as f64 - 1.0 <= connect, "{sample:?}");
        again += u32::from(tries(sample) > 1);
        retransmits += u64::from(sample.tcp.expect("TCP is emulated").retransmits);
    }
    // A SYN or its answer is lost in 19 of 100.
    let share = f64::from(again) / ok(&played).count() as f64;
    assert!((0.14..0.24).contains(&share), "{share} of {}", ok(&played).count());
    assert!(retransmits > 20, "{retransmits}");
}

/// The sample of an attempt that comes to nothing counts its SYNs.
#[test]
fn a_failure_tells_as_well() {
    let mut scene = Scene::at(ms(20)).policy("request-timeout = '1h'");
    scene.own = link("delay = '10ms'\nloss = '100%'");
    scene.length = Duration::from_secs(200);
    let played = scene.play();
    assert!(with(&played, Outcome::ConnectTimedOut) > 0);
    let failed = played.samples.iter().filter(|sample| sample.outcome == Outcome::ConnectTimedOut);
    assert!(failed.clone().all(|sample| tries(sample) == 7), "a SYN and six more");
    let srtt = |sample: &Sample| sample.tcp.expect("TCP is emulated").srtt_us;
    assert!(failed.clone().all(|sample| srtt(sample).is_none()));
}

/// Segments overtaken by those behind them are seen by the client alone.
#[test]
fn losses_on_the_way_back_come_out_of_order() {
    let mut scene = Scene::at(ms(40));
    scene.shared = vec![link("delay = '1ms'\nloss = '3%'")];
    scene.path = "/bytes/200000".into();
    let played = scene.play();
    let last = ok(&played).max_by_key(|sample| (sample.connection, sample.number)).expect("replies");
    assert!(last.tcp.expect("TCP is emulated").out_of_order > 50, "{last:?}");
    let counts: Vec<u16> = ok(&played)
        .filter(|sample| sample.connection == last.connection)
        .map(|sample| sample.tcp.expect("TCP").out_of_order)
        .collect();
    assert!(counts.is_sorted(), "counted from the connection's beginning on");
}
