//! A sweep for readers: as text for a terminal, as a page with charts, and as a table with a row for each
//! run.

mod claims;
pub mod column;
pub mod markdown;
pub mod monitored;
mod names;
pub mod page;
pub mod story;
pub mod table;
pub mod text;

use crate::figures;
use farfield_experiment::sweep::effects::Origin;
use farfield_experiment::sweep::{PointReport, Scale, SweepReport, Unit};

/// A number of a unit, in words.
fn in_words(unit: Unit, number: f64) -> String {
    let sign = if number < 0.0 { "-" } else { "" };
    let size = number.abs();
    let words = match unit {
        Unit::Rate => figures::rate(size),
        Unit::Share => figures::percent(size),
        Unit::Time => figures::time(size.round() as u64),
        Unit::Bytes => figures::bytes(size),
        Unit::ByteRate => figures::bytes_rate(size),
        Unit::Number => figures::three_digits(size),
    };
    format!("{sign}{words}")
}

/// A change of a metric: a ratio less 1 in per cent, of shares in percentage points, other differences in
/// their unit.
fn change_in_words((unit, scale): (Unit, Scale), change: f64) -> String {
    match (unit, scale) {
        (Unit::Share, Scale::Difference) => format!("{:+.2}pp", change * 100.0),
        (unit, Scale::Difference) if change < 0.0 => in_words(unit, change),
        (unit, Scale::Difference) => format!("+{}", in_words(unit, change)),
        _ if change.abs() >= 9.995 => format!("×{}", figures::three_digits(change + 1.0)),
        _ => format!("{:+.1}%", change * 100.0),
    }
}

/// A change and the ends of its interval, all in one form: as factors if one of them is.
fn changes_in_words(kind: (Unit, Scale), changes: [f64; 3]) -> [String; 3] {
    let are_factors = kind.1 == Scale::Ratio && changes.iter().any(|change| change.abs() >= 9.995);
    changes.map(|change| match are_factors {
        true => format!("×{}", figures::three_digits(change + 1.0)),
        false => change_in_words(kind, change),
    })
}

/// A metric at a point: its mean, and how far its interval reaches.
fn cell(report: &SweepReport, point: &PointReport, metric: &str) -> String {
    let Some(estimate) = point.estimate(metric) else { return "–".to_owned() };
    let unit = report.unit(metric);
    match (estimate.mean, estimate.interval) {
        (None, _) => "–".to_owned(),
        (Some(mean), Some(interval)) if mean != 0.0 => {
            format!("{} {}", in_words(unit, mean), figures::reach(mean, interval))
        }
        (Some(mean), _) => in_words(unit, mean),
    }
}

/// The unit and the scale of a metric.
fn kind(report: &SweepReport, metric: &str) -> (Unit, Scale) {
    (report.unit(metric), report.scale(metric))
}

/// The origin of variation, with the keys as `short` has them.
fn origin(from: &Origin, short: &names::ShortNames) -> String {
    match from {
        Origin::Factor(key) => short.key(key).to_owned(),
        Origin::Interaction(one, other) => format!("{} × {}", short.key(one), short.key(other)),
        Origin::HigherInteractions => "more of them together".to_owned(),
        Origin::Blocks => "blocks".to_owned(),
        Origin::Error => "error".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_and_its_interval_have_one_form() {
        let rate = (Unit::Rate, Scale::Ratio);
        assert_eq!(changes_in_words(rate, [17.3, 8.411, 34.6]), ["×18.3", "×9.41", "×35.6"]);
        assert_eq!(changes_in_words(rate, [3.439, -0.25, 13.3]), ["×4.44", "×0.75", "×14.3"]);
        assert_eq!(changes_in_words(rate, [3.304, 2.97, 3.667]), ["+330.4%", "+297.0%", "+366.7%"]);
        let number = (Unit::Number, Scale::Difference);
        assert_eq!(changes_in_words(number, [12.0, -1.0, 25.0]), ["+12.0", "-1.00", "+25.0"]);
    }
}
