//! A summary counted again: all of its numbers from the samples, what the scenario asked for and the packets,
//! by a path of its own.
//!
//! The document is read as it stands there, field by field. Of the code that made it (folds, histograms,
//! batches, estimates) nothing is used: times are sorted lists, percentiles their elements, intervals sums by
//! their definition. What both share are the definitions on docs/run-directory.md and docs/statistics.md, and
//! the times of a [`Sample`].
//!
//! [`LEFT_OUT`] names the numbers that no sample and no packet can show, each with the reason. A number that
//! is neither counted again nor named there is unread; a test holds that there is none in real summaries,
//! so that whoever adds a field must choose.

mod batches;
mod checks;
mod connections;
mod expected;
mod flows;
mod hosts;
mod part;
mod sessions;
mod settling;
mod spectrum;
mod stages;
mod streams;
mod threshold;
mod times;

pub use expected::Difference;

use crate::run::{AskedFlow, FlowPlace, ScenarioDemands};
use crate::set_aside::SetAside;
use expected::Expected;
use farfield_base::{Outcome, PagePart, ReplyEvent, Sample, StageSpan};
use farfield_traffic::LoadModel;
use hosts::KnownHost;
use part::{PartCounts, RequestScope, RunPart};
use serde_json::Value;
use std::collections::BTreeMap;
use times::{Intervals, SortedTimes};

/// The most by which one worker ends after another at the end of a run.
const WORKERS_APART_NS: f64 = 5e9;

/// Numbers that neither samples nor packets show, by their place in the document, and why. A place stands for
/// all that is below it; what of it can be compared is.
pub const LEFT_OUT: [(&str, &str); 30] = [
    ("schema_version", "the form of the document, which its reader looks at"),
    (
        "phases.drain_ns",
        "when the last worker ended: known from below, and more closely if a request was open then",
    ),
    (
        "verdict.checks[].measured",
        "the engine's measurements of itself; those that samples decide are compared",
    ),
    ("verdict.checks[].limit", "what the scenario allows"),
    ("verdict.disturbed", "the engine's measurement of its own stalls"),
    ("paths", "which path the number of a request stands for is in the scenario's files"),
    ("sessions.duration", "a session that is over and one that thinks look alike in samples"),
    ("failures", "causes are noted beside the samples, and the first of each kind are kept"),
    ("connections.open_max", "counted by the engine once a second"),
    ("connections.resent_requests", "a request that never left is in no packet"),
    ("connections.addresses", "counted by the engine, over the whole run"),
    ("handshakes.cpu", "processor time"),
    ("http.alternatives", "attempts that ended without a request"),
    ("http2.refused", "a request that was sent again is one sample"),
    ("content", "bytes before and after a coding are not in samples"),
    ("websockets", "messages that nobody awaited are in no sample"),
    ("generator.processors", "the machine's"),
    ("generator.worker_busy", "processor time"),
    ("generator.cpu_ns", "processor time"),
    ("generator.lateness", "the engine's measurement of its own wakes"),
    ("generator.loop_lag", "the engine's measurement of its own turns"),
    ("generator.writer_stalls", "the engine's count of its own waits"),
    ("generator.samples_lost", "what was lost is in no sample"),
    ("generator.datagrams_lost", "the kernel's count"),
    ("network", "counters inside the emulated network, of packets that no capture sees"),
    ("server_limits", "the server's control group"),
    ("bottleneck", "monitors' readings"),
    ("clock", "the packets' own instants show it: `clock-offset` and `clock-drift`"),
    ("captures[].lost", "the kernel's count"),
    ("captures[].cpu_ns", "processor time"),
];

/// Evidence that a summary is counted again from.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// All samples of the run.
    pub samples: &'a [Sample],
    /// Events of replies that are streams, if the run kept them.
    pub events: Option<&'a [ReplyEvent]>,
    /// The scenario's demands, if they are known.
    pub asked: Option<&'a ScenarioDemands>,
    /// The name of the capture that is compared, if it is one of the run's own that was read to its end, and
    /// the packets in it.
    pub capture: Option<(&'a str, u64)>,
}

/// The summary as `evidence` has it, and how the two differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recounted {
    /// Values that are others.
    pub differences: Vec<Difference>,
    /// Numbers that nobody looked at, by their places.
    pub unread: Vec<String>,
}

/// The values that a summary should have.
#[derive(Debug, Clone, PartialEq)]
pub struct Expectation(Expected);

