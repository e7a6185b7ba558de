//! Runs of an experiment as processes of this same program: each is `farfield run`, with a directory of its
//! own in which `design.json` says what it is.
//!
//! A run that is there already, whole, of the same design and with the same keys, is read back: an
//! experiment asks for the same runs again as long as they come to the same, and so goes on where it was.
//! Ctrl-C ends a run as it ends any; its directory stays, is marked as incomplete, and is made again beside
//! it.

use crate::flags::on::Door;
use farfield_base::Duration;
use farfield_experiment::Stop;
use farfield_experiment::trial::DESIGN_FILE;
use farfield_files::input::DOCUMENT_MAX;
use farfield_os::clock::monotonic_ns;
use farfield_report::RunDirectory;
use rustix::process::{Pid, Signal, kill_process};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Directories of one run: the others are of runs that were broken off.
const DIRECTORIES_MAX: u32 = 100;
/// Bytes of messages of a run that are kept.
const MESSAGES_MAX: u64 = 8 << 10;

/// Makes runs by child processes.
pub struct ChildRuns {
    /// The scenario or the URL; farfield's built-in server if absent.
    pub what: Option<String>,
    /// The flags that are the same for all.
    pub words: Vec<String>,
    /// The digest of the scenario that they come to: runs of another are not read back.
    pub scenario: String,
    /// The door through which each is made by parts, of which `words` speak; by one process if absent.
    pub on: Option<Door>,
    /// Set by Ctrl-C.
    pub stop: Arc<AtomicBool>,
}

/// The run that an experiment asks for.
pub struct ChildRun<'a, T> {
    /// The run's place in the experiment, as `design.json` keeps it.
    pub design: &'a T,
    /// The run's point, in words.
    pub point: &'a str,
    /// Keys with their values, set after the user's own and so in their place.
    pub sets: Vec<(String, String)>,
    /// The run's directory; `-2`, `-3` and so on are added where runs were broken off.
    pub directory: PathBuf,
}

impl<T> ChildRun<'_, T> {
    /// The keys with the values that they have in the end.
    fn keys(&self) -> BTreeMap<String, String> {
        self.sets.iter().cloned().collect()
    }
}

/// A run that was made, now or before.
pub struct ChildResult {
    /// The run's directory.
    pub run: RunDirectory,
    /// Seconds that it took, with start and end.
    pub took_s: f64,
    /// True if it was there already.
    pub read_back: bool,
}

/// `design.json`.
#[derive(Debug, Serialize, Deserialize)]
struct DesignFile<T> {
    #[serde(flatten)]
    design: T,
    /// Absent in those of older searches.
    scenario: Option<String>,
    /// The keys that were set for this run, with their values; absent in those of older searches.
    keys: Option<BTreeMap<String, String>>,
    /// The door through which it was made by parts; absent where one process made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    on: Option<String>,
    took_s: f64,
}

