//! A tier: the processes of a server, found again every second, and what they use.
//!
//! Children of known processes are found at once, by the list of children of their first threads; what that
//! does not show (children of other threads, new processes with a command's name) is found by a search of
//! all processes, which is made the less often the more there are.
//!
//! Processor time is what the tier's control group counts, if it has one: no process is missed. Otherwise it
//! is the sum over the processes that were found.

#[cfg(test)]
mod tests;

use crate::group::Group;
use crate::members::{Members, pids_in};
use crate::proc_file::ProcFile;
use crate::process::{Process, tick_ns};
use crate::subject::Subject;
use farfield_measure::monitor::{MonitorLog, SeriesSource, metric};
use farfield_os::clock::thread_cpu;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity};
use std::collections::{BTreeMap, BTreeSet};

/// Most processes of a tier that are read.
const PROCESSES_MAX: usize = 1_000;
/// Processes that have rows of their own: those that use the most processor time.
const RECORDED: usize = 16;
/// Processes whose details are read in a second.
const DETAILS: usize = 8;
/// Seconds between two searches of all processes, at least.
const SEARCH_EVERY: f64 = 5.0;
/// The largest share of a processor that searches may take.
const SEARCH_SHARE: f64 = 0.000_2;

/// A tier to be monitored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TierSpec {
    /// Name of the tier in results.
    pub name: String,
    /// Processes of the tier.
    pub members: Members,
}

/// Readers of a tier.
#[derive(Debug)]
pub(crate) struct Tier {
    name: String,
    members: Members,
    subject: Subject,
    processes: BTreeMap<u32, Process>,
    group: Option<Group>,
    used: TierTime,
    affinity: Vec<usize>,
    /// The process whose turn is next.
    next_details: u32,
    next_search: f64,
    /// The instant at which processes were looked at last, in ticks since boot.
    looked_at: u64,
    had_some: bool,
    said_gone: bool,
}

impl Tier {
    pub fn new(spec: &TierSpec, group: Option<Group>) -> Tier {
        let group = match &spec.members {
            Members::ControlGroup(folder) => Some(Group::at(folder)),
            _ => group,
        };
        Tier {
            name: spec.name.clone(),
            members: spec.members.clone(),
            subject: Subject::new(SeriesSource::Tier, &spec.name, "", None),
            processes: BTreeMap::new(),
            group,
            used: TierTime::default(),
            affinity: Vec::new(),
            next_details: 0,
            next_search: 0.0,
            looked_at: 0,
            had_some: false,
            said_gone: false,
        }
    }

    /// Finds its processes, and reads them `now` seconds after the run's start, `elapsed` after the reading
    /// before. `busy` is how busy each processor was.
    pub fn read(&mut self, log: &mut MonitorLog, now: f64, elapsed: f64, busy: &[f64], buffer: &mut Vec<u8>) {
        let mut used = self.read_known(buffer);
        self.find(log, now, &mut used, buffer);
        let used = self.used.since_before(self.group.as_mut().and_then(Group::cpu_ns), used);
        self.read_in_turns(log, now, buffer);
        if self.processes.is_empty() {
            self.record_absence(log, now);
            return;
        }
        self.had_some = true;
        if elapsed > 0.0 {
            let rate = |used_ns: u64| used_ns as f64 / 1e9 / elapsed;
            self.subject.put(log, metric::CPU_USER, rate(used[0]));
            self.subject.put(log, metric::CPU_SYSTEM, rate(used[1]));
        }
        self.record_sums(log, elapsed);
        self.record_processors(log, busy);
        if let Some(group) = &mut self.group {
            group.record(&mut self.subject, log, buffer);
        }
        self.record_processes(log, elapsed);
    }

    /// Reads the processes that are known and removes those that have ended. Returns the nanoseconds that the
    /// tier used, in user and in kernel mode.
    ///
    /// A process that ends hands its time to its parent, as that of a child: what of it was counted before
    /// is taken away again, or children that end would count twice.
    fn read_known(&mut self, buffer: &mut Vec<u8>) -> [i64; 2] {
        let mut ended = Vec::new();
        let mut used = [0_i64; 2];
        for process in self.processes.values_mut() {
            match process.read(buffer) {
                Ok(()) => add(&mut used, &process.cpu_ns, &process.before),
                Err(_) => ended.push((process.pid, process.now.parent, process.cpu_ns)),
            }
        }
        for (pid, ..) in &ended {
            self.processes.remove(pid);
        }
        for (_, parent, last) in &ended {
            if self.processes.contains_key(parent) {
                add(&mut used, &[0; 4], last);
            }
        }
        used
    }

