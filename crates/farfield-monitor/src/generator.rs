//! farfield itself: its process and each of its threads.

use crate::proc_file::ProcFile;
use crate::process::parse;
use crate::subject::Subject;
use farfield_measure::monitor::{MonitorLog, SeriesSource, metric};
use std::collections::BTreeMap;
use std::fs;

/// Most threads that are read.
const THREADS_MAX: usize = 256;

/// Readers of this process.
#[derive(Debug)]
pub(crate) struct Generator {
    subject: Subject,
    stat: Option<ProcFile>,
    before: Option<[u64; 4]>,
    threads: BTreeMap<u32, Thread>,
    /// The number of threads when they were listed last.
    listed: u64,
}

#[derive(Debug)]
struct Thread {
    stat: ProcFile,
    subject: Subject,
    before: [u64; 4],
}

impl Generator {
    pub fn new() -> Generator {
        Generator {
            subject: Subject::only(SeriesSource::Generator),
            stat: ProcFile::open("/proc/self/stat").ok(),
            before: None,
            threads: BTreeMap::new(),
            listed: 0,
        }
    }

    /// Reads everything, `elapsed` seconds after the reading before.
    pub fn read(&mut self, log: &mut MonitorLog, elapsed: f64, buffer: &mut Vec<u8>) {
        let Some((_, now)) = self.stat.as_ref().and_then(|file| parse(file.read(buffer).ok()?)) else {
            return;
        };
        let page = rustix::param::page_size() as f64;
        if let Some(before) = self.before.replace(now.cpu) {
            record_cpu(&mut self.subject, log, now.cpu, before, elapsed);
        }
        self.subject.put(log, metric::RESIDENT, now.resident_pages as f64 * page);
        self.subject.put(log, metric::THREADS, now.threads as f64);
        if self.listed != now.threads {
            self.listed = now.threads;
            self.list(buffer);
        }
        self.threads.retain(|_, thread| thread.read(log, elapsed, buffer).is_some());
    }

    fn list(&mut self, buffer: &mut Vec<u8>) {
        let entries = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
        for tid in entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()) {
            if self.threads.len() >= THREADS_MAX || self.threads.contains_key(&tid) {
                continue;
            }
            let Ok(stat) = ProcFile::open(&format!("/proc/self/task/{tid}/stat")) else { continue };
            let Some((name, now)) = stat.read(buffer).ok().and_then(parse) else { continue };
            let subject = Subject::new(SeriesSource::Thread, "", &String::from_utf8_lossy(name), Some(tid));
            self.threads.insert(tid, Thread { stat, subject, before: now.cpu });
        }
    }
}

impl Thread {
    /// `None` if it has ended.
    fn read(&mut self, log: &mut MonitorLog, elapsed: f64, buffer: &mut Vec<u8>) -> Option<()> {
        let (_, now) = parse(self.stat.read(buffer).ok()?)?;
        let before = std::mem::replace(&mut self.before, now.cpu);
        record_cpu(&mut self.subject, log, now.cpu, before, elapsed);
        Some(())
    }
}

/// Records user and system time without that of children, which is the server's.
fn record_cpu(subject: &mut Subject, log: &mut MonitorLog, now: [u64; 4], before: [u64; 4], elapsed: f64) {
    if elapsed <= 0.0 {
        return;
    }
    let ticks = rustix::param::clock_ticks_per_second() as f64;
    for (nth, metric) in [metric::CPU_USER, metric::CPU_SYSTEM].into_iter().enumerate() {
        subject.put(log, metric, now[nth].saturating_sub(before[nth]) as f64 / ticks / elapsed);
    }
}
