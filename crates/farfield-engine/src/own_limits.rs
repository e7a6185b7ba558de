//! Limits that the control groups of this process put on it: processor time, tasks, and for how long it was
//! kept from running because its processor time was used up (throttled).
//!
//! A process is bound by its own group and by every group above that, in version 1 by those of each
//! controller's hierarchy (cgroups(7); the kernel's pages on the cpu controller and `sched-bwc`, and on
//! pids). Memory is in [`memory`](crate::memory).

use farfield_base::Duration;
use farfield_files::system;
use farfield_os::control_group::{OwnGroup, own_groups};

/// The control groups that bound this process.
#[derive(Debug)]
pub(crate) struct OwnLimits {
    cpu: Vec<OwnGroup>,
    pids: Vec<OwnGroup>,
}

/// Room for tasks (processes and threads) under the tightest bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TasksLeft {
    pub free: u64,
    pub limit: u64,
}

impl OwnLimits {
    /// Finds them.
    pub fn find() -> OwnLimits {
        OwnLimits { cpu: own_groups("cpu"), pids: own_groups("pids") }
    }

    /// Processors whose time this process may use, by the tightest quota; `None` without one.
    pub fn processors(&self) -> Option<f64> {
        self.cpu.iter().filter_map(quota).min_by(f64::total_cmp)
    }

    /// The room for tasks; `None` if it is not bounded.
    pub fn tasks_left(&self) -> Option<TasksLeft> {
        let left = |group: &OwnGroup| {
            let limit = number(group, "pids.max")?;
            Some(TasksLeft { free: limit.saturating_sub(number(group, "pids.current")?), limit })
        };
        self.pids.iter().filter_map(left).min_by_key(|tasks| tasks.free)
    }

    /// Time for which each group has been throttled, added up over processors.
    pub fn throttled(&self) -> Vec<Option<Duration>> {
        self.cpu.iter().map(throttled).collect()
    }

    /// The longest time for which a group with a quota has been throttled since an `earlier` reading. A group
    /// that is throttled keeps those below it from running too, so that times of several are no sum.
    pub fn throttled_since(&self, earlier: &[Option<Duration>]) -> Option<Duration> {
        let limited = self.cpu.iter().zip(earlier).filter(|(group, _)| quota(group).is_some());
        let times = limited.filter_map(|(group, before)| {
            let now = throttled(group)?;
            Some(now - before.unwrap_or(Duration::ZERO))
        });
        times.max()
    }
}

fn read(group: &OwnGroup, name: &str) -> Option<String> {
    system::read_text(group.folder.join(name)).ok()
}

fn number(group: &OwnGroup, name: &str) -> Option<u64> {
    read(group, name)?.trim().parse().ok()
}

/// The quota of a group, in processors.
fn quota(group: &OwnGroup) -> Option<f64> {
    let (quota_us, period_us) = match group.is_version_one {
        // "-1" without a quota.
        true => (number(group, "cpu.cfs_quota_us")?, number(group, "cpu.cfs_period_us")?),
        false => {
            let text = read(group, "cpu.max")?;
            let (quota, period) = text.trim().split_once(' ')?;
            // "max" without a quota.
            (quota.parse().ok()?, period.parse().ok()?)
        }
    };
    (period_us > 0).then(|| quota_us as f64 / period_us as f64)
}

fn throttled(group: &OwnGroup) -> Option<Duration> {
    let text = read(group, "cpu.stat")?;
    let field = |name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse::<u64>().ok())
    };
    match group.is_version_one {
        true => field("throttled_time").map(Duration::from_ns),
        false => field("throttled_usec").map(Duration::from_us),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A group of plain files.
    fn group(is_version_one: bool, files: &[(&str, &str)]) -> (tempfile::TempDir, OwnGroup) {
        let folder = tempfile::tempdir().unwrap();
        files.iter().for_each(|(name, text)| fs::write(folder.path().join(name), text).unwrap());
        let group = OwnGroup { folder: folder.path().to_owned(), is_version_one };
        (folder, group)
    }

    #[test]
    fn quotas_of_both_versions_are_read_and_the_tightest_counts() {
        let one = |quota| group(true, &[("cpu.cfs_quota_us", quota), ("cpu.cfs_period_us", "100000\n")]);
        let two = |max| group(false, &[("cpu.max", max)]);
        let of = |groups: Vec<(tempfile::TempDir, OwnGroup)>| {
            let (_kept, cpu): (Vec<_>, Vec<_>) = groups.into_iter().unzip();
            OwnLimits { cpu, pids: Vec::new() }.processors()
        };
        assert_eq!(of(vec![one("-1\n")]), None);
        assert_eq!(of(vec![one("150000\n"), one("50000\n"), one("-1\n")]), Some(0.5));
        assert_eq!(of(vec![two("max 100000\n")]), None);
        assert_eq!(of(vec![two("max 100000\n"), two("25000 50000\n"), two("100000 100000\n")]), Some(0.5));
        assert_eq!(of(vec![group(false, &[])]), None);
    }

    #[test]
    fn of_groups_with_a_quota_the_longest_throttled_counts() {
        let stat_one = ("cpu.stat", "nr_periods 9\nnr_throttled 3\nthrottled_time 7000\n");
        let stat_two = ("cpu.stat", "usage_usec 1\nnr_throttled 3\nthrottled_usec 5\n");
        let (_a, limited) =
            group(true, &[stat_one, ("cpu.cfs_quota_us", "1000"), ("cpu.cfs_period_us", "2000")]);
        let (_b, free) = group(true, &[stat_one, ("cpu.cfs_quota_us", "-1"), ("cpu.cfs_period_us", "2000")]);
        let (_c, two) = group(false, &[stat_two, ("cpu.max", "1000 2000")]);
        let us = Duration::from_us;
        let since =
            |cpu, earlier: &[Option<Duration>]| OwnLimits { cpu, pids: Vec::new() }.throttled_since(earlier);
        assert_eq!(since(vec![free.clone()], &[None]), None);
        assert_eq!(since(vec![limited.clone(), free], &[None, None]), Some(us(7)));
        assert_eq!(since(vec![limited.clone(), two.clone()], &[None, None]), Some(us(7)));
        // Time throttled before is none of the run's, in whichever group.
        assert_eq!(since(vec![limited.clone(), two.clone()], &[Some(us(6)), Some(us(1))]), Some(us(4)));
        let limits = OwnLimits { cpu: vec![limited, two], pids: Vec::new() };
        assert_eq!(limits.throttled(), [Some(us(7)), Some(us(5))]);
        assert_eq!(limits.throttled_since(&limits.throttled()), Some(Duration::ZERO));
    }

    #[test]
    fn the_least_room_for_tasks_counts() {
        let of = |groups: &[(&str, &str)]| {
            let made =
                groups.iter().map(|(most, now)| group(false, &[("pids.max", most), ("pids.current", now)]));
            let (_kept, pids): (Vec<_>, Vec<_>) = made.unzip();
            OwnLimits { cpu: Vec::new(), pids }.tasks_left()
        };
        assert_eq!(of(&[("max\n", "5\n")]), None);
        assert_eq!(of(&[("10\n", "4\n"), ("100\n", "98\n")]), Some(TasksLeft { free: 2, limit: 100 }));
        // A limit may be lowered below what there is.
        assert_eq!(of(&[("3\n", "4\n")]), Some(TasksLeft { free: 0, limit: 3 }));
    }
}
