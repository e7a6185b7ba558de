//! The page of an experiment: its question, its claims as judged, and a row for each run.

use super::column::{Column, LEVEL, Row};
use super::detail::Detail;
use super::drive::Plane;
use super::plan::{ChartPlan, Experiment, Length, LevelTable, ScaleKey};
use crate::page::{Claim, Page, Table};
use farfield_report::chart::{Axis, Chart, ChartPoint, Level, Mark, Series, Spacing};
use std::collections::BTreeSet;

/// The origin of the numbers.
#[derive(Debug, Clone)]
pub struct Provenance {
    /// The extent of what was run.
    pub length: Length,
    /// The machine.
    pub machine: String,
    /// Runs of each point.
    pub repeats: u32,
    /// The most further runs of a point, each in place of an invalid one.
    pub retries_max: u32,
    /// A further sentence for the reader.
    pub note: Option<String>,
}

/// The paragraph on where the numbers come from, of a page whose numbers were taken back.
pub const WITHDRAWN: &str = "This question has not been measured in its present form. The numbers of an earlier \
    one, of single runs, are withdrawn.";
/// That of a page which never had any.
pub const NEVER_MEASURED: &str = "This question has not been measured yet.";

/// True if a page has numbers.
pub fn is_measured(page: &str) -> bool {
    !page.contains(WITHDRAWN) && !page.contains(NEVER_MEASURED)
}

/// The paragraph of a page without numbers that replaces `earlier`, the page in its place until now.
pub fn without_numbers(earlier: Option<&str>) -> &'static str {
    match earlier {
        Some(page) if !page.contains(NEVER_MEASURED) => WITHDRAWN,
        _ => NEVER_MEASURED,
    }
}

/// The whole page; without rows, one that was not measured.
pub fn page(experiment: &Experiment, rows: &[Row], claims: Vec<Claim>) -> Page {
    let plan = &experiment.plan;
    Page {
        title: plan.title.clone(),
        source: plan.source.clone(),
        saw: plan.saw.clone(),
        here: plan.here.clone(),
        claims,
        noticed: doubtful(rows),
        tables: if rows.is_empty() { Vec::new() } else { vec![table(experiment, rows)] },
        charts: match rows {
            [] => Vec::new(),
            _ => {
                let charts = plan.charts().iter().map(|chart| drawn(experiment, chart, rows));
                let details = plan.details.iter();
                charts.chain(details.filter_map(|detail| Detail::chart(detail, experiment, rows))).collect()
            }
        },
    }
}

/// A table of the measurements, a row for each point.
fn table(experiment: &Experiment, rows: &[Row]) -> Table {
    let plan = &experiment.plan;
    let columns: Vec<Column> = [Column::Value].iter().chain(&plan.show).copied().collect();
    let heads = columns.iter().map(|column| column.head(&plan.label));
    let heads = ["curve".to_owned()].into_iter().chain(heads).chain(["runs".to_owned()]).collect();
    let mut table = Table { says: String::new(), heads, rows: Vec::new(), ends_in_text: true };
    for row in rows {
        let cell = |column: &Column| match column.estimate(row) {
            Some(estimate) => {
                let has_interval = row.is_valid() && *column != Column::Value;
                column.written(estimate.mean, has_interval.then(|| estimate.half_width(LEVEL)))
            }
            None => "–".to_owned(),
        };
        let curve = plan.curves[row.curve].name.clone();
        table.push([curve].into_iter().chain(columns.iter().map(cell)).chain([row.verdict()]));
    }
    table
}

/// A chart of the rows, with their intervals; points with too few valid runs are doubtful, and have none.
fn drawn(experiment: &Experiment, chart: &ChartPlan, rows: &[Row]) -> Chart {
    let plan = &experiment.plan;
    let (x, y) = (chart.x, chart.y);
    let point = |row: &Row| {
        let (x, y) = (x.estimate(row)?, y.estimate(row)?);
        let half_width = row.is_valid().then(|| y.half_width(LEVEL));
        Some(ChartPoint { half_width, is_doubtful: !row.is_valid(), ..ChartPoint::from((x.mean, y.mean)) })
    };
    let series = |curve: usize| Series {
        name: plan.curves[curve].name.clone(),
        mark: Mark::Marked,
        points: rows.iter().filter(|row| row.curve == curve).filter_map(point).collect(),
    };
    let spacing = match chart.scale {
        ScaleKey::Linear => Spacing::FromZero,
        ScaleKey::Log => Spacing::Doublings,
    };
    let (x, y) = (x.head(&plan.label), y.head(&plan.label));
    Chart {
        title: format!("{y} against {x}"),
        x: Axis { label: x, spacing },
        y: Axis { label: y, spacing: Spacing::FromZero },
        series: plan.curves_of(chart).into_iter().map(series).collect(),
        level: chart.level.as_ref().map(|LevelTable { name, at }| Level { name: name.clone(), at: *at }),
    }
}

