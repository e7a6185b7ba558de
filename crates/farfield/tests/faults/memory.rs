//! Memory that runs out in mid-run: the server's, by its own limit or for others, and the generator's.
//!
//! Control groups, which a test makes and removes, decide what kills and what is short; without root, or
//! where none can be made, it skips by name.

use crate::common::wan::Wan;
use crate::common::{CALM, Ended, Place, Process, Signal, poll, skip};
use farfield_measure::verdict::Check;
use rustix::process::{Pid, kill_process};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

const FARFIELD: &str = env!("CARGO_BIN_EXE_farfield");
const MIB: u64 = 1 << 20;

/// The first cause of a run that is invalid.
#[track_caller]
fn cause(ended: &Ended) -> Check {
    assert_eq!(ended.code, Some(3), "{}{}", ended.stdout, ended.stderr);
    ended.summary().verdict.first_cause().expect("a cause").clone()
}

/// A control group for memory, made below the root of its hierarchy. Dropped, it is removed.
struct Group {
    folder: PathBuf,
    is_version_one: bool,
}

impl Group {
    /// `None`, and `test` is skipped, where none can be made.
    fn new(test: &str) -> Option<Group> {
        let one = PathBuf::from("/sys/fs/cgroup/memory");
        let is_version_one = one.join("memory.limit_in_bytes").exists() || one.join("memory.stat").exists();
        let above = if is_version_one { one } else { "/sys/fs/cgroup".into() };
        let folder = above.join(format!("farfield-test-{}-{test}", std::process::id()));
        let made = fs::create_dir(&folder).and_then(|()| fs::metadata(folder.join("memory.stat")).map(drop));
        match made {
            Ok(()) => Some(Group { folder, is_version_one }),
            Err(error) => {
                let _ = fs::remove_dir(&folder);
                skip(test, &format!("no control group for memory can be made: {error}"));
                None
            }
        }
    }

    fn named(&self, one: &str, two: &str) -> PathBuf {
        self.folder.join(if self.is_version_one { one } else { two })
    }

    fn take(&self, process: u32) {
        fs::write(self.folder.join("cgroup.procs"), process.to_string()).expect("a process");
    }

    /// Bytes that are held, but for pages of files.
    fn held(&self) -> u64 {
        let read = |path: PathBuf| fs::read_to_string(path).expect("a file of the group");
        let used: u64 =
            read(self.named("memory.usage_in_bytes", "memory.current")).trim().parse().expect("bytes");
        let stat = read(self.folder.join("memory.stat"));
        let files = stat.lines().filter_map(|line| line.split_once(' '));
        let files = files.filter(|(name, _)| ["inactive_file", "active_file"].contains(name));
        used.saturating_sub(files.map(|(_, bytes)| bytes.parse::<u64>().expect("bytes")).sum())
    }

    /// Bounds what is held to what is held now and `more`.
    fn bound(&self, more: u64) {
        let most = self.held() + more;
        fs::write(self.named("memory.limit_in_bytes", "memory.max"), most.to_string()).expect("a limit");
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let left = fs::read_to_string(self.folder.join("cgroup.procs")).unwrap_or_default();
        for process in left.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?)) {
            let _ = kill_process(process, Signal::KILL);
        }
        // A process that was killed leaves a moment later.
        poll("the group to be empty", || fs::remove_dir(&self.folder).is_ok().then_some(()));
    }
}

/// A process that comes to hold `mib` MiB, and then does nothing.
fn hoarder(place: &Place, group: &Group, mib: u64) -> Process {
    // `tail` holds a line that does not end, and `exec` makes it the process that is started.
    let line = format!(
        "echo $$ > {}/cgroup.procs; mkfifo pipe; (head -c {mib}M /dev/zero; exec sleep 120) > pipe & exec tail -n 1 pipe",
        group.folder.display()
    );
    Process::start(Command::new("/bin/sh").args(["-c", &line]), place)
}

