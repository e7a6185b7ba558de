//! The summary: a whole run in one JSON document, with a published schema.
//!
//! It holds all that a reader needs and nothing to be computed again: times are whole nanoseconds
//! (`…_ns`), rates are per second (`…_per_s`), and a value that was not measured is null, never zero. A run
//! in progress, or a killed one, has a summary with `complete` false.

mod estimate;
mod network;
mod part;
mod path;
mod session;
mod timing;
mod warnings;

pub use crate::stream_counts::{EventsSummary, StallsSummary};
pub use estimate::{EstimateSummary, EstimatedQuantile, EstimatedTime};
pub use network::{NetworkSummary, ProgramSummary};
pub use part::{
    ClassSummary, FlowSummary, HostSummary, OutcomeCount, PagesSummary, PartSummary, Rates, StageSummary,
    StateSummary, StatusCount,
};
pub use path::PathSummary;
pub use session::{BrokenOffIn, FailureSummary, SessionsSummary};
pub(crate) use timing::QUANTILES;
pub use timing::{QuantileSummary, TimingSummary};

use crate::batches::MeasuredPart;
use crate::bottleneck::Bottleneck;
use crate::change;
use crate::engine_stats::{
    AddressStats, Arrivals, CaptureStats, EngineStats, GeneratorCounts, RunClock, ServerLimits,
};
use crate::failing;
use crate::failures::FAILURES_FILE;
use crate::fold::Fold;
use crate::handshakes::HandshakesSummary;
use crate::http::{Http2Summary, HttpSummary};
use crate::parts::PartOfRun;
use crate::reuse::ReuseClass;
use crate::set_aside::SetAsideSummary;
use crate::settling::SettlingSummary;
use crate::threshold::{Threshold, ThresholdResult};
use crate::verdict::{Verdict, VerdictLimits};
use farfield_base::{ContentCounts, Duration, Instant, WebSocketCounts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of the schema; grows when a reader of the old one would be misled.
pub const SCHEMA_VERSION: u32 = 3;

/// The model of load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoadKind {
    /// N users who come back when they are answered.
    Closed,
    /// Requests arrive, independently of those before.
    Open,
    /// Sessions arrive; requests in one wait for each other.
    Hybrid,
    /// D descriptors keep trying to connect (S-Client).
    Overload,
    /// Several flows of users, each with a load of its own.
    Flows,
}

/// Properties of a model of load that the verdict asks for.
impl LoadKind {
    /// True if a fixed number of users each wait for a reply before they ask again: the interactive response
    /// time law holds.
    pub fn is_closed(self) -> bool {
        match self {
            LoadKind::Closed => true,
            LoadKind::Open | LoadKind::Hybrid | LoadKind::Overload | LoadKind::Flows => false,
        }
    }

    /// True if users arrive at a rate of their own, so that a lower rate is less load.
    pub fn has_users_who_arrive(self) -> bool {
        match self {
            LoadKind::Open | LoadKind::Hybrid => true,
            LoadKind::Closed | LoadKind::Overload | LoadKind::Flows => false,
        }
    }

    /// True if the load is meant to exceed what the server takes: failures, and a server that it silences,
    /// are what it measures.
    pub fn is_overload(self) -> bool {
        match self {
            LoadKind::Overload => true,
            LoadKind::Closed | LoadKind::Open | LoadKind::Hybrid | LoadKind::Flows => false,
        }
    }
}

/// Description of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Heading {
    /// The version of farfield.
    pub farfield: String,
    /// The scenario's name.
    pub scenario: String,
    /// The user's note on the run; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The target: a URL, or several in a few words.
    pub target: String,
    /// Seed of all random streams.
    pub seed: u64,
    /// The model of users.
    pub load: LoadKind,
    /// The model with its parameters: "open loop, Poisson, 5000/s".
    pub load_words: String,
    /// The path between clients and the server and the congestion control of TCP at its ends, in words;
    /// absent in runs of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The wall-clock time of the start, in RFC 3339.
    pub started_at: String,
}

/// The length of each phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Phases {
    /// From the start to the measured part.
    pub warm_up_ns: u64,
    /// The measured part, as far as it went.
    pub steady_ns: u64,
    /// From the end of the measured part until the last worker had nothing more to wait for.
    pub drain_ns: u64,
    /// True if the run was over before the end that was asked for, by count or since it was stopped: the
    /// measured part is closed then, with the last instant in it, and otherwise half open.
    #[serde(default)]
    pub ended_early: bool,
}

