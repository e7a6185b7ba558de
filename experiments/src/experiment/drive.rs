//! Runs one point of an experiment: a fresh server on one processor, farfield on another, its summary read.
//!
//! On the sockets plane the server is farfield's own origin in a process of its own, so that what the
//! generator says of itself, its lateness and its processor time, is of the generator alone. On the emulated
//! plane farfield starts the server of the scenario, whose kernel does its receive work on the server's
//! processor as well. On the simulated plane there is no server, and it matters to nothing but the time it
//! takes what else the processors do.

use super::detail::{self, Detail};
use super::measured::{self, RunSummary, Syns};
use super::monitored::Monitors;
use super::origin::Origin;
use super::packets::{self, Packets};
use super::plan::Number;
use super::server::ServerKind;
use anyhow::{Context, Result, bail};
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::{Pid, geteuid};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;
use toml::{Table, Value};
use xtask::{hold, process};

/// The exit code of a farfield that has measured and doubts itself.
const MEASURED_BUT_INVALID: i32 = 3;

/// Seconds after which a run that does not end is ended.
const LIMIT_S: u32 = 900;

/// The directory of the last run, in the runner's folder.
const RUN: &str = "run";

/// The seed of a scenario that has none, as farfield has it.
const SEED: i64 = 1;

/// Runs farfield and its server, each on a processor of its own.
#[derive(Debug)]
pub struct Runner {
    farfield: PathBuf,
    scratch: TempDir,
    server_cpu: usize,
    generator_cpu: usize,
}

/// A point of a curve: what is run.
#[derive(Debug, Clone)]
pub struct Point {
    /// The place of the curve.
    pub curve: usize,
    /// The scenario, but for the key that is varied.
    pub scenario: Table,
    /// The keys that are varied, and those that follow them, with their values.
    pub sets: BTreeMap<String, String>,
    /// The value of the varied key.
    pub value: Number,
    /// The server that is started in the place; the scenario's own if absent.
    pub server: Option<ServerKind>,
    /// The rate at which its interface sends; at once if absent.
    pub sends_at: Option<String>,
    /// The charts that look inside of its runs.
    pub details: Vec<Detail>,
    /// The command of another load generator in the place of farfield.
    pub tool: Option<String>,
    /// The clients are real ones behind `farfield route`.
    pub routed: bool,
    /// The folder of the figure.
    pub folder: PathBuf,
}

impl Runner {
    /// A runner on the first two processors that may be used, for the executable `farfield`.
    pub fn new(farfield: PathBuf) -> Result<Runner> {
        let allowed = sched_getaffinity(Pid::from_raw(0))?;
        let mut processors = (0..CpuSet::count()).filter(|&cpu| allowed.is_set(cpu).unwrap_or(false));
        let (Some(server_cpu), Some(generator_cpu)) = (processors.next(), processors.next()) else {
            bail!("an experiment needs two processors: one for the server, one for the generator");
        };
        // Servers that give up the rights of root must still be able to read their files.
        let readable = fs::Permissions::from_mode(0o755);
        let scratch =
            tempfile::Builder::new().prefix("farfield-experiment-").permissions(readable).tempdir()?;
        Ok(Runner { farfield, scratch, server_cpu, generator_cpu })
    }

    /// A runner that only checks scenarios: its list of requests has one, which is read in no time.
    #[cfg(test)]
    pub fn for_checks(farfield: PathBuf) -> Result<Runner> {
        let runner = Runner::new(farfield)?;
        super::site::put_one_request(&runner.farfield, runner.scratch.path())?;
        Ok(runner)
    }

    /// Lets farfield read the point's scenario, so that a mistake is found before hours have gone by.
    pub fn check(&self, point: &Point) -> Result<()> {
        let mut command = self.command("run", point, &point.scenario)?;
        process::output(command.arg("--show-scenario")).map(drop)
    }

