//! A control group for a server's processes, version 1 or 2 (cgroups(7); the kernel's cgroup-v1 and
//! cgroup-v2 pages).
//!
//! The group is made below this process's own, so that limits of a container still hold; in version 2, where
//! only leaves may hold processes, below the nearest ancestor that delegates the controllers. No existing
//! group is changed. A process joins by writing "0" to each of [`ControlGroup::entries`]; its children
//! inherit the membership.
//!
//! Every group also counts the processor time of its processes. Where there are no limits, or their group
//! does not count, a group is made for that alone, if it is allowed.
//!
//! A group may also keep its processes to a set of processors (the cpuset controller), where that is allowed:
//! unlike an affinity, which a process may change for itself, it binds them.

mod hierarchy;
mod usage;

pub use hierarchy::{OwnGroup, own_groups};
pub use usage::CpuUsage;

use crate::limits::{LimitUse, Limits};
use crate::processors::listed;
use farfield_base::{Bytes, Duration};
use farfield_files::system;
use hierarchy::{HierarchyVersion, Parent, parent, parent_that_accounts};
use rustix::fd::OwnedFd;
use rustix::process::{Signal, pidfd_send_signal};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Prefix of a group's name: no other group is ever removed.
const PREFIX: &str = "farfield-";

/// The reason why a group cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ControlGroupError {
    /// No hierarchy of groups has the controller.
    #[error("no control group with the {controller} controller is mounted")]
    NoController {
        /// "cpu" or "memory".
        controller: &'static str,
    },
    /// Version 2 has the controller, but no group above this process delegates it.
    #[error(
        "the control groups above this process do not pass the {controller} controller on (see {}): run farfield below \
         `systemd-run --scope -p Delegate=yes`, or echo +{controller} to that file as root", .at.display()
    )]
    NotPassedOn {
        /// "cpu" or "memory".
        controller: &'static str,
        /// The `cgroup.subtree_control` of the outermost group.
        at: PathBuf,
    },
    /// A file or a folder of the group cannot be used.
    #[error("{}: {source}", .path.display())]
    File {
        /// Path of the file or folder.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
}

/// The location of a server's group before it is made, to be recorded.
#[derive(Debug)]
pub struct ControlGroupPlan {
    limits: Limits,
    cpu: Option<Group>,
    memory: Option<Group>,
    /// The group that keeps to processors, perhaps one of the others, and these.
    cpuset: Option<(Group, Vec<usize>)>,
    /// The group that counts processor time, perhaps one of the others.
    account: Option<Group>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Group {
    folder: PathBuf,
    version: HierarchyVersion,
}

/// An existing group. Dropping it removes it with all processes in it.
#[derive(Debug)]
pub struct ControlGroup {
    plan: ControlGroupPlan,
    /// Threads of the kernel's that are limited with its processes.
    threads: Vec<u32>,
}

impl ControlGroupPlan {
    /// Finds the location of groups for `limits`, under the unique `name`, and of one that keeps to
    /// `processors`, if there are any and it may be made.
    ///
    /// # Errors
    /// If the controller of a limit is not available.
    pub fn new(
        limits: Limits,
        processors: &[usize],
        name: &str,
    ) -> Result<ControlGroupPlan, ControlGroupError> {
        let read = |path: &str| {
            system::read_text(path).map_err(|source| ControlGroupError::File { path: path.into(), source })
        };
        let (mounts, own) = (read("/proc/self/mountinfo")?, read("/proc/self/cgroup")?);
        let group = |wanted: bool, controller| -> Result<Option<Group>, ControlGroupError> {
            if !wanted {
                return Ok(None);
            }
            let Parent { folder, version } = parent(&mounts, &own, controller)?;
            Ok(Some(Group { folder: folder.join(format!("{PREFIX}{name}")), version }))
        };
        let (cpu, memory) = (group(limits.cpu.is_some(), "cpu")?, group(limits.memory.is_some(), "memory")?);
        let of_limits = |limited: &Group| limited.version == HierarchyVersion::Two;
        let limited = [&cpu, &memory].into_iter().flatten().find(|group| of_limits(group));
        // A process is in one group of version 2.
        let cpuset = group(!processors.is_empty(), "cpuset").unwrap_or(None);
        let cpuset = cpuset.filter(|own| {
            own.version == HierarchyVersion::One || limited.is_none_or(|limited| limited.folder == own.folder)
        });
        let of_version_two = limited.or(cpuset.as_ref().filter(|group| of_limits(group)));
        let account = of_version_two.cloned().or_else(|| {
            let Parent { folder, version } = parent_that_accounts(&mounts, &own)?;
            Some(Group { folder: folder.join(format!("{PREFIX}{name}")), version })
        });
        let cpuset = cpuset.map(|group| (group, processors.to_vec()));
        Ok(ControlGroupPlan { limits, cpu, memory, cpuset, account })
    }

