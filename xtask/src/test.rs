//! `cargo xtask test`: installs the programs that tests need, runs all tests, and counts those that passed,
//! failed and were skipped.
//!
//! A test that cannot run here appends a line `name: reason` to the file that `FARFIELD_SKIPS` names and
//! passes; it is counted as skipped. Under `--strict`, and in CI, a skip is a failure. So is a process or a
//! network namespace that outlives the tests.
//!
//! Tests of real kernels and real servers run beside each other ([`programs`]). The few that fail are run
//! again, one at a time, and those that then pass are named in the closing lines: a defect of the test or of
//! the product that somebody has to find, not a broken build.

mod programs;
mod tally;

use crate::install::{self, Provided};
use crate::leftovers::Watch;
use anyhow::{Context, Result};
use clap::Args;
use nix::sys::statvfs::statvfs;
use programs::{Tier, Variables};
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use tally::{Ran, skipped};
use xtask::process;
use xtask::system;

/// Runs every test, after installing what they need from the system (apt, as root) or naming what is missing.
#[derive(Debug, Args)]
pub struct TestArgs {
    /// Treats a skipped test as a failure; so does a `CI` environment variable.
    #[arg(long)]
    strict: bool,
    /// Runs the unit tests alone: before each commit.
    #[arg(long, conflicts_with = "cargo_args")]
    quick: bool,
    /// Installs nothing.
    #[arg(long)]
    no_install: bool,
    /// Passed to `cargo test`; all tests of the workspace if there is nothing.
    #[arg(last = true)]
    cargo_args: Vec<String>,
}

