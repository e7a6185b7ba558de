//! The result of a run as Markdown, for a pull request or an issue: the verdict first.

use crate::figures::{by_status, bytes_rate, count, from_to, percent, rate, time};
use crate::markdown::{code, plain};
use crate::streams::{events_in_words, stalls_in_words, websockets_in_words};
use crate::terminal::quantity;
use farfield_measure::summary::{PartSummary, PathSummary, QuantileSummary, StageSummary, TimingSummary};
use farfield_measure::verdict::{Check, CheckState, Disturbed};
use farfield_measure::{Quantile, Summary};
use std::fmt::Write;

/// Rows of a table before the rest is only counted.
const ROWS: usize = 20;

/// The result of a run.
pub fn render(summary: &Summary) -> String {
    let mut text = String::new();
    verdict(&mut text, summary);
    thresholds(&mut text, summary);
    times(&mut text, summary);
    outcomes(&mut text, summary);
    statuses(&mut text, summary);
    paths(&mut text, summary);
    failures(&mut text, summary);
    flows(&mut text, summary);
    hosts(&mut text, summary);
    stages(&mut text, &summary.stages, ["stage", "load"]);
    stages(&mut text, &summary.conditions, ["conditions", "what begins"]);
    classes(&mut text, summary);
    if let Some(bottleneck) = &summary.bottleneck {
        let _ = writeln!(text, "Bottleneck: {}\n", plain(&bottleneck.in_words));
    }
    for warning in summary.warnings.iter().take(ROWS) {
        let _ = writeln!(text, "- warning: {}", plain(warning));
    }
    more(&mut text, summary.warnings.len(), "warnings");
    about(&mut text, summary);
    text
}

fn verdict(text: &mut String, summary: &Summary) {
    let verdict = &summary.verdict;
    let word = match (summary.complete, verdict.valid) {
        (false, _) => "incomplete",
        (true, true) => "valid",
        (true, false) => "invalid",
    };
    let _ = writeln!(text, "### {}: {word}\n", code(&summary.heading.scenario));
    if let Some(note) = &summary.heading.note {
        let _ = writeln!(text, "Note: {}\n", plain(note));
    }
    if let Some(reason) = &summary.incomplete_reason {
        let _ = writeln!(text, "The run did not go to its end: {}.\n", plain(reason));
    }
    if verdict.valid {
        let passed = verdict.checks.iter().filter(|check| check.state == CheckState::Passed).count();
        let _ = writeln!(text, "{passed} checks passed.");
    } else {
        text.push_str("The figures below are not to be believed:\n\n");
        verdict.failed().for_each(|check| failed(text, check));
    }
    for limit in &verdict.changed_limits {
        let _ = writeln!(text, "- limit set by the scenario: {} {}", code(&limit.key), code(&limit.value));
    }
    text.push('\n');
}

fn failed(text: &mut String, check: &Check) {
    let found = check.measured.map_or_else(
        || "not measured".to_owned(),
        |measured| format!("{}, limit {}", quantity(measured, check.unit), quantity(check.limit, check.unit)),
    );
    let note = check.note.as_ref().map(|note| format!(" ({})", plain(note))).unwrap_or_default();
    let _ = write!(text, "- **{}** {found}{note}", plain(&check.name));
    if let Some(cause) = &check.follows_from {
        let _ = write!(text, "; follows from {}", plain(cause));
    }
    text.push('\n');
    if let Some(advice) = &check.advice {
        let _ = writeln!(text, "  → {}", plain(advice));
    }
}

fn thresholds(text: &mut String, summary: &Summary) {
    for result in &summary.thresholds {
        let found =
            result.measured.map_or_else(|| "nothing".to_owned(), |found| quantity(found, result.unit));
        let more_than = if result.is_lower_bound { "more than " } else { "" };
        let word = if result.passed { "kept" } else { "**failed**" };
        let interval = with_interval(result.interval, |end| quantity(end, result.unit));
        let close = if result.is_close() { ": the limit lies within" } else { "" };
        let _ = writeln!(
            text,
            "- threshold {}: {word}, was {more_than}{found}{interval}{close}",
            code(&result.text)
        );
    }
    if !summary.thresholds.is_empty() {
        text.push('\n');
    }
}

