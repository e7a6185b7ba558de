//! A sweep on a terminal, in at most 24 lines of 80 columns.

use super::claims::{finding, word};
use super::names::ShortNames;
use super::{cell, change_in_words, changes_in_words, in_words, kind, origin};
use crate::capacity::text::wrapped;
use crate::figures;
use farfield_base::printable;
use farfield_experiment::Validity;
use farfield_experiment::report::Ended;
use farfield_experiment::sweep::effects::{MetricEffects, Origin};
use farfield_experiment::sweep::{
    Doubt, PlannedRun, PointEstimate, PointReport, PointRun, SweepReport, Unit,
};
use std::fmt::Write;
use std::path::Path;

/// Points that fit a terminal with all else.
const POINTS: usize = 10;
/// Origins of variation that do.
const ORIGINS: usize = 4;
/// Points that are held against the first.
const AGAINST: usize = 5;
/// Changes of runs' lengths that fit a terminal.
const CHANGES: usize = 1;
/// Claims that fit a terminal.
const CLAIMS: usize = 4;
/// Columns of a terminal.
const COLUMNS: usize = 80;
/// Columns of a metric.
const METRIC: usize = 16;
/// Columns of a key at least.
const KEY_MIN: usize = 4;
/// The metrics that are shown unless another is asked for.
const SHOWN: [&str; 4] = ["rate", "p50", "p99", "errors"];

/// The line of progress of a run that was made.
pub fn progress(run: &PlannedRun, came_to: &PointRun) -> String {
    let reading = |metric: &str| {
        let value = came_to.readings.iter().find(|reading| reading.metric == metric)?.value?;
        Some(format!("{metric} {}", in_words(Unit::of_name(metric), value)))
    };
    let mut words = vec![format!("run {} of {}", run.design.number, run.planned)];
    words.extend(Some(run.design.point.clone()).filter(|point| !point.is_empty()));
    words.push(format!("repeat {}", run.design.repeat));
    words.extend(["rate", "p99", "errors"].into_iter().filter_map(reading));
    if let Some(cause) = came_to.validity.cause() {
        words.push(match &came_to.validity {
            Validity::TooShort { .. } | Validity::StillRising { .. } => format!("too short: {cause}"),
            Validity::Overwhelmed { .. } => format!("the server did not cope ({cause})"),
            _ => format!("invalid ({cause})"),
        });
    }
    words.join("  ")
}

/// All of a sweep.
pub fn render(report: &SweepReport, folder: &Path) -> String {
    let names = ShortNames::of_sweep(report);
    let mut text = heading(report);
    text += &ended(report);
    text.push('\n');
    text += &claims(report);
    text += &points(report, &names);
    match report.effects.is_empty() {
        true => text += &against_first(report, &names),
        false => text += &variation(report, &names),
    }
    let _ = writeln!(text, "\npage        {}", folder.join("sweep.html").display());
    let _ = writeln!(text, "table       {}", folder.join("table.csv").display());
    printable(&text, &['\n']).into_owned()
}

fn heading(report: &SweepReport) -> String {
    let of = |count: usize, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
    let points = of(report.points.len(), "point", "points");
    let runs = of(report.runs.len(), "run", "runs");
    let invalid = report.runs.iter().filter(|run| !run.counts()).count();
    let valid = match invalid {
        0 => "all valid".to_owned(),
        invalid => format!("{invalid} not valid"),
    };
    format!(
        "{}: {points}, {runs}, {valid}, of {:.1} s in all\n",
        printable(&report.experiment, &[]),
        report.spent_s
    )
}

fn ended(report: &SweepReport) -> String {
    let wide = |point: &&PointReport| point.estimates.iter().any(|estimate| estimate.narrow == Some(false));
    let mut text = match &report.ended {
        Ended::Done => String::new(),
        Ended::BudgetOver => "the time was over; the same command with --out goes on from here\n".to_owned(),
        Ended::Interrupted => "interrupted; the same command with --out goes on from here\n".to_owned(),
        Ended::Disturbed(cause) => format!(
            "no run was valid, whatever its point: {cause}; `farfield report` on one of them says what to do\n"
        ),
        Ended::Failed(why) => format!("ended early: {why}\n"),
    };
    let count = report.points.iter().filter(wide).count();
    let missed = report.runs.iter().filter(|run| run.counts() && !run.missed.is_empty());
    let mut conditions: Vec<&str> = missed.clone().flat_map(|run| &run.missed).map(String::as_str).collect();
    conditions.sort_unstable();
    conditions.dedup();
    if let Some(first) = conditions.first() {
        let more = if conditions.len() > 1 { " and others" } else { "" };
        let _ = writeln!(text, "not met in {} runs: {first}{more}", missed.count());
    }
    if let (Some(until), 1..) = (&report.until, count) {
        let _ = writeln!(text, "{until} is not reached at {count} of {} points", report.points.len());
        let estimates = report.points.iter().filter(wide).flat_map(|point| &point.estimates);
        let unknown = estimates.filter(|estimate| estimate.narrow == Some(false));
        let reason = unknown.filter_map(|estimate| estimate.unknown.as_ref()).next();
        if let (Some(reason), None) = (reason, report.refused()) {
            let _ = writeln!(text, "  {reason}; longer runs may have it: --duration");
        }
    }
    text += &lengths(report);
    text += &doubts(report);
    text
}

