//! The test programs of the workspace, and running them, several at once.
//!
//! Tests of real kernels and real servers mostly wait: two of their programs run beside each other. All
//! others only compute; two of them at a time run at idle priority, so that they get what is left of the
//! processors and delay nobody. What a program printed is printed when it has ended.

use super::tally::Ran;
use anyhow::{Context, Result};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use serde::Deserialize;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;
use xtask::{process, system};

/// The packages whose tests are of real kernels and real servers.
const REAL: [&str; 3] = ["farfield", "farfield-engine", "farfield-origin"];

/// How many of their programs run at once, and how many of the others.
const AT_ONCE: usize = 2;

/// A test program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The folder of its package, in which it runs.
    folder: PathBuf,
    /// Its main file, as that folder has it.
    source: PathBuf,
    executable: PathBuf,
}

/// What cargo says of something that it has built, as far as it matters here.
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

/// What tests need to know of this task, as variables of their environment.
pub type Variables<'a> = [(&'static str, &'a Path)];

/// Builds all test programs, and returns them in cargo's order.
pub fn build() -> Result<Vec<Program>> {
    let mut command = process::cargo();
    command.args(["test", "--workspace", "--no-run", "--message-format=json-render-diagnostics"]);
    eprintln!("$ {}", process::words(&command));
    listed(&process::output(&mut command)?)
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
    fn is_real(&self) -> bool {
        self.folder.file_name().is_some_and(|name| REAL.iter().any(|real| name == *real))
    }

    /// What its runs are headed with.
    fn heading(&self) -> String {
        let package = self.folder.file_name().unwrap_or_default();
        let program = self.executable.file_name().unwrap_or_default();
        format!("{} of {} ({})", self.source.display(), package.display(), program.display())
    }

    /// The command that runs those of its tests that `filter`, arguments of test runners, leaves.
    fn command(&self, variables: &Variables<'_>, filter: &[String]) -> Command {
        let mut command = match self.is_real() {
            true => Command::new(&self.executable),
            false => idle(&self.executable),
        };
        command.args(filter).current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        // A package is called what its folder is called.
        command.env("CARGO_PKG_NAME", self.folder.file_name().unwrap_or_default());
        command.envs(variables.iter().copied());
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

/// Runs all tests of all programs, and the examples in documents.
pub fn run(programs: &[Program], variables: &Variables<'_>) -> Result<Ran> {
    let (mut real, mut others): (Vec<Work<'_>>, Vec<Work<'_>>) = (Vec::new(), Vec::new());
    // Compiled as they are run, by one processor: not to be the last.
    others.push(Box::new(move || run_examples(variables)));
    for program in programs {
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
