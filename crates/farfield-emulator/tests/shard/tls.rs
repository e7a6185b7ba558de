//! HTTPS in virtual time: round trips, bytes and the server's time, each against its formula.

use crate::scene::{Scene, bytes_of, count, link, ms, ok, with};
use farfield_base::{Duration, Instant, Outcome, Sample, TlsVersion};
use farfield_emulator::simulation::{Tap, simulate_with};
use farfield_emulator::{ClientId, Packet, PacketPayload, ServerPlan, Simulated};
use farfield_http::tls::model::{Offer, Terms};
use farfield_http::tls::{Alpn, Group};
use std::sync::{Arc, Mutex};

const BOTH: [TlsVersion; 2] = [TlsVersion::Tls12, TlsVersion::Tls13];

fn offer() -> Offer {
    let name = Some("server".to_owned());
    let (versions, groups) = (BOTH.to_vec(), Group::ALL.to_vec());
    Offer { name, protocol: Alpn::Http11, versions, groups, resumption: true, early_data: false }
}

fn terms() -> Terms {
    Terms {
        versions: BOTH.to_vec(),
        groups: Group::ALL.to_vec(),
        certificates: vec![1024, 1024],
        tickets: 2,
        early_data: false,
        full: ms(7),
        resumed: ms(3),
    }
}

fn secure(mut scene: Scene, offer: Offer, terms: Terms) -> Scene {
    scene.tls = Some(offer.into());
    scene.server.tls = Some(terms.into());
    scene
}

/// One client with one request a connection.
fn visits(offer: Offer, terms: Terms) -> Vec<Sample> {
    let scene = secure(Scene::at(ms(20)).policy("policy = 'one-request'"), offer, terms);
    let played = scene.play();
    assert_eq!(with(&played, Outcome::Ok), played.samples.len());
    played.samples
}

/// A handshake takes its round trips and the server's time: one of TLS 1.3 or of a session that is resumed
/// one round trip, a full one of TLS 1.2 two, and one more where the server asks for another key share.
#[test]
fn handshakes_take_their_round_trips() {
    let insists = Terms { groups: vec![Group::X25519MlKem768], ..terms() };
    let older = Terms { versions: vec![TlsVersion::Tls12], ..terms() };
    let without = Offer { resumption: false, ..offer() };
    let no_tickets = Terms { tickets: 0, ..terms() };
    // Round trips of the first handshake and of the others, and whether the others resume.
    for (offer, terms, first, others, resume) in [
        (offer(), terms(), 1, 1, true),
        (without.clone(), terms(), 1, 1, false),
        (offer(), no_tickets, 1, 1, false),
        (offer(), older.clone(), 2, 1, true),
        (without.clone(), older, 2, 2, false),
        (offer(), insists.clone(), 2, 1, true),
        (without, insists, 2, 2, false),
    ] {
        let what = format!("{offer:?} {terms:?}");
        let samples = visits(offer, terms.clone());
        assert!(samples.len() > 80, "{what}");
        for (number, sample) in samples.iter().enumerate() {
            let tls = sample.tls.expect("a session of its own");
            assert_eq!(tls.resumed, resume && number > 0, "{what}: {sample:?}");
            let (trips, cost) = match (number, tls.resumed) {
                (0, _) => (first, terms.full),
                (_, true) => (others, terms.resumed),
                (_, false) => (others, terms.full),
            };
            let took = sample.handshake_time().expect("a session");
            assert_eq!(took, ms(20 * trips) + cost, "{what}, handshake {number}");
            // The request goes with the end of the handshake, and its reply takes a round trip more.
            assert_eq!(sample.sent.instant(), Some(tls.secured), "{what}");
            assert_eq!(sample.service_time(), Some(ms(20)), "{what}");
            assert_eq!(sample.body_bytes, 1024);
        }
    }
}

/// A worker that shakes hands serves nobody else: m/(H + S) requests a second, each on its own connection.
#[test]
fn handshakes_keep_workers_busy() {
    for (resumption, cost) in [(false, ms(7)), (true, ms(3))] {
        let policy = "policy = 'one-request'";
        let scene = secure(Scene::crowd(60, ms(4)).policy(policy), Offer { resumption, ..offer() }, terms());
        for server in [ServerPlan::events(count(2)), ServerPlan::processes(count(2))] {
            let held = matches!(server.workers, farfield_model::Workers::Processes(_));
            let tls = scene.server.tls.clone();
            let scene = Scene { server: ServerPlan { service: ms(5).into(), tls, ..server }, ..copy(&scene) };
            let played = scene.play();
            let rate =
                ok(&played).filter(|sample| sample.done.as_ns() < 10_000_000_000).count() as f64 / 10.0;
            // A process waits for the round trip between them as well.
            let each = cost + ms(5) + if held { ms(4) } else { ms(0) };
            let theory = 2.0 / each.as_secs_f64();
            assert!((rate / theory - 1.0).abs() < 0.03, "{rate} of {theory} a second, {resumption}, {held}");
            let counters = &played.server;
            let shook = terms().full.as_ns() * counters.handshakes_full
                + terms().resumed.as_ns() * counters.handshakes_resumed;
            let served = ms(5).as_ns() * counters.replies;
            let busy = counters.busy.as_ns();
            // Work that was begun at the end counts as well.
            assert!(busy >= shook + served && busy <= shook + served + 2 * ms(7).as_ns(), "{counters:?}");
        }
    }
}

fn copy(scene: &Scene) -> Scene {
    let server = scene.server.clone();
    Scene {
        own: Arc::clone(&scene.own),
        shared: scene.shared.clone(),
        tcp: scene.tcp.clone(),
        cross_traffic: scene.cross_traffic.clone(),
        server,
        load: scene.load.clone(),
        path: scene.path.clone(),
        embedded: scene.embedded.clone(),
        policy: scene.policy.clone(),
        tls: scene.tls.clone(),
        ..*scene
    }
}

