//! Cross traffic against queueing theory, and against itself on several threads.

use crate::scene::{Scene, bytes_of, count, link, ms, ok};
use bytes::Bytes;
use farfield_base::random::Seed;
use farfield_base::{CrossCounts, Duration, Instant};
use farfield_emulator::{ClientId, CrossFlow, Packet, Router, SharedLinkId, Udp, simulate};
use farfield_net::CrossTraffic;
use farfield_wire::Ecn;
use std::sync::Arc;

/// A flow on the `number`-th shared link, of which the first half leads up.
fn flow(number: u32, toml: &str) -> CrossFlow {
    let text = format!("link = 'shared.up'\n{toml}");
    let traffic: CrossTraffic = toml::from_str(&text).expect("a flow");
    CrossFlow { link: SharedLinkId::new(number), traffic }
}

/// Times that small packets of a client take from `from` on, one each `gap`, beyond the propagation of 5 ms.
fn probes(scene: &Scene, sent: u32, gap: Duration) -> (Vec<Duration>, Vec<CrossCounts>) {
    let network = scene.network();
    let addresses = network.addresses(ClientId::new(0));
    let mut router = Router::new(Arc::new(network), Seed(5));
    let mut took = Vec::new();
    for nth in 1..=u64::from(sent) {
        let at = Instant::ZERO + gap.times(nth);
        step_until(&mut router, at);
        let payload = Bytes::copy_from_slice(&nth.to_be_bytes());
        let udp = Udp { source_port: 1, destination_port: 2, payload };
        router.handle_client_packet(at, Packet::udp(addresses, Ecn::NotEct, udp));
        // No flow ends: the probe is through long before the next.
        let end = at + gap;
        step_until(&mut router, end);
        while let Some(departure) = router.poll_departure() {
            took.push(departure.intended.since(at + ms(5)));
        }
    }
    (took, router.cross_counts())
}

/// Lets happen what is due before `end`, each thing at its own instant.
fn step_until(router: &mut Router, end: Instant) {
    while let Some(next) = router.next_at().filter(|next| *next < end) {
        assert!(router.step(next, &mut ()));
    }
}

/// A client before one shared link of 1 Mb/s and 5 ms, with an unlimited queue.
fn before_a_link(queue: &str) -> Scene {
    let mut scene = Scene::at(Duration::ZERO);
    scene.shared = vec![link(&format!("delay = '5ms'\nrate = '1Mbit'\nqueue = {queue}"))];
    scene
}

/// A packet that comes to an M/D/1 queue waits ρs/(2(1-ρ)) in the mean (Pollaczek and Khinchine), and finds
/// it empty with probability 1-ρ. A probe of 36 B then takes 0.288 ms of its own.
#[test]
fn poisson_packets_are_an_m_d_1_queue() {
    for (rate, load) in [("500kbit", 0.5), ("800kbit", 0.8)] {
        let mut scene = before_a_link("'unlimited'");
        scene.cross_traffic = vec![flow(0, &format!("rate = '{rate}'\npacket = 1000"))];
        let (took, counts) = probes(&scene, 8_000, Duration::from_ms(600));
        let own = Duration::from_us(288);
        let waits: Vec<f64> = took.iter().map(|took| (took.as_ns() - own.as_ns()) as f64 / 1e9).collect();
        assert_eq!(waits.len(), 8_000);
        let mean = waits.iter().sum::<f64>() / waits.len() as f64;
        let expected = load * 0.008 / (2.0 * (1.0 - load));
        // Waits decorrelate within some hundred ms; a deviation of the mean is below 2.5 %.
        assert!((mean / expected - 1.0).abs() < 0.08, "{mean} s at {load}, {expected} s in theory");
        let empty = waits.iter().filter(|wait| **wait == 0.0).count() as f64 / waits.len() as f64;
        assert!((empty - (1.0 - load)).abs() < 0.03, "{empty} found it empty at {load}");
        let packets = counts[0].packets as f64 / (4_800.0 * load * 125.0);
        assert!((packets - 1.0).abs() < 0.01 && counts[0].lost + counts[0].dropped == 0, "{counts:?}");
    }
}

