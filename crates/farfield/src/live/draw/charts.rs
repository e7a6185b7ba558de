//! Rates and response times over the seconds of the run, with a line where the network changes.
//!
//! A chart has fewer columns than a long run has seconds. Several seconds of a column show their largest
//! value: a mean would hide what a reader looks for.

use super::Palette;
use crate::live::view::View;
use farfield_measure::series::SeriesRow;
use farfield_report::figures::{rate, time};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Axis, Block, Chart, Dataset, GraphType, Paragraph};

/// Width below which the second chart is below the first.
const BESIDE: u16 = 72;
/// Columns and rows below which a chart shows nothing.
const LEAST: (u16, u16) = (24, 5);

/// A line of a chart: its name, its look, and the value of a second.
struct ChartLine {
    name: &'static str,
    style: Style,
    of: fn(&SeriesRow) -> Option<u64>,
}

/// Draws both charts.
pub fn draw(frame: &mut Frame<'_>, area: Rect, view: &View, palette: Palette) {
    let halves = Layout::default().constraints([Constraint::Percentage(50), Constraint::Percentage(50)]);
    let halves =
        if area.width >= BESIDE { halves.direction(ratatui::layout::Direction::Horizontal) } else { halves };
    let [left, right] = halves.areas(area);
    let rows: Vec<&SeriesRow> = view.shown().collect();
    let rates = [
        ChartLine { name: "offered", style: palette.second, of: |row| Some(row.offered) },
        ChartLine { name: "completed", style: palette.first, of: |row| Some(row.completed) },
    ];
    let responses = [
        ChartLine { name: "p99", style: palette.second, of: |row| row.response_p99_ns },
        ChartLine { name: "median", style: palette.first, of: |row| row.response_p50_ns },
    ];
    let marks: Vec<f64> = view.facts.changes.iter().map(|(at, _)| at.as_secs_f64()).collect();
    chart(frame, left, "requests", (&rows, &marks), &rates, rate, palette);
    chart(frame, right, "response", (&rows, &marks), &responses, |value| time(value as u64), palette);
}

fn chart(
    frame: &mut Frame<'_>,
    area: Rect,
    name: &str,
    (rows, marks): (&[&SeriesRow], &[f64]),
    curves: &[ChartLine; 2],
    label: impl Fn(f64) -> String,
    palette: Palette,
) {
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
        frame.render_widget(
            Paragraph::new(Line::styled(format!("{name}: no second is over yet"), palette.faint)),
            area,
        );
        return;
    };
    if area.width < LEAST.0 || area.height < LEAST.1 {
        return;
    }
    // Two dots of Braille a column.
    let points = curves.each_ref().map(|curve| thinned(rows, curve.of, usize::from(area.width) * 2));
    let top = points.iter().flatten().map(|point| point.1).fold(1.0, f64::max) * 1.05;
    let title = Line::from(vec![
        Span::raw(format!("{name}  ")),
        Span::styled(format!("▪ {}  ", curves[0].name), curves[0].style),
        Span::styled(format!("▪ {}", curves[1].name), curves[1].style),
    ]);
    // A chart of one second has a width, too.
    let span = [first.second as f64, (last.second as f64).max(first.second as f64 + 1.0)];
    let marks = marks.iter().filter(|at| (span[0]..=span[1]).contains(at));
    let marks: Vec<[(f64, f64); 2]> = marks.map(|at| [(*at, 0.0), (*at, top)]).collect();
    let mark = |line| {
        Dataset::default().marker(Marker::Braille).graph_type(GraphType::Line).style(palette.faint).data(line)
    };
    let datasets = curves.iter().zip(&points).map(|(curve, points)| {
        Dataset::default().marker(Marker::Braille).graph_type(GraphType::Line).style(curve.style).data(points)
    });
    let seconds = |at: f64| Span::styled(format!("{at:.0} s"), palette.faint);
    let values = |at: f64| Span::styled(label(at), palette.faint);
    let datasets = marks.iter().map(|line| mark(&line[..])).chain(datasets);
    let chart = Chart::new(datasets.collect())
        .block(Block::new().title(title))
        .legend_position(None)
        .x_axis(
            Axis::default().bounds(span).labels([seconds(span[0]), seconds(span[1])]).style(palette.faint),
        )
        .y_axis(Axis::default().bounds([0.0, top]).labels([values(0.0), values(top)]).style(palette.faint));
    frame.render_widget(chart, area);
}

/// At most `most` points of a curve: of several seconds the largest value, at its own second.
fn thinned(rows: &[&SeriesRow], of: fn(&SeriesRow) -> Option<u64>, most: usize) -> Vec<(f64, f64)> {
    let each = rows.len().div_ceil(most.max(1)).max(1);
    let largest = |rows: &[&SeriesRow]| {
        let values = rows.iter().filter_map(|row| Some((row.second as f64, of(row)? as f64)));
        values.max_by(|a, b| a.1.total_cmp(&b.1))
    };
    rows.chunks(each).filter_map(largest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_of_one_second_survives_thinning() {
        let mut rows: Vec<SeriesRow> =
            (0..1000).map(|second| SeriesRow { second, offered: 10, ..SeriesRow::default() }).collect();
        rows[777].offered = 5000;
        let rows: Vec<&SeriesRow> = rows.iter().collect();
        let points = thinned(&rows, |row| Some(row.offered), 40);
        assert_eq!(points.len(), 40);
        assert!(points.contains(&(777.0, 5000.0)));
    }

    #[test]
    fn seconds_without_a_value_have_no_point() {
        let rows: Vec<SeriesRow> =
            (0..4).map(|second| SeriesRow { second, ..SeriesRow::default() }).collect();
        let rows: Vec<&SeriesRow> = rows.iter().collect();
        assert!(thinned(&rows, |row| row.response_p99_ns, 40).is_empty());
    }
}
