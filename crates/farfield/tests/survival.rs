//! What was measured survives: a full disk, a limit on files, a kill, a closed terminal, and whoever loses patience.

mod common;

use common::{Ended, Place, Signal, poll};
use farfield_base::Outcome;
use farfield_measure::{Summary, hlog};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

fn all_requests(summary: &Summary) -> u64 {
    summary.warm_up.requests + summary.steady.requests + summary.drained_requests
}

/// The run directory has all of its files, each of them whole and of the same run, and they agree with each other.
#[track_caller]
fn is_whole(directory: &Path) -> Summary {
    let read = |name: &str| fs::read(directory.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let summary = Summary::from_json(std::str::from_utf8(&read("summary.json")).expect("UTF-8"));
    let summary = summary.expect("a summary");
    let histograms = hlog::read(&read("histograms.hlog")).expect("a whole log");
    let response = histograms.iter().find(|log| log.tag == "steady.response").expect("its tag");
    let counted = summary.steady.times.response.as_ref().map_or(0, |times| times.count);
    if summary.complete {
        assert_eq!(response.bins.len(), counted);
    }
    let series = read("series.parquet");
    assert!(series.starts_with(b"PAR1") && series.ends_with(b"PAR1"), "{} bytes", series.len());
    let left =
        fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry").file_name());
    let hidden: Vec<_> = left.filter(|name| name.to_string_lossy().starts_with('.')).collect();
    assert!(hidden.is_empty(), "{hidden:?} were left behind");
    summary
}

/// The run ended with samples lost, and says how many: exactly those that the file does not have.
#[track_caller]
fn lost_some(ended: &Ended, why: &str) {
    let summary = is_whole(&ended.directory);
    let file = ended.samples_file();
    assert!(!file.is_torn() && !file.is_complete() && file.kept() > 0);
    let rows = ended.samples();
    assert_eq!(rows.len() as u64, file.kept());
    assert!(rows.iter().any(|sample| sample.outcome == Outcome::Ok));
    let lost = all_requests(&summary) - file.kept();
    assert_eq!(summary.generator.samples_lost, lost);
    assert!(lost > 0 && summary.complete && !summary.verdict.valid);
    let check = summary.verdict.failed().find(|check| check.name == "samples-lost").expect("it failed");
    let note = check.note.as_deref().expect("why, and what to do");
    for part in [why, &format!("the {} samples", file.kept()), &format!("{lost} are lost"), "--out"] {
        assert!(note.contains(part), "`{part}` is not in: {note}");
    }
    assert!(ended.stdout.contains("samples-lost"), "{}", ended.stdout);
}

/// A disk of 1.3 MB, most of which is held in reserve, and which only this run sees.
#[test]
fn a_full_disk_costs_what_came_after_it_was_full() {
    let place = Place::new();
    let script = "mount --make-rprivate / && mkdir disk && mount -t tmpfs -o size=1300k none disk \
                  && \"$0\" \"$@\"; code=$?; cp -r disk/run run; exit $code";
    let may_mount =
        Command::new("unshare").args(["-m", "true"]).status().is_ok_and(|status| status.success());
    if !may_mount {
        return common::skip(
            "a_full_disk_costs_what_came_after_it_was_full",
            "no mount namespace may be made",
        );
    }
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", script, env!("CARGO_BIN_EXE_farfield")]);
    command.args("run -q -R 150 -d 8s -t 1 -o disk/run".split_whitespace());
    let output = command.current_dir(place.path("")).stdin(Stdio::null()).output().expect("unshare");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    let ended = Ended {
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
        directory: place.path("run"),
    };
    lost_some(&ended.exits(3), "No space left on device");
}

/// What setrlimit(2) and `ulimit -f` do: a write past the limit is refused, and a signal would end the process.
#[test]
fn a_limit_on_files_costs_what_came_after_it() {
    let place = Place::new();
    let mut command = Command::new("sh");
    // In blocks of 512 bytes.
    command.args(["-c", "ulimit -f 300; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_farfield")]);
    command.args("run -q -R 150 -d 8s -t 1 -o run".split_whitespace());
    let output = command.current_dir(place.path("")).stdin(Stdio::null()).output().expect("sh");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    let ended = Ended {
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
        directory: place.path("run"),
    };
    lost_some(&ended.exits(3), "File too large");
}

