//! `cargo xtask fuzz`: builds all fuzz targets as one program, with a nightly compiler, and runs each for a
//! while.
//!
//! The program is instrumented with the compiler's flags, so that cargo-fuzz is not needed. What adds
//! coverage is kept in the build folder and found again by the next run; an input that crashes, hangs or
//! takes too much memory goes to `fuzz/corpus/`, where the ordinary tests read it and fail until it is
//! mended.

mod build;
mod found;
mod outcome;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use found::Found;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use outcome::Outcome;
use std::io::Read;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::time::Duration;
use std::{fs, io, thread};
use xtask::process;

/// Seeds in the repository.
const CORPUS: &str = "fuzz/corpus";
/// The variable that names the target to the program.
const TARGET: &str = "FARFIELD_FUZZ_TARGET";
/// Megabytes that one input may take.
const MEMORY_MB: u32 = 2_048;
/// Time between two looks at what a target has taken.
const LOOKED_EVERY: Duration = Duration::from_millis(100);

/// Runs the fuzz targets, each for some time, and keeps the inputs that crash or hang in fuzz/corpus/.
#[derive(Debug, Args)]
pub struct FuzzArgs {
    /// Seconds of a processor for each target, which are more of the clock's on a busy machine.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    /// Ends each target after so many inputs, if its seconds are not over before.
    #[arg(long, value_name = "N")]
    inputs: Option<u64>,
    /// Seconds of the clock that one input may take; the slowest seed takes less than one, but for a machine
    /// that is full with other work.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    timeout: u32,
    /// Prints the targets and runs nothing.
    #[arg(long)]
    list: bool,
    /// Targets that run side by side; by default one for each processor.
    #[arg(long, value_name = "N")]
    jobs: Option<NonZero<usize>>,
    /// Afterwards cuts what was kept of each target down to inputs of the same coverage.
    #[arg(long)]
    minimize: bool,
    /// The targets to run; all if there is none.
    targets: Vec<String>,
}

/// A target of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Target {
    name: String,
    about: String,
}

/// Builds the program and runs the targets in order; fails if an input of one was bad.
pub fn run(args: &FuzzArgs) -> Result<ExitCode> {
    let program = build::build()?;
    let all = targets(&program)?;
    let chosen = chosen(&all, &args.targets)?;
    if args.list {
        chosen.iter().for_each(|target| println!("{:<18} {}", target.name, target.about));
        return Ok(ExitCode::SUCCESS);
    }
    println!("{}", Outcome::HEADING);
    let jobs = args.jobs.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZero::get);
    let (left, bad) = (Mutex::new(chosen.iter()), Mutex::new(Vec::new()));
    let next = || left.lock().ok()?.next();
    let work = || -> Result<()> {
        while let Some(target) = next() {
            let mut found = tried(&program, target, args)?;
            bad.lock().map_err(|_| anyhow!("another target's thread panicked"))?.append(&mut found);
        }
        Ok(())
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().map_err(|_| anyhow!("a target's thread panicked"))?)
    })?;
    let bad = bad.into_inner().unwrap_or_default();
    if bad.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    println!("Bad inputs, which `cargo xtask test` reads from now on:");
    bad.iter().for_each(|place| println!("  {place}"));
    Ok(ExitCode::FAILURE)
}

/// Runs a target and prints its row; returns where its bad inputs are kept, and failures without one.
fn tried(program: &Path, target: &Target, args: &FuzzArgs) -> Result<Vec<String>> {
    let folders = Folders::of(program, target)?;
    let outcome = fuzz(program, target, &folders, args)?;
    println!("{}", outcome.row(&target.name));
    let mut bad: Vec<_> = outcome.found.iter().map(|found| found.place.display().to_string()).collect();
    if outcome.ended_badly() {
        eprintln!("{}", outcome.last_words);
        bad.push(format!("{}: the program failed without an input", target.name));
    }
    if args.minimize {
        minimize(program, target, &folders)?;
    }
    Ok(bad)
}

/// The targets that the program has.
fn targets(program: &Path) -> Result<Vec<Target>> {
    let listed = process::output(Command::new(program).env_remove(TARGET))?;
    let listed = String::from_utf8(listed).context("the program's targets are no text")?;
    let target = |line: &str| {
        let (name, about) = line.split_once('\t')?;
        Some(Target { name: name.to_owned(), about: about.to_owned() })
    };
    Ok(listed.lines().filter_map(target).collect())
}

/// Those of `all` that are asked for, or all of them.
fn chosen(all: &[Target], asked: &[String]) -> Result<Vec<Target>> {
    if let Some(unknown) = asked.iter().find(|name| all.iter().all(|target| target.name != **name)) {
        bail!("there is no fuzz target `{unknown}`; `cargo xtask fuzz --list` prints them");
    }
    let is_asked = |target: &&Target| asked.is_empty() || asked.contains(&target.name);
    Ok(all.iter().filter(is_asked).cloned().collect())
}

