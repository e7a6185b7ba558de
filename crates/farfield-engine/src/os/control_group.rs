//! A control group for a server's processes, version 1 or 2 (cgroups(7); the kernel's cgroup-v1 and cgroup-v2 pages).
//!
//! The group is made below this process's own, so that limits of a container hold on; in version 2, where only leaves
//! may hold processes, below the nearest ancestor that passes the controllers on. Nothing of the machine's own groups
//! is changed. A process joins by writing "0" to each of [`ControlGroup::entries`], which its children inherit.

use crate::testbed::{LimitUse, Limits};
use farfield_base::{Bytes, Duration};
use rustix::fd::OwnedFd;
use rustix::process::{Signal, pidfd_send_signal};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// What a group's name begins with: nothing else is ever removed.
const PREFIX: &str = "farfield-";

/// Why there is no group.
#[derive(Debug, thiserror::Error)]
pub enum ControlGroupError {
    /// No hierarchy of groups has the controller.
    #[error("no control group with the {controller} controller is mounted")]
    NoController {
        /// "cpu" or "memory".
        controller: &'static str,
    },
    /// Version 2 has it, and passes it on nowhere above this process.
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
    /// A file or a folder of the group.
    #[error("{}: {source}", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
}

/// A hierarchy of groups that has a controller, and the group in it below which ours is made.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Parent {
    folder: PathBuf,
    version: Version,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// Where a server's group is to be, not made yet: what is to be written down before.
#[derive(Debug)]
pub struct ControlGroupPlan {
    limits: Limits,
    cpu: Option<Group>,
    memory: Option<Group>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Group {
    folder: PathBuf,
    version: Version,
}

/// A group that stands. Dropped, it is removed with all processes in it.
#[derive(Debug)]
pub struct ControlGroup {
    plan: ControlGroupPlan,
}

impl ControlGroupPlan {
    /// Finds where groups for `limits` can be made, under `name`, which no other group has.
    ///
    /// # Errors
    /// When a controller is not to be had.
    pub fn new(limits: Limits, name: &str) -> Result<ControlGroupPlan, ControlGroupError> {
        let read = |path: &str| {
            fs::read_to_string(path).map_err(|source| ControlGroupError::File { path: path.into(), source })
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
        Ok(ControlGroupPlan { limits, cpu, memory })
    }

    /// The folders that will be made.
    pub fn folders(&self) -> Vec<PathBuf> {
        let mut folders: Vec<PathBuf> =
            [&self.cpu, &self.memory].into_iter().flatten().map(|group| group.folder.clone()).collect();
        folders.dedup();
        folders
    }

    /// Makes the group with its limits.
    ///
    /// # Errors
    /// When the kernel does not allow it; nothing is left then.
    pub fn make(self) -> Result<ControlGroup, ControlGroupError> {
        let group = ControlGroup { plan: self };
        for path in group.plan.folders() {
            fs::create_dir(&path).map_err(|source| ControlGroupError::File { path, source })?;
        }
        group.limit()?;
        Ok(group)
    }
}

impl ControlGroup {
    fn limit(&self) -> Result<(), ControlGroupError> {
        if let (Some(group), Some(cpu)) = (&self.plan.cpu, self.plan.limits.cpu) {
            let (quota, period) = (cpu.quota_us().to_string(), cpu.period_us().to_string());
            match group.version {
                Version::One => {
                    group.write("cpu.cfs_period_us", &period)?;
                    group.write("cpu.cfs_quota_us", &quota)?;
                }
                Version::Two => group.write("cpu.max", &format!("{quota} {period}"))?,
            }
        }
        if let (Some(group), Some(memory)) = (&self.plan.memory, self.plan.limits.memory) {
            let bytes = Bytes::from(memory).0.to_string();
            // Swap would let a server be larger than its limit, and slow; where there is none the file may be missing.
            match group.version {
                Version::One => {
                    group.write("memory.limit_in_bytes", &bytes)?;
                    let _ = group.write("memory.memsw.limit_in_bytes", &bytes);
                }
                Version::Two => {
                    group.write("memory.max", &bytes)?;
                    let _ = group.write("memory.swap.max", "0");
                }
            }
        }
        Ok(())
    }

    /// The files by which a process joins, open for writing.
    ///
    /// # Errors
    /// When this user may not put processes into the group.
    pub fn entries(&self) -> Result<Vec<OwnedFd>, ControlGroupError> {
        let open = |folder: PathBuf| {
            let path = folder.join("cgroup.procs");
            let file = File::options().write(true).open(&path);
            file.map(OwnedFd::from).map_err(|source| ControlGroupError::File { path, source })
        };
        self.plan.folders().into_iter().map(open).collect()
    }

