//! The tool's process: started under an init that adopts all that it starts, observed, and ended with all
//! of them.
//!
//! Its standard output and error go into files. Processor time is read from `/proc`: of all its processes
//! by what the kernel counts for ended children, of its busiest thread by looking four times a second.

use crate::problem::Problem;
use farfield_os::clock::monotonic_ns;
use farfield_os::init::{ChildSetup, put_under_init};
use farfield_verify::audit::ToolRun;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Between two looks at whether it has ended.
const LOOK: Duration = Duration::from_millis(10);
/// Looks between two samples of its threads.
const SAMPLE_EVERY: u32 = 25;
/// Time that the tool may take to end after Ctrl-C, and then after SIGTERM.
const PATIENCE_NS: [u64; 2] = [5_000_000_000, 2_000_000_000];
/// Time for which processes that the tool leaves behind may go on.
const LEFT_BEHIND_NS: u64 = 1_000_000_000;
/// The kernel's unit of processor time in `/proc`, `USER_HZ`: 100 a second on Linux.
const TICK_S: f64 = 0.01;

/// A tool that has ended.
pub struct ToolEnd {
    /// The record of its run.
    pub run: ToolRun,
    /// The tool ended by itself, with the exit code 0.
    pub succeeded: bool,
}

/// A tool to be run.
pub struct Tool<'a> {
    /// Program and arguments.
    pub command: &'a [OsString],
    /// The tool's environment besides this process's own.
    pub environment: Vec<(&'static str, String)>,
    /// The file for its standard output.
    pub output: &'a File,
    /// The file for its standard error, which exists.
    pub errors: &'a File,
}

impl Tool<'_> {
    /// Runs the tool until it ends, or, once `stop` is set, until it has been ended.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn run(&self, stop: &AtomicBool) -> Result<ToolEnd, Problem> {
        let before = children_cpu_s();
        let start = monotonic_ns();
        let child = self.start()?;
        let mut watch = ToolProcess::of(child, stop);
        let status = watch.until_it_ends()?;
        let cpu_s = (children_cpu_s() - before).max(watch.cpu_s());
        let run = ToolRun {
            command: self.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            ended: in_words(status, &watch),
            interrupted: watch.interrupted,
            wall_s: (monotonic_ns() - start) as f64 / 1e9,
            cpu_s,
            busiest_thread_s: if watch.threads_max <= 1 { cpu_s } else { watch.busiest_s().min(cpu_s) },
            threads: watch.threads_max,
        };
        Ok(ToolEnd { run, succeeded: status.success() && !watch.interrupted })
    }

    fn start(&self) -> Result<Child, Problem> {
        let program = &self.command[0];
        let refused = |error: std::io::Error| {
            let hint = match error.kind() {
                std::io::ErrorKind::NotFound => "; install it, or give its path",
                std::io::ErrorKind::PermissionDenied => "; is it a program?",
                _ => "",
            };
            Problem::failed(format!("cannot start {}: {error}{hint}", program.to_string_lossy()))
        };
        let file = |file: &File| {
            file.try_clone()
                .map_err(|error| Problem::failed(format!("cannot write what the tool prints: {error}")))
        };
        let mut command = Command::new(program);
        command.args(&self.command[1..]).envs(self.environment.iter().map(|(name, value)| (*name, value)));
        command.stdin(Stdio::null()).stdout(file(self.output)?).stderr(file(self.errors)?);
        put_under_init(&mut command, false, ChildSetup::default()).map_err(refused)?;
        command.spawn().map_err(refused)
    }
}

/// `ended with exit code 1`, or by which signal.
fn in_words(status: ExitStatus, watch: &ToolProcess<'_>) -> String {
    let how = match status.code() {
        Some(code) if code > 128 => format!("was ended by signal {}", code - 128),
        Some(code) => format!("ended with exit code {code}"),
        None => "was ended by a signal".to_owned(),
    };
    match (watch.interrupted, watch.left_behind) {
        (true, _) => format!("{how}, after Ctrl-C"),
        (false, true) => format!("{how}, and left processes behind, which were ended"),
        (false, false) => how,
    }
}

/// A process of the tool, as `/proc` shows it.
#[derive(Debug, Clone, Copy)]
struct Process {
    pid: i32,
    parent: i32,
    ticks: u64,
    threads: u64,
}

struct ToolProcess<'a> {
    child: Child,
    stop: &'a AtomicBool,
    /// The tool's own process: the init's first child.
    tool: Option<i32>,
    interrupted: bool,
    left_behind: bool,
    /// Since when the tool's own process is gone, and since when and how far it is being ended.
    gone_since: Option<u64>,
    ending: Option<(u64, usize)>,
    threads_max: u64,
    /// Ticks of each process and of each thread.
    processes: BTreeMap<i32, u64>,
    threads: BTreeMap<i32, u64>,
}

