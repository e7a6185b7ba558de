//! Lines about a rendezvous on standard error: which parts have come, are lost and are back, and the sum of
//! their figures once a second.

use crate::output;
use farfield_engine::rendezvous::{News, PartFigures};
use farfield_measure::Quantile;
use std::io::IsTerminal;

/// The lines.
pub struct GatherLines {
    quiet: bool,
    terminal: bool,
    /// Requests that had ended by the line before, and when.
    before: (u64, u64),
}

impl GatherLines {
    pub fn new(quiet: bool) -> GatherLines {
        GatherLines { quiet, terminal: std::io::stderr().is_terminal(), before: (0, 0) }
    }

    /// Prints a line about the news.
    pub fn print(&mut self, news: &News) {
        let line = match news {
            // A line of its own, also of a quiet run: the result lacks something.
            News::Lost(why) => return self.put(&format!("farfield: lost {why}")),
            News::Refused(why) => return self.put(&format!("farfield: {why}")),
            // A part that is waited for holds all up.
            News::Waiting(names) => format!("farfield: waiting: {names}"),
            _ if self.quiet => return,
            News::Joined(part) => format!("farfield: {part} has joined"),
            News::Left(why) => format!("farfield: {why}; its place is free again"),
            News::Returned(part) => format!("farfield: {part} is back"),
            News::Starting { in_ns, error_ns } => {
                let (ahead, error) = (*in_ns as f64 / 1e9, *error_ns as f64 / 1e6);
                format!(
                    "farfield: all parts are ready, and start in {ahead:.1} s; clocks are known to {error:.3} ms"
                )
            }
            News::Sum(sum, parts) => {
                let line = self.sum(sum, *parts);
                return output::put_progress(&line, self.terminal);
            }
        };
        self.put(&line);
    }

    fn put(&self, line: &str) {
        self.end();
        output::put_error(format_args!("{line}\n"));
    }

    fn sum(&mut self, sum: &PartFigures, parts: usize) -> String {
        let (from, to) = sum.measured_ns;
        let left = |until: u64| until.saturating_sub(sum.now_ns) as f64 / 1e9;
        let phase = match sum.now_ns {
            now if now < from => format!("warming up, {:.0} s left", left(from)),
            now if now < to => format!("measuring, {:.0} s left", left(to)),
            _ => "draining".to_owned(),
        };
        let (ended, now) = self.before;
        let passed = sum.now_ns.saturating_sub(now);
        let rate = sum.ended.saturating_sub(ended) as f64 / (passed.max(1) as f64 / 1e9);
        let rate = if passed > 0 { format!("{rate:.0} requests/s") } else { "no news".to_owned() };
        self.before = (sum.ended, sum.now_ns);
        let failed = if sum.failed > 0 { format!(", {} failed", sum.failed) } else { String::new() };
        let p99 = sum.response.quantile(Quantile::P99);
        let p99 = p99.map_or(String::new(), |p99| format!(", p99 {:.1} ms", p99.as_secs_f64() * 1e3));
        let (open, waiting) = (sum.connections, sum.in_system);
        format!("{parts} parts, {phase}: {rate}{failed}{p99}, {open} connections, {waiting} waiting")
    }

    /// Ends the line of progress: the next one is a line of its own.
    pub fn end(&self) {
        if self.terminal {
            output::put_progress("", true);
        }
    }
}
