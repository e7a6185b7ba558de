//! Control groups of this process, and their mounts: `/proc/self/mountinfo` and `/proc/self/cgroup`
//! (cgroups(7)).

use super::ControlGroupError;
use farfield_files::system;
use std::path::{Path, PathBuf};

/// A hierarchy of groups that has a controller, and the group in it below which ours is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Parent {
    pub folder: PathBuf,
    pub version: HierarchyVersion,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HierarchyVersion {
    /// A hierarchy for each controller.
    One,
    /// A single hierarchy.
    Two,
}

/// A group that this process is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnGroup {
    /// Folder of the group.
    pub folder: PathBuf,
    /// True if the group's files are those of version 1.
    pub is_version_one: bool,
}

/// The groups with `controller` that this process is in, its own first, as far up as they are mounted.
pub fn own_groups(controller: &str) -> Vec<OwnGroup> {
    let read = |path: &str| system::read_text(path).unwrap_or_default();
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

/// The group below which one with `controller` can be made, from `/proc/self/mountinfo` and
/// `/proc/self/cgroup`.
pub(super) fn parent(mounts: &str, own: &str, controller: &'static str) -> Result<Parent, ControlGroupError> {
    let mounts: Vec<Mount> = mounts.lines().filter_map(Mount::read).collect();
    let one = mounts.iter().find(|mount| mount.controllers.is_some_and(|all| has(all, ',', controller)));
    if let Some(mount) = one {
        let folder = mount.folder_of(group_of_version_one(own, controller).unwrap_or("/"));
        return Ok(Parent { folder, version: HierarchyVersion::One });
    }
    let missing = ControlGroupError::NoController { controller };
    let Some(mount) = mounts.iter().find(|mount| mount.controllers.is_none()) else { return Err(missing) };
    let offered = system::read_text(Path::new(mount.at).join("cgroup.controllers")).unwrap_or_default();
    if !has(offered.trim(), ' ', controller) {
        return Err(missing);
    }
    let mine = own.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/");
    let mut folder = mount.folder_of(mine);
    loop {
        let passed_on = system::read_text(folder.join("cgroup.subtree_control")).unwrap_or_default();
        if has(passed_on.trim(), ' ', controller) {
            return Ok(Parent { folder, version: HierarchyVersion::Two });
        }
        if folder == Path::new(mount.at) || !folder.pop() {
            let at = Path::new(mount.at).join("cgroup.subtree_control");
            return Err(ControlGroupError::NotPassedOn { controller, at });
        }
    }
}

/// The group below which one can be made that only counts processor time. In version 2 every group counts
/// it, without any controller.
pub(super) fn parent_that_accounts(mounts: &str, own: &str) -> Option<Parent> {
    let two = mounts.lines().filter_map(Mount::read).find(|mount| mount.controllers.is_none());
    let Some(mount) = two else { return parent(mounts, own, "cpuacct").ok() };
    let mine = own.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/");
    Some(Parent { folder: mount.folder_of(mine), version: HierarchyVersion::Two })
}

fn has(list: &str, between: char, item: &str) -> bool {
    list.split(between).any(|one| one == item)
}

/// A line of `/proc/self/mountinfo` that mounts control groups (proc_pid_mountinfo(5)).
struct Mount<'a> {
    /// Group at the mount point.
    root: &'a str,
    at: &'a str,
    /// Controllers of version 1, as the mount's options name them; `None` in version 2.
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

    const ONE: &str = "\
        33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n\
        35 31 0:32 /docker/abc /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
        41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";

    #[test]
    fn version_one_is_found_below_our_own_group() {
        let own = "4:memory:/docker/abc/x\n2:cpu,cpuacct:/user\n0::/\n";
        let found = |controller| parent(ONE, own, controller).unwrap();
        let at = |folder: &str| Parent { folder: folder.into(), version: HierarchyVersion::One };
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

    /// Version 2 needs no controller for it, so that a group beside version 1 counts as well.
    #[test]
    fn any_group_of_version_two_accounts() {
        let own = "4:cpuacct:/user\n0::/x\n";
        let at = |folder: &str, version| Some(Parent { folder: folder.into(), version });
        assert_eq!(parent_that_accounts(ONE, own), at("/sys/fs/cgroup/unified/x", HierarchyVersion::Two));
        let one: String = ONE.lines().take(2).map(|line| format!("{line}\n")).collect();
        let own = "2:cpu,cpuacct:/user\n";
        assert_eq!(
            parent_that_accounts(&one, own),
            at("/sys/fs/cgroup/cpu,cpuacct/user", HierarchyVersion::One)
        );
        assert_eq!(parent_that_accounts("", own), None);
    }
}
