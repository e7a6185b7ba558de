//! `farfield gather` and `farfield run --join`: counts of the whole, and what becomes of it where somebody
//! goes in the middle.

use crate::common::{Ended, Place, Signal, poll, skip};
use crate::scene::{Gathering, has_samples, open, sorted};
use farfield_os::clock::monotonic_ns;
use rustix::process::geteuid;
use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

/// Requests of a list, in virtual time.
const LISTED: &str = "plane = 'simulated'\n[run]\nduration = '2s'\n[requests]\nfile = 'list.txt'\n\
                      [load]\nmodel = 'open'\narrivals = '90/s'\n";

/// The gatherer hands the scenario out with its files, and the parts are sample by sample one run.
#[test]
fn parts_that_join_are_the_run_of_one_process() {
    let place = Place::new();
    place.write("s.toml", LISTED);
    place.write("list.txt", "/a?x=1\n/b\n/c\n");
    place.farfield("run s.toml --part 1..3/3 -q -o one").exits(0);
    let gathering = Gathering::begin(&place, "--parts 3");
    fs::remove_file(place.path("list.txt")).expect("it was there");
    let parts = [1, 2, 3].map(|part| gathering.join(&place, &format!("-o part-{part}")));
    let said: Vec<Ended> = parts.into_iter().map(|part| part.ended().exits(0)).collect();
    let ended = gathering.ended(&place).exits(0);
    let one = Ended { directory: place.path("one"), ..place.farfield("--version") };
    assert!(sorted(ended.samples()) == sorted(one.samples()));
    let (summary, of_one) = (ended.summary(), one.summary());
    assert_eq!(summary.steady.requests, of_one.steady.requests);
    assert_eq!(summary.steady.times.response, of_one.steady.times.response);
    assert_eq!(
        summary.parts.iter().map(|part| part.part.as_str()).collect::<Vec<_>>(),
        ["1/3", "2/3", "3/3"]
    );
    assert!(summary.parts.iter().all(|part| part.skew_ns.is_none() && part.clock_error_ns.is_none()));
    let mut names: Vec<&str> = said.iter().filter_map(|part| part.stdout.split(':').next()).collect();
    names.sort_unstable();
    assert_eq!(names, ["part 1/3", "part 2/3", "part 3/3"]);
    assert!(ended.stderr.contains("part 3/3 on") && ended.stderr.contains("is back"), "{}", ended.stderr);
    // What the gatherer keeps of the parts is what they are merged from by hand.
    place.farfield("merge whole/parts/1-of-3 whole/parts/2-of-3 whole/parts/3-of-3 -o again").exits(0);
    let again = Ended { directory: place.path("again"), ..place.farfield("--version") };
    assert!(sorted(again.samples()) == sorted(one.samples()));
}

/// A count of requests is dealt out over all parts, and so are users.
#[test]
fn two_parts_over_sockets_start_together_and_make_what_one_would() {
    let place = Place::new();
    let server = place.serve("");
    place.write("s.toml", open(&server.url, "2s"));
    let gathering = Gathering::begin(&place, "--parts 2");
    let parts = ["2/2", "1/2"].map(|part| gathering.join(&place, &format!("-t 1 --part {part}")));
    parts.into_iter().for_each(|part| drop(part.ended().exits(0)));
    let ended = gathering.ended(&place).exits(0);
    let (summary, samples) = (ended.summary(), ended.samples());
    // Arrival n is n of the whole, whichever part made it.
    let users: BTreeSet<u32> = samples.iter().map(|sample| sample.user).collect();
    assert_eq!(users.into_iter().collect::<Vec<_>>(), (0..samples.len() as u32).collect::<Vec<_>>());
    assert!(samples.len() > 600, "{}", samples.len());
    let skew = summary.parts.iter().filter_map(|part| part.skew_ns).max().expect("clocks");
    let error = summary.parts.iter().filter_map(|part| part.clock_error_ns).max().expect("measured clocks");
    assert!(skew <= 5_000_000, "{skew} ns between two starts on one machine, clocks known to {error} ns");
    for part in &summary.parts {
        // One clock is compared with itself.
        let offset = part.clock_offset_ns.expect("a measured clock").unsigned_abs();
        assert!(offset <= part.clock_error_ns.expect("an error"), "{part:?}");
    }

    place.write("s.toml", format!("target = '{}/'\n[load]\nusers = 10\n", server.url));
    fs::remove_file(place.path("ticket")).expect("it was there");
    let counting =
        Gathering::of(place.begin("gather s.toml --weights 3,1 -n 1000 -q -o counted --ticket ticket"));
    let parts = [counting.join(&place, "-t 3 --part 1..3/4"), counting.join(&place, "-t 1 --part 4/4")];
    parts.into_iter().for_each(|part| drop(part.ended()));
    let counted = Ended { directory: place.path("counted"), ..counting.running.ended() };
    let by_part: Vec<u64> = counted.summary().parts.iter().map(|part| part.requests).collect();
    // Ten users have 100 each, and eight of them are of three units in four.
    assert_eq!((counted.samples().len(), by_part), (1_000, vec![800, 200]));
}

