//! The simulated plane against theory: what a way, a TCP and a server must make of a load.

mod http2;
mod http3;
use crate::scene::{Scene, count, link, ms, ok, with};
use farfield_base::{Duration, Instant, Outcome};
use farfield_emulator::ServerPlan;
use farfield_emulator::simulation::{Remote, simulate_into};
use farfield_tcp::rtt::RtoLimits;
use farfield_tcp::{Config, InitialWindow, ReceiveBuffer};
use farfield_user::HttpVersion;
use std::net::Ipv6Addr;
use std::sync::Arc;

/// Williamson, Simmonds and Arlitt 2004, section 4: a transaction of 1 KB takes three round trips, here one
/// for the handshake and two for three segments of 536 bytes from a window of one.
#[test]
fn one_client_makes_a_transaction_every_three_round_trips() {
    for rtt in [2, 8, 32, 64, 256] {
        let mut scene = Scene::at(ms(rtt)).policy("policy = 'one-request'");
        scene.tcp = Config::linux().with(|config| config.mss = 536);
        scene.server.tcp = Arc::new(
            Config::linux()
                .with(|config| (config.initial_window, config.mss) = (InitialWindow::Segments(1), 536)),
        );
        scene.length = Duration::from_ms(300 * rtt);
        let rate = ok(&scene.play()).count() as f64 / 100.0;
        assert!((rate - 1.0).abs() < 0.03, "{rate} of 1/(3r) at {rtt} ms");
    }
}

/// A simulation that is to stop ends within some hundred events, however much its partitions have to do in
/// their window.
#[test]
fn a_stopped_simulation_begins_nothing_more() {
    let mut scene = Scene::crowd(16_384, ms(20));
    scene.length = Duration::from_secs(2);
    let remote = Remote::default();
    remote.stop();
    let mut samples = Vec::new();
    let simulated = simulate_into(&scene.simulation(), (), &mut samples, &remote).expect("a simulation");
    assert!(simulated.events < 1_000, "{} events", simulated.events);
    assert_eq!(simulated.counts.begun, samples.len() as u64);
}

/// Every request and reply that clients saw is one that the server saw.
#[test]
fn what_clients_saw_is_what_the_server_saw() {
    let mut scene = Scene::crowd(100, ms(20));
    scene.length = Duration::from_secs(2);
    let played = scene.play();
    assert_eq!(with(&played, Outcome::Ok), played.samples.len());
    assert_eq!(played.server.requests as usize, played.samples.len());
    assert_eq!(played.server.replies as usize, played.samples.len());
    assert_eq!((played.connects, played.server.accepted), (100, 100));
    // One round trip to connect the first time, then one a request.
    assert_eq!(played.samples.len(), 100 * 99);
    assert!(ok(&played).all(|sample| sample.service_time() == Some(ms(20))));
    assert!(ok(&played).all(|sample| sample.body_bytes == 1024));
}

/// A link carries its rate, its own headers accounted for: of each 1500 bytes 1448 are the reply's, with
/// timestamps.
#[test]
fn a_link_carries_its_rate() {
    for (rate, bits, size) in [
        ("56kbit", 56e3, 200_000u64),
        ("1.5Mbit", 1.5e6, 4_000_000),
        ("10Mbit", 10e6, 30_000_000),
        ("100Mbit", 100e6, 100_000_000),
        ("1Gbit", 1e9, 400_000_000),
    ] {
        let mut scene = Scene::at(ms(2)).policy("request-timeout = '300s'");
        // A queue that holds the whole window delays by more than the least timeout: nothing is to be sent
        // twice.
        let rto = RtoLimits { min: Duration::from_secs(100), ..Config::linux().rto };
        let buffer = ReceiveBuffer::Fixed(4 << 20);
        scene.tcp = Config::linux().with(|config| (config.receive_buffer, config.rto) = (buffer, rto));
        scene.server.tcp = Arc::new(scene.tcp.clone());
        scene.server.send_buffer = 8 << 20;
        scene.own = link(&format!("delay = '1ms'\nrate = '{rate}'\nqueue = '8MiB'"));
        scene.path = format!("/bytes/{size}");
        scene.length = ms(1);
        scene.drain = Duration::from_secs(300);
        let played = scene.play();
        let sample = ok(&played).next().expect("a reply");
        let goodput = 8.0 * size as f64 / sample.transfer_time().expect("a body").as_secs_f64();
        let theory = bits * 1448.0 / 1500.0;
        assert!((goodput / theory - 1.0).abs() < 0.01, "{goodput:.0} of {theory:.0} at {rate}");
    }
}

