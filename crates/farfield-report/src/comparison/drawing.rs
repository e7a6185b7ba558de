//! The pictures of a comparison: distributions of response times over each other with the intervals of their
//! difference, and the course of the first figures over all runs, in the order in which they began.
//!
//! A drawing shows what the table beside it has, and where the numbers come from: only the distributions are
//! read beyond the summaries, from the runs' histograms. Runs that do not count are in the course of the
//! figures, hollow, and nowhere else.

use super::measured::Measured;
use super::metric::{Metric, Statistic};
use super::side::ComparisonSide;
use super::{Against, cells};
use crate::chart::{Axis, Chart, ChartPoint, Mark, Series, Spacing};
use crate::directory::RunDirectory;
use crate::html::{escaped, table};
use crate::page::distributions;
use farfield_experiment::sweep::Scale;
use farfield_measure::{Quantile, Timing};
use std::fmt::Write;

/// Runs of a side whose histograms are read, and of all sides that are in the course: the latest.
const RUNS_MAX: usize = 200;

/// Characters of a side's name in a legend.
const NAME_MAX: usize = 40;

/// Charts beside the numbers of a comparison.
#[derive(Debug, Default)]
pub struct ComparisonCharts {
    /// The name of each side and its response times: milliseconds, and the share of requests within them.
    distributions: Vec<(String, Vec<(f64, f64)>)>,
    course: Vec<CourseRow>,
}

/// A run in the course of the figures.
#[derive(Debug)]
struct CourseRow {
    started_at: String,
    /// The number of its side, and its name.
    side: usize,
    run: String,
    verdict: &'static str,
    counts: bool,
    /// The number of each of [`COURSE`], and its interval.
    figures: [Option<(f64, Option<[f64; 2]>)>; COURSE.len()],
}

/// Metrics whose course is drawn, each with its title, its unit, and how much of its own unit that is.
const COURSE: [(Metric, &str, &str, f64); 4] = [
    (Metric::Rate, "Successful replies", "replies/s", 1.0),
    (Metric::Time(Statistic::Quantile(Quantile::P50), Timing::Response), "p50", "milliseconds", 1e6),
    (Metric::Time(Statistic::Quantile(Quantile::P99), Timing::Response), "p99", "milliseconds", 1e6),
    (Metric::Errors, "Errors", "% of requests", 0.01),
];

impl ComparisonCharts {
    /// Charts of these sides, the base first.
    pub fn of(sides: &[ComparisonSide]) -> ComparisonCharts {
        let mut course: Vec<CourseRow> = Vec::new();
        for (number, side) in sides.iter().enumerate() {
            course.extend(side.runs().iter().map(|run| CourseRow::of(run, number, true)));
            course.extend(side.doubtful().iter().map(|run| CourseRow::of(run, number, false)));
        }
        // Instants in UTC are in the order of their texts.
        course.sort_by(|a, b| (&a.started_at, &a.run).cmp(&(&b.started_at, &b.run)));
        course.drain(..course.len().saturating_sub(RUNS_MAX));
        ComparisonCharts { distributions: sides.iter().map(distribution).collect(), course }
    }

    /// The distributions of the base and of side `number`, and what differs between them; nothing where
    /// neither can be drawn.
    pub(super) fn put_difference(&self, page: &mut String, against: &Against, number: usize) {
        let known = |side: usize| self.distributions.get(side).filter(|(_, points)| !points.is_empty());
        let mut charts = String::new();
        if let (Some(base), Some(other)) = (known(0), known(number)) {
            let line = |(name, points): &(String, Vec<(f64, f64)>)| {
                Series::new(name.as_str(), Mark::Line, points.iter().copied())
            };
            let up = Axis { label: "share of requests".to_owned(), spacing: Spacing::FromZero };
            let across = Axis::logarithmic("response time, milliseconds");
            let lines = vec![line(base), line(other)];
            charts.push_str(&Chart::new("Response times within a time", across, up, lines).html());
        }
        if let Some(chart) = change_by_percentile(against) {
            charts.push_str(&chart.html());
        }
        if !charts.is_empty() {
            let _ = writeln!(page, "<div class=\"pair\">\n{charts}</div>");
        }
    }

