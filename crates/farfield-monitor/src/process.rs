//! One process: what the kernel says of it.
//!
//! `/proc/PID/stat` is read every second and kept open, so that another process with the same number is never
//! taken for it. Processor time is that of the process's own clock, which counts nanoseconds of all its
//! threads: the ticks in `stat` are cut off, so that many processes with little to do seem to do nothing
//! ([`super::modes`]). What costs more (descriptors, swap, context switches of each thread) is read in turns,
//! a few processes a second.

use crate::modes::Modes;
use crate::proc_file::{Counter, ProcFile, field};
use crate::subject::Subject;
use farfield_measure::monitor::{MonitorLog, SeriesSource, metric};
use farfield_os::init;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

/// Threads of a process whose context switches are read.
const THREADS_MAX: usize = 64;

/// A process of a tier.
#[derive(Debug)]
pub(crate) struct Process {
    pub pid: u32,
    stat: ProcFile,
    subject: Subject,
    /// The latest reading.
    pub now: Stat,
    modes: Modes,
    /// Processor time of it and its ended children, in nanoseconds: user, system, children's user,
    /// children's system. Children's time is known in ticks only.
    pub cpu_ns: [u64; 4],
    /// `cpu_ns` at the reading before.
    pub before: [u64; 4],
    faults: Counter,
    pub details: Details,
}

/// `/proc/PID/stat` (proc_pid_stat(5)).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Stat {
    pub parent: u32,
    pub major_faults: u64,
    /// User, system, and both of children that ended and were waited for, in ticks.
    pub cpu: [u64; 4],
    pub threads: u64,
    pub start_ticks: u64,
    pub resident_pages: u64,
}

/// Numbers that are read in turns.
#[derive(Debug, Default)]
pub(crate) struct Details {
    pub descriptors: Option<u64>,
    pub descriptors_limit: Option<u64>,
    pub swap_bytes: Option<f64>,
    /// Context switches a second, voluntary and not.
    pub switches: [Option<f64>; 2],
    counters: [Counter; 2],
    /// The time of the last turn, in seconds since the run's start.
    read_at: Option<f64>,
}

impl Process {
    /// Begins to read process `pid` of `tier`.
    pub fn open(tier: &str, pid: u32, buffer: &mut Vec<u8>) -> io::Result<Process> {
        let stat = ProcFile::open(&format!("/proc/{pid}/stat"))?;
        let bytes = stat.read(buffer)?;
        let (name, now) = parse(bytes).ok_or(io::ErrorKind::InvalidData)?;
        let subject = Subject::new(SeriesSource::Process, tier, &String::from_utf8_lossy(name), Some(pid));
        let mut process = Process {
            pid,
            stat,
            subject,
            now,
            modes: Modes::default(),
            cpu_ns: [0; 4],
            before: [0; 4],
            faults: Counter::default(),
            details: Details::default(),
        };
        process.advance()?;
        process.before = process.cpu_ns;
        Ok(process)
    }

    /// Name of the process.
    pub fn name(&self) -> &str {
        self.subject.name()
    }

    /// Reads `stat` and the clock again. An error means that it has ended; its last numbers stay.
    pub fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<()> {
        let bytes = self.stat.read(buffer)?;
        (_, self.now) = parse(bytes).ok_or(io::ErrorKind::NotFound)?;
        self.before = self.cpu_ns;
        self.advance()
    }

    /// Takes the process's clock, and the time of its children, after `stat` was read.
    fn advance(&mut self) -> io::Result<()> {
        let [user, system, of_children @ ..] = self.now.cpu;
        self.modes.advance(init::cpu_of(self.pid)?.as_ns(), [user, system]);
        let [children_user, children_system] = of_children.map(|ticks| ticks * tick_ns());
        self.cpu_ns = [self.modes.ns[0], self.modes.ns[1], children_user, children_system];
        Ok(())
    }

    /// Nanoseconds that it used between the last two readings, in user and in kernel mode.
    pub fn used(&self) -> [u64; 2] {
        [0, 1].map(|nth| self.cpu_ns[nth].saturating_sub(self.before[nth]))
    }

    /// Major faults a second since the reading before.
    pub fn major_faults(&mut self, elapsed: f64) -> Option<f64> {
        self.faults.rate(self.now.major_faults, elapsed)
    }

    /// Records the numbers of the last reading.
    pub fn record(&mut self, log: &mut MonitorLog, elapsed: f64) {
        let page = rustix::param::page_size() as f64;
        if elapsed > 0.0 {
            let [user, system] = self.used().map(|used| used as f64 / 1e9 / elapsed);
            self.subject.put(log, metric::CPU_USER, user);
            self.subject.put(log, metric::CPU_SYSTEM, system);
        }
        self.subject.put(log, metric::RESIDENT, self.now.resident_pages as f64 * page);
        self.subject.put(log, metric::THREADS, self.now.threads as f64);
        let number = |number: Option<u64>| number.map(|number| number as f64);
        self.subject.put_some(log, metric::DESCRIPTORS, number(self.details.descriptors));
        self.subject.put_some(log, metric::DESCRIPTORS_LIMIT, number(self.details.descriptors_limit));
    }

