//! A tool's figures beside the true ones: each judged within a stated tolerance, and explained where a
//! cause can be shown.
//!
//! A figure agrees if it is within [`Tolerance`] of the true one, or within the step to which it was
//! printed. A percentile also agrees with the true percentiles a little below and above it: by one request,
//! and by the share of requests that only one of the two sides counts.

use super::reported::{Reported, Span, Time, Tool};
use super::times::Times;
use super::truth::Truth;
use crate::findings::time as words;
use serde::Serialize;

/// Difference that a reported figure may have from the true one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Tolerance {
    /// Share of the true figure.
    pub share: f64,
    /// For times, nanoseconds that are always allowed.
    pub ns: f64,
}

impl Default for Tolerance {
    /// 5 %, or 40 µs: the mean absolute error of the best generators of Hashemian et al. 2011 is 10 to 40
    /// µs.
    fn default() -> Tolerance {
        Tolerance { share: 0.05, ns: 40_000.0 }
    }
}

/// The unit of a row's figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FigureUnit {
    /// A count.
    Count,
    /// Per second.
    PerSecond,
    /// Nanoseconds.
    Nanoseconds,
}

/// A figure: reported, true, why.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditFigure {
    /// The figure's name, such as `mean` or `p99`.
    pub figure: String,
    /// The figure's unit.
    pub unit: FigureUnit,
    /// Figure in the tool's report.
    pub reported: f64,
    /// Figure in the packets.
    pub observed: f64,
    /// (reported - true) / true; absent if the true figure is 0 and the other is not.
    pub difference: Option<f64>,
    /// The two agree within the tolerance.
    pub agrees: bool,
    /// The cause of a difference, where it can be shown.
    pub why: Option<String>,
}

/// The rows of a report.
pub(super) fn rows(reported: &Reported, truth: &Truth, tolerance: Tolerance) -> Vec<AuditFigure> {
    let bench = Bench { reported, truth, times: truth.times_of(reported.span), tolerance };
    let mut rows = Vec::new();
    rows.extend(bench.requests());
    rows.extend(bench.errors());
    rows.extend(bench.rate());
    rows.extend(bench.mean());
    for percentile in &reported.percentiles {
        rows.push(bench.percentile(percentile.percent, percentile.time));
    }
    rows.extend(bench.longest());
    rows
}

struct Bench<'a> {
    reported: &'a Reported,
    truth: &'a Truth,
    /// The times that the tool says that it measures.
    times: &'a Times,
    tolerance: Tolerance,
}

