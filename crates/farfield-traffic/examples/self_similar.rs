//! Three arrival processes of one mean rate, of which two are self-similar: how their counts vary from one
//! time scale to the next, and the Hurst parameter that this gives, beside theory.
//!
//! `cargo run -p farfield-traffic --example self_similar`
//!
//! The variance of counts over windows of a Poisson process grows as the window does, so that variance over
//! mean stays 1. With long memory it grows as the window to the power 2H, and no window is long enough to
//! smooth it.

use farfield_traffic::random::{Purpose, Seed};
use farfield_traffic::{ArrivalProcess, ArrivalSpec};
use std::fmt::Write;

/// Seconds of the shortest window.
const SLOT: f64 = 0.1;
const SLOTS: usize = 1 << 15;

const PROCESSES: [(&str, &str); 3] = [
    ("Poisson", "process = 'poisson'\nrate = '100/s'"),
    (
        "ON/OFF sources",
        "process = 'on-off'\nrate = '100/s'\nsources = 50
         on = { distribution = 'pareto', shape = 1.4, mean = '1s' }
         off = { distribution = 'exponential', mean = '1s' }",
    ),
    (
        "fractional noise",
        "process = 'fractional-noise'\nrate = '100/s'\nhurst = 0.8\ndeviation = 0.3\nslot = '100ms'\nfor = '1h'",
    ),
];

/// Arrivals in each slot.
fn counts(process: &ArrivalProcess) -> Vec<f64> {
    let mut counts = vec![0.0; SLOTS];
    for instant in process.start(Seed(1).stream(Purpose::Arrivals, 0)) {
        match counts.get_mut((instant.as_secs_f64() / SLOT) as usize) {
            Some(count) => *count += 1.0,
            None => break,
        }
    }
    counts
}

/// Variance over mean of the counts in windows of `slots`: the index of dispersion.
fn dispersion(counts: &[f64], slots: usize) -> f64 {
    let windows: Vec<f64> = counts.chunks_exact(slots).map(|window| window.iter().sum()).collect();
    let n = windows.len() as f64;
    let mean = windows.iter().sum::<f64>() / n;
    windows.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / (n - 1.0) / mean
}

/// The Hurst parameter by the slope of ln(variance of window means) over ln(window): 2H - 2.
fn hurst(counts: &[f64]) -> f64 {
    let points = (5..=8).map(|power| 1 << power).map(|slots| {
        let variance_of_means = dispersion(counts, slots) / slots as f64;
        ((slots as f64).ln(), variance_of_means.ln())
    });
    let points: Vec<(f64, f64)> = points.collect();
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / points.len() as f64;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let slope = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum::<f64>()
        / points.iter().map(|point| (point.0 - x).powi(2)).sum::<f64>();
    1.0 + slope / 2.0
}

/// Dispersion and Hurst parameter of each process, as text.
pub fn report() -> String {
    let mut table = String::from("variance over mean of counts in windows of\n                   ");
    let windows = [1, 10, 100];
    for slots in windows {
        write!(table, "{:5} s", slots as f64 * SLOT).expect("a string takes it");
    }
    table.push_str("   Hurst: measured  theory\n");
    for (name, written) in PROCESSES {
        let spec: ArrivalSpec = toml::from_str(written).expect("a process");
        let process = spec.resolve(&mut |path| std::fs::read(path)).expect("it names no file");
        let counts = counts(&process);
        write!(table, "{name:19}").expect("a string takes it");
        for slots in windows {
            write!(table, "{:7.1}", dispersion(&counts, slots)).expect("a string takes it");
        }
        let theory = process.hurst().expect("these processes have one");
        writeln!(table, "            {:4.2}    {theory:4.2}", hurst(&counts)).expect("a string takes it");
    }
    table
}

fn main() {
    print!("{}", report());
}