    /// The folders that will be made.
    pub fn folders(&self) -> Vec<PathBuf> {
        let mut folders = self.folders_to_join();
        folders.extend(self.folder_that_only_accounts());
        folders
    }

    /// The folders of the limits, and that of the set of processors if it is another.
    fn folders_to_join(&self) -> Vec<PathBuf> {
        let mut folders = self.folders_of_limits();
        let of_cpuset = self.cpuset.as_ref().map(|(group, _)| group.folder.clone());
        folders.extend(of_cpuset.filter(|folder| !folders.contains(folder)));
        folders
    }

    fn folders_of_limits(&self) -> Vec<PathBuf> {
        let mut folders: Vec<PathBuf> =
            [&self.cpu, &self.memory].into_iter().flatten().map(|group| group.folder.clone()).collect();
        folders.dedup();
        folders
    }

    fn folder_that_only_accounts(&self) -> Option<PathBuf> {
        let folder = &self.account.as_ref()?.folder;
        (!self.folders_to_join().contains(folder)).then(|| folder.clone())
    }

    /// Makes the group with its limits. Without a group that counts, or one that keeps to processors, a
    /// server runs as well.
    ///
    /// # Errors
    /// If the kernel does not allow the limits; then nothing is left behind.
    pub fn make(self) -> Result<ControlGroup, ControlGroupError> {
        let mut group = ControlGroup { plan: self, threads: Vec::new() };
        for path in group.plan.folders_of_limits() {
            system::create_folder(&path).map_err(|source| ControlGroupError::File { path, source })?;
        }
        group.keep_to_processors();
        if let Some(path) = group.plan.folder_that_only_accounts()
            && system::create_folder(path).is_err()
        {
            group.plan.account = None;
        }
        group.limit()?;
        Ok(group)
    }
}

impl ControlGroup {
    /// Makes the group that keeps to processors; forgets it if that is refused.
    fn keep_to_processors(&mut self) {
        let Some((group, processors)) = &self.plan.cpuset else { return };
        let is_new = !self.plan.folders_of_limits().contains(&group.folder);
        let made = if is_new { system::create_folder(&group.folder) } else { Ok(()) };
        if made.is_ok() && group.keep_to(processors).is_ok() {
            return;
        }
        if is_new && made.is_ok() {
            remove(&group.folder);
        }
        self.plan.cpuset = None;
    }

    fn limit(&self) -> Result<(), ControlGroupError> {
        if let (Some(group), Some(cpu)) = (&self.plan.cpu, self.plan.limits.cpu) {
            let (quota, period) = (cpu.quota_us().to_string(), cpu.period_us().to_string());
            match group.version {
                HierarchyVersion::One => {
                    group.write("cpu.cfs_period_us", &period)?;
                    group.write("cpu.cfs_quota_us", &quota)?;
                }
                HierarchyVersion::Two => group.write("cpu.max", &format!("{quota} {period}"))?,
            }
        }
        if let (Some(group), Some(memory)) = (&self.plan.memory, self.plan.limits.memory) {
            let bytes = Bytes::from(memory).0.to_string();
            // With swap a server could exceed its limit, and be slow; without swap the file may be missing.
            match group.version {
                HierarchyVersion::One => {
                    group.write("memory.limit_in_bytes", &bytes)?;
                    let _ = group.write("memory.memsw.limit_in_bytes", &bytes);
                }
                HierarchyVersion::Two => {
                    group.write("memory.max", &bytes)?;
                    let _ = group.write("memory.swap.max", "0");
                }
            }
        }
        Ok(())
    }

    /// Puts threads of the kernel's under the limit of processor time, where there is one: what they take
    /// is taken from the processes' share. They leave the group before it is removed.
    ///
    /// # Errors
    /// If the kernel does not let them be moved.
    pub fn take_threads(&mut self, threads: &[u32]) -> Result<(), ControlGroupError> {
        let Some(group) = &self.plan.cpu else { return Ok(()) };
        for thread in threads {
            group.write("cgroup.procs", &thread.to_string())?;
            self.threads.push(*thread);
        }
        Ok(())
    }

