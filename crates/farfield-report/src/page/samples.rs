//! What only the samples know, in one pass over them: times by request, connections in order of closing, and
//! the run's own arrivals.
//!
//! Memory: 16 bytes for each connection, 8 for each arrival, twice that while they grow, and a row group of
//! samples.

use super::tables::{NAMED, named};
use super::thin::{POINTS, Stays, thinned_of};
use super::{NAMES, missing, opened, table, text_of};
use crate::chart::{Axis, Chart, Mark, Series, Spacing};
use crate::directory::RunDirectory;
use crate::export::SAMPLES_FILE;
use farfield_base::{Duration, Instant, Outcome, Sample};
use farfield_fit::series;
use farfield_measure::samples::SamplesFile;
use farfield_measure::summary::TimingSummary;
use farfield_measure::{Histogram, LoadKind};
use std::collections::BTreeMap;

/// Requests with a histogram of their own: the first that were asked for.
const REQUESTS: usize = 64;
/// Connections and arrivals that are remembered.
const REMEMBERED: usize = 20_000_000;
/// Fewer arrivals than this show no distribution.
const ARRIVALS_MIN: usize = 200;
const SCENARIO_BYTES_MAX: u64 = 1 << 24;

#[derive(Default)]
struct ByRequest {
    requests: u64,
    failed: u64,
    response: Histogram,
}

#[derive(Default)]
pub(super) struct Passed {
    requests: BTreeMap<u32, ByRequest>,
    others: ByRequest,
    /// Requests of a connection, and the instant of its last, by its number.
    connections: Vec<(u32, u64)>,
    due_ns: Vec<u64>,
    wrong: Option<String>,
}

/// One pass over the samples of the run, if they are not more than these.
pub(super) fn pass(run: &RunDirectory, samples_max: u64) -> Passed {
    let mut passed = Passed::default();
    let file = match opened(run, SAMPLES_FILE) {
        Ok(file) => file,
        Err(why) => return Passed { wrong: Some(why), ..passed },
    };
    let file = match SamplesFile::open(file) {
        Ok(file) => file,
        Err(error) => return Passed { wrong: Some(format!("{SAMPLES_FILE}: {error}")), ..passed },
    };
    if file.kept() > samples_max {
        let wrong = format!(
            "{SAMPLES_FILE}: times by request, connections and arrivals, of more than {samples_max} samples; `farfield report RUN \
             --format html` has them"
        );
        return Passed { wrong: Some(wrong), ..passed };
    }
    let measured_from = Instant::from_ns(run.summary().phases.warm_up_ns);
    for sample in file.samples() {
        match sample {
            Ok(sample) => passed.take(&sample, measured_from),
            Err(error) => {
                passed.wrong = Some(format!("{SAMPLES_FILE}: {error}; its samples up to there are shown"));
                break;
            }
        }
    }
    if file.left_out() > 0 {
        let kept = format!("{} samples of the run were not kept and are missing here", file.left_out());
        passed.wrong.get_or_insert(kept);
    }
    passed
}

impl Passed {
    fn take(&mut self, sample: &Sample, measured_from: Instant) {
        let at = sample.connection as usize;
        if sample.connection != Sample::NO_CONNECTION && at < REMEMBERED {
            if at >= self.connections.len() {
                self.connections.resize(at + 1, (0, 0));
            }
            let (requests, last) = &mut self.connections[at];
            (*requests, *last) = (*requests + 1, (*last).max(sample.done.as_ns()));
        }
        if sample.due < measured_from {
            return;
        }
        // What a page leads to does not arrive: it is due when the page's reply names it.
        let arrives = !sample.page.is_known() || sample.page.begins();
        if arrives && self.due_ns.len() < REMEMBERED {
            self.due_ns.push(sample.due.as_ns());
        }
        let is_kept = self.requests.len() < REQUESTS || self.requests.contains_key(&sample.request);
        let of = if is_kept { self.requests.entry(sample.request).or_default() } else { &mut self.others };
        of.requests += 1;
        if sample.outcome == Outcome::Ok {
            of.response.record(sample.response_time());
        } else {
            of.failed += 1;
        }
    }
}

pub(super) fn sections(page: &mut String, run: &RunDirectory, mut passed: Passed) {
    if let Some(why) = &passed.wrong {
        missing(page, why);
    }
    by_request(page, run, &passed);
    closing(page, std::mem::take(&mut passed.connections));
    // Users of other loads ask when they are answered: their requests are no arrivals.
    if run.summary().heading.load == LoadKind::Open {
        arrivals(page, std::mem::take(&mut passed.due_ns));
    }
}

