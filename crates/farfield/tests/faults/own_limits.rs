//! Limits on farfield itself: of its control groups, on memory, processor time and threads, and of the
//! process on addresses. What does not fit is refused before the run with its numbers; what takes time away
//! in mid-run is the first cause of what is late.
//!
//! The groups are the kernel's, of whichever version has the controller; without root, or where none can be
//! made, a test skips by name.

use crate::common::wan::may_build;
use crate::common::{CALM, Ended, Place, Signal, poll, shell, skip};
use farfield_measure::verdict::CheckState;
use rustix::process::{Pid, kill_process};
use std::fs;
use std::path::PathBuf;

/// A control group, made below the root of the hierarchy that has its controller. Dropped, it is removed.
struct Group {
    folder: PathBuf,
    is_version_one: bool,
}

impl Group {
    /// `None`, and `test` is skipped, where none can be made.
    fn new(test: &str, controller: &str) -> Option<Group> {
        let one = PathBuf::from("/sys/fs/cgroup").join(controller);
        let is_version_one = one.join("cgroup.procs").exists();
        let above = if is_version_one { one } else { "/sys/fs/cgroup".into() };
        let folder = above.join(format!("farfield-test-{}-{test}", std::process::id()));
        let has = match (controller, is_version_one) {
            ("memory", _) => "memory.stat",
            ("cpu", true) => "cpu.cfs_quota_us",
            ("cpu", false) => "cpu.max",
            _ => "pids.max",
        };
        let made = fs::create_dir(&folder).and_then(|()| fs::metadata(folder.join(has)).map(drop));
        match made {
            Ok(()) => Some(Group { folder, is_version_one }),
            Err(error) => {
                let _ = fs::remove_dir(&folder);
                skip(test, &format!("no control group for {controller} can be made: {error}"));
                None
            }
        }
    }

    fn set(&self, file: &str, value: &str) {
        fs::write(self.folder.join(file), value).unwrap_or_else(|error| panic!("{file} = {value}: {error}"));
    }

    fn bound_memory(&self, bytes: u64) {
        let file = if self.is_version_one { "memory.limit_in_bytes" } else { "memory.max" };
        self.set(file, &bytes.to_string());
    }

    /// Bounds processor time to a share of one processor.
    fn bound_time(&self, percent: u32) {
        let quota_us = percent * 1_000;
        match self.is_version_one {
            true => {
                self.set("cpu.cfs_period_us", "100000");
                self.set("cpu.cfs_quota_us", &quota_us.to_string());
            }
            false => self.set("cpu.max", &format!("{quota_us} 100000")),
        }
    }

    /// A group below this one, which has no limits of its own.
    fn below(&self) -> Group {
        let folder = self.folder.join("farfield-test-inner");
        fs::create_dir(&folder).expect("a group below our own");
        Group { folder, is_version_one: self.is_version_one }
    }

