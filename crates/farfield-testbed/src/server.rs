//! The server's processes: started inside the testbed, ready before clients connect, and ended afterwards in
//! any case.

mod error;
mod spec;

pub use error::ServerError;
pub use spec::{Command, Ready, ReadyError, ServerSpec};

use super::processes;
use super::{LimitUse, Limits};
use farfield_base::{Duration, Instant, printable};
use farfield_files::{TempDir, create_private};
use farfield_os::clock::{Clock, monotonic_ns};
use farfield_os::control_group::{ControlGroup, ControlGroupError, ControlGroupPlan, CpuUsage};
use farfield_os::init::{self, ChildSetup};
use farfield_os::mounts;
use farfield_os::namespace::{self, Namespace};
use farfield_os::processors;
use farfield_os::user::User;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Signal, pidfd_send_signal};
use std::fs::File;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::mpsc;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::{io, process, thread};

/// The means that keep a server from outliving this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Containment {
    /// A PID namespace: the kernel kills all processes in it with its first one, and that one with this
    /// process.
    PidNamespace,
    /// A process group: a process that leaves the group can outlive a killed run, until the next start.
    ProcessGroup {
        /// The reason why there is no PID namespace.
        why: String,
    },
}

/// A running server. Dropping it stops the server.
#[derive(Debug)]
pub struct RunningServer {
    /// The init process, parent of the server's.
    init: u32,
    init_descriptor: OwnedFd,
    /// The thread that started the init. The init would die with this thread, which ends after the init.
    keeper: Option<JoinHandle<io::Result<ExitStatus>>>,
    containment: Containment,
    stop_timeout: Duration,
    namespace: Namespace,
    ending: Arc<OnceLock<ServerExit>>,
    log: File,
    limits: Limits,
    /// The control group, removed after the processes in it.
    group: Option<ControlGroup>,
}

/// Exit status of a server's first process, and the time at which it and all its children had ended.
#[derive(Debug, Clone, Copy)]
pub struct ServerExit {
    /// The init's exit status, which is that of the server's first process.
    pub status: ExitStatus,
    /// Time of the end, a reading of `CLOCK_MONOTONIC`.
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
        // The init and shells exit with this plus the signal's number.
        const SIGNALLED: i32 = 128;
        let code = self.status.code()?;
        (code > SIGNALLED && code < SIGNALLED + 64).then(|| code - SIGNALLED)
    }
}

/// The keeper's message once the command runs.
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
        let log = create_private(&spec.log).map_err(|source| no_log(spec, source))?;
        let command = command(spec, user.as_ref(), &log)?;
        let groups = group.as_ref().map_or(Ok(Vec::new()), ControlGroup::entries);
        let groups = groups.map_err(|source| refused(&spec.limits, source))?;
        let server =
            ChildSetup { groups, account: group.as_ref().and_then(ControlGroup::account_entry), user };
        let (sender, started) = mpsc::sync_channel(1);
        let surroundings = (namespace.clone(), spec.processors.clone(), spec.hosts.clone());
        let ending = Arc::new(OnceLock::new());
        let ends = Arc::clone(&ending);
        let failed = |source| ServerError::Start { command: spec.command.to_string(), source };
        let keeper = thread::Builder::new()
            .name("farfield server".into())
            .spawn(move || run_keeper(&surroundings, command, server, &sender, &ends))
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
            log,
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
                    return Err(ServerError::Ended { command, status, last_words: last_words(&self.log) });
                }
                if clock.now() >= deadline {
                    let (ready, timeout) = (spec.ready, spec.ready_timeout);
                    return Err(ServerError::NotReady {
                        command,
                        ready,
                        timeout,
                        last_words: last_words(&self.log),
                    });
                }
            }
        });
        waited.map_err(|source| ServerError::Start { command: spec.command.to_string(), source })??;
        Ok(self)
    }

    /// The means that keep it from outliving this process.
    pub fn containment(&self) -> &Containment {
        &self.containment
    }

    /// The init's process number, in this process's PID namespace. The init is in the testbed's network
    /// namespace, and in the PID namespace of the server.
    pub fn pid(&self) -> u32 {
        self.init
    }

    /// True if it runs still.
    pub fn runs(&self) -> bool {
        !self.has_ended_within(Duration::ZERO)
    }

    /// The server's exit, if it has ended by itself, without a stop.
    pub fn ending(&self) -> Option<ServerExit> {
        if self.runs() {
            return None;
        }
        // The keeper is about to set the exit, or has failed.
        while self.ending.get().is_none() && self.keeper.as_ref().is_some_and(|keeper| !keeper.is_finished())
        {
            processors::yield_briefly();
        }
        self.ending.get().copied()
    }

    /// The end of its log, in one line and without control characters; empty if it wrote nothing.
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

    /// Processor time of its processes, as their control group counts it. Without one, ended processes are
    /// included if their parents have waited for them, in the kernel's ticks of mostly 10 ms.
    pub fn cpu(&self) -> Duration {
        if let Some(usage) = self.account_folder().and_then(CpuUsage::read) {
            return Duration::from_ns(usage.total_ns);
        }
        processes::cpu(&self.all_processes())
    }

    /// The server's processes, as far as they can be found.
    pub fn all_processes(&self) -> Vec<u32> {
        match self.containment {
            Containment::PidNamespace => processes::in_pid_namespace_of(self.init),
            Containment::ProcessGroup { .. } => self.processes(),
        }
    }

    /// The server's limits and their effects so far; `None` if it has no limits.
    pub fn limits(&self) -> Option<(Limits, LimitUse)> {
        let group = self.group.as_ref().filter(|_| !self.limits.is_none())?;
        Some((self.limits, group.used()))
    }

    /// The folder of the control group that counts the processor time of all its processes; `None` if it
    /// could not join one.
    pub fn account_folder(&self) -> Option<&Path> {
        self.group.as_ref()?.account_folder()
    }

    /// The folders of the control groups that limit its processor time and its memory, if any do.
    pub fn group_folders(&self) -> [Option<&Path>; 2] {
        self.group.as_ref().map_or([None; 2], ControlGroup::folders_by_controller)
    }

    /// Stops the server, kills it if it does not end in time, and returns the exit status of its first
    /// process. When this returns, all its processes have ended.
    ///
    /// # Errors
    /// If the kernel does not report the exit status.
    pub fn stop(&mut self) -> io::Result<ExitStatus> {
        let Some(keeper) = self.keeper.take() else { return Ok(ExitStatus::default()) };
        // Fails if the server has ended already.
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
        // Only callers of `stop` need the exit status.
        let _ = self.stop();
    }
}

