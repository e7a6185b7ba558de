//! Thresholds: what the server was asked to keep, such as `p99<200ms` or `errors<0.1%`.
//!
//! A threshold is a metric, a comparison and a value of the metric's kind. All metrics are of the steady
//! part:
//!
//! | metric | is | value |
//! | --- | --- | --- |
//! | `p99`, `p99.9(connect)` … | a percentile of a time, of the response time if none is named | a time |
//! | `mean`, `min`, `max`, `sd`, each also `(service)` … | its mean, extremes, standard deviation | a time |
//! | `errors` | requests that went wrong or were unfinished at the end of the run, over all | a share |
//! | `rate`, `sent`, `offered` | successful replies, requests sent, requests due, each a second | a rate |
//! | `requests`, and any outcome (`dropped`, `timed-out` …) | how many | a number |
//!
//! With a class of clients behind it, `p99{dsl}` or `errors{dsl}`, a metric is of the requests of that class alone; with a
//! state of sessions, `p99{login}`, of the requests of that state. Of a state there are the response time, `errors`,
//! `requests` and the outcomes.
//!
//! Percentiles, the mean and the maximum count requests that timed out or were unfinished at the end of the run by
//! their ages: they are those of the [estimate](crate::kaplan_meier). Where such a metric is only known to be more than a time, `p99<200ms`
//! does not pass, and `p99>200ms` passes if that time is more.
//!
//! A metric with nothing to measure does not pass: what cannot be shown is not kept.

use crate::fold::{Fold, PhaseStats};
use crate::histogram::Histogram;
use crate::kaplan_meier::Estimate;
use crate::quantile::Quantile;
use crate::states::StateCount;
use crate::timing::Timing;
use crate::verdict::Unit;
use farfield_base::{Duration, Instant, Outcome, QuantityError, Rate, Share};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A metric held against a value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Threshold {
    text: String,
    metric: Metric,
    /// The class of clients or the state that it is of, if it is of one.
    scope: Option<String>,
    comparison: Comparison,
    /// In the unit of the metric.
    limit: f64,
}

/// How a threshold came out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThresholdResult {
    /// The threshold, as it was written.
    pub text: String,
    /// The number found; absent where there was nothing to measure.
    pub measured: Option<f64>,
    /// True if the number is only known to be more than that.
    #[serde(default)]
    pub is_lower_bound: bool,
    /// The number it was held against.
    pub limit: f64,
    /// The unit of both.
    pub unit: Unit,
    /// True if the threshold was kept.
    pub passed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Metric {
    Time(Statistic, Timing),
    Errors,
    Rate(Flow),
    Requests,
    Outcome(Outcome),
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
    Completed,
    Sent,
    Offered,
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
}

/// Why a threshold could not be read. The sentence names the part and says what there is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ThresholdError {
    /// There is no comparison.
    #[error(
        "`{0}` compares nothing; write a metric, one of `<` `<=` `>` `>=`, and a value, such as `p99<200ms`"
    )]
    NoComparison(String),
    /// The metric is unknown.
    #[error("`{metric}` in `{text}` is no metric; there are {}", metrics())]
    Metric {
        /// The whole threshold.
        text: String,
        /// What stands for the metric.
        metric: String,
    },
    /// The time in parentheses is unknown.
    #[error("`{timing}` in `{text}` is no time; there are response, service, connect, reply and transfer")]
    Timing {
        /// The whole threshold.
        text: String,
        /// What stands in the parentheses.
        timing: String,
    },
    /// The value is not one of the metric's kind.
    #[error("the value in `{text}`: {error}")]
    Value {
        /// The whole threshold.
        text: String,
        /// What is wrong with it.
        error: QuantityError,
    },
    /// The value is not a whole number.
    #[error("the value in `{text}` is not a number of requests; write one such as `10`")]
    Count {
        /// The whole threshold.
        text: String,
    },
}

