//! A sweep of simulated runs, one at a time and two at once, beside the same runs by hand: what two
//! processors gain, and what the sweep adds to a run.

use super::goal;
use super::lab::Lab;
use super::page::Table;
use super::spread::Spread;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use xtask::process;

/// Points and repeats: 64 runs.
const POINTS: [&str; 2] = ["network.rtt=1ms,10ms,20ms,40ms", "load.users=50,100,150,200"];
const REPEATS: u32 = 4;
const RUNS: f64 = 64.0;
/// The least gain of two processors.
const GAIN_MIN: f64 = 1.9;
/// The most that a sweep may add to a run, in seconds.
const ADDED_MAX: f64 = 0.3;

/// A server of four workers, and users who think for a second.
const SCENARIO: &str = "plane = 'simulated'\n[load]\nmodel = 'closed'\nusers = 50\nthink = { distribution = \
    'exponential', mean = '100ms' }\n[network]\nrtt = '1ms'\n[simulated]\nworkers = 4\n\
    service-time = { distribution = 'exponential', mean = '1ms' }\n[run]\nduration = '60s'\n";

/// Times each way in turn.
pub fn side_by_side(lab: &Lab) -> Result<String> {
    let folder = lab.scratch().join("sweeps");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let scenario = folder.join("scenario.toml");
    fs::write(&scenario, SCENARIO).context("cannot write the scenario")?;
    let (mut one, mut two, mut alone) = (Vec::new(), Vec::new(), Vec::new());
    for pair in 0..lab.extent.pairs {
        one.push(sweep(lab, &scenario, &folder.join(format!("one-{pair}")), 1)?);
        alone.push(by_hand(lab, &scenario, &folder.join(format!("hand-{pair}")))?);
        two.push(sweep(lab, &scenario, &folder.join(format!("two-{pair}")), 2)?);
    }
    let gain = Spread::of_ratios(&one, &two);
    let added = Spread::of(one.iter().zip(&alone).map(|(one, alone)| (one - alone) / RUNS));
    let mut table = Table::new(&["64 simulated runs", "s"]);
    for (name, seconds) in [
        ("`farfield sweep --jobs 1`", &one),
        ("`farfield sweep --jobs 2`", &two),
        ("`farfield run`, one after the other", &alone),
    ] {
        table.row([name.to_owned(), Spread::of(seconds.iter().copied()).to_string()]);
    }
    let bounds = goal(
        &format!("two at once at least {GAIN_MIN} times as fast as one"),
        &gain,
        gain.median >= GAIN_MIN,
    ) + &goal(
        &format!("at most {ADDED_MAX} s more than a run by hand"),
        &format!("{added:.3} s"),
        added.median <= ADDED_MAX,
    );
    Ok(format!("{}\n{bounds}", table.to_markdown()))
}

fn sweep(lab: &Lab, scenario: &Path, out: &Path, jobs: u32) -> Result<f64> {
    let mut command = Command::new(lab.farfield());
    command.arg("sweep").arg(scenario).args(["--quiet", "--format", "csv", "--out"]).arg(out);
    command.args(POINTS.iter().flat_map(|vary| ["--vary", vary]));
    command.arg(format!("--repeats={REPEATS}")).arg(format!("--jobs={jobs}"));
    seconds_of(|| process::output(&mut command).map(drop))
}

/// These runs without a sweep.
fn by_hand(lab: &Lab, scenario: &Path, out: &Path) -> Result<f64> {
    let levels = |vary: &str| -> Vec<String> {
        let (key, values) = vary.split_once('=').expect("a key with values");
        values.split(',').map(|value| format!("--set={key}={value}")).collect()
    };
    seconds_of(|| {
        for seed in 1..=REPEATS {
            for (one, other) in levels(POINTS[0])
                .iter()
                .flat_map(|one| levels(POINTS[1]).into_iter().map(move |other| (one.clone(), other)))
            {
                let directory: PathBuf = out.join(format!("{seed}-{one}-{other}").replace('/', "-"));
                let mut command = Command::new(lab.farfield());
                command.arg("run").arg(scenario).args([&one, &other]).arg(format!("--seed={seed}"));
                command
                    .args(["--quiet", "--no-report", "--samples=none", "--format=json", "--out"])
                    .arg(directory);
                process::output(&mut command)?;
            }
        }
        Ok(())
    })
}

/// Seconds that something takes.
#[expect(clippy::disallowed_methods, reason = "a bench measures by the clock")]
fn seconds_of(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let begun = Instant::now();
    work()?;
    Ok(begun.elapsed().as_secs_f64())
}