impl ChildRuns {
    /// Makes a run, or reads it back.
    ///
    /// # Errors
    /// If it was interrupted or could not be made, or if there is one of another experiment in its place.
    pub fn run<T>(&self, asked: &ChildRun<T>) -> Result<ChildResult, Stop>
    where
        T: Serialize + DeserializeOwned + PartialEq + Clone,
    {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Stop::Interrupted);
        }
        let path = asked.directory.display().to_string();
        let further = (2..=DIRECTORIES_MAX).map(|number| PathBuf::from(format!("{path}-{number}")));
        for directory in std::iter::once(asked.directory.clone()).chain(further) {
            if !directory.exists() {
                return self.make(asked, &directory);
            }
            if let Some(made) = self.read_back(asked, &directory)? {
                return Ok(made);
            }
        }
        Err(Stop::Failed(format!("beside {path} are too many broken runs")))
    }

    /// A finished run; `None` if it was broken off.
    fn read_back<T>(&self, asked: &ChildRun<T>, directory: &Path) -> Result<Option<ChildResult>, Stop>
    where
        T: DeserializeOwned + PartialEq,
    {
        let Ok(text) = farfield_files::read_text(&directory.join(DESIGN_FILE), DOCUMENT_MAX) else {
            return Ok(None);
        };
        let directory = directory.display();
        let other = |what: &str| {
            Stop::Failed(format!("{directory} is of another {what}; choose another folder with --out"))
        };
        let kept: DesignFile<T> = serde_json::from_str(&text).map_err(|_| other("experiment"))?;
        if kept.design != *asked.design {
            return Err(other("experiment"));
        }
        if kept.scenario.is_some_and(|scenario| scenario != self.scenario) {
            return Err(other("scenario"));
        }
        if let Some(change) = kept.keys.and_then(|kept| changed(&kept, &asked.keys())) {
            return Err(Stop::Failed(format!(
                "{directory} was made with {change}; give it the same again, or choose another folder with --out"
            )));
        }
        if !is_made_alike(kept.on.as_deref(), self.on.as_ref()) {
            let one = || "one process of this machine".to_owned();
            let (kept, asked) =
                (kept.on.unwrap_or_else(one), self.on.as_ref().map_or_else(one, Door::to_string));
            return Err(Stop::Failed(format!(
                "{directory} was made by {kept}, and {asked} is asked for now (--on); give it the same again, or choose \
                 another folder with --out"
            )));
        }
        let run = RunDirectory::open(directory.to_string());
        let run = run.map_err(|error| Stop::Failed(error.to_string()))?;
        Ok(Some(ChildResult { run, took_s: kept.took_s, read_back: true }))
    }

    fn make<T: Serialize + Clone>(&self, asked: &ChildRun<T>, directory: &Path) -> Result<ChildResult, Stop> {
        let begun_ns = monotonic_ns();
        let child = self.command(asked, directory)?.spawn();
        let child = child.map_err(|error| Stop::Failed(format!("cannot start a run: {error}")))?;
        let (status, messages) = self.wait(child);
        // In whole microseconds: what is read back of the file is the same number.
        let took_s = Duration::from_ns((monotonic_ns() - begun_ns) / 1_000 * 1_000).as_secs_f64();
        if self.stop.load(Ordering::Relaxed) {
            return Err(Stop::Interrupted);
        }
        let failed = |why: &str| match asked.point {
            "" => Stop::Failed(format!("a run failed: {why}")),
            point => Stop::Failed(format!("a run with {point} failed: {why}")),
        };
        // Also an invalid run was measured, and one that did not keep its thresholds.
        let measured = matches!(status.and_then(|status| status.code()), Some(0 | 3 | 99));
        if !measured {
            let last =
                messages.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it ended early");
            return Err(failed(last.strip_prefix("farfield: ").unwrap_or(last)));
        }
        let run = RunDirectory::open(directory).map_err(|error| failed(&error.to_string()))?;
        let design = asked.design.clone();
        let (scenario, keys) = (Some(self.scenario.clone()), Some(asked.keys()));
        let on = self.on.as_ref().map(Door::to_string);
        let file = DesignFile { design, scenario, keys, on, took_s };
        let text = serde_json::to_string_pretty(&file).expect("a design is JSON") + "\n";
        let put = farfield_files::output::put(&directory.join(DESIGN_FILE), text.as_bytes());
        put.map_err(|error| failed(&format!("{DESIGN_FILE} cannot be written: {error}")))?;
        Ok(ChildResult { run, took_s, read_back: false })
    }

    fn command<T>(&self, asked: &ChildRun<T>, directory: &Path) -> Result<Command, Stop> {
        let program = std::env::current_exe();
        let program = program.map_err(|error| Stop::Failed(format!("cannot find farfield: {error}")))?;
        let mut command = Command::new(program);
        command.arg("run").args(&self.words);
        for (key, value) in &asked.sets {
            command.arg(format!("--set={key}={value}"));
        }
        command.arg(format!("--with-parent={}", std::process::id()));
        command.args(["--quiet", "--no-report", "--out"]).arg(directory);
        // Last, so that a file may be named like a flag.
        if let Some(what) = &self.what {
            command.arg("--").arg(what);
        }
        // Ctrl-C in the terminal is passed on, once.
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        Ok(command)
    }

    /// Waits for a run, and ends it as Ctrl-C does when the experiment is interrupted.
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
}