    /// Runs the point once, with a server that is started for it; `number` counts the runs of the point from
    /// 0, and shifts the seed of the scenario, so that no two repeats draw the same numbers.
    pub fn run(&self, point: &Point, number: u32) -> Result<RunSummary> {
        let plane = Plane::of(&point.scenario);
        if point.routed {
            return self.routed(point, number);
        }
        if plane != Plane::Sockets {
            // farfield starts the server itself, and does the clients' TCP: the kernel's counters have none
            // of them.
            return self.driven(self.repeat(point, &point.scenario, number)?, point, None);
        }
        if let Some(tool) = &point.tool {
            return self.audited(point, tool, number);
        }
        let (scenario, origin) = Origin::taken_from(&point.scenario)?;
        let mut command = self.repeat(point, &scenario, number)?;
        let origin = self.origin(&origin)?;
        command.arg("--target").arg(format!("http://{}/", origin.address));
        self.driven(command, point, Some(syns_sent()?))
    }

    /// An origin with the settings of `table`, on the server's processor.
    pub fn origin(&self, table: &Table) -> Result<Origin> {
        Origin::start(&self.farfield, table, self.server_cpu)
    }

    /// The executable of farfield.
    pub fn farfield(&self) -> &Path {
        &self.farfield
    }

    /// The folder for what a run needs and leaves.
    pub fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    /// The processor of servers.
    pub fn server_cpu(&self) -> usize {
        self.server_cpu
    }

    /// The processor of load generators.
    pub fn generator_cpu(&self) -> usize {
        self.generator_cpu
    }

    /// The command of repeat `number` of a point, counted from 0.
    fn repeat(&self, point: &Point, scenario: &Table, number: u32) -> Result<Command> {
        self.scenario_command("run", point, scenario, number)
    }

    /// The command `farfield TASK` of repeat `number` of a point.
    pub fn scenario_command(
        &self,
        task: &str,
        point: &Point,
        scenario: &Table,
        number: u32,
    ) -> Result<Command> {
        let seed = scenario.get("seed").and_then(Value::as_integer).unwrap_or(SEED);
        let mut command = self.command(task, point, scenario)?;
        command.arg("--seed").arg((seed + i64::from(number)).to_string());
        Ok(command)
    }

    /// A line on the machine, from the last run's environment, with the priority of the run.
    pub fn machine(&self) -> Result<String> {
        let text = fs::read(self.scratch.path().join(RUN).join("environment.json"))
            .context("no run has left its environment")?;
        let machine = machine(&serde_json::from_slice(&text)?);
        let niceness = niceness(&fs::read_to_string("/proc/self/stat")?).unwrap_or(0);
        Ok(if niceness == 0 { machine } else { format!("{machine}, at niceness {niceness}") })
    }

    /// Runs `command` and reads what it measured; before it, the kernel had sent so many SYNs.
    fn driven(&self, mut command: Command, point: &Point, syns_before: Option<Syns>) -> Result<RunSummary> {
        let directory = self.fresh_directory(RUN)?;
        let samples = if point.details.iter().any(|detail| detail.needs_samples()) { "all" } else { "none" };
        command.args(["--quiet", "--format", "json", "--out"]).arg(&directory);
        if Packets::are_verified(&point.scenario) {
            // Samples are held against packets.
            command.args(["--samples", "all"]);
        } else {
            command.args(["--samples", samples]);
        }
        let output = self.output(&command, Plane::of(&point.scenario))?;
        let syns = match syns_before {
            Some(before) => Some(syns_sent()?.since(before)),
            None => None,
        };
        let summary: Json = serde_json::from_str(&output)
            .with_context(|| format!("`{}` printed no summary:\n{output}", process::words(&command)))?;
        let mut run = RunSummary::read(&summary, syns)?;
        inside(&mut run, &summary, &directory, &point.details)?;
        Ok(run)
    }

    /// The directory for the next run or audit, with nothing of the one before.
    pub fn fresh_directory(&self, name: &str) -> Result<PathBuf> {
        let directory = self.scratch.path().join(name);
        if directory.exists() {
            fs::remove_dir_all(&directory)
                .with_context(|| format!("cannot remove {}", directory.display()))?;
        }
        Ok(directory)
    }

