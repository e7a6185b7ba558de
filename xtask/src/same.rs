//! `cargo xtask same BEFORE AFTER`: whether two programs of farfield have the same samples, byte for byte, in
//! virtual time. A change within farfield that is to change nothing is held so: every version of HTTP and way
//! to use connections, under each model of load, over paths that lose packets.

use anyhow::{Context, Result, bail};
use clap::Args;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use xtask::process;

/// Runs 48 scenarios in virtual time with two programs of farfield, and compares their samples byte for byte.
#[derive(Debug, Args)]
pub struct SameArgs {
    /// The earlier program.
    before: PathBuf,
    /// The later program.
    after: PathBuf,
}

/// A version of HTTP, and how its connections are used.
const PROTOCOLS: [(&str, &str); 12] = [
    ("HTTP/1.0", "http = '1.0'\nconnections.policy = 'one-request'"),
    ("HTTP/1.1, one request", "http = '1.1'\nconnections.policy = 'one-request'"),
    ("HTTP/1.1, persistent", "http = '1.1'\nconnections.policy = 'persistent'"),
    ("HTTP/1.1, closed early", "http = '1.1'\nconnections.policy = 'early-close'"),
    ("HTTP/1.1, pipelined", "http = '1.1'\nconnections.policy = 'pipelined'"),
    ("HTTP/1.1, shared pool", "http = '1.1'\nconnections.policy = 'shared-pool'"),
    ("HTTP/1.1 over TLS", "http = '1.1'\n[simulated.tls]"),
    ("HTTP/2", "http = '2'"),
    ("HTTP/2 over TLS", "http = '2'\n[simulated.tls]"),
    ("HTTP/2 over TLS, early data", "http = '2'\ntls.early-data = true\n[simulated.tls]"),
    ("HTTP/3", "http = '3'\n[simulated.tls]"),
    ("as browsers choose", "http = 'auto'\n[simulated.tls]"),
];

/// Models of load: one that waits, two that do not, of which one is past what paths carry, and sessions.
const LOADS: [(&str, &str); 4] = [
    ("closed", "[load]\nmodel = 'closed'\nusers = 60\nthink = '200ms'"),
    ("open", "[load]\nmodel = 'open'\narrivals = '80/s'"),
    ("open, far past capacity", "[load]\nmodel = 'open'\narrivals = '600/s'"),
    ("hybrid", "[load]\nmodel = 'hybrid'\narrivals = '15/s'\nthink = '150ms'"),
];

/// Keys of all scenarios.
const PLACE: &str = "\
plane = 'simulated'
seed = 5
";
const PATHS: &str = "\
[network]
clients = 200
[[network.class]]
name = 'far'
share = 1
down = { rate = '8Mbit', delay = '30ms', loss = '1.5%' }
up = { rate = '2Mbit', delay = '30ms', loss = '1%' }
";

/// Runs all scenarios with both programs.
pub fn run(args: &SameArgs) -> Result<ExitCode> {
    let folder = tempfile::tempdir()?;
    let (mut scenarios, mut differ) = (0, 0);
    for (protocol, keys) in PROTOCOLS {
        for (load, model) in LOADS {
            let file = folder.path().join("scenario.toml");
            fs::write(&file, format!("{PLACE}{keys}\n{model}\n{PATHS}"))?;
            let before = samples(&args.before, &file, &folder.path().join("before"))?;
            let after = samples(&args.after, &file, &folder.path().join("after"))?;
            let word = if before == after { "same" } else { "DIFFERENT" };
            println!("{word:<10} {protocol}, {load}: {} bytes of samples", before.len());
            (scenarios, differ) = (scenarios + 1, differ + u32::from(before != after));
        }
    }
    println!("{scenarios} scenarios, {differ} with other samples");
    Ok(if differ == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The samples of a run by `program`, as its file has them.
fn samples(program: &Path, scenario: &Path, out: &Path) -> Result<Vec<u8>> {
    if out.exists() {
        fs::remove_dir_all(out)?;
    }
    let mut command = Command::new(program);
    command.arg("run").arg(scenario).arg("--out").arg(out);
    command.args(["-d", "5s", "--warm-up", "1s", "--quiet", "--samples", "all"]);
    let ran = command.stdin(Stdio::null()).output();
    let ran = ran.with_context(|| format!("cannot start {}", program.display()))?;
    // The run's own verdict is not asked here.
    let file = out.join("samples.parquet");
    if !file.exists() {
        bail!("`{}` left no samples:\n{}", process::words(&command), String::from_utf8_lossy(&ran.stderr));
    }
    Ok(fs::read(file)?)
}
