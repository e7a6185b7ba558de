//! The simulated plane: the same clients and links in virtual time, in front of a model of a server.
//!
//! Results do not depend on a clock: the same scenario gives the same samples and the same capture, byte for
//! byte, on any number of threads, and nothing is ever late. The clock is read for checkpoints alone, which
//! do not affect the results at the end.

use crate::account;
use crate::collector::{Collector, Pace, Progress, RunFiles};
use crate::memory::MemoryBounds;
use crate::meters::Phases;
use crate::plane::{Capture, PlaneKind, SimulatedPlane};
use crate::run::{Run, RunError, RunSettings, finish, summary_context};
use crate::sample_channel::LiveCounts;
use crate::worker_report::{NetworkReport, WorkerReport};
use farfield_base::{Duration, Instant, PacketCounts};
use farfield_emulator::simulation::{
    Batch, Remote, Simulated, Simulation, SimulationGauges, Sink, Tap, simulate_into,
};
use farfield_emulator::{CaptureFilter, ClientId, Packet};
use farfield_files::create_private;
use farfield_measure::engine_stats::WorkerStats;
use farfield_measure::{GeneratorCounts, Histogram, PacketLateness, RunClock, Summary};
use farfield_os::clock::Clock;
use farfield_wire::pcapng::{Direction, Interface, InterfaceId, LinkType, PacketMetadata, Writer};
use std::fs::File;
use std::io::{self, BufWriter};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;

/// Capacity of the channel from the simulation to the collector, in batches: enough to keep both busy.
const BATCHES: usize = 4;
/// Time between two checks of the stop flag and of the free memory.
const LOOK: Duration = Duration::from_ms(100);
/// The time between two checkpoints.
const CHECKPOINT: Duration = Duration::from_secs(1);

