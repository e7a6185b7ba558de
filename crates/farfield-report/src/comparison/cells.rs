//! A row of a comparison as words, the same in text, Markdown and HTML.

use super::metric::Metric;
use super::{Change, MetricComparison};
use crate::figures::{percent, rate, time};
use farfield_experiment::sweep::Scale;

/// A row as words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cells {
    pub metric: String,
    pub base: String,
    pub other: String,
    pub change: String,
    /// The ends of the interval.
    pub interval: String,
    pub found: &'static str,
}

impl Cells {
    pub fn of(row: &MetricComparison) -> Cells {
        let metric = row.metric.metric;
        let number =
            |number: Option<f64>| number.map_or_else(|| "–".to_owned(), |number| value(metric, number));
        let (change, interval, found) = match row.change {
            Some(change) => (by(metric, change.by), ends(metric, change), found(metric, change)),
            None => ("–".to_owned(), "–".to_owned(), "unknown"),
        };
        Cells {
            metric: row.metric.to_string(),
            base: number(row.base),
            other: number(row.other),
            change,
            interval,
            found,
        }
    }
}

/// A number of a metric with its unit.
pub(super) fn value(metric: Metric, number: f64) -> String {
    match metric {
        Metric::Rate => rate(number),
        Metric::Errors => percent(number),
        Metric::Time(..) => time(number.round() as u64),
    }
}

/// A change: `+5.0%`, or of shares in percentage points, `+0.50pp`. Beyond a factor of ten it is the factor.
fn by(metric: Metric, change: f64) -> String {
    match metric.scale() {
        Scale::Difference => format!("{:+.2}pp", change * 100.0),
        Scale::Ratio if change >= 9.0 => format!("×{:.0}", change + 1.0),
        Scale::Ratio => format!("{:+.1}%", change * 100.0),
    }
}

fn ends(metric: Metric, change: Change) -> String {
    format!("{} to {}", by(metric, change.low), by(metric, change.high))
}

/// The finding of the interval in words.
fn found(metric: Metric, change: Change) -> &'static str {
    let excludes_none = change.low > 0.0 || change.high < 0.0;
    let better = (change.by > 0.0) == metric.is_better_high();
    match (change.differs, excludes_none, better) {
        (true, _, true) => "better",
        (true, _, false) => "worse",
        (false, true, true) => "better?",
        (false, true, false) => "worse?",
        (false, false, _) => "not shown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::metric::Statistic;
    use farfield_measure::Timing;

    #[test]
    fn less_time_and_more_replies_are_better() {
        let mean = Metric::Time(Statistic::Mean, Timing::Response);
        let change = |by: f64, differs| Change { by, low: by - 0.01, high: by + 0.01, p_value: 0.0, differs };
        assert_eq!(found(mean, change(-0.1, true)), "better");
        assert_eq!(found(Metric::Rate, change(-0.1, true)), "worse");
        assert_eq!(found(Metric::Rate, change(0.1, false)), "better?");
        assert_eq!(found(Metric::Errors, change(0.005, false)), "not shown");
    }

    #[test]
    fn changes_have_their_units() {
        assert_eq!(by(Metric::Rate, -0.0312), "-3.1%");
        assert_eq!(by(Metric::Rate, 24.0), "×25");
        assert_eq!(by(Metric::Errors, 0.004), "+0.40pp");
        assert_eq!(value(Metric::Errors, 0.0), "0%");
    }
}
