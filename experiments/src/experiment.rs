//! `cargo xtask experiment`: the papers' figures, run again.
//!
//! An experiment is a `question.toml` in the folder of its figure. Each point of its curves is a run of
//! farfield against a fresh server; the results are compared with the claims, and kept as a page and its
//! charts in the same folder.

mod column;
mod criterion;
mod curve;
mod detail;
mod drive;
mod measured;
mod monitored;
mod origin;
mod packets;
mod page;
mod plan;
mod routed;
mod server;
mod shares;
mod site;
mod tool;

use crate::page::{Method, Page, State};
use anyhow::{Context, Result, bail};
use clap::Args;
use column::Row;
use criterion::Criterion;
use drive::{Point, Runner};
use measured::RunSummary;
use page::Provenance;
pub use page::is_measured;
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
    /// Runs of each point, each with a server that is started for it.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    repeats: u32,
    /// Most runs of a point beyond these, each in place of one that calls itself invalid.
    #[arg(long, default_value_t = 3)]
    retries: u32,
    /// Writes the pages without any run: their claims are not judged. For a question that has changed, whose
    /// earlier numbers no longer answer it.
    #[arg(long, conflicts_with_all = ["quick", "smoke"])]
    withdraw: bool,
    /// Only writes the list of claims in docs/experiments.md anew, from the pages.
    #[arg(long, conflicts_with_all = ["quick", "smoke", "withdraw"])]
    index: bool,
    /// Measures only what claims rest on, with so many times the share of a processor that servers are held
    /// to, and puts the claims as they are then into the pages that there are; such as 0.5,2.
    #[arg(long, value_name = "FACTORS", value_delimiter = ',', value_parser = factor, conflicts_with_all = ["quick", "smoke", "withdraw", "index"])]
    shares: Vec<f64>,
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

/// A factor of a share: more than 0.
fn factor(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(factor) if factor > 0.0 && factor.is_finite() => Ok(factor),
        _ => Err(format!("`{text}` is no number above 0")),
    }
}

/// The exit code where no claim fails, but one is undecided or not judged: that of a run of farfield that is
/// invalid.
const OPEN: u8 = 3;

/// Runs the experiments that are named; the exit code is 1 if a claim does not hold, and 3 if none fails but
/// one is undecided or not judged.
pub fn run(args: &ExperimentArgs) -> Result<ExitCode> {
    let experiments = named(Experiment::all(Path::new(crate::FOLDER))?, &args.names)?;
    if args.index {
        return crate::index::write(Path::new(".")).map(|()| ExitCode::SUCCESS);
    }
    if args.withdraw {
        return withdraw(args, &experiments);
    }
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
        points(experiment, length).iter().try_for_each(|point| {
            runner.check(point).and_then(|()| runner.check_tool(point)).with_context(|| at(point))
        })?;
    }
    if !args.shares.is_empty() {
        return at_other_shares(&runner, &experiments, length, args);
    }
    let mut worst = State::Holds;
    for experiment in &experiments {
        let rows = measure(&runner, experiment, points(experiment, length), length, args)?;
        let page = judged(experiment, &rows);
        println!("\n## {}\n", page.title);
        page.tables.iter().for_each(|table| println!("{}", table.markdown()));
        if length != Length::Smoke {
            println!("{}", page.claims_table());
            worst = page.claims.iter().map(|claim| claim.state).fold(worst, State::max);
        }
        if let Some(folder) = folder(args, length) {
            let origin = page::origin_of(experiment, &provenance(&runner, length, args)?);
            let file = folder.join(&experiment.name).join("page.md");
            let earlier = std::fs::read_to_string(file).unwrap_or_default();
            page.keep(&folder, &experiment.name, Method::Experiment, &origin)?;
            if let Some(section) = shares::of_page(&earlier) {
                shares::keep(&folder.join(&experiment.name), section)?;
            }
        }
        // After each: what comes later may be interrupted.
        write_index(args, length)?;
    }
    Ok(code(worst))
}

/// The way in which runs were made.
fn provenance(runner: &Runner, length: Length, args: &ExperimentArgs) -> Result<Provenance> {
    Ok(Provenance {
        length,
        machine: runner.machine()?,
        repeats: args.repeats,
        retries_max: args.retries,
        note: args.note.clone(),
    })
}

