//! oha: here an open loop at a constant rate, with latency counted from when a request was due.

use super::{Generator, Pace, Report, Version, Work};
use anyhow::{Context, Result};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// oha 1.
#[derive(Debug)]
pub struct Oha;

impl Generator for Oha {
    fn name(&self) -> &'static str {
        "oha"
    }

    fn command(&self, program: &Path, work: &Work, _scratch: &Path) -> Result<Command> {
        let mut command = Command::new(program);
        command.args(["--no-tui", "--output-format", "json"]);
        command.arg("-c").arg(work.connections.to_string()).arg("-z").arg(format!("{}s", work.seconds));
        if let Pace::Open(per_s) = work.pace {
            command.arg("--latency-correction").arg("-q").arg(per_s.to_string());
        }
        if let Version::Http2(streams) | Version::Http3(streams) = work.version {
            let version = if matches!(work.version, Version::Http2(_)) { "2" } else { "3" };
            command.args(["--http-version", version, "-p"]).arg(streams.to_string());
        }
        if work.url.starts_with("https:") {
            command.arg("--insecure");
        }
        command.arg(&work.url);
        Ok(command)
    }

    fn parse(&self, output: &str) -> Result<Report> {
        let report: Value = serde_json::from_str(output).context("not the JSON of oha")?;
        let statuses = report["statusCodeDistribution"].as_object().context("no `statusCodeDistribution`")?;
        let count = |good: bool| -> u64 {
            let of_kind = statuses.iter().filter(|(status, _)| status.starts_with(['2', '3']) == good);
            of_kind.filter_map(|(_, count)| count.as_u64()).sum()
        };
        Ok(Report {
            completed: count(true),
            failed: count(false) + errors(&report),
            per_s: report["summary"]["requestsPerSec"].as_f64().context("no `requestsPerSec`")?,
        })
    }
}

/// Errors without a status. Requests that the end of the run cut off are none.
fn errors(report: &Value) -> u64 {
    let kinds = report["errorDistribution"].as_object();
    let real = kinds.into_iter().flatten().filter(|(kind, _)| !kind.contains("deadline"));
    real.filter_map(|(_, count)| count.as_u64()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_its_output() {
        let text = r#"{
  "summary": { "successRate": 1.0, "total": 1.0004, "requestsPerSec": 998.6, "totalData": 1023000 },
  "statusCodeDistribution": { "200": 990, "304": 5, "503": 4 },
  "errorDistribution": { "aborted due to deadline": 9, "connection refused": 2 }
}"#;
        assert_eq!(Oha.parse(text).unwrap(), Report { completed: 995, failed: 6, per_s: 998.6 });
        assert!(Oha.parse("{}").is_err());
        assert!(Oha.parse("Error: not a URL").is_err());
    }
}
