//! `cargo xtask test`: installs the programs that tests need, runs all tests, and counts those that passed,
//! failed and were skipped.
//!
//! A test that cannot run here appends a line `name: reason` to the file that `FARFIELD_SKIPS` names and
//! passes; it is counted as skipped. Under `--strict`, and in CI, a skip is a failure. So is a process or a
//! network namespace that outlives the tests.
//!
//! Tests of real kernels and real servers run beside each other. The few that fail are run again, one at a
//! time, and those that then pass are named in the closing lines: a defect of the test or of the product that
//! somebody has to find, not a broken build.

use crate::leftovers::Watch;
use crate::python;
use anyhow::{Context, Result};
use clap::Args;
use nix::sys::statvfs::statvfs;
use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use xtask::process;
use xtask::system;

/// Runs every test, after installing what they need from the system (apt, as root) or naming what is missing.
#[derive(Debug, Args)]
pub struct TestArgs {
    /// Treats a skipped test as a failure; so does a `CI` environment variable.
    #[arg(long)]
    strict: bool,
    /// Installs nothing.
    #[arg(long)]
    no_install: bool,
    /// Passed to `cargo test`; all tests of the workspace if there is nothing.
    #[arg(last = true)]
    cargo_args: Vec<String>,
}

/// The counts that test runners close with, summed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Tally {
    passed: u64,
    failed: u64,
    skipped: u64,
}

/// Runs the tests and prints the tally as the last line; fails unless all is well.
#[expect(clippy::disallowed_methods, reason = "how long the tests took is for whoever runs them next")]
pub fn run(args: &TestArgs) -> Result<ExitCode> {
    let began = Instant::now();
    system::provide(system::FOR_TESTS, !args.no_install)?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    if args.cargo_args.is_empty() {
        say_what_it_takes(&target);
    }
    let python = python::provide(&std::path::absolute(&target)?, !args.no_install);
    let axe = python.as_deref().and_then(|python| python::provide_axe(python, !args.no_install));
    let provided = Provided { python, axe };
    let skips = tempfile::NamedTempFile::new().context("cannot make a file for skipped tests")?;
    // Built first, so that a compiler's daemons are not taken for something the tests left behind.
    process::run(cargo_test(args, skips.path(), &provided).arg("--no-run"))?;
    let watch = Watch::begin()?;
    let mut test = cargo_test(args, skips.path(), &provided);
    let mut ran = stream(&mut test, &mut io::stdout().lock())?;
    let mut passed_alone = Vec::new();
    if args.cargo_args.is_empty() && ran.may_run_again() {
        println!("Failed beside others, and run again alone: {}", ran.failed.join(", "));
        test.args(["--lib", "--bins", "--tests", "--", "--exact", "--test-threads", "1"]).args(&ran.failed);
        let again = stream(&mut test, &mut io::stdout().lock())?;
        if again.all_well && again.tally.passed >= ran.tally.failed {
            passed_alone = ran.pass();
        }
    }
    let Ran { mut tally, all_well, .. } = ran;
    let left = watch.finish();

    let skipped = skipped(&fs::read_to_string(skips.path())?);
    tally.note_skipped(skipped.len() as u64);
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
        "It took {} min; {} holds {}.",
        minutes(began.elapsed()),
        target.display(),
        gigabytes(size(&target))
    );
    let strict = args.strict || is_ci(std::env::var("CI").ok().as_deref());
    if strict && tally.skipped > 0 {
        println!("A test was skipped, and here none may be.");
    }
    println!("{tally}");
    let fine = all_well && left.is_empty() && !(strict && tally.skipped > 0);
    Ok(if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
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

/// What tests find by variables of the environment, as far as it is there.
struct Provided {
    /// The interpreter with readers of Parquet.
    python: Option<PathBuf>,
    /// The file of axe-core.
    axe: Option<PathBuf>,
}

fn cargo_test(args: &TestArgs, skips: &Path, provided: &Provided) -> Command {
    let mut command = process::cargo();
    command.arg("test").env("FARFIELD_SKIPS", skips);
    let variables = [("FARFIELD_PYTHON", &provided.python), ("FARFIELD_AXE", &provided.axe)];
    command.envs(variables.into_iter().filter_map(|(name, path)| Some((name, path.as_ref()?))));
    if args.cargo_args.is_empty() {
        command.args(["--workspace", "--no-fail-fast"]);
    } else {
        command.args(&args.cargo_args);
    }
    command
}

/// What came of running tests.
#[derive(Debug, Default, PartialEq, Eq)]
struct Ran {
    tally: Tally,
    /// The names of those that failed.
    failed: Vec<String>,
    /// Test programs that began and did not close with their counts: they crashed.
    crashed: i64,
    /// The command itself reported success.
    all_well: bool,
}

impl Ran {
    /// More than these fail for a reason of their own.
    const FEW: usize = 6;

    /// Whether all that went wrong is a few tests whose names are known. A name such as
    /// `src/lib.rs - f (line 3)` is of an example in a document, which has no machine to blame.
    fn may_run_again(&self) -> bool {
        (1..=Ran::FEW).contains(&self.failed.len())
            && !self.failed.iter().any(|name| name.contains(" - "))
            && self.failed.len() as u64 == self.tally.failed
            && self.crashed == 0
    }

    /// Counts those that failed as passed, and returns their names.
    fn pass(&mut self) -> Vec<String> {
        self.tally.passed += std::mem::take(&mut self.tally.failed);
        self.all_well = true;
        std::mem::take(&mut self.failed)
    }

    fn add(&mut self, line: &str) {
        self.tally.add(line);
        match line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED")) {
            Some(name) => self.failed.push(name.to_owned()),
            None if line.starts_with("running ") && line.ends_with(['t', 's']) => self.crashed += 1,
            None if line.starts_with("test result: ") => self.crashed -= 1,
            None => {}
        }
    }
}

