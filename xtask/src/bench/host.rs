//! Steal: the time that the host of a virtual machine takes of its processors while a bench runs
//! (`/proc/stat`).
//!
//! A run from which the host took too much says nothing of farfield, nor of its peers. It is repeated
//! *whatever it showed*, good or bad, so that nothing is chosen by its result; how often that was stands
//! under each table.

use std::cell::Cell;
use std::fs;

/// The largest share of the processors' time that the host may take from a run: the verdict's own limit.
const SHARE_MAX: f64 = 0.002;
/// Seconds that may go into tries of one run; the last one counts, whatever the host did.
const SECONDS_OF_TRIES: u32 = 20;
const TRIES_MIN: u32 = 2;
const TRIES_MAX: u32 = 10;

/// Counts runs, and those that the host disturbed.
#[derive(Debug, Default)]
pub struct Host {
    runs: Cell<u32>,
    repeated: Cell<u32>,
    disturbed: Cell<u32>,
}

/// Hundredths of a second of all processors since the machine's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ticks {
    all: u64,
    stolen: u64,
}

impl Host {
    /// Runs `measure`, which takes about `seconds`, and runs it again as long as the host takes more than its
    /// share. Short runs are tried more often: they find a quiet time sooner.
    pub fn undisturbed<T, E>(&self, seconds: u32, measure: impl FnMut() -> Result<T, E>) -> Result<T, E> {
        let tries = (SECONDS_OF_TRIES / seconds.max(1)).clamp(TRIES_MIN, TRIES_MAX);
        let ticks = || Ticks::of(&fs::read_to_string("/proc/stat").unwrap_or_default());
        self.undisturbed_by(ticks, tries, measure)
    }

    fn undisturbed_by<T, E>(
        &self,
        ticks: impl Fn() -> Option<Ticks>,
        tries: u32,
        mut measure: impl FnMut() -> Result<T, E>,
    ) -> Result<T, E> {
        add(&self.runs);
        let mut attempt = || {
            let before = ticks();
            let measured = measure()?;
            let stolen = before.zip(ticks()).map_or(0.0, |(before, after)| after.stolen_since(before));
            Ok((measured, stolen > SHARE_MAX))
        };
        for _ in 1..tries {
            let (measured, is_disturbed) = attempt()?;
            if !is_disturbed {
                return Ok(measured);
            }
            add(&self.repeated);
        }
        let (measured, is_disturbed) = attempt()?;
        if is_disturbed {
            add(&self.disturbed);
        }
        Ok(measured)
    }

    /// A sentence on all runs since the last one; empty if the host took nothing.
    pub fn take_words(&self) -> String {
        let [runs, repeated, disturbed] = [&self.runs, &self.repeated, &self.disturbed].map(Cell::take);
        let limit = SHARE_MAX * 100.0;
        let mut words = String::new();
        if repeated > 0 {
            words += &format!(
                "The machine's host took more than {limit} % of the processors from {repeated} more runs, which were repeated\n\
                 whatever they showed. "
            );
        }
        if disturbed > 0 {
            words +=
                &format!("{disturbed} of the {runs} runs above are such runs, for want of a quiet time.");
        }
        words.trim_end().to_owned()
    }
}

fn add(count: &Cell<u32>) {
    count.set(count.get() + 1);
}

impl Ticks {
    /// Of the first line of `/proc/stat` (proc(5)): user, nice, system, idle, iowait, irq, softirq, steal.
    fn of(text: &str) -> Option<Ticks> {
        let line = text.lines().next()?.strip_prefix("cpu ")?;
        let fields: Vec<u64> =
            line.split_whitespace().take(8).map_while(|field| field.parse().ok()).collect();
        (fields.len() == 8).then(|| Ticks { all: fields.iter().sum(), stolen: fields[7] })
    }

    fn stolen_since(self, before: Ticks) -> f64 {
        let passed = self.all.saturating_sub(before.all).max(1);
        self.stolen.saturating_sub(before.stolen) as f64 / passed as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    /// Runs of 1,000 ticks each, of which the host takes these in turn; returns the run that counts.
    fn of(host: &Host, stolen: &[u64]) -> usize {
        let (runs, now) = (Cell::new(0), Cell::new(Ticks { all: 0, stolen: 0 }));
        let ticks = || Some(now.get());
        let measured = host.undisturbed_by(ticks, 2, || {
            let Ticks { all, stolen: before } = now.get();
            now.set(Ticks { all: all + 1000, stolen: before + stolen[runs.get()] });
            runs.set(runs.get() + 1);
            Ok::<_, Infallible>(runs.get())
        });
        measured.expect("it cannot fail")
    }

    #[test]
    fn disturbed_runs_are_repeated_and_counted() {
        let host = Host::default();
        assert_eq!(of(&host, &[2]), 1);
        assert_eq!(host.take_words(), "");
        assert_eq!(of(&host, &[3, 0]), 2);
        assert_eq!(of(&host, &[9, 9]), 2);
        let words = host.take_words();
        assert!(
            words.starts_with("The machine's host took more than 0.2 % of the processors from 2 more runs")
        );
        assert!(words.ends_with("1 of the 2 runs above are such runs, for want of a quiet time."), "{words}");
        assert_eq!(host.take_words(), "");
    }

    #[test]
    fn reads_the_kernels_count() {
        let text = "cpu  10 1 5 80 3 0 1 4 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n";
        assert_eq!(Ticks::of(text), Some(Ticks { all: 104, stolen: 4 }));
        assert_eq!(Ticks::of(""), None);
    }
}