    /// Adds the processes that are new. One that has begun since the last look has used all its time since.
    fn find(&mut self, log: &mut MonitorLog, now: f64, used: &mut [i64; 2], buffer: &mut Vec<u8>) {
        let mut found = BTreeSet::new();
        let searches = now >= self.next_search;
        if searches {
            let before = thread_cpu();
            self.members.search(&mut found);
            let took = (thread_cpu() - before).as_secs_f64();
            self.next_search = now + SEARCH_EVERY.max(took / SEARCH_SHARE);
        }
        if let (false, Members::ControlGroup(folder)) = (searches, &self.members) {
            found.extend(pids_in(folder));
        }
        self.children(&mut found, buffer);
        let looked_at = self.looked_at;
        let first = looked_at == 0;
        for pid in found {
            if self.processes.contains_key(&pid) {
                continue;
            }
            if self.processes.len() == PROCESSES_MAX {
                log.note(format!("only {PROCESSES_MAX} processes of tier {} are read", self.name));
                break;
            }
            let Ok(mut process) = Process::open(&self.name, pid, buffer) else {
                // Another may have ended meanwhile; one that was asked for by its number is missed.
                if let Members::Processes(roots) = &self.members
                    && roots.contains(&pid)
                {
                    let moment =
                        if first { "there is none".to_owned() } else { format!("gone after {now:.0} s") };
                    log.note(format!("process {pid} of tier {}: {moment}", self.name));
                }
                continue;
            };
            if !first && process.now.start_ticks >= looked_at {
                process.before = [0; 4];
                add(used, &process.cpu_ns, &process.before);
            }
            self.processes.insert(pid, process);
        }
        self.looked_at = ticks_since_boot().max(1);
        if searches {
            self.affinity = affinity(self.processes.keys());
        }
    }

    /// Adds the children of known processes, as far as their first threads made them.
    fn children(&self, found: &mut BTreeSet<u32>, buffer: &mut Vec<u8>) {
        if matches!(self.members, Members::ControlGroup(_)) {
            return;
        }
        let mut look: Vec<u32> = match &self.members {
            Members::Below(root) => vec![*root],
            _ => Vec::new(),
        };
        // Most processes of a server have no children: only those that have had some are asked, and new ones.
        let parents: BTreeSet<u32> = self.processes.values().map(|process| process.now.parent).collect();
        look.extend(
            self.processes.keys().filter(|pid| parents.contains(pid) || self.processes.len() <= DETAILS),
        );
        look.extend(found.iter().filter(|pid| !self.processes.contains_key(pid)));
        while let Some(pid) = look.pop() {
            let Ok(file) = ProcFile::open(&format!("/proc/{pid}/task/{pid}/children")) else { continue };
            let Ok(text) = file.text(buffer) else { continue };
            for child in text.split_ascii_whitespace().filter_map(|word| word.parse().ok()) {
                if found.insert(child) && !self.processes.contains_key(&child) {
                    look.push(child);
                }
            }
        }
    }

    fn read_in_turns(&mut self, log: &mut MonitorLog, now: f64, buffer: &mut Vec<u8>) {
        let turn: Vec<u32> = {
            let from = self.processes.range(self.next_details..).map(|(pid, _)| *pid);
            let around = self.processes.range(..self.next_details).map(|(pid, _)| *pid);
            from.chain(around).take(DETAILS).collect()
        };
        for pid in &turn {
            let Some(process) = self.processes.get_mut(pid) else { continue };
            if let Err(error) = process.read_details(now, buffer)
                && error.kind() == std::io::ErrorKind::PermissionDenied
            {
                log.note(format!(
                    "the descriptors of process {pid} ({}) of tier {} may not be read: run farfield as its user or as \
                     root",
                    process.name(),
                    self.name
                ));
            }
        }
        self.next_details = turn.last().map_or(0, |pid| pid + 1);
    }

    /// Says once that there are no processes, or none any more.
    fn record_absence(&mut self, log: &mut MonitorLog, now: f64) {
        if self.had_some {
            self.subject.put(log, metric::PROCESSES, 0.0);
        }
        if self.said_gone {
            return;
        }
        self.said_gone = true;
        let name = &self.name;
        log.note(match (&self.members, self.had_some) {
            (_, true) => format!("all processes of tier {name} were gone after {now:.0} s"),
            (Members::Processes(_), _) => format!("tier {name} has no process: see its pid"),
            (Members::Command(text), _) => {
                format!("tier {name} has no process whose command line contains {text:?}")
            }
            (Members::ControlGroup(folder), _) => {
                format!("tier {name} has no process in the control group {}", folder.display())
            }
            (Members::Below(_) | Members::NetworkNamespace(_), _) => format!("tier {name} has no process"),
        });
    }

    fn record_sums(&mut self, log: &mut MonitorLog, elapsed: f64) {
        let page = rustix::param::page_size() as f64;
        let mut sums = Sums::default();
        for process in self.processes.values_mut() {
            sums.resident += process.now.resident_pages as f64 * page;
            sums.threads += process.now.threads;
            let faults = process.major_faults(elapsed).unwrap_or(0.0);
            sums.faults += faults;
            let details = &process.details;
            sums.swap += details.swap_bytes.unwrap_or(0.0);
            for (sum, rate) in sums.switches.iter_mut().zip(details.switches) {
                *sum = rate.map_or(*sum, |rate| Some(sum.unwrap_or(0.0) + rate));
            }
            if let Some(open) = details.descriptors {
                sums.descriptors = Some(sums.descriptors.unwrap_or(0) + open);
                let share = details.descriptors_limit.map(|limit| open as f64 / limit.max(1) as f64);
                sums.share = sums.share.max(share.unwrap_or(0.0));
            }
        }
        let subject = &mut self.subject;
        subject.put(log, metric::PROCESSES, self.processes.len() as f64);
        subject.put(log, metric::THREADS, sums.threads as f64);
        subject.put(log, metric::RESIDENT, sums.resident);
        subject.put(log, metric::SWAP, sums.swap);
        if elapsed > 0.0 {
            subject.put(log, metric::MAJOR_FAULTS, sums.faults);
        }
        subject.put_some(log, metric::SWITCHES_VOLUNTARY, sums.switches[0]);
        subject.put_some(log, metric::SWITCHES_INVOLUNTARY, sums.switches[1]);
        if let Some(open) = sums.descriptors {
            subject.put(log, metric::DESCRIPTORS, open as f64);
            subject.put(log, metric::DESCRIPTORS_SHARE_MAX, sums.share);
        }
    }

