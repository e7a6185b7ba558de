//! Monitors: what the server's processes, its sockets and its machine went through, once a second, and the
//! generator beside them.
//!
//! They run on a thread of their own at a low priority, never on workers. Files of `/proc` are kept open and
//! read into one buffer; what costs more is read in turns, or the less often the longer it takes, so that
//! the thread takes about a thousandth of a processor. A reading that comes late has its true instant and its
//! true rates. Other machines are read through their [Prometheus exporters](PrometheusTarget).
//!
//! A file that may not be read, or is gone, is a sentence among the notes; the rest goes on.
//!
//! The server's place is found out by the caller, who says it in a [`MonitoredMachine`]; nothing here knows
//! of users or planes.

mod exposition;
mod files;
mod generator;
mod group;
mod machine;
mod members;
mod modes;
mod network;
mod proc_file;
mod process;
mod prometheus;
mod subject;
mod tier;

pub use files::Writer;
pub use group::Group;
pub use members::Members;
pub use network::{WatchedNetwork, column};
pub use prometheus::PrometheusTarget;
pub use tier::TierSpec;

use farfield_base::{Duration, Instant};
use farfield_measure::MonitorLog;
use farfield_measure::monitor::{SeriesSource, metric};
use farfield_os::clock::{Clock, thread_cpu};
use farfield_os::processors;
use farfield_os::signals::LeftToOthers;
use files::MonitorFiles;
use generator::Generator;
use machine::Machine;
use network::Network;
use prometheus::Exporter;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use subject::Subject;
use tier::Tier;

const SECOND_NS: u64 = 1_000_000_000;

/// The processes, machines and sockets to monitor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MonitorSettings {
    /// The server's process, if the run neither starts it nor finds it.
    pub pid: Option<u32>,
    /// Named tiers beside the server.
    pub tiers: Vec<TierSpec>,
    /// Exporters on other machines.
    pub prometheus: Vec<PrometheusTarget>,
    /// The server's port.
    pub port: Option<u16>,
}

/// The tiers and the network to be read on this machine.
#[derive(Debug, Default)]
pub struct MonitoredMachine {
    /// The tiers, each with its control group if it has one of its own.
    pub tiers: Vec<(TierSpec, Option<Group>)>,
    /// The server's network namespace, if it is on this machine.
    pub network: Option<WatchedNetwork>,
    /// Sentences about what could not be found.
    pub notes: Vec<String>,
}

/// Monitors that are ready: files are open.
#[derive(Debug)]
pub struct Monitors {
    log: MonitorLog,
    tiers: Vec<Tier>,
    machine: Machine,
    generator: Generator,
    network: Option<Network>,
    targets: Vec<PrometheusTarget>,
    exporters: Vec<Exporter>,
    buffer: Vec<u8>,
    /// The instant of the last reading.
    before: Option<Instant>,
    /// The processor time that readings have taken so far, and the series of it.
    took: Duration,
    cost: Subject,
}

/// Monitors that run.
#[derive(Debug)]
pub struct RunningMonitors {
    thread: JoinHandle<MonitorLog>,
    stop: Sender<()>,
}

impl Monitors {
    /// Opens what is read of this machine; `exporters` are connected to when the readings start.
    pub fn open(watched: MonitoredMachine, exporters: Vec<PrometheusTarget>) -> Monitors {
        let mut log = MonitorLog::default();
        watched.notes.into_iter().for_each(|note| log.note(note));
        let tiers = watched.tiers.into_iter().map(|(spec, group)| Tier::new(&spec, group)).collect();
        let network = watched.network.map(|network| Network::open(network, &mut log));
        Monitors {
            log,
            tiers,
            machine: Machine::new(),
            generator: Generator::new(),
            network,
            targets: exporters,
            exporters: Vec::new(),
            buffer: Vec::new(),
            before: None,
            took: Duration::ZERO,
            cost: Subject::only(SeriesSource::Generator),
        }
    }

