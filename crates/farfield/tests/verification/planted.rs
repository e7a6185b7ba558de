//! Errors planted in a run, its summary and its capture: `farfield verify` finds each of the 45, and nothing
//! in the run itself. Here on one small run of each plane; `cargo xtask bench verify-planted` counts false
//! alarms in hundreds.
//!
//! And summaries of runs of many kinds, counted again: no number of any is another, and none is looked at by
//! nobody.

use crate::common::{Ended, Place, skip};
use farfield_testkit::planted::{self, Planted, PlantedError};
use farfield_verify::recount::{Evidence, recount};
use std::path::Path;
use std::process::{Command, Stdio};

/// Sessions in virtual time, with some hundred requests.
const SESSIONS: &str = "plane = 'simulated'\n\
    [load]\nmodel = 'hybrid'\narrivals = '60/s'\nrequests = 3\nthink = '20ms'\n\
    [run]\nwarm-up = '300ms'\nduration = '2s'\n\
    [network]\nclients = 10\nrtt = '10ms'\n\
    [simulated]\nworkers = 4\nservice-time = '1ms'\nreply-size = '2kB'\n\
    [capture]\ngateway = true\n";

/// The answer of `farfield verify` on a directory: its exit code, and its words.
fn verify(directory: &Path) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_farfield"));
    let output = command.arg("verify").arg(directory).stdin(Stdio::null()).output().expect("farfield");
    (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

/// The errors among `errors` that were not found.
fn missed<'a>(errors: &'a [PlantedError], run: &Path, folder: &Path, worker: usize) -> Vec<&'a str> {
    let mut missed = Vec::new();
    for (number, error) in errors.iter().enumerate() {
        let to = folder.join(format!("planted-{worker}-{number}"));
        planted::plant(error, run, &to).expect("own folder");
        let (code, said) = verify(&to);
        match code {
            // Errors on which samples and summary agree are contradicted by packets alone.
            Some(3) => {
                let mut names = said.lines().filter_map(|line| line.strip_prefix("  ! "));
                // A capture of another length than the run's own is known by its packets, too.
                let by_packets = names.any(|name| name != "summary-wrong") || said.contains("captures[");
                assert!(by_packets || error.place == Planted::Summary, "{}: {said}", error.what);
            }
            Some(0) => missed.push(error.what),
            _ => panic!("{}: {said}", error.what),
        }
    }
    missed
}

#[test]
fn each_of_45_planted_errors_is_found() {
    let place = Place::new();
    place.write("s.toml", SESSIONS);
    // The limits are those that people have, and not those of busy machines.
    let run = place.run("s.toml -d 2s --set verdict.capture-error=100us").exits(0);
    assert!(run.samples().len() > 250, "{}", run.samples().len());
    let (code, said) = verify(&run.directory);
    assert_eq!(code, Some(0), "{said}");
    let errors = planted::errors();
    assert_eq!(errors.len(), 45);
    let (one, other) = errors.split_at(errors.len() / 2);
    let (run, folder) = (&run.directory, &place.path(""));
    let missed = std::thread::scope(|scope| {
        let one = scope.spawn(|| missed(one, run, folder, 1));
        let other = missed(other, run, folder, 2);
        [one.join().expect("no panic"), other].concat()
    });
    assert_eq!(missed, [""; 0], "of {} planted errors", errors.len());
}

/// Those users on a real plane, before the built-in server.
const REAL: &str = "[load]\nmodel = 'hybrid'\narrivals = '60/s'\nrequests = 3\nthink = '20ms'\n\
    [[requests.request]]\npath = '/bytes/1000'\n";

/// Runs of a real plane until one agrees with its packets: others may be late, and say so. A clean run that
/// disagrees and is late by no other check of its verdict is a false alarm.
fn clean_run(test: &str, place: &Place, words: &str) -> Option<Ended> {
    for seed in 1..=12 {
        // The limits are those that people have.
        let run = place
            .run(&format!("{words} --seed {seed} -d 2s --warm-up 300ms --set verdict.capture-error=100us"));
        if run.code == Some(1) && (run.stderr.contains("namespace") || !rustix::process::geteuid().is_root())
        {
            skip(test, "no permission to capture, or to make namespaces");
            return None;
        }
        let summary = run.summary();
        let failed: Vec<&str> = summary.verdict.failed().map(|check| check.name.as_str()).collect();
        match verify(&run.directory) {
            (Some(0), _) => return Some(run),
            (code, said) => {
                // No limit of lateness is set, so that the packets are the first to show it: in arrivals, and
                // in think times that ended as late.
                let findings = said.lines().filter_map(|line| line.trim().strip_prefix("! "));
                let of_lateness = |name: &str| matches!(name, "arrivals-late" | "think-times");
                let is_late = failed.iter().any(|name| *name != "capture-agrees")
                    || said.contains("! arrivals-late") && findings.into_iter().all(of_lateness);
                assert!(code == Some(3) && is_late, "a false alarm: {said}\n{failed:?}");
            }
        }
    }
    panic!("none of twelve runs was on time");
}