    /// The course of the figures over all runs; nothing of fewer than three.
    pub(super) fn put_course(&self, page: &mut String, sides: &[&str]) {
        if self.course.len() < 3 {
            return;
        }
        page.push_str(
            "<h2>Runs in their order</h2>\n<p>All runs from the first to begin, with the 95 % interval that each has of \
             itself. Hollow ones do not count.</p>\n<div class=\"pair\">\n",
        );
        for (at, (metric, title, unit, per)) in COURSE.into_iter().enumerate() {
            let series: Vec<Series> =
                (0..sides.len()).map(|side| self.of_side(side, sides[side], at, per)).collect();
            let is_zero = series.iter().flat_map(|series| &series.points).all(|point| point.y == 0.0);
            if is_zero {
                continue;
            }
            let spacing =
                if metric.scale() == Scale::Difference { Spacing::FromZero } else { Spacing::Linear };
            let across = Axis::linear("run, in the order of their starts");
            let up = Axis { label: unit.to_owned(), spacing };
            page.push_str(&Chart::new(title, across, up, series).html());
        }
        page.push_str("</div>\n<details><summary>The runs as a table</summary>\n");
        let row = |(number, row): (usize, &CourseRow)| {
            let mut cells = vec![
                (number + 1).to_string(),
                escaped(&row.started_at),
                format!("<span class=\"name\">{}</span>", escaped(sides[row.side])),
                format!("<span class=\"name\">{}</span>", escaped(&row.run)),
                row.verdict.to_owned(),
            ];
            cells.extend(COURSE.iter().zip(row.figures).map(|((metric, ..), figure)| {
                figure.map_or_else(|| "–".to_owned(), |(value, _)| cells::value(*metric, value))
            }));
            cells
        };
        let rows: Vec<Vec<String>> = self.course.iter().enumerate().map(row).collect();
        table(
            page,
            &["number", "<began", "<side", "<run", "<verdict", "rate", "p50", "p99", "errors"],
            &rows,
        );
        page.push_str("</details>\n");
    }

    fn of_side(&self, side: usize, name: &str, figure: usize, per: f64) -> Series {
        let of_side = self.course.iter().enumerate().filter(|(_, row)| row.side == side);
        let points = of_side.filter_map(|(number, row)| {
            let (value, interval) = row.figures[figure]?;
            let place = ChartPoint::from(((number + 1) as f64, value / per));
            let interval = interval.map(|ends| ends.map(|end| end / per));
            Some(ChartPoint { interval, is_doubtful: !row.counts, ..place })
        });
        Series { name: legend_name(name), mark: Mark::Dots, points: points.collect() }
    }
}

impl CourseRow {
    fn of(run: &RunDirectory, side: usize, counts: bool) -> CourseRow {
        let summary = run.summary();
        let verdict = match (summary.complete, summary.verdict.valid) {
            (false, _) => "INCOMPLETE",
            (true, true) => "VALID",
            (true, false) => "INVALID",
        };
        let figure = |(metric, ..): (Metric, &str, &str, f64)| {
            let interval = metric.estimate_of(Measured::whole(run)).ok().map(|found| [found.low, found.high]);
            Some((metric.of_run(run).ok()?, interval))
        };
        let run = run.path().file_name().unwrap_or(run.path().as_os_str()).to_string_lossy().into_owned();
        let started_at = summary.heading.started_at.clone();
        CourseRow { started_at, side, run, verdict, counts, figures: COURSE.map(figure) }
    }
}

/// The name of a side in a legend: the end of a long path, by which sides differ.
fn legend_name(path: &str) -> String {
    let path = farfield_base::printable(path, &[]);
    match path.chars().count().checked_sub(NAME_MAX) {
        Some(more) if more > 0 => std::iter::once('…').chain(path.chars().skip(more + 1)).collect(),
        _ => path.into_owned(),
    }
}

/// The response times of a side's runs together; nothing where the histograms cannot be read.
fn distribution(side: &ComparisonSide) -> (String, Vec<(f64, f64)>) {
    let of_run = |run: &RunDirectory| {
        let all = distributions::read(run).ok()?;
        all.into_iter().find(|own| own.tag == "steady.response" && !own.bins.is_empty())
    };
    let mut runs = side.runs().iter().take(RUNS_MAX).filter_map(of_run);
    let Some(mut all) = runs.next() else { return (legend_name(side.name()), Vec::new()) };
    for run in runs {
        // Histograms of one program have one precision; one that does not fit is left out.
        let _ = all.bins.add(&run.bins);
    }
    (legend_name(side.name()), distributions::shares(&all, 1.0))
}

