//! Tables of the live view: outcomes, classes of clients, states of sessions, and the checks of the verdict.

use super::{Palette, cut, failed, safe, time_or_dash};
use crate::live::view::View;
use farfield_base::words;
use farfield_measure::Quantile;
use farfield_measure::summary::TimingSummary;
use farfield_measure::verdict::CheckState;
use farfield_report::figures::{count, percent};
use ratatui::text::Line;

/// Columns of a name.
const NAME: usize = 22;
/// Columns of a number.
const NUMBER: usize = 12;

/// Outcomes of the measured part, then its classes and states.
pub fn outcomes(view: &View, palette: Palette) -> Vec<Line<'static>> {
    let Some(summary) = &view.figures.summary else {
        return vec![Line::styled("no figures yet", palette.faint)];
    };
    let mut lines = vec![head("outcome", &["requests", "share", "fault"], palette)];
    for outcome in &summary.steady.outcomes {
        let share = outcome.count as f64 / summary.steady.requests.max(1) as f64;
        let style = if outcome.name == "ok" { palette.good } else { palette.bad };
        let cells = [count(outcome.count), percent(share), outcome.fault.clone()];
        lines.push(row(&outcome.name, &cells).style(style));
    }
    let times = ["requests", "errors", "p50", "p99"];
    if summary.classes.len() > 1 {
        lines.extend([Line::default(), head("class", &times, palette)]);
        for class in &summary.classes {
            let response = class.steady.times.response.as_ref();
            lines.push(row(&class.name, &cells(class.steady.requests, class.steady.error_share, response)));
        }
    }
    if !summary.states.is_empty() {
        lines.extend([Line::default(), head("state", &times, palette)]);
        for state in &summary.states {
            lines.push(row(&state.name, &cells(state.requests, state.error_share, state.response.as_ref())));
        }
    }
    lines
}

/// Columns of what became of a check.
const STATE: usize = 9;

/// The checks: those that failed with what to do, then the others by name.
pub fn verdict(view: &View, palette: Palette, columns: usize) -> Vec<Line<'static>> {
    let Some(summary) = &view.figures.summary else {
        return vec![Line::styled("no figures yet", palette.faint)];
    };
    let mut lines = Vec::new();
    for check in failed(view) {
        let text = format!("{}: {}", check.name, safe(&check.what));
        lines.extend(wrapped("failed", &text, columns).map(|line| line.style(palette.bad)));
        for more in check.note.iter().chain(&check.advice) {
            lines.extend(wrapped("", &safe(more), columns));
        }
    }
    for (state, word, style) in
        [(CheckState::Passed, "passed", palette.good), (CheckState::Skipped, "not yet", palette.faint)]
    {
        for check in summary.verdict.checks.iter().filter(|check| check.state == state) {
            let text = format!("{}: {}", check.name, safe(&check.what));
            lines.extend(wrapped(word, &text, columns).map(|line| line.style(style)));
        }
    }
    lines
}

/// `text` behind `label` in lines that end between words; a word longer than a line is cut.
fn wrapped(label: &str, text: &str, columns: usize) -> impl Iterator<Item = Line<'static>> + use<> {
    let room = columns.saturating_sub(STATE);
    let mut lines = vec![String::new()];
    for word in words(text) {
        let line = lines.last_mut().expect("there is a line");
        let length = line.chars().count();
        match length {
            0 => line.push_str(&cut(word, room)),
            _ if length + 1 + word.chars().count() <= room => *line += &format!(" {word}"),
            _ => lines.push(cut(word, room)),
        }
    }
    let label = label.to_owned();
    lines.into_iter().enumerate().map(move |(at, line)| {
        Line::raw(format!("{:<STATE$}{line}", if at == 0 { label.as_str() } else { "" }))
    })
}

fn cells(requests: u64, errors: Option<f64>, response: Option<&TimingSummary>) -> [String; 4] {
    let quantile = |quantile| time_or_dash(response.and_then(|times| times.quantile_ns(quantile)));
    [count(requests), percent(errors.unwrap_or(0.0)), quantile(Quantile::P50), quantile(Quantile::P99)]
}

fn head(name: &str, columns: &[&str], palette: Palette) -> Line<'static> {
    let columns: Vec<String> = columns.iter().map(|&name| name.to_owned()).collect();
    row(name, &columns).style(palette.faint)
}

fn row(name: &str, cells: &[String]) -> Line<'static> {
    let name = cut(&safe(name), NAME - 1);
    let cells: String = cells.iter().map(|cell| format!("{cell:>NUMBER$}")).collect();
    Line::raw(format!("{name:<NAME$}{cells}"))
}
