//! The page that each run leaves in its directory.

use crate::common::Place;
use rustix::process::Signal;
use std::fs;

const MODEL: &str = "--plane simulated -c 5 --think 10ms -d 2s -q";

/// By default it is there, it is the page that `farfield report` makes, and the result names it.
#[test]
fn a_run_leaves_its_page_and_names_it() {
    let place = Place::new();
    let ended = place.farfield(&format!("run {MODEL} -o run")).exits(0);
    let page = fs::read_to_string(place.path("run/report.html")).expect("the page");
    assert!(ended.stdout.contains("\npage        run/report.html\n"), "{}", ended.stdout);
    assert_eq!(place.farfield("report run --format html").exits(0).stdout, page);
    assert!(place.farfield("report run").exits(0).stdout.contains("run/report.html"));
    // Repeated from its directory it does the same.
    place.farfield("run run -q -o again").exits(0);
    assert!(place.path("again/report.html").is_file());
}

#[test]
fn a_run_without_a_page_names_none() {
    let place = Place::new();
    for words in ["--no-report", "--set output.report=false"] {
        let name = format!("run-{}", words.len());
        let ended = place.farfield(&format!("run {MODEL} -o {name} {words}")).exits(0);
        assert!(!place.path(&format!("{name}/report.html")).exists(), "{words}");
        assert!(!ended.stdout.contains("report.html"), "{}", ended.stdout);
        place.farfield(&format!("run {name} -q -o again-{name}")).exits(0);
        assert!(!place.path(&format!("again-{name}/report.html")).exists(), "{words}");
    }
}

/// A run that is interrupted has a whole page; one that is killed has none, nor half of one.
#[test]
fn no_page_is_cut() {
    let place = Place::new();
    for (signal, has_page) in [(Signal::INT, true), (Signal::KILL, false)] {
        let run = place.begin_run("-c 2 --think 1ms -d 10m");
        run.await_checkpoint();
        run.signal(signal);
        let directory = run.ended().directory;
        let page = fs::read_to_string(directory.join("report.html"));
        assert_eq!(page.is_ok(), has_page, "{signal:?}");
        assert!(page.is_err() || page.is_ok_and(|page| page.trim_end().ends_with("</html>")));
        let left = fs::read_dir(&directory).expect("a directory").flatten();
        let names: Vec<_> = left.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        assert!(!names.iter().any(|name| name.contains("report") && name != "report.html"), "{names:?}");
    }
}

/// A page that cannot be written is said, and costs the run nothing else.
#[test]
fn a_page_that_cannot_be_written_is_said() {
    let place = Place::new();
    let run = place.begin_run("-c 2 --think 1ms -d 10m");
    run.await_checkpoint();
    fs::create_dir(run.directory.join("report.html")).expect("own folder");
    run.signal(Signal::INT);
    let ended = run.ended().exits(130);
    assert!(ended.stderr.contains("warning: the page of the run was not written"), "{}", ended.stderr);
    assert!(ended.summary().steady.requests > 0);
    assert!(!ended.stdout.contains("report.html"), "{}", ended.stdout);
}

/// Rows of the warm-up are marked in exports, as many as the summary leaves out.
#[test]
fn rows_of_the_warm_up_are_marked() {
    let place = Place::new();
    place.farfield(&format!("run {MODEL} --warm-up 1s -o run")).exits(0);
    let summary = fs::read_to_string(place.path("run/summary.json")).expect("a summary");
    let summary: serde_json::Value = serde_json::from_str(&summary).expect("JSON");
    let csv = place.farfield("report run --format csv").exits(0).stdout;
    let lines = place.farfield("report run --format jsonl").exits(0).stdout;
    for (part, of) in [("warm-up", "warm_up"), ("measured", "steady")] {
        let said = summary[of]["requests"].as_u64().expect("a number") as usize;
        assert!(said > 0);
        assert_eq!(csv.lines().filter(|line| line.ends_with(&format!(",{part}"))).count(), said, "{part}");
        let marked = format!("\"part\":\"{part}\"}}");
        assert_eq!(lines.lines().filter(|line| line.ends_with(&marked)).count(), said, "{part}");
    }
    // Without a summary nobody knows.
    fs::remove_file(place.path("run/summary.json")).expect("own file");
    let csv = place.farfield("report run --format csv").stdout;
    assert!(csv.lines().count() > 1 && csv.lines().skip(1).all(|line| line.ends_with(',')), "{csv}");
}