/// m processes serve in the order of acceptance: with S of service and no think time, m/S replies a second.
#[test]
fn processes_bound_the_rate() {
    let mut scene = Scene::crowd(40, ms(4)).policy("policy = 'one-request'");
    scene.server = ServerPlan { service: ms(10).into(), ..ServerPlan::processes(count(5)) };
    let played = scene.play();
    let rate = ok(&played).count() as f64 / 10.0;
    // A process is held from acceptance, half a round trip before the request comes where nobody waits.
    assert!((rate / 500.0 - 1.0).abs() < 0.03, "{rate} a second");
    assert!(played.server.accept_queue_most >= 30);
}

/// A process that closes first is free a round trip later, when the client has closed as well, or when it has
/// waited for long enough: with S of service m/(S + R) replies a second, or m/(S + linger).
#[test]
fn lingering_processes_wait_for_the_client() {
    for (linger, held) in [(ms(2000), ms(40)), (ms(10), ms(10)), (ms(0), ms(0))] {
        let mut scene = Scene::crowd(80, ms(40)).policy("policy = 'one-request'");
        scene.server = ServerPlan { service: ms(10).into(), linger, ..ServerPlan::processes(count(5)) };
        let played = scene.play();
        let rate = ok(&played).filter(|sample| sample.done.as_ns() < 10_000_000_000).count() as f64 / 10.0;
        let theory = 5.0 / (ms(10) + held).as_secs_f64();
        assert!((rate / theory - 1.0).abs() < 0.03, "{rate} of {theory} a second");
    }
}

/// A process waits for the next request of the connection that it holds; the others wait for a process.
#[test]
fn kept_connections_hold_processes() {
    let mut scene = Scene::crowd(10, ms(4));
    scene.load = "{ model = 'closed', users = 10, think = '1s' }".into();
    scene.length = Duration::from_secs(4);
    scene.server = ServerPlan { keep_alive: Some(Duration::from_secs(5)), ..ServerPlan::processes(count(3)) };
    let held = scene.play();
    let users = |played: &farfield_emulator::Simulated| {
        let mut users: Vec<u32> = ok(played)
            .filter(|sample| sample.done.as_ns() < 4_000_000_000)
            .map(|sample| sample.user)
            .collect();
        users.sort_unstable();
        users.dedup();
        users.len()
    };
    assert_eq!(users(&held), 3, "three processes, three users");
    scene.server.keep_alive = Some(ms(500));
    let freed = scene.play();
    assert_eq!(users(&freed), 10, "the time-out frees processes");
    assert!(freed.server.idle_closes > 0);
}

/// An S-Client beyond the accept queue: what the server cannot take is dropped, and its rate stays its
/// capacity.
#[test]
fn overload_fills_the_accept_queue_and_not_the_server() {
    let mut scene = Scene::crowd(200, ms(10)).policy("policy = 'one-request'");
    scene.load = "{ model = 'overload', descriptors = 200, timeout = '500ms' }".into();
    scene.server = ServerPlan { service: ms(50).into(), accept_queue: 4, ..ServerPlan::processes(count(4)) };
    let played = scene.play();
    let server = played.server;
    assert_eq!(played.counts.begun, 200 * 20, "D/T attempts a second, whatever the server does");
    assert!(server.syns_dropped + server.accept_overflows > 1000, "{server:?}");
    assert!(server.accept_queue_most <= 5);
    assert!(with(&played, Outcome::ConnectAbandoned) > 1000);
    let rate = server.busy.as_secs_f64() / 0.05 / 10.0;
    // A client whose last ACK was dropped is let in by the next SYN-ACK and leaves a process waiting for the
    // request, which TCP sends again much later: overload costs capacity.
    assert!((40.0..=81.0).contains(&rate), "{rate} served a second of 80");
}

