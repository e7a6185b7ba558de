//! A search in words: the answer in one line, the curve as a table, and where the trials are.

use crate::figures;
use farfield_experiment::limit::GeneratorCheck;
use farfield_experiment::report::{Ended, Method};
use farfield_experiment::{Answer, CapacityReport, CurvePoint, Observed, Throughput, Trial, Validity};
use std::fmt::Write;
use std::path::Path;

/// Rows of the curve that fit a terminal with all else.
const ROWS: usize = 15;
/// Lines above the curve with which so many rows fit: the answer in two, the time, and a blank one.
const LINES_ABOVE: usize = 4;

/// The line of progress of a trial that was made.
pub fn progress(unit: &str, trial: &Trial, observed: &Observed) -> String {
    let p99 = observed.p99_ns.map_or("-".to_owned(), |ns| figures::time(ns as u64));
    let errors = observed.error_share.map_or("-".to_owned(), figures::percent);
    let came_to = match &observed.validity {
        Validity::Invalid { cause, .. } => format!("invalid ({cause})"),
        Validity::TooShort { cause } | Validity::StillRising { cause } => format!("too short: {cause}"),
        _ if observed.goals.is_empty() => {
            let bodies = figures::bytes_rate(observed.body_bytes_per_s);
            format!("{}/s, {bodies}", number(observed.achieved_per_s))
        }
        _ if observed.keeps_goals() => "kept".to_owned(),
        _ => "broken".to_owned(),
    };
    let load = format!("{} {unit}", number(trial.load));
    format!("trial {:<3} {load:>18}  p99 {p99:>8}  errors {errors:>7}  {came_to}", trial.design.number)
}

/// All of a search, in at most 24 lines.
pub fn render(report: &CapacityReport, folder: &Path) -> String {
    let mut text = wrapped(&sentence(report), 80);
    if let Some(more) = &report.more_time {
        let _ = writeln!(text, "the time was over; {more}");
    }
    match &report.ended {
        Ended::Interrupted => text += "interrupted; the same command with --out goes on from here\n",
        Ended::Failed(why) => text += &wrapped(&format!("ended early: {why}"), 80),
        Ended::Done | Ended::BudgetOver | Ended::Disturbed(_) => {}
    }
    if let Some(share) = report.overstated_by {
        text += &wrapped(&overstated(share), 80);
    }
    if let Some(allowed) = report.few_beyond {
        text += &wrapped(&few_beyond(allowed), 80);
    }
    if let Some(check) = &report.generator {
        text += &wrapped(&generator(check), 80);
    }
    text += "\n";
    text += &table(report, ROWS.saturating_sub(text.lines().count().saturating_sub(LINES_ABOVE)));
    let _ = writeln!(text, "\n{}, in {:.1} s", counts(report), report.spent_s);
    if let Some([before, after]) = warm_ups(report) {
        let _ =
            writeln!(text, "warm-ups were lengthened from {before} to {after}: response times settle later");
    }
    let _ = writeln!(text, "page        {}", folder.join("capacity.html").display());
    text
}

/// The sentence on trials that are short beside the goals' times.
pub(super) fn overstated(share: f64) -> String {
    format!(
        "trials are short beside the goals' times, so that it may be up to {} lower; --duration is their length",
        figures::percent(share)
    )
}

/// The sentence on trials with few requests beyond a percentile's limit.
pub(super) fn few_beyond(allowed: f64) -> String {
    let count = if allowed < 1.0 { "less than one".to_owned() } else { format!("about {allowed:.0}") };
    format!(
        "single trials decide it, and of their requests only {count} may be beyond the percentile's limit: another \
         search may differ; --duration is their length"
    )
}

/// The check of the generator, as a sentence.
pub(super) fn generator(check: &GeneratorCheck) -> String {
    let at = check.load.map_or(String::new(), |load| format!(" at {}", number(load)));
    let because = check.because.as_deref().unwrap_or_default();
    match check.is_same {
        Some(true) => {
            format!(
                "the generator was checked{at}: two get as much, as soon in the median, and no shorter p99"
            )
        }
        Some(false) => format!("the generator was checked{at}: {because}"),
        None => format!("the generator was not checked: {because}"),
    }
}

