//! The summary as tables: the verdict first, with what to do, then what was asked and done.

use super::{NAMES, errors, escaped, headline, sentence, table};
use crate::figures::{bytes_rate, count, parts_of_run, percent, rate, three_digits, time};
use crate::streams::{events_in_words, stalls_in_words, websockets_in_words};
use crate::terminal::quantity;
use farfield_measure::summary::{
    FailureSummary, HostSummary, PartSummary, ProgramSummary, QuantileSummary, TimingSummary,
};
use farfield_measure::verdict::{Check, CheckState};
use farfield_measure::{Quantile, Summary};
use std::fmt::Write;

pub(super) fn heading(page: &mut String, summary: &Summary) {
    let (heading, phases) = (&summary.heading, &summary.phases);
    let _ = writeln!(
        page,
        "<p class=\"name\"><strong>{}</strong><br>{}<br>{} measured after {} of warm-up · {} plane · seed {} · \
         {} · farfield {}</p>",
        escaped(&heading.target),
        escaped(&heading.load_words),
        time(phases.steady_ns),
        time(phases.warm_up_ns),
        escaped(&summary.generator.plane),
        heading.seed,
        escaped(&heading.started_at),
        escaped(&heading.farfield),
    );
    if let Some(parts) = parts_of_run(summary) {
        let _ = writeln!(page, "<p class=\"name\">Parts: {}</p>", escaped(&parts));
    }
    if let Some(note) = &heading.note {
        let _ = writeln!(page, "<p class=\"name\">Note: {}</p>", escaped(note));
    }
}

pub(super) fn verdict(page: &mut String, summary: &Summary) {
    let verdict = &summary.verdict;
    let (class, word) = match (summary.complete, verdict.valid) {
        (false, _) => ("incomplete", "INCOMPLETE"),
        (true, true) => ("valid", "VALID"),
        (true, false) => ("invalid", "INVALID"),
    };
    let _ = writeln!(page, "<section class=\"verdict {class}\"><h2>{word}</h2>");
    if let Some(reason) = &summary.incomplete_reason {
        let _ = writeln!(page, "<p class=\"name\">The run did not go to its end: {}.</p>", escaped(reason));
    }
    if !verdict.valid {
        page.push_str("<p>The figures are not to be believed; the reasons stand below them.</p>\n");
    }
    page.push_str("<dl class=\"headline\">\n");
    headline::row(page, summary);
    page.push_str("</dl>\n");
    if !verdict.valid {
        page.push_str("<ul>\n");
        // Causes come before what follows from them.
        let (causes, others): (Vec<&Check>, Vec<&Check>) =
            verdict.failed().partition(|check| check.follows_from.is_none());
        causes.into_iter().chain(others).for_each(|check| failed(page, check));
        page.push_str("</ul>\n");
    }
    for warning in summary.warnings.iter().take(NAMES) {
        let _ = writeln!(page, "<p class=\"name\">Warning: {}</p>", sentence(warning));
    }
    let _ = writeln!(page, "<details><summary>{}</summary>", checks_in_words(&verdict.checks));
    let rows: Vec<Vec<String>> = verdict.checks.iter().map(check_row).collect();
    table(page, &["check", "<result", "found", "limit", "<condition"], &rows);
    page.push_str("</details>\n");
    if let Some(bottleneck) = &summary.bottleneck {
        let _ = writeln!(page, "<p class=\"name\">Bottleneck: {}</p>", sentence(&bottleneck.in_words));
    }
    page.push_str("</section>\n");
}

/// Numbers of checks that failed or passed, and of those that do not apply, in the words of the terminal.
fn checks_in_words(checks: &[Check]) -> String {
    let of = |state| checks.iter().filter(|check| check.state == state).count();
    let judged = match of(CheckState::Failed) {
        0 => format!("{} checks passed", of(CheckState::Passed)),
        failed => format!("{failed} of {} checks failed", checks.len()),
    };
    match of(CheckState::Skipped) {
        0 => judged,
        skipped => format!("{judged}, {skipped} do not apply"),
    }
}