/// Changes of the lengths of runs, and why they are not long enough.
fn lengths(report: &SweepReport) -> String {
    let Some(lengths) = &report.lengths else { return String::new() };
    let mut text = String::new();
    let left_out = lengths.changes.len().saturating_sub(CHANGES);
    if left_out > 0 {
        let _ = writeln!(text, "changes of lengths before this one, on the page: {left_out}");
    }
    for change in lengths.changes.iter().skip(left_out) {
        text += &wrapped(&change.in_words(), COLUMNS);
    }
    if let Some(why) = &lengths.refused {
        text += &wrapped(&format!("it cannot be had: {why}"), COLUMNS);
    }
    text
}

/// Reasons to doubt intervals that are shown, each once.
fn doubts(report: &SweepReport) -> String {
    let mut text = String::new();
    for doubt in [Doubt::Dependent, Doubt::NotNormal, Doubt::Survivors] {
        let shown = |estimate: &PointEstimate| {
            SHOWN.contains(&estimate.metric.as_str()) && estimate.doubts.contains(&doubt)
        };
        let points = report.points.iter().filter(|point| point.estimates.iter().any(shown)).count();
        if points > 0 {
            let words = doubt.in_words();
            let _ = writeln!(text, "at {points} of {} points {words}", report.points.len());
        }
    }
    text
}

/// The claims with what was found, two lines each.
fn claims(report: &SweepReport) -> String {
    let mut text = String::new();
    for judged in report.claims.iter().take(CLAIMS) {
        let says: String = printable(&judged.claim.says, &[]).chars().take(COLUMNS - 11).collect();
        let _ = writeln!(text, "{:<10} {says}", word(judged.verdict));
        let found: String = finding(report, judged).chars().take(COLUMNS - 11).collect();
        let _ = writeln!(text, "           {found}");
    }
    if report.claims.len() > CLAIMS {
        let _ = writeln!(text, "and {} more claims, on the page", report.claims.len() - CLAIMS);
    }
    if !report.claims.is_empty() {
        text.push('\n');
    }
    text
}

/// A row for each point, as many as there is room for.
fn points(report: &SweepReport, names: &ShortNames) -> String {
    let asked = report.until.iter().filter_map(|until| until.split(' ').next());
    let asked: Vec<&str> = asked.filter(|metric| !SHOWN.contains(metric)).collect();
    let mut metrics: Vec<&str> = SHOWN.into_iter().collect();
    // In place of the median, so that the row stays as long as it is.
    if let Some(asked) = asked.first() {
        metrics[1] = asked;
    }
    let keys: Vec<&str> = keys_of(report);
    let value = |point: &PointReport, key: &str| {
        let own = point.settings.iter().find(|setting| setting.key == key);
        own.map_or("–".to_owned(), |own| names.value(own).to_owned())
    };
    let natural = |key: &&str| {
        let values = report.points.iter().map(|point| value(point, key).chars().count());
        values.max().unwrap_or(0).max(names.key(key).chars().count()) + 2
    };
    let widths = fitting(keys.iter().map(natural).collect(), COLUMNS - (METRIC * metrics.len() - 4));
    let mut text = String::new();
    for (key, width) in keys.iter().zip(&widths) {
        let _ = write!(text, "{}", padded(names.key(key), *width));
    }
    for (at, metric) in metrics.iter().enumerate() {
        let _ = write!(text, "{metric:>width$}", width = if at == 3 { METRIC - 4 } else { METRIC });
    }
    text.push('\n');
    let room = POINTS.saturating_sub(2 * report.claims.len().min(CLAIMS)).max(2);
    for point in report.points.iter().take(room) {
        for (key, width) in keys.iter().zip(&widths) {
            let _ = write!(text, "{}", padded(&value(point, key), *width));
        }
        if point.runs == 0 {
            let cause = point
                .causes
                .first()
                .map_or("none was made".to_owned(), |cause| format!("no valid run ({cause})"));
            let _ = writeln!(text, "  {cause}");
            continue;
        }
        for (at, metric) in metrics.iter().enumerate() {
            let width = if at == 3 { METRIC - 4 } else { METRIC };
            let _ = write!(text, "{:>width$}", shorter(&cell(report, point, metric), at == 3));
        }
        text.push('\n');
    }
    if report.points.len() > room {
        let _ = writeln!(text, "and {} more points, on the page", report.points.len() - room);
    }
    text
}

