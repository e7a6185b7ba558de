//! The server's processes: started inside the testbed, ready before clients come, and gone afterwards whatever happens.

use super::processes;
use super::{LimitUse, Limits};
use crate::os::clock::{Clock, monotonic_ns};
use crate::os::control_group::{ControlGroup, ControlGroupError, ControlGroupPlan};
use crate::os::init::{self, ChildSetup};
use crate::os::namespace::{self, Namespace};
use crate::os::processors;
use crate::os::user::User;
use farfield_base::{Duration, Instant, printable};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Signal, pidfd_send_signal};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::str::FromStr;
use std::sync::mpsc;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::{fmt, io, process, thread};

/// How a server is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSpec {
    /// What to run.
    pub command: Command,
    /// How it shows that it is ready.
    pub ready: Ready,
    /// How long it may take for that.
    pub ready_timeout: Duration,
    /// How long it may take to stop when asked, before it is killed.
    pub stop_timeout: Duration,
    /// The processors it runs on; empty for all that this process may use.
    pub processors: Vec<usize>,
    /// What all of its processes together may take.
    pub limits: Limits,
    /// The user that it runs as, by name or number; whoever runs this if absent. Only root can say another.
    pub user: Option<String>,
    /// The folder that it runs in; that of this process if absent.
    pub directory: Option<PathBuf>,
    /// Where its output goes. An old file is overwritten.
    pub log: PathBuf,
    /// What its environment has beside ours.
    pub env: BTreeMap<String, String>,
}

impl ServerSpec {
    /// A command that is ready at once, writes to `log`, and has ten seconds to get ready and five to stop.
    pub fn new(command: Command, log: PathBuf) -> ServerSpec {
        ServerSpec {
            command,
            ready: Ready::Started,
            ready_timeout: Duration::from_secs(10),
            stop_timeout: Duration::from_secs(5),
            processors: Vec::new(),
            limits: Limits::default(),
            user: None,
            directory: None,
            log,
            env: BTreeMap::new(),
        }
    }
}

/// A command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Command {
    /// A line for the shell.
    Shell(String),
    /// A program and its arguments.
    Program(Vec<String>),
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Command::Shell(line) => f.write_str(line),
            Command::Program(words) => f.write_str(&words.join(" ")),
        }
    }
}

/// When a server is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Ready {
    /// As soon as it runs.
    Started,
    /// When it accepts a connection on this port.
    Tcp(u16),
}

/// A readiness that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} does not say when a server is ready: write \"tcp:80\", or \"started\"")]
pub struct ReadyError {
    /// What was given.
    pub text: String,
}

impl FromStr for Ready {
    type Err = ReadyError;

    fn from_str(text: &str) -> Result<Ready, ReadyError> {
        let port = || text.strip_prefix("tcp:")?.parse().ok().filter(|port| *port != 0);
        match text {
            "started" => Ok(Ready::Started),
            _ => port().map(Ready::Tcp).ok_or_else(|| ReadyError { text: text.to_owned() }),
        }
    }
}

impl TryFrom<String> for Ready {
    type Error = ReadyError;

    fn try_from(text: String) -> Result<Ready, ReadyError> {
        text.parse()
    }
}

impl From<Ready> for String {
    fn from(ready: Ready) -> String {
        ready.to_string()
    }
}

impl fmt::Display for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ready::Started => f.write_str("started"),
            Ready::Tcp(port) => write!(f, "tcp:{port}"),
        }
    }
}

/// How a server is kept from outliving us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Containment {
    /// It lives in a PID namespace of its own: the kernel kills all in it with its first process, and that with us.
    PidNamespace,
    /// It is a process group: what leaves the group can outlive a run that is killed, until the next start.
    ProcessGroup {
        /// Why it has no PID namespace.
        why: String,
    },
}

/// Why a server does not run.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The log.
    #[error("the server's log {path} cannot be written ({source}): set [server] log")]
    Log {
        /// The file.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// Nothing to run.
    #[error("the server's command is empty: set [server] command")]
    Empty,
    /// The command.
    #[error(
        "the server's command `{command}` cannot be started ({source}): see [server] command and directory"
    )]
    Start {
        /// What was to run.
        command: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// The processors.
    #[error("the server cannot be put on processors {processors:?} ({source}): set [server] processors")]
    Processors {
        /// What was asked for.
        processors: Vec<usize>,
        /// What the kernel said.
        source: io::Error,
    },
    /// The limits.
    #[error(
        "[server] {key} cannot be kept to: {source}. It takes control groups that this user may write, as root has them \
         outside most containers; without the key the server has the whole machine"
    )]
    Limits {
        /// "cpu", "memory", or both.
        key: &'static str,
        /// What is missing.
        source: ControlGroupError,
    },
    /// The user.
    #[error(
        "the server cannot run as user `{user}` ({source}): set [server] user, and run farfield as root for it"
    )]
    User {
        /// Who was asked for.
        user: String,
        /// What the system said.
        source: io::Error,
    },
    /// It ended before it was ready.
    #[error("the server `{command}` ended ({status}) before it was ready; its last words:\n{last_words}")]
    Ended {
        /// What ran.
        command: String,
        /// How it ended.
        status: String,
        /// The end of its log.
        last_words: String,
    },
    /// It took too long.
    #[error(
        "the server `{command}` was not ready ({ready}) after {timeout}: set [server] ready-timeout, or ready; its \
         last words:\n{last_words}"
    )]
    NotReady {
        /// What ran.
        command: String,
        /// What was waited for.
        ready: Ready,
        /// How long.
        timeout: Duration,
        /// The end of its log.
        last_words: String,
    },
}

