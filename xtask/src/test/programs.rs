//! The test programs of the workspace, and running them, several at once.
//!
//! Tests of real kernels and real servers mostly wait: two of their programs run beside each other. All
//! others only compute; two of them at a time run at idle priority, so that they get what is left of the
//! processors and delay nobody. The longest begin first, so that none of them is left alone at the end. What
//! a program printed is printed when it has ended.

use super::tally::Ran;
use anyhow::{Context, Result};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use serde::Deserialize;
use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;
use xtask::{process, system};

/// The packages whose tests are of real kernels and real servers.
const REAL: [&str; 7] = [
    "farfield",
    "farfield-engine",
    "farfield-monitor",
    "farfield-origin",
    "farfield-os",
    "farfield-testbed",
    "xtask",
];

/// Number of their programs that run at once, and of the others likewise.
const AT_ONCE: usize = 2;

/// The longest programs, by package and main file, in the order of what they took: those that take more than
/// 30 s of the processors or of the clock beside others, and of those that only compute the next ones.
const LONGEST: [(&str, &str); 19] = [
    ("experiments", "src/main.rs"),
    ("farfield-measure", "src/lib.rs"),
    ("farfield", "tests/faults/main.rs"),
    ("farfield", "tests/verification/main.rs"),
    ("farfield", "tests/wan/main.rs"),
    ("farfield", "tests/commands/main.rs"),
    ("farfield", "tests/http/main.rs"),
    ("farfield", "tests/sessions/main.rs"),
    ("farfield", "tests/book/main.rs"),
    ("farfield", "tests/watched/main.rs"),
    ("farfield", "tests/hostile/main.rs"),
    ("farfield-engine", "tests/kernel_tcp/main.rs"),
    ("farfield-fit", "src/lib.rs"),
    ("farfield-emulator", "tests/shard/main.rs"),
    ("farfield-fit", "tests/rates.rs"),
    ("farfield-capture", "tests/fuzzed.rs"),
    ("farfield-measure", "tests/coverage.rs"),
    ("farfield-fit", "tests/series.rs"),
    ("farfield-traffic", "src/lib.rs"),
];

/// A test program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The folder of its package, in which it runs.
    folder: PathBuf,
    /// Its main file, as that folder has it.
    source: PathBuf,
    executable: PathBuf,
}

/// Cargo's message on something that it has built, as far as it matters here.
#[derive(Debug, Deserialize)]
struct Built {
    manifest_path: Option<PathBuf>,
    target: Option<Target>,
    profile: Option<Profile>,
    executable: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
struct Target {
    src_path: PathBuf,
}

#[derive(Debug, Deserialize)]
struct Profile {
    test: bool,
}

/// Tests that run together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// All tests, and the examples in documents.
    All,
    /// The unit tests of all packages but those of [`LONG`].
    Quick,
}

/// Packages whose unit tests are whole experiments.
const LONG: [&str; 1] = ["experiments"];

impl Tier {
    /// True if `program` belongs to the tier.
    fn has(self, program: &Program) -> bool {
        match self {
            Tier::All => true,
            Tier::Quick => program.source.starts_with("src") && !LONG.contains(&program.package()),
        }
    }

    /// Arguments of `cargo test --workspace` that build no more than this tier.
    fn cargo_args(self) -> Vec<&'static str> {
        match self {
            Tier::All => Vec::new(),
            Tier::Quick => {
                let without = LONG.iter().flat_map(|package| ["--exclude", package]);
                ["--lib", "--bins"].into_iter().chain(without).collect()
            }
        }
    }
}

/// Settings that tests take from this task, as variables of their environment.
pub type Variables<'a> = [(&'static str, &'a Path)];

/// Builds the test programs of `tier`, and returns them in cargo's order.
pub fn build(tier: Tier) -> Result<Vec<Program>> {
    let mut command = process::cargo();
    command.args(["test", "--workspace", "--no-run", "--message-format=json-render-diagnostics"]);
    command.args(tier.cargo_args());
    eprintln!("$ {}", process::words(&command));
    let programs = listed(&process::output(&mut command)?)?;
    Ok(programs.into_iter().filter(|program| tier.has(program)).collect())
}

/// The test programs that cargo's messages name, one a line.
fn listed(messages: &[u8]) -> Result<Vec<Program>> {
    let mut programs = Vec::new();
    for line in messages.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"{")) {
        let built: Built = serde_json::from_slice(line).context("cargo's messages cannot be read")?;
        let is_test = built.profile.is_some_and(|profile| profile.test);
        let (Some(executable), Some(target), true) = (built.executable, built.target, is_test) else {
            continue;
        };
        let manifest = built.manifest_path.context("cargo names no manifest of a test program")?;
        let folder = manifest.parent().context("a manifest lies in a folder")?.to_owned();
        let source = target.src_path.strip_prefix(&folder).unwrap_or(&target.src_path).to_owned();
        programs.push(Program { folder, source, executable });
    }
    Ok(programs)
}

impl Program {
    /// The name of its package, which is called what its folder is called.
    fn package(&self) -> &str {
        self.folder.file_name().and_then(OsStr::to_str).unwrap_or_default()
    }

