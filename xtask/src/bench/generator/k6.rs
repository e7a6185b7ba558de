//! k6: here an open loop at a constant arrival rate.

use super::{Generator, Pace, Report, Work};
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;

/// k6, any version with `handleSummary`.
#[derive(Debug)]
pub struct K6;

impl Generator for K6 {
    fn name(&self) -> &'static str {
        "k6"
    }

    fn version_arg(&self) -> &'static str {
        "version"
    }

    fn command(&self, program: &Path, work: &Work, scratch: &Path) -> Result<Command> {
        let file = scratch.join("k6.js");
        fs::write(&file, script(work)).with_context(|| format!("cannot write {}", file.display()))?;
        let mut command = Command::new(program);
        command.args(["run", "--quiet", "--no-usage-report"]).arg(file);
        Ok(command)
    }

    fn parse(&self, output: &str) -> Result<Report> {
        let report: Value = serde_json::from_str(output.trim()).context("not the JSON of the script")?;
        let number = |metric: &str, what: &str| report["metrics"][metric]["values"][what].as_f64();
        let sent = number("http_reqs", "count").context("no `http_reqs`")? as u64;
        // A rate whose passes are the failures; absent unless the script asks for it in old versions.
        let failed = number("http_req_failed", "passes").unwrap_or(0.0) as u64;
        let dropped = number("dropped_iterations", "count").unwrap_or(0.0) as u64;
        Ok(Report {
            completed: sent.saturating_sub(failed),
            failed: failed + dropped,
            per_s: number("http_reqs", "rate").context("no rate of `http_reqs`")?,
        })
    }
}

/// The script that does `work`, and prints its summary as JSON and nothing else.
fn script(work: &Work) -> String {
    let duration = format!("{}s", work.seconds);
    let scenario = match work.pace {
        Pace::Closed => json!({ "executor": "constant-vus", "vus": work.connections, "duration": duration }),
        Pace::Open(per_s) => json!({
            "executor": "constant-arrival-rate", "rate": per_s, "timeUnit": "1s", "duration": duration,
            "preAllocatedVUs": work.connections, "maxVUs": work.connections * 16,
        }),
    };
    let options = json!({ "discardResponseBodies": true, "scenarios": { "bench": scenario } });
    format!(
        "import http from 'k6/http';
export const options = {options};
export default function () {{ http.get({}); }}
export function handleSummary(data) {{ return {{ stdout: JSON.stringify(data) }}; }}
",
        Value::from(work.url.as_str())
    )
}

#[cfg(test)]
mod tests {
    use super::super::{Reuse, Version};
    use super::*;

    #[test]
    fn reads_its_output() {
        let text = r#"{"metrics":{
            "http_reqs":{"type":"counter","contains":"default","values":{"count":9990,"rate":998.9}},
            "http_req_failed":{"type":"rate","values":{"rate":0.001,"passes":10,"fails":9980}},
            "dropped_iterations":{"type":"counter","values":{"count":7,"rate":0.7}}}}"#;
        assert_eq!(K6.parse(text).unwrap(), Report { completed: 9980, failed: 17, per_s: 998.9 });
        assert!(K6.parse(r#"{"metrics":{}}"#).is_err());
    }

    #[test]
    fn the_script_holds_the_work() {
        let work = Work {
            url: "http://127.0.0.1:80/1k".to_owned(),
            connections: 64,
            seconds: 10,
            pace: Pace::Open(5000),
            reuse: Reuse::KeepAlive,
            version: Version::Http1,
        };
        let script = script(&work);
        for part in [
            "constant-arrival-rate",
            r#""rate":5000"#,
            r#""duration":"10s""#,
            r#"http.get("http://127.0.0.1:80/1k")"#,
        ] {
            assert!(script.contains(part), "{part} in {script}");
        }
    }
}
