//! Figures that only the samples have, in one pass over them: times by request, connections in order of
//! closing, and the run's own arrivals.
//!
//! Memory: 16 bytes for each connection, and some 40 for one whose number is beyond that of the kept samples,
//! 8 for each arrival, twice that while they grow, and a row group of samples.

use super::tables::{NAMED, named};
use super::thin::{POINTS, Stays, thinned_of};
use super::users::ActiveUsers;
use super::{NAMES, missing, opened, table, text_of};
use crate::chart::{Axis, Chart, Mark, Series, Spacing};
use crate::directory::RunDirectory;
use crate::export::SAMPLES_FILE;
use farfield_base::{Duration, Instant, Merge, Outcome, Sample};
use farfield_fit::series;
use farfield_measure::samples::SamplesFile;
use farfield_measure::summary::{PartSummary, TimingSummary};
use farfield_measure::{Histogram, LoadKind};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Requests with a histogram of their own: the first that were asked for, of those whose paths are known.
const REQUESTS: usize = 64;
/// Connections and arrivals that are remembered.
const REMEMBERED: usize = 20_000_000;
/// Fewer arrivals than this show no distribution.
const ARRIVALS_MIN: usize = 200;
const SCENARIO_BYTES_MAX: u64 = 1 << 24;

#[derive(Default)]
struct ByRequest {
    requests: u64,
    ok: u64,
    unfinished: u64,
    response: Histogram,
}

impl ByRequest {
    /// The share that went wrong, as the summary has it.
    fn error_share(&self, ignores_unfinished: bool) -> Option<f64> {
        let counted = self.requests - if ignores_unfinished { self.unfinished } else { 0 };
        (counted > 0).then(|| (counted - self.ok) as f64 / counted as f64)
    }

    fn merge(&mut self, other: &ByRequest) {
        self.requests += other.requests;
        self.ok += other.ok;
        self.unfinished += other.unfinished;
        self.response.merge(&other.response);
    }
}

#[derive(Default)]
pub(super) struct SamplePass {
    requests: BTreeMap<u32, ByRequest>,
    others: ByRequest,
    /// Requests whose paths the summary has; none where it has none.
    named: BTreeSet<u32>,
    /// Requests of a connection, and the instant of its last, by its number.
    connections: Vec<(u32, u64)>,
    /// Connections that have room there: as many as there are samples.
    numbered: usize,
    /// Connections with higher numbers, as there are where few samples of many are kept.
    further: BTreeMap<u32, (u32, u64)>,
    due_ns: Vec<u64>,
    /// Users over time; empty where samples are missing.
    pub(super) users: ActiveUsers,
    wrong: Option<String>,
}

/// One pass over the samples of the run, if they are not more than these.
pub(super) fn pass(run: &RunDirectory, samples_max: u64) -> SamplePass {
    let mut passed = SamplePass::default();
    let file = match opened(run, SAMPLES_FILE) {
        Ok(file) => file,
        Err(why) => return SamplePass { wrong: Some(why), ..passed },
    };
    let file = match SamplesFile::open(file) {
        Ok(file) => file,
        Err(error) => return SamplePass { wrong: Some(format!("{SAMPLES_FILE}: {error}")), ..passed },
    };
    if file.kept() > samples_max {
        let wrong = format!(
            "{SAMPLES_FILE}: times by request, connections and arrivals, of more than {samples_max} samples; `farfield report RUN \
             --format html` has them"
        );
        return SamplePass { wrong: Some(wrong), ..passed };
    }
    // In an open load a user is an arrival, and those are counted anyway.
    if run.summary().heading.load != LoadKind::Open {
        passed.users = ActiveUsers::of(file.kept());
    }
    passed.numbered = usize::try_from(file.kept()).map_or(REMEMBERED, |kept| kept.min(REMEMBERED));
    passed.named = run.summary().paths.iter().take(REQUESTS).flat_map(|path| path.numbers.clone()).collect();
    let phases = &run.summary().phases;
    let until_ns = phases.warm_up_ns.saturating_add(phases.steady_ns);
    let measured = Instant::from_ns(phases.warm_up_ns)..Instant::from_ns(until_ns);
    for sample in file.samples() {
        match sample {
            Ok(sample) => passed.take(&sample, &measured),
            Err(error) => {
                passed.wrong = Some(format!("{SAMPLES_FILE}: {error}; its samples up to there are shown"));
                break;
            }
        }
    }
    if file.left_out() > 0 {
        let kept = format!("{} samples of the run were not kept and are missing here", file.left_out());
        passed.wrong.get_or_insert(kept);
        passed.users = ActiveUsers::default();
    }
    passed
}

