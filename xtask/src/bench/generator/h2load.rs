//! h2load, speaking HTTP/1.1 or HTTP/2: a closed loop, or a rate for each connection.

use super::{Generator, Pace, Report, Version, Work};
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Command;

/// h2load of nghttp2.
#[derive(Debug)]
pub struct H2load;

impl Generator for H2load {
    fn name(&self) -> &'static str {
        "h2load"
    }

    fn command(&self, program: &Path, work: &Work, _scratch: &Path) -> Result<Command> {
        let mut command = Command::new(program);
        match work.version {
            Version::Http1 => command.arg("--h1"),
            Version::Http2(streams) => command.arg(format!("-m{streams}")),
            Version::Http3(_) => bail!("Debian's h2load speaks no HTTP/3"),
        };
        command.arg("-t1");
        command.arg(format!("-c{}", work.connections)).arg(format!("-D{}", work.seconds));
        if let Pace::Open(per_s) = work.pace {
            command.arg(format!("--rps={:.3}", f64::from(per_s) / f64::from(work.connections)));
        }
        command.arg(&work.url);
        Ok(command)
    }

    fn parse(&self, output: &str) -> Result<Report> {
        let finished = output.lines().find_map(|line| line.strip_prefix("finished in "));
        let rate = finished.and_then(|line| line.split(", ").nth(1)?.strip_suffix(" req/s")?.parse().ok());
        let counts =
            output.lines().find_map(|line| line.strip_prefix("requests: ")).context("no `requests:`")?;
        let count = |what: &str| {
            let named =
                counts.split(", ").find_map(|count| count.strip_suffix(what)?.trim().parse::<u64>().ok());
            named.with_context(|| format!("no number before `{what}`"))
        };
        Ok(Report {
            completed: count("succeeded")?,
            failed: count("failed")? + count("timeout")?,
            per_s: rate.context("no `req/s`")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "\
starting benchmark...
progress: 93% of clients started
Application protocol: http/1.1

finished in 1.01s, 3200.00 req/s, 3.86MB/s
requests: 3200 total, 3264 started, 3200 done, 3200 succeeded, 0 failed, 0 errored, 0 timeout
status codes: 3200 2xx, 0 3xx, 0 4xx, 0 5xx
req/s           :      49.90       49.94       49.92        0.01    64.06%
";

    #[test]
    fn reads_its_output() {
        assert_eq!(H2load.parse(GOOD).unwrap(), Report { completed: 3200, failed: 0, per_s: 3200.0 });
    }

    #[test]
    fn reads_errors() {
        let bad = GOOD.replace(
            "3200 succeeded, 0 failed, 0 errored, 0 timeout",
            "3100 succeeded, 90 failed, 90 errored, 10 timeout",
        );
        assert_eq!(H2load.parse(&bad).unwrap(), Report { completed: 3100, failed: 100, per_s: 3200.0 });
        assert!(H2load.parse("starting benchmark...").is_err());
    }

    #[test]
    fn shares_the_rate_among_the_connections_and_has_streams() {
        let work = Work {
            url: "http://127.0.0.1/".to_owned(),
            connections: 64,
            seconds: 10,
            pace: Pace::Open(1000),
            reuse: super::super::Reuse::KeepAlive,
            version: Version::Http1,
        };
        let command = H2load.command(Path::new("h2load"), &work, Path::new("/")).unwrap();
        let has = |command: &Command, wanted: &str| command.get_args().any(|arg| arg == wanted);
        assert!(has(&command, "--rps=15.625") && has(&command, "--h1"));
        let work = Work { version: Version::Http2(10), ..work };
        let command = H2load.command(Path::new("h2load"), &work, Path::new("/")).unwrap();
        assert!(has(&command, "-m10") && !has(&command, "--h1"));
    }
}
