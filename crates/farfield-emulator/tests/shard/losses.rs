//! Losses that belong to connections, of packets whose connections are not farfield's.

use crate::scene::{Scene, link};
use farfield_base::random::Seed;
use farfield_base::{Duration, Instant};
use farfield_emulator::{ClientId, Packet, Router, Udp};
use farfield_wire::Ecn;
use std::sync::Arc;

/// Datagrams of a program in the place of a client: its link is bad for half of the time, and so loses half
/// of them in bursts of 20, not one in twenty as a link would that knows nothing of the packet before.
#[test]
fn packets_of_programs_are_lost_as_those_of_users_are() {
    const SENT: u32 = 4_000;
    let mut scene = Scene::at(Duration::from_ms(2));
    let chain = "model = 'gilbert-elliott', to-bad = '5%', to-good = '5%', per = 'connection'";
    scene.own = link(&format!("delay = '1ms'\nloss = {{ {chain} }}"));
    let network = scene.network();
    let addresses = network.addresses(ClientId::new(0));
    let mut router = Router::new(Arc::new(network), Seed(5));
    let mut passed = 0;
    for nth in 1..=SENT {
        let at = Instant::ZERO + Duration::from_ms(u64::from(nth) * 5);
        let udp = Udp { source_port: 1, destination_port: 2, payload: vec![0u8; 100].into() };
        router.handle_client_packet(at, Packet::udp(addresses, Ecn::NotEct, udp));
        while let Some(next) = router.next_at() {
            assert!(router.step(next, &mut ()));
        }
        passed += u32::from(router.poll_departure().is_some());
    }
    // A chain of two states: a deviation of 3.4 % of them.
    let share = f64::from(passed) / f64::from(SENT);
    assert!((0.35..0.65).contains(&share), "{share} passed");
}
