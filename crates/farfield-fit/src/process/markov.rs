//! A Markov-modulated Poisson process of two states, by its index of dispersion and its third moment.
//!
//! With states left at r₁ and r₂, shares p₁ and p₂, rates Δ apart and mean m, and s = r₁ + r₂, the index is
//! 1 + A (1 − (1 − e^(−st)) / (st)) with A = 2 p₁p₂Δ² / (m s) (Fischer and Meier-Hellstern 1993, "The
//! Markov-modulated Poisson process (MMPP) cookbook"; Heffes and Lucantoni 1986). So the index by scale gives
//! A and s. How rare the busy state is, it does not say; the skewness of counts does, as in Heffes and
//! Lucantoni's match of moments: here by the third cumulant of the intensity over a time in which the state
//! hardly changes.

use super::curve::{Misfit, shown};
use super::scales::StartCounts;
use crate::series::hurst::minimum::minimum_to;
use crate::series::{joined, mean, variance};
use serde::{Deserialize, Serialize};

/// A Poisson process whose rate jumps between two values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TwoRates {
    /// The lower and the higher rate, a second.
    pub rates: [f64; 2],
    /// Times a second that each of the two is left.
    pub left: [f64; 2],
}

/// The index of dispersion of such a process.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Saturating {
    /// The index over long times, less 1.
    excess: f64,
    /// r₁ + r₂.
    forgetting: f64,
}

impl Saturating {
    fn index(&self, t: f64) -> f64 {
        let x = self.forgetting * t;
        // 1 − (1 − e^(−x)) / x without cancelling where x is small.
        let part = if x < 1e-4 { x / 2.0 - x * x / 6.0 } else { 1.0 + (-x).exp_m1() / x };
        1.0 + self.excess * part
    }

    fn shown<'a>(&'a self, counted: &'a StartCounts) -> impl Iterator<Item = f64> + 'a {
        let whole = self.index(counted.covers_s());
        let covers_s = counted.covers_s();
        counted.scales_s().into_iter().map(move |over_s| shown(self.index(over_s), whole, covers_s / over_s))
    }
}

impl TwoRates {
    /// The process whose dispersion is nearest to that of the counts, and its index at each scale as a log of
    /// that length shows it.
    pub(crate) fn fit(counted: &StartCounts, misfit: &Misfit<'_>) -> (TwoRates, Vec<f64>) {
        let curve = nearest(counted, misfit);
        let found = TwoRates::of(curve, counted);
        let expected = curve.shown(counted).collect();
        (found, expected)
    }

    fn of(curve: Saturating, counted: &StartCounts) -> TwoRates {
        let (m, s) = (counted.rate(), curve.forgetting);
        let spread = curve.excess * m * s / 2.0;
        let rare = rare_share(curve, counted).clamp(0.01, 0.99);
        // The lower rate must not be below zero.
        let high_share = rare.min(m * m / (m * m + spread));
        let (up, down) = ((1.0 - high_share) / high_share, high_share / (1.0 - high_share));
        let rates = [(m - (spread * down).sqrt()).max(0.0), m + (spread * up).sqrt()];
        TwoRates { rates, left: [s * high_share, s * (1.0 - high_share)] }
    }

    /// The share of time at the higher rate.
    pub fn high_share(&self) -> f64 {
        self.left[0] / (self.left[0] + self.left[1])
    }
}

/// The curve of the least misfit: over a grid of s, and then between its points.
fn nearest(counted: &StartCounts, misfit: &Misfit<'_>) -> Saturating {
    const STEPS: u32 = 40;
    let (slowest, fastest) = ((0.2 / counted.covers_s()).ln(), (10.0 / counted.slot.as_secs_f64()).ln());
    let step = (fastest - slowest) / f64::from(STEPS);
    let best = |ln_forgetting: f64| {
        let curve = |ln_excess: f64| Saturating { excess: ln_excess.exp(), forgetting: ln_forgetting.exp() };
        let ln_excess = minimum_to(1e-3, -7.0, 25.0, |at| misfit.square(curve(at).shown(counted)));
        let curve = curve(ln_excess);
        (misfit.square(curve.shown(counted)), curve)
    };
    let at = |step_number: u32| slowest + f64::from(step_number) * step;
    let least =
        (0..=STEPS).min_by(|a, b| best(at(*a)).0.total_cmp(&best(at(*b)).0)).expect("the grid has points");
    let ln_forgetting = minimum_to(1e-2, at(least) - step, at(least) + step, |at| best(at).0);
    best(ln_forgetting).1
}

/// The share of the higher rate by the skewness γ of the intensity: γ² = (1 − 2p)² / p (1 − p).
///
/// The third cumulant of the intensity over t is κ₃(N) − 3 κ₂(N) + 2 κ₁(N), that of N being a Poisson number
/// given the intensity. For three instants in order, the two-state process has the third moment
/// μ₃ e^(−s (t₃ − t₁)), which integrates to 6 μ₃ ∫₀ᵗ (t − τ) τ e^(−sτ) dτ.
fn rare_share(curve: Saturating, counted: &StartCounts) -> f64 {
    let s = curve.forgetting;
    // A time in which the state hardly changes, and yet much is counted.
    let near = |over_s: f64| (s * over_s / 0.5).ln().abs();
    let scales = counted.ladder.iter().zip(counted.scales_s());
    let Some((slots, over_s)) = scales.min_by(|a, b| near(a.1).total_cmp(&near(b.1))) else { return 0.5 };
    let counts = joined(&counted.series, *slots);
    let (mean, second) = (mean(&counts), variance(&counts));
    let third = counts.iter().map(|count| (count - mean).powi(3)).sum::<f64>() / counts.len() as f64;
    let intensity = third - 3.0 * second + 2.0 * mean;
    let x = s * over_s;
    let integral = |of: &dyn Fn(f64) -> f64| farfield_traffic::distribution::integrated(of, 0.0, 1.0);
    let squared = 2.0 * integral(&|u| (1.0 - u) * (-x * u).exp());
    let cubed = 6.0 * integral(&|u| (1.0 - u) * u * (-x * u).exp());
    let spread = (second - mean) / squared;
    if spread <= 0.0 {
        return 0.5;
    }
    let skewness = intensity / cubed / spread.powf(1.5);
    let square = skewness * skewness;
    0.5 * (1.0 - skewness.signum() * (square / (4.0 + square)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_begins_like_a_line_and_ends_at_its_excess() {
        let curve = Saturating { excess: 40.0, forgetting: 0.1 };
        assert!((curve.index(1e-3) - 1.0 - 40.0 * 0.1 * 1e-3 / 2.0).abs() < 1e-6);
        assert!((curve.index(1e7) - 41.0).abs() < 1e-3);
        // Both forms meet where one takes over.
        let at = |x: f64| Saturating { excess: 1.0, forgetting: 1.0 }.index(x) - 1.0;
        assert!((at(0.999_99e-4) / at(1.000_01e-4) - 0.999_98).abs() < 1e-6);
    }
}
