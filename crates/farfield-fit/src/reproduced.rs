//! The dispersion of the arrivals that a scenario has, beside that of the log's sessions: generated as
//! long as the log, several times, and counted alike.

use crate::process::{ScaleDispersion, SessionProcess, StartCounts};
use farfield_base::random::{Purpose, Seed};
use farfield_base::{Duration, Instant};
use farfield_traffic::arrival::ArrivalSpec;
use serde::Serialize;

/// The dispersion of session starts at one time scale.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ReproducedScale {
    /// Length of the windows in which sessions are counted.
    pub over: Duration,
    /// Variance over mean in the log.
    pub log: f64,
    /// Standard error of ln `log`.
    pub error: f64,
    /// Variance over mean in the scenario: the mean of some runs as long as the log.
    pub scenario: f64,
}

impl ReproducedScale {
    /// The factor between both, 1 or more.
    pub fn factor(&self) -> f64 {
        (self.scenario / self.log).ln().abs().exp()
    }

    /// True if they are further apart than the log's own error, by a fifth at least; a factor of 1.5 is too
    /// far whatever that error is.
    pub fn is_off(&self) -> bool {
        self.factor() > (1.96 * self.error).exp().clamp(1.2, 1.5)
    }
}

/// Sessions that are generated at most, and runs.
const SESSIONS_MAX: f64 = 4e6;
const RUNS_MAX: f64 = 8.0;

/// The dispersion of `written` beside that of `process`; `None` if it needs a file.
pub(crate) fn reproduced(
    written: &ArrivalSpec,
    process: &SessionProcess,
    covers: Duration,
) -> Option<Vec<ReproducedScale>> {
    let arrivals = written.resolve(&mut |_| Err(std::io::ErrorKind::NotFound.into())).ok()?;
    let sessions = process.rate * covers.as_secs_f64();
    let runs = (SESSIONS_MAX / sessions.max(1.0)).min(RUNS_MAX) as u64;
    let counted = StartCounts::like(&process.scales, covers)?;
    let mut sums = vec![0.0; process.scales.len()];
    for run in 0..runs.max(1) {
        // A process that is far faster than the log has been fitted wrongly; it must not take for ever.
        let most = (4.0 * sessions) as usize + 1_000;
        let begun = arrivals.start(Seed(1).stream(Purpose::Arrivals, 1_000 + run)).take(most);
        let indices = counted.with(begun.take_while(|at| at.since(Instant::ZERO) < covers)).indices();
        sums.iter_mut().zip(indices).for_each(|(sum, index)| *sum += index);
    }
    let of = |(scale, sum): (&ScaleDispersion, f64)| ReproducedScale {
        over: scale.over,
        log: scale.index,
        error: scale.error,
        scenario: sum / runs.max(1) as f64,
    };
    Some(process.scales.iter().zip(sums).map(of).collect())
}
