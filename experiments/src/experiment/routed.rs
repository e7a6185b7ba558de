//! Points whose clients are real: farfield's users on the kernel's own sockets, in a network namespace of
//! their own, and between them and the server `farfield route`, as the paper's delay router stood between
//! machines.
//!
//! The server is that of the scenario, with its limits, in a namespace that a `farfield shell` holds. The
//! varied round trip is the router's. Its report on itself counts as the run's own doubts do.

use super::drive::{Point, Runner};
use super::measured::RunSummary;
use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value as Json;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use toml::{Table, Value};
use xtask::{hold, process};

/// The address of the server in its namespace, as farfield gives it.
const SERVER: &str = "192.0.2.1";
/// The clients' address (TEST-NET-2, RFC 5737), which the server's namespace has no other way to.
const CLIENT: &str = "198.51.100.1";
/// The key of the router's round trip.
const ROUND_TRIP: &str = "network.rtt";
/// The key of the lateness that the router's packets may have.
const LATENESS: &str = "departure-lateness-p99";
/// Tables of a scenario that say what clients on sockets have not.
const OF_THE_ROUTER: [&str; 3] = ["network", "server", "capture"];
/// Looks at what is awaited, and the time between two.
const LOOKS: u32 = 3_000;
const LOOK: Duration = Duration::from_millis(10);
/// Seconds after which a router that nobody ends does so itself.
const LIMIT_S: u32 = 900;

/// A program that is ended with this value.
struct Held {
    child: Child,
    name: &'static str,
}

impl Held {
    fn start(command: &mut Command, name: &'static str) -> Result<Held> {
        let child = command.spawn().with_context(|| format!("cannot start {}", process::words(command)))?;
        Ok(Held { child, name })
    }

    /// Asks it to end, and returns its exit code.
    fn end(&mut self, signal: Signal) -> Result<Option<i32>> {
        let pid = Pid::from_raw(i32::try_from(self.child.id())?);
        kill(pid, signal).with_context(|| format!("cannot end {}", self.name))?;
        Ok(self.child.wait()?.code())
    }

    /// Waits until `found` has something; fails if the program ends before.
    fn until<T>(&mut self, what: &str, mut found: impl FnMut() -> Option<T>) -> Result<T> {
        for _ in 0..LOOKS {
            if let Some(thing) = found() {
                return Ok(thing);
            }
            if let Some(status) = self.child.try_wait()? {
                bail!("{} has ended ({status}) before {what}", self.name);
            }
            std::thread::park_timeout(LOOK);
        }
        bail!("{} did not get to {what}", self.name)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            // Asked first: a farfield that is killed leaves its server for the next to end.
            let asked = i32::try_from(self.child.id()).map(|pid| kill(Pid::from_raw(pid), Signal::SIGTERM));
            let _ = asked.map(|_| self.child.wait());
        }
    }
}

impl Runner {
    /// Runs the point once: a server, a router, and clients in front of it; `number` counts its runs from 0.
    pub fn routed(&self, point: &Point, number: u32) -> Result<RunSummary> {
        let Some(round_trip) = point.sets.get(ROUND_TRIP) else {
            bail!("a curve with `routed` varies {ROUND_TRIP}, and nothing else");
        };
        let file = |name: &str| self.scratch().join(name);
        // Also writes the scenario with its server.
        self.scenario_command("run", point, &point.scenario, number)?;
        let mut shell = Command::new(self.farfield());
        shell.args(["shell", "-q", "--scenario"]).arg(file("scenario.toml"));
        shell.args(["--set", &format!("server.processors=[{}]", self.server_cpu()), "--", "cat"]);
        let shell = hold::held(&shell, self.generator_cpu(), None)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .context("cannot start the server's shell")?;
        let mut server = Held { child: shell, name: "the server's shell" };
        let scratch = self.scratch().to_owned();
        let server_pid = server.until("its server", || {
            // A share of a processor may be little to start with.
            process_in_another_namespace(&scratch).filter(|pid| listens(*pid))
        })?;
        let mut clients = self.clients(point, number)?;
        let pid_file = file("clients.pid");
        let client_pid = clients
            .until("its namespace", || fs::read_to_string(&pid_file).ok()?.trim().parse::<u32>().ok())?;
        let mut router = Command::new(self.farfield());
        router.args(["route", SERVER, "--rtt", round_trip, "--client", CLIENT, "-d", &format!("{LIMIT_S}s")]);
        router.args(["--clients-netns", &client_pid.to_string()]);
        router.args(["--server-netns", &server_pid.to_string()]);
        if let Some(limit) = point.scenario.get("verdict").and_then(|verdict| verdict.get(LATENESS)) {
            router.args(["--set", &format!("verdict.{LATENESS}={limit}")]);
        }
        let mut router = Held::start(
            hold::held(&router, self.generator_cpu(), None).stdin(Stdio::null()).stderr(Stdio::piped()),
            "the router",
        )?;
        let said = router.child.stderr.take().context("the router says nothing")?;
        let mut lines = BufReader::new(said).lines();
        let is_ready = lines.by_ref().any(|line| line.is_ok_and(|line| line == "farfield: routing"));
        if !is_ready {
            bail!("the router does not route");
        }
        // The clients wait for the end of their input.
        drop(clients.child.stdin.take());
        let status = clients.child.wait()?;
        if !status.success() && status.code() != Some(3) {
            let errors = fs::read_to_string(file("errors")).unwrap_or_default();
            bail!("the clients failed ({status}):\n{errors}");
        }
        let code = router.end(Signal::SIGINT)?;
        let said: Vec<String> = lines.map_while(Result::ok).collect();
        drop(server);
        let output = fs::read_to_string(file("output"))?;
        let summary: Json = serde_json::from_str(&output)
            .with_context(|| format!("the clients printed no summary:\n{output}"))?;
        let mut run = RunSummary::read(&summary, None)?;
        match code {
            Some(0) => {}
            Some(3) => run.doubts.push("router-late".to_owned()),
            code => bail!("the router failed ({code:?}): {}", said.join(" ")),
        }
        Ok(run)
    }

