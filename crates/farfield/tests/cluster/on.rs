//! `--on`: runs, and those of sweeps and searches, that are made by parts: on this machine, and at hosts.

use crate::common::{CALM, Ended, Place, Signal, poll};
use crate::scene::{open, sorted};
use crate::ssh::stand_in;
use farfield_measure::Summary;
use std::collections::BTreeSet;
use std::fs;

/// Users who share nothing, before a server that answers each after 2 ms.
const CLOSED: &str = "plane = 'simulated'\nload = { model = 'closed', users = 4, think = { distribution = \
    'exponential', mean = '50ms' } }\nrun = { duration = '4s', warm-up = '0s' }\nnetwork = { rtt = '1ms' }\n\
    [simulated]\nworkers = 1000\nservice-time = '2ms'\n";

/// Arrivals, each with a connection of its own or one that an earlier one left.
const OPEN: &str = "plane = 'simulated'\n[run]\nduration = '1s'\n[load]\nmodel = 'open'\narrivals = '90/s'\n";

/// The run directory of this name.
fn run(place: &Place, directory: &str) -> Ended {
    Ended { directory: place.path(directory), ..place.farfield("--version") }
}

fn parts_of(summary: &Summary) -> Vec<&str> {
    summary.parts.iter().map(|part| part.part.as_str()).collect()
}

/// The cells of these columns, a row for each run.
fn rows(csv: &str, columns: &[&str]) -> Vec<Vec<String>> {
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().expect("names");
    let place = |column: &&str| names.iter().position(|name| name == column).expect("a column");
    let places: Vec<usize> = columns.iter().map(place).collect();
    let mut rows: Vec<Vec<String>> =
        lines.map(|row| places.iter().map(|place| row[*place].to_owned()).collect()).collect();
    rows.sort();
    rows
}

/// Users of a closed load share nothing, and so a sweep by two parts has the rows of one without. One that
/// lacks a run makes no other again.
#[test]
fn a_sweep_by_parts_has_the_rows_of_one_without() {
    let place = Place::new();
    place.write("s.toml", CLOSED);
    let words = "sweep s.toml --vary load.users=4,8 --repeats 2 -q --format csv";
    let alone = place.farfield(&format!("{words} -o alone")).exits(0).stdout;
    let by_parts = place.farfield(&format!("{words} --on local:2 -o by-parts")).exits(0).stdout;
    let columns = ["load.users", "seed", "counts", "rate", "p50", "p99", "errors", "steady.requests"];
    let expected = rows(&alone, &columns);
    assert_eq!(expected.len(), 4);
    assert!(expected.iter().all(|row| row[7].parse::<u64>().is_ok_and(|requests| requests > 100)));
    assert_eq!(rows(&by_parts, &columns), expected);
    let read = run(&place, "by-parts/point-02/repeat-2");
    assert_eq!(parts_of(&read.summary()), ["1/2", "2/2"]);
    assert!(!place.path("farfield-runs").exists(), "parts on this machine leave nothing beside the run");

    // As if it had been killed: the run is there, and nothing says that it is whole.
    let design = place.path("by-parts/point-01/repeat-1/design.json");
    let kept = fs::read_to_string(&design).expect("a design");
    assert!(kept.contains("\"on\": \"local:2\""), "{kept}");
    fs::remove_file(design).expect("a design");
    let again = place.farfield(&format!("{words} --on local:2 -o by-parts")).exits(0).stdout;
    assert_eq!(rows(&again, &columns), expected);
    assert!(place.path("by-parts/point-01/repeat-1-2/summary.json").exists());
    assert!(!place.path("by-parts/point-01/repeat-2-2").exists());
    for (on, says) in [("--on local:3", "and local:3 is asked"), ("", "and one process of this machine")] {
        let other = place.farfield(&format!("{words} {on} -o by-parts")).exits(1);
        assert!(
            other.stderr.contains("was made by local:2") && other.stderr.contains(says),
            "{}",
            other.stderr
        );
    }
}

/// Of any load a run by parts is, sample by sample, that of one process with all units.
#[test]
fn a_run_by_parts_is_that_of_one_process_with_all_units() {
    let place = Place::new();
    place.write("s.toml", OPEN);
    place.farfield("run s.toml --part 1..3/3 --seed 5 -q -o one").exits(0);
    let by_parts =
        place.farfield("run s.toml --on local:3 --seed 5 -q --threshold rate>1000/s -o whole").exits(99);
    let (whole, one) = (run(&place, "whole"), run(&place, "one"));
    assert!(sorted(whole.samples()) == sorted(one.samples()));
    assert!(by_parts.stdout.contains("1/3, 2/3, 3/3"), "{}", by_parts.stdout);
    assert!(place.path("whole/report.html").exists());

    let summary = run(&place, "whole").summary();
    assert!(
        summary.warnings.iter().any(|own| own.contains("a model of the server to itself")),
        "{summary:?}"
    );

    // A trial of a search is such a run, with its goals judged on the sum; in virtual time it would be one of
    // several servers.
    let search = "--slo p99<1s --from 200 --to 400 --budget 20s --on local:2 -t 1 -q -o found";
    place.farfield(&format!("capacity s.toml {search}")).exits(2).says(&["a model of the server to itself"]);
    let server = place.serve("");
    place.write("real.toml", open(&server.url, "1s"));
    place.farfield(&format!("capacity real.toml {search} {CALM}"));
    let trial = run(&place, "found/0001");
    let summary = trial.summary();
    assert_eq!(parts_of(&summary), ["1/2", "2/2"]);
    assert!(summary.thresholds.iter().any(|goal| goal.text.starts_with("p99") && goal.passed));
}

