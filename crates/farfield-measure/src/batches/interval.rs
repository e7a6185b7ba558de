//! 95 % intervals from batches of time.
//!
//! **A percentile.** The number of times up to a bound, of all n, is a ratio of two sums over batches. Its
//! variance follows from the batches' residuals, (times up to the bound) − p·(times), whose sum has the
//! variance that their correlations give it: that of p is D·p(1 − p)/n, where D is 1 for
//! independent requests (the design effect of Kish 1965). The bound is the end of the bin nearest to the
//! percentile. p lies within t·√(D·p(1 − p)/n) of the share of times that the true percentile has below it,
//! with t of Student's distribution, and the times at these two ranks enclose it (Woodruff 1952, "Confidence
//! intervals for medians and other position measures", Journal of the American Statistical Association 47).
//! Where an end lies beyond all ranks, it is that of the same interval on the scale of the log odds.
//!
//! **A mean** has the residuals (sum of times) − mean·(times), and its interval is taken on the scale of its
//! logarithm, since estimates of a mean in a queue are skewed. **A rate** has the counts of the batches. **A
//! share** of failures is binomial over n/D requests (Korn and Graubard 1998, "Confidence intervals for
//! proportions with small expected number of positive counts estimated from survey data", Survey Methodology
//! 24); one without a failure counts its requests as independent.
//!
//! **What is refused.** An estimate of a variance from too short a run is too low just where the run missed
//! the rare long queue, so an interval cannot say by its own width that it is too short. The correlation of
//! neighbouring batches can, with respect to the median: as many independent requests as n/D, by this
//! correlation, must lie beyond the percentile as `BEYOND_MIN`, and a mean needs `MEAN_MIN`. What a
//! longer run would have is taken to grow with its length. Where sessions arrive, a run of few session
//! lengths is refused by these: no band of the spectrum, however narrow, shows what varies more slowly than
//! the run is long. A rate is refused where its spectrum rises to zero as that of self-similar arrivals does:
//! their mean is uncertain in a way that no part of a run shows.

use super::BatchSpan;
use super::times::TimeBatches;
use crate::beta;
use crate::quantile::Quantile;
use crate::spectrum::{self, HALF_WIDTH, VALUES_MIN};
use farfield_base::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The quantile of the normal distribution at 97.5 %.
const Z: f64 = 1.959_963_985;
/// Independent requests that must lie beyond a percentile, on the side where there are fewer.
pub const BEYOND_MIN: f64 = 20.0;
/// Independent requests that a mean needs.
pub const MEAN_MIN: f64 = 400.0;
/// Events that a rate needs.
pub const EVENTS_MIN: u64 = 20;

/// Why a number has no interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NoIntervalReason {
    /// There are too few requests, even if they were independent.
    TooFew,
    /// There would be enough requests if they were independent, and they are not.
    TooCorrelated,
    /// The run is shorter than 50 sessions last, which arrive by themselves.
    TooFewSessions,
    /// The measured part is shorter than two milliseconds.
    TooShort,
    /// No batches are kept of it.
    NotKept,
    /// The run has not ended: intervals are estimated at its end.
    NotEnded,
}

impl NoIntervalReason {
    /// The reason in words: "too few requests".
    pub fn words(self) -> &'static str {
        match self {
            NoIntervalReason::TooFew => "too few requests",
            NoIntervalReason::TooCorrelated => "requests too correlated",
            NoIntervalReason::TooFewSessions => "run short beside its sessions",
            NoIntervalReason::TooShort => "measured part too short",
            NoIntervalReason::NotKept => "not estimated",
            NoIntervalReason::NotEnded => "run not ended",
        }
    }
}

/// The reason why a number has no interval, and what it would take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoInterval {
    /// Why.
    pub reason: NoIntervalReason,
    /// About how long a measured part would need to be for an interval, to two digits; null if that is not
    /// known.
    pub needs_ns: Option<u64>,
}

impl NoInterval {
    /// A reason without a length that would mend it.
    pub const fn because(reason: NoIntervalReason) -> NoInterval {
        NoInterval { reason, needs_ns: None }
    }

    /// Reason for `count` requests, worth `worth` independent ones, where `least` such are needed.
    fn beside(count: f64, worth: f64, least: f64, lasted: Duration) -> NoInterval {
        let reason = if count < least { NoIntervalReason::TooFew } else { NoIntervalReason::TooCorrelated };
        let needs_ns = (worth > 0.0).then(|| two_digits_up(lasted.as_ns() as f64 * least / worth));
        NoInterval { reason, needs_ns }
    }

