//! Queues that mark, and clients whose TCP reacts to marks.

use crate::scene::{Scene, bytes_of, link, ms, ok};
use farfield_base::Duration;
use farfield_emulator::Simulated;
use farfield_tcp::{Config, EcnUse};

/// Downloads of 200 kB through `queue`, by clients that use marks so, on `shards` threads.
fn downloads(queue: &str, ecn: EcnUse, shards: u32) -> Simulated {
    let mut scene = Scene::crowd(32, ms(40));
    scene.path = "/bytes/200000".into();
    scene.tcp = Config::linux().with(|config| config.ecn = ecn);
    scene.shared = vec![link(&format!("delay = '5ms'\nrate = '20Mbit'\nqueue = {queue}"))];
    scene.length = Duration::from_secs(4);
    scene.drain = Duration::from_secs(20);
    scene.shards = shards;
    scene.play()
}

fn marked(played: &Simulated) -> u64 {
    played.links.iter().map(|link| link.impairments.marked).sum()
}

/// Queues mark in place of dropping if both ends agreed, and hardly anything is sent again; they drop if the
/// client does not ask for marks.
#[test]
fn marks_take_the_place_of_losses() {
    for queue in ["{ discipline = 'codel', ecn = true }", "'fq-codel'"] {
        let (with, without) = (downloads(queue, EcnUse::Offer, 1), downloads(queue, EcnUse::Accept, 1));
        assert_eq!((marked(&without), with.drops.queue_full), (0, 0), "{queue}");
        // What is never marked is dropped still: acknowledgments, SYNs, and what is sent again.
        assert!(without.drops.delayed > 200, "{queue}: {:?}", without.drops);
        assert!(with.drops.delayed * 10 < without.drops.delayed, "{queue}: {:?}", with.drops);
        assert!(marked(&with) > 200, "{queue}: {} marked", marked(&with));
        let again = |played: &Simulated| {
            ok(played).map(|sample| sample.tcp.map_or(0, |tcp| u32::from(tcp.out_of_order))).sum::<u32>()
        };
        assert!(again(&with) * 5 < again(&without), "{queue}: {} and {}", again(&with), again(&without));
        let count = |played: &Simulated| ok(played).count();
        assert!(
            count(&with) > 40 && count(&with) * 10 > count(&without) * 9,
            "{queue}: {} and {}",
            count(&with),
            count(&without)
        );
    }
}

/// Senders that react keep the queue as short by marks as by losses: the mean response time is no longer.
#[test]
fn marks_hold_the_queue_down() {
    let mean_s = |queue, ecn| {
        let played = downloads(queue, ecn, 1);
        let times: Vec<f64> = ok(&played).map(|sample| sample.done.since(sample.due).as_secs_f64()).collect();
        times.iter().sum::<f64>() / times.len() as f64
    };
    let queue = "{ discipline = 'codel', ecn = true }";
    let (with, without) = (mean_s(queue, EcnUse::Offer), mean_s(queue, EcnUse::Accept));
    let bloated = mean_s("'unlimited'", EcnUse::Accept);
    assert!(with < without * 1.1 && with < bloated * 1.1, "{with} s, {without} s, {bloated} s");
}

#[test]
fn marks_are_the_same_on_any_number_of_threads() {
    for queue in ["'fq-codel'", "{ discipline = 'pie', ecn = true }"] {
        let one = downloads(queue, EcnUse::Offer, 1);
        assert!(marked(&one) > 0, "{queue}");
        let three = downloads(queue, EcnUse::Offer, 3);
        assert!(bytes_of(&one) == bytes_of(&three), "{queue}");
        assert_eq!(one.links, three.links, "{queue}");
    }
}
