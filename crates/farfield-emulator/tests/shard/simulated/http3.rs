//! HTTP/3 in virtual time: QUIC's round trips, workers, limits and losses, against their formulas and TCP.

use super::http2::{over_at, page, page_time, secure, secure_by, terms};
use crate::scene::{Scene, bytes_of, count, link, ms, ok, with};
use farfield_base::{Duration, EarlyData, Outcome, TlsVersion};
use farfield_emulator::ServerPlan;
use farfield_http::http2::server::ServerSettings;
use farfield_http::tls::Group;
use farfield_http::tls::model::Terms;
use farfield_user::HttpVersion;

const ONE_REQUEST: &str = "policy = 'one-request'";

/// One client at a round trip of `rtt`.
fn at(rtt: Duration) -> Scene {
    Scene { version: HttpVersion::Http3, ..Scene::at(rtt) }
}

/// The first request of a user takes two round trips, one of them for the handshake; over TCP and TLS 1.3 it
/// takes three. A session that is resumed takes as many. A worker's time for the handshake comes on top.
#[test]
fn a_first_request_takes_its_round_trips() {
    for (version, trips) in [(HttpVersion::Http11, 3), (HttpVersion::Http2, 3), (HttpVersion::Http3, 2)] {
        for (full, resumed) in [(0, 0), (7, 3)] {
            let scene = Scene { version, ..Scene::at(ms(40)) }.policy(ONE_REQUEST);
            let terms = Terms { full: ms(full), resumed: ms(resumed), ..terms() };
            let played = secure_by(scene, terms).play();
            assert_eq!(with(&played, Outcome::Ok), played.samples.len(), "{:?}", played.samples.first());
            assert!(played.samples.len() > 50);
            for (number, sample) in played.samples.iter().enumerate() {
                let tls = sample.tls.expect("a session of its own");
                assert_eq!((tls.version, tls.resumed), (TlsVersion::Tls13, number > 0), "{version:?}");
                let cost = if tls.resumed { resumed } else { full };
                let took = sample.done.since(sample.due);
                assert_eq!(took, ms(40 * trips + cost), "{version:?}, request {number}");
                assert_eq!(sample.service_time(), Some(ms(40)));
            }
            assert_eq!(played.server.handshakes_full, 1);
        }
    }
}

/// A request within the handshake saves exactly the round trip of the handshake, over TCP and over QUIC; the
/// worker's time for the handshake stays. Tickets come with the client's last message: a reply that takes no
/// time is there before them, so that both tickets of a full handshake are used up, and then it is the next
/// one's turn.
#[test]
fn early_data_saves_a_round_trip() {
    for (version, trips) in [(HttpVersion::Http11, 3), (HttpVersion::Http2, 3), (HttpVersion::Http3, 2)] {
        for (service, turns) in [(0, Some(3)), (50, None)] {
            let mut scene = Scene { version, ..Scene::at(ms(40)) }.policy(ONE_REQUEST);
            scene.server = ServerPlan { service: ms(service).into(), ..ServerPlan::events(count(2)) };
            let terms = Terms { full: ms(7), resumed: ms(3), early_data: true, ..terms() };
            let played = secure_by(scene, terms).play();
            assert_eq!(with(&played, Outcome::Ok), played.samples.len(), "{:?}", played.samples.first());
            assert!(played.samples.len() > 50);
            for (number, sample) in played.samples.iter().enumerate() {
                let tls = sample.tls.expect("a session of its own");
                let is_early = turns.map_or(number, |turns| number % turns) > 0;
                let early = if is_early { EarlyData::Accepted } else { EarlyData::Unsent };
                assert_eq!((tls.early, tls.resumed), (early, is_early), "{version:?}, request {number}");
                let took = if is_early { 40 * (trips - 1) + 3 } else { 40 * trips + 7 };
                assert_eq!(
                    sample.done.since(sample.due),
                    ms(took + service),
                    "{version:?}, request {number}"
                );
                // It leaves with the first message, and its reply comes with the server's, or later.
                let handshake = if is_early { 3 } else { 0 };
                assert_eq!(sample.service_time(), Some(ms(40 + service + handshake)));
                assert_eq!(sample.body_bytes, 1024);
            }
            let server = played.server;
            assert_eq!((server.requests, server.replies), (played.samples.len() as u64, server.requests));
        }
    }
}

