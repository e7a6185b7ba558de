//! A load that goes on after the measured part.

use crate::scene::{Scene, bytes_of, ms};
use farfield_base::{Duration, Instant};
use farfield_emulator::{Simulated, simulate};
use farfield_user::LoadEnd;

/// Plays a scene of two seconds, of which the last `cool_down` is not measured.
fn play(scene: &Scene, cool_down: Duration) -> Simulated {
    let mut simulation = scene.simulation();
    simulation.window.measure_to = Instant::ZERO + (ms(2_000) - cool_down);
    simulation.users.end = LoadEnd { cool_down, ..LoadEnd::default() };
    simulate(&simulation).expect("a network with clients and delays")
}

/// A run that cools down is the longer run, request by request, on one shard and on three: only what counts
/// differs. One without ends its load sooner.
#[test]
fn a_run_that_cools_down_is_the_longer_run() {
    for load in [
        "{ model = 'closed', users = 20, think = '50ms' }",
        "{ model = 'open', arrivals = '200/s' }",
        "{ model = 'hybrid', arrivals = '40/s', requests = { distribution = 'geometric', mean = 3 }, think = '100ms' }",
    ] {
        for shards in [1, 3] {
            let scene = Scene { load: load.to_owned(), shards, ..Scene::crowd(20, ms(20)) };
            let (whole, cooled) = (play(&scene, Duration::ZERO), play(&scene, ms(700)));
            assert_eq!(cooled.samples, whole.samples, "{load}");
            assert_eq!(cooled.ended, whole.ended);
            assert!(cooled.in_system_area < whole.in_system_area);
            let shorter = Scene { length: ms(1_300), ..scene };
            let shorter = simulate(&shorter.simulation()).expect("a network");
            assert!(shorter.samples.len() < cooled.samples.len(), "{load}");
            assert_ne!(bytes_of(&shorter), bytes_of(&cooled));
        }
    }
}