    /// The clients, who wait in their namespace until their input ends.
    fn clients(&self, point: &Point, number: u32) -> Result<Held> {
        let file = |name: &str| self.scratch().join(name);
        let mut scenario = of_clients(&point.scenario);
        let seed = scenario.get("seed").and_then(Value::as_integer).unwrap_or(1);
        scenario.insert("seed".to_owned(), Value::from(seed + i64::from(number)));
        fs::write(file("clients.toml"), scenario.to_string())?;
        let (pid, directory) = (file("clients.pid"), self.fresh_directory("run")?);
        if pid.exists() {
            fs::remove_file(&pid)?;
        }
        let line = format!(
            "ip link set lo up && ip address add {CLIENT}/32 dev lo && echo $$ > {0}.new && mv {0}.new {0} && \
             cat > /dev/null && exec \"$@\" < /dev/null",
            pid.display()
        );
        let mut command = Command::new("unshare");
        command.args(["--net", "--", "/bin/sh", "-c", &line, "sh"]);
        command.arg(self.farfield()).arg("run").arg(file("clients.toml"));
        command
            .args(["--quiet", "--no-monitor", "--format", "json", "--samples", "none", "--out"])
            .arg(&directory);
        let mut held = hold::held(&command, self.generator_cpu(), Some((&file("usage"), LIMIT_S)));
        held.stdin(Stdio::piped())
            .stdout(File::create(file("output"))?)
            .stderr(File::create(file("errors"))?);
        Held::start(&mut held, "the clients")
    }
}

/// The scenario of clients on sockets: that of emulated ones without what the router and the server have of
/// it.
fn of_clients(scenario: &Table) -> Table {
    let mut scenario = scenario.clone();
    for table in OF_THE_ROUTER {
        scenario.remove(table);
    }
    scenario.insert("plane".to_owned(), Value::from("sockets"));
    scenario.insert("target".to_owned(), Value::from(format!("http://{SERVER}/")));
    scenario
}

/// The first process with `folder` in its command line that is in another network namespace than this one.
fn process_in_another_namespace(folder: &Path) -> Option<u32> {
    let namespace = |pid: &str| fs::metadata(format!("/proc/{pid}/ns/net")).map(|link| link.ino()).ok();
    let own = namespace("self");
    let folder = folder.to_str()?;
    let entries = fs::read_dir("/proc").ok()?.flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_servers = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let is_there = namespace(&pid.to_string());
        String::from_utf8_lossy(&line).contains(folder) && is_there.is_some() && is_there != own
    };
    pids.filter(is_servers).min()
}

/// True if somebody listens at port 80 in the network namespace of a process (proc_net_tcp(5)).
fn listens(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/net/tcp")).is_ok_and(|table| has_listener(&table))
}

/// True if a table of sockets has one in the state LISTEN (0A) at port 80.
fn has_listener(table: &str) -> bool {
    let mut rows = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    rows.any(|row| row.len() > 3 && row[1].ends_with(":0050") && row[3] == "0A")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_is_found_in_the_table_of_sockets() {
        let head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n";
        let other = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0\n";
        let talks = "   1: 020000C0:0050 010033C6:9C40 01 00000000:00000000 00:00000000 00000000     0\n";
        let listens = "   2: 00000000:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0\n";
        assert!(!has_listener(&format!("{head}{other}{talks}")));
        assert!(has_listener(&format!("{head}{other}{talks}{listens}")));
    }

    #[test]
    fn clients_keep_their_load_and_leave_the_network_to_the_router() {
        let scenario: Table = "plane = 'emulated'\nhttp = '1.0'\nload = { model = 'closed', users = 8 }
            network = { tcp = 'bsd' }\nserver = { cpu = 0.03 }"
            .parse()
            .unwrap();
        let expected = "plane = 'sockets'\nhttp = '1.0'\nload = { model = 'closed', users = 8 }
            target = 'http://192.0.2.1/'";
        assert_eq!(of_clients(&scenario), expected.parse::<Table>().unwrap());
    }
}
