//! A run, from its settings to its summary, on whichever plane.

mod ended;
mod result;
pub(crate) mod start;

use crate::beside::RunningPrograms;
use crate::captures::Captures;
use crate::collector::{Collector, CollectorProcessor, Pace, Progress, RunFiles, SideFiles};
use crate::emulated::SetUpError;
use crate::environment::Environment;
use crate::machine::{MachineBefore, ServerHere};
use crate::meters::Phases;
use crate::monitored;
use crate::observe::CaptureError;
use crate::plane::{Plane, PreparedPlane};
use crate::run_directory::{RunDirectory, RunDirectoryError};
use crate::sample_channel::{Chunk, ChunkReturn, SampleSender};
use crate::segment_counts::SegmentCounts;
use crate::set_aside::{Gate, SharedSeconds};
use crate::shell::ShellError;
use crate::simulated;
use crate::sockets::peers::Renewal;
use crate::worker_report::WorkerReport;
use crate::workers::Workers;
use ended::{FinishedRun, ReadingsBefore};
use farfield_base::{Bytes, Duration, Instant, Part, Window};
use farfield_http::tls;
use farfield_measure::hosts::HostLabel;
use farfield_measure::parts::PartLabel;
use farfield_measure::paths::PathNames;
use farfield_measure::samples::{Keep, RunLabel, SamplesWriter};
use farfield_measure::states::StateNames;
use farfield_measure::summary::SummaryContext;
use farfield_measure::{Fold, Heading, Summary, Threshold, VerdictLimits};
use farfield_monitor::{MonitorSettings, RunningMonitors};
use farfield_os::allocator;
use farfield_os::clock::{Clock, Readings, unix_seconds};
use farfield_os::processors;
use farfield_os::signals::LeftToOthers;
use farfield_testbed::{NetworkWatch, RunningServer};
use farfield_user::{EventsBy, Flow, UserSettings};
use std::io;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::thread::JoinHandle;

pub(crate) use result::finish;
use start::StartAt;
pub use start::{CommonStart, StartError, StartSource};

/// A run: its settings, and the plane that carries its bytes. `P` is the plane: set up, or
/// [prepared](PreparedPlane) and yet to be set up.
#[derive(Debug)]
pub struct Run<P = Plane> {
    /// The settings.
    pub settings: RunSettings,
    /// The plane that carries the bytes.
    pub plane: P,
}

/// Settings of a run, on whichever plane.
#[derive(Debug)]
pub struct RunSettings {
    /// The flows of users, one at least and [`Flow::MOST`] at most: when they act, and what they do.
    pub flows: Vec<Flow>,
    /// Settings of the users of all flows.
    pub users: UserSettings,
    /// TLS of their connections to the target; absent where the scheme is http.
    pub tls: Option<tls::TlsSettings>,
    /// The hosts that they ask beside the target, fewer than [`MOST`](farfield_base::HostNumber::MOST).
    pub hosts: Vec<HostSettings>,
    /// Number of worker threads.
    pub workers: NonZeroU32,
    /// The part of the run that this process makes.
    pub part: Part,
    /// The scenario as all parts have it, where there are others.
    pub shared_by_parts: Option<String>,
    /// Wall-clock time at which the run starts, in nanoseconds since 1970; as soon as it can if absent.
    pub start_at: Option<u64>,
    /// The source of a start that all parts have in common, once they are ready; in place of a time.
    pub start_source: Option<Arc<dyn StartSource>>,
    /// Processors of the generator; all that this process may use if empty.
    pub processors: Vec<usize>,
    /// Time for which users act before the measured part.
    pub warm_up: Duration,
    /// Length of the measured part.
    pub duration: Duration,
    /// Disturbed seconds are set aside, and the measured part lasts for this long at most with them.
    pub set_aside: Option<Duration>,
    /// Time to wait for replies after the end of the load.
    pub drain: Duration,
    /// Requests that are unfinished then count as no errors.
    pub ignores_unfinished: bool,
    /// The default bound on the visitors of an open load, if the scenario has none.
    pub visitors_bound: Option<NonZeroU32>,
    /// Description of the run for the summary.
    pub heading: Heading,
    /// Limits of the verdict.
    pub limits: VerdictLimits,
    /// Thresholds that the server must keep.
    pub thresholds: Vec<Threshold>,
    /// Thresholds that end the run once they are broken.
    pub aborts: Vec<Threshold>,
    /// Output on disk; none if absent.
    pub output: Option<Output>,
    /// Settings of the monitors; nothing is monitored if absent.
    pub monitor: Option<MonitorSettings>,
    /// Warnings for the summary.
    pub warnings: Vec<String>,
}

