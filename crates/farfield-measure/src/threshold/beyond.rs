//! The share of times beyond the limit of a threshold on a percentile.
//!
//! `p99<200ms` says that at most one time in a hundred is longer than 200 ms. A percentile of few requests,
//! or of many that came in few bursts, is on average too short: what makes it long is rare, and mostly not
//! there. The share beyond the limit is a mean, and right on average in any run.

use super::{Metric, Statistic, Threshold};
use crate::fold::Fold;
use crate::histogram::Histogram;
use crate::kaplan_meier::Estimate;
use crate::timing::Timing;
use farfield_base::Duration;

impl Threshold {
    /// The share of times that may lie beyond the limit: of a p99, one in a hundred.
    pub fn allowed_share(&self) -> Option<f64> {
        let Metric::Time(Statistic::Quantile(quantile), _) = self.metric else { return None };
        Some(1.0 - quantile.as_f64()).filter(|_| self.is_upper_limit())
    }

    /// True if it is on a percentile of the response times of all requests.
    pub fn is_of_all_responses(&self) -> bool {
        matches!(self.metric, Metric::Time(Statistic::Quantile(_), Timing::Response)) && self.scope.is_none()
    }

    /// Requests without which its metric says nothing: a hundred for a p99, of which one is beyond it.
    pub fn requests_needed(&self) -> u64 {
        let Metric::Time(Statistic::Quantile(quantile), timing) = self.metric else { return 1 };
        let beyond = 1.0 - quantile.as_f64();
        if timing != Timing::EventGap && beyond > 0.0 { (1.0 / beyond).round() as u64 } else { 1 }
    }

    /// Share of times beyond the limit of a percentile that is limited from above; requests that timed out or
    /// had not ended count by their ages, as in the percentile.
    pub(super) fn beyond_share(&self, fold: &Fold) -> Option<f64> {
        let Metric::Time(Statistic::Quantile(_), timing) = self.metric else { return None };
        let limit = Duration::from_ns(self.limit as u64);
        if !self.is_upper_limit() {
            return None;
        }
        match (self.part(fold), self.scope()) {
            (Some(part), _) => beyond(part.times.of(timing), part.estimate(timing).as_ref(), limit),
            (None, Some(name)) if timing == Timing::Response => {
                let state = fold.states().state(name)?;
                beyond(&state.response, state.estimate().as_ref(), limit)
            }
            (None, _) => None,
        }
    }
}

/// By the estimate, where some times are not known to their end.
fn beyond(times: &Histogram, estimate: Option<&Estimate>, limit: Duration) -> Option<f64> {
    if let Some(estimate) = estimate {
        return Some(estimate.beyond(limit));
    }
    let within = times.counts_up_to(&[limit], &|| {}).first().copied()?;
    (!times.is_empty()).then(|| (times.count() - within) as f64 / times.count() as f64)
}
