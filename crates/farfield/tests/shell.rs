//! `farfield shell`: real programs behind emulated paths, before a real server, and nothing left behind.
//!
//! Root is needed, and the programs; a test that lacks one skips by name.

mod common;

use common::wan::{Kind, Wan, find, may_build};
use common::{Ended, Place, Signal, poll};
use std::fs;

/// The server of a test, as a flag's value.
fn nginx(wan: &Wan) -> String {
    let home = wan.place.path("");
    let home = home.to_str().expect("a plain path").trim_end_matches('/');
    format!("nginx -p {home} -c {home}/server.conf -e stderr")
}

/// Milliseconds that curl took for `path` on a connection of its own, behind what `flags` say.
fn curl_ms(wan: &Wan, flags: &str, path: &str) -> (f64, Ended) {
    let (server, url) = (nginx(wan), format!("http://server{path}"));
    let mut words = vec!["shell", "--server", &server];
    words.extend(flags.split_whitespace());
    words.extend(["--", "curl", "-s", "-o", "/dev/null", "-w", "%{time_total} %{size_download}", &url]);
    let ended = wan.place.farfield_with(&words).exits(0);
    let (seconds, _) = ended.stdout.split_once(' ').unwrap_or_else(|| panic!("{ended:?}"));
    (seconds.parse::<f64>().expect("seconds") * 1e3, ended)
}

/// A handshake and a request are two round trips; a modem adds 32,768 B and their headers at 56 kbit/s.
/// The upper ends leave room for a busy machine.
#[test]
fn curl_behind_paths() {
    let test = "curl_behind_paths";
    let Some(wan) = Wan::new(test, Kind::Nginx).filter(|_| find(test, "curl").is_some()) else { return };
    let (ms, ended) = curl_ms(&wan, "--rtt 80ms", "/1k");
    assert!((160.0..400.0).contains(&ms), "{ms} ms: {ended:?}");
    assert!(ended.stdout.ends_with(" 1024") && ended.stderr.contains("80ms"), "{ended:?}");
    let (ms, ended) = curl_ms(&wan, "--access modem-56k", "/32k");
    assert!((5_300.0..12_000.0).contains(&ms), "{ms} ms: {ended:?}");
    assert!(ended.stdout.ends_with(" 32768"), "{ended:?}");
}

/// The program's own words, input and exit code are passed through, and names are those of the path.
#[test]
fn a_program_is_as_it_would_be_outside() {
    let test = "a_program_is_as_it_would_be_outside";
    if !may_build(test) {
        return;
    }
    let place = Place::new();
    let line = "echo $FARFIELD_CLIENT to $FARFIELD_SERVER; grep -c server /etc/hosts; echo oops >&2; exit 7";
    let ended = place.farfield_with(&["shell", "-q", "--rtt", "20ms", "--", "sh", "-c", line]).exits(7);
    assert_eq!(ended.stdout, "198.18.0.1 to 192.0.2.1:80\n1\n");
    assert_eq!(ended.stderr, "oops\n");
    let hosts = fs::read_to_string("/etc/hosts").unwrap_or_default();
    assert!(!hosts.contains("192.0.2.1"), "the machine's own file stays as it was");
    let ended = place.farfield_with(&["shell", "-q", "--", "sh", "-c", "kill -KILL $$"]).exits(137);
    assert_eq!(ended.stderr, "");
}

#[test]
fn what_cannot_be_is_said_in_a_sentence() {
    let test = "what_cannot_be_is_said_in_a_sentence";
    if !may_build(test) {
        return;
    }
    let place = Place::new();
    let ended = place.farfield("shell --rtt 20ms -- /no/such/program").exits(1);
    assert!(ended.stderr.contains("/no/such/program cannot be started"), "{ended:?}");
    let ended = place.farfield("shell --rtt 20ms --as home -- true").exits(2);
    assert!(ended.stderr.contains("no clients are of the class `home`; there are clients"), "{ended:?}");
}