    /// Reason for a run that must last `needs_ns` for its sessions.
    pub(super) fn beside_sessions(needs_ns: u64) -> NoInterval {
        NoInterval {
            reason: NoIntervalReason::TooFewSessions,
            needs_ns: Some(two_digits_up(needs_ns as f64)),
        }
    }
}

/// A number rounded up to two digits.
fn two_digits_up(number: f64) -> u64 {
    let unit = 10_f64.powf(number.max(1.0).log10().floor() - 1.0);
    ((number / unit).ceil() * unit).round() as u64
}

/// A series of one number a batch, whose mean was taken off.
pub(super) struct ResidualSeries {
    residuals: Vec<f64>,
    span: BatchSpan,
}

impl ResidualSeries {
    /// Residuals of the counts of events.
    pub fn of_counts(counts: &[f64], span: BatchSpan) -> Result<ResidualSeries, NoInterval> {
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        ResidualSeries::of(counts.iter().map(|count| count - mean).collect(), span)
    }

    /// Residuals of the ratio of two sums over batches.
    fn of_ratio(above: &[f64], below: &[f64], span: BatchSpan) -> Result<ResidualSeries, NoInterval> {
        let sum: f64 = below.iter().sum();
        let ratio = if sum > 0.0 { above.iter().sum::<f64>() / sum } else { 0.0 };
        ResidualSeries::of(
            above.iter().zip(below).map(|(above, below)| above - ratio * below).collect(),
            span,
        )
    }

    fn of(residuals: Vec<f64>, span: BatchSpan) -> Result<ResidualSeries, NoInterval> {
        if residuals.len() < VALUES_MIN {
            return Err(NoInterval::because(NoIntervalReason::TooShort));
        }
        Ok(ResidualSeries { residuals, span })
    }

    /// The variance of the sum over the measured part, by the spectrum at zero.
    fn variance(&self) -> f64 {
        spectrum::variance_per_value(&self.residuals).unwrap_or(0.0) * self.span.lasted_batches
    }

    /// The variance if the series were autoregressive of first order: less exact, and far steadier.
    fn variance_by_neighbours(&self) -> f64 {
        let squares: f64 = self.residuals.iter().map(|residual| residual * residual).sum();
        if squares == 0.0 {
            return 0.0;
        }
        let products: f64 = self.residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
        let correlation = (products / squares).clamp(0.0, 0.999);
        let per_batch = squares / self.residuals.len() as f64 * (1.0 + correlation) / (1.0 - correlation);
        per_batch * self.span.lasted_batches
    }

    /// The interval of the number of events in the measured part, of which there were `events`.
    pub fn count_interval(&self, events: u64) -> Result<[f64; 2], NoInterval> {
        let events_found = events as f64;
        if events < EVENTS_MIN {
            let least = EVENTS_MIN as f64;
            return Err(NoInterval::beside(events_found, events_found, least, self.span.lasted));
        }
        if spectrum::rises_to_zero(&self.residuals) {
            return Err(NoInterval::because(NoIntervalReason::TooCorrelated));
        }
        let half_width = HALF_WIDTH * self.variance().sqrt();
        Ok([(events_found - half_width).max(0.0), events_found + half_width])
    }
}

/// The intervals of one kind of time.
pub struct TimeIntervals<'a> {
    times: &'a TimeBatches,
    span: BatchSpan,
    counts: Vec<f64>,
    /// The number of times up to the end of each bin.
    cumulated: Vec<u64>,
    /// Number of times.
    count: u64,
    /// As many independent times have the same variance of the median, by the correlation of neighbours.
    worth: f64,
}