fn by_request(page: &mut String, run: &RunDirectory, passed: &Passed) {
    if passed.requests.len() < 2 {
        return;
    }
    let paths = paths(run);
    let mut all: Vec<(&u32, &ByRequest)> = passed.requests.iter().collect();
    all.sort_by_key(|(index, of)| (std::cmp::Reverse(of.requests), **index));
    let row = |name: &str, of: &ByRequest| {
        let errors = (of.requests > 0).then(|| of.failed as f64 / of.requests as f64);
        named(name, of.requests, errors.map(|share| (share, None)), TimingSummary::of(&of.response).as_ref())
    };
    let name = |index: u32| match paths.get(index as usize) {
        Some(path) => format!("{index}: {path}"),
        None => format!("request {index}"),
    };
    let mut rows: Vec<Vec<String>> =
        all.iter().take(NAMES).map(|(index, of)| row(&name(**index), of)).collect();
    let mut others = ByRequest::default();
    for of in all.iter().skip(NAMES).map(|(_, of)| *of).chain([&passed.others]) {
        others.requests += of.requests;
        others.failed += of.failed;
        others.response.merge(&of.response);
    }
    if others.requests > 0 {
        rows.push(row("others", &others));
    }
    page.push_str("<h2>Requests</h2>\n");
    table(page, &NAMED, &rows);
}