    fn is_real(&self) -> bool {
        REAL.contains(&self.package())
    }

    /// The heading of its runs.
    fn heading(&self) -> String {
        let program = self.executable.file_name().unwrap_or_default();
        format!("{} of {} ({})", self.source.display(), self.package(), program.display())
    }

    /// The command that runs those of its tests that `filter`, arguments of test runners, leaves.
    fn command(&self, variables: &Variables<'_>, filter: &[String]) -> Command {
        let mut command = match self.is_real() {
            true => Command::new(&self.executable),
            false => idle(&self.executable),
        };
        command.args(filter).current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        command.env("CARGO_PKG_NAME", self.package()).envs(variables.iter().copied());
        command
    }

    fn run(&self, variables: &Variables<'_>, filter: &[String]) -> Result<Ran> {
        run_printing(self.command(variables, filter), &self.heading())
    }
}

/// `program` at idle priority, where that can be had.
fn idle(program: &Path) -> Command {
    let Some(chrt) = system::find("chrt") else { return Command::new(program) };
    let mut command = Command::new(chrt);
    command.args(["--idle", "0"]).arg(program);
    command
}

/// Runs `command`, and prints what it printed once it has ended, and what it took: by the clock, and of the
/// processors, with all that it started and waited for.
#[expect(clippy::disallowed_methods, reason = "how long tests take is for whoever makes them quicker")]
fn run_printing(command: Command, heading: &str) -> Result<Ran> {
    println!("     Running {heading}");
    let began = Instant::now();
    let (text, ran) = run_reading(command)?;
    let mut out = io::stdout().lock();
    let (clock, processors) = (began.elapsed().as_secs_f64(), ran.processor_time.as_secs_f64());
    writeln!(out, "     Ended {heading} after {clock:.1} s, {processors:.1} s of the processors")?;
    out.write_all(&text)?;
    Ok(ran)
}

/// Runs `command`: what it printed, and what that says.
fn run_reading(mut command: Command) -> Result<(Vec<u8>, Ran)> {
    let (mut reader, writer) = io::pipe()?;
    command.stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn().with_context(|| format!("cannot start {}", process::words(&command)))?;
    // Its ends of the pipe are closed, so that the text ends with the program.
    drop(command);
    let mut text = Vec::new();
    reader.read_to_end(&mut text)?;
    let pid = Pid::from_raw(child.id().try_into().context("a process number")?);
    // Its account is open until it is waited for.
    waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT)?;
    let processor_time = process::processor_time(pid).unwrap_or_default();
    let is_well = child.wait()?.success();
    let ran = Ran { processor_time, ..Ran::read(&text, is_well) };
    Ok((text, ran))
}

/// Something to run, and what came of it.
type Work<'a> = Box<dyn FnOnce() -> Result<Ran> + Send + 'a>;

/// Runs all tests of these programs, and with [`Tier::All`] the examples in documents.
pub fn run(programs: &[Program], tier: Tier, variables: &Variables<'_>) -> Result<Ran> {
    let (mut real, mut others): (Vec<Work<'_>>, Vec<Work<'_>>) = (Vec::new(), Vec::new());
    if tier == Tier::All {
        // Compiled as they are run, by one processor: not to be the last.
        others.push(Box::new(move || run_examples(variables)));
    }
    for program in longest_first(programs) {
        let queue = if program.is_real() { &mut real } else { &mut others };
        queue.push(Box::new(move || program.run(variables, &[])));
    }
    let queues = [real, others].map(|work| Mutex::new(work.into_iter()));
    thread::scope(|scope| {
        let lanes = queues.iter().flat_map(|queue| std::iter::repeat_n(queue, AT_ONCE));
        let threads: Vec<_> = lanes.map(|queue| scope.spawn(move || one_by_one(queue))).collect();
        let mut ran = Ran { all_well: true, ..Ran::default() };
        for thread in threads {
            ran.join(thread.join().expect("a thread that runs tests does not panic")?);
        }
        Ok(ran)
    })
}

/// The programs in the order in which they begin: those of [`LONGEST`], then the rest in cargo's order.
fn longest_first(programs: &[Program]) -> Vec<&Program> {
    let mut ordered: Vec<&Program> = programs.iter().collect();
    ordered.sort_by_key(|program| {
        let is = |(package, source): &(&str, &str)| {
            program.package() == *package && program.source == Path::new(source)
        };
        LONGEST.iter().position(is).unwrap_or(LONGEST.len())
    });
    ordered
}

/// Does what is next in `queue` until there is nothing.
fn one_by_one<'a>(queue: &Mutex<impl Iterator<Item = Work<'a>>>) -> Result<Ran> {
    let next = || queue.lock().map_err(|_| "another thread panicked").ok()?.next();
    let mut ran = Ran { all_well: true, ..Ran::default() };
    while let Some(work) = next() {
        ran.join(work()?);
    }
    Ok(ran)
}