    /// What the limits did until now.
    pub fn used(&self) -> LimitUse {
        let mut used = LimitUse::default();
        if let Some(group) = &self.plan.cpu {
            used.periods = group.field("cpu.stat", "nr_periods").unwrap_or(0);
            used.throttled_periods = group.field("cpu.stat", "nr_throttled").unwrap_or(0);
            used.throttled = match group.version {
                Version::One => Duration::from_ns(group.field("cpu.stat", "throttled_time").unwrap_or(0)),
                Version::Two => {
                    Duration::from_ns(group.field("cpu.stat", "throttled_usec").unwrap_or(0) * 1_000)
                }
            };
        }
        if let Some(group) = &self.plan.memory {
            let (most, kills) = match group.version {
                Version::One => ("memory.max_usage_in_bytes", "memory.oom_control"),
                Version::Two => ("memory.peak", "memory.events"),
            };
            used.memory_max = group.read(most).and_then(|text| text.trim().parse().ok()).map(Bytes);
            used.oom_kills = group.field(kills, "oom_kill").unwrap_or(0);
        }
        used
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        for folder in self.plan.folders() {
            remove(&folder);
        }
    }
}

impl Group {
    fn write(&self, file: &str, value: &str) -> Result<(), ControlGroupError> {
        let path = self.folder.join(file);
        fs::write(&path, value).map_err(|source| ControlGroupError::File { path, source })
    }

    fn read(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.folder.join(file)).ok()
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
    // A process that was killed leaves its group a moment later, of which version 1 notifies nobody. One that does not
    // in a second is beyond us.
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
    let pids = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    for pid in pids.lines().filter_map(|pid| pid.parse().ok()).filter(|pid| *pid != 0) {
        if let Ok(process) = super::init::descriptor_of(pid) {
            // It may have ended by itself.
            let _ = pidfd_send_signal(process, Signal::KILL);
        }
    }
}

/// A group that this process is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnGroup {
    /// Its folder.
    pub folder: PathBuf,
    /// Whether its files are those of version 1.
    pub is_version_one: bool,
}

/// The groups with `controller` that this process is in, its own first, as far up as they are mounted.
pub fn own_groups(controller: &str) -> Vec<OwnGroup> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    groups_above(&read("/proc/self/mountinfo"), &read("/proc/self/cgroup"), controller)
}

fn groups_above(mounts: &str, own: &str, controller: &str) -> Vec<OwnGroup> {
    let mounts: Vec<Mount> = mounts.lines().filter_map(Mount::read).collect();
    let one = mounts.iter().find(|mount| mount.controllers.is_some_and(|all| has(all, ',', controller)));
    let Some(mount) = one.or_else(|| mounts.iter().find(|mount| mount.controllers.is_none())) else {
        return Vec::new();
    };
    let mine = match one {
        Some(_) => group_of_version_one(own, controller),
        None => own.lines().find_map(|line| line.strip_prefix("0::")),
    };
    let innermost = mount.folder_of(mine.unwrap_or("/"));
    let above = innermost.ancestors().take_while(|folder| folder.starts_with(mount.at));
    above.map(|folder| OwnGroup { folder: folder.to_owned(), is_version_one: one.is_some() }).collect()
}

/// The path of the group of version 1 with `controller`, in the text of `/proc/self/cgroup`.
fn group_of_version_one<'a>(own: &'a str, controller: &str) -> Option<&'a str> {
    own.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        has(controllers, ',', controller).then_some(path)
    })
}

/// The group below which one with `controller` can be made, from `/proc/self/mountinfo` and `/proc/self/cgroup`.
fn parent(mounts: &str, own: &str, controller: &'static str) -> Result<Parent, ControlGroupError> {
    let mounts: Vec<Mount> = mounts.lines().filter_map(Mount::read).collect();
    let one = mounts.iter().find(|mount| mount.controllers.is_some_and(|all| has(all, ',', controller)));
    if let Some(mount) = one {
        let folder = mount.folder_of(group_of_version_one(own, controller).unwrap_or("/"));
        return Ok(Parent { folder, version: Version::One });
    }
    let missing = ControlGroupError::NoController { controller };
    let Some(mount) = mounts.iter().find(|mount| mount.controllers.is_none()) else { return Err(missing) };
    let offered = fs::read_to_string(Path::new(mount.at).join("cgroup.controllers")).unwrap_or_default();
    if !has(offered.trim(), ' ', controller) {
        return Err(missing);
    }
    let mine = own.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/");
    let mut folder = mount.folder_of(mine);
    loop {
        let passed_on = fs::read_to_string(folder.join("cgroup.subtree_control")).unwrap_or_default();
        if has(passed_on.trim(), ' ', controller) {
            return Ok(Parent { folder, version: Version::Two });
        }
        if folder == Path::new(mount.at) || !folder.pop() {
            let at = Path::new(mount.at).join("cgroup.subtree_control");
            return Err(ControlGroupError::NotPassedOn { controller, at });
        }
    }
}