    /// Reads what is read in turns, `now` seconds after the run's start.
    ///
    /// # Errors
    /// If something may not be read; the rest is.
    pub fn read_details(&mut self, now: f64, buffer: &mut Vec<u8>) -> io::Result<()> {
        let pid = self.pid;
        let elapsed = self.details.read_at.replace(now).map_or(0.0, |before| now - before);
        let descriptors = descriptors(pid);
        if let Ok(open) = &descriptors {
            self.details.descriptors = Some(*open);
        }
        if let Ok(limits) = ProcFile::open(&format!("/proc/{pid}/limits")) {
            self.details.descriptors_limit = limits.text(buffer).ok().and_then(descriptors_limit);
        }
        let mut switches = [0_u64; 2];
        if let Ok(status) = ProcFile::open(&format!("/proc/{pid}/status"))
            && let Ok(text) = status.text(buffer)
        {
            self.details.swap_bytes = field(text, "VmSwap").map(|kilobytes| kilobytes as f64 * 1024.0);
            switches = context_switches(text);
        }
        if self.now.threads > 1 {
            switches = switches_of_threads(pid, buffer);
        }
        for ((counter, rate), count) in
            self.details.counters.iter_mut().zip(&mut self.details.switches).zip(switches)
        {
            *rate = counter.rate(count, elapsed).or(*rate);
        }
        descriptors.map(|_| ())
    }
}

/// Nanoseconds of a tick, the unit of `stat`.
pub(crate) fn tick_ns() -> u64 {
    1_000_000_000 / rustix::param::clock_ticks_per_second()
}

/// Open descriptors of a process: the size of its folder since Linux 6.2, else its entries.
fn descriptors(pid: u32) -> io::Result<u64> {
    let path = format!("/proc/{pid}/fd");
    match fs::metadata(&path)?.size() {
        0 => Ok(fs::read_dir(&path)?.count() as u64),
        size => Ok(size),
    }
}

/// The soft limit in `/proc/PID/limits`; `None` if there is none.
fn descriptors_limit(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// Voluntary and other context switches of a thread, in the text of its `status`.
fn context_switches(text: &str) -> [u64; 2] {
    ["voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"].map(|name| field(text, name).unwrap_or(0))
}

/// Voluntary and other context switches of a process's first threads together.
fn switches_of_threads(pid: u32, buffer: &mut Vec<u8>) -> [u64; 2] {
    let mut sum = [0; 2];
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    for thread in threads.take(THREADS_MAX) {
        let path = thread.path().join("status");
        let Ok(status) = ProcFile::open(&path.to_string_lossy()) else { continue };
        if let Ok(text) = status.text(buffer) {
            sum.iter_mut().zip(context_switches(text)).for_each(|(sum, count)| *sum += count);
        }
    }
    sum
}

/// The name and the numbers in a line of `/proc/PID/stat`. The name may hold anything, in parentheses.
pub(crate) fn parse(line: &[u8]) -> Option<(&[u8], Stat)> {
    let open = line.iter().position(|byte| *byte == b'(')?;
    let close = line.iter().rposition(|byte| *byte == b')')?;
    let name = line.get(open + 1..close)?;
    let rest = std::str::from_utf8(&line[close + 1..]).ok()?;
    // The first word is the third field of the file, the state.
    let mut fields = [0_u64; 22];
    for (field, word) in fields.iter_mut().zip(rest.split_ascii_whitespace().skip(1)) {
        *field = word.parse().unwrap_or(0);
    }
    let field = |nth: usize| fields[nth - 4];
    let stat = Stat {
        parent: field(4) as u32,
        major_faults: field(12),
        cpu: [field(14), field(15), field(16), field(17)],
        threads: field(20),
        start_ticks: field(22),
        resident_pages: field(24),
    };
    (stat.start_ticks > 0).then_some((name, stat))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let line = b"12 (a) (\xff b) S 3 12 12 0 -1 4194560 100 0 5 0 61 62 63 64 20 0 7 0 999 4096 33 1 0";
        let (name, stat) = parse(line).expect("a line");
        assert_eq!(name, b"a) (\xff b");
        let expected = Stat {
            parent: 3,
            major_faults: 5,
            cpu: [61, 62, 63, 64],
            threads: 7,
            start_ticks: 999,
            resident_pages: 33,
        };
        assert_eq!(stat, expected);
        for broken in [&b""[..], b"12 (x", b"12 x)", b"12 (x) Z"] {
            assert_eq!(parse(broken), None);
        }
    }

    #[test]
    fn limits_may_be_missing() {
        let text =
            "Limit  Soft Limit  Hard Limit  Units\nMax open files            64        4096      files\n";
        assert_eq!(descriptors_limit(text), Some(64));
        assert_eq!(descriptors_limit("Max open files            unlimited      unlimited    files\n"), None);
    }

    /// The descriptors of this process: as many as its folder shows, and more after some are opened.
    #[test]
    fn descriptors_are_counted() {
        let pid = std::process::id();
        let before = descriptors(pid).expect("this process");
        let files: Vec<_> = (0..500).map(|_| fs::File::open("/proc/self/stat").expect("a file")).collect();
        let after = descriptors(pid).expect("this process");
        // Other tests of this process open some as well.
        assert!(
            after >= before.saturating_sub(200) + 500 && after < before + 3_000,
            "{before}, then {after}"
        );
        drop(files);
    }
}