/// Across a path that loses and damages packets each request is answered, whatever became of it within its
/// handshake, and one seed gives the same bytes on one thread and on three.
#[test]
fn early_data_is_the_same_bytes_on_any_number_of_threads() {
    for version in [HttpVersion::Http11, HttpVersion::Http2, HttpVersion::Http3] {
        let mut scene = Scene { version, ..Scene::crowd(96, ms(25)) }.policy(ONE_REQUEST);
        scene.own = link("delay = '12ms'\nloss = '2%'\nduplicate = '1%'\ncorrupt = '1%'");
        scene.shared = vec![link("delay = '2ms'\nrate = '50Mbit'\nqueue = '128KiB'")];
        scene.length = Duration::from_ms(500);
        let mut scene = secure_by(scene, Terms { early_data: true, ..terms() });
        let first = scene.play();
        let early = ok(&first).filter(|own| own.tls.is_some_and(|tls| tls.early == EarlyData::Accepted));
        assert!(early.count() > 200, "{version:?}");
        scene.shards = 3;
        assert!(bytes_of(&scene.play()) == bytes_of(&first), "{version:?}: three shards differ");
    }
}

/// RFC 9000 section 8.1: a server sends three times what came, 3600 bytes, until the client has shown that it
/// is there. Certificates that are longer cost a round trip more, and over TCP they do not.
#[test]
fn certificates_meet_the_limit_on_amplification() {
    for (certificates, quic, tcp) in [(vec![1000; 2], 2, 3), (vec![2000; 3], 3, 3)] {
        for (version, trips) in [(HttpVersion::Http3, quic), (HttpVersion::Http2, tcp)] {
            let scene = Scene { version, ..page(version, ms(100), ONE_REQUEST, &[]) };
            let played = secure_by(scene, Terms { certificates: certificates.clone(), ..terms() }).play();
            assert_eq!(over_at(&played), ms(100 * trips), "{version:?}, {certificates:?}");
        }
    }
}

/// A server that insists on another group asks for its key share first, which takes a round trip.
#[test]
fn another_key_share_takes_a_round_trip() {
    let scene = page(HttpVersion::Http3, ms(100), ONE_REQUEST, &[]);
    let insists = Terms { groups: vec![Group::X25519MlKem768], ..terms() };
    assert_eq!(over_at(&secure_by(scene, insists).play()), ms(300));
}

/// A page of ten small objects: a round trip for the handshake, one for the page, one for all objects.
#[test]
fn a_page_takes_three_round_trips() {
    let played = secure(page(HttpVersion::Http3, ms(40), "policy = 'persistent'", &[100; 10])).play();
    assert_eq!((played.samples.len(), played.connects), (11, 1));
    assert_eq!(over_at(&played), ms(3 * 40));
}

#[test]
fn what_clients_saw_is_what_the_server_saw() {
    let mut scene = secure(Scene { version: HttpVersion::Http3, ..Scene::crowd(50, ms(20)) });
    scene.length = Duration::from_secs(2);
    let played = scene.play();
    assert_eq!(with(&played, Outcome::Ok), played.samples.len());
    let server = played.server;
    assert_eq!((server.requests, server.replies), (played.samples.len() as u64, played.samples.len() as u64));
    assert_eq!((played.connects, server.accepted, server.handshakes_full), (50, 50, 50));
    // One round trip for the handshake, then one a request.
    assert_eq!(played.samples.len(), 50 * 99);
    assert!(ok(&played).all(|sample| sample.service_time() == Some(ms(20)) && sample.body_bytes == 1024));
}

