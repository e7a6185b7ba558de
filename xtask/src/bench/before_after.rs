//! farfield beside an earlier farfield, in turn: whether a change made runs slower.

use super::far::{FAR, Far};
use super::generator::farfield::{self, Farfield};
use super::generator::{Pace, Reuse, Version, Work};
use super::lab::Lab;
use super::page::Table;
use super::spread::Spread;
use anyhow::{Context, Result};

/// Connections of the closed loop over loopback.
const CONNECTIONS: u32 = 64;

/// 2,000 clients in virtual time. Both programs simulate the same requests.
const SIMULATED: &str = r#"
plane = "simulated"
[load]
model = "closed"
users = 2000
[network]
clients = 2000
[[network.class]]
name = "far"
share = 1
rtt = "50ms"
"#;

/// Virtual seconds of it for each second that a run should take.
const SIMULATED_S: u32 = 3;

/// The cost of a request, and requests a second.
struct Cost {
    cpu_us: f64,
    per_s: f64,
}

/// A function that measures the cost of a load.
type Measure = fn(&Lab) -> Result<Cost>;

/// Each load by the earlier program and by this one, in turn.
pub fn in_turn(lab: &Lab) -> Result<String> {
    let program = lab.earlier().context("`--against` names the program of an earlier farfield")?;
    let before = Lab::new(lab.extent)?.with_farfield(program.to_owned());
    let loads: [(&str, Measure); 4] = [
        ("keep-alive: 64 connections over loopback", keep_alive),
        ("far: 10,000 clients at 50 ms, a connection each", |lab| far(lab, Reuse::OneRequest)),
        ("far: the same, kept alive", |lab| far(lab, Reuse::KeepAlive)),
        ("simulated: 2,000 clients at 50 ms", simulated),
    ];
    let mut table = Table::new(&["load", "CPU each, µs", "÷ before", "requests/s", "÷ before"]);
    for (name, measure) in loads {
        let (mut then, mut now) = (Vec::new(), Vec::new());
        for round in 0..lab.extent.pairs {
            // Back and forth, so that a machine that grows slower favours neither.
            if round % 2 == 0 {
                then.push(measure(&before)?);
                now.push(measure(lab)?);
            } else {
                now.push(measure(lab)?);
                then.push(measure(&before)?);
            }
        }
        let column = |costs: &[Cost], of: fn(&Cost) -> f64| costs.iter().map(of).collect::<Vec<f64>>();
        let (cpu, per_s) = (|cost: &Cost| cost.cpu_us, |cost: &Cost| cost.per_s);
        table.row([
            name.to_owned(),
            Spread::of(column(&now, cpu)).to_string(),
            Spread::of_ratios(&column(&now, cpu), &column(&then, cpu)).to_string(),
            format!("{:.0}", Spread::of(column(&now, per_s))),
            Spread::of_ratios(&column(&now, per_s), &column(&then, per_s)).to_string(),
        ]);
    }
    Ok(table.to_markdown())
}

fn keep_alive(lab: &Lab) -> Result<Cost> {
    let nginx = lab.nginx()?;
    let work = Work {
        url: nginx.url("/1k"),
        connections: CONNECTIONS,
        seconds: lab.extent.seconds,
        pace: Pace::Closed,
        reuse: Reuse::KeepAlive,
        version: Version::Http1,
    };
    let measured = lab.drive(&Farfield, &work)?.0;
    Ok(Cost { cpu_us: measured.cpu_us_per_request(), per_s: measured.report.per_s })
}

fn far(lab: &Lab, reuse: Reuse) -> Result<Cost> {
    let summary = Far { reuse, ..Far::of(lab, FAR) }.run(lab)?;
    let per_s = summary.number("/steady/rates/completed_per_s")?;
    let cpu_us = summary.number("/generator/cpu_ns")? / 1e3 / per_s / f64::from(lab.extent.seconds);
    Ok(Cost { cpu_us, per_s })
}

/// Requests a second are those of the processor's time: a simulation takes as long as it takes.
fn simulated(lab: &Lab) -> Result<Cost> {
    let file = lab.scratch().join("simulated.toml");
    std::fs::write(&file, SIMULATED)?;
    let file = file.to_str().context("a scratch folder with a plain name")?;
    let seconds = lab.extent.seconds * SIMULATED_S;
    let command = farfield::command(lab.farfield(), file, seconds, lab.scratch());
    let (summary, usage) = lab.farfield_run(&command, seconds)?;
    let completed = summary.outcomes(|name| name == "ok") as f64;
    let cpu_us = usage.cpu_us() as f64 / completed;
    Ok(Cost { cpu_us, per_s: 1e6 / cpu_us })
}
