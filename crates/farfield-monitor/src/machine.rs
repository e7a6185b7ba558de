//! The machine that farfield runs on: processors, memory, swap and disks.

use crate::proc_file::{Counter, ProcFile, field};
use crate::subject::Subject;
use farfield_measure::monitor::{MonitorLog, SeriesSource, metric};
use std::collections::BTreeMap;

/// Bytes of a sector in `/proc/diskstats`, whatever the disk's are.
const SECTOR: f64 = 512.0;
/// Most disks that are read.
const DISKS_MAX: usize = 16;

/// Readers of the machine.
#[derive(Debug)]
pub(crate) struct Machine {
    subject: Subject,
    stat: Option<ProcFile>,
    memory: Option<ProcFile>,
    virtual_memory: Option<ProcFile>,
    disk_stats: Option<ProcFile>,
    /// User, system, steal and idle time of all processors, in ticks.
    cpu: [Counter; 3],
    switches: Counter,
    swap: [Counter; 2],
    major_faults: Counter,
    /// Busy and all ticks of each processor at the last reading.
    processors: Vec<[u64; 2]>,
    /// Busy share of each processor between the last two readings, 0 to 1; empty before the second.
    pub busy: Vec<f64>,
    disks: BTreeMap<String, Disk>,
}

#[derive(Debug)]
struct Disk {
    subject: Subject,
    read: Counter,
    written: Counter,
    busy_ms: Counter,
}

impl Machine {
    pub fn new() -> Machine {
        let open = |path| ProcFile::open(path).ok();
        Machine {
            subject: Subject::only(SeriesSource::Machine),
            stat: open("/proc/stat"),
            memory: open("/proc/meminfo"),
            virtual_memory: open("/proc/vmstat"),
            disk_stats: open("/proc/diskstats"),
            cpu: Default::default(),
            switches: Counter::default(),
            swap: Default::default(),
            major_faults: Counter::default(),
            processors: Vec::new(),
            busy: Vec::new(),
            disks: BTreeMap::new(),
        }
    }

    /// Reads everything, `elapsed` seconds after the reading before.
    pub fn read(&mut self, log: &mut MonitorLog, elapsed: f64, buffer: &mut Vec<u8>) {
        if let Some(text) = self.stat.as_ref().and_then(|file| file.text(buffer).ok()) {
            let parsed = Processors::of(text);
            let ticks = rustix::param::clock_ticks_per_second() as f64;
            let metrics = [metric::CPU_USER, metric::CPU_SYSTEM, metric::CPU_STEAL];
            for ((counter, count), metric) in self.cpu.iter_mut().zip(parsed.all).zip(metrics) {
                let rate = counter.rate(count, elapsed).map(|rate| rate / ticks);
                self.subject.put_some(log, metric, rate);
            }
            let online = parsed.each.iter().filter(|ticks| ticks[1] > 0).count();
            self.subject.put(log, metric::PROCESSORS, online as f64);
            self.subject.put_some(log, metric::SWITCHES, self.switches.rate(parsed.switches, elapsed));
            self.busy.clear();
            for (now, before) in parsed.each.iter().zip(&self.processors) {
                let [busy, all] = [0, 1].map(|nth| now[nth].saturating_sub(before[nth]) as f64);
                self.busy.push(if all > 0.0 { busy / all } else { 0.0 });
            }
            self.processors = parsed.each;
        }
        if let Some(text) = self.memory.as_ref().and_then(|file| file.text(buffer).ok()) {
            let bytes = |name| field(text, name).map(|kilobytes| kilobytes as f64 * 1024.0);
            let swap = bytes("SwapTotal").zip(bytes("SwapFree")).map(|(total, free)| total - free);
            for (metric, value) in [
                (metric::MEMORY_TOTAL, bytes("MemTotal")),
                (metric::MEMORY_AVAILABLE, bytes("MemAvailable")),
                (metric::PAGE_CACHE, bytes("Cached")),
                (metric::SWAP_USED, swap),
            ] {
                self.subject.put_some(log, metric, value);
            }
        }
        if let Some(text) = self.virtual_memory.as_ref().and_then(|file| file.text(buffer).ok()) {
            let page = rustix::param::page_size() as f64;
            for (counter, (name, metric)) in
                self.swap.iter_mut().zip([("pswpin", metric::SWAP_IN), ("pswpout", metric::SWAP_OUT)])
            {
                let rate = field(text, name).and_then(|pages| counter.rate(pages, elapsed));
                self.subject.put_some(log, metric, rate.map(|pages| pages * page));
            }
            let faults = field(text, "pgmajfault").and_then(|faults| self.major_faults.rate(faults, elapsed));
            self.subject.put_some(log, metric::MAJOR_FAULTS, faults);
        }
        self.read_disks(log, elapsed, buffer);
    }

