//! The progress of a run: one line a second on standard error.

use crate::output;
use farfield_base::{Duration, Instant};
use farfield_engine::Settings;
use farfield_measure::Quantile;
use std::io::IsTerminal;

/// The progress of a run.
pub struct Progress {
    quiet: bool,
    /// On a terminal the line is written over itself.
    terminal: bool,
    measure_from: Instant,
    measure_to: Instant,
    ended_before: u64,
    printed_at: Instant,
}

impl Progress {
    /// Of a run with these settings.
    pub fn new(settings: &Settings, quiet: bool) -> Progress {
        let measure_from = Instant::ZERO + settings.warm_up;
        if !quiet {
            let line = format!("{}: {}", settings.heading.target, settings.heading.load_words);
            output::put_progress(&line, false);
        }
        Progress {
            quiet,
            terminal: std::io::stderr().is_terminal(),
            measure_from,
            measure_to: measure_from + settings.duration,
            ended_before: 0,
            printed_at: Instant::ZERO,
        }
    }

    /// Prints a line; called once a second.
    pub fn print(&mut self, run: &farfield_engine::Progress<'_>) {
        if self.quiet {
            return;
        }
        let (phase, left) = if run.now < self.measure_from {
            ("warming up", self.measure_from.since(run.now))
        } else if run.now < self.measure_to {
            ("measuring", self.measure_to.since(run.now))
        } else {
            ("draining", Duration::ZERO)
        };
        let ended: u64 = [run.fold.warm_up(), run.fold.steady()].iter().map(|part| part.requests()).sum();
        let passed = run.now.since(self.printed_at).as_secs_f64().max(1e-3);
        let rate = (ended - self.ended_before) as f64 / passed;
        (self.ended_before, self.printed_at) = (ended, run.now);
        let p99 = run.fold.steady().times.response.quantile(Quantile::P99);
        let p99 = p99.map_or(String::new(), |p99| format!(", p99 {:.1} ms", p99.as_secs_f64() * 1e3));
        let live = run.live;
        let line = format!(
            "{phase}, {:.0} s left: {rate:.0} requests/s{p99}, {} connections, {} waiting",
            left.as_secs_f64(),
            live.connections,
            live.in_system
        );
        output::put_progress(&line, self.terminal);
    }

    /// The run is over: what is printed next begins a line of its own.
    pub fn end(&self) {
        if self.terminal && !self.quiet {
            output::put_progress("", true);
        }
    }
}