/// A host that users ask beside the target.
#[derive(Debug, Clone)]
pub struct HostSettings {
    /// The host's name in results.
    pub name: String,
    /// The host's address.
    pub address: SocketAddr,
    /// TLS of the connections to it; absent where its scheme is http.
    pub tls: Option<tls::TlsSettings>,
}

/// Output of a run on disk.
#[derive(Debug)]
pub struct Output {
    /// The run directory.
    pub directory: RunDirectory,
    /// The resolved scenario, as TOML.
    pub scenario: String,
    /// The samples to keep.
    pub keep: Keep,
    /// Upper bound on the size of the samples.
    pub budget: Bytes,
    /// The secrets of TLS sessions are written.
    pub logs_keys: bool,
}

/// The reason why a run could not be made.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The directory cannot be written.
    #[error(transparent)]
    Directory(#[from] RunDirectoryError),
    /// The samples file cannot be begun.
    #[error("cannot begin samples.parquet: {0}")]
    Samples(#[from] farfield_measure::samples::SamplesWriteError),
    /// The requested processors cannot be used.
    #[error("cannot run on processors {asked:?}: {source}; this process may use {allowed:?}")]
    Processors {
        /// The requested processors.
        asked: Vec<usize>,
        /// The processors that this process may use.
        allowed: Vec<usize>,
        /// The system's error.
        source: io::Error,
    },
    /// The capture cannot be begun.
    #[error("cannot begin capture.pcapng: {0}")]
    Capture(#[source] io::Error),
    /// The packets of an interface cannot be captured.
    #[error(transparent)]
    Packets(#[from] CaptureError),
    /// The time at which the run was to start is over.
    #[error(transparent)]
    Start(#[from] StartError),
    /// There is nothing to simulate.
    #[error(transparent)]
    Simulation(farfield_emulator::simulation::SimulationError),
    /// A worker cannot be started.
    #[error("cannot start a worker: {0}")]
    Worker(#[source] io::Error),
    /// A program beside the users cannot be started.
    #[error(transparent)]
    Program(#[from] ShellError),
}

/// Makes the run. `stop` ends it early, with the results so far; `on_progress` is called once a second, and a
/// last time with the result.
pub fn run(
    run: &Run,
    stop: &Arc<AtomicBool>,
    on_progress: impl FnMut(&Progress<'_>),
) -> Result<Summary, RunError> {
    run_with_clocks(run, stop, on_progress, Readings::now)
}

/// Makes the run like [`run`]; `clocks` reads the machine's clocks before and after it, to find out whether
/// the wall clock was set meanwhile. Nothing else of a run depends on these readings.
pub fn run_with_clocks(
    run: &Run,
    stop: &Arc<AtomicBool>,
    mut on_progress: impl FnMut(&Progress<'_>),
    mut clocks: impl FnMut() -> Readings,
) -> Result<Summary, RunError> {
    let Run { settings, plane } = run;
    let _restored_at_the_end = processors::SavedAffinity::save();
    confine(&settings.processors)?;
    let phases = settings.phases();
    start::wait(settings.start_at.map(StartAt::Unix), start::FILES, stop)?;
    let started = unix_seconds();
    let begin = |output| begin_files(output, &settings.heading, started);
    let files = settings.output.as_ref().map(begin).transpose()?;
    if let Plane::Simulated(simulated) = plane {
        // Virtual time starts when all parts are ready, and knows no other start.
        start::common(settings, stop)?;
        return simulated::run(run, simulated, phases, files, started, stop, on_progress);
    }
    allocator::keep_freed_memory();
    let captures = Captures::begin(run)?;
    let peers = plane.peers();
    if let Some(peers) = peers {
        peers.begin();
    }

    // A flag of our own, apart from `stop`: workers end the same way at the run's end and on an interrupt.
    let halt = Arc::new(AtomicBool::new(false));
    let listening = plane.listening();
    let server = plane.server_here(&listening);
    let is_elsewhere = matches!(server, ServerHere::Unknown) && !plane.is_reached_here();
    let seconds = settings.shared_seconds(phases.window, is_elsewhere);
    let workers = Workers {
        settings,
        plane,
        phases,
        halt: &halt,
        stop,
        captures: &captures,
        seconds: seconds.as_ref(),
    };
    let users = workers.make_users()?;
    let worker_count = users.len();
    let (senders, chunks, returns) = SampleSender::for_workers(worker_count);
    let (start_at, common) = start::wait_for_threads(settings, stop)?;
    let machine = MachineBefore::read(server, &run.worker_processors(), plane.receive_cpu());
    let monitors = settings.monitor.as_ref().and_then(|wanted| monitored::monitors(plane, wanted));
    let threads = workers.start_threads()?;
    let (readings, segments) = (clocks(), SegmentCounts::of(plane));
    let clock = start::clock(start_at)?;
    let before = ReadingsBefore { machine, readings, segments, start_unix_ns: clock.start_unix_ns() };
    captures.start_at(before.start_unix_ns);
    let network_watch = watch_network(plane, clock);
    let renewal = peers.map(Renewal::begin).transpose().map_err(RunError::Worker)?;
    let threads = workers.start(users, threads, clock, senders)?;
    let programs = match start_programs(run, clock, stop) {
        Ok(programs) => programs,
        Err(error) => {
            halt.store(true, Ordering::Relaxed);
            drop((chunks, returns));
            threads.into_iter().for_each(|thread| drop(thread.join()));
            return Err(error.into());
        }
    };

    let pace = Pace::beside_workers(clock, Arc::clone(&halt));
    let gate = seconds.map(|shared| Gate::new(shared, worker_count, server, &run.worker_processors()));
    let mut collector = run.collector(phases.window, worker_count, files, pace).behind(gate);
    collector.of_clock(common.map(|common| common.wall_clock(before.start_unix_ns)));
    let monitors = collector.start_monitors(monitors, clock);
    collect(&mut collector, (&chunks, &returns), &threads, (clock, stop, &halt), &mut on_progress);
    drop(renewal);
    collector.monitored = monitors.map(RunningMonitors::stop);
    drop(chunks);
    let ended = FinishedRun { run, clock, server, programs, network_watch, captures };
    let until = ended.describe(&mut collector, before, threads, stop, clocks);
    Ok(finish(collector, until, started, on_progress))
}

/// Takes what the workers report, until they have ended or `stop` ends them.
fn collect(
    collector: &mut Collector<'_>,
    (chunks, returns): (&Receiver<Chunk>, &[ChunkReturn]),
    threads: &[JoinHandle<Option<WorkerReport>>],
    (clock, stop, halt): (Clock, &AtomicBool, &AtomicBool),
    on_progress: &mut impl FnMut(&Progress<'_>),
) {
    // If the priority cannot be lowered, lateness shows the cost.
    let _ = processors::set_background();
    // After the workers end, no thread needs the processors more than the collector, which makes the result.
    let end = || {
        if !halt.swap(true, Ordering::Relaxed) {
            let _ = processors::set_normal();
        }
    };
    let now = || {
        if stop.load(Ordering::Relaxed) || threads.iter().all(JoinHandle::is_finished) {
            end();
        }
        clock.now()
    };
    let _signals = LeftToOthers::begin();
    collector.collect(chunks, returns, now, on_progress, end);
    end();
}

/// Watches what testbeds have set up, if there are any.
fn watch_network(plane: &Plane, clock: Clock) -> io::Result<Option<NetworkWatch>> {
    let Plane::Emulated(emulated) = plane else { return Ok(None) };
    NetworkWatch::begin(emulated.testbeds().map(|(_, testbed)| testbed), clock).map(Some)
}

/// Starts the programs beside the users, if there are any.
fn start_programs<'a>(
    run: &'a Run,
    clock: Clock,
    stop: &Arc<AtomicBool>,
) -> Result<Option<RunningPrograms<'a>>, ShellError> {
    let Plane::Emulated(emulated) = &run.plane else { return Ok(None) };
    if emulated.beside.is_empty() {
        return Ok(None);
    }
    let directory = run.settings.output.as_ref().map(|output| output.directory.path());
    let (network, processors) = (&emulated.network.plan, &emulated.placement.server);
    emulated.beside.start(network, directory, processors, clock, stop).map(Some)
}

/// The mean number of arrivals of all of `flows` whose users arrive, from `from` to `to`, if it is known of
/// each of them, and of one at least.
pub(crate) fn expected_arrivals(flows: &[Flow], from: Instant, to: Instant) -> Option<f64> {
    let mut arriving = flows.iter().filter(|flow| flow.load.has_arrivals()).peekable();
    arriving.peek()?;
    arriving.map(|flow| flow.load.expected_arrivals(from, to)).sum()
}

/// The summary's context beside the measurements.
pub(crate) fn summary_context(settings: &RunSettings) -> SummaryContext<'_> {
    SummaryContext {
        heading: &settings.heading,
        limits: &settings.limits,
        // What a part keeps of them says nothing of the whole.
        thresholds: if settings.shared_by_parts.is_some() { &[] } else { &settings.thresholds },
        series_file: settings.output.as_ref().map(|_| "series.parquet"),
    }
}

fn confine(processors_asked: &[usize]) -> Result<(), RunError> {
    if processors_asked.is_empty() {
        return Ok(());
    }
    processors::confine(processors_asked).map_err(|source| RunError::Processors {
        asked: processors_asked.to_vec(),
        allowed: processors::allowed().unwrap_or_default(),
        source,
    })
}

/// Writes the files that are known before the run, and opens those that grow during it.
fn begin_files(output: &Output, heading: &Heading, started: u64) -> Result<RunFiles, RunError> {
    let directory = output.directory.clone();
    directory.replace("scenario.toml", output.scenario.as_bytes())?;
    let environment = serde_json::to_string_pretty(&Environment::read()).expect("plain data");
    directory.replace("environment.json", environment.as_bytes())?;
    let label = RunLabel { scenario: heading.scenario.clone(), seed: heading.seed };
    let samples = SamplesWriter::create(directory.samples()?, label, output.keep, Some(output.budget))?;
    let reserve = directory.reserve()?;
    let side_files = SideFiles::start(Duration::from_secs(started)).ok();
    Ok(RunFiles {
        directory,
        samples,
        keep: output.keep,
        reserve,
        events: None,
        events_budget: output.budget.0,
        events_refused: false,
        side_files,
    })
}

impl Run<PreparedPlane> {
    /// Sets up the plane. A server that it starts logs into `directory`.
    ///
    /// # Errors
    /// If the machine does not allow the plane, or the server does not get ready in time.
    pub fn set_up(self, directory: &Path) -> Result<Run, SetUpError> {
        Ok(Run { settings: self.settings, plane: self.plane.set_up(directory)? })
    }
}

impl RunSettings {
    /// TLS of the connections to each host, by its number.
    pub(crate) fn tls_by_host(&self) -> impl Iterator<Item = Option<&tls::TlsSettings>> {
        std::iter::once(self.tls.as_ref()).chain(self.hosts.iter().map(|host| host.tls.as_ref()))
    }

    /// The measured part, and how long replies are waited for.
    fn phases(&self) -> Phases {
        let measure_from = Instant::ZERO + self.warm_up;
        let window = Window { measure_from, measure_to: measure_from + self.duration };
        let end = self.users.end;
        let load_until = window.measure_to + end.cool_down;
        Phases { window, load_until, drain_until: load_until + end.finish + self.drain }
    }

    /// The label of the part that this process makes, where there are others.
    pub(crate) fn part_label(&self) -> Option<PartLabel> {
        let scenario = self.shared_by_parts.clone()?;
        let skew = self.flows.iter().map(|flow| flow.load.start_tolerance()).min().unwrap_or_default();
        let thresholds = self.thresholds.clone();
        Some(PartLabel { part: self.part, scenario, thresholds, skew_max: skew, clock: None })
    }

    /// The labels of all hosts, by number; none where users ask the target alone.
    fn host_labels(&self) -> Vec<HostLabel> {
        if self.hosts.is_empty() {
            return Vec::new();
        }
        let names = std::iter::once("target").chain(self.hosts.iter().map(|host| host.name.as_str()));
        let urls = self.flows[0].itinerary.origins();
        names.zip(urls).map(|(name, url)| HostLabel { name: name.to_owned(), url: url.to_owned() }).collect()
    }

    /// The mean number of arrivals of all flows whose users arrive, from `from` to `to`, if it is known.
    pub(crate) fn expected_arrivals(&self, from: Instant, to: Instant) -> Option<f64> {
        expected_arrivals(&self.flows, from, to)
    }

    /// The record of disturbed seconds of `window`, if they are set aside.
    fn shared_seconds(&self, window: Window, server_is_elsewhere: bool) -> Option<Arc<SharedSeconds>> {
        let watchers = self.workers.get() as usize + 1;
        let shared = |longest| SharedSeconds::new(window, longest, watchers, server_is_elsewhere);
        self.set_aside.map(|longest| Arc::new(shared(longest)))
    }
}

impl Run {
    /// The collector of the samples of `workers` workers.
    fn collector(
        &self,
        window: Window,
        workers: usize,
        files: Option<RunFiles>,
        pace: Pace,
    ) -> Collector<'_> {
        let Run { settings, plane } = self;
        let fold = self.fold(window, &plane.classes());
        let fold = fold.setting_aside(settings.set_aside.map(|_| settings.duration));
        let context = summary_context(settings);
        let mut collector = Collector::new(fold, workers, context, &settings.aborts, files, pace)
            .of_part(settings.part_label())
            .on_processor(plane.collector_processor())
            .counting_by(plane.peers());
        collector.stats.plane = plane.kind().name().to_owned();
        collector.stats.processors = self.worker_processors();
        collector.stats.placement = plane.placement_in_words();
        collector.stats.warnings = settings.warnings.clone();
        collector
    }

    /// An empty fold of a run whose measured part is `window`, with all that its requests are named by.
    pub(crate) fn fold(&self, window: Window, classes: &[String]) -> Fold {
        let Run { settings, plane } = self;
        let flows = &settings.flows;
        let (states, places) = Flow::states(flows);
        let named = flows.iter().zip(Flow::requests(flows));
        let named = named.map(|(flow, requests)| (flow.name.to_string(), requests)).collect();
        let (stages, named) = match &flows[..] {
            [only] if only.name.is_empty() => (only.load.stages(), Vec::new()),
            _ => (&[][..], named),
        };
        // Intervals take batches that are longer than sessions, which tie requests together.
        let sessions_arrive = flows.iter().any(|flow| flow.load.has_session_arrivals());
        Fold::of_classes(window, classes)
            .in_flows(named)
            .at_hosts(settings.host_labels())
            .naming_states(StateNames::new(states, places))
            .naming_paths(PathNames::of_some(Flow::targets(flows)))
            .ignoring_unfinished(settings.ignores_unfinished)
            .counting_stalls(settings.users.events.stall)
            .with_events_by_pieces(settings.users.events.by == EventsBy::Pieces)
            .in_stages(stages)
            .in_conditions(plane.conditions())
            .with_outages(plane.outages())
            .with_arriving_sessions(sessions_arrive)
    }

    /// True if users over sockets ask again as soon as they are answered: nothing is scheduled that could
    /// show a worker's lateness. In an emulated network packets show it.
    fn asks_at_once(&self) -> bool {
        let asks = self.settings.flows.iter().all(|flow| flow.load.asks_at_once());
        asks && matches!(self.plane, Plane::Sockets(_))
    }

    /// The processors that workers are bound to; empty if they are not bound.
    fn worker_processors(&self) -> Vec<u32> {
        let mut bound = match &self.plane {
            Plane::Emulated(emulated) => emulated.placement.shards.concat(),
            _ => Vec::new(),
        };
        if bound.is_empty() {
            bound.clone_from(&self.settings.processors);
        }
        bound.sort_unstable();
        bound.dedup();
        bound.into_iter().map(|processor| processor as u32).collect()
    }
}

impl Plane {
    /// Moves the calling thread to the collector's processors.
    fn collector_processor(&self) -> CollectorProcessor {
        let Plane::Emulated(emulated) = self else { return CollectorProcessor::unbound() };
        let placement = &emulated.placement;
        match placement.collector.as_slice() {
            [server, shard] if placement.collector_moves => CollectorProcessor::choosing(*server, *shard),
            [] => CollectorProcessor::unbound(),
            some => {
                // If refused, the thread stays where it is.
                let _ = processors::confine(some);
                CollectorProcessor::unbound()
            }
        }
    }

    /// The placement and its reason in words, if one was chosen.
    fn placement_in_words(&self) -> Option<String> {
        let Plane::Emulated(emulated) = self else { return None };
        let reason = &emulated.placement.reason;
        (!reason.is_empty()).then(|| emulated.testbed.report().placed(reason))
    }

    /// Names of the classes of clients, which results are broken down by.
    fn classes(&self) -> Vec<String> {
        match self {
            Plane::Sockets(_) | Plane::Simulated(_) => Vec::new(),
            Plane::Emulated(emulated) => {
                emulated.network.plan.classes.iter().map(|class| class.name.clone()).collect()
            }
        }
    }

    /// The processes of a server that listens at the target of the sockets plane on this machine.
    fn listening(&self) -> Vec<u32> {
        match self {
            Plane::Sockets(sockets) if sockets.unix.is_some() => Vec::new(),
            Plane::Sockets(sockets) => monitored::processes_at(sockets.target),
            Plane::Emulated(_) | Plane::Simulated(_) => Vec::new(),
        }
    }

    /// True if the target of the sockets plane can be on this machine alone.
    fn is_reached_here(&self) -> bool {
        matches!(self, Plane::Sockets(sockets) if sockets.unix.is_some() || sockets.target.ip().is_loopback())
    }

    /// Processor time of the kernel's threads for packets from clients.
    fn receive_cpu(&self) -> Duration {
        let Plane::Emulated(emulated) = self else { return Duration::ZERO };
        emulated.testbeds().fold(Duration::ZERO, |sum, (_, testbed)| sum + testbed.receive_cpu())
    }

    /// The server whose processes are known; `listening` are those of a server on sockets.
    fn server_here<'a>(&'a self, listening: &'a [u32]) -> ServerHere<'a> {
        let Plane::Emulated(emulated) = self else {
            return if listening.is_empty() { ServerHere::Unknown } else { ServerHere::Listening(listening) };
        };
        match (&emulated.server, &emulated.joined) {
            (Some(server), _) => ServerHere::Started(server),
            (None, Some(joined)) => ServerHere::Joined(joined),
            (None, None) => ServerHere::Unknown,
        }
    }

    /// The server that was started for the run, if one was.
    pub(crate) fn started_server(&self) -> Option<&RunningServer> {
        match self {
            Plane::Emulated(emulated) => emulated.server.as_ref(),
            Plane::Sockets(_) | Plane::Simulated(_) => None,
        }
    }
}