#[test]
fn a_part_that_is_killed_or_silent_is_named_and_the_others_are_kept() {
    let place = Place::new();
    let server = place.serve("");
    place.write("s.toml", open(&server.url, "5s"));
    let gathering = Gathering::begin(&place, "--parts 3 -q");
    let parts = [1, 2, 3].map(|part| gathering.join(&place, &format!("-t 1 --part {part}/3 -o part-{part}")));
    let [kept, killed, silent] = parts;
    poll("a checkpoint", || place.path("part-3/summary.json").exists().then_some(()));
    for (part, signal, words) in
        [(&killed, Signal::KILL, "lost part 2/3"), (&silent, Signal::STOP, "lost part 3/3")]
    {
        let at = monotonic_ns();
        part.signal(signal);
        gathering.await_words(words);
        let took_ns = monotonic_ns() - at;
        assert!(took_ns <= 2_000_000_000, "{words} after {took_ns} ns");
    }
    silent.signal(Signal::CONT);
    kept.ended().exits(0);
    let ended = gathering.ended(&place).exits(3);
    assert!(ended.stderr.contains("has said nothing for 1.5 s"), "{}", ended.stderr);
    let summary = ended.summary();
    let check = summary.verdict.checks.iter().find(|check| check.name == "parts").expect("a check");
    assert_eq!(check.note.as_deref(), Some("2..3/3 is missing"));
    assert_eq!(summary.parts.len(), 1);
    assert!(summary.steady.requests > 300, "{}", summary.steady.requests);
    for part in ["part 2/3", "part 3/3"] {
        assert!(summary.warnings.iter().any(|warning| warning.starts_with(part)), "{:?}", summary.warnings);
    }
    // It finds that it is alone, and keeps what it has.
    let alone = silent.ended().exits(130);
    assert!(
        alone.stderr.contains("the gatherer is gone") && has_samples(&alone, &place, "part-3"),
        "{}",
        alone.stderr
    );
}

#[test]
fn the_gatherers_death_ends_the_parts_which_keep_what_they_have() {
    let place = Place::new();
    let server = place.serve("");
    place.write("s.toml", open(&server.url, "60s"));
    let gathering = Gathering::begin(&place, "--parts 2 -q");
    let parts = [1, 2].map(|part| gathering.join(&place, &format!("-t 1 -o part-{part}")));
    for part in ["part-1", "part-2"] {
        poll("a checkpoint", || place.path(part).join("summary.json").exists().then_some(()));
    }
    gathering.running.signal(Signal::KILL);
    for (part, directory) in parts.into_iter().zip(["part-1", "part-2"]) {
        let ended = part.ended().exits(130);
        assert!(ended.stderr.contains("the gatherer is gone"), "{}", ended.stderr);
        assert!(ended.stderr.contains("had measured is in part-"), "{}", ended.stderr);
        assert!(has_samples(&ended, &place, directory));
    }
}

