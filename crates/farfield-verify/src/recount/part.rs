//! A part of a run in a summary, counted from its samples: requests by when they were due, events by when
//! they happened, times, outcomes, and what was open at the end.

use super::Recount;
use super::batches::{Division, NoInterval, TimesByBatch};
use super::expected::Expected;
use super::streams::Streams;
use super::times::{Estimate, Intervals, SortedTimes, either};
use crate::run::FlowPlace;
use farfield_base::{HostNumber, Outcome, ReplyEvent, Sample, Stamp};
use std::collections::BTreeMap;

/// Part of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunPart {
    /// Before the measured part.
    WarmUp,
    /// The measured part.
    Steady,
}

/// Requests that are counted by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestScope {
    /// All.
    All,
    /// Requests of a class of clients.
    Class(u16),
    /// Requests of a flow of users.
    Flow(FlowPlace),
    /// Requests for a host.
    Host(HostNumber),
}

impl RequestScope {
    fn has(self, class: u16, host: HostNumber, request: u32) -> bool {
        match self {
            RequestScope::Host(own) => own == host,
            RequestScope::All => true,
            RequestScope::Class(own) => own == class,
            RequestScope::Flow(place) => place.has(request),
        }
    }
}

/// The times, by name.
pub const TIMES: [&str; 6] = ["response", "service", "connect", "reply", "transfer", "first_event"];

/// The time `name` of a sample in nanoseconds, as far as it came to it.
fn time_of(name: &str, sample: &Sample) -> Option<u64> {
    let at = |stamp: Stamp| stamp.instant().map(|at| at.as_ns());
    let (done, sent) = (sample.done.as_ns(), at(sample.sent));
    // Instants that lie the wrong way round have no time between them.
    let span = |from: u64, to: u64| to.saturating_sub(from);
    let left = sample.events.is_some_and(|events| events.left);
    match name {
        "response" | "service" | "transfer" if left => None,
        "first_event" => Some(span(sample.due.as_ns(), at(sample.events?.first)?)),
        "response" => Some(span(sample.due.as_ns(), done)),
        "service" => Some(span(sent?, done)),
        "connect" => Some(span(at(sample.connect_begun)?, at(sample.connected)?)),
        "reply" => Some(span(sent?, at(sample.first_byte)?)),
        _ => Some(span(at(sample.first_byte)?, done)),
    }
}

/// The age of a time that had begun and was not over when its request was given up, or the run ended.
fn age_of(name: &str, sample: &Sample) -> Option<u64> {
    // Nothing is waited for after a message on a WebSocket that is only sent, which is marked as left.
    if sample.is_left() && sample.first_byte == Stamp::NEVER {
        return None;
    }
    let at = |stamp: Stamp| stamp.instant().map(|at| at.as_ns());
    let since = match name {
        "response" => Some(sample.due.as_ns()),
        "service" => at(sample.sent),
        "connect" if at(sample.connected).is_none() => at(sample.connect_begun),
        "reply" if at(sample.first_byte).is_none() => at(sample.sent),
        "transfer" => at(sample.first_byte),
        "first_event" => sample.events.filter(|own| own.events == 0).map(|_| sample.due.as_ns()),
        _ => None,
    };
    since.map(|since| sample.done.as_ns().saturating_sub(since))
}

/// True if a whole reply came, whatever was made of it.
pub(super) fn is_whole(outcome: Outcome) -> bool {
    use Outcome::{
        BadCoding, CheckFailed, ExtractFailed, Ok, RedirectElsewhere, RedirectLoop, Status4xx, Status5xx,
        Unasked, WebSocketRefused,
    };
    [
        Ok,
        Status4xx,
        Status5xx,
        CheckFailed,
        ExtractFailed,
        RedirectElsewhere,
        RedirectLoop,
        BadCoding,
        Unasked,
        WebSocketRefused,
    ]
    .contains(&outcome)
}

/// A time of the requests of a part.
pub struct TimeCounts {
    pub seen: SortedTimes,
    pub estimate: Option<Estimate>,
    pub batches: Result<TimesByBatch, NoInterval>,
}

impl TimeCounts {
    fn expected(&self, of: &Recount<'_>) -> Expected {
        let intervals = if of.has_intervals {
            Intervals::Of(self.batches.as_ref().map_err(|none| *none))
        } else {
            Intervals::Unjudged
        };
        self.seen.expected(intervals)
    }
}

/// Instants of a part beside those at which its requests were due, since its beginning.
#[derive(Clone, Copy, Default)]
struct Ends<'a> {
    completed: &'a [u64],
    succeeded: &'a [u64],
    latest_event: Option<u64>,
}

