//! The progress of a run: the live view on a terminal, elsewhere one line a second on standard error; and
//! whoever else is to have its figures.

use crate::live::LiveView;
use crate::live::wire::FigureLines;
use crate::metrics::{Exporter, MetricsTargets};
use crate::output;
use crate::problem::Problem;
use crate::workbench::single::RunPage;
use farfield_base::{Duration, Instant, Outcome};
use farfield_engine::rendezvous::{Member, PartFigures};
use farfield_engine::{Run, RunSettings};
use farfield_measure::Quantile;
use std::io::IsTerminal;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The display of a run's progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressDisplay {
    /// The live view, where there is a terminal for it, and otherwise lines.
    Live,
    /// One line a second.
    Lines,
    /// Nothing.
    Nothing,
}

/// The receivers of a run's figures while it goes on.
#[derive(Debug)]
pub struct Watch {
    pub shown: ProgressDisplay,
    pub metrics: MetricsTargets,
    /// Standard output gets them as lines of JSON.
    pub figures: bool,
    /// The socket on which a browser is shown the run.
    pub ui: Option<TcpListener>,
    /// The process that makes the run, if the run is to end with it.
    pub parent: Option<u32>,
    /// The rendezvous that the run is a part of.
    pub member: Option<Arc<Member>>,
}

impl From<ProgressDisplay> for Watch {
    fn from(shown: ProgressDisplay) -> Watch {
        Watch {
            shown,
            metrics: MetricsTargets::default(),
            figures: false,
            ui: None,
            parent: None,
            member: None,
        }
    }
}

/// The progress of a run.
pub struct Progress {
    screen: ProgressOutput,
    exporter: Option<Exporter>,
    figures: Option<FigureLines>,
    page: Option<RunPage>,
    member: Option<Arc<Member>>,
}

enum ProgressOutput {
    Live(LiveView),
    Lines(Lines),
    Nothing,
}

impl Progress {
    /// Begins the progress of a run into this directory, which `stop` ends.
    pub fn begin(
        watch: Watch,
        run: &Run,
        directory: &Path,
        stop: &Arc<AtomicBool>,
    ) -> Result<Progress, Problem> {
        let exporter = Exporter::begin(watch.metrics, run, directory)?;
        if let Some(address) = exporter.as_ref().and_then(Exporter::address)
            && watch.shown != ProgressDisplay::Nothing
        {
            output::put_error(format_args!("farfield: metrics at http://{address}/metrics\n"));
        }
        let figures = match watch.figures {
            true => Some(FigureLines::begin(run, directory, stop)?),
            false => None,
        };
        let mut page = None;
        if let Some(listener) = watch.ui {
            let (begun, url) = RunPage::begin(listener, run, directory, stop)?;
            // Its reader needs the token, also of a quiet run.
            output::put_error(format_args!("farfield: the run is shown at {url}\n"));
            page = Some(begun);
        }
        let live = if watch.shown == ProgressDisplay::Live { LiveView::begin(run, stop) } else { None };
        let screen = match live {
            Some(live) => ProgressOutput::Live(live),
            None if watch.shown == ProgressDisplay::Nothing => ProgressOutput::Nothing,
            None => ProgressOutput::Lines(Lines::new(&run.settings)),
        };
        Ok(Progress { screen, exporter, figures, page, member: watch.member })
    }

    /// Shows how far the run has come; called once a second, and at its end.
    pub fn update(&mut self, run: &farfield_engine::Progress<'_>) {
        match &mut self.screen {
            ProgressOutput::Live(live) => live.update(run),
            // The last one comes with the result, which is printed anyway.
            ProgressOutput::Lines(lines) if !run.ended => lines.print(run),
            ProgressOutput::Lines(_) | ProgressOutput::Nothing => {}
        }
        if let Some(exporter) = &mut self.exporter {
            exporter.update(run);
        }
        if let Some(figures) = &mut self.figures {
            figures.update(run);
        }
        if let Some(page) = &mut self.page {
            page.update(run);
        }
        if let Some(member) = &self.member {
            member.report(PartFigures::of(run));
        }
    }

    /// The run is over: what is printed next is on a line of its own.
    pub fn end(self) {
        match self.screen {
            ProgressOutput::Live(live) => live.end(),
            ProgressOutput::Lines(lines) => lines.end(),
            ProgressOutput::Nothing => {}
        }
        for sentence in self.exporter.map(Exporter::end).unwrap_or_default() {
            output::put_error(format_args!("warning: {sentence}\n"));
        }
        if let Some(figures) = self.figures {
            figures.end();
        }
        if let Some(page) = self.page {
            page.end();
        }
    }
}

