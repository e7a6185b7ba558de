//! A part of the run in a summary: its rates, times and outcomes, also by class of clients; its pages; its
//! states.

use super::{EstimateSummary, LoadKind, TimingSummary};
use crate::batches::interval::{NoInterval, NoIntervalReason};
use crate::batches::{Batches, MeasuredPart};
use crate::engine_stats::Arrivals;
use crate::fold::{EventCounts, Fold, PhaseStats};
use crate::hosts::HostLabel;
use crate::outcomes::OutcomeCounts;
use crate::pages::PageTimes;
use crate::stages::{StageFigures, Stages};
use crate::states::StateCount;
use crate::statuses::StatusCounts;
use crate::stream_counts::{EventsSummary, StallsSummary};
use crate::timing::{Timing, Timings};
use farfield_base::{Duration, Instant, Outcome};
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use std::ops::Range;

/// Number of requests with one outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OutcomeCount {
    /// The outcome's name: "timed-out".
    pub name: String,
    /// Party at fault: "none", "server", "network", "client" or "protocol".
    pub fault: String,
    /// Number of requests.
    pub count: u64,
    /// The 95 % confidence interval of its share of the requests; null if there is none, as of paths, and
    /// where the error share has none.
    #[serde(default)]
    pub share_interval: Option<[f64; 2]>,
}

impl OutcomeCount {
    /// The outcomes that occurred, counted by their codes, each with the interval of its share.
    pub(super) fn of_all(
        outcomes: &OutcomeCounts,
        interval: impl Fn(Outcome) -> Option<[f64; 2]>,
    ) -> Vec<OutcomeCount> {
        let counted = Outcome::ALL.into_iter().map(|outcome| OutcomeCount {
            name: outcome.name().to_owned(),
            fault: outcome.fault().name().to_owned(),
            count: outcomes.of(outcome),
            share_interval: (outcomes.of(outcome) > 0).then(|| interval(outcome)).flatten(),
        });
        counted.filter(|outcome| outcome.count > 0).collect()
    }
}

/// A status code, and how many replies had it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatusCount {
    /// The code.
    pub status: u16,
    /// Number of replies.
    pub count: u64,
}

impl StatusCount {
    pub(super) fn of_all(statuses: &StatusCounts) -> Vec<StatusCount> {
        statuses.iter().map(|(status, count)| StatusCount { status, count }).collect()
    }
}

/// Events a second, each counted in the part in which it happened.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Rates {
    /// Requests due.
    pub offered_per_s: f64,
    /// The 95 % confidence interval of the rate of requests due; null if there is none, as in a summary by
    /// an older farfield.
    pub offered_interval_per_s: Option<[f64; 2]>,
    /// Requests sent.
    pub sent_per_s: f64,
    /// Replies that came as a whole, whatever their status; null in a summary by an older farfield, which
    /// counted those with success alone.
    pub completed_per_s: Option<f64>,
    /// The 95 % confidence interval of the rate of whole replies; null if there is none, as in a summary by
    /// an older farfield.
    pub completed_interval_per_s: Option<[f64; 2]>,
    /// Whole replies with success.
    pub succeeded_per_s: f64,
    /// The 95 % confidence interval of the rate of success; null if there is none.
    pub succeeded_interval_per_s: Option<[f64; 2]>,
    /// Why that rate has no interval; null if it has one, and in a summary by an older farfield.
    pub no_succeeded_interval: Option<NoInterval>,
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
    fn of(
        events: &EventCounts,
        batches: Result<&Batches, NoInterval>,
        measured: MeasuredPart,
    ) -> Option<Rates> {
        let over = measured.lasted;
        let succeeded_interval = batches.and_then(|batches| batches.succeeded_per_s(measured));
        let per_s = |count: u64| count as f64 / over.as_secs_f64();
        (!over.is_zero()).then(|| Rates {
            offered_per_s: per_s(events.offered),
            offered_interval_per_s: batches.and_then(|batches| batches.due_per_s(measured)).ok(),
            sent_per_s: per_s(events.sent),
            completed_per_s: Some(per_s(events.completed)),
            completed_interval_per_s: batches.and_then(|batches| batches.completed_per_s(measured)).ok(),
            succeeded_per_s: per_s(events.succeeded),
            succeeded_interval_per_s: succeeded_interval.ok(),
            no_succeeded_interval: succeeded_interval.err(),
            ended_per_s: per_s(events.ended),
            connects_per_s: per_s(events.connects_begun),
            body_bytes_per_s: per_s(events.body_bytes),
            reply_bytes_per_s: per_s(events.reply_bytes),
        })
    }
}