fn metrics() -> String {
    let outcomes: Vec<_> = Outcome::ALL.iter().map(|outcome| outcome.name()).collect();
    format!(
        "p50 (or any percentile), mean, min, max, sd, each also as p50(connect); errors; rate, sent, offered; \
         requests; and the outcomes {}",
        outcomes.join(", ")
    )
}

impl Threshold {
    /// Holds the threshold against what was measured up to `until`, the end of the run or an instant in it.
    pub fn evaluate(&self, fold: &Fold, until: Instant) -> ThresholdResult {
        let measured = self.measure(fold, until);
        ThresholdResult {
            text: self.text.clone(),
            measured: measured.map(|measured| measured.number),
            is_lower_bound: measured.is_some_and(|measured| measured.is_lower_bound),
            limit: self.limit,
            unit: self.metric.unit(),
            passed: measured.is_some_and(|measured| self.comparison.is_shown(measured, self.limit)),
        }
    }

    /// True if what was measured up to `until` breaks the threshold: for a run that is to stop at once
    /// then. Where nothing was measured yet, or too little to tell, nothing is broken.
    pub fn broken(&self, fold: &Fold, until: Instant) -> bool {
        self.measure(fold, until).is_some_and(|measured| self.comparison.is_refuted(measured, self.limit))
    }
}

impl Threshold {
    /// The class of clients or the state of sessions that it is of, if it is of one.
    pub fn scope(&self) -> Option<&str> {
        self.scope.as_deref()
    }

    /// True if its metric can be measured of a state of sessions.
    pub fn fits_states(&self) -> bool {
        match self.metric {
            Metric::Time(_, timing) => timing == Timing::Response,
            Metric::Rate(_) => false,
            Metric::Errors | Metric::Requests | Metric::Outcome(_) => true,
        }
    }

    /// True if it says how many requests of all may end how: its metric is `errors` or an outcome, of no class or state
    /// alone.
    pub fn judges_outcomes(&self) -> bool {
        self.scope.is_none() && matches!(self.metric, Metric::Errors | Metric::Outcome(_))
    }

    fn measure(&self, fold: &Fold, until: Instant) -> Option<Measured> {
        let elapsed = fold.window().elapsed(until);
        let Some(name) = &self.scope else { return self.metric.measure(fold.steady(), elapsed) };
        match fold.class(name) {
            Some(class) => self.metric.measure(class, elapsed),
            None => {
                self.metric.measure_state(&fold.states().state(name)?, fold.steady().ignores_unfinished())
            }
        }
    }
}

impl Metric {
    /// Of a part that has lasted for `elapsed`.
    fn measure(self, steady: &PhaseStats, elapsed: Duration) -> Option<Measured> {
        match self {
            Metric::Time(statistic, timing) => statistic.measure(steady, timing),
            Metric::Errors => steady.error_share().map(Measured::exactly),
            Metric::Rate(flow) => {
                let events = match flow {
                    Flow::Completed => steady.events.completed,
                    Flow::Sent => steady.events.sent,
                    Flow::Offered => steady.events.offered,
                };
                (!elapsed.is_zero()).then(|| Measured::exactly(events as f64 / elapsed.as_secs_f64()))
            }
            Metric::Requests => Some(Measured::exactly(steady.requests() as f64)),
            Metric::Outcome(outcome) => Some(Measured::exactly(steady.count(outcome) as f64)),
        }
    }

    /// Of the requests of one state.
    fn measure_state(self, state: &StateCount, ignores_unfinished: bool) -> Option<Measured> {
        match self {
            Metric::Time(statistic, Timing::Response) => {
                statistic.measure_times(&state.response, state.estimate())
            }
            Metric::Time(..) | Metric::Rate(_) => None,
            Metric::Errors => state.error_share(ignores_unfinished).map(Measured::exactly),
            Metric::Requests => Some(Measured::exactly(state.requests() as f64)),
            Metric::Outcome(outcome) => Some(Measured::exactly(state.count(outcome) as f64)),
        }
    }

    fn unit(self) -> Unit {
        match self {
            Metric::Time(..) => Unit::Ns,
            Metric::Errors => Unit::Share,
            Metric::Rate(_) => Unit::PerSecond,
            Metric::Requests | Metric::Outcome(_) => Unit::Count,
        }
    }

