//! Requests in each slot of time: marginal, memory, and the Hurst parameter by five estimators with the
//! intervals that theory has.
//!
//! Requests are counted in slots of a second (longer ones, where the log covers more than 48 days), and the
//! counts joined to slots that a fifth of a request falls into at least: counts that are nearly all zero
//! carry no information.
//!
//! Counts of a real log carry the noise of small numbers and the habits of browsers over short times. The
//! estimators therefore begin at coarse scales: octave 5 for wavelets, n^0.6 frequencies for local Whittle,
//! blocks of 32 and 64 slots for the other two. Whittle's estimator for fractional noise has no such choice;
//! it is reported and not judged by.

use crate::series::hurst::{
    HurstEstimate, HurstEstimator, aggregated_variance, local_whittle, noise_whittle, rescaled_range, wavelet,
};
use crate::series::{SeriesError, autocorrelation, dispersion, mean, variance, white_noise_band};
use crate::visits::{Visit, Visits};
use farfield_base::{Duration, Instant};
use serde::{Deserialize, Serialize};

/// Statistics of the counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RequestCounts {
    /// Length of a slot.
    pub slot: Duration,
    /// Slots that the log covers, those without a request among them.
    pub slots: u64,
    /// Requests in a slot.
    pub mean: f64,
    /// The variance of their number.
    pub variance: f64,
    /// The largest number over the mean.
    pub peak_to_mean: f64,
    /// The mean in the quietest and in the busiest of twelve equal parts.
    #[serde(default)]
    pub course: [f64; 2],
    /// The mean in each hour from the log's begin, over all its days; empty for less than two days.
    #[serde(default)]
    pub daily: Vec<f64>,
    /// The standard error of such a mean, from how days differ in the same hour.
    #[serde(default)]
    pub daily_error: f64,
    /// The share of slots without a request.
    pub empty: f64,
    /// Variance over mean at one time scale after another.
    pub dispersion: Vec<ScaleIndex>,
    /// The correlation of counts 0, 1, 2, … slots apart.
    pub autocorrelation: Vec<f64>,
    /// Nineteen of twenty correlations of independent counts are within ± this.
    pub white_noise: f64,
    /// The Hurst parameter, once for each estimator that the log is long enough for.
    pub hurst: Vec<HurstReading>,
    /// True if the intervals of wavelets and local Whittle meet; none without both.
    pub agree: Option<bool>,
    /// The estimate for the log's own sessions, if they began as a Poisson process: memory that sessions
    /// make.
    #[serde(default)]
    pub sessions_alone: Option<HurstDraws>,
    /// The estimate for the log's own sessions, if they began as fractional noise with a known H.
    #[serde(default)]
    pub as_fitted: Option<HurstDraws>,
    /// Caveats of the estimates, a sentence each.
    pub caveats: Vec<String>,
}

/// The index of dispersion at one scale: 1 for a Poisson process.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ScaleIndex {
    /// Length of the slots that were counted over.
    pub over: Duration,
    /// Variance over mean.
    pub index: f64,
    /// Interval of the index of a Poisson process in nineteen of twenty logs.
    pub poisson: (f64, f64),
}

/// An estimate of the Hurst parameter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HurstReading {
    /// The estimator.
    pub method: String,
    /// The estimate.
    pub hurst: f64,
    /// The interval that holds the true value in nineteen of twenty series, where theory has one.
    pub interval: Option<(f64, f64)>,
}

/// Estimates of the Hurst parameter in simulations.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HurstDraws {
    /// H of the process in which sessions began: ½ for a Poisson process.
    pub truth: f64,
    /// The mean estimate.
    pub mean: f64,
    /// The interval for one more estimate, in nineteen of twenty.
    pub interval: (f64, f64),
}

