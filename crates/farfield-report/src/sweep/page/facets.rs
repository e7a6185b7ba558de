//! The charts of a sweep: each metric over one factor, with a line for each value of a second, and a chart
//! for each combination of the others' values.

use super::super::names::ShortNames;
use crate::chart::{Axis, Chart, ChartPoint, Mark, Series, Spacing, escaped};
use farfield_base::{Duration, Rate, Share};
use farfield_experiment::sweep::{Factor, Layout, PointReport, Setting, SweepReport};
use std::fmt::Write;

/// Metrics that are drawn.
const DRAWN: [(&str, &str, f64); 4] = [
    ("rate", "replies/s", 1.0),
    ("p50", "p50, ms", 1e6),
    ("p99", "p99, ms", 1e6),
    ("errors", "errors, %", 0.01),
];
/// Charts of a metric at most.
const FACETS_MAX: usize = 12;

/// A level of the factor along the x axis: its number, and its name where it has none of its own.
struct AxisLevels {
    label: String,
    numbers: Vec<f64>,
}

/// Draws the charts of a full design.
pub fn charts(page: &mut String, report: &SweepReport, names: &ShortNames) {
    let Some((across, lines, others)) = roles(report) else { return };
    page.push_str("<h2>Charts</h2>\n");
    let axis = AxisLevels::of(across, names);
    let facets = combinations(&others);
    page.push_str("<div class=\"charts\">\n");
    for (metric, label, unit) in DRAWN.into_iter().filter(|(metric, ..)| !is_zero(report, metric)) {
        for facet in facets.iter().take(FACETS_MAX) {
            let title = match facet.is_empty() {
                true => metric.to_owned(),
                false => format!("{metric}, {}", super::in_settings(facet, names)),
            };
            let series =
                series(report, names, [across, lines.unwrap_or(across)], lines.is_some(), &axis, |point| {
                    facet.iter().all(|setting| point.settings.contains(setting)).then_some((metric, unit))
                });
            let y = Axis { label: label.to_owned(), spacing: Spacing::FromZero };
            let chart = Chart::new(title, Axis::linear(axis.label.clone()), y, series);
            let _ = writeln!(page, "<div>{}</div>", chart.html());
        }
    }
    page.push_str("</div>\n");
    if facets.len() > FACETS_MAX {
        let _ = writeln!(
            page,
            "<p>{} of {} combinations of {} are drawn.</p>",
            FACETS_MAX,
            facets.len(),
            keys(&others)
        );
    }
}

/// True if a metric is 0 at every point, which needs no chart.
fn is_zero(report: &SweepReport, metric: &str) -> bool {
    let means = report.points.iter().filter_map(|point| point.estimate(metric)?.mean);
    means.into_iter().all(|mean| mean == 0.0)
}

fn keys(factors: &[&Factor]) -> String {
    escaped(&factors.iter().map(|factor| factor.key.as_str()).collect::<Vec<_>>().join(" and "))
}

/// The factor along the axis: the one with the most numbers, else the most values; the one with a line for
/// each value, and the others.
fn roles(report: &SweepReport) -> Option<(&Factor, Option<&Factor>, Vec<&Factor>)> {
    if report.layout != Layout::Full {
        return None;
    }
    let mut factors: Vec<&Factor> = report.factors.iter().collect();
    factors.sort_by_key(|factor| std::cmp::Reverse((numbers(&factor.levels).is_some(), factor.levels.len())));
    let mut factors = factors.into_iter();
    let across = factors.next()?;
    let lines = factors.next();
    Some((across, lines, factors.collect()))
}

/// All combinations of the values of these factors.
fn combinations(factors: &[&Factor]) -> Vec<Vec<Setting>> {
    factors.iter().fold(vec![Vec::new()], |facets, factor| {
        let longer = |facet: Vec<Setting>| {
            factor.levels.iter().map(move |value| {
                let own = Setting { key: factor.key.clone(), value: value.clone() };
                facet.iter().cloned().chain([own]).collect()
            })
        };
        facets.into_iter().flat_map(longer).collect()
    })
}

