//! `cargo xtask experiment`: the papers' figures, run again.
//!
//! An experiment is a file in `experiments/`. Each point of its curves is a run of farfield against a fresh server;
//! what comes out is held against what is claimed, and kept as a page and a figure in `docs/experiments/`.

mod chart;
mod claim;
mod column;
mod curve;
mod drive;
mod page;
mod plan;
mod server;
mod site;

use crate::process;
use anyhow::{Context, Result, bail};
use claim::Finding;
use clap::Args;
use column::Row;
use drive::{Point, Stand};
use page::Provenance;
use plan::{Experiment, Length};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Where experiments lie.
const FOLDER: &str = "experiments";

/// Where their pages lie.
const PAGES: &str = "docs/experiments";

/// Runs the experiments, holds them against what they claim, and keeps their pages in docs/experiments.
#[derive(Debug, Args)]
pub struct ExperimentArgs {
    /// Which to run, by the names of their files; all if none is named.
    names: Vec<String>,
    /// Fewer and shorter runs; their pages are kept only where `--out` says.
    #[arg(long, conflicts_with = "smoke")]
    quick: bool,
    /// Two points a curve for two seconds each, to see that all works; nothing is judged or kept.
    #[arg(long)]
    smoke: bool,
    /// How often a run that calls itself invalid may be run in all.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    tries: u32,
    /// Where to keep the pages.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// A sentence that the pages end their account of the machine with, such as on what else ran there.
    #[arg(long, value_name = "SENTENCE")]
    note: Option<String>,
    /// The farfield to run; built if absent.
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

/// Runs the experiments that are named; fails if a claim does.
pub fn run(args: &ExperimentArgs) -> Result<ExitCode> {
    let experiments = named(Experiment::all(Path::new(FOLDER))?, &args.names)?;
    let farfield = match &args.program {
        Some(program) => program.clone(),
        None => build()?,
    };
    let stand = Stand::new(farfield)?;
    let length = match (args.quick, args.smoke) {
        (_, true) => Length::Smoke,
        (true, false) => Length::Quick,
        (false, false) => Length::Full,
    };
    for experiment in &experiments {
        let at = |point: &Point| format!("experiment {}, {:?}", experiment.name, point.sets);
        points(experiment, length)
            .iter()
            .try_for_each(|point| stand.check(point).with_context(|| at(point)))?;
    }
    let folder = match (&args.out, length) {
        (Some(folder), _) => Some(folder.as_path()),
        (None, Length::Full) => Some(Path::new(PAGES)),
        (None, _) => None,
    };
    let mut all_hold = true;
    for experiment in &experiments {
        let rows = measure(&stand, experiment, length, args.tries)?;
        let judge = |claim: &claim::Claim| claim.judge(&experiment.plan, &rows);
        let findings: Vec<Finding> = experiment.plan.claims.iter().map(judge).collect();
        println!("\n## {}\n\n{}", experiment.plan.title, page::table(experiment, &rows));
        if length != Length::Smoke {
            println!("{}", page::claims(experiment, &findings));
            all_hold &= findings.iter().all(|finding| finding.holds != Some(false));
        }
        if let Some(folder) = folder {
            let provenance = Provenance {
                length,
                machine: stand.machine()?,
                tries_max: args.tries,
                note: args.note.clone(),
            };
            keep(folder, experiment, &rows, &findings, &provenance)?;
        }
    }
    Ok(if all_hold { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The experiments with these names, or all.
fn named(all: Vec<Experiment>, names: &[String]) -> Result<Vec<Experiment>> {
    if names.is_empty() {
        return Ok(all);
    }
    if let Some(unknown) = names.iter().find(|name| all.iter().all(|experiment| experiment.name != **name)) {
        let known: Vec<&str> = all.iter().map(|experiment| experiment.name.as_str()).collect();
        bail!("there is no experiment `{unknown}`; there are {}", known.join(", "));
    }
    Ok(all.into_iter().filter(|experiment| names.contains(&experiment.name)).collect())
}

/// Every run of an experiment, curve by curve.
fn points(experiment: &Experiment, length: Length) -> Vec<Point> {
    let mut points = Vec::new();
    let curves = experiment.plan.curves.iter().enumerate();
    for (number, curve) in curves.filter(|(_, curve)| curve.is_run()) {
        let point = |value| {
            Some(Point {
                curve: number,
                scenario: experiment.scenario(curve, length),
                sets: experiment.plan.sets(curve, value)?,
                value,
                server: curve.server.or(experiment.plan.server),
                sends_at: curve.sends_at.clone(),
            })
        };
        points.extend(experiment.values(curve, length).into_iter().filter_map(point));
    }
    points
}

fn measure(stand: &Stand, experiment: &Experiment, length: Length, tries_max: u32) -> Result<Vec<Row>> {
    let points = points(experiment, length);
    let measure = |(number, point): (usize, &Point)| {
        let curve = &experiment.plan.curves[point.curve].name;
        let (name, label, value) = (&experiment.name, &experiment.plan.label, point.value);
        eprintln!("{name} {}/{}: {curve}, {label} {value}", number + 1, points.len());
        stand.measure(point, tries_max)
    };
    let mut rows: Vec<Row> = points.iter().enumerate().map(measure).collect::<Result<_>>()?;
    rows.extend(highest(experiment, &rows));
    rows.extend(classes(experiment, &rows));
    Ok(rows)
}

/// The rows of curves that are classes of clients in the runs of others.
fn classes(experiment: &Experiment, rows: &[Row]) -> Vec<Row> {
    let plan = &experiment.plan;
    let mut found = Vec::new();
    for (curve, of) in plan.curves.iter().enumerate().filter_map(|(at, curve)| Some((at, curve.of.as_ref()?)))
    {
        let whole = rows.iter().filter(|row| plan.curve(&of.curve) == Some(row.curve));
        let class = |row: &Row| Some(Row { curve, measured: *row.classes.get(&of.class)?, ..row.clone() });
        found.extend(whole.filter_map(class));
    }
    found
}

/// The rows of curves that are the highest of all others, at each value.
fn highest(experiment: &Experiment, rows: &[Row]) -> Vec<Row> {
    let plan = &experiment.plan;
    let y = plan.charts()[0].y;
    let higher = |a: &&Row, b: &&Row| y.of(a).unwrap_or(0.0).total_cmp(&y.of(b).unwrap_or(0.0));
    let values = rows.iter().filter(|row| row.curve == rows[0].curve).map(|row| row.value);
    let at = |value| rows.iter().filter(move |row| row.value == value).max_by(higher);
    let best: Vec<&Row> = values.filter_map(at).collect();
    let curves = (0..plan.curves.len()).filter(|&curve| plan.curves[curve].highest);
    curves.flat_map(|curve| best.iter().map(move |&row| Row { curve, ..row.clone() })).collect()
}

fn keep(
    folder: &Path,
    experiment: &Experiment,
    rows: &[Row],
    findings: &[Finding],
    provenance: &Provenance,
) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut files =
        vec![(format!("{}.md", experiment.name), page::page(experiment, rows, findings, provenance))];
    for (number, chart) in experiment.plan.charts().iter().enumerate() {
        files.push((page::figure(experiment, number), chart::chart(experiment, chart, rows)));
    }
    for (name, text) in files {
        let file = folder.join(name);
        fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        eprintln!("{}", file.display());
    }
    Ok(())
}

/// Builds farfield as users have it, and returns where it is.
fn build() -> Result<PathBuf> {
    process::run(process::cargo().args(["build", "--release", "--package", "farfield"]))?;
    Ok(process::builds()?.join("release/farfield"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Experiment> {
        Experiment::all(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../experiments"))).unwrap()
    }

    #[test]
    fn names_choose_and_unknown_ones_are_refused() {
        let names = |wanted: &[&str]| {
            let wanted: Vec<String> = wanted.iter().map(|&name| name.to_owned()).collect();
            named(all(), &wanted).map(|found| found.iter().map(|one| one.name.clone()).collect::<Vec<_>>())
        };
        assert_eq!(
            names(&["s-client-figure-7", "s-client-figure-5"]).unwrap(),
            ["s-client-figure-5", "s-client-figure-7"]
        );
        assert_eq!(names(&[]).unwrap().len(), all().len());
        let error = names(&["figure-1"]).unwrap_err().to_string();
        assert!(error.contains("`figure-1`") && error.contains("s-client-figure-5"), "{error}");
    }

    #[test]
    fn a_curve_may_be_the_highest_of_all() {
        let text = plan::tests::TEXT.replace(
            "[[experiment.claim]]",
            "[[experiment.curve]]\nname = 'capacity'\nhighest = true\n[[experiment.claim]]",
        );
        let experiment = Experiment::parse("e", &text).unwrap();
        assert!(points(&experiment, Length::Full).iter().all(|point| point.curve < 2));
        let row = column::tests::row;
        let rows = [row(0, 1, 50.0, 1.0), row(0, 2, 70.0, 2.0), row(1, 1, 60.0, 3.0), row(1, 2, 65.0, 4.0)];
        let expected = [row(2, 1, 60.0, 3.0), row(2, 2, 70.0, 2.0)];
        assert_eq!(highest(&experiment, &rows), expected);
    }

    #[test]
    fn a_curve_may_be_a_class_of_another() {
        let text = plan::tests::TEXT.replace(
            "[[experiment.claim]]",
            "[[experiment.curve]]\nname = 'modems'\nof = { curve = 'other', class = 'modem' }\n[[experiment.claim]]",
        );
        let experiment = Experiment::parse("e", &text).unwrap();
        assert!(points(&experiment, Length::Full).iter().all(|point| point.curve < 2));
        let row = column::tests::row;
        let modem = [("modem".to_owned(), row(0, 1, 3.0, 2.0).measured)];
        let with = Row { classes: modem.into(), ..row(1, 2, 60.0, 3.0) };
        let found = classes(&experiment, &[row(0, 1, 50.0, 1.0), row(1, 1, 60.0, 3.0), with.clone()]);
        assert_eq!(found, [Row { curve: 2, measured: row(0, 1, 3.0, 2.0).measured, ..with }]);
    }

    /// Every scenario that any form of any experiment runs is one that farfield accepts.
    #[test]
    fn every_scenario_can_be_meant() {
        process::run(process::cargo().args(["build", "--workspace", "--bins"])).unwrap();
        // This test lies in `debug/deps`.
        let farfield = process::builds().unwrap().with_file_name("debug").join("farfield");
        let stand = Stand::for_checks(farfield).unwrap();
        for experiment in all() {
            for length in [Length::Full, Length::Quick, Length::Smoke] {
                for point in points(&experiment, length) {
                    stand.check(&point).with_context(|| format!("{}: {point:?}", experiment.name)).unwrap();
                }
            }
        }
    }
}
