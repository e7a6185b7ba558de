//! How much memory this process may still take: what the machine, its control groups and its own limit leave.
//!
//! Pages that only hold what is on disk as well count as free, in the machine (`MemAvailable`, proc_meminfo(5)) and in a
//! group: a run that writes its samples fills a group with such pages, and the kernel gives them up when they are wanted.

use crate::environment;
use crate::os::control_group::{self, OwnGroup};
use rustix::process::{Resource, getrlimit};
use std::fs;

/// Memory is short where less than this part of it is left.
const LEFT: f64 = 0.05;

/// What bounds the memory of this process.
#[derive(Debug)]
pub(crate) struct Memory {
    groups: Vec<OwnGroup>,
}

/// What one bound leaves, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Left {
    pub left: u64,
    pub most: u64,
    /// The bound.
    pub by: &'static str,
}

impl Memory {
    /// Finds the control groups of this process.
    pub fn find() -> Memory {
        Memory { groups: control_group::own_groups("memory") }
    }

    /// What the bound leaves that leaves least; `None` where none is known.
    pub fn left(&self) -> Option<Left> {
        let bounds = self.groups.iter().filter_map(of_group).chain(of_machine()).chain(of_process());
        bounds.min_by_key(|bound| bound.left)
    }

    /// In words, if this process can have little more.
    pub fn is_short(&self) -> Option<String> {
        let mut bounds = of_machine().into_iter().chain(self.groups.iter().filter_map(of_group));
        bounds.find(Left::is_little).map(|bound| bound.in_words())
    }
}

impl Left {
    fn is_little(&self) -> bool {
        (self.left as f64) < LEFT * self.most as f64
    }

    fn in_words(self) -> String {
        let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
        let Left { left, most, by } = self;
        let number = |bytes| match gib(bytes) {
            gib if gib < 1.0 => format!("{:.0} MiB", gib * 1024.0),
            gib => format!("{gib:.1} GiB"),
        };
        format!("{} of {} of memory were left ({by})", number(left), number(most))
    }
}

fn of_machine() -> Option<Left> {
    let field = |name| environment::field_of("/proc/meminfo", name).and_then(|text| kib(&text));
    Some(Left { left: field("MemAvailable")?, most: field("MemTotal")?, by: "MemAvailable of this machine" })
}

fn of_process() -> Option<Left> {
    let used = environment::field_of("/proc/self/status", "VmSize").and_then(|text| kib(&text)).unwrap_or(0);
    let most = getrlimit(Resource::As).current?;
    Some(Left { left: most.saturating_sub(used), most, by: "the limit of this process, `ulimit -v`" })
}

/// The bound of a group, if it has one: cgroups(7), the kernel's pages on version 1 (memory) and 2.
fn of_group(group: &OwnGroup) -> Option<Left> {
    let [most, used, files] = match group.is_version_one {
        true => ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_"],
        false => ["memory.max", "memory.current", ""],
    };
    let read = |name: &str| fs::read_to_string(group.folder.join(name)).ok();
    let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
    // Version 1 has no word for no bound, but the largest number of whole pages.
    let most = number(most).filter(|most| *most < i64::MAX as u64 / 2)?;
    let given_up = given_up(&read("memory.stat").unwrap_or_default(), files);
    let used = number(used)?.saturating_sub(given_up);
    Some(Left { left: most.saturating_sub(used), most, by: "the limit of its control group" })
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
        let by = "the limit of its control group";
        let stat = format!("anon 1\ninactive_file {}\nactive_file {}\n", 50 * MIB, 20 * MIB);
        let of = |most: String, used: u64| {
            let used = ("memory.current", used.to_string());
            let (_kept, group) = group(false, &[("memory.max", most), used, ("memory.stat", stat.clone())]);
            of_group(&group)
        };
        assert_eq!(of((100 * MIB).to_string(), 99 * MIB), Some(Left { left: 71 * MIB, most: 100 * MIB, by }));
        assert_eq!(of("max\n".to_owned(), 99 * MIB), None);
        let stat = format!("inactive_file 1\ntotal_inactive_file {}\ntotal_active_file 0\n", 4 * MIB);
        let of = |most: u64| {
            let (used, stat) =
                (("memory.usage_in_bytes", (99 * MIB).to_string()), ("memory.stat", stat.clone()));
            let (_kept, group) = group(true, &[("memory.limit_in_bytes", most.to_string()), used, stat]);
            of_group(&group)
        };
        assert_eq!(of(100 * MIB), Some(Left { left: 5 * MIB, most: 100 * MIB, by }));
        // What version 1 says where there is no bound.
        assert_eq!(of(9_223_372_036_854_771_712), None);
    }

    #[test]
    fn little_is_a_twentieth() {
        let left = |left| Left { left: left * MIB, most: 1000 * MIB, by: "a limit" };
        assert!(left(49).is_little() && !left(51).is_little());
        assert_eq!(left(49).in_words(), "49 MiB of 1000 MiB of memory were left (a limit)");
        let large = Left { left: 1_234_100 << 10, most: 24_682_000 << 10, by: "a limit" };
        assert_eq!(large.in_words(), "1.2 GiB of 23.5 GiB of memory were left (a limit)");
    }

    #[test]
    fn this_machine_has_memory() {
        assert!(Memory::find().left().is_some_and(|left| left.left > 0 && left.left <= left.most));
    }
}