impl HurstDraws {
    /// Mean and interval of at least 3 estimates; `None` if there are fewer.
    fn of(truth: f64, estimates: &[f64]) -> Option<HurstDraws> {
        if estimates.len() < 3 {
            return None;
        }
        let n = estimates.len() as f64;
        let mean = mean(estimates);
        // Student's quantile of 97.5 % for 2, 3, 4 and 5 degrees of freedom.
        let quantile = [4.303, 3.182, 2.776, 2.571][(estimates.len() - 3).min(3)];
        let half = quantile * (variance(estimates) * (1.0 + 1.0 / n)).sqrt();
        Some(HurstDraws { truth, mean, interval: (mean - half, mean + half) })
    }
}

/// Counts requests while a log is walked along, in any order.
#[derive(Debug)]
pub(crate) struct Counting {
    from: Instant,
    slot: Duration,
    counts: Vec<u32>,
}

impl Counting {
    /// Slots at most, of four bytes each.
    const SLOTS_MAX: u64 = 1 << 22;

    pub(crate) fn new(visits: &Visits) -> Counting {
        let seconds = visits.covers().as_ns() / 1_000_000_000 + 1;
        let each = seconds.div_ceil(Self::SLOTS_MAX).max(1);
        Counting {
            from: visits.begins(),
            slot: Duration::from_secs(each),
            counts: vec![0; seconds.div_ceil(each) as usize],
        }
    }

    pub(crate) fn take(&mut self, visit: &Visit) {
        let at = visit.at.since(self.from).as_ns() / self.slot.as_ns();
        if let Some(count) = self.counts.get_mut(at as usize) {
            *count += 1;
        }
    }

    /// The length of the reported slots, and the requests in each. The last slot, which the log's end
    /// cuts short, is left out where there are others.
    pub(crate) fn series(&self) -> (Duration, Vec<f64>) {
        let total: f64 = self.counts.iter().map(|count| f64::from(*count)).sum();
        let wanted = (0.2 * self.counts.len() as f64 / total.max(1.0)).ceil().max(1.0) as usize;
        let steps = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600];
        let joined = steps.into_iter().find(|step| *step >= wanted).unwrap_or(3_600);
        let sums = self.counts.chunks(joined).map(|slots| slots.iter().map(|c| f64::from(*c)).sum());
        let mut sums: Vec<f64> = sums.collect();
        if sums.len() > 1 {
            sums.pop();
        }
        (self.slot.times(joined as u64), sums)
    }
}

/// Frequencies of local Whittle.
fn frequencies(series: &[f64]) -> usize {
    (series.len() as f64).powf(0.6) as usize
}

/// The estimator that takes the counts for fractional Gaussian noise over all times.
const NOISE_WHITTLE: &str = "Whittle for fractional noise";

/// The least and the largest mean of twelve equal parts.
fn course(series: &[f64]) -> [f64; 2] {
    let means = series.chunks_exact(series.len().div_ceil(12)).map(mean);
    means.fold([f64::INFINITY, 0.0], |[least, most], part| [least.min(part), most.max(part)])
}

/// The mean of each of 24 equal parts of a day over the days of the series, and the standard error of one;
/// none for less than two days, or for slots that do not divide an hour.
fn daily(slot: Duration, series: &[f64]) -> Option<(Vec<f64>, f64)> {
    const HOUR: u64 = 3_600_000_000_000;
    if !HOUR.is_multiple_of(slot.as_ns()) {
        return None;
    }
    let slots = (HOUR / slot.as_ns()) as usize;
    let hours: Vec<f64> = series.chunks_exact(slots).map(mean).collect();
    if hours.len() < 48 {
        return None;
    }
    let (mut means, mut squares, mut freedom, mut days) = (Vec::new(), 0.0, 0.0, 0.0);
    for hour in 0..24 {
        let same: Vec<f64> = hours.iter().skip(hour).step_by(24).copied().collect();
        let own = mean(&same);
        squares += same.iter().map(|value| (value - own).powi(2)).sum::<f64>();
        freedom += same.len() as f64 - 1.0;
        days += same.len() as f64 / 24.0;
        means.push(own);
    }
    Some((means, (squares / freedom / days).sqrt()))
}