    /// Runs farfield with these words in the group.
    fn run(&self, place: &Place, words: &str) -> Ended {
        let group = self.folder.join("cgroup.procs");
        shell(place, &format!("echo $$ > {}; exec FARFIELD run {words} -q -o run", group.display()))
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

/// 30 MB for thousands of users: refused with what they take, what is free, and what bounds it, by the
/// process' own group and by one above it. A few users fit.
#[test]
fn users_that_a_groups_memory_does_not_hold_are_refused() {
    let test = "users_that_a_groups_memory_does_not_hold_are_refused";
    if !may_build(test) {
        return;
    }
    let Some(above) = Group::new(test, "memory") else { return };
    above.bound_memory(30 << 20);
    let inner = above.below();
    let place = Place::new();
    for (group, words, users) in [
        (&above, "--plane emulated --rtt 10ms -c 3000 -d 1s", "3000 users take at least 3"),
        (&above, "--plane simulated -c 40000 --think 1s -d 1s", "40000 users take at least "),
        (&inner, "--plane simulated -c 40000 -d 1s", "40000 users take at least "),
    ] {
        let refused = group.run(&place, words).exits(1);
        refused.says(&[users, " MB are free (the limit of its control group)", "ask for fewer users"]);
        assert!(!refused.directory.exists(), "a run that never was leaves no directory");
    }
    inner.run(&place, "--plane simulated -c 5 --think 1s -d 5s").exits(0);
}

/// A group that holds no run at all.
#[test]
fn memory_that_holds_no_run_is_refused() {
    let test = "memory_that_holds_no_run_is_refused";
    if !may_build(test) {
        return;
    }
    let Some(group) = Group::new(test, "memory") else { return };
    group.bound_memory(15 << 20);
    let place = Place::new();
    let refused = group.run(&place, "--plane emulated --rtt 10ms -R 10 -d 1s").exits(1);
    refused.says(&[
        "a run takes at least 15 MB of memory",
        "(the limit of its control group): raise that limit",
    ]);
}

/// A twentieth of a processor for a worker that needs a whole one: said before, and the first cause of what
/// is late. (It is so little that a worker uses it up on a busy machine as well.) A quota that is never used
/// up is no cause.
#[test]
fn processor_time_that_a_quota_takes_away_is_the_first_cause() {
    let test = "processor_time_that_a_quota_takes_away_is_the_first_cause";
    let _alone = crate::common::alone();
    let Some(group) = Group::new(test, "cpu") else { return };
    let place = Place::new();
    let server = place.serve("");
    group.bound_time(5);
    let inner = group.below();
    // A worker that does not run hears nothing from the server either.
    let load = "-c 4 -d 2s -t 1 --set verdict.server-silent=1m";
    let ended = inner.run(&place, &format!("{}/bytes/100 {load}", server.url)).exits(3);
    let summary = ended.summary();
    let cause = summary.verdict.first_cause().expect("a cause");
    assert_eq!(cause.name, "throttled", "{}", ended.stdout);
    assert!(cause.measured.expect("a share") > 0.01, "{cause:?}");
    assert!(
        cause.note.as_deref().expect("a note").starts_with("the quota of 0.05 processors of"),
        "{cause:?}"
    );
    let warned = summary.warnings.iter().any(|warning| {
        warning.starts_with("the control group of this process may use 0.05 processors")
            && warning.contains("its worker may need a whole one")
    });
    assert!(warned, "{:?}", summary.warnings);
    group.bound_time(1_000);
    let rich = Place::new();
    let load = "-c 2 --think 50ms -d 1s -t 1";
    let limits = format!("{CALM} --set verdict.throttled=0.002");
    let ended = inner.run(&rich, &format!("{}/bytes/100 {load} {limits}", server.url));
    let checks = ended.exits(0).summary().verdict.checks;
    let throttled = checks.iter().find(|check| check.name == "throttled").expect("the check");
    assert_ne!(throttled.state, CheckState::Failed, "{throttled:?}");
}

/// Fewer tasks than the run has threads.
#[test]
fn threads_that_a_group_does_not_allow_are_refused() {
    let test = "threads_that_a_group_does_not_allow_are_refused";
    let Some(group) = Group::new(test, "pids") else { return };
    let place = Place::new();
    let server = place.serve("");
    group.set("pids.max", "3");
    let refused = group.run(&place, &format!("{}/bytes/100 -c 8 -t 4 -d 500ms", server.url)).exits(1);
    refused.says(&["the run has 5 threads, and 2 more may begin", "pids.max of its control group is 3"]);
    group.set("pids.max", "40");
    group.run(&place, &format!("{}/bytes/100 -c 2 --think 10ms -t 1 -d 500ms {CALM}", server.url)).exits(0);
}

/// Too few addresses for the process: at each limit a message and the exit code 1, or a run; never a signal,
/// an abort or a panic.
#[test]
fn too_few_addresses_end_with_a_message() {
    let place = Place::new();
    let server = place.serve("");
    let run = format!("exec FARFIELD run {}/bytes/100 -c 20 --think 5ms -d 300ms -t 1 -q {CALM}", server.url);
    let mut refused = 0;
    for mib in (60..=300).step_by(20) {
        let limit = format!("ulimit -v {}", mib << 10);
        if shell(&place, &format!("{limit}; exec FARFIELD --version")).code != Some(0) {
            // The program itself does not fit.
            continue;
        }
        let ended = shell(&place, &format!("{limit}; {run} -o run-{mib}"));
        match ended.code {
            Some(1) => {
                refused += 1;
                assert!(ended.stderr.contains("memory"), "{mib} MiB: {}", ended.stderr);
                assert!(!ended.stderr.contains("panicked"), "{mib} MiB: {}", ended.stderr);
            }
            code => assert_eq!(code, Some(0), "{mib} MiB: {}{}", ended.stdout, ended.stderr),
        }
    }
    assert!(refused > 0);
}
