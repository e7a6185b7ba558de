//! Recorded arrivals: a list of instants, once or repeated.

use super::carry::Carry;
use crate::amount::Amount;
use crate::file::{self, FileError, Load};
use farfield_base::{Instant, Rate};
use std::path::Path;

/// Instants from a file. Repeated, the gaps repeat, the first of them counted from the start: the last
/// instant of one round is the start of the next.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Trace {
    /// At least one, never decreasing; if repeated, the last is after the start.
    instants: Vec<Instant>,
    repeats: bool,
}

/// Content of each line of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TraceFormat {
    /// The time since the arrival before, or since the start.
    Gaps,
    /// The time since the start.
    Instants,
}

impl Trace {
    /// Arrivals at `instants`, once.
    pub(super) fn recorded(instants: Vec<Instant>) -> Trace {
        debug_assert!(instants.is_sorted(), "arrivals are in order");
        Trace { instants, repeats: false }
    }

    /// Reads the file at `path`: one time a line, in seconds or with its unit, `#` before a comment.
    pub(super) fn read(
        path: &Path,
        lines: TraceFormat,
        repeats: bool,
        load: &mut Load<'_>,
    ) -> Result<Trace, FileError> {
        let mut at = Carry::default();
        let instants = file::entries(path, load, "one time", |entry| {
            let seconds = seconds(entry)?;
            let from = if lines == TraceFormat::Gaps { at } else { Carry::default() };
            let next = from
                .after(seconds)
                .ok_or_else(|| format!("`{entry}` reaches beyond 584 years; write a shorter time"))?;
            if next.instant() < at.instant() {
                return Err(format!("`{entry}` is before the instant above it; sort the file by time"));
            }
            at = next;
            Ok(at.instant())
        })?;
        if repeats && at.instant() == Instant::ZERO {
            let problem = "repeats without taking any time; give at least one time above 0".to_owned();
            return Err(FileError::Whole { path: path.to_owned(), problem });
        }
        Ok(Trace { instants, repeats })
    }

    pub(super) fn nth(&self, index: u64) -> Option<Instant> {
        let count = self.instants.len() as u64;
        if !self.repeats {
            return self.instants.get(usize::try_from(index).ok()?).copied();
        }
        let before = self.length_ns().checked_mul(index / count)?;
        let within = self.instants[(index % count) as usize].as_ns();
        before.checked_add(within).map(Instant::from_ns)
    }

    /// Number of arrivals before `instant`.
    pub(super) fn count_before(&self, instant: Instant) -> u64 {
        let Some(last_ns) = instant.as_ns().checked_sub(1) else { return 0 };
        let up_to = |ns: u64| self.instants.partition_point(|i| i.as_ns() <= ns) as u64;
        if self.repeats {
            let rounds = last_ns / self.length_ns();
            rounds * self.instants.len() as u64 + up_to(last_ns % self.length_ns())
        } else {
            up_to(last_ns)
        }
    }

    pub(super) fn mean_rate(&self) -> Option<Rate> {
        Rate::per_second(self.instants.len() as f64 / (self.length_ns() as f64 / 1e9)).ok()
    }

    fn length_ns(&self) -> u64 {
        self.instants[self.instants.len() - 1].as_ns()
    }
}

fn seconds(entry: &str) -> Result<f64, String> {
    match entry.parse() {
        Ok(Amount::Time(time)) => Ok(time.as_secs_f64()),
        Ok(Amount::Number(seconds)) if seconds >= 0.0 => Ok(seconds),
        _ => Err(format!("`{entry}` is not a time from 0 up; write seconds such as `0.25`, or `250ms`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str, lines: TraceFormat, repeats: bool) -> Result<Trace, FileError> {
        Trace::read(Path::new("t.txt"), lines, repeats, &mut |_: &Path| Ok(text.as_bytes().to_vec()))
    }

    #[test]
    fn gaps_add_up_and_instants_stand() {
        let ns = |trace: Trace| trace.instants.iter().map(|i| i.as_ns()).collect::<Vec<_>>();
        assert_eq!(
            ns(read("0.5\n250ms\n0\n", TraceFormat::Gaps, false).expect("reads")),
            [500_000_000, 750_000_000, 750_000_000]
        );
        assert_eq!(
            ns(read("0.5\n750ms\n1s", TraceFormat::Instants, false).expect("reads")),
            [500_000_000, 750_000_000, 1_000_000_000]
        );
    }

    #[test]
    fn what_cannot_be_meant_is_named_with_its_line() {
        let error_of = |text, lines, repeats| read(text, lines, repeats).expect_err(text).to_string();
        assert!(error_of("1\n0.5", TraceFormat::Instants, false).starts_with("t.txt:2: `0.5` is before"));
        assert!(error_of("1\n-1", TraceFormat::Gaps, false).starts_with("t.txt:2: `-1` is not a time"));
        assert!(error_of("64KiB", TraceFormat::Gaps, false).starts_with("t.txt:1: "));
        assert!(error_of("0\n0", TraceFormat::Gaps, true).starts_with("t.txt: repeats without"));
    }

    proptest! {
        #[test]
        fn counts_are_what_comes(
            gaps in proptest::collection::vec(0u64..5, 1..20),
            repeats in any::<bool>(),
            until in 0u64..200,
        ) {
            prop_assume!(gaps.iter().any(|gap| *gap > 0));
            let text: String = gaps.iter().map(|gap| format!("{gap}ns\n")).collect();
            let trace = read(&text, TraceFormat::Gaps, repeats).expect("reads");
            let come = (0..).map_while(|n| trace.nth(n)).take_while(|i| i.as_ns() < until).count();
            prop_assert_eq!(trace.count_before(Instant::from_ns(until)), come as u64);
        }
    }
}