/// A link carries its rate, less the headers: of each 1480 bytes 1400 at least are the reply's.
#[test]
fn a_link_carries_its_rate() {
    let mut scene = at(ms(20)).policy("request-timeout = '300s'");
    scene.own = link("delay = '10ms'\nrate = '10Mbit'\nqueue = '64KiB'");
    scene.path = "/bytes/10000000".into();
    scene.length = ms(1);
    scene.drain = Duration::from_secs(60);
    let played = secure(scene).play();
    let sample = ok(&played).next().expect("a reply");
    let goodput = 80e6 / sample.transfer_time().expect("a body").as_secs_f64();
    assert!((0.90 * 10e6..10e6 * 1424.0 / 1480.0).contains(&goodput), "{goodput:.0} of 10 Mbit/s");
}

/// Requests and handshakes are served by as many workers as there are, first come, first served: m/S requests
/// a second on one connection, and m/(H + S) where each has a connection.
#[test]
fn workers_serve_requests_and_handshakes() {
    let plan = ServerPlan { service: ms(10).into(), ..ServerPlan::events(count(4)) };
    let mut scene = at(ms(4)).policy("policy = 'multiplexed'\nstreams = 30");
    scene.server = plan.clone();
    scene.length = Duration::from_secs(4);
    let one = secure(scene).play();
    let mut scene = Scene { version: HttpVersion::Http3, ..Scene::crowd(40, ms(4)) }.policy(ONE_REQUEST);
    scene.server = plan;
    scene.length = Duration::from_secs(4);
    let each = secure_by(scene, Terms { full: ms(6), resumed: ms(6), ..terms() }).play();
    // Thirty requests at a time: eight services in a row, and a round trip.
    for (played, theory) in [(one, 30.0 / 0.084), (each, 4.0 / 0.016)] {
        assert_eq!(with(&played, Outcome::Ok), played.samples.len());
        let rate = ok(&played).filter(|own| own.done.as_ns() < 4_000_000_000).count() as f64 / 4.0;
        assert!((rate / theory - 1.0).abs() < 0.03, "{rate} of {theory} a second");
    }
}

/// The server's limit on streams bounds what is asked at once. A stream counts until its reply is
/// acknowledged (RFC 9000 section 4.6), and the client learns of that half a round trip later: five take two
/// round trips, and a little for acknowledgements that are delayed.
#[test]
fn streams_at_once_are_bounded() {
    let mut scene = at(ms(100)).policy("policy = 'multiplexed'\nstreams = 20");
    scene.server.streams = ServerSettings { streams_max: 5, ..ServerSettings::default() };
    let played = secure(scene).play();
    assert_eq!(with(&played, Outcome::Ok), played.samples.len());
    assert_eq!(played.counts.refused, 0);
    let rate = ok(&played).filter(|own| own.done.as_ns() < 10_000_000_000).count() as f64 / 9.9;
    assert!((0.9..=1.0).contains(&(rate / 25.0)), "{rate} of 5 in two round trips");
}

/// A server that closes idle connections, and after so many requests, says so: nothing fails. What came
/// within the handshake may be the last.
#[test]
fn connections_end_in_good_order() {
    let ends = [(Some(ms(100)), None), (None, None), (Some(ms(9000)), Some(count(7)))];
    for ((keep_alive, requests_max), early_data) in
        ends.into_iter().flat_map(|own| [(own, false), (own, true)])
    {
        let mut scene = Scene { version: HttpVersion::Http3, ..Scene::crowd(20, ms(20)) };
        let think = "think = { distribution = 'exponential', mean = '80ms' }";
        scene.load = format!("{{ model = 'closed', users = 20, {think} }}");
        scene.server = ServerPlan { keep_alive, requests_max, ..scene.server };
        scene.length = Duration::from_secs(4);
        let played = secure_by(scene, Terms { early_data, ..terms() }).play();
        assert_eq!(with(&played, Outcome::Ok), played.samples.len());
        let early = ok(&played).any(|own| own.tls.is_some_and(|tls| tls.early == EarlyData::Accepted));
        assert_eq!(early, early_data);
        assert!(played.connects > 40, "{} connections", played.connects);
        let most = ok(&played).map(|sample| sample.number).max().expect("samples") + 1;
        match (keep_alive, requests_max) {
            (None, _) => assert_eq!(most, 1),
            (_, Some(max)) => assert_eq!(most, max.get()),
            _ => assert!(played.server.idle_closes > 0),
        }
    }
}

