//! The runs that the workbench has started: each a process `farfield run FILE --format jsonl`.
//!
//! A run ends as with Ctrl-C, by SIGINT, and keeps what it measured. None is left behind: the workbench waits
//! for all of them at its end, and where it is killed, a run finds that nobody reads its lines and ends too.

use super::shown::shown;
use crate::commands::run::now_rfc3339;
use crate::live::figures::RunFacts;
use crate::live::view::View;
use crate::live::wire::Line;
use crate::web::events::EventHub;
use farfield_base::{Duration, printable};
use farfield_os::clock::Clock;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// Runs at once: more would measure each other.
const AT_ONCE: usize = 4;
/// Runs that have ended and are still listed as such.
const ENDED_KEPT: usize = 20;
/// Bytes of messages of a run that are kept.
const MESSAGES_MAX: usize = 8 << 10;
/// The longest line that a run writes.
const LINE_BYTES_MAX: u64 = 64 << 20;

/// All runs that were started.
#[derive(Debug)]
pub struct WorkbenchRuns {
    folder: PathBuf,
    scenarios: PathBuf,
    hub: Arc<EventHub>,
    all: Mutex<RunTable>,
}

#[derive(Debug, Default)]
struct RunTable {
    runs: Vec<StartedRun>,
    next: u64,
    /// The workbench ends, and starts no more.
    closed: bool,
}

#[derive(Debug)]
struct StartedRun {
    state: Arc<Mutex<RunState>>,
    thread: Option<JoinHandle<()>>,
}

/// A run as it stands.
#[derive(Debug)]
struct RunState {
    id: u64,
    scenario: String,
    directory: PathBuf,
    /// The process; `None` once it has ended, since its number may then be another's.
    child: Option<Child>,
    exit: Option<i32>,
    messages: String,
    /// The figures, as the page shows them.
    figures: Value,
}

