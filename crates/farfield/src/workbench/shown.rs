//! The figures of a run as the page shows them: texts, in the words of the live view, and charts as SVG.
//!
//! All texts are data to the page, never markup; charts are of the project's one chart module, which escapes
//! what it writes.

use crate::live::figures::Phase;
use crate::live::view::View;
use farfield_base::{Instant, printable};
use farfield_measure::Quantile;
use farfield_measure::series::SeriesRow;
use farfield_measure::set_aside::SetAsideSummary;
use farfield_measure::summary::{Rates, Summary, TimingSummary};
use farfield_measure::verdict::{Check, CheckState};
use farfield_report::chart::{Axis, Chart, Mark, Seconds, Series, Spacing};
use farfield_report::figures::{bytes_rate, count, percent, rate, time};
use serde_json::{Value, json};

/// Points of a line.
const POINTS: usize = 400;
/// Rows of a table.
const ROWS: usize = 100;

/// The figures of `view` as of `at` of its clock.
pub fn shown(view: &View, at: Instant) -> Value {
    let now = view.now(at);
    let left = |left: farfield_base::Duration| format!("{:.0} s left", left.as_secs_f64().ceil());
    let phase = match view.facts.phase(now) {
        _ if view.ending => "ending: what was measured is kept".to_owned(),
        Phase::WarmUp(time) => format!("warming up, {}", left(time)),
        Phase::Measuring(time) => format!("measuring, {}", left(time)),
        Phase::Counting => "measuring, to the last request".to_owned(),
        Phase::CoolDown(time) => format!("cooling down, {}", left(time)),
        Phase::Draining => "draining: open requests may end".to_owned(),
    };
    let summary = view.figures.summary.as_ref();
    json!({
        "target": safe(&view.facts.target),
        "load": safe(&view.facts.load),
        "plane": view.facts.plane,
        "phase": phase,
        "passed": view.facts.passed(now),
        "open": format!("{} requests, {} connections", count(view.figures.in_system), count(view.figures.connections)),
        "rates": rates(view),
        "times": summary.map(times),
        "outcomes": summary.map(outcomes),
        "classes": summary.map(classes),
        "states": summary.map(states),
        "verdict": verdict(summary, view.ended),
        "checks": summary.map(|summary| checks(summary, view.ended)),
        "charts": charts(view),
    })
}

fn safe(text: &str) -> String {
    printable(text, &[]).into_owned()
}

fn dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "–".to_owned())
}

/// Rates of the last second that is over, and of the measured part.
fn rates(view: &View) -> Value {
    let last = view.shown().last();
    let measured = view.figures.summary.as_ref().and_then(|summary| summary.steady.rates);
    let row =
        |name: &str, of_row: fn(&SeriesRow) -> u64, of_rates: fn(&Rates) -> f64, unit: fn(f64) -> String| {
            let last = last.map(|row| unit(of_row(row) as f64));
            json!([name, dash(last), dash(measured.as_ref().map(|rates| unit(of_rates(rates))))])
        };
    json!([
        row("offered", |row| row.offered, |rates| rates.offered_per_s, rate),
        row("sent", |row| row.sent, |rates| rates.sent_per_s, rate),
        row(
            "completed",
            |row| row.completed,
            |rates| rates.completed_per_s.unwrap_or(rates.succeeded_per_s),
            rate
        ),
        row("succeeded", |row| row.succeeded, |rates| rates.succeeded_per_s, rate),
        row("bodies", |row| row.body_bytes, |rates| rates.body_bytes_per_s, bytes_rate),
    ])
}

/// Times of the measured part.
fn times(summary: &Summary) -> Value {
    let row = |name: &str, times: Option<&TimingSummary>| {
        let quantiles = [Quantile::P50, Quantile::P90, Quantile::P99, Quantile::P99_9];
        let values = quantiles.map(|quantile| times.and_then(|times| times.quantile_ns(quantile)));
        let cells = values.into_iter().chain([times.map(|times| times.max_ns)]);
        let cells = cells.map(|ns| dash(ns.map(time)));
        std::iter::once(name.to_owned()).chain(cells).collect::<Vec<String>>()
    };
    let steady = &summary.steady.times;
    let mut rows = vec![row("response", steady.response.as_ref()), row("service", steady.service.as_ref())];
    match &summary.pages {
        Some(pages) => {
            rows.push(row("page", pages.response.as_ref()));
            rows.push(row("HTML", pages.html_latency.as_ref()));
        }
        None => rows.push(row("connect", steady.connect.as_ref())),
    }
    json!(rows)
}

fn outcomes(summary: &Summary) -> Value {
    let all = summary.steady.requests.max(1) as f64;
    let rows = summary.steady.outcomes.iter().map(|outcome| {
        json!([outcome.name, count(outcome.count), percent(outcome.count as f64 / all), outcome.fault])
    });
    rows.collect()
}

fn named(name: &str, requests: u64, errors: Option<f64>, response: Option<&TimingSummary>) -> Value {
    let quantile = |quantile| dash(response.and_then(|times| times.quantile_ns(quantile)).map(time));
    let errors = dash(errors.map(percent));
    json!([safe(name), count(requests), errors, quantile(Quantile::P50), quantile(Quantile::P99)])
}