impl RequestCounts {
    /// Lags of the correlation.
    const LAGS: usize = 100;

    /// Statistics of the requests in each slot. `None` for fewer than 16 slots, or if all are alike.
    pub fn of(slot: Duration, series: &[f64]) -> Option<RequestCounts> {
        let lags = Self::LAGS.min(series.len() / 4);
        if series.len() < 16 {
            return None;
        }
        let autocorrelation = autocorrelation(series, lags).ok()?;
        let (mean, variance) = (mean(series), variance(series));
        let (daily, daily_error) = daily(slot, series).unwrap_or_default();
        let scales = std::iter::successors(Some(1usize), |slots| slots.checked_mul(4));
        let dispersion = scales.map_while(|slots| {
            let found = dispersion(series, slots).ok()?;
            let over = slot.times(slots as u64);
            Some(ScaleIndex { over, index: found.index, poisson: found.poisson })
        });
        let mut counts = RequestCounts {
            slot,
            slots: series.len() as u64,
            mean,
            variance,
            peak_to_mean: series.iter().copied().fold(0.0, f64::max) / mean,
            course: course(series),
            daily,
            daily_error,
            empty: series.iter().filter(|count| **count == 0.0).count() as f64 / series.len() as f64,
            dispersion: dispersion.collect(),
            autocorrelation,
            white_noise: white_noise_band(series.len()),
            hurst: Vec::new(),
            agree: None,
            sessions_alone: None,
            as_fitted: None,
            caveats: Vec::new(),
        };
        counts.estimate(series);
        Some(counts)
    }

    /// The first octave of wavelets that is used.
    const OCTAVE: u32 = 5;

    fn estimate(&mut self, series: &[f64]) {
        let tried: [(&str, Result<HurstEstimate, SeriesError>); 5] = [
            ("wavelets", wavelet(series, Self::OCTAVE)),
            ("local Whittle", local_whittle(series, frequencies(series))),
            ("aggregated variance", aggregated_variance(series, 32)),
            ("rescaled range", rescaled_range(series, 64)),
            (NOISE_WHITTLE, noise_whittle(series)),
        ];
        let mut judged = Vec::new();
        for (method, estimate) in tried {
            match estimate {
                Ok(found) => {
                    let interval = found.interval();
                    if matches!(found.method, HurstEstimator::Wavelet | HurstEstimator::LocalWhittle) {
                        judged.extend(interval);
                    }
                    self.hurst.push(HurstReading { method: method.to_owned(), hurst: found.hurst, interval });
                }
                Err(why) => self.caveats.push(format!("No estimate of H by {method}: {why}.")),
            }
        }
        if let [one, other] = judged.as_slice() {
            self.agree = Some(one.0.max(other.0) <= one.1.min(other.1));
        }
        self.doubt();
    }

    /// The estimates that have no meaning, if any: fractional noise and processes with its memory have an H
    /// between ½ and 1.
    pub fn meaningless(&self) -> Option<String> {
        let is_off = |reading: &&HurstReading| {
            let (low, high) = reading.interval.unwrap_or((reading.hurst, reading.hurst));
            reading.hurst >= 1.0 || high < 0.5 || (reading.hurst <= 0.5 && low > 0.5)
        };
        let off: Vec<String> = self
            .hurst
            .iter()
            .filter(is_off)
            .map(|reading| format!("{:.2} ({})", reading.hurst, reading.method))
            .collect();
        (!off.is_empty()).then(|| {
            format!(
                "H outside of ½ to 1 is meaningless, and here it is {}: from 1 up the rate itself moves, below ½ counts alternate. \
                 Neither is long memory.",
                off.join(", ")
            )
        })
    }

    /// The daily course, if there is one: its least and its largest hour, as requests a slot, where these
    /// are further apart than the days' own differences.
    pub fn daily_course(&self) -> Option<(f64, f64)> {
        /// The range of 24 normal means is rarely (less than once in a thousand times) so many of their
        /// errors.
        const BY_CHANCE: f64 = 6.8;
        let least = self.daily.iter().copied().fold(f64::INFINITY, f64::min);
        let most = self.daily.iter().copied().fold(0.0, f64::max);
        let is_large = most > 1.5 * least.max(1e-9) && most - least > BY_CHANCE * self.daily_error;
        (!self.daily.is_empty() && is_large).then_some((least, most))
    }

