//! HTTP/2 in virtual time: round trips, turns, workers and losses, against their formulas and HTTP/1.1.

use crate::scene::{Scene, bytes_of, count, link, ms, ok, with};
use farfield_base::{Duration, Outcome, Sample, TlsVersion};
use farfield_emulator::{ServerPlan, Simulated};
use farfield_http::http2::server::ServerSettings;
use farfield_http::tls::model::{Offer, Terms};
use farfield_http::tls::{Alpn, Group};
use farfield_tcp::ReceiveBuffer;
use farfield_user::HttpVersion;

/// One client at a round trip of `rtt`, with up to `streams` requests at once on its connection.
fn streams(rtt: Duration, streams: u32) -> Scene {
    let scene = Scene::at(rtt).policy(&format!("policy = 'multiplexed'\nstreams = {streams}"));
    Scene { version: HttpVersion::Http2, ..scene }
}

/// A page with `objects`, once: a user who has it thinks for longer than the run.
pub fn page(version: HttpVersion, rtt: Duration, policy: &str, objects: &[u64]) -> Scene {
    let mut scene = Scene::at(rtt).policy(policy);
    scene.version = version;
    scene.load = "{ model = 'closed', users = 1, think = '1h' }".into();
    scene.embedded = objects.iter().map(|bytes| format!("/bytes/{bytes}")).collect();
    scene.length = Duration::from_secs(20);
    scene.drain = Duration::from_secs(30);
    scene
}

/// Both ends over TLS 1.3, with handshakes that take no time.
pub fn secure(scene: Scene) -> Scene {
    secure_by(scene, terms())
}

/// A certificate of 1 KiB, and handshakes that take no time.
pub fn terms() -> Terms {
    let (versions, groups) = (vec![TlsVersion::Tls13], Group::ALL.to_vec());
    let zero = Duration::ZERO;
    Terms {
        versions,
        groups,
        certificates: vec![1024],
        tickets: 2,
        early_data: false,
        full: zero,
        resumed: zero,
    }
}

/// Both ends over TLS, the server's as `terms` say. Early data is sent where it is allowed.
pub fn secure_by(mut scene: Scene, terms: Terms) -> Scene {
    let protocol = match scene.version {
        HttpVersion::Http2 => Alpn::Http2,
        HttpVersion::Http3 => Alpn::Http3,
        _ => Alpn::Http11,
    };
    let (versions, groups) = (vec![TlsVersion::Tls13], Group::ALL.to_vec());
    let early_data = terms.early_data;
    scene.tls = Some(Offer { name: None, protocol, versions, groups, resumption: true, early_data }.into());
    scene.server.tls = Some(terms.into());
    scene
}

/// The instant at which the last of all requests was over.
pub fn over_at(played: &Simulated) -> Duration {
    let samples = ok(played).count();
    assert_eq!(samples, played.samples.len(), "all are whole");
    let last = ok(played).map(|sample| sample.done).max().expect("requests");
    last.since(farfield_base::Instant::ZERO)
}

/// The number of a sample's stream.
fn stream(sample: &Sample) -> u32 {
    sample.http.stream().expect("a stream")
}

#[test]
fn what_clients_saw_is_what_the_server_saw() {
    for tls in [false, true] {
        let mut scene = Scene { version: HttpVersion::Http2, ..Scene::crowd(50, ms(20)) };
        scene.length = Duration::from_secs(2);
        let played = if tls { secure(scene) } else { scene }.play();
        assert_eq!(with(&played, Outcome::Ok), played.samples.len(), "{:?}", played.samples.last());
        assert_eq!(played.server.requests as usize, played.samples.len());
        assert_eq!(played.server.replies as usize, played.samples.len());
        assert_eq!((played.connects, played.server.accepted), (50, 50));
        // A round trip to connect the first time, with TLS 1.3 one more, then one a request.
        assert_eq!(played.samples.len(), 50 * if tls { 98 } else { 99 });
        assert!(ok(&played).all(|sample| sample.service_time() == Some(ms(20)) && sample.body_bytes == 1024));
        for user in 0..50 {
            let of_user: Vec<u32> = ok(&played).filter(|own| own.user == user).map(stream).collect();
            let expected: Vec<u32> = (0..of_user.len() as u32).map(|number| 2 * number + 1).collect();
            assert_eq!(of_user, expected, "streams in their order");
        }
    }
}

