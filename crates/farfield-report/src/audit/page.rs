//! The HTML page of an audit.

use super::{difference, figure, method, verdict};
use crate::chart::{Axis, Chart, Mark, Series};
use crate::figures::{count, percent, time};
use crate::html::{self, escaped};
use farfield_verify::audit::{Agreement, Audit, Times};
use std::fmt::Write;

const STYLE: &str = "td,th{vertical-align:top}td.why,th.why{text-align:left;white-space:normal}td.why{min-width:16em}.off{color:var(--bad)}.verdict{font-weight:600}\
    code{word-break:break-all}";

/// The page of an audit.
pub fn page(audit: &Audit) -> String {
    let mut html = html::begin_family("Reported, true, why", STYLE);
    let _ = writeln!(html, "<p><code>{}</code></p>", escaped(&audit.run.command.join(" ")));
    let class = if audit.agreement == Agreement::Agrees { "verdict" } else { "verdict off" };
    let _ = writeln!(html, "<p class=\"{class}\">{}</p>", escaped(&verdict(audit)));
    list(&mut html, &audit.findings);
    figures(&mut html, audit);
    times(&mut html, audit);
    behaviour(&mut html, audit);
    html.push_str("<h2>Limits</h2>\n");
    let measures = audit
        .reported
        .as_ref()
        .map(|reported| format!("{} measures {}.", reported.tool.name(), reported.span.in_words()));
    let notes = audit.reported.iter().flat_map(|reported| reported.notes.iter().cloned());
    let limits = audit.limits.iter().map(|limit| format!("Not seen: {limit}."));
    let truth = "True times go from the packet with the request's first byte to the packet with the reply's last byte, at the tool.";
    let all: Vec<String> = measures
        .into_iter()
        .chain([truth.to_owned()])
        .chain(notes)
        .chain(method(audit))
        .chain(limits)
        .collect();
    list(&mut html, &all);
    html::end_family(&mut html);
    html
}

fn list(html: &mut String, sentences: &[String]) {
    if sentences.is_empty() {
        return;
    }
    html.push_str("<ul>");
    for sentence in sentences {
        let _ = write!(html, "<li>{}</li>", escaped(sentence));
    }
    html.push_str("</ul>\n");
}

fn figures(html: &mut String, audit: &Audit) {
    if audit.rows.is_empty() {
        return;
    }
    html.push_str(
        "<div class=\"scroll\"><table><tr><th scope=\"col\">figure</th><th scope=\"col\">reported</th>\
         <th scope=\"col\">true</th><th scope=\"col\">off</th><th scope=\"col\" class=\"why\">why</th></tr>\n",
    );
    for row in &audit.rows {
        let _ = writeln!(
            html,
            "<tr{}><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"why\">{}</td></tr>",
            if row.agrees { "" } else { " class=\"off\"" },
            escaped(&row.figure),
            figure(row, row.reported),
            figure(row, row.observed),
            difference(row),
            escaped(row.why.as_deref().unwrap_or_default())
        );
    }
    html.push_str("</table></div>\n");
}

fn times(html: &mut String, audit: &Audit) {
    let Some(truth) = &audit.truth else { return };
    html.push_str("<h2>Response times</h2>\n");
    let mut series = vec![tail("true", Mark::Line, &truth.times)];
    if let Some(omitted) = &audit.omitted {
        series.push(tail("open users", Mark::Dashes, &omitted.times));
    }
    if let Some(reported) = &audit.reported {
        let dots = reported.percentiles.iter().filter(|percentile| percentile.percent < 100.0);
        let dots = dots.map(|percentile| (percentile.time.ns as f64 / 1e6, 1.0 - percentile.percent / 100.0));
        series.push(Series::new("reported", Mark::Dots, dots));
    }
    let (x, y) = (Axis::logarithmic("response time in ms"), Axis::logarithmic("share above"));
    let chart = Chart::new("Share of requests that take longer", x, y, series);
    let _ = writeln!(html, "<div class=\"pair\">{}</div>", chart.html());
    html.push_str("<div class=\"scroll\"><table><tr><td></td><th scope=\"col\">mean</th><th scope=\"col\">p50</th><th scope=\"col\">p90</th><th scope=\"col\">p99</th><th scope=\"col\">p99.9</th><th scope=\"col\">max</th></tr>\n");
    let mut line = |name: &str, times: &Times| {
        let _ = write!(html, "<tr><td>{name}</td><td>{}</td>", time(times.mean_ns as u64));
        for percent in [50.0, 90.0, 99.0, 99.9] {
            let _ = write!(html, "<td>{}</td>", time(times.at(percent)));
        }
        let _ = writeln!(html, "<td>{}</td></tr>", time(times.max_ns));
    };
    line("its requests", &truth.times);
    line("with the time to connect", &truth.times_with_connect);
    if let Some(omitted) = &audit.omitted {
        line("open users", &omitted.times);
    }
    html.push_str("</table></div>\n");
}

/// Points of a chart at most.
const POINTS: usize = 200;

/// The share of times above each of them, thinned towards the end as the axis is logarithmic.
fn tail(name: &str, mark: Mark, times: &Times) -> Series {
    let sorted = times.sorted();
    let count = sorted.len();
    let points = (0..POINTS).map(|k| {
        let above = (count as f64).powf(1.0 - k as f64 / (POINTS - 1) as f64).max(1.0);
        let at = count.saturating_sub(above as usize);
        (sorted.get(at).map_or(0.0, |ns| *ns as f64 / 1e6), above / count.max(1) as f64)
    });
    Series::new(name, mark, points)
}

fn behaviour(html: &mut String, audit: &Audit) {
    html.push_str("<h2>What it did</h2>\n<div class=\"scroll\"><table>\n");
    let mut line = |name: &str, value: String| {
        let _ = writeln!(html, "<tr><td>{name}</td><td>{}</td></tr>", escaped(&value));
    };
    if let Some(arrivals) = audit.arrivals {
        line("mean gap between requests", time(arrivals.mean_gap_ns as u64));
        line("coefficient of variation of the gaps", format!("{:.2}", arrivals.variation));
        if let (Some(passed), Some(correlation)) = (arrivals.exponential_passed, arrivals.correlation) {
            line("stretches of 50 gaps that pass as exponential (Anderson-Darling, 5 %)", percent(passed));
            line("correlation of a gap with the next", format!("{correlation:.2}"));
        }
        line("requests that follow another on their connection", count(arrivals.following));
        line("median time from the reply before to these", time(arrivals.follow_after_ns));
        line("requests under way, mean", format!("{:.1}", arrivals.under_way_mean));
        line("requests under way, at most", count(arrivals.under_way_max));
    }
    if let Some(connections) = &audit.connections {
        line("connections", count(connections.accepted));
        line("connections without a request", count(connections.unused));
        line("connections open at once, at most", count(connections.open_max));
        line("requests on a connection, fewest", count(connections.requests_min));
        line("requests on a connection, median", count(connections.requests_median));
        line("requests on a connection, most", count(connections.requests_max));
        line("pipelined requests", count(connections.pipelined));
        line("connections that the server ended first", count(connections.closed_by_server));
        line("retransmissions", count(connections.retransmissions));
    }
    line("the tool", audit.run.ended.clone());
    line("processors that it used, mean", format!("{:.2}", audit.run.processors()));
    line("its busiest thread ran for", percent(audit.run.busiest_thread()));
    html.push_str("</table></div>\n");
}