/// Killed at some time: what is left is of the last second or two, in all of the files.
#[test]
fn a_kill_leaves_all_files_of_the_last_second() {
    let place = Place::new();
    let run = place.begin_run("-c 4 --think 1ms -d 60s");
    run.await_checkpoint();
    poll("three seconds of a series", || {
        let summary = fs::read_to_string(run.directory.join("summary.json")).expect("a checkpoint");
        let summary = Summary::from_json(&summary).expect("a whole one");
        let steady = summary.phases.steady_ns > 3_000_000_000;
        (steady && run.directory.join("histograms.hlog").exists()).then_some(())
    });
    run.signal(Signal::KILL);
    let ended = run.ended();
    let summary = is_whole(&ended.directory);
    assert!(!summary.complete);
    let file = ended.samples_file();
    assert!(!file.is_torn());
    assert!(
        file.kept() >= all_requests(&summary),
        "samples are written before the summary of a checkpoint is"
    );
    place.farfield_with(&["report", ended.directory.to_str().expect("UTF-8")]).exits(3);
}

/// A terminal that is closed hangs up, and nobody reads any more.
#[test]
fn a_closed_terminal_leaves_the_partial_result() {
    let place = Place::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_farfield"));
    command.args("run -c 4 --think 1ms -d 60s -t 1 -o run".split_whitespace());
    command.current_dir(place.path("")).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut run = command.spawn().expect("farfield");
    poll("a first checkpoint", || place.path("run/summary.json").exists().then_some(()));
    drop((run.stdout.take(), run.stderr.take()));
    let pid = rustix::process::Pid::from_child(&run);
    for _ in 0..2 {
        rustix::process::kill_process(pid, Signal::HUP).expect("it runs");
    }
    let status = poll("the run to end", || run.try_wait().expect("a child"));
    assert_eq!(status.code(), Some(130));
    let summary = is_whole(&place.path("run"));
    assert!(!summary.complete && all_requests(&summary) > 0);
    assert!(summary.incomplete_reason.is_some_and(|reason| reason.contains("interrupted")));
}

/// Under nohup(1) a run goes on when its terminal is closed.
#[test]
fn nohup_is_heeded() {
    let place = Place::new();
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_farfield")]);
    command.args("run -q -c 2 --think 1ms -d 3s -t 1 -o run".split_whitespace());
    command.current_dir(place.path("")).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut run = command.spawn().expect("sh");
    poll("a first checkpoint", || place.path("run/summary.json").exists().then_some(()));
    rustix::process::kill_process(rustix::process::Pid::from_child(&run), Signal::HUP).expect("it runs");
    let status = poll("the run to end", || run.try_wait().expect("a child"));
    assert!(status.code().is_some_and(|code| code != 130));
    assert!(is_whole(&place.path("run")).complete);
}

/// Of a server that answers nothing: Ctrl-C while replies are awaited at the end keeps what there is, and the second one
/// does not wait for it.
#[test]
fn ctrl_c_while_draining_keeps_the_partial_result() {
    let place = Place::new();
    let server = place.serve("--service-time 50s --servers 1");
    let drain = format!("{}/bytes/1 -c 3 -d 500ms --warm-up 0s --set run.drain=60s", server.url);
    let run = place.begin_run(&drain);
    run.await_checkpoint();
    run.signal(Signal::INT);
    let ended = run.ended().exits(130);
    let summary = is_whole(&ended.directory);
    assert!(!summary.complete && ended.samples_file().kept() == all_requests(&summary));
}

#[test]
fn the_second_ctrl_c_ends_at_once_with_the_last_checkpoint() {
    let place = Place::new();
    let run = place.begin_run("-c 4 --think 1ms -d 60s");
    run.await_checkpoint();
    // Both before the process acts on the first: it is stopped meanwhile.
    run.signal(Signal::STOP);
    run.signal(Signal::INT);
    run.signal(Signal::TERM);
    run.signal(Signal::CONT);
    let ended = run.ended().exits(130);
    let file = ended.samples_file();
    assert!(!file.is_torn() && !file.is_complete() && file.kept() > 0);
    assert!(!ended.summary().complete);
}