impl Expectation {
    /// The expectation for the summary `said`, whose phases and names are believed: others count everything
    /// otherwise. `None` of a run that had not ended when the summary was written, or that is invalid since
    /// it lost samples.
    pub fn of(said: &Value, evidence: Evidence<'_>) -> Option<Expectation> {
        let reason = said.get("incomplete_reason").and_then(Value::as_str);
        let is_early = reason.is_some_and(|reason| reason.contains("had not ended when this was written"));
        (!is_early && !has_lost(said))
            .then(|| Expectation(Recount::of(said, evidence).expected(said, evidence)))
    }

    /// Differences of the summary `said` from it, and values that it has beside.
    pub fn compare(&self, said: &Value) -> Recounted {
        let is_left_out = |path: &str| LEFT_OUT.iter().any(|(place, _)| *place == path);
        Recounted {
            differences: expected::differences(said, &self.0),
            unread: expected::unread(said, &self.0, &is_left_out),
        }
    }
}

/// Counts the summary `said` again; `None` where an [`Expectation`] has nothing to go by.
pub fn recount(said: &Value, evidence: Evidence<'_>) -> Option<Recounted> {
    Some(Expectation::of(said, evidence)?.compare(said))
}

/// Facts of the run that counting needs.
pub(crate) struct Recount<'a> {
    samples: &'a [Sample],
    events: Option<&'a [ReplyEvent]>,
    /// The measured part, in nanoseconds.
    from: u64,
    to: u64,
    /// Seconds of it that are set aside.
    aside: SetAside,
    /// The run was over before the end that was asked for: what happened at its last instant is measured.
    ended_early: bool,
    /// Requests that were open at the end are no errors.
    ignores_unfinished: bool,
    /// The summary has intervals by batches: those of an older farfield are others.
    has_intervals: bool,
    /// The summary has status codes: that of an older farfield has none.
    has_statuses: bool,
    /// The summary tells successful replies from others that came.
    has_succeeded: bool,
    /// The summary has intervals of outcomes, and of the rates of what was offered and came.
    has_newer: bool,
    /// The longest gap in the midst of a reply that is no stall, where it is known.
    stall_ns: Option<u64>,
    /// The mean length of sessions, where they arrive by themselves.
    session_ns: Option<u64>,
    /// Names of the classes and states that are counted by themselves.
    classes: Vec<String>,
    states: Vec<String>,
    flows: Vec<(String, FlowPlace)>,
    /// The hosts that users ask.
    hosts: Vec<KnownHost>,
    stages: Vec<StageSpan>,
    /// The parts of the run between changes of its network.
    conditions: Vec<StageSpan>,
}

/// True if the verdict failed for samples that were lost.
fn has_lost(said: &Value) -> bool {
    let checks = at(said, &["verdict", "checks"]).and_then(Value::as_array);
    checks.into_iter().flatten().any(|check| check["name"] == "samples-lost" && check["state"] == "failed")
}

/// A number of the document, by the names on the way to it.
fn at<'a>(said: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(said, |value, name| value.get(name)).filter(|value| !value.is_null())
}

fn names_of(said: &Value, list: &str) -> Vec<String> {
    let rows = said.get(list).and_then(Value::as_array).into_iter().flatten();
    rows.map(|row| row.get("name").and_then(Value::as_str).unwrap_or_default().to_owned()).collect()
}

/// True if the run was over before the end that was asked for. Of an older farfield's, which does not say so,
/// where no request ends later than the measured part, and no worker waited for one.
fn ended_early(said: &Value, samples: &[Sample], to: u64) -> bool {
    let has_drained = || at(said, &["phases", "drain_ns"]).and_then(Value::as_u64).unwrap_or(0) > 0;
    match at(said, &["phases", "ended_early"]).and_then(Value::as_bool) {
        Some(early) => early,
        None => !has_drained() && samples.iter().all(|own| own.done.as_ns() <= to),
    }
}

