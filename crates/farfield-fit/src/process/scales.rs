//! The time scales at which session starts are counted, and the index of dispersion at each.

use crate::series::{counts, dispersion, joined, mean, variance};
use farfield_base::{Duration, Instant};
use serde::{Deserialize, Serialize};

/// Dispersion of session starts at one time scale.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ScaleDispersion {
    /// Length of the windows in which sessions are counted.
    pub over: Duration,
    /// Number of such windows in the log.
    pub windows: u64,
    /// Index of dispersion: variance over mean.
    pub index: f64,
    /// Allan factor, which a slow course hardly touches.
    pub allan: f64,
    /// Standard error of ln `index`.
    pub error: f64,
    /// Interval of the index of a Poisson process in nineteen of twenty logs.
    pub poisson: (f64, f64),
}

/// Sessions in each slot of time, and the scales at which they are looked at.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StartCounts {
    /// Length of a slot.
    pub(crate) slot: Duration,
    /// Sessions in each.
    pub(crate) series: Vec<f64>,
    /// Slots in a window of each scale, rising.
    pub(crate) ladder: Vec<usize>,
}

impl StartCounts {
    const SLOTS_MAX: u64 = 1 << 20;
    /// A slot is a second long, or long enough for so many sessions.
    const SESSIONS_A_SLOT: f64 = 0.02;
    /// Fewer windows than this have no variance to speak of.
    const WINDOWS_MIN: usize = 10;
    /// Scales end here, or where this many sessions fall into a window.
    const LONGEST_S: f64 = 1_000.0;
    const SESSIONS_A_WINDOW: f64 = 100.0;

    /// The counts of `starts` over `covers` from `from` on, in slots of a second (longer ones where
    /// sessions are rare, or in a log of more than twelve days), with windows of 1, 2, 5, 10, … slots.
    /// `None` where less than three scales fit.
    pub(crate) fn of(starts: &[Instant], from: Instant, covers: Duration) -> Option<StartCounts> {
        let none = StartCounts::empty(covers, starts.len() as f64 / covers.as_secs_f64())?;
        let series = counts(starts.iter().copied(), from, none.slot, none.series.len());
        Some(StartCounts { series, ..none })
    }

    /// The slots and scales of a log of `covers` with `rate` sessions a second, without a session.
    fn empty(covers: Duration, rate: f64) -> Option<StartCounts> {
        let seconds = covers.as_ns() / 1_000_000_000;
        // Nothing is seen in slots that are nearly all empty.
        let rare = (StartCounts::SESSIONS_A_SLOT / rate.max(1e-9)) as u64;
        let slot = Duration::from_secs(seconds.div_ceil(StartCounts::SLOTS_MAX).max(rare).max(1));
        let slots = (covers.as_ns() / slot.as_ns()) as usize;
        let ladder = ladder(slots, slot.as_secs_f64(), rate);
        (ladder.len() >= 3).then_some(StartCounts { slot, series: vec![0.0; slots], ladder })
    }

    /// The slots of a log of `covers` that was looked at in these scales, of which the least is a slot,
    /// without a session.
    pub(crate) fn like(scales: &[ScaleDispersion], covers: Duration) -> Option<StartCounts> {
        let slot = scales.first()?.over;
        let slots = |time: Duration| (time.as_ns() / slot.as_ns().max(1)) as usize;
        let ladder = scales.iter().map(|scale| slots(scale.over)).collect();
        Some(StartCounts { slot, series: vec![0.0; slots(covers)], ladder })
    }

    /// Slots and scales with the sessions of another process, which begin at `starts` from zero on.
    pub(crate) fn with(&self, starts: impl IntoIterator<Item = Instant>) -> StartCounts {
        let series = counts(starts, Instant::ZERO, self.slot, self.series.len());
        self.with_series(series)
    }

    /// Slots and scales with other numbers.
    pub(crate) fn with_series(&self, series: Vec<f64>) -> StartCounts {
        StartCounts { slot: self.slot, series, ladder: self.ladder.clone() }
    }

    /// Sessions a second.
    pub(crate) fn rate(&self) -> f64 {
        mean(&self.series) / self.slot.as_secs_f64()
    }

    /// The time that the slots cover, in seconds.
    pub(crate) fn covers_s(&self) -> f64 {
        self.series.len() as f64 * self.slot.as_secs_f64()
    }

    /// The length of each scale's windows, in seconds.
    pub(crate) fn scales_s(&self) -> Vec<f64> {
        self.ladder.iter().map(|slots| *slots as f64 * self.slot.as_secs_f64()).collect()
    }

    /// The index at each scale.
    pub(crate) fn indices(&self) -> Vec<f64> {
        self.ladder.iter().map(|slots| index(&joined(&self.series, *slots))).collect()
    }

    /// The dispersion at each scale, with errors; `None` if all counts of some scale are alike.
    pub(crate) fn dispersion(&self) -> Option<Vec<ScaleDispersion>> {
        let of = |slots: &usize| {
            let found = dispersion(&self.series, *slots).ok().filter(|found| found.index > 0.0)?;
            Some(ScaleDispersion {
                over: self.slot.times(*slots as u64),
                windows: found.counts as u64,
                index: found.index,
                allan: found.allan,
                error: found.error,
                poisson: found.poisson,
            })
        };
        self.ladder.iter().map(of).collect()
    }
}

/// Variance over mean; 1, as of a Poisson process, where nothing was counted.
fn index(counts: &[f64]) -> f64 {
    let mean = mean(counts);
    if mean > 0.0 { variance(counts) / mean } else { 1.0 }
}

/// 1, 2, 5, 10, … slots: up to a thousand seconds, or further where sessions are rare, as long as the log has
/// enough windows.
fn ladder(slots: usize, slot_s: f64, rate: f64) -> Vec<usize> {
    let longest_s = StartCounts::LONGEST_S.max(StartCounts::SESSIONS_A_WINDOW / rate.max(1e-12));
    let steps = (0..).flat_map(|power| [1usize, 2, 5].map(|step| step * 10usize.pow(power)));
    let fits = |step: &usize| {
        *step as f64 * slot_s <= 1.000_001 * longest_s && slots / step >= StartCounts::WINDOWS_MIN
    };
    steps.take(30).take_while(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_reach_a_thousand_seconds_or_a_hundred_sessions() {
        assert_eq!(ladder(40_000, 1.0, 2.0), [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000]);
        assert_eq!(ladder(4_000, 1.0, 2.0), [1, 2, 5, 10, 20, 50, 100, 200], "ten windows of 400 s");
        assert_eq!(ladder(1_000_000, 1.0, 0.01).last(), Some(&10_000));
    }

    #[test]
    fn counts_of_no_variance_have_no_dispersion() {
        let starts: Vec<Instant> = (0..1_000).map(|at| Instant::ZERO + Duration::from_secs(at)).collect();
        let counted =
            StartCounts::of(&starts, Instant::ZERO, Duration::from_secs(999)).expect("three scales");
        assert_eq!((counted.series.len(), counted.rate()), (999, 1.0));
        assert_eq!(counted.dispersion(), None);
    }
}