impl SamplePass {
    /// Requests of a connection, and the instant of its last, in nanoseconds; `None` without a connection,
    /// or without room for it.
    fn connection(&mut self, number: u32) -> Option<&mut (u32, u64)> {
        let at = number as usize;
        if number == Sample::NO_CONNECTION {
            None
        } else if at < self.numbered {
            if at >= self.connections.len() {
                self.connections.resize(at + 1, (0, 0));
            }
            self.connections.get_mut(at)
        } else if self.further.len() < REMEMBERED || self.further.contains_key(&number) {
            Some(self.further.entry(number).or_default())
        } else {
            None
        }
    }

    fn take(&mut self, sample: &Sample, measured: &Range<Instant>) {
        if let Some((requests, last)) = self.connection(sample.connection) {
            (*requests, *last) = (*requests + 1, (*last).max(sample.done.as_ns()));
        }
        self.users.take(sample);
        if !measured.contains(&sample.due) {
            return;
        }
        // Requests that a page leads to do not arrive: each is due when the page's reply names it.
        let arrives = !sample.page.is_known() || sample.page.begins();
        if arrives && self.due_ns.len() < REMEMBERED {
            self.due_ns.push(sample.due.as_ns());
        }
        let has_name = self.named.is_empty() || self.named.contains(&sample.request);
        let has_room = self.requests.len() < REQUESTS && has_name;
        let is_kept = has_room || self.requests.contains_key(&sample.request);
        let of = if is_kept { self.requests.entry(sample.request).or_default() } else { &mut self.others };
        of.requests += 1;
        match sample.outcome {
            Outcome::Ok => {
                of.ok += 1;
                of.response.record(sample.response_time());
            }
            Outcome::Unfinished => of.unfinished += 1,
            _ => {}
        }
    }
}

pub(super) fn sections(page: &mut String, run: &RunDirectory, mut passed: SamplePass) {
    if let Some(why) = &passed.wrong {
        missing(page, why);
    }
    by_request(page, run, &passed);
    let mut connections = std::mem::take(&mut passed.connections);
    connections.extend(std::mem::take(&mut passed.further).into_values());
    closing(page, connections);
    // Users of other loads ask when they are answered: their requests are no arrivals.
    if run.summary().heading.load == LoadKind::Open {
        arrivals(page, std::mem::take(&mut passed.due_ns));
    }
}

fn by_request(page: &mut String, run: &RunDirectory, passed: &SamplePass) {
    if passed.requests.len() < 2 {
        return;
    }
    let paths = paths(run);
    let mut all: Vec<(&u32, &ByRequest)> = passed.requests.iter().collect();
    all.sort_by_key(|(index, of)| (std::cmp::Reverse(of.requests), **index));
    let ignores_unfinished = ignores_unfinished(&run.summary().steady);
    let row = |name: &str, of: &ByRequest| {
        let errors = of.error_share(ignores_unfinished);
        named(name, of.requests, errors.map(|share| (share, None)), TimingSummary::of(&of.response).as_ref())
    };
    let of_summary = |index: &u32| {
        let mut all = run.summary().paths.iter();
        all.find(|path| path.numbers.contains(index)).map(|path| path.path.as_str())
    };
    let name = |index: u32| match paths.get(index as usize).map(String::as_str).or(of_summary(&index)) {
        Some(path) => format!("{index}: {path}"),
        None => format!("request {index}"),
    };
    let mut rows: Vec<Vec<String>> =
        all.iter().take(NAMES).map(|(index, of)| row(&name(**index), of)).collect();
    let mut others = ByRequest::default();
    for of in all.iter().skip(NAMES).map(|(_, of)| *of).chain([&passed.others]) {
        others.merge(of);
    }
    if others.requests > 0 {
        rows.push(row("others", &others));
    }
    page.push_str("<h2>Requests</h2>\n");
    table(page, &NAMED, &rows);
}

