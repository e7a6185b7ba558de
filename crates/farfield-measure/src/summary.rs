//! The summary: a whole run in one JSON document, with a published schema.
//!
//! It holds all that a reader needs and nothing to be computed again: times are whole nanoseconds
//! (`…_ns`), rates are a second (`…_per_s`), and what was not measured is null, never zero. A run that
//! goes on, or was killed, leaves a summary with `complete` false.

use crate::facts::{EngineFacts, NetworkDrops, NetworkFacts};
use crate::fold::{Events, Fold, Part};
use crate::histogram::Histogram;
use crate::pages::PageTimes;
use crate::quantile::Quantile;
use crate::reuse::ReuseClass;
use crate::threshold::{Threshold, ThresholdResult};
use crate::timing::Timings;
use crate::verdict::{Verdict, VerdictLimits};
use farfield_base::{Duration, Instant, Outcome};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of the schema; grows when a reader of the old one would be misled.
pub const SCHEMA_VERSION: u32 = 2;

/// The percentiles that every timing has, first to last.
const QUANTILES: [Quantile; 6] =
    [Quantile::P50, Quantile::P90, Quantile::P95, Quantile::P99, Quantile::P99_9, Quantile::P99_99];

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

/// A percentile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QuantileSummary {
    /// Which: "p99.9".
    pub name: String,
    /// Its value, above the true one by less than 0.1 %.
    pub value_ns: u64,
    /// The 95 % confidence interval, for independent samples; null where there are too few to tell.
    pub interval_ns: Option<[u64; 2]>,
}

/// One of the five times, or of the generator's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimingSummary {
    /// How many were measured.
    pub count: u64,
    /// How many of them exceeded 24 hours and count as that.
    pub clamped: u64,
    /// The mean.
    pub mean_ns: u64,
    /// The sample standard deviation; null for one value.
    pub sd_ns: Option<u64>,
    /// The shortest.
    pub min_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// The percentiles p50, p90, p95, p99, p99.9 and p99.99, by nearest rank.
    pub quantiles: Vec<QuantileSummary>,
}

impl TimingSummary {
    /// `None` for a histogram that holds nothing.
    pub fn of(times: &Histogram) -> Option<TimingSummary> {
        // The checkpoint of a run asks for these every second, between requests: one way through the bins does.
        let count = times.count();
        let wanted = QUANTILES.map(|quantile| {
            let (low, high) = quantile.interval_ranks(count).unwrap_or((0, 0));
            [quantile.rank(count).unwrap_or(0), low, high]
        });
        let found = times.at_ranks(wanted.as_flattened());
        let ns = |time: Option<Duration>| time.map(Duration::as_ns);
        let told = |(quantile, found): (Quantile, &[Option<Duration>])| {
            Some(QuantileSummary {
                name: quantile.to_string(),
                value_ns: ns(found[0])?,
                interval_ns: ns(found[1]).zip(ns(found[2])).map(<[u64; 2]>::from),
            })
        };
        Some(TimingSummary {
            count: times.count(),
            clamped: times.clamped(),
            mean_ns: times.mean()?.as_ns(),
            sd_ns: times.standard_deviation().map(Duration::as_ns),
            min_ns: times.min()?.as_ns(),
            max_ns: times.max()?.as_ns(),
            quantiles: QUANTILES.into_iter().zip(found.chunks(3)).filter_map(told).collect(),
        })
    }

    /// The value of a percentile that the summary holds, in nanoseconds.
    pub fn quantile_ns(&self, quantile: Quantile) -> Option<u64> {
        let name = quantile.to_string();
        self.quantiles.iter().find(|held| held.name == name).map(|held| held.value_ns)
    }
}

/// How many requests ended in one way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutcomeCount {
    /// The outcome's name: "timed-out".
    pub name: String,
    /// Whose doing it is: "none", "server", "network", "client" or "protocol".
    pub fault: String,
    /// How many.
    pub count: u64,
}

/// Events a second: each counted in the part in which it happened.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rates {
    /// Requests due.
    pub offered_per_s: f64,
    /// Requests sent.
    pub sent_per_s: f64,
    /// Replies that completed with success.
    pub completed_per_s: f64,
    /// Requests that ended in any way.
    pub ended_per_s: f64,
    /// Attempts to connect.
    pub connects_per_s: f64,
    /// Bytes of bodies.
    pub body_bytes_per_s: f64,
    /// All bytes of replies.
    pub reply_bytes_per_s: f64,
}

