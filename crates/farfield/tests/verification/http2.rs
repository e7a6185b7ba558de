//! Runs over HTTP/2 in cleartext against the packets of their captures, which a reader of its own rebuilds:
//! they agree, whatever streams and connections went through, and not with the packets of another run.

use crate::common::nginx::Nginx;
use crate::common::wan::{CALM_PACKETS, find, may_build};
use crate::common::{Ended, Place};
use farfield_base::Outcome;
use std::net::TcpListener;

/// The run's own check found agreement, and so does the command; returns what that printed.
#[track_caller]
fn agrees(place: &Place, ended: &Ended) -> String {
    let checks = ended.summary().verdict.checks;
    let check = checks.into_iter().find(|check| check.name == "capture-agrees").expect("a check");
    assert!(check.note.is_none(), "{:?}", check.note);
    place.farfield(&format!("verify {}", ended.directory.display())).exits(0).stdout
}

const CAPTURED: &str = "--capture --set capture.snap=65535 --http 2";

#[test]
fn samples_and_packets_of_the_built_in_server_agree() {
    if !may_build("samples_and_packets_of_the_built_in_server_agree") {
        return;
    }
    let place = Place::new();
    let server = place.serve("");
    place.write(
        "page.toml",
        "[load]\nmodel = 'closed'\nusers = 3\n[[requests.request]]\npath = '/bytes/1kB'\n\
         embedded = ['/bytes/2kB', '/chunked/20000', '/status/404', '/bytes/0']\n\
         [[requests.request]]\npath = '/echo-length'\nmethod = 'POST'\nbody = 'hello'\n",
    );
    for words in [
        format!("{}/bytes/1kB -n 200 -c 4", server.url),
        format!("{}/bytes/1kB -n 200 -c 2 --policy multiplexed --set connections.streams=10", server.url),
        format!("{}/bytes/1kB -n 40 -c 2 --policy one-request", server.url),
        format!("page.toml --target {}/ -n 120", server.url),
        format!("page.toml --rtt 20ms -n 60 {CALM_PACKETS}"),
    ] {
        let ended = place.run(&format!("{words} {CAPTURED}")).exits(0);
        let samples = ended.samples();
        assert!(samples.iter().all(|own| matches!(own.outcome, Outcome::Ok | Outcome::Status4xx)), "{words}");
        let said = agrees(&place, &ended);
        assert!(said.contains(&samples.len().to_string()), "{words}: {said}");
    }
}

/// A server that ends connections behind ten requests refuses those that come behind: they are in the packets
/// twice, and in the samples once.
#[test]
fn what_is_refused_and_sent_again_agrees() {
    let test = "what_is_refused_and_sent_again_agrees";
    if !may_build(test) {
        return;
    }
    let Some(program) = find(test, "nginx") else { return };
    let place = Place::new();
    place.write("www/page", vec![b'x'; 4096]);
    let free = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port");
    let directives = format!("listen {free} http2; root HOME/www; keepalive_requests 10;");
    let nginx = Nginx::start(&program, &place, "access_log off;", &directives);
    let words = format!("http://{free}/page --policy multiplexed --set connections.streams=25 -n 300 -c 3");
    let ended = place.run(&format!("{words} {CAPTURED}")).exits(0);
    assert!(ended.summary().http2.expect("requests over HTTP/2").refused > 0);
    agrees(&place, &ended);
    nginx.end();
}

/// The packets of another run are not this run's.
#[test]
fn other_packets_do_not_agree() {
    if !may_build("other_packets_do_not_agree") {
        return;
    }
    let place = Place::new();
    let server = place.serve("");
    let run = |size: &str| {
        let words = format!("{}/bytes/{size} -n 60 -c 2 {CAPTURED}", server.url);
        place.run(&words).exits(0)
    };
    let (one, other) = (run("1kB"), run("2kB"));
    let [one, other] = [one, other].map(|ended| ended.directory.display().to_string());
    place.farfield(&format!("verify {one} --capture {other}/capture.pcapng")).exits(3);
}