fn times(text: &mut String, summary: &Summary) {
    let steady = &summary.steady;
    if let Some(rates) = &steady.rates {
        let _ = writeln!(
            text,
            "Offered {}{}, sent {}{}, succeeded {}{}; {} of bodies. {} requests{}.\n",
            rate(rates.offered_per_s),
            with_interval(rates.offered_interval_per_s, rate),
            rate(rates.sent_per_s),
            rates.completed_per_s.map_or_else(String::new, |completed| {
                let interval = with_interval(rates.completed_interval_per_s, rate);
                format!(", completed {}{interval}", rate(completed))
            }),
            rate(rates.succeeded_per_s),
            with_interval(rates.succeeded_interval_per_s, rate),
            bytes_rate(rates.body_bytes_per_s),
            count(steady.requests),
            steady
                .error_share
                .map(|share| {
                    let interval = with_interval(steady.error_share_interval, percent);
                    format!(", {} errors{interval}", percent(share))
                })
                .unwrap_or_default(),
        );
    }
    text.push_str("| time | mean | p50 | p90 | p99 | p99.9 | max | count |\n");
    text.push_str("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
    // Nothing of an invalid run is to be believed.
    let disturbed = summary.verdict.disturbed.as_ref().filter(|_| summary.verdict.valid);
    for (timing, times) in steady.times.iter() {
        if let Some(times) = times {
            let columns = marked_columns(times, disturbed);
            let _ = writeln!(text, "| {} |{columns} {} |", timing.name(), count(times.count));
        }
        if let Some(intervals) = times.as_ref().and_then(intervals) {
            let _ = writeln!(text, "| 95 % |{intervals} |");
        }
    }
    text.push('\n');
    let events = steady.events.as_ref().map(|own| format!("Events: {}. ", events_in_words(own)));
    let stalls = steady.stalls.as_ref().map(|own| format!("Stalls: {}. ", stalls_in_words(own)));
    let websockets =
        summary.websockets.as_ref().map(|own| format!("WebSockets: {}.", websockets_in_words(own)));
    if events.is_some() || stalls.is_some() || websockets.is_some() {
        let words = [events, stalls, websockets].into_iter().flatten().collect::<String>();
        let _ = writeln!(text, "{}\n", words.trim_end());
    }
    if disturbed.is_some() {
        text.push_str("\\* may be farfield's own time: stalls, or the host, can have moved it.\n\n");
    }
    if let Some(estimate) = &steady.estimates.response {
        let p99 = estimate.quantile(Quantile::P99).map_or_else(String::new, |p99| {
            format!(", p99 {}{}", if p99.is_lower_bound { "more than " } else { "" }, time(p99.value_ns))
        });
        let _ = writeln!(
            text,
            "{} requests timed out or were unfinished; estimated with them: mean {}{}{p99}.\n",
            count(estimate.censored),
            if estimate.mean.is_lower_bound { "more than " } else { "" },
            time(estimate.mean.value_ns),
        );
    }
}

fn columns(times: &TimingSummary) -> String {
    marked_columns(times, None)
}

/// Times, with a mark at those that stalls of farfield's can have moved.
fn marked_columns(times: &TimingSummary, disturbed: Option<&Disturbed>) -> String {
    let mark = |is_moved: bool| if is_moved { "\\*" } else { "" };
    let quantile = |quantile| {
        let mark = mark(disturbed.is_some_and(|disturbed| disturbed.moves(quantile)));
        times.quantile_ns(quantile).map_or_else(|| "–".to_owned(), |ns| format!("{}{mark}", time(ns)))
    };
    let [p50, p90, p99, p99_9] = [Quantile::P50, Quantile::P90, Quantile::P99, Quantile::P99_9].map(quantile);
    let (mean, max, mark) = (time(times.mean_ns), time(times.max_ns), mark(disturbed.is_some()));
    format!(" {mean} | {p50} | {p90} | {p99} | {p99_9} | {max}{mark} |")
}

/// The intervals of these columns; none where no number has one.
fn intervals(times: &TimingSummary) -> Option<String> {
    let ends = |ends: Option<[u64; 2]>| ends.map_or_else(|| "–".to_owned(), |ends| from_to(ends, time));
    let quantile =
        |quantile| ends(times.quantile(quantile).and_then(|found: &QuantileSummary| found.interval_ns));
    let [p50, p90, p99, p99_9] = [Quantile::P50, Quantile::P90, Quantile::P99, Quantile::P99_9].map(quantile);
    let mean = ends(times.mean_interval_ns);
    let none = [&mean, &p50, &p90, &p99, &p99_9].iter().all(|column| *column == "–");
    (!none).then(|| format!(" {mean} | {p50} | {p90} | {p99} | {p99_9} | – |"))
}

/// The ends of an interval in parentheses, where there is one.
fn with_interval(interval: Option<[f64; 2]>, in_words: impl Fn(f64) -> String) -> String {
    interval.map(|ends| format!(" ({})", from_to(ends, in_words))).unwrap_or_default()
}

fn outcomes(text: &mut String, summary: &Summary) {
    let outcomes = &summary.steady.outcomes;
    if outcomes.iter().all(|outcome| outcome.name == "ok") {
        return;
    }
    text.push_str("| outcome | fault | requests | share |\n| --- | --- | ---: | ---: |\n");
    for outcome in outcomes {
        let (name, fault) = (plain(&outcome.name), plain(&outcome.fault));
        let share = percent(outcome.count as f64 / summary.steady.requests as f64);
        let interval = with_interval(outcome.share_interval, percent);
        let _ = writeln!(text, "| {name} | {fault} | {} | {share}{interval} |", count(outcome.count));
    }
    text.push('\n');
}

/// Replies by status code; nothing where all have 200.
fn statuses(text: &mut String, summary: &Summary) {
    let statuses = &summary.steady.statuses;
    if statuses.iter().all(|own| own.status == 200) {
        return;
    }
    text.push_str("| status | replies |\n| --- | ---: |\n");
    for own in statuses.iter().take(ROWS) {
        let _ = writeln!(text, "| {} | {} |", own.status, count(own.count));
    }
    more(text, statuses.len(), "status codes");
    text.push('\n');
}

/// Replies by path and status code; nothing where all have 200.
fn paths(text: &mut String, summary: &Summary) {
    let shown = PathSummary::telling(&summary.paths);
    if shown.is_empty() {
        return;
    }
    text.push_str("| path | requests | errors | replies by status |\n| --- | ---: | ---: | --- |\n");
    for path in shown.iter().take(ROWS) {
        let errors = path.error_share.map_or_else(|| "–".to_owned(), percent);
        let _ = writeln!(
            text,
            "| {} | {} | {errors} | {} |",
            code(&path.path),
            count(path.requests),
            by_status(&path.statuses)
        );
    }
    more(text, shown.len(), "paths");
    text.push('\n');
}

fn failures(text: &mut String, summary: &Summary) {
    for failure in summary.failures.iter().take(ROWS) {
        let _ = write!(text, "- {} {}", count(failure.count), plain(&failure.outcome));
        if !failure.state.is_empty() {
            let _ = write!(text, " in {}", plain(&failure.state));
        }
        let parts = [&failure.what, &failure.cause, &failure.instead];
        for part in parts.into_iter().flatten() {
            let _ = write!(text, ": {}", plain(part));
        }
        text.push('\n');
    }
    more(text, summary.failures.len(), "kinds of failures");
    if !summary.failures.is_empty() {
        text.push('\n');
    }
}

/// The flows of users.
fn flows(text: &mut String, summary: &Summary) {
    parts(text, "flow", summary.flows.iter().map(|flow| (&*flow.name, &flow.steady)));
}

/// The hosts that users ask.
fn hosts(text: &mut String, summary: &Summary) {
    parts(text, "host", summary.hosts.iter().map(|host| (&*host.name, &host.steady)));
}

/// A table of parts of the run; nothing where there are none.
fn parts<'a>(
    text: &mut String,
    label: &str,
    parts: impl ExactSizeIterator<Item = (&'a str, &'a PartSummary)>,
) {
    let all = parts.len();
    if all == 0 {
        return;
    }
    let headings = "ok per s | mean | p50 | p90 | p99 | p99.9 | max | requests | errors";
    let _ = writeln!(text, "| {label} | {headings} |\n| --- |{}", " ---: |".repeat(9));
    for (name, part) in parts.take(ROWS) {
        let times = part.times.response.as_ref().map_or_else(|| " – |".repeat(6), columns);
        let errors = part.error_share.map_or_else(|| "–".to_owned(), percent);
        let ok = part.rates.map_or_else(|| "–".to_owned(), |rates| rate(rates.succeeded_per_s));
        let (name, requests) = (code(name), count(part.requests));
        let _ = writeln!(text, "| {name} | {ok} |{times} {requests} | {errors} |");
    }
    text.push('\n');
    more(text, all, &format!("{label}s"));
}