    /// `farfield TASK` of `scenario` at the point.
    fn command(&self, task: &str, point: &Point, scenario: &Table) -> Result<Command> {
        let file = self.scratch.path().join("scenario.toml");
        let mut scenario = scenario.clone();
        if let Some(server) = point.server {
            let (scratch, rate) = (self.scratch.path(), point.sends_at.as_deref());
            server.put(&self.farfield, &mut scenario, scratch, rate)?;
        }
        fs::write(&file, scenario.to_string()).with_context(|| format!("cannot write {}", file.display()))?;
        let mut command = Command::new(&self.farfield);
        command.arg(task).arg(file);
        for (key, value) in &point.sets {
            command.arg("--set").arg(format!("{key}={value}"));
        }
        if Plane::of(&scenario) == Plane::Emulated {
            command.arg("--set").arg(format!("server.processors=[{}]", self.server_cpu));
        }
        Ok(command)
    }

    /// The output of `command`. Unless its time is virtual, it runs on the generator's processor, and not
    /// while another experiment of this machine runs a point, for they would share the processors.
    pub fn output(&self, command: &Command, plane: Plane) -> Result<String> {
        let is_timed = plane != Plane::Simulated;
        let turn = turn(&std::env::temp_dir())?;
        if is_timed {
            turn.lock()?;
        }
        let file = |name: &str| self.scratch.path().join(name);
        let (output, errors, usage) = (file("output"), file("errors"), file("usage"));
        let status = hold::held(command, is_timed.then_some(self.generator_cpu), Some((&usage, LIMIT_S)))
            .stdin(Stdio::null())
            .stdout(File::create(&output)?)
            .stderr(File::create(&errors)?)
            .status()
            .with_context(|| format!("cannot start {}", process::words(command)))?;
        if !status.success() && status.code() != Some(MEASURED_BUT_INVALID) {
            let errors = String::from_utf8_lossy(&fs::read(&errors)?).into_owned();
            bail!("`{}` failed ({status}):\n{errors}", process::words(command));
        }
        Ok(String::from_utf8_lossy(&fs::read(&output)?).into_owned())
    }
}

/// The file that an experiment of this user locks for a run that is timed. Its name in a `folder` of all
/// users can be guessed: another user's file, or a link, is refused, and what is there is never cut.
fn turn(folder: &Path) -> Result<File> {
    let path = folder.join(format!("farfield-experiment-{}.lock", geteuid()));
    let mut options = File::options();
    options.read(true).write(true).create(true).mode(0o600).custom_flags(nix::libc::O_NOFOLLOW);
    let file = options.open(&path).with_context(|| format!("cannot open {}", path.display()))?;
    if file.metadata()?.uid() != geteuid().as_raw() {
        bail!("{} is another user's", path.display());
    }
    Ok(file)
}

/// Adds to `run` what its directory has beside the summary.
fn inside(run: &mut RunSummary, summary: &Json, directory: &Path, details: &[Detail]) -> Result<()> {
    let file = |name: &str| Some(directory.join(name)).filter(|file| file.is_file());
    let mut add = |detail, lines: Vec<detail::Line>| {
        run.lines.entry(detail).or_default().extend(lines);
    };
    if let Some(file) = file("monitors.parquet") {
        let monitors = Monitors::read(&file)?;
        run.measured.server = monitors.within(measured::steady(summary)?);
        details.iter().for_each(|&detail| add(detail, monitors.lines(detail)));
    }
    if let Some(file) = file("verify.json") {
        let verification: Json = serde_json::from_slice(&fs::read(file)?).context("in verify.json")?;
        run.measured.packets = Packets::of_run(&verification);
        details.iter().for_each(|&detail| add(detail, packets::lines_of_run(&verification, detail)));
    }
    if let Some(detail) = details.iter().find(|detail| detail.needs_samples()) {
        let file = directory.join("samples.parquet");
        let samples =
            farfield_measure::samples::read_samples(&fs::read(file)?).context("in samples.parquet")?;
        add(*detail, vec![detail::sessions_begun(&samples)]);
    }
    Ok(())
}

/// The plane of a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Plane {
    /// The kernel's own sockets, to a server in a process of its own.
    Sockets,
    /// An emulated network, to a server that farfield starts.
    Emulated,
    /// Virtual time, to a model of a server.
    Simulated,
}

