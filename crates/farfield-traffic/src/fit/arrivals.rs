//! Whether sessions arrive as a Poisson process, or at least as a renewal process: the tests of Paxson and Floyd
//! (1995, appendix A) on stretches of the log.
//!
//! Over a whole day no process is Poisson, since its rate changes. So the gaps are cut into stretches. In each, the
//! gaps are tested for the exponential law of their own mean (Anderson–Darling, D'Agostino and Stephens 1986,
//! table 4.14), and for correlation with the gap before. If the process is Poisson, 95 % of the stretches pass
//! either test.

use farfield_base::random::Stream;
use farfield_base::{Duration, Instant};
use rand::RngExt;
use serde::{Deserialize, Serialize};

/// What the stretches say.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SessionArrivals {
    /// Sessions a second, over the whole log.
    pub rate: f64,
    /// Stretches that were tested.
    pub stretches: u32,
    /// Gaps in each.
    pub gaps: usize,
    /// The share whose gaps pass for exponential at 5 %.
    pub exponential_passed: f64,
    /// The share whose gaps pass for uncorrelated at 5 %.
    pub uncorrelated_passed: f64,
    /// Both shares are what 95 % can be by chance (within 2.6 deviations): a Poisson process explains the sessions,
    /// stretch by stretch.
    pub poisson: bool,
    /// The second share is: a renewal process does.
    pub renewal: bool,
}

impl SessionArrivals {
    const GAPS: usize = 50;

    /// From the gaps between sessions, in seconds and in order. `None` with fewer than two stretches.
    pub fn of(gaps: &[f64]) -> Option<SessionArrivals> {
        let stretches: Vec<&[f64]> = gaps.chunks_exact(Self::GAPS).collect();
        let total: f64 = gaps.iter().sum();
        if stretches.len() < 2 || total <= 0.0 {
            return None;
        }
        let n = stretches.len() as f64;
        let share = |test: fn(&[f64]) -> bool| stretches.iter().filter(|gaps| test(gaps)).count() as f64 / n;
        let (exponential_passed, uncorrelated_passed) = (share(exponential), share(uncorrelated));
        let enough = |share: f64| share >= 0.95 - 2.6 * (0.95f64 * 0.05 / n).sqrt();
        let renewal = enough(uncorrelated_passed);
        Some(SessionArrivals {
            rate: gaps.len() as f64 / total,
            stretches: stretches.len() as u32,
            gaps: Self::GAPS,
            exponential_passed,
            uncorrelated_passed,
            poisson: renewal && enough(exponential_passed),
            renewal,
        })
    }
}

/// The gaps, in seconds, between `starts` in any order. Where the clock ticks in whole seconds, starts are first spread
/// evenly over their second, as those of a Poisson process are: else gaps would be zero or a second.
pub(super) fn gaps(mut starts: Vec<Instant>, whole_seconds: bool, rng: &mut Stream) -> Vec<f64> {
    if whole_seconds {
        let second = Duration::from_secs(1).as_ns();
        starts.iter_mut().for_each(|at| *at += Duration::from_ns(rng.random_range(0..second)));
    }
    starts.sort_unstable();
    starts.windows(2).map(|pair| pair[1].since(pair[0]).as_secs_f64()).collect()
}

/// Anderson and Darling's test of exponentiality with the mean estimated, at 5 %.
fn exponential(gaps: &[f64]) -> bool {
    let n = gaps.len() as f64;
    let mean = gaps.iter().sum::<f64>() / n;
    let mut sorted = gaps.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let sum: f64 = (0..sorted.len())
        .map(|at| {
            let below = -(-sorted[at] / mean).exp_m1();
            (2.0 * at as f64 + 1.0) * (below.max(1e-300).ln() - sorted[sorted.len() - 1 - at] / mean)
        })
        .sum();
    (-n - sum / n) * (1.0 + 0.6 / n) < 1.321
}

/// Whether the correlation of each gap with the next is within 1.96 / √n of none.
fn uncorrelated(gaps: &[f64]) -> bool {
    let n = gaps.len() as f64;
    let mean = gaps.iter().sum::<f64>() / n;
    let variance: f64 = gaps.iter().map(|gap| (gap - mean).powi(2)).sum();
    let lagged: f64 = gaps.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    variance > 0.0 && (lagged / variance + 1.0 / n).abs() < 1.96 / n.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::{Exponential, Law, Pareto};
    use farfield_base::random::{Purpose, Seed};

    fn verdict(law: &dyn Law, whole_seconds: bool) -> SessionArrivals {
        let mut rng = Seed(4).stream(Purpose::Arrivals, 0);
        let mut at = 0.0;
        let starts = (0..20_000).map(|_| {
            at += law.sample(&mut rng);
            let at = if whole_seconds { f64::floor(at) } else { at };
            Instant::ZERO + Duration::from_secs_f64(at)
        });
        let starts: Vec<Instant> = starts.collect();
        let mut rng = Seed(4).stream(Purpose::Arrivals, 1);
        SessionArrivals::of(&gaps(starts, whole_seconds, &mut rng)).expect("many stretches")
    }

    #[test]
    fn poisson_passes_and_other_renewals_are_renewals() {
        let poisson = Exponential::with_mean(2.5).expect("good");
        for whole_seconds in [false, true] {
            let found = verdict(&poisson, whole_seconds);
            assert!(found.poisson && (found.rate - 0.4).abs() < 0.02, "{found:?}");
        }
        let found = verdict(&Pareto::new(1.5, 1.0).expect("good"), false);
        assert!(!found.poisson && found.exponential_passed < 0.5 && found.renewal, "{found:?}");
    }
}