/// The stages of the load, or the parts of the run between changes of its network.
fn stages(text: &mut String, stages: &[StageSummary], [name, course]: [&str; 2]) {
    if stages.is_empty() {
        return;
    }
    let headings = "ok per s | mean | p50 | p90 | p99 | p99.9 | max | requests | errors";
    let _ = writeln!(text, "| {name} | {course} | {headings} |\n| --- | --- |{}", " ---: |".repeat(9));
    for stage in stages.iter().take(ROWS) {
        let part = &stage.steady;
        let times = part.times.response.as_ref().map_or_else(|| " – |".repeat(6), columns);
        let errors = part.error_share.map_or_else(|| "–".to_owned(), percent);
        let ok = part.rates.map_or_else(|| "–".to_owned(), |rates| rate(rates.succeeded_per_s));
        let (name, course, requests) = (code(&stage.name), plain(&stage.course), count(part.requests));
        let _ = writeln!(text, "| {name} | {course} | {ok} |{times} {requests} | {errors} |");
    }
    text.push('\n');
    more(text, stages.len(), if name == "stage" { "stages" } else { name });
}

fn classes(text: &mut String, summary: &Summary) {
    if summary.classes.len() < 2 {
        return;
    }
    let headings = "class | mean | p50 | p90 | p99 | p99.9 | max | requests | errors";
    let _ = writeln!(text, "| {headings} |\n| --- |{}", " ---: |".repeat(8));
    for class in summary.classes.iter().take(ROWS) {
        let times = class.steady.times.response.as_ref().map_or_else(|| " – |".repeat(6), columns);
        let errors = class.steady.error_share.map_or_else(|| "–".to_owned(), percent);
        let _ =
            writeln!(text, "| {} |{times} {} | {errors} |", code(&class.name), count(class.steady.requests));
    }
    text.push('\n');
    more(text, summary.classes.len(), "classes");
}

fn more(text: &mut String, all: usize, what: &str) {
    if all > ROWS {
        let _ = writeln!(text, "\nand {} {what} more\n", all - ROWS);
    }
}

fn about(text: &mut String, summary: &Summary) {
    let (heading, phases) = (&summary.heading, &summary.phases);
    let _ = writeln!(
        text,
        "\n{} · {} after {} · {} plane · seed {} · {} · farfield {} · {}",
        plain(&heading.load_words),
        time(phases.steady_ns),
        time(phases.warm_up_ns),
        plain(&summary.generator.plane),
        heading.seed,
        code(&heading.target),
        plain(&heading.farfield),
        plain(&heading.started_at),
    );
}
