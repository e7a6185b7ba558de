//! Real programs beside the users of a run: each in a network namespace of its own, in the place of a client,
//! whose way its packets go.
//!
//! They start with the load, and end with it at the latest. What they print goes into the run directory; the
//! user's shell, of which there is one at most, has farfield's terminal, and the run ends when it is left.

use crate::emulated::hosts::Hosts;
use crate::plane::BesideProgram;
use crate::shell::ShellError;
use crate::shell::child;
use crate::shell::ends::ProgramNamespace;
use crate::shell::names::Resolver;
use crate::shell::seat::ProgramEnvironment;
use farfield_base::{Instant, Window};
use farfield_emulator::{ClientId, NetworkPlan};
use farfield_files::create_private;
use farfield_measure::ProgramStats;
use farfield_os::clock::Clock;
use farfield_os::processors;
use farfield_testbed::{TestbedError, TestbedSpec};
use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// Time between two checks of the programs.
const LOOK: std::time::Duration = std::time::Duration::from_millis(20);

/// Programs with their namespaces, before they run.
#[derive(Debug, Default)]
pub struct BesidePrograms {
    insides: Vec<ProgramNamespace>,
    programs: Vec<BesideProgram>,
    /// Names of servers and programs, each with its number as a far end.
    names: Vec<(String, u16)>,
}

impl BesidePrograms {
    /// Builds the namespace of each of `programs`, which know servers and one another by `names`.
    ///
    /// # Errors
    /// If the machine does not allow one.
    pub(crate) fn build(
        programs: Vec<BesideProgram>,
        names: Vec<(String, u16)>,
        server: &TestbedSpec,
        network: &NetworkPlan,
    ) -> Result<BesidePrograms, TestbedError> {
        let inside = |program: &BesideProgram| ProgramNamespace::build(server, network, program.client);
        let insides = programs.iter().map(inside).collect::<Result<_, _>>()?;
        Ok(BesidePrograms { insides, programs, names })
    }

    /// True if there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.programs.is_empty()
    }

    /// The clients of shard `shard` among `shards` that programs are in the places of.
    pub(crate) fn seats(&self, shard: u32, shards: u32) -> Vec<ClientId> {
        self.of_shard(shard, shards).map(|(_, program)| program.client).collect()
    }

    /// The programs of shard `shard` among `shards`, as it sees them.
    pub(crate) fn hosts(&self, shard: u32, shards: u32, clock: Clock, window: Window) -> Hosts {
        let host = |(number, _): (usize, &BesideProgram)| {
            let inside = &self.insides[number];
            (number, inside.address, inside.testbed.queues().remove(0))
        };
        Hosts::new(self.of_shard(shard, shards).map(host).collect(), clock, window)
    }

    fn of_shard(&self, shard: u32, shards: u32) -> impl Iterator<Item = (usize, &BesideProgram)> {
        let is_own = move |(_, program): &(usize, &BesideProgram)| program.client.shard(shards) == shard;
        self.programs.iter().enumerate().filter(is_own)
    }

    /// Starts the programs on `processors` (all if empty), with logs in `directory`; `stop` is set when the
    /// shell is left.
    ///
    /// # Errors
    /// If one cannot be started; then none runs.
    pub(crate) fn start(
        &self,
        network: &NetworkPlan,
        directory: Option<&Path>,
        processors: &[usize],
        clock: Clock,
        stop: &Arc<AtomicBool>,
    ) -> Result<RunningPrograms<'_>, ShellError> {
        let mut running = RunningPrograms {
            beside: self,
            halt: Arc::default(),
            shell_left: Arc::default(),
            watcher: None,
            resolvers: Vec::new(),
        };
        let started = thread::scope(|scope| {
            let all = scope.spawn(|| {
                if !processors.is_empty() {
                    // If refused, they run where farfield may.
                    let _ = processors::confine(processors);
                }
                self.start_all(network, directory, &mut running)
            });
            all.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })?;
        let (halt, left, stop) =
            (Arc::clone(&running.halt), Arc::clone(&running.shell_left), Arc::clone(stop));
        let shell = self.programs.iter().position(|program| program.command.is_none());
        let watched = WatchedPrograms { children: started, shell, clock };
        let watch = move || watched.watch(&halt, &left, &stop);
        let watcher = thread::Builder::new().name("programs".to_owned()).spawn(watch);
        running.watcher = Some(watcher.map_err(ShellError::Wait)?);
        Ok(running)
    }

    fn start_all(
        &self,
        network: &NetworkPlan,
        directory: Option<&Path>,
        running: &mut RunningPrograms<'_>,
    ) -> Result<Vec<Child>, ShellError> {
        let mut started = Vec::new();
        for (number, (inside, program)) in self.insides.iter().zip(&self.programs).enumerate() {
            let surroundings = ProgramEnvironment::of(inside, network, &self.names);
            running.serve_names(surroundings.resolver(inside));
            let words = program.words();
            let failed = |source| ShellError::Start { program: words[0].clone(), source };
            let child = streams(number, program, directory)
                .map_err(failed)
                .and_then(|streams| surroundings.start(inside, &words, streams));
            match child {
                Ok(child) => started.push(child),
                Err(error) => {
                    child::kill(&mut started);
                    return Err(error);
                }
            }
        }
        Ok(started)
    }
}

