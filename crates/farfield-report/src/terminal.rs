//! The terminal summary: a run whose last screen, of 24 lines by 80 columns, has what matters.
//!
//! First what the run was, then whether it may be believed, then what it measured, and where it is kept.
//! Every line has its place; what may grow without bound (failed checks, outcomes, thresholds) is cut to the
//! room that is left and ends in how many more there are. Blank lines between sections go first when room is
//! short. Pages, sessions, their states and failures, flows, stages of the load, classes of clients where
//! there are several, diagnostics for whoever asks for them, and warnings, which nobody should have to look
//! for elsewhere, are lines more. They stand ahead of the verdict, which so stays in sight.

mod addresses;
mod checks;
mod connections;
mod diagnostics;
mod parts;
mod programs;
mod sessions;
mod states;
mod text;

use crate::figures::{bytes_rate, count, from_to, parts_of_run, percent, rate, reach, three_digits, time};
use crate::streams::{events_in_words, stalls_in_words, websockets_in_words};
use farfield_base::printable;
use farfield_measure::engine_stats::ServerLimits;
use farfield_measure::summary::{
    EstimateSummary, EstimatedTime, NetworkSummary, OutcomeCount, PartSummary, PathSummary, TimingSummary,
};
use farfield_measure::verdict::{CheckState, Disturbed};
use farfield_measure::{Heading, Quantile, Summary, ThresholdResult};
use text::list;

pub use text::COLOURS;
pub(crate) use text::{GREEN, RED, YELLOW, fit, indented, labelled, paint, quantity, wrapped};

/// Lines of a screen.
pub const LINES: usize = 24;
/// Columns of a screen.
pub const COLUMNS: usize = 80;
/// Lines that the verdict keeps where what stands ahead of it takes the room: a cause, and what to do.
const VERDICT: usize = 6;
/// Lines that the verdict keeps at least: of a run that is not complete, its verdict, and a cause.
const VERDICT_LEAST: usize = 3;
/// Warnings that are shown.
const WARNINGS: usize = 6;
/// Notes of monitors that are shown.
const NOTES: usize = 2;
/// Columns of the words at the left.
pub(crate) const LABEL: usize = 12;
/// Columns that a scenario's name may take of the line that also has the seed.
const SCENARIO: usize = 16;
/// Columns of the name of a plane, and of an instant in RFC 3339 with a zone.
const PLANE: usize = 12;
const STARTED_AT: usize = 25;
/// Lines of the user's note, which has no more.
const NOTE: usize = 4;
/// Columns of a path.
const PATH: usize = 30;

/// The look of a summary.
#[derive(Debug, Clone, Copy, Default)]
pub struct Look<'a> {
    /// Colour the verdict, for a terminal that shows it.
    pub colour: bool,
    /// The run directory, to be named on the last line.
    pub directory: Option<&'a str>,
    /// The file in it with the page of the run, if there is one.
    pub page: Option<&'a str>,
    /// Show diagnostics too: how the generator, its threads and its packets did.
    pub verbose: bool,
}

/// The summary as text, in lines of at most 80 columns with a line end after each. Its last 24 have the
/// verdict, the figures, the outcomes and where the run is kept; the beginning is above them where there are
/// tables of pages, states, classes and the like, warnings, or [diagnostics](Look::verbose).
pub fn render(summary: &Summary, look: Look<'_>) -> String {
    let (measured, ended, closing) = (measured(summary), ended(summary), closing(summary, look));
    let warnings = warnings(&summary.warnings, look);
    let mut heading = heading(summary);
    // A run with rows of everything, from statuses to HTTP/2, has more lines than the screen.
    let room = LINES.saturating_sub(measured.len() + ended.len() + closing.len());
    // Whoever asks for all warnings has no less advice for it.
    let beside = heading.len() + self::warnings(&summary.warnings, Look { verbose: false, ..look }).len();
    let verdict = verdict(summary, look, room.saturating_sub(beside).max(least(summary, room)));
    // What to do goes ahead of the user's own words, which take no room from it.
    heading.extend(note(summary));
    let tables = [
        pages(summary),
        sessions::lines(summary.sessions.as_ref()),
        parts::flows(&summary.flows),
        parts::hosts(&summary.hosts),
        parts::stages(&summary.stages),
        parts::conditions(&summary.conditions),
        states::table(&summary.states),
        sessions::failures(summary),
        parts::classes(&summary.classes),
        diagnostics::lines(summary, look.verbose),
        if look.verbose { further_notes(summary) } else { Vec::new() },
    ]
    .concat();
    page(heading, tables, warnings, [verdict, measured, ended, closing])
}