fn failed(page: &mut String, check: &Check) {
    let _ = write!(page, "<li class=\"name\"><strong>{}</strong> {}", escaped(&check.name), found(check));
    if check.measured.is_some() {
        let _ = write!(page, ", limit {}", quantity(check.limit, check.unit));
    }
    if let Some(note) = &check.note {
        let _ = write!(page, " ({})", sentence(note));
    }
    if let Some(cause) = &check.follows_from {
        let _ = write!(page, "; follows from {}", escaped(cause));
    }
    if let Some(advice) = &check.advice {
        let _ = write!(page, "<br>What to do: {}", sentence(advice));
    }
    page.push_str("</li>\n");
}

fn found(check: &Check) -> String {
    check.measured.map_or_else(|| "–".to_owned(), |measured| quantity(measured, check.unit))
}

fn check_row(check: &Check) -> Vec<String> {
    let state = match check.state {
        CheckState::Passed => "passed",
        CheckState::Failed => "<strong>failed</strong>",
        CheckState::Skipped => "does not apply",
    };
    vec![
        escaped(&check.name),
        state.to_owned(),
        found(check),
        quantity(check.limit, check.unit),
        sentence(&check.what),
    ]
}

pub(super) fn thresholds(page: &mut String, summary: &Summary) {
    if summary.thresholds.is_empty() {
        return;
    }
    let row = |result: &farfield_measure::ThresholdResult| {
        let found = result.measured.map_or_else(|| "–".to_owned(), |found| quantity(found, result.unit));
        let more_than = if result.is_lower_bound { "more than " } else { "" };
        let word = if result.passed { "kept" } else { "<strong>failed</strong>" };
        let close = if result.is_close() { "<br><small>the limit lies within</small>" } else { "" };
        let found = with_interval(found, result.interval, |end| quantity(end, result.unit));
        vec![escaped(&result.text), word.to_owned(), format!("{more_than}{found}{close}")]
    };
    page.push_str("<h2>Thresholds</h2>\n");
    let rows: Vec<Vec<String>> = summary.thresholds.iter().map(row).collect();
    table(page, &["threshold", "<result", "was"], &rows);
}

pub(super) fn figures(page: &mut String, summary: &Summary) {
    page.push_str("<h2>Load and results</h2>\n");
    let steady = &summary.steady;
    let mut rows = Vec::new();
    if let Some(arrivals) = &summary.generator.arrivals {
        let asked = arrivals.expected.map_or_else(|| "–".to_owned(), |expected| count(expected as u64));
        rows.push(vec!["arrivals expected".to_owned(), asked]);
        rows.push(vec!["arrivals scheduled, begun, dropped".to_owned(), {
            format!("{}, {}, {}", count(arrivals.scheduled), count(arrivals.begun), count(arrivals.dropped))
        }]);
    }
    if let Some(rates) = &steady.rates {
        let offered = with_interval(rate(rates.offered_per_s), rates.offered_interval_per_s, rate);
        rows.push(vec!["offered".to_owned(), offered]);
        rows.push(vec!["sent".to_owned(), rate(rates.sent_per_s)]);
        rows.extend(rates.completed_per_s.map(|completed| {
            let completed = with_interval(rate(completed), rates.completed_interval_per_s, rate);
            vec!["completed".to_owned(), completed]
        }));
        let interval = rates.succeeded_interval_per_s;
        rows.push(vec!["succeeded".to_owned(), with_interval(rate(rates.succeeded_per_s), interval, rate)]);
        rows.push(vec!["bodies of replies".to_owned(), bytes_rate(rates.body_bytes_per_s)]);
    }
    rows.push(vec!["requests".to_owned(), count(steady.requests)]);
    let errors = |share| with_interval(percent(share), steady.error_share_interval, percent);
    rows.push(vec!["errors".to_owned(), steady.error_share.map_or_else(|| "–".to_owned(), errors)]);
    rows.extend(steady.events.iter().map(|own| vec!["events of streams".to_owned(), events_in_words(own)]));
    rows.extend(steady.stalls.iter().map(|own| vec!["stalls".to_owned(), stalls_in_words(own)]));
    rows.extend(summary.websockets.iter().map(|own| vec!["WebSockets".to_owned(), websockets_in_words(own)]));
    let connections = &summary.connections;
    rows.push(vec!["connections opened".to_owned(), count(connections.established)]);
    if let Some(mean) = connections.requests_mean {
        let requests = format!("{} (at most {})", three_digits(mean), count(connections.requests_max));
        rows.push(vec!["requests on a connection".to_owned(), requests]);
    }
    table(page, &["", ""], &rows);
    times(page, steady);
}

