//! Parts on hosts that the system's ssh reaches: the program is copied where it is missing, and started with
//! the ticket on its standard input, where no list of processes shows it.

use super::super::gather::Rendezvous;
use super::ssh::{Program, Ssh, Start};
use crate::exit::Exit;
use crate::flags::cluster::ClusterRunFlags;
use crate::metrics::listen;
use crate::output;
use crate::problem::Problem;
use farfield_base::Part;
use farfield_engine::interrupt;
use farfield_engine::rendezvous::GatherKey;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

/// Bytes of a line of a host that are shown.
const LINE_MAX: u64 = 4 << 10;

/// Makes one run on the hosts that the flags name.
pub fn run(flags: &ClusterRunFlags) -> Result<Exit, Problem> {
    if flags.hosts.len() < 2 {
        return Err(Problem::usage("--hosts: name two parts at least; `farfield run` makes a run of one"));
    }
    if let Some(odd) = flags.hosts.iter().find(|host| host.is_empty() || host.starts_with('-')) {
        return Err(Problem::usage(format!("--hosts: `{odd}` is no host")));
    }
    if let Some(odd) = flags.address.iter().find(|address| !address.chars().all(is_of_address)) {
        return Err(Problem::usage(format!("--address: `{odd}` is no address")));
    }
    let stop =
        interrupt::flag().map_err(|error| Problem::failed(format!("cannot listen for signals: {error}")))?;
    let of = flags.hosts.len() as u32;
    let parts = (1..=of).map(|number| Part::new(number, of)).collect::<Result<Vec<Part>, _>>();
    let parts = parts.map_err(Problem::usage)?;
    let listener = listen_for_parts(flags.listen.as_deref())?;
    let program = Program::own()?;
    let rendezvous =
        Rendezvous::begin(&flags.what, &flags.rendezvous, parts.clone(), GatherKey::generate(), listener)?;
    let started = Arc::new(RunProgress { stop: Arc::clone(&stop), ..RunProgress::default() });
    let hosts: Vec<JoinHandle<()>> = flags
        .hosts
        .iter()
        .zip(parts)
        .map(|(host, part)| {
            let ssh = Ssh { host: host.clone(), command: flags.ssh.clone() };
            let (port, address) = (rendezvous.address().port(), flags.address.clone());
            let start = Start { port, part, address };
            let (ticket, program, started) =
                (rendezvous.ticket().to_string(), program.clone(), Arc::clone(&started));
            thread::spawn(move || started.host(&ssh, &program, &start, &ticket))
        })
        .collect();
    let held = rendezvous.hold_with(&stop, || started.has_begun.store(true, Ordering::Relaxed));
    started.end();
    hosts.into_iter().for_each(|host| drop(host.join()));
    let failed = started.failed.lock().map_or(None, |failed| failed.clone());
    match (held, failed) {
        (Err(_), Some(why)) => Err(Problem::failed(format!("{why}; nothing was measured"))),
        (held, _) => held,
    }
}

/// Listens where parts come in: at `given`, or at any address of either family, since the ssh of a host may
/// come over either.
fn listen_for_parts(given: Option<&str>) -> Result<TcpListener, Problem> {
    match given {
        Some(given) => listen(given, "--listen"),
        // A kernel without IPv6 has IPv4 alone.
        None => listen("[::]:0", "--listen").or_else(|_| listen("0.0.0.0:0", "--listen")),
    }
}

fn is_of_address(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || ".:-_%".contains(letter)
}

/// The hosts of a run.
#[derive(Default)]
struct RunProgress {
    stop: Arc<AtomicBool>,
    has_begun: AtomicBool,
    is_over: AtomicBool,
    /// The first host that could not be used, before the start.
    failed: Mutex<Option<String>>,
}

impl RunProgress {
    /// Starts a part at a host, and waits for its end, which is a failure where the run has not begun.
    fn host(&self, ssh: &Ssh, program: &Program, start: &Start, ticket: &str) {
        let ended = ssh.provide(program, &self.stop).and_then(|path| {
            let child = ssh.start(&path, start);
            let mut child = child.map_err(|error| error.to_string())?;
            // An ssh that has ended says why, better than a broken pipe does.
            drop(child.stdin.take().map(|mut stdin| writeln!(stdin, "{ticket}")));
            self.attend(ssh, child)
        });
        let why = match ended {
            Ok(last) => last,
            Err(why) => why,
        };
        // Where the run is over, or was stopped, parts end by that.
        if !self.has_begun.load(Ordering::Relaxed) && !self.stop.load(Ordering::Relaxed) {
            if let Ok(mut failed) = self.failed.lock() {
                failed.get_or_insert(format!("{}: {why}", ssh.host));
            }
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Shows what a host says until its part has ended, and returns the last of it.
    fn attend(&self, ssh: &Ssh, mut child: Child) -> Result<String, String> {
        let pipes: [Option<Box<dyn Read + Send>>; 2] = [
            child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>),
            child.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>),
        ];
        let shown: Vec<JoinHandle<String>> = pipes
            .into_iter()
            .flatten()
            .map(|pipe| {
                let host = ssh.host.clone();
                thread::spawn(move || show(&host, pipe))
            })
            .collect();
        // A host that is cut off answers no more, and has nothing to say that is still of use.
        let status = ssh.wait(&mut child, &self.is_over)?;
        let last =
            shown.into_iter().filter_map(|shown| shown.join().ok()).filter(|last| !last.is_empty()).last();
        Ok(last.unwrap_or_else(|| format!("{} ended ({status})", ssh.command)))
    }

    /// Ends what is left.
    fn end(&self) {
        self.has_begun.store(true, Ordering::Relaxed);
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// Shows lines of a host, and returns the last.
fn show(host: &str, pipe: impl Read) -> String {
    let (mut lines, mut last) = (BufReader::new(pipe), String::new());
    loop {
        let mut line = Vec::new();
        match lines.by_ref().take(LINE_MAX).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return last,
            Ok(_) => {}
        }
        let line = String::from_utf8_lossy(&line).trim_end().to_owned();
        if !line.is_empty() {
            output::put_error(format_args!("{host}: {line}\n"));
            last = line;
        }
    }
}