/// A server that runs. Dropped, it is stopped.
#[derive(Debug)]
pub struct RunningServer {
    /// The process above the server's.
    init: u32,
    init_descriptor: OwnedFd,
    /// The thread that started the init, with which the init would die. It ends with the init.
    keeper: Option<JoinHandle<io::Result<ExitStatus>>>,
    containment: Containment,
    stop_timeout: Duration,
    namespace: Namespace,
    ending: Arc<OnceLock<ServerExit>>,
    log: PathBuf,
    limits: Limits,
    /// It goes after the processes in it.
    group: Option<ControlGroup>,
}

/// How and when a server's first process and all its children ended.
#[derive(Debug, Clone, Copy)]
pub struct ServerExit {
    /// As the init exits: as the server's first process did.
    pub status: ExitStatus,
    /// A reading of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
}

impl ServerExit {
    /// "exit status: 1", or the signal that killed it.
    pub fn in_words(&self) -> String {
        match self.signal() {
            Some(signal) => format!("killed by signal {signal}"),
            None => self.status.to_string(),
        }
    }

    /// The signal that killed it, if one did.
    pub fn signal(&self) -> Option<i32> {
        // The init and shells exit with this and the signal's number.
        const SIGNALLED: i32 = 128;
        let code = self.status.code()?;
        (code > SIGNALLED && code < SIGNALLED + 64).then(|| code - SIGNALLED)
    }
}

/// What the keeper tells when the command runs.
struct Started {
    init: u32,
    descriptor: OwnedFd,
    containment: Containment,
}

impl RunningServer {
    /// Starts `spec` inside `namespace`; clients will connect to one of `addresses`.
    pub(super) fn start(
        namespace: &Namespace,
        addresses: &[IpAddr],
        spec: &ServerSpec,
        group: Option<ControlGroup>,
    ) -> Result<RunningServer, ServerError> {
        let user = spec.user.as_deref().map(user).transpose()?;
        let command = command(spec, user.as_ref())?;
        let groups = group.as_ref().map_or(Ok(Vec::new()), ControlGroup::entries);
        let server = ChildSetup { groups: groups.map_err(|source| refused(&spec.limits, source))?, user };
        let (sender, started) = mpsc::sync_channel(1);
        let (inside, processors) = (namespace.clone(), spec.processors.clone());
        let ending = Arc::new(OnceLock::new());
        let ends = Arc::clone(&ending);
        let failed = |source| ServerError::Start { command: spec.command.to_string(), source };
        let keeper = thread::Builder::new()
            .name("farfield server".into())
            .spawn(move || run_keeper(&inside, &processors, command, server, &sender, &ends))
            .map_err(failed)?;
        let started = match started.recv() {
            Ok(started) => started,
            Err(_) => {
                let error = keeper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                let source = error.err().unwrap_or_else(|| io::ErrorKind::Other.into());
                let processors = spec.processors.clone();
                return Err(match source.kind() {
                    io::ErrorKind::InvalidInput if !processors.is_empty() => {
                        ServerError::Processors { processors, source }
                    }
                    _ => failed(source),
                });
            }
        };
        let server = RunningServer {
            init: started.init,
            init_descriptor: started.descriptor,
            keeper: Some(keeper),
            containment: started.containment,
            stop_timeout: spec.stop_timeout,
            namespace: namespace.clone(),
            ending,
            log: spec.log.clone(),
            limits: spec.limits,
            group,
        };
        server.wait_until_ready(addresses, spec)
    }

