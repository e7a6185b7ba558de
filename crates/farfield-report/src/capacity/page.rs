//! A search for capacity as a page of HTML: the answer, the curve, every trial; complete without scripts.

use super::text::{came_to, few_beyond, generator, number, overstated, sentence};
use crate::chart::{Axis, Chart, ChartPoint, Mark, Series, Spacing};
use crate::figures;
use crate::html::{self, escaped, table};
use farfield_experiment::report::{Ended, TrialRecord};
use farfield_experiment::{CapacityReport, Validity};
use std::fmt::Write;

const STYLE: &str = ".charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,26em),1fr));gap:1em}\
    .charts>*{min-width:0;margin:0}p.answer{font-size:1.3em}";

/// A number of a trial, if it has it.
type Figure = fn(&TrialRecord) -> Option<f64>;

/// The page.
pub fn render(report: &CapacityReport) -> String {
    let title = if report.goals.is_empty() { "Peak" } else { "Capacity" };
    let mut page = html::begin_family(title, STYLE);
    let _ = writeln!(page, "<p class=\"answer\"><strong>{}</strong></p>", escaped(&sentence(report)));
    if let Some(more) = &report.more_time {
        let _ = writeln!(page, "<p>The time was over; {}.</p>", escaped(more));
    }
    if let Some(share) = report.overstated_by {
        let _ = writeln!(page, "<p>{}.</p>", escaped(&overstated(share)));
    }
    if let Some(allowed) = report.few_beyond {
        let _ = writeln!(page, "<p>{}.</p>", escaped(&few_beyond(allowed)));
    }
    if let Some(check) = &report.generator {
        let _ = writeln!(page, "<p>{}.</p>", escaped(&generator(check)));
    }
    match &report.ended {
        Ended::Interrupted => page.push_str("<p>The search was interrupted.</p>\n"),
        Ended::Failed(why) | Ended::Disturbed(why) => {
            let _ = writeln!(page, "<p>The search ended early: {}.</p>", escaped(why));
        }
        Ended::Done | Ended::BudgetOver => {}
    }
    charts(&mut page, report);
    loads(&mut page, report);
    trials(&mut page, report);
    html::end_family(&mut page);
    page
}

/// Throughput, times and errors over the load, a dot for each trial that counts: hollow where it broke a
/// goal.
fn charts(page: &mut String, report: &CapacityReport) {
    page.push_str("<h2>Curve</h2>\n<div class=\"charts\">\n");
    let drawn: [(&str, &str, Figure); 4] = [
        ("successful replies", "replies/s", |trial| Some(trial.observed.achieved_per_s)),
        ("bodies", "MB/s of bodies", |trial| Some(trial.observed.body_bytes_per_s / 1e6)),
        ("p99", "p99, ms", |trial| trial.observed.p99_ns.map(|ns| ns / 1e6)),
        ("errors", "errors, %", |trial| trial.observed.error_share.map(|share| share * 100.0)),
    ];
    for (title, label, of) in drawn {
        let of_trials = |keeps: bool| {
            let counted = report.trials.iter().filter(move |trial| trial.counts());
            let mut points: Vec<ChartPoint> = counted
                .filter(|trial| report.goals.is_empty() || trial.observed.keeps_goals() == keeps)
                .filter_map(|trial| Some((trial.load, of(trial)?)))
                .map(|place| ChartPoint { is_doubtful: !keeps, ..ChartPoint::from(place) })
                .collect();
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            points
        };
        let series = match report.goals.is_empty() {
            true => vec![Series { name: "trials".to_owned(), mark: Mark::Dots, points: of_trials(true) }],
            false => vec![
                Series { name: "goals kept".to_owned(), mark: Mark::Dots, points: of_trials(true) },
                Series { name: "a goal broken".to_owned(), mark: Mark::Dots, points: of_trials(false) },
            ],
        };
        if series.iter().flat_map(|series| &series.points).all(|point| point.y == 0.0) {
            continue;
        }
        let x = Axis { label: report.unit.clone(), spacing: Spacing::FromZero };
        // Times grow by orders of magnitude beyond capacity.
        let spacing = if title == "p99" { Spacing::Decades } else { Spacing::FromZero };
        let chart = Chart::new(title, x, Axis { label: label.to_owned(), spacing }, series);
        let _ = writeln!(page, "<div>{}</div>", chart.html());
    }
    page.push_str("</div>\n");
}

fn loads(page: &mut String, report: &CapacityReport) {
    page.push_str("<h2>Loads</h2>\n");
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
    let is_peak = report.goals.is_empty();
    let rows = report.curve.iter().map(|point| {
        vec![
            number(point.load),
            or_dash(point.achieved_per_s.map(number)),
            or_dash(point.body_bytes_per_s.map(figures::bytes_rate)),
            or_dash(point.p99_ns.map(|ns| figures::time(ns as u64))),
            or_dash(point.error_share.map(figures::percent)),
            came_to(point, is_peak),
        ]
    });
    let last = if is_peak { "<trials" } else { "<goals" };
    table(
        page,
        &[report.unit.as_str(), "replies/s", "bodies", "p99", "errors", last],
        &rows.collect::<Vec<_>>(),
    );
}

fn trials(page: &mut String, report: &CapacityReport) {
    let _ = writeln!(
        page,
        "<h2>Trials</h2>\n<details><summary>{} trials in {:.1} s, in their order</summary>",
        report.trials.len(),
        report.spent_s
    );
    let rows = report.trials.iter().map(|trial| {
        let came_to = match &trial.observed.validity {
            Validity::Invalid { cause, .. } => format!("invalid: {cause}"),
            Validity::TooShort { cause } | Validity::StillRising { cause } => format!("too short: {cause}"),
            Validity::Overwhelmed { cause } => format!("the server did not cope: {cause}"),
            Validity::Valid if report.goals.is_empty() => "valid".to_owned(),
            Validity::Valid if trial.observed.keeps_goals() => "kept".to_owned(),
            Validity::Valid => "broken".to_owned(),
        };
        let name = trial.observed.directory.file_name().unwrap_or_default().to_string_lossy();
        vec![
            escaped(&name),
            number(trial.load),
            figures::time(trial.length_ns),
            number(trial.observed.achieved_per_s),
            figures::bytes_rate(trial.observed.body_bytes_per_s),
            trial.observed.p99_ns.map_or("–".to_owned(), |ns| figures::time(ns as u64)),
            trial.observed.error_share.map_or("–".to_owned(), figures::percent),
            escaped(&came_to),
        ]
    });
    let head =
        ["directory", report.unit.as_str(), "length", "replies/s", "bodies", "p99", "errors", "<came to"];
    table(page, &head, &rows.collect::<Vec<_>>());
    page.push_str("</details>\n");
}
