//! Logs of known processes, fitted: whether the scenario varies as the log does, at every time scale.
//!
//! An example of `farfield-fit` makes and fits the logs; here it is called and its rows are read.

use super::goal;
use super::lab::{self, Lab};
use super::page::Table;
use anyhow::{Context, Result, bail};
use std::process::Command;
use xtask::process;

/// Seconds of each log, and of a short one that shows that all works.
const SECONDS: [u32; 2] = [40_000, 12_000];
/// The factor between two dispersions that is near enough.
const FACTOR_MAX: f64 = 1.5;
/// Logs of fifty that must come back.
const HITS_MIN: usize = 45;

/// A row of the example.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    process: String,
    fitted: String,
    window: u32,
    /// The mean of the scenario's runs, one of them, and another run of the true process.
    factors: [f64; 3],
}

/// Fifty logs, and their scenarios.
pub fn dispersion(lab: &Lab) -> Result<String> {
    let seconds = SECONDS[usize::from(lab.extent.quick)];
    let mut command = Command::new(lab::example(lab, "dispersion_refit")?);
    command.arg(seconds.to_string());
    eprintln!("  {}", process::words(&command));
    let rows = rows_of(&String::from_utf8_lossy(&process::output(&mut command)?))?;
    let heads =
        ["process of the log", "fitted", "furthest in, s", "mean of 8 runs", "one run", "true process"];
    let mut table = Table::new(&heads);
    for row in &rows {
        let cell = |factor: f64| {
            if factor <= FACTOR_MAX { format!("{factor:.2}") } else { format!("**{factor:.2}**") }
        };
        let [mean, one, truth] = row.factors.map(cell);
        table.row([row.process.clone(), row.fitted.clone(), row.window.to_string(), mean, one, truth]);
    }
    let hits = |column: usize| rows.iter().filter(|row| row.factors[column] <= FACTOR_MAX).count();
    let count = rows.len();
    Ok(format!(
        "Logs of {seconds} s. Within a factor of {FACTOR_MAX} at every scale from 1 to 1,000 s: {} of {count} scenarios in the mean of\n\
         their runs, {} of {count} single runs, and {} of {count} other runs of the true process.\n\n{}\n{}",
        hits(0),
        hits(1),
        hits(2),
        table.to_markdown(),
        goal(
            &format!(
                "the dispersion of {HITS_MIN} of {count} scenarios within a factor of {FACTOR_MAX} of the log's at every scale"
            ),
            &format!("{} (single runs: {})", hits(0), hits(1)),
            hits(0) >= HITS_MIN
        )
    ))
}

/// Sessions with clicks and think times, and what the report says of their Hurst parameter.
pub fn memory(lab: &Lab) -> Result<String> {
    let seconds = SECONDS[usize::from(lab.extent.quick)];
    let mut command = Command::new(lab::example(lab, "dispersion_refit")?);
    command.args(["hurst", &seconds.to_string()]);
    eprintln!("  {}", process::words(&command));
    let output = String::from_utf8_lossy(&process::output(&mut command)?).into_owned();
    let heads = ["sessions", "H of requests", "if sessions were Poisson", "H of session starts", "caveat"];
    let mut table = Table::new(&heads);
    for line in output.lines().skip(1) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let &[name, hurst, low, high, alone_low, alone_high, starts, starts_low, starts_high, caveat] =
            &words[..]
        else {
            bail!("no row of the example: `{line}`")
        };
        let starts = match starts {
            "NaN" => "—".to_owned(),
            _ => format!("{starts} ({starts_low} to {starts_high})"),
        };
        table.row([
            name.to_owned(),
            format!("{hurst} ({low} to {high})"),
            format!("{alone_low} to {alone_high}"),
            starts,
            caveat.to_owned(),
        ]);
    }
    Ok(format!("Logs of {seconds} s.\n\n{}", table.to_markdown()))
}

fn rows_of(output: &str) -> Result<Vec<Row>> {
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [process, fitted, window, factors @ ..] = &words[..] else { return None };
        let factors: Vec<f64> = factors.iter().map_while(|word| word.parse().ok()).collect();
        Some(Row {
            process: (*process).to_owned(),
            fitted: (*fitted).to_owned(),
            window: window.parse().ok()?,
            factors: factors.try_into().ok()?,
        })
    };
    let mut rows = Vec::new();
    for line in output.lines().skip(1) {
        rows.push(row(line).with_context(|| format!("no row of the example: `{line}`"))?);
    }
    if rows.is_empty() {
        bail!("the example printed no rows:\n{output}");
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read() {
        let output = "process fitted window mean single true\nnoise-0.8-2/s-1 fractional-noise 500 1.123 1.400 2.000\n";
        let rows = rows_of(output).unwrap();
        assert_eq!((rows.len(), rows[0].window, rows[0].factors), (1, 500, [1.123, 1.4, 2.0]));
        assert!(rows_of("process fitted window mean single true\nnoise fractional 1 x\n").is_err());
    }
}