/// A server whose processes grow past what the run allows it: the kernel kills it, which is named as that.
#[test]
fn a_server_that_uses_up_its_memory() {
    let test = "a_server_that_uses_up_its_memory";
    // The killed process is the one whose exit status is the server's, as a server's own would be.
    let line = format!(
        "{FARFIELD} serve 0.0.0.0:80 & server=$!; sleep 2; head -c 1G /dev/zero | tail -n 1 > /dev/null; \
         status=$?; kill -9 $server; exit $status"
    );
    let Some(wan) = Wan::of(test, vec!["/bin/sh".into(), "-c".into(), line]) else { return };
    let scenario = "load = { model = 'open', arrivals = '50/s' }\nnetwork = { clients = 20, rtt = '10ms' }\n\
                    run = { warm-up = '100ms', duration = '5s', drain = '500ms' }";
    let ended = wan.run(scenario, "--server-memory 64MiB");
    if ended.stderr.contains("cannot be enforced") {
        return skip(test, &ended.stderr);
    }
    let cause = cause(&ended);
    assert_eq!(cause.name, "server-ended");
    let note = cause.note.expect("a note");
    assert!(note.contains("(killed by signal 9: the kernel's, since `server.memory` was used up)"), "{note}");
    assert!(cause.advice.expect("advice").starts_with("give the server more with `server.memory`"));
}

/// A server that the run did not start, killed by the kernel because others beside it used memory up.
#[test]
fn a_server_that_others_leave_no_memory() {
    let test = "a_server_that_others_leave_no_memory";
    let Some(group) = Group::new(test) else { return };
    let place = Place::new();
    let server = place.serve("");
    group.take(server.id());
    fs::write(format!("/proc/{}/oom_score_adj", server.id()), "1000").expect("own process");
    let run = place.begin_run(&format!("{}/bytes/100 -R 50 -d 4s --set run.drain=500ms", server.url));
    run.await_checkpoint();
    group.bound(16 * MIB);
    let mut others = hoarder(&place, &group, 200);
    let ended = run.ended();
    others.signal(Signal::KILL);
    others.wait();
    drop(server);
    let cause = cause(&ended);
    assert_eq!(cause.name, "server-silent");
    let note = cause.note.expect("a note");
    assert!(note.ends_with(", and the kernel killed for want of memory during the run"), "{note}");
    assert!(cause.advice.expect("advice").contains("`dmesg`"));
    let warnings = ended.summary().warnings;
    let reported = warnings
        .iter()
        .any(|warning| warning.starts_with("the kernel killed ") && warning.contains("for want of memory"));
    assert!(reported, "{warnings:?}");
}

/// farfield's own memory becomes short, beside others in its control group: that is the run's fault.
#[test]
fn a_generator_that_runs_short_of_memory() {
    let test = "a_generator_that_runs_short_of_memory";
    let Some(group) = Group::new(test) else { return };
    let place = Place::new();
    let server = place.serve("");
    let mut others = hoarder(&place, &group, 400);
    poll("the others to hold their memory", || (group.held() > 400 * MIB).then_some(()));
    let line = format!(
        "echo $$ > {}/cgroup.procs; exec {FARFIELD} run {}/bytes/100 -R 50 -d 4s -t 1 -q -o run {CALM} > out",
        group.folder.display(),
        server.url
    );
    let mut run = Process::start(Command::new("/bin/sh").args(["-c", &line]), &place);
    poll("a checkpoint", || place.path("run/summary.json").exists().then_some(()));
    // A twentieth of 400 MiB is 20; nothing is killed.
    group.bound(10 * MIB);
    let code = run.wait().code();
    let stdout = fs::read_to_string(place.path("out")).expect("own file");
    let ended = Ended { code, stdout, stderr: String::new(), directory: place.path("run") };
    others.signal(Signal::KILL);
    others.wait();
    let cause = cause(&ended);
    assert_eq!(cause.name, "generator-lacked");
    let note = cause.note.expect("a note");
    assert!(
        note.starts_with("after ") && note.ends_with("of memory were left (the limit of its control group)"),
        "{note}"
    );
    assert!(cause.advice.expect("advice").starts_with("free memory"));
}