/// Makes the run. The simulation runs on threads of its own, as fast as it can; the collector receives its
/// batches here, writes a checkpoint each second of real time, and ends it when `stop` is set.
pub(crate) fn run(
    run: &Run,
    plane: &SimulatedPlane,
    phases: Phases,
    files: Option<RunFiles>,
    started: u64,
    stop: &AtomicBool,
    mut on_progress: impl FnMut(&Progress<'_>),
) -> Result<Summary, RunError> {
    let settings = &run.settings;
    let simulation = simulation(settings, plane, phases);
    let mut captured = None;
    let mut tap = None;
    if let Some((path, capture)) = capture_path(settings, plane) {
        let (begun, ended) = CaptureTap::begin(&path, capture).map_err(RunError::Capture)?;
        (tap, captured) = (Some(begun), Some(ended));
    }
    let classes: Vec<String> = plane.network.plan.classes.iter().map(|class| class.name.clone()).collect();
    // Nothing disturbs virtual time.
    let fold = run.fold(phases.window, &classes);
    let fold = fold.setting_aside(settings.set_aside.map(|_| settings.duration));
    let mut collector =
        Collector::new(fold, 0, summary_context(settings), &settings.aborts, files, Pace::alone())
            .of_part(settings.part_label());
    collector.stats.plane = PlaneKind::Simulated.name().to_owned();
    collector.stats.warnings = settings.warnings.clone();
    let (remote, (batches, to_collect)) = (Remote::default(), sync_channel(BATCHES));
    let mut simulated = thread::scope(|scope| {
        let mut sink = CollectorSink::new(batches, settings, phases);
        let remote = &remote;
        let turning = scope.spawn(move || match tap {
            None => simulate_into(&simulation, (), &mut sink, remote),
            Some(tap) => simulate_into(&simulation, tap, &mut sink, remote),
        });
        collect(&mut collector, &to_collect, remote, stop, &mut on_progress);
        turning.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
    .map_err(RunError::Simulation)?;
    let captures = captured.is_some();
    let captured = captured.map(|ended| ended.recv().expect("a tap reports how it ended"));
    if let Some(Err(error)) = captured {
        collector.stats.warnings.push(format!("capture.pcapng is cut short: {error}"));
    }
    if captures {
        // Virtual time is that of the capture as well.
        collector.stats.clock = Some(RunClock { start_unix_ns: 0, drift_ns: 0 });
        collector.opened = Some(std::mem::take(&mut simulated.opened));
    }
    let until = simulated.ended.min(phases.window.measure_to);
    collector.stats.ended = Some(simulated.ended.since(Instant::ZERO));
    account::add_up(&mut collector.stats, settings, (phases.window, until), vec![finished(&simulated)]);
    account::describe_network(&mut collector.stats, run);
    collector.stats.warnings.extend(account::no_session_completed(settings, &collector.fold));
    collector.stats.warnings.extend(account::too_few_sessions(settings, &collector.fold));
    // No worker thread can have been too busy in virtual time.
    collector.stats.workers.clear();
    Ok(finish(collector, until, started, on_progress))
}

/// Collects batches until the simulation has ended.
fn collect(
    collector: &mut Collector<'_>,
    batches: &Receiver<CollectorMessage>,
    remote: &Remote,
    stop: &AtomicBool,
    mut on_progress: impl FnMut(&Progress<'_>),
) {
    let (clock, memory) = (Clock::starting_in(Duration::ZERO), MemoryBounds::find());
    let (mut now, mut live) = (Instant::ZERO, SimulationGauges::default());
    let (mut next_look, mut next_checkpoint) = (Instant::ZERO + LOOK, Instant::ZERO + CHECKPOINT);
    loop {
        match batches.recv_timeout(next_look.since(clock.now()).to_std()) {
            Ok(CollectorMessage::Batch(batch)) => {
                collector.record(&batch.samples);
                collector.note(&batch.notes);
                (now, live) = (batch.now, batch.standing);
            }
            Ok(CollectorMessage::GoesOn(at, answer)) => {
                let broken = collector.broken_abort(at);
                // The simulation waits for the answer.
                let _ = answer.send(broken.is_none());
                if let Some(reason) = broken {
                    collector.stats.interrupted.get_or_insert(reason);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let wall = clock.now();
        if wall < next_look {
            continue;
        }
        next_look = wall + LOOK;
        if let Some(reason) = reason_to_end(now, live, &memory, stop) {
            collector.stats.interrupted.get_or_insert(reason);
            remote.stop();
        }
        if wall >= next_checkpoint {
            next_checkpoint = wall + CHECKPOINT;
            collector.checkpoint(now);
            let SimulationGauges { connections, in_system, connects } = live;
            let live = LiveCounts { connections, in_system, connects, at: now };
            on_progress(&collector.progress(now, live));
            remote.ask_for_batch();
        }
    }
}

/// The reason to end the simulation early, if there is one.
fn reason_to_end(
    now: Instant,
    live: SimulationGauges,
    memory: &MemoryBounds,
    stop: &AtomicBool,
) -> Option<String> {
    if stop.load(Ordering::Relaxed) {
        return Some("it was interrupted".to_owned());
    }
    let short = memory.shortage()?;
    Some(format!(
        "at {:.3} s of its time {short}, with {} requests under way; offer no more than the model of the server takes, or \
         bound those under way with load.users-max",
        now.as_secs_f64(),
        live.in_system
    ))
}

/// A message from the simulation to the collector.
enum CollectorMessage {
    /// Samples.
    Batch(Batch),
    /// Question, after all samples up to this virtual time: does the run go on?
    GoesOn(Instant, SyncSender<bool>),
}

/// Sender of batches to the collector, which waits for it if it is behind.
struct CollectorSink {
    collector: SyncSender<CollectorMessage>,
    /// Virtual time of the next check of the thresholds that end the run, one each second.
    next_look: Instant,
}

impl CollectorSink {
    fn new(collector: SyncSender<CollectorMessage>, settings: &RunSettings, phases: Phases) -> CollectorSink {
        let first = phases.window.measure_from + CHECKPOINT;
        CollectorSink { collector, next_look: if settings.aborts.is_empty() { Instant::MAX } else { first } }
    }
}

impl Sink for CollectorSink {
    fn take(&mut self, batch: Batch) {
        // A disconnected collector has failed; the run reports that.
        let _ = self.collector.send(CollectorMessage::Batch(batch));
    }

    fn next_look(&self) -> Instant {
        self.next_look
    }

    fn goes_on(&mut self, now: Instant) -> bool {
        while self.next_look <= now {
            self.next_look += CHECKPOINT;
        }
        let (answer, answered) = sync_channel(1);
        let asked = self.collector.send(CollectorMessage::GoesOn(now, answer));
        asked.is_err() || answered.recv().unwrap_or(true)
    }
}

fn simulation(settings: &RunSettings, plane: &SimulatedPlane, phases: Phases) -> Simulation {
    Simulation {
        network: Arc::clone(&plane.network.plan),
        server: Arc::clone(&plane.server),
        flows: settings.flows.clone(),
        users: settings.users.clone(),
        tls: plane.offer.clone(),
        window: phases.window,
        drain_until: phases.drain_until,
        shards: settings.workers,
        part: settings.part,
    }
}

/// The simulation's report in the form of a worker's, without lateness.
fn finished(simulated: &Simulated) -> WorkerReport {
    WorkerReport {
        ended: simulated.ended,
        stats: WorkerStats::default(),
        lateness: Histogram::new(),
        turns: Histogram::new(),
        counts: simulated.counts,
        generator: GeneratorCounts::default(),
        last_received: None,
        received: simulated.received.clone(),
        in_system_area: simulated.in_system_area,
        opened: Vec::new(),
        network: Some(NetworkReport {
            lateness: PacketLateness::default(),
            packets: PacketCounts {
                up: simulated.server.packets_in,
                down: simulated.server.packets_out,
                ..PacketCounts::default()
            },
            drops: simulated.drops,
            cross: simulated.cross.clone(),
            links: simulated.links.clone(),
            hosts: Vec::new(),
            failed: None,
        }),
    }
}

fn capture_path<'a>(
    settings: &RunSettings,
    plane: &'a SimulatedPlane,
) -> Option<(std::path::PathBuf, &'a Capture)> {
    let output = settings.output.as_ref()?;
    Some((output.directory.path().join("capture.pcapng"), plane.network.capture.as_ref()?))
}

/// Tap at the gateway that writes the capture, in virtual time from 1970 on: nothing in the file depends on
/// the date.
#[derive(Debug)]
struct CaptureTap {
    filter: CaptureFilter,
    /// `None` after a disk error.
    writer: Option<Writer<BufWriter<File>>>,
    refused: Option<io::Error>,
    ended: SyncSender<io::Result<()>>,
}

impl CaptureTap {
    fn begin(
        path: &std::path::Path,
        capture: &Capture,
    ) -> io::Result<(CaptureTap, std::sync::mpsc::Receiver<io::Result<()>>)> {
        let mut writer = Writer::new(BufWriter::new(create_private(path)?), "farfield")?;
        let snap_len = capture.snap.unwrap_or(0);
        writer.add_interface(&Interface { name: "gateway".to_owned(), link: LinkType::RAW, snap_len })?;
        let (ended, has_ended) = sync_channel(1);
        let filter = CaptureFilter::of(&capture.plan);
        Ok((CaptureTap { filter, writer: Some(writer), refused: None, ended }, has_ended))
    }
}

impl Tap for CaptureTap {
    fn see(&mut self, at: Instant, inbound: bool, client: ClientId, packet: &Packet) {
        let Some(writer) = self.writer.as_mut().filter(|_| self.filter.keeps(client, packet)) else { return };
        // Inbound for the server is outbound for the gateway.
        let direction = if inbound { Direction::Outbound } else { Direction::Inbound };
        let header =
            PacketMetadata { interface: InterfaceId(0), at_unix_ns: at.as_ns(), direction, drops: 0 };
        if let Err(error) = writer.packet(&header, &[&packet.to_bytes()]) {
            self.refused = Some(error);
            self.writer = None;
        }
    }
}

impl Drop for CaptureTap {
    fn drop(&mut self) {
        let ended = match (self.writer.take(), self.refused.take()) {
            (_, Some(error)) => Err(error),
            (Some(writer), None) => writer.finish().map(drop),
            (None, None) => Ok(()),
        };
        // The receiver may have been stopped meanwhile.
        let _ = self.ended.send(ended);
    }
}