    /// Puts the kernel's threads back to where the kernel has its own.
    fn release_threads(&self) {
        let Some(outermost) = own_groups("cpu").pop() else { return };
        for thread in &self.threads {
            // One that has ended cannot be moved, and need not be.
            let _ = system::write(outermost.folder.join("cgroup.procs"), thread.to_string());
        }
    }

    /// The files by which a process joins the groups of its limits and of its processors, open for writing.
    ///
    /// # Errors
    /// If this user may not move processes into the group.
    pub fn entries(&self) -> Result<Vec<OwnedFd>, ControlGroupError> {
        let open = |folder: PathBuf| {
            let path = folder.join("cgroup.procs");
            let file = system::open_to_write(&path);
            file.map(OwnedFd::from).map_err(|source| ControlGroupError::File { path, source })
        };
        self.plan.folders_to_join().into_iter().map(open).collect()
    }

    /// The file by which a process joins the group that only counts, if there is one.
    pub fn account_entry(&self) -> Option<OwnedFd> {
        let path = self.plan.folder_that_only_accounts()?.join("cgroup.procs");
        system::open_to_write(path).ok().map(OwnedFd::from)
    }

    /// The folder of the group that counts processor time, once a process has joined it; `None` if none
    /// could.
    pub fn account_folder(&self) -> Option<&Path> {
        let folder = self.plan.account.as_ref()?.folder.as_path();
        let members = system::read_text(folder.join("cgroup.procs")).unwrap_or_default();
        // A process that has ended already has left its time.
        let has_some = !members.is_empty() || CpuUsage::read(folder).is_some_and(|usage| usage.total_ns > 0);
        has_some.then_some(folder)
    }

    /// The folders of the cpu and the memory controller, as far as they are limited.
    pub fn folders_by_controller(&self) -> [Option<&Path>; 2] {
        [&self.plan.cpu, &self.plan.memory].map(|group| group.as_ref().map(|group| group.folder.as_path()))
    }

    /// The effects of the limits so far.
    pub fn used(&self) -> LimitUse {
        let mut used = LimitUse::default();
        if let Some(group) = &self.plan.cpu {
            used.periods = group.field("cpu.stat", "nr_periods").unwrap_or(0);
            used.throttled_periods = group.field("cpu.stat", "nr_throttled").unwrap_or(0);
            used.throttled = match group.version {
                HierarchyVersion::One => {
                    Duration::from_ns(group.field("cpu.stat", "throttled_time").unwrap_or(0))
                }
                HierarchyVersion::Two => {
                    Duration::from_ns(group.field("cpu.stat", "throttled_usec").unwrap_or(0) * 1_000)
                }
            };
        }
        if let Some(group) = &self.plan.memory {
            let (most, kills) = match group.version {
                HierarchyVersion::One => ("memory.max_usage_in_bytes", "memory.oom_control"),
                HierarchyVersion::Two => ("memory.peak", "memory.events"),
            };
            used.memory_max = group.read(most).and_then(|text| text.trim().parse().ok()).map(Bytes);
            used.oom_kills = group.field(kills, "oom_kill").unwrap_or(0);
        }
        used
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        self.release_threads();
        for folder in self.plan.folders() {
            remove(&folder);
        }
    }
}

impl Group {
    /// Keeps the group's processes to `processors`. In version 1 a new group has no memory nodes of its own
    /// either, and takes its parent's.
    fn keep_to(&self, processors: &[usize]) -> Result<(), ControlGroupError> {
        self.write("cpuset.cpus", &listed(processors))?;
        if self.version == HierarchyVersion::Two {
            return Ok(());
        }
        let path = self.folder.with_file_name("cpuset.mems");
        let nodes = system::read_text(&path).map_err(|source| ControlGroupError::File { path, source })?;
        self.write("cpuset.mems", nodes.trim())
    }

    fn write(&self, file: &str, value: &str) -> Result<(), ControlGroupError> {
        let path = self.folder.join(file);
        system::write(&path, value).map_err(|source| ControlGroupError::File { path, source })
    }

    fn read(&self, file: &str) -> Option<String> {
        system::read_text(self.folder.join(file)).ok()
    }

    /// The number behind a name, in a file of such lines.
    fn field(&self, file: &str, name: &str) -> Option<u64> {
        let text = self.read(file)?;
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
    }
}

/// Removes a group of ours and kills what is in it; any other folder is left alone.
pub fn remove(folder: &Path) {
    let is_ours = folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX));
    if !is_ours {
        return;
    }
    // A killed process leaves its group a moment later, and version 1 does not report when. After a second
    // we give up.
    const BETWEEN_TRIES: rustix::time::Timespec = rustix::time::Timespec { tv_sec: 0, tv_nsec: 5_000_000 };
    for _ in 0..200 {
        match fs::remove_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => kill_all(folder),
            _ => return,
        }
        let _ = rustix::thread::nanosleep(&BETWEEN_TRIES);
    }
}