/// The gaps before the events that came in a part.
fn gaps(of: &Recount<'_>, came: &[&ReplyEvent], division: Division, has_batches: bool) -> TimeCounts {
    let mut values: Vec<(u64, u64)> = Vec::new();
    for own in came {
        let at = of.since(own.at.as_ns(), own.at.as_ns());
        values.extend(own.gap.map(|gap| (at, gap.as_ns())));
        values.extend((0..own.alongside).map(|_| (at, 0)));
    }
    let refused = match has_batches {
        true => division.beside_sessions(of.session_ns),
        false => Some(NoInterval::because("not-kept")),
    };
    let batches = refused.map_or_else(|| TimesByBatch::of(division, &values), Err);
    TimeCounts { seen: SortedTimes::of(values.iter().map(|(_, ns)| *ns)), estimate: None, batches }
}

/// A time of the requests `due`, of which `judged` count where unfinished ones may be ignored; without
/// intervals for the reason in `refused`.
fn time_counts(
    of: &Recount<'_>,
    due: &[&Sample],
    judged: &[&&Sample],
    name: &str,
    division: Division,
    refused: Option<NoInterval>,
) -> TimeCounts {
    use Outcome::{ConnectTimedOut, TimedOut, Unfinished};
    let since = |own: &Sample| of.since(own.due.as_ns(), own.due.as_ns());
    let of_ok = |own: &&&Sample| matches!(name, "connect" | "first_event") || own.outcome == Outcome::Ok;
    let value = |own: &&Sample| Some((since(own), time_of(name, own)?));
    let values: Vec<(u64, u64)> = due.iter().filter(of_ok).filter_map(value).collect();
    // A stream that was left before its first event came is no failure, and its event was waited for.
    let is_awaited = |own: &Sample| name == "first_event" && own.is_left() && own.first_byte != Stamp::NEVER;
    let is_open =
        |own: &&&&Sample| matches!(own.outcome, Unfinished | TimedOut | ConnectTimedOut) || is_awaited(own);
    let ages = SortedTimes::of(judged.iter().filter(is_open).filter_map(|own| age_of(name, own)));
    let seen = SortedTimes::of(values.iter().map(|(_, ns)| *ns));
    let estimate = Estimate::of(&seen, &ages);
    let batches = refused.map_or_else(|| TimesByBatch::of(division, &values), Err);
    TimeCounts { seen, estimate, batches }
}

/// Events of a part, each by when it happened.
#[derive(Debug, Clone, Copy, Default)]
pub struct Events {
    pub offered: u64,
    pub sent: u64,
    pub completed: u64,
    pub succeeded: u64,
    pub ended: u64,
    pub connects: u64,
    pub connected: u64,
    pub body_bytes: u64,
    pub reply_bytes: u64,
}

/// All that is counted of a part, a class or a state.
pub struct PartCounts {
    pub requests: u64,
    pub begun: u64,
    pub outcomes: BTreeMap<u8, u64>,
    pub statuses: BTreeMap<u16, u64>,
    pub error_share: Option<f64>,
    pub error_interval: Result<[f64; 2], NoInterval>,
    /// The interval of the share of each outcome that occurred.
    outcome_intervals: BTreeMap<u8, Result<[f64; 2], NoInterval>>,
    offered_interval: Result<[f64; 2], NoInterval>,
    completed_interval: Result<[f64; 2], NoInterval>,
    pub events: Events,
    pub streams: Streams,
    pub succeeded_interval: Result<[f64; 2], NoInterval>,
    pub lasted_ns: u64,
    pub times: BTreeMap<&'static str, TimeCounts>,
    /// Gaps between events of streams, and the number of these; `None` where they were not kept.
    pub gaps: Option<TimeCounts>,
    pub reply_events: Option<u64>,
    unfinished: SortedTimes,
}

