//! Other processes: those that used the most processor time meanwhile, by name, as far as `/proc` shows
//! them.
//!
//! `/proc/PID/stat` counts in ticks of mostly 10 ms, and of children only those that have ended and were
//! waited for: a build that starts a thousand compilers is one process here, the one that started them.

use farfield_files::system;
use farfield_measure::OtherProcess;
use std::collections::BTreeMap;
use std::fs;

/// Processes that are named.
const NAMED: usize = 3;
/// A smaller part of a processor is nobody's fault.
const LEAST: f64 = 0.02;

/// The processor time of all processes at one instant, by their number and their start.
#[derive(Debug, Default)]
pub(crate) struct OtherProcesses {
    used: BTreeMap<(u32, u64), ProcessTime>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct ProcessTime {
    name: String,
    /// The process's own time, and that of its children that ended, in ticks.
    ticks: [u64; 2],
}

impl OtherProcesses {
    pub fn read() -> OtherProcesses {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let used = pids.filter_map(|pid| {
            let text = system::read_text(format!("/proc/{pid}/stat")).ok()?;
            let (start, used) = parse(&text)?;
            Some(((pid, start), used))
        });
        OtherProcesses { used: used.collect() }
    }

    /// Processes that used the most time since an earlier reading, `seconds` before, of so many processors,
    /// without this process, those of the `server` and the kernel's threads for packets.
    pub fn most_since(
        &self,
        earlier: &OtherProcesses,
        server: &[u32],
        seconds: f64,
        processors: usize,
    ) -> Vec<OtherProcess> {
        let per_second = rustix::param::clock_ticks_per_second() as f64;
        let most = seconds * per_second * processors as f64;
        let own = std::process::id();
        let is_other =
            |pid: u32, name: &str| pid != own && !server.contains(&pid) && !name.starts_with("napi/");
        let mut others: Vec<OtherProcess> = Vec::new();
        for ((pid, start), used) in self.used.iter().filter(|((pid, _), used)| is_other(*pid, &used.name)) {
            // One that began since has had no children before.
            let before = earlier.used.get(&(*pid, *start)).map_or([0, 0], |used| used.ticks);
            let [own, children] = [0, 1].map(|part| used.ticks[part].saturating_sub(before[part]));
            // Children that ended bring the time of their whole lives: more than passed is of before.
            let ticks = own + if children as f64 > most { 0 } else { children };
            let processors = ticks as f64 / per_second / seconds.max(f64::MIN_POSITIVE);
            if processors >= LEAST {
                others.push(OtherProcess { name: used.name.clone(), pid: *pid, processors });
            }
        }
        others.sort_by(|one, other| other.processors.total_cmp(&one.processors));
        others.truncate(NAMED);
        others
    }
}

/// The start and the processor time in `/proc/PID/stat` (proc_pid_stat(5)): fields 14 to 17 and 22.
fn parse(stat: &str) -> Option<(u64, ProcessTime)> {
    let (front, back) = stat.rsplit_once(')')?;
    let (_, name) = front.split_once('(')?;
    let fields: Vec<&str> = back.split_whitespace().collect();
    // The first of these is the third field of the file.
    let field = |nth: usize| fields.get(nth - 3)?.parse::<u64>().ok();
    let ticks = [field(14)? + field(15)?, field(16)? + field(17)?];
    Some((field(22)?, ProcessTime { name: name.to_owned(), ticks }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(lines: &[&str]) -> OtherProcesses {
        let used = lines.iter().map(|line| {
            let (start, used) = parse(line).expect("a line of the kernel's");
            ((line.split(' ').next().unwrap().parse().unwrap(), start), used)
        });
        OtherProcesses { used: used.collect() }
    }

    /// A line of `/proc/PID/stat`, with ticks of the process and of its children that ended.
    fn line(pid: u32, name: &str, own: u64, children: u64, start: u64) -> String {
        format!("{pid} ({name}) R 1 1 1 0 -1 0 0 0 0 0 {own} 0 {children} 0 20 0 1 0 {start} 0 0")
    }

    #[test]
    fn those_that_used_the_most_are_named_and_neither_server_nor_packets() {
        let tick = rustix::param::clock_ticks_per_second();
        let before =
            at(&[&line(5, "cargo", tick, 0, 1), &line(6, "idle", 9, 9, 1), &line(8, "old", 90 * tick, 0, 1)]);
        let own = line(std::process::id(), "farfield", 99 * tick, 0, 1);
        let after = at(&[
            // With the children that it has waited for.
            &line(5, "cargo", 2 * tick, 7 * tick, 1),
            &line(6, "idle", 9, 9, 1),
            &line(7, "sh ) x", 4 * tick, 0, 3),
            // Another process with the number of one that ended.
            &line(8, "new", tick, 0, 4),
            &line(9, "nginx", 50 * tick, 0, 1),
            &line(10, "napi/farfield0-", 50 * tick, 0, 1),
            &line(11, "fourth", tick / 2, 0, 1),
            // It has waited for a child that ran for an hour.
            &line(12, "init", 0, 3_600 * tick, 1),
            &own,
        ]);
        let most = after.most_since(&before, &[9], 10.0, 2);
        let named: Vec<_> =
            most.iter().map(|other| (other.name.as_str(), other.pid, other.processors)).collect();
        assert_eq!(named, [("cargo", 5, 0.8), ("sh ) x", 7, 0.4), ("new", 8, 0.1)]);
    }

    #[test]
    fn this_machines_processes_are_read() {
        let own = std::process::id();
        assert!(OtherProcesses::read().used.keys().any(|(pid, _)| *pid == own));
    }
}
