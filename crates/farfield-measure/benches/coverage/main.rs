//! Coverage of 95 % intervals: the share that contains the true number, over many runs of known processes:
//! `cargo bench -p farfield-measure --bench coverage`. Prints the table of docs/statistics.md.

mod measured;
mod processes;

use measured::Truth;
use processes::{Count, Process, Tally};

/// A process, how many requests a run has, and the number of runs.
const ROWS: [(&str, Process, usize, u64); 23] = [
    ("independent", Process::Independent, 1_000, 1_000),
    ("independent", Process::Independent, 12_000, 1_000),
    ("M/M/1 at 0.5", Process::Queue { load: 0.5 }, 4_000, 1_000),
    ("M/M/1 at 0.5", Process::Queue { load: 0.5 }, 16_000, 1_000),
    ("M/M/1 at 0.8", Process::Queue { load: 0.8 }, 4_000, 1_000),
    ("M/M/1 at 0.8", Process::Queue { load: 0.8 }, 16_000, 1_000),
    ("M/M/1 at 0.8", Process::Queue { load: 0.8 }, 64_000, 1_000),
    ("M/M/1 at 0.95", Process::Queue { load: 0.95 }, 16_000, 1_000),
    ("M/M/1 at 0.95", Process::Queue { load: 0.95 }, 64_000, 1_000),
    ("M/M/1 at 0.95", Process::Queue { load: 0.95 }, 250_000, 1_000),
    ("closed loop, 80 users", Process::Closed { users: 80, think: 100.0 }, 16_000, 1_000),
    ("closed loop, 80 users", Process::Closed { users: 80, think: 100.0 }, 64_000, 1_000),
    ("hybrid sessions at 0.5", Process::Sessions { load: 0.5, think: 200.0 }, 16_000, 1_000),
    ("hybrid sessions at 0.5", Process::Sessions { load: 0.5, think: 200.0 }, 32_000, 1_000),
    ("hybrid sessions at 0.5", Process::Sessions { load: 0.5, think: 200.0 }, 48_000, 1_000),
    ("hybrid sessions at 0.5", Process::Sessions { load: 0.5, think: 200.0 }, 64_000, 1_000),
    ("hybrid sessions at 0.8", Process::Sessions { load: 0.8, think: 200.0 }, 64_000, 1_000),
    ("hybrid sessions at 0.8", Process::Sessions { load: 0.8, think: 200.0 }, 100_000, 1_000),
    ("hybrid sessions at 0.8", Process::Sessions { load: 0.8, think: 200.0 }, 250_000, 1_000),
    ("self-similar, no queue", SELF_SIMILAR, 16_000, 1_000),
    ("self-similar, no queue", SELF_SIMILAR, 64_000, 1_000),
    ("self-similar, queue at 0.5", SELF_SIMILAR_QUEUE, 16_000, 1_000),
    ("self-similar, queue at 0.5", SELF_SIMILAR_QUEUE, 64_000, 1_000),
];
const SELF_SIMILAR: Process = Process::SelfSimilar { hurst: 0.8, load: 0.5, queue: false };
const SELF_SIMILAR_QUEUE: Process = Process::SelfSimilar { hurst: 0.8, load: 0.5, queue: true };

const COLUMNS: [&str; 7] = ["p50", "p90", "p95", "p99", "mean", "rate", "errors"];
/// Columns of the second table: the rate of requests due, and the share of one of two outcomes.
const OTHERS: [&str; 2] = ["offered", "one outcome"];

fn main() {
    // Rows whose name has this in it; all, if it is not given.
    let wanted = std::env::args().skip(1).find(|word| !word.starts_with('-')).unwrap_or_default();
    let mut others = Vec::new();
    heading(&COLUMNS);
    for (name, process, requests, runs) in ROWS.into_iter().filter(|row| row.0.contains(&wanted)) {
        let truth = Truth::of(process, (0..runs).map(|seed| process.run(seed, requests)));
        let mut tally = Tally::default();
        for seed in 0..runs {
            measured::count(&mut tally, &process.run(seed, requests), &truth);
        }
        let cells = COLUMNS.map(|column| cell(tally.0[column]));
        println!("| {name} | {requests} | {runs} | {} |", cells.join(" | "));
        let cells = OTHERS.map(|column| cell(tally.0[column]));
        others.push(format!("| {name} | {requests} | {runs} | {} |", cells.join(" | ")));
    }
    println!();
    heading(&OTHERS);
    others.iter().for_each(|row| println!("{row}"));
}

fn heading(columns: &[&str]) {
    println!("| requests | of a run | runs | {} |", columns.join(" | "));
    println!("| --- | --- | --- |{}", " --- |".repeat(columns.len()));
}

/// The share of intervals that contain the true number, and of runs that have one if not all do.
fn cell(count: Count) -> String {
    let covered = f64::from(count.covered) / f64::from(count.given.max(1));
    let given = f64::from(count.given) / f64::from(count.runs);
    match count.given {
        0 => "–".to_owned(),
        _ if count.given == count.runs => format!("{covered:.3}"),
        _ => format!("{covered:.3} of {:.0} %", 100.0 * given),
    }
}