#[test]
fn http_1_0_closes_and_says_so() {
    let mut scene = Scene::at(ms(10));
    scene.version = HttpVersion::Http10;
    scene.server.keep_alive = None;
    scene.length = Duration::from_secs(1);
    let played = scene.play();
    assert!(ok(&played).all(|sample| sample.number == 0));
    assert_eq!(with(&played, Outcome::Ok), played.samples.len());
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let mut scene = Scene::at(ms(100)).policy("policy = 'pipelined'\npipeline-depth = 5");
    scene.server.requests_max = Some(count(12));
    let played = scene.play();
    assert_eq!(with(&played, Outcome::Ok) + with(&played, Outcome::Unfinished), played.samples.len());
    assert!(ok(&played).all(|sample| sample.number < 12));
    // A connection takes twelve requests. What is left of a page then is sent again, one at a time, on the
    // next one: a round trip to connect, and one for each. With so many carried when a page goes out: none:
    // connect, 5, 5, 2 in four round trips, 3 again in four; then 3 are carried 3: 5, 4 in two, 1 again in
    // two; then 1 1: 5, 5, 1 in three, 4 again in five; then 4 4: 5, 3 in two, 2 again in three; then 2 2: 5,
    // 5 in two, and the connection is closed. That is 60 requests in 27 round trips, of which there are a
    // hundred.
    let expected = 100 * 60 / 27;
    assert!(ok(&played).count().abs_diff(expected) <= 15, "{} of {expected}", ok(&played).count());
}

#[test]
fn clients_with_ipv6_addresses() {
    let mut scene = Scene::crowd(8, ms(10));
    scene.first_address = Ipv6Addr::new(0xfd00, 0, 0, 0x18, 0, 0, 0, 1).into();
    scene.length = Duration::from_secs(1);
    let played = scene.play();
    assert_eq!(ok(&played).count(), 8 * 99);
    assert_eq!(played.drops, Default::default());
}

/// Losses on both ways: TCP repairs them all.
#[test]
fn lost_packets_come_again() {
    let mut scene = Scene::crowd(20, ms(20)).policy("policy = 'one-request'");
    scene.own = link("delay = '10ms'\nloss = '5%'");
    scene.path = "/bytes/20000".into();
    let played = scene.play();
    assert!(played.drops.lost > 500, "{:?}", played.drops);
    assert!(ok(&played).count() > 500);
    assert!(ok(&played).all(|sample| sample.body_bytes == 20_000));
    let failed = played.samples.len() - ok(&played).count() - with(&played, Outcome::Unfinished);
    assert_eq!(failed, 0);
}

/// All clients move at once: each connection of TCP ends there, and users go on from their new addresses.
/// A request on its way goes once more, unless it was the first on its connection: then it ends by name.
#[test]
fn connections_end_where_their_clients_move() {
    let moves_at = Instant::ZERO + ms(1_010);
    let play = |policy: &str| {
        let mut scene = Scene::crowd(20, ms(20)).policy(policy);
        scene.length = Duration::from_secs(2);
        scene.moves_at = Some(moves_at);
        scene.play()
    };
    let played = play("");
    assert_eq!(with(&played, Outcome::Ok), played.samples.len());
    assert_eq!((played.connects, played.server.accepted), (40, 40));
    assert_eq!((played.counts.moves.broken, played.counts.moves.migrated, played.counts.resent), (20, 0, 20));
    let later = |sample: &&farfield_base::Sample| sample.connect_begun.instant() >= Some(moves_at);
    assert_eq!(ok(&played).filter(later).count(), 20);
    let played = play("policy = 'one-request'");
    assert_eq!((with(&played, Outcome::NetworkChanged), played.counts.moves.broken), (20, 20));
    assert_eq!(with(&played, Outcome::Ok) + 20, played.samples.len());
    assert!(ok(&played).filter(later).count() > 20, "users pause, and connect from where they are");
}