impl Rates {
    fn of(events: &Events, over: Duration) -> Option<Rates> {
        let per_s = |count: u64| count as f64 / over.as_secs_f64();
        (!over.is_zero()).then(|| Rates {
            offered_per_s: per_s(events.offered),
            sent_per_s: per_s(events.sent),
            completed_per_s: per_s(events.completed),
            ended_per_s: per_s(events.ended),
            connects_per_s: per_s(events.connects_begun),
            body_bytes_per_s: per_s(events.body_bytes),
            reply_bytes_per_s: per_s(events.reply_bytes),
        })
    }
}

/// The warm-up or the steady part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartSummary {
    /// Requests due in this part.
    pub requests: u64,
    /// Of those, requests for which the client acted at all.
    pub begun: u64,
    /// Of those, the share that went wrong, over all whose end was seen; null if no end was seen.
    pub error_share: Option<f64>,
    /// Rates; null for a part that took no time.
    pub rates: Option<Rates>,
    /// The times of successful requests, and of all connections; null where none was measured.
    pub times: Timings<Option<TimingSummary>>,
    /// How the requests ended; only what occurred.
    pub outcomes: Vec<OutcomeCount>,
}

impl PartSummary {
    fn of(part: &Part, lasted: Duration, pause: &dyn Fn()) -> PartSummary {
        let counted = Outcome::ALL.into_iter().map(|outcome| OutcomeCount {
            name: outcome.name().to_owned(),
            fault: outcome.fault().name().to_owned(),
            count: part.count(outcome),
        });
        PartSummary {
            requests: part.requests(),
            begun: part.begun,
            error_share: part.error_share(),
            rates: Rates::of(&part.events, lasted),
            times: part.times.map(|times| {
                pause();
                TimingSummary::of(times)
            }),
            outcomes: counted.filter(|outcome| outcome.count > 0).collect(),
        }
    }
}

/// The steady part of one class of clients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClassSummary {
    /// Its name.
    pub name: String,
    /// Its part of all requests that were due; null if none was.
    pub share: Option<f64>,
    /// What was measured of it.
    pub steady: PartSummary,
}

impl ClassSummary {
    fn of_all(fold: &Fold, lasted: Duration, pause: &dyn Fn()) -> Vec<ClassSummary> {
        let all = fold.steady().requests();
        let class = |(name, part): (&str, &Part)| ClassSummary {
            name: name.to_owned(),
            share: (all > 0).then(|| part.requests() as f64 / all as f64),
            steady: PartSummary::of(part, lasted, pause),
        };
        fold.classes().map(class).collect()
    }
}

/// The pages that were due in the measured part and are over: what users asked for, with all that it led to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PagesSummary {
    /// Pages without a failure.
    pub completed: u64,
    /// Pages with a request that failed.
    pub failed: u64,
    /// Requests a page, on average.
    pub requests_mean: f64,
    /// From when a page was due to the end of its last request; null if none was completed.
    pub response: Option<TimingSummary>,
    /// From when a page was due to the first byte of the last object that came; null if none was completed.
    pub html_latency: Option<TimingSummary>,
}

impl PagesSummary {
    fn of(pages: &PageTimes) -> PagesSummary {
        let completed = pages.response.count();
        PagesSummary {
            completed,
            failed: pages.failed,
            requests_mean: pages.requests as f64 / (completed + pages.failed) as f64,
            response: TimingSummary::of(&pages.response),
            html_latency: TimingSummary::of(&pages.html_latency),
        }
    }
}

/// The emulated network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkSummary {
    /// Clients.
    pub clients: u64,
    /// Shards that they were dealt out over.
    pub shards: u64,
    /// What the gateway is made of; null where the server is a model.
    pub gateway: Option<String>,
    /// The unloaded round trip of the nearest client.
    pub round_trip_ns_least: u64,
    /// That of the farthest.
    pub round_trip_ns_largest: u64,
    /// How late packets left for the server.
    pub departure_lateness: Option<TimingSummary>,
    /// How late packets reached clients.
    pub arrival_lateness: Option<TimingSummary>,
    /// How late packets were taken over from other shards; null where shards share no links.
    #[serde(default)]
    pub crossing_lateness: Option<TimingSummary>,
    /// Packets handed to the server.
    pub packets_up: u64,
    /// Packets taken from it.
    pub packets_down: u64,
    /// Packets that the gateway lost: the emulator's fault.
    pub gateway_overruns: u64,
    /// Packets that the network did not deliver: the scenario's doing.
    pub drops: NetworkDrops,
    /// Packets that capturing lost.
    pub capture_drops: u64,
}