/// A page of ten small objects: a round trip to connect (two with TLS 1.3), one for the page, and then one
/// for all objects on streams, or one for each in turn on a connection of HTTP/1.1.
#[test]
fn a_page_takes_the_round_trips_that_it_must() {
    for (tls, connect) in [(false, 1), (true, 2)] {
        for (version, policy, objects) in [
            (HttpVersion::Http2, "policy = 'persistent'", 1),
            (HttpVersion::Http11, "policy = 'persistent'", 10),
            (HttpVersion::Http11, "policy = 'pipelined'\npipeline-depth = 10", 1),
        ] {
            let scene = page(version, ms(40), policy, &[100; 10]);
            let played = if tls { secure(scene) } else { scene }.play();
            assert_eq!(played.samples.len(), 11);
            assert_eq!(played.connects, 1);
            assert_eq!(over_at(&played), ms(40 * (connect + 1 + objects)), "{version:?}, {policy}, {tls}");
        }
    }
}

/// Slow start from ten segments (RFC 6928) that doubles: an object of n segments takes as many round trips
/// as it takes to send 10 + 20 + 40 + …, over HTTP/2 as over HTTP/1.1.
#[test]
fn slow_start_is_as_over_http1() {
    for (segments, rounds) in [(9, 1), (25, 2), (60, 3), (110, 4), (200, 5)] {
        for version in [HttpVersion::Http11, HttpVersion::Http2] {
            let mut scene = page(version, ms(100), "policy = 'persistent'", &[]);
            scene.path = format!("/bytes/{}", segments * 1448 - 1000);
            let played = scene.play();
            assert_eq!(over_at(&played), ms(100 * (1 + rounds)), "{segments} segments, {version:?}");
        }
    }
}

/// Bodies take turns of one frame of 8 KiB, at a link that carries one in a millisecond: two that begin
/// together end together, but for the 32 KiB that the first had in the send buffer before the second was
/// served.
#[test]
fn bodies_take_turns() {
    let mut scene = page(HttpVersion::Http2, ms(1), "policy = 'persistent'", &[800_000, 800_000, 80_000]);
    scene.own = link("delay = '500us'\nrate = '65536kbit'\nqueue = '8MiB'");
    scene.tcp.receive_buffer = ReceiveBuffer::Fixed(1 << 20);
    scene.server.send_buffer = 32 << 10;
    let played = scene.play();
    let done = |number: usize| played.samples.iter().find(|own| stream(own) as usize == 2 * number + 3);
    let done: Vec<f64> =
        (0..3).map(|number| done(number).expect("a sample").done.as_secs_f64() * 1000.0).collect();
    assert!((done[1] - done[0]).abs() < 8.0, "{done:?}");
    // The short one waits for as much of each of the others, and little more.
    assert!((27.0..50.0).contains(&done[2]), "{done:?}");
    assert!(done[0] > 190.0, "{done:?}");
}

/// A client's windows: a body stops at the stream's window until the client allows more.
#[test]
fn windows_are_obeyed() {
    // 20 MiB from a server that may have 16 MiB unacknowledged, to windows of 6 MiB a stream: none overflows,
    // which the client would call an error.
    let mut scene = page(HttpVersion::Http2, ms(10), "policy = 'persistent'\nrequest-timeout = '300s'", &[]);
    scene.path = format!("/bytes/{}", 20 << 20);
    scene.tcp.receive_buffer = ReceiveBuffer::Fixed(16 << 20);
    scene.server.tcp = std::sync::Arc::new(scene.tcp.clone());
    scene.server.send_buffer = 16 << 20;
    let played = scene.play();
    assert_eq!((with(&played, Outcome::Ok), played.samples.len()), (1, 1), "{:?}", played.samples);
    assert_eq!(played.samples[0].body_bytes, 20 << 20);
}