    /// Starts to read by the run's clock. The file of the series, as Parquet, is handed to `write` now and
    /// then.
    ///
    /// # Errors
    /// If the system has no more threads.
    pub fn start(self, clock: Clock, write: Option<Writer>) -> std::io::Result<RunningMonitors> {
        let (stop, stopped) = channel();
        let thread = Builder::new().name("monitor".to_owned());
        let thread = thread.spawn(move || self.run(clock, write, &stopped))?;
        Ok(RunningMonitors { thread, stop })
    }

    fn run(mut self, clock: Clock, write: Option<Writer>, stop: &Receiver<()>) -> MonitorLog {
        // If refused, it has the priority of a worker for a millisecond a second.
        let _ = processors::set_background();
        let _signals = LeftToOthers::begin();
        let mut files = write.and_then(|write| MonitorFiles::start(write).ok());
        for target in std::mem::take(&mut self.targets) {
            match Exporter::start(target, clock) {
                Ok(exporter) => self.exporters.push(exporter),
                Err(error) => self.log.note(format!("a Prometheus exporter is not read: {error}")),
            }
        }
        // Rates of the first second are from the run's start on.
        processors::yield_for(clock.until_start());
        self.read(clock.now());
        loop {
            let now = clock.now();
            let next = Instant::ZERO + Duration::from_secs(now.as_ns() / SECOND_NS + 1);
            let wait = next.since(now) + clock.until_start();
            if stop.recv_timeout(wait.to_std()) != Err(RecvTimeoutError::Timeout) {
                break;
            }
            self.read(clock.now());
            if let Some(files) = &mut files {
                files.update(&self.log, clock.now());
            }
        }
        // The end of a run often comes with that of its last second.
        let now = clock.now();
        if self.before.is_none_or(|before| now.since(before) > Duration::from_ms(900)) {
            self.read(now);
        }
        for exporter in &mut self.exporters {
            exporter.record(&mut self.log);
            for sentence in [exporter.failures(), exporter.left_out()].into_iter().flatten() {
                self.log.note(sentence);
            }
        }
        self.log.end();
        self.log
    }

    /// Reads everything. The first reading is what rates are taken from.
    fn read(&mut self, at: Instant) {
        let elapsed = self.before.replace(at).map_or(0.0, |before| at.since(before).as_secs_f64());
        let Monitors { log, tiers, machine, generator, network, buffer, .. } = self;
        let is_first = elapsed == 0.0;
        log.begin(second_before(at).unwrap_or(0), at);
        let now = at.as_secs_f64();
        machine.read(log, elapsed, buffer);
        for tier in tiers {
            tier.read(log, now, elapsed, &machine.busy, buffer);
        }
        generator.read(log, elapsed, buffer);
        if let Some(network) = network {
            network.read(log, now, elapsed, buffer);
        }
        let took = thread_cpu();
        let cost = (took - std::mem::replace(&mut self.took, took)).as_secs_f64();
        self.cost.put(log, metric::MONITOR_CPU, cost / elapsed.max(f64::MIN_POSITIVE));
        match is_first {
            // It is of no second of the run.
            true => log.discard(),
            false => log.end(),
        }
        for exporter in &mut self.exporters {
            exporter.record(&mut self.log);
        }
    }
}

impl RunningMonitors {
    /// Ends the readings, and returns them.
    pub fn stop(self) -> MonitorLog {
        // If the thread has ended, joining it says why.
        let _ = self.stop.send(());
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// The second of the run that a reading at `at` is about: the one that ended last, or is about to end;
/// `None` before half of the first is over.
fn second_before(at: Instant) -> Option<u64> {
    ((at.as_ns() + SECOND_NS / 2) / SECOND_NS).checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_is_of_the_second_before_it() {
        let at = |ms: u64| second_before(Instant::from_ns(ms * 1_000_000));
        assert_eq!([at(0), at(499)], [None, None]);
        assert_eq!([at(990), at(1000), at(1400)], [Some(0); 3]);
        assert_eq!([at(1990), at(2003)], [Some(1); 2]);
    }
}
