//! A search for capacity or a sweep while it goes on, as a page: the runs that are made so far, over their
//! loads or their points. Whoever asked for them draws conclusions at the end; here are only the figures.

use crate::chart::{Axis, Chart, ChartPoint, Mark, Series, Spacing};
use crate::figures;
use crate::html::{self, escaped, table};
use farfield_measure::{Quantile, Summary};
use std::fmt::Write;

const STYLE: &str = ".charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,26em),1fr));gap:1em}\
    .charts>*{min-width:0;margin:0}";

/// A run of an experiment.
#[derive(Debug)]
pub struct MadeRun {
    /// The run's number in the order in which they were made.
    pub number: u64,
    /// The run's point, in words.
    pub point: String,
    /// The load, in a search.
    pub load: Option<f64>,
    /// The run's result.
    pub summary: Summary,
}

/// A number of a run, if it has it.
type Figure = fn(&Summary) -> Option<f64>;

/// The page of these runs.
pub fn render(name: &str, mut runs: Vec<MadeRun>) -> String {
    runs.sort_by_key(|run| run.number);
    let mut page = html::begin_family(&escaped(&format!("{name}, so far")), STYLE);
    let valid = runs.iter().filter(|run| run.summary.verdict.valid).count();
    let _ = writeln!(page, "<p>{} runs so far, {valid} of them valid.</p>", runs.len());
    charts(&mut page, &runs);
    rows(&mut page, &runs);
    html::end_family(&mut page);
    page
}

/// The load of a run, or where there are points in words the number of its point in the order of their first
/// runs.
fn place(runs: &[MadeRun], run: &MadeRun) -> f64 {
    let mut points: Vec<&str> = Vec::new();
    for own in runs.iter().map(|run| run.point.as_str()) {
        if !points.contains(&own) {
            points.push(own);
        }
    }
    let number = points.iter().position(|point| *point == run.point).unwrap_or_default() + 1;
    run.load.unwrap_or(number as f64)
}

/// Throughput, times and errors, a dot for each run: hollow where it is not valid.
fn charts(page: &mut String, runs: &[MadeRun]) {
    page.push_str("<h2>Curve</h2>\n<div class=\"charts\">\n");
    let drawn: [(&str, &str, Figure); 3] = [
        ("successful replies", "replies/s", |summary| {
            summary.steady.rates.map(|rates| rates.succeeded_per_s)
        }),
        ("p99", "p99, ms", |summary| p99_ns(summary).map(|ns| ns as f64 / 1e6)),
        ("errors", "errors, %", |summary| summary.steady.error_share.map(|share| share * 100.0)),
    ];
    let x = if runs.iter().any(|run| run.load.is_some()) { "load" } else { "point" };
    for (title, label, of) in drawn {
        let of_runs = |valid: bool| {
            let some = runs.iter().filter(|run| run.summary.verdict.valid == valid);
            let mut points: Vec<ChartPoint> = some
                .filter_map(|run| Some((place(runs, run), of(&run.summary)?)))
                .map(|place| ChartPoint { is_doubtful: !valid, ..ChartPoint::from(place) })
                .collect();
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            points
        };
        let series: Vec<Series> = [("valid", of_runs(true)), ("not valid", of_runs(false))]
            .into_iter()
            .filter(|(_, points)| !points.is_empty())
            .map(|(name, points)| Series { name: name.to_owned(), mark: Mark::Dots, points })
            .collect();
        if series.iter().flat_map(|series| &series.points).all(|point| point.y == 0.0) {
            continue;
        }
        let from_zero = |label: &str| Axis { label: label.to_owned(), spacing: Spacing::FromZero };
        let chart = Chart::new(title, from_zero(x), from_zero(label), series);
        let _ = writeln!(page, "<div>{}</div>", chart.html());
    }
    page.push_str("</div>\n");
}

fn p99_ns(summary: &Summary) -> Option<u64> {
    summary.steady.times.response.as_ref().and_then(|times| times.quantile_ns(Quantile::P99))
}

fn rows(page: &mut String, runs: &[MadeRun]) {
    page.push_str("<h2>Runs, the newest first</h2>\n");
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
    let row = |run: &MadeRun| {
        let steady = &run.summary.steady;
        vec![
            escaped(&run.point),
            or_dash(steady.rates.map(|rates| figures::rate(rates.succeeded_per_s))),
            or_dash(p99_ns(&run.summary).map(figures::time)),
            or_dash(steady.error_share.map(figures::percent)),
            verdict(&run.summary),
        ]
    };
    let rows: Vec<Vec<String>> = runs.iter().rev().map(row).collect();
    table(page, &["point", "replies", "p99", "errors", "<verdict"], &rows);
}

/// The verdict, with the checks that failed.
fn verdict(summary: &Summary) -> String {
    let failed: Vec<&str> = summary.verdict.failed().map(|check| check.name.as_str()).collect();
    if summary.verdict.valid {
        "VALID".to_owned()
    } else {
        escaped(&format!("INVALID: {}", failed.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::scene::Scene;

    fn run(number: u64, point: &str, load: Option<f64>, summary: Summary) -> MadeRun {
        MadeRun { number, point: point.to_owned(), load, summary }
    }

    /// Loads are places on the axis, and points in words are numbered by their first runs; texts are texts.
    #[test]
    fn runs_are_drawn_over_their_loads_or_points() {
        let good = || Scene::good().summary();
        let loads = vec![
            run(2, "load.arrivals=200/s", Some(200.0), Scene::worst().summary()),
            run(1, "load.arrivals=<b>", Some(100.0), good()),
        ];
        let page = render("a<script>", loads);
        assert!(page.contains("2 runs so far, 1 of them valid") && page.contains("a&lt;script&gt;, so far"));
        assert!(page.contains("load.arrivals=&lt;b&gt;") && !page.contains("<b>"));
        assert!(page.contains(">VALID<") && page.contains("INVALID: "), "{page}");
        assert_eq!(page.matches("<script").count(), 1, "its own");
        assert!(page.contains("data-name=\"valid\"") && page.contains("data-name=\"not valid\""));

        let points = [run(3, "b", None, good()), run(1, "a", None, good()), run(2, "a", None, good())];
        let places = |runs: &[MadeRun]| runs.iter().map(|run| place(runs, run)).collect::<Vec<_>>();
        assert_eq!(places(&points), [1.0, 2.0, 2.0]);
        let page = render("sweep", Vec::new());
        assert!(page.contains("0 runs so far") && !page.contains("<svg"), "{page}");
    }
}
