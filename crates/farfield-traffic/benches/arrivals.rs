//! Arrivals a second that each process makes on one core, drawn and thrown away: `cargo bench -p
//! farfield-traffic`.

#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use farfield_base::random::{Purpose, Seed};
use farfield_traffic::ArrivalSpec;
use serde::Deserialize;
use std::hint::black_box;
use std::time::Instant;

const ARRIVALS: usize = 5_000_000;

const PROCESSES: [&str; 9] = [
    "'50k/s'",
    "{ process = 'renewal', gaps = { distribution = 'weibull', shape = 0.6, scale = '2ms' } }",
    "{ process = 'diurnal', rate = '50k/s', profile = [1, 2, 3, 2], day = '24m' }",
    "{ process = 'flash-crowd', from = '1k/s', to = '33k/s', at = '1m', within = '4s', stay = '1m', decay = '1m' }",
    "{ process = 'fractional-noise', rate = '5k/s', hurst = 0.8, deviation = 1 }",
    "{ process = 'markov-modulated', rates = ['1k/s', '10k/s', 0], transitions = [[0, 1, 1], [5, 0, 5], [9, 9, 0]] }",
    "{ process = 'on-off', rate = '500/s', sources = 100, on = { distribution = 'pareto', shape = 1.4, mean = '1s' }, off = { distribution = 'pareto', shape = 1.4, mean = '4s' } }",
    "{ process = 'on-off', rate = '50k/s', sources = 10000, on = { distribution = 'pareto', shape = 1.4, mean = '1s' }, off = { distribution = 'pareto', shape = 1.4, mean = '4s' } }",
    "{ process = 'm-g-infinity', rate = '5k/s', sessions = '500/s', length = { distribution = 'pareto', shape = 1.4, mean = '10s' } }",
];

#[derive(Deserialize)]
struct Document {
    arrivals: ArrivalSpec,
}

fn main() {
    for text in PROCESSES {
        let document: Document = toml::from_str(&format!("arrivals = {text}")).expect("a good process");
        let process = document.arrivals.resolve(&mut |_| unreachable!("no file")).expect("no file");
        let begun = Instant::now();
        let mut arrivals = process.start(Seed(1).stream(Purpose::Arrivals, 0));
        let started = begun.elapsed();
        let begun = Instant::now();
        black_box(arrivals.by_ref().take(ARRIVALS).last());
        let a_second = ARRIVALS as f64 / begun.elapsed().as_secs_f64();
        println!(
            "{:6.1} million a second, {:6.2} ms to start: {text}",
            a_second / 1e6,
            started.as_secs_f64() * 1e3
        );
    }
}
