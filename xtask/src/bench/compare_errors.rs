//! Errors of `farfield compare` before equal servers, and how often it finds a slower one: a model of a
//! server in virtual time, again and again with other seeds.

use super::goal;
use super::lab::Lab;
use super::page::Table;
use anyhow::{Context, Result};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use xtask::process;

/// Pairs of equal sides, and of each slower one.
const EQUAL: usize = 1_000;
const SLOWER: usize = 250;
const QUICK: usize = 10;
/// Runs of a side.
const REPEATS: usize = 3;
/// Service times against the base's.
const FACTORS: [f64; 3] = [1.02, 1.05, 1.1];
/// Metrics that are held against the bound, each with an interval in nearly every run.
const METRICS: [&str; 5] = ["rate", "mean", "p50", "p90", "p99"];
/// The share of intervals that exclude no change where there is none.
const WITHIN: std::ops::RangeInclusive<f64> = 0.04..=0.06;

/// Users who think before a server of four workers, whose times vary.
const SCENARIO: &str = "plane = 'simulated'\nrun = { warm-up = '1s', duration = '20s' }\n\
    load = { model = 'closed', users = 20, think = { distribution = 'exponential', mean = '50ms' } }\n\
    network = { clients = 20, rtt = '10ms' }\n\
    [simulated]\nworkers = 4\nservice-time = { distribution = 'exponential', mean = 'MEANus' }\n";

/// Comparisons of one kind.
#[derive(Debug, Default)]
struct Counted {
    comparisons: usize,
    /// Comparisons in which any line is called different, over all lines together.
    called: usize,
    /// Of each metric, intervals that there are, and those that exclude no change.
    known: [usize; METRICS.len()],
    excluded: [usize; METRICS.len()],
}

/// Counts false alarms and finds.
pub fn pairs(lab: &Lab) -> Result<String> {
    let (equal, slower) = if lab.extent.quick { (QUICK, QUICK) } else { (EQUAL, SLOWER) };
    let folder = lab.scratch().join("compare-errors");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let base = runs(lab, &folder, 5_000.0, 2 * REPEATS * equal, 1)?;
    let mut rows = vec![("equal".to_owned(), equal, base.clone(), REPEATS * equal)];
    for factor in FACTORS {
        // Seeds of their own: what is found is not found by sharing random streams.
        let other = runs(lab, &folder, 5_000.0 * factor, REPEATS * slower, 1_000_000)?;
        rows.push((format!("slower by {:.0} %", (factor - 1.0) * 100.0), slower, other, 0));
    }
    let mut table = Table::new(&["sides", "runs each", "any line", "rate", "mean", "p50", "p90", "p99"]);
    let mut bounds = String::new();
    for (name, count, other, begin) in rows {
        for repeats in [REPEATS, 1] {
            let mut counted = Counted::default();
            for pair in 0..count {
                let sides = [(&base, "a", pair * repeats), (&other, "b", begin + pair * repeats)];
                let sides = sides.map(|(runs, side, first)| side_of(&folder, side, runs, first, repeats));
                let [one, two] = sides;
                counted.add(lab, &one?, &two?)?;
            }
            let mut row =
                vec![name.clone(), repeats.to_string(), percent(counted.called, counted.comparisons)];
            row.extend((0..METRICS.len()).map(|at| percent(counted.excluded[at], counted.known[at])));
            table.row(row);
            if name == "equal" {
                let (excluded, known): (usize, usize) =
                    (counted.excluded.iter().sum(), counted.known.iter().sum());
                let share = excluded as f64 / known.max(1) as f64;
                bounds += &goal(
                    &format!(
                        "4 to 6 % of the intervals of {count} equal pairs with {repeats} runs each exclude no change"
                    ),
                    &format!("{:.1} %", share * 100.0),
                    WITHIN.contains(&share),
                );
            }
        }
    }
    Ok(format!("{}\n{bounds}", table.to_markdown()))
}

/// Makes so many runs with a mean service time, and returns their folder.
fn runs(lab: &Lab, folder: &Path, mean_us: f64, count: usize, seed: usize) -> Result<PathBuf> {
    let scenario = folder.join(format!("{mean_us:.0}.toml"));
    fs::write(&scenario, SCENARIO.replace("MEAN", &format!("{mean_us:.0}")))
        .context("cannot write the scenario")?;
    let out = folder.join(format!("runs-{mean_us:.0}"));
    let mut command = Command::new(lab.farfield());
    command.arg("run").arg(&scenario).args(["--quiet", "--format", "json"]).arg(format!("--repeats={count}"));
    command.arg(format!("--seed={seed}")).arg("--out").arg(&out);
    process::output(&mut command)?;
    Ok(out.join("point-01"))
}

/// A side with so many of the runs, from one on.
fn side_of(folder: &Path, side: &str, runs: &Path, first: usize, repeats: usize) -> Result<PathBuf> {
    let run = |number: usize| runs.join(format!("repeat-{}", number + 1));
    if repeats == 1 {
        return Ok(run(first));
    }
    let folder = folder.join(side);
    if folder.exists() {
        fs::remove_dir_all(&folder).context("cannot empty a side")?;
    }
    fs::create_dir(&folder).context("cannot make a side")?;
    for number in first..first + repeats {
        std::os::unix::fs::symlink(run(number), folder.join(number.to_string()))
            .context("cannot link a run")?;
    }
    Ok(folder)
}

impl Counted {
    fn add(&mut self, lab: &Lab, one: &Path, two: &Path) -> Result<()> {
        let mut command = Command::new(lab.farfield());
        command.args(["compare", "--format", "json"]).args([one, two]);
        let output = process::output(&mut command)?;
        let document: Value = serde_json::from_slice(&output).context("a comparison is no JSON")?;
        let rows =
            document["comparison"]["others"][0]["rows"].as_array().context("a comparison has no rows")?;
        self.comparisons += 1;
        self.called += usize::from(rows.iter().any(|row| row["change"]["differs"] == true));
        for (at, metric) in METRICS.iter().enumerate() {
            let row = rows.iter().find(|row| row["metric"] == *metric).context("a metric is missing")?;
            if let Some(p_value) = row["change"]["p_value"].as_f64() {
                self.known[at] += 1;
                self.excluded[at] += usize::from(p_value < 0.05);
            }
        }
        Ok(())
    }
}

fn percent(part: usize, whole: usize) -> String {
    match whole {
        0 => "–".to_owned(),
        whole => format!("{:.1} %", 100.0 * part as f64 / whole as f64),
    }
}
