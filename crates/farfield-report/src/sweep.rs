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