/// Requests of one connection are served by as many workers as are free, first come, first served; a process
/// that holds the connection serves one after the other.
#[test]
fn workers_serve_streams_as_requests() {
    for (server, at_once) in [(ServerPlan::events(count(4)), 4), (ServerPlan::processes(count(4)), 1)] {
        let mut scene = streams(ms(4), 30);
        scene.server = ServerPlan { service: ms(10).into(), ..server };
        let played = scene.play();
        assert_eq!(with(&played, Outcome::Ok), played.samples.len());
        let rate = ok(&played).filter(|own| own.done.as_ns() < 10_000_000_000).count() as f64 / 10.0;
        // Thirty requests at a time: as many services in a row as it takes, and a round trip.
        let theory = 30.0 / (0.010 * f64::from(30u32.div_ceil(at_once)) + 0.004);
        assert!((rate / theory - 1.0).abs() < 0.01, "{rate} of {theory} a second");
        assert_eq!(played.server.busy.as_ns(), ms(10).as_ns() * played.server.requests);
        assert_eq!(played.connects, 1);
    }
}

/// MAX_CONCURRENT_STREAMS bounds what is asked at once, and nothing is refused once the client knows it.
#[test]
fn streams_at_once_are_bounded() {
    let mut scene = streams(ms(100), 20);
    scene.server.streams = ServerSettings { streams_max: 5, ..ServerSettings::default() };
    let played = scene.play();
    assert_eq!(with(&played, Outcome::Ok), played.samples.len(), "those that were refused were sent again");
    // Before the server's settings come, the client may ask for all that it wants at once.
    assert!(played.counts.refused <= 15, "{}", played.counts.refused);
    let behind =
        ok(&played).filter(|sample| sample.sent.instant().is_some_and(|at| at.as_ns() > 1_000_000_000));
    let rate = behind.filter(|own| own.done.as_ns() < 10_000_000_000).count() as f64 / 8.9;
    assert!((rate / 50.0 - 1.0).abs() < 0.05, "{rate} of 5 a round trip");
}

/// A server that closes idle connections, and after so many requests, says so first: nothing fails.
#[test]
fn connections_end_in_good_order() {
    for (keep_alive, requests_max) in [(Some(ms(100)), None), (None, None), (Some(ms(9000)), Some(count(7)))]
    {
        for tls in [false, true] {
            let mut scene = Scene { version: HttpVersion::Http2, ..Scene::crowd(20, ms(20)) };
            let think = "think = { distribution = 'exponential', mean = '80ms' }";
            scene.load = format!("{{ model = 'closed', users = 20, {think} }}");
            scene.server = ServerPlan { keep_alive, requests_max, ..scene.server };
            scene.length = Duration::from_secs(4);
            let played = if tls { secure(scene) } else { scene }.play();
            assert_eq!(with(&played, Outcome::Ok), played.samples.len());
            assert!(played.connects > 40, "{} connections", played.connects);
            let most = ok(&played).map(|sample| sample.http.stream().expect("a stream")).max();
            match (keep_alive, requests_max) {
                (None, _) => assert_eq!(most, Some(1)),
                (_, Some(max)) => assert_eq!(most, Some(2 * max.get() - 1)),
                _ => assert!(played.server.idle_closes > 0),
            }
        }
    }
}