/// At equal intervals nobody waits but for the packet that is on the link: one that comes x after it waits
/// s-x.
#[test]
fn constant_packets_are_where_they_should_be() {
    let mut scene = before_a_link("'unlimited'");
    scene.cross_traffic = vec![flow(0, "rate = '500kbit'\npacket = 1000\narrivals = 'constant'")];
    // Packets come at 0, 16, 32 ms …, and are on the link for 8 ms.
    let (took, counts) = probes(&scene, 16, ms(17));
    let expected: Vec<Duration> = (1..=16u64)
        .map(|nth| {
            // The last comes at the instant of a packet, and before it.
            let waits = [0, 7, 6, 5, 4, 3, 2, 1][..].get(nth as usize % 16).copied().unwrap_or(0);
            Duration::from_us(288) + ms(waits)
        })
        .collect();
    assert_eq!(took, expected);
    assert_eq!(counts[0].packets, 17 * 17 / 16 + 1);
}

/// Of twice what a link carries, half is dropped, whichever the queue; each kind of queue decides in its own
/// way.
#[test]
fn what_finds_no_room_is_counted_apart() {
    let fair = "{ discipline = 'fq-codel', limit = '50 packets' }";
    for queue in ["'20 packets'", "{ discipline = 'codel', limit = '50 packets' }", fair] {
        let mut scene = before_a_link(queue);
        scene.cross_traffic = vec![flow(0, "rate = '2Mbit'\npacket = 500\nto = '100s'")];
        let (took, counts) = probes(&scene, 100, Duration::from_secs(2));
        let CrossCounts { packets, lost, dropped } = counts[0];
        assert_eq!(lost, 0);
        assert!((49_000..51_000).contains(&packets), "{packets} packets in 100 s");
        let share = dropped as f64 / packets as f64;
        assert!((0.48..0.52).contains(&share), "{share} dropped by {queue}");
        // Those that come after the flow find the link idle.
        assert!(took.len() >= 50 && took.ends_with(&[Duration::from_us(288); 45]), "{} probes", took.len());
    }
    let mut scene = Scene::at(Duration::ZERO);
    scene.shared = vec![link("delay = '5ms'\nloss = '25%'")];
    scene.cross_traffic = vec![flow(0, "rate = '1Mbit'\npacket = 125\nto = '20s'")];
    let (_, counts) = probes(&scene, 30, Duration::from_secs(1));
    let share = counts[0].lost as f64 / counts[0].packets as f64;
    assert!((share - 0.25).abs() < 0.02 && counts[0].dropped == 0, "{counts:?}");
}

/// Before a queue for each flow a flow that sends little waits for no more than the packet in transmission,
/// whatever another sends; before one queue for all it waits for tens of them.
#[test]
fn a_sparse_flow_passes_a_heavy_one() {
    let took = |queue| {
        let mut scene = before_a_link(queue);
        scene.cross_traffic = vec![flow(0, "rate = '2Mbit'\npacket = 500")];
        probes(&scene, 100, Duration::from_secs(1)).0
    };
    let (own, packet) = (Duration::from_us(288), ms(4));
    let fair = took("'fq-codel'");
    assert_eq!(fair.len(), 100, "none of them is dropped");
    assert!(fair.iter().all(|took| (own..=own + packet).contains(took)), "{fair:?}");
    let one_queue = took("'50 packets'");
    assert!(one_queue.iter().all(|took| *took > packet.times(20)), "{one_queue:?}");
}

/// Users behind a busy link, on one thread and on three: the same bytes, and slower than without.
#[test]
fn users_behind_cross_traffic_are_the_same_on_any_number_of_threads() {
    let mut scene = Scene::crowd(192, ms(20));
    scene.path = "/bytes/20000".into();
    scene.shared = vec![link("delay = '4ms'\nrate = '60Mbit'\nqueue = '64KiB'"), link("delay = '2ms'")];
    scene.length = ms(1_500);
    let alone = scene.play();
    // Down are the links 2 and 3; the server's end is before 2.
    scene.cross_traffic = vec![
        flow(2, "rate = '30Mbit'"),
        flow(1, "rate = '5Mbit'\narrivals = 'constant'"),
        flow(3, "rate = '1Mbit'"),
    ];
    let one = scene.play();
    assert!(one.cross.iter().all(|flow| flow.packets > 100), "{:?}", one.cross);
    assert!(one.cross[0].dropped > 0, "{:?}", one.cross);
    assert!(
        ok(&one).count() * 10 < ok(&alone).count() * 9,
        "{} and {}",
        ok(&one).count(),
        ok(&alone).count()
    );
    scene.shards = 3;
    assert!(bytes_of(&scene.play()) == bytes_of(&one), "three threads");
    let mut simulation = scene.simulation();
    (simulation.users.seed, simulation.shards) = (Seed(2), count(1));
    let other = simulate(&simulation).expect("a network");
    assert_ne!(other.cross[0].packets, one.cross[0].packets, "another seed, other instants");
}
