//! A sweep for readers: as text for a terminal, as a page with charts, and as a table with a row for each
//! run.

mod claims;
mod names;
pub mod page;
pub mod table;
pub mod text;

use crate::figures;
use farfield_experiment::sweep::PointReport;
use farfield_experiment::sweep::effects::Origin;

/// A number of a metric, in words.
fn in_words(metric: &str, number: f64) -> String {
    match metric {
        "rate" => figures::rate(number),
        "errors" => figures::percent(number),
        _ => figures::time(number.round() as u64),
    }
}

/// A change of a metric: of shares in percentage points.
fn change_in_words(metric: &str, change: f64) -> String {
    match metric {
        "errors" => format!("{:+.2}pp", change * 100.0),
        _ if change.abs() >= 9.995 => format!("×{}", figures::three_digits(change + 1.0)),
        _ => format!("{:+.1}%", change * 100.0),
    }
}

/// A metric at a point: its mean, and how far its interval reaches.
fn cell(point: &PointReport, metric: &str) -> String {
    let Some(estimate) = point.estimate(metric) else { return "–".to_owned() };
    match (estimate.mean, estimate.interval) {
        (None, _) => "–".to_owned(),
        (Some(mean), Some(interval)) if mean != 0.0 => {
            format!("{} {}", in_words(metric, mean), figures::reach(mean, interval))
        }
        (Some(mean), _) => in_words(metric, mean),
    }
}

/// What variation comes from, with the keys as `short` has them.
fn origin(from: &Origin, short: &names::ShortNames) -> String {
    match from {
        Origin::Factor(key) => short.key(key).to_owned(),
        Origin::Interaction(one, other) => format!("{} × {}", short.key(one), short.key(other)),
        Origin::HigherInteractions => "more of them together".to_owned(),
        Origin::Blocks => "blocks".to_owned(),
        Origin::Error => "error".to_owned(),
    }
}
