//! Sums over a whole simulation: time in the system, requests, and what cannot be simulated.

use crate::scene::{Scene, link, ms, ok};
use farfield_base::Duration;
use farfield_emulator::LinkCounts;

/// Little's law, exactly: the time in the system that users integrated is that of the samples.
#[test]
fn users_and_samples_agree_on_the_time_in_the_system() {
    let mut scene = Scene::crowd(50, ms(40));
    scene.load =
        "{ model = 'closed', users = 50, think = { distribution = 'exponential', mean = '100ms' } }".into();
    scene.length = Duration::from_secs(3);
    scene.drain = Duration::from_secs(5);
    let played = scene.play();
    let end = 3_000_000_000;
    let time = |from: u64, to: u64| u128::from(to.min(end).saturating_sub(from.min(end)));
    let area: u128 = played.samples.iter().map(|sample| time(sample.due.as_ns(), sample.done.as_ns())).sum();
    assert_eq!(played.in_system_area, area);
    assert_eq!(ok(&played).count(), played.samples.len());
}

/// A limit of requests ends the load, whichever users' they are.
#[test]
fn a_count_of_requests_ends_the_load() {
    let scene = Scene::crowd(128, ms(10));
    let mut simulation = scene.simulation();
    simulation.users.requests_max = Some(1000);
    let played = farfield_emulator::simulate(&simulation).expect("a network");
    assert_eq!(played.samples.len(), 1000);
    assert!(played.ended.as_ns() < 1_000_000_000, "nobody waits for the end of the window");
}

/// Packets that come to a link are carried, lost or dropped by it; what one carries comes to the next, and to
/// the server; on any number of threads.
#[test]
fn links_count_what_passes_them_and_what_does_not() {
    let mut scene = Scene::crowd(48, ms(20));
    scene.path = "/bytes/20000".into();
    scene.shared = vec![
        link("delay = '4ms'\nrate = '5Mbit'\nqueue = '10 packets'"),
        link("delay = '2ms'\nloss = '2%'\noverhead = 18\nrate = '10Mbit'"),
    ];
    (scene.length, scene.drain) = (ms(900), Duration::from_secs(60));
    let one = scene.play();
    let came = |link: &LinkCounts| link.packets + link.impairments.gone();
    let [up, at_server, down, at_edge] = one.links[..] else { panic!("four links: {:?}", one.links) };
    assert_eq!(came(&at_server), up.packets);
    assert_eq!(at_server.packets, one.server.packets_in);
    assert_eq!(came(&down), one.server.packets_out);
    assert_eq!(came(&at_edge), down.packets);
    let lost: u64 = one.links.iter().map(|link| link.impairments.lost).sum();
    let dropped: u64 = one.links.iter().map(|link| link.impairments.dropped).sum();
    assert!(lost > 0 && dropped > 0, "{:?}", one.links);
    assert_eq!((lost, dropped), (one.drops.lost, one.drops.queue_full));
    // Twenty kilobytes a reply and a head, in packets of 1460 bytes with 52 of headers; what is lost, again.
    let replies = ok(&one).count() as u64 * 20_000;
    assert!(at_edge.bytes > replies && at_edge.bytes < replies * 12 / 10, "{at_edge:?} for {replies}");
    scene.shards = 3;
    assert_eq!(scene.play().links, one.links);
}

/// Without any delay there is nothing to look ahead by.
#[test]
fn a_network_without_delay_is_refused() {
    let mut scene = Scene::at(ms(10));
    scene.own = crate::scene::link("rate = '1Gbit'");
    let refused = farfield_emulator::simulate(&scene.simulation());
    assert!(matches!(refused, Err(farfield_emulator::simulation::SimulationError::NoDelay)));
}