/// Mean time of a page with 24 objects of so many bytes.
pub fn page_time(version: HttpVersion, parallel: u32, loss: &str, bytes: u32) -> f64 {
    let mut scene = Scene { version, ..Scene::crowd(16, ms(80)) };
    scene = scene.policy(&format!("policy = 'early-close'\nparallel = {parallel}"));
    scene.own = link(&format!("delay = '40ms'\nloss = '{loss}'"));
    // A window that bounds what a round trip carries, for each connection of TCP
    scene.tcp.receive_buffer = ReceiveBuffer::Fixed(65_536);
    scene.embedded = vec![format!("/bytes/{bytes}"); 24];
    let played = if version == HttpVersion::Http3 { secure(scene) } else { scene }.play();
    // Users go from page to page: as many pages as were done take as much time as there was.
    let objects = ok(&played).filter(|sample| sample.done.as_ns() < 10_000_000_000).count() as f64;
    16.0 * 10.0 / (objects / 25.0)
}

/// Head-of-line blocking (RFC 9114 section 2): on a path without loss one connection of HTTP/2 has small
/// objects sooner than six of HTTP/1.1. Where there is more to send, a lost segment stops all its streams,
/// and one of six connections only: it falls behind, and further than without loss.
#[test]
fn a_lossy_path_holds_up_all_streams_of_a_connection() {
    let ratio = |loss, bytes| {
        page_time(HttpVersion::Http2, 1, loss, bytes) / page_time(HttpVersion::Http11, 6, loss, bytes)
    };
    let (small, clean, lossy) = (ratio("0%", 3000), ratio("0%", 20_000), ratio("3%", 20_000));
    assert!(small < 0.9, "{small} of the time of HTTP/1.1 for small objects");
    assert!(lossy > 1.2 && lossy > 1.1 * clean, "{lossy} of the time of HTTP/1.1 with loss, {clean} without");
}

/// Every request that was due is a sample, cut off by the end where it is not over, and their times add up to
/// what was in the system (Little's law, exactly).
#[test]
fn every_stream_is_accounted_for() {
    for tls in [false, true] {
        let mut scene = Scene { clients: 8, ..streams(ms(60), 10) };
        scene.load = "{ model = 'open', arrivals = '100/s' }".into();
        scene.server = ServerPlan { service: ms(30).into(), ..ServerPlan::events(count(6)) };
        scene.own = link("delay = '30ms'\nloss = '1%'");
        (scene.length, scene.drain) = (Duration::from_secs(3), Duration::ZERO);
        let played = if tls { secure(scene) } else { scene }.play();
        let unfinished = with(&played, Outcome::Unfinished);
        assert!(unfinished > 100, "the server is overloaded: {unfinished}");
        assert_eq!(unfinished + with(&played, Outcome::Ok), played.samples.len());
        // A user that arrives asks for as many pages as there are streams.
        assert_eq!(10 * played.counts.begun as usize, played.samples.len());
        let residence: u128 =
            played.samples.iter().map(|own| u128::from(own.done.since(own.due).as_ns())).sum();
        assert_eq!(residence, played.in_system_area);
    }
}

/// One seed gives the same bytes on one thread and on three, across a path that loses and damages packets.
#[test]
fn the_same_seed_gives_the_same_bytes() {
    for tls in [false, true] {
        let mut scene = Scene { version: HttpVersion::Http2, ..Scene::crowd(192, ms(25)) };
        scene = scene.policy("policy = 'persistent'");
        scene.own = link("delay = '12ms'\nloss = '2%'\nduplicate = '1%'\ncorrupt = '1%'");
        scene.shared = vec![link("delay = '2ms'\nrate = '50Mbit'\nqueue = '128KiB'")];
        scene.embedded = vec!["/bytes/3000".into(); 4];
        scene.length = Duration::from_ms(400);
        let mut scene = if tls { secure(scene) } else { scene };
        let first = scene.play();
        assert!(with(&first, Outcome::Ok) > 500);
        scene.shards = 3;
        assert!(bytes_of(&scene.play()) == bytes_of(&first), "three shards differ, {tls}");
    }
}
