//! One seed gives one result, byte for byte: twice, and on one, two and three threads.

use crate::scene::{Scene, bytes_of, link, ms};
use farfield_base::{Duration, Sample};
use farfield_emulator::Simulated;

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
    for queue in [
        "'codel'",
        "'fq-codel'",
        "{ discipline = 'fq-codel', limit = '60 packets', queues = 64 }",
        "{ discipline = 'fq-pie', limit = '60 packets', queues = 64 }",
    ] {
        let mut scene = Scene::crowd(256, ms(30));
        scene.shared = vec![link(&format!("delay = '1ms'\nrate = '10Mbit'\nqueue = {queue}"))];
        scene.length = Duration::from_secs(1);
        let drops = same_on_any_number(&mut scene).drops;
        assert!(drops.delayed > 0 || drops.queue_full > 30, "{queue}: {drops:?}");
    }
}

/// Courses by a profile, of clients' own links behind two kinds of queue, and of a link that they share:
/// drawn by the links' streams, whichever thread comes first. Connections lose packets in their outages.
#[test]
fn paths_made_from_data() {
    let starlink = |queue| link(&format!("path-profile = 'starlink'\nrate = '10Mbit'\nqueue = {queue}"));
    for queue in ["'512KiB'", "'codel'"] {
        let mut scene = Scene::crowd(128, ms(25));
        scene.own = starlink(queue);
        scene.length = Duration::from_secs(2);
        let drops = same_on_any_number(&mut scene).drops;
        assert!(drops.lost > 5, "{queue}: {drops:?}");
    }
    let mut scene = Scene::crowd(12, ms(25));
    scene.shared = vec![starlink("'512KiB'")];
    scene.length = Duration::from_secs(100);
    let drops = same_on_any_number(&mut scene).drops;
    assert!(drops.lost > 5, "{drops:?}");
}

#[test]
fn visitors_of_an_open_load() {
    let mut scene = Scene::crowd(192, ms(25));
    scene.own = link("delay = '12ms'\nloss = '2%'\nduplicate = '1%'\ncorrupt = '1%'");
    for load in [
        "{ model = 'open', arrivals = '700/s' }",
        "{ model = 'hybrid', arrivals = '150/s', think = { distribution = 'weibull', shape = 0.7, scale = '60ms' } }",
        "{ model = 'overload', descriptors = 200, timeout = '100ms' }",
    ] {
        scene.load = load.into();
        scene.length = Duration::from_ms(700);
        scene.drain = Duration::from_ms(300);
        let played = same_on_any_number(&mut scene);
        assert!(played.samples.len() > 100, "{load}: {}", played.samples.len());
    }
}

/// Visitors who share connections: those of a client's, and no others, on any number of shards.
#[test]
fn users_of_a_shared_pool() {
    let mut scene = Scene::crowd(192, ms(25)).policy("policy = 'shared-pool'\npool-keep-alive = '200ms'");
    scene.load = "{ model = 'open', arrivals = '2000/s' }".into();
    scene.length = Duration::from_ms(700);
    let played = same_on_any_number(&mut scene);
    let mut shared = 0;
    let mut first = std::collections::BTreeMap::new();
    for sample in played.samples.iter().filter(|sample| sample.connection != Sample::NO_CONNECTION) {
        let user = *first.entry(sample.connection).or_insert(sample.user);
        assert_eq!(user % 192, sample.user % 192, "a connection is one client's");
        shared += u32::from(user != sample.user);
    }
    assert!(shared > 300, "{shared} of {}", played.samples.len());
}