/// Runs `command`, passes on every line to `out` as it comes, and adds up what the runners print.
fn stream(command: &mut Command, out: &mut impl Write) -> Result<Ran> {
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {}", process::words(command)))?;
    let lines = BufReader::new(child.stdout.take().context("stdout is piped")?);
    let mut ran = Ran::default();
    for line in lines.split(b'\n') {
        let line = line.context("cannot read the tests' output")?;
        out.write_all(&line).and_then(|()| out.write_all(b"\n"))?;
        ran.add(&String::from_utf8_lossy(&line));
    }
    ran.all_well = child.wait()?.success();
    Ok(ran)
}

impl Tally {
    /// Adds a runner's closing line, `test result: ok. 5 passed; 0 failed; 1 ignored; …`; leaves others.
    fn add(&mut self, line: &str) {
        let Some((_, counts)) = line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". "))
        else {
            return;
        };
        for count in counts.split("; ") {
            let Some((number, what)) = count.split_once(' ') else { continue };
            let Ok(number) = number.parse::<u64>() else { continue };
            match what {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.skipped += number,
                _ => {}
            }
        }
    }

    /// Tests that passed because they could not run are not passed but skipped.
    fn note_skipped(&mut self, count: u64) {
        self.passed = self.passed.saturating_sub(count);
        self.skipped += count;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// The lines of the skips file, each once, in order.
fn skipped(text: &str) -> BTreeSet<String> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
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
    fn sums_the_closing_lines_and_nothing_else() {
        let mut tally = Tally::default();
        for line in [
            "running 3 tests",
            "test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 4 filtered out; finished in 0.01s",
            "test result_of_parsing ... ok",
            "test result: FAILED. 5 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.20s",
        ] {
            tally.add(line);
        }
        assert_eq!(tally, Tally { passed: 7, failed: 2, skipped: 1 });
        assert_eq!(tally.to_string(), "7 passed, 2 failed, 1 skipped");
    }

    #[test]
    fn a_skipped_test_did_not_pass() {
        let lines = skipped("b: no tshark\n\na: no nginx\nb: no tshark\n");
        assert_eq!(lines.iter().map(String::as_str).collect::<Vec<_>>(), ["a: no nginx", "b: no tshark"]);
        let mut tally = Tally { passed: 5, failed: 0, skipped: 1 };
        tally.note_skipped(lines.len() as u64);
        assert_eq!(tally, Tally { passed: 3, failed: 0, skipped: 3 });
    }

    /// What tests print that ran in a shell.
    fn printed(script: &str) -> Ran {
        stream(Command::new("/bin/sh").args(["-c", script]), &mut io::sink()).unwrap()
    }

    #[test]
    fn streams_and_reports_failure() {
        let script = "echo 'test result: FAILED. 1 passed; 1 failed; 0 ignored'; exit 101";
        let mut out = Vec::new();
        let script = format!("echo 'running 2 tests'; {script}");
        let ran = stream(Command::new("/bin/sh").args(["-c", &script]), &mut out).unwrap();
        assert_eq!((ran.tally, ran.all_well), (Tally { passed: 1, failed: 1, skipped: 0 }, false));
        assert_eq!(out, b"running 2 tests\ntest result: FAILED. 1 passed; 1 failed; 0 ignored\n");
    }

    #[test]
    fn a_few_that_failed_may_run_again() {
        let begun = "echo 'running 2 tests'; echo 'test a ... FAILED'; echo 'test b::c ... ok'";
        let closed = "echo 'test result: FAILED. 1 passed; 1 failed; 0 ignored'; exit 101";
        let mut ran = printed(&format!("{begun}; {closed}"));
        assert!(ran.may_run_again());
        assert_eq!(ran.pass(), ["a"]);
        assert_eq!((ran.tally, ran.all_well), (Tally { passed: 2, failed: 0, skipped: 0 }, true));
        // A program that crashed names nobody.
        assert!(!printed(&format!("{begun}; {begun}; {closed}")).may_run_again());
        assert!(!printed("echo 'running 1 test'; exit 101").may_run_again());
        // An example in a document.
        let example = "echo 'running 1 test'; echo 'test src/lib.rs - f (line 3) ... FAILED'";
        let ended = "echo 'test result: FAILED. 0 passed; 1 failed; 0 ignored'; exit 101";
        assert!(!printed(&format!("{example}; {ended}")).may_run_again());
        // Many, and none.
        let many = "for i in 1 2 3 4 5 6 7; do echo \"test $i ... FAILED\"; done";
        let closed = "echo 'test result: FAILED. 0 passed; 7 failed; 0 ignored'; exit 101";
        assert!(!printed(&format!("echo 'running 7 tests'; {many}; {closed}")).may_run_again());
        assert!(!printed("echo 'running 0 tests'; echo 'test result: ok. 0 passed'").may_run_again());
    }

    #[test]
    fn ci_is_what_says_so() {
        assert!(is_ci(Some("true")) && is_ci(Some("1")));
        assert!(!is_ci(None) && !is_ci(Some("")) && !is_ci(Some("false")) && !is_ci(Some("0")));
    }
}