impl Bench<'_> {
    fn row(&self, figure: &str, unit: FigureUnit, reported: f64, observed: f64, allowed: f64) -> AuditFigure {
        let off = reported - observed;
        AuditFigure {
            figure: figure.to_owned(),
            unit,
            reported,
            observed,
            difference: if observed != 0.0 { Some(off / observed) } else { (off == 0.0).then_some(0.0) },
            agrees: off.abs() <= (self.tolerance.share * observed.abs()).max(allowed),
            why: None,
        }
    }

    fn near(&self, one: f64, other: f64, step: f64) -> bool {
        (one - other).abs() <= (self.tolerance.share * other.abs()).max(step)
    }

    fn requests(&self) -> Option<AuditFigure> {
        let reported = self.reported.requests? as f64;
        let mut row = self.row("requests", FigureUnit::Count, reported, self.truth.requests as f64, 1.0);
        if !row.agrees && self.near(reported, (self.truth.requests + self.truth.given_up) as f64, 1.0) {
            row.why = Some("the tool counts requests that it gave up".to_owned());
        }
        Some(row)
    }

    /// Errors agree if they differ by fewer requests than a tool may count differently at its end.
    fn errors(&self) -> Option<AuditFigure> {
        let reported = self.reported.errors? as f64;
        let (errors, cut) = (self.truth.errors() as f64, self.truth.given_up as f64);
        let mut row = self.row("errors", FigureUnit::Count, reported, errors, 1.0);
        if !row.agrees && reported > errors && reported <= errors + cut {
            (row.agrees, row.why) =
                (true, Some("the tool counts requests that it gave up as errors".to_owned()));
        } else if !row.agrees && self.near(reported, (errors - self.truth.refused as f64).max(0.0), 1.0) {
            row.why = Some("replies of 400 and above are not counted as errors".to_owned());
        } else if !row.agrees && reported > errors && self.truth.times.max_ns >= LIMIT_NS {
            row.why = Some("the tool seems to count replies that came after its time limit".to_owned());
        }
        Some(row)
    }

    fn rate(&self) -> Option<AuditFigure> {
        let reported = self.reported.rate_per_s?;
        let mut row = self.row("rate", FigureUnit::PerSecond, reported, self.truth.rate_per_s, 0.0);
        if row.agrees {
            return Some(row);
        }
        let own_s = self.reported.duration.map(|time| time.ns as f64 / 1e9);
        let span_s = self.truth.duration_ns as f64 / 1e9;
        let given_up = (self.truth.requests + self.truth.given_up) as f64;
        row.why = if self.reported.requests.is_some_and(|requests| requests == 0) {
            Some("no request was completed".to_owned())
        } else if own_s.is_some_and(|own| !self.near(own, span_s, 0.0)) {
            let own = own_s.unwrap_or_default();
            Some(format!("the tool divides by {own:.2} s; its requests lie within {span_s:.2} s"))
        } else if self.near(reported, given_up / span_s, 0.0) {
            Some("the tool counts requests that it gave up".to_owned())
        } else {
            None
        };
        Some(row)
    }

    fn time_row(&self, figure: &str, reported: Time, observed_ns: f64) -> AuditFigure {
        let allowed = self.tolerance.ns.max(reported.step_ns as f64);
        let mut row = self.row(figure, FigureUnit::Nanoseconds, reported.ns as f64, observed_ns, allowed);
        if !row.agrees {
            row.why = self.other_span(reported, figure);
        }
        if !row.agrees && row.why.is_none() && row.reported > row.observed {
            row.why = Some(later(self.reported.tool).to_owned());
        }
        row
    }

    fn mean(&self) -> Option<AuditFigure> {
        let reported = self.reported.mean?;
        let mut row = self.time_row("mean", reported, self.times.mean_ns);
        if row.agrees {
            return Some(row);
        }
        let added = self.with_added_values();
        if let Some(added) = added.filter(|added| explains(added.mean_ns, &row)) {
            row.why = Some(format!(
                "not the mean of its requests: with the values that wrk adds it is {}",
                words(added.mean_ns)
            ));
        } else if self.reported.tool == Tool::Ab && row.reported > row.observed {
            row.why = Some("no mean of times, but duration x concurrency / requests".to_owned());
        }
        Some(row)
    }

    fn percentile(&self, percent: f64, reported: Time) -> AuditFigure {
        let figure = format!("p{percent}");
        let mut row = self.time_row(&figure, reported, self.times.at(percent) as f64);
        let requests = self.times.count.max(1) as f64;
        let differ = self.reported.requests.map_or(0.0, |count| (count as f64 - requests).abs());
        let slack = 100.0 * (1.0 + differ) / requests;
        let (least, most) =
            (self.times.at((percent - slack).max(0.0)), self.times.at((percent + slack).min(100.0)));
        let step = reported.step_ns as f64 + self.tolerance.ns;
        let within = row.reported >= least as f64 * (1.0 - self.tolerance.share) - step
            && row.reported <= most as f64 * (1.0 + self.tolerance.share) + step;
        if within {
            (row.agrees, row.why) = (true, None);
        }
        if !row.agrees
            && let Some(added) = self.with_added_values()
            && explains(added.at(percent) as f64, &row)
        {
            row.why =
                Some(format!("with the values that wrk adds it is {}", words(added.at(percent) as f64)));
        }
        row
    }

    fn longest(&self) -> Option<AuditFigure> {
        let mut row = self.time_row("max", self.reported.max?, self.times.max_ns as f64);
        if !row.agrees && row.reported < row.observed && row.why.is_none() {
            row.why = Some("the slowest requests are not in the report".to_owned());
        }
        Some(row)
    }

    /// Words for the other span, if the figure is that one's.
    fn other_span(&self, reported: Time, figure: &str) -> Option<String> {
        let (other, words) = match self.reported.span {
            Span::Request => (Span::ConnectAndRequest, "the time to connect seems to be in it"),
            Span::ConnectAndRequest => (Span::Request, "the time to connect seems not to be in it"),
        };
        let times = self.truth.times_of(other);
        let value = match figure {
            "mean" => times.mean_ns,
            "max" => times.max_ns as f64,
            _ => times.at(figure.trim_start_matches('p').parse().ok()?) as f64,
        };
        let near = self.near(reported.ns as f64, value, reported.step_ns as f64 + self.tolerance.ns);
        near.then(|| words.to_owned())
    }

    /// The true times with the values that wrk adds (`stats_correct` of its source): for a time of n µs and
    /// a mean gap of g µs between the requests of a connection, where n >= 2 g, the values n - g, n - 2 g,
    /// … above g.
    fn with_added_values(&self) -> Option<Times> {
        if self.reported.tool != Tool::Wrk {
            return None;
        }
        let each = self.truth.requests / self.reported.concurrency?.max(1);
        let gap_us = self.truth.duration_ns / 1_000 / each.max(1);
        let mut all = self.times.sorted().to_vec();
        for ns in self.times.sorted() {
            let mut us = ns / 1_000;
            if gap_us == 0 || us < 2 * gap_us {
                continue;
            }
            us -= gap_us;
            while us > gap_us && all.len() < ADDED_MAX {
                all.push(us * 1_000);
                us -= gap_us;
            }
        }
        Some(Times::of(all))
    }
}

/// The cause of times that are longer than those of packets, where no other can be shown.
fn later(tool: Tool) -> &'static str {
    match tool {
        Tool::Wrk2 => "wrk2 counts from when a request was due",
        _ => "the tool sees replies later than they come, or its time begins before it sends",
    }
}

