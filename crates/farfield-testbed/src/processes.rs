//! The processes of a testbed, found through `/proc`.

use farfield_base::Duration;
use farfield_files::system;
use farfield_os::init;
use farfield_os::namespace::{self, Namespace};
use rustix::process::{Signal, pidfd_send_signal};
use std::fs;
use std::os::unix::fs::MetadataExt;

/// All processes that `/proc` shows.
fn all() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The processes in the network namespace with this inode, without this process.
pub(super) fn in_network_namespace(inode: u64) -> Vec<u32> {
    let ourselves = std::process::id();
    all().filter(|pid| *pid != ourselves && namespace::inode_of_process(*pid) == Some(inode)).collect()
}

/// Kills the processes in the network namespace with this inode and this cookie, without this process, and
/// returns how many there were. The inode alone may be another namespace's by now.
pub(super) fn kill_in_network_namespace(inode: u64, cookie: u64) -> usize {
    let kill = |pid: &u32| {
        // The descriptor is opened first, so that the process that is checked is the one that is killed.
        let Ok(process) = init::descriptor_of(*pid) else { return false };
        let found = Namespace::of_process(*pid).and_then(|namespace| namespace.cookie());
        // It may have ended by itself.
        found.is_ok_and(|found| found == cookie) && pidfd_send_signal(&process, Signal::KILL).is_ok()
    };
    in_network_namespace(inode).iter().filter(|pid| kill(pid)).count()
}

/// The processes in the PID namespace of a process, itself included.
pub(super) fn in_pid_namespace_of(pid: u32) -> Vec<u32> {
    let inode = |pid: u32| fs::metadata(format!("/proc/{pid}/ns/pid")).ok().map(|link| link.ino());
    let Some(wanted) = inode(pid) else { return Vec::new() };
    all().filter(|pid| inode(*pid) == Some(wanted)).collect()
}

/// Processor time of the processes, and of those of their children that have ended and been waited for.
pub fn cpu(pids: &[u32]) -> Duration {
    let own = pids.iter().filter_map(|pid| init::cpu_of(*pid).ok()).map(Duration::as_ns).sum::<u64>();
    let ended = pids.iter().filter_map(|pid| stat(*pid)).map(|stat| stat.children_cpu.as_ns()).sum::<u64>();
    Duration::from_ns(own + ended)
}

/// Start time of a process, in ticks since boot: together with its number it identifies the process.
pub fn start_ticks(pid: u32) -> Option<u64> {
    stat(pid).map(|stat| stat.start_ticks)
}

struct Stat {
    children_cpu: Duration,
    start_ticks: u64,
}

/// `/proc/PID/stat` (proc_pid_stat(5)). The second field is a name that may hold anything, in parentheses.
fn stat(pid: u32) -> Option<Stat> {
    let text = system::read_text(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    // The first of these is the third field of the file.
    let field = |nth: usize| fields.get(nth - 3)?.parse::<u64>().ok();
    let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second();
    Some(Stat {
        children_cpu: Duration::from_ns((field(16)? + field(17)?) * tick_ns),
        start_ticks: field(22)?,
    })
}