/// The number of trials, and of those that do not count.
fn counts(report: &CapacityReport) -> String {
    let short = report.trials.iter().filter(|trial| trial.is_too_short()).count();
    let invalid = report.trials.iter().filter(|trial| !trial.counts()).count() - short;
    let mut counts = format!("{} trials", report.trials.len());
    for (count, what) in [(invalid, "invalid"), (short, "too short")] {
        if count > 0 {
            let _ = write!(counts, ", {count} of them {what}");
        }
    }
    counts
}

/// The warm-ups of the first and of the last trial of one length, in words, where they became longer.
fn warm_ups(report: &CapacityReport) -> Option<[String; 2]> {
    let last = report.trials.last()?;
    let first = report.trials.iter().find(|trial| trial.length_ns == last.length_ns)?;
    let both = [first.observed.warm_up_ns, last.observed.warm_up_ns];
    (both[0] < both[1]).then(|| both.map(figures::time))
}

/// The answer in one line.
pub fn sentence(report: &CapacityReport) -> String {
    let what = if report.goals.is_empty() { "peak" } else { "capacity" };
    let (unit, per_unit) = unit(report);
    let number = |value: f64| number(value / per_unit);
    let at = match report.goals.is_empty() {
        true => String::new(),
        false => format!(" at {}", report.goals.join(", ")),
    };
    let answer = match &report.answer {
        Answer::Found { value, low, high, method: Method::Bounds, .. } => {
            let range = match unit {
                "users" => number(*value),
                _ => format!("{} to {}", number(*low), number(*high)),
            };
            format!("{range} {unit}{at}")
        }
        Answer::Found { value, low, high, method, at_load } => {
            let half = (value - low).max(high - value);
            let (value, half) = with_half_width(*value / per_unit, half / per_unit);
            let load = match method {
                Method::Repeats => format!(" at {} {}", self::number(*at_load), report.unit),
                Method::Regression | Method::Bounds => at,
            };
            format!("{value} ± {half} {unit}{load} ({:.0} %)", report.level * 100.0)
        }
        Answer::AtLeast { value, because, .. } => {
            return format!("{what} at least {} {unit}{at}: {because}", number(*value));
        }
        Answer::LessThan { value } => {
            return format!("{what} less than {} {unit}: no load that was tried keeps{at}", number(*value))
                .replace("keeps at", "keeps");
        }
        Answer::Undecided { low, high, because } => {
            let range = match (low, high) {
                (Some(low), Some(high)) => {
                    format!("between {} and {} {unit}{at}", number(*low), number(*high))
                }
                (Some(low), None) => format!("above {} {unit}{at}, perhaps far above", number(*low)),
                (None, Some(high)) => format!("below {} {unit}{at}, perhaps far below", number(*high)),
                (None, None) => format!("unknown{at}"),
            };
            return format!("{what} {range}, not decided: {because}");
        }
    };
    let requests = match (report.conditional_per_s, unit) {
        (Some(per_s), "sessions/s" | "pages/s" | "users") => {
            format!(", {} requests/s there", self::number(per_s))
        }
        _ => String::new(),
    };
    let gave_out = report.gave_out.as_ref().map_or(String::new(), |gave_out| format!("; {gave_out}"));
    format!("{what} {answer}{requests}{gave_out}")
}

/// The unit of the answer, and how many of what it was measured in it is.
fn unit(report: &CapacityReport) -> (&str, f64) {
    let value = match report.answer {
        Answer::Found { value, .. } | Answer::AtLeast { value, .. } | Answer::LessThan { value } => value,
        Answer::Undecided { low, high, .. } => low.or(high).unwrap_or(1.0),
    };
    match (report.goals.is_empty(), report.peak_of, value) {
        (false, _, _) => (report.unit.as_str(), 1.0),
        (true, Throughput::Requests, _) => ("replies/s", 1.0),
        (true, Throughput::Bytes, 1e9..) => ("GB/s of bodies", 1e9),
        (true, Throughput::Bytes, 1e6..) => ("MB/s of bodies", 1e6),
        (true, Throughput::Bytes, 1e3..) => ("kB/s of bodies", 1e3),
        (true, Throughput::Bytes, _) => ("B/s of bodies", 1.0),
    }
}

/// True if bytes are what was searched for, so that they have a column.
pub(super) fn shows_bytes(report: &CapacityReport) -> bool {
    report.goals.is_empty() && report.peak_of == Throughput::Bytes
}