/// Bytes of TCP's payload towards the server and from it.
#[derive(Debug, Default)]
struct Payload([usize; 2]);

#[derive(Debug, Clone, Default)]
struct Count(Arc<Mutex<Payload>>);

impl Tap for Count {
    fn see(&mut self, _at: Instant, inbound: bool, _client: ClientId, packet: &Packet) {
        let PacketPayload::Tcp(tcp) = &packet.carried else { return };
        self.0.lock().expect("one thread at a time").0[usize::from(!inbound)] += tcp.payload.len();
    }
}

/// Bytes of the payload of one request for `body` bytes, and the simulation.
fn payload_of(body: u64, tls: Option<TlsVersion>) -> ([usize; 2], Simulated) {
    let mut scene = Scene::at(ms(20)).policy("policy = 'one-request'");
    scene.path = format!("/bytes/{body}");
    if let Some(version) = tls {
        scene = secure(scene, offer(), Terms { versions: vec![version], ..terms() });
    }
    let mut simulation = scene.simulation();
    simulation.users.requests_max = std::num::NonZeroU64::new(1).map(Into::into);
    let tap = Count::default();
    let played = simulate_with(&simulation, tap.clone()).expect("a network");
    assert_eq!(with(&played, Outcome::Ok), 1);
    let counted = tap.0.lock().expect("one thread at a time").0;
    (counted, played)
}

/// RFC 8446 section 5.2 and RFC 5288 section 3: 22 bytes or 29 for each record of at most 2^14 bytes, beside
/// the handshake; and the client's last word.
#[test]
fn records_have_their_overhead() {
    for (version, overhead, goodbye) in [(TlsVersion::Tls13, 22, 24), (TlsVersion::Tls12, 29, 31)] {
        let ([_, handshake], _) = payload_of(0, Some(version));
        let ([_, plain_head], _) = payload_of(0, None);
        let handshake = handshake - plain_head - overhead;
        for body in [1, 10_000, 16_000, 100_000, 1_000_000] {
            let ([asked, plain], of_plain) = payload_of(body, None);
            let ([asked_sealed, sealed], of_sealed) = payload_of(body, Some(version));
            // The model keeps short bodies with their heads; the others are written in pieces of 64 KiB.
            let head = plain - body as usize;
            let records = match body {
                0..=16_384 => (head + body as usize).div_ceil(1 << 14),
                _ => 1 + (body as usize).div_ceil(1 << 14),
            };
            assert_eq!(sealed, plain + handshake + records * overhead, "{version:?}, {body} bytes");
            let (of_plain, of_sealed) = (&of_plain.samples[0], &of_sealed.samples[0]);
            assert_eq!(of_sealed.reply_bytes, of_plain.reply_bytes, "samples count plaintext");
            assert!(asked_sealed > asked + overhead + goodbye, "a handshake, a record and a goodbye");
        }
    }
}

/// A client that is refused says so, again and again, and the server signs nothing.
#[test]
fn nothing_in_common_is_an_outcome() {
    let offer = Offer { versions: vec![TlsVersion::Tls13], ..offer() };
    let mut scene = secure(Scene::at(ms(20)), offer, Terms { versions: vec![TlsVersion::Tls12], ..terms() });
    scene.length = Duration::from_secs(2);
    let played = scene.play();
    assert!(!played.samples.is_empty());
    assert_eq!(with(&played, Outcome::TlsIncompatible), played.samples.len());
    assert_eq!((played.server.busy, played.server.handshakes_full), (Duration::ZERO, 0));
}

/// Idle connections are closed by either end as without TLS, and what was sent meanwhile is sent again.
#[test]
fn connections_end_as_without_tls() {
    for keep_alive in [Some(ms(100)), None] {
        let scene = |tls: bool| {
            let mut scene = Scene::crowd(20, ms(20));
            scene.load =
                "{ model = 'closed', users = 20, think = { distribution = 'exponential', mean = '100ms' } }"
                    .into();
            scene.server.keep_alive = keep_alive;
            scene.length = Duration::from_secs(4);
            let scene = if tls { secure(scene, offer(), terms()) } else { scene };
            scene.play()
        };
        let (secure, plain) = (scene(true), scene(false));
        assert_eq!(with(&secure, Outcome::Ok), secure.samples.len());
        assert_eq!(secure.server.idle_closes > 0, plain.server.idle_closes > 0);
        assert!(secure.connects > 100 && plain.connects > 100, "{} {}", secure.connects, plain.connects);
    }
}

/// One seed gives the same bytes on one thread, two and three, across a path that loses and damages packets.
#[test]
fn the_same_seed_gives_the_same_bytes() {
    for load in [
        "{ model = 'closed', users = 192 }",
        "{ model = 'open', arrivals = '700/s' }",
        "{ model = 'overload', descriptors = 200, timeout = '100ms' }",
    ] {
        let mut scene = secure(Scene::crowd(192, ms(25)).policy("policy = 'one-request'"), offer(), terms());
        scene.own = link("delay = '12ms'\nloss = '2%'\nduplicate = '1%'\ncorrupt = '1%'");
        scene.shared = vec![link("delay = '2ms'\nrate = '50Mbit'\nqueue = '128KiB'")];
        scene.load = load.into();
        scene.length = Duration::from_ms(700);
        let first = scene.play();
        assert!(ok(&first).any(|sample| sample.tls.is_some()), "{load}");
        for shards in [1, 2, 3] {
            scene.shards = shards;
            assert!(bytes_of(&scene.play()) == bytes_of(&first), "{load}: {shards} shards differ");
        }
    }
}