/// The paths of the scenario's own requests, by their index.
fn paths(run: &RunDirectory) -> Vec<String> {
    let scenario = text_of(run, "scenario.toml", SCENARIO_BYTES_MAX);
    let scenario = scenario.and_then(|text| text.parse::<toml::Table>().ok()).unwrap_or_default();
    let requests = scenario.get("requests").and_then(|requests| requests.get("request"));
    let requests = requests.and_then(toml::Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let path = |request: &toml::Value| {
        request.get("path").and_then(toml::Value::as_str).unwrap_or("?").chars().take(200).collect()
    };
    requests.iter().map(path).collect()
}

/// Requests of connections with the instants of their last, in any order.
fn closing(page: &mut String, mut closed: Vec<(u32, u64)>) {
    closed.retain(|(requests, _)| *requests > 0);
    // Ties by the number of requests: which connection comes first must not depend on the sort.
    closed.sort_unstable_by_key(|(requests, last)| (*last, *requests));
    if closed.len() < 2 {
        return;
    }
    page.push_str("<h2>Connections</h2>\n<div class=\"pair\">\n");
    let thin = |stays| thinned_of(&closed, |at, (requests, _)| (at as f64, f64::from(*requests)), stays);
    let mut lines = vec![Series::new("requests", Mark::Line, thin(Stays::Median))];
    if closed.len() > POINTS {
        lines[0].name = "median of those beside each other".to_owned();
        lines.push(Series::new("largest of these", Mark::Line, thin(Stays::Largest)));
    }
    let across = Axis::linear("connections, in the order of their last replies");
    let chart = Chart::new(
        "Requests on each connection",
        across,
        Axis { label: "requests".to_owned(), spacing: Spacing::FromZero },
        lines,
    );
    page.push_str(&chart.html());
    page.push_str("</div>\n");
}

fn arrivals(page: &mut String, mut due: Vec<u64>) {
    due.sort_unstable();
    if due.len() < ARRIVALS_MIN {
        return;
    }
    page.push_str(
        "<h2>Arrivals</h2>\n<p>The instants at which requests, or pages, were due. A Poisson process lies on the diagonal of the \
         first chart and on the dashed line of the second.</p>\n<div class=\"pair\">\n",
    );
    let (first, last) = (due[0], due[due.len() - 1]);
    // Slots of ten arrivals in the mean, at most a million of them.
    let slot = ((last - first) / (due.len() as u64 / 10).clamp(1, 1_000_000)).max(1);
    let slots = ((last - first) / slot) as usize;
    let instants = due.iter().map(|ns| Instant::from_ns(*ns));
    let counts = series::counts(instants, Instant::from_ns(first), Duration::from_ns(slot), slots);
    page.push_str(&quantiles(due).html());
    page.push_str(&variance_time(&counts, slot).html());
    if let Ok(correlation) = series::autocorrelation(&counts, 50.min(counts.len() / 4)) {
        let points = correlation.iter().enumerate().map(|(lag, value)| (lag as f64, *value));
        let lines = vec![Series::new("counts", Mark::Marked, points)];
        let across = Axis::linear(format!("lag, in slots of {}", crate::figures::time(slot)));
        let up = Axis::linear("autocorrelation");
        page.push_str(&Chart::new("Autocorrelation of arrivals in a slot", across, up, lines).html());
    }
    page.push_str("</div>\n");
}

/// Gaps against those of a Poisson process of the same rate, at 200 percentiles.
fn quantiles(due: Vec<u64>) -> Chart {
    // Each instant becomes the gap before it, in its own place.
    let mut gaps = due;
    (1..gaps.len()).rev().for_each(|at| gaps[at] -= gaps[at - 1]);
    let gaps = &mut gaps[1..];
    gaps.sort_unstable();
    let mean = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
    let point = |step: u32| {
        let share = (f64::from(step) + 0.5) / 200.0;
        let found = gaps[((share * gaps.len() as f64) as usize).min(gaps.len() - 1)];
        (-mean * (1.0 - share).ln() / 1e6, found as f64 / 1e6)
    };
    let points: Vec<(f64, f64)> = (0..200).map(point).collect();
    let diagonal = points.iter().map(|(x, _)| (*x, *x)).collect::<Vec<_>>();
    let lines = vec![
        Series::new("gaps", Mark::Dots, points),
        Series::new("an exponential distribution", Mark::Dashes, diagonal),
    ];
    let across = Axis::linear("gap of a Poisson process of this rate, ms");
    Chart::new("Gaps between arrivals", across, Axis::linear("gap, ms"), lines)
}

/// The variance of the mean of m counts, over that of one, against m.
fn variance_time(counts: &[f64], slot_ns: u64) -> Chart {
    let whole = series::variance(counts);
    let sizes = (0..).map(|power| 1_usize << power).take_while(|size| counts.len() / size >= 10);
    let points: Vec<(f64, f64)> = sizes
        .map(|size| (size as f64, series::variance(&series::aggregated(counts, size)) / whole))
        .filter(|(_, share)| share.is_finite())
        .collect();
    let independent: Vec<(f64, f64)> = points.iter().map(|(size, _)| (*size, 1.0 / size)).collect();
    let lines = vec![
        Series::new("counts", Mark::Marked, points),
        Series::new("independent counts", Mark::Dashes, independent),
    ];
    let across = Axis::logarithmic(format!("slots of {} taken together", crate::figures::time(slot_ns)));
    Chart::new("Variance-time plot", across, Axis::logarithmic("variance, against one slot"), lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The i-th of n gaps is the quantile (i + 1/2)/n of an exponential distribution; the order in which they
    /// come is another one.
    fn exponential(gaps: u64, mean_ns: f64) -> Vec<u64> {
        let gap = |at: u64| (-mean_ns * (1.0 - (at as f64 + 0.5) / gaps as f64).ln()) as u64;
        let instants = (0..gaps).scan(1_000_000_000, |now, at| {
            *now += gap(at * 7 % gaps);
            Some(*now)
        });
        std::iter::once(1_000_000_000).chain(instants).collect()
    }

    #[test]
    fn gaps_of_a_poisson_process_lie_on_the_diagonal() {
        let chart = quantiles(exponential(20_000, 5e6));
        let [gaps, diagonal] = &chart.series[..] else { panic!("gaps and a diagonal") };
        assert_eq!((gaps.points.len(), diagonal.points.len()), (200, 200));
        for (found, theory) in gaps.points.iter().zip(&diagonal.points) {
            assert_eq!((found.x, theory.x), (theory.y, theory.y));
            assert!((found.y - found.x).abs() < 0.001 + 0.02 * found.x, "{found:?}");
        }
        // The median of an exponential distribution of mean 5 ms.
        let median = f64::midpoint(diagonal.points[99].x, diagonal.points[100].x);
        assert!((median - 5.0 * std::f64::consts::LN_2).abs() < 0.02, "{median}");
    }

    #[test]
    fn equal_gaps_are_a_level_line() {
        let chart = quantiles((0..1000).map(|at| at * 2_000_000).collect());
        assert!(chart.series[0].points.iter().all(|point| point.y == 2.0));
        assert!(chart.series[1].points[199].y > 10.0);
    }
}