impl BesideProgram {
    fn words(&self) -> Vec<OsString> {
        match &self.command {
            Some(line) => ["sh", "-c", line].map(OsString::from).to_vec(),
            None => vec![std::env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into())],
        }
    }
}

/// The name of the log of program `number`, from 0, in the run directory.
fn log_of(number: usize) -> String {
    format!("program-{}.log", number + 1)
}

/// Input and output of a program.
fn streams(number: usize, program: &BesideProgram, directory: Option<&Path>) -> io::Result<[Stdio; 3]> {
    if program.command.is_none() {
        return Ok([Stdio::inherit(), Stdio::inherit(), Stdio::inherit()]);
    }
    let Some(directory) = directory else { return Ok([Stdio::null(), Stdio::null(), Stdio::null()]) };
    let log = create_private(&directory.join(log_of(number)))?;
    Ok([Stdio::null(), log.try_clone()?.into(), log.into()])
}

/// Programs that run. Dropping it ends them.
#[derive(Debug)]
pub(crate) struct RunningPrograms<'a> {
    beside: &'a BesidePrograms,
    halt: Arc<AtomicBool>,
    shell_left: Arc<AtomicBool>,
    watcher: Option<JoinHandle<io::Result<Vec<Ending>>>>,
    resolvers: Vec<JoinHandle<()>>,
}

/// The end of a program by itself: absent if it was ended with the run.
type Ending = Option<(ExitStatus, Instant)>;

impl RunningPrograms<'_> {
    fn serve_names(&mut self, resolver: Option<Resolver>) {
        let Some(resolver) = resolver.map(Arc::new) else { return };
        let (of_datagrams, halt) = (Arc::clone(&resolver), Arc::clone(&self.halt));
        self.resolvers.push(thread::spawn(move || of_datagrams.serve_datagrams(&halt)));
        let halt = Arc::clone(&self.halt);
        self.resolvers.push(thread::spawn(move || resolver.serve_connections(&halt)));
    }

    /// True if the shell was left, if there is one.
    pub fn shell_was_left(&self) -> bool {
        self.shell_left.load(Ordering::Relaxed)
    }

    /// Ends those that run still, and returns how each ended. What they sent and got is still to be added.
    pub fn end(mut self) -> io::Result<Vec<ProgramStats>> {
        let endings = self.finish()?;
        let programs = self.beside.programs.iter().zip(&self.beside.insides).zip(endings).enumerate();
        let stats = |(number, ((program, inside), ending)): (
            usize,
            ((&BesideProgram, &ProgramNamespace), Ending),
        )| {
            let code = ending.map(|(status, _)| code_of(status));
            ProgramStats {
                class: program.class.clone(),
                address: inside.address.to_string(),
                command: program.command.clone(),
                log: program.command.as_ref().map(|_| log_of(number)),
                code,
                ended: ending.map(|(_, at)| at.since(Instant::ZERO)),
                ..ProgramStats::default()
            }
        };
        Ok(programs.map(stats).collect())
    }

    fn finish(&mut self) -> io::Result<Vec<Ending>> {
        self.halt.store(true, Ordering::Relaxed);
        let endings = self.watcher.take().map(JoinHandle::join);
        for inside in &self.beside.insides {
            inside.testbed.kill_processes();
        }
        self.resolvers.drain(..).for_each(|resolver| drop(resolver.join()));
        match endings {
            Some(Ok(endings)) => endings,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Ok(Vec::new()),
        }
    }
}

impl Drop for RunningPrograms<'_> {
    fn drop(&mut self) {
        if self.watcher.is_some() || !self.resolvers.is_empty() {
            // Nobody is left to whom a failure would matter.
            let _ = self.finish();
        }
    }
}

/// The exit code: a program that a signal ended has 128 and the signal's number, as in a shell.
fn code_of(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| Some(128 + status.signal()?));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}

/// Programs that are watched.
struct WatchedPrograms {
    children: Vec<Child>,
    /// The index of the shell among them.
    shell: Option<usize>,
    clock: Clock,
}

impl WatchedPrograms {
    /// Watches the programs until `halt` is set, and then ends them. Once the shell is left, `left` and
    /// `stop` are set.
    fn watch(mut self, halt: &AtomicBool, left: &AtomicBool, stop: &AtomicBool) -> io::Result<Vec<Ending>> {
        let mut endings: Vec<Ending> = vec![None; self.children.len()];
        while !halt.load(Ordering::Relaxed) {
            self.look(&mut endings)?;
            if self.shell.is_some_and(|shell| endings[shell].is_some()) && !left.swap(true, Ordering::Relaxed)
            {
                stop.store(true, Ordering::Relaxed);
            }
            thread::park_timeout(LOOK);
        }
        self.look(&mut endings)?;
        child::end_all(self.clock, &mut self.children)?;
        Ok(endings)
    }

    fn look(&mut self, endings: &mut [Ending]) -> io::Result<()> {
        for (child, ending) in self.children.iter_mut().zip(endings) {
            if ending.is_none()
                && let Some(status) = child.try_wait()?
            {
                *ending = Some((status, self.clock.now()));
            }
        }
        Ok(())
    }
}