    /// Effect of the daily course on H, if there is one.
    pub fn course_in_words(&self) -> Option<String> {
        let (least, most) = self.daily_course()?;
        Some(format!(
            "The rate has a daily course, from {least:.3} requests a slot in its quietest hour to {most:.3} in its busiest: that passes \
             for long memory, and no H here says anything of users. Fit a part of a day, or generate with --course."
        ))
    }

    /// The sentences.
    fn doubt(&mut self) {
        self.caveats.extend(self.course_in_words());
        self.caveats.extend(self.meaningless());
        self.caveats.extend(self.disagreement());
        let beyond = self.hurst.iter().any(|reading| reading.hurst > 0.98);
        if beyond {
            self.caveats.push(
                "An estimate at the upper end of its range says that the rate itself moves, not how long it remembers: look at \
                 a part of the log over which it hardly does."
                    .to_owned(),
            );
        }
        if self.mean < 1.0 {
            self.caveats.push(format!(
                "{:.2} requests fall into a slot: over short times the counts are mostly the noise of small numbers, which \
                 draws Whittle's estimate for fractional noise towards ½.",
                self.mean
            ));
        }
    }

    /// Compares the estimate for one line with what the same estimator gives for simulated counts: those
    /// of the log's sessions alone, begun as a Poisson process, and those begun as a process with a known H.
    pub(crate) fn compare(&mut self, alone: &[Vec<f64>], fitted: Option<(f64, Vec<Vec<f64>>)>) {
        let Some(best) = self.best_hurst() else { return };
        let is_wavelets = best.method == "wavelets";
        let estimate = |series: &Vec<f64>| match is_wavelets {
            true => wavelet(series, Self::OCTAVE).ok(),
            false => local_whittle(series, frequencies(series)).ok(),
        };
        let all = |series: &[Vec<f64>]| -> Vec<f64> {
            series.iter().filter_map(estimate).map(|found| found.hurst).collect()
        };
        self.sessions_alone = HurstDraws::of(0.5, &all(alone));
        self.as_fitted = fitted.and_then(|(truth, series)| HurstDraws::of(truth, &all(&series)));
        let said = self.memory_in_words();
        self.caveats.extend(said);
    }

    /// True if the estimate for one line is no larger than the log's sessions make it by themselves.
    pub fn is_of_sessions(&self) -> bool {
        let pair = self.best_hurst().zip(self.sessions_alone);
        pair.is_some_and(|(reading, alone)| reading.hurst <= alone.interval.1)
    }

    /// Sentence of what simulations say of the estimate for one line: that so few requests have none, that
    /// sessions make it by themselves, or how far it is off.
    pub fn memory_in_words(&self) -> Option<String> {
        /// An interval of estimates that is wider does not distinguish ½ from 0.8.
        const WIDTH_MAX: f64 = 0.3;
        /// A bias that is next to nothing.
        const BIAS_NIL: f64 = 0.03;
        let (reading, alone) = self.best_hurst().zip(self.sessions_alone)?;
        let (low, high) = alone.interval;
        if high - low > WIDTH_MAX {
            return Some(format!(
                "So few requests have no Hurst parameter that could be estimated: for sessions that arrive as a Poisson process, with this log's clicks and think times, the same estimator gives from {low:.2} to {high:.2}, and here {:.2}.",
                reading.hurst
            ));
        }
        if self.is_of_sessions() {
            return Some(format!(
                "An H of {:.2} says nothing of long memory here: for sessions that arrive as a Poisson process, with this log's clicks and think times, the same estimator gives {:.2} ({low:.2} to {high:.2}).",
                reading.hurst, alone.mean
            ));
        }
        let fitted = self.as_fitted.filter(|fitted| (fitted.mean - fitted.truth).abs() > BIAS_NIL)?;
        Some(format!(
            "The estimate of H is off by {:+.2} at this rate: for sessions that arrive with an H of {:.2}, {:.3} requests a slot, the same estimator gives {:.2} ({:.2} to {:.2}). Sessions alone, as a Poisson process, have {:.2}.",
            fitted.mean - fitted.truth,
            fitted.truth,
            self.mean,
            fitted.mean,
            fitted.interval.0,
            fitted.interval.1,
            alone.mean
        ))
    }