impl<'a> Recount<'a> {
    fn of(said: &Value, evidence: Evidence<'a>) -> Recount<'a> {
        let ns = |name: &str| at(said, &["phases", name]).and_then(Value::as_u64).unwrap_or(0);
        let from = ns("warm_up_ns");
        let to = from.saturating_add(ns("steady_ns"));
        let times = ["response", "connect"].map(|name| at(said, &["steady", "times", name]));
        let has_reason = |times: &&Value| {
            ["mean_interval_ns", "no_mean_interval"].iter().any(|key| at(times, &[key]).is_some())
        };
        let mut recount = Recount {
            samples: evidence.samples,
            events: evidence.events,
            from,
            to,
            aside: SetAside::of(said),
            ended_early: ended_early(said, evidence.samples, to),
            ignores_unfinished: false,
            has_intervals: times.iter().flatten().any(has_reason)
                || at(said, &["steady", "no_error_share_interval"]).is_some()
                || at(said, &["steady", "error_share_interval"]).is_some(),
            has_statuses: at(said, &["steady", "statuses"])
                .and_then(Value::as_array)
                .is_some_and(|statuses| !statuses.is_empty()),
            has_succeeded: at(said, &["schema_version"]).and_then(Value::as_u64).is_none_or(|own| own >= 3),
            has_newer: at(said, &["steady", "rates", "offered_interval_per_s"]).is_some(),
            stall_ns: evidence
                .asked
                .map(|asked| asked.stall_ns)
                .or_else(|| at(said, &["steady", "stalls", "limit_ns"])?.as_u64()),
            session_ns: at(said, &["heading", "load"])
                .filter(|load| match load.as_str() {
                    Some("flows") => evidence.asked.is_some_and(ScenarioDemands::has_hybrid_flow),
                    load => load == Some("hybrid"),
                })
                .and_then(|_| at(said, &["sessions", "mean_length_ns"])?.as_u64()),
            classes: names_of(said, "classes"),
            states: names_of(said, "states"),
            flows: flows::flows(said, evidence.asked),
            hosts: hosts::hosts(said, evidence.asked),
            stages: stages::stages(
                said,
                evidence.asked.map(|asked| asked.only_load().map_or(&[][..], LoadModel::stages)),
            ),
            conditions: stages::spans(said, "conditions"),
        };
        // The scenario's `run.unfinished`, as the share of errors shows it where it matters.
        let due = recount.samples.iter().filter(|own| recount.is_due(RunPart::Steady, own));
        let ended = due.filter(|own| own.outcome != Outcome::Unfinished);
        let (all, failed) = ended.fold((0_u64, 0_u64), |(all, failed), own| {
            (all + 1, failed + u64::from(own.outcome != Outcome::Ok))
        });
        let share = at(said, &["steady", "error_share"]).and_then(Value::as_f64);
        recount.ignores_unfinished = match share {
            Some(share) => all > 0 && (share - failed as f64 / all as f64).abs() < 1e-9,
            None => all == 0,
        };
        recount
    }

    /// Intervals of times of which no batches are kept.
    fn without_intervals(&self) -> Intervals<'static> {
        if self.has_intervals { Intervals::NOT_KEPT } else { Intervals::Unjudged }
    }

    fn is_measured(&self, ns: u64) -> bool {
        self.from <= ns && (ns < self.to || self.ended_early && ns == self.to)
    }

    /// True if the sample was due in a second that is set aside.
    fn is_aside(&self, sample: &Sample) -> bool {
        self.is_measured(sample.due.as_ns()) && self.aside.contains(sample.due.as_ns())
    }

    /// An instant of a request that was due at `due`, since the beginning of the measured part, without what
    /// is set aside before it was due.
    fn since(&self, due: u64, ns: u64) -> u64 {
        ns.saturating_sub(self.from + self.aside.before(due))
    }

    /// The length of the measured part without what is set aside.
    fn left(&self) -> u64 {
        (self.to - self.from).saturating_sub(self.aside.total())
    }

    /// Record of the seconds set aside; nothing of a run that sets nothing aside.
    fn set_aside(&self, said: &Value, kept: u64) -> Expected {
        if at(said, &["set_aside"]).is_none() {
            return Expected::Nothing;
        }
        let own: Vec<&Sample> = self.samples.iter().filter(|own| self.is_aside(own)).collect();
        let all = own.len() as u64 + kept;
        let ok = || own.iter().filter(|own| own.outcome == Outcome::Ok);
        let response =
            ok().filter(|own| !own.is_left()).map(|own| own.done.as_ns().saturating_sub(own.due.as_ns()));
        Expected::record([
            ("asked_ns", Expected::Open),
            ("left_ns", Expected::Count(self.left())),
            ("seconds", Expected::Open),
            ("requests", Expected::Count(own.len() as u64)),
            ("requests_share", Expected::near_or_nothing((all > 0).then(|| own.len() as f64 / all as f64))),
            ("failed", Expected::Count((own.len() - ok().count()) as u64)),
            ("response", SortedTimes::of(response).expected(self.without_intervals())),
        ])
    }

