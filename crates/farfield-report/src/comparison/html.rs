//! A comparison as a page of HTML: one file with nothing from elsewhere, complete without its script.

use super::cells::Cells;
use super::drawing::ComparisonCharts;
use super::fail_if::{FailIf, Judgement};
use super::text::{EXPLANATION, evidence, unknown_by_reason, verdict};
use super::{Against, Change, Comparison, SideSummary};
use crate::{chart, html};
use farfield_base::printable;
use farfield_experiment::sweep::Scale;
use std::fmt::Write;

const STYLE: &str = ".better{color:#1a6b2f}.worse{color:var(--bad)}td.name{white-space:normal;min-width:8em}\
    td.found,th.found,td.name,th.name{text-align:left}svg.interval{width:14em;height:1.2em;display:block}\
    svg.interval line{stroke:var(--ink)}svg.interval line.zero{stroke:#999}svg.interval circle{fill:var(--ink)}\
    @media(prefers-color-scheme:dark){:root:not([data-theme=light]) .better{color:#6c6}}:root[data-theme=dark] .better{color:#6c6}";

/// The comparison as a page.
pub fn render(
    comparison: &Comparison,
    judged: &[(FailIf, Vec<Judgement>)],
    drawing: &ComparisonCharts,
) -> String {
    let mut page = html::begin_family("Runs compared", STYLE);
    side(&mut page, "Base", &comparison.base);
    for (at, against) in comparison.others.iter().enumerate() {
        let _ =
            writeln!(page, "<h2 class=\"name\">{}: {}</h2>", escaped(&against.side.name), verdict(against));
        side(&mut page, "Against it", &against.side);
        let _ = writeln!(page, "<p>The intervals: {}.</p>", evidence(against));
        table(&mut page, against);
        drawing.put_difference(&mut page, against, at + 1);
        let mut items: Vec<String> = Vec::new();
        for (condition, judgements) in judged {
            let word = match judgements[at] {
                Judgement::Kept => "kept",
                Judgement::Exceeded => "exceeded",
                Judgement::Undecided => "undecided: more repeats would decide",
            };
            items.push(format!("<code>{}</code> {word}", escaped(&condition.to_string())));
        }
        items.extend(
            unknown_by_reason(against)
                .iter()
                .map(|(reason, metrics)| format!("{} unknown: {}", escaped(metrics), escaped(reason))),
        );
        items.extend(against.notes.iter().map(|note| escaped(note)));
        list(&mut page, &items);
        inputs(&mut page, against);
    }
    let sides = std::iter::once(&comparison.base).chain(comparison.others.iter().map(|other| &other.side));
    drawing.put_course(&mut page, &sides.map(|side| side.name.as_str()).collect::<Vec<_>>());
    let _ = writeln!(page, "<p>{}</p>", escaped(EXPLANATION));
    html::end_family(&mut page);
    page
}

fn side(page: &mut String, label: &str, side: &SideSummary) {
    let _ = writeln!(
        page,
        "<p class=\"name\">{label}: <strong>{}</strong>, {} valid {}, {}</p>",
        escaped(&side.name),
        side.runs,
        if side.runs == 1 { "run" } else { "runs" },
        escaped(&side.load)
    );
    let left_out = side.left_out.iter();
    let items: Vec<String> = left_out
        .map(|left_out| format!("{} does not count: {}", escaped(&left_out.run), escaped(&left_out.reason)))
        .collect();
    list(page, &items);
}

fn table(page: &mut String, against: &Against) {
    page.push_str(
        "<div class=\"scroll\" tabindex=\"0\"><table><tr><th scope=\"col\">figure</th><th scope=\"col\">base</th>\
         <th scope=\"col\">against it</th><th scope=\"col\">change</th><th scope=\"col\">95 % interval</th>\
         <th scope=\"col\" class=\"found\">found</th><th scope=\"col\">interval, about no change</th></tr>\n",
    );
    let changes =
        against.rows.iter().filter_map(|row| row.change.filter(|_| is_drawn(row.metric.metric.scale())));
    let reach = changes.map(|change| change.low.abs().max(change.high.abs())).fold(0.0, f64::max);
    for row in &against.rows {
        let Cells { metric, base, other, change, interval, found } = Cells::of(row);
        let bar = row
            .change
            .filter(|_| is_drawn(row.metric.metric.scale()))
            .map(|change| bar(change, reach))
            .unwrap_or_default();
        let class = found.trim_end_matches('?');
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td>{base}</td><td>{other}</td><td>{change}</td><td>{interval}</td>\
             <td class=\"found {class}\">{found}</td><td>{bar}</td></tr>",
            escaped(&metric)
        );
    }
    page.push_str("</table></div>\n");
}

/// Changes of shares are not on the axis of ratios.
fn is_drawn(scale: Scale) -> bool {
    scale == Scale::Ratio
}

/// An interval as a line with a dot, about a line at no change; `reach` is the largest change drawn.
fn bar(change: Change, reach: f64) -> String {
    let reach = if reach > 0.0 { reach } else { 1.0 };
    let x = |change: f64| 100.0 + 95.0 * change / reach;
    format!(
        "<svg class=\"interval\" viewBox=\"0 0 200 16\" role=\"img\" aria-label=\"change and its interval\">\
         <line class=\"zero\" x1=\"100\" y1=\"0\" x2=\"100\" y2=\"16\" stroke=\"#999\"/>\
         <line x1=\"{:.1}\" y1=\"8\" x2=\"{:.1}\" y2=\"8\" stroke=\"#222\" stroke-width=\"2\"/>\
         <circle cx=\"{:.1}\" cy=\"8\" r=\"3.5\" fill=\"#222\"/></svg>",
        x(change.low),
        x(change.high),
        x(change.by)
    )
}

fn inputs(page: &mut String, against: &Against) {
    if against.inputs.is_empty() {
        return;
    }
    page.push_str("<h3>Asked for differently, or on another machine</h3>\n<div class=\"scroll\" tabindex=\"0\"><table>\
        <tr><th scope=\"col\">key</th><th scope=\"col\" class=\"name\">base</th><th scope=\"col\" class=\"name\">against it</th></tr>\n");
    for change in &against.inputs {
        let value = |value: &Option<String>| value.as_deref().map_or("–".to_owned(), escaped);
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td class=\"name\">{}</td><td class=\"name\">{}</td></tr>",
            escaped(&change.key),
            value(&change.base),
            value(&change.other)
        );
    }
    page.push_str("</table></div>\n");
}

/// Text from elsewhere: neither markup nor control characters of it are in the page.
fn escaped(text: &str) -> String {
    chart::escaped(&printable(text, &[]))
}

fn list(page: &mut String, items: &[String]) {
    if items.is_empty() {
        return;
    }
    let items: String = items.iter().map(|item| format!("<li class=\"name\">{item}</li>")).collect();
    let _ = writeln!(page, "<ul>{items}</ul>");
}