/// Each of them in a run of a real plane, in which kernels, threads and other programs have their part.
fn all_are_found_in(test: &str, place: &Place, words: &str) {
    let Some(run) = clean_run(test, place, words) else { return };
    let errors = planted::errors();
    let missed = missed(&errors, &run.directory, &place.path(""), 1);
    assert_eq!(missed, [""; 0], "of {} planted errors", errors.len());
}

#[test]
fn planted_errors_are_found_on_sockets() {
    let place = Place::new();
    let server = place.serve("");
    place.write("s.toml", format!("target = '{}/'\n{REAL}[capture]\ngateway = true\n", server.url));
    all_are_found_in("planted_errors_are_found_on_sockets", &place, "s.toml");
}

#[test]
fn planted_errors_are_found_on_the_emulated_plane() {
    let place = Place::new();
    let network =
        "[network]\nclients = 10\nrtt = '10ms'\n[capture]\nclients = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]\n";
    place.write("e.toml", format!("plane = 'emulated'\n{REAL}{network}"));
    all_are_found_in("planted_errors_are_found_on_the_emulated_plane", &place, "e.toml");
}

/// Counts the summary of a run again.
#[track_caller]
fn is_counted_again(run: &Ended) {
    let (samples, summary) = (run.samples(), run.summary());
    assert!(samples.len() > 20, "{}", samples.len());
    let said = serde_json::to_value(&summary).expect("names are strings");
    let evidence = Evidence { samples: &samples, events: None, asked: None, capture: None };
    let found = recount(&said, evidence).expect("a run that has ended");
    assert_eq!((found.differences, found.unread), (Vec::new(), Vec::new()));
    // The drain ends with the last request, or when users who think have nothing more to do.
    let phases = summary.phases;
    let last = samples.iter().map(|sample| sample.done.as_ns()).max().expect("some");
    let drained = last.saturating_sub(phases.warm_up_ns + phases.steady_ns);
    let at_most = drained + 1_000_000_000;
    assert!((drained..=at_most).contains(&phases.drain_ns), "{} for {drained}", phases.drain_ns);
    if drained > 0 {
        let mut other = said;
        other["phases"]["drain_ns"] = (drained - 1).into();
        let found = recount(&other, evidence).expect("a run that has ended");
        assert_eq!(found.differences.len(), 1, "{:?}", found.differences);
    }
}

const HOSTS: &str = "[network]\nclients = 20\n[[network.class]]\nname = 'near'\nrtt = '5ms'\nshare = 3\n\
    [[network.class]]\nname = 'far'\nrtt = '60ms'\nshare = 1\n\
    [simulated]\nworkers = 2\nservice-time = '4ms'\nreply-size = '9kB'\n";

#[test]
fn summaries_of_all_kinds_of_runs_are_their_samples() {
    let place = Place::new();
    let loads = [
        ("closed", "[load]\nmodel = 'closed'\nusers = 12\nthink = '20ms'\n"),
        ("open", "[load]\nmodel = 'open'\narrivals = '150/s'\n"),
        ("hybrid", "[load]\nmodel = 'hybrid'\narrivals = '60/s'\nrequests = 3\nthink = '10ms'\n"),
        (
            "overload",
            "[load]\nmodel = 'overload'\ndescriptors = 60\ntimeout = '100ms'\n\
             [connections]\npolicy = 'one-request'\n",
        ),
    ];
    for (name, load) in loads {
        let run = "[run]\nwarm-up = '300ms'\nduration = '2s'\ndrain = '1s'\n";
        let write = |name: &str, first: &str, last: &str| {
            place.write(name, format!("plane = 'simulated'\n{first}{load}{run}{HOSTS}{last}"));
        };
        write(&format!("{name}.toml"), "", "");
        is_counted_again(&place.run(&format!("{name}.toml -d 2s --warm-up 300ms")));
        if name == "hybrid" {
            for (first, last) in [
                ("http = '2'\n", ""),
                ("", "[simulated.tls]\nfull-handshake = '5ms'\nresumed-handshake = '1ms'\n"),
                ("http = '3'\n", "[simulated.tls]\nfull-handshake = '5ms'\n"),
            ] {
                write("other.toml", first, last);
                is_counted_again(&place.run("other.toml -d 2s --warm-up 300ms"));
            }
        }
    }
    // Thresholds, requests that are given up and such as are open at the end.
    let words = "open.toml -d 2s --warm-up 300ms --set run.drain=0s --set connections.request-timeout=30ms \
                 --threshold p99<1s --threshold errors<1% --threshold p90{far}<1s --threshold rate>1/s";
    is_counted_again(&place.run(words));
    is_counted_again(&place.run("open.toml -d 2s --set run.drain=0s --set run.unfinished=ignore"));
    is_counted_again(&place.run("closed.toml -n 300 --warm-up 0s"));
}