fn has(list: &str, between: char, item: &str) -> bool {
    list.split(between).any(|one| one == item)
}

/// A line of `/proc/self/mountinfo` that mounts control groups (proc_pid_mountinfo(5)).
struct Mount<'a> {
    /// Which group is at the mount point.
    root: &'a str,
    at: &'a str,
    /// Those of version 1, as the mount's options name them; `None` in version 2.
    controllers: Option<&'a str>,
}

impl<'a> Mount<'a> {
    fn read(line: &'a str) -> Option<Mount<'a>> {
        let (front, back) = line.split_once(" - ")?;
        let mut front = front.split(' ').skip(3);
        let (root, at) = (front.next()?, front.next()?);
        let mut back = back.split(' ');
        let (kind, _source, options) = (back.next()?, back.next()?, back.next()?);
        let controllers = match kind {
            "cgroup" => Some(options),
            "cgroup2" => None,
            _ => return None,
        };
        Some(Mount { root, at, controllers })
    }

    /// The folder of the group `path`; of the mounted one where `path` lies outside it.
    fn folder_of(&self, path: &str) -> PathBuf {
        let below = Path::new(path).strip_prefix(self.root).unwrap_or(Path::new(""));
        // "/../x" is a group outside this process's own namespace.
        let plain = below.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        // Without a `/` at the end, which joining nothing would leave.
        if plain && below != Path::new("") { Path::new(self.at).join(below) } else { self.at.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::{CpuLimit, MemoryLimit};

    const ONE: &str = "\
        33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n\
        35 31 0:32 /docker/abc /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
        41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";

    #[test]
    fn version_one_is_found_below_our_own_group() {
        let own = "4:memory:/docker/abc/x\n2:cpu,cpuacct:/user\n0::/\n";
        let found = |controller| parent(ONE, own, controller).unwrap();
        let at = |folder: &str| Parent { folder: folder.into(), version: Version::One };
        assert_eq!(found("cpu"), at("/sys/fs/cgroup/cpu,cpuacct/user"));
        assert_eq!(found("memory"), at("/sys/fs/cgroup/memory/x"));
        let said = parent("", own, "cpu").unwrap_err().to_string();
        assert!(said.contains("no control group with the cpu controller"), "{said}");
    }

    #[test]
    fn own_groups_go_up_to_the_mount() {
        let above = |mounts, own, controller| -> Vec<String> {
            let groups = groups_above(mounts, own, controller).into_iter();
            groups.map(|group| format!("{} {}", group.folder.display(), group.is_version_one)).collect()
        };
        let own = "4:memory:/docker/abc/x\n2:cpu,cpuacct:/user\n0::/\n";
        assert_eq!(above(ONE, own, "memory"), ["/sys/fs/cgroup/memory/x true", "/sys/fs/cgroup/memory true"]);
        let two = "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        assert_eq!(
            above(two, "0::/a/b\n", "memory"),
            ["/sys/fs/cgroup/a/b false", "/sys/fs/cgroup/a false", "/sys/fs/cgroup false"]
        );
        assert_eq!(above("", own, "memory"), [""; 0]);
    }

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
        assert_eq!(found, Parent { folder: root.join("user.slice"), version: Version::Two });

        let group = Group { folder: found.folder.join("farfield-test"), version: Version::Two };
        let limits = Limits {
            cpu: Some(CpuLimit::try_from(0.2).unwrap()),
            memory: Some(MemoryLimit::try_from(Bytes(64 << 20)).unwrap()),
        };
        let (cpu, memory) = (Some(group.clone()), Some(group.clone()));
        let made = ControlGroupPlan { limits, cpu, memory }.make().unwrap();
        assert_eq!(group.read("cpu.max").unwrap(), "1000 5000");
        assert_eq!(group.read("memory.max").unwrap(), "67108864");
        group.write("cpu.stat", "usage_usec 9\nnr_periods 8\nnr_throttled 7\nthrottled_usec 6000\n").unwrap();
        group.write("memory.peak", "4096\n").unwrap();
        group.write("memory.events", "oom 3\noom_kill 2\n").unwrap();
        let used = made.used();
        assert_eq!((used.periods, used.throttled_periods, used.throttled), (8, 7, Duration::from_ms(6)));
        assert_eq!((used.memory_max, used.oom_kills), (Some(Bytes(4096)), 2));
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
