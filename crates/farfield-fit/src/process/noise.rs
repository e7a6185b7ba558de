//! A Poisson process whose rate is shaped from fractional Gaussian noise, by its index of dispersion.
//!
//! The rate is constant in slots, lognormal, and its correlation over a time τ is (exp(σ² γ(τ)) − 1) of
//! mean², γ being that of the noise (as `fractional-noise` of a scenario makes it). With m sessions a second
//! the index over t is 1 + 2 m / t ∫₀ᵗ (t − τ) (exp(σ² γ(τ)) − 1) dτ: the noise of small numbers is the 1 in
//! front, so that it draws no estimate of H towards ½. Slot, H and deviation are those with the least misfit;
//! estimating H from the variance of counts over time is the variance–time method (Taqqu, Teverovsky and
//! Willinger 1995, "Estimators for long-range dependence", section 3.1), with the 1 taken off and with what
//! the log's own mean hides.
//!
//! The error of such an estimate is found by simulation: as many counts at the log's rate, of noise with the
//! estimated parameters, are fitted again (the parametric bootstrap of Efron and Tibshirani 1993, "An
//! Introduction to the Bootstrap", section 6.5).

use super::curve::{Misfit, shown};
use super::scales::{ScaleDispersion, StartCounts};
use crate::series::hurst::minimum::minimum_to;
use crate::series::{mean, variance};
use farfield_base::Duration;
use farfield_base::random::Stream;
use farfield_traffic::arrival::FractionalGaussianNoise;
use farfield_traffic::distribution::GAUSS_4;
use rand_distr::{Distribution as _, Poisson};
use serde::{Deserialize, Serialize};

/// A rate shaped from fractional Gaussian noise.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FractionalRate {
    /// The Hurst parameter.
    pub hurst: f64,
    /// Interval of it, from simulations of this process at the log's rate and length.
    pub interval: (f64, f64),
    /// Error of the estimate in the mean of these simulations.
    pub bias: f64,
    /// The rate's standard deviation over its mean.
    pub deviation: f64,
    /// Time in which the rate is constant.
    pub slot: Duration,
}

/// The correlation of the rate.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Memory {
    hurst: f64,
    deviation: f64,
    slot_s: f64,
}

impl FractionalRate {
    /// Simulations for the interval.
    const RUNS: u32 = 8;
    /// Student's quantile of 97.5 % for one less, with the mean's own error.
    const QUANTILE: f64 = 2.365 * 1.060_66;

    /// The process whose dispersion is nearest to that of the counts, and its index at each scale as a log of
    /// that length shows it.
    pub(crate) fn fit(counted: &StartCounts, misfit: &Misfit<'_>) -> (FractionalRate, Vec<f64>) {
        let base_s = counted.slot.as_secs_f64();
        let longest_s = counted.covers_s() / 100.0;
        // Half of the counts' slot stands for all that are shorter than it: they look alike.
        let slots = [0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0].map(|times| times * base_s);
        let candidates = slots.into_iter().filter(|slot_s| *slot_s <= longest_s.max(base_s));
        let fits = candidates.map(|slot_s| nearest(counted, misfit, slot_s));
        let (_, memory) = fits.min_by(|a, b| a.0.total_cmp(&b.0)).expect("the first is always tried");
        let expected = memory.shown(counted);
        let found = FractionalRate {
            hurst: memory.hurst,
            interval: (memory.hurst, memory.hurst),
            bias: 0.0,
            deviation: memory.deviation,
            slot: Duration::from_secs_f64(memory.slot_s),
        };
        (found, expected)
    }

    /// The estimate with its interval and bias: simulated with `rng`.
    pub(crate) fn simulated(
        self,
        counted: &StartCounts,
        scales: &[ScaleDispersion],
        rng: &mut Stream,
    ) -> FractionalRate {
        let drawn = self.drawn(counted);
        let again: Vec<f64> = (0..FractionalRate::RUNS)
            .map(|_| {
                let run = counted.with_series(drawn.counts(counted, rng));
                let of = |(scale, index): (&ScaleDispersion, f64)| ScaleDispersion { index, ..*scale };
                let scales: Vec<ScaleDispersion> = scales.iter().zip(run.indices()).map(of).collect();
                nearest(&run, &Misfit::plain(&scales), self.slot.as_secs_f64()).1.hurst
            })
            .collect();
        let bias = mean(&again) - self.hurst;
        let half = FractionalRate::QUANTILE * variance(&again).sqrt();
        let middle = (self.hurst - bias).clamp(0.5, 0.999);
        FractionalRate { bias, interval: ((middle - half).max(0.5), (middle + half).min(1.0)), ..self }
    }

    /// Distribution that counts of this process in the slots of `counted` are drawn from.
    fn drawn(&self, counted: &StartCounts) -> Drawn {
        let (base_s, own_s) = (counted.slot.as_secs_f64(), self.slot.as_secs_f64());
        // Averages over k slots of noise deviate by k^(H−1).
        let (step_s, deviation) = match own_s < base_s {
            true => (base_s, self.deviation * (own_s / base_s).powf(1.0 - self.hurst)),
            false => (own_s, self.deviation),
        };
        let steps = (counted.covers_s() / step_s).ceil() as usize + 1;
        let noise = FractionalGaussianNoise::new(self.hurst.min(0.999), steps);
        Drawn { noise, steps, slots_a_step: step_s / base_s, spread: (deviation * deviation).ln_1p() }
    }
}

/// A process of which counts are drawn.
struct Drawn {
    noise: Option<FractionalGaussianNoise>,
    steps: usize,
    slots_a_step: f64,
    /// Variance of ln of the rate.
    spread: f64,
}

