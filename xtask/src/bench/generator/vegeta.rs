//! vegeta: an open loop at a constant rate. Its attack goes through a pipe to its report.

use super::{Generator, Pace, Report, Work};
use crate::bench::peers;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// vegeta 12.
#[derive(Debug)]
pub struct Vegeta;

impl Generator for Vegeta {
    fn name(&self) -> &'static str {
        "vegeta"
    }

    fn installed_version(&self) -> Option<&'static str> {
        peers::VEGETA.rsplit_once("@v").map(|(_, version)| version)
    }

    fn command(&self, program: &Path, work: &Work, _scratch: &Path) -> Result<Command> {
        let Pace::Open(per_s) = work.pace else { bail!("vegeta has no closed loop at full speed") };
        let attack = "echo \"GET $2\" | \"$1\" attack -rate=$3 -duration=$4s -connections=$5 -insecure";
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("{attack} | \"$1\" report -type=json"), "sh"])
            .arg(program)
            .arg(&work.url);
        command.args([per_s.to_string(), work.seconds.to_string(), work.connections.to_string()]);
        Ok(command)
    }

    fn parse(&self, output: &str) -> Result<Report> {
        let report: Value = serde_json::from_str(output.trim()).context("not the JSON of vegeta")?;
        let requests = report["requests"].as_u64().context("no `requests`")?;
        let codes = report["status_codes"].as_object().context("no `status_codes`")?;
        let good = codes.iter().filter(|(code, _)| code.starts_with(['2', '3']));
        let completed = good.filter_map(|(_, count)| count.as_u64()).sum();
        let per_s = report["rate"].as_f64().context("no `rate`")?;
        Ok(Report { completed, failed: requests.saturating_sub(completed), per_s })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Reuse, Version};
    use super::*;

    #[test]
    fn reads_its_output() {
        let text = r#"{"latencies":{"total":82230621,"mean":411153},"duration":995005473,"wait":348276,"requests":200,
            "rate":201.0039,"throughput":190.93,"success":0.95,"status_codes":{"200":190,"503":4,"0":6},"errors":["x"]}"#;
        assert_eq!(Vegeta.parse(text).unwrap(), Report { completed: 190, failed: 10, per_s: 201.0039 });
        assert!(Vegeta.parse("{}").is_err());
        assert_eq!(Vegeta.installed_version(), Some("12.13.0"));
    }

    #[test]
    fn a_closed_loop_is_refused() {
        let url = "http://127.0.0.1/".to_owned();
        let (reuse, version) = (Reuse::KeepAlive, Version::Http1);
        let work = Work { url, connections: 4, seconds: 1, pace: Pace::Closed, reuse, version };
        assert!(Vegeta.command(Path::new("vegeta"), &work, Path::new(".")).is_err());
    }
}