/// Lines of the verdict at least, where what stands below it leaves `room` of the last screen: as many as
/// there are, with the whole advice of the first cause, and so many that no verdict is without a cause. Where
/// there are none, it is out of sight anyway.
fn least(summary: &Summary, room: usize) -> usize {
    let verdict = VERDICT.max(1 + checks::first_cause_lines(&summary.verdict));
    if room == 0 { verdict } else { verdict.min(room).max(VERDICT_LEAST) }
}

/// Joins the beginning and the sections of the last screen, with blank lines between these as far as there
/// is room, first around the verdict. Where all of it is more than a screen, the beginning takes none.
fn page(
    heading: Vec<String>,
    tables: Vec<String>,
    warnings: Vec<String>,
    screen: [Vec<String>; 4],
) -> String {
    let gap = if tables.is_empty() { Vec::new() } else { vec![String::new()] };
    let mut all = [heading, gap, tables, warnings].concat();
    let last: usize = screen.iter().map(Vec::len).sum();
    let blanks = LINES.checked_sub(all.len() + last).unwrap_or(LINES.saturating_sub(last));
    for (at, section) in screen.into_iter().enumerate() {
        if at < blanks && all.last().is_some_and(|line| !line.is_empty()) {
            all.push(String::new());
        }
        all.extend(section);
    }
    all.iter().fold(String::new(), |page, line| page + line.trim_end() + "\n")
}

fn heading(summary: &Summary) -> Vec<String> {
    let Heading { scenario, target, seed, load_words, started_at, .. } = &summary.heading;
    let phases = &summary.phases;
    let lasted = format!("{} after {}", time(phases.steady_ns), time(phases.warm_up_ns));
    // A summary from elsewhere may have any text for these.
    let (plane, started_at) = (fit(&summary.generator.plane, PLANE), fit(started_at, STARTED_AT));
    let how = format!(" · {lasted} · {plane} · seed {seed}");
    let load = fit(load_words, COLUMNS.saturating_sub(how.chars().count()));
    let room = COLUMNS - started_at.chars().count() - 2;
    let what = fit(&format!("{} · {target}", fit(scenario, SCENARIO)), room);
    let path = summary.heading.path.iter().map(|path| labelled("path", path));
    let parts = parts_of_run(summary).map(|parts| labelled("parts", &fit(&parts, COLUMNS - LABEL)));
    let lines = [format!("{what:<room$}  {started_at}"), format!("{load}{how}")].into_iter();
    lines.chain(path).chain(parts).collect()
}

/// The user's note, below the heading.
fn note(summary: &Summary) -> Vec<String> {
    let note = summary.heading.note.iter().flat_map(|note| wrapped(note, COLUMNS - LABEL)).take(NOTE);
    note.enumerate().map(|(at, line)| labelled(if at == 0 { "note" } else { "" }, &line)).collect()
}

/// The verdict, the loud mark of a run that is not complete, and the checks that failed, in at most
/// `room` lines.
fn verdict(summary: &Summary, look: Look<'_>, room: usize) -> Vec<String> {
    let verdict = &summary.verdict;
    let all = verdict.checks.len();
    let skipped = verdict.checks.iter().filter(|check| check.state == CheckState::Skipped).count();
    let applies = if skipped > 0 { format!(", {skipped} do not apply") } else { String::new() };
    let mut lines = Vec::new();
    if !summary.complete {
        let reason = summary.incomplete_reason.as_deref().unwrap_or("it did not end by itself");
        lines.push(paint("INCOMPLETE", YELLOW, &labelled("INCOMPLETE", reason), look));
    }
    if verdict.valid {
        let passed = format!("{} checks passed{applies}", all - skipped);
        let valid = checks::beside_valid(&passed, &verdict.changed_limits, COLUMNS - LABEL, room).into_iter();
        let valid = valid.enumerate().map(|(at, line)| labelled(if at == 0 { "VALID" } else { "" }, &line));
        lines.extend(valid.map(|line| paint("VALID", GREEN, &line, look)));
    } else {
        let counted = format!("{} of {all} checks failed{applies}", verdict.failed().count());
        lines.push(paint("INVALID", RED, &labelled("INVALID", &counted), look));
    }
    let room = room.saturating_sub(lines.len());
    lines.extend(checks::failed(verdict, room));
    lines
}

