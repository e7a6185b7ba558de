//! wrk: a closed loop over kept-alive connections.

use super::{Generator, Report, Reuse, Work, number_after};
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

/// wrk 4.
#[derive(Debug)]
pub struct Wrk;

impl Generator for Wrk {
    fn name(&self) -> &'static str {
        "wrk"
    }

    fn version_arg(&self) -> &'static str {
        "-v"
    }

    fn command(&self, program: &Path, work: &Work, _scratch: &Path) -> Result<Command> {
        let mut command = Command::new(program);
        command.arg("-t1").arg(format!("-c{}", work.connections)).arg(format!("-d{}s", work.seconds));
        if work.reuse == Reuse::OneRequest {
            command.args(["-H", "Connection: close"]);
        }
        command.arg(&work.url);
        Ok(command)
    }

    fn parse(&self, output: &str) -> Result<Report> {
        let total =
            output.lines().find_map(|line| line.trim().split_once(" requests in ")?.0.parse::<u64>().ok());
        let total = total.context("no `requests in`")?;
        // Absent unless there were any.
        let refused = number_after(output, "Non-2xx or 3xx responses:").unwrap_or(0.0) as u64;
        Ok(Report {
            completed: total.saturating_sub(refused),
            failed: refused + socket_errors(output),
            per_s: number_after(output, "Requests/sec:")?,
        })
    }
}

/// The sum of `Socket errors: connect 0, read 1, write 0, timeout 2`.
fn socket_errors(output: &str) -> u64 {
    let kinds = output.lines().find_map(|line| line.trim().strip_prefix("Socket errors:"));
    let counts = kinds.into_iter().flat_map(|kinds| kinds.split(','));
    counts.filter_map(|kind| kind.split_whitespace().nth(1)?.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "\
Running 1s test @ http://127.0.0.1:18080/1k
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     2.84ms    2.77ms  16.92ms   85.36%
    Req/Sec    26.91k    11.65k   48.67k    70.00%
  26854 requests in 1.01s, 32.37MB read
Requests/sec:  26530.72
Transfer/sec:     31.98MB
";

    #[test]
    fn reads_its_output() {
        assert_eq!(Wrk.parse(GOOD).unwrap(), Report { completed: 26854, failed: 0, per_s: 26530.72 });
    }

    #[test]
    fn reads_errors() {
        let bad = GOOD.replace(
            "Requests/sec:",
            "  Socket errors: connect 1, read 2, write 0, timeout 3\n  Non-2xx or 3xx responses: 854\nRequests/sec:",
        );
        assert_eq!(Wrk.parse(&bad).unwrap(), Report { completed: 26000, failed: 860, per_s: 26530.72 });
        assert!(Wrk.parse("unable to connect to 127.0.0.1:18080 Connection refused").is_err());
    }
}