    fn wait_until_ready(
        mut self,
        addresses: &[IpAddr],
        spec: &ServerSpec,
    ) -> Result<RunningServer, ServerError> {
        const BETWEEN_TRIES: Duration = Duration::from_ms(5);
        let Ready::Tcp(port) = spec.ready else { return Ok(self) };
        let clock = Clock::starting_in(Duration::ZERO);
        let deadline = Instant::ZERO + spec.ready_timeout;
        let command = spec.command.to_string();
        let namespace = self.namespace.clone();
        let accepts = || {
            addresses.iter().any(|address| {
                let left = deadline.since(clock.now()).to_std().max(std::time::Duration::from_millis(1));
                TcpStream::connect_timeout(&SocketAddr::new(*address, port), left).is_ok()
            })
        };
        let waited = namespace.inside(|| {
            loop {
                if accepts() {
                    return Ok(());
                }
                if self.has_ended_within(BETWEEN_TRIES) {
                    let status =
                        self.stop().map_or_else(|error| error.to_string(), |status| status.to_string());
                    return Err(ServerError::Ended { command, status, last_words: last_words(&spec.log) });
                }
                if clock.now() >= deadline {
                    let (ready, timeout) = (spec.ready, spec.ready_timeout);
                    return Err(ServerError::NotReady {
                        command,
                        ready,
                        timeout,
                        last_words: last_words(&spec.log),
                    });
                }
            }
        });
        waited.map_err(|source| ServerError::Start { command: spec.command.to_string(), source })??;
        Ok(self)
    }

    /// How it is kept from outliving us.
    pub fn containment(&self) -> &Containment {
        &self.containment
    }

    /// The process above its first one, as this process numbers it. It is in the testbed's namespace, and in the PID
    /// namespace of the server.
    pub fn pid(&self) -> u32 {
        self.init
    }

    /// Whether it runs still.
    pub fn runs(&self) -> bool {
        !self.has_ended_within(Duration::ZERO)
    }

    /// How it ended, if it has: by itself, while nobody has asked it to stop.
    pub fn ending(&self) -> Option<ServerExit> {
        if self.runs() {
            return None;
        }
        // The keeper is about to say so, or has failed to hear.
        while self.ending.get().is_none() && self.keeper.as_ref().is_some_and(|keeper| !keeper.is_finished())
        {
            processors::yield_briefly();
        }
        self.ending.get().copied()
    }

    /// The end of what it wrote to its log, in one line and without control characters; empty if it wrote nothing.
    pub fn last_words(&self) -> String {
        const LINES: usize = 3;
        const CHARACTERS: usize = 240;
        let text = tail(&self.log);
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let words = lines[lines.len().saturating_sub(LINES)..].join(" / ");
        let skip = words.chars().count().saturating_sub(CHARACTERS);
        let cut = if skip > 0 { "…" } else { "" };
        cut.chars().chain(words.chars().skip(skip)).collect()
    }

    /// Processor time that its processes have used. Of those that have ended, it holds what their parents waited
    /// for, in the kernel's ticks of mostly 10 ms.
    pub fn cpu(&self) -> Duration {
        let pids = match self.containment {
            Containment::PidNamespace => processes::in_pid_namespace_of(self.init),
            Containment::ProcessGroup { .. } => self.processes(),
        };
        processes::cpu(&pids)
    }

    /// Its limits, and what they did until now; `None` where it has none.
    pub fn limits(&self) -> Option<(Limits, LimitUse)> {
        Some((self.limits, self.group.as_ref()?.used()))
    }

    /// Asks it to stop, kills it if it does not in time, and tells how its first process ended. When this returns,
    /// it is gone.
    ///
    /// # Errors
    /// When the kernel does not say how it ended.
    pub fn stop(&mut self) -> io::Result<ExitStatus> {
        let Some(keeper) = self.keeper.take() else { return Ok(ExitStatus::default()) };
        // If it has ended already there is nobody to tell.
        let _ = pidfd_send_signal(&self.init_descriptor, Signal::TERM);
        if !self.has_ended_within(self.stop_timeout) {
            let _ = pidfd_send_signal(&self.init_descriptor, Signal::KILL);
        }
        if matches!(self.containment, Containment::ProcessGroup { .. }) {
            for pid in self.processes() {
                if let Ok(process) = init::descriptor_of(pid) {
                    let _ = pidfd_send_signal(process, Signal::KILL);
                }
            }
        }
        let ended = keeper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        self.group = None;
        ended
    }

    fn processes(&self) -> Vec<u32> {
        self.namespace.inode().map(processes::in_network_namespace).unwrap_or_default()
    }

    fn has_ended_within(&self, timeout: Duration) -> bool {
        let timeout = rustix::time::Timespec::try_from(timeout.to_std()).unwrap_or_default();
        let mut descriptors = [PollFd::new(&self.init_descriptor, PollFlags::IN)];
        poll(&mut descriptors, Some(&timeout)).is_ok_and(|count| count > 0)
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        // How it ended matters to whoever calls `stop`.
        let _ = self.stop();
    }
}