fn times(page: &mut String, part: &PartSummary) {
    let present = part.times.iter().filter_map(|(timing, times)| Some((timing.name(), times.as_ref()?)));
    let row = |(name, times): (&str, &TimingSummary)| {
        let quantile =
            |quantile: &QuantileSummary| with_interval(time(quantile.value_ns), quantile.interval_ns, time);
        let mean = with_interval(time(times.mean_ns), times.mean_interval_ns, time);
        let mut cells = vec![name.to_owned(), mean];
        cells.extend(times.quantiles.iter().map(quantile));
        cells.resize(8, String::new());
        cells.extend([time(times.max_ns), count(times.count)]);
        cells
    };
    let rows: Vec<Vec<String>> = present.map(row).collect();
    if rows.is_empty() {
        page.push_str("<p class=\"none\">No request of the measured part succeeded.</p>\n");
    } else {
        page.push_str(
            "<p>Times of successful requests, with 95 % intervals where the run is long enough:</p>\n",
        );
        let head = ["time", "mean", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max", "count"];
        table(page, &head, &rows);
    }
    if let Some(response) = &part.times.response {
        page.push_str(&without_interval(response));
    }
    if let Some(estimate) = &part.estimates.response {
        let more = |is_more: bool| if is_more { "more than " } else { "" };
        let requests = if estimate.censored == 1 { "request" } else { "requests" };
        let _ = writeln!(
            page,
            "<p>{} {requests} timed out or ended unfinished. With them, the response time is estimated at {}{} in the \
             mean (Kaplan and Meier 1958).</p>",
            count(estimate.censored),
            more(estimate.mean.is_lower_bound),
            time(estimate.mean.value_ns)
        );
    }
}

/// A number in words with its interval below.
fn with_interval<T>(number: String, interval: Option<[T; 2]>, in_words: impl Fn(T) -> String) -> String {
    let interval = interval.map(|ends| ends.map(in_words));
    let interval = interval.map(|[low, high]| format!("<br><small>{low} – {high}</small>"));
    format!("{number}{}", interval.unwrap_or_default())
}

/// A paragraph on the numbers of the response time that have no interval, and how long a run they need;
/// nothing if all have one, or if it is not known why they have none.
fn without_interval(response: &TimingSummary) -> String {
    let mean = response.no_mean_interval.map(|none| ("the mean", none));
    let quantile = |of: &QuantileSummary| Some((escaped(&of.name), of.no_interval?));
    let quantiles = response.quantiles.iter().filter_map(quantile);
    let all = mean.map(|(name, none)| (name.to_owned(), none)).into_iter().chain(quantiles);
    // Those of one reason, one after the other, are named together.
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for (name, none) in all {
        let needs = none.needs_ns.map(|ns| format!("; about {} of measuring would do", time(ns)));
        let reason = format!("{}{}", none.reason.words(), needs.unwrap_or_default());
        match groups.last_mut().filter(|(own, _)| *own == reason) {
            Some((_, names)) => names.push(name),
            None => groups.push((reason, vec![name])),
        }
    }
    if groups.is_empty() {
        return String::new();
    }
    let words = groups.iter().map(|(reason, names)| format!("{} ({reason})", names.join(", ")));
    let words: Vec<String> = words.collect();
    format!("<p>Response time without an interval: {}.</p>\n", words.join(", "))
}

pub(super) fn classes(page: &mut String, summary: &Summary) {
    if summary.classes.len() < 2 {
        return;
    }
    page.push_str("<h2>Classes of clients</h2>\n");
    let row = |class: &farfield_measure::summary::ClassSummary| {
        named(
            &class.name,
            class.steady.requests,
            class.steady.error_share.map(|share| (share, class.steady.error_share_interval)),
            class.steady.times.response.as_ref(),
        )
    };
    let mut rows: Vec<Vec<String>> = summary.classes.iter().take(NAMES).map(row).collect();
    let others = summary.classes.iter().skip(NAMES).map(|class| class.steady.requests);
    rows.extend(other(others));
    table(page, &NAMED, &rows);
}

/// The flows of users.
pub(super) fn flows(page: &mut String, summary: &Summary) {
    parts(page, "Flows of users", summary.flows.iter().map(|flow| (flow.name.clone(), &flow.steady)));
}

/// The hosts that users ask.
pub(super) fn hosts(page: &mut String, summary: &Summary) {
    let name = |host: &HostSummary| match host.url.ends_with(&format!("://{}", host.name)) {
        true => host.url.clone(),
        false => format!("{} ({})", host.name, host.url),
    };
    parts(page, "Hosts", summary.hosts.iter().map(|host| (name(host), &host.steady)));
}

/// A table of parts of the run, under a heading; nothing where there are none.
fn parts<'a>(
    page: &mut String,
    heading: &str,
    parts: impl ExactSizeIterator<Item = (String, &'a PartSummary)>,
) {
    if parts.len() == 0 {
        return;
    }
    let _ = writeln!(page, "<h2>{heading}</h2>");
    let row = |(name, part): (String, &PartSummary)| {
        let errors = part.error_share.map(|share| (share, part.error_share_interval));
        let mut cells = named(&name, part.requests, errors, part.times.response.as_ref());
        let rate = |rates: farfield_measure::summary::Rates| rate(rates.succeeded_per_s);
        cells.insert(1, part.rates.map_or_else(|| "–".to_owned(), rate));
        cells
    };
    let rows: Vec<Vec<String>> = parts.map(row).collect();
    let mut head = NAMED.to_vec();
    head.insert(1, "rate");
    table(page, &head, &rows);
}

/// The stages of the load, each with the course of the load in it.
pub(super) fn stages(page: &mut String, summary: &Summary) {
    if summary.stages.is_empty() {
        return;
    }
    page.push_str("<h2>Stages of the load</h2>\n");
    parts_of_time(page, &summary.stages, ["load", "ends at"]);
}

/// The parts of the run between changes of its network, each with what begins there.
pub(super) fn conditions(page: &mut String, summary: &Summary) {
    if summary.conditions.is_empty() {
        return;
    }
    page.push_str("<h2>Conditions of the network</h2>\n");
    parts_of_time(page, &summary.conditions, ["what begins", "ends at"]);
}

fn parts_of_time(
    page: &mut String,
    parts: &[farfield_measure::summary::StageSummary],
    [course, ends]: [&'static str; 2],
) {
    let row = |stage: &farfield_measure::summary::StageSummary| {
        let part = &stage.steady;
        let errors = part.error_share.map(|share| (share, part.error_share_interval));
        let mut cells = named(&stage.name, part.requests, errors, part.times.response.as_ref());
        let dash = || "–".to_owned();
        let rate = part.rates.map_or_else(dash, |rates| rate(rates.succeeded_per_s));
        let place = [escaped(&stage.course).to_string(), time(stage.to_ns), rate];
        cells.splice(1..1, place);
        cells
    };
    let rows: Vec<Vec<String>> = parts.iter().map(row).collect();
    let mut head = NAMED.to_vec();
    head.splice(1..1, [course, ends, "rate"]);
    table(page, &head, &rows);
}

pub(super) fn states(page: &mut String, summary: &Summary) {
    if summary.states.is_empty() {
        return;
    }
    page.push_str("<h2>States of sessions</h2>\n");
    let row = |state: &farfield_measure::summary::StateSummary| {
        let errors = state.error_share.map(|share| (share, state.error_share_interval));
        named(&state.name, state.requests, errors, state.response.as_ref())
    };
    let mut rows: Vec<Vec<String>> = summary.states.iter().take(NAMES).map(row).collect();
    rows.extend(other(summary.states.iter().skip(NAMES).map(|state| state.requests)));
    table(page, &NAMED, &rows);
}

/// The head of a table of [`named`] rows.
pub(super) const NAMED: [&str; 8] = ["name", "requests", "errors", "mean", "p50", "p90", "p99", "max"];

/// A row of what has a name; errors are a share with its interval, if it has one.
pub(super) fn named(
    name: &str,
    requests: u64,
    errors: Option<(f64, Option<[f64; 2]>)>,
    times: Option<&TimingSummary>,
) -> Vec<String> {
    let dash = || "–".to_owned();
    let errors =
        errors.map_or_else(dash, |(share, interval)| with_interval(percent(share), interval, percent));
    let mut cells = vec![format!("<span class=\"name\">{}</span>", escaped(name)), count(requests), errors];
    cells.push(
        times.map_or_else(dash, |times| with_interval(time(times.mean_ns), times.mean_interval_ns, time)),
    );
    for quantile in [Quantile::P50, Quantile::P90, Quantile::P99] {
        let found = times.and_then(|times| times.quantile(quantile));
        cells.push(
            found.map_or_else(dash, |found| with_interval(time(found.value_ns), found.interval_ns, time)),
        );
    }
    cells.push(times.map_or_else(dash, |times| time(times.max_ns)));
    cells
}

/// The row of those that have none of their own.
fn other(requests: impl Iterator<Item = u64>) -> Option<Vec<String>> {
    let (names, requests) = requests.fold((0, 0), |(names, sum), requests| (names + 1, sum + requests));
    (names > 0).then(|| named(&format!("{names} others"), requests, None, None))
}

/// Failures by cause, the most frequent first; nothing where there are none to tell of.
pub(super) fn failures(page: &mut String, summary: &Summary) {
    if summary.failures.is_empty() {
        return;
    }
    page.push_str("<h2>What failed, and why</h2>\n");
    let instant = |ns: Option<u64>| ns.map_or_else(|| "–".to_owned(), time);
    let row = |failure: &FailureSummary| {
        let of = [Some(failure.state.as_str()).filter(|state| !state.is_empty()), failure.what.as_deref()];
        let of: Vec<String> = of.into_iter().flatten().map(escaped).collect();
        let came = [failure.cause.as_deref(), failure.instead.as_deref()];
        let came: Vec<String> = came.into_iter().flatten().map(escaped).collect();
        vec![
            escaped(&failure.outcome),
            count(failure.count),
            of.join(": "),
            came.join("<br>"),
            instant(failure.first_ns),
            instant(failure.last_ns),
        ]
    };
    let mut rows: Vec<Vec<String>> = summary.failures.iter().take(NAMES).map(row).collect();
    if let Some(rest) = summary.failures.len().checked_sub(NAMES).filter(|rest| *rest > 0) {
        rows.push(vec![format!("{rest} more kinds, in summary.json"), String::new()]);
    }
    table(
        page,
        &["outcome", "requests", "<state and check", "<cause, and what came", "first", "last"],
        &rows,
    );
}

pub(super) fn outcomes(page: &mut String, summary: &Summary) {
    page.push_str("<h2>Outcomes</h2>\n");
    if summary.steady.outcomes.is_empty() {
        page.push_str("<p class=\"none\">No request was due in the measured part.</p>\n");
        return;
    }
    let row = |outcome: &farfield_measure::summary::OutcomeCount| {
        let share = outcome.count as f64 / summary.steady.requests as f64;
        let share = with_interval(percent(share), outcome.share_interval, percent);
        vec![escaped(&outcome.name), escaped(&outcome.fault), count(outcome.count), share]
    };
    let rows: Vec<Vec<String>> = summary.steady.outcomes.iter().map(row).collect();
    table(page, &["outcome", "<fault", "requests", "share"], &rows);
    let row = |own: &farfield_measure::summary::StatusCount| vec![own.status.to_string(), count(own.count)];
    let rows: Vec<Vec<String>> = summary.steady.statuses.iter().map(row).collect();
    if !rows.is_empty() {
        table(page, &["status", "replies"], &rows);
    }
    errors::by_path(page, summary);
}

pub(super) fn network(page: &mut String, summary: &Summary) {
    let Some(network) = &summary.network else { return };
    let is_simulated = summary.generator.plane == "simulated";
    let title = if is_simulated { "Simulated network" } else { "Emulated network" };
    let _ = writeln!(page, "<h2>{title}</h2>");
    let mut rows = vec![
        vec!["clients".to_owned(), count(network.clients)],
        vec!["round trip of the nearest client".to_owned(), time(network.round_trip_ns_least)],
        vec!["round trip of the farthest client".to_owned(), time(network.round_trip_ns_largest)],
        vec!["packets to the server".to_owned(), count(network.packets.up)],
        vec!["packets from the server".to_owned(), count(network.packets.down)],
    ];
    // In virtual time there is neither a gateway nor a kernel.
    if !is_simulated {
        rows.push(vec!["lost by the gateway".to_owned(), count(network.packets.overruns)]);
        rows.push(vec!["refused by the server's kernel".to_owned(), count(network.packets.refused)]);
    }
    let drops = network.drops.by_cause().into_iter().filter(|(_, packets)| *packets > 0);
    rows.extend(
        drops.map(|(cause, packets)| vec![format!("dropped by the network: {cause}"), count(packets)]),
    );
    for flow in &network.cross_traffic {
        let link = escaped(&flow.link);
        rows.push(vec![format!("cross traffic on {link}: packets"), count(flow.counts.packets)]);
        rows.push(vec![format!("cross traffic on {link}: dropped"), count(flow.counts.gone())]);
    }
    table(page, &["", ""], &rows);
}

/// Real programs beside the users.
pub(super) fn programs(page: &mut String, summary: &Summary) {
    let Some(network) = &summary.network else { return };
    if network.programs.is_empty() {
        return;
    }
    page.push_str("<h2>Programs beside the users</h2>\n");
    let late = |times: &TimingSummary| times.quantile_ns(Quantile::P99).map(time);
    let row = |program: &ProgramSummary| {
        let ended = match (program.code, program.ended_ns) {
            _ if program.cut_off => "cut off: its interface vanished".to_owned(),
            (Some(code), Some(at)) => format!("{code}, after {}", time(at)),
            _ => "ran to the end".to_owned(),
        };
        vec![
            escaped(&program.class),
            escaped(&program.address),
            escaped(program.command.as_deref().unwrap_or("the shell")),
            ended,
            count(program.packets.up),
            count(program.packets.down),
            program.lateness.as_ref().and_then(late).unwrap_or_else(|| "-".to_owned()),
        ]
    };
    let rows: Vec<Vec<String>> = network.programs.iter().map(row).collect();
    let heads = ["class", "<address", "<program", "<exit code", "packets up", "packets down", "late, p99"];
    table(page, &heads, &rows);
}
