//! An audit as terminal text and as one HTML page: what a tool reported, what the packets show, and why
//! they differ. Numbers are handed in; nothing is opened.

mod page;

pub use page::page;

use crate::figures::{count, percent, rate, time};
use farfield_base::words;
use farfield_verify::audit::{Agreement, Audit, AuditFigure, FigureUnit, OmissionMethod, Percentile, Times};
use std::fmt::Write;

/// Columns of a terminal.
const COLUMNS: usize = 80;

/// An audit as text for a terminal, with a line end after each line.
pub fn text(audit: &Audit) -> String {
    let mut text = format!("{}\n", audit.run.command.join(" "));
    let _ = writeln!(text, "{}\n", verdict(audit));
    if audit.rows.is_empty() {
        text.push_str(&truth_alone(audit));
    } else {
        text.push_str("              reported        true      off   why\n");
        audit.rows.iter().for_each(|row| text.push_str(&row_line(row)));
    }
    text.push_str(&times_lines(audit));
    text.push_str(&behaviour(audit));
    for finding in audit.findings.iter().chain(notes(audit)) {
        text.push_str(&wrapped(finding, "- "));
    }
    for limit in &audit.limits {
        text.push_str(&wrapped(limit, "not seen: "));
    }
    text
}

/// The verdict as a sentence.
pub fn verdict(audit: &Audit) -> String {
    let off = audit.rows.iter().filter(|row| !row.agrees).count();
    let share = percent(audit.tolerance.share);
    let least = time(audit.tolerance.ns as u64);
    match audit.agreement {
        Agreement::Agrees => {
            format!("AGREES: all {} figures are within {share} or {least} of the packets", audit.rows.len())
        }
        Agreement::Disagrees => {
            format!(
                "DISAGREES: {off} of {} figures are further than {share} or {least} off",
                audit.rows.len()
            )
        }
        Agreement::NotJudged => format!("NOT JUDGED: {}", why_not_judged(audit)),
    }
}

fn why_not_judged(audit: &Audit) -> &'static str {
    match (&audit.reported, &audit.truth) {
        (_, None) => "there is no capture to compare the report with",
        (None, Some(_)) => "the tool's output is no report that is read, so only the true side is shown",
        (Some(_), Some(truth)) if truth.requests == 0 => "the capture has no complete request, see below",
        (Some(_), Some(_)) => "the capture lacks too much, see below",
    }
}

/// A figure of a row, with its unit.
pub fn figure(row: &AuditFigure, value: f64) -> String {
    match row.unit {
        FigureUnit::Count => count(value.max(0.0) as u64),
        FigureUnit::PerSecond => rate(value),
        FigureUnit::Nanoseconds => time(value.max(0.0) as u64),
    }
}

/// The difference of a row: `+12 %`, or a factor where it is large.
pub fn difference(row: &AuditFigure) -> String {
    match row.difference {
        None => "none true".to_owned(),
        Some(off) if off >= 9.0 => format!("x{:.0}", off + 1.0),
        Some(off) if off.abs() < 0.0005 => "0 %".to_owned(),
        Some(off) => format!("{:+.1} %", 100.0 * off),
    }
}

fn row_line(row: &AuditFigure) -> String {
    let mark = if row.agrees { ' ' } else { '!' };
    let head = format!(
        "{mark} {:<9} {:>10}  {:>10} {:>8}",
        row.figure,
        figure(row, row.reported),
        figure(row, row.observed),
        difference(row)
    );
    match &row.why {
        Some(why) => wrapped(why, &format!("{head}   ")),
        None => format!("{head}\n"),
    }
}

/// The figures of the packets, where there is nothing to hold against them.
fn truth_alone(audit: &Audit) -> String {
    let Some(truth) = &audit.truth else { return String::new() };
    format!(
        "requests {}   errors {}   rate {}   for {}\n",
        count(truth.requests),
        count(truth.errors()),
        rate(truth.rate_per_s),
        time(truth.duration_ns)
    )
}