impl PartCounts {
    /// Counts a part, of all requests or of those of a class or a flow.
    pub fn part(of: &Recount<'_>, which: RunPart, whose: RequestScope) -> PartCounts {
        let samples = || of.samples.iter().filter(move |own| whose.has(own.class, own.host, own.request));
        let due: Vec<&Sample> = samples().filter(|own| of.is_due(which, own)).collect();
        let mut events = Events::default();
        let (mut completed, mut succeeded) = (Vec::new(), Vec::new());
        for sample in samples() {
            let inside = |ns: u64| of.happened(which, sample, ns);
            let at = |stamp: Stamp| u64::from(stamp.instant().is_some_and(|at| inside(at.as_ns())));
            let (ok, open) = (sample.outcome == Outcome::Ok, sample.outcome == Outcome::Unfinished);
            let done = inside(sample.done.as_ns());
            events.offered += u64::from(inside(sample.due.as_ns()));
            events.sent += at(sample.sent);
            events.connects += at(sample.connect_begun);
            events.connected += at(sample.connected);
            events.completed += u64::from(done && is_whole(sample.outcome));
            events.succeeded += u64::from(done && ok);
            events.ended += u64::from(done && !open);
            events.body_bytes += if done { sample.body_bytes } else { 0 };
            events.reply_bytes += if done { sample.reply_bytes } else { 0 };
            if done && is_whole(sample.outcome) {
                let since = of.since(sample.due.as_ns(), sample.done.as_ns());
                completed.push(since);
                succeeded.extend(ok.then_some(since));
            }
        }
        let lasted_ns = match which {
            RunPart::WarmUp => of.from,
            RunPart::Steady => of.left(),
        };
        let of_streams = of.events.map(|events| {
            let own = events.iter().filter(|own| whose.has(own.class, own.host, own.request));
            own.collect::<Vec<&ReplyEvent>>()
        });
        let streams = Streams::of(of, &samples().collect::<Vec<_>>(), &due, of_streams.as_deref(), which);
        let came = of_streams
            .map(|own| own.into_iter().filter(|own| of.came(which, own)).collect::<Vec<&ReplyEvent>>());
        let steady = which == RunPart::Steady;
        let latest = came.iter().flatten().map(|own| of.since(own.at.as_ns(), own.at.as_ns())).max();
        let ends = Ends { completed: &completed, succeeded: &succeeded, latest_event: latest };
        let (division, mut counted) = PartCounts::requests(of, &due, &TIMES, lasted_ns, steady, ends);
        counted.gaps = came.as_deref().map(|came| gaps(of, came, division, steady));
        counted.reply_events = came.map(|came| came.iter().map(|own| own.events()).sum());
        counted.events = events;
        counted.streams = streams;
        counted
    }

    /// Counts the requests of the measured part that are of a state, by its number.
    pub fn state(of: &Recount<'_>, number: u32) -> PartCounts {
        let own = of.samples.iter().filter(|own| own.request == number);
        let due: Vec<&Sample> = own.filter(|own| of.is_due(RunPart::Steady, own)).collect();
        // A state that was never asked for has no batches.
        PartCounts::requests(of, &due, &["response"], of.left(), !due.is_empty(), Ends::default()).1
    }

