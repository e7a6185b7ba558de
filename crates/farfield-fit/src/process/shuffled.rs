//! The dispersion of a renewal process with the log's own gaps: the same gaps in random order.
//!
//! A renewal process has the same dispersion in every order of its gaps, whatever their distribution, so that
//! the log's own order is one of many if sessions are one (a permutation test; on the intervals of point
//! processes Lowen and Teich 2005, "Fractal-Based Point Processes", chapter 11). Nothing is fitted.

use super::scales::StartCounts;
use crate::series::{mean, variance};
use farfield_base::random::Stream;
use farfield_base::{Duration, Instant};
use rand::RngExt;

/// The index at each scale over some orders.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shuffled {
    /// The mean.
    pub(crate) expected: Vec<f64>,
    /// Standard deviation of ln of the index of one order.
    pub(crate) scatter: Vec<f64>,
}

impl Shuffled {
    /// Orders that are drawn.
    const ORDERS: usize = 6;

    /// The index of the gaps between `starts`, which are in order, in other orders.
    pub(crate) fn of(starts: &[Instant], counted: &StartCounts, rng: &mut Stream) -> Shuffled {
        let mut gaps: Vec<Duration> = starts.windows(2).map(|pair| pair[1].since(pair[0])).collect();
        let runs: Vec<Vec<f64>> = (0..Shuffled::ORDERS)
            .map(|_| {
                shuffle(&mut gaps, rng);
                let mut at = Instant::ZERO;
                let begun = gaps.iter().map(|gap| {
                    at += *gap;
                    at
                });
                counted.with(begun).indices()
            })
            .collect();
        let at = |scale: usize| -> Vec<f64> { runs.iter().map(|run| run[scale].max(1e-9)).collect() };
        let logs = |scale: usize| -> Vec<f64> { at(scale).iter().map(|index| index.ln()).collect() };
        let scales = 0..counted.ladder.len();
        Shuffled {
            expected: scales.clone().map(|scale| mean(&at(scale))).collect(),
            scatter: scales.map(|scale| variance(&logs(scale)).sqrt()).collect(),
        }
    }
}

/// Any order of `values`, each as likely (Fisher and Yates; Knuth 1997, volume 2, algorithm 3.4.2P).
pub(crate) fn shuffle<T>(values: &mut [T], rng: &mut Stream) {
    for last in (1..values.len()).rev() {
        values.swap(last, rng.random_range(0..=last));
    }
}
