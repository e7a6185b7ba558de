//! Runs one point of an experiment: a fresh server on one processor, farfield on another, its summary read.
//!
//! On the sockets plane the server is farfield's own origin in a process of its own, so that what the generator says
//! of itself, its lateness and its processor time, is of the generator alone. On the emulated plane farfield starts
//! the server of the scenario, whose kernel does its receive work on the server's processor as well. On the simulated
//! plane there is no server, and it matters to nothing but the time it takes what else the processors do.

use super::column::{Row, RunSummary};
use super::plan::Number;
use super::server::ServerKind;
use anyhow::{Context, Result, bail};
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use tempfile::TempDir;
use toml::{Table, Value};
use xtask::{hold, process};

/// The exit code of a farfield that has measured and doubts itself.
const MEASURED_BUT_INVALID: i32 = 3;

/// Seconds after which a run that does not end is ended.
const LIMIT_S: u32 = 900;

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
    /// What it is set to.
    pub value: Number,
    /// The server that is started in the place; the scenario's own if absent.
    pub server: Option<ServerKind>,
    /// The rate at which its interface sends; at once if absent.
    pub sends_at: Option<String>,
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
        let mut command = self.command(point, &point.scenario)?;
        process::output(command.arg("--show-scenario")).map(drop)
    }

    /// Runs the point until a run is valid, but at most so many times; the last run counts.
    pub fn measure(&self, point: &Point, tries_max: u32) -> Result<Row> {
        let mut tries = 0;
        loop {
            tries += 1;
            let RunSummary { measured, classes, doubts } = self.run(point)?;
            if doubts.is_empty() || tries >= tries_max {
                let Point { curve, value, .. } = *point;
                return Ok(Row { curve, value, measured, classes, doubts, tries });
            }
        }
    }

    /// What the machine is, as the last run has found it, and at which priority it ran.
    pub fn machine(&self) -> Result<String> {
        let text = fs::read(self.scratch.path().join("run/environment.json"))
            .context("no run has left its environment")?;
        let machine = machine(&serde_json::from_slice(&text)?);
        let niceness = niceness(&fs::read_to_string("/proc/self/stat")?).unwrap_or(0);
        Ok(if niceness == 0 { machine } else { format!("{machine}, at niceness {niceness}") })
    }

    fn run(&self, point: &Point) -> Result<RunSummary> {
        let plane = Plane::of(&point.scenario);
        if plane != Plane::Sockets {
            // farfield starts the server itself, and does the clients' TCP: the kernel's counter has none of them.
            return self.driven(self.command(point, &point.scenario)?, plane, None);
        }
        let mut scenario = point.scenario.clone();
        let Some(Value::Table(origin)) = scenario.remove("origin") else {
            bail!("the scenario of an experiment must say in `[scenario.origin]` what the server can do");
        };
        let mut command = self.command(point, &scenario)?;
        let origin = Origin::start(&self.farfield, &origin, self.server_cpu)?;
        command.arg("--target").arg(format!("http://{}/", origin.address));
        self.driven(command, plane, Some(syns_sent_again()?))
    }

    /// Runs `command` and reads what it measured; before it, the kernel had sent so many SYNs again.
    fn driven(&self, mut command: Command, plane: Plane, syns_before: Option<u64>) -> Result<RunSummary> {
        let directory = self.scratch.path().join("run");
        if directory.exists() {
            fs::remove_dir_all(&directory)
                .with_context(|| format!("cannot remove {}", directory.display()))?;
        }
        command.args(["--quiet", "--format", "json", "--samples", "none", "--out"]).arg(directory);
        let output = self.output(&command, plane)?;
        let syns_again = match syns_before {
            Some(before) => Some(syns_sent_again()?.saturating_sub(before)),
            None => None,
        };
        let summary: Json = serde_json::from_str(&output)
            .with_context(|| format!("`{}` printed no summary:\n{output}", process::words(&command)))?;
        RunSummary::read(&summary, syns_again)
    }

    /// `farfield run` of `scenario` at the point.
    fn command(&self, point: &Point, scenario: &Table) -> Result<Command> {
        let file = self.scratch.path().join("scenario.toml");
        let mut scenario = scenario.clone();
        if let Some(server) = point.server {
            let (scratch, rate) = (self.scratch.path(), point.sends_at.as_deref());
            server.put(&self.farfield, &mut scenario, scratch, rate)?;
        }
        fs::write(&file, scenario.to_string()).with_context(|| format!("cannot write {}", file.display()))?;
        let mut command = Command::new(&self.farfield);
        command.arg("run").arg(file);
        for (key, value) in &point.sets {
            command.arg("--set").arg(format!("{key}={value}"));
        }
        if Plane::of(&scenario) == Plane::Emulated {
            command.arg("--set").arg(format!("server.processors=[{}]", self.server_cpu));
        }
        Ok(command)
    }

    /// What `command` prints. Unless its time is virtual, on the generator's processor, and not while another experiment of
    /// this machine runs a point, for they would share the processors.
    fn output(&self, command: &Command, plane: Plane) -> Result<String> {
        let is_timed = plane != Plane::Simulated;
        let turn = std::env::temp_dir().join("farfield-experiment.lock");
        let turn = File::create(&turn).with_context(|| format!("cannot write {}", turn.display()))?;
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

/// farfield's origin in a process of its own; it ends with this value.
#[derive(Debug)]
struct Origin {
    child: Child,
    address: String,
    /// Kept open: what the origin says at its end must find a reader.
    _says: BufReader<ChildStdout>,
}

impl Origin {
    /// Starts one on processor `cpu` and a free port, with the settings of `table`.
    fn start(farfield: &Path, table: &Table, cpu: usize) -> Result<Origin> {
        let mut serve = Command::new(farfield);
        serve.args(["serve", "127.0.0.1:0"]).args(knobs(table));
        let mut child = hold::held(&serve, cpu, None)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", process::words(&serve)))?;
        let mut says = BufReader::new(child.stdout.take().context("stdout is piped")?);
        let mut line = String::new();
        says.read_line(&mut line)?;
        let Some(address) = address_in(&line) else {
            let status = child.kill().and_then(|()| child.wait())?;
            bail!("`{}` does not say where it serves ({status}): {line}", process::words(&serve));
        };
        Ok(Origin { child, address, _says: says })
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What carries the bytes in a scenario.
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

/// The flags of `farfield serve` for the server's table of a scenario: each key has one of its name.
fn knobs(table: &Table) -> Vec<String> {
    let flag = |(key, value): (&String, &Value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        [format!("--{key}"), value]
    };
    table.iter().flat_map(flag).collect()
}

/// The address in `serving http://127.0.0.1:8080/ (…`.
fn address_in(line: &str) -> Option<String> {
    let (address, _) = line.split_once("http://")?.1.split_once('/')?;
    Some(address.to_owned())
}

/// SYNs that this machine's kernel has sent again so far, on behalf of any program.
fn syns_sent_again() -> Result<u64> {
    const FILE: &str = "/proc/net/netstat";
    let text = fs::read_to_string(FILE).with_context(|| format!("cannot read {FILE}"))?;
    counter(&text, "TcpExt:", "TCPSynRetrans").with_context(|| format!("no TCPSynRetrans in {FILE}"))
}

/// A counter of `/proc/net/netstat`, where a line of names is followed by one of values.
fn counter(text: &str, group: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter(|line| line.starts_with(group));
    let (names, values) = (lines.next()?, lines.next()?);
    let mut pairs = names.split_whitespace().zip(values.split_whitespace());
    pairs.find(|(found, _)| *found == name)?.1.parse().ok()
}

/// The niceness in a process's line of `/proc/PID/stat` (proc_pid_stat(5), field 19), which its children inherit.
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
    fn a_table_becomes_flags() {
        let table: Table = "service-time = '30ms'\nservers = 4".parse().unwrap();
        let mut knobs = knobs(&table);
        knobs.sort();
        assert_eq!(knobs, ["--servers", "--service-time", "30ms", "4"]);
    }

    #[test]
    fn the_address_is_found() {
        let line = "serving http://127.0.0.1:40123/ (its index lists what there is); Ctrl-C ends it";
        assert_eq!(address_in(line).as_deref(), Some("127.0.0.1:40123"));
        assert_eq!(address_in("error"), None);
    }

    #[test]
    fn counters_are_read_by_name() {
        let text = "TcpExt: SyncookiesSent TCPSynRetrans\nTcpExt: 1 27\nIpExt: InNoRoutes\nIpExt: 5\n";
        assert_eq!(counter(text, "TcpExt:", "TCPSynRetrans"), Some(27));
        assert_eq!(counter(text, "IpExt:", "InNoRoutes"), Some(5));
        assert_eq!(counter(text, "TcpExt:", "InNoRoutes"), None);
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
