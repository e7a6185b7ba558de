//! The system's ssh to a host: scripts for its sh, the copy of farfield that it is given, and the start of a
//! part.
//!
//! The login shell there may be any, csh and fish among them. So a script is one line in single quotes,
//! without `\` and `!`, which some of them read even there, and what it works with are its arguments.

use crate::problem::Problem;
use farfield_base::Part;
use farfield_files::open_regular;
use rustix::process::{Pid, Signal, kill_process_group};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

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
/// Time between two looks at a process.
const LOOK: Duration = Duration::from_millis(20);
/// Looks after which a process that was asked to end is killed.
const DEAF: u32 = 100;
/// Bytes of an answer that are kept.
const ANSWER_MAX: u64 = 64 << 10;
/// Names of the copy for a program of digest `$1` and of `$2` bytes, and the check that a file is all of
/// it: by its size, and by its digest where there is sha256sum.
const COPY: &str = "home=\"$HOME/.cache/farfield\"; own=\"$home/farfield-$1\"; digest=\"$1\"; size=\"$2\"; \
    is_whole() { [ -f \"$1\" ] && [ \"$(wc -c < \"$1\")\" -eq \"$size\" ] && \
    case \"$(sha256sum < \"$1\" 2>/dev/null)\" in \"$digest\"*|\"\") true;; *) false;; esac; }; ";
/// Prints the name of the copy, or that of version `$3` on the path, or `none`.
const FIND: &str = "if [ -x \"$own\" ] && is_whole \"$own\"; then touch \"$own\"; echo \"$own\"; \
    elif [ -n \"$3\" ] && [ \"$(farfield --version 2>/dev/null)\" = \"farfield $3\" ]; then command -v farfield; \
    else echo none; fi";
/// Makes the copy of standard input, and removes others that no run has used for a week.
const PUT: &str = "umask 077; mkdir -p \"$home\" || exit 1; draft=\"$own.$$\"; clean() { rm -f \"$draft\"; }; \
    trap clean EXIT; trap \"exit 1\" HUP INT TERM; cat > \"$draft\" || exit 1; \
    is_whole \"$draft\" || { echo \"the copy is not whole\" >&2; exit 1; }; \
    chmod 700 \"$draft\" && \"$draft\" --version >/dev/null && mv -f \"$draft\" \"$own\" || exit 1; \
    find \"$home\" -type f -name \"farfield-*\" -mtime +6 -exec rm -f {} +; echo \"$own\"";
/// Starts program `$1` as part `$3` of the gatherer at port `$2` of `$4`; of where this ssh comes from if
/// that is empty.
const START: &str = "IFS= read -r FARFIELD_TOKEN; export FARFIELD_TOKEN; at=\"$4\"; \
    if [ -z \"$at\" ]; then at=\"${SSH_CONNECTION%% *}\"; fi; case \"$at\" in *:*) at=\"[$at]\";; esac; \
    exec \"$1\" run --join \"$at:$2\" --part \"$3\" </dev/null";

/// A host.
pub struct Ssh {
    pub host: String,
    /// The command that reaches it.
    pub command: String,
}

/// A part to be started.
pub struct Start {
    pub port: u16,
    pub part: Part,
    /// Address of the gatherer.
    pub address: Option<String>,
}

impl Ssh {
    fn begin(&self, line: &str, stdin: Stdio) -> io::Result<Child> {
        let mut words = self.command.split_whitespace();
        let mut command = Command::new(words.next().unwrap_or("ssh"));
        command.args(words).args(OPTIONS).args(["--", &self.host, line]);
        // Ctrl-C in the terminal is the gatherer's, which ends the parts.
        command.process_group(0).stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
    }

    /// Starts a part there; the ticket goes into its standard input.
    pub fn start(&self, path: &str, start: &Start) -> io::Result<Child> {
        self.begin(&start.line(path), Stdio::piped())
    }

    /// The last line that `script` prints there, with `input` as its standard input.
    fn ask(&self, line: &str, input: Option<File>, stop: &AtomicBool) -> Result<String, String> {
        let stdin = if input.is_some() { Stdio::piped() } else { Stdio::null() };
        let mut child = self.begin(line, stdin).map_err(|error| format!("{}: {error}", self.command))?;
        // By a pipe, not the file itself: it ends with this process, and a copy that is half made with it.
        let given = child.stdin.take().zip(input);
        let given = given.map(|(mut to, mut from)| thread::spawn(move || drop(io::copy(&mut from, &mut to))));
        let said = child.stdout.take().map(|pipe| thread::spawn(move || last_line(pipe)));
        let why = child.stderr.take().map(|pipe| thread::spawn(move || last_line(pipe)));
        let status = wait(&self.command, &mut child, stop)?;
        drop(given.map(thread::JoinHandle::join));
        let [said, why] = [said, why].map(|line| line.and_then(|line| line.join().ok()).unwrap_or_default());
        match (status.success(), said, why) {
            (true, said, _) if !said.is_empty() => Ok(said),
            (_, _, why) if !why.is_empty() => Err(why),
            _ => Err(format!("{} ended ({status})", self.command)),
        }
    }