/// The life of the keeper: starts the init inside, tells that, and waits for its end.
fn run_keeper(
    namespace: &Namespace,
    processors: &[usize],
    mut command: process::Command,
    server: ChildSetup,
    sender: &mpsc::SyncSender<Started>,
    ending: &OnceLock<ServerExit>,
) -> io::Result<ExitStatus> {
    namespace.enter()?;
    if !processors.is_empty() {
        processors::confine(processors)?;
    }
    let containment = match namespace::new_pid_namespace_for_children() {
        Ok(()) => Containment::PidNamespace,
        Err(error) => Containment::ProcessGroup { why: error.to_string() },
    };
    init::put_under_init(&mut command, containment == Containment::PidNamespace, server)?;
    let mut child = command.spawn()?;
    let init = child.id();
    let descriptor = match init::descriptor_of(init) {
        Ok(descriptor) => descriptor,
        Err(error) => {
            child.kill()?;
            child.wait()?;
            return Err(error);
        }
    };
    // Whoever started us waits for this.
    let _ = sender.send(Started { init, descriptor, containment });
    let status = child.wait()?;
    let _ = ending.set(ServerExit { status, at_ns: monotonic_ns() });
    Ok(status)
}

/// Where the server's control group will be, if its limits ask for one.
pub(super) fn planned_group(limits: &Limits, name: &str) -> Result<Option<ControlGroupPlan>, ServerError> {
    if limits.is_none() {
        return Ok(None);
    }
    ControlGroupPlan::new(*limits, name).map(Some).map_err(|source| refused(limits, source))
}

/// Makes the group.
pub(super) fn make_group(limits: &Limits, plan: ControlGroupPlan) -> Result<ControlGroup, ServerError> {
    plan.make().map_err(|source| refused(limits, source))
}

fn refused(limits: &Limits, source: ControlGroupError) -> ServerError {
    let key = match (limits.cpu, limits.memory) {
        (Some(_), Some(_)) => "cpu or memory",
        (None, _) => "memory",
        (_, None) => "cpu",
    };
    ServerError::Limits { key, source }
}

/// The user that a server is to run as. In a user namespace there is no other than ourselves.
fn user(name: &str) -> Result<User, ServerError> {
    let failed = |source| ServerError::User { user: name.to_owned(), source };
    if !rustix::process::geteuid().is_root() {
        return Err(failed(io::ErrorKind::PermissionDenied.into()));
    }
    User::named(name).map_err(failed)
}

fn command(spec: &ServerSpec, user: Option<&User>) -> Result<process::Command, ServerError> {
    let mut command = match &spec.command {
        Command::Shell(line) if line.trim().is_empty() => return Err(ServerError::Empty),
        Command::Shell(line) => {
            let mut command = process::Command::new("/bin/sh");
            command.args(["-c", line]);
            command
        }
        Command::Program(words) => {
            let (program, arguments) = words.split_first().ok_or(ServerError::Empty)?;
            let mut command = process::Command::new(program);
            command.args(arguments);
            command
        }
    };
    let failed = |source| ServerError::Log { path: spec.log.clone(), source };
    // What a server says may be anybody's secrets.
    let log = File::options().write(true).create(true).truncate(true).mode(0o600).open(&spec.log);
    let log = log.map_err(failed)?;
    let errors = log.try_clone().map_err(failed)?;
    if let Some(user) = user {
        // Servers open /dev/stderr again by its name.
        std::os::unix::fs::fchown(&log, Some(user.uid), Some(user.gid)).map_err(failed)?;
        let name = user.name.clone().unwrap_or_else(|| user.uid.to_string());
        command.env("USER", &name).env("LOGNAME", &name);
        command.env("HOME", user.home.as_deref().unwrap_or(Path::new("/")));
    }
    if let Some(directory) = &spec.directory {
        command.current_dir(directory);
    }
    command.envs(&spec.env).stdin(Stdio::null()).stdout(log).stderr(errors);
    Ok(command)
}

/// The last lines of the log, as far as it can be read.
fn last_words(log: &Path) -> String {
    const LINES: usize = 10;
    let text = tail(log);
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    if lines.is_empty() {
        return "(none)".to_owned();
    }
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

/// The end of a file of any size, as text in which nothing but line ends controls a terminal.
fn tail(log: &Path) -> String {
    const BYTES: u64 = 16 * 1024;
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(log)?;
        let length = file.seek(SeekFrom::End(0))?;
        file.seek(SeekFrom::Start(length.saturating_sub(BYTES)))?;
        let mut end = Vec::new();
        file.take(BYTES).read_to_end(&mut end)?;
        Ok(end)
    };
    let bytes = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes).replace(['\t', '\r'], " ");
    printable(&text, &['\n']).into_owned()
}
