//! Parts on hosts that the system's ssh reaches: the program is copied where it is missing, and started with
//! the ticket on its standard input, where no list of processes shows it.

use super::super::gather::Rendezvous;
use crate::exit::Exit;
use crate::flags::cluster::ClusterRunFlags;
use crate::metrics::listen;
use crate::output;
use crate::problem::Problem;
use farfield_base::Part;
use farfield_engine::interrupt;
use farfield_engine::rendezvous::GatherKey;
use farfield_files::open_regular;
use rustix::process::{Pid, Signal, kill_process};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

/// Bytes of a line of a host that are shown.
const LINE_MAX: u64 = 4 << 10;
/// Options of ssh: it asks nothing, waits no longer than this to connect, and notices a dead host.
const OPTIONS: [&str; 8] = [
    "-o",
    "BatchMode=yes",
    "-o",
    "ConnectTimeout=10",
    "-o",
    "ServerAliveInterval=5",
    "-o",
    "ServerAliveCountMax=3",
];
/// Looks for a program of this digest, or of this version on the path, and prints its name, or `none`.
const FIND: &str = r#"own="$HOME/.cache/farfield/farfield-DIGEST"
if [ -x "$own" ]; then echo "$own"
elif [ "$(farfield --version 2>/dev/null)" = "farfield VERSION" ] && [ RELEASED = true ]; then command -v farfield
else echo none; fi"#;
/// Puts standard input there.
const PUT: &str = r#"umask 077; own="$HOME/.cache/farfield/farfield-DIGEST"
mkdir -p "$HOME/.cache/farfield" && cat > "$own.$$" && chmod 700 "$own.$$" && "$own.$$" --version >/dev/null && mv "$own.$$" "$own" && echo "$own""#;
/// Starts a part. The gatherer is where this ssh came from, unless its address is given.
const START: &str = r#"IFS= read -r FARFIELD_TOKEN; export FARFIELD_TOKEN
at="ADDRESS"
if [ -z "$at" ]; then at="${SSH_CONNECTION%% *}"; fi
case "$at" in *:*) at="[$at]";; esac
exec "PROGRAM" run --join "$at:PORT" --part "PART" </dev/null"#;

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
    let listener = listen(&flags.listen, "--listen")?;
    let rendezvous =
        Rendezvous::begin(&flags.what, &flags.rendezvous, parts.clone(), GatherKey::generate(), listener)?;
    let program = Program::own()?;
    let started = Arc::new(Started { stop: Arc::clone(&stop), ..Started::default() });
    let hosts: Vec<JoinHandle<()>> = flags
        .hosts
        .iter()
        .zip(parts)
        .map(|(host, part)| {
            let ssh = Ssh { host: host.clone(), command: flags.ssh.clone() };
            let address = flags.address.clone().unwrap_or_default();
            let start = START
                .replace("ADDRESS", &address)
                .replace("PORT", &rendezvous.address().port().to_string())
                .replace("PART", &part.to_string());
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

fn is_of_address(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || ".:-_%".contains(letter)
}

/// The hosts of a run.
#[derive(Default)]
struct Started {
    stop: Arc<AtomicBool>,
    has_begun: AtomicBool,
    is_over: AtomicBool,
    /// The first host that could not be used, before the start.
    failed: Mutex<Option<String>>,
}

impl Started {
    /// Starts a part at a host, and waits for its end.
    fn host(&self, ssh: &Ssh, program: &Program, start: &str, ticket: &str) {
        let ended = ssh.provide(program).and_then(|path| {
            let child = ssh.begin(&start.replace("PROGRAM", &path), Stdio::piped());
            let mut child = child.map_err(|error| error.to_string())?;
            let given = child.stdin.take().map(|mut stdin| writeln!(stdin, "{ticket}"));
            given.transpose().map_err(|error| error.to_string())?;
            self.attend(ssh, child)
        });
        if let Err(why) = ended
            && !self.has_begun.load(Ordering::Relaxed)
        {
            if let Ok(mut failed) = self.failed.lock() {
                failed.get_or_insert(format!("{}: {why}", ssh.host));
            }
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Shows what a host says until its part has ended.
    fn attend(&self, ssh: &Ssh, mut child: Child) -> Result<(), String> {
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
        let mut asked = false;
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) => {}
                Err(error) => return Err(error.to_string()),
            }
            if self.is_over.load(Ordering::Relaxed) && !asked {
                // A host that is cut off answers no more, and has nothing to say that is still of use.
                asked = true;
                let _ = kill_process(Pid::from_child(&child), Signal::TERM);
            }
            thread::park_timeout(std::time::Duration::from_millis(20));
        };
        let last =
            shown.into_iter().filter_map(|shown| shown.join().ok()).filter(|last| !last.is_empty()).last();
        match status.code() {
            // Codes of a part that was measured.
            Some(0 | 3 | 99 | 105 | 130) => Ok(()),
            _ => Err(last.unwrap_or_else(|| format!("{} ended ({status})", ssh.command))),
        }
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

/// A host.
struct Ssh {
    host: String,
    command: String,
}

impl Ssh {
    fn begin(&self, script: &str, stdin: Stdio) -> io::Result<Child> {
        let mut words = self.command.split_whitespace();
        let mut command = Command::new(words.next().unwrap_or("ssh"));
        command.args(words).args(OPTIONS).args(["--", &self.host]);
        // The user's shell there may be any: a script in single quotes for sh is the same in all.
        command.arg(format!("sh -c '{}'", script.replace('\'', r"'\''")));
        // Ctrl-C in the terminal is the gatherer's, which ends the parts.
        command.process_group(0).stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
    }

    /// The last line that `script` prints there.
    fn ask(&self, script: &str, stdin: Stdio) -> Result<String, String> {
        let child = self.begin(script, stdin);
        let done =
            child.and_then(Child::wait_with_output).map_err(|error| format!("{}: {error}", self.command))?;
        let last = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned()
        };
        match (done.status.success(), last(&done.stdout), last(&done.stderr)) {
            (true, said, _) if !said.is_empty() => Ok(said),
            (_, _, why) if !why.is_empty() => Err(why),
            _ => Err(format!("{} ended ({})", self.command, done.status)),
        }
    }

    /// The path of the program there, which is copied if it is missing.
    fn provide(&self, program: &Program) -> Result<String, String> {
        let path = match self.ask(&program.filled(FIND), Stdio::null())?.as_str() {
            "none" => {
                let file = program.open().map_err(|error| error.to_string())?;
                let put = self.ask(&program.filled(PUT), file.into());
                put.map_err(|why| format!("farfield cannot be copied there, or does not run: {why}"))?
            }
            found => found.to_owned(),
        };
        let is_path = path.starts_with('/') && !path.contains(['"', '$', '`', '\\']);
        if is_path { Ok(path) } else { Err(format!("`{path}` is no path of a program")) }
    }
}

/// This program, to be copied.
#[derive(Debug, Clone)]
struct Program {
    path: PathBuf,
    digest: String,
}

impl Program {
    fn own() -> Result<Program, Problem> {
        let unread = |error: io::Error| Problem::failed(format!("cannot read farfield itself: {error}"));
        let path = std::env::current_exe().map_err(unread)?;
        let mut digest = Sha256::new();
        let (mut file, mut piece) = (open_regular(&path).map_err(unread)?, vec![0; 1 << 16]);
        loop {
            match file.read(&mut piece).map_err(unread)? {
                0 => break,
                count => digest.update(&piece[..count]),
            }
        }
        let digest: String = digest.finalize().iter().take(12).map(|byte| format!("{byte:02x}")).collect();
        Ok(Program { path, digest })
    }

    fn open(&self) -> io::Result<File> {
        open_regular(&self.path)
    }

    /// `script` with what it is to know of the program. A build for tests is no release of its version.
    fn filled(&self, script: &str) -> String {
        let released = if cfg!(debug_assertions) { "false" } else { "true" };
        let filled = script.replace("DIGEST", &self.digest).replace("VERSION", env!("CARGO_PKG_VERSION"));
        filled.replace("RELEASED", released)
    }
}