    /// The path of the program there, which is copied if it is missing.
    pub fn provide(&self, program: &Program, stop: &AtomicBool) -> Result<String, String> {
        let path = match self.ask(&program.line(FIND), None, stop)?.as_str() {
            "none" => {
                let file = open_regular(&program.path).map_err(|error| error.to_string())?;
                let put = self.ask(&program.line(PUT), Some(file), stop);
                put.map_err(|why| format!("farfield cannot be copied there, or does not run: {why}"))?
            }
            found => found.to_owned(),
        };
        let is_path = path.starts_with('/') && !path.contains(['\'', '\\', '!']);
        if is_path { Ok(path) } else { Err(format!("`{path}` is no path of a program")) }
    }
}

impl Start {
    fn line(&self, path: &str) -> String {
        let (port, part) = (self.port.to_string(), self.part.to_string());
        line(START, &[path, &port, &part, self.address.as_deref().unwrap_or_default()])
    }
}

/// Waits for the end of a process that leads a group, which `stop` ends with all that it has started;
/// messages name it by its `command`.
pub fn wait(command: &str, child: &mut Child, stop: &AtomicBool) -> Result<ExitStatus, String> {
    let mut asked = 0;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) => {}
            Err(error) => return Err(format!("{command}: {error}")),
        }
        if stop.load(Ordering::Relaxed) {
            match asked {
                0 => drop(kill_process_group(Pid::from_child(child), Signal::TERM)),
                DEAF => drop(kill_process_group(Pid::from_child(child), Signal::KILL)),
                _ => {}
            }
            asked += 1;
        }
        thread::park_timeout(LOOK);
    }
}

/// The line by which any shell has sh run `script` with these arguments.
fn line(script: &str, arguments: &[&str]) -> String {
    let arguments: String = arguments.iter().map(|argument| format!(" '{argument}'")).collect();
    format!("sh -c '{script}' farfield{arguments}")
}

/// The last line that is not empty.
fn last_line(pipe: impl Read) -> String {
    let (mut pipe, mut kept) = (pipe, Vec::new());
    while let Ok(1..) = pipe.by_ref().take(ANSWER_MAX).read_to_end(&mut kept) {
        kept.drain(..kept.len().saturating_sub(ANSWER_MAX as usize));
    }
    let text = String::from_utf8_lossy(&kept);
    text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned()
}

/// The running program, to be copied.
#[derive(Debug, Clone)]
pub struct Program {
    path: PathBuf,
    /// The first half of its SHA-256.
    digest: String,
    bytes: u64,
}

impl Program {
    /// The program of this process.
    pub fn own() -> Result<Program, Problem> {
        let unread = |error: io::Error| Problem::failed(format!("cannot read farfield itself: {error}"));
        let path = std::env::current_exe().map_err(unread)?;
        let (mut digest, mut bytes) = (Sha256::new(), 0);
        let (mut file, mut piece) = (open_regular(&path).map_err(unread)?, vec![0; 1 << 16]);
        loop {
            match file.read(&mut piece).map_err(unread)? {
                0 => break,
                count => {
                    digest.update(&piece[..count]);
                    bytes += count as u64;
                }
            }
        }
        let digest: String = digest.finalize().iter().take(12).map(|byte| format!("{byte:02x}")).collect();
        Ok(Program { path, digest, bytes })
    }

    /// The line of a script about its copy. A build for tests is no release of its version.
    fn line(&self, script: &str) -> String {
        let version = if cfg!(debug_assertions) { "" } else { env!("CARGO_PKG_VERSION") };
        line(&format!("{COPY}{script}"), &[&self.digest, &self.bytes.to_string(), version])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_files::temporary_folder;
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_line_is_the_same_in_each_shell() {
        let home = temporary_folder("test-").expect("a folder");
        let program = home.path().join("two words");
        let mut file = farfield_files::create_private(&program).expect("own file");
        file.write_all(b"#!/bin/sh\necho \"$FARFIELD_TOKEN: $*\"\n").expect("own file");
        file.set_permissions(PermissionsExt::from_mode(0o700)).expect("own file");
        drop(file);
        let part = Part::new(1, 2).expect("a part");
        let start = Start { port: 9, part, address: Some("PART-PORT-PROGRAM".to_owned()) };
        let line = start.line(program.to_str().expect("UTF-8"));
        for script in [line.as_str(), &format!("{COPY}{FIND}"), &format!("{COPY}{PUT}")] {
            assert!(!script.contains(['\n', '\\', '!']), "{script}");
        }
        for shell in ["sh", "bash", "zsh", "csh", "tcsh", "fish"] {
            let mut command = Command::new(shell);
            command.args(["-c", &line]).stdin(Stdio::piped()).stdout(Stdio::piped());
            // Not each machine has each of them; the first is on all.
            let Ok(mut child) = command.spawn() else { continue };
            writeln!(child.stdin.take().expect("a pipe"), "a b").expect("it reads");
            let said = child.wait_with_output().expect("its end").stdout;
            let said = String::from_utf8(said).expect("UTF-8");
            assert_eq!(said, "a b: run --join PART-PORT-PROGRAM:9 --part 1/2\n", "{shell}");
        }
    }
}
