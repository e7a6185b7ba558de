//! Finds what tests leave behind: processes that outlive them, and named network namespaces.
//!
//! While a [`Watch`] goes on, this process is the subreaper of all that it starts: what daemonises or loses
//! its parent becomes its child, and nothing escapes. Unnamed namespaces end with the last process in them.

use anyhow::Result;
use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;
use std::collections::BTreeSet;
use std::fs;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// The time in which processes may end after the tests have: a server's workers follow their master.
const GRACE: Duration = Duration::from_secs(2);

/// Named network namespaces, as `ip netns` keeps them.
const NAMESPACES: &str = "/run/netns";

/// Notes what was there before the tests.
#[derive(Debug)]
pub struct Watch {
    namespaces: BTreeSet<String>,
}

impl Watch {
    /// Begins to watch. From now on orphans come to this process.
    pub fn begin() -> Result<Watch> {
        prctl::set_child_subreaper(true)?;
        Ok(Watch { namespaces: namespaces() })
    }

    /// Ends what still runs, and names all that was left behind. This process must have no children of its
    /// own left that it means to wait for.
    pub fn finish(self) -> Vec<String> {
        let mut left = end_orphans(GRACE);
        let new = namespaces();
        let new = new.difference(&self.namespaces);
        left.extend(new.map(|name| format!("network namespace {name} (ip netns delete {name})")));
        left
    }
}

/// Waits for all children, kills those that do not end within `grace`, and names them.
fn end_orphans(grace: Duration) -> Vec<String> {
    let (say, all_gone) = mpsc::channel();
    thread::spawn(move || {
        while !matches!(waitpid(None, None), Err(Errno::ECHILD)) {}
        // The receiver waits until it has heard this.
        let _ = say.send(());
    });
    let mut left = Vec::new();
    let mut wait = grace;
    while all_gone.recv_timeout(wait).is_err() {
        // Children of those that are killed come here in their turn.
        for (pid, name) in children() {
            if kill(pid, Signal::SIGKILL).is_ok() {
                left.push(format!("process {pid} ({name})"));
            }
        }
        wait = Duration::from_millis(100);
    }
    left
}

/// The children of this process that have not ended, with their names.
fn children() -> Vec<(Pid, String)> {
    let own = std::process::id();
    let folders = fs::read_dir("/proc").into_iter().flatten().flatten();
    let stats = folders.filter_map(|folder| fs::read_to_string(folder.path().join("stat")).ok());
    stats.filter_map(|stat| child(&stat, own)).collect()
}

/// A line of `/proc/PID/stat` (proc(5)), if it is of a running child of `parent`.
fn child(stat: &str, parent: u32) -> Option<(Pid, String)> {
    // The name stands in parentheses and may itself hold blanks and parentheses.
    let (pid, rest) = stat.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let (state, ppid) = (fields.next()?, fields.next()?);
    let is_ours = ppid.parse() == Ok(parent) && state != "Z";
    is_ours.then_some((Pid::from_raw(pid.parse().ok()?), name.to_owned()))
}

fn namespaces() -> BTreeSet<String> {
    let names = fs::read_dir(NAMESPACES).into_iter().flatten().flatten();
    names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_children_from_proc() {
        let stat = "17 (nginx: (worker) x) S 9 17 17 0 -1 4194560";
        assert_eq!(child(stat, 9), Some((Pid::from_raw(17), "nginx: (worker) x".to_owned())));
        assert_eq!(child(stat, 17), None);
        assert_eq!(child("17 (gone) Z 9 17", 9), None);
        assert_eq!(child("nonsense", 9), None);
    }
}