    fn is_due(&self, which: RunPart, sample: &Sample) -> bool {
        let due = sample.due.as_ns();
        match which {
            RunPart::WarmUp => due < self.from,
            RunPart::Steady => self.is_measured(due) && !self.aside.contains(due),
        }
    }

    /// True if an event of `sample` at `ns` is one of the part.
    fn happened(&self, which: RunPart, sample: &Sample, ns: u64) -> bool {
        match which {
            RunPart::WarmUp => sample.due.as_ns() < self.from && ns < self.from,
            RunPart::Steady => self.is_measured(ns) && !self.is_aside(sample),
        }
    }

    /// True if events of a stream came in the part.
    fn came(&self, which: RunPart, event: &ReplyEvent) -> bool {
        let at = event.at.as_ns();
        match which {
            RunPart::WarmUp => at < self.from,
            RunPart::Steady => self.is_measured(at) && !self.aside.contains(at),
        }
    }

    /// The whole document.
    fn expected(&self, said: &Value, evidence: Evidence<'_>) -> Expected {
        let asked = evidence.asked;
        let (warm_up, steady) = (
            PartCounts::part(self, RunPart::WarmUp, RequestScope::All),
            PartCounts::part(self, RunPart::Steady, RequestScope::All),
        );
        let arrivals = asked.and_then(|asked| self.arrivals(asked));
        let only_load = asked.and_then(ScenarioDemands::only_load);
        let is_open = matches!(only_load, Some(LoadModel::Open { .. }));
        // Without a scenario it is not known what was offered.
        let sets_aside = at(said, &["set_aside"]).is_some();
        let scheduled = arrivals.map(|arrivals| arrivals.scheduled).filter(|_| is_open && !sets_aside);
        let is_drained = |due: u64| due >= self.to && !self.is_measured(due);
        let drained = self.samples.iter().filter(|own| is_drained(own.due.as_ns()));
        Expected::record([
            ("heading", heading(asked)),
            ("phases", self.phases(said)),
            ("set_aside", self.set_aside(said, steady.requests)),
            ("verdict", self.verdict(said, &steady)),
            ("thresholds", threshold::expected(self, said.get("thresholds").unwrap_or(&Value::Null))),
            ("steady", steady.expected(self, scheduled)),
            ("classes", self.classes(&steady)),
            ("flows", self.expected_flows(&steady)),
            ("hosts", self.expected_hosts(&steady)),
            ("stages", self.expected_stages()),
            ("conditions", self.expected_conditions()),
            ("warm_up", warm_up.expected(self, None)),
            ("pages", self.pages(None)),
            ("states", self.states()),
            ("sessions", self.sessions(said)),
            ("settling", settling::expected(self, said.get("settling"), said["complete"] == true)),
            ("drained_requests", Expected::Count(drained.count() as u64)),
            ("connections", self.connections(&warm_up, &steady)),
            ("handshakes", self.handshakes()),
            ("http", self.http(said)),
            ("http2", self.http2(said)),
            ("generator", self.generator(arrivals, asked)),
            ("captures", captures(said, evidence)),
        ])
    }

    /// Lengths, of which the first two are believed, as an early end is: another length of either counts
    /// everything else otherwise. The run does not end before its last request; one that is open then ends
    /// with it, or with its worker, and others may be late.
    fn phases(&self, said: &Value) -> Expected {
        let last = self.samples.iter().map(|own| own.done.as_ns()).max().unwrap_or(0);
        let low = last.saturating_sub(self.to) as f64;
        let was_open = self.samples.iter().any(|own| own.outcome == Outcome::Unfinished);
        let is_virtual = at(said, &["generator", "plane"]).and_then(Value::as_str) == Some("simulated");
        let later = match (was_open, is_virtual) {
            (true, true) => 0.0,
            (true, false) => WORKERS_APART_NS,
            (false, _) => f64::INFINITY,
        };
        // Up to version 2 it was always 0.
        let is_measured = self.has_succeeded;
        let drain = if is_measured { Expected::Between { low, high: low + later } } else { Expected::Open };
        // Where requests ended later, the run had not ended; an older farfield does not say it.
        let says = at(said, &["phases", "ended_early"]).is_some();
        let early = if says && last > self.to { Expected::Flag(false) } else { Expected::Open };
        Expected::record([
            ("warm_up_ns", Expected::Open),
            ("steady_ns", Expected::Open),
            ("drain_ns", drain),
            ("ended_early", early),
        ])
    }

