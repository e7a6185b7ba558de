//! Servers of farfield with fewer descriptors than they have connections: they wait without a spin, say so,
//! and go on.

use super::{client, text};
use crate::common::{Place, Running, Signal, poll, skip, try_poll};
use std::fs;
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

/// Descriptors of a process, and connections that want one.
const DESCRIPTORS: u32 = 40;
const CONNECTIONS: usize = 60;

fn has_prlimit(test: &str) -> bool {
    let found = Command::new("prlimit").arg("--version").output().is_ok();
    if !found {
        skip(test, "no prlimit");
    }
    found
}

/// The address in the first line that a server prints.
fn address(running: &Running) -> String {
    poll("the server to say where it is", || {
        let said = fs::read_to_string(running.stdout()).ok()?;
        let (_, rest) = said.split_once("http://")?;
        rest.split_once('/').map(|(address, _)| address.to_owned())
    })
}

fn open_descriptors(id: u32) -> usize {
    fs::read_dir(format!("/proc/{id}/fd")).map_or(0, Iterator::count)
}

/// Processor time of a process so far, in hundredths of a second (proc_pid_stat(5)).
fn ticks(id: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).expect("a process");
    let (_, rest) = stat.rsplit_once(')').expect("a name");
    let fields: Vec<&str> = rest.split_whitespace().collect();
    fields[11..13].iter().map(|ticks| ticks.parse::<u64>().expect("a number")).sum()
}

/// A server that had no descriptors left for two seconds and has them back, with its URL.
fn exhausted(words: &str) -> (Place, Running, String) {
    let place = Place::new();
    let running = place.begin_limited(DESCRIPTORS, words);
    let address = address(&running);
    let held: Vec<TcpStream> =
        (0..CONNECTIONS).map(|_| TcpStream::connect(&address).expect("room in its queue")).collect();
    poll("its descriptors to be taken", || {
        (open_descriptors(running.id()) >= DESCRIPTORS as usize).then_some(())
    });
    // A spin takes whatever a processor has left; a pause that doubles takes next to nothing.
    let before = ticks(running.id());
    let _ = try_poll(Duration::from_secs(2), || None::<()>);
    let spent = ticks(running.id()) - before;
    assert!(spent < 20, "{words}: {spent} hundredths of a second of processor time in 2 s");
    assert!(!running.is_gone(), "{words}: {}", running.said());
    drop(held);
    (place, running, format!("http://{address}"))
}

#[test]
fn the_built_in_server_without_descriptors_goes_on_when_it_has_some() {
    if !has_prlimit("the_built_in_server_without_descriptors_goes_on_when_it_has_some") {
        return;
    }
    for threads in [1, 2] {
        let words = format!("serve 127.0.0.1:0 --threads {threads} --service-time 1ms");
        let (_place, running, url) = exhausted(&words);
        for _ in 0..3 {
            assert_eq!(client().get(format!("{url}/bytes/10")).call().expect("an answer").status(), 200);
        }
        assert!(running.said().contains("Too many open files"), "{}", running.said());
        assert!(running.said().contains("40 descriptors"), "{}", running.said());
        running.signal(Signal::INT);
        let ended = running.ended().exits(0);
        assert!(ended.stdout.contains("; accepting a connection failed "), "{}", ended.stdout);
    }
}

#[test]
fn the_workbench_without_descriptors_does_not_spin_and_goes_on_when_it_has_some() {
    if !has_prlimit("the_workbench_without_descriptors_does_not_spin_and_goes_on_when_it_has_some") {
        return;
    }
    let (_place, running, url) = exhausted("ui runs");
    let page = text(client().get(format!("{url}/")).call().expect("an answer"));
    assert!(page.contains("<title>farfield</title>"), "{page}");
    running.signal(Signal::INT);
    running.ended().exits(0);
}

/// The cause is named in the result: the server looks slow, and has no descriptor.
#[test]
fn a_run_names_the_server_that_has_no_descriptors() {
    if !has_prlimit("a_run_names_the_server_that_has_no_descriptors") {
        return;
    }
    let place = Place::new();
    let server = place.begin_limited(DESCRIPTORS, "serve 127.0.0.1:0 --service-time 1ms");
    let url = format!("http://{}/bytes/10", address(&server));
    let ended = place.run(&format!("{url} -c {CONNECTIONS} -d 3s"));
    let summary = fs::read_to_string(ended.directory.join("summary.json")).expect("a summary");
    let words = format!("process farfield ({}) of the server had no descriptors left", server.id());
    assert!(summary.contains(&words), "`{words}` is not in: {}", ended.stdout);
    server.signal(Signal::INT);
    server.ended().exits(0);
}

/// Less than the event loops take: refused at the start, with what to do, and no process is left.
#[test]
fn the_built_in_server_that_cannot_begin_says_why() {
    if !has_prlimit("the_built_in_server_that_cannot_begin_says_why") {
        return;
    }
    let place = Place::new();
    let mut refused = 0;
    for descriptors in 4..10 {
        let ended = place.begin_limited(descriptors, "serve 127.0.0.1:0 --threads 4").ended();
        // Too few for the loader to find the program's libraries: nothing of it has begun.
        if ended.code != Some(127) {
            let ended = ended.exits(1);
            assert!(ended.stderr.contains("Too many open files"), "{descriptors}: {}", ended.stderr);
            refused += 1;
        }
    }
    assert!(refused > 0, "the loader fails with nine descriptors");
}
