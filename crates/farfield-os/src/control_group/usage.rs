//! Processor time that a control group counts: of all processes that were in it or in a group below, those
//! that have ended included, in nanoseconds (version 1, `cpuacct.usage`) or microseconds (version 2,
//! `cpu.stat`).
//!
//! The time of a process that runs just now is counted up to the scheduler's last tick.

use farfield_files::system;
use std::path::Path;

/// Processor time since the group was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuUsage {
    /// Exact sum of user and kernel mode.
    pub total_ns: u64,
    /// Parts of it in user and in kernel mode, in a unit of their own and with the error of sampling.
    pub modes: [u64; 2],
}

impl CpuUsage {
    /// Processor time of the group at `folder`; `None` if it is gone, or has no such count.
    pub fn read(folder: &Path) -> Option<CpuUsage> {
        let number = |file: &str| system::read_text(folder.join(file)).ok()?.trim().parse::<u64>().ok();
        if let Some(total_ns) = number("cpuacct.usage") {
            let modes = ["cpuacct.usage_user", "cpuacct.usage_sys"].map(|file| number(file).unwrap_or(0));
            return Some(CpuUsage { total_ns, modes });
        }
        let text = system::read_text(folder.join("cpu.stat")).ok()?;
        let field = |name: &str| {
            text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse::<u64>().ok())
        };
        let modes = ["user_usec", "system_usec"].map(|name| field(name).unwrap_or(0));
        Some(CpuUsage { total_ns: field("usage_usec")? * 1_000, modes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn both_versions_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let read = |files: &[(&str, &str)]| {
            for (file, text) in files {
                fs::write(folder.path().join(file), text).unwrap();
            }
            CpuUsage::read(folder.path())
        };
        assert_eq!(read(&[]), None);
        // The controller of version 1 that limits does not account.
        assert_eq!(read(&[("cpu.stat", "nr_periods 1\nthrottled_time 5\n")]), None);
        let two = read(&[("cpu.stat", "usage_usec 900\nuser_usec 700\nsystem_usec 200\nnr_periods 1\n")]);
        assert_eq!(two, Some(CpuUsage { total_ns: 900_000, modes: [700, 200] }));
        let files =
            [("cpuacct.usage", "901\n"), ("cpuacct.usage_user", "600\n"), ("cpuacct.usage_sys", "100\n")];
        assert_eq!(read(&files), Some(CpuUsage { total_ns: 901, modes: [600, 100] }));
    }
}
