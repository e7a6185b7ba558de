//! When response times have settled after the start of a run, and whether they go on to its end.
//!
//! The whole load, warm-up and measured part, is divided into 128 to 256 stretches of equal time (fewer than
//! 128 in the first milliseconds), each with the number of successful requests that were due in it and the
//! sum of their response times. From these follow
//!
//! - the **ends** to be left out, by the marginal standard error rule (MSER: White 1997, "An effective
//!   truncation heuristic for bias reduction in simulation output", Simulation 69; White, Cobb and Spratt
//!   2000 for batches): the stretches that are kept are those by which the mean's standard error, as if they
//!   were independent, is smallest. Batches are of equal time here and not of five observations, stretches
//!   weigh as many requests as they have, and the end is sought as the beginning is, as Pilot's two ends are
//!   (Li, Gong, Yang and Brandt 2016, "Pilot: a framework that understands how to do performance benchmarks
//!   the right way"). A beginning that would be longer than half of the load has not settled: there is none.
//! - the mean response times of both **halves** of the measured part, whose ratio is about 1 where nothing
//!   drifts.
//!
//! The rule takes stretches for independent, and cuts a little off any series that is not: a single run's
//! answer varies, and what is left out *of the same run* makes its mean too low, as long queues at either end
//! are cut off. So nothing of a run is left out by its own answer; the runs that come after it get the
//! warm-up. What is [set aside](crate::set_aside) is in these numbers.

use crate::batches::{add, add_all, halve};
use farfield_base::{Duration, Instant, Merge, Sample, Window};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most stretches, a power of two.
const STRETCHES_MAX: usize = 256;
/// The shortest stretch is two to this power nanoseconds.
const SHORTEST_BITS: u32 = 14;
/// Stretches with a request that an answer takes at least.
const STRETCHES_MIN: usize = 16;
/// The part of the load that its beginning is sought in is one by this.
const BEGINNING: usize = 2;
/// And its end.
const END: usize = 4;

/// Response times by the time at which requests were due, over the whole load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settling {
    /// A stretch is two to this power nanoseconds.
    length_bits: u32,
    counts: Vec<u32>,
    sums_ns: Vec<u64>,
}

/// Where response times settle and end, and what they do between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SettlingSummary {
    /// From the start of the load until response times had settled, by the marginal standard error rule; null
    /// if they had not by its middle.
    pub settled_ns: Option<u64>,
    /// Before the end of the load, the stretch at whose beginning they began to differ again; 0 if they did
    /// not.
    pub end_ns: u64,
    /// The mean response time of the successful requests that were due in the first half of the measured
    /// part; null if there were none.
    pub first_half_ns: Option<u64>,
    /// And in the second half.
    pub second_half_ns: Option<u64>,
}

impl SettlingSummary {
    /// The mean of the second half over that of the first.
    pub fn halves_ratio(&self) -> Option<f64> {
        let (first, second) = (self.first_half_ns?, self.second_half_ns?);
        (first > 0).then(|| second as f64 / first as f64)
    }
}

impl Default for Settling {
    fn default() -> Settling {
        Settling { length_bits: SHORTEST_BITS, counts: Vec::new(), sums_ns: Vec::new() }
    }
}

impl Settling {
    /// False if a stretch is longer than time.
    pub(crate) fn is_sound(&self) -> bool {
        self.length_bits < u64::BITS
            && self.counts.len() <= STRETCHES_MAX
            && self.counts.len() == self.sums_ns.len()
    }

    /// Counts a request, if it was successful.
    pub fn record(&mut self, sample: &Sample) {
        if let Some(time) = sample.success_time() {
            self.add(sample.due, time);
        }
    }

    /// Counts a response time of a request that was due at this instant.
    pub fn add(&mut self, due: Instant, took: Duration) {
        while due.as_ns() >> self.length_bits >= STRETCHES_MAX as u64 {
            self.double();
        }
        let stretch = (due.as_ns() >> self.length_bits) as usize;
        add(&mut self.counts, stretch, 1);
        if self.sums_ns.len() <= stretch {
            self.sums_ns.resize(stretch + 1, 0);
        }
        self.sums_ns[stretch] = self.sums_ns[stretch].saturating_add(took.as_ns());
    }

