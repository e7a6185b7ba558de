//! The traffic as `farfield run` makes it on the simulated plane: users' TCP on the paths of table 5, a
//! shared link, and a model of a server, in virtual time. What comes back are the instants of requests and of
//! packets.

use super::Traffic;
use crate::study::setting::Setting;
use anyhow::{Context, Result, bail};
use farfield_base::{Duration, Instant};
use farfield_fit::series::counts;
use farfield_measure::samples::SamplesFile;
use farfield_wire::pcapng::{Block, Reader};
use serde_json::Value;
use std::fs::{self, File};
use std::io::BufReader;
use std::process::{Command, Stdio};

/// A run of the traffic.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    pub traffic: Traffic,
    /// Of the run's seed; the site is that of seed 1.
    pub seed: u64,
    /// The time in which sessions come before anything counts, and the measured time.
    pub warm_up: Duration,
    pub duration: Duration,
    /// The link that all clients share before the server.
    pub shared: &'static str,
    /// Packets are looked at.
    pub has_packets: bool,
}

/// The result of a run.
#[derive(Debug, Clone)]
pub struct Ran {
    from: Instant,
    duration: Duration,
    /// Instants at which requests of the measured part were sent, in order of their ends.
    requests: Vec<Instant>,
    /// Instants at which packets passed between network and server.
    packets: Vec<Instant>,
    /// Why farfield calls the run invalid; empty if it does not.
    pub doubts: Vec<String>,
    /// Bytes of bodies.
    pub bytes: u64,
}

/// The exit code of a farfield that has measured and doubts itself.
const MEASURED_BUT_INVALID: i32 = 3;

impl Run {
    /// The scenario. What the paper does not say is ours: shares of the classes of clients, connections, the
    /// server.
    pub fn scenario(&self) -> String {
        let paths = ["modem-56k", "modem-33k", "t1", "wan", "satellite", "ethernet"];
        let class = |path: &str| format!("[[network.class]]\nname = \"{path}\"\naccess = \"{path}\"\n");
        let classes: String = paths.map(class).concat();
        let Run { seed, warm_up, duration, shared, has_packets, .. } = self;
        // Sessions under way, several times over: no two users share an access link.
        let clients = ((1_000.0 * self.traffic.rate) as u64).max(1_000);
        format!(
            "name = \"wagon\"\nplane = \"simulated\"\nseed = {seed}\n\
             [run]\nwarm-up = \"{}s\"\nduration = \"{}s\"\ndrain = \"30s\"\n\
             {}\
             [requests]\nsite = \"wagon\"\norder = \"walk\"\n\
             [connections]\npolicy = \"persistent\"\nparallel = 4\nrequest-timeout = \"10m\"\n\
             [network]\nclients = {clients}\nshared = {{ up = {{ rate = \"{shared}\" }}, down = {{ rate = \"{shared}\" }}, rtt = \"1ms\" }}\n\
             {classes}\
             [simulated]\nworkers = 65536\nbacklog = 65535\nkeep-alive-timeout = \"15s\"\nservice-time = \"1ms\"\n\
             [capture]\ngateway = {has_packets}\nsnap = 1\n\
             [output]\ndisk-budget = \"16GiB\"\n",
            warm_up.as_secs_f64(),
            duration.as_secs_f64(),
            self.traffic.load(),
        )
    }

    /// Makes the run.
    pub fn made(&self, setting: &Setting) -> Result<Ran> {
        let file = setting.scratch.join("wagon.toml");
        let directory = setting.scratch.join("run");
        if directory.exists() {
            fs::remove_dir_all(&directory)?;
        }
        fs::write(&file, self.scenario())?;
        eprintln!(
            "  {} sessions/s for {:.0} s, seed {}",
            self.traffic.rate,
            self.duration.as_secs_f64(),
            self.seed
        );
        let mut command = Command::new(&setting.farfield);
        command.arg("run").arg(&file).args(["--quiet", "--format", "json", "--out"]).arg(&directory);
        let output = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .output()
            .with_context(|| format!("cannot start {}", setting.farfield.display()))?;
        if !matches!(output.status.code(), Some(0 | MEASURED_BUT_INVALID)) {
            bail!("farfield failed ({}): {}", output.status, String::from_utf8_lossy(&output.stderr));
        }
        self.read(&directory)
    }

