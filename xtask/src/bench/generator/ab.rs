//! ab, ApacheBench: a closed loop of HTTP/1.0.

use super::{Generator, Report, Reuse, Work, number_after};
use anyhow::Result;
use std::path::Path;
use std::process::Command;

/// Requests a second that ab may make: it stops at 50,000 in all by default, and reserves 32 bytes for each.
const REQUESTS_PER_SECOND_MAX: u32 = 400_000;

/// ab 2.3.
#[derive(Debug)]
pub struct Ab;

impl Generator for Ab {
    fn name(&self) -> &'static str {
        "ab"
    }

    fn version_arg(&self) -> &'static str {
        "-V"
    }

    fn command(&self, program: &Path, work: &Work, _scratch: &Path) -> Result<Command> {
        let mut command = Command::new(program);
        command.arg("-q");
        if work.reuse == Reuse::KeepAlive {
            command.arg("-k");
        }
        // `-n` counts only if it comes behind `-t`.
        command.arg("-c").arg(work.connections.to_string()).arg("-t").arg(work.seconds.to_string());
        command.arg("-n").arg((work.seconds * REQUESTS_PER_SECOND_MAX).to_string()).arg(&work.url);
        Ok(command)
    }

    fn parse(&self, output: &str) -> Result<Report> {
        let failed = number_after(output, "Failed requests:")? as u64;
        // Absent unless there were any.
        let refused = number_after(output, "Non-2xx responses:").unwrap_or(0.0) as u64;
        let complete = number_after(output, "Complete requests:")? as u64;
        Ok(Report {
            completed: complete.saturating_sub(failed + refused),
            failed: failed + refused,
            per_s: number_after(output, "Requests per second:")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "\
Concurrency Level:      64
Time taken for tests:   1.000 seconds
Complete requests:      30566
Failed requests:        0
Keep-Alive requests:    30566
Requests per second:    30565.36 [#/sec] (mean)
Time per request:       2.094 [ms] (mean)
";

    #[test]
    fn reads_its_output() {
        assert_eq!(Ab.parse(GOOD).unwrap(), Report { completed: 30566, failed: 0, per_s: 30565.36 });
    }

    #[test]
    fn reads_errors() {
        let bad = GOOD.replace(
            "Failed requests:        0",
            "Failed requests:        5\n   (Connect: 0, Receive: 0, Length: 5, Exceptions: 0)\nNon-2xx responses:      61",
        );
        assert_eq!(Ab.parse(&bad).unwrap(), Report { completed: 30500, failed: 66, per_s: 30565.36 });
        assert!(Ab.parse("apr_socket_recv: Connection refused (111)").is_err());
    }
}