    /// The processors that it may use: by affinity, and by its group's quota.
    fn record_processors(&mut self, log: &mut MonitorLog, busy: &[f64]) {
        let allowed = self.affinity.len() as f64;
        let quota = self.group.as_ref().and_then(Group::cpu_quota);
        let limit = quota.map_or(allowed, |quota| if allowed > 0.0 { quota.min(allowed) } else { quota });
        if limit > 0.0 {
            self.subject.put(log, metric::CPU_LIMIT, limit);
        }
        let shares = self.affinity.iter().filter_map(|processor| busy.get(*processor));
        let (sum, count) = shares.fold((0.0, 0_u32), |(sum, count), share| (sum + share, count + 1));
        if count > 0 {
            self.subject.put(log, metric::PROCESSORS_BUSY, sum / f64::from(count));
        }
    }

    /// Rows of the processes that used the most time, and of those with the fewest descriptors left.
    fn record_processes(&mut self, log: &mut MonitorLog, elapsed: f64) {
        let mut busiest: Vec<(u64, bool, u32)> = self.processes.values().map(rank).collect();
        busiest.sort_unstable_by_key(|(used, short, pid)| (!short, std::cmp::Reverse(*used), *pid));
        for (_, _, pid) in busiest.into_iter().take(RECORDED) {
            if let Some(process) = self.processes.get_mut(&pid) {
                process.record(log, elapsed);
            }
        }
    }
}

/// Processor time of a tier, in nanoseconds of user and of kernel mode.
#[derive(Debug, Default)]
struct TierTime {
    /// The group's count at the reading before, in nanoseconds.
    by_group: Option<[u64; 2]>,
    /// The sum over processes.
    by_processes: [i64; 2],
    /// The highest value of `by_processes` so far.
    recorded: [i64; 2],
}

impl TierTime {
    /// Time since the reading before: by the group, if it counts, else by the processes.
    ///
    /// The sum over processes falls by up to a tick when one ends and hands its time, cut off, to its parent.
    /// That much of the next seconds is then not recorded, so that the whole run's is right.
    fn since_before(&mut self, by_group: Option<[u64; 2]>, by_processes: [i64; 2]) -> [u64; 2] {
        let mut new = [0_u64; 2];
        for (nth, new) in new.iter_mut().enumerate() {
            self.by_processes[nth] += by_processes[nth];
            let recorded = self.recorded[nth].max(self.by_processes[nth]);
            *new = (recorded - self.recorded[nth]) as u64;
            self.recorded[nth] = recorded;
        }
        match (by_group, std::mem::replace(&mut self.by_group, by_group)) {
            (Some(now), Some(before)) => [0, 1].map(|nth| now[nth].saturating_sub(before[nth])),
            _ => new,
        }
    }
}

#[derive(Default)]
struct Sums {
    resident: f64,
    swap: f64,
    faults: f64,
    threads: u64,
    descriptors: Option<u64>,
    share: f64,
    switches: [Option<f64>; 2],
}

/// The nanoseconds that a process used, whether most of its descriptors are open, and its number.
fn rank(process: &Process) -> (u64, bool, u32) {
    let details = &process.details;
    let short =
        details.descriptors.zip(details.descriptors_limit).is_some_and(|(open, limit)| 2 * open > limit);
    (process.used().iter().sum(), short, process.pid)
}

/// Adds what was used from `before` to `now`, by a process and by its ended children.
fn add(used: &mut [i64; 2], now: &[u64; 4], before: &[u64; 4]) {
    for (nth, (now, before)) in now.iter().zip(before).enumerate() {
        used[nth % 2] += *now as i64 - *before as i64;
    }
}

/// Time since boot in the unit of a process's start time.
fn ticks_since_boot() -> u64 {
    farfield_os::clock::Readings::now().boot_ns as u64 / tick_ns()
}

/// The processors that any of the processes may use.
fn affinity<'a>(pids: impl Iterator<Item = &'a u32>) -> Vec<usize> {
    let mut any = BTreeSet::new();
    for pid in pids {
        let set = Pid::from_raw(*pid as i32).and_then(|pid| sched_getaffinity(Some(pid)).ok());
        any.extend(set.iter().flat_map(|set| (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu))));
    }
    any.into_iter().collect()
}
