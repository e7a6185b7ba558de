//! Units of the numbers that runs are read for, and what is known of each such number.

use super::scale::Scale;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Nanoseconds.
    Time,
    /// A second.
    Rate,
    /// A share, 1 being all.
    Share,
    /// Bytes.
    Bytes,
    /// Bytes a second.
    ByteRate,
    /// A number without a unit.
    Number,
}

/// A number that each run is read for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ColumnInfo {
    /// The name, by which claims and charts ask for it.
    pub name: String,
    /// The head of its column in tables, and its name on axes.
    pub head: String,
    /// The expression that it is computed by.
    pub expression: String,
    /// The unit.
    pub unit: Unit,
    /// The scale on which its numbers are compared and averaged.
    pub scale: Scale,
}

impl Unit {
    /// The unit of a metric or of a number of the summary, by its name.
    pub fn of_name(name: &str) -> Unit {
        // The name of a part of the run may be any.
        let name = name.split('{').next().unwrap_or(name);
        let mut parts = name.rsplit('.');
        // Of a number of monitors the name says last whether it is the mean or the highest.
        let last = if name.starts_with("monitor.") { parts.nth(1) } else { parts.next() }.unwrap_or(name);
        let is_metric = !name.contains('.') || name.contains('(') || name.starts_with("p99.9");
        match last {
            _ if name == "rate" => Unit::Rate,
            _ if name == "errors" => Unit::Share,
            _ if is_metric => Unit::Time,
            last if last.ends_with("bytes_per_s") => Unit::ByteRate,
            last if last.ends_with("_per_s") => Unit::Rate,
            last if last.ends_with("_ns") => Unit::Time,
            last if last.ends_with("share") => Unit::Share,
            last if last.ends_with("bytes") => Unit::Bytes,
            _ => Unit::Number,
        }
    }

    /// The scale of numbers of this unit, unless a column says otherwise: shares may be 0, and have no ratio
    /// then.
    pub fn scale(self) -> Scale {
        match self {
            Unit::Share => Scale::Difference,
            _ => Scale::Ratio,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_their_units() {
        for (name, unit) in [
            ("rate", Unit::Rate),
            ("errors", Unit::Share),
            ("errors{cdn.example}", Unit::Share),
            ("p99{a.b}", Unit::Time),
            ("p99.9(service)", Unit::Time),
            ("p99.99", Unit::Time),
            ("mean", Unit::Time),
            ("steady.rates.body_bytes_per_s", Unit::ByteRate),
            ("classes.modem-56k.pages.response.mean_ns", Unit::Time),
            ("steady.rates.offered_per_s", Unit::Rate),
            ("steady.error_share", Unit::Share),
            ("pages.failed", Unit::Number),
            ("monitor.server.resident_bytes.max", Unit::Bytes),
            ("monitor.server.processes.mean", Unit::Number),
        ] {
            assert_eq!(Unit::of_name(name), unit, "{name}");
        }
    }
}
