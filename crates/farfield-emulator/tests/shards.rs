//! One seed gives one result, byte for byte: twice, and on one, two and three threads.

mod scene;

use farfield_base::Duration;
use farfield_emulator::Simulated;
use scene::{Scene, bytes_of, link, ms};

fn same_on_any_number(scene: &mut Scene) -> Simulated {
    let first = scene.play();
    for shards in [1, 2, 3] {
        scene.shards = shards;
        let again = scene.play();
        assert!(bytes_of(&first) == bytes_of(&again), "{shards} shards differ");
    }
    first
}

#[test]
fn a_shared_bottleneck() {
    let mut scene = Scene::crowd(384, ms(20)).policy("policy = 'one-request'");
    scene.shared = vec![link("delay = '2ms'\nrate = '20Mbit'\nqueue = '64KiB'\nloss = '0.2%'"); 2];
    scene.length = Duration::from_secs(1);
    let played = same_on_any_number(&mut scene);
    assert!(played.drops.queue_full > 30 && played.drops.lost > 3, "{:?}", played.drops);
    assert!(played.samples.len() > 800);
}

#[test]
fn a_queue_that_tells_later() {
    let mut scene = Scene::crowd(256, ms(30));
    scene.shared = vec![link("delay = '1ms'\nrate = '10Mbit'\nqueue = { discipline = 'codel' }")];
    scene.length = Duration::from_secs(1);
    same_on_any_number(&mut scene);
}

#[test]
fn visitors_of_an_open_load() {
    let mut scene = Scene::crowd(192, ms(25));
    scene.own = link("delay = '12ms'\nloss = '2%'\nduplicate = '1%'\ncorrupt = '1%'");
    for load in [
        "{ model = 'open', arrivals = '700/s' }",
        "{ model = 'hybrid', arrivals = '150/s', think = { law = 'weibull', shape = 0.7, scale = '60ms' } }",
        "{ model = 'overload', descriptors = 200, timeout = '100ms' }",
    ] {
        scene.load = load.into();
        scene.length = Duration::from_ms(700);
        scene.drain = Duration::from_ms(300);
        let played = same_on_any_number(&mut scene);
        assert!(played.samples.len() > 100, "{load}: {}", played.samples.len());
    }
}