/// Rates as a summary has them. Up to version 2 `completed` was the rate of successful replies, and there was
/// no other.
#[derive(Deserialize)]
struct WrittenRates {
    offered_per_s: f64,
    sent_per_s: f64,
    completed_per_s: Option<f64>,
    succeeded_per_s: Option<f64>,
    #[serde(default)]
    offered_interval_per_s: Option<[f64; 2]>,
    #[serde(default)]
    completed_interval_per_s: Option<[f64; 2]>,
    #[serde(default)]
    succeeded_interval_per_s: Option<[f64; 2]>,
    #[serde(default, alias = "no_completed_interval")]
    no_succeeded_interval: Option<NoInterval>,
    ended_per_s: f64,
    connects_per_s: f64,
    body_bytes_per_s: f64,
    reply_bytes_per_s: f64,
}

impl<'de> Deserialize<'de> for Rates {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Rates, D::Error> {
        let written = WrittenRates::deserialize(deserializer)?;
        let has_both = written.succeeded_per_s.is_some();
        let succeeded_per_s = written.succeeded_per_s.or(written.completed_per_s);
        let of_success = written.succeeded_interval_per_s;
        let succeeded_per_s = succeeded_per_s.ok_or_else(|| Error::missing_field("succeeded_per_s"))?;
        Ok(Rates {
            offered_per_s: written.offered_per_s,
            offered_interval_per_s: written.offered_interval_per_s,
            sent_per_s: written.sent_per_s,
            completed_per_s: written.completed_per_s.filter(|_| has_both),
            completed_interval_per_s: written.completed_interval_per_s.filter(|_| has_both),
            succeeded_per_s,
            succeeded_interval_per_s: if has_both { of_success } else { written.completed_interval_per_s },
            no_succeeded_interval: written.no_succeeded_interval,
            ended_per_s: written.ended_per_s,
            connects_per_s: written.connects_per_s,
            body_bytes_per_s: written.body_bytes_per_s,
            reply_bytes_per_s: written.reply_bytes_per_s,
        })
    }
}

/// The warm-up or the steady part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartSummary {
    /// Requests due in this part.
    pub requests: u64,
    /// Requests due for which the client acted at all.
    pub begun: u64,
    /// Share of requests that went wrong, those among them that were unfinished at the end of the run; null
    /// without requests. Where the scenario says so (`run.unfinished`), unfinished ones are left out.
    pub error_share: Option<f64>,
    /// The 95 % confidence interval of the error share; null if there is none.
    #[serde(default)]
    pub error_share_interval: Option<[f64; 2]>,
    /// Why the error share has no interval; null if it has one, and in a summary by an older farfield.
    #[serde(default)]
    pub no_error_share_interval: Option<NoInterval>,
    /// Rates; null for a part that took no time.
    pub rates: Option<Rates>,
    /// The times of successful requests, and of all connections; null where none was measured.
    pub times: Timings<Option<TimingSummary>>,
    /// The times, estimated with the requests that were given up or still open at the end of the run (Kaplan
    /// and Meier 1958); null for a time without censored values.
    #[serde(default)]
    pub estimates: Timings<Option<EstimateSummary>>,
    /// Ages, from due to the end of the run, of the requests that were still open then; null if
    /// there were none.
    #[serde(default)]
    pub unfinished: Option<TimingSummary>,
    /// Replies that are streams of events; null if there were none.
    #[serde(default)]
    pub events: Option<EventsSummary>,
    /// Replies in the midst of which nothing came for long; null if there were none.
    #[serde(default)]
    pub stalls: Option<StallsSummary>,
    /// Outcomes of the requests; only those that occurred.
    pub outcomes: Vec<OutcomeCount>,
    /// Status codes of replies to them, in order; only those that occurred.
    #[serde(default)]
    pub statuses: Vec<StatusCount>,
}

impl PartSummary {
    /// Summary of a part that is `measured`; with intervals if the run `ended`.
    pub(super) fn of(
        part: &PhaseStats,
        measured: MeasuredPart,
        ended: bool,
        pause: &dyn Fn(),
    ) -> PartSummary {
        let batches = batches_of(part.batches(), ended);
        let error_share_interval = batches.and_then(|batches| batches.error_share(measured.lasted));
        let of_outcome = |outcome| batches.ok()?.outcome_share(outcome, measured.lasted).ok();
        PartSummary {
            requests: part.requests(),
            begun: part.begun,
            error_share: part.error_share(),
            error_share_interval: error_share_interval.ok(),
            no_error_share_interval: error_share_interval.err(),
            rates: Rates::of(&part.events, batches, measured),
            times: part.times.map_timed(|timing, times| {
                pause();
                let intervals = batches.and_then(|batches| batches.times(timing, measured));
                TimingSummary::with_intervals(times, intervals, pause)
            }),
            estimates: EstimateSummary::of_all(part, pause),
            unfinished: part.unfinished.histogram().and_then(TimingSummary::of),
            events: EventsSummary::of(&part.streams, measured.lasted),
            stalls: StallsSummary::of(&part.streams),
            outcomes: OutcomeCount::of_all(&part.outcomes, of_outcome),
            statuses: StatusCount::of_all(&part.statuses),
        }
    }
}

