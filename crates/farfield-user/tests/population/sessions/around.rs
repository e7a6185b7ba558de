//! States that each session begins and ends with, and those that are asked for once in a run.

use super::results::ends;
use super::{ONE, line, lines, reply, scripted};
use crate::scene::Stage;
use farfield_base::Outcome;
use farfield_user::HttpVersion;
use farfield_user::{Itinerary, Target};

const STATES: &str = "
set-up = ['make']
first = ['login', 'welcome']
last = ['logout', 'bye']
tear-down = ['unmake']
[[state]]
name = 'make'
path = '/make'
extract.key = { header = 'x-key' }
[[state]]
name = 'login'
path = '/login'
extract.id = { header = 'x-id' }
[[state]]
name = 'welcome'
path = '/welcome'
[[state]]
name = 'a'
path = '/a/${id}'
[[state]]
name = 'b'
path = '/b'
[[state]]
name = 'logout'
path = '/logout/${id}?${click}'
if-found = 'id'
[[state]]
name = 'bye'
path = '/bye'
[[state]]
name = 'unmake'
path = '/unmake/${key}'
";

fn well(_: &str) -> String {
    reply(200, "X-Id: 5\r\nX-Key: k\r\n", "")
}

/// Paths that the first session asks for.
fn first_session(stage: &Stage) -> Vec<String> {
    let count = stage.samples.iter().filter(|sample| sample.session == 0).count();
    let path = |line: &&str| line.split(' ').nth(1).expect("a target").to_owned();
    lines(stage).iter().take(count).map(path).collect()
}

fn played(more: &str, script: fn(&str) -> String) -> Stage {
    scripted(ONE, &format!("{more}\n{STATES}"), script).play()
}

#[test]
fn sessions_begin_and_end_with_their_states() {
    let all = ["/login", "/welcome", "/a/5", "/b", "/logout/5?4", "/bye"];
    let stage = played("", well);
    assert_eq!(first_session(&stage), all);
    assert!(ends(&stage).len() > 1 && ends(&stage).iter().all(|end| end.broken_off.is_none()));
    // Neither count for `clicks`; a choice has no other end.
    let chosen = played("path = { a = 1 }\nclicks = 3", well);
    let paths = ["/login", "/welcome", "/a/5", "/a/5", "/a/5", "/logout/5?5", "/bye"];
    assert_eq!(first_session(&chosen), paths);
    let table = "entry = 'b'\n[transitions]\na = { end = 1 }\nb = { a = 1 }";
    let (top, rows) = table.split_once('\n').expect("two lines");
    let by_table = scripted(ONE, &format!("{top}\n{STATES}\n{rows}"), well).play();
    assert_eq!(first_session(&by_table), ["/login", "/welcome", "/b", "/a/5", "/logout/5?4", "/bye"]);
}

/// A session that is broken off goes to its last states all the same, and is broken off where it was.
#[test]
fn a_session_that_is_broken_off_ends_with_its_last_states() {
    let check = |more: &str, script: fn(&str) -> String, paths: &[&str], broken_off: u16| {
        let stage = played(more, script);
        assert_eq!(first_session(&stage), paths);
        assert_eq!(ends(&stage)[0].broken_off, Some(broken_off), "{paths:?}");
    };
    let of_a: fn(&str) -> String =
        |request| if line(request).starts_with("GET /a") { reply(500, "", "") } else { well("") };
    check("", of_a, &["/login", "/welcome", "/a/5", "/logout/5?3", "/bye"], 3);
    check("on-failure = 'retry 1'", of_a, &["/login", "/welcome", "/a/5", "/a/5", "/logout/5?3", "/bye"], 3);
    // Before it knew who it was, there is no user to log out.
    let of_login: fn(&str) -> String =
        |request| if line(request).starts_with("GET /login") { reply(403, "", "") } else { well("") };
    check("", of_login, &["/login", "/bye"], 1);
    // A page at the end that fails ends the session.
    let of_logout: fn(&str) -> String =
        |request| if line(request).starts_with("GET /logout") { reply(500, "", "") } else { well("") };
    check("path = ['b']", of_logout, &["/login", "/welcome", "/b", "/logout/5?3"], 5);
    let of_both: fn(&str) -> String = |request| match line(request) {
        "GET /b HTTP/1.1" | "GET /bye HTTP/1.1" => reply(500, "", ""),
        _ => well(""),
    };
    check("path = ['b']", of_both, &["/login", "/welcome", "/b", "/logout/5?3", "/bye"], 4);
}

/// The set-up and the tear-down are sessions of their own, without thinking, and all sessions know what the
/// one gave.
#[test]
fn all_sessions_know_what_the_set_up_extracted() {
    let session = format!("think = '1h'\npath = ['b']\n{}", STATES.replace("/b'", "/b?${key}'"));
    let scene = scripted(ONE, &session, well);
    let target = [Target {
        host: "server".into(),
        version: HttpVersion::Http11,
        authorization: None,
        secure: false,
        proxy: None,
    }];
    let mut itinerary =
        Itinerary::sessions(scene.session.clone().expect("a session"), &target).expect("requests");
    itinerary.give(&[None, Some((*b"k7").into())]);
    let [set_up, tear_down] = itinerary.around_run().map(|part| part.expect("there is one"));
    let asked = |itinerary: &Itinerary, load: &str| {
        let mut scene = scripted(load, "[[state]]\nname = 'x'\npath = '/'", well);
        scene.itinerary = Some(itinerary.clone());
        let stage = scene.play();
        assert_eq!(stage.count(Outcome::Ok), stage.samples.len());
        first_session(&stage)
    };
    let once = "{ model = 'hybrid', arrivals = { process = 'constant', rate = '1/s' } }";
    assert_eq!(asked(&set_up, once), ["/make"]);
    assert_eq!(asked(&tear_down, once), ["/unmake/k7"]);
    let mut thinking = itinerary.clone();
    thinking.give(&[None, Some((*b"k8").into())]);
    assert_eq!(asked(&thinking, once), ["/login"], "the set-up is no part of it, and its user thinks");
    let quick = scripted(ONE, &session.replace("'1h'", "'1ms'"), well);
    let mut itinerary =
        Itinerary::sessions(quick.session.clone().expect("a session"), &target).expect("requests");
    itinerary.give(&[None, Some((*b"k9").into())]);
    let mut scene = scripted(ONE, "[[state]]\nname = 'x'\npath = '/'", well);
    scene.itinerary = Some(itinerary);
    let stage = scene.play();
    let known = lines(&stage).iter().filter(|line| **line == "GET /b?k9 HTTP/1.1").count();
    assert!(known > 3, "{known} sessions");
}
