//! The emulated plane beside other work: connections take as long as their path, or the run names what was
//! late.
//!
//! The server is farfield's own, started by the run. Two loops of one niceness at a time keep both processors
//! busy. What is added to the path's round trip is whatever held a packet up on this machine: the shard, the
//! gateway on either way, the server's kernel.

use super::generator::farfield::{DIRECTORY, Invalid, Summary};
use super::goal;
use super::lab::Lab;
use super::loops::Loops;
use super::page::Table;
use super::spread::Spread;
use anyhow::Result;
use std::process::Command;

/// Runs beside loops of each niceness.
const RUNS: usize = 20;
/// Of the loops; `None` for none of them.
const NICENESSES: [Option<i32>; 6] = [None, Some(-20), Some(-10), Some(0), Some(10), Some(19)];
/// The round trip of the path, in microseconds, and as it is typed.
const PATH: (f64, &str) = (20_000.0, "20ms");
/// The most by which the median of connection times may exceed it.
const BEYOND_MAX_US: f64 = 100.0;
/// A run is over in less.
const SECONDS: u32 = 3;
/// Shards as they are by default, and at the usual priority.
const SHARDS: [(&str, &[&str]); 2] = [("real-time", &[]), ("usual", &["--set", "network.real-time=false"])];

/// Runs before loops of each niceness, with shards of either priority.
pub fn connections(lab: &Lab) -> Result<String> {
    let runs = if lab.extent.quick { 1 } else { RUNS };
    let mut table = Table::new(&[
        "shards",
        "niceness of two loops",
        "valid",
        "connect p50 beyond the path where valid, µs",
        "of all, µs",
        "kept",
    ]);
    let (mut goals, mut invalid) = (String::new(), Invalid::default());
    for (shards, words) in SHARDS {
        let mut kept_in_all = 0;
        for niceness in NICENESSES {
            let beside = niceness.map(|niceness| Loops::begin(2, niceness)).transpose()?;
            let (mut valid, mut all, mut kept) = (Vec::new(), Vec::new(), 0);
            for _ in 0..runs {
                let summary = run(lab, words)?;
                let beyond = summary.quantile_us("/steady/times/connect", "p50")? - PATH.0;
                all.push(beyond);
                if invalid.add(&summary) {
                    valid.push(beyond);
                }
                kept += usize::from(beyond <= BEYOND_MAX_US || names_lateness(&summary));
            }
            drop(beside);
            kept_in_all += kept;
            let shown = match valid.is_empty() {
                true => "—".to_owned(),
                false => format!("{:.0}", Spread::of(valid.iter().copied())),
            };
            let row = [
                shards.to_owned(),
                niceness.map_or("no loops".to_owned(), |niceness| niceness.to_string()),
                format!("{} of {runs}", valid.len()),
                shown,
                format!("{:.0}", Spread::of(all)),
                format!("{kept} of {runs}"),
            ];
            // It takes half an hour: what is known is shown.
            eprintln!("{}", row.join(" | "));
            table.row(row);
        }
        let runs = runs * NICENESSES.len();
        let bound = format!(
            "{shards} shards: connect p50 within {BEYOND_MAX_US} µs of the path, or invalid by a lateness"
        );
        goals += &goal(&bound, &format!("{kept_in_all} of {runs}"), kept_in_all == runs);
    }
    Ok(format!("{}\n{}\n\n{goals}", table.to_markdown(), invalid.in_words()))
}

/// Four users behind one round trip, with a connection for each request.
fn run(lab: &Lab, words: &[&str]) -> Result<Summary> {
    let mut command = Command::new(lab.farfield());
    command.args(["run", "--plane", "emulated", "--rtt", PATH.1, "-c", "4", "--think", "20ms"]);
    command.args(["--policy", "one-request", "--warm-up", "0s", "-d", &format!("{SECONDS}s")]);
    command.args(["--set", "requests.request=[{path='/bytes/100'}]", "--quiet", "--format", "json", "--out"]);
    command.arg(lab.scratch().join(DIRECTORY)).args(words);
    // Beside loops that go before everything, its beginning and its end take a minute.
    lab.farfield_run_anywhere(&command, 100 * SECONDS)
}

/// True if the run is invalid, and one reason is that something was late.
fn names_lateness(summary: &Summary) -> bool {
    summary.failed_checks().iter().any(|check| check.ends_with("-lateness"))
}