    fn classes(&self, steady: &PartCounts) -> Expected {
        let class = |(number, name): (usize, &String)| {
            let own = PartCounts::part(self, RunPart::Steady, RequestScope::Class(number as u16));
            let share = own.requests as f64 / steady.requests as f64;
            Expected::record([
                ("name", Expected::word(name)),
                ("share", Expected::near_or_nothing((steady.requests > 0).then_some(share))),
                ("steady", own.expected(self, None)),
                ("pages", self.pages(Some(number as u16))),
            ])
        };
        Expected::List(self.classes.iter().enumerate().map(class).collect())
    }

    fn states(&self) -> Expected {
        let state = |place| PartCounts::state(self, self.request_of_state(place)).expected_of_state(self);
        Expected::List((0..self.states.len()).map(state).collect())
    }

    /// The pages of the measured part, of one class or of all.
    fn pages(&self, class: Option<u16>) -> Expected {
        #[derive(Clone, Copy)]
        struct Page {
            due: u64,
            first_byte: u64,
            requests: u64,
            failed: bool,
            class: u16,
        }
        let mut open: BTreeMap<u32, Page> = BTreeMap::new();
        let (mut response, mut html, mut failed, mut requests) = (Vec::new(), Vec::new(), 0_u64, 0_u64);
        for sample in self.samples.iter().filter(|own| own.page != PagePart::Untracked) {
            let due = sample.due.as_ns();
            let first_byte = sample.first_byte.instant().map_or(due, |at| at.as_ns());
            let page = open.entry(sample.user).or_insert(Page {
                due,
                first_byte,
                requests: 0,
                failed: false,
                class: sample.class,
            });
            page.due = page.due.min(due);
            page.first_byte = page.first_byte.max(first_byte);
            page.requests += 1;
            page.failed |= sample.outcome != Outcome::Ok;
            page.class = sample.class;
            if matches!(sample.page, PagePart::Ends | PagePart::Whole) {
                let page = *page;
                open.remove(&sample.user);
                if !self.is_measured(page.due) || class.is_some_and(|class| class != page.class) {
                    continue;
                }
                requests += page.requests;
                if page.failed {
                    failed += 1;
                } else {
                    response.push(sample.done.as_ns().saturating_sub(page.due));
                    html.push(page.first_byte.saturating_sub(page.due));
                }
            }
        }
        let completed = response.len() as u64;
        if completed + failed == 0 {
            return Expected::Nothing;
        }
        let is_of_class = |page: &&Page| class.is_none_or(|class| class == page.class);
        let unfinished = open.values().filter(|page| self.is_measured(page.due)).filter(is_of_class).count();
        let times = |times: Vec<u64>| SortedTimes::of(times.into_iter()).expected(self.without_intervals());
        Expected::record([
            ("completed", Expected::Count(completed)),
            ("failed", Expected::Count(failed)),
            ("unfinished", Expected::Count(unfinished as u64)),
            ("requests_mean", Expected::near(requests as f64 / (completed + failed) as f64)),
            ("response", times(response)),
            ("html_latency", times(html)),
        ])
    }

    /// The arrivals of the measured part by the first request of each; `None` for loads without.
    fn arrivals(&self, asked: &ScenarioDemands) -> Option<ArrivalCounts> {
        let arrives =
            |flow: &AskedFlow| matches!(flow.load, LoadModel::Open { .. } | LoadModel::Hybrid { .. });
        // Attempts of an S-Client are scheduled as well, and have no count here.
        let is_counted = |flow: &AskedFlow| arrives(flow) || matches!(flow.load, LoadModel::Closed { .. });
        if !asked.flows.iter().any(arrives) || !asked.flows.iter().all(is_counted) {
            return None;
        }
        let flows: Vec<FlowPlace> = asked
            .flows
            .iter()
            .zip(asked.places())
            .filter(|(flow, _)| arrives(flow))
            .map(|(_, place)| place)
            .collect();
        let mut firsts: BTreeMap<u32, &Sample> = BTreeMap::new();
        for sample in self.samples.iter().filter(|own| flows.iter().any(|flow| flow.has(own.request))) {
            let first = firsts.entry(sample.user).or_insert(sample);
            if sample.due < first.due {
                *first = sample;
            }
        }
        let firsts = firsts.into_values().filter(|first| self.is_due(RunPart::Steady, first));
        let mut counts = ArrivalCounts::default();
        for first in firsts {
            counts.scheduled += 1;
            counts.dropped += u64::from(first.outcome == Outcome::Dropped);
            // One that a worker never came to, or that waited for a connection to the end.
            let is_open = first.outcome == Outcome::Unfinished && first.begun().is_none();
            counts.maybe_begun += u64::from(is_open);
        }
        Some(counts)
    }

