//! Memory that this process may still allocate, by the machine, its control groups and its own limit.
//!
//! Page cache counts as free, in the machine (`MemAvailable`, proc_meminfo(5)) and in a group: a run that
//! writes its samples fills a group with such pages, and the kernel reclaims them when they are needed.

use crate::environment;
use farfield_files::system;
use farfield_os::control_group::{self, OwnGroup};
use rustix::process::{Resource, getrlimit};

/// Memory is short if less than this share of it is free.
const SHORT_SHARE: f64 = 0.05;

/// The bounds on the memory of this process.
#[derive(Debug)]
pub(crate) struct MemoryBounds {
    groups: Vec<OwnGroup>,
}

/// Free memory under one bound, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Headroom {
    pub free: u64,
    pub limit: u64,
    /// Name of the bound, for messages.
    pub bound: &'static str,
}

impl MemoryBounds {
    /// Finds the control groups of this process.
    pub fn find() -> MemoryBounds {
        MemoryBounds { groups: control_group::own_groups("memory") }
    }

    /// The headroom under the tightest bound; `None` if no bound is known.
    pub fn headroom(&self) -> Option<Headroom> {
        let bounds = [self.headroom_of_pages(), self.headroom_of_addresses()].into_iter().flatten();
        bounds.min_by_key(|bound| bound.free)
    }

    /// The headroom for pages that are written.
    pub fn headroom_of_pages(&self) -> Option<Headroom> {
        self.groups.iter().filter_map(of_group).chain(of_machine()).min_by_key(|bound| bound.free)
    }

    /// The headroom for addresses, of which a process reserves more than it uses.
    pub fn headroom_of_addresses(&self) -> Option<Headroom> {
        of_process()
    }

    /// A sentence about the first bound under which memory is short, if there is one.
    pub fn shortage(&self) -> Option<String> {
        let mut bounds = of_machine().into_iter().chain(self.groups.iter().filter_map(of_group));
        bounds.find(Headroom::is_short).map(|bound| bound.in_words())
    }
}

impl Headroom {
    fn is_short(&self) -> bool {
        (self.free as f64) < SHORT_SHARE * self.limit as f64
    }

    fn in_words(self) -> String {
        let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
        let Headroom { free, limit, bound } = self;
        let number = |bytes| match gib(bytes) {
            gib if gib < 1.0 => format!("{:.0} MiB", gib * 1024.0),
            gib => format!("{gib:.1} GiB"),
        };
        format!("{} of {} of memory were left ({bound})", number(free), number(limit))
    }
}

fn of_machine() -> Option<Headroom> {
    let field = |name| environment::field_of("/proc/meminfo", name).and_then(|text| kib(&text));
    Some(Headroom {
        free: field("MemAvailable")?,
        limit: field("MemTotal")?,
        bound: "MemAvailable of this machine",
    })
}

fn of_process() -> Option<Headroom> {
    let used = environment::field_of("/proc/self/status", "VmSize").and_then(|text| kib(&text)).unwrap_or(0);
    let limit = getrlimit(Resource::As).current?;
    Some(Headroom {
        free: limit.saturating_sub(used),
        limit,
        bound: "the limit of this process, `ulimit -v`",
    })
}

/// The headroom of a control group, if it has a limit: cgroups(7), the kernel's pages on version 1 (memory)
/// and 2.
fn of_group(group: &OwnGroup) -> Option<Headroom> {
    let [limit, used, files] = match group.is_version_one {
        true => ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_"],
        false => ["memory.max", "memory.current", ""],
    };
    let read = |name: &str| system::read_text(group.folder.join(name)).ok();
    let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
    // Version 1 writes "no limit" as the largest number of whole pages.
    let limit = number(limit).filter(|limit| *limit < i64::MAX as u64 / 2)?;
    let given_up = given_up(&read("memory.stat").unwrap_or_default(), files);
    let used = number(used)?.saturating_sub(given_up);
    Some(Headroom { free: limit.saturating_sub(used), limit, bound: "the limit of its control group" })
}

/// Bytes of pages of files, in the text of `memory.stat`.
fn given_up(stat: &str, prefix: &str) -> u64 {
    let field = |name: &str| {
        let line = stat.lines().find_map(|line| line.strip_prefix(prefix)?.strip_prefix(name));
        line.and_then(|number| number.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    field("inactive_file ") + field("active_file ")
}

/// "1234 kB" in bytes.
fn kib(text: &str) -> Option<u64> {
    text.strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const MIB: u64 = 1 << 20;

    /// A group of plain files.
    fn group(is_version_one: bool, files: &[(&str, String)]) -> (tempfile::TempDir, OwnGroup) {
        let folder = tempfile::tempdir().unwrap();
        files.iter().for_each(|(name, text)| fs::write(folder.path().join(name), text).unwrap());
        let group = OwnGroup { folder: folder.path().to_owned(), is_version_one };
        (folder, group)
    }

    #[test]
    fn pages_of_files_count_as_free() {
        let bound = "the limit of its control group";
        let stat = format!("anon 1\ninactive_file {}\nactive_file {}\n", 50 * MIB, 20 * MIB);
        let of = |limit: String, used: u64| {
            let used = ("memory.current", used.to_string());
            let (_kept, group) = group(false, &[("memory.max", limit), used, ("memory.stat", stat.clone())]);
            of_group(&group)
        };
        assert_eq!(
            of((100 * MIB).to_string(), 99 * MIB),
            Some(Headroom { free: 71 * MIB, limit: 100 * MIB, bound })
        );
        assert_eq!(of("max\n".to_owned(), 99 * MIB), None);
        let stat = format!("inactive_file 1\ntotal_inactive_file {}\ntotal_active_file 0\n", 4 * MIB);
        let of = |limit: u64| {
            let (used, stat) =
                (("memory.usage_in_bytes", (99 * MIB).to_string()), ("memory.stat", stat.clone()));
            let (_kept, group) = group(true, &[("memory.limit_in_bytes", limit.to_string()), used, stat]);
            of_group(&group)
        };
        assert_eq!(of(100 * MIB), Some(Headroom { free: 5 * MIB, limit: 100 * MIB, bound }));
        // Version 1 without a limit.
        assert_eq!(of(9_223_372_036_854_771_712), None);
    }

    #[test]
    fn little_is_a_twentieth() {
        let free = |free| Headroom { free: free * MIB, limit: 1000 * MIB, bound: "a limit" };
        assert!(free(49).is_short() && !free(51).is_short());
        assert_eq!(free(49).in_words(), "49 MiB of 1000 MiB of memory were left (a limit)");
        let large = Headroom { free: 1_234_100 << 10, limit: 24_682_000 << 10, bound: "a limit" };
        assert_eq!(large.in_words(), "1.2 GiB of 23.5 GiB of memory were left (a limit)");
    }

    #[test]
    fn this_machine_has_memory() {
        assert!(MemoryBounds::find().headroom().is_some_and(|free| free.free > 0 && free.free <= free.limit));
    }
}
