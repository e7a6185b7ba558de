//! Parts that this process starts, at hosts by ssh or by commands of its own machine, and the run that is
//! gathered from them.

use super::super::gather::{GatherRequest, Rendezvous};
use super::super::joined::TOKEN;
use super::ssh::{Program, Ssh, Start, wait};
use crate::exit::Exit;
use crate::output;
use crate::problem::Problem;
use farfield_base::Part;
use farfield_engine::rendezvous::GatherKey;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

/// Bytes of a line of a part that are shown.
const LINE_MAX: u64 = 4 << 10;

/// The way in which a part is started, or several at once.
pub enum PartStart {
    /// A host's, by ssh: the program is copied where it is missing, and the ticket goes over its standard
    /// input.
    Ssh { ssh: Ssh, program: Program, start: Start },
    /// By a command of this machine, which has the ticket in its environment. Its standard output is shown if
    /// it is a pipe.
    Command { name: String, command: Command },
}

/// A process that starts parts, or is one.
struct PartProcess {
    child: Child,
    /// Its command, for messages.
    command: String,
}

impl PartStart {
    /// Name of what is started, for messages.
    fn name(&self) -> &str {
        match self {
            PartStart::Ssh { ssh, .. } => &ssh.host,
            PartStart::Command { name, .. } => name,
        }
    }

    fn start(self, ticket: &str, stop: &AtomicBool) -> Result<PartProcess, String> {
        match self {
            PartStart::Ssh { ssh, program, start } => {
                let path = ssh.provide(&program, stop)?;
                let mut child = ssh.start(&path, &start).map_err(|error| error.to_string())?;
                // An ssh that has ended says why, better than a broken pipe does.
                drop(child.stdin.take().map(|mut stdin| writeln!(stdin, "{ticket}")));
                Ok(PartProcess { child, command: ssh.command })
            }
            PartStart::Command { mut command, .. } => {
                let name = command.get_program().to_string_lossy().into_owned();
                // Ctrl-C in the terminal is the gatherer's, which ends the parts.
                command.env(TOKEN, ticket).process_group(0).stdin(Stdio::null()).stderr(Stdio::piped());
                let child = command.spawn();
                let child = child.map_err(|error| format!("{name}: {error}"))?;
                Ok(PartProcess { child, command: name })
            }
        }
    }
}

/// Makes the run of so many equal parts, and prints its result. `starts` has the starts of the parts, which
/// join at the address.
pub fn gathered(
    request: GatherRequest,
    count: u32,
    listener: TcpListener,
    stop: &Arc<AtomicBool>,
    starts: impl FnOnce(SocketAddr, &[Part]) -> Vec<PartStart>,
) -> Result<Exit, Problem> {
    let parts = (1..=count).map(|number| Part::new(number, count)).collect::<Result<Vec<Part>, _>>();
    let parts = parts.map_err(Problem::usage)?;
    let rendezvous = Rendezvous::begin(request, parts.clone(), GatherKey::generate(), listener)?;
    let progress = Arc::new(RunProgress { stop: Arc::clone(stop), ..RunProgress::default() });
    let attended: Vec<JoinHandle<()>> = starts(rendezvous.address(), &parts)
        .into_iter()
        .map(|start| {
            let (ticket, progress) = (rendezvous.ticket().to_string(), Arc::clone(&progress));
            thread::spawn(move || progress.part(start, &ticket))
        })
        .collect();
    let held = rendezvous.hold_with(stop, || progress.has_begun.store(true, Ordering::Relaxed));
    progress.end();
    attended.into_iter().for_each(|part| drop(part.join()));
    let failed = progress.failed.lock().map_or(None, |failed| failed.clone());
    match (held, failed) {
        (Err(_), Some(why)) => Err(Problem::failed(format!("{why}; nothing was measured"))),
        (held, _) => held,
    }
}

/// The parts of a run.
#[derive(Default)]
struct RunProgress {
    stop: Arc<AtomicBool>,
    has_begun: AtomicBool,
    is_over: AtomicBool,
    /// The first that could not be started, or ended before the start of the run.
    failed: Mutex<Option<String>>,
}

impl RunProgress {
    /// Starts a part, and waits for its end, which is a failure where the run has not begun.
    fn part(&self, start: PartStart, ticket: &str) {
        let name = start.name().to_owned();
        let ended = start.start(ticket, &self.stop).and_then(|started| self.attend(&name, started));
        let why = match ended {
            Ok(last) => last,
            Err(why) => why,
        };
        // Where the run is over, or was stopped, parts end by that.
        if !self.has_begun.load(Ordering::Relaxed) && !self.stop.load(Ordering::Relaxed) {
            if let Ok(mut failed) = self.failed.lock() {
                failed.get_or_insert(format!("{name}: {why}"));
            }
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Shows what a part says until it has ended, and returns the last of it.
    fn attend(&self, name: &str, PartProcess { mut child, command }: PartProcess) -> Result<String, String> {
        let pipes: [Option<Box<dyn Read + Send>>; 2] = [
            child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>),
            child.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>),
        ];
        let shown: Vec<JoinHandle<String>> = pipes
            .into_iter()
            .flatten()
            .map(|pipe| {
                let name = name.to_owned();
                thread::spawn(move || show(&name, pipe))
            })
            .collect();
        // A host that is cut off answers no more, and has nothing to say that is still of use.
        let status = wait(&command, &mut child, &self.is_over)?;
        let last =
            shown.into_iter().filter_map(|shown| shown.join().ok()).filter(|last| !last.is_empty()).last();
        Ok(last.unwrap_or_else(|| format!("{command} ended ({status})")))
    }

    /// Ends what is left.
    fn end(&self) {
        self.has_begun.store(true, Ordering::Relaxed);
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// Shows lines of a part, and returns the last.
fn show(name: &str, pipe: impl Read) -> String {
    let (mut lines, mut last) = (BufReader::new(pipe), String::new());
    loop {
        let mut line = Vec::new();
        match lines.by_ref().take(LINE_MAX).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return last,
            Ok(_) => {}
        }
        let line = String::from_utf8_lossy(&line).trim_end().to_owned();
        if !line.is_empty() {
            output::put_error(format_args!("{name}: {line}\n"));
            last = line;
        }
    }
}