/// The connections of the whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectionsSummary {
    /// Attempts, in the warm-up and steady parts.
    pub attempts: u64,
    /// Connections established, in the warm-up and steady parts.
    pub established: u64,
    /// The most open in any second, if the engine counts them.
    pub open_max: Option<u64>,
    /// Connections that carried at least one request.
    pub used: u64,
    /// Requests on each of those, on average; null if there were none.
    pub requests_mean: Option<f64>,
    /// Requests on the busiest.
    pub requests_max: u64,
    /// Distribution of requests per connection, from few to many.
    pub requests_per_connection: Vec<ReuseClass>,
    /// Requests sent again because their connection closed without a word about them.
    pub resent_requests: u64,
    /// Counts for each address of the server's, over the whole run, where connections go to several
    /// (`connections.addresses`); empty elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<AddressStats>,
}

/// The generator itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GeneratorSummary {
    /// The plane that carried the bytes.
    pub plane: String,
    /// Processors the workers were bound to.
    pub processors: Vec<u32>,
    /// The placement on processors and its reason, in words; null if none was chosen.
    #[serde(default)]
    pub placement: Option<String>,
    /// The share of its time that each worker computed.
    pub worker_busy: Vec<f64>,
    /// Processor time of all workers in the steady part.
    pub cpu_ns: u64,
    /// Lateness of scheduled wakes.
    pub lateness: Option<TimingSummary>,
    /// Durations of turns of the event loops.
    pub loop_lag: Option<TimingSummary>,
    /// The arrivals of an open load; null in a closed loop.
    pub arrivals: Option<Arrivals>,
    /// Requests in the system on average over the steady part, counted while running: Little's L.
    pub in_system_mean: Option<f64>,
    /// Its losses and waits.
    #[serde(flatten)]
    pub counts: GeneratorCounts,
}

/// A whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// The version of this schema.
    pub schema_version: u32,
    /// Description of the run.
    pub heading: Heading,
    /// False for a run in progress, and for one that was interrupted or killed.
    pub complete: bool,
    /// The reason why it is not complete.
    pub incomplete_reason: Option<String>,
    /// Lengths of the phases.
    pub phases: Phases,
    /// The seconds set aside of the measured part; absent where none were to be (`run.set-aside`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set_aside: Option<SetAsideSummary>,
    /// When response times settled after the start of the load, and what they did then; null where there were
    /// too few requests to say, and in a summary by an older farfield.
    #[serde(default)]
    pub settling: Option<SettlingSummary>,
    /// The verdict: whether the results are valid.
    pub verdict: Verdict,
    /// The thresholds, and whether the server kept them.
    pub thresholds: Vec<ThresholdResult>,
    /// The measured part.
    pub steady: PartSummary,
    /// The measured part of each class of clients; empty where there are no classes.
    #[serde(default)]
    pub classes: Vec<ClassSummary>,
    /// The measured part of each flow of users; empty where there are no several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<FlowSummary>,
    /// The measured part of each host, by its number in samples; empty where users ask one alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostSummary>,
    /// The stages of the load, as far as they lie in the measured part; empty where it has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageSummary>,
    /// The parts of the run between changes of its network, as far as they lie in the measured part; empty
    /// where it does not change. `course` is what begins with each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<StageSummary>,
    /// The part before it.
    pub warm_up: PartSummary,
    /// The pages of the measured part; null if pages are not tracked.
    #[serde(default)]
    pub pages: Option<PagesSummary>,
    /// The states of sessions in the measured part, in order; empty where users are in no sessions with
    /// states.
    #[serde(default)]
    pub states: Vec<StateSummary>,
    /// The paths that requests of the measured part were for, without queries: the hundred with most
    /// requests, and the others together; empty where all were for one, and where users are in sessions with
    /// states.
    #[serde(default)]
    pub paths: Vec<PathSummary>,
    /// The sessions that began in the measured part; null where there were none in the whole run.
    #[serde(default)]
    pub sessions: Option<SessionsSummary>,
    /// Failures in sessions, and causes of other failed requests where more is known than their outcome, the
    /// most frequent first: at most a hundred kinds of failures.
    #[serde(default)]
    pub failures: Vec<FailureSummary>,
    /// The file in the run directory with the first of these failures, in sessions each with its request and
    /// reply; null if there is none.
    #[serde(default)]
    pub failures_file: Option<String>,
    /// Requests due after the measured part.
    pub drained_requests: u64,
    /// The connections.
    pub connections: ConnectionsSummary,
    /// Handshakes of TLS in the measured part; null if there were none.
    #[serde(default)]
    pub handshakes: Option<HandshakesSummary>,
    /// The versions of HTTP that were spoken; null if none was.
    #[serde(default)]
    pub http: Option<HttpSummary>,
    /// Requests over HTTP/2; null if there were none.
    #[serde(default)]
    pub http2: Option<Http2Summary>,
    /// Content that was decoded; null if none was.
    #[serde(default)]
    pub content: Option<ContentCounts>,
    /// WebSockets and the messages on them; null if none was opened.
    #[serde(default)]
    pub websockets: Option<WebSocketCounts>,
    /// The generator itself.
    pub generator: GeneratorSummary,
    /// The emulated network; null on a plane that has none.
    #[serde(default)]
    pub network: Option<NetworkSummary>,
    /// Limits of the server's processor time and memory, and their effects; null if it has none.
    #[serde(default)]
    pub server_limits: Option<ServerLimits>,
    /// The first resource to give out, as far as the server was monitored; null if nothing was read of it.
    #[serde(default)]
    pub bottleneck: Option<Bottleneck>,
    /// The run's clock beside the wall clock, by which packets are assigned to samples; null in virtual time,
    /// and as long as the run goes on.
    #[serde(default)]
    pub clock: Option<RunClock>,
    /// Captures of packets; empty if none was asked for.
    #[serde(default)]
    pub captures: Vec<CaptureStats>,
    /// The file in the run directory with a row for each second; null if there is none.
    pub series_file: Option<String>,
    /// The parts of a run that several processes made; empty for one that was made by one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartOfRun>,
    /// Warnings for the reader, one sentence each.
    pub warnings: Vec<String>,
}

