//! farfield itself, and what the benches read of its summary.

use super::{Generator, Pace, Report, Reuse, Version, Work};
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

/// The run directory, in the folder of the benches.
pub const DIRECTORY: &str = "farfield-run";

/// The farfield of this repository.
#[derive(Debug)]
pub struct Farfield;

impl Generator for Farfield {
    fn name(&self) -> &'static str {
        "farfield"
    }

    fn command(&self, program: &Path, work: &Work, scratch: &Path) -> Result<Command> {
        Ok(of_work(program, work, scratch))
    }

    fn parse(&self, output: &str) -> Result<Report> {
        let summary = Summary::parse(output)?;
        let (completed, ended) =
            (summary.outcomes(|name| name == "ok"), summary.outcomes(|name| name != "cut"));
        Ok(Report {
            completed,
            failed: ended - completed,
            per_s: summary.number("/steady/rates/succeeded_per_s")?,
        })
    }
}

/// `farfield run` of `work`.
pub fn of_work(program: &Path, work: &Work, scratch: &Path) -> Command {
    let mut command = run(program, &work.url, work.seconds, scratch);
    match work.pace {
        Pace::Closed => command.arg("-c").arg(work.connections.to_string()).args(["--warm-up", "0s"]),
        Pace::Open(per_s) => command.arg("-R").arg(per_s.to_string()).args(["--warm-up", "1s"]),
    };
    if work.reuse == Reuse::OneRequest {
        command.args(["--policy", "one-request"]);
    }
    let streams = match work.version {
        Version::Http1 => None,
        Version::Http2(streams) => Some(("2", streams)),
        Version::Http3(streams) => Some(("3", streams)),
    };
    if let Some((version, streams)) = streams {
        command.args(["--http", version, "--policy", "multiplexed", "--set"]);
        command.arg(format!("connections.streams={streams}"));
    }
    if work.url.starts_with("https:") {
        // The others do not look whose the certificate is either.
        command.arg("--insecure");
        if work.version == Version::Http1 {
            command.args(["--http", "1.1"]);
        }
    }
    command
}

/// `farfield run` of a URL on one thread, that keeps every sample and prints its summary as JSON.
pub fn run(program: &Path, url: &str, seconds: u32, scratch: &Path) -> Command {
    let mut command = command(program, url, seconds, scratch);
    command.args(["-t", "1"]);
    command
}

/// A run of a URL or a scenario, on as many threads as it says.
pub fn command(program: &Path, what: &str, seconds: u32, scratch: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(["run", what, "--quiet", "--format", "json", "--samples", "all"]);
    command.arg("-d").arg(format!("{seconds}s")).arg("--out").arg(scratch.join(DIRECTORY));
    command
}

/// Removes what the last run left: a directory that holds a run is refused, and samples of many runs would
/// fill the disk.
pub fn remove_run(scratch: &Path) -> Result<()> {
    let directory = scratch.join(DIRECTORY);
    match fs::remove_dir_all(&directory) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", directory.display()))
        }
        _ => Ok(()),
    }
}

/// The output of `farfield run --format json`: numbers by their JSON pointer (RFC 6901).
#[derive(Debug, Clone)]
pub struct Summary(Value);

impl Summary {
    /// Reads the document.
    pub fn parse(text: &str) -> Result<Summary> {
        serde_json::from_str(text).map(Summary).context("not the summary of a run")
    }

    /// The number at `pointer`.
    pub fn number(&self, pointer: &str) -> Result<f64> {
        let number = self.0.pointer(pointer).and_then(Value::as_f64);
        number.with_context(|| format!("no number at {pointer} of the summary"))
    }

    /// The percentile `name` of the timing at `pointer`, in microseconds.
    pub fn quantile_us(&self, pointer: &str, name: &str) -> Result<f64> {
        let quantiles = self.0.pointer(pointer).and_then(|timing| timing["quantiles"].as_array());
        let named = quantiles.into_iter().flatten().find(|quantile| quantile["name"] == name);
        let ns = named.and_then(|quantile| quantile["value_ns"].as_f64());
        ns.map(|ns| ns / 1000.0).with_context(|| format!("no {name} at {pointer} of the summary"))
    }

    /// Requests of the whole run, warm-up included, whose outcome's name is `wanted`.
    pub fn outcomes(&self, wanted: impl Fn(&str) -> bool) -> u64 {
        let parts = ["/warm_up/outcomes", "/steady/outcomes"];
        let counts = parts.iter().filter_map(|part| self.0.pointer(part)?.as_array()).flatten();
        let named = counts.filter(|outcome| outcome["name"].as_str().is_some_and(&wanted));
        named.filter_map(|outcome| outcome["count"].as_u64()).sum()
    }

