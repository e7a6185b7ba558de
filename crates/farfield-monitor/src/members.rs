//! Processes of a tier, and the search of all processes for them.

use crate::proc_file::ProcFile;
use crate::process;
use farfield_files::system;
use farfield_os::namespace;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The processes of a tier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Members {
    /// Processes by number with all their children. A process that the system cannot find is reported.
    Processes(Vec<u32>),
    /// All descendants of this process, but not itself.
    Below(u32),
    /// All processes whose command line contains this text, with their children; not farfield itself.
    Command(String),
    /// The processes in this control group and the groups below it.
    ControlGroup(PathBuf),
    /// All processes in the network namespace with this inode.
    NetworkNamespace(u64),
}

impl Members {
    /// Searches all processes for those of the tier.
    pub(crate) fn search(&self, found: &mut BTreeSet<u32>) {
        match self {
            Members::Processes(roots) => {
                found.extend(roots);
                descendants(roots, found);
            }
            Members::Below(root) => descendants(&[*root], found),
            Members::Command(text) => {
                let ourselves = command_line(std::process::id());
                let fits = |pid: &u32| {
                    let line = command_line(*pid);
                    line != ourselves && contains(&line, text.as_bytes())
                };
                let roots: Vec<u32> = all_processes().filter(fits).collect();
                found.extend(&roots);
                descendants(&roots, found);
            }
            Members::ControlGroup(folder) => found.extend(pids_in(folder)),
            Members::NetworkNamespace(inode) => {
                let ourselves = std::process::id();
                let inside =
                    |pid: &u32| *pid != ourselves && namespace::inode_of_process(*pid) == Some(*inode);
                found.extend(all_processes().filter(inside));
            }
        }
        found.remove(&std::process::id());
    }
}

/// All processes that `/proc` shows.
fn all_processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Adds all processes that descend from `roots`.
fn descendants(roots: &[u32], found: &mut BTreeSet<u32>) {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let mut buffer = Vec::new();
    for pid in all_processes() {
        let Ok(file) = ProcFile::open(&format!("/proc/{pid}/stat")) else { continue };
        if let Some((_, stat)) = file.read(&mut buffer).ok().and_then(process::parse) {
            children.entry(stat.parent).or_default().push(pid);
        }
    }
    let mut look = roots.to_vec();
    while let Some(parent) = look.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            if found.insert(child) {
                look.push(child);
            }
        }
    }
}

/// The words of a process's command with spaces between them; empty for a kernel thread.
fn command_line(pid: u32) -> Vec<u8> {
    let mut line = system::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.iter_mut().filter(|byte| **byte == 0).for_each(|byte| *byte = b' ');
    line
}

fn contains(line: &[u8], text: &[u8]) -> bool {
    !text.is_empty() && line.windows(text.len()).any(|part| part == text)
}

/// The processes in a control group and those below it.
pub(crate) fn pids_in(folder: &Path) -> Vec<u32> {
    let mut pids = Vec::new();
    let mut look = vec![folder.to_owned()];
    while let Some(folder) = look.pop() {
        let text = system::read_text(folder.join("cgroup.procs")).unwrap_or_default();
        pids.extend(text.lines().filter_map(|pid| pid.parse::<u32>().ok()).filter(|pid| *pid != 0));
        let below = fs::read_dir(&folder).into_iter().flatten().flatten();
        look.extend(
            below.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()),
        );
    }
    pids
}