fn table(report: &CapacityReport, most: usize) -> String {
    let has_bytes = shows_bytes(report);
    let bodies = |text: &str| if has_bytes { format!(" {text:>12}") } else { String::new() };
    let mut text = format!(
        "{:>12} {:>12}{} {:>10} {:>9}  {}\n",
        report.unit,
        "replies/s",
        bodies("bodies"),
        "p99",
        "errors",
        if report.goals.is_empty() { "trials" } else { "goals" }
    );
    let rows = rows(report, most);
    for point in &rows {
        let or_dash = |number: Option<String>| number.unwrap_or_else(|| "-".to_owned());
        let _ = writeln!(
            text,
            "{:>12} {:>12}{} {:>10} {:>9}  {}",
            number(point.load),
            or_dash(point.achieved_per_s.map(number)),
            bodies(&or_dash(point.body_bytes_per_s.map(figures::bytes_rate))),
            or_dash(point.p99_ns.map(|ns| figures::time(ns as u64))),
            or_dash(point.error_share.map(figures::percent)),
            came_to(point, report.goals.is_empty())
        );
    }
    let left_out = report.curve.len() - rows.len();
    if left_out > 0 {
        let _ = writeln!(text, "and {left_out} more loads, in --format json");
    }
    text
}

/// The loads that are shown: those next to the answer, if there are too many.
fn rows(report: &CapacityReport, most: usize) -> Vec<&CurvePoint> {
    let mut rows: Vec<&CurvePoint> = report.curve.iter().collect();
    let middle = match &report.answer {
        Answer::Found { at_load, .. } => *at_load,
        // Of a peak it is a throughput; the loads next to the highest are shown.
        Answer::AtLeast { .. } if report.goals.is_empty() => rows.last().map_or(1.0, |point| point.load),
        Answer::AtLeast { value, .. } | Answer::LessThan { value } => *value,
        Answer::Undecided { low, high, .. } => low.or(*high).unwrap_or(1.0),
    };
    let away = |point: &CurvePoint| (point.load / middle).ln().abs();
    rows.sort_by(|a, b| away(a).total_cmp(&away(b)));
    rows.truncate(most);
    rows.sort_by(|a, b| a.load.total_cmp(&b.load));
    rows
}

pub(super) fn came_to(point: &CurvePoint, is_peak: bool) -> String {
    let counted = match (point.trials, point.kept) {
        (0, _) if point.too_short > 0 => "too short".to_owned(),
        (0, _) => "no valid trial".to_owned(),
        (trials, _) if is_peak => trials.to_string(),
        (1, 1) => "kept".to_owned(),
        (1, _) => "broken".to_owned(),
        (trials, 0) => format!("broken, {trials} trials"),
        (trials, kept) if kept == trials => format!("kept, {trials} trials"),
        (trials, kept) => format!("kept in {kept} of {trials}"),
    };
    match point.invalid {
        0 => counted,
        invalid => format!("{counted}, {invalid} invalid"),
    }
}

/// A load or a rate: four digits, thousands in groups.
pub(super) fn number(number: f64) -> String {
    match number {
        n if n == n.round() || n >= 999.5 => figures::count(n.round() as u64),
        n if n >= 99.95 => format!("{n:.1}"),
        n => figures::three_digits(n),
    }
}

/// A number with the half-width of its interval, in two digits, and to the same place.
fn with_half_width(value: f64, half: f64) -> (String, String) {
    if half >= 10.0 {
        let unit = 10_f64.powf(half.log10().floor() - 1.0);
        let to_unit = |number: f64| figures::count(((number / unit).round() * unit).round() as u64);
        return (to_unit(value), to_unit(half));
    }
    let digits = if half > 0.0 { (1.0 - half.log10().floor()).clamp(1.0, 6.0) as usize } else { 0 };
    (format!("{value:.digits$}"), format!("{half:.digits$}"))
}

/// Lines of words, each of at most so many characters.
pub(crate) fn wrapped(text: &str, columns: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is a line");
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > columns {
            lines.push(word.to_owned());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_as_many_digits_as_its_interval_leaves() {
        let in_words = |value, half| {
            let (value, half) = with_half_width(value, half);
            format!("{value} ± {half}")
        };
        assert_eq!(in_words(4213.4, 61.7), "4,213 ± 62");
        assert_eq!(in_words(42_134.0, 617.0), "42,130 ± 620");
        assert_eq!(in_words(12.345, 0.123), "12.35 ± 0.12");
        assert_eq!(in_words(908.4, 5.04), "908.4 ± 5.0");
    }

    #[test]
    fn long_sentences_are_broken_between_words() {
        assert_eq!(wrapped("one two three", 7), "one two\nthree\n");
    }
}
