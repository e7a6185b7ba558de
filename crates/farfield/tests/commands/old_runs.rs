//! Run directories of earlier farfields, which wrote them, and such as no farfield wrote: what is shown of
//! them, and what is said.
//!
//! The folders in `old_runs` are named by the version of the columns of their samples. Each was written by
//! the farfield of that version: 20 requests of two users, on the simulated plane, or over HTTP/2 on
//! loopback.

use crate::common::{Ended, Place};
use rustix::fs::{CWD, Mode, mkfifoat};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

const REQUESTS: usize = 20;

/// The old run directories.
fn old_runs() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/old_runs");
    let mut runs: Vec<PathBuf> =
        fs::read_dir(folder).expect("fixtures").map(|entry| entry.expect("a folder").path()).collect();
    runs.sort();
    assert!(runs.len() >= 3, "{runs:?}");
    runs
}

/// A copy of a run in a place of its own.
fn copied(place: &Place, run: &Path, to: &str) -> PathBuf {
    let copy = place.path(to);
    fs::create_dir_all(&copy).expect("own folder");
    for entry in fs::read_dir(run).expect("a run").flatten() {
        fs::copy(entry.path(), copy.join(entry.file_name())).expect("copied");
    }
    copy
}

/// Fails unless all of `parts` were printed.
#[track_caller]
fn prints(ended: &Ended, parts: &[&str]) {
    for part in parts {
        assert!(ended.stdout.contains(part), "`{part}` is not in: {}", ended.stdout);
    }
}

/// The run of version 6 on the simulated plane.
fn whole_run() -> PathBuf {
    old_runs().into_iter().find(|run| run.ends_with("columns-6")).expect("version 6")
}

#[test]
fn runs_of_every_earlier_version_are_reported_compared_and_listed() {
    let place = Place::new();
    for run in old_runs() {
        let shown = run.display();
        let text = place.farfield(&format!("report {shown}")).exits(0);
        // Replies that these called completed were successful ones; the number of others is not known.
        prints(&text, &["VALID", "20 ok of 20", "\nsucceeded "]);
        let rates = text.stdout.lines().find(|line| line.starts_with("rate ")).expect("rates");
        assert!(rates.contains("offered ") && !rates.contains("completed"), "{shown}: {rates}");
        let junit = place.farfield(&format!("report {shown} --format junit")).exits(0).stdout;
        assert!(junit.contains("succeeded_per_s") && !junit.contains("completed_per_s"), "{shown}: {junit}");
        let rows = place.farfield(&format!("report {shown} --format csv")).exits(0).stdout;
        assert_eq!(rows.lines().count(), 1 + REQUESTS, "{shown}: {rows}");
        let page = place.farfield(&format!("report {shown} --format html")).exits(0).stdout;
        for part in ["series.parquet", "histograms.hlog", "samples.parquet"] {
            let is_there = run.join(part).exists();
            assert_eq!(page.contains(&format!("Not shown: {part}")), !is_there, "{shown}: {part}");
        }
        let name = run.file_name().expect("a name").to_string_lossy().into_owned();
        copied(&place, &run, &format!("runs/{name}"));
        let compared = place.farfield(&format!("compare {shown} runs/{name}")).exits(0);
        prints(&compared, &["1 valid run"]);
    }
    let list = place.farfield("runs runs").exits(0).stdout;
    assert_eq!(list.matches("VALID ").count(), old_runs().len(), "{list}");
}

/// Users of HTTP/2 had streams and no version in their samples: each number of a stream is odd and new.
#[test]
fn requests_over_http2_are_known_by_their_streams() {
    let run = old_runs().into_iter().find(|run| run.ends_with("columns-6-http2")).expect("over HTTP/2");
    let rows = Place::new().farfield(&format!("report {} --format csv", run.display())).exits(0).stdout;
    let head: Vec<&str> = rows.lines().next().expect("a head").split(',').collect();
    let column = |name: &str| head.iter().position(|column| *column == name).expect("a column");
    let (stream, version) = (column("stream"), column("http_version"));
    for row in rows.lines().skip(1) {
        let cells: Vec<&str> = row.split(',').collect();
        assert_eq!(cells[version], "20", "{row}");
        assert!(cells[stream].parse::<u32>().is_ok_and(|stream| stream % 2 == 1), "{row}");
    }
}

