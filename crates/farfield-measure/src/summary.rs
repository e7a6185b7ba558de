//! The summary: a whole run in one JSON document, with a published schema.
//!
//! It holds all that a reader needs and nothing to be computed again: times are whole nanoseconds
//! (`…_ns`), rates are a second (`…_per_s`), and what was not measured is null, never zero. A run that
//! goes on, or was killed, leaves a summary with `complete` false.

mod estimate;
mod network;
mod part;
mod session;
mod timing;

pub use estimate::{EstimateSummary, EstimatedQuantile, EstimatedTime};
pub use network::NetworkSummary;
pub use part::{ClassSummary, OutcomeCount, PagesSummary, PartSummary, Rates, StateSummary};
pub use session::{BrokenOffIn, FailureSummary, SessionsSummary};
pub(crate) use timing::QUANTILES;
pub use timing::{QuantileSummary, TimingSummary};

use crate::change;
use crate::engine_stats::{EngineStats, ServerLimits};
use crate::failures::FAILURES_FILE;
use crate::fold::Fold;
use crate::reuse::ReuseClass;
use crate::silence;
use crate::states::States;
use crate::threshold::{Threshold, ThresholdResult};
use crate::verdict::{CheckState, Verdict, VerdictLimits};
use farfield_base::{Duration, Instant, Outcome};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of the schema; grows when a reader of the old one would be misled.
pub const SCHEMA_VERSION: u32 = 2;

/// Which model of users made the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoadKind {
    /// N users who come back when they are answered.
    Closed,
    /// Requests arrive, whatever becomes of those before.
    Open,
    /// Sessions arrive; requests in one wait for each other.
    Hybrid,
    /// D descriptors keep trying to connect (S-Client).
    Overload,
}

/// What the run was, in words of whoever made it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Heading {
    /// The version of farfield.
    pub farfield: String,
    /// The scenario's name.
    pub scenario: String,
    /// What was driven: a URL, or several in a few words.
    pub target: String,
    /// The seed that all chance came from.
    pub seed: u64,
    /// The model of users.
    pub load: LoadKind,
    /// The model with its parameters: "open loop, Poisson, 5000/s".
    pub load_words: String,
    /// The wall-clock time of the start, in RFC 3339.
    pub started_at: String,
}

/// How long each phase lasted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Phases {
    /// From the start to the measured part.
    pub warm_up_ns: u64,
    /// The measured part, as far as it went.
    pub steady_ns: u64,
    /// From the measured part to the end.
    pub drain_ns: u64,
}

/// The connections of the whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectionsSummary {
    /// Attempts, in the warm-up and steady parts.
    pub attempts: u64,
    /// Connections established, in the warm-up and steady parts.
    pub established: u64,
    /// The most open in any second, if the engine told.
    pub open_max: Option<u64>,
    /// Connections that carried at least one request.
    pub used: u64,
    /// Requests on each of those, on average; null if there were none.
    pub requests_mean: Option<f64>,
    /// Requests on the busiest.
    pub requests_max: u64,
    /// How many carried how many requests, from few to many.
    pub requests_per_connection: Vec<ReuseClass>,
    /// Requests sent again because their connection closed without a word about them.
    pub resent_requests: u64,
}

/// Content that came in a coding such as gzip and was looked at, over the whole run. Codings are taken off for checks,
/// extractions and embedded objects alone, so nothing is known of the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContentSummary {
    /// Bytes as they came.
    pub coded_bytes: u64,
    /// Bytes that they stood for.
    pub decoded_bytes: u64,
}

/// The arrivals of an open load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArrivalsSummary {
    /// How many the arrival process has in the steady part on average, if known.
    pub expected: Option<f64>,
    /// How many were due in the steady part this time.
    pub scheduled: u64,
    /// How many of those were begun.
    pub begun: u64,
    /// How many of those were dropped.
    pub dropped: u64,
}

/// The generator itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GeneratorSummary {
    /// The plane that carried the bytes.
    pub plane: String,
    /// Processors the workers were bound to.
    pub processors: Vec<u32>,
    /// Who runs on which processors and why, in words; null where that was not chosen.
    #[serde(default)]
    pub placement: Option<String>,
    /// The share of its time that each worker computed.
    pub worker_busy: Vec<f64>,
    /// Processor time of all workers in the steady part.
    pub cpu_ns: u64,
    /// How late scheduled wakes were handled.
    pub lateness: Option<TimingSummary>,
    /// How long turns of the event loops took.
    pub loop_lag: Option<TimingSummary>,
    /// The arrivals of an open load; null in a closed loop.
    pub arrivals: Option<ArrivalsSummary>,
    /// Requests in the system on average over the steady part, counted while running: Little's L.
    pub in_system_mean: Option<f64>,
    /// How often a worker had to wait for the writer of samples.
    pub writer_stalls: u64,
    /// Samples lost.
    pub samples_lost: u64,
}