    /// The summary of a load that ended with `window`, or at `until`; none of too few requests.
    pub fn summary(&self, window: Window, until: Instant) -> Option<SettlingSummary> {
        let end = window.measure_to.min(until);
        let whole = usize::try_from(end.as_ns() >> self.length_bits).unwrap_or(usize::MAX).min(STRETCHES_MAX);
        let stretches: Vec<(f64, f64)> = (0..whole)
            .map(|at| {
                let sum = self.sums_ns.get(at).map_or(0.0, |sum| *sum as f64);
                (self.counts.get(at).map_or(0.0, |count| f64::from(*count)), sum)
            })
            .collect();
        if stretches.iter().filter(|(count, _)| *count > 0.0).count() < STRETCHES_MIN {
            return None;
        }
        let (begin, kept_to) = ends(&stretches);
        let length_ns = 1_u64 << self.length_bits;
        let settled = begin < whole / BEGINNING;
        let half = |part: &[(f64, f64)]| {
            let (count, sum) = part.iter().fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
            (count > 0.0).then(|| (sum / count).round() as u64)
        };
        let from = (window.measure_from.as_ns() >> self.length_bits) as usize;
        let measured = &stretches[from.min(whole)..];
        let (first, second) = measured.split_at(measured.len() / 2);
        Some(SettlingSummary {
            settled_ns: settled.then_some(begin as u64 * length_ns),
            end_ns: (whole - kept_to) as u64 * length_ns,
            first_half_ns: half(first),
            second_half_ns: half(second),
        })
    }

    #[cold]
    fn double(&mut self) {
        self.length_bits += 1;
        halve(&mut self.counts, u32::saturating_add);
        halve(&mut self.sums_ns, u64::saturating_add);
    }
}

/// Adds what `other` counted.
impl Merge for Settling {
    fn merge(&mut self, other: &Settling) {
        let mut other = other.clone();
        while self.length_bits < other.length_bits {
            self.double();
        }
        while other.length_bits < self.length_bits {
            other.double();
        }
        add_all(&mut self.counts, &other.counts);
        if self.sums_ns.len() < other.sums_ns.len() {
            self.sums_ns.resize(other.sums_ns.len(), 0);
        }
        self.sums_ns.iter_mut().zip(&other.sums_ns).for_each(|(sum, ns)| *sum = sum.saturating_add(*ns));
    }
}

/// The first stretch that is kept, and the one after the last: of all beginnings in the first half that with
/// the smallest squared standard error of the mean, Σ w(y − ȳ)² / (Σ w)², and then of all ends in the last
/// quarter. Stretches have a count w and a sum, of which y is the ratio.
pub fn ends(stretches: &[(f64, f64)]) -> (usize, usize) {
    let whole = stretches.len();
    // Sums over the stretches before each: of counts, of sums, and of squares of means by their counts.
    let mut before = Vec::with_capacity(whole + 1);
    let mut so_far = [0.0; 3];
    before.push(so_far);
    for (count, sum) in stretches {
        let squares = if *count > 0.0 { sum * sum / count } else { 0.0 };
        so_far = [so_far[0] + count, so_far[1] + sum, so_far[2] + squares];
        before.push(so_far);
    }
    let error = |begin: usize, end: usize| {
        let [count, sum, squares]: [f64; 3] = std::array::from_fn(|at| before[end][at] - before[begin][at]);
        // One stretch has no spread, and says nothing.
        if count > 0.0 { (squares - sum * sum / count).max(0.0) / (count * count) } else { f64::INFINITY }
    };
    // The remainder that rounding leaves of stretches that are all alike.
    let rounding = 1e-12 * so_far[2] / so_far[0].max(1.0).powi(2);
    let mut begin = (0, error(0, whole) - rounding);
    for at in 1..=whole / BEGINNING {
        if error(at, whole) < begin.1 {
            begin = (at, error(at, whole));
        }
    }
    let mut end = (whole, error(begin.0, whole) - rounding);
    for at in (whole - whole / END..whole).rev() {
        if error(begin.0, at) < end.1 {
            end = (at, error(begin.0, at));
        }
    }
    (begin.0, end.0)
}

#[cfg(test)]
mod tests;