fn measured(summary: &Summary) -> Vec<String> {
    let mut lines = match &summary.steady.rates {
        Some(rates) => vec![
            labelled(
                "rate",
                &format!(
                    "offered {}   sent {}{}",
                    rate(rates.offered_per_s),
                    rate(rates.sent_per_s),
                    rates
                        .completed_per_s
                        .map_or_else(String::new, |completed| format!("   completed {}", rate(completed)))
                ),
            ),
            labelled(
                "succeeded",
                &format!(
                    "{}{}   traffic {} of bodies, {} in all",
                    rate(rates.succeeded_per_s),
                    match rates.succeeded_interval_per_s {
                        // Times of what was due in the measured part stand below.
                        _ if rates.succeeded_per_s == 0.0 && summary.steady.times.response.is_some() =>
                            " (all came later)".to_owned(),
                        Some(ends) => format!(" {}", reach(rates.succeeded_per_s, ends)),
                        None => String::new(),
                    },
                    bytes_rate(rates.body_bytes_per_s),
                    bytes_rate(rates.reply_bytes_per_s)
                ),
            ),
        ],
        None => vec![labelled("rate", "the measured part had not begun")],
    };
    lines.push(times_head("time"));
    let times = summary.steady.times.iter();
    let times = times.filter(|(timing, times)| !timing.is_of_events() || times.is_some());
    // Nothing of an invalid run is to be believed.
    let disturbed = summary.verdict.disturbed.as_ref().filter(|_| summary.verdict.valid);
    let below = lines.len() + 1;
    lines.extend(times.map(|(timing, times)| marked_row(timing.name(), times.as_ref(), disturbed)));
    // Right below the response times: how uncertain they are, and what corrects them.
    let response = summary.steady.times.response.as_ref();
    let estimate =
        summary.steady.estimates.response.as_ref().map(|estimate| estimate_row(estimate, response));
    lines.splice(below..below, response.and_then(interval_row).into_iter().chain(estimate));
    lines.extend(
        disturbed
            .map(|_| labelled("", "* may be farfield's own time: stalls, or the host, can have moved it")),
    );
    let events = summary.steady.events.as_ref().map(|own| labelled("events", &events_in_words(own)));
    let stalls = summary.steady.stalls.as_ref().map(|own| labelled("stalls", &stalls_in_words(own)));
    let websockets = summary.websockets.as_ref().map(|own| labelled("websockets", &websockets_in_words(own)));
    lines.extend(events.into_iter().chain(stalls).chain(websockets));
    lines
}

/// The reach of the 95 % intervals of the response times; where none has one, how long a run would need to be
/// for that of the median, if that is known.
fn interval_row(times: &TimingSummary) -> Option<String> {
    let name = "  95 %";
    let reach_of = |value_ns: u64, ends: Option<[u64; 2]>| {
        or_dash(ends, |ends| reach(value_ns as f64, ends.map(|end| end as f64)))
    };
    let quantile = |quantile: Quantile| {
        let found = times.quantile(quantile);
        found.map_or("-".to_owned(), |found| reach_of(found.value_ns, found.interval_ns))
    };
    let columns = [
        reach_of(times.mean_ns, times.mean_interval_ns),
        quantile(Quantile::P50),
        quantile(Quantile::P90),
        quantile(Quantile::P99),
        quantile(Quantile::P99_9),
        "-".to_owned(),
    ];
    if columns.iter().any(|column| column != "-") {
        return Some(row(name, columns, ""));
    }
    let needs = times.quantile(Quantile::P50)?.no_interval?.needs_ns?;
    Some(labelled(name, &format!("no intervals from so short a run; {} would do for p50", time(needs))))
}

/// The response time as it is estimated with requests that timed out or were unfinished, which are counted
/// here.
fn estimate_row(estimate: &EstimateSummary, seen: Option<&TimingSummary>) -> String {
    let in_words = |number: EstimatedTime| {
        format!("{}{}", if number.is_lower_bound { ">" } else { "" }, time(number.value_ns))
    };
    let quantile = |quantile| or_dash(estimate.quantile(quantile), in_words);
    let columns = [
        in_words(estimate.mean),
        quantile(Quantile::P50),
        quantile(Quantile::P90),
        quantile(Quantile::P99),
        quantile(Quantile::P99_9),
        "-".to_owned(),
    ];
    row("  estimate", columns, &count(seen.map_or(0, |seen| seen.count) + estimate.censored))
}