/// Percentiles as the tool's requests had them, and as open users would have seen them.
fn times_lines(audit: &Audit) -> String {
    let Some(truth) = &audit.truth else { return String::new() };
    let mut text =
        "\n                   mean        p50        p90        p99      p99.9        max\n".to_owned();
    let mut line = |name: &str, times: &Times| {
        let _ = write!(text, "{name:<13}{:>10}", time(times.mean_ns as u64));
        for percent in [50.0, 90.0, 99.0, 99.9] {
            let _ = write!(text, " {:>10}", time(times.at(percent)));
        }
        let _ = writeln!(text, " {:>10}", time(times.max_ns));
    };
    line("its requests", &truth.times);
    if truth.first_requests > 0 && 10 * truth.first_requests > truth.requests {
        line("with connect", &truth.times_with_connect);
    }
    if let Some(omitted) = &audit.omitted {
        line("open users", &omitted.times);
    }
    text
}

/// Method of the estimate for open users, in words.
pub fn method(audit: &Audit) -> Option<String> {
    let omitted = audit.omitted.as_ref()?;
    Some(match omitted.method {
        OmissionMethod::Schedule { rate_per_s } => format!(
            "Open users: each request counts from when it was due at {rate_per_s} a second; {} were due and never sent.",
            omitted.never_sent
        ),
        OmissionMethod::Availability => "Open users: arrivals spread evenly over the run, each of whom waits until the tool's own \
                                 requests show that the server answers. Those who come in a stall are taken to be served at once \
                                 after it."
            .to_owned(),
    })
}

/// Arrivals, connections and the tool's own processor time.
fn behaviour(audit: &Audit) -> String {
    let mut text = "\n".to_owned();
    if let Some(arrivals) = audit.arrivals {
        let _ = write!(
            text,
            "arrivals     gap {} (mean), variation {:.2}",
            time(arrivals.mean_gap_ns as u64),
            arrivals.variation
        );
        if let Some(passed) = arrivals.exponential_passed {
            let _ = write!(text, ", exponential in {} of stretches", percent(passed));
        }
        let _ = writeln!(
            text,
            "\n             {:.1} requests under way (mean), {} at most",
            arrivals.under_way_mean, arrivals.under_way_max
        );
    }
    if let Some(connections) = &audit.connections {
        let _ = writeln!(
            text,
            "connections  {}, {} open at most; requests on each {} to {}, median {}",
            count(connections.accepted),
            count(connections.open_max),
            count(connections.requests_min),
            count(connections.requests_max),
            count(connections.requests_median)
        );
    }
    let _ = writeln!(
        text,
        "tool         {}; {:.2} processors, busiest thread {}\n",
        audit.run.ended,
        audit.run.processors(),
        percent(audit.run.busiest_thread())
    );
    text
}

fn notes(audit: &Audit) -> impl Iterator<Item = &String> {
    audit.reported.iter().flat_map(|reported| &reported.notes)
}

/// A percentile's name, such as `p99`.
pub fn name(percentile: &Percentile) -> String {
    format!("p{}", percentile.percent)
}

/// `sentence` behind `head`, in lines of a terminal; those after the first are indented as far as `head` is
/// long, or less where little room would be left.
fn wrapped(sentence: &str, head: &str) -> String {
    let indent = head.chars().count().min(COLUMNS / 2);
    let mut lines = String::new();
    let mut line = head.to_owned();
    let mut is_begun = false;
    for word in words(sentence) {
        if is_begun && line.chars().count() + 1 + word.chars().count() > COLUMNS {
            let _ = writeln!(lines, "{line}");
            line = " ".repeat(indent);
            is_begun = false;
        }
        if is_begun {
            line.push(' ');
        }
        line.push_str(word);
        is_begun = true;
    }
    let _ = writeln!(lines, "{line}");
    lines
}