impl ToolProcess<'_> {
    fn of(child: Child, stop: &AtomicBool) -> ToolProcess<'_> {
        ToolProcess {
            child,
            stop,
            tool: None,
            interrupted: false,
            left_behind: false,
            gone_since: None,
            ending: None,
            threads_max: 0,
            processes: BTreeMap::new(),
            threads: BTreeMap::new(),
        }
    }

    fn until_it_ends(&mut self) -> Result<ExitStatus, Problem> {
        let mut looks = 0;
        loop {
            let ended = self.child.try_wait();
            if let Some(status) = ended.map_err(|error| Problem::failed(format!("cannot wait: {error}")))? {
                return Ok(status);
            }
            if looks % SAMPLE_EVERY == 0 {
                self.sample();
            }
            self.end_if_due();
            looks += 1;
            std::thread::park_timeout(LOOK);
        }
    }

    /// Ends the tool in steps, if that was asked for or if only what it left behind still runs.
    fn end_if_due(&mut self) {
        let now = monotonic_ns();
        if let Some((since, step)) = self.ending {
            if PATIENCE_NS.get(step).is_some_and(|patience| now - since > *patience) {
                self.send(if step == 0 { Signal::TERM } else { Signal::KILL });
                self.ending = Some((now, step + 1));
            }
        } else if self.stop.load(Ordering::Relaxed) {
            self.interrupted = true;
            self.send(Signal::INT);
            self.ending = Some((now, 0));
        } else if self.gone_since.is_some_and(|since| now - since > LEFT_BEHIND_NS) {
            self.left_behind = true;
            self.send(Signal::TERM);
            self.ending = Some((now, 1));
        }
    }

    /// Sends a signal to every process of the tool.
    fn send(&self, signal: Signal) {
        for process in self.family() {
            if let Some(pid) = Pid::from_raw(process.pid) {
                // It may have ended in the meantime.
                let _ = kill_process(pid, signal);
            }
        }
    }

    fn sample(&mut self) {
        let family = self.family();
        let init = self.child.id() as i32;
        if self.tool.is_none() {
            self.tool = family.iter().find(|process| process.parent == init).map(|process| process.pid);
        }
        let runs = family.iter().any(|process| Some(process.pid) == self.tool);
        self.gone_since = match (self.tool, runs) {
            (Some(_), false) => self.gone_since.or(Some(monotonic_ns())),
            _ => None,
        };
        self.threads_max = self.threads_max.max(family.iter().map(|process| process.threads).sum());
        for process in family {
            self.processes.insert(process.pid, process.ticks);
            let tasks = fs::read_dir(format!("/proc/{}/task", process.pid)).into_iter().flatten().flatten();
            for task in tasks {
                if let Some(thread) = read_stat(&task.path().join("stat")) {
                    self.threads.insert(thread.pid, thread.ticks);
                }
            }
        }
    }

    /// All processes below the init.
    fn family(&self) -> Vec<Process> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbered =
            entries.filter(|entry| entry.file_name().to_string_lossy().bytes().all(|b| b.is_ascii_digit()));
        let all: Vec<Process> = numbered.filter_map(|entry| read_stat(&entry.path().join("stat"))).collect();
        let mut family = Vec::new();
        let mut parents = vec![self.child.id() as i32];
        while let Some(parent) = parents.pop() {
            for process in all.iter().filter(|process| process.parent == parent) {
                family.push(*process);
                parents.push(process.pid);
            }
        }
        family
    }

    fn cpu_s(&self) -> f64 {
        self.processes.values().sum::<u64>() as f64 * TICK_S
    }

    fn busiest_s(&self) -> f64 {
        self.threads.values().max().copied().unwrap_or(0) as f64 * TICK_S
    }
}

impl Drop for ToolProcess<'_> {
    /// Leaves nothing behind, even if the audit ends by an error.
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            self.send(Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

/// A `stat` file of a process or a thread; proc_pid_stat(5).
fn read_stat(path: &Path) -> Option<Process> {
    let text = farfield_files::system::read_text(path).ok()?;
    let pid = text.split_whitespace().next()?.parse().ok()?;
    // The name in brackets may hold anything.
    let fields: Vec<&str> = text.rsplit_once(") ")?.1.split_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(Process {
        pid,
        parent: fields.get(1)?.parse().ok()?,
        ticks: number(11)? + number(12)?,
        threads: number(17)?,
    })
}

/// Processor seconds of all children that have ended, with theirs.
fn children_cpu_s() -> f64 {
    let text = farfield_files::system::read_text("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> =
        text.rsplit_once(") ").map(|(_, rest)| rest.split_whitespace().collect()).unwrap_or_default();
    let number = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
    (number(13) + number(14)) as f64 * TICK_S
}
