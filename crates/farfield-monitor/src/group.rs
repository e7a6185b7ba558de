//! The control group of a tier: processor time, its quota, throttling, and memory (the kernel's cgroup-v1 and
//! cgroup-v2 pages). Which version a folder is of shows in its files.

use crate::modes::Modes;
use crate::proc_file::{Counter, ProcFile, field};
use crate::subject::Subject;
use farfield_files::system;
use farfield_measure::monitor::{MonitorLog, metric};
use farfield_os::control_group::CpuUsage;
use std::path::{Path, PathBuf};

/// The folders of a group: one in version 2, one for each controller in version 1.
#[derive(Debug)]
pub struct Group {
    cpu_stat: Option<ProcFile>,
    memory_stat: Option<ProcFile>,
    memory_limit: Option<f64>,
    quota: Option<f64>,
    periods: Counter,
    throttled: Counter,
    /// The folder in which processor time is counted, and what was counted so far.
    account: Option<PathBuf>,
    modes: Modes,
}

impl Group {
    /// The group in a folder of version 2, or of version 1 for all controllers that it has.
    pub fn at(folder: &Path) -> Group {
        Group::of(Some(folder), Some(folder), Some(folder))
    }

    /// The group with the folders of two controllers and of the account of processor time, as far as it has
    /// them.
    pub fn of(cpu: Option<&Path>, memory: Option<&Path>, account: Option<&Path>) -> Group {
        let open = |folder: &Path, file| ProcFile::open(&folder.join(file).to_string_lossy()).ok();
        Group {
            cpu_stat: cpu.and_then(|folder| open(folder, "cpu.stat")),
            memory_stat: memory.and_then(|folder| open(folder, "memory.stat")),
            memory_limit: memory.and_then(memory_limit),
            quota: cpu.and_then(quota),
            periods: Counter::default(),
            throttled: Counter::default(),
            account: account.map(Path::to_owned),
            modes: Modes::default(),
        }
    }

    /// Nanoseconds that its processes have used in user and in kernel mode, those that have ended included;
    /// `None` if the group does not count, or no longer does.
    pub(crate) fn cpu_ns(&mut self) -> Option<[u64; 2]> {
        let usage = CpuUsage::read(self.account.as_deref()?)?;
        self.modes.advance(usage.total_ns, usage.modes);
        Some(self.modes.ns)
    }

    /// Processors that the group may use, if that is limited.
    pub(crate) fn cpu_quota(&self) -> Option<f64> {
        self.quota
    }

    /// Records its throttling and its memory under `subject`.
    pub(crate) fn record(&mut self, subject: &mut Subject, log: &mut MonitorLog, buffer: &mut Vec<u8>) {
        if let Some(text) = self.cpu_stat.as_ref().and_then(|file| file.text(buffer).ok()) {
            let count = |name| field(text, name).unwrap_or(0);
            // Rates over one second are counts.
            let periods = self.periods.rate(count("nr_periods"), 1.0);
            let throttled = self.throttled.rate(count("nr_throttled"), 1.0);
            let share = periods.zip(throttled).filter(|(periods, _)| *periods > 0.0);
            subject.put_some(log, metric::THROTTLED, share.map(|(periods, throttled)| throttled / periods));
        }
        if let (Some(file), Some(limit)) = (&self.memory_stat, self.memory_limit)
            && let Ok(text) = file.text(buffer)
            && let Some(used) = field(text, "anon").or_else(|| field(text, "total_rss"))
        {
            subject.put(log, metric::GROUP_MEMORY, used as f64);
            subject.put(log, metric::GROUP_MEMORY_LIMIT, limit);
        }
    }
}

fn number(path: &Path) -> Option<f64> {
    system::read_text(path).ok()?.trim().parse().ok()
}

/// The quota in `cpu.max` of version 2, or in the two files of version 1.
fn quota(folder: &Path) -> Option<f64> {
    if let Ok(text) = system::read_text(folder.join("cpu.max")) {
        let (quota, period) = text.trim().split_once(' ')?;
        return Some(quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?);
    }
    let quota = number(&folder.join("cpu.cfs_quota_us")).filter(|quota| *quota > 0.0)?;
    Some(quota / number(&folder.join("cpu.cfs_period_us"))?)
}

/// The limit of memory; version 1 writes a huge number where there is none.
fn memory_limit(folder: &Path) -> Option<f64> {
    const NONE: f64 = 1e18;
    let limit = number(&folder.join("memory.max")).or_else(|| number(&folder.join("memory.limit_in_bytes")));
    limit.filter(|limit| *limit < NONE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_base::Instant;
    use farfield_measure::monitor::SeriesSource;
    use std::fs;

    /// Groups of either version, in folders of plain files.
    #[test]
    fn a_group_is_read_in_both_versions() {
        let versions: [&[(&str, &str)]; 2] = [
            &[
                ("cpu.max", "20000 100000\n"),
                ("cpu.stat", "usage_usec 9\nnr_periods 10\nnr_throttled 4\n"),
                ("memory.max", "67108864\n"),
                ("memory.stat", "anon 4096\nfile 99\n"),
            ],
            &[
                ("cpu.cfs_quota_us", "20000\n"),
                ("cpu.cfs_period_us", "100000\n"),
                ("cpu.stat", "nr_periods 10\nnr_throttled 4\nthrottled_time 3\n"),
                ("memory.limit_in_bytes", "67108864\n"),
                ("memory.stat", "cache 7\nrss 1\ntotal_rss 4096\n"),
            ],
        ];
        for files in versions {
            let folder = tempfile::tempdir().expect("a folder");
            for (name, text) in files {
                fs::write(folder.path().join(name), text).expect("a file");
            }
            let mut group = Group::at(folder.path());
            assert_eq!(group.cpu_quota(), Some(0.2));
            let (mut log, mut subject) = (MonitorLog::default(), Subject::only(SeriesSource::Tier));
            let mut buffer = Vec::new();
            log.begin(0, Instant::ZERO);
            group.record(&mut subject, &mut log, &mut buffer);
            fs::write(folder.path().join("cpu.stat"), "nr_periods 20\nnr_throttled 12\n").expect("a file");
            log.begin(1, Instant::ZERO);
            group.record(&mut subject, &mut log, &mut buffer);
            log.end();
            let mut names: Vec<_> = log.names().map(|(_, name)| name.metric.clone()).collect();
            names.sort_unstable();
            assert_eq!(names, ["memory_bytes", "memory_limit_bytes", "throttled_share"]);
        }
    }

    #[test]
    fn a_group_without_limits_has_none() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("cpu.max"), "max 100000\n").expect("a file");
        fs::write(folder.path().join("memory.max"), "max\n").expect("a file");
        let group = Group::at(folder.path());
        assert_eq!((group.cpu_quota(), group.memory_limit), (None, None));
        fs::write(folder.path().join("memory.limit_in_bytes"), "9223372036854771712\n").expect("a file");
        assert_eq!(Group::at(folder.path()).memory_limit, None);
    }
}
