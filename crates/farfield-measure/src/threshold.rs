//! Thresholds: what the server was asked to keep, such as `p99<200ms` or `errors<0.1%`.
//!
//! A threshold is a metric, a comparison and a value of the metric's kind. All metrics are of the steady
//! part. Their table is in docs/metrics.md, which `farfield help metrics` reads.
//!
//! With a class of clients behind it, `p99{dsl}` or `errors{dsl}`, a metric is of the requests of that
//! class alone; with a flow of users, `p99{checkout}`, of that flow's; with a stage of the load,
//! `p99{plateau}`, of the requests that were due in it; with a state of sessions, `p99{login}`, of the
//! requests of that state. Of a state there are the response time, `errors`, `requests`, the outcomes and
//! the status codes. With a path behind it, `status.404{/cart}`, it is of the requests for that path, of
//! which there are all these but times.
//!
//! Percentiles, the mean and the maximum count requests that timed out or were unfinished at the end of the
//! run by their ages: they are those of the [estimate](crate::kaplan_meier). Where such a metric is only
//! known to be more than a time, `p99<200ms` does not pass, and `p99>200ms` passes if that time is more.
//!
//! A metric with nothing to measure does not pass: what cannot be shown is not kept. Whether a threshold is
//! kept is decided by the number alone; where its limit lies within the number's confidence interval, the
//! result [says so](ThresholdResult::is_close).

mod beyond;
mod error;
mod scope;

use crate::batches::{Batches, MeasuredPart};
use crate::fold::{Fold, PhaseStats};
use crate::histogram::Histogram;
use crate::kaplan_meier::Estimate;
use crate::outcomes::OutcomeCounts;
use crate::quantile::Quantile;
use crate::states::StateCount;
use crate::statuses::StatusCounts;
use crate::timing::Timing;
use crate::verdict::{LimitUnit, disturbed};
use farfield_base::{Duration, Instant, Outcome, Rate, Share};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

pub use error::ThresholdError;
use scope::part_of;

/// A metric compared with a value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Threshold {
    text: String,
    metric: Metric,
    /// The class of clients, the state or the path that it is of, if it is of one.
    scope: Option<String>,
    comparison: Comparison,
    /// In the unit of the metric.
    limit: f64,
}

/// The result of a threshold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThresholdResult {
    /// The threshold, as it was written.
    pub text: String,
    /// The number found; absent where there was nothing to measure.
    pub measured: Option<f64>,
    /// True if the number is only known to be more than that.
    #[serde(default)]
    pub is_lower_bound: bool,
    /// The 95 % confidence interval of the number found; null if there is none, as in a run that goes on.
    #[serde(default)]
    pub interval: Option<[f64; 2]>,
    /// The number it was compared with.
    pub limit: f64,
    /// The unit of all these numbers.
    pub unit: LimitUnit,
    /// The share of times beyond the limit, of a percentile; null of any other metric, and where there was
    /// nothing to measure. Unlike the percentile it is right on average however short a run is.
    #[serde(default)]
    pub beyond_share: Option<f64>,
    /// The requests that it is of: all, or those of its class; null in runs by earlier farfields.
    #[serde(default)]
    pub requests: Option<u64>,
    /// True if the threshold was kept.
    pub passed: bool,
}