#[test]
fn an_interrupt_of_the_gatherer_ends_all_and_merges_what_there_is() {
    let place = Place::new();
    let server = place.serve("");
    place.write("s.toml", open(&server.url, "60s"));
    let gathering = Gathering::begin(&place, "--parts 2");
    let parts = [1, 2].map(|part| gathering.join(&place, &format!("-t 1 -o part-{part}")));
    gathering.await_words("2 parts, measuring");
    gathering.running.signal(Signal::INT);
    parts.into_iter().for_each(|part| drop(part.ended().exits(130)));
    let ended = gathering.ended(&place).exits(130);
    let summary = ended.summary();
    assert!(!summary.complete && summary.parts.len() == 2 && summary.steady.requests > 0);

    // Neither between readiness and start, nor before, is there anything to merge, and nothing is left.
    fs::remove_dir_all(place.path("whole")).expect("a directory");
    fs::remove_file(place.path("ticket")).expect("a ticket");
    let gathering = Gathering::begin(&place, "--parts 2");
    let parts = [1, 2].map(|part| gathering.join(&place, &format!("-t 1 -o unbegun-{part}")));
    gathering.await_words("all parts are ready");
    gathering.running.signal(Signal::INT);
    let ended = gathering.ended(&place).exits(130);
    assert!(ended.stderr.contains("interrupted, and no part came back"), "{}", ended.stderr);
    parts.into_iter().for_each(|part| drop(part.ended()));
    for left in ["whole", "unbegun-1", "unbegun-2"] {
        assert!(!place.path(left).exists(), "{left} of a run that has not begun");
    }

    fs::remove_file(place.path("ticket")).expect("a ticket");
    let gathering = Gathering::begin(&place, "--parts 2");
    let part = gathering.join(&place, "-o waiting");
    gathering.await_words("waiting: part 2/2 has not joined");
    gathering.running.signal(Signal::INT);
    gathering.ended(&place).exits(130);
    let ended = part.ended().exits(1);
    assert!(ended.stderr.contains("interrupted before the start"), "{}", ended.stderr);
    assert!(!place.path("whole").exists());
}

#[test]
fn a_part_needs_the_ticket_and_nothing_else() {
    let place = Place::new();
    place.write("s.toml", LISTED);
    place.write("list.txt", "/a\n");
    let gathering = Gathering::begin(&place, "--parts 2 -q");
    let ticket = fs::read_to_string(place.path("ticket")).expect("a ticket");
    let address = &gathering.address;
    let join = format!("run --join {address}");
    let without = place.farfield(&join).exits(2);
    without.says(&["--ticket", "FARFIELD_TOKEN"]);
    let other = Gathering::of(place.begin("gather s.toml --parts 2 -q --ticket other -o other-whole"));
    place.farfield(&format!("{join} --ticket other")).exits(1).says(&["key is another"]);
    place.write("bad", "farfield-ticket-1-x-y");
    place.farfield(&format!("{join} --ticket bad")).exits(2).says(&["no ticket"]);
    // The right key, and another token.
    let words: Vec<&str> = ticket.trim().split('-').collect();
    let forged = format!("farfield-ticket-1-{}-{}", "0".repeat(32), words[4]);
    place.write("forged", forged);
    place.farfield(&format!("{join} --ticket forged")).exits(1).says(&["refused", "token"]);
    place.farfield(&format!("{join} --ticket ticket --part 1/3")).exits(1).says(&["no part 1/3"]);
    place.farfield(&format!("{join} --ticket ticket s.toml")).exits(2).says(&["comes from the gatherer"]);
    place.farfield(&format!("{join} --ticket ticket --part auto")).exits(2).says(&["SLURM_PROCID"]);
    let second = place.begin_knowing(("SLURM_PROCID", "1"), &format!("{join} --ticket ticket --part auto"));
    let first = place.begin_knowing(("FARFIELD_TOKEN", ticket.trim()), &join);
    for (part, name) in [(first, "part 1/2"), (second, "part 2/2")] {
        let said = part.ended().exits(0).stdout;
        assert!(said.starts_with(name), "{said}");
    }
    gathering.ended(&place).exits(0);
    other.running.signal(Signal::INT);
    other.running.ended().exits(130);

    let refused =
        |words: &str, says: &[&str]| place.farfield(&format!("gather s.toml {words}")).exits(2).says(says);
    refused("--parts 2 --part 1/2", &["--part", "gatherer's"]);
    refused("--parts 2 --plane emulated", &["emulated"]);
    refused("--parts 2 --plane sockets", &["target"]);
    let nobody = place.farfield("gather s.toml --parts 2 --wait 100ms -q -o nobody").exits(1);
    assert!(nobody.stderr.contains("part 1/2 has not joined, part 2/2 has not joined"), "{}", nobody.stderr);
}