    /// Disagreement of the estimates and its reason, in one sentence; `None` if they agree: if the intervals
    /// of wavelets and local Whittle meet, and the others that look at long times are no further from both
    /// than those are wide.
    pub fn disagreement(&self) -> Option<String> {
        let noise = |reading: &&HurstReading| reading.method == NOISE_WHITTLE;
        let judged = || self.hurst.iter().filter(|reading| !noise(reading));
        let least = judged().min_by(|a, b| a.hurst.total_cmp(&b.hurst))?;
        let most = judged().max_by(|a, b| a.hurst.total_cmp(&b.hurst))?;
        let intervals = || judged().filter_map(|reading| reading.interval);
        let (low, high) = intervals().fold((1.0f64, 0.0f64), |all, own| (all.0.min(own.0), all.1.max(own.1)));
        let width = intervals().map(|(low, high)| high - low).fold(0.0, f64::max);
        let apart = least.hurst < low - width || most.hurst > high + width;
        if self.agree != Some(false) && !(width > 0.0 && apart) {
            return None;
        }
        let [slow, fast] = self.course;
        let why = match fast > 1.5 * slow {
            _ if self.daily_course().is_some() => "the rate has a daily course, which passes for long memory".to_owned(),
            true => format!(
                "the rate itself moves, from {slow:.3} requests a slot in the quietest twelfth of the log to {fast:.3} in the \
                 busiest, and whatever moves slowly passes for long memory, least with wavelets"
            ),
            false => "the counts are not self-similar over the scales that were looked at: what users do within a page and a \
                      session is of another kind than what their number does"
                .to_owned(),
        };
        Some(format!(
            "The estimates of H disagree by more than their intervals, from {:.2} ({}) to {:.2} ({}): {why}.",
            least.hurst, least.method, most.hurst, most.method
        ))
    }