/// One line a second.
pub struct Lines {
    /// On a terminal the line is written over itself.
    terminal: bool,
    /// Time for which the load goes on after the measured part.
    cool_down: Duration,
    /// Requests that had ended by the last line, and those of them that had gone wrong.
    before: (u64, u64),
    /// The instant up to which these were all.
    before_at: Instant,
    /// The rate by then, and how many of how many had gone wrong.
    rate: f64,
    went: (u64, u64),
}

/// A rate is of this time at least: two reports of a worker.
const RATE_OVER_LEAST: Duration = Duration::from_ms(200);

impl Lines {
    fn new(settings: &RunSettings) -> Lines {
        let line = format!("{}: {}", settings.heading.target, settings.heading.load_words);
        output::put_progress(&line, false);
        let terminal = std::io::stderr().is_terminal();
        let cool_down = settings.users.end.cool_down;
        Lines { terminal, cool_down, before: (0, 0), before_at: Instant::ZERO, rate: 0.0, went: (0, 0) }
    }

    fn print(&mut self, run: &farfield_engine::Progress<'_>) {
        let window = run.fold.window();
        let phase = if run.now < window.measure_from {
            format!("warming up, {:.0} s left", window.measure_from.since(run.now).as_secs_f64())
        } else if run.now < window.measure_to && window.ends_by_count() {
            "measuring, to the last request".to_owned()
        } else if run.now < window.measure_to {
            format!("measuring, {:.0} s left", window.measure_to.since(run.now).as_secs_f64())
        } else if run.now < window.measure_to + self.cool_down {
            let left = (window.measure_to + self.cool_down).since(run.now);
            format!("cooling down, {:.0} s left", left.as_secs_f64())
        } else {
            "draining, 0 s left".to_owned()
        };
        let parts = [run.fold.warm_up(), run.fold.steady()];
        let ended: u64 = parts.iter().map(|part| part.requests()).sum();
        let failed = ended - parts.iter().map(|part| part.count(Outcome::Ok)).sum::<u64>();
        // After the measured part there are others.
        self.count(ended + run.fold.drained(), failed, run.folded_to);
        let rate = self.rate;
        let p99 = run.fold.steady().times.response.quantile(Quantile::P99);
        let p99 = p99.map_or(String::new(), |p99| format!(", p99 {:.1} ms", p99.as_secs_f64() * 1e3));
        let live = run.live;
        let line = format!(
            "{phase}: {rate:.0} requests/s{}{p99}, {} connections, {} waiting",
            went_wrong(self.went.0, self.went.1),
            live.connections,
            live.in_system
        );
        output::put_progress(&line, self.terminal);
    }

    /// Counts the rate of what has ended since the line before. While hardly more time is whole, as with a
    /// worker that does not report, it stays as it was.
    fn count(&mut self, ended: u64, failed: u64, whole_to: Instant) {
        let passed = whole_to.since(self.before_at);
        if passed >= RATE_OVER_LEAST {
            self.went = (ended.saturating_sub(self.before.0), failed.saturating_sub(self.before.1));
            self.rate = self.went.0 as f64 / passed.as_secs_f64();
            (self.before, self.before_at) = ((ended, failed), whole_to);
        }
    }

    fn end(&self) {
        if self.terminal {
            output::put_progress("", true);
        }
    }
}

/// The share of ended requests that went wrong, as text behind their rate; empty if none did.
fn went_wrong(ended: u64, failed: u64) -> String {
    let percent = 100.0 * failed as f64 / ended.max(1) as f64;
    match failed {
        0 => String::new(),
        _ if failed >= ended => ", all failed".to_owned(),
        _ if percent < 1.0 => format!(", {percent:.1} % failed"),
        _ => format!(", {:.0} % failed", percent.min(99.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A worker reports up to the second second; then nothing, while the other's requests go on; then again.
    #[test]
    fn the_rate_waits_for_what_is_whole() {
        let at = |ms: u64| Instant::ZERO + Duration::from_ms(ms);
        let (terminal, before_at) = (false, Instant::ZERO);
        let mut lines =
            Lines { terminal, cool_down: Duration::ZERO, before: (0, 0), before_at, rate: 0.0, went: (0, 0) };
        let mut rates = Vec::new();
        for (ended, whole_to) in [(200, 2_000), (250, 2_000), (300, 2_100), (700, 7_000)] {
            lines.count(ended, 0, at(whole_to));
            rates.push(lines.rate);
        }
        assert_eq!(rates, [100.0, 100.0, 100.0, 100.0]);
    }

    #[test]
    fn failures_stand_behind_the_rate() {
        for (ended, failed, words) in [
            (0, 0, ""),
            (70, 0, ""),
            (70, 70, ", all failed"),
            (1_000, 5, ", 0.5 % failed"),
            (1_000, 123, ", 12 % failed"),
            (1_000, 999, ", 99 % failed"),
        ] {
            assert_eq!(went_wrong(ended, failed), words);
        }
    }
}
