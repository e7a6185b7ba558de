//! Links that take no packets: what TCP makes of each answer of a router, and of none (RFC 1122, section
//! 4.2.3.9).

use crate::scene::{Scene, bytes_of, link, ms, ok, with};
use farfield_base::random::Seed;
use farfield_base::{Duration, Instant, Outcome};
use farfield_emulator::{ClientId, Packet, Router, Udp};
use farfield_wire::{Ecn, Icmpv4Repr, Icmpv6Repr, IpPacket, Transport, Unreachable, Unreachablev6};
use std::net::Ipv6Addr;
use std::sync::Arc;

/// A client 10 ms from its edge router, before a shared link that `unreachable` closes.
fn behind(unreachable: &str) -> Scene {
    let mut scene = Scene::at(ms(20));
    scene.shared = vec![link(&format!("delay = '5ms'\nunreachable = {unreachable}")), link("delay = '5ms'")];
    scene
}

/// The router's answer ends an attempt to connect after a round trip to it, whichever it is.
#[test]
fn each_answer_ends_an_attempt_to_connect() {
    for answer in ["host", "network", "prohibited"] {
        let mut scene = behind(&format!("'{answer}'"));
        scene.load = "{ model = 'open', arrivals = '10/s' }".into();
        let simulated = scene.play();
        let failed = with(&simulated, Outcome::Unreachable);
        assert!(failed > 50 && failed == simulated.samples.len(), "{failed} of {}", simulated.samples.len());
        for sample in &simulated.samples {
            assert_eq!(sample.done.since(sample.due), ms(20), "{sample:?}");
        }
        assert_eq!(simulated.drops.unreachable, failed as u64);
        scene.shards = 2;
        assert!(bytes_of(&scene.play()) == bytes_of(&simulated));
    }
}

/// Without an answer the client sends its SYN again, and its user gives up after half a minute.
#[test]
fn no_answer_is_silence() {
    let mut scene = behind("'nothing'");
    scene.load = "{ model = 'open', arrivals = '1/s' }".into();
    scene.length = Duration::from_secs(3);
    scene.drain = Duration::from_secs(200);
    let simulated = scene.play();
    assert!(!simulated.samples.is_empty());
    let outcomes: Vec<Outcome> = simulated.samples.iter().map(|sample| sample.outcome).collect();
    assert!(outcomes.iter().all(|outcome| *outcome == Outcome::TimedOut), "{outcomes:?}");
    // Linux: SYNs after 0, 1, 3, 7 and 15 s.
    assert_eq!(simulated.drops.unreachable, 5 * simulated.samples.len() as u64);
}

/// On a connection that is open all of them are soft errors: what was lost is sent again when the link is
/// back, and no request fails.
#[test]
fn answers_are_soft_errors_on_an_open_connection() {
    for answer in ["host", "network", "prohibited", "nothing"] {
        let scene = behind(&format!("{{ answer = '{answer}', from = '2s', to = '3s' }}"));
        let simulated = scene.play();
        assert_eq!(with(&simulated, Outcome::Ok), simulated.samples.len());
        assert_eq!(simulated.connects, 1);
        let slowest = ok(&simulated).map(|sample| sample.done.since(sample.due)).max().expect("requests");
        assert!(slowest >= ms(900), "one waited for the link: {slowest}");
        assert!(simulated.drops.unreachable > 0);
    }
}

/// Two links of a client's own are closed each in its time.
#[test]
fn each_of_a_clients_links_has_times_of_its_own() {
    let closed = |from: u32| {
        let to = from + 1;
        link(&format!(
            "delay = '1ms'\nunreachable = {{ answer = 'nothing', from = '{from}s', to = '{to}s' }}"
        ))
    };
    let mut scene = Scene::at(ms(2));
    scene.own = closed(1);
    let mut network = scene.network();
    network.classes[0].up.push(closed(3));
    let up = network.addresses(ClientId::new(0));
    let mut router = Router::new(Arc::new(network), Seed(1));
    let mut passes = |at_ms: u64| {
        let udp = Udp { source_port: 7, destination_port: 9, payload: b"still there?".as_slice().into() };
        router.handle_client_packet(Instant::ZERO + ms(at_ms), Packet::udp(up, Ecn::NotEct, udp));
        while let Some(next) = router.next_at() {
            assert!(router.step(next, &mut ()));
        }
        router.poll_departure().is_some()
    };
    assert_eq!([500, 1_500, 2_500, 3_500, 4_500].map(&mut passes), [true, false, true, false, true]);
}

/// A real client hears the codes of each family, from the router before the link, with the packet quoted.
#[test]
fn routers_say_why() {
    for (answer, v4, v6) in [
        ("host", Unreachable::Host, Unreachablev6::Address),
        ("network", Unreachable::Network, Unreachablev6::NoRoute),
        ("prohibited", Unreachable::Prohibited, Unreachablev6::Prohibited),
    ] {
        for is_v6 in [false, true] {
            let mut scene = behind(&format!("'{answer}'"));
            if is_v6 {
                scene.first_address = Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1).into();
            }
            let network = scene.network();
            let up = network.addresses(ClientId::new(0));
            let mut router = Router::new(Arc::new(network), Seed(1));
            let udp = Udp { source_port: 7, destination_port: 9, payload: b"is it there?".as_slice().into() };
            router.handle_client_packet(Instant::ZERO, Packet::udp(up, Ecn::NotEct, udp));
            while let Some(next) = router.next_at() {
                assert!(router.step(next, &mut ()));
            }
            assert!(router.poll_departure().is_none());
            let heard = router.poll_arrival().expect("an answer");
            assert_eq!(heard.intended, Instant::ZERO + ms(20));
            let bytes = heard.packet.to_bytes();
            let ip = IpPacket::parse(&bytes).expect("a packet");
            match ip.transport().expect("ICMP") {
                Transport::Icmpv4(icmp) => {
                    let Ok(Icmpv4Repr::Unreachable { reason, .. }) = Icmpv4Repr::parse(&icmp) else {
                        panic!("{ip:?}")
                    };
                    assert_eq!(reason, v4);
                }
                Transport::Icmpv6(icmp) => {
                    let Ok(Icmpv6Repr::Unreachable { reason, .. }) = Icmpv6Repr::parse(&icmp) else {
                        panic!("{ip:?}")
                    };
                    assert_eq!(reason, v6);
                }
                other => panic!("{other:?}"),
            }
        }
    }
}