/// A paragraph on runs that call themselves invalid; empty if there are none.
fn doubtful(rows: &[Row]) -> String {
    let own = || rows.iter().filter(|row| row.unknown.is_none());
    let (runs, valid) =
        (own().map(|row| row.repeats.len()).sum::<usize>(), own().map(Row::valid).sum::<usize>());
    if runs == valid {
        return String::new();
    }
    let reasons: BTreeSet<&str> = own().flat_map(Row::doubts).collect();
    let reasons: Vec<&str> = reasons.into_iter().collect();
    let hollow = rows.iter().filter(|row| !row.is_valid()).count();
    let points = match hollow {
        0 => "Every point has three valid ones all the same".to_owned(),
        hollow => format!(
            "{hollow} of {} points have fewer than three valid ones: their rows have the mean of all their runs and no \
             interval, they are hollow in the figure, and no claim on them is judged",
            rows.len()
        ),
    };
    format!(
        "{} of {runs} runs call themselves invalid ({}) and count for nothing. {points}.",
        runs - valid,
        reasons.join(", ")
    )
}

/// The paragraph on where the numbers come from.
pub fn origin_of(experiment: &Experiment, provenance: &Provenance) -> String {
    let length = match provenance.length {
        Length::Full => "the full form",
        Length::Quick => "the quick form: fewer points, shorter runs",
        Length::Smoke => "the smoke form: two points a curve for two seconds",
    };
    let Provenance { repeats, retries_max, .. } = provenance;
    let runs = format!(
        "each point was run {repeats} times, with a server started for each run and seeds of its own, in rounds over all \
         points; up to {retries_max} runs of a point that called themselves invalid were made again"
    );
    let intervals = "Behind ± stands half of the 90 % interval of the mean, by Student's t distribution; a claim is judged by \
                     the interval of the difference from its bound.";
    let note = provenance.note.as_ref().map(|note| format!(" {note}")).unwrap_or_default();
    let ways: Vec<String> = experiment.planes().into_iter().map(|plane| way(plane, provenance)).collect();
    format!("{} This is {length}; {runs}. {intervals}{note}", ways.join(" "))
}

