//! `farfield runs`: notes, sizes, and the removal of old runs and of nothing else.

use crate::common::{Place, Signal};
use farfield_measure::Summary;
use rustix::fs::{AtFlags, CWD, Gid, Uid, chownat};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

const MODEL: &str = "--plane simulated -c 2 --think 10ms -d 1s -q";

/// A place with runs of these names, each a second after the one before it.
fn with_runs(names: &[&str]) -> Place {
    let place = Place::new();
    place.farfield(&format!("run {MODEL} -o first")).exits(0);
    let summary = fs::read_to_string(place.path("first/summary.json")).expect("a summary");
    let summary = Summary::from_json(&summary).expect("a summary");
    fs::create_dir(place.path("farfield-runs")).expect("a folder");
    for (second, name) in names.iter().enumerate() {
        let mut summary = summary.clone();
        summary.heading.started_at = format!("2026-01-31T12:00:{second:02}Z");
        summary.heading.seed = second as u64;
        let folder = place.path("farfield-runs").join(name);
        fs::create_dir_all(folder.join("inputs")).expect("a folder");
        fs::write(folder.join("inputs/urls"), "/").expect("a file");
        fs::write(folder.join("summary.json"), summary.to_json()).expect("a file");
    }
    place
}

fn left(place: &Place) -> Vec<String> {
    let entries = fs::read_dir(place.path("farfield-runs")).expect("a folder").flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_note_is_kept_and_shown() {
    let place = Place::new();
    let words = format!("run {MODEL} -o run --name index --note before\u{1b}[2Jthe-index");
    let ended = place.farfield(&words).exits(0);
    let visible = "before\\u001B[2Jthe-index";
    assert!(ended.stdout.contains(&format!("\nnote        {visible}\n")), "{}", ended.stdout);
    let page = fs::read_to_string(place.path("run/report.html")).expect("a page");
    assert!(page.contains(&format!("Note: {visible}")));
    let listed = place.farfield("runs .").exits(0).stdout;
    assert!(listed.contains(visible) && listed.contains("VALID") && listed.contains("kB"), "{listed}");
    let again = place.farfield("run run -q -o again").exits(0);
    assert!(again.stdout.contains(visible), "{}", again.stdout);
    let long = "a".repeat(201);
    place.farfield(&format!("run {MODEL} --note {long}")).exits(2).says(&["note", "at most 200 characters"]);
}

#[test]
fn the_newest_runs_are_kept_and_last_is_still_the_newest() {
    let place = with_runs(&["a", "b", "c", "d"]);
    let would = place.farfield("runs --prune --keep 2 --dry-run").exits(0).stdout;
    assert!(would.contains("would remove a") && would.contains("2 of 4 runs would be removed"), "{would}");
    assert_eq!(left(&place), ["a", "b", "c", "d"]);
    let removed = place.farfield("runs --prune --keep 2").exits(0).stdout;
    assert!(removed.contains("removed b (") && removed.contains("2 of 4 runs removed"), "{removed}");
    assert_eq!(left(&place), ["c", "d"]);
    for (name, seed) in [("last", 3), ("last~1", 2)] {
        let found = place.farfield(&format!("report {name} --format json")).stdout;
        assert_eq!(Summary::from_json(&found).expect("JSON").heading.seed, seed, "{name}");
    }
    let none = place.farfield("report last~2").exits(2).stderr;
    assert!(none.contains("has only 2 of them"), "{none}");
}

#[test]
fn age_and_number_both_have_to_allow_it() {
    let place = with_runs(&["a", "b", "c"]);
    place.farfield("runs --prune --older 36500d").exits(0);
    assert_eq!(left(&place).len(), 3, "nothing is a century old");
    place.farfield("runs --prune --older 1s --keep 1").exits(0);
    assert_eq!(left(&place), ["c"]);
    place.farfield("runs --prune").exits(2);
    place.farfield("runs --keep 1").exits(2);
    place.farfield("runs --prune --older -1d").exits(2);
    assert_eq!(left(&place), ["c"]);
}

#[test]
fn nothing_else_is_removed() {
    let place = with_runs(&["a", "b"]);
    let at = |name: &str| -> PathBuf { place.path("farfield-runs").join(name) };
    // Another place's run, by a link; a folder and a file that are no runs; a run deeper down; one that is
    // damaged, whose age nobody knows.
    symlink(place.path("first"), at("link")).expect("a link");
    symlink(place.path("first"), at("a/inputs/out")).expect("a link");
    fs::create_dir_all(at("sweep/run-1")).expect("a folder");
    fs::write(at("sweep/sweep.json"), "{}").expect("a file");
    fs::write(at("sweep/run-1/summary.json"), "{}").expect("a file");
    fs::write(at("summary.json"), "{}").expect("a file");
    fs::create_dir(at("damaged")).expect("a folder");
    fs::write(at("damaged/summary.json"), "{").expect("a file");
    let text = place.farfield("runs --prune --keep 0").exits(0).stdout;
    assert_eq!(left(&place), ["damaged", "link", "summary.json", "sweep"], "{text}");
    assert!(text.contains("left link: it is no directory but a link"), "{text}");
    assert!(at("sweep/run-1/summary.json").exists() && place.path("first/summary.json").exists());
    // The folder itself may not be a link.
    symlink("farfield-runs", place.path("runs-link")).expect("a link");
    place.farfield("runs runs-link --prune --keep 0").exits(2).says(&["it is a link"]);
    if rustix::process::geteuid().is_root() {
        let (user, group) = (Some(Uid::from_raw(65_534)), Some(Gid::from_raw(65_534)));
        fs::create_dir(at("theirs")).expect("a folder");
        fs::copy(place.path("first/summary.json"), at("theirs/summary.json")).expect("a copy");
        chownat(CWD, at("theirs"), user, group, AtFlags::SYMLINK_NOFOLLOW).expect("given away");
        let text = place.farfield("runs --prune --keep 0").exits(0).stdout;
        assert!(text.contains("left theirs: it belongs to another user"), "{text}");
        chownat(CWD, place.path("farfield-runs"), user, group, AtFlags::SYMLINK_NOFOLLOW)
            .expect("given away");
        place.farfield("runs --prune --keep 0").exits(2).says(&["belongs to another user"]);
    }
}

#[test]
fn a_run_under_way_stays() {
    let place = Place::new();
    let run = place.begin_run("-c 1 --think 5ms -d 50s");
    run.await_checkpoint();
    let folder = run.directory.parent().expect("a folder").display().to_string();
    let text = place.farfield(&format!("runs {folder} --prune --keep 0")).exits(0).stdout;
    assert!(text.contains("it is under way"), "{text}");
    run.signal(Signal::INT);
    let ended = run.ended().exits(130);
    assert!(ended.summary().steady.requests > 0);
    place.farfield(&format!("runs {folder} --prune --keep 0")).exits(0);
    assert!(!ended.directory.exists());
}
