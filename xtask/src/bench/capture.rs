//! The cost of a capture on the sockets plane: an open loop with and without `--capture`, in turn.
//!
//! The comparison with the packets after the run is switched off, so that only what happens during the load
//! counts. What capturing costs must show in farfield's workers or in what users see; the thread that writes
//! packets is beside the workers and counts apart.

use super::generator::farfield::{self, Invalid, Summary};
use super::generator::{Pace, Reuse, Version, Work};
use super::lab::Lab;
use super::page::Table;
use super::spread::Spread;
use anyhow::Result;

/// Requests offered in a second.
const RATES_PER_S: [u32; 2] = [10_000, 20_000];

/// The figures of one run.
#[derive(Debug, Clone, Copy)]
struct Figures {
    worker_busy: f64,
    lateness_p99_us: f64,
    service_p50_us: f64,
    service_p99_us: f64,
    completed_per_s: f64,
}

/// A row of the table: the figure's name and value.
type Row = (&'static str, fn(&Figures) -> f64);

const ROWS: [Row; 5] = [
    ("worker busy", |run| run.worker_busy),
    ("lateness p99", |run| run.lateness_p99_us),
    ("service time p50", |run| run.service_p50_us),
    ("service time p99", |run| run.service_p99_us),
    ("requests/s", |run| run.completed_per_s),
];

/// Runs with and without a capture in turn at each rate.
pub fn with_and_without(lab: &Lab) -> Result<String> {
    let nginx = lab.nginx_anywhere()?;
    let mut text = String::new();
    for per_s in RATES_PER_S {
        let url = nginx.url("/1k");
        let seconds = lab.extent.seconds;
        let (pace, reuse) = (Pace::Open(per_s), Reuse::KeepAlive);
        let work = Work { url, connections: 0, seconds, pace, reuse, version: Version::Http1 };
        text.push_str(&at(lab, &work, per_s)?);
    }
    Ok(text)
}

/// The table of one rate.
fn at(lab: &Lab, work: &Work, per_s: u32) -> Result<String> {
    let (mut with, mut without) = (Vec::new(), Vec::new());
    let (mut invalid, mut writer_us, mut lost) = (Invalid::default(), Vec::new(), 0.0);
    for turn in 0..lab.extent.pairs {
        // Back and forth, so that a machine that grows slower favours neither.
        for captures in [turn % 2 == 0, turn % 2 != 0] {
            let (figures, summary) = run(lab, work, captures)?;
            invalid.add(&summary);
            if captures {
                let completed = summary.outcomes(|name| name == "ok") as f64;
                writer_us.push(summary.number("/captures/0/cpu_ns")? / 1e3 / completed);
                lost += summary.number("/captures/0/lost")?;
                with.push(figures);
            } else {
                without.push(figures);
            }
        }
    }
    let mut table = Table::new(&["at this rate", "without", "with", "with ÷ without"]);
    for (name, of) in ROWS {
        let column = |runs: &[Figures]| runs.iter().map(of).collect::<Vec<f64>>();
        let (with, without) = (column(&with), column(&without));
        table.row([
            name.to_owned(),
            Spread::of(without.iter().copied()).to_string(),
            Spread::of(with.iter().copied()).to_string(),
            Spread::of_ratios(&with, &without).to_string(),
        ]);
    }
    Ok(format!(
        "{per_s} requests offered in a second, times in µs:\n\n{}\n\
         The thread that writes the capture took {} µs of processor time a request; {lost} packets were lost in\n\
         {} captures. {}\n\n",
        table.to_markdown(),
        Spread::of(writer_us),
        with.len(),
        invalid.in_words()
    ))
}

fn run(lab: &Lab, work: &Work, captures: bool) -> Result<(Figures, Summary)> {
    let mut command = farfield::of_work(lab.farfield(), work, lab.scratch());
    if captures {
        command.args(["--capture", "--set", "capture.verify=false"]);
    }
    farfield::remove_run(lab.scratch())?;
    let summary = lab.farfield_run_anywhere(&command, work.seconds)?;
    let figures = Figures {
        worker_busy: summary.number("/generator/worker_busy/0")?,
        lateness_p99_us: summary.quantile_us("/generator/lateness", "p99")?,
        service_p50_us: summary.quantile_us("/steady/times/service", "p50")?,
        service_p99_us: summary.quantile_us("/steady/times/service", "p99")?,
        completed_per_s: summary.number("/steady/rates/succeeded_per_s")?,
    };
    Ok((figures, summary))
}
