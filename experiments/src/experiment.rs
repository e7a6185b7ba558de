//! `cargo xtask experiment`: the papers' figures, run again.
//!
//! An experiment is a `question.toml` in the folder of its figure. Each point of its curves is a run of farfield against a
//! fresh server; the results are held against the claims, and kept as a page and its charts in the same folder.

mod column;
mod criterion;
mod curve;
mod drive;
mod page;
mod plan;
mod server;
mod site;

use crate::page::Method;
use anyhow::{Context, Result, bail};
use clap::Args;
use column::Row;
use criterion::Criterion;
use drive::{Point, Runner};
use page::Provenance;
use plan::{Experiment, Length};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Runs the experiments, holds them against their claims, and keeps their pages in experiments/.
#[derive(Debug, Args)]
pub struct ExperimentArgs {
    /// Experiments to run, by their folders, such as wasp/figure-9; all by default.
    names: Vec<String>,
    /// Fewer and shorter runs; their pages are kept only in the folder of `--out`.
    #[arg(long, conflicts_with = "smoke")]
    quick: bool,
    /// Two points a curve for two seconds each, to see that all works; nothing is judged or kept.
    #[arg(long)]
    smoke: bool,
    /// Most runs of a point, which is run again while it calls itself invalid.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    tries: u32,
    /// Folder to keep the pages in.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// A sentence at the end of the pages' account of the machine, such as on what else ran there.
    #[arg(long, value_name = "SENTENCE")]
    note: Option<String>,
    /// Executable of farfield; built by default.
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

/// Runs the experiments that are named; the exit code is 1 if a claim does not hold.
pub fn run(args: &ExperimentArgs) -> Result<ExitCode> {
    let experiments = named(Experiment::all(Path::new(crate::FOLDER))?, &args.names)?;
    let farfield = match &args.program {
        Some(program) => program.clone(),
        None => crate::build_farfield()?,
    };
    let runner = Runner::new(farfield)?;
    let length = match (args.quick, args.smoke) {
        (_, true) => Length::Smoke,
        (true, false) => Length::Quick,
        (false, false) => Length::Full,
    };
    for experiment in &experiments {
        let at = |point: &Point| format!("experiment {}, {:?}", experiment.name, point.sets);
        points(experiment, length)
            .iter()
            .try_for_each(|point| runner.check(point).with_context(|| at(point)))?;
    }
    let folder = match (&args.out, length) {
        (Some(folder), _) => Some(folder.as_path()),
        (None, Length::Full) => Some(Path::new(crate::FOLDER)),
        (None, _) => None,
    };
    let mut all_hold = true;
    for experiment in &experiments {
        let rows = measure(&runner, experiment, length, args.tries)?;
        let judge = |criterion: &Criterion| criterion.judge(&experiment.plan, &rows);
        let claims = experiment.plan.claims.iter().map(judge).collect();
        let page = page::page(experiment, &rows, claims);
        println!("\n## {}\n\n{}", page.title, page.tables[0].markdown());
        if length != Length::Smoke {
            println!("{}", page.claims_table());
            all_hold &= page.claims.iter().all(|claim| claim.holds != Some(false));
        }
        if let Some(folder) = folder {
            let provenance = Provenance {
                length,
                machine: runner.machine()?,
                tries_max: args.tries,
                note: args.note.clone(),
            };
            let origin = page::origin_of(experiment, &provenance);
            page.keep(folder, &experiment.name, Method::Experiment, &origin)?;
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

fn measure(runner: &Runner, experiment: &Experiment, length: Length, tries_max: u32) -> Result<Vec<Row>> {
    let points = points(experiment, length);
    let measure = |(number, point): (usize, &Point)| {
        let curve = &experiment.plan.curves[point.curve].name;
        let (name, label, value) = (&experiment.name, &experiment.plan.label, point.value);
        eprintln!("{name} {}/{}: {curve}, {label} {value}", number + 1, points.len());
        runner.measure(point, tries_max)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Experiment> {
        Experiment::all(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap()
    }

    #[test]
    fn names_choose_and_unknown_ones_are_refused() {
        let names = |wanted: &[&str]| {
            let wanted: Vec<String> = wanted.iter().map(|&name| name.to_owned()).collect();
            named(all(), &wanted).map(|found| found.iter().map(|one| one.name.clone()).collect::<Vec<_>>())
        };
        assert_eq!(
            names(&["s-client/figure-7", "s-client/figure-5"]).unwrap(),
            ["s-client/figure-5", "s-client/figure-7"]
        );
        assert_eq!(names(&[]).unwrap().len(), all().len());
        let error = names(&["figure-1"]).unwrap_err().to_string();
        assert!(error.contains("`figure-1`") && error.contains("s-client/figure-5"), "{error}");
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

    /// A committed page repeats the text of its question: whoever changes one runs the experiment again, or mends the page.
    #[test]
    fn every_page_has_the_words_of_its_question() {
        for Experiment { name, plan, .. } in all() {
            let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(&name).join("page.md");
            let page = std::fs::read_to_string(&file).unwrap();
            let command = format!("`cargo xtask experiment {name}`");
            let claims = plan.claims.iter().map(|claim| claim.says.as_str());
            let texts = [plan.title.trim(), plan.source.trim(), plan.saw.trim(), plan.here.trim(), &command];
            for text in texts.into_iter().chain(claims) {
                assert!(page.contains(text), "{name} lacks `{text}`");
            }
        }
    }

    /// Every scenario that any form of any experiment runs is one that farfield accepts.
    #[test]
    fn farfield_accepts_every_scenario() {
        xtask::process::run(xtask::process::cargo().args(["build", "--workspace", "--bins"])).unwrap();
        // This test lies in `debug/deps`.
        let farfield = xtask::process::builds().unwrap().with_file_name("debug").join("farfield");
        let runner = Runner::for_checks(farfield).unwrap();
        for experiment in all() {
            for length in [Length::Full, Length::Quick, Length::Smoke] {
                for point in points(&experiment, length) {
                    runner.check(&point).with_context(|| format!("{}: {point:?}", experiment.name)).unwrap();
                }
            }
        }
    }
}