/// The disk of one is full, and its samples are cut short.
#[test]
fn files_of_one_part_that_are_no_good_leave_those_of_the_others() {
    let place = Place::new();
    place.write("s.toml", LISTED.replace("90/s", "6000/s"));
    place.write("list.txt", "/a\n");
    let gathering = Gathering::begin(&place, "--parts 3");
    let join = format!(
        "ulimit -f 60; trap '' XFSZ; exec {} run --join {} --ticket ticket --part 1/3 -o full",
        env!("CARGO_BIN_EXE_farfield"),
        gathering.address
    );
    let mut full = Command::new("bash");
    full.args(["-c", &join]);
    let full = place.begin_by(full, &[]);
    let others = [2, 3].map(|part| gathering.join(&place, &format!("--part {part}/3 -o part-{part}")));
    full.ended().exits(3);
    others.into_iter().for_each(|part| drop(part.ended().exits(0)));
    let ended = gathering.ended(&place).exits(3);
    let summary = ended.summary();
    assert_eq!(summary.parts.iter().map(|part| part.valid).collect::<Vec<_>>(), [false, true, true]);
    assert!(summary.warnings.iter().any(|warning| warning.contains("has not all samples")), "{summary:?}");
    assert!(!ended.directory.join("samples.parquet").exists());
}

#[test]
fn a_part_whose_flags_differ_ends_the_rendezvous_also_where_it_is_the_first() {
    let place = Place::new();
    place.write("s.toml", LISTED);
    place.write("list.txt", "/a\n");
    let gathering = Gathering::begin(&place, "--parts 2 -q");
    gathering.join(&place, "--seed 8").ended().exits(1).says(&["another scenario", "gatherer's"]);
    let ended = gathering.ended(&place).exits(1);
    assert!(
        ended.stderr.contains("part 1/2") && ended.stderr.contains("another scenario"),
        "{}",
        ended.stderr
    );

    // A file that is too large to be handed out, and is another by the time a part reads it.
    fs::remove_file(place.path("ticket")).expect("a ticket");
    let large = format!("/{}\n", "a".repeat(999)).repeat(17_000);
    place.write("list.txt", &large);
    let gathering = Gathering::begin(&place, "--parts 2 -q");
    place.write("list.txt", large.replacen('a', "b", 1));
    gathering.join(&place, "-q").ended().exits(1).says(&["another scenario"]);
    gathering.ended(&place).exits(1);
}

/// Files of parts are larger than the gatherer's disk.
#[test]
fn a_full_disk_at_the_gatherer_leaves_the_parts_theirs() {
    let test = "a_full_disk_at_the_gatherer_leaves_the_parts_theirs";
    if !geteuid().is_root() {
        return skip(test, "only root mounts a file system");
    }
    let place = Place::new();
    place.write("s.toml", LISTED.replace("90/s", "6000/s"));
    place.write("list.txt", "/a\n");
    let script = format!(
        "mkdir small && mount -t tmpfs -o size=160k tmpfs small && exec {} gather s.toml --parts 2 -q --ticket ticket -o small/whole",
        env!("CARGO_BIN_EXE_farfield")
    );
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", &script]);
    let gathering = Gathering::of(place.begin_by(command, &[]));
    let parts = [1, 2].map(|part| gathering.join(&place, &format!("-o part-{part}")));
    let ended: Vec<Ended> = parts.into_iter().map(crate::common::Running::ended).collect();
    for part in &ended {
        assert!(has_samples(part, &place, if part.stdout.contains("1/2") { "part-1" } else { "part-2" }));
    }
    let failed: Vec<&Ended> = ended.iter().filter(|part| part.code == Some(1)).collect();
    assert!(!failed.is_empty(), "{ended:?}");
    for part in failed {
        assert!(
            part.stderr.contains("cannot be kept here") && part.stderr.contains("space"),
            "{}",
            part.stderr
        );
    }
    let said = gathering.running.ended();
    assert!([Some(1), Some(3)].contains(&said.code) && said.stderr.contains("lost part"), "{said:?}");
}