/// True if the summary leaves unfinished requests out of its error share, which the scenario may ask for.
fn ignores_unfinished(part: &PartSummary) -> bool {
    let of = |name: &str| part.outcomes.iter().find(|own| own.name == name).map_or(0, |own| own.count);
    let (ok, unfinished) = (of(Outcome::Ok.name()), of(Outcome::Unfinished.name()));
    let all_wrong = part.requests.saturating_sub(ok) as f64 / part.requests.max(1) as f64;
    unfinished > 0 && part.error_share.is_none_or(|share| share < all_wrong - 1e-12)
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
    use crate::terminal::scene::Scene;
    use farfield_measure::summary::OutcomeCount;

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

    fn sample(connection: u32, due_ns: u64, outcome: Outcome) -> Sample {
        let like = Scene::good().samples.swap_remove(0);
        Sample { connection, due: Instant::from_ns(due_ns), outcome, ..like }
    }

    #[test]
    fn connections_take_room_where_they_are_seen() {
        let mut passed = SamplePass { numbered: 10, ..SamplePass::default() };
        let measured = Instant::ZERO..Instant::from_ns(10);
        [19_999_999, 7, 7, u32::MAX - 1, Sample::NO_CONNECTION]
            .into_iter()
            .for_each(|connection| passed.take(&sample(connection, 1, Outcome::Ok), &measured));
        assert_eq!((passed.connections.len(), passed.connections[7].0), (8, 2));
        let further: Vec<_> = passed.further.iter().map(|(at, (requests, _))| (*at, *requests)).collect();
        assert_eq!(further, [(19_999_999, 1), (u32::MAX - 1, 1)]);
    }

    #[test]
    fn requests_of_the_measured_part_are_counted_as_the_summary_does() {
        let mut passed = SamplePass::default();
        let measured = Instant::from_ns(10)..Instant::from_ns(20);
        for (due_ns, outcome) in [
            (9, Outcome::Reset),
            (10, Outcome::Ok),
            (11, Outcome::Reset),
            (19, Outcome::Unfinished),
            (20, Outcome::Reset),
        ] {
            passed.take(&sample(0, due_ns, outcome), &measured);
        }
        let of = &passed.requests[&0];
        assert_eq!((of.requests, passed.due_ns.len()), (3, 3));
        assert_eq!((of.error_share(true), of.error_share(false)), (Some(0.5), Some(2.0 / 3.0)));
        let mut part = Scene::good().summary().steady;
        let like = part.outcomes[0].clone();
        let outcome = |name: &str| OutcomeCount { name: name.to_owned(), count: 2, ..like.clone() };
        (part.requests, part.outcomes) = (4, vec![outcome("ok"), outcome("unfinished")]);
        for (share, ignores) in [(0.5, false), (0.0, true)] {
            part.error_share = Some(share);
            assert_eq!(ignores_unfinished(&part), ignores, "{share}");
        }
    }

    #[test]
    fn equal_gaps_are_a_level_line() {
        let chart = quantiles((0..1000).map(|at| at * 2_000_000).collect());
        assert!(chart.series[0].points.iter().all(|point| point.y == 2.0));
        assert!(chart.series[1].points[199].y > 10.0);
    }
}
