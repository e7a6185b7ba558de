//! The live view as text on a screen of any size: headline figures, and below them what a key has chosen.
//!
//! Words and not colours carry the meaning, so that `NO_COLOR` loses nothing. Names of strangers pass
//! `printable`, as everywhere.

mod charts;
mod headline;
mod tables;

use crate::live::figures::Phase;
use crate::live::keys::Tab;
use crate::live::view::View;
use farfield_base::{Instant, printable};
use farfield_measure::verdict::{Check, CheckState};
use farfield_report::figures::time;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Gauge, Paragraph};

/// Lines of the headline figures.
const HEADLINE: u16 = 8;

/// The colours of the view, which colour-blind people distinguish too; default ones without colour.
#[derive(Debug, Clone, Copy)]
pub struct Palette {
    pub first: Style,
    pub second: Style,
    pub good: Style,
    pub bad: Style,
    pub faint: Style,
    pub strong: Style,
}

impl Palette {
    fn of(colour: bool) -> Palette {
        let with = |colours: Color| if colour { Style::new().fg(colours) } else { Style::new() };
        Palette {
            first: with(Color::Cyan),
            second: with(Color::Yellow),
            good: with(Color::Green),
            bad: with(Color::Red).add_modifier(Modifier::BOLD),
            faint: Style::new().add_modifier(Modifier::DIM),
            strong: Style::new().add_modifier(Modifier::BOLD),
        }
    }
}

/// Draws the view as of `at` of its clock.
pub fn draw(frame: &mut Frame<'_>, view: &View, at: Instant) {
    let palette = Palette::of(view.colour);
    let rows = [
        Constraint::Length(2),
        Constraint::Length(1),
        Constraint::Length(HEADLINE),
        Constraint::Min(0),
        Constraint::Length(1),
        Constraint::Length(1),
    ];
    let [title, phase, headline, body, verdict, keys] = Layout::vertical(rows).areas(frame.area());
    frame.render_widget(Paragraph::new(title_lines(view, palette, usize::from(title.width))), title);
    draw_phase(frame, phase, view, at, palette);
    headline::draw(frame, headline, view, palette);
    match view.tab {
        Tab::Charts => charts::draw(frame, body, view, palette),
        Tab::Tables => scrolled(frame, body, tables::outcomes(view, palette), view),
        Tab::Verdict => {
            scrolled(frame, body, tables::verdict(view, palette, usize::from(body.width)), view);
        }
    }
    frame.render_widget(Paragraph::new(verdict_line(view, palette, usize::from(verdict.width))), verdict);
    frame.render_widget(Paragraph::new(keys_line(view, palette)), keys);
}

/// The text of a stranger, without what could move the cursor.
fn safe(text: &str) -> String {
    printable(text, &[]).into_owned()
}

/// Cuts `text` to what `columns` have room for; where that is not all, it ends in an ellipsis.
fn cut(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    let kept: String = text.chars().take(columns.saturating_sub(1)).collect();
    if columns > 0 { kept + "…" } else { kept }
}

/// The first of `texts`, from long to short, that fits into `columns`; the last one cut if none does.
fn fitting<const N: usize>(texts: [String; N], columns: usize) -> String {
    let shortest = texts.last().map(|text| cut(text, columns)).unwrap_or_default();
    texts.into_iter().find(|text| text.chars().count() <= columns).unwrap_or(shortest)
}

fn title_lines(view: &View, palette: Palette, columns: usize) -> Vec<Line<'static>> {
    const NAME: &str = "farfield  ";
    let target = cut(&safe(&view.facts.target), columns.saturating_sub(NAME.len()));
    let load = format!("{} · {}", safe(&view.facts.load), view.facts.plane);
    vec![
        Line::from(vec![Span::styled(NAME, palette.faint), Span::styled(target, palette.strong)]),
        Line::styled(cut(&load, columns), palette.faint),
    ]
}