/// True if a figure in another way of counting explains most of a row's difference. It may explain more than
/// all of it: wrk does not count the requests that are under way at its end, which are the slow ones if it
/// ends in a stall.
fn explains(figure: f64, row: &AuditFigure) -> bool {
    let is_between = row.observed < row.reported && row.reported < figure;
    is_between || (row.reported - figure).abs() < (row.reported - row.observed).abs() / 2.0
}

/// The shortest time limit that a tool has by default: wrk's, which then goes on waiting.
const LIMIT_NS: u64 = 2_000_000_000;
/// Values with those added that are looked at.
const ADDED_MAX: usize = 20_000_000;

#[cfg(test)]
mod tests {
    use super::super::reported::Percentile;
    use super::*;
    use farfield_capture::Capture;

    const US: u64 = 1_000;
    const MS: u64 = 1_000_000;

    /// Packets that show these times, over ten seconds.
    fn truth(times: Vec<u64>) -> Truth {
        let requests = times.len() as u64;
        let times = Times::of(times);
        Truth {
            requests,
            duration_ns: 10_000 * MS,
            rate_per_s: requests as f64 / 10.0,
            times_with_connect: times.clone(),
            times,
            ..Truth::of(&Capture::default())
        }
    }

    fn time(ns: u64) -> Option<Time> {
        Some(Time { ns, step_ns: 10 * US })
    }

    fn found(reported: &Reported, truth: &Truth, figure: &str) -> AuditFigure {
        let all = rows(reported, truth, Tolerance::default());
        all.into_iter().find(|row| row.figure == figure).expect("a row")
    }

    #[test]
    fn a_fake_mean_is_found_and_a_rounded_one_is_not() {
        let truth = truth(vec![2 * MS; 1_000]);
        let with_mean = |ns| Reported { mean: time(ns), ..Reported::nothing(Tool::H2load) };
        assert!(found(&with_mean(2_090 * US), &truth, "mean").agrees, "within 5 %");
        let fake = found(&with_mean(1_500 * US), &truth, "mean");
        assert_eq!((fake.agrees, fake.difference), (false, Some(-0.25)));
        let coarse = Reported { mean: Some(Time { ns: MS, step_ns: MS }), ..Reported::nothing(Tool::H2load) };
        assert!(found(&coarse, &truth, "mean").agrees, "2 ms cut to a whole millisecond below");
    }

    /// A tail that the report leaves out shows in its percentile and its maximum.
    #[test]
    fn a_dropped_tail_is_found() {
        let mut times = vec![2 * MS; 980];
        times.extend(vec![500 * MS; 20]);
        let p99 = Percentile { percent: 99.0, time: Time { ns: 2 * MS, step_ns: 0 } };
        let report = Reported { percentiles: vec![p99], max: time(3 * MS), ..Reported::nothing(Tool::K6) };
        assert!(!found(&report, &truth(times.clone()), "p99").agrees);
        let max = found(&report, &truth(times), "max");
        assert_eq!(max.why.as_deref(), Some("the slowest requests are not in the report"));
    }

    /// One request more or less moves a percentile over a step of the distribution: that is no error.
    #[test]
    fn a_percentile_next_to_a_step_may_be_on_either_side() {
        let mut times = vec![2 * MS; 990];
        times.extend(vec![500 * MS; 10]);
        let p99 = |ns| Percentile { percent: 99.0, time: Time { ns, step_ns: 0 } };
        for ns in [2 * MS, 500 * MS] {
            let report = Reported { percentiles: vec![p99(ns)], ..Reported::nothing(Tool::K6) };
            assert!(found(&report, &truth(times.clone()), "p99").agrees, "{ns}");
        }
        let report = Reported { percentiles: vec![p99(700 * MS)], ..Reported::nothing(Tool::K6) };
        assert!(!found(&report, &truth(times), "p99").agrees);
    }

    /// 1,000 requests on one connection in 10 s have a mean gap of 10 ms. To one of 105 ms wrk adds 95, 85,
    /// … 15 ms: nine values with a sum of 495 ms.
    #[test]
    fn what_wrk_adds_is_computed() {
        let mut times = vec![MS; 999];
        times.push(105 * MS);
        let report = Reported {
            concurrency: Some(1),
            mean: time((999 + 105 + 495) * MS / 1_009),
            ..Reported::nothing(Tool::Wrk)
        };
        let mean = found(&report, &truth(times), "mean");
        assert!(!mean.agrees && mean.why.as_deref().is_some_and(|why| why.ends_with("1.58ms")), "{mean:?}");
    }

    #[test]
    fn requests_that_a_tool_gave_up_are_named_where_it_counts_them() {
        let truth = Truth { given_up: 100, ..truth(vec![MS; 1_000]) };
        let report = Reported { requests: Some(1_100), errors: Some(100), ..Reported::nothing(Tool::Oha) };
        let requests = found(&report, &truth, "requests");
        assert_eq!(requests.why.as_deref(), Some("the tool counts requests that it gave up"));
        assert!(found(&report, &truth, "errors").agrees);
        let errors = Reported { errors: Some(700), ..report };
        assert!(!found(&errors, &truth, "errors").agrees);
    }
}