fn kill_all(folder: &Path) {
    let pids = system::read_text(folder.join("cgroup.procs")).unwrap_or_default();
    for pid in pids.lines().filter_map(|pid| pid.parse().ok()).filter(|pid| *pid != 0) {
        if let Ok(process) = super::init::descriptor_of(pid) {
            // It may have ended by itself.
            let _ = pidfd_send_signal(process, Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{CpuLimit, MemoryLimit};

    /// Version 2 in a folder of plain files, which take what is written as the kernel's do.
    #[test]
    fn version_two_is_found_above_and_limited() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let mounts = format!("41 31 0:38 / {} rw - cgroup2 cgroup2 rw\n", root.display());
        let own = "0::/user.slice/session.scope\n";
        fs::create_dir_all(root.join("user.slice/session.scope")).unwrap();
        fs::write(root.join("cgroup.controllers"), "cpuset cpu memory\n").unwrap();
        let said = parent(&mounts, own, "cpu").unwrap_err();
        assert!(matches!(said, ControlGroupError::NotPassedOn { .. }), "{said}");
        fs::write(root.join("user.slice/cgroup.subtree_control"), "cpu memory\n").unwrap();
        let found = parent(&mounts, own, "memory").unwrap();
        assert_eq!(found, Parent { folder: root.join("user.slice"), version: HierarchyVersion::Two });

        let group = Group { folder: found.folder.join("farfield-test"), version: HierarchyVersion::Two };
        let limits = Limits {
            cpu: Some(CpuLimit::try_from(0.2).unwrap()),
            memory: Some(MemoryLimit::try_from(Bytes(64 << 20)).unwrap()),
        };
        let (cpu, memory) = (Some(group.clone()), Some(group.clone()));
        let account = Some(group.clone());
        let cpuset = Some((group.clone(), vec![0, 1, 2, 5]));
        let made = ControlGroupPlan { limits, cpu, memory, cpuset, account }.make().unwrap();
        assert_eq!(group.read("cpuset.cpus").unwrap(), "0-2,5");
        assert_eq!(group.read("cpu.max").unwrap(), "1000 5000");
        assert_eq!(group.read("memory.max").unwrap(), "67108864");
        group.write("cpu.stat", "usage_usec 9\nnr_periods 8\nnr_throttled 7\nthrottled_usec 6000\n").unwrap();
        group.write("memory.peak", "4096\n").unwrap();
        group.write("memory.events", "oom 3\noom_kill 2\n").unwrap();
        let used = made.used();
        assert_eq!((used.periods, used.throttled_periods, used.throttled), (8, 7, Duration::from_ms(6)));
        assert_eq!((used.memory_max, used.oom_kills), (Some(Bytes(4096)), 2));
    }

    /// Version 1 has a hierarchy for it, where a new group takes its parent's memory nodes. One that cannot
    /// be made is done without.
    #[test]
    fn processors_of_version_one_have_a_group_of_their_own_or_none() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("cpuset.mems"), "0-1\n").unwrap();
        let plan = |at: &str| {
            let group = Group {
                folder: folder.path().join(at).join("farfield-test"),
                version: HierarchyVersion::One,
            };
            let cpuset = Some((group, vec![1]));
            let limits = Limits { cpu: None, memory: None };
            ControlGroupPlan { limits, cpu: None, memory: None, cpuset, account: None }
        };
        let made = plan("").make().unwrap();
        assert_eq!(made.plan.folders(), [folder.path().join("farfield-test")]);
        let (group, _) = made.plan.cpuset.clone().unwrap();
        let written = ["cpuset.cpus", "cpuset.mems"].map(|file| group.read(file).unwrap());
        assert_eq!(written, ["1", "0-1"]);
        let without = plan("missing").make().unwrap();
        assert_eq!((without.plan.folders().len(), without.entries().unwrap().len()), (0, 0));
    }

    #[test]
    fn only_groups_of_ours_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        for (name, stays) in [("system.slice", true), ("farfield-1", false)] {
            let group = folder.path().join(name);
            fs::create_dir(&group).unwrap();
            remove(&group);
            assert_eq!(group.exists(), stays, "{name}");
        }
    }
}