    fn requests(
        of: &Recount<'_>,
        due: &[&Sample],
        names: &[&'static str],
        lasted_ns: u64,
        has_batches: bool,
        Ends { completed, succeeded, latest_event }: Ends<'_>,
    ) -> (Division, PartCounts) {
        let since = |own: &Sample| of.since(own.due.as_ns(), own.due.as_ns());
        let latest = due.iter().map(|own| since(own)).chain(completed.iter().copied()).chain(latest_event);
        let latest = latest.max();
        let division = Division::of(lasted_ns, latest.unwrap_or(0));
        let none = NoInterval::because("not-kept");
        let mut outcomes: BTreeMap<u8, u64> = BTreeMap::new();
        let mut statuses: BTreeMap<u16, u64> = BTreeMap::new();
        for sample in due {
            *outcomes.entry(sample.outcome.code()).or_default() += 1;
            if sample.status > 0 && sample.outcome.is_reply() {
                *statuses.entry(sample.status).or_default() += 1;
            }
        }
        let counts = |own: &&&Sample| !(of.ignores_unfinished && own.outcome == Outcome::Unfinished);
        let judged: Vec<&&Sample> = due.iter().filter(counts).collect();
        let failed: Vec<&&&Sample> = judged.iter().filter(|own| own.outcome != Outcome::Ok).collect();
        let by_batch =
            |all: &mut dyn Iterator<Item = u64>| division.counts(all.collect::<Vec<_>>().into_iter());
        let dues = by_batch(&mut judged.iter().map(|own| since(own)));
        let share_of = |is_counted: &dyn Fn(&Sample) -> bool| {
            if !has_batches {
                return Err(none);
            }
            let own: Vec<u64> = judged.iter().filter(|own| is_counted(own)).map(|own| since(own)).collect();
            let counts = division.counts(own.iter().copied());
            division.share(&counts, &dues, own.len() as u64, judged.len() as u64)
        };
        let error_interval = share_of(&|own| own.outcome != Outcome::Ok);
        let ignored = judged.len() < due.len();
        let of_outcome = |code: &u8| match ignored && *code == Outcome::Unfinished.code() {
            true => (*code, Err(none)),
            false => (*code, share_of(&|own| own.outcome.code() == *code)),
        };
        let outcome_intervals = outcomes.keys().map(of_outcome).collect();
        let short = division.beside_sessions(of.session_ns);
        let rate_of = |events: &[u64]| match (has_batches, short) {
            (true, Some(short)) => Err(short),
            (true, None) => division.rate(&division.counts(events.iter().copied()), events.len() as u64),
            (false, _) => Err(none),
        };
        let dues: Vec<u64> = judged.iter().map(|own| since(own)).collect();
        let refused = if has_batches { short } else { Some(none) };
        let times = names.iter().map(|name| (*name, time_counts(of, due, &judged, name, division, refused)));
        let times = times.collect();
        let open = due.iter().filter(|own| own.outcome == Outcome::Unfinished);
        let unfinished = SortedTimes::of(open.map(|own| own.done.as_ns().saturating_sub(own.due.as_ns())));
        let share = failed.len() as f64 / judged.len() as f64;
        let counted = PartCounts {
            requests: due.len() as u64,
            begun: due.iter().filter(|own| own.begun().is_some()).count() as u64,
            outcomes,
            statuses,
            error_share: (!judged.is_empty()).then_some(share),
            error_interval,
            outcome_intervals,
            offered_interval: if ignored { Err(none) } else { rate_of(&dues) },
            completed_interval: rate_of(completed),
            events: Events::default(),
            streams: Streams::default(),
            succeeded_interval: rate_of(succeeded),
            lasted_ns,
            times,
            gaps: None,
            reply_events: None,
            unfinished,
        };
        (division, counted)
    }

    /// True if some replies are streams of events.
    pub fn has_streams(&self) -> bool {
        self.streams.streams > 0
    }

    /// Requests that ended so.
    pub fn count(&self, outcome: Outcome) -> u64 {
        self.outcomes.get(&outcome.code()).copied().unwrap_or(0)
    }

    /// A number a second.
    pub fn per_s(&self, count: u64) -> f64 {
        count as f64 / (self.lasted_ns as f64 / 1e9)
    }

    /// The part as its summary should have it. `scheduled` arrivals count as offered where these are more.
    pub fn expected(&self, of: &Recount<'_>, scheduled: Option<u64>) -> Expected {
        let (error_interval, no_error_interval) = self.interval(of, self.error_interval, 1e-6);
        let estimates = self.times.iter().map(|(name, counts)| {
            (*name, counts.estimate.as_ref().map_or(Expected::Nothing, Estimate::expected))
        });
        let times = self.times.keys().map(|name| (*name, self.expected_time(of, name)));
        let gaps = self.gaps.as_ref().map_or(Expected::Open, |gaps| gaps.expected(of));
        let times = times.chain([("event_gap", gaps)]);
        Expected::record([
            ("requests", Expected::Count(self.requests)),
            ("begun", Expected::Count(self.begun)),
            ("error_share", Expected::near_or_nothing(self.error_share)),
            ("error_share_interval", error_interval),
            ("no_error_share_interval", no_error_interval),
            ("rates", self.rates(of, scheduled)),
            ("times", Expected::Record(times.collect())),
            ("estimates", Expected::Record(estimates.collect())),
            ("unfinished", self.unfinished.expected(of.without_intervals())),
            ("events", self.streams.expected(self.reply_events, self.lasted_ns)),
            ("stalls", self.streams.expected_stalls(of.stall_ns)),
            ("outcomes", self.outcomes(of)),
            ("statuses", self.statuses(of)),
        ])
    }

    /// A state as the summary should have it; its name is the scenario's.
    pub fn expected_of_state(&self, of: &Recount<'_>) -> Expected {
        let (error_interval, no_error_interval) = self.interval(of, self.error_interval, 1e-6);
        let rate = (self.lasted_ns > 0).then(|| self.per_s(self.requests));
        let requests_per_s = if of.has_newer { Expected::near_or_nothing(rate) } else { Expected::Open };
        Expected::record([
            ("name", Expected::Open),
            ("requests", Expected::Count(self.requests)),
            ("requests_per_s", requests_per_s),
            ("requests_interval_per_s", self.newer_interval(of, self.offered_interval, 1e-7)),
            ("error_share", Expected::near_or_nothing(self.error_share)),
            ("error_share_interval", error_interval),
            ("no_error_share_interval", no_error_interval),
            ("response", self.expected_time(of, "response")),
            ("outcomes", self.outcomes(of)),
            ("statuses", self.statuses(of)),
        ])
    }

    fn expected_time(&self, of: &Recount<'_>, name: &str) -> Expected {
        self.times[name].expected(of)
    }

    /// The time of this field of a summary.
    pub fn time(&self, field: &str) -> Option<&TimeCounts> {
        if field == "event_gap" { self.gaps.as_ref() } else { self.times.get(field) }
    }

    fn rates(&self, of: &Recount<'_>, scheduled: Option<u64>) -> Expected {
        if self.lasted_ns == 0 {
            return Expected::Nothing;
        }
        let rate = |count: u64| Expected::near(self.per_s(count));
        let (interval, no_interval) = self.interval(of, self.succeeded_interval, 1e-7);
        let events = &self.events;
        let offered_interval = match scheduled.is_some_and(|scheduled| scheduled > events.offered) {
            true => Expected::Nothing,
            false => self.newer_interval(of, self.offered_interval, 1e-7),
        };
        // Older summaries have the rate of success alone, under the name of all replies.
        let replies = if of.has_succeeded {
            vec![
                ("completed_per_s", rate(events.completed)),
                ("completed_interval_per_s", self.newer_interval(of, self.completed_interval, 1e-7)),
                ("succeeded_per_s", rate(events.succeeded)),
                ("succeeded_interval_per_s", interval),
                ("no_succeeded_interval", no_interval),
            ]
        } else {
            vec![
                ("completed_per_s", rate(events.succeeded)),
                ("completed_interval_per_s", interval),
                ("no_completed_interval", no_interval),
            ]
        };
        let others = [
            ("offered_per_s", rate(events.offered.max(scheduled.unwrap_or(0)))),
            ("offered_interval_per_s", offered_interval),
            ("sent_per_s", rate(events.sent)),
            ("ended_per_s", rate(events.ended)),
            ("connects_per_s", rate(events.connects)),
            ("body_bytes_per_s", rate(events.body_bytes)),
            ("reply_bytes_per_s", rate(events.reply_bytes)),
        ];
        Expected::Record(others.into_iter().chain(replies).collect())
    }

    /// The interval of [`PartCounts::interval`], where the farfield that made the summary has such intervals.
    fn newer_interval(&self, of: &Recount<'_>, interval: Result<[f64; 2], NoInterval>, by: f64) -> Expected {
        if of.has_newer { self.interval(of, interval, by).0 } else { Expected::Open }
    }

    /// An interval of numbers that are off by a share of `by` for rounding, and why there is none.
    fn interval(
        &self,
        of: &Recount<'_>,
        interval: Result<[f64; 2], NoInterval>,
        by: f64,
    ) -> (Expected, Expected) {
        if !of.has_intervals {
            return (Expected::Open, Expected::Open);
        }
        either(interval, |ends| {
            // Of so many requests both computations are approximations, each by another formula.
            let (width, middle) = (ends[1] - ends[0], f64::midpoint(ends[0], ends[1]));
            let worth = middle * (1.0 - middle) * (3.92 / width.max(f64::MIN_POSITIVE)).powi(2);
            let approximated = if worth > 1e5 { 0.01 * width } else { 0.0 };
            let end = |value: f64| Expected::Near { value, by: by * value.abs() + 1e-9 + approximated };
            Expected::List(ends.map(end).to_vec())
        })
    }

    /// Status codes of replies, where the farfield that made the summary counts them.
    fn statuses(&self, of: &Recount<'_>) -> Expected {
        let row = |(status, count): (&u16, &u64)| {
            Expected::record([
                ("status", Expected::Count(u64::from(*status))),
                ("count", Expected::Count(*count)),
            ])
        };
        if of.has_statuses { Expected::List(self.statuses.iter().map(row).collect()) } else { Expected::Open }
    }

    fn outcomes(&self, of: &Recount<'_>) -> Expected {
        let rows = Outcome::ALL.into_iter().filter(|outcome| self.count(*outcome) > 0).map(|outcome| {
            Expected::record([
                ("name", Expected::word(outcome.name())),
                ("fault", Expected::word(outcome.fault().name())),
                ("count", Expected::Count(self.count(outcome))),
                ("share_interval", self.newer_interval(of, self.outcome_intervals[&outcome.code()], 1e-6)),
            ])
        });
        Expected::List(rows.collect())
    }
}
