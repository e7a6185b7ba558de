//! Every arrival that was due has a row and an outcome, whatever the worker and the server do: none is lost
//! because the worker wakes late, above all not at the end of the load.

use crate::scene::{Scene, Server, Stage, ms};
use farfield_base::{Duration, Instant, Outcome, Sample};
use proptest::prelude::*;
use std::collections::BTreeMap;

const LENGTH: Duration = Duration::from_secs(2);

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_ms(ms)
}

/// A load of so many a second, by its number.
fn load(which: usize, rate: u32) -> String {
    let poisson = format!("{{ process = 'poisson', rate = '{rate}/s' }}");
    match which {
        0 => format!("{{ model = 'open', arrivals = {poisson} }}"),
        1 => format!("{{ model = 'open', arrivals = {poisson}, users-max = 3 }}"),
        2 => format!("{{ model = 'hybrid', arrivals = {poisson}, requests = 3, think = '40ms' }}"),
        _ => format!("{{ model = 'overload', descriptors = {rate}, timeout = '500ms' }}"),
    }
}

const LOADS: usize = 4;

fn server(which: usize) -> Server {
    match which {
        0 => Server::default(),
        1 => Server { mute: true, ..Server::default() },
        2 => Server { refuses: true, ..Server::default() },
        _ => Server { deaf: true, ..Server::default() },
    }
}

/// Due instant of each arrival by its rows: the first of each user's.
fn arrivals(samples: &[Sample]) -> BTreeMap<u32, Instant> {
    let mut first: BTreeMap<u32, Instant> = BTreeMap::new();
    for sample in samples {
        let due = first.entry(sample.user).or_insert(sample.due);
        *due = sample.due.min(*due);
    }
    first
}

/// The arrivals of the same load with a worker that is never late, and no server that could change anything.
fn truth(load: &str, share: (u32, u32)) -> BTreeMap<u32, Instant> {
    let mut scene = Scene::of(load);
    scene.length = LENGTH;
    let samples = scene.play_share(share.0, share.1).samples;
    arrivals(&samples)
}

fn play(load: &str, share: (u32, u32), change: impl Fn(&mut Scene)) -> Stage {
    let mut scene = Scene::of(load);
    scene.length = LENGTH;
    change(&mut scene);
    scene.play_share(share.0, share.1)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// The worker sleeps for a while anywhere, beyond the end of the load too, and may never wake again.
    #[test]
    fn every_arrival_has_a_row(
        which in 0..LOADS,
        rate in 1_u32..200,
        serves in 0_usize..4,
        held_up in (0_u64..2000, 0_u64..1500),
        stuck_from in prop_oneof![3 => Just(u64::MAX / 2_000_000), 1 => 0_u64..2500],
        share in prop_oneof![Just((0, 1)), Just((1, 3))],
    ) {
        let load = load(which, rate);
        let stage = play(&load, share, |scene| {
            scene.server = server(serves);
            scene.held_up = (at(held_up.0), at(held_up.0 + held_up.1));
            scene.stuck_from = at(stuck_from);
        });
        prop_assert_eq!(arrivals(&stage.samples), truth(&load, share));
        if which != 2 {
            prop_assert_eq!(stage.samples.len() as u64, stage.counts.scheduled, "one row each");
        }
        let unmade = stage.samples.iter().filter(|sample| sample.begun().is_none()).count() as u64;
        prop_assert!(stage.counts.missed + stage.counts.dropped <= unmade);
        let counted = stage.counts.begun + stage.counts.dropped + stage.counts.missed;
        prop_assert_eq!(counted, stage.counts.scheduled, "begun, dropped or missed");
    }
}

/// The arrival that is due just before the end, to which the worker comes just after it, is begun and
/// answered: a moment's sleep of the worker is no error of the server's.
#[test]
fn a_late_wake_at_the_end_loses_no_arrival() {
    let load = "{ model = 'open', arrivals = { process = 'constant', rate = '100/s' } }";
    let stage = play(load, (0, 1), |scene| scene.held_up = (at(1985), at(2003)));
    assert_eq!((stage.samples.len(), stage.count(Outcome::Ok)), (200, 200));
    let last = stage.samples.iter().max_by_key(|sample| sample.due).expect("samples");
    assert_eq!((last.due, last.begun()), (at(1995), Some(at(2003))));
    assert_eq!((stage.counts.begun, stage.counts.missed), (200, 0));
}

/// An arrival that a worker never comes to is unfinished, and as old as the time since it was due.
#[test]
fn what_was_never_come_to_is_unfinished_with_its_age() {
    let load = "{ model = 'open', arrivals = { process = 'constant', rate = '100/s' } }";
    let stage = play(load, (0, 1), |scene| scene.stuck_from = at(1500));
    let missed: Vec<_> = stage.samples.iter().filter(|sample| sample.due >= at(1500)).collect();
    assert_eq!((missed.len(), stage.counts.missed), (50, 50));
    for sample in missed {
        assert_eq!((sample.outcome, sample.begun()), (Outcome::Unfinished, None));
        assert_eq!(sample.response_time(), at(2000).since(sample.due));
    }
}

/// A user whose think time is over before the end asks, though the worker sleeps over the end.
#[test]
fn who_has_thought_by_the_end_asks() {
    let load = "{ model = 'closed', users = 7, think = '85ms' }";
    let stage = play(load, (0, 1), |scene| scene.held_up = (at(1900), at(2100)));
    for user in 0..7 {
        let last = stage.samples.iter().filter(|s| s.user == user).max_by_key(|s| s.due).expect("samples");
        assert!(last.due < at(2000) && last.done + ms(85) >= at(2000), "{last:?}");
        assert_eq!(last.outcome, Outcome::Ok);
    }
}
