//! Tests of session arrivals as a Poisson process, or at least a renewal process: those of Paxson and
//! Floyd (1995, appendix A) on stretches of the log.
//!
//! Over a whole day no process is Poisson, since its rate changes. So the gaps are cut into stretches. In
//! each, the gaps are tested for the exponential distribution of their own mean (Anderson–Darling, D'Agostino
//! and Stephens 1986, table 4.14), and for correlation with the gap before. If the process is Poisson, 95 %
//! of the stretches pass either test.
//!
//! Stretches are short, and each is divided by its own mean: a rate that moves over minutes is none of what
//! these tests see. That is decided by the [dispersion](super::process) of counts.
//!
//! With thousands of stretches no log passes: then significance only shows that the log is long. So beside it
//! stands the size of the effect, which does not grow with the log: how far the distribution of gaps, each
//! over the mean of its stretch, is from that of a Poisson process in the same stretches, and how strongly
//! neighbours are correlated. Where both are negligible, a Poisson process is adequate, whatever the test
//! decides.

use farfield_base::random::Stream;
use farfield_base::{Duration, Instant};
use rand::RngExt;
use serde::{Deserialize, Serialize};

/// Results of the stretches.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SessionArrivals {
    /// Sessions a second, over the whole log.
    pub rate: f64,
    /// Stretches that were tested.
    pub stretches: u32,
    /// Gaps in each.
    pub gaps: usize,
    /// Share of stretches whose gaps pass as exponential at 5 %.
    pub exponential_passed: f64,
    /// Share of stretches whose gaps pass as uncorrelated at 5 %.
    pub uncorrelated_passed: f64,
    /// True if both shares are what 95 % can be at random (within 2.6 deviations): a Poisson process explains
    /// the sessions, stretch by stretch.
    pub poisson: bool,
    /// The second share is at that level: a renewal process explains them.
    pub renewal: bool,
    /// The largest distance between the distribution of gaps, each over its stretch's mean, and that of a
    /// Poisson process.
    #[serde(default)]
    pub distance: f64,
    /// The mean correlation of a gap with the next, less what short stretches make of none.
    #[serde(default)]
    pub correlation: f64,
}

impl SessionArrivals {
    const GAPS: usize = 50;
    /// A distance of distribution functions that changes no load: one gap in twenty is another.
    pub const DISTANCE_NIL: f64 = 0.05;
    /// A correlation that explains a hundredth of the variance.
    pub const CORRELATION_NIL: f64 = 0.1;

    /// True if a Poisson process is adequate within a stretch: the test does not reject it, or the effect is
    /// negligible.
    pub fn is_poisson_enough(&self) -> bool {
        self.poisson
            || (self.is_renewal_enough() && self.distance < Self::DISTANCE_NIL && self.stretches >= 20)
    }

    /// True if a renewal process explains the gaps within a stretch, at the same level.
    pub fn is_renewal_enough(&self) -> bool {
        self.renewal || (self.correlation.abs() < Self::CORRELATION_NIL && self.stretches >= 20)
    }

    /// Tests the gaps between sessions, in seconds and in order. `None` with fewer than two stretches.
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
            distance: distance(&stretches),
            correlation: stretches.iter().map(|gaps| correlation(gaps)).sum::<f64>() / n,
        })
    }
}

/// Kolmogorov's distance between all gaps, each over the mean of its stretch of n, and what a Poisson
/// process has there: P(gap > x means) = (1 − x / n)^(n − 1).
fn distance(stretches: &[&[f64]]) -> f64 {
    let mut scaled: Vec<f64> = Vec::new();
    for gaps in stretches {
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        scaled.extend(gaps.iter().map(|gap| gap / mean.max(1e-300)));
    }
    scaled.sort_unstable_by(f64::total_cmp);
    let (total, n) = (scaled.len() as f64, SessionArrivals::GAPS as f64);
    let off = |(at, x): (usize, &f64)| {
        let below = 1.0 - (1.0 - x / n).max(0.0).powf(n - 1.0);
        (below - at as f64 / total).max((at + 1) as f64 / total - below)
    };
    scaled.iter().enumerate().map(off).fold(0.0, f64::max)
}

/// The gaps, in seconds, between `starts` in any order, which are sorted: as the log has them.
pub(crate) fn logged_gaps(starts: &mut [Instant]) -> Vec<f64> {
    starts.sort_unstable();
    starts.windows(2).map(|pair| pair[1].since(pair[0]).as_secs_f64()).collect()
}

