//! The progress of a run: the live view on a terminal, elsewhere one line a second on standard error.

use crate::live::LiveView;
use crate::output;
use farfield_base::{Duration, Instant};
use farfield_engine::Settings;
use farfield_measure::Quantile;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What shows the progress of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// The live view, where there is a terminal for it, and otherwise lines.
    Live,
    /// One line a second.
    Lines,
    /// Nothing.
    Nothing,
}

/// The progress of a run.
pub enum Progress {
    Live(LiveView),
    Lines(Lines),
    Nothing,
}

impl Progress {
    /// Of a run with these settings, which `stop` ends.
    pub fn new(settings: &Settings, shown: Shown, stop: &Arc<AtomicBool>) -> Progress {
        let live = if shown == Shown::Live { LiveView::begin(settings, stop) } else { None };
        match live {
            Some(live) => Progress::Live(live),
            None if shown == Shown::Nothing => Progress::Nothing,
            None => Progress::Lines(Lines::new(settings)),
        }
    }

    /// Shows how far the run has come; called once a second.
    pub fn update(&mut self, run: &farfield_engine::Progress<'_>) {
        match self {
            Progress::Live(live) => live.update(run),
            Progress::Lines(lines) if !run.ended => lines.print(run),
            Progress::Lines(_) => {}
            Progress::Nothing => {}
        }
    }

    /// The run is over: what is printed next is on a line of its own.
    pub fn end(self) {
        match self {
            Progress::Live(live) => live.end(),
            Progress::Lines(lines) => lines.end(),
            Progress::Nothing => {}
        }
    }
}

/// One line a second.
pub struct Lines {
    /// On a terminal the line is written over itself.
    terminal: bool,
    measure_from: Instant,
    measure_to: Instant,
    ended_before: u64,
    printed_at: Instant,
}

impl Lines {
    fn new(settings: &Settings) -> Lines {
        let measure_from = Instant::ZERO + settings.warm_up;
        let line = format!("{}: {}", settings.heading.target, settings.heading.load_words);
        output::put_progress(&line, false);
        Lines {
            terminal: std::io::stderr().is_terminal(),
            measure_from,
            measure_to: measure_from + settings.duration,
            ended_before: 0,
            printed_at: Instant::ZERO,
        }
    }

    fn print(&mut self, run: &farfield_engine::Progress<'_>) {
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

    fn end(&self) {
        if self.terminal {
            output::put_progress("", true);
        }
    }
}