/// A later version, half a file, another file and no run: each is one sentence that names the file, and says
/// what can still be read.
#[test]
fn what_cannot_be_read_is_named_and_the_rest_is_shown() {
    let place = Place::new();
    let run = copied(&place, &whole_run(), "run");
    copied(&place, &whole_run(), "whole");
    let (summary, samples) = (run.join("summary.json"), run.join("samples.parquet"));
    let (whole_summary, whole_samples) =
        (fs::read(&summary).expect("read"), fs::read(&samples).expect("read"));

    let later = String::from_utf8_lossy(&whole_summary).replacen("_version\": 2", "_version\": 99", 1);
    for (text, says) in [
        (later.as_str(), "`run/summary.json` has schema version 99"),
        (&later[..later.len() / 2], "`run/summary.json` is no summary of a run"),
        ("[]", "`run/summary.json` is no summary of a run"),
        ("", "`run/summary.json` is no summary of a run"),
    ] {
        fs::write(&summary, text).expect("written");
        for words in ["report run", "report run --format html", "report run --format junit"] {
            place.farfield(words).exits(2).says(&[says, "still readable: samples.parquet by `--format csv`"]);
        }
        place.farfield("verify run").exits(2).says(&[says]);
        place.farfield("compare whole run").exits(2).says(&["run"]);
        prints(&place.farfield("runs .").exits(0), &["UNREADABLE  run"]);
        let rows = place.farfield("report run --format csv").exits(2);
        assert_eq!(rows.stdout.lines().count(), 1 + REQUESTS, "{says}");
    }
    fs::write(&summary, &whole_summary).expect("written");

    // A text of two digits in place of one, in a footer that is as much longer.
    let at = whole_samples.windows(3).rposition(|bytes| bytes == b"\x18\x016").expect("the version");
    let mut newer = whole_samples.clone();
    newer.splice(at + 1..at + 3, *b"\x0299");
    let length_at = newer.len() - 8;
    let length = u32::from_le_bytes(newer[length_at..][..4].try_into().expect("four bytes")) + 1;
    newer[length_at..][..4].copy_from_slice(&length.to_le_bytes());
    for (bytes, says) in [
        (&newer[..], "its samples are of version 99, and this farfield reads up to 9"),
        (&whole_samples[..whole_samples.len() / 2], "this is no samples file"),
        (b"PAR1", "this is no samples file"),
    ] {
        fs::write(&samples, bytes).expect("written");
        prints(&place.farfield("report run").exits(0), &["VALID"]);
        place.farfield("report run --format csv").exits(2).says(&["run/samples.parquet", says]);
        let page = place.farfield("report run --format html").exits(0).stdout;
        assert!(page.contains(&format!("Not shown: samples.parquet: {says}")), "{says}");
        assert!(page.contains("id=\"load-and-results\""), "{says}: the rest is shown");
    }

    place.write("folder/notes.txt", "no run");
    place.farfield("report folder").exits(2).says(&["`folder` holds no summary.json", "no run directory"]);
    place.farfield("compare folder run").exits(2).says(&["folder"]);
    place.farfield("runs folder").exits(2).says(&["folder"]);
}

/// A pipe in place of a file, or a link that leads nowhere, is named and not waited for.
#[test]
fn pipes_and_links_in_place_of_files_are_named() {
    let place = Place::new();
    let run = copied(&place, &whole_run(), "run");
    copied(&place, &whole_run(), "whole");
    for name in ["samples.parquet", "series.parquet", "histograms.hlog", "scenario.toml", "environment.json"]
    {
        let _ = fs::remove_file(run.join(name));
        mkfifoat(CWD, run.join(name), Mode::RUSR | Mode::WUSR).expect("a FIFO");
    }
    prints(&place.farfield("report run").exits(0), &["VALID"]);
    for (format, name) in
        [("csv", "samples.parquet"), ("jsonl", "samples.parquet"), ("hdr", "histograms.hlog")]
    {
        let refused = place.farfield(&format!("report run --format {format}")).exits(2);
        refused.says(&[&format!("`run/{name}` is no regular file")]);
    }
    let page = place.farfield("report run --format html").exits(0).stdout;
    for name in ["samples.parquet", "series.parquet", "histograms.hlog"] {
        assert!(page.contains(&format!("Not shown: {name} is no regular file")), "{name}");
    }
    let compared = place.farfield("compare whole run").exits(0);
    // A comparison is of summaries, and of what was asked for.
    prints(&compared, &["1 valid run", "the file scenario.toml: readable →"]);

    let link = place.path("linked");
    fs::create_dir(&link).expect("own folder");
    symlink("summary.json", link.join("summary.json")).expect("a link");
    for words in ["report linked", "compare whole linked"] {
        place.farfield(words).exits(2).says(&["`linked/summary.json` cannot be read", "symbolic links"]);
    }
    prints(&place.farfield("runs .").exits(0), &["UNREADABLE  linked"]);
}

/// Only what can be exported is said to be readable still, and a log that breaks off is not taken for whole.
#[test]
fn damaged_files_beside_a_damaged_summary_are_not_offered() {
    let place = Place::new();
    let run = copied(&place, &whole_run(), "run");
    copied(&place, &whole_run(), "whole");
    let log = fs::read_to_string(run.join("histograms.hlog")).expect("a log");
    let of_warm_up: String =
        log.split_inclusive('\n').take_while(|line| !line.contains("=steady.")).collect();
    for (text, says) in [
        ("", "histograms.hlog: the log has no histograms"),
        (&of_warm_up[..], "histograms.hlog has no times of the measured part"),
        (&log[..log.len() - 9], "histograms.hlog: histogram "),
    ] {
        fs::write(run.join("histograms.hlog"), text).expect("written");
        let page = place.farfield("report run --format html").exits(0).stdout;
        assert!(page.contains(&format!("Not shown: {says}")), "{says}");
    }
    place.farfield("report run --format hdr").exits(2).says(&["run/histograms.hlog", "of the log cannot be"]);
    fs::write(run.join("samples.parquet"), "PAR1").expect("written");
    let compared = place.farfield("compare whole run").exits(0);
    prints(&compared, &["1 valid run"]);
    fs::write(run.join("summary.json"), "{").expect("written");
    let refused = place.farfield("report run").exits(2);
    assert!(!refused.stderr.contains("still readable"), "{}", refused.stderr);
}