/// Folders of a target's inputs.
#[derive(Debug)]
struct Folders {
    /// In the repository.
    seeds: PathBuf,
    /// Those that add coverage, found by any run, in the build folder.
    kept: PathBuf,
    /// The input that ends a run.
    artifacts: PathBuf,
}

impl Folders {
    fn of(program: &Path, target: &Target) -> Result<Folders> {
        let builds = build::folder(program)?;
        let seeds = Path::new(CORPUS).join(&target.name);
        let kept = builds.join("corpus").join(&target.name);
        let artifacts = builds.join("artifacts").join(&target.name);
        for folder in [&seeds, &kept, &artifacts] {
            fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        }
        Ok(Folders { seeds, kept, artifacts })
    }
}

/// Runs a target until its time is over or an input is bad.
fn fuzz(program: &Path, target: &Target, folders: &Folders, args: &FuzzArgs) -> Result<Outcome> {
    let mut command = libfuzzer(program, target);
    command
        .arg(format!("-timeout={}", args.timeout))
        .arg(format!("-rss_limit_mb={MEMORY_MB}"))
        .arg(format!("-artifact_prefix={}/", folders.artifacts.display()))
        .args(["-print_final_stats=1", "-reduce_inputs=1"]);
    command.args(args.inputs.map(|inputs| format!("-runs={inputs}")));
    // New inputs go to the first folder; the others are read.
    command.args([&folders.kept, &folders.seeds]);
    let before = count(&folders.kept)?;
    let (status, text) = output(&mut command, Some(Duration::from_secs(args.seconds.into())))?;
    let found = Found::take(&folders.artifacts, &folders.seeds)?;
    Ok(Outcome::read(&text, status, found).with_kept(count(&folders.kept)?.saturating_sub(before)))
}

/// Replaces what was kept by inputs of the same coverage.
fn minimize(program: &Path, target: &Target, folders: &Folders) -> Result<()> {
    let smaller = folders.kept.with_extension("smaller");
    let _ = fs::remove_dir_all(&smaller);
    fs::create_dir_all(&smaller)?;
    let mut command = libfuzzer(program, target);
    command.arg("-merge=1").args([&smaller, &folders.seeds, &folders.kept]);
    let (status, text) = output(&mut command, None)?;
    if status != 0 {
        bail!("the corpus of {} cannot be merged:\n{text}", target.name);
    }
    let (before, after) = (count(&folders.kept)?, count(&smaller)?);
    fs::remove_dir_all(&folders.kept)?;
    fs::rename(&smaller, &folders.kept)?;
    println!("{:<18} {before} inputs are now {after}", target.name);
    Ok(())
}

/// libFuzzer with `target`. Pages of counters that nothing has touched are not looked at: one program has the
/// counters of all targets.
fn libfuzzer(program: &Path, target: &Target) -> Command {
    let mut command = Command::new(program);
    command.env(TARGET, &target.name).args(["-lazy_counters=1", "-verbosity=1"]);
    command
}

/// The exit status of libFuzzer, and what it wrote to its error output. It is asked to end when it has had so
/// much of a processor.
#[expect(clippy::disallowed_methods, reason = "a real program is looked at by the clock")]
fn output(command: &mut Command, at_most: Option<Duration>) -> Result<(i32, String)> {
    let words = process::words(command);
    let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("cannot start {words}"))?;
    let pid = Pid::from_raw(child.id().try_into().context("a process number")?);
    let mut errors = child.stderr.take().context("its error output is a pipe")?;
    let mut text = Vec::new();
    let status = thread::scope(|scope| {
        let reader = scope.spawn(|| errors.read_to_end(&mut text));
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if at_most.zip(process::processor_time(pid)).is_some_and(|(most, taken)| taken >= most) {
                // It ends as if its inputs were over, with its figures.
                kill(pid, Signal::SIGUSR1)?;
                break child.wait()?;
            }
            thread::sleep(LOOKED_EVERY);
        };
        reader.join().map_err(|_| anyhow!("the reader of its words panicked"))??;
        anyhow::Ok(status)
    })?;
    Ok((status.code().unwrap_or(-1), String::from_utf8_lossy(&text).into_owned()))
}

fn count(folder: &Path) -> io::Result<u64> {
    Ok(fs::read_dir(folder)?.count() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Target> {
        let target = |name: &str| Target { name: name.to_owned(), about: String::new() };
        vec![target("net_trace"), target("wire_packet")]
    }

    #[test]
    fn all_targets_run_unless_some_are_named() {
        assert_eq!(chosen(&all(), &[]).unwrap(), all());
        assert_eq!(chosen(&all(), &["wire_packet".to_owned()]).unwrap(), all()[1..]);
        let error = chosen(&all(), &["wire_packets".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("no fuzz target `wire_packets`"), "{error}");
    }
}
