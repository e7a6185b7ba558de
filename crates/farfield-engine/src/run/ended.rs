//! The end of a run in real time: how its workers, its server, its network and its clocks fared.

use super::Run;
use crate::account;
use crate::beside::RunningPrograms;
use crate::captures::{self, Captures};
use crate::clocks;
use crate::collector::Collector;
use crate::machine::{MachineBefore, ServerHere};
use crate::monitored;
use crate::plane::Plane;
use crate::segment_counts::{SegmentCounts, segments_sent_again};
use crate::worker_report::WorkerReport;
use farfield_base::Instant;
use farfield_measure::{EngineStats, RunClock};
use farfield_monitor::{Monitors, RunningMonitors};
use farfield_os::clock::{Clock, Readings};
use farfield_testbed::NetworkWatch;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Readings from before a run, to be held against those after it.
pub(super) struct ReadingsBefore {
    pub machine: Option<MachineBefore>,
    pub readings: Readings,
    pub segments: Option<SegmentCounts>,
    /// Wall-clock time at which the run's clock was to start.
    pub start_unix_ns: u64,
}

/// Parts of a run whose workers were asked to end.
pub(super) struct FinishedRun<'a> {
    pub run: &'a Run,
    pub clock: Clock,
    pub server: ServerHere<'a>,
    pub programs: Option<RunningPrograms<'a>>,
    pub network_watch: io::Result<Option<NetworkWatch>>,
    pub captures: Captures,
}

impl FinishedRun<'_> {
    /// Waits for the programs and the workers, and records what came of the run. Returns the end of what was
    /// measured.
    pub fn describe(
        self,
        collector: &mut Collector<'_>,
        before: ReadingsBefore,
        threads: Vec<JoinHandle<Option<WorkerReport>>>,
        stop: &AtomicBool,
        mut clocks: impl FnMut() -> Readings,
    ) -> Instant {
        let FinishedRun { run, clock, server, programs, network_watch, captures } = self;
        let Run { settings, plane } = run;
        if programs.as_ref().is_some_and(RunningPrograms::shell_was_left) {
            collector.stats.interrupted.get_or_insert("its shell was left".to_owned());
        }
        let programs = programs.map(RunningPrograms::end).transpose();
        let join = |thread: JoinHandle<_>| thread.join().expect("a worker does not panic");
        let mut finished: Vec<WorkerReport> = threads.into_iter().filter_map(join).collect();

        // The collector may have waited for a disk since.
        let worked_until = finished.iter().map(|worker| worker.ended).max().unwrap_or_else(|| clock.now());
        let window = collector.fold.window();
        let until = worked_until.min(window.measure_to);
        collector.stats.ended = Some(worked_until.since(Instant::ZERO));
        let drift_ns = clock.start_unix_ns().cast_signed() - before.start_unix_ns.cast_signed();
        collector.stats.clock = Some(RunClock { start_unix_ns: before.start_unix_ns, drift_ns });
        if captures.any() {
            collector.opened = Some(captures::in_order(finished.iter_mut().map(WorkerReport::take_opened)));
        }
        if stop.load(Ordering::Relaxed) {
            collector.stats.interrupted.get_or_insert("it was interrupted".to_owned());
        }
        account::describe_programs(&mut collector.stats, programs);
        account::add_up(&mut collector.stats, settings, (window, until), finished);
        account::describe_network(&mut collector.stats, run);
        collector.count_by_address();
        collector.stats.warnings.extend(plane.peers().and_then(|peers| peers.warning()));
        describe_watch(&mut collector.stats, network_watch);
        collector.stats.warnings.extend(account::no_session_completed(settings, &collector.fold));
        collector.stats.warnings.extend(account::too_few_sessions(settings, &collector.fold));
        collector.stats.asks_at_once = run.asks_at_once();
        before.describe(collector, plane, (server, clock), &clocks());
        account::describe_server_limits(&mut collector.stats, plane);
        collector.stats.bottleneck =
            collector.monitored.as_ref().and_then(|log| monitored::bottleneck(log, plane, until));
        captures.finish(&mut collector.stats);
        until
    }
}

impl ReadingsBefore {
    /// Records what else the machine did meanwhile, what became of the server, and whether the wall clock was
    /// set.
    fn describe(
        self,
        collector: &mut Collector<'_>,
        plane: &Plane,
        (server, clock): (ServerHere<'_>, Clock),
        readings: &Readings,
    ) {
        if let Some(machine) = self.machine {
            let aside = collector.machine_aside();
            machine.describe(&mut collector.stats, server, plane.receive_cpu(), &aside);
        }
        if plane.started_server().is_some() {
            collector.stats.warnings.extend(account::shared_processors(&collector.stats));
        }
        collector.stats.server = account::server(plane, clock, collector.stats.machine);
        collector.stats.warnings.extend(account::out_of_memory(&collector.stats));
        collector.stats.warnings.extend(clocks::warnings(&self.readings, readings));
        let segments = SegmentCounts::of(plane);
        let fold = &collector.fold;
        let requests = fold.warm_up().requests() + fold.steady().requests() + fold.drained();
        let both = self.segments.zip(segments);
        let sent_again = both.and_then(|counts| segments_sent_again(counts, requests));
        collector.stats.warnings.extend(sent_again);
    }
}

/// Records what somebody else changed of the network: the run is over from then on.
fn describe_watch(stats: &mut EngineStats, watch: io::Result<Option<NetworkWatch>>) {
    match watch {
        Ok(None) => {}
        Ok(Some(watch)) => {
            if let Some(change) = watch.end() {
                stats.network_taken = true;
                stats.interrupted.get_or_insert(change);
            }
        }
        Err(error) => stats.warnings.push(format!("nobody watched the routes to clients: {error}")),
    }
}

impl Collector<'_> {
    /// Starts the monitors, which the run can do without.
    pub(super) fn start_monitors(
        &mut self,
        monitors: Option<Monitors>,
        clock: Clock,
    ) -> Option<RunningMonitors> {
        let writer = self.files.as_ref().map(|files| monitored::writer(files.directory.clone()));
        let monitors = monitors.map(|monitors| monitors.start(clock, writer)).transpose();
        monitors.unwrap_or_else(|error| {
            self.stats.warnings.push(format!("nothing was monitored: {error}"));
            None
        })
    }
}