/// True if a run that was made through the door `kept` may stand for one through `asked`: with as many parts,
/// started in the same way. A host that is gone may have another in its place.
fn is_made_alike(kept: Option<&str>, asked: Option<&Door>) -> bool {
    match (kept, asked) {
        (None, None) => true,
        (Some(kept), Some(asked)) => kept.parse::<Door>().is_ok_and(|kept| kept.is_like(asked)),
        _ => false,
    }
}

/// The first key that a run was made with and that is another now, in words.
fn changed(kept: &BTreeMap<String, String>, asked: &BTreeMap<String, String>) -> Option<String> {
    let keys: BTreeSet<&String> = kept.keys().chain(asked.keys()).collect();
    let key = keys.into_iter().find(|key| kept.get(*key) != asked.get(*key))?;
    Some(match (kept.get(key), asked.get(key)) {
        (Some(kept), Some(asked)) => format!("{key} = {kept}, and {asked} is asked for now"),
        (Some(kept), None) => format!("{key} = {kept}, which is not asked for now"),
        (None, asked) => format!("no {key}, and {} is asked for now", asked.map_or("", String::as_str)),
    })
}

/// The last messages of a run, of which the very last says why it failed; all are read, so that the run does
/// not wait.
fn messages(mut stderr: impl Read) -> String {
    let mut text = Vec::new();
    while let Ok(1..) = stderr.by_ref().take(MESSAGES_MAX).read_to_end(&mut text) {
        text.drain(..text.len().saturating_sub(MESSAGES_MAX as usize));
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// A time as a key takes it, to the nanosecond.
pub fn in_ns(time: Duration) -> String {
    format!("{}ns", time.as_ns())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run that said much before it failed, such as which parts it waited for, is asked for its last line.
    #[test]
    fn the_last_of_many_messages_is_kept() {
        let said = "farfield: waiting: part 2/2 has not joined\n".repeat(1_000) + "farfield: it is over\n";
        let kept = messages(said.as_bytes());
        assert_eq!(kept.len() as u64, MESSAGES_MAX);
        assert_eq!(kept.lines().last(), Some("farfield: it is over"));
        assert_eq!(messages(&b"one\ntwo\n"[..]), "one\ntwo\n");
    }

    #[test]
    fn a_run_by_other_parts_is_another_run() {
        let asked: Door = "ssh:a,b".parse().expect("a door");
        assert!(is_made_alike(Some("ssh:a,c"), Some(&asked)) && is_made_alike(None, None));
        for kept in [Some("ssh:a,b,c"), Some("local:2"), Some("what a later farfield has"), None] {
            assert!(!is_made_alike(kept, Some(&asked)), "{kept:?}");
        }
        assert!(!is_made_alike(Some("ssh:a,b"), None));
    }

    /// Goals, warm-ups and curves of a question are keys of their runs: with other ones a run is another.
    #[test]
    fn a_run_with_another_key_is_another_run() {
        let keys = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect::<BTreeMap<_, _>>()
        };
        let kept = keys(&[("seed", "1"), ("thresholds", "['p99<1ms']")]);
        assert_eq!(changed(&kept, &kept), None);
        let change = |asked: &[(&str, &str)]| changed(&kept, &keys(asked)).expect("a change");
        assert_eq!(
            change(&[("seed", "1"), ("thresholds", "['p99<9ms']")]),
            "thresholds = ['p99<1ms'], and ['p99<9ms'] is asked for now"
        );
        assert_eq!(change(&[("thresholds", "['p99<1ms']")]), "seed = 1, which is not asked for now");
        let more = [("run.warm-up", "15s"), ("seed", "1"), ("thresholds", "['p99<1ms']")];
        assert_eq!(change(&more), "no run.warm-up, and 15s is asked for now");
    }
}