impl NetworkSummary {
    fn of(facts: &NetworkFacts) -> NetworkSummary {
        NetworkSummary {
            clients: facts.clients,
            shards: facts.shards,
            gateway: facts.gateway.clone(),
            round_trip_ns_least: facts.round_trip_least.as_ns(),
            round_trip_ns_largest: facts.round_trip_largest.as_ns(),
            departure_lateness: TimingSummary::of(&facts.departure_lateness),
            arrival_lateness: TimingSummary::of(&facts.arrival_lateness),
            crossing_lateness: TimingSummary::of(&facts.crossing_lateness),
            packets_up: facts.packets_up,
            packets_down: facts.packets_down,
            gateway_overruns: facts.overruns,
            drops: facts.drops,
            capture_drops: facts.capture_drops,
        }
    }
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
    /// Requests due after the measured part.
    pub drained_requests: u64,
    /// The connections.
    pub connections: ConnectionsSummary,
    /// The generator itself.
    pub generator: GeneratorSummary,
    /// The emulated network; null on a plane that has none.
    #[serde(default)]
    pub network: Option<NetworkSummary>,
    /// The file in the run directory with a row for each second; null if there is none.
    pub series_file: Option<String>,
    /// What else a reader should know: one sentence each.
    pub warnings: Vec<String>,
}