fn times_head(name: &str) -> String {
    row(name, ["mean", "p50", "p90", "p99", "p99.9", "max"].map(str::to_owned), "count")
}

/// The times of pages, and a blank line behind them; nothing where requests have no pages.
fn pages(summary: &Summary) -> Vec<String> {
    let Some(pages) = &summary.pages else { return Vec::new() };
    vec![
        times_head("pages"),
        timing_row("response", pages.response.as_ref()),
        timing_row("html", pages.html_latency.as_ref()),
        String::new(),
    ]
}

fn timing_row(name: &str, times: Option<&TimingSummary>) -> String {
    marked_row(name, times, None)
}

/// Times, with a mark at those that stalls of farfield's can have moved.
fn marked_row(name: &str, times: Option<&TimingSummary>, disturbed: Option<&Disturbed>) -> String {
    let Some(times) = times else {
        return row(name, ["-"; 6].map(str::to_owned), "0");
    };
    let mark = |is_moved: bool| if is_moved { "*" } else { "" };
    let quantile = |quantile| {
        let mark = mark(disturbed.is_some_and(|disturbed| disturbed.moves(quantile)));
        times.quantile_ns(quantile).map_or("-".to_owned(), |ns| format!("{}{mark}", time(ns)))
    };
    let columns = [
        time(times.mean_ns),
        quantile(Quantile::P50),
        quantile(Quantile::P90),
        quantile(Quantile::P99),
        quantile(Quantile::P99_9),
        format!("{}{}", time(times.max_ns), mark(disturbed.is_some())),
    ];
    row(name, columns, &count(times.count))
}

/// The first resource to give out, and what could not be read of the server.
fn bottleneck(summary: &Summary, look: Look<'_>) -> Vec<String> {
    let Some(found) = &summary.bottleneck else { return Vec::new() };
    let notes = found.notes.iter().take(NOTES).flat_map(|note| under("  note", note));
    let rest = found.notes.len().saturating_sub(NOTES);
    let place = if look.verbose { "above" } else { "in summary.json" };
    let more = (rest > 0).then(|| labelled("", &format!("and {rest} more, {place}")));
    under("bottleneck", &found.in_words).into_iter().chain(notes).chain(more).collect()
}

/// Notes of monitors for which there is no room below the bottleneck, and a blank line behind them.
fn further_notes(summary: &Summary) -> Vec<String> {
    let notes = summary.bottleneck.iter().flat_map(|found| found.notes.iter().skip(NOTES));
    let mut lines: Vec<String> = notes.flat_map(|note| under("note", note)).collect();
    if !lines.is_empty() {
        lines.push(String::new());
    }
    lines
}

/// A text in as many lines as it takes, with a label at the first.
fn under(label: &str, text: &str) -> Vec<String> {
    let lines = wrapped(text, COLUMNS - LABEL).into_iter().enumerate();
    lines.map(|(at, line)| labelled(if at == 0 { label } else { "" }, &line)).collect()
}

/// Warnings in full, the first ones first.
fn warnings(warnings: &[String], look: Look<'_>) -> Vec<String> {
    let most = if look.verbose { usize::MAX } else { WARNINGS };
    let mut shown: Vec<String> =
        warnings.iter().take(most).flat_map(|warning| under("warning", warning)).collect();
    let rest = warnings.len().saturating_sub(most);
    shown.extend((rest > 0).then(|| labelled("", &format!("and {rest} more, in summary.json"))));
    shown
}

/// A table with a line that counts the rows that are left out, if any, and a blank line behind it.
fn end_table(mut lines: Vec<String>, rest: usize) -> Vec<String> {
    if rest > 0 {
        lines.push(format!("  and {rest} more, in summary.json"));
    }
    lines.push(String::new());
    lines
}

/// A number in words, or a dash where there is none.
fn or_dash<T>(number: Option<T>, in_words: impl Fn(T) -> String) -> String {
    number.map_or("-".to_owned(), in_words)
}

fn quantile(times: &Option<TimingSummary>, quantile: Quantile) -> String {
    or_dash(times.as_ref().and_then(|times| times.quantile_ns(quantile)), time)
}

