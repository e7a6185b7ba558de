//! Conditions on changes, such as `p99 +5%`: what a change may not exceed, for a program that decides by the
//! exit code.

use super::metric::MetricError;
use super::scoped::ScopedMetric;
use super::{Against, Change};
use farfield_experiment::sweep::Scale;
use serde::{Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A metric, and the change from the base beyond which a comparison fails.
#[derive(Debug, Clone, PartialEq)]
pub struct FailIf {
    text: String,
    metric: ScopedMetric,
    /// A ratio less 1, or a difference of shares; its sign is the direction that is watched.
    limit: f64,
}

/// Outcome of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judgement {
    /// The whole interval of the change lies within the limit.
    Kept,
    /// The whole interval lies beyond it.
    Exceeded,
    /// The interval contains the limit, or nothing is known of the change.
    Undecided,
}

/// Why a condition could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FailIfError {
    /// The metric is none.
    #[error(transparent)]
    Metric(#[from] MetricError),
    /// The change is no share with a sign.
    #[error(
        "`{0}` has no change; write a metric, a sign and a share, such as `p99 +5%` or `rate -3%`; of errors it is in \
         percentage points"
    )]
    Change(String),
}

impl FailIf {
    /// The metric that it is of.
    pub fn metric(&self) -> &ScopedMetric {
        &self.metric
    }

    /// Judges the change of its metric.
    pub fn judge(&self, against: &Against) -> Judgement {
        let row = against.rows.iter().find(|row| row.metric == self.metric);
        row.and_then(|row| row.change).map_or(Judgement::Undecided, |change| self.judge_change(change))
    }

    fn judge_change(&self, change: Change) -> Judgement {
        // Turned so that more is worse.
        let (low, high, limit) = match self.limit.is_sign_negative() {
            true => (-change.high, -change.low, -self.limit),
            false => (change.low, change.high, self.limit),
        };
        if low > limit {
            Judgement::Exceeded
        } else if high <= limit {
            Judgement::Kept
        } else {
            Judgement::Undecided
        }
    }
}

impl FromStr for FailIf {
    type Err = FailIfError;

    fn from_str(text: &str) -> Result<FailIf, FailIfError> {
        let wrong = || FailIfError::Change(text.to_owned());
        // Names of parts may have signs.
        let from = text.rfind('}').unwrap_or(0);
        let at = from + text[from..].find(['+', '-']).ok_or_else(wrong)?;
        let (metric, change) = text.split_at(at);
        let metric: ScopedMetric = metric.trim().parse()?;
        let percent: f64 =
            change.strip_suffix('%').and_then(|change| change.trim().parse().ok()).ok_or_else(wrong)?;
        let limit = percent / 100.0;
        // A ratio cannot fall by all or more.
        let is_possible = limit.is_finite() && (metric.metric.scale() == Scale::Difference || limit > -1.0);
        is_possible.then(|| FailIf { text: text.to_owned(), metric, limit }).ok_or_else(wrong)
    }
}

impl fmt::Display for FailIf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for FailIf {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(condition: &str, low: f64, high: f64) -> Judgement {
        let change = Change { by: f64::midpoint(low, high), low, high, p_value: 0.5, differs: false };
        condition.parse::<FailIf>().expect(condition).judge_change(change)
    }

    #[test]
    fn the_whole_interval_decides() {
        for (low, high, judgement) in [
            (0.06, 0.10, Judgement::Exceeded),
            (0.04, 0.06, Judgement::Undecided),
            (-0.5, 0.05, Judgement::Kept),
        ] {
            assert_eq!(judged("p99 +5%", low, high), judgement, "{low} to {high}");
            assert_eq!(judged("rate -5%", -high, -low), judgement, "{low} to {high}, mirrored");
        }
        // No growth at all, and a fall that is none.
        assert_eq!(judged("mean +0%", 0.01, 0.02), Judgement::Exceeded);
        assert_eq!(judged("rate -0%", -0.02, -0.01), Judgement::Exceeded);
    }

    #[test]
    fn conditions_are_refused_with_what_there_is() {
        for text in
            ["p99", "p99 5%", "p99 +5", "p99 +x%", "rate -100%", "rate +inf%", "p99 +NaN%", "p98 +5%", "+5%"]
        {
            let error = text.parse::<FailIf>().expect_err(text).to_string();
            assert!(error.contains("p99"), "{error}");
        }
        let of_part: FailIf = "p99{a-b+c} +5%".parse().expect("a part");
        assert_eq!((of_part.metric.to_string().as_str(), of_part.limit), ("p99{a-b+c}", 0.05));
        assert_eq!("errors -100%".parse::<FailIf>().map(|condition| condition.limit), Ok(-1.0));
    }
}
