//! Sums over a whole simulation: time in the system, requests, and what cannot be simulated.

mod scene;

use farfield_base::Duration;
use scene::{Scene, ms, ok};

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
    simulation.requests_max = Some(1000);
    let played = farfield_emulator::simulate(&simulation).expect("a network");
    assert_eq!(played.samples.len(), 1000);
    assert!(played.ended.as_ns() < 1_000_000_000, "nobody waits for the end of the window");
}

/// Without any delay there is nothing to look ahead by.
#[test]
fn a_network_without_delay_is_refused() {
    let mut scene = Scene::at(ms(10));
    scene.own = scene::link("rate = '1Gbit'");
    let refused = farfield_emulator::simulate(&scene.simulation());
    assert!(matches!(refused, Err(farfield_emulator::simulation::SimulationError::NoDelay)));
}