    /// The estimate that assumes the least, for one line: wavelets, or else local Whittle.
    pub fn best_hurst(&self) -> Option<&HurstReading> {
        let by = |method: &str| self.hurst.iter().find(|reading| reading.method == method);
        by("wavelets").or_else(|| by("local Whittle"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_base::random::{Purpose, Seed};
    use farfield_traffic::arrival::ArrivalSpec;
    use rand::RngExt;

    fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    #[test]
    fn slots_are_joined_until_something_falls_into_them() {
        let mut counting = Counting { from: Instant::ZERO, slot: secs(1), counts: vec![0; 1_000] };
        counting.counts[0] = 10;
        counting.counts[999] = 10;
        let (slot, series) = counting.series();
        // 20 requests in 1,000 s: a fifth of one in 10 s. The last slot is left out.
        assert_eq!((slot, series.len(), series[0], series[98]), (secs(10), 99, 10.0, 0.0));
    }

    #[test]
    fn independent_counts_have_no_memory() {
        let mut rng = Seed(7).stream(Purpose::Arrivals, 0);
        let series: Vec<f64> = (0..20_000).map(|_| f64::from(rng.random_range(0..7u32))).collect();
        let counts = RequestCounts::of(secs(1), &series).expect("a long series");
        assert_eq!((counts.hurst.len(), counts.agree), (5, Some(true)));
        for reading in counts.hurst.iter().filter_map(|r| Some((r, r.interval?))) {
            let (low, high) = reading.1;
            assert!(low - 0.02 < 0.5 && 0.5 < high + 0.02, "{reading:?}");
        }
        let beyond = counts.autocorrelation[1..].iter().filter(|r| r.abs() > counts.white_noise).count();
        assert!(beyond <= 12, "{beyond} of 100 lags, where 5 are expected");
        // Even numbers from 0 to 6: variance 4, mean 3.
        assert!((counts.dispersion[0].index - 4.0 / 3.0).abs() < 0.05);
    }

    /// An estimate of 0.7 at a low rate, for which the same estimator gives 0.72 where the truth is 0.8, and
    /// ½ to 0.6 for sessions alone.
    #[test]
    fn what_the_estimator_is_off_by_is_a_caveat() {
        let mut rng = Seed(7).stream(Purpose::Arrivals, 0);
        let series: Vec<f64> = (0..20_000).map(|_| f64::from(rng.random_range(0..7u32))).collect();
        let mut counts = RequestCounts::of(secs(1), &series).expect("a long series");
        counts.hurst.iter_mut().for_each(|reading| reading.hurst = 0.7);
        let draws = |truth, mean: f64| Some(HurstDraws { truth, mean, interval: (mean - 0.05, mean + 0.05) });
        (counts.sessions_alone, counts.as_fitted) = (draws(0.5, 0.55), draws(0.8, 0.72));
        let words = counts.memory_in_words().expect("a caveat");
        let begin =
            "The estimate of H is off by -0.08 at this rate: for sessions that arrive with an H of 0.80, ";
        assert!(words.starts_with(begin) && !counts.is_of_sessions(), "{words}");
        assert!(
            words.ends_with("gives 0.72 (0.67 to 0.77). Sessions alone, as a Poisson process, have 0.55.")
        );
        // Next to nothing.
        counts.as_fitted = draws(0.8, 0.78);
        assert_eq!(counts.memory_in_words(), None);
        // No more than sessions have by themselves, or no estimate at all.
        (counts.sessions_alone, counts.as_fitted) = (draws(0.5, 0.68), draws(0.8, 0.72));
        let words = counts.memory_in_words().expect("a caveat");
        assert!(words.starts_with("An H of 0.70 says nothing of long memory here: "), "{words}");
        counts.sessions_alone = Some(HurstDraws { truth: 0.5, mean: 0.6, interval: (0.4, 0.8) });
        let words = counts.memory_in_words().expect("a caveat");
        assert!(
            words.starts_with("So few requests have no Hurst parameter that could be estimated: "),
            "{words}"
        );
    }

    /// Poisson traffic at two requests a second whose rate has an H of 0.8: the noise of small numbers hides
    /// a part of it, and simulations of as few say so.
    #[test]
    fn memory_at_few_requests_has_the_caveat_of_its_bias() {
        let counts_of = |text: &str, number: u64| -> Vec<f64> {
            let spec: ArrivalSpec = serde_json::from_str(text).expect("a process");
            let process = spec.resolve(&mut |_| unreachable!("no file")).expect("no file");
            let arrivals = process.start(Seed(7).stream(Purpose::Arrivals, number));
            let until = Instant::ZERO + secs(20_000);
            crate::series::counts(arrivals.take_while(|at| *at < until), Instant::ZERO, secs(1), 20_000)
        };
        let noise = r#"{ "process": "fractional-noise", "rate": "2/s", "hurst": 0.8, "deviation": 0.4, "slot": "1s", "for": "20000s" }"#;
        let poisson = r#""2/s""#;
        let mut counts = RequestCounts::of(secs(1), &counts_of(noise, 1)).expect("a long series");
        let alone: Vec<_> = (8..14).map(|number| counts_of(poisson, number)).collect();
        let fitted = (2..8).map(|number| counts_of(noise, number)).collect();
        counts.compare(&alone, Some((0.8, fitted)));
        let said = counts.caveats.iter().any(|words| words.starts_with("The estimate of H is off by -0."));
        assert!(said, "{counts:?}");
    }

    #[test]
    fn long_memory_is_found() {
        let text = r#"{ "process": "fractional-noise", "rate": "200/s", "hurst": 0.85, "deviation": 0.4, "slot": "1s", "for": "20000s" }"#;
        let spec: ArrivalSpec = serde_json::from_str(text).expect("a process");
        let process = spec.resolve(&mut |_| unreachable!("no file")).expect("no file");
        let arrivals = process.start(Seed(3).stream(Purpose::Arrivals, 0));
        let until = Instant::ZERO + secs(20_000);
        let series =
            crate::series::counts(arrivals.take_while(|at| *at < until), Instant::ZERO, secs(1), 20_000);
        let counts = RequestCounts::of(secs(1), &series).expect("a long series");
        let reading = counts.best_hurst().expect("long enough");
        let (low, high) = reading.interval.expect("wavelets have one");
        assert!(low - 0.03 < 0.85 && 0.85 < high + 0.03, "{reading:?}");
    }

    /// Poisson counts whose rate follows a day, six days of it: no twelfth of the log is busier than
    /// another, and no user is to blame for the memory.
    #[test]
    fn a_daily_course_is_seen_before_users_are_blamed() {
        use rand_distr::{Distribution as _, Poisson};
        let mut rng = Seed(9).stream(Purpose::Arrivals, 0);
        let minute = secs(60);
        let series: Vec<f64> = (0..6 * 1_440)
            .map(|at| 20.0 * (1.0 + 0.8 * (f64::from(at) / 1_440.0 * std::f64::consts::TAU).sin()))
            .map(|rate| Poisson::new(rate).expect("above zero").sample(&mut rng))
            .collect();
        let counts = RequestCounts::of(minute, &series).expect("a long series");
        let (least, most) = counts.daily_course().expect("there is one");
        assert!((least - 4.0).abs() < 1.0 && (most - 36.0).abs() < 1.5, "{least} to {most}");
        assert!(counts.caveats.iter().any(|said| said.contains("daily course")), "{:?}", counts.caveats);
        assert!(counts.disagreement().is_none_or(|said| said.contains("daily course")), "users are blamed");
        let steady: Vec<f64> =
            (0..6 * 1_440).map(|_| Poisson::new(20.0).expect("good").sample(&mut rng)).collect();
        assert_eq!(RequestCounts::of(minute, &steady).expect("long").daily_course(), None);
        // Few requests, a month of them: some hour has none, and another several.
        for number in 0..40 {
            let mut rng = Seed(number).stream(Purpose::Arrivals, 0);
            let rare = Poisson::new(0.2).expect("good");
            let series: Vec<f64> = (0..28 * 24).map(|_| rare.sample(&mut rng)).collect();
            let counts = RequestCounts::of(secs(3_600), &series).expect("long");
            assert_eq!(counts.daily_course(), None, "{:?} ± {}", counts.daily, counts.daily_error);
        }
    }

    /// A rate that rises throughout: aggregated variance says more than 1.
    #[test]
    fn an_h_that_is_none_is_said_to_be_none() {
        let mut counts = RequestCounts::of(secs(1), &[1.0, 2.0, 0.0, 3.0].repeat(500)).expect("a series");
        let reading = |method: &str, hurst| HurstReading {
            method: method.into(),
            hurst,
            interval: Some((hurst - 0.02, hurst + 0.02)),
        };
        counts.hurst =
            vec![reading("wavelets", 1.2), reading("local Whittle", 0.51), reading("rescaled range", 0.3)];
        let said = counts.meaningless().expect("two are off");
        assert!(
            said.contains("1.20 (wavelets), 0.30 (rescaled range)") && !said.contains("local Whittle"),
            "{said}"
        );
        counts.hurst = vec![reading("wavelets", 0.49)];
        assert_eq!(counts.meaningless(), None, "½ is within its interval: no memory");
    }

    #[test]
    fn few_slots_are_no_series() {
        assert_eq!(RequestCounts::of(secs(1), &[1.0; 15]), None);
        assert_eq!(RequestCounts::of(secs(1), &[1.0; 50]), None, "all alike");
    }
}
