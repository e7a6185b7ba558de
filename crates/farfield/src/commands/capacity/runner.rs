//! Trials as runs of this same program: each a process `farfield run`, with a directory of its own below the
//! folder of the search.
//!
//! A trial that is there already, whole and of the same design, is read back: a search makes the same trials
//! again as long as they come to the same, and so goes on where it was. Ctrl-C ends the run as it ends any;
//! its directory stays, is marked as incomplete, and is made again beside it.

use super::load::RisingLoad;
use super::observe::observed;
use crate::output;
use farfield_base::Duration;
use farfield_base::printable;
use farfield_experiment::{Design, Observed, Runner, Stop, Trial};
use farfield_files::input::DOCUMENT_MAX;
use farfield_os::clock::monotonic_ns;
use farfield_report::RunDirectory;
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// The file in a run directory that says which trial it is.
const DESIGN_FILE: &str = "design.json";
/// Directories of one trial: the others are of runs that were broken off.
const DIRECTORIES_MAX: u32 = 100;
/// Bytes of messages of a run that are kept.
const MESSAGES_MAX: u64 = 8 << 10;

/// Makes trials by child processes.
pub struct ChildRunner {
    /// The scenario or the URL, with the flags that are the same for all.
    pub words: Vec<String>,
    /// The load that rises.
    pub load: RisingLoad,
    /// The goals, each a threshold.
    pub goals: Vec<String>,
    /// The length of warm-ups; a quarter of the measured part if absent.
    pub warm_up: Option<Duration>,
    /// The folder of trials.
    pub folder: PathBuf,
    /// Set by Ctrl-C.
    pub stop: Arc<AtomicBool>,
    /// Whether no progress is printed.
    pub quiet: bool,
}

/// `design.json`: the place of a run in its experiment, and what it took.
#[derive(Debug, Serialize, Deserialize)]
struct DesignFile {
    #[serde(flatten)]
    design: Design,
    load: f64,
    length_ns: u64,
    took_s: f64,
}

impl Runner for ChildRunner {
    fn run(&mut self, trial: &Trial) -> Result<Observed, Stop> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Stop::Interrupted);
        }
        let name = format!("{:04}", trial.design.number);
        let names = std::iter::once(name.clone()).chain((2..=DIRECTORIES_MAX).map(|n| format!("{name}-{n}")));
        for directory in names.map(|name| self.folder.join(name)) {
            if !directory.exists() {
                let observed = self.make(trial, &directory)?;
                self.show(trial, &observed);
                return Ok(observed);
            }
            if let Some(observed) = self.read_back(trial, &directory)? {
                return Ok(observed);
            }
        }
        Err(Stop::Failed(format!("{} holds too many broken runs", self.folder.display())))
    }
}

impl ChildRunner {
    /// What a finished run came to; `None` if it was broken off.
    fn read_back(&self, trial: &Trial, directory: &Path) -> Result<Option<Observed>, Stop> {
        let Ok(text) = farfield_files::read_text(&directory.join(DESIGN_FILE), DOCUMENT_MAX) else {
            return Ok(None);
        };
        let other = || {
            let directory = directory.display();
            Stop::Failed(format!("{directory} is of another search; choose another folder with --out"))
        };
        let kept: DesignFile = serde_json::from_str(&text).map_err(|_| other())?;
        if (&kept.design, kept.load, kept.length_ns) != (&trial.design, trial.load, trial.length.as_ns()) {
            return Err(other());
        }
        let run = RunDirectory::open(directory).map_err(|error| Stop::Failed(error.to_string()))?;
        Ok(Some(observed(run.summary(), &self.goals, directory, kept.took_s)))
    }