/// `starts` with each put anywhere in its tick, in order: as those of a Poisson process lie, where a clock
/// of whole seconds would make gaps of zero or a second. For tests of a Poisson process and for operational
/// time; distributions of gaps are fitted to those that the log has.
pub(crate) fn spread(mut starts: Vec<Instant>, tick: Duration, rng: &mut Stream) -> Vec<Instant> {
    let tick = tick.as_ns().max(1);
    starts.iter_mut().for_each(|at| *at += Duration::from_ns(rng.random_range(0..tick)));
    starts.sort_unstable();
    starts
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

/// True if the correlation of each gap with the next is within 1.96 / √n of none. Gaps that are all alike
/// have none.
fn uncorrelated(gaps: &[f64]) -> bool {
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let differ = gaps.iter().any(|gap| (gap - mean).abs() > 1e-9 * mean);
    !differ || correlation(gaps).abs() < 1.96 / (gaps.len() as f64).sqrt()
}

/// The correlation of each gap with the next, less the −1/n that independent ones have around their own
/// mean; 0 if all are alike.
fn correlation(gaps: &[f64]) -> f64 {
    let n = gaps.len() as f64;
    let mean = gaps.iter().sum::<f64>() / n;
    let variance: f64 = gaps.iter().map(|gap| (gap - mean).powi(2)).sum();
    let lagged: f64 = gaps.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    if variance > 0.0 { lagged / variance + 1.0 / n } else { 0.0 }
}

/// The gaps between `starts` in operational time: where the rate of sessions, as `course` has it over equal
/// parts of the log and linearly between their begins as `diurnal` runs through it, is one throughout.
/// `starts` are in order.
pub(crate) fn operational_gaps(
    starts: &[Instant],
    begins: Instant,
    covers: Duration,
    course: &[u64],
) -> Vec<f64> {
    let parts = course.len() as f64;
    let (total, length_s) = (course.iter().sum::<u64>() as f64, covers.as_secs_f64() / parts);
    let rate = |at: usize| course[at % course.len()] as f64 / total * parts;
    let mut before = vec![0.0];
    for at in 0..course.len() {
        before.push(before[at] + length_s * (rate(at) + rate(at + 1)) / 2.0);
    }
    let operational = |at: &Instant| {
        let place = at.since(begins).as_secs_f64() / length_s;
        let part = (place as usize).min(course.len() - 1);
        let within = place - part as f64;
        before[part] + length_s * within * (rate(part) + (rate(part + 1) - rate(part)) * within / 2.0)
    };
    let times: Vec<f64> = starts.iter().map(operational).collect();
    times.windows(2).map(|pair| (pair[1] - pair[0]).max(0.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_base::random::{Purpose, Seed};
    use farfield_traffic::distribution::{Exponential, Pareto, Univariate};

    fn verdict(distribution: &dyn Univariate, whole_seconds: bool) -> SessionArrivals {
        let mut rng = Seed(4).stream(Purpose::Arrivals, 0);
        let mut at = 0.0;
        let starts = (0..20_000).map(|_| {
            at += distribution.sample(&mut rng);
            let at = if whole_seconds { f64::floor(at) } else { at };
            Instant::ZERO + Duration::from_secs_f64(at)
        });
        let starts: Vec<Instant> = starts.collect();
        let mut rng = Seed(4).stream(Purpose::Arrivals, 1);
        let tick = Duration::from_ns(if whole_seconds { 1_000_000_000 } else { 1 });
        SessionArrivals::of(&logged_gaps(&mut spread(starts, tick, &mut rng))).expect("many stretches")
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
        assert!(!found.is_poisson_enough() && found.distance > 0.15, "{found:?}");
    }

    #[test]
    fn gaps_that_are_all_alike_are_a_renewal_process() {
        let found = SessionArrivals::of(&[5.0; 400]).expect("many stretches");
        assert!(found.renewal && found.is_renewal_enough() && !found.is_poisson_enough(), "{found:?}");
    }

    /// Gaps of a Weibull distribution that are indistinguishable from exponential ones: in a long log the
    /// test rejects them even so, and the effect is negligible.
    #[test]
    fn a_long_log_is_judged_by_the_size_of_the_effect() {
        let near = farfield_traffic::distribution::Weibull::new(0.93, 2.5).expect("good");
        let mut rng = Seed(4).stream(Purpose::Arrivals, 0);
        let gaps: Vec<f64> = (0..200_000).map(|_| near.sample(&mut rng)).collect();
        let found = SessionArrivals::of(&gaps).expect("many stretches");
        assert!(!found.poisson && found.is_poisson_enough(), "{found:?}");
        assert!((0.01..SessionArrivals::DISTANCE_NIL).contains(&found.distance), "{found:?}");
        let exponential = Exponential::with_mean(2.5).expect("good");
        let gaps: Vec<f64> = (0..200_000).map(|_| exponential.sample(&mut rng)).collect();
        let found = SessionArrivals::of(&gaps).expect("many stretches");
        // Kolmogorov's bound at a thousandth, for so many values.
        assert!(found.distance < 1.95 / 200_000.0f64.sqrt() && found.correlation.abs() < 0.01, "{found:?}");
    }

    /// Arrivals at a rate that rises threefold are evenly spread in operational time.
    #[test]
    fn operational_time_takes_the_course_away() {
        let secs = |s: f64| Instant::ZERO + Duration::from_secs_f64(s);
        let course = [100u64, 300];
        // The rate goes from 0.5 to 1.5 in the first half, and back in the second: its integral at t of 100
        // s is known.
        let starts: Vec<Instant> = (0..=100u32).map(f64::from).map(secs).collect();
        let gaps = operational_gaps(&starts, Instant::ZERO, Duration::from_secs(100), &course);
        let integral = |t: f64| {
            if t < 50.0 {
                0.5 * t + t * t / 100.0
            } else {
                50.0 + 1.5 * (t - 50.0) - (t - 50.0).powi(2) / 100.0
            }
        };
        for (at, gap) in gaps.iter().enumerate() {
            let wanted = integral(at as f64 + 1.0) - integral(at as f64);
            assert!((gap - wanted).abs() < 1e-9, "{at}: {gap} and {wanted}");
        }
    }
}
