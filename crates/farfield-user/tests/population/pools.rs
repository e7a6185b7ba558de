//! Connections that users share: who takes which, how many are kept, and for how long, against exact counts.
//!
//! A request takes 15 ms on a connection that is open and 25 ms on one that is not.

use crate::scene::{Scene, Server, Stage, ms};
use farfield_base::{Duration, Outcome};
use std::collections::{BTreeMap, BTreeSet};

const POOL: &str = "policy = 'shared-pool'";

fn scene(load: &str, policy: &str) -> Scene {
    let mut scene = Scene::of(load);
    scene.policy = toml::from_str(policy).expect("a policy");
    scene
}

/// Visitors who come one after the other, each the next second.
fn one_a_second(policy: &str, length_s: u64) -> Stage {
    let mut scene = scene("{ model = 'open', arrivals = { process = 'constant', rate = '1/s' } }", policy);
    scene.length = Duration::from_secs(length_s);
    scene.play()
}

/// Users on each connection, in order of their requests, by the connection's serial.
fn users(stage: &Stage) -> BTreeMap<u32, Vec<u32>> {
    let mut users: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let mut samples: Vec<_> = stage.ok().collect();
    samples.sort_by_key(|sample| sample.sent.instant());
    for sample in samples {
        let on_it = users.entry(sample.connection).or_default();
        assert_eq!(sample.number as usize, on_it.len());
        on_it.push(sample.user);
    }
    users
}

#[test]
fn one_connection_is_everybodys() {
    let stage = one_a_second(POOL, 60);
    let users = users(&stage);
    assert_eq!((users.len(), stage.attempts.len()), (1, 1));
    let all: BTreeSet<u32> = users[&0].iter().copied().collect();
    assert!(all.len() >= 59 && all.len() == users[&0].len(), "each visitor asks once: {users:?}");
}

/// A second after a reply the connection is there, unless connections are kept for less.
#[test]
fn an_idle_connection_is_closed_in_time() {
    let kept = one_a_second("policy = 'shared-pool'\npool-keep-alive = '990ms'", 60);
    assert_eq!(users(&kept).len(), 1);
    let closed = one_a_second("policy = 'shared-pool'\npool-keep-alive = '974ms'", 60);
    let users = users(&closed);
    assert!(users.len() >= 59 && users.values().all(|users| users.len() == 1), "{users:?}");
    assert_eq!(closed.open_most, 1);
}

/// A pool that keeps nothing closes behind each reply.
#[test]
fn a_pool_may_keep_nothing() {
    let stage = one_a_second("policy = 'shared-pool'\npool-idle = 0", 60);
    assert!(users(&stage).values().all(|users| users.len() == 1));
    assert_eq!((stage.attempts.len(), stage.closed_by_client), (stage.samples.len(), stage.samples.len()));
}

/// Eight users in step, who think for a second. All open a connection, and five of these are kept. In the
/// next two rounds five users find one and three open another, which is one too many when they are done, and
/// takes them 10 ms longer. Then these three are so late that the five are idle again when they ask.
#[test]
fn no_more_are_kept_than_the_pool_holds() {
    let mut scene = scene("{ model = 'closed', users = 8, think = '1s', ramp = '0s' }", POOL);
    scene.length = Duration::from_ms(20_500);
    let stage = scene.play();
    assert_eq!((stage.open_most, stage.attempts.len()), (8, 8 + 3 + 3));
    let users = users(&stage);
    let once = users.values().filter(|users| users.len() == 1).count();
    assert_eq!(once, 3 + 3 + 3);
    // Five connections carry all else, whoever asks.
    assert_eq!(users.values().map(Vec::len).sum::<usize>(), 21 * 8);
    assert_eq!(users.len() - once, 5);
}

/// A page begins on the connection on which the page before it ended.
#[test]
fn the_last_is_taken_first() {
    let mut scene = scene("{ model = 'closed', users = 1 }", "policy = 'shared-pool'\nparallel = 3");
    scene.requests = crate::scene::requests("[[request]]\npath = '/'\nembedded = ['/1', '/2', '/3']");
    let stage = scene.play();
    let pages: Vec<_> = stage.samples.chunks_exact(4).collect();
    assert!(pages.len() > 300 && stage.attempts.len() == 3, "{}", stage.attempts.len());
    for pair in pages.windows(2) {
        assert_eq!(pair[1][0].connection, pair[0][3].connection);
    }
    let begun: BTreeSet<u32> = pages.iter().map(|page| page[0].connection).collect();
    assert!(begun.len() > 1, "another one each time");
}

/// Two machines share nothing.
#[test]
fn each_machine_has_a_pool() {
    let mut scene = scene("{ model = 'open', arrivals = { process = 'constant', rate = '1/s' } }", POOL);
    scene.machines = 2;
    scene.length = Duration::from_secs(60);
    let users = users(&scene.play());
    assert_eq!(users.len(), 2);
    for (machine, users) in users.values().enumerate() {
        assert!(users.iter().all(|user| *user as usize % 2 == machine), "{users:?}");
    }
}

/// A user's own requests of a page go over connections of the pool as well, and over new ones.
#[test]
fn a_page_shares_what_is_idle() {
    let mut scene = scene("{ model = 'closed', users = 1 }", "policy = 'shared-pool'\nparallel = 6");
    scene.requests =
        crate::scene::requests("[[request]]\npath = '/'\nembedded = ['/1', '/2', '/3', '/4', '/5', '/6']");
    let stage = scene.play();
    assert_eq!((stage.open_most, stage.depth_most), (6, 1));
    // A page of six closes one, since five are kept, and the next page opens another.
    let pages = stage.ok().filter(|sample| sample.request == 0).count();
    assert!(stage.attempts.len().abs_diff(5 + pages) <= 1, "{} for {pages} pages", stage.attempts.len());
}

/// A server that closes idle connections without having said so: what meets that is sent again, on a new
/// connection, and no failure of an idle connection is anybody's.
#[test]
fn a_server_that_closes_idle_connections() {
    let mut scene = scene("{ model = 'closed', users = 4, think = '100ms' }", POOL);
    scene.server = Server { closes_silently_after: Some(3), ..Server::default() };
    let stage = scene.play();
    assert_eq!(stage.count(Outcome::Ok) + stage.count(Outcome::Unfinished), stage.samples.len());
    assert!(users(&stage).values().all(|users| users.len() <= 3));
    assert!(stage.counts.resent > 100, "{}", stage.counts.resent);
    let announced = Server { replies_a_connection: Some(3), ..Server::default() };
    scene.server = announced;
    let stage = scene.play();
    assert_eq!(stage.counts.resent, 0);
    assert!(stage.ok().all(|sample| sample.service_time() == Some(ms(15))));
}