/// A handshake that a server cannot agree to has a named outcome, and takes no worker's time.
#[test]
fn nothing_in_common_is_an_outcome() {
    let mut scene = at(ms(20));
    scene.length = Duration::from_secs(1);
    let older = Terms { versions: vec![TlsVersion::Tls12], ..terms() };
    let played = secure_by(scene, older).play();
    assert!(!played.samples.is_empty());
    assert_eq!(with(&played, Outcome::TlsIncompatible), played.samples.len(), "{:?}", played.samples.first());
    assert_eq!((played.server.handshakes_full, played.server.busy), (0, Duration::ZERO));
}

/// A lost packet stops its own stream only (RFC 9114 section 2): with losses a page takes less time than over
/// one connection of HTTP/2.
#[test]
fn a_lossy_path_holds_up_single_streams() {
    let [quic, tcp] =
        [HttpVersion::Http3, HttpVersion::Http2].map(|version| page_time(version, 1, "3%", 20_000));
    assert!(quic < 0.97 * tcp, "{quic} s, and {tcp} s over HTTP/2");
}

/// Every request that was due is a sample, cut off by the end where it is not over, and their times add up to
/// what was in the system (Little's law, exactly).
#[test]
fn every_stream_is_accounted_for() {
    let mut scene = at(ms(60)).policy("policy = 'multiplexed'\nstreams = 10");
    scene.clients = 8;
    scene.load = "{ model = 'open', arrivals = '100/s' }".into();
    scene.server = ServerPlan { service: ms(30).into(), ..ServerPlan::events(count(6)) };
    scene.own = link("delay = '30ms'\nloss = '1%'");
    (scene.length, scene.drain) = (Duration::from_secs(3), Duration::ZERO);
    let played = secure(scene).play();
    let unfinished = with(&played, Outcome::Unfinished);
    assert!(unfinished > 100, "the server is overloaded: {unfinished}");
    assert_eq!(unfinished + with(&played, Outcome::Ok), played.samples.len());
    // A user that arrives asks for as many pages as there are streams.
    assert_eq!(10 * played.counts.begun as usize, played.samples.len());
    let residence: u128 = played.samples.iter().map(|own| u128::from(own.done.since(own.due).as_ns())).sum();
    assert_eq!(residence, played.in_system_area);
}

/// One seed gives the same bytes on one thread and on three, across a path that loses and damages packets.
#[test]
fn the_same_seed_gives_the_same_bytes() {
    let mut scene = Scene { version: HttpVersion::Http3, ..Scene::crowd(192, ms(25)) };
    scene.own = link("delay = '12ms'\nloss = '2%'\nduplicate = '1%'\ncorrupt = '1%'");
    scene.shared = vec![link("delay = '2ms'\nrate = '50Mbit'\nqueue = '128KiB'")];
    scene.embedded = vec!["/bytes/3000".into(); 4];
    scene.length = Duration::from_ms(400);
    let mut scene = secure(scene);
    let first = scene.play();
    assert!(with(&first, Outcome::Ok) > 500);
    scene.shards = 3;
    assert!(bytes_of(&scene.play()) == bytes_of(&first), "three shards differ");
}