/// What a summary is made of, besides the fold and the engine's facts.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
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
    pub fn new(asked: Asked<'_>, fold: &Fold, facts: &EngineFacts, until: Instant) -> Summary {
        Summary::pausing(asked, fold, facts, until, &|| {})
    }

    fn pausing(
        asked: Asked<'_>,
        fold: &Fold,
        facts: &EngineFacts,
        until: Instant,
        pause: &dyn Fn(),
    ) -> Summary {
        let verdict = Verdict::judge(fold, facts, asked.limits, until);
        let completed = verdict.checks.iter().find(|check| check.name == "completed");
        let incomplete_reason = completed.and_then(|check| check.note.clone());
        let phases = phases(fold, until);
        Summary {
            schema_version: SCHEMA_VERSION,
            heading: asked.heading.clone(),
            complete: incomplete_reason.is_none(),
            incomplete_reason,
            phases,
            thresholds: asked.thresholds.iter().map(|threshold| threshold.evaluate(fold, until)).collect(),
            steady: PartSummary::of(fold.steady(), Duration::from_ns(phases.steady_ns), pause),
            classes: ClassSummary::of_all(fold, Duration::from_ns(phases.steady_ns), pause),
            warm_up: PartSummary::of(fold.warm_up(), Duration::from_ns(phases.warm_up_ns), pause),
            pages: fold.pages().map(PagesSummary::of),
            drained_requests: fold.drained(),
            connections: connections(fold, facts),
            generator: generator(facts, phases),
            network: facts.network.as_ref().map(NetworkSummary::of),
            series_file: asked.series_file.map(str::to_owned),
            warnings: warnings(fold, facts),
            verdict,
        }
    }

    /// The summary so far of a run that still goes on: what is left behind if it is killed. `pause` is called between
    /// pieces of work, tens of microseconds each.
    pub fn checkpoint(
        asked: Asked<'_>,
        fold: &Fold,
        facts: &mut EngineFacts,
        until: Instant,
        pause: &dyn Fn(),
    ) -> Summary {
        // The facts hold histograms, which are too much to copy.
        let so_far = "the run had not ended when this was written".to_owned();
        let interrupted = facts.interrupted.replace(so_far);
        let summary = Summary::pausing(asked, fold, facts, until, pause);
        facts.interrupted = interrupted;
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

fn connections(fold: &Fold, facts: &EngineFacts) -> ConnectionsSummary {
    let (warm_up, steady) = (&fold.warm_up().events, &fold.steady().events);
    let reuse = fold.reuse();
    let used = reuse.connections();
    ConnectionsSummary {
        attempts: warm_up.connects_begun + steady.connects_begun,
        established: warm_up.connected + steady.connected,
        open_max: facts.connections_open.iter().copied().max(),
        used,
        requests_mean: (used > 0).then(|| reuse.requests() as f64 / used as f64),
        requests_max: reuse.most(),
        requests_per_connection: reuse.classes(),
        resent_requests: facts.resent,
    }
}

fn generator(facts: &EngineFacts, phases: Phases) -> GeneratorSummary {
    let cpu = facts.workers.iter().fold(Duration::ZERO, |sum, worker| sum + worker.cpu);
    let in_system = facts.in_system_ns as f64 / phases.steady_ns as f64;
    GeneratorSummary {
        plane: facts.plane.clone(),
        processors: facts.processors.clone(),
        worker_busy: facts.workers.iter().map(|worker| worker.busy()).collect(),
        cpu_ns: cpu.as_ns(),
        lateness: TimingSummary::of(&facts.lateness),
        loop_lag: TimingSummary::of(&facts.loop_lag),
        arrivals: facts.arrivals.map(|arrivals| ArrivalsSummary {
            expected: arrivals.expected,
            scheduled: arrivals.scheduled,
            begun: arrivals.begun,
            dropped: arrivals.dropped,
        }),
        in_system_mean: (phases.steady_ns > 0).then_some(in_system),
        writer_stalls: facts.writer_stalls,
        samples_lost: facts.samples_lost,
    }
}

fn warnings(fold: &Fold, facts: &EngineFacts) -> Vec<String> {
    let mut warnings = facts.warnings.clone();
    let clamped: u64 = fold.steady().times.iter().map(|(_, times)| times.clamped()).sum();
    if clamped > 0 {
        warnings.push(format!("{clamped} times were longer than a day and count as a day."));
    }
    if fold.series().outside() > 0 {
        warnings.push(format!("{} events lie past the end of the series.", fold.series().outside()));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::scene::{fold, sample, window};
    use crate::verdict::scene::{END, good_run};
    use farfield_base::Sample;

    fn heading() -> Heading {
        Heading {
            farfield: "0.1.0".to_owned(),
            scenario: "quick".to_owned(),
            target: "http://127.0.0.1:8080/".to_owned(),
            seed: u64::MAX,
            load: LoadKind::Open,
            load_words: "open loop, constant, 200/s".to_owned(),
            started_at: "2026-01-02T03:04:05Z".to_owned(),
        }
    }

    fn summary(fold: &Fold, facts: &EngineFacts, until: Instant) -> Summary {
        let thresholds = ["p99<200ms".parse().expect("a threshold")];
        let (heading, limits) = (heading(), VerdictLimits::default());
        let asked = Asked {
            heading: &heading,
            limits: &limits,
            thresholds: &thresholds,
            series_file: Some("series.parquet"),
        };
        Summary::new(asked, fold, facts, until)
    }

    #[test]
    fn says_what_the_run_was() {
        let (fold, facts) = good_run();
        let summary = summary(&fold, &facts, END);
        assert!(summary.complete && summary.verdict.valid && summary.thresholds[0].passed);
        assert_eq!(summary.phases, Phases { warm_up_ns: 0, steady_ns: END.as_ns(), drain_ns: 0 });
        let rates = summary.steady.rates.expect("a second");
        assert_eq!((rates.offered_per_s, rates.completed_per_s), (200.0, 200.0));
        assert_eq!(rates.body_bytes_per_s, 20_000.0);
        assert_eq!(summary.warm_up.rates, None);
        assert_eq!(summary.warm_up.times.response, None);
        let response = summary.steady.times.response.as_ref().expect("200 times");
        assert_eq!((response.count, response.mean_ns, response.sd_ns), (200, 1_000_000, Some(0)));
        assert_eq!(response.quantile_ns(Quantile::P99), Some(1_000_000));
        assert_eq!(response.quantiles[3].interval_ns, None); // 200 are too few for the p99
        assert!(response.quantiles[0].interval_ns.is_some());
        assert_eq!(summary.generator.in_system_mean, Some(0.2));
        assert_eq!(summary.steady.outcomes.len(), 1);
    }

    #[test]
    fn survives_json_to_the_last_bit() {
        let (fold, facts) = good_run();
        for until in [END, Instant::from_ns(333_333_333)] {
            let summary = summary(&fold, &facts, until);
            assert_eq!(Summary::from_json(&summary.to_json()).expect("its own text"), summary);
        }
    }

    #[test]
    fn nothing_measured_makes_no_number_up() {
        let empty = summary(&fold(window(0, 1000), &[]), &EngineFacts::default(), Instant::ZERO);
        assert_eq!(empty.steady.rates, None);
        assert_eq!(empty.generator.in_system_mean, None);
        assert!(!empty.complete);
        assert_eq!(Summary::from_json(&empty.to_json()).expect("its own text"), empty);
    }

    /// Each class against its samples counted one by one.
    #[test]
    fn classes_are_told_apart() {
        const MS: u64 = 1_000_000;
        let names = ["fibre", "modem"].map(str::to_owned);
        let samples: Vec<Sample> = (0..200_u64)
            .map(|n| {
                let class = u16::from(n % 4 == 0);
                let outcome = if n % 8 == 0 { Outcome::Reset } else { Outcome::Ok };
                Sample {
                    class,
                    outcome,
                    ..sample(n * 5 * MS, (n * 5 + 1 + 100 * u64::from(class) + n % 9) * MS)
                }
            })
            .collect();
        let mut fold = Fold::of_classes(window(0, 1000), &names);
        samples.iter().for_each(|sample| fold.record(sample));
        let summary = summary(&fold, &EngineFacts::default(), END);
        for (number, class) in summary.classes.iter().enumerate() {
            let own = || samples.iter().filter(|sample| usize::from(sample.class) == number);
            assert_eq!(class.name, names[number]);
            assert_eq!(class.steady.requests, own().count() as u64);
            assert_eq!(class.share, Some(own().count() as f64 / 200.0));
            let failed = own().filter(|sample| sample.outcome != Outcome::Ok).count();
            assert_eq!(class.steady.error_share, Some(failed as f64 / own().count() as f64));
            let mut took: Vec<u64> =
                own().filter(|s| s.outcome == Outcome::Ok).map(|s| s.response_time().as_ns()).collect();
            took.sort_unstable();
            let exact = took[took.len().div_ceil(2) - 1] as f64;
            let times = class.steady.times.response.as_ref().expect("times");
            let p50 = times.quantile_ns(Quantile::P50).expect("a median") as f64;
            assert!((p50 - exact).abs() <= exact / 1024.0, "{p50} for {exact}");
            assert_eq!((times.min_ns, times.max_ns), (took[0], took[took.len() - 1]));
        }
        assert_eq!(Summary::from_json(&summary.to_json()).expect("its own text"), summary);
    }

    #[test]
    fn a_checkpoint_is_not_complete() {
        let (fold, facts) = good_run();
        let (heading, limits) = (heading(), VerdictLimits::default());
        let asked = Asked { heading: &heading, limits: &limits, thresholds: &[], series_file: None };
        let summary = Summary::checkpoint(asked, &fold, &mut facts.clone(), END, &|| {});
        assert!(!summary.complete && !summary.verdict.valid);
        assert!(summary.incomplete_reason.expect("a reason").contains("not ended"));
    }

    #[test]
    fn absurd_times_are_told() {
        let absurd = Sample { done: Instant::MAX, ..sample(0, 1) };
        let summary = summary(&fold(window(0, 1000), &[absurd]), &EngineFacts::default(), END);
        assert_eq!(summary.warnings.len(), 2);
    }

    /// The schema lists each field of the document, and the units stand in the names.
    #[test]
    fn the_schema_knows_every_field() {
        let schema = summary_schema();
        let (fold, facts) = good_run();
        let document: serde_json::Value =
            serde_json::from_str(&summary(&fold, &facts, END).to_json()).expect("JSON");
        let known = |name: &str| schema["properties"].get(name).is_some();
        for name in document.as_object().expect("an object").keys() {
            assert!(known(name), "{name}");
        }
        let timing = &schema["$defs"]["TimingSummary"]["properties"];
        assert!(timing["mean_ns"]["description"].is_string());
    }
}