impl Plane {
    /// That of `scenario`, which farfield refuses if it names none that there is.
    pub fn of(scenario: &Table) -> Plane {
        match scenario.get("plane").and_then(Value::as_str) {
            Some("emulated") => Plane::Emulated,
            Some("simulated") => Plane::Simulated,
            _ => Plane::Sockets,
        }
    }
}

/// SYNs that this machine's kernel has sent so far, on behalf of any program: connections begun (RFC 4022,
/// tcpActiveOpens), and SYNs sent again.
fn syns_sent() -> Result<Syns> {
    let count = |file: &str, group: &str, name: &str| {
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?;
        counter(&text, group, name).with_context(|| format!("no {name} in {file}"))
    };
    Ok(Syns {
        first: count("/proc/net/snmp", "Tcp:", "ActiveOpens")?,
        again: count("/proc/net/netstat", "TcpExt:", "TCPSynRetrans")?,
    })
}

/// A counter of `/proc/net/netstat` or `/proc/net/snmp`, where a line of names is followed by one of values.
fn counter(text: &str, group: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter(|line| line.starts_with(group));
    let (names, values) = (lines.next()?, lines.next()?);
    let mut pairs = names.split_whitespace().zip(values.split_whitespace());
    pairs.find(|(found, _)| *found == name)?.1.parse().ok()
}

/// The niceness in a process's line of `/proc/PID/stat` (proc_pid_stat(5), field 19), which its children
/// inherit.
fn niceness(stat: &str) -> Option<i32> {
    // The second field, the program's name in parentheses, may itself hold spaces and parentheses.
    let (_, from_the_third) = stat.rsplit_once(')')?;
    from_the_third.split_whitespace().nth(16)?.parse().ok()
}

/// One line on a machine, from the environment that a run leaves.
fn machine(environment: &Json) -> String {
    let processor = environment["processor"].as_str().unwrap_or("unknown processor");
    let gib = environment["memory_bytes"].as_f64().unwrap_or(0.0) / f64::from(1 << 30);
    let kernel = environment["kernel"].as_str().unwrap_or("unknown kernel");
    // `Linux 6.1.0-13-amd64 x86_64`: what follows the version is the distributor's.
    let release = kernel.split(['-', '+']).next().unwrap_or(kernel);
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    format!("{processor}, {processors} processors, {gib:.0} GiB, {release}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read_by_name() {
        let text = "TcpExt: SyncookiesSent TCPSynRetrans\nTcpExt: 1 27\nIpExt: InNoRoutes\nIpExt: 5\n";
        assert_eq!(counter(text, "TcpExt:", "TCPSynRetrans"), Some(27));
        assert_eq!(counter(text, "IpExt:", "InNoRoutes"), Some(5));
        assert_eq!(counter(text, "TcpExt:", "InNoRoutes"), None);
    }

    #[test]
    fn the_turn_of_experiments_follows_no_link() {
        let folder = tempfile::tempdir().unwrap();
        let kept = folder.path().join("kept");
        fs::write(&kept, "all of it").unwrap();
        let lock = folder.path().join(format!("farfield-experiment-{}.lock", geteuid()));
        std::os::unix::fs::symlink(&kept, &lock).unwrap();
        turn(folder.path()).unwrap_err();
        assert_eq!(fs::read_to_string(&kept).unwrap(), "all of it");
        fs::remove_file(&lock).unwrap();
        let mine = turn(folder.path()).unwrap();
        mine.try_lock().unwrap();
        turn(folder.path()).unwrap().try_lock().unwrap_err();
    }

    #[test]
    fn niceness_is_read_past_any_name() {
        let stat = "7 (a (b) c) S 1 7 7 0 -1 4194560 141 0 0 0 1 2 3 4 10 -10 1 0 55";
        assert_eq!(niceness(stat), Some(-10));
        assert_eq!(niceness("7 (a"), None);
    }

    #[test]
    fn the_machine_is_named_without_the_distributors_suffix() {
        let environment = serde_json::json!({
            "processor": "A CPU", "memory_bytes": 2u64 << 30, "kernel": "Linux 6.1.0-13-amd64 x86_64" });
        let text = machine(&environment);
        assert!(text.starts_with("A CPU, ") && text.ends_with(" processors, 2 GiB, Linux 6.1.0"), "{text}");
    }
}
