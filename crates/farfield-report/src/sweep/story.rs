//! The words of a question beside its runs: where it comes from, what was seen there, how it is asked here,
//! and which tables and charts answer it.

use super::names::ShortNames;
use super::page::facets::numbers;
use crate::chart::{Axis, Chart, ChartPoint, Mark, Series, Spacing};
use farfield_experiment::sweep::{PointReport, Setting, SweepReport, Unit};

/// The texts, tables and charts of a question.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Story {
    /// The command that asks the question again, such as `farfield experiment wagon/figure-15`.
    pub command: String,
    /// The source of the question: a paper and a figure.
    pub source: String,
    /// The observations there, in paragraphs.
    pub saw: String,
    /// The question as it is asked here, in paragraphs.
    pub here: String,
    /// Other observations, in paragraphs.
    pub noticed: String,
    /// The origin of the numbers, in a paragraph.
    pub origin: String,
    /// The tables; one of all columns of the question if there is none.
    pub tables: Vec<TablePlan>,
    /// The charts.
    pub charts: Vec<ChartPlan>,
}

/// A table with a row for each point.
#[derive(Debug, Clone, PartialEq)]
pub struct TablePlan {
    /// A sentence above it; may be empty.
    pub says: String,
    /// The table's columns, by name.
    pub columns: Vec<String>,
}

/// A chart.
#[derive(Debug, Clone, PartialEq)]
pub struct ChartPlan {
    /// The chart's heading; made from its axes if absent.
    pub title: Option<String>,
    /// The key to the right.
    pub x: String,
    /// The name of the key on its axis.
    pub label: Option<String>,
    /// The column upwards, by name.
    pub y: String,
    /// The key with a line for each of its values; one line of all points if absent.
    pub lines: Option<String>,
    /// The values of that key which are drawn; all if empty.
    pub only: Vec<String>,
    /// The settings of all points of the chart.
    pub at: Vec<Setting>,
    /// True if the key to the right goes by doublings.
    pub is_log: bool,
}

impl Story {
    /// The charts, drawn.
    pub fn drawn(&self, report: &SweepReport) -> Vec<Chart> {
        let names = ShortNames::of_sweep(report);
        self.charts.iter().map(|plan| plan.drawn(report, &names)).collect()
    }

    /// The heading of what was seen there. Questions that are built in are of papers, and their command names
    /// them in place of a file.
    pub(super) fn heading_of_saw(&self) -> &'static str {
        if self.command.contains(".toml") { "What the source saw" } else { "What the paper saw" }
    }
}

impl ChartPlan {
    fn drawn(&self, report: &SweepReport, names: &ShortNames) -> Chart {
        let points: Vec<&PointReport> = report.points.iter().filter(|point| self.has(point)).collect();
        let across = values(points.iter().copied(), &self.x);
        let (places, unit) = match numbers(&across) {
            Some((places, ", ms")) if places.iter().all(|place| *place == 0.0 || *place >= 1e3) => {
                (places.iter().map(|place| place / 1e3).collect(), ", s")
            }
            Some((places, unit)) => (places, unit),
            None => ((1..=across.len()).map(|place| place as f64).collect(), ""),
        };
        let x = format!("{}{unit}", self.label.as_deref().unwrap_or_else(|| names.key(&self.x)));
        let column = report.column(&self.y);
        let means = points.iter().filter_map(|point| point.estimate(&self.y)?.mean);
        let (per, unit) = scaled(report.unit(&self.y), means.fold(0.0, f64::max));
        let y = format!("{}{unit}", column.map_or(self.y.as_str(), |column| &column.head));
        let dot = |point: &PointReport| {
            let place = across.iter().position(|value| Some(value.as_str()) == value_of(point, &self.x))?;
            let estimate = point.estimate(&self.y)?;
            let half_width = estimate.interval.map(|[low, high]| (high - low) / 2.0 / per);
            let place = ChartPoint::from((places[place], estimate.mean? / per));
            Some(ChartPoint { half_width, is_doubtful: point.runs < 2, ..place })
        };
        let line = |name: String, is_of: &dyn Fn(&PointReport) -> bool| {
            let own = points.iter().filter(|point| is_of(point));
            let mut points: Vec<ChartPoint> = own.filter_map(|point| dot(point)).collect();
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            Series { name, mark: Mark::Marked, points }
        };
        let series = match &self.lines {
            None => vec![line("all runs".to_owned(), &|_| true)],
            Some(key) => {
                let all = values(points.iter().copied(), key);
                let shown = all.into_iter().filter(|value| self.only.is_empty() || self.only.contains(value));
                shown
                    .map(|value| line(value.clone(), &|point| value_of(point, key) == Some(&value)))
                    .collect()
            }
        };
        let spacing = if self.is_log { Spacing::Doublings } else { Spacing::FromZero };
        let title = self.title.clone().unwrap_or_else(|| format!("{y} against {x}"));
        let [x, y] = [(x, spacing), (y, Spacing::FromZero)].map(|(label, spacing)| Axis { label, spacing });
        Chart::new(title, x, y, series)
    }

    /// True if a point is one of the chart's.
    fn has(&self, point: &PointReport) -> bool {
        self.at.iter().all(|setting| point.settings.contains(setting))
    }
}

/// The values that points have of a key, each once.
fn values<'a>(points: impl Iterator<Item = &'a PointReport>, key: &str) -> Vec<String> {
    let mut values: Vec<String> = Vec::new();
    for value in points.filter_map(|point| value_of(point, key)) {
        if !values.iter().any(|known| known == value) {
            values.push(value.to_owned());
        }
    }
    values
}

fn value_of<'a>(point: &'a PointReport, key: &str) -> Option<&'a str> {
    point.settings.iter().find(|setting| setting.key == key).map(|setting| setting.value.as_str())
}

/// The size of a unit on an axis that reaches to `most`, and its name behind the quantity's.
fn scaled(unit: Unit, most: f64) -> (f64, &'static str) {
    match unit {
        Unit::Time if most >= 1e10 => (1e9, ", s"),
        Unit::Time => (1e6, ", ms"),
        Unit::Rate => (1.0, ", 1/s"),
        Unit::Share => (0.01, ", %"),
        Unit::Bytes => (1e3, ", kB"),
        Unit::ByteRate => (1e6, ", MB/s"),
        Unit::Number => (1.0, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_that_are_built_in_are_of_papers() {
        let heading =
            |command: &str| Story { command: command.to_owned(), ..Story::default() }.heading_of_saw();
        assert_eq!(heading("farfield experiment wagon/figure-15 --out FOLDER"), "What the paper saw");
        assert_eq!(heading("farfield experiment question.toml --out FOLDER"), "What the source saw");
    }
}
