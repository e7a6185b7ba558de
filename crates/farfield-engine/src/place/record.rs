//! What is written down of each place while it stands, so that the next start clears away what a killed run left.
//!
//! A namespace of ours goes with its last process and descriptor, which a run that is killed takes along: what can be
//! left is a server that would not be contained, and settings in a namespace that is not ours.

use super::{processes, settings};
use crate::os::init;
use crate::os::namespace::Namespace;
use rustix::process::{Signal, pidfd_send_signal};
use serde::{Deserialize, Serialize};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, io};

/// The file of a place that stands. Dropped, it is removed.
#[derive(Debug)]
pub(super) struct Record {
    path: PathBuf,
    facts: Facts,
}

#[derive(Debug, Serialize, Deserialize)]
struct Facts {
    /// Which start of the machine this was written in.
    boot: String,
    owner: Process,
    namespace_inode: u64,
    /// Never given to another namespace until the machine restarts.
    namespace_cookie: u64,
    /// Whose namespace it is, if it is not ours.
    host: Option<Process>,
    /// What its settings were.
    restore: Vec<(String, String)>,
}

/// A process that cannot be mistaken for a later one of the same number.
#[derive(Debug, Serialize, Deserialize)]
struct Process {
    pid: u32,
    start_ticks: u64,
}

impl Process {
    fn of(pid: u32) -> Option<Process> {
        Some(Process { pid, start_ticks: processes::start_ticks(pid)? })
    }

    fn lives(&self) -> bool {
        processes::start_ticks(self.pid) == Some(self.start_ticks)
    }
}

impl Record {
    /// Writes a place down. `None` where no directory lets us: a place needs no record to work.
    pub fn write(namespace: &Namespace, host: Option<u32>) -> Option<Record> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let pid = std::process::id();
        let facts = Facts {
            boot: boot()?,
            owner: Process::of(pid)?,
            namespace_inode: namespace.inode().ok()?,
            namespace_cookie: namespace.cookie().ok()?,
            host: match host {
                Some(pid) => Some(Process::of(pid)?),
                None => None,
            },
            restore: Vec::new(),
        };
        let file = format!("place-{pid}-{}.json", COUNT.fetch_add(1, Ordering::Relaxed));
        let path = directories().into_iter().find_map(|directory| {
            fs::create_dir_all(&directory).ok()?;
            let path = directory.join(&file);
            is_ours(&directory).then(|| write(&path, &facts).ok())?.map(|()| path)
        })?;
        Some(Record { path, facts })
    }

    /// Adds what is to be put back.
    pub fn keep(&mut self, restore: &[(String, String)]) {
        self.facts.restore = restore.to_vec();
        // The record is there already; without this part it clears less.
        let _ = write(&self.path, &self.facts);
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        // If it cannot be removed, the next start finds that its owner is gone, and nothing of it.
        let _ = fs::remove_file(&self.path);
        if let Some(directory) = self.path.parent() {
            // It stays while other places stand.
            let _ = fs::remove_dir(directory);
        }
    }
}

/// Clears away what runs that were killed left behind, as far as this user may.
pub(super) fn clear_leftovers() {
    for directory in directories().into_iter().filter(|directory| is_ours(directory)) {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()).filter(|path| is_record(path)) {
            if let Some(facts) = read(&path)
                && !(is_of_this_boot(&facts) && facts.owner.lives())
            {
                if is_of_this_boot(&facts) {
                    clear(&facts);
                }
                // Another start may have been quicker.
                let _ = fs::remove_file(&path);
            }
        }
    }
}

fn clear(facts: &Facts) {
    match &facts.host {
        None => kill_all(facts),
        Some(host) if host.lives() => {
            if let Ok(namespace) = Namespace::of_process(host.pid) {
                // What cannot be entered cannot be mended from here.
                let _ = namespace.inside(|| settings::restore(&facts.restore));
            }
        }
        Some(_) => {}
    }
}

/// Kills what lives in the namespace, made sure by the cookie that it is the one: the inode may be another's by now.
fn kill_all(facts: &Facts) {
    let here = Namespace::current().and_then(|namespace| namespace.cookie());
    if here.map_or(true, |here| here == facts.namespace_cookie) {
        return;
    }
    for pid in processes::in_network_namespace(facts.namespace_inode) {
        // The descriptor is taken first, so that what is looked at is what is killed.
        let Ok(process) = init::descriptor_of(pid) else { continue };
        let cookie = Namespace::of_process(pid).and_then(|namespace| namespace.cookie());
        if cookie.is_ok_and(|cookie| cookie == facts.namespace_cookie) {
            // It may have ended by itself.
            let _ = pidfd_send_signal(&process, Signal::KILL);
        }
    }
}

/// Where records may lie, the best first.
fn directories() -> Vec<PathBuf> {
    let of_user = env::var_os("XDG_RUNTIME_DIR").map(|directory| PathBuf::from(directory).join("farfield"));
    let user = rustix::process::getuid().as_raw();
    let shared = env::temp_dir().join(format!("farfield-{user}"));
    [Some(PathBuf::from("/run/farfield")), of_user, Some(shared)].into_iter().flatten().collect()
}

/// Whether a directory is this user's: records that others could have written are not to be believed.
fn is_ours(directory: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    fs::symlink_metadata(directory).is_ok_and(|found| found.is_dir() && found.uid() == user)
}

fn is_record(path: &Path) -> bool {
    path.file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name.starts_with("place-") && name.ends_with(".json"))
}

fn write(path: &Path, facts: &Facts) -> io::Result<()> {
    fs::write(path, serde_json::to_vec(facts)?)
}

fn read(path: &Path) -> Option<Facts> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn boot() -> Option<String> {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").ok().map(|id| id.trim().to_owned())
}

fn is_of_this_boot(facts: &Facts) -> bool {
    boot().is_some_and(|boot| boot == facts.boot)
}