/// A whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// The version of this schema.
    pub schema_version: u32,
    /// What the run was.
    pub heading: Heading,
    /// False for a run that goes on, was interrupted or killed.
    pub complete: bool,
    /// Why it is not complete.
    pub incomplete_reason: Option<String>,
    /// How long each phase lasted.
    pub phases: Phases,
    /// May it be believed?
    pub verdict: Verdict,
    /// What was asked of the server, and whether it was kept.
    pub thresholds: Vec<ThresholdResult>,
    /// The measured part.
    pub steady: PartSummary,
    /// The measured part of each class of clients; empty where there are no classes.
    #[serde(default)]
    pub classes: Vec<ClassSummary>,
    /// The part before it.
    pub warm_up: PartSummary,
    /// The pages of the measured part; null where pages are not told apart.
    #[serde(default)]
    pub pages: Option<PagesSummary>,
    /// The states of sessions in the measured part, in order; empty where users are in no sessions with states.
    #[serde(default)]
    pub states: Vec<StateSummary>,
    /// The sessions that began in the measured part; null where there were none in the whole run.
    #[serde(default)]
    pub sessions: Option<SessionsSummary>,
    /// What failed in sessions, the most frequent first: at most a hundred kinds of failures.
    #[serde(default)]
    pub failures: Vec<FailureSummary>,
    /// The file in the run directory with the first of these failures, each with its request and reply; null if nothing failed.
    #[serde(default)]
    pub failures_file: Option<String>,
    /// Requests due after the measured part.
    pub drained_requests: u64,
    /// The connections.
    pub connections: ConnectionsSummary,
    /// Content that was decoded; null if none was.
    #[serde(default)]
    pub content: Option<ContentSummary>,
    /// The generator itself.
    pub generator: GeneratorSummary,
    /// The emulated network; null on a plane that has none.
    #[serde(default)]
    pub network: Option<NetworkSummary>,
    /// What limits of the server's processor time and memory did; null where it has none.
    #[serde(default)]
    pub server_limits: Option<ServerLimits>,
    /// The file in the run directory with a row for each second; null if there is none.
    pub series_file: Option<String>,
    /// What else a reader should know: one sentence each.
    pub warnings: Vec<String>,
}

/// What a summary is made of, besides the fold and the engine's stats.
#[derive(Debug, Clone, Copy)]
pub struct SummaryContext<'a> {
    /// What the run was.
    pub heading: &'a Heading,
    /// The limits of the verdict.
    pub limits: &'a VerdictLimits,
    /// What was asked of the server.
    pub thresholds: &'a [Threshold],
    /// The name of the series' file.
    pub series_file: Option<&'a str>,
}

impl Summary {
    /// The summary of a run that ended at `until`.
    pub fn new(context: SummaryContext<'_>, fold: &Fold, stats: &EngineStats, until: Instant) -> Summary {
        let mut summary = Summary::pausing(context, fold, stats, until, &|| {});
        summary.warnings.extend(change::warning(fold, until));
        summary
    }

    fn pausing(
        context: SummaryContext<'_>,
        fold: &Fold,
        stats: &EngineStats,
        until: Instant,
        pause: &dyn Fn(),
    ) -> Summary {
        let verdict = Verdict::judge(context, fold, stats, until);
        let completed = verdict.checks.iter().find(|check| check.name == "completed");
        let incomplete_reason = completed.and_then(|check| check.note.clone());
        let phases = phases(fold, until);
        Summary {
            schema_version: SCHEMA_VERSION,
            heading: context.heading.clone(),
            complete: incomplete_reason.is_none(),
            incomplete_reason,
            phases,
            thresholds: context.thresholds.iter().map(|threshold| threshold.evaluate(fold, until)).collect(),
            steady: PartSummary::of(fold.steady(), Duration::from_ns(phases.steady_ns), pause),
            classes: ClassSummary::of_all(fold, Duration::from_ns(phases.steady_ns), pause),
            warm_up: PartSummary::of(fold.warm_up(), Duration::from_ns(phases.warm_up_ns), pause),
            pages: fold.pages().map(|pages| PagesSummary::of(pages, fold.pages_unfinished(None))),
            states: StateSummary::of_all(fold, pause),
            sessions: SessionsSummary::of(fold),
            failures: FailureSummary::of_all(fold),
            failures_file: context
                .series_file
                .and_then(|_| (fold.failures().kept() > 0).then(|| FAILURES_FILE.to_owned())),
            drained_requests: fold.drained(),
            connections: connections(fold, stats),
            content: (stats.coded_bytes > 0).then_some(ContentSummary {
                coded_bytes: stats.coded_bytes,
                decoded_bytes: stats.decoded_bytes,
            }),
            generator: generator(stats, phases),
            network: stats.network.as_ref().map(NetworkSummary::of),
            server_limits: stats.server_limits,
            series_file: context.series_file.map(str::to_owned),
            warnings: warnings(fold, stats, &verdict, until),
            verdict,
        }
    }