/// The context of a summary, beside the fold and the engine's statistics.
#[derive(Debug, Clone, Copy)]
pub struct SummaryContext<'a> {
    /// Description of the run.
    pub heading: &'a Heading,
    /// The limits of the verdict.
    pub limits: &'a VerdictLimits,
    /// Thresholds that the server must keep.
    pub thresholds: &'a [Threshold],
    /// The name of the series' file.
    pub series_file: Option<&'a str>,
}

impl Summary {
    /// The summary of a run that ended at `until`.
    pub fn new(context: SummaryContext<'_>, fold: &Fold, stats: &EngineStats, until: Instant) -> Summary {
        let mut summary = Summary::pausing(context, fold, stats, until, true, &|| {});
        summary.warnings.extend(change::warning(fold, until));
        summary.warnings.extend(failing::warning(fold, until, summary.verdict.judges_the_end()));
        summary
    }

    fn pausing(
        context: SummaryContext<'_>,
        fold: &Fold,
        stats: &EngineStats,
        until: Instant,
        ended: bool,
        pause: &dyn Fn(),
    ) -> Summary {
        let verdict = Verdict::judge(context, fold, stats, until);
        let completed = verdict.checks.iter().find(|check| check.name == "completed");
        let incomplete_reason = completed.and_then(|check| check.note.clone());
        let phases = phases(fold, stats, until);
        let measured = fold.measured(until);
        let steady = measured.lasted;
        let warm_up = MeasuredPart::of(Duration::from_ns(phases.warm_up_ns));
        Summary {
            schema_version: SCHEMA_VERSION,
            heading: context.heading.clone(),
            complete: incomplete_reason.is_none(),
            incomplete_reason,
            phases,
            set_aside: fold
                .aside()
                .map(|aside| aside.summary(fold.window(), until, fold.steady().requests())),
            settling: fold.settling().summary(fold.window(), until).filter(|_| ended),
            thresholds: context
                .thresholds
                .iter()
                .map(|threshold| threshold.evaluate(fold, until, ended))
                .collect(),
            steady: PartSummary::of(fold.steady(), measured, ended, pause).with_arrivals(
                context.heading.load,
                // The generator counts them in all of the measured part.
                stats.arrivals.filter(|_| fold.aside().is_none()),
                phases.steady_ns,
            ),
            classes: ClassSummary::of_all(fold, measured, ended, pause),
            flows: FlowSummary::of_all(fold, measured, ended, pause),
            hosts: HostSummary::of_all(fold, measured, ended, pause),
            stages: StageSummary::of_all(fold.stages(), (measured, until), ended, pause),
            conditions: StageSummary::of_all(fold.conditions(), (measured, until), ended, pause),
            warm_up: PartSummary::of(fold.warm_up(), warm_up, ended, pause),
            pages: fold.pages().map(|pages| PagesSummary::of(pages, fold.pages_unfinished(None))),
            states: StateSummary::of_all(fold, measured, ended, pause),
            paths: PathSummary::of_all(fold),
            sessions: SessionsSummary::of(fold, steady),
            failures: FailureSummary::of_all(fold),
            failures_file: context
                .series_file
                .and_then(|_| (fold.failures().kept() > 0).then(|| FAILURES_FILE.to_owned())),
            drained_requests: fold.drained(),
            connections: connections(fold, stats),
            handshakes: fold.handshakes().summary(Duration::from_ns(phases.steady_ns), &stats.workers),
            http: fold.steady().events.http.summary(stats),
            http2: fold.steady().events.http.http2(stats),
            content: (stats.counts.content != ContentCounts::default()).then_some(stats.counts.content),
            websockets: (stats.counts.websockets != WebSocketCounts::default())
                .then_some(stats.counts.websockets),
            generator: generator(stats, phases),
            network: stats.network.as_ref().map(|network| {
                NetworkSummary::of(
                    network,
                    stats.counts.moves,
                    stats.ended.unwrap_or(until.since(Instant::ZERO)),
                )
            }),
            server_limits: stats.server_limits,
            bottleneck: stats.bottleneck.clone(),
            clock: stats.clock,
            captures: stats.captures.clone(),
            series_file: context.series_file.map(str::to_owned),
            parts: Vec::new(),
            warnings: warnings::warnings(fold, stats, &verdict, until),
            verdict,
        }
    }

