//! Charts of what happened inside runs, beside those of one number a run: over the seconds of a run, over its
//! connections, or over the distribution of its times.
//!
//! ```toml
//! [[experiment.detail]]
//! shows = "connections-open"
//! at = 2000                                     # the value of the varied key
//! curves = ["own connections", "shared pool"]   # every curve that is run, if absent
//! ```
//!
//! A curve's line is that of the first valid run at this value; where none is valid it is that of the first
//! run, and the legend says so.

use super::column::Row;
use super::plan::{Experiment, Number, Plan};
use farfield_base::Sample;
use farfield_report::chart::{Axis, Chart, Mark, Series};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Subject of a chart of the inside of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Detail {
    /// Users who sent their first request, by second: sessions, where a user has one.
    SessionsBegun,
    /// Connections open, by second, as packets show them.
    ConnectionsOpen,
    /// Requests on each connection, in the order in which connections closed.
    RequestsInOrder,
    /// Distribution functions of times, as reported and as packets show them.
    Distribution,
    /// The server's processes, by second.
    Processes,
    /// The server's resident memory, by second.
    Memory,
    /// Connections that wait to be accepted, by second.
    AcceptQueue,
}

/// `[[experiment.detail]]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DetailPlan {
    /// Subject of the chart.
    pub shows: Detail,
    /// The value of the varied key at whose runs it looks.
    pub at: Number,
    /// The curves that it has; all that are run if absent.
    pub curves: Option<Vec<String>>,
}

/// A line of such a chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Name that distinguishes it from the curve's other lines; empty if there is one.
    pub name: &'static str,
    /// Its points.
    pub points: Vec<(f64, f64)>,
}

impl Line {
    /// A line through `points`.
    pub fn new(name: &'static str, points: impl IntoIterator<Item = (f64, f64)>) -> Line {
        Line { name, points: points.into_iter().collect() }
    }
}

impl Detail {
    /// True if the chart takes the samples of the run.
    pub fn needs_samples(self) -> bool {
        self == Detail::SessionsBegun
    }

    /// Labels of the axes, to the right and upwards.
    fn axes(self) -> [&'static str; 2] {
        match self {
            Detail::SessionsBegun => ["time, s", "sessions begun, 1/s"],
            Detail::ConnectionsOpen => ["time, s", "connections open"],
            Detail::RequestsInOrder => ["connections, in the order of closing", "requests on the connection"],
            Detail::Distribution => ["time, ms", "share of requests that took at most this"],
            Detail::Processes => ["time, s", "server processes"],
            Detail::Memory => ["time, s", "server memory, MB"],
            Detail::AcceptQueue => ["time, s", "connections that wait to be accepted"],
        }
    }

    fn mark(self) -> Mark {
        match self {
            Detail::RequestsInOrder => Mark::Dots,
            Detail::Distribution => Mark::Marked,
            _ => Mark::Line,
        }
    }

    /// The chart of `plan` by the rows of its experiment; none if no run has what it shows.
    pub fn chart(plan: &DetailPlan, experiment: &Experiment, rows: &[Row]) -> Option<Chart> {
        let [x, y] = plan.shows.axes();
        let Plan { label, unit, .. } = &experiment.plan;
        let series: Vec<Series> = (plan.curves(&experiment.plan).into_iter())
            .filter_map(|curve| rows.iter().find(|row| row.curve == curve && row.value == plan.at))
            .flat_map(|row| series(plan.shows, &experiment.plan.curves[row.curve].name, row))
            .collect();
        let x = match plan.shows {
            Detail::Distribution => Axis::logarithmic(x),
            _ => Axis::linear(x),
        };
        let unit = if label.contains(',') { "" } else { unit.as_str() };
        let title = format!("{y} at {label} {}{unit}", plan.at);
        (!series.is_empty()).then(|| Chart::new(title, x, Axis::linear(y), series))
    }
}

impl DetailPlan {
    /// The places of its curves.
    fn curves(&self, plan: &Plan) -> Vec<usize> {
        match &self.curves {
            Some(names) => names.iter().filter_map(|name| plan.curve(name)).collect(),
            None => (0..plan.curves.len()).filter(|&at| plan.curves[at].is_run()).collect(),
        }
    }

