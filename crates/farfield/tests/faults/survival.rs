//! Measurements survive a full disk, a limit on files, a kill, a closed terminal, and a user who loses
//! patience.

use crate::common::{Ended, Place, Signal, poll, shell};
use farfield_base::Outcome;
use farfield_measure::{Summary, hlog};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use std::fs;
use std::io::{PipeReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

fn all_requests(summary: &Summary) -> u64 {
    summary.warm_up.requests + summary.steady.requests + summary.drained_requests
}

/// The run directory has all of its files, each of them whole and of the same run, and they agree with each
/// other.
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

/// The run ended as invalid with samples lost, and says how many, which are exactly those that the file does
/// not have, and what to do.
#[track_caller]
fn lost_some(ended: &Ended, why: &str) {
    assert_eq!(ended.code, Some(3), "{}{}", ended.stdout, ended.stderr);
    let summary = is_whole(&ended.directory);
    let file = ended.samples_file();
    assert!(!file.is_torn() && !file.is_complete() && file.kept() > 0);
    let rows = ended.samples();
    assert_eq!(rows.len() as u64, file.kept());
    assert!(rows.iter().any(|sample| sample.outcome == Outcome::Ok));
    let lost = all_requests(&summary) - file.kept();
    assert_eq!(summary.generator.counts.samples_lost, lost);
    assert!(lost > 0 && summary.complete && !summary.verdict.valid);
    let check = summary.verdict.failed().find(|check| check.name == "samples-lost").expect("it failed");
    let note = check.note.as_deref().expect("why, and what to do");
    for part in [why, &format!("the {} samples", file.kept()), &format!("{lost} are lost"), "--out"] {
        assert!(note.contains(part), "`{part}` is not in: {note}");
    }
    let reported = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let advice = check.advice.as_deref().expect("advice");
    // A machine that is busy meanwhile may have the run fail for that as well, which then is shown first.
    assert!(reported.contains("! samples-lost"), "{reported}");
    assert!(advice.starts_with("free the disk") && check.follows_from.is_none(), "{check:?}");
}

/// A disk that only this run sees, and that something else fills once the run has kept its first samples.
/// The disk space held in reserve is enough for the result.
#[test]
fn a_full_disk_costs_what_came_after_it_was_full() {
    let place = Place::new();
    let may_mount =
        Command::new("unshare").args(["-m", "true"]).status().is_ok_and(|status| status.success());
    if !may_mount {
        return crate::common::skip(
            "a_full_disk_costs_what_came_after_it_was_full",
            "no mount namespace may be made",
        );
    }
    place.write(
        "inside",
        "mount --make-rprivate / && mkdir disk && mount -t tmpfs -o size=4M none disk || exit 1\n\
         FARFIELD run -q -R 100 -d 8s -t 1 -o disk/run & run=$!\n\
         until grep -qs '\"requests\": *[1-9]' disk/run/summary.json; do sleep 0.02; done\n\
         cat /dev/zero > disk/rest\n\
         wait $run; code=$?; cp -r disk/run run; exit $code\n"
            .replace("FARFIELD", env!("CARGO_BIN_EXE_farfield")),
    );
    lost_some(&shell(&place, "exec unshare -m sh inside"), "No space left on device");
}

/// The effect of setrlimit(2) and `ulimit -f`: a write past the limit is refused, and a signal would end the
/// process. The limit is set once the run has kept its first samples.
#[test]
fn a_limit_on_files_costs_what_came_after_it() {
    let place = Place::new();
    let run = place.begin_run("-R 100 -d 8s");
    let kept = || Summary::from_json(&fs::read_to_string(run.directory.join("summary.json")).ok()?).ok();
    poll("samples", || kept().filter(|summary| all_requests(summary) > 0));
    let written = fs::metadata(run.directory.join("samples.parquet")).expect("samples").len();
    // The other files of a run of seconds take less.
    let most = Some(written.max(100_000));
    let process = Pid::from_raw(run.id().cast_signed());
    prlimit(process, Resource::Fsize, Rlimit { current: most, maximum: most }).expect("a lower limit");
    lost_some(&run.ended(), "File too large");
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

/// Begins a run by a line of the shell in the place's folder, and waits for its first checkpoint. Its
/// directory is `run`.
fn begun(place: &Place, line: &str) -> std::process::Child {
    let line = line.replace("FARFIELD", env!("CARGO_BIN_EXE_farfield"));
    let mut command = Command::new("sh");
    command.args(["-c", &line]).current_dir(place.path(""));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let run = command.spawn().expect("sh");
    poll("a first checkpoint", || place.path("run/summary.json").exists().then_some(()));
    run
}

fn hang_up(run: &std::process::Child) {
    rustix::process::kill_process(rustix::process::Pid::from_child(run), Signal::HUP).expect("it runs");
}

/// A terminal that is closed hangs up, and nobody reads any more.
#[test]
fn a_closed_terminal_leaves_the_partial_result() {
    let status = fs::read_to_string("/proc/self/status").expect("a status");
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("a mask");
    if u64::from_str_radix(ignored.trim(), 16).expect("a mask") & 1 == 1 {
        // The run would inherit it, and heed it.
        return crate::common::skip(
            "a_closed_terminal_leaves_the_partial_result",
            "the tests run under nohup",
        );
    }
    let place = Place::new();
    let mut run = begun(&place, "exec FARFIELD run -c 4 --think 1ms -d 60s -t 1 -o run");
    drop((run.stdout.take(), run.stderr.take()));
    hang_up(&run);
    hang_up(&run);
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
    let mut run = begun(&place, "trap '' HUP; exec FARFIELD run -q -c 2 --think 1ms -d 3s -t 1 -o run");
    drop((run.stdout.take(), run.stderr.take()));
    hang_up(&run);
    let status = poll("the run to end", || run.try_wait().expect("a child"));
    assert!(status.code().is_some_and(|code| code != 130));
    assert!(is_whole(&place.path("run")).complete);
}

/// A pipe that takes nothing more, as of a pager that shows its first page, or of a terminal that is paused.
fn full_pipe() -> (PipeReader, Stdio) {
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    let flags = rustix::fs::fcntl_getfl(&writer).expect("its flags");
    rustix::fs::fcntl_setfl(&writer, flags | rustix::fs::OFlags::NONBLOCK).expect("own pipe");
    while writer.write(&[b'.'; 4096]).is_ok() {}
    rustix::fs::fcntl_setfl(&writer, flags).expect("own pipe");
    (reader, writer.into())
}

/// A reader who stops reading the lines of progress does not stop the run: neither its samples nor Ctrl-C
/// wait for him.
#[test]
fn a_paused_reader_of_the_progress_holds_up_nothing() {
    let place = Place::new();
    let begin = |words: &str| {
        let (unread, full) = full_pipe();
        let mut command = Command::new(env!("CARGO_BIN_EXE_farfield"));
        let words = format!("run -c 2 --think 1ms --warm-up 0s -t 1 {words} {}", crate::common::CALM);
        command.args(words.split_whitespace()).current_dir(place.path(""));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(full);
        (unread, command.spawn().expect("farfield"))
    };
    let (_unread, mut run) = begin("-d 3s -o run");
    let status = poll("the run to end", || run.try_wait().expect("a child"));
    assert_eq!(status.code(), Some(0));
    assert!(is_whole(&place.path("run")).complete);
    let (_unread, mut run) = begin("-d 1000s -o interrupted");
    // The first line of progress comes with it.
    poll("a checkpoint", || place.path("interrupted/summary.json").exists().then_some(()));
    rustix::process::kill_process(Pid::from_child(&run), Signal::INT).expect("it runs");
    let status = poll("the run to end", || run.try_wait().expect("a child"));
    assert_eq!(status.code(), Some(130));
}

/// Two that begin in the same second each have a directory; of two that are to have the same one, one is
/// refused.
#[test]
fn two_runs_never_share_a_directory() {
    let place = Place::new();
    let short =
        format!("FARFIELD run -q -c 1 --think 10ms -d 200ms --warm-up 0s -t 1 {}", crate::common::CALM);
    let line = (0..4).map(|_| format!("{short} &")).collect::<String>();
    shell(&place, &format!("{line} wait")).exits(0);
    let runs =
        fs::read_dir(place.path("farfield-runs")).expect("runs").map(|run| run.expect("an entry").path());
    let runs: Vec<_> =
        runs.filter(|run| run.is_dir()).inspect(|run| assert!(is_whole(run).complete)).collect();
    assert_eq!(runs.len(), 4, "{runs:?}");
    let mut first = begun(&place, "exec FARFIELD run -q -c 1 --think 10ms -d 60s -t 1 -o run");
    let second = shell(&place, &format!("{short} -o run")).exits(1);
    second.says(&["cannot write run", "another run is being written into it", "--out"]);
    rustix::process::kill_process(Pid::from_child(&first), Signal::KILL).expect("it runs");
    first.wait().expect("a child");
    let third = shell(&place, &format!("{short} -o run")).exits(1);
    third.says(&["it holds a run already"]);
}

/// Of a server that answers nothing: Ctrl-C while replies are awaited at the end keeps what there is, and the
/// second one does not wait for it.
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

/// A disk that takes nothing for seconds: Ctrl-C ends the load meanwhile, and what was measured is kept once
/// the disk goes on.
#[test]
fn ctrl_c_ends_the_load_while_the_disk_is_frozen() {
    let place = Place::new();
    let may_mount =
        Command::new("unshare").args(["-m", "true"]).status().is_ok_and(|status| status.success());
    if !may_mount {
        let test = "ctrl_c_ends_the_load_while_the_disk_is_frozen";
        return crate::common::skip(test, "no mount namespace may be made");
    }
    for plane in ["", "--plane emulated --rtt 2ms"] {
        place.write(
            "inside",
            "mount --make-rprivate / && mkdir -p disk && truncate -s 64M image && mkfs.ext4 -qF image || exit 77\n\
             mount -o loop image disk || exit 77\n\
             trap 'fsfreeze -u disk 2> said; umount -l disk' EXIT\n\
             FARFIELD run -q -c 2 --think 5ms PLANE -d 60s -t 1 -o disk/run & run=$!\n\
             until grep -qs '\"requests\": *[1-9]' disk/run/summary.json; do sleep 0.02; done\n\
             fsfreeze -f disk || exit 77\n\
             until cat /proc/$run/task/*/stat | grep -q ') D '; do kill -0 $run || exit 1; sleep 0.02; done\n\
             date +%s%N > interrupted; kill -INT $run\n\
             sleep 4; fsfreeze -u disk; date +%s%N > thawed\n\
             wait $run; code=$?; date +%s%N > ended; rm -rf run; cp -r disk/run run; exit $code\n"
                .replace("FARFIELD", env!("CARGO_BIN_EXE_farfield"))
                .replace("PLANE", plane),
        );
        let ended = shell(&place, "exec unshare -m sh inside");
        if ended.code == Some(77) {
            let test = "ctrl_c_ends_the_load_while_the_disk_is_frozen";
            return crate::common::skip(test, "no file system of its own may be mounted and frozen");
        }
        let ended = ended.exits(130);
        let summary = is_whole(&ended.directory);
        let [interrupted, thawed, gone] = ["interrupted", "thawed", "ended"].map(|name| {
            let instant = fs::read_to_string(place.path(name)).expect("an instant");
            instant.trim().parse::<u64>().expect("nanoseconds")
        });
        let start = summary.clock.expect("a clock").start_unix_ns;
        let samples = ended.samples();
        let last = samples.iter().filter_map(|sample| sample.sent.instant()).max().expect("requests");
        let went_on = (start + last.as_ns()).saturating_sub(interrupted);
        // Some milliseconds, of which a busy machine makes more; the disk is frozen for four seconds.
        let ending = gone - thawed;
        println!(
            "{plane}: the load went on for {went_on} ns, and the process for {ending} ns once it could write"
        );
        // The kernel lets nobody go, not even by SIGKILL, who waits for such a disk.
        assert!(gone - interrupted > 4_000_000_000, "{plane}: the disk was not frozen");
        assert!(ending < 5_000_000_000, "{plane}: the process ended {ending} ns after the disk went on");
        assert!(went_on < 1_000_000_000, "{plane}: load went on for {went_on} ns");
        assert!(summary.phases.steady_ns < last.as_ns() + 1_000_000_000, "{:?}", summary.phases);
        assert_eq!(samples.len() as u64, all_requests(&summary), "{plane}: all are kept");
    }
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

/// A scenario with files beside it, in virtual time: from its run directory alone and in another working
/// directory it makes the same samples again, byte for byte. A directory that was changed is refused.
#[test]
fn a_run_is_repeated_from_its_directory() {
    let place = Place::new();
    let write = |name: &str, text: &str| fs::write(place.path(name), text).expect("own file");
    ["mine/data", "elsewhere"]
        .iter()
        .for_each(|name| fs::create_dir_all(place.path(name)).expect("own folder"));
    write(
        "mine/s.toml",
        "name = 'mine'\nplane = 'simulated'\nnetwork = { clients = 20, rtt = '10ms' }\nrequests.file = 'urls'\n\
         load = { model = 'open', arrivals = { process = 'gaps', file = 'data/gaps', loop = true } }\n\
         run = { warm-up = '1s', duration = '20s' }\n",
    );
    write("mine/urls", "/a\n/b\nPOST /c\n");
    write("mine/data/gaps", "0.01\n0.02\n0.003\n");
    let first = shell(&place, "exec FARFIELD run mine/s.toml -q -o run").exits(0);
    let read = |name: &str| fs::read(place.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    fs::remove_dir_all(place.path("mine")).expect("own folder");
    fs::rename(place.path("run"), place.path("kept")).expect("own folder");
    shell(&place, "cd elsewhere && exec FARFIELD run ../kept -q -o ../run").exits(0);
    for name in ["samples.parquet", "scenario.toml", "inputs/urls", "inputs/gaps"] {
        assert!(read(&format!("run/{name}")) == read(&format!("kept/{name}")), "{name}");
    }
    // The comments at its head say when the run began, which is another second.
    let histograms = |run: &str| {
        let log = String::from_utf8(read(&format!("{run}/histograms.hlog"))).expect("text");
        log.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(histograms("run").len() > 1 && histograms("run") == histograms("kept"));
    assert!(first.stdout.contains("mine"));
    fs::remove_file(place.path("kept/inputs/gaps")).expect("own file");
    shell(&place, "exec FARFIELD run kept -q")
        .exits(2)
        .says(&["in kept: inputs/gaps (that was data/gaps) cannot be read"]);
    fs::remove_file(place.path("kept/scenario.toml")).expect("own file");
    shell(&place, "exec FARFIELD run kept -q").exits(2).says(&["kept is no run directory"]);
    shell(&place, "exec FARFIELD run elsewhere -q").exits(2).says(&["elsewhere is no run directory"]);
}

/// A closed load in virtual time, of any length.
const SIMULATED: &str =
    "--set plane=simulated --set network.clients=50 --set network.rtt=10ms -c 50 --think 10ms";

/// A simulation that would take hours shows how it goes, and Ctrl-C ends it with all that it came to.
#[test]
fn ctrl_c_ends_a_simulation_with_the_partial_result() {
    let place = Place::new();
    let mut run = place.begin(&format!("run {SIMULATED} --warm-up 0s -d 1000000s -o run"));
    run.directory = place.path("run");
    run.await_checkpoint();
    run.signal(Signal::INT);
    let ended = run.ended().exits(130);
    let summary = is_whole(&ended.directory);
    assert!(!summary.complete && summary.steady.requests > 0);
    assert_eq!(ended.samples_file().kept(), all_requests(&summary));
    let progress = ended.stderr.lines().find(|line| line.contains(" s left: ")).expect("a line of progress");
    assert!(progress.contains(" requests/s") && progress.contains(" waiting"), "{progress}");
}

/// The most memory that a run of so many seconds of virtual time takes, in KiB.
fn memory_of_a_simulation(place: &Place, seconds: u32) -> u64 {
    memory_of_a_run(place, &format!("{SIMULATED} -d {seconds}s"), &format!("run-{seconds}"))
}

/// The most memory that a run with these words takes, in KiB.
fn memory_of_a_run(place: &Place, words: &str, name: &str) -> u64 {
    let run = place.begin(&format!("run {words} -q -o {name}"));
    let mut most = 0;
    poll("the run to end", || {
        let status = fs::read_to_string(format!("/proc/{}/status", run.id())).expect("it was not waited for");
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        // A process that has ended leaves nothing to read.
        let Some(peak) = peak else { return Some(()) };
        most = peak.trim().trim_end_matches(" kB").parse().expect("a number");
        None
    });
    run.ended().exits(0);
    most
}

/// Four times as many requests take no more memory: 75,000 of them would be 14 MB, were they held to the end.
#[test]
fn the_length_of_a_simulation_takes_no_memory() {
    let place = Place::new();
    let [short, long] = [10, 40].map(|seconds| memory_of_a_simulation(&place, seconds));
    assert!(short > 0 && long * 10 < short * 12, "{short} KiB and {long} KiB");
}

/// Nor does the length of its time: of each second little is kept, where 35,000 of them took 20 MB. Both are
/// long enough for all files to be written meanwhile.
#[test]
fn the_seconds_of_a_simulation_take_little_memory() {
    let place = Place::new();
    let [short, long] = [5_000, 40_000].map(|seconds| {
        let words = format!("--plane simulated -R 0.02 -d {seconds}s");
        memory_of_a_run(&place, &words, &format!("run-{seconds}"))
    });
    assert!(short > 0 && long < short + (16 << 10), "{short} KiB and {long} KiB");
}

/// A threshold that aborts is compared with what came of each second of virtual time: where it is broken, the
/// run ends at that second, and on any number of threads with the same samples.
#[test]
fn a_broken_threshold_ends_a_simulation_at_its_second() {
    let place = Place::new();
    let files = [1, 1, 3].map(|shards| {
        let aborts = "--abort errors<1% --set verdict.succeeded=0";
        let refuse = "--set simulated.reply=[{path=\"/\",status=503}]";
        let words = format!("{SIMULATED} -d 1000000s --warm-up 0s --shards {shards} {aborts} {refuse}");
        let ended = place.run(&words).exits(105);
        let summary = ended.summary();
        let reason = summary.incomplete_reason.as_deref().unwrap_or_default();
        assert!(reason.contains("the threshold errors<1% was broken"), "{reason}");
        // The second, and the window of virtual time in which it ended: less than a round trip.
        let steady = summary.phases.steady_ns;
        assert!((1_000_000_000..1_010_000_000).contains(&steady), "{steady}");
        assert_eq!(ended.samples_file().kept(), all_requests(&summary));
        fs::read(ended.directory.join("samples.parquet")).expect("samples")
    });
    assert!(files[0] == files[1] && files[0] == files[2]);
    // One that holds lets the run go on to its end.
    place.run(&format!("{SIMULATED} -d 5s --warm-up 0s --abort errors<1%")).exits(0);
}

/// A second Ctrl-C ends the program at once, also while it writes its results: each file is then that of the
/// last checkpoint or the final one, and none is cut.
#[test]
fn a_second_interrupt_leaves_whole_files() {
    let place = Place::new();
    // From at once to long after the results were written.
    for wait_ms in [0, 1, 3, 10, 30, 100, 1000] {
        let run = place.begin_run("-c 20 --think 10ms -d 60s");
        run.await_checkpoint();
        run.signal(Signal::INT);
        let ended = crate::common::try_poll(std::time::Duration::from_millis(wait_ms), || {
            run.is_gone().then_some(())
        });
        if ended.is_none() {
            run.signal(Signal::INT);
        }
        let ended = run.ended().exits(130);
        let summary = ended.summary();
        assert!(!summary.complete && all_requests(&summary) > 0, "after {wait_ms} ms");
        // Encoded where a processor idles, these may not be there after a second.
        if let Ok(histograms) = fs::read(ended.directory.join("histograms.hlog")) {
            hlog::read(&histograms).expect("a whole log");
        }
        if let Ok(series) = fs::read(ended.directory.join("series.parquet")) {
            assert!(series.starts_with(b"PAR1") && series.ends_with(b"PAR1"), "{} bytes", series.len());
        }
        if let Ok(page) = fs::read_to_string(ended.directory.join("report.html")) {
            assert!(page.trim_end().ends_with("</html>"), "after {wait_ms} ms: {} bytes", page.len());
        }
        // Requests that the summary has counted are in the samples, which may go on for longer.
        let kept = ended.samples();
        assert!(kept.len() as u64 >= all_requests(&summary), "after {wait_ms} ms: {} samples", kept.len());
    }
}

/// Ctrl-C in a simulation that is far past capacity: it ends where virtual time has come to, and what it had
/// not come to was not due. It ends soon: after 0.5 to 0.8 s, with or without optimisation, and on a busy
/// machine once in three times at least within three seconds.
#[test]
fn an_interrupted_simulation_ends_where_it_is() {
    let soon = std::time::Duration::from_secs(3);
    let ended_soon = (0..3).any(|_| {
        let place = Place::new();
        let run = place.begin_run("--plane simulated -R 1e9 -d 1s --warm-up 0s");
        run.await_checkpoint();
        run.signal(Signal::INT);
        let is_soon = crate::common::try_poll(soon, || run.is_gone().then_some(())).is_some();
        ends_where_it_is(run.ended().exits(130));
        is_soon
    });
    assert!(ended_soon, "three times it took longer than {soon:?}");
}

#[track_caller]
fn ends_where_it_is(ended: Ended) {
    let summary = is_whole(&ended.directory);
    let arrivals = summary.generator.arrivals.as_ref().expect("an open load");
    assert!(arrivals.scheduled > 0 && arrivals.scheduled == arrivals.begun, "{arrivals:?}");
    // Virtual time is in its first window, of 4 ms at most.
    assert!(summary.phases.steady_ns > 0 && summary.phases.steady_ns <= 4_000_000, "{:?}", summary.phases);
    assert_eq!(all_requests(&summary), arrivals.scheduled);
    assert_eq!(ended.samples_file().kept(), arrivals.scheduled);
}

/// Ctrl-C ends a simulation, whatever it has to write: many virtual seconds, many clients, a capture. A
/// release takes less than a second for each (docs/lab/reports.md); the bound is one of a build without
/// optimisation, on a busy machine.
#[test]
fn an_interrupted_simulation_ends_soon() {
    let place = Place::new();
    for words in ["-c 200", "-c 200 --shards 2", "-c 100000", "-c 20 --think 1s", "-c 20 --capture"] {
        let run = place.begin_run(&format!("--plane simulated {words} -d 100000s --warm-up 0s"));
        run.await_checkpoint();
        run.signal(Signal::INT);
        let soon = std::time::Duration::from_secs(10);
        assert!(crate::common::try_poll(soon, || run.is_gone().then_some(())).is_some(), "{words}");
        let ended = run.ended().exits(130);
        let summary = is_whole(&ended.directory);
        assert_eq!(ended.samples_file().kept(), all_requests(&summary), "{words}");
        // The check that reads the whole capture is left to `farfield verify`.
        let held = summary.verdict.checks.iter().find(|check| check.name == "capture-agrees");
        assert_eq!(held.is_some(), words.contains("--capture"), "{words}");
        let note = held.and_then(|check| check.note.as_deref()).unwrap_or("the run was interrupted");
        assert!(note.starts_with("the run was interrupted"), "{note}");
    }
}
