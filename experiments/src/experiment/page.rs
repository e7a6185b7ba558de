//! The page of an experiment: its question, its claims as judged, and a row for each run.

use super::column::{Column, Row};
use super::drive::Plane;
use super::plan::{ChartPlan, Experiment, Length, LevelTable, ScaleKey};
use crate::page::{Claim, Page, Table};
use farfield_report::chart::{Axis, Chart, Level, Look, Point, Series, Spacing};

/// Where the numbers come from.
#[derive(Debug, Clone)]
pub struct Provenance {
    /// The extent of what was run.
    pub length: Length,
    /// The machine.
    pub machine: String,
    /// The most runs of a point; it is run again while it is invalid.
    pub tries_max: u32,
    /// A further sentence for the reader.
    pub note: Option<String>,
}

/// The whole page.
pub fn page(experiment: &Experiment, rows: &[Row], claims: Vec<Claim>) -> Page {
    let plan = &experiment.plan;
    Page {
        title: plan.title.clone(),
        source: plan.source.clone(),
        saw: plan.saw.clone(),
        here: plan.here.clone(),
        claims,
        noticed: doubtful(rows),
        tables: vec![table(experiment, rows)],
        charts: plan.charts().iter().map(|chart| drawn(experiment, chart, rows)).collect(),
    }
}

/// A table of the measurements, a row for each run.
fn table(experiment: &Experiment, rows: &[Row]) -> Table {
    let plan = &experiment.plan;
    let columns: Vec<Column> = [Column::Value].iter().chain(&plan.show).copied().collect();
    let heads = columns.iter().map(|column| column.head(&plan.label));
    let heads = ["curve".to_owned()].into_iter().chain(heads).chain(["verdict".to_owned()]).collect();
    let mut table = Table { says: String::new(), heads, rows: Vec::new(), ends_in_text: true };
    for row in rows {
        let cell =
            |column: &Column| column.of(row).map_or_else(|| "–".to_owned(), |number| column.written(number));
        let curve = plan.curves[row.curve].name.clone();
        table.push([curve].into_iter().chain(columns.iter().map(cell)).chain([verdict(row)]));
    }
    table
}

/// The verdict of a run on itself.
fn verdict(row: &Row) -> String {
    let tries = match row.tries {
        1 => String::new(),
        tries => format!(", {tries} tries"),
    };
    if row.is_valid() {
        format!("valid{tries}")
    } else {
        format!("invalid: {}{tries}", row.doubts.join(", "))
    }
}

/// A chart of the rows; the points of invalid runs are doubtful.
fn drawn(experiment: &Experiment, chart: &ChartPlan, rows: &[Row]) -> Chart {
    let plan = &experiment.plan;
    let (x, y) = (chart.x, chart.y);
    let point = |row: &Row| Some(Point { x: x.of(row)?, y: y.of(row)?, is_doubtful: !row.is_valid() });
    let series = |curve: usize| Series {
        name: plan.curves[curve].name.clone(),
        look: Look::Marked,
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
    let invalid: Vec<&Row> = rows.iter().filter(|row| !row.is_valid()).collect();
    if invalid.is_empty() {
        return String::new();
    }
    let mut reasons: Vec<&str> = invalid.iter().flat_map(|row| &row.doubts).map(String::as_str).collect();
    reasons.sort_unstable();
    reasons.dedup();
    format!(
        "{} of {} runs call themselves invalid ({}); their points are hollow in the figure, and their rows below \
         say so. Claims were judged by all rows alike.",
        invalid.len(),
        rows.len(),
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
    let tries = match provenance.tries_max {
        1 => "each point was run once".to_owned(),
        most => format!("a run that called itself invalid was run again, up to {most} runs in all"),
    };
    let note = provenance.note.as_ref().map(|note| format!(" {note}")).unwrap_or_default();
    let ways: Vec<String> = experiment.planes().into_iter().map(|plane| way(plane, provenance)).collect();
    format!("{} This is {length}; {tries}.{note}", ways.join(" "))
}

/// How the runs on a plane are made.
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
            "Computed in virtual time, before a model of a server: the same numbers come out on any \
                             machine, however busy it is."
                .to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::column::tests::row;
    use crate::experiment::plan::tests::TEXT;
    use crate::page::Method;

    fn rows() -> Vec<Row> {
        let late = Row { doubts: vec!["send-lateness".to_owned()], tries: 2, ..row(1, 4, 200.0, 99.5) };
        vec![row(0, 1, 50.5, 50.0), late]
    }

    #[test]
    fn each_run_is_a_row_with_its_verdict() {
        let experiment = Experiment::parse("e", TEXT).unwrap();
        let expected = "| curve | users | attempts, 1/s | completed, 1/s | verdict |\n\
                        | --- | ---: | ---: | ---: | --- |\n\
                        | plain | 1 | 50.5 | 50.0 | valid |\n\
                        | other | 4 | 200.0 | 99.5 | invalid: send-lateness, 2 tries |\n";
        assert_eq!(table(&experiment, &rows()).markdown(), expected);
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
        assert_eq!(chart.series[0].points, [Point::from((1.0, 50.5))]);
        assert_eq!(chart.series[1].points, [Point { is_doubtful: true, ..Point::from((4.0, 200.0)) }]);
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
            tries_max: 2,
            note: Some("It was busy.".to_owned()),
        };
        let origin = origin_of(&experiment, &provenance);
        let page = page(&experiment, &rows(), claims).markdown("e", Method::Experiment, &origin);
        for part in [
            "# Title\n\nPaper, figure 1. ",
            "![attempts, 1/s against users](chart.svg)",
            "## What the paper saw\n\nA line.\n",
            "| attempts are what was asked for | off by +1.0 % at worst | holds, by 1 invalid of 2 runs |",
            "\n\n1 of 2 runs call themselves invalid (send-lateness);",
            "## How it was done\n\nAnother line.\n\nMeasured over loopback on a machine: the server",
            "This is the quick form",
            "up to 2 runs in all. It was busy.\n",
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