impl RunState {
    fn json(&self) -> Value {
        let name = self.directory.file_name().unwrap_or_default().to_string_lossy();
        json!({
            "id": self.id,
            "scenario": printable(&self.scenario, &[]),
            "name": printable(&name, &[]),
            "running": self.child.is_some(),
            "exit": self.exit,
            "messages": printable(&self.messages, &['\n']),
            "figures": self.figures,
        })
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl WorkbenchRuns {
    /// No runs yet; they go into `folder`, and their scenarios are in `scenarios`.
    pub fn new(folder: PathBuf, scenarios: PathBuf) -> WorkbenchRuns {
        WorkbenchRuns { folder, scenarios, hub: Arc::default(), all: Mutex::default() }
    }

    /// The events of all runs.
    pub fn hub(&self) -> &EventHub {
        &self.hub
    }

    /// Starts a run of a scenario file that starts programs of this digest and no others; returns its number.
    /// An error is a sentence.
    pub fn start(&self, scenario: &str, programs: &str) -> Result<u64, String> {
        let mut all = locked(&self.all);
        if all.closed {
            return Err("the workbench is ending".to_owned());
        }
        let is_running = |run: &&StartedRun| locked(&run.state).child.is_some();
        if all.runs.iter().filter(is_running).count() >= AT_ONCE {
            return Err(format!("{AT_ONCE} runs are under way, and more would disturb each other; stop one"));
        }
        farfield_files::output::folder(&self.folder)
            .map_err(|error| format!("cannot make the folder {}: {error}", self.folder.display()))?;
        let directory = free_directory(&self.folder, scenario);
        let program = std::env::current_exe().map_err(|error| format!("cannot find farfield: {error}"))?;
        let mut command = Command::new(program);
        command.arg("run").arg(self.scenarios.join(scenario)).args(["--format", "jsonl", "--quiet"]);
        command.args(["--starts-only", programs, "--out"]).arg(&directory);
        // Ctrl-C in the workbench's terminal is the workbench's: it passes it on.
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("cannot start a run: {error}"))?;
        let (lines, messages) = (child.stdout.take(), child.stderr.take());
        all.next += 1;
        let id = all.next;
        let state = Arc::new(Mutex::new(RunState {
            id,
            scenario: scenario.to_owned(),
            directory,
            child: Some(child),
            exit: None,
            messages: String::new(),
            figures: Value::Null,
        }));
        let (hub, followed) = (Arc::clone(&self.hub), Arc::clone(&state));
        let thread = thread::spawn(move || {
            let reading = messages.map(|messages| {
                let followed = Arc::clone(&followed);
                thread::spawn(move || keep_messages(messages, &followed))
            });
            if let Some(lines) = lines {
                follow(BufReader::new(lines), &followed, &hub);
            }
            let _ = reading.map(JoinHandle::join);
            reap(&followed);
            send(&hub, &followed);
        });
        all.runs.push(StartedRun { state: Arc::clone(&state), thread: Some(thread) });
        let ended = all.runs.iter().filter(|run| locked(&run.state).child.is_none()).count();
        if ended > ENDED_KEPT {
            let oldest = all.runs.iter().position(|run| locked(&run.state).child.is_none());
            oldest.map(|at| all.runs.remove(at));
        }
        drop(all);
        send(&self.hub, &state);
        Ok(id)
    }

    /// Ends a run as Ctrl-C does. An error is a sentence.
    pub fn stop(&self, id: u64) -> Result<(), String> {
        let all = locked(&self.all);
        let found = all.runs.iter().find(|run| locked(&run.state).id == id);
        let state = found.map(|run| locked(&run.state)).ok_or("there is no such run")?;
        let child = state.child.as_ref().ok_or("the run has ended already")?;
        interrupt(child)
    }

    /// All runs, the newest first.
    pub fn json(&self) -> Value {
        locked(&self.all).runs.iter().rev().map(|run| locked(&run.state).json()).collect()
    }

    /// Number of runs that have not ended.
    pub fn under_way(&self) -> usize {
        locked(&self.all).runs.iter().filter(|run| locked(&run.state).child.is_some()).count()
    }

    /// Ends all runs, and waits for them.
    pub fn end_all(&self) {
        let mut all = locked(&self.all);
        all.closed = true;
        for run in &all.runs {
            // One that cannot be signalled has ended.
            let _ = locked(&run.state).child.as_ref().map(interrupt);
        }
        let threads: Vec<_> = all.runs.iter_mut().filter_map(|run| run.thread.take()).collect();
        drop(all);
        for thread in threads {
            let _ = thread.join();
        }
        self.hub.close();
    }
}

/// Sends SIGINT to a process that has not been waited for, so that its number is still its own.
fn interrupt(child: &Child) -> Result<(), String> {
    kill_process(Pid::from_child(child), Signal::INT)
        .map_err(|error| format!("cannot signal the run: {error}"))
}

/// A directory for a run: the time and the scenario's name, and a number where that is taken.
fn free_directory(folder: &Path, scenario: &str) -> PathBuf {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
    let stem: String = scenario.trim_end_matches(".toml").chars().map(plain).take(60).collect();
    let base = format!("{}-{stem}", now_rfc3339().replace(':', "-"));
    let mut names = std::iter::once(base.clone()).chain((2..).map(|number| format!("{base}-{number}")));
    names
        .find_map(|name| Some(folder.join(name)).filter(|path| !path.exists()))
        .expect("numbers do not run out")
}

/// Follows the lines of a run to their end.
fn follow(mut lines: impl BufRead, state: &Mutex<RunState>, hub: &EventHub) {
    let clock = Clock::starting_in(Duration::ZERO);
    let mut view: Option<View> = None;
    loop {
        let mut line = Vec::new();
        match lines.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        match serde_json::from_slice::<Line>(&line) {
            Ok(Line::Run(run)) => {
                let facts: RunFacts = run.facts();
                view = Some(View::new(facts, false));
            }
            Ok(Line::Figures(figures)) => {
                if let Some(view) = &mut view {
                    view.take(figures.figures(), clock.now());
                }
            }
            Ok(Line::Result(result)) => {
                if let Some(view) = &mut view {
                    view.figures.summary = Some(result.summary);
                    view.ended = true;
                }
                locked(state).directory = result.directory;
            }
            // The run is of this same program: it writes nothing else.
            Err(_) => continue,
        }
        if let Some(view) = &view {
            locked(state).figures = shown(view, clock.now());
        }
        send(hub, state);
    }
}

/// Keeps the last messages of a run: warnings, and what is wrong.
fn keep_messages(messages: impl Read, state: &Mutex<RunState>) {
    for line in BufReader::new(messages).split(b'\n').map_while(Result::ok) {
        let mut state = locked(state);
        let text = String::from_utf8_lossy(&line);
        if state.messages.len() + text.len() < MESSAGES_MAX {
            state.messages.push_str(&text);
            state.messages.push('\n');
        }
    }
}

/// Waits for the end of a run whose lines have ended.
fn reap(state: &Mutex<RunState>) {
    loop {
        let mut now = locked(state);
        let Some(child) = now.child.as_mut() else { return };
        match child.try_wait() {
            Ok(None) => {}
            Ok(Some(status)) => {
                now.exit = status.code();
                now.child = None;
                return;
            }
            Err(_) => {
                now.child = None;
                return;
            }
        }
        drop(now);
        thread::park_timeout(std::time::Duration::from_millis(20));
    }
}

fn send(hub: &EventHub, state: &Mutex<RunState>) {
    let state = locked(state).json();
    hub.send("run", &state);
}