fn classes(summary: &Summary) -> Value {
    // A single class is all requests.
    let several = summary.classes.iter().filter(|_| summary.classes.len() > 1);
    several
        .take(ROWS)
        .map(|class| {
            let part = &class.steady;
            named(&class.name, part.requests, part.error_share, part.times.response.as_ref())
        })
        .collect()
}

fn states(summary: &Summary) -> Value {
    let states = summary.states.iter().take(ROWS);
    states
        .map(|state| named(&state.name, state.requests, state.error_share, state.response.as_ref()))
        .collect()
}

/// The checks that have failed. That a run in progress is not complete is no failure.
fn failed(summary: &Summary) -> impl Iterator<Item = &Check> {
    let failed = summary.verdict.checks.iter().filter(|check| check.state == CheckState::Failed);
    failed.filter(|check| check.name != "completed")
}

fn verdict(summary: Option<&Summary>, ended: bool) -> Value {
    let is_measured = |summary: &&Summary| summary.steady.requests > 0 || ended;
    let Some(summary) = summary.filter(is_measured) else {
        return json!({ "state": "none", "words": "nothing is measured yet" });
    };
    let failed: Vec<&str> = failed(summary).map(|check| check.name.as_str()).collect();
    let names = safe(&failed.join(", "));
    let (state, words) = match (summary.complete, failed.is_empty()) {
        (false, _) if ended => {
            let why = summary.incomplete_reason.as_deref().unwrap_or("it did not end by itself");
            let also = if failed.is_empty() { String::new() } else { format!("; failed: {names}") };
            ("doubt", format!("INCOMPLETE: {}{also}", safe(why)))
        }
        (true, true) => ("good", "VALID".to_owned()),
        (true, false) => ("bad", format!("INVALID: {names}")),
        (false, true) => ("good", "no check has failed (most are made at the end)".to_owned()),
        (false, false) => ("bad", format!("INVALID so far: {names}")),
    };
    json!({ "state": state, "words": words })
}

/// Checks with their state, those that failed first and with what to do.
fn checks(summary: &Summary, ended: bool) -> Value {
    let failed = failed(summary).map(|check| {
        let more: Vec<String> = check.note.iter().chain(&check.advice).map(|text| safe(text)).collect();
        json!({ "state": "failed", "name": check.name, "what": safe(&check.what), "more": more })
    });
    let skipped = if ended { "does not apply" } else { "not yet" };
    let others = [(CheckState::Passed, "passed"), (CheckState::Skipped, skipped)];
    let others = others.into_iter().flat_map(|(state, word)| {
        let checks = summary.verdict.checks.iter().filter(move |check| check.state == state);
        checks.map(
            move |check| json!({ "state": word, "name": check.name, "what": safe(&check.what), "more": [] }),
        )
    });
    failed.chain(others).collect()
}

fn charts(view: &View) -> Vec<String> {
    let rows: Vec<&SeriesRow> = view.shown().collect();
    let until = match view.facts.ends_by_count() {
        true => rows.last().map_or(1.0, |row| row.second as f64 + 1.0),
        false => view.facts.measure_to.as_ns() as f64 / 1e9,
    };
    let warm_up = view.facts.measure_from.as_ns() as f64 / 1e9;
    // The end of the measured part is the end of the axis; of a run that ends by count it is not known yet.
    let aside = view.figures.summary.as_ref().and_then(|summary| summary.set_aside.as_ref());
    let aside = aside.map_or_else(Vec::new, SetAsideSummary::spans);
    let seconds =
        Seconds { until: until.min(3600.0), warm_up, measured_to: f64::INFINITY, aside: &aside, edges: &[] };
    let second = || Axis::linear("second of the run");
    let line = |name: &str, value: &dyn Fn(&SeriesRow) -> Option<f64>| {
        let points = rows.iter().filter_map(|row| Some((row.second as f64, value(row)?)));
        Series::new(name, Mark::Line, thinned(points.collect()))
    };
    let ms = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e6);
    let failed = |row: &SeriesRow| {
        let failed = row.failed_server + row.failed_network + row.failed_client + row.failed_protocol;
        Some(failed as f64)
    };
    let mut rates = vec![
        line("offered", &|row| Some(row.offered as f64)),
        line("completed", &|row| Some(row.completed as f64)),
    ];
    if rows.iter().any(|row| failed(row) > Some(0.0)) {
        rates.push(line("failed", &failed));
    }
    let times =
        vec![line("p50", &|row| ms(row.response_p50_ns)), line("p99", &|row| ms(row.response_p99_ns))];
    let from_zero = |label: &str| Axis { label: label.to_owned(), spacing: Spacing::FromZero };
    vec![
        Chart::new("Throughput", second(), from_zero("requests in the second"), rates).html_over(seconds),
        Chart::new("Response time", second(), from_zero("milliseconds"), times).html_over(seconds),
    ]
}

/// At most [`POINTS`] points: of each stretch, that with the largest value stays.
fn thinned(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let size = points.len().div_ceil(POINTS).max(1);
    let largest = |stretch: &[(f64, f64)]| stretch.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
    points.chunks(size).filter_map(largest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spike_survives_thinning() {
        let mut points: Vec<(f64, f64)> = (0..3600).map(|second| (f64::from(second), 1.0)).collect();
        points[1234].1 = 9.0;
        let thin = thinned(points);
        assert!(thin.len() <= POINTS && thin.contains(&(1234.0, 9.0)), "{}", thin.len());
    }
}