/// Runs the tests and prints the tally as the last line; fails unless all is well.
#[expect(clippy::disallowed_methods, reason = "how long the tests took is for whoever runs them next")]
pub fn run(args: &TestArgs) -> Result<ExitCode> {
    let began = Instant::now();
    // Unit tests need next to nothing of what is installed: they skip by name what a person lacks.
    let may_install = !(args.no_install || args.quick);
    if !args.quick {
        system::provide(system::FOR_TESTS, may_install)?;
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    if args.cargo_args.is_empty() && !args.quick {
        say_what_it_takes(&target);
    }
    let Provided { python, axe } = install::by_pip(&std::path::absolute(&target)?, may_install);
    let skips = tempfile::NamedTempFile::new().context("cannot make a file for skipped tests")?;
    let mut variables = vec![("FARFIELD_SKIPS", skips.path())];
    variables.extend(python.as_deref().map(|python| ("FARFIELD_PYTHON", python)));
    variables.extend(axe.as_deref().map(|axe| ("FARFIELD_AXE", axe)));
    let (mut ran, passed_alone, left) = match (args.cargo_args.is_empty(), args.quick) {
        (true, false) => run_tier(Tier::All, &variables)?,
        (true, true) => run_tier(Tier::Quick, &variables)?,
        (false, _) => run_some(&args.cargo_args, &variables)?,
    };
    let all_well = ran.all_well;
    let skipped = skipped(&fs::read_to_string(skips.path())?);
    ran.tally.note_skipped(skipped.len() as u64);
    for line in &skipped {
        println!("SKIPPED {line}");
    }
    for what in &left {
        println!("LEFT BEHIND {what}");
    }
    for test in &passed_alone {
        println!("PASSED ALONE {test}: it failed beside others, by a defect of the test or of the product");
    }
    println!(
        "It took {} min, and the programs {} min of the processors; {} holds {}.",
        minutes(began.elapsed()),
        minutes(ran.processor_time),
        target.display(),
        gigabytes(size(&target))
    );
    let strict = args.strict || is_ci(std::env::var("CI").ok().as_deref());
    if strict && ran.tally.skipped > 0 {
        println!("A test was skipped, and here none may be.");
    }
    println!("{}", ran.tally);
    let fine = all_well && left.is_empty() && !(strict && ran.tally.skipped > 0);
    Ok(if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Results of tests, those of them that passed only alone, and what they left behind.
type Found = (Ran, Vec<String>, Vec<String>);

/// Runs all tests of `tier`, and those of a few that fail again.
fn run_tier(tier: Tier, variables: &Variables<'_>) -> Result<Found> {
    // Built first, so that a compiler's daemons are not taken for something the tests left behind.
    let programs = programs::build(tier)?;
    let watch = Watch::begin()?;
    let mut ran = programs::run(&programs, tier, variables)?;
    let mut passed_alone = Vec::new();
    if ran.may_run_again() {
        println!("Failed beside others, and run again alone: {}", ran.failed.join(", "));
        let again = programs::run_again(&programs, variables, &ran.failed)?;
        if again.all_well && again.tally.passed >= ran.tally.failed {
            passed_alone = ran.pass();
        }
    }
    Ok((ran, passed_alone, watch.finish()))
}

/// Runs what these arguments of `cargo test` choose.
fn run_some(cargo_args: &[String], variables: &Variables<'_>) -> Result<Found> {
    let cargo_test = || {
        let mut command = process::cargo();
        command.arg("test").args(cargo_args).envs(variables.iter().copied());
        command
    };
    let divider = cargo_args.iter().position(|arg| arg == "--").unwrap_or(cargo_args.len());
    let mut build = process::cargo();
    process::run(build.arg("test").arg("--no-run").args(&cargo_args[..divider]))?;
    let watch = Watch::begin()?;
    let ran = stream(&mut cargo_test(), &mut io::stdout().lock())?;
    Ok((ran, Vec::new(), watch.finish()))
}

/// Runs `command`, passes on every line to `out` as it comes, and adds up what the runners print.
fn stream(command: &mut Command, out: &mut impl Write) -> Result<Ran> {
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {}", process::words(command)))?;
    let lines = BufReader::new(child.stdout.take().context("stdout is piped")?);
    let mut text = Vec::new();
    for line in lines.split(b'\n') {
        let line = line.context("cannot read the tests' output")?;
        out.write_all(&line).and_then(|()| out.write_all(b"\n"))?;
        text.extend(line);
        text.push(b'\n');
    }
    Ok(Ran::read(&text, child.wait()?.success()))
}

/// Disk that a build of all tests takes: measured on a new clone, rounded up.
const DISK_BYTES: u64 = 9_000_000_000;

/// Says before the work what all tests take, and warns where the disk has no room for it.
fn say_what_it_takes(target: &Path) {
    println!(
        "All tests: {} in {} and, from nothing, about 20 min on two processors (30 min if they are busy).",
        gigabytes(DISK_BYTES),
        target.display()
    );
    let around = target.ancestors().find(|path| path.is_dir()).unwrap_or(Path::new("."));
    let free = statvfs(around).map(|disk| disk.blocks_available() * disk.fragment_size());
    if let Ok(free) = free
        && free + size(target) < DISK_BYTES
    {
        println!(
            "Only {} are free there: make room, or set CARGO_TARGET_DIR to another disk.",
            gigabytes(free)
        );
    }
}

/// Bytes of all files below `folder`, a file with several names counted once.
fn size(folder: &Path) -> u64 {
    let mut seen = BTreeSet::new();
    let (mut folders, mut bytes) = (vec![folder.to_owned()], 0);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(meta) if meta.is_dir() => folders.push(entry.path()),
                Ok(meta) if meta.nlink() == 1 || seen.insert(meta.ino()) => bytes += meta.blocks() * 512,
                _ => {}
            }
        }
    }
    bytes
}

fn gigabytes(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}

fn minutes(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() / 60.0)
}

fn is_ci(variable: Option<&str>) -> bool {
    variable.is_some_and(|value| !["", "0", "false"].contains(&value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_two_names_is_counted_once() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("deps")).unwrap();
        let (first, second) = (folder.path().join("deps/a"), folder.path().join("b"));
        fs::write(&first, vec![7; 1 << 16]).unwrap();
        let once = size(folder.path());
        fs::hard_link(&first, &second).unwrap();
        assert_eq!(size(folder.path()), once);
        assert!((1 << 16..1 << 17).contains(&once), "{once}");
    }

    #[test]
    fn streams_and_reports_failure() {
        let script =
            "echo 'running 2 tests'; echo 'test result: FAILED. 1 passed; 1 failed; 0 ignored'; exit 101";
        let mut out = Vec::new();
        let ran = stream(Command::new("/bin/sh").args(["-c", script]), &mut out).unwrap();
        assert_eq!((ran.tally.passed, ran.tally.failed, ran.all_well), (1, 1, false));
        assert_eq!(out, b"running 2 tests\ntest result: FAILED. 1 passed; 1 failed; 0 ignored\n");
    }

    #[test]
    fn ci_is_what_says_so() {
        assert!(is_ci(Some("true")) && is_ci(Some("1")));
        assert!(!is_ci(None) && !is_ci(Some("")) && !is_ci(Some("false")) && !is_ci(Some("0")));
    }
}