/// Judges the claims of the experiments that have a share of a processor at other shares, and puts that into
/// their pages. What does not hold there is a result, and no failure.
fn at_other_shares(
    runner: &Runner,
    experiments: &[Experiment],
    length: Length,
    args: &ExperimentArgs,
) -> Result<ExitCode> {
    for experiment in experiments {
        if let Some(folder) = folder(args, length) {
            shares::check(&folder.join(&experiment.name))?;
        }
        let mut judged_at = Vec::new();
        for &factor in &args.shares {
            let points = shares::points(experiment, points(experiment, length), factor);
            if points.is_empty() {
                eprintln!("{} has no share of a processor", experiment.name);
                break;
            }
            eprintln!("{} at {factor} times the share", experiment.name);
            points.iter().try_for_each(|point| runner.check(point))?;
            let rows = measure(runner, experiment, points, length, args)?;
            judged_at.push((factor, judged(experiment, &rows).claims));
        }
        if judged_at.is_empty() {
            continue;
        }
        let origin = page::origin_of(experiment, &provenance(runner, length, args)?);
        let section = shares::section(experiment, &judged_at, &origin);
        println!("\n{section}");
        if let Some(folder) = folder(args, length) {
            shares::keep(&folder.join(&experiment.name), &section)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The folder that pages are kept in, if any.
fn folder(args: &ExperimentArgs, length: Length) -> Option<PathBuf> {
    match (&args.out, length) {
        (Some(folder), _) => Some(folder.clone()),
        (None, Length::Full) => Some(PathBuf::from(crate::FOLDER)),
        (None, _) => None,
    }
}

/// Writes the index anew, if pages were kept in its place.
fn write_index(args: &ExperimentArgs, length: Length) -> Result<()> {
    match (&args.out, length) {
        (None, Length::Full) => crate::index::write(Path::new(".")),
        _ => Ok(()),
    }
}

/// Writes pages without numbers.
fn withdraw(args: &ExperimentArgs, experiments: &[Experiment]) -> Result<ExitCode> {
    for experiment in experiments {
        let page = judged(experiment, &[]);
        if let Some(folder) = folder(args, Length::Full) {
            let earlier = std::fs::read_to_string(folder.join(&experiment.name).join("page.md")).ok();
            let origin = page::without_numbers(earlier.as_deref());
            page.keep(&folder, &experiment.name, Method::Experiment, origin)?;
        }
    }
    write_index(args, Length::Full)?;
    Ok(ExitCode::from(OPEN))
}

/// The page of an experiment, its claims judged by `rows`.
fn judged(experiment: &Experiment, rows: &[Row]) -> Page {
    let judge = |criterion: &Criterion| criterion.judge(&experiment.plan, rows);
    page::page(experiment, rows, experiment.plan.claims.iter().map(judge).collect())
}

fn code(worst: State) -> ExitCode {
    match worst {
        State::Holds => ExitCode::SUCCESS,
        State::Undecided | State::NotJudged => ExitCode::from(OPEN),
        State::Fails => ExitCode::FAILURE,
    }
}

/// The experiments with these names, or all.
fn named(all: Vec<Experiment>, names: &[String]) -> Result<Vec<Experiment>> {
    if names.is_empty() {
        return Ok(all);
    }
    if let Some(unknown) = names.iter().find(|name| all.iter().all(|experiment| experiment.name != **name)) {
        let known: Vec<&str> = all.iter().map(|experiment| experiment.name.as_str()).collect();
        if Path::new(crate::FOLDER).join(unknown).join("question.toml").is_file() {
            bail!("`{unknown}` is built into farfield: farfield experiment {unknown} --out FOLDER");
        }
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
                details: experiment.plan.details_at(number, value),
                tool: curve.tool.clone(),
                routed: curve.routed,
                folder: Path::new(crate::FOLDER).join(&experiment.name),
            })
        };
        points.extend(experiment.values(curve, length).into_iter().filter_map(point));
    }
    points
}

/// The points, run. Rounds of all points follow each other, so that what changes on the machine
/// in the course of minutes is in every point's interval, and not in the difference between two points.
fn measure(
    runner: &Runner,
    experiment: &Experiment,
    points: Vec<Point>,
    length: Length,
    args: &ExperimentArgs,
) -> Result<Vec<Row>> {
    let (repeats, retries) = if length == Length::Smoke { (1, 0) } else { (args.repeats, args.retries) };
    let empty =
        |point: &Point| Row { curve: point.curve, value: point.value, repeats: Vec::new(), unknown: None };
    let mut rows: Vec<Row> = points.iter().map(empty).collect();
    for round in 0..repeats + retries {
        for (number, (point, row)) in points.iter().zip(&mut rows).enumerate() {
            if row.valid() >= repeats as usize {
                continue;
            }
            let curve = &experiment.plan.curves[point.curve].name;
            let (name, label, value) = (&experiment.name, &experiment.plan.label, point.value);
            let (round, count) = (round + 1, points.len());
            eprintln!("{name} round {round}, {}/{count}: {curve}, {label} {value}", number + 1);
            let run = runner.run(point, row.repeats.len() as u32)?;
            if !run.doubts.is_empty() {
                eprintln!("    invalid: {}", run.doubts.join(", "));
            }
            row.repeats.push(run);
        }
    }
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
        let class =
            |run: &RunSummary| Some(RunSummary { measured: *run.classes.get(&of.class)?, ..run.clone() });
        let of_class = |row: &Row| {
            let repeats = row.repeats.iter().map(class).collect::<Option<Vec<_>>>()?;
            Some(Row { curve, repeats, ..row.clone() })
        };
        let whole = rows.iter().filter(|row| plan.curve(&of.curve) == Some(row.curve));
        found.extend(whole.filter_map(of_class));
    }
    found
}

