//! `cargo xtask same BEFORE [AFTER]`: whether two programs of farfield have the same samples, byte for
//! byte, in virtual time, or one program those whose digests are kept in `same/kept.txt`. A change within
//! farfield that is to change nothing is held so: every version of HTTP and way to use connections, under
//! each model of load, over paths that lose packets.
//!
//! The digests are of whole files, as one version of the library of Parquet writes them. A test compares with
//! what is kept: a change that means to change samples keeps theirs anew, with `--keep`,
//! and its commit says why.

use crate::process;
use anyhow::{Context, Result, bail};
use clap::Args;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// The digests that are kept, from the root of the repository.
const KEPT: &str = "xtask/src/same/kept.txt";

/// Runs 48 scenarios in virtual time with two programs of farfield, and compares their samples byte for byte.
#[derive(Debug, Args)]
pub struct SameArgs {
    /// The earlier program, or the only one.
    before: PathBuf,
    /// The later program; without it the samples are compared with the digests that are kept.
    after: Option<PathBuf>,
    /// Keeps the digests of the only program's samples.
    #[arg(long, conflicts_with = "after")]
    keep: bool,
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

/// Runs all scenarios, and compares their samples.
pub fn run(args: &SameArgs) -> Result<ExitCode> {
    let before = digests(&args.before)?;
    if args.keep {
        fs::write(KEPT, lines(&before)).with_context(|| format!("cannot write {KEPT}"))?;
        println!("{} digests are kept in {KEPT}", before.len());
        return Ok(ExitCode::SUCCESS);
    }
    let after = match &args.after {
        Some(after) => digests(after)?,
        None => kept()?,
    };
    let differ = different(&before, &after);
    differ.iter().for_each(|name| println!("DIFFERENT  {name}"));
    println!("{} scenarios, {} with other samples", before.len(), differ.len());
    Ok(if differ.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The scenarios, by name, of which `one` has other samples than `other`, or which either lacks.
pub fn different(one: &[(String, String)], other: &[(String, String)]) -> Vec<String> {
    let of_one = one.iter().filter(|scene| !other.contains(scene));
    let of_other = other.iter().filter(|(name, _)| one.iter().all(|(own, _)| own != name));
    of_one.chain(of_other).map(|(name, _)| name.clone()).collect()
}

/// The digests that are kept, each with the name of its scenario.
pub fn kept() -> Result<Vec<(String, String)>> {
    let text = fs::read_to_string(KEPT).with_context(|| format!("cannot read {KEPT}"))?;
    let line = |line: &str| line.split_once("  ").map(|(digest, name)| (name.to_owned(), digest.to_owned()));
    Ok(text.lines().filter_map(line).collect())
}

/// A line for each scenario: digest and name.
fn lines(digests: &[(String, String)]) -> String {
    digests.iter().map(|(name, digest)| format!("{digest}  {name}\n")).collect()
}

/// The digests of the samples of all scenarios by a program, each with the name of its scenario.
pub fn digests(program: &Path) -> Result<Vec<(String, String)>> {
    let folder = tempfile::tempdir()?;
    let mut digests = Vec::new();
    for (protocol, keys) in PROTOCOLS {
        for (load, model) in LOADS {
            let file = folder.path().join("scenario.toml");
            fs::write(&file, format!("{PLACE}{keys}\n{model}\n{PATHS}"))?;
            let samples = samples(program, &file, &folder.path().join("run"))?;
            let mut digest = String::new();
            for byte in Sha256::digest(&samples) {
                write!(digest, "{byte:02x}").expect("a String takes all");
            }
            digests.push((format!("{protocol}, {load}"), digest));
        }
    }
    Ok(digests)
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