/// The keeper's thread: starts the init inside the namespace, reports that, and waits for its end.
fn run_keeper(
    (namespace, processors, hosts): &(Namespace, Vec<usize>, Vec<(String, IpAddr)>),
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
    let names = add_names(hosts);
    let mut child = command.spawn()?;
    drop(names);
    let init = child.id();
    let descriptor = match init::descriptor_of(init) {
        Ok(descriptor) => descriptor,
        Err(error) => {
            child.kill()?;
            child.wait()?;
            return Err(error);
        }
    };
    // The starting thread waits for this message.
    let _ = sender.send(Started { init, descriptor, containment });
    let status = child.wait()?;
    let _ = ending.set(ServerExit { status, at_ns: monotonic_ns() });
    Ok(status)
}

/// Lets the calling thread, and what it starts, know `hosts`; the folder of the files that show them is
/// needed until the server has started. Where names cannot be added, addresses are reached all the same.
fn add_names(hosts: &[(String, IpAddr)]) -> Option<TempDir> {
    if hosts.is_empty() {
        return None;
    }
    let hosts: Vec<(IpAddr, &str)> = hosts.iter().map(|(name, address)| (*address, name.as_str())).collect();
    mounts::add_names(&hosts, None).ok()
}

/// The location of the server's control group; `None` if its limits need none, and none can count either.
pub(super) fn planned_group(
    limits: &Limits,
    processors: &[usize],
    name: &str,
) -> Result<Option<ControlGroupPlan>, ServerError> {
    match ControlGroupPlan::new(*limits, processors, name) {
        Ok(plan) => Ok(Some(plan)),
        Err(_) if limits.is_none() => Ok(None),
        Err(source) => Err(refused(limits, source)),
    }
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

/// The user that a server runs as. In a user namespace there is no other user than this process's own.
fn user(name: &str) -> Result<User, ServerError> {
    let failed = |source| ServerError::User { user: name.to_owned(), source };
    if !rustix::process::geteuid().is_root() {
        return Err(failed(io::ErrorKind::PermissionDenied.into()));
    }
    User::named(name).map_err(failed)
}

fn no_log(spec: &ServerSpec, source: io::Error) -> ServerError {
    ServerError::Log { path: spec.log.clone(), source }
}

fn command(spec: &ServerSpec, user: Option<&User>, log: &File) -> Result<process::Command, ServerError> {
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
    let failed = |source| no_log(spec, source);
    let [output, errors] = [log.try_clone().map_err(failed)?, log.try_clone().map_err(failed)?];
    if let Some(user) = user {
        // Servers may open /dev/stderr again by its name.
        std::os::unix::fs::fchown(log, Some(user.uid), Some(user.gid)).map_err(failed)?;
        let name = user.name.clone().unwrap_or_else(|| user.uid.to_string());
        command.env("USER", &name).env("LOGNAME", &name);
        command.env("HOME", user.home.as_deref().unwrap_or(Path::new("/")));
    }
    if let Some(directory) = &spec.directory {
        command.current_dir(directory);
    }
    command.envs(&spec.env).stdin(Stdio::null()).stdout(output).stderr(errors);
    Ok(command)
}

/// The last lines of the log, as far as it can be read.
fn last_words(log: &File) -> String {
    const LINES: usize = 10;
    let text = tail(log);
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    if lines.is_empty() {
        return "(none)".to_owned();
    }
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

/// The end of a file of any size, as text without control characters other than line ends. It is the file
/// that the server writes to, whatever has its name by now, and its own place in it is left alone.
fn tail(log: &File) -> String {
    const BYTES: u64 = 16 * 1024;
    let read = || -> io::Result<Vec<u8>> {
        let length = log.metadata()?.len();
        let mut end = vec![0; length.min(BYTES) as usize];
        log.read_exact_at(&mut end, length.saturating_sub(BYTES))?;
        Ok(end)
    };
    let bytes = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes).replace(['\t', '\r'], " ");
    printable(&text, &['\n']).into_owned()
}
