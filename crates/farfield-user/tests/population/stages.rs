//! Users and arrivals along stages, in virtual time: who is there, who leaves and who comes back.

use crate::scene::{Scene, Server, ms};
use farfield_base::{Duration, Instant, Note, Outcome, Sample};
use farfield_traffic::stages::UsersCourse;
use std::collections::BTreeMap;

/// Instants of milliseconds.
fn at(ms: u64) -> Instant {
    Instant::from_ns(ms * 1_000_000)
}

/// The samples of each user, in order.
fn by_user(samples: &[Sample]) -> BTreeMap<u32, Vec<Sample>> {
    let mut users: BTreeMap<u32, Vec<Sample>> = BTreeMap::new();
    for sample in samples {
        users.entry(sample.user).or_default().push(*sample);
    }
    users
}

/// Each user begins when the line comes to it, goes on as long as it is above it, and leaves after its page:
/// the number of users follows the line to the nanosecond.
#[test]
fn users_follow_the_line() {
    let mut scene = Scene::of("{ model = 'closed', stages = '2s:20,3s:20,4s:0', think = '85ms' }");
    scene.length = Duration::from_secs(9);
    let stage = scene.play();
    let course = UsersCourse::new(0, &"2s:20,3s:20,4s:0".parse().expect("stages"));
    let users = by_user(&stage.samples);
    assert_eq!(users.len(), 20);
    for (user, samples) in &users {
        let stay = course.stay(*user, Instant::ZERO).expect("a stay");
        let (first, last) = (samples[0], samples[samples.len() - 1]);
        assert_eq!(first.due, stay.from, "user {user}");
        // R is 15 ms, and 10 ms more for the first page: a page each 100 ms until it leaves.
        let pages = 1 + (stay.until.since(stay.from).as_ns() - 110_000_000).div_ceil(100_000_000);
        assert_eq!(samples.len() as u64, pages, "user {user}: {stay:?}");
        assert!(last.due < stay.until && last.outcome == Outcome::Ok, "user {user}");
    }
    assert_eq!(stage.samples.iter().filter(|own| own.outcome != Outcome::Ok).count(), 0);
    // Who thinks when the line falls below leaves at once, and nobody's connection is left.
    assert_eq!((stage.attempts.len(), stage.closed_by_client), (20, 20));
}

/// A user who is asked to leave in the middle of a page ends it.
#[test]
fn pages_are_ended() {
    let mut scene = Scene::of("{ model = 'closed', stages = '0s:3,1s:3,0s:0,1s:0' }");
    scene.server = Server { service: ms(400), ..Server::default() };
    scene.length = Duration::from_secs(2);
    let stage = scene.play();
    // Three pages each, of 420, 410 and 410 ms: the third is due at 830 ms, and over in the last stage.
    assert_eq!(stage.count(Outcome::Ok), 9);
    let last = stage.samples.iter().map(|own| own.done).max().expect("a page");
    assert!(last > at(1_000) && last < at(1_300), "{last:?}");
}

/// A user who comes back has its number, sessions of its own and other random numbers, on a new connection.
#[test]
fn users_come_back() {
    let mut scene = Scene::of(
        "{ model = 'closed', stages = '0s:4,2s:4,0s:1,1s:1,0s:3,2s:3', \
         think = { distribution = 'exponential', mean = '40ms' } }",
    );
    scene.length = Duration::from_secs(5);
    let scene = scene.session("[[state]]\nname = 'a'\npath = '/'\n[transitions]\na = { a = 0.7, end = 0.3 }");
    let stage = scene.play();
    let users = by_user(&stage.samples);
    let gaps = |samples: &[Sample], from: u64| -> Vec<Duration> {
        let own: Vec<&Sample> = samples.iter().filter(|own| own.due >= at(from)).collect();
        own.windows(2).take(9).map(|pair| pair[1].due.since(pair[0].due)).collect()
    };
    for user in 0..4 {
        let samples = &users[&user];
        let away = samples.iter().filter(|own| own.due >= at(2_000) && own.due < at(3_000)).count();
        let back = samples.iter().filter(|own| own.due >= at(3_000)).count();
        match user {
            0 => assert!(away > 5 && back > 10),
            3 => assert_eq!((away, back), (0, 0)),
            _ => {
                assert_eq!(away, 0, "user {user}");
                assert!(back > 10, "user {user}");
                let first = samples.iter().find(|own| own.due >= at(3_000)).expect("a page");
                assert_eq!(first.due, at(3_000));
                assert_ne!(gaps(samples, 0), gaps(samples, 3_000), "user {user}");
            }
        }
    }
    // Each session has a number of its own, and each that began has one end at most.
    let begun = |note: &Note| if let Note::Begun(begin) = note { Some(begin.session) } else { None };
    let mut sessions: Vec<u32> = stage.notes.iter().filter_map(begun).collect();
    let all = sessions.len();
    sessions.sort_unstable();
    sessions.dedup();
    assert!(all > 50);
    assert_eq!(sessions.len(), all);
}

/// A user who is away for less time than its page takes has never left.
#[test]
fn a_page_outlasts_the_gap() {
    let mut scene = Scene::of("{ model = 'closed', stages = '0s:2,1s:2,0s:1,50ms:1,0s:2,1s:2' }");
    scene.server = Server { service: ms(290), ..Server::default() };
    scene.length = ms(2_050);
    let stage = scene.play();
    assert_eq!(stage.attempts.len(), 2, "nobody left");
    let users = by_user(&stage.samples);
    assert_eq!(users[&0].len(), users[&1].len());
}

/// The n-th of evenly spaced arrivals comes where the area below the line is n + ½.
#[test]
fn arrivals_follow_the_line() {
    let mut scene =
        Scene::of("{ model = 'open', stages = '0s:10/s,2s:10/s,4s:50/s,2s:50/s,1s:0/s', spacing = 'even' }");
    scene.length = Duration::from_secs(9);
    let stage = scene.play();
    let in_second = |second: u64| {
        let inside = |own: &&Sample| own.due >= at(second * 1_000) && own.due < at((second + 1) * 1_000);
        stage.samples.iter().filter(inside).count() as u64
    };
    let counts: Vec<u64> = (0..9).map(in_second).collect();
    assert_eq!(counts, [10, 10, 15, 25, 35, 45, 50, 50, 25]);
}