/// Response times, and the median of connect times.
fn row(name: &str, columns: [String; 6], last: &str) -> String {
    let columns: String = columns.iter().map(|column| format!("{column:>9}")).collect();
    fit(&format!("{name:<LABEL$}{columns}{last:>14}"), COLUMNS)
}

fn ended(summary: &Summary) -> Vec<String> {
    let part = &summary.steady;
    let ok = part.outcomes.iter().find(|outcome| outcome.name == "ok").map_or(0, |outcome| outcome.count);
    let errors = part
        .error_share
        .map_or("nothing came to an end".to_owned(), |share| format!("{} errors", percent(share)));
    let interval = part.error_share_interval.filter(|_| part.error_share.is_some_and(|share| share > 0.0));
    let errors = errors + &interval.map(|ends| format!(" ({})", from_to(ends, percent))).unwrap_or_default();
    let requests = format!("{} ok of {} requests, {errors}", count(ok), count(part.requests));
    let mut lines = vec![labelled("outcomes", &requests)];
    lines
        .extend(["server", "network", "client", "protocol"].iter().filter_map(|fault| by_fault(part, fault)));
    lines.extend(statuses(part));
    lines.extend(paths(summary));
    lines.push(connections::own(summary));
    lines.extend(addresses::addresses(summary));
    lines.extend(connections::handshakes(summary));
    lines.extend(connections::versions(summary));
    lines.extend(connections::http2(summary));
    lines.extend(connections::alternatives(summary));
    lines
}

/// Replies by status code, the most frequent first; nothing where all have 200.
fn statuses(part: &PartSummary) -> Option<String> {
    let mut statuses = part.statuses.clone();
    statuses.sort_by_key(|own| (std::cmp::Reverse(own.count), own.status));
    let parts = statuses.iter().map(|own| format!("{} {}", own.status, count(own.count))).collect();
    let is_plain = statuses.iter().all(|own| own.status == 200);
    (!is_plain).then(|| labelled("  statuses", &list(parts, COLUMNS - LABEL)))
}

/// Replies with another status than 200 by their paths, the most frequent first; nothing where there are
/// none.
fn paths(summary: &Summary) -> Option<String> {
    let of_path = |path: &PathSummary| {
        let codes = path.statuses.clone().into_iter().filter(|own| own.status != 200);
        codes.map(|own| (own, path.path.clone())).collect::<Vec<_>>()
    };
    let mut codes: Vec<_> = summary.paths.iter().flat_map(of_path).collect();
    codes.sort_by_key(|(own, _)| std::cmp::Reverse(own.count));
    let parts: Vec<String> = codes
        .iter()
        .map(|(own, path)| format!("{} {} {}", fit(path, PATH), own.status, count(own.count)))
        .collect();
    (!parts.is_empty()).then(|| labelled("  paths", &list(parts, COLUMNS - LABEL)))
}

/// The outcomes of one fault, the most frequent first; none if there are none.
fn by_fault(part: &PartSummary, fault: &str) -> Option<String> {
    let mut outcomes: Vec<&OutcomeCount> = part.outcomes.iter().filter(|o| o.fault == fault).collect();
    outcomes.sort_by_key(|outcome| std::cmp::Reverse(outcome.count));
    let parts = outcomes.iter().map(|outcome| match &part.unfinished {
        Some(ages) if outcome.name == "unfinished" => {
            let (least, most) = (time(ages.min_ns), time(ages.max_ns));
            format!("{} {} ({least} to {most} old)", outcome.name, count(outcome.count))
        }
        _ => format!("{} {}", outcome.name, count(outcome.count)),
    });
    let label = format!("  {fault}");
    (!outcomes.is_empty()).then(|| labelled(&label, &list(parts.collect(), COLUMNS - LABEL)))
}

/// The end of the page: what gave out, what became of packets, thresholds, and where the run is kept.
fn closing(summary: &Summary, look: Look<'_>) -> Vec<String> {
    let mut lines = bottleneck(summary, look);
    lines.extend(summary.network.as_ref().and_then(dropped));
    lines.extend(summary.network.as_ref().and_then(cross_traffic));
    lines.extend(summary.network.as_ref().and_then(moves));
    lines.extend(summary.network.iter().flat_map(programs::programs));
    lines.extend(summary.server_limits.as_ref().map(server_limits));
    if !summary.thresholds.is_empty() {
        lines.push(thresholds(&summary.thresholds));
    }
    if let Some(directory) = look.directory {
        // Whole, however long: they are there to be copied.
        let whole = |label: &str, path: &str| format!("{label:<LABEL$}{}", printable(path, &[]));
        lines.push(whole("directory", directory));
        lines.extend(look.page.map(|page| whole("page", &format!("{directory}/{page}"))));
    }
    lines
}