    fn make(&self, trial: &Trial, directory: &Path) -> Result<Observed, Stop> {
        let begun_ns = monotonic_ns();
        let child = self.command(trial, directory)?.spawn();
        let child = child.map_err(|error| Stop::Failed(format!("cannot start a run: {error}")))?;
        let (status, messages) = self.wait(child);
        let took_s = Duration::from_ns(monotonic_ns() - begun_ns).as_secs_f64();
        if self.stop.load(Ordering::Relaxed) {
            return Err(Stop::Interrupted);
        }
        let failed = |why: &str| Stop::Failed(format!("a run with {} failed: {why}", trial.design.point));
        // Also an invalid run was measured, and one that did not keep its goals.
        let measured = matches!(status.and_then(|status| status.code()), Some(0 | 3 | 99));
        if !measured {
            let last =
                messages.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it ended early");
            return Err(failed(last.strip_prefix("farfield: ").unwrap_or(last)));
        }
        let run = RunDirectory::open(directory).map_err(|error| failed(&error.to_string()))?;
        let observed = observed(run.summary(), &self.goals, directory, took_s);
        let file = DesignFile {
            design: trial.design.clone(),
            load: trial.load,
            length_ns: trial.length.as_ns(),
            took_s,
        };
        let text = serde_json::to_string_pretty(&file).expect("a design is JSON") + "\n";
        let put = farfield_files::output::put(&directory.join(DESIGN_FILE), text.as_bytes());
        put.map_err(|error| failed(&format!("{DESIGN_FILE} cannot be written: {error}")))?;
        Ok(observed)
    }

    fn command(&self, trial: &Trial, directory: &Path) -> Result<Command, Stop> {
        let program = std::env::current_exe();
        let program = program.map_err(|error| Stop::Failed(format!("cannot find farfield: {error}")))?;
        let mut command = Command::new(program);
        command.arg("run").args(&self.words);
        let quarter = Duration::from_ns(trial.length.as_ns() / 4);
        let goals = toml::Value::from(self.goals.clone());
        // After the user's own, and so in their place.
        for (key, value) in [
            (self.load.key.as_str(), self.load.value(trial.load)),
            ("run.duration", in_ns(trial.length)),
            ("run.warm-up", in_ns(self.warm_up.unwrap_or(quarter))),
            ("seed", trial.design.seed.to_string()),
            ("thresholds", goals.to_string()),
        ] {
            command.arg(format!("--set={key}={value}"));
        }
        command.args(["--quiet", "--no-report", "--samples=none", "--out"]).arg(directory);
        // Ctrl-C in the terminal is passed on, once.
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        Ok(command)
    }

    /// Waits for a run, and ends it as Ctrl-C does when the search is interrupted.
    fn wait(&self, mut child: Child) -> (Option<ExitStatus>, String) {
        let messages = child.stderr.take().map(|stderr| thread::spawn(move || messages(stderr)));
        let mut asked = false;
        let status = loop {
            match child.try_wait() {
                Ok(None) => {}
                Ok(Some(status)) => break Some(status),
                Err(_) => break None,
            }
            if self.stop.load(Ordering::Relaxed) && !asked {
                // One that cannot be signalled has ended.
                let _ = kill_process(Pid::from_child(&child), Signal::INT);
                asked = true;
            }
            thread::park_timeout(std::time::Duration::from_millis(5));
        };
        let messages = messages.and_then(|messages| messages.join().ok()).unwrap_or_default();
        (status, messages)
    }

    fn show(&self, trial: &Trial, observed: &Observed) {
        if !self.quiet {
            let line = super::text::progress(&self.load, trial, observed);
            output::put_progress(&printable(&line, &[]), false);
        }
    }
}

/// The first messages of a run; the rest is read, so that the run does not wait.
fn messages(mut stderr: impl Read) -> String {
    let mut text = Vec::new();
    let _ = stderr.by_ref().take(MESSAGES_MAX).read_to_end(&mut text);
    let _ = std::io::copy(&mut stderr, &mut std::io::sink());
    String::from_utf8_lossy(&text).into_owned()
}

fn in_ns(time: Duration) -> String {
    format!("{}ns", time.as_ns())
}
