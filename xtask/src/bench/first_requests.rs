//! The first requests of a short closed run beside other work: whose time is in their response times.
//!
//! The server is farfield's own, of a known service time, on a quiet machine and beside one and two loops
//! that keep its processors busy. What a run reports of the server must be that time, or the run must say
//! that it is not valid. Nothing is held to a processor. Valid runs are counted too: a bound that invalid
//! runs alone keep says little.

use super::generator::farfield::{Invalid, Summary};
use super::goal;
use super::lab::Lab;
use super::loops::Loops;
use super::page::Table;
use super::spread::Spread;
use anyhow::Result;
use std::process::Command;

/// Runs of each load.
const RUNS: usize = 20;
/// The service time of the server: as it is typed, and in milliseconds.
const SERVICE: (&str, f64) = ("200us", 0.2);
/// Loops that always have something to do, on two processors.
const LOOPS: [usize; 3] = [0, 1, 2];
/// The most by which the response time's p99 may exceed the service time.
const BEYOND_MAX_MS: f64 = 1.0;
/// A run is over in less.
const SECONDS: u32 = 1;

/// Each load, as it is typed behind the URL, and whether the server is as quick before it as before one
/// request: fifty at once wait for its processors.
const LOADS: [(&[&str], bool); 3] =
    [(&["-n", "100"], true), (&["-n", "100", "-c", "1"], true), (&["-n", "1000", "-c", "50"], false)];

/// Runs each load beside each number of loops.
pub fn beside_loops(lab: &Lab) -> Result<String> {
    let runs = if lab.extent.quick { 2 } else { RUNS };
    let server = lab.origin_anywhere(&["--service-time", SERVICE.0])?;
    let url = server.url("/bytes/100");
    let mut table = Table::new(&["load", "loops", "valid", "p99 where valid, ms", "p99 of all, ms"]);
    let (mut goals, mut invalid) = (String::new(), Invalid::default());
    for (load, is_bound) in LOADS {
        let typed = format!("`run URL {}`", load.join(" "));
        // Alone, and beside loops.
        let mut kept = [0; 2];
        for loops in LOOPS {
            let kept = &mut kept[usize::from(loops > 0)];
            let beside = Loops::begin(loops, 0)?;
            let (mut valid, mut all) = (Vec::new(), Vec::new());
            for _ in 0..runs {
                let summary = run(lab, &url, load)?;
                let response = response_ms(&summary)?;
                all.push(response);
                match invalid.add(&summary) {
                    true => {
                        *kept += usize::from(response <= SERVICE.1 + BEYOND_MAX_MS);
                        valid.push(response);
                    }
                    false => *kept += 1,
                }
            }
            drop(beside);
            let count = format!("{} of {runs}", valid.len());
            let shown = match valid.is_empty() {
                true => "—".to_owned(),
                false => Spread::of(valid).to_string(),
            };
            table.row([typed.clone(), loops.to_string(), count, shown, Spread::of(all).to_string()]);
        }
        let beside = LOOPS.iter().filter(|loops| **loops > 0).count();
        for (kept, runs, where_) in [(kept[0], runs, "alone"), (kept[1], runs * beside, "beside loops")] {
            if is_bound {
                let bound = format!(
                    "{typed} {where_}: p99 within {BEYOND_MAX_MS} ms of the service time, or invalid"
                );
                goals += &goal(&bound, &format!("{kept} of {runs}"), kept == runs);
            }
        }
    }
    Ok(format!("{}\n{}\n\n{goals}", table.to_markdown(), invalid.in_words()))
}

fn run(lab: &Lab, url: &str, load: &[&str]) -> Result<Summary> {
    let mut command = Command::new(lab.farfield());
    command.args(["run", url, "--quiet", "--format", "json", "--out"]);
    command.arg(lab.scratch().join(super::generator::farfield::DIRECTORY)).args(load);
    lab.farfield_run_anywhere(&command, SECONDS)
}

fn response_ms(summary: &Summary) -> Result<f64> {
    Ok(summary.quantile_us("/steady/times/response", "p99")? / 1e3)
}