/// A sentence on the runs of a plane.
fn way(plane: Plane, provenance: &Provenance) -> String {
    let machine = &provenance.machine;
    match plane {
        Plane::Sockets => {
            format!(
                "Measured over loopback on {machine}: the server on one processor, the generator on another."
            )
        }
        Plane::Emulated => format!(
            "Measured through the emulated network on {machine}: the server and its kernel's receive work on one processor, \
             the generator on another."
        ),
        Plane::Simulated => {
            "Computed in virtual time, before a model of a server: the same seeds give the same numbers on any \
             machine, however busy it is."
                .to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::column::tests::{doubted, row, spread_row};
    use crate::experiment::plan::tests::TEXT;
    use crate::page::Method;

    /// A valid point of 50.5 attempts a second, and one with two valid runs of three.
    fn rows() -> Vec<Row> {
        vec![spread_row(0, 1, 50.5, [49.0, 50.0, 51.0]), doubted(row(1, 4, 200.0, 99.5), 1)]
    }

    #[test]
    fn each_point_is_a_row_with_intervals() {
        let experiment = Experiment::parse("e", TEXT).unwrap();
        let expected = "| curve | users | attempts, 1/s | completed, 1/s | runs |\n\
                        | --- | ---: | ---: | ---: | --- |\n\
                        | plain | 1 | 50.5 ± 0.0 | 50.0 ± 1.7 | 3 valid |\n\
                        | other | 4 | 200.0 | 99.5 | **2 of 3 valid**: send-lateness |\n";
        assert_eq!(table(&experiment, &rows()).markdown(), expected);
    }

    #[test]
    fn a_page_that_was_not_measured_says_so() {
        let experiment = Experiment::parse("e", TEXT).unwrap();
        let claims = experiment.plan.claims.iter().map(|claim| claim.judge(&experiment.plan, &[])).collect();
        let page = page(&experiment, &[], claims);
        let written = |origin| page.markdown("e", Method::Experiment, origin);
        let never = written(without_numbers(None));
        assert!(never.contains("| attempts are what was asked for | nothing | **not judged** |"), "{never}");
        assert!(never.matches(NEVER_MEASURED).count() == 1 && !never.contains("chart"), "{never}");
        assert!(!never.contains("withdrawn") && !is_measured(&never), "{never}");
        // Nothing was taken back from a page that had nothing.
        assert_eq!(written(without_numbers(Some(&never))), never);
        let measured = written("Measured by 3 runs.");
        let withdrawn = written(without_numbers(Some(&measured)));
        assert!(is_measured(&measured) && !is_measured(&withdrawn));
        assert!(withdrawn.contains(WITHDRAWN) && !withdrawn.contains(NEVER_MEASURED), "{withdrawn}");
        assert_eq!(written(without_numbers(Some(&withdrawn))), withdrawn);
    }

    #[test]
    fn a_chart_has_the_curves_and_hollow_points_of_invalid_runs() {
        let one = "chart = { x = \"value\", y = \"attempts\", level = { name = \"capacity\", at = 100 } }";
        let two = "chart = [{ x = \"value\", y = \"attempts\" }, { x = \"value\", y = \"open\" }]";
        let charts = |text: &str| page(&Experiment::parse("e", text).unwrap(), &rows(), Vec::new()).charts;
        let titles: Vec<String> =
            charts(&TEXT.replace(one, two)).into_iter().map(|chart| chart.title).collect();
        assert_eq!(titles, ["attempts, 1/s against users", "requests open against users"]);
        assert!(Experiment::parse("e", &TEXT.replace(one, "chart = []")).is_err());
        let [chart] = charts(TEXT).try_into().unwrap();
        let names: Vec<&str> = chart.series.iter().map(|series| series.name.as_str()).collect();
        assert_eq!(names, ["plain", "other"]);
        assert_eq!(
            chart.series[0].points,
            [ChartPoint { half_width: Some(0.0), ..ChartPoint::from((1.0, 50.5)) }]
        );
        assert_eq!(
            chart.series[1].points,
            [ChartPoint { is_doubtful: true, ..ChartPoint::from((4.0, 200.0)) }]
        );
        assert_eq!(chart.level, Some(Level { name: "capacity".to_owned(), at: 100.0 }));
    }

    #[test]
    fn the_page_has_all_parts() {
        let experiment = Experiment::parse("e", TEXT).unwrap();
        let judge = |claim: &crate::experiment::criterion::Criterion| claim.judge(&experiment.plan, &rows());
        let claims = experiment.plan.claims.iter().map(judge).collect();
        let provenance = Provenance {
            length: Length::Quick,
            machine: "a machine".to_owned(),
            repeats: 3,
            retries_max: 2,
            note: Some("It was busy.".to_owned()),
        };
        let origin = origin_of(&experiment, &provenance);
        let page = page(&experiment, &rows(), claims).markdown("e", Method::Experiment, &origin);
        for part in [
            "# Title\n\nPaper, figure 1. ",
            "![attempts, 1/s against users](chart.svg)",
            "## What the paper saw\n\nA line.\n",
            "| attempts are what was asked for | off by +1.0 ± 0.0 % at worst | **not judged**: other at 4, 2 of 3 valid: send-lateness |",
            "\n\n1 of 6 runs call themselves invalid (send-lateness) and count for nothing. 1 of 2 points have fewer",
            "## How it was done\n\nAnother line.\n\nMeasured over loopback on a machine: the server",
            "This is the quick form",
            "each point was run 3 times",
            "from its bound. It was busy.\n",
            "## The numbers\n\n| curve |",
        ] {
            assert!(page.contains(part), "`{part}` is not in:\n{page}");
        }
    }

    #[test]
    fn valid_runs_need_no_excuse() {
        assert_eq!(doubtful(&[row(0, 1, 50.0, 50.0)]), "");
    }
}