/// Runs the examples in documents.
fn run_examples(variables: &Variables<'_>) -> Result<Ran> {
    let mut command = idle(Path::new(process::cargo().get_program()));
    command.args(["test", "--workspace", "--no-fail-fast", "--doc"]).envs(variables.iter().copied());
    run_printing(command, "examples in documents")
}

/// Runs the tests of these names again, one at a time, in all programs.
pub fn run_again(programs: &[Program], variables: &Variables<'_>, names: &[String]) -> Result<Ran> {
    let mut filter = ["--exact", "--test-threads", "1"].map(str::to_owned).to_vec();
    filter.extend_from_slice(names);
    let mut ran = Ran { all_well: true, ..Ran::default() };
    for program in programs {
        ran.join(program.run(variables, &filter)?);
    }
    Ok(ran)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_programs_time_is_its_own_and_that_of_its_children() {
        let home = tempfile::tempdir().unwrap();
        let busy = program(&home, "busy", "sh -c 'n=0; while [ $n -lt 60000 ]; do n=$((n+1)); done'");
        let (_, ran) = run_reading(busy.command(&[], &[])).unwrap();
        assert!((10..60_000).contains(&ran.processor_time.as_millis()), "{:?}", ran.processor_time);
    }

    #[test]
    fn cargos_messages_name_the_test_programs() {
        let messages = br#"{"reason":"compiler-artifact","manifest_path":"/a/farfield/Cargo.toml","target":{"src_path":"/a/farfield/tests/fit.rs"},"profile":{"test":true},"executable":"/t/fit-1"}
{"reason":"compiler-artifact","manifest_path":"/a/farfield/Cargo.toml","target":{"src_path":"/a/farfield/src/main.rs"},"profile":{"test":false},"executable":"/t/farfield"}
{"reason":"compiler-artifact","manifest_path":"/a/net/Cargo.toml","target":{"src_path":"/a/net/src/lib.rs"},"profile":{"test":true},"executable":null}
{"reason":"build-finished","success":true}
"#;
        let programs = listed(messages).unwrap();
        assert_eq!(programs.len(), 1);
        assert_eq!(programs[0].heading(), "tests/fit.rs of farfield (fit-1)");
        assert!(programs[0].is_real());
    }

    fn built(package: &str, source: &str) -> Program {
        let folder = Path::new("/a/crates").join(package);
        Program { folder, source: source.into(), executable: "/t/a-1".into() }
    }

    #[test]
    fn the_longest_begin_first() {
        let all = [
            built("farfield-net", "src/lib.rs"),
            built("farfield", "tests/commands/main.rs"),
            built("farfield", "src/main.rs"),
            built("farfield", "tests/faults/main.rs"),
        ];
        let ordered = longest_first(&all);
        assert_eq!(ordered, [&all[3], &all[1], &all[0], &all[2]]);
        // The table names programs that there are.
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for (package, source) in LONGEST {
            let is_there = |folder: &str| root.join(folder).join(package).join(source).is_file();
            assert!(is_there("crates") || is_there(""), "{package} has no {source}");
        }
    }

    #[test]
    fn a_minutes_tests_are_those_beside_the_code() {
        let all = [
            built("farfield-net", "src/lib.rs"),
            built("farfield", "src/main.rs"),
            built("farfield", "tests/wan/main.rs"),
            built("farfield-net", "tests/codel.rs"),
            built("experiments", "src/main.rs"),
        ];
        let chosen = |tier: Tier| all.iter().map(|program| tier.has(program)).collect::<Vec<_>>();
        assert_eq!(chosen(Tier::Quick), [true, true, false, false, false]);
        assert_eq!(chosen(Tier::All), [true; 5]);
        assert_eq!(Tier::Quick.cargo_args(), ["--lib", "--bins", "--exclude", "experiments"]);
        assert!(Tier::All.cargo_args().is_empty());
    }

    /// A program in a folder that nobody else writes into: it is run.
    fn program(home: &tempfile::TempDir, name: &str, script: &str) -> Program {
        let folder = home.path().to_owned();
        let executable = folder.join(name);
        std::fs::write(&executable, format!("#!/bin/sh\n{script}\n")).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&executable, mode).unwrap();
        Program { folder, source: "tests/a.rs".into(), executable }
    }

    #[test]
    fn what_programs_print_is_read_and_their_failure_is_seen() {
        let home = tempfile::tempdir().unwrap();
        let well = program(
            &home,
            "well",
            "echo 'running 1 test'; echo \"test $FOUND ... ok\" >&2; echo 'test result: ok. 1 passed; 0 failed'",
        );
        let ill = program(
            &home,
            "ill",
            "echo 'running 1 test'; echo 'test b ... FAILED'; echo 'test result: F. 0 passed; 1 failed'; exit 101",
        );
        let (_, ran) = run_reading(well.command(&[("FOUND", Path::new("a"))], &[])).unwrap();
        assert_eq!((ran.tally.passed, ran.all_well, ran.crashed), (1, true, 0));
        let (text, ran) = run_reading(ill.command(&[], &[])).unwrap();
        assert!(text.starts_with(b"running 1 test\ntest b ... FAILED\n"));
        assert_eq!((ran.failed, ran.all_well), (vec!["b".to_owned()], false));
    }
}