    /// The outcome of most requests of the measured part, with their number.
    pub fn commonest(&self) -> String {
        let counts = self.0.pointer("/steady/outcomes").and_then(Value::as_array);
        let count = |outcome: &&Value| outcome["count"].as_u64();
        let most = counts.into_iter().flatten().max_by_key(count);
        let words = most.and_then(|own| Some(format!("{} {}", count(&own)?, own["name"].as_str()?)));
        words.unwrap_or_else(|| "none".to_owned())
    }

    /// True if the run calls itself valid.
    pub fn is_valid(&self) -> bool {
        self.0.pointer("/verdict/valid").and_then(Value::as_bool) == Some(true)
    }

    /// The checks of the verdict that failed, by name.
    pub fn failed_checks(&self) -> Vec<String> {
        let checks = self.0.pointer("/verdict/checks").and_then(Value::as_array);
        let failed = checks.into_iter().flatten().filter(|check| check["state"] == "failed");
        failed.filter_map(|check| check["name"].as_str().map(str::to_owned)).collect()
    }
}

/// The number of runs in which each check failed.
#[derive(Debug, Default)]
pub struct Invalid(BTreeMap<String, usize>);

impl Invalid {
    /// Counts what failed in a run; whether the run is valid.
    pub fn add(&mut self, summary: &Summary) -> bool {
        for check in summary.failed_checks() {
            *self.0.entry(check).or_default() += 1;
        }
        summary.is_valid()
    }

    /// A sentence on why runs were invalid.
    pub fn in_words(&self) -> String {
        let failed: Vec<String> = self.0.iter().map(|(check, runs)| format!("{check} in {runs}")).collect();
        let failed = if failed.is_empty() { "none was".to_owned() } else { failed.join(", ") };
        format!("Why runs were invalid: {failed}.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xtask::process;

    const TEXT: &str = r#"{
        "verdict": { "valid": false, "checks": [
            { "name": "completed", "state": "passed" }, { "name": "worker-busy", "state": "failed" } ] },
        "warm_up": { "outcomes": [ { "name": "ok", "count": 10 } ] },
        "steady": { "rates": { "succeeded_per_s": 45.5 },
            "outcomes": [ { "name": "ok", "count": 90 }, { "name": "reset", "count": 3 }, { "name": "cut", "count": 1 } ] },
        "generator": { "lateness": { "quantiles": [ { "name": "p50", "value_ns": 1500 } ] } }
    }"#;

    #[test]
    fn reads_the_summary() {
        assert_eq!(Farfield.parse(TEXT).unwrap(), Report { completed: 100, failed: 3, per_s: 45.5 });
        let summary = Summary::parse(TEXT).unwrap();
        assert_eq!(summary.quantile_us("/generator/lateness", "p50").unwrap(), 1.5);
        assert_eq!(summary.failed_checks(), ["worker-busy"]);
        let mut invalid = Invalid::default();
        assert_eq!(invalid.in_words(), "Why runs were invalid: none was.");
        assert!(!invalid.add(&summary));
        assert_eq!(invalid.in_words(), "Why runs were invalid: worker-busy in 1.");
        assert!(Summary::parse(&TEXT.replace("false", "true")).unwrap().is_valid());
    }

    #[test]
    fn work_becomes_flags() {
        let work = Work {
            url: "https://127.0.0.1:8443/".to_owned(),
            connections: 8,
            seconds: 1,
            pace: Pace::Closed,
            reuse: Reuse::KeepAlive,
            version: Version::Http2(10),
        };
        let words = |work: &Work| process::words(&of_work(Path::new("farfield"), work, Path::new("/a")));
        let text = words(&work);
        for flags in ["--http 2 --policy multiplexed --set connections.streams=10", "--insecure", "-c 8"] {
            assert!(text.contains(flags), "{flags} in {text}");
        }
        let plain = Work { url: "http://127.0.0.1/".to_owned(), version: Version::Http1, ..work };
        assert!(!words(&plain).contains("--insecure") && !words(&plain).contains("--http"));
    }

    #[test]
    fn what_is_not_there_is_named() {
        let summary = Summary::parse(TEXT).unwrap();
        assert!(summary.number("/steady/nothing").unwrap_err().to_string().contains("/steady/nothing"));
        assert!(summary.quantile_us("/generator/lateness", "p99").unwrap_err().to_string().contains("p99"));
        assert!(Summary::parse("usage: farfield").is_err());
    }
}