fn series<'a>(
    report: &'a SweepReport,
    names: &ShortNames,
    [across, lines]: [&Factor; 2],
    has_lines: bool,
    axis: &AxisLevels,
    drawn: impl Fn(&PointReport) -> Option<(&'a str, f64)>,
) -> Vec<Series> {
    let of_line = |value: Option<&String>| {
        let dots = report.points.iter().filter_map(|point| {
            let (metric, unit) = drawn(point)?;
            let has = |key: &str, value: &str| {
                point.settings.iter().any(|own| own.key == key && own.value == value)
            };
            if !value.is_none_or(|value| has(&lines.key, value)) {
                return None;
            }
            let level = across.levels.iter().position(|value| has(&across.key, value))?;
            let estimate = point.estimate(metric)?;
            let mean = estimate.mean?;
            let half_width = estimate.interval.map(|[low, high]| (high - low) / 2.0 / unit);
            let is_doubtful = point.runs < 2;
            Some(ChartPoint {
                half_width,
                is_doubtful,
                ..ChartPoint::from((axis.numbers[level], mean / unit))
            })
        });
        let name = value.map_or("all runs".to_owned(), |value| {
            let own = Setting { key: lines.key.clone(), value: value.clone() };
            super::in_settings(&[own], names)
        });
        let mut points: Vec<ChartPoint> = dots.collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Series { name, mark: Mark::Marked, points }
    };
    match has_lines {
        true => lines.levels.iter().map(|value| of_line(Some(value))).collect(),
        false => vec![of_line(None)],
    }
}

impl AxisLevels {
    fn of(factor: &Factor, names: &ShortNames) -> AxisLevels {
        let name = names.key(&factor.key);
        match numbers(&factor.levels) {
            Some((numbers, unit)) => AxisLevels { label: format!("{name}{unit}"), numbers },
            None => {
                let places: Vec<String> = factor
                    .levels
                    .iter()
                    .enumerate()
                    .map(|(at, value)| {
                        let own = Setting { key: factor.key.clone(), value: value.clone() };
                        format!("{}: {}", at + 1, names.value(&own))
                    })
                    .collect();
                let numbers = (1..=factor.levels.len()).map(|place| place as f64).collect();
                AxisLevels { label: format!("{name} ({})", places.join(", ")), numbers }
            }
        }
    }
}

/// Values as numbers with their unit, if they all are times, rates, shares or numbers.
pub fn numbers(values: &[String]) -> Option<(Vec<f64>, &'static str)> {
    let all = |read: &dyn Fn(&str) -> Option<f64>| -> Option<Vec<f64>> {
        values.iter().map(|value| read(value.trim_matches(['"', '\'']))).collect()
    };
    let number = |value: &str| value.parse::<f64>().ok().filter(|number| number.is_finite());
    let time = |value: &str| value.parse::<Duration>().ok().map(|time| time.as_ns() as f64 / 1e6);
    let rate = |value: &str| value.parse::<Rate>().ok().map(Rate::as_per_second);
    let share = |value: &str| value.parse::<Share>().ok().map(|share| share.as_f64() * 100.0);
    None.or_else(|| all(&number).map(|numbers| (numbers, "")))
        .or_else(|| all(&time).map(|numbers| (numbers, ", ms")))
        .or_else(|| all(&share).map(|numbers| (numbers, ", %")))
        .or_else(|| all(&rate).map(|numbers| (numbers, ", 1/s")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_numbers_where_all_of_them_are() {
        let of = |text: &str| numbers(&text.parse::<Factor>().expect("a factor").levels);
        assert_eq!(of("a=0ms,50ms,1s"), Some((vec![0.0, 50.0, 1000.0], ", ms")));
        assert_eq!(of("a=1,20"), Some((vec![1.0, 20.0], "")));
        assert_eq!(of("a=1%,5%"), Some((vec![1.0, 5.0], ", %")));
        assert_eq!(of("a=100/s,200/s"), Some((vec![100.0, 200.0], ", 1/s")));
        assert_eq!(of("a=50ms,nginx"), None);
    }
}