/// Packets of the emulated network that did not arrive; nothing where all did.
fn dropped(network: &NetworkSummary) -> Option<String> {
    let causes = network.drops.by_cause();
    let mut causes: Vec<_> = causes.iter().filter(|(_, count)| *count > 0).collect();
    causes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let causes: Vec<String> =
        causes.iter().map(|(cause, number)| format!("{cause} {}", count(*number))).collect();
    let says = format!("dropped of {} packets: ", count(network.packets.passed()));
    let room = COLUMNS - LABEL - says.chars().count();
    (!causes.is_empty()).then(|| labelled("network", &format!("{says}{}", list(causes, room))))
}

/// Connections that their clients' moves carried over or ended; nothing where there were none.
fn moves(network: &NetworkSummary) -> Option<String> {
    let (migrated, broken) = (network.moves.migrated, network.moves.broken);
    let line = format!("{} connections of QUIC went on, {} others ended", count(migrated), count(broken));
    (migrated + broken > 0).then(|| labelled("moves", &line))
}

/// Cross traffic, all flows together; nothing where there is none.
fn cross_traffic(network: &NetworkSummary) -> Option<String> {
    let flows = &network.cross_traffic;
    let packets: u64 = flows.iter().map(|flow| flow.counts.packets).sum();
    let gone: u64 = flows.iter().map(|flow| flow.counts.gone()).sum();
    let of_flows = if flows.len() == 1 { "1 flow".to_owned() } else { format!("{} flows", flows.len()) };
    let share = percent(gone as f64 / packets.max(1) as f64);
    let line = labelled("cross", &format!("{of_flows}, {} packets, {share} of them dropped", count(packets)));
    (!flows.is_empty()).then_some(line)
}

/// The server's limits, and their effects.
fn server_limits(limits: &ServerLimits) -> String {
    let mut parts = Vec::new();
    if let (Some(cpu), Some(period_ns)) = (limits.cpu, limits.period_ns) {
        let throttled = limits.throttled_periods as f64 / limits.periods.max(1) as f64;
        let periods =
            format!("{} of {} periods of {}", percent(throttled), count(limits.periods), time(period_ns));
        parts.push(format!("cpu {}, throttled in {periods}", three_digits(cpu)));
    }
    if let Some(limit) = limits.memory_bytes {
        let mebi = |bytes: u64| three_digits(bytes as f64 / f64::from(1 << 20));
        let most = limits.memory_bytes_max.map(|most| format!("{} of ", mebi(most))).unwrap_or_default();
        let kills = match limits.oom_kills {
            0 => String::new(),
            kills => format!(", {} OOM kills", count(kills)),
        };
        parts.push(format!("memory {most}{} MiB{kills}", mebi(limit)));
    }
    labelled("server", &parts.join("; "))
}

fn thresholds(results: &[ThresholdResult]) -> String {
    let failed: Vec<_> = results.iter().filter(|result| !result.passed).collect();
    if failed.is_empty() {
        let kept: Vec<_> =
            results.iter().map(|result| format!("{}{}", result.text, if_close(result))).collect();
        let says = "all kept: ";
        return labelled("thresholds", &format!("{says}{}", list(kept, COLUMNS - LABEL - says.len())));
    }
    let says = format!("{} of {} FAILED: ", failed.len(), results.len());
    let parts = failed.iter().map(|result| {
        let measured = result.measured.map_or("nothing".to_owned(), |found| quantity(found, result.unit));
        let more_than = if result.is_lower_bound { "more than " } else { "" };
        format!("{} was {more_than}{measured}{}", result.text, if_close(result))
    });
    let parts = list(parts.collect(), COLUMNS - LABEL - says.len());
    labelled("thresholds", &format!("{says}{parts}"))
}

/// The interval of what a threshold measured, if the limit lies within.
fn if_close(result: &ThresholdResult) -> String {
    let interval = result.interval.filter(|_| result.is_close());
    let in_words = |ends| format!(" (95 %: {})", from_to(ends, |end| quantity(end, result.unit)));
    interval.map(in_words).unwrap_or_default()
}

#[cfg(test)]
pub(crate) mod scene;
#[cfg(test)]
mod tests;