/// The batches that intervals come from, or why there are none.
fn batches_of(batches: Option<&Batches>, ended: bool) -> Result<&Batches, NoInterval> {
    let reason = if ended { NoIntervalReason::NotKept } else { NoIntervalReason::NotEnded };
    batches.filter(|_| ended).ok_or(NoInterval::because(reason))
}

impl PartSummary {
    /// Counts arrivals of an open load as offered that workers never came to and that have no row: far more
    /// than are worth one each were offered.
    pub(super) fn with_arrivals(
        mut self,
        load: LoadKind,
        arrivals: Option<Arrivals>,
        steady_ns: u64,
    ) -> PartSummary {
        if let (LoadKind::Open, Some(arrivals), Some(rates)) = (load, arrivals, &mut self.rates) {
            let scheduled_per_s = arrivals.scheduled as f64 / Duration::from_ns(steady_ns).as_secs_f64();
            if scheduled_per_s > rates.offered_per_s {
                (rates.offered_per_s, rates.offered_interval_per_s) = (scheduled_per_s, None);
            }
        }
        self
    }
}

/// The steady part of one class of clients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClassSummary {
    /// Name of the class.
    pub name: String,
    /// Share of the class in all requests that were due; null if none was.
    pub share: Option<f64>,
    /// Measurements of the class.
    pub steady: PartSummary,
    /// Pages of the class in the measured part; null if pages are not tracked.
    #[serde(default)]
    pub pages: Option<PagesSummary>,
}

impl ClassSummary {
    pub(super) fn of_all(
        fold: &Fold,
        measured: MeasuredPart,
        ended: bool,
        pause: &dyn Fn(),
    ) -> Vec<ClassSummary> {
        let all = fold.steady().requests();
        let class = |(place, (name, part)): (usize, (&str, &PhaseStats))| ClassSummary {
            name: name.to_owned(),
            share: (all > 0).then(|| part.requests() as f64 / all as f64),
            steady: PartSummary::of(part, measured, ended, pause),
            pages: fold
                .pages_of_class(place)
                .map(|pages| PagesSummary::of(pages, fold.pages_unfinished(Some(place)))),
        };
        fold.classes().enumerate().map(class).collect()
    }
}

/// The measured part of one flow of users.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowSummary {
    /// Name of the flow.
    pub name: String,
    /// Share of the flow in all requests that were due; null if none was.
    pub share: Option<f64>,
    /// The number of the first of its requests in samples.
    pub first_request: u32,
    /// The number of its requests that are distinguished.
    pub requests: u32,
    /// Measurements of the flow.
    pub steady: PartSummary,
}

impl FlowSummary {
    pub(super) fn of_all(
        fold: &Fold,
        measured: MeasuredPart,
        ended: bool,
        pause: &dyn Fn(),
    ) -> Vec<FlowSummary> {
        let all = fold.steady().requests();
        let flow = |(name, requests, part): (&str, Range<u32>, &PhaseStats)| FlowSummary {
            name: name.to_owned(),
            share: (all > 0).then(|| part.requests() as f64 / all as f64),
            first_request: requests.start,
            requests: requests.end - requests.start,
            steady: PartSummary::of(part, measured, ended, pause),
        };
        fold.flows().iter().map(flow).collect()
    }
}

/// The measured part of one host that users ask.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostSummary {
    /// Name of the host.
    pub name: String,
    /// Scheme, name or address, and port.
    pub url: String,
    /// Share of the host in all requests that were due; null if none was.
    pub share: Option<f64>,
    /// Measurements of the host.
    pub steady: PartSummary,
}

impl HostSummary {
    pub(super) fn of_all(
        fold: &Fold,
        measured: MeasuredPart,
        ended: bool,
        pause: &dyn Fn(),
    ) -> Vec<HostSummary> {
        let all = fold.steady().requests();
        let host = |(label, part): (&HostLabel, &PhaseStats)| HostSummary {
            name: label.name.clone(),
            url: label.url.clone(),
            share: (all > 0).then(|| part.requests() as f64 / all as f64),
            steady: PartSummary::of(part, measured, ended, pause),
        };
        fold.hosts().iter().map(host).collect()
    }
}

/// A stage of the load, as far as it lies in the measured part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageSummary {
    /// Name of the stage.
    pub name: String,
    /// The course of the load in it, in words: "0 to 100 users".
    pub course: String,
    /// Begin of the stage, on the run's clock.
    pub from_ns: u64,
    /// End of the stage, on the run's clock.
    pub to_ns: u64,
    /// Measurements of the stage.
    pub steady: PartSummary,
}