    /// The summary so far of a run in progress, which remains if the run is killed. `pause` is called
    /// between pieces of work, tens of microseconds each.
    pub fn checkpoint(
        context: SummaryContext<'_>,
        fold: &Fold,
        stats: &mut EngineStats,
        until: Instant,
        pause: &dyn Fn(),
    ) -> Summary {
        // The statistics hold histograms, which are too large to copy.
        let so_far = "the run had not ended when this was written".to_owned();
        let interrupted = stats.interrupted.replace(so_far);
        let summary = Summary::pausing(context, fold, stats, until, false, pause);
        stats.interrupted = interrupted;
        summary
    }

    /// Reads what [`Summary::to_json`] wrote.
    pub fn from_json(text: &str) -> Result<Summary, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// The document, indented, with a line end after it.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("names are strings and numbers are finite");
        text.push('\n');
        text
    }
}

/// The JSON schema of [`Summary`].
pub fn summary_schema() -> serde_json::Value {
    schemars::schema_for!(Summary).to_value()
}

fn phases(fold: &Fold, stats: &EngineStats, until: Instant) -> Phases {
    let window = fold.window();
    let ended = stats.ended.map_or(until, |ended| Instant::ZERO + ended);
    Phases {
        warm_up_ns: window.measure_from.min(until).as_ns(),
        steady_ns: window.elapsed(until).as_ns(),
        drain_ns: ended.since(window.measure_to).as_ns(),
        ended_early: until < window.measure_to,
    }
}

fn connections(fold: &Fold, stats: &EngineStats) -> ConnectionsSummary {
    let (warm_up, steady) = (&fold.warm_up().events, &fold.steady().events);
    let reuse = fold.reuse();
    let used = reuse.connections();
    ConnectionsSummary {
        attempts: warm_up.connects_begun + steady.connects_begun,
        established: warm_up.connected + steady.connected,
        open_max: stats.connections_open.iter().copied().max(),
        used,
        requests_mean: (used > 0).then(|| reuse.requests() as f64 / used as f64),
        requests_max: reuse.most(),
        requests_per_connection: reuse.classes(),
        resent_requests: stats.counts.resent,
        addresses: stats.addresses.clone(),
    }
}

fn generator(stats: &EngineStats, phases: Phases) -> GeneratorSummary {
    let cpu = stats.workers.iter().fold(Duration::ZERO, |sum, worker| sum + worker.cpu);
    let in_system = stats.in_system_ns as f64 / phases.steady_ns as f64;
    GeneratorSummary {
        plane: stats.plane.clone(),
        processors: stats.processors.clone(),
        placement: stats.placement.clone(),
        worker_busy: stats.workers.iter().map(|worker| worker.busy()).collect(),
        cpu_ns: cpu.as_ns(),
        lateness: TimingSummary::of(&stats.lateness),
        loop_lag: TimingSummary::of(&stats.loop_lag),
        arrivals: stats.arrivals,
        in_system_mean: (phases.steady_ns > 0).then_some(in_system),
        counts: stats.generator,
    }
}

#[cfg(test)]
mod tests;