    fn read(&self, directory: &std::path::Path) -> Result<Ran> {
        let from = Instant::ZERO + self.warm_up;
        let until = from + self.duration;
        let mut ran = Ran {
            from,
            duration: self.duration,
            requests: Vec::new(),
            packets: Vec::new(),
            doubts: doubts(&serde_json::from_slice(&fs::read(directory.join("summary.json"))?)?),
            bytes: 0,
        };
        let samples = SamplesFile::open(File::open(directory.join("samples.parquet"))?)?;
        for sample in samples.samples() {
            let sample = sample?;
            let Some(sent) = sample.sent.instant().filter(|sent| (from..until).contains(sent)) else {
                continue;
            };
            ran.requests.push(sent);
            ran.bytes += sample.body_bytes;
        }
        if self.has_packets {
            let mut reader = Reader::new(BufReader::new(File::open(directory.join("capture.pcapng"))?));
            while let Some(block) = reader.next_block()? {
                let Block::Packet { metadata, .. } = block else { continue };
                // In virtual time a capture's clock begins with the run.
                let at = Instant::from_ns(metadata.at_unix_ns);
                if (from..until).contains(&at) {
                    ran.packets.push(at);
                }
            }
        }
        Ok(ran)
    }
}

/// The checks of the verdict that failed.
fn doubts(summary: &Value) -> Vec<String> {
    let checks = summary["verdict"]["checks"].as_array().into_iter().flatten();
    let failed = checks.filter(|check| check["state"] == "failed");
    failed.map(|check| check["name"].as_str().unwrap_or("unnamed").to_owned()).collect()
}

impl Ran {
    /// Requests in each slot.
    pub fn requests_in(&self, slot: Duration) -> Vec<f64> {
        self.counted(&self.requests, slot)
    }

    /// Packets in each slot, both ways together.
    pub fn packets_in(&self, slot: Duration) -> Vec<f64> {
        self.counted(&self.packets, slot)
    }

    fn counted(&self, instants: &[Instant], slot: Duration) -> Vec<f64> {
        let slots = (self.duration.as_ns() / slot.as_ns()) as usize;
        counts(instants.iter().copied(), self.from, slot, slots)
    }

    /// Gaps between requests, in seconds, those of the same instant left out.
    pub fn gaps_s(&self) -> Vec<f64> {
        let mut sorted = self.requests.clone();
        sorted.sort_unstable();
        let gaps = sorted.windows(2).map(|pair| pair[1].since(pair[0]).as_secs_f64());
        gaps.filter(|gap| *gap > 0.0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_scenario_has_the_traffic_and_the_paths() {
        let run = Run {
            traffic: Traffic::random(8.0),
            seed: 3,
            warm_up: Duration::from_secs(60),
            duration: Duration::from_secs(120),
            shared: "10Mbit",
            has_packets: true,
        };
        let text = run.scenario();
        let table: toml::Table = toml::from_str(&text).expect(&text);
        assert_eq!(table["network"]["class"].as_array().expect("classes").len(), 6);
        assert_eq!(table["load"]["arrivals"]["rate"].as_str(), Some("8/s"));
        assert_eq!(table["run"]["duration"].as_str(), Some("120s"));
    }

    #[test]
    fn failed_checks_are_doubts() {
        let summary = json!({ "verdict": { "checks": [
            { "name": "littles-law", "state": "failed" }, { "name": "completed", "state": "passed" },
        ] } });
        assert_eq!(doubts(&summary), ["littles-law"]);
    }
}