#[test]
fn parts_of_a_sweep_load_one_server() {
    let place = Place::new();
    let server = place.serve("");
    place.write("s.toml", open(&server.url, "1s"));
    let words = format!(
        "sweep s.toml --vary load.arrivals=200/s,400/s --repeats 1 --set output.samples=all --on local:2 -t 1 -q -o swept {CALM}"
    );
    place.farfield(&words).exits(0);
    for (point, least) in [("swept/point-01/repeat-1", 120), ("swept/point-02/repeat-1", 240)] {
        let read = run(&place, point);
        let (summary, samples) = (read.summary(), read.samples());
        assert_eq!(parts_of(&summary), ["1/2", "2/2"]);
        assert!(summary.steady.requests > least, "{}", summary.steady.requests);
        // Arrival n is n of the whole, whichever part made it.
        let users: BTreeSet<u32> = samples.iter().map(|sample| sample.user).collect();
        assert_eq!(users.into_iter().collect::<Vec<_>>(), (0..samples.len() as u32).collect::<Vec<_>>());
    }
}

/// A host that does not answer is named before anything runs; hosts that do make the runs.
#[test]
fn hosts_make_the_runs_of_a_sweep_and_one_that_is_gone_is_named_first() {
    let place = Place::new();
    place.write("s.toml", OPEN);
    let sweep = |out: &'static str| {
        let words = ["sweep", "s.toml", "--repeats", "1", "-q", "--on", "ssh:a,b", "--on-ssh", "sh ssh"];
        place.farfield_with(&[&words[..], &["--on-listen", "127.0.0.1:0", "-o", out]].concat())
    };
    stand_in(&place, "[ $host = b ] && { echo 'ssh: no route today' >&2; exit 255; }");
    let gone = sweep("gone").exits(1);
    gone.says(&["--on: b: ssh: no route today; nothing was run"]);
    assert!(!place.path("gone").exists());

    stand_in(&place, "");
    sweep("swept").exits(0);
    let read = run(&place, "swept/point-01/repeat-1");
    assert_eq!(parts_of(&read.summary()), ["1/2", "2/2"]);
}

/// Processes with this in their command.
fn processes(part: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    let is_ours = |path: &std::path::Path| {
        let command = fs::read(path.join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&command).replace('\0', " ").contains(part)
    };
    let ours = processes.filter(|process| is_ours(&process.path()));
    ours.map(|process| process.file_name().to_string_lossy().into_owned()).collect()
}

/// A sweep that is killed leaves neither its run nor a part of that behind.
#[test]
fn a_killed_sweep_ends_the_parts_of_its_run() {
    let place = Place::new();
    place.write("s.toml", OPEN);
    let sweep =
        place.begin("sweep s.toml --set run.duration=20h --repeats 1 --on local:2 -q -o killed-by-parts");
    let runs = || processes("killed-by-parts/point-01");
    let gatherer = poll("a run", || runs().first().cloned());
    let parts = || processes(&format!("--with-parent={gatherer} --out")).len();
    poll("its parts", || (parts() == 2).then_some(()));
    sweep.signal(Signal::KILL);
    poll("their end", || (parts() == 0 && runs().is_empty()).then_some(()));
}

/// A run that cannot be made by parts is refused in a line, before anything runs.
#[test]
fn what_cannot_be_made_by_parts_is_refused() {
    let place = Place::new();
    place.write("s.toml", OPEN);
    for (words, part) in [
        ("sweep s.toml --on local:2 --jobs 2", "one run at a time"),
        ("sweep s.toml --on local:2 --plane emulated", "emulated"),
        ("sweep s.toml --on local:2 --vary network.shared.rate=1Mbit,9Mbit", "network.shared"),
        ("run s.toml --on local:2 --repeats 2 --plane emulated", "emulated"),
        ("run s.toml --on local:2 --plane emulated", "emulated"),
        ("capacity s.toml --slo p99<1s --on local:2 --plane emulated", "emulated"),
        ("run --on local:2", "target"),
        ("run s.toml --on local:2 --part 1/2", "gatherer's to give"),
        ("run s.toml --on local:2 --set run.part=1/2", "part"),
        ("run s.toml --on local:2 --capture", "keep nothing beside the run"),
        ("run s.toml --on local:2 --ui", "--ui is of one process"),
        ("run s.toml --on local:2 --format jsonl", "--format jsonl is of one process"),
    ] {
        let refused = place.farfield(words).exits(2);
        assert!(refused.stderr.contains(part), "{words}: {}", refused.stderr);
        assert_eq!(refused.stderr.trim_end().lines().count(), 1, "{}", refused.stderr);
        assert!(!place.path("farfield-runs").exists(), "{words}");
    }
    for (words, part) in [
        ("sweep s.toml --on local:1", "from 2 to 4096"),
        ("sweep s.toml --on ray", "farfield.ray.sweep"),
        ("sweep s.toml --on-wait 1m", "--on"),
        ("run --join 127.0.0.1:9 --on local:2", "--join"),
    ] {
        let refused = place.farfield(words).exits(2);
        assert!(refused.stderr.contains(part), "{words}: {}", refused.stderr);
    }
}