/// The change of each percentile with its interval; nothing of fewer than two.
fn change_by_percentile(against: &Against) -> Option<Chart> {
    let point = |row: &super::MetricComparison| {
        let whole = row.metric.part.is_none().then_some(row.metric.metric)?;
        let Metric::Time(Statistic::Quantile(quantile), Timing::Response) = whole else { return None };
        let change = row.change?;
        let place = ChartPoint::from((1.0 / (1.0 - quantile.as_f64()), change.by * 100.0));
        Some(ChartPoint { interval: Some([change.low, change.high].map(|end| end * 100.0)), ..place })
    };
    let mut points: Vec<ChartPoint> = against.rows.iter().filter_map(point).collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    if points.len() < 2 {
        return None;
    }
    let none = [points[0].x, points[points.len() - 1].x].map(|x| (x, 0.0));
    let series = vec![
        Series { name: "change, 95 % interval".to_owned(), mark: Mark::Marked, points },
        Series::new("no change", Mark::Dashes, none),
    ];
    let across = Axis::logarithmic("1/(1 - percentile): 2 is p50, 10 is p90, 100 is p99");
    Some(Chart::new("Change by percentile", across, Axis::linear("change, %"), series))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::scoped::ScopedMetric;
    use crate::comparison::{compare, open};
    use crate::directory::SUMMARY_FILE;
    use crate::export::HISTOGRAMS_FILE;
    use crate::terminal::scene::Scene;
    use farfield_base::{Duration, Instant};
    use farfield_measure::hlog;
    use std::fs;
    use std::path::Path;

    /// A run of the scene that began at a second of its minute, and may be invalid.
    fn keep(folder: &Path, second: u32, is_valid: bool) {
        let scene = Scene::good();
        let mut summary = scene.summary();
        summary.heading.started_at = format!("2026-11-27T10:00:{second:02}Z");
        summary.verdict.valid = is_valid;
        fs::create_dir_all(folder).expect("a folder");
        fs::write(folder.join(SUMMARY_FILE), summary.to_json()).expect("written");
        let mut log = Vec::new();
        let until = Instant::from_ns(3_000_000_000);
        hlog::write(&scene.fold(), &scene.stats, Duration::from_secs(1), until, &mut log).expect("memory");
        fs::write(folder.join(HISTOGRAMS_FILE), log).expect("written");
    }

    /// Runs are in the order of their starts, whichever side they are of; the one that does not count is
    /// hollow, and in no distribution.
    #[test]
    fn all_runs_are_drawn_in_their_order_and_those_that_do_not_count_are_hollow() {
        let home = tempfile::tempdir().expect("a folder");
        let at = |name: &str| home.path().join(name);
        for (name, second, is_valid) in
            [("a/1", 1, true), ("b/1", 2, true), ("a/2", 3, true), ("b/2", 4, false), ("b/3", 5, true)]
        {
            keep(&at(name), second, is_valid);
        }
        let sides = open(&[at("a"), at("b")]).expect("sides");
        let drawing = ComparisonCharts::of(&sides);
        let order: Vec<(usize, &str, &str)> =
            drawing.course.iter().map(|row| (row.side, row.run.as_str(), row.verdict)).collect();
        let expected =
            [(0, "1", "VALID"), (1, "1", "VALID"), (0, "2", "VALID"), (1, "2", "INVALID"), (1, "3", "VALID")];
        assert_eq!(order, expected);
        let rates = drawing.of_side(1, "b", 0, 1.0);
        let places: Vec<(f64, bool)> =
            rates.points.iter().map(|point| (point.x, point.is_doubtful)).collect();
        assert_eq!(places, [(2.0, false), (4.0, true), (5.0, false)]);
        // Two runs of one scene have the distribution of one: to 1 at the longest time.
        let [(_, base), (_, other)] = &drawing.distributions[..] else { panic!("two sides") };
        assert_eq!((base, base.last().map(|point| point.1)), (other, Some(1.0)));
        let mut page = String::new();
        let compared = compare(&sides[0], &sides[1..], &Metric::DEFAULT.map(ScopedMetric::from));
        drawing.put_difference(&mut page, &compared.others[0], 1);
        drawing.put_course(&mut page, &["a", "b"]);
        for part in
            [">Response times within a time<", ">Successful replies<", "<td class=\"text\">INVALID</td>"]
        {
            assert!(page.contains(part), "{part}: {page}");
        }
    }

    #[test]
    fn long_names_are_known_by_their_ends() {
        assert_eq!(legend_name("before"), "before");
        let long = format!("/srv/{}/after\u{1b}", "x".repeat(60));
        let name = legend_name(&long);
        assert!(name.starts_with('…') && name.contains("/after") && !name.contains('\u{1b}'), "{name}");
        assert_eq!(name.chars().count(), NAME_MAX);
    }

    #[test]
    fn runs_without_histograms_cost_their_drawing_alone() {
        let home = tempfile::tempdir().expect("a folder");
        for (name, second) in [("a", 1), ("b", 2)] {
            keep(&home.path().join(name), second, true);
            fs::write(home.path().join(name).join(HISTOGRAMS_FILE), "nothing of the kind").expect("written");
        }
        let sides = open(&[home.path().join("a"), home.path().join("b")]).expect("sides");
        let (drawing, mut page) = (ComparisonCharts::of(&sides), String::new());
        let compared = compare(&sides[0], &sides[1..], &Metric::DEFAULT.map(ScopedMetric::from));
        drawing.put_difference(&mut page, &compared.others[0], 1);
        drawing.put_course(&mut page, &["a", "b"]);
        assert!(!page.contains("within a time"), "{page}");
        assert!(!page.contains("Runs in their order"), "two runs have no course: {page}");
    }
}
