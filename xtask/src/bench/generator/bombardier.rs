//! bombardier: a closed loop.

use super::{Generator, Pace, Report, Work};
use crate::bench::peers;
use anyhow::{Context, Result};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// bombardier 1.2.
#[derive(Debug)]
pub struct Bombardier;

impl Generator for Bombardier {
    fn name(&self) -> &'static str {
        "bombardier"
    }

    fn installed_version(&self) -> Option<&'static str> {
        peers::BOMBARDIER.rsplit_once("@v").map(|(_, version)| version)
    }

    fn command(&self, program: &Path, work: &Work, _scratch: &Path) -> Result<Command> {
        let mut command = Command::new(program);
        command.args(["-o", "json", "-p", "r", "-k"]);
        command.arg("-c").arg(work.connections.to_string()).arg("-d").arg(format!("{}s", work.seconds));
        if let Pace::Open(per_s) = work.pace {
            command.arg("-r").arg(per_s.to_string());
        }
        command.arg(&work.url);
        Ok(command)
    }

    fn parse(&self, output: &str) -> Result<Report> {
        let report: Value = serde_json::from_str(output.trim()).context("not the JSON of bombardier")?;
        let result = &report["result"];
        let count = |name: &str| result[name].as_u64().with_context(|| format!("no `{name}`"));
        let completed = count("req2xx")? + count("req3xx")?;
        let failed = count("req1xx")? + count("req4xx")? + count("req5xx")? + count("others")?;
        let seconds = result["timeTakenSeconds"].as_f64().context("no `timeTakenSeconds`")?;
        Ok(Report { completed, failed, per_s: completed as f64 / seconds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_its_output() {
        let text = r#"{"spec":{"numberOfConnections":8},"result":{"bytesRead":7720860,"timeTakenSeconds":2.0,"req1xx":0,
            "req2xx":35580,"req3xx":20,"req4xx":1,"req5xx":2,"others":3,"rps":{"mean":35581.8}}}"#;
        let expected = Report { completed: 35600, failed: 6, per_s: 17800.0 };
        assert_eq!(Bombardier.parse(text).unwrap(), expected);
        assert!(Bombardier.parse("{}").is_err());
        assert_eq!(Bombardier.installed_version(), Some("1.2.6"));
    }
}