impl Drawn {
    /// Counts in the slots of `counted`, at its rate.
    fn counts(&self, counted: &StartCounts, rng: &mut Stream) -> Vec<f64> {
        let noise = self.noise.as_ref().map_or_else(|| vec![0.0; self.steps], |noise| noise.sample(rng));
        let a_slot = mean(&counted.series);
        let count = |at: usize| {
            let z = noise[((at as f64 / self.slots_a_step) as usize).min(self.steps - 1)];
            let rate = a_slot * (self.spread.sqrt() * z - self.spread / 2.0).exp();
            Poisson::new(rate).map_or(0.0, |poisson| poisson.sample(rng))
        };
        (0..counted.series.len()).map(count).collect()
    }
}

/// H and deviation of the least misfit with slots of `slot_s`.
fn nearest(counted: &StartCounts, misfit: &Misfit<'_>, slot_s: f64) -> (f64, Memory) {
    const HURSTS: u32 = 8;
    let best = |hurst: f64| {
        let memory = |ln_deviation: f64| Memory { hurst, deviation: ln_deviation.exp(), slot_s };
        let square = |at: f64| misfit.square(memory(at).shown(counted).into_iter());
        let memory = memory(minimum_to(4e-3, 0.01f64.ln(), 8.0f64.ln(), square));
        (misfit.square(memory.shown(counted).into_iter()), memory)
    };
    let step = 0.49 / f64::from(HURSTS);
    let at = |number: u32| 0.5 + f64::from(number) * step;
    let tried: Vec<f64> = (0..=HURSTS).map(|number| best(at(number)).0).collect();
    let least = (0..=HURSTS).min_by(|a, b| tried[*a as usize].total_cmp(&tried[*b as usize])).expect("some");
    let (low, high) = ((at(least) - step).max(0.5), (at(least) + step).min(0.99));
    best(minimum_to(2e-3, low, high, |hurst| best(hurst).0))
}

impl Memory {
    /// The correlation of the rate over `tau` seconds, in units of mean²: linear within a slot, whose
    /// phase is any.
    fn correlation(&self, tau: f64) -> f64 {
        let spread = (self.deviation * self.deviation).ln_1p();
        let k = tau / self.slot_s;
        if k < 1.0 {
            let next = (spread * covariance(self.hurst, 1.0)).exp_m1();
            return (1.0 - k) * spread.exp_m1() + k * next;
        }
        (spread * covariance(self.hurst, k)).exp_m1()
    }

    /// The index at each scale, as a log of this length shows it.
    fn shown(&self, counted: &StartCounts) -> Vec<f64> {
        let covers_s = counted.covers_s();
        let mut at = counted.scales_s();
        at.push(covers_s);
        let indices = self.indices(counted.rate(), &at);
        let whole = indices[indices.len() - 1];
        let of = |(index, over_s): (&f64, &f64)| shown(*index, whole, covers_s / over_s);
        indices.iter().zip(&at).take(at.len() - 1).map(of).collect()
    }

    /// 1 + 2 m / t ∫₀ᵗ (t − τ) ρ(τ) dτ at each of `times`, which rise: by Gauss's rule on pieces that double,
    /// through the integrals of ρ and of τ ρ.
    fn indices(&self, rate: f64, times: &[f64]) -> Vec<f64> {
        let (mut from, mut plain, mut first) = (0.0f64, 0.0f64, 0.0f64);
        let of = |time: &f64| {
            while from < *time {
                let to = if from < self.slot_s { self.slot_s } else { 2.0 * from }.min(*time);
                for (node, weight) in GAUSS_4 {
                    let tau = from + (to - from) * (1.0 + node) / 2.0;
                    let part = weight / 2.0 * (to - from) * self.correlation(tau);
                    plain += part;
                    first += part * tau;
                }
                from = to;
            }
            1.0 + 2.0 * rate / time * (time * plain - first)
        };
        times.iter().map(of).collect()
    }
}

/// (|k+1|²ᴴ − 2 k²ᴴ + |k−1|²ᴴ) / 2 for k from 1 on, whole or not.
fn covariance(hurst: f64, k: f64) -> f64 {
    let h = 2.0 * hurst;
    if k > 50.0 {
        // The series of the second difference, where large powers cancel.
        return h * (h - 1.0) / 2.0 * k.powf(h - 2.0) * (1.0 + (h - 2.0) * (h - 3.0) / (12.0 * k * k));
    }
    ((k + 1.0).powf(h) - 2.0 * k.powf(h) + (k - 1.0).max(0.0).powf(h)) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum over k slots of a rate that deviates little varies as k²ᴴ, so that the index is
    /// 1 + m d² s k^(2H−1).
    #[test]
    fn the_index_is_the_power_of_the_scale() {
        for hurst in [0.6, 0.8, 0.9] {
            let memory = Memory { hurst, deviation: 0.02, slot_s: 0.5 };
            let times = [20.0f64, 200.0, 2_000.0];
            for (time, index) in times.iter().zip(memory.indices(20.0, &times)) {
                let wanted = 1.0 + 20.0 * 4e-4 * 0.5 * (time / 0.5).powf(2.0 * hurst - 1.0);
                let off = (index - 1.0) / (wanted - 1.0);
                // Windows begin anywhere in a slot, which changes the first few of them.
                assert!((off - 1.0).abs() < 0.05, "H {hurst} over {time} s: {index} and {wanted}");
            }
        }
    }

    #[test]
    fn the_covariance_is_that_of_the_noise() {
        for hurst in [0.55, 0.8, 0.95] {
            for k in [1u64, 2, 7, 49, 51, 400] {
                let wanted = FractionalGaussianNoise::autocovariance(hurst, k);
                let found = covariance(hurst, k as f64);
                assert!((found / wanted - 1.0).abs() < 1e-4, "H {hurst}, {k}: {found} and {wanted}");
            }
        }
    }
}
