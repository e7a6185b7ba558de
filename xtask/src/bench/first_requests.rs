//! The first requests of a short closed run beside other work: whose time is in their response times.
//!
//! The server is farfield's own, of a known service time, and two loops keep the machine busy. What a run
//! reports of the server must be the server's, or the run must say that it is not valid. Nothing is held to a
//! processor.

use super::generator::farfield::{Invalid, Summary};
use super::goal;
use super::lab::Lab;
use super::page::Table;
use super::spread::Spread;
use anyhow::{Context, Result};
use std::process::{Child, Command, Stdio};

/// Runs of each load.
const RUNS: usize = 20;
/// The service time of the server.
const SERVICE: &str = "200us";
/// Loops that always have something to do.
const LOOPS: usize = 2;
/// The most by which the response time may exceed the service's, p99 against p99.
const BEYOND_MAX_MS: f64 = 1.0;
/// A run is over in less.
const SECONDS: u32 = 1;

/// Each load, as it is typed behind the URL.
const LOADS: [&[&str]; 3] = [&["-n", "100"], &["-n", "100", "-c", "1"], &["-n", "1000", "-c", "50"]];

/// Runs each load beside the loops, after some runs with nothing else, which say how long the service takes.
pub fn beside_loops(lab: &Lab) -> Result<String> {
    let runs = if lab.extent.quick { 2 } else { RUNS };
    let server = lab.origin_anywhere(&["--service-time", SERVICE])?;
    let url = server.url("/bytes/100");
    let mut table = Table::new(&["load", "alone p99, ms", "valid", "p99 where valid, ms", "late p99, ms"]);
    let (mut goals, mut invalid) = (String::new(), Invalid::default());
    for load in LOADS {
        let alone: Vec<f64> =
            (0..runs.div_ceil(2)).map(|_| response_ms(&run(lab, &url, load)?)).collect::<Result<_>>()?;
        let alone = Spread::of(alone);
        let loops = Loops::begin()?;
        let (mut valid, mut late, mut kept) = (Vec::new(), Vec::new(), 0);
        for _ in 0..runs {
            let summary = run(lab, &url, load)?;
            late.extend(summary.quantile_us("/generator/lateness", "p99").map(|us| us / 1e3));
            let response = response_ms(&summary)?;
            match invalid.add(&summary) {
                true => {
                    kept += usize::from(response <= alone.median + BEYOND_MAX_MS);
                    valid.push(response);
                }
                false => kept += 1,
            }
        }
        drop(loops);
        let typed = format!("`run URL {}`", load.join(" "));
        let shown =
            |times: Vec<f64>| if times.is_empty() { "—".to_owned() } else { Spread::of(times).to_string() };
        table.row([
            typed.clone(),
            alone.to_string(),
            format!("{} of {runs}", valid.len()),
            shown(valid),
            shown(late),
        ]);
        let bound = format!("{typed} within {BEYOND_MAX_MS} ms of the service's p99, or invalid");
        goals += &goal(&bound, &format!("{kept} of {runs}"), kept == runs);
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

/// Programs that always have something to do; they end when this is dropped.
struct Loops(Vec<Child>);

impl Loops {
    fn begin() -> Result<Loops> {
        let mut loops = Loops(Vec::new());
        for _ in 0..LOOPS {
            // Ended by the kernel if this program is killed.
            let mut command = Command::new("setpriv");
            command.args(["--pdeathsig", "KILL", "sh", "-c", "while :; do :; done"]).stdin(Stdio::null());
            loops.0.push(command.spawn().context("cannot start setpriv (util-linux)")?);
        }
        Ok(loops)
    }
}

impl Drop for Loops {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