impl ThresholdResult {
    /// True if the limit lies within the interval of what was measured, so that another run of the same
    /// length may well come out otherwise.
    pub fn is_close(&self) -> bool {
        self.interval.is_some_and(|[low, high]| low <= self.limit && self.limit <= high)
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Metric {
    Time(Statistic, Timing),
    Errors,
    Rate(Flow),
    Requests,
    Stalls,
    Outcome(Outcome),
    Status(Codes, LimitUnit),
}

/// Status codes: one, or a class of a hundred.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Codes {
    One(u16),
    Class(u16),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Statistic {
    Quantile(Quantile),
    Mean,
    Min,
    Max,
    StandardDeviation,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Flow {
    Succeeded,
    Sent,
    Offered,
    Events,
}

/// A number found, or one that the true number is above.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Measured {
    number: f64,
    is_lower_bound: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Comparison {
    Less,
    AtMost,
    More,
    AtLeast,
    Equal,
}

impl Threshold {
    /// Holds the threshold against what was measured up to `until`; with an interval if the run `ended` then.
    pub fn evaluate(&self, fold: &Fold, until: Instant, ended: bool) -> ThresholdResult {
        let measured = self.measure(fold, until);
        let interval = if ended { self.interval(fold, until) } else { None };
        ThresholdResult {
            text: self.text.clone(),
            measured: measured.map(|measured| measured.number),
            is_lower_bound: measured.is_some_and(|measured| measured.is_lower_bound),
            interval,
            limit: self.limit,
            unit: self.metric.unit(),
            beyond_share: self.beyond_share(fold),
            requests: self.requests(fold),
            passed: measured.is_some_and(|measured| self.comparison.is_shown(measured, self.limit)),
        }
    }

    /// True if the measurements up to `until` break the threshold, for a run that stops at once then. With no
    /// measurements yet, or too few, it is not broken.
    pub fn broken(&self, fold: &Fold, until: Instant) -> bool {
        self.measure(fold, until).is_some_and(|measured| self.comparison.is_refuted(measured, self.limit))
    }
}

impl Threshold {
    /// The class of clients, the state of sessions or the path that it is of, if it is of one.
    pub fn scope(&self) -> Option<&str> {
        self.scope.as_deref()
    }

    /// Itself of the part of this name, where it is of the whole run.
    pub fn of(mut self, part: &str) -> Threshold {
        if self.scope.is_none()
            && let Some(at) = comparison_at(&self.text)
        {
            let (metric, rest) = self.text.split_at(at);
            self.text = format!("{}{{{part}}}{rest}", metric.trim_end());
            self.scope = Some(part.to_owned());
        }
        self
    }

    /// True if it wants a number below its limit, or at it.
    pub fn is_upper_limit(&self) -> bool {
        matches!(self.comparison, Comparison::Less | Comparison::AtMost)
    }

    /// The number that its metric is compared with, in its unit.
    pub fn limit(&self) -> f64 {
        self.limit
    }

    /// The unit of its metric and of its limit.
    pub fn unit(&self) -> LimitUnit {
        self.metric.unit()
    }

    /// True if its metric can be measured of a state of sessions.
    pub fn fits_states(&self) -> bool {
        match self.metric {
            Metric::Time(_, timing) => timing == Timing::Response,
            Metric::Rate(_) | Metric::Stalls => false,
            Metric::Errors | Metric::Requests | Metric::Outcome(_) | Metric::Status(..) => true,
        }
    }

    /// True if its metric can be measured of a path.
    pub fn fits_paths(&self) -> bool {
        !matches!(self.metric, Metric::Time(..) | Metric::Rate(_) | Metric::Stalls)
    }

    /// True if it says how many requests of all may end how: its metric is `errors` or an outcome, or it
    /// wants replies that are no successes, of no class, state or path alone. Any other threshold on a status
    /// says nothing of failures: `status.5xx==0` is kept by a server that is down.
    pub fn judges_outcomes(&self) -> bool {
        let judges = match self.metric {
            Metric::Errors | Metric::Outcome(_) => true,
            Metric::Status(codes, _) => codes.are_no_successes() && !self.comparison.holds(0.0, self.limit),
            Metric::Time(..) | Metric::Rate(_) | Metric::Requests | Metric::Stalls => false,
        };
        self.scope.is_none() && judges
    }

    /// True if its metric can be moved by a share of the requests that are late, each for a moment.
    pub(crate) fn can_be_moved(&self, late_share: f64) -> bool {
        match self.metric {
            Metric::Time(Statistic::Quantile(quantile), _) => disturbed::moves(late_share, quantile),
            Metric::Time(Statistic::Max | Statistic::StandardDeviation, _) => true,
            Metric::Time(Statistic::Mean | Statistic::Min, _)
            | Metric::Errors
            | Metric::Rate(_)
            | Metric::Requests
            | Metric::Stalls
            | Metric::Outcome(_)
            | Metric::Status(..) => false,
        }
    }

    fn measure(&self, fold: &Fold, until: Instant) -> Option<Measured> {
        let elapsed = fold.lasted(until);
        let Some(name) = &self.scope else { return self.metric.measure(fold.steady(), elapsed) };
        if let Some(stage) = fold.stages().stage(name) {
            return self.metric.measure(stage.part, stage.span.lasted(until));
        }
        match part_of(fold, name) {
            Some(part) => self.metric.measure(part, elapsed),
            None => {
                let ignores_unfinished = fold.steady().ignores_unfinished();
                if let Some(path) = fold.paths().path(name) {
                    return self.metric.measure_counts(&path.outcomes, &path.statuses, ignores_unfinished);
                }
                self.metric.measure_state(&fold.states().state(name)?, ignores_unfinished)
            }
        }
    }
}

impl Threshold {
    /// The interval of what was measured up to `until`, where there is one.
    fn interval(&self, fold: &Fold, until: Instant) -> Option<[f64; 2]> {
        let mut measured = fold.measured(until);
        let stage = self.scope.as_ref().and_then(|name| fold.stages().stage(name));
        let part = match &self.scope {
            None => fold.steady(),
            Some(_) if let Some(stage) = stage => {
                measured = stage.measured(measured, until);
                stage.part
            }
            Some(name) => match part_of(fold, name) {
                Some(part) => part,
                None => {
                    let state = fold.states().state(name)?;
                    // A number that is estimated with censored times has none.
                    let times = |_| state.estimate().is_none().then_some(&state.response);
                    return self.metric.interval(&state.batches, times, measured);
                }
            },
        };
        let times = |timing| part.estimate(timing).is_none().then(|| part.times.of(timing));
        self.metric.interval(part.batches()?, times, measured)
    }
}

impl Metric {
    /// By batches of a part that is `measured`, and its times.
    fn interval<'a>(
        self,
        batches: &Batches,
        times: impl Fn(Timing) -> Option<&'a Histogram>,
        measured: MeasuredPart,
    ) -> Option<[f64; 2]> {
        match self {
            Metric::Time(Statistic::Quantile(quantile), timing) => {
                let ranks = batches.times(timing, measured).ok()?.ranks(quantile).ok()?;
                times(timing)?.between_ranks(ranks).map(|ends| ends.map(|end| end.as_ns() as f64))
            }
            Metric::Time(Statistic::Mean, timing) => {
                let factors = batches.times(timing, measured).ok()?.mean_factors().ok()?;
                let mean = times(timing)?.mean()?.as_ns() as f64;
                Some(factors.map(|factor| mean * factor))
            }
            Metric::Errors => batches.error_share(measured.lasted).ok(),
            Metric::Rate(Flow::Succeeded) => batches.succeeded_per_s(measured).ok(),
            Metric::Time(..)
            | Metric::Rate(_)
            | Metric::Requests
            | Metric::Stalls
            | Metric::Outcome(_)
            | Metric::Status(..) => None,
        }
    }

    /// Measures a part that has lasted for `elapsed`.
    fn measure(self, steady: &PhaseStats, elapsed: Duration) -> Option<Measured> {
        match self {
            Metric::Time(statistic, timing) => statistic.measure(steady, timing),
            Metric::Errors => steady.error_share().map(Measured::exactly),
            Metric::Rate(flow) => {
                let events = match flow {
                    Flow::Succeeded => steady.events.succeeded,
                    Flow::Sent => steady.events.sent,
                    Flow::Offered => steady.events.offered,
                    Flow::Events => steady.streams.events,
                };
                (!elapsed.is_zero()).then(|| Measured::exactly(events as f64 / elapsed.as_secs_f64()))
            }
            Metric::Requests => Some(Measured::exactly(steady.requests() as f64)),
            Metric::Stalls => Some(Measured::exactly(steady.streams.stalled.count() as f64)),
            Metric::Outcome(outcome) => Some(Measured::exactly(steady.count(outcome) as f64)),
            Metric::Status(codes, unit) => codes.measure(unit, &steady.statuses),
        }
    }

    /// Measures requests of which nothing but their ends is counted.
    fn measure_counts(
        self,
        outcomes: &OutcomeCounts,
        statuses: &StatusCounts,
        ignores_unfinished: bool,
    ) -> Option<Measured> {
        match self {
            Metric::Time(..) | Metric::Rate(_) | Metric::Stalls => None,
            Metric::Errors => PhaseStats::error_share_of(outcomes, ignores_unfinished).map(Measured::exactly),
            Metric::Requests => Some(Measured::exactly(outcomes.sum() as f64)),
            Metric::Outcome(outcome) => Some(Measured::exactly(outcomes.of(outcome) as f64)),
            Metric::Status(codes, unit) => codes.measure(unit, statuses),
        }
    }

    /// Measures the requests of one state.
    fn measure_state(self, state: &StateCount, ignores_unfinished: bool) -> Option<Measured> {
        match self {
            Metric::Time(statistic, Timing::Response) => {
                statistic.measure_times(&state.response, state.estimate())
            }
            metric => metric.measure_counts(&state.outcomes, &state.statuses, ignores_unfinished),
        }
    }

    fn unit(self) -> LimitUnit {
        match self {
            Metric::Time(..) => LimitUnit::Ns,
            Metric::Errors => LimitUnit::Share,
            Metric::Rate(_) => LimitUnit::PerSecond,
            Metric::Requests | Metric::Stalls | Metric::Outcome(_) => LimitUnit::Count,
            Metric::Status(_, unit) => unit,
        }
    }

    fn limit(self, text: &str, value: &str) -> Result<f64, ThresholdError> {
        let wrong = |error| ThresholdError::Value { text: text.to_owned(), error };
        match self.unit() {
            LimitUnit::Ns => value.parse::<Duration>().map(|time| time.as_ns() as f64).map_err(wrong),
            // The author of `errors<1` has one per cent in mind.
            LimitUnit::Share if value.trim().parse() == Ok(1.0) => {
                Err(ThresholdError::WholeShare { text: text.to_owned(), value: value.trim().to_owned() })
            }
            LimitUnit::Share => value.parse::<Share>().map(Share::as_f64).map_err(wrong),
            LimitUnit::PerSecond => value.parse::<Rate>().map(Rate::as_per_second).map_err(wrong),
            LimitUnit::Count => value
                .parse::<u64>()
                .map(|count| count as f64)
                .map_err(|_| ThresholdError::Count { text: text.to_owned() }),
        }
    }

    fn parse(text: &str, metric: &str) -> Result<Metric, ThresholdError> {
        let unknown = || ThresholdError::Metric { text: text.to_owned(), metric: metric.to_owned() };
        let (name, timing) = match metric.split_once('(') {
            None => (metric, None),
            Some((name, rest)) => (name.trim(), Some(rest.strip_suffix(')').ok_or_else(unknown)?.trim())),
        };
        if let Some(statistic) = Statistic::parse(name) {
            let timing = timing.unwrap_or(Timing::Response.name());
            let known = Timing::ALL.into_iter().find(|known| known.name() == timing);
            let wrong = || ThresholdError::Timing { text: text.to_owned(), timing: timing.to_owned() };
            return known.map(|timing| Metric::Time(statistic, timing)).ok_or_else(wrong);
        }
        if timing.is_some() {
            return Err(unknown());
        }
        if let Some(status) = name.strip_prefix("status.") {
            let wrong = || ThresholdError::Status { text: text.to_owned(), status: name.to_owned() };
            return Codes::parse(status)
                .map(|codes| Metric::Status(codes, LimitUnit::Count))
                .ok_or_else(wrong);
        }
        match name {
            "errors" => Ok(Metric::Errors),
            "rate" => Ok(Metric::Rate(Flow::Succeeded)),
            "sent" => Ok(Metric::Rate(Flow::Sent)),
            "offered" => Ok(Metric::Rate(Flow::Offered)),
            "requests" => Ok(Metric::Requests),
            "event-rate" => Ok(Metric::Rate(Flow::Events)),
            "stalls" => Ok(Metric::Stalls),
            name => {
                let known = Outcome::ALL.into_iter().find(|outcome| outcome.name() == name);
                known.map(Metric::Outcome).ok_or_else(unknown)
            }
        }
    }
}

impl Codes {
    fn parse(text: &str) -> Option<Codes> {
        let class = text.strip_suffix("xx").or_else(|| text.strip_suffix("XX"));
        // A sign or a zero in front is none of a code, though a number is read with it.
        let digits =
            |text: &str, count: usize| text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
        match class {
            Some(class) if digits(class, 1) => {
                class.parse().ok().filter(|class| (1..=5).contains(class)).map(Codes::Class)
            }
            None if digits(text, 3) => {
                text.parse().ok().filter(|code| (100..1_000).contains(code)).map(Codes::One)
            }
            _ => None,
        }
    }

    fn are_no_successes(self) -> bool {
        match self {
            Codes::One(status) => Outcome::of_status(status) != Outcome::Ok,
            Codes::Class(class) => class >= 4,
        }
    }

    /// The replies with these codes, or their share of all replies.
    fn measure(self, unit: LimitUnit, statuses: &StatusCounts) -> Option<Measured> {
        let replies = match self {
            Codes::One(status) => statuses.of(status),
            Codes::Class(class) => statuses.of_class(class),
        };
        match unit {
            LimitUnit::Share => {
                let all = statuses.sum();
                (all > 0).then(|| Measured::exactly(replies as f64 / all as f64))
            }
            _ => Some(Measured::exactly(replies as f64)),
        }
    }
}

impl Measured {
    fn exactly(number: f64) -> Measured {
        Measured { number, is_lower_bound: false }
    }
}

impl Statistic {
    /// Measures the times, with those of which only an age is known where there are any.
    fn measure(self, steady: &PhaseStats, timing: Timing) -> Option<Measured> {
        self.measure_times(steady.times.of(timing), steady.estimate(timing))
    }

    fn measure_times(self, times: &Histogram, estimate: Option<Estimate>) -> Option<Measured> {
        let estimated = estimate.and_then(|estimate| match self {
            Statistic::Quantile(quantile) => Some(estimate.quantile(quantile)),
            Statistic::Mean => Some(estimate.mean()),
            Statistic::Max => Some(estimate.max()),
            Statistic::Min | Statistic::StandardDeviation => None,
        });
        if let Some(bound) = estimated {
            let number = bound.time().as_ns() as f64;
            return Some(Measured { number, is_lower_bound: bound.is_beyond() });
        }
        let time = match self {
            Statistic::Quantile(quantile) => times.quantile(quantile),
            Statistic::Mean => times.mean(),
            Statistic::Min => times.min(),
            Statistic::Max => times.max(),
            Statistic::StandardDeviation => times.standard_deviation(),
        };
        time.map(|time| Measured::exactly(time.as_ns() as f64))
    }

    fn parse(name: &str) -> Option<Statistic> {
        match name {
            "mean" => Some(Statistic::Mean),
            "min" => Some(Statistic::Min),
            "max" => Some(Statistic::Max),
            "sd" => Some(Statistic::StandardDeviation),
            name => name.parse().ok().map(Statistic::Quantile),
        }
    }
}

impl Comparison {
    /// True if what was measured shows that the threshold was kept.
    fn is_shown(self, measured: Measured, limit: f64) -> bool {
        let wants_less = matches!(self, Comparison::Less | Comparison::AtMost);
        self.holds(measured.number, limit) && !(measured.is_lower_bound && wants_less)
    }

    /// True if what was measured shows that the threshold was broken.
    fn is_refuted(self, measured: Measured, limit: f64) -> bool {
        let wants_more = matches!(self, Comparison::More | Comparison::AtLeast);
        let undecided = measured.is_lower_bound && wants_more;
        !undecided && !self.holds(measured.number, limit)
    }

    fn holds(self, measured: f64, limit: f64) -> bool {
        match self {
            Comparison::Less => measured < limit,
            Comparison::AtMost => measured <= limit,
            Comparison::More => measured > limit,
            Comparison::AtLeast => measured >= limit,
            Comparison::Equal => measured == limit,
        }
    }
}

impl FromStr for Threshold {
    type Err = ThresholdError;

    fn from_str(text: &str) -> Result<Threshold, ThresholdError> {
        let no_comparison = || ThresholdError::NoComparison(text.to_owned());
        let at = comparison_at(text).ok_or_else(no_comparison)?;
        let (metric, rest) = text.split_at(at);
        let (comparison, length) = match rest.as_bytes() {
            [b'<', b'=', ..] => (Comparison::AtMost, 2),
            [b'>', b'=', ..] => (Comparison::AtLeast, 2),
            [b'=', ..] => (Comparison::Equal, 2),
            [b'<', ..] => (Comparison::Less, 1),
            _ => (Comparison::More, 1),
        };
        let unknown = || ThresholdError::Metric { text: text.to_owned(), metric: metric.trim().to_owned() };
        let (metric, scope) = match metric.trim().split_once('{') {
            None => (metric.trim(), None),
            Some((metric, scope)) => {
                (metric.trim(), Some(scope.strip_suffix('}').ok_or_else(unknown)?.trim()))
            }
        };
        let value = rest[length..].trim();
        let metric = match Metric::parse(text, metric)? {
            Metric::Status(codes, _) if value.ends_with('%') => Metric::Status(codes, LimitUnit::Share),
            metric => metric,
        };
        if comparison == Comparison::Equal && metric.unit() != LimitUnit::Count {
            return Err(ThresholdError::Equal(text.to_owned()));
        }
        let limit = metric.limit(text, value)?;
        let scope = scope.map(str::to_owned);
        Ok(Threshold { text: text.to_owned(), metric, scope, comparison, limit })
    }
}

/// Where the comparison begins: behind what stands in braces, since a path may contain its signs.
fn comparison_at(text: &str) -> Option<usize> {
    let first = |text: &str| text.find(['<', '>']).or_else(|| text.find("=="));
    let braces = text.find('{').filter(|open| first(&text[..*open]).is_none());
    let from = braces.and_then(|_| text.rfind('}')).unwrap_or(0);
    first(&text[from..]).map(|at| from + at)
}

impl TryFrom<String> for Threshold {
    type Error = ThresholdError;
    fn try_from(text: String) -> Result<Threshold, ThresholdError> {
        text.parse()
    }
}

impl From<Threshold> for String {
    fn from(threshold: Threshold) -> String {
        threshold.text
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests;