    fn limit(self, text: &str, value: &str) -> Result<f64, ThresholdError> {
        let wrong = |error| ThresholdError::Value { text: text.to_owned(), error };
        match self.unit() {
            Unit::Ns => value.parse::<Duration>().map(|time| time.as_ns() as f64).map_err(wrong),
            Unit::Share => value.parse::<Share>().map(Share::as_f64).map_err(wrong),
            Unit::PerSecond => value.parse::<Rate>().map(Rate::as_per_second).map_err(wrong),
            Unit::Count => value
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
        match name {
            "errors" => Ok(Metric::Errors),
            "rate" => Ok(Metric::Rate(Flow::Completed)),
            "sent" => Ok(Metric::Rate(Flow::Sent)),
            "offered" => Ok(Metric::Rate(Flow::Offered)),
            "requests" => Ok(Metric::Requests),
            name => {
                let known = Outcome::ALL.into_iter().find(|outcome| outcome.name() == name);
                known.map(Metric::Outcome).ok_or_else(unknown)
            }
        }
    }
}

impl Measured {
    fn exactly(number: f64) -> Measured {
        Measured { number, is_lower_bound: false }
    }
}

impl Statistic {
    /// Of the times, with those of which only an age is known where there are any.
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
        }
    }
}

impl FromStr for Threshold {
    type Err = ThresholdError;

