//! The headline figures: rates and users on the left, times of the measured part on the right.

use super::{Palette, fitting, time_or_dash};
use crate::live::view::View;
use farfield_measure::Quantile;
use farfield_measure::series::SeriesRow;
use farfield_measure::summary::{Rates, Summary, TimingSummary};
use farfield_report::figures::{bytes_rate, count, percent, rate};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

/// Columns of the left half.
const LEFT: u16 = 38;
/// Columns of a figure.
const FIGURE: usize = 12;
/// Columns of the name of a time.
const NAME: usize = 10;
/// Columns of a time.
const TIME: usize = 8;

/// Draws the headline.
pub fn draw(frame: &mut Frame<'_>, area: Rect, view: &View, palette: Palette) {
    let [left, right] = Layout::horizontal([Constraint::Length(LEFT), Constraint::Min(0)]).areas(area);
    frame.render_widget(Paragraph::new(rates(view, palette)), left);
    frame.render_widget(Paragraph::new(times(view, palette, usize::from(right.width))), right);
}

/// Rates of the last second that is over, and of the measured part.
fn rates(view: &View, palette: Palette) -> Vec<Line<'static>> {
    let last = view.shown().last();
    let measured = view.figures.summary.as_ref().and_then(|summary| summary.steady.rates);
    let row = |name: &str, last: Option<String>, measured: Option<String>| {
        let cell = |text: Option<String>| text.unwrap_or("-".to_owned());
        Line::from(vec![
            Span::styled(format!("{name:<11}"), palette.faint),
            Span::raw(format!("{:>FIGURE$} {:>FIGURE$}", cell(last), cell(measured))),
        ])
    };
    let per_s = |of: fn(&SeriesRow) -> u64| last.map(|row| rate(of(row) as f64));
    let mean = |of: fn(&Rates) -> f64| measured.as_ref().map(|rates| rate(of(rates)));
    let mut lines = vec![
        Line::styled(format!("{:<11}{:>FIGURE$} {:>FIGURE$}", "", "last second", "measured"), palette.faint),
        row("offered", per_s(|row| row.offered), mean(|rates| rates.offered_per_s)),
        row("sent", per_s(|row| row.sent), mean(|rates| rates.sent_per_s)),
        row(
            "completed",
            per_s(|row| row.completed),
            mean(|rates| rates.completed_per_s.unwrap_or(rates.succeeded_per_s)),
        ),
        row("succeeded", per_s(|row| row.succeeded), mean(|rates| rates.succeeded_per_s)),
        row(
            "bodies",
            last.map(|row| bytes_rate(row.body_bytes as f64)),
            measured.as_ref().map(|rates| bytes_rate(rates.body_bytes_per_s)),
        ),
    ];
    let open =
        [("open now", view.figures.in_system, "requests"), ("", view.figures.connections, "connections")];
    lines.extend(open.map(|(name, number, what)| {
        Line::from(vec![
            Span::styled(format!("{name:<11}"), palette.faint),
            Span::raw(format!("{:>FIGURE$} {what}", count(number))),
        ])
    }));
    lines
}

/// Times of the measured part, and how its requests ended.
fn times(view: &View, palette: Palette, columns: usize) -> Vec<Line<'static>> {
    let mut head = format!("{:<NAME$}", "");
    let quantiles = quantiles(columns);
    for name in quantiles.iter().map(|(name, _)| *name).chain(["max"]) {
        head.push_str(&format!("{name:>TIME$}"));
    }
    let mut lines = vec![Line::styled(head, palette.faint)];
    let Some(summary) = &view.figures.summary else { return lines };
    let steady = &summary.steady.times;
    let mut row = |name: &str, times: Option<&TimingSummary>| {
        let mut spans = vec![Span::styled(format!("{name:<NAME$}"), palette.faint)];
        for (_, quantile) in quantiles {
            let value = time_or_dash(times.and_then(|times| times.quantile_ns(*quantile)));
            spans.push(Span::raw(format!("{value:>TIME$}")));
        }
        spans.push(Span::raw(format!("{:>TIME$}", time_or_dash(times.map(|times| times.max_ns)))));
        lines.push(Line::from(spans));
    };
    row("response", steady.response.as_ref());
    row("service", steady.service.as_ref());
    match &summary.pages {
        // The times that users see.
        Some(pages) => {
            row("page", pages.response.as_ref());
            row("HTML", pages.html_latency.as_ref());
        }
        None => row("connect", steady.connect.as_ref()),
    }
    let room = columns.saturating_sub(NAME);
    lines.push(ended(summary, palette, room));
    if let Some(sessions) = &summary.sessions {
        let (begun, completed) = (count(sessions.begun), count(sessions.completed));
        let text = fitting([format!("{begun} begun, {completed} completed"), format!("{begun} begun")], room);
        lines.push(Line::from(vec![
            Span::styled(format!("{:<NAME$}", "sessions"), palette.faint),
            Span::raw(text),
        ]));
    }
    lines
}

/// The percentiles that there is room for beside the largest time.
fn quantiles(columns: usize) -> &'static [(&'static str, Quantile)] {
    const ALL: [(&str, Quantile); 4] =
        [("p50", Quantile::P50), ("p90", Quantile::P90), ("p99", Quantile::P99), ("p99.9", Quantile::P99_9)];
    const FEWER: [(&str, Quantile); 3] = [ALL[0], ALL[2], ALL[3]];
    if columns >= NAME + (ALL.len() + 1) * TIME { &ALL } else { &FEWER }
}

/// Number of requests that went well, and the share of those that did not, in `room` columns.
fn ended(summary: &Summary, palette: Palette, room: usize) -> Line<'static> {
    let ok: u64 = summary.steady.outcomes.iter().filter(|one| one.name == "ok").map(|one| one.count).sum();
    let errors = summary.steady.error_share.unwrap_or(0.0);
    let style = if errors > 0.0 { palette.bad } else { palette.good };
    let errors = format!("{} errors", percent(errors));
    let (ok, all) = (count(ok), count(summary.steady.requests));
    let before = fitting(
        [format!("{ok} ok of {all}, "), format!("{ok} ok, "), String::new()],
        room.saturating_sub(errors.len()),
    );
    Line::from(vec![
        Span::styled(format!("{:<NAME$}", "outcomes"), palette.faint),
        Span::raw(before),
        Span::styled(errors, style),
    ])
}