/// The rows of curves that are the highest of all others, at each value. They are not known where another is
/// invalid, which might be the highest.
fn highest(experiment: &Experiment, rows: &[Row]) -> Vec<Row> {
    let plan = &experiment.plan;
    let y = plan.charts()[0].y;
    let mean = |row: &Row| y.estimate(row).map_or(0.0, |estimate| estimate.mean);
    let values = rows.iter().filter(|row| rows.first().is_some_and(|first| row.curve == first.curve));
    let mut best: Vec<Row> = Vec::new();
    for value in values.map(|row| row.value) {
        let others = || rows.iter().filter(|row| row.value == value);
        let Some(highest) = others().max_by(|a, b| mean(a).total_cmp(&mean(b))) else { continue };
        let invalid = others().find(|row| !row.is_valid());
        let unknown = invalid.map(|row| format!("{} has too few valid runs", plan.curves[row.curve].name));
        best.push(Row { unknown, ..highest.clone() });
    }
    let curves = (0..plan.curves.len()).filter(|&curve| plan.curves[curve].highest);
    curves.flat_map(|curve| best.iter().map(move |row| Row { curve, ..row.clone() })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use column::Column;
    use std::collections::BTreeMap;

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
        let doubtful =
            [rows[0].clone(), rows[1].clone(), column::tests::doubted(rows[2].clone(), 1), rows[3].clone()];
        let unknown: Vec<Option<String>> =
            highest(&experiment, &doubtful).into_iter().map(|row| row.unknown).collect();
        assert_eq!(unknown, [Some("other has too few valid runs".to_owned()), None]);
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
        let modem = row(0, 1, 3.0, 2.0).repeats[0].measured;
        let mut with = row(1, 2, 60.0, 3.0);
        for run in &mut with.repeats {
            run.classes.insert("modem".to_owned(), modem);
        }
        let [found] = classes(&experiment, &[row(0, 1, 50.0, 1.0), row(1, 1, 60.0, 3.0), with.clone()])
            .try_into()
            .expect("only the points with the class");
        assert_eq!((found.curve, found.value), (2, with.value));
        assert!(found.repeats.iter().all(|run| run.measured == modem) && found.is_valid());
    }

    #[test]
    fn the_exit_code_is_that_of_the_worst_claim() {
        let worst = |states: &[State]| states.iter().copied().fold(State::Holds, State::max);
        let codes = [
            (code(worst(&[])), ExitCode::SUCCESS),
            (code(worst(&[State::Holds, State::NotJudged])), ExitCode::from(3)),
            (code(worst(&[State::Undecided, State::Holds])), ExitCode::from(3)),
            (code(worst(&[State::NotJudged, State::Fails, State::Undecided])), ExitCode::from(1)),
        ];
        for (found, expected) in codes {
            assert_eq!(format!("{found:?}"), format!("{expected:?}"));
        }
    }

    /// Of a page on throughput, requests a second say little without bytes: sizes may differ between points.
    #[test]
    fn requests_and_bytes_are_shown_together() {
        for Experiment { name, plan, .. } in all() {
            let shows = |column| plan.show.contains(&column);
            assert_eq!(shows(Column::Completed), shows(Column::Body), "{name}");
        }
    }

    /// Points whose numbers are all alike let every claim of every question be judged: none speaks of points,
    /// or of bounds, that are not run.
    #[test]
    fn every_claim_is_about_points_that_are_run() {
        for experiment in all() {
            let measured = measured::tests::complete();
            let run = |(curve, value)| {
                let classes = experiment.plan.curves.iter().filter_map(|curve| curve.of.as_ref());
                let classes = classes.map(|of| (of.class.clone(), measured)).collect();
                let run = RunSummary { measured, classes, doubts: Vec::new(), lines: BTreeMap::new() };
                Row { curve, value, repeats: vec![run; 3], unknown: None }
            };
            let points = points(&experiment, Length::Full);
            let mut rows: Vec<Row> = points.iter().map(|point| run((point.curve, point.value))).collect();
            rows.extend(highest(&experiment, &rows));
            rows.extend(classes(&experiment, &rows));
            for claim in judged(&experiment, &rows).claims {
                assert_ne!(claim.state, State::NotJudged, "{}: {}", experiment.name, claim.says);
            }
        }
    }

    /// A committed page repeats the text of its question: whoever changes one runs the experiment again, or
    /// mends the page.
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
        let build = ["build", "--workspace", "--bin", "farfield"];
        xtask::process::run(xtask::process::cargo().args(build)).unwrap();
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