    fn from_str(text: &str) -> Result<Threshold, ThresholdError> {
        let no_comparison = || ThresholdError::NoComparison(text.to_owned());
        let at = text.find(['<', '>']).ok_or_else(no_comparison)?;
        let (metric, rest) = text.split_at(at);
        let (comparison, length) = match rest.as_bytes() {
            [b'<', b'=', ..] => (Comparison::AtMost, 2),
            [b'>', b'=', ..] => (Comparison::AtLeast, 2),
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
        let metric = Metric::parse(text, metric)?;
        let limit = metric.limit(text, rest[length..].trim())?;
        let scope = scope.map(str::to_owned);
        Ok(Threshold { text: text.to_owned(), metric, scope, comparison, limit })
    }
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
mod tests {
    use super::*;
    use crate::fold::scene::{fold, sample, window};
    use farfield_base::Sample;

    const MS: u64 = 1_000_000;

    /// 100 requests over a second, the n-th taking n + 1 ms; two end in errors.
    fn measured() -> Fold {
        let outcome = |n| match n {
            0 => Outcome::Status5xx,
            1 => Outcome::TimedOut,
            _ => Outcome::Ok,
        };
        let samples: Vec<_> = (0..100)
            .map(|n| Sample { outcome: outcome(n), ..sample(n * 5 * MS, (n * 5 + n + 1) * MS) })
            .collect();
        fold(window(0, 1000), &samples)
    }

    fn result(text: &str) -> ThresholdResult {
        let threshold: Threshold = text.parse().unwrap_or_else(|error| panic!("{error}"));
        threshold.evaluate(&measured(), Instant::from_ns(1000 * MS))
    }

    #[test]
    fn measures_what_it_names() {
        let check = |text: &str, measured: f64, unit| {
            let result = result(text);
            let found = result.measured.expect(text);
            assert!((found - measured).abs() <= measured / 1024.0, "{text}: {found} for {measured}");
            assert_eq!(result.unit, unit, "{text}");
        };
        check("max<1s", 100.0 * MS as f64, Unit::Ns);
        check("min<1s", 3.0 * MS as f64, Unit::Ns);
        check("p50<1s", 51.0 * MS as f64, Unit::Ns); // the 49th of 98, from 3 ms on
        check("mean<1s", 51.5 * MS as f64, Unit::Ns);
        check("max(connect) < 1s", 10.0 * MS as f64, Unit::Ns);
        check("errors<1%", 0.02, Unit::Share);
        check("rate>1", 98.0, Unit::PerSecond);
        check("offered>1", 100.0, Unit::PerSecond);
        check("requests>1", 100.0, Unit::Count);
        check("timed-out<1", 1.0, Unit::Count);
        check("dropped<1", 0.0, Unit::Count);
    }

    #[test]
    fn a_class_is_measured_alone() {
        let names = ["dsl", "modem"].map(str::to_owned);
        let mut fold = Fold::of_classes(window(0, 1000), &names);
        for n in 0..100 {
            fold.record(&Sample { class: u16::from(n >= 90), ..sample(n * 5 * MS, (n * 5 + n + 1) * MS) });
        }
        let measured = |text: &str| {
            let threshold: Threshold = text.parse().expect("a threshold");
            threshold.evaluate(&fold, Instant::from_ns(1000 * MS)).measured
        };
        assert_eq!(measured("requests{dsl}>1"), Some(90.0));
        assert_eq!(measured("offered { modem }>1"), Some(10.0));
        assert_eq!(measured("max{dsl}<1s"), Some(90.0 * MS as f64));
        assert_eq!(measured("max{modem}<1s"), Some(100.0 * MS as f64));
        assert_eq!(measured("p50(connect){fibre}<1s"), None, "there is no such class");
        assert_eq!("p99{dsl}<1s".parse::<Threshold>().expect("a threshold").scope(), Some("dsl"));
    }

    /// Of a state, requests that timed out count by their ages, as they do of the whole.
    #[test]
    fn a_state_is_measured_alone() {
        let names = ["home", "login", "never"].map(str::to_owned).to_vec();
        let mut fold = Fold::new(window(0, 1000)).naming_states(names);
        for n in 0..100 {
            let (request, outcome) =
                (u32::from(n >= 90), if n == 99 { Outcome::TimedOut } else { Outcome::Ok });
            fold.record(&Sample { request, outcome, ..sample(n * 5 * MS, (n * 5 + n + 1) * MS) });
        }
        let measured = |text: &str| {
            let threshold: Threshold = text.parse().expect("a threshold");
            let result = threshold.evaluate(&fold, Instant::from_ns(1000 * MS));
            (result.measured.map(|found| (found / 1e5).round() / 10.0), result.is_lower_bound)
        };
        assert_eq!(measured("max{home}<1s"), (Some(90.0), false));
        assert_eq!(measured("p50{login}<1s"), (Some(95.0), false));
        assert_eq!(measured("max{login}<1s"), (Some(100.0), true), "it is known to be more");
        let count = |text: &str| {
            let threshold: Threshold = text.parse().expect("a threshold");
            threshold.evaluate(&fold, Instant::from_ns(1000 * MS)).measured
        };
        assert_eq!(["requests{login}>1", "timed-out{login}<1"].map(count), [Some(10.0), Some(1.0)]);
        assert_eq!(count("errors{login}<1%"), Some(0.1));
        assert_eq!(count("requests{never}>1"), Some(0.0));
        assert_eq!(measured("p99{never}<1s"), (None, false), "nobody came there");
        assert_eq!(measured("p99{elsewhere}<1s"), (None, false), "there is no such state");
        let fits = |text: &str| text.parse::<Threshold>().expect("a threshold").fits_states();
        assert_eq!(["p99{a}<1s", "errors{a}<1%", "ok{a}>5", "requests{a}>5"].map(fits), [true; 4]);
        assert_eq!(["p99(connect){a}<1s", "rate{a}>5"].map(fits), [false; 2]);
    }

    /// 98 requests of 10 ms, and two still open after 300 ms and 400 ms.
    #[test]
    fn what_is_open_is_known_to_take_longer() {
        let mut samples: Vec<_> = (0..98).map(|n| sample(n * 5 * MS, (n * 5 + 10) * MS)).collect();
        samples.extend(
            [300, 400]
                .map(|age| Sample { outcome: Outcome::Unfinished, ..sample(500 * MS, (500 + age) * MS) }),
        );
        let fold = fold(window(0, 1000), &samples);
        let result = |text: &str| {
            let threshold: Threshold = text.parse().expect(text);
            let result = threshold.evaluate(&fold, Instant::from_ns(1000 * MS));
            let broken = threshold.broken(&fold, Instant::from_ns(1000 * MS));
            let ms = result.measured.map(|ns| (ns / MS as f64).round());
            (ms, result.is_lower_bound, [result.passed, broken])
        };
        const KEPT: [bool; 2] = [true, false];
        const BROKEN: [bool; 2] = [false, true];
        /// Neither can be shown.
        const OPEN: [bool; 2] = [false, false];
        assert_eq!(result("p98<200ms"), (Some(10.0), false, KEPT));
        assert_eq!(result("p99<200ms"), (Some(400.0), true, BROKEN));
        assert_eq!(result("p99<1s"), (Some(400.0), true, OPEN));
        assert_eq!(result("p99>350ms"), (Some(400.0), true, KEPT));
        assert_eq!(result("p99>500ms"), (Some(400.0), true, OPEN));
        assert_eq!(result("max<1s"), (Some(400.0), true, OPEN));
        // 0.98 · 10 ms + 0.02 · 400 ms at least.
        assert_eq!(result("mean<17ms"), (Some(18.0), true, BROKEN));
        assert_eq!(result("mean>17ms"), (Some(18.0), true, KEPT));
        assert_eq!(result("min<11ms"), (Some(10.0), false, KEPT));
        assert_eq!([result("errors<0.1%").2, result("unfinished<=2").2], [BROKEN, KEPT]);
    }

    #[test]
    fn compares_as_written() {
        let check = |text: &str, passed| assert_eq!(result(text).passed, passed, "{text}");
        check("max<100ms", false);
        check("max<=100ms", true);
        check("rate>98", false);
        check("rate >= 98/s", true);
        check("p99.9(service) < 1s", true);
        check("errors<2.1%", true);
        check("errors<0.019", false);
        check("sd>100ms", false);
    }

    #[test]
    fn what_cannot_be_read_is_named_with_what_there_is() {
        let check = |text: &str, says: &str| {
            let error = text.parse::<Threshold>().expect_err(text).to_string();
            assert!(error.contains(says), "{text}: {error}");
        };
        check("p99", "compares nothing");
        check("p99=3ms", "compares nothing");
        check("latency<3ms", "`latency`");
        check("latency<3ms", "mean, min, max");
        check("p101<3ms", "`p101`");
        check("p99(dns)<3ms", "response, service, connect, reply and transfer");
        check("p99(dns<3ms", "no metric");
        check("p99{dsl<3ms", "no metric");
        check("errors(connect)<1%", "no metric");
        check("p99<200", "300ms");
        check("errors<5", "5%");
        check("rate>fast", "500/s");
        check("dropped<1%", "number of requests");
        check("<3ms", "no metric");
    }

    #[test]
    fn nothing_measured_neither_passes_nor_breaks() {
        let empty = fold(window(0, 1000), &[]);
        let threshold: Threshold = "p99<1s".parse().expect("a threshold");
        assert!(!threshold.evaluate(&empty, Instant::ZERO).passed);
        assert!(!threshold.broken(&empty, Instant::ZERO));
        assert!(threshold.evaluate(&measured(), Instant::ZERO).passed);
    }

    #[test]
    fn a_rate_is_of_the_time_that_has_passed() {
        // By 100 ms, what is due every 5 ms from 0 on makes 200 a second offered.
        let samples: Vec<_> = (0..20).map(|n| sample(n * 5 * MS, n * 5 * MS + MS)).collect();
        let threshold: Threshold = "offered>=200".parse().expect("a threshold");
        let partial = fold(window(0, 1000), &samples);
        assert!(!threshold.broken(&partial, Instant::from_ns(100 * MS)));
        assert!(threshold.broken(&partial, Instant::from_ns(101 * MS)));
    }

    #[test]
    fn is_its_text_in_a_scenario() {
        let threshold: Threshold = serde_json::from_str(r#""p99 < 200ms""#).expect("a threshold");
        assert_eq!(serde_json::to_string(&threshold).expect("text"), r#""p99 < 200ms""#);
    }
}