    fn generator(&self, arrivals: Option<ArrivalCounts>, asked: Option<&ScenarioDemands>) -> Expected {
        let arrivals = match (arrivals, asked) {
            (Some(counts), Some(asked)) => {
                let instant = farfield_base::Instant::from_ns;
                let arriving = asked.flows.iter().filter(|flow| flow.load.has_arrivals());
                let of_flow =
                    |flow: &AskedFlow| flow.load.expected_arrivals(instant(self.from), instant(self.to));
                let expected: Option<f64> = arriving.map(of_flow).sum();
                let expected = expected.map(|all| all * asked.part.share());
                let expected = match expected {
                    // The run may have ended before its measured part.
                    Some(expected) if self.ended_early => {
                        Expected::Between { low: expected * (1.0 - 1e-9), high: f64::INFINITY }
                    }
                    expected => Expected::near_or_nothing(expected),
                };
                let begun = counts.scheduled - counts.dropped;
                let begun = match counts.maybe_begun {
                    0 => Expected::Count(begun),
                    some => Expected::Between { low: (begun - some) as f64, high: begun as f64 },
                };
                Expected::record([
                    ("expected", expected),
                    ("scheduled", Expected::Count(counts.scheduled)),
                    ("begun", begun),
                    ("dropped", Expected::Count(counts.dropped)),
                ])
            }
            _ => Expected::Open,
        };
        Expected::record([("arrivals", arrivals), ("in_system_mean", self.in_system())])
    }

    /// Time that requests spent in the measured part, due and not done, in nanoseconds, and their number.
    fn residence(&self) -> (u128, u64) {
        let inside =
            |own: &Sample| own.done.as_ns().min(self.to).saturating_sub(own.due.as_ns().max(self.from));
        let spent = self.samples.iter().map(inside).filter(|ns| *ns > 0);
        spent.fold((0, 0), |(sum, count), ns| (sum + u128::from(ns), count + 1))
    }

    /// Little's L is λW; how far a count kept while running may be off is what the verdict allows by default.
    fn in_system(&self) -> Expected {
        let (ns, requests) = self.residence();
        let lasted = (self.to - self.from) as f64;
        if lasted == 0.0 || requests < 100 {
            return Expected::Open;
        }
        let value = ns as f64 / lasted;
        Expected::Near { value, by: 0.05 * value }
    }
}

/// Arrivals of the measured part.
#[derive(Debug, Clone, Copy, Default)]
struct ArrivalCounts {
    scheduled: u64,
    dropped: u64,
    /// Arrivals of which samples do not say whether they were begun.
    maybe_begun: u64,
}

fn mean_ns(us: u64, count: u64) -> Expected {
    Expected::near_or_nothing((count > 0).then(|| us as f64 * 1e3 / count as f64))
}

fn heading(asked: Option<&ScenarioDemands>) -> Expected {
    let Some(asked) = asked else { return Expected::record([("seed", Expected::Open)]) };
    let load = match asked.only_load() {
        None => "flows",
        Some(LoadModel::Closed { .. }) => "closed",
        Some(LoadModel::Open { .. }) => "open",
        Some(LoadModel::Hybrid { .. }) => "hybrid",
        Some(LoadModel::Overload(_)) => "overload",
    };
    Expected::record([("seed", Expected::Count(asked.seed.0)), ("load", Expected::word(load))])
}

fn captures(said: &Value, evidence: Evidence<'_>) -> Expected {
    let rows = said.get("captures").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let row = |own: &Value| {
        let file = own.get("file").and_then(Value::as_str);
        let packets = evidence.capture.filter(|(name, _)| file == Some(*name));
        let packets = packets.map_or(Expected::Open, |(_, packets)| Expected::Count(packets));
        Expected::record([("packets", packets)])
    };
    Expected::List(rows.iter().map(row).collect())
}