impl StageSummary {
    pub(super) fn of_all(
        stages: &Stages,
        (measured, until): (MeasuredPart, Instant),
        ended: bool,
        pause: &dyn Fn(),
    ) -> Vec<StageSummary> {
        let stage = |stage: StageFigures<'_>| StageSummary {
            name: stage.span.name.clone(),
            course: stage.span.course.clone(),
            from_ns: stage.span.from.as_ns(),
            to_ns: stage.span.to.min(until).as_ns(),
            steady: PartSummary::of(stage.part, stage.measured(measured, until), ended, pause),
        };
        let begun = |stage: &StageFigures<'_>| stage.span.from < until;
        stages.iter().filter(begun).map(stage).collect()
    }
}

/// The pages that were due in the measured part and are over: what users asked for, with all that it led to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PagesSummary {
    /// Pages without a failure.
    pub completed: u64,
    /// Pages with a request that failed.
    pub failed: u64,
    /// Pages that were not over at the end of the run.
    #[serde(default)]
    pub unfinished: u64,
    /// Requests a page that is over, on average.
    pub requests_mean: f64,
    /// From when a page was due to the end of its last request; null if none was completed.
    pub response: Option<TimingSummary>,
    /// From when a page was due to the first byte of the last object that came; null if none was completed.
    pub html_latency: Option<TimingSummary>,
}

impl PagesSummary {
    pub(super) fn of(pages: &PageTimes, unfinished: u64) -> PagesSummary {
        let completed = pages.response.count();
        PagesSummary {
            completed,
            failed: pages.failed,
            unfinished,
            requests_mean: pages.requests as f64 / (completed + pages.failed) as f64,
            response: TimingSummary::of(&pages.response),
            html_latency: TimingSummary::of(&pages.html_latency),
        }
    }
}

/// A state of sessions: its own requests that were due in the measured part, and the redirects that these
/// led to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StateSummary {
    /// Name of the state.
    pub name: String,
    /// Requests due.
    pub requests: u64,
    /// Requests due a second; null in a summary by an older farfield, and of a part that took no time.
    #[serde(default)]
    pub requests_per_s: Option<f64>,
    /// The 95 % confidence interval of that rate; null if there is none.
    #[serde(default)]
    pub requests_interval_per_s: Option<[f64; 2]>,
    /// Share of requests that went wrong, as in the whole of the part; null without requests.
    pub error_share: Option<f64>,
    /// The 95 % confidence interval of the error share; null if there is none.
    #[serde(default)]
    pub error_share_interval: Option<[f64; 2]>,
    /// Why the error share has no interval; null if it has one, and in a summary by an older farfield.
    #[serde(default)]
    pub no_error_share_interval: Option<NoInterval>,
    /// Response times of those that went well; null if there are none.
    pub response: Option<TimingSummary>,
    /// Outcomes of the requests; only those that occurred.
    pub outcomes: Vec<OutcomeCount>,
    /// Status codes of replies to them, in order; only those that occurred.
    #[serde(default)]
    pub statuses: Vec<StatusCount>,
}

impl StateSummary {
    pub(super) fn of_all(
        fold: &Fold,
        measured: MeasuredPart,
        ended: bool,
        pause: &dyn Fn(),
    ) -> Vec<StateSummary> {
        let ignores_unfinished = fold.steady().ignores_unfinished();
        let state = |(name, state): (&str, Option<&StateCount>)| {
            pause();
            let batches = batches_of(state.map(|state| &state.batches), ended);
            let error_share_interval = batches.and_then(|batches| batches.error_share(measured.lasted));
            let intervals = batches.and_then(|batches| batches.times(Timing::Response, measured));
            let of_outcome = |outcome| batches.ok()?.outcome_share(outcome, measured.lasted).ok();
            let (requests, seconds) = (state.map_or(0, StateCount::requests), measured.lasted.as_secs_f64());
            StateSummary {
                name: name.to_owned(),
                requests,
                requests_per_s: (seconds > 0.0).then(|| requests as f64 / seconds),
                requests_interval_per_s: batches.and_then(|batches| batches.due_per_s(measured)).ok(),
                error_share: state.and_then(|state| state.error_share(ignores_unfinished)),
                error_share_interval: error_share_interval.ok(),
                no_error_share_interval: error_share_interval.err(),
                response: state
                    .and_then(|state| TimingSummary::with_intervals(&state.response, intervals, pause)),
                outcomes: state
                    .map_or_else(Vec::new, |state| OutcomeCount::of_all(&state.outcomes, of_outcome)),
                statuses: state.map_or_else(Vec::new, |state| StatusCount::of_all(&state.statuses)),
            }
        };
        fold.states().counted().map(state).collect()
    }
}