fn draw_phase(frame: &mut Frame<'_>, area: Rect, view: &View, at: Instant, palette: Palette) {
    let now = view.now(at);
    let seconds = |left: farfield_base::Duration| format!("{:.0} s left", left.as_secs_f64().ceil());
    let words = match view.facts.phase(now) {
        _ if view.ending => "ending: what was measured is kept".to_owned(),
        _ if view.paused => "display paused; the run goes on".to_owned(),
        Phase::WarmUp(left) => format!("warming up, {}", seconds(left)),
        Phase::Measuring(left) => format!("measuring, {}", seconds(left)),
        Phase::Counting => "measuring, to the last request".to_owned(),
        Phase::CoolDown(left) => format!("cooling down, {}", seconds(left)),
        Phase::Draining => "draining: open requests may end".to_owned(),
    };
    let words = match view.facts.changed(now) {
        Some(changed) => cut(&format!("{words} · {}", safe(changed)), usize::from(area.width)),
        None => words,
    };
    let gauge = Gauge::default().ratio(view.facts.passed(now)).label(words).gauge_style(palette.first);
    frame.render_widget(gauge, area);
}

/// The checks that failed so far. That a run in progress is not complete is no failure.
fn failed(view: &View) -> Vec<&Check> {
    let checks = view.figures.summary.iter().flat_map(|summary| &summary.verdict.checks);
    checks.filter(|check| check.state == CheckState::Failed && check.name != "completed").collect()
}

fn verdict_line(view: &View, palette: Palette, columns: usize) -> Line<'static> {
    let Some(summary) = &view.figures.summary else {
        return Line::styled("verdict  no figures yet", palette.faint);
    };
    if summary.steady.requests == 0 {
        return Line::styled("verdict  nothing is measured yet", palette.faint);
    }
    let failed = failed(view);
    if failed.is_empty() {
        return Line::from(vec![
            Span::styled("verdict  ", palette.faint),
            Span::styled("no check has failed", palette.good),
            Span::styled(" (most are made at the end)", palette.faint),
        ]);
    }
    let names: Vec<&str> = failed.iter().map(|check| check.name.as_str()).collect();
    Line::from(vec![
        Span::styled("verdict  ", palette.faint),
        Span::styled(
            cut(&format!("INVALID so far: {}", safe(&names.join(", "))), columns.saturating_sub(9)),
            palette.bad,
        ),
    ])
}

fn keys_line(view: &View, palette: Palette) -> Line<'static> {
    let mut spans = Vec::new();
    for (number, tab) in Tab::ALL.into_iter().enumerate() {
        let style = if tab == view.tab { palette.strong } else { palette.faint };
        // Brackets, since the terminal may not show bold.
        let name = if tab == view.tab {
            format!("[{} {}] ", number + 1, tab.name())
        } else {
            format!(" {} {}  ", number + 1, tab.name())
        };
        spans.push(Span::styled(name, style));
    }
    let pause = if view.paused { "p goes on" } else { "p pauses the display" };
    spans.push(Span::styled(format!(" {pause} · q ends the run"), palette.faint));
    Line::from(spans)
}

/// Draws lines from the one on that the view is scrolled to; a last line says how many are below.
fn scrolled(frame: &mut Frame<'_>, area: Rect, mut lines: Vec<Line<'static>>, view: &View) {
    let room = usize::from(area.height);
    if lines.len() > room && room > 1 {
        let skipped = usize::from(view.scrolled).min(lines.len() - room + 1);
        let below = lines.len() - skipped - (room - 1);
        lines = lines.into_iter().skip(skipped).take(room - 1).collect();
        if below > 0 {
            lines.push(Line::raw(format!("… {below} lines below (arrow keys)")));
        }
    }
    frame.render_widget(Paragraph::new(lines), area);
}

/// A time, or a dash for none.
fn time_or_dash(ns: Option<u64>) -> String {
    ns.map_or("-".to_owned(), time)
}

#[cfg(test)]
mod tests;