/// Widths that add up to at most `room`: the widest give way.
fn fitting(mut widths: Vec<usize>, room: usize) -> Vec<usize> {
    while widths.iter().sum::<usize>() > room {
        match widths.iter_mut().max() {
            Some(widest) if *widest > KEY_MIN => *widest -= 1,
            _ => break,
        }
    }
    widths
}

/// The share of errors without its interval, for want of room.
fn shorter(cell: &str, is_share: bool) -> String {
    match is_share {
        true => cell.split(' ').next().unwrap_or_default().to_owned(),
        false => cell.to_owned(),
    }
}

pub(super) fn keys_of(report: &SweepReport) -> Vec<&str> {
    let mut keys: Vec<&str> = Vec::new();
    for setting in report.points.iter().flat_map(|point| &point.settings) {
        if !keys.contains(&setting.key.as_str()) {
            keys.push(&setting.key);
        }
    }
    keys
}

/// Text in so many columns, cut if it is longer, with a space after it.
fn padded(text: &str, width: usize) -> String {
    let count = text.chars().count();
    if count < width {
        return format!("{text}{}", " ".repeat(width - count));
    }
    let kept: String = text.chars().take(width.saturating_sub(2)).collect();
    format!("{kept}… ")
}

/// The sources of each metric's variation.
fn variation(report: &SweepReport, names: &ShortNames) -> String {
    let shown: Vec<&MetricEffects> = ["rate", "p50", "p99", "errors"]
        .into_iter()
        .filter_map(|metric| report.effects.iter().find(|effects| effects.metric == metric))
        .filter(|effects| !effects.variation.is_empty())
        .collect();
    let Some(first) = shown.first() else {
        let reason = report.effects.iter().find_map(|effects| effects.unknown.as_deref());
        return reason.map_or(String::new(), |reason| format!("\nwhat moves them is unknown: {reason}\n"));
    };
    let label = |from: &Origin| origin(from, names);
    let mut text = format!("\n{}", padded("their variation comes from", 32));
    for effects in &shown {
        let _ = write!(text, "{:>12}", effects.metric);
    }
    text.push('\n');
    let mut origins: Vec<&Origin> = first.variation.iter().map(|row| &row.from).collect();
    let largest = |origin: &Origin| {
        let shares =
            shown.iter().filter_map(|effects| effects.variation.iter().find(|row| row.from == *origin));
        shares.map(|row| row.share).fold(0.0, f64::max)
    };
    origins.sort_by(|a, b| largest(b).total_cmp(&largest(a)));
    for from in origins.iter().take(ORIGINS) {
        let _ = write!(text, "  {}", padded(&label(from), 30));
        for effects in &shown {
            let row = effects.variation.iter().find(|row| row.from == **from);
            let share = row.map_or("–".to_owned(), |row| {
                let doubt = row.p_value.is_some_and(|p| p > 1.0 - report.level);
                format!("{}{}", figures::percent(row.share), if doubt { "?" } else { "" })
            });
            let _ = write!(text, "{share:>12}");
        }
        text.push('\n');
    }
    text += "  ? may be error\n";
    text
}

/// Each point against the first.
fn against_first(report: &SweepReport, names: &ShortNames) -> String {
    if report.points.len() < 2 {
        return String::new();
    }
    let mut text = "\nagainst the first point, by pairs of runs with one seed\n".to_owned();
    let has = |metric: &str| {
        let others = report.points.iter().flat_map(|point| &point.against_first);
        others.into_iter().any(|change| change.metric == metric)
    };
    let tail = if has("p99") { "p99" } else { "p50" };
    let first = &report.points[0].settings;
    for point in report.points.iter().skip(1).take(AGAINST) {
        let others = point.settings.iter().filter(|setting| !first.contains(setting));
        let settings = others.map(|setting| format!("{}={}", names.key(&setting.key), names.value(setting)));
        let _ = write!(text, "  {}", padded(&settings.collect::<Vec<_>>().join(" "), 26));
        for metric in ["rate", tail] {
            let change = point.against_first.iter().find(|change| change.metric == metric);
            let words = change.map_or(format!("{metric} –"), |change| {
                let kind = kind(report, metric);
                let doubt = if change.differs { "" } else { "?" };
                match metric {
                    "rate" => format!("{metric} {}{doubt}", change_in_words(kind, change.by)),
                    _ => {
                        let [low, high] = change.interval;
                        let [by, low, high] = changes_in_words(kind, [change.by, low, high]);
                        format!("{metric} {by}{doubt} ({low} to {high})")
                    }
                }
            });
            let _ = write!(text, "  {words}");
        }
        text.push('\n');
    }
    if report.points.len() > AGAINST + 1 {
        let _ = writeln!(text, "  and {} more, on the page", report.points.len() - AGAINST - 1);
    }
    text
}