    /// The summary so far of a run that still goes on: what is left behind if it is killed. `pause` is called between
    /// pieces of work, tens of microseconds each.
    pub fn checkpoint(
        context: SummaryContext<'_>,
        fold: &Fold,
        stats: &mut EngineStats,
        until: Instant,
        pause: &dyn Fn(),
    ) -> Summary {
        // The stats hold histograms, which are too much to copy.
        let so_far = "the run had not ended when this was written".to_owned();
        let interrupted = stats.interrupted.replace(so_far);
        let summary = Summary::pausing(context, fold, stats, until, pause);
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

fn phases(fold: &Fold, until: Instant) -> Phases {
    let window = fold.window();
    Phases {
        warm_up_ns: window.measure_from.min(until).as_ns(),
        steady_ns: window.elapsed(until).as_ns(),
        drain_ns: until.since(window.measure_to).as_ns(),
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
        resent_requests: stats.resent,
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
        arrivals: stats.arrivals.map(|arrivals| ArrivalsSummary {
            expected: arrivals.expected,
            scheduled: arrivals.scheduled,
            begun: arrivals.begun,
            dropped: arrivals.dropped,
        }),
        in_system_mean: (phases.steady_ns > 0).then_some(in_system),
        writer_stalls: stats.writer_stalls,
        samples_lost: stats.samples_lost,
    }
}

fn warnings(fold: &Fold, stats: &EngineStats, verdict: &Verdict, until: Instant) -> Vec<String> {
    let mut warnings = stats.warnings.clone();
    let judged = verdict
        .checks
        .iter()
        .any(|check| check.name == "server-silent" && check.state != CheckState::Skipped);
    warnings.extend(silence::warning(fold, stats, until, judged));
    let clamped: u64 = fold.steady().times.iter().map(|(_, times)| times.clamped()).sum();
    if clamped > 0 {
        warnings.push(format!("{clamped} times were longer than a day and count as a day."));
    }
    let left_out = fold.states().left_out();
    if left_out > 0 {
        warnings
            .push(format!("Only the first {} states are told apart; {left_out} more are not.", States::MAX));
    }
    let other_kinds = fold.failures().left_out();
    if other_kinds > 0 {
        warnings.push(format!("{other_kinds} failures in sessions are of more kinds than are told apart."));
    }
    if stats.unasked > 0 {
        warnings.push(format!(
            "{} connections were given up: bytes came on them that no request had asked for.",
            stats.unasked
        ));
    }
    if stats.objects_left_out > 0 {
        warnings.push(format!(
            "{} objects were not fetched: their pages embed more than a user fetches of one.",
            stats.objects_left_out
        ));
    }
    if stats.forms_unlike > 0 {
        warnings.push(format!(
            "{} forms were sent with fields or a button that their page does not have: `farfield try` names them.",
            stats.forms_unlike
        ));
    }
    warnings.extend(only_redirects(fold));
    let redirects = [
        (Outcome::RedirectElsewhere, "redirects to another server or scheme were not followed"),
        (Outcome::RedirectLoop, "redirects came behind as many as `session.redirects` follows"),
        (Outcome::LinkElsewhere, "links or forms lead to another server or scheme and were not asked for"),
    ];
    for (outcome, sentence) in redirects {
        let count = fold.warm_up().count(outcome) + fold.steady().count(outcome);
        if count > 0 {
            warnings.push(format!("{count} {sentence}; they count as `{}`.", outcome.name()));
        }
    }
    if fold.series().outside() > 0 {
        warnings.push(format!("{} events lie past the end of the series.", fold.series().outside()));
    }
    warnings
}

/// The warning that most of what was measured are redirects, which nobody followed: users of sessions do.
fn only_redirects(fold: &Fold) -> Option<String> {
    let (redirects, ok) = (fold.steady().redirects, fold.steady().count(Outcome::Ok));
    let followed = fold.states().counted().len() > 0;
    (!followed && redirects > 0 && 2 * redirects >= ok).then(|| {
        format!(
            "{redirects} of {ok} replies that count as ok are redirects, and what they lead to was not asked for: ask for that, or \
             write a `[session]`, whose users follow them."
        )
    })
}

#[cfg(test)]
mod tests;