    /// True if the chart looks at the runs of this point.
    pub fn looks_at(&self, plan: &Plan, curve: usize, value: Number) -> bool {
        value == self.at && self.curves(plan).contains(&curve)
    }
}

/// The lines of a point.
fn series(shows: Detail, curve: &str, row: &Row) -> Vec<Series> {
    let valid = row.repeats.iter().find(|run| run.doubts.is_empty());
    let Some(run) = valid.or(row.repeats.first()) else { return Vec::new() };
    let doubt = if valid.is_none() { " (an invalid run)" } else { "" };
    let lines = run.lines.get(&shows).into_iter().flatten().filter(|line| !line.points.is_empty());
    let named = |line: &Line| match line.name {
        "" => format!("{curve}{doubt}"),
        name => format!("{curve}, {name}{doubt}"),
    };
    lines.map(|line| Series::new(named(line), shows.mark(), line.points.iter().copied())).collect()
}

/// Users by the second in which their first request was due.
pub fn sessions_begun(samples: &[Sample]) -> Line {
    let mut first: BTreeMap<u32, u64> = BTreeMap::new();
    for sample in samples {
        let second = sample.due.as_ns() / 1_000_000_000;
        let earliest = first.entry(sample.user).or_insert(second);
        *earliest = second.min(*earliest);
    }
    let last = samples.iter().map(|sample| sample.due.as_ns() / 1_000_000_000).max();
    let mut begun = vec![0u32; last.map_or(0, |last| last as usize + 1)];
    first.values().for_each(|&second| begun[second as usize] += 1);
    Line::new("", begun.into_iter().enumerate().map(|(second, count)| (second as f64, f64::from(count))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::column::tests::{doubted, row};
    use crate::experiment::plan::tests::TEXT;
    use farfield_base::{Instant, Outcome, PagePart, Stamp};

    #[test]
    fn a_session_begins_with_the_first_request_of_its_user() {
        let due = |user, ms: u64| {
            let due = Instant::from_ns(ms * 1_000_000);
            Sample {
                due,
                sent: Stamp::at(due),
                done: due,
                user,
                connection: 0,
                status: 200,
                outcome: Outcome::Ok,
                page: PagePart::Whole,
                ..Sample::EMPTY
            }
        };
        let line = sessions_begun(&[due(1, 2500), due(0, 100), due(1, 900), due(2, 2100), due(0, 3500)]);
        assert_eq!(line.points, [(0.0, 2.0), (1.0, 0.0), (2.0, 1.0), (3.0, 0.0)]);
        assert!(sessions_begun(&[]).points.is_empty());
    }

    #[test]
    fn a_chart_has_the_first_valid_run_of_each_curve() {
        let detail = "[[experiment.detail]]\nshows = 'connections-open'\nat = 4\n[[experiment.claim]]";
        let experiment = Experiment::parse("e", &TEXT.replace("[[experiment.claim]]", detail)).unwrap();
        let plan = &experiment.plan.details[0];
        let mut rows = [row(0, 4, 1.0, 1.0), doubted(row(1, 4, 1.0, 1.0), 3), row(1, 2, 1.0, 1.0)];
        for row in &mut rows {
            for (number, run) in row.repeats.iter_mut().enumerate() {
                run.lines.insert(Detail::ConnectionsOpen, vec![Line::new("", [(0.0, number as f64)])]);
            }
        }
        rows[0].repeats[0].doubts = vec!["late".to_owned()];
        let chart = Detail::chart(plan, &experiment, &rows).unwrap();
        let seen: Vec<(&str, f64)> =
            chart.series.iter().map(|series| (series.name.as_str(), series.points[0].y)).collect();
        assert_eq!(seen, [("plain", 1.0), ("other (an invalid run)", 0.0)]);
        assert_eq!(chart.title, "connections open at users 4");
        assert!(plan.looks_at(&experiment.plan, 1, Number::Whole(4)));
        assert!(!plan.looks_at(&experiment.plan, 1, Number::Whole(2)));
        assert_eq!(Detail::chart(plan, &experiment, &[row(0, 4, 1.0, 1.0)]), None, "no run has such a line");
    }
}
