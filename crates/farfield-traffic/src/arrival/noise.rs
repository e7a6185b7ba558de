//! A rate shaped from fractional Gaussian noise: each slot of time has a rate of its own, and the rates
//! depend on each other over all time scales up to the length of a block.
//!
//! A block is drawn whole, by the exact method of [`fgn`](super::fgn), so its covariance is exact over the
//! block's length; blocks are independent of each other. Make the block as long as the run: a run that goes
//! on after it keeps the mean, the marginal distribution and the covariance inside a block, and loses the
//! covariance across blocks.

use super::course::ArrivalCourse;
use super::fgn::FractionalGaussianNoise;
use super::modulated::{Environment, RateStep};
use super::spec::{SegmentSpec, above_zero};
use super::{ArrivalError, ArrivalProcess, Spacing};
use farfield_base::random::Stream;
use farfield_base::{Duration, Instant, Rate};
use serde::{Deserialize, Serialize};
use std::f64::consts::{SQRT_2, TAU};
use std::sync::Arc;

/// Map of a standard normal number to a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Marginal {
    /// exp(σz − σ²/2) times the mean, σ² = ln(1 + deviation²): never negative, with peaks far above the mean.
    #[default]
    Lognormal,
    /// 1 + deviation · z times the mean, zero where that is negative, and scaled so that the mean stays.
    Normal,
}

/// The keys of `process = "fractional-noise"`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NoiseSpec {
    rate: Rate,
    hurst: f64,
    #[serde(default = "half")]
    deviation: f64,
    #[serde(default)]
    marginal: Marginal,
    #[serde(default = "tenth_of_a_second")]
    slot: Duration,
    #[serde(rename = "for", default = "an_hour")]
    length: Duration,
    #[serde(default)]
    spacing: Spacing,
    /// Segments of a schedule, again and again, by which the rate is multiplied: only their shape counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    course: Option<Vec<SegmentSpec>>,
}

fn half() -> f64 {
    0.5
}

fn tenth_of_a_second() -> Duration {
    Duration::from_ms(100)
}

fn an_hour() -> Duration {
    Duration::from_secs(3600)
}

impl NoiseSpec {
    /// With 2²⁰ slots, a process takes 16 MiB, its arrivals 8 MiB each, and 64 MiB while a block is drawn.
    const SLOTS_MAX: u64 = 1 << 20;

    pub(super) fn process(&self) -> Result<ArrivalProcess, ArrivalError> {
        let rate = above_zero(self.rate)?.as_per_second();
        let NoiseSpec { hurst, deviation, marginal, slot, length, spacing, .. } = *self;
        if !(hurst > 0.0 && hurst < 1.0) {
            return Err(ArrivalError::Hurst(hurst));
        }
        if !(deviation > 0.0 && deviation <= 10.0) {
            return Err(ArrivalError::Deviation(deviation));
        }
        let slots = if slot.is_zero() { u64::MAX } else { length.as_ns().div_ceil(slot.as_ns()) };
        if !(2..=NoiseSpec::SLOTS_MAX).contains(&slots) {
            return Err(ArrivalError::Slots(slots));
        }
        let noise = FractionalGaussianNoise::new(hurst, slots as usize).ok_or(ArrivalError::Hurst(hurst))?;
        let noise = NoiseRate { rate, deviation, marginal, slot, noise: Arc::new(noise) };
        let course = ArrivalCourse::of(self.course.as_deref())?;
        Ok(Environment::Noise(noise).process_along(spacing, course))
    }
}

/// Rates from fractional Gaussian noise.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NoiseRate {
    rate: f64,
    deviation: f64,
    marginal: Marginal,
    slot: Duration,
    noise: Arc<FractionalGaussianNoise>,
}

impl NoiseRate {
    pub(super) fn mean_rate(&self) -> f64 {
        self.rate
    }

    /// A function of a Gaussian series with a part linear in it, as both marginals have, keeps the series'
    /// H above ½ (Taqqu 1975, Hermite rank 1); below ½, it does not in general.
    pub(super) fn hurst(&self) -> f64 {
        self.noise.hurst().max(0.5)
    }

    pub(super) fn start(&self, stream: Stream) -> Blocks {
        let mut blocks =
            Blocks { model: self.clone(), stream, block: Vec::new(), next: 0, at: Instant::ZERO };
        blocks.draw();
        blocks
    }

    /// The rate that the standard normal `z` stands for.
    fn rate(&self, z: f64) -> f64 {
        let d = self.deviation;
        match self.marginal {
            Marginal::Lognormal => {
                let variance = (d * d).ln_1p();
                self.rate * (variance.sqrt() * z - variance / 2.0).exp()
            }
            Marginal::Normal => {
                // E max(0, 1 + dz) = Φ(1/d) + d φ(1/d), by which the mean would else be too high.
                let density = (-0.5 / (d * d)).exp() / TAU.sqrt();
                let clipped = 0.5 * libm::erfc(-1.0 / (d * SQRT_2)) + d * density;
                self.rate * (1.0 + d * z).max(0.0) / clipped
            }
        }
    }
}

/// Slot after slot.
#[derive(Debug, Clone)]
pub(super) struct Blocks {
    model: NoiseRate,
    stream: Stream,
    /// The rates of this block's slots.
    block: Vec<f64>,
    next: usize,
    at: Instant,
}

impl Blocks {
    fn draw(&mut self) {
        self.block = self.model.noise.sample(&mut self.stream);
        self.block.iter_mut().for_each(|value| *value = self.model.rate(*value));
        self.next = 0;
    }

    pub(super) fn step(&mut self) -> RateStep {
        if self.next == self.block.len() {
            self.draw();
        }
        let rate = self.block[self.next];
        self.next += 1;
        self.at += self.model.slot;
        RateStep { until: self.at, rate }
    }
}