/// Asked to end, farfield ends the program, and what that has left in the background.
#[test]
fn nothing_is_left_behind() {
    let test = "nothing_is_left_behind";
    if !may_build(test) {
        return;
    }
    let place = Place::new();
    let marker = place.path("pids");
    let line = format!("sleep 600 & echo $! > {0}; echo $$ >> {0}; wait", marker.display());
    let (program, mut words) = ("sh", vec!["shell", "--rtt", "20ms", "--"]);
    words.extend([program, "-c", &line]);
    let running = place.begin_with(&words);
    let pids = poll("the program to say who it is", || {
        let said = fs::read_to_string(&marker).ok()?;
        let pids: Vec<u32> = said.lines().filter_map(|line| line.parse().ok()).collect();
        (pids.len() == 2).then_some(pids)
    });
    running.signal(Signal::TERM);
    let ended = running.ended().exits(143);
    assert!(ended.stderr.contains("1 process left behind, killed"), "{ended:?}");
    for pid in pids {
        poll("it to be gone", || {
            (!fs::exists(format!("/proc/{pid}/root/bin")).unwrap_or(false)).then_some(())
        });
    }
}

/// Names: the hosts of the path are found, over UDP and TCP, and any other name is known to be nobody's at
/// once, without a question to anyone outside.
#[test]
fn names_are_those_of_the_path() {
    let test = "names_are_those_of_the_path";
    if !may_build(test) || find(test, "dig").is_none() {
        return;
    }
    let place = Place::new();
    let line = "dig +short server; dig +tcp +short server; dig nobody.example | grep -o 'status: [A-Z]*'
        dig server AAAA | grep -o 'status: [A-Z]*'; getent hosts nobody.example; echo getent $?";
    let ended = place.farfield_with(&["shell", "--rtt", "20ms", "--", "sh", "-c", line]).exits(0);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(lines, ["192.0.2.1", "192.0.2.1", "status: NXDOMAIN", "status: NOERROR", "getent 2"]);
    assert!(ended.stderr.contains("lookups of names that are not here"), "{ended:?}");
}

/// Two programs on one network: both are at addresses of their own, the second ends with the first, and a
/// class without enough clients is said to have too few.
#[test]
fn programs_run_beside_one_another() {
    let test = "programs_run_beside_one_another";
    if !may_build(test) {
        return;
    }
    let place = Place::new();
    let marker = place.path("beside");
    place.write(
        "two.toml",
        "plane = 'emulated'\n[network]\nclients = 2\n[[network.class]]\nname = 'home'\nrtt = '20ms'
        [[network.class]]\nname = 'office'\nrtt = '30ms'\n",
    );
    let scenario = place.path("two.toml");
    let scenario = scenario.to_str().expect("a plain path");
    let beside =
        format!("office=echo $FARFIELD_CLIENT > {0}.new; mv {0}.new {0}; sleep 600", marker.display());
    let line =
        format!("until [ -e {0} ]; do :; done; echo $FARFIELD_CLIENT and $(cat {0})", marker.display());
    let mut words = vec!["shell", "--scenario", scenario, "--as", "home", "--beside", &beside];
    words.extend(["--", "sh", "-c", &line]);
    let ended = place.farfield_with(&words).exits(0);
    let (first, second) = ended.stdout.trim().split_once(" and ").expect("two addresses");
    assert!(first != second && [first, second].iter().all(|a| a.starts_with("198.18.")), "{ended:?}");
    assert!(ended.stderr.contains(&format!("beside it, office is {second}")), "{ended:?}");
    let mut words = vec!["shell", "--scenario", scenario, "--as", "home", "--beside", "home=true"];
    words.extend(["--", "true"]);
    let ended = place.farfield_with(&words).exits(2);
    assert!(ended.stderr.contains("there are 1 clients of the class `home` for 2 programs"), "{ended:?}");
}

/// An interface that the program removes: the program, which can reach nobody any more, is ended, and one
/// sentence says why.
#[test]
fn an_interface_that_vanishes_ends_the_path() {
    let test = "an_interface_that_vanishes_ends_the_path";
    if !may_build(test) || find(test, "ip").is_none() {
        return;
    }
    let place = Place::new();
    let line = "ip link del farfield0; exec sleep 600";
    let ended = place.farfield_with(&["shell", "--rtt", "20ms", "--", "sh", "-c", line]).exits(1);
    assert!(ended.stderr.contains("an interface at one of its ends is gone"), "{ended:?}");
}