impl<'a> TimeIntervals<'a> {
    pub(super) fn new(times: &'a TimeBatches, span: BatchSpan) -> Result<TimeIntervals<'a>, NoInterval> {
        let cumulated = times.cumulated();
        let count = cumulated.last().copied().unwrap_or(0);
        let counts = times.counts(span.whole);
        let mut intervals = TimeIntervals { times, span, counts, cumulated, count, worth: count as f64 };
        if let Some((series, share)) = intervals.at(Quantile::P50)? {
            let variance = series.variance_by_neighbours();
            let independent = count as f64 * share * (1.0 - share);
            // Times that vary less than independent ones are worth no more than they are.
            intervals.worth = count as f64 * (independent / variance.max(independent)).min(1.0);
        }
        Ok(intervals)
    }

    /// The ranks of the times that enclose the true percentile.
    pub fn ranks(&self, quantile: Quantile) -> Result<[u64; 2], NoInterval> {
        let (p, n) = (quantile.as_f64(), self.count as f64);
        let beyond = p.min(1.0 - p);
        if beyond <= 0.0 {
            return Err(NoInterval::because(NoIntervalReason::TooFew));
        }
        if self.worth * beyond < BEYOND_MIN {
            let (count, worth) = (n * beyond, self.worth * beyond);
            return Err(NoInterval::beside(count, worth, BEYOND_MIN, self.span.lasted));
        }
        // Where all times lie in one bin, they enclose the percentile by 0.3 %.
        let Some((series, share)) = self.at(quantile)? else { return Ok([1, self.count]) };
        let design_effect = series.variance() / (n * share * (1.0 - share));
        let half_width = HALF_WIDTH * (design_effect * p * (1.0 - p) / n).sqrt();
        let odds = (half_width / (p * (1.0 - p))).exp();
        let at_odds = |odds: f64| p * odds / (1.0 - p + p * odds);
        let low = ((p - half_width) * n).floor();
        let low = if low >= 1.0 { low } else { (at_odds(1.0 / odds) * n).floor().max(1.0) };
        let high = ((p + half_width) * n).ceil();
        let high = if high <= n { high } else { (at_odds(odds) * n).ceil().min(n) };
        Ok([low as u64, high as u64])
    }

    /// The ends of the interval of the mean, as factors of the mean.
    pub fn mean_factors(&self) -> Result<[f64; 2], NoInterval> {
        if self.worth < MEAN_MIN {
            return Err(NoInterval::beside(self.count as f64, self.worth, MEAN_MIN, self.span.lasted));
        }
        let sum: f64 = self.times.sums(self.span.whole).iter().sum();
        let per_time = sum / self.counts.iter().sum::<f64>();
        let mean_sum = per_time * self.count as f64;
        let factor = if mean_sum > 0.0 {
            (HALF_WIDTH * self.mean_series()?.variance().sqrt() / mean_sum).exp()
        } else {
            1.0
        };
        Ok([1.0 / factor, factor])
    }

    /// The residuals at the end of a bin nearest to the percentile, and the share of times up to there; none
    /// if all times lie in one bin.
    fn at(&self, quantile: Quantile) -> Result<Option<(ResidualSeries, f64)>, NoInterval> {
        if self.span.whole < VALUES_MIN {
            return Err(NoInterval::because(NoIntervalReason::TooShort));
        }
        let Some(rank) = quantile.rank(self.count) else {
            return Err(NoInterval::because(NoIntervalReason::TooFew));
        };
        if self.cumulated.len() < 2 {
            return Ok(None);
        }
        let bin = self.cumulated.partition_point(|count| *count < rank);
        let share = |bins: usize| match bins {
            0 => 0.0,
            _ => self.cumulated[bins - 1] as f64 / self.count as f64,
        };
        let distance = |bins: &usize| (share(*bins) - quantile.as_f64()).abs();
        let nearest = if distance(&bin) < distance(&(bin + 1)) { bin } else { bin + 1 };
        let bins = nearest.clamp(1, self.cumulated.len() - 1);
        let up_to = self.times.counts_below(bins, self.span.whole);
        Ok(Some((ResidualSeries::of_ratio(&up_to, &self.counts, self.span)?, share(bins))))
    }

    fn mean_series(&self) -> Result<ResidualSeries, NoInterval> {
        ResidualSeries::of_ratio(&self.times.sums(self.span.whole), &self.counts, self.span)
    }
}

/// The interval of a share: `failed` and `due` by batch, `failures` of `requests` in all.
pub(super) fn share(
    failed: &[f64],
    due: &[f64],
    failures: u64,
    requests: u64,
    span: BatchSpan,
) -> Result<[f64; 2], NoInterval> {
    if requests == 0 {
        return Err(NoInterval::because(NoIntervalReason::TooFew));
    }
    let (n, p) = (requests as f64, failures as f64 / requests as f64);
    let varies = failures > 0 && failures < requests;
    let worth = if varies {
        let variance = ResidualSeries::of_ratio(failed, due, span)?.variance();
        let design_effect = variance / (n * p * (1.0 - p));
        // Few failures say little about their correlation: at least that of independent ones.
        let few = n * p.min(1.0 - p) / design_effect.max(1.0) < BEYOND_MIN;
        let design_effect = if few { design_effect.max(1.0) } else { design_effect };
        n / design_effect * (Z / HALF_WIDTH).powi(2)
    } else {
        n
    };
    let (failed, succeeded) = (worth * p, worth * (1.0 - p));
    let low = if failed > 0.0 { beta::quantile(failed, succeeded + 1.0, 0.025) } else { 0.0 };
    let high = if succeeded > 0.0 { beta::quantile(failed + 1.0, succeeded, 0.975) } else { 1.0 };
    Ok([low, high])
}