    fn read_disks(&mut self, log: &mut MonitorLog, elapsed: f64, buffer: &mut Vec<u8>) {
        let Some(text) = self.disk_stats.as_ref().and_then(|file| file.text(buffer).ok()) else { return };
        for (name, [read, written, busy_ms]) in text.lines().filter_map(disk) {
            if !self.disks.contains_key(name) {
                if self.disks.len() == DISKS_MAX || !is_whole_disk(name) {
                    continue;
                }
                let subject = Subject::new(SeriesSource::Disk, "", name, None);
                let [read, written, busy_ms] = [Counter::default(); 3];
                self.disks.insert(name.to_owned(), Disk { subject, read, written, busy_ms });
            }
            let Some(disk) = self.disks.get_mut(name) else { continue };
            let rates = [
                (metric::READ_BYTES, disk.read.rate(read, elapsed).map(|sectors| sectors * SECTOR)),
                (metric::WRITTEN_BYTES, disk.written.rate(written, elapsed).map(|sectors| sectors * SECTOR)),
                (metric::BUSY, disk.busy_ms.rate(busy_ms, elapsed).map(|ms| (ms / 1000.0).min(1.0))),
            ];
            for (metric, rate) in rates {
                disk.subject.put_some(log, metric, rate);
            }
        }
    }
}

/// A partition is part of a disk, and counts there. Loop devices and RAM disks are files and memory.
fn is_whole_disk(name: &str) -> bool {
    let made_of_memory = ["loop", "ram", "zram"].iter().any(|prefix| name.starts_with(prefix));
    !made_of_memory && std::path::Path::new("/sys/block").join(name.replace('/', "!")).exists()
}

/// A disk's name with the sectors that it read and wrote, and the milliseconds in which it was busy
/// (Documentation/admin-guide/iostats.rst, fields 3, 7 and 10).
fn disk(line: &str) -> Option<(&str, [u64; 3])> {
    let mut words = line.split_ascii_whitespace().skip(2);
    let name = words.next()?;
    let mut fields = [0; 10];
    for field in &mut fields {
        *field = words.next()?.parse().ok()?;
    }
    Some((name, [fields[2], fields[6], fields[9]]))
}

/// The text of `/proc/stat` (proc_stat(5)).
#[derive(Debug, Default, PartialEq, Eq)]
struct Processors {
    /// User (with nice), system (with interrupts) and stolen ticks of all processors.
    all: [u64; 3],
    /// Busy ticks and all ticks of each. Stolen time is busy: nobody else could use it.
    each: Vec<[u64; 2]>,
    switches: u64,
}

impl Processors {
    fn of(text: &str) -> Processors {
        let mut parsed = Processors::default();
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let Some(name) = words.next() else { continue };
            if name == "ctxt" {
                parsed.switches = words.next().and_then(|count| count.parse().ok()).unwrap_or(0);
                break;
            }
            let Some(number) = name.strip_prefix("cpu") else { continue };
            let mut fields = [0_u64; 8];
            fields.iter_mut().zip(words).for_each(|(field, word)| *field = word.parse().unwrap_or(0));
            let [user, nice, system, idle, waiting, interrupts, soft_interrupts, stolen] = fields;
            let system = system + interrupts + soft_interrupts;
            let busy = user + nice + system + stolen;
            match number.parse::<usize>() {
                Err(_) => parsed.all = [user + nice, system, stolen],
                Ok(number) => {
                    // A processor that is offline has no line.
                    parsed.each.resize(number.min(4096), [0, 0]);
                    parsed.each.push([busy, busy + idle + waiting]);
                }
            }
        }
        parsed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_read_each_and_together() {
        let text = "cpu  20 2 10 140 8 4 6 10 1 0\ncpu0 10 1 5 70 4 2 3 5 1 0\ncpu2 10 1 5 70 4 2 3 5 1 0\n\
                    intr 5 0 9\nctxt 77\nbtime 1\n";
        let parsed = Processors::of(text);
        assert_eq!((parsed.all, parsed.switches), ([22, 20, 10], 77));
        assert_eq!(parsed.each, [[26, 100], [0, 0], [26, 100]]);
        assert_eq!(Processors::of("nonsense"), Processors::default());
    }

    #[test]
    fn a_disk_has_sectors_and_time() {
        let line = " 253       0 vda 100 1 2048 30 200 2 4096 60 0 70 90 0 0 0 0";
        assert_eq!(disk(line), Some(("vda", [2048, 4096, 70])));
        assert_eq!(disk("253 0"), None);
        assert_eq!(disk("253 0 vda x"), None);
    }
}
