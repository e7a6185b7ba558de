//! The verdict's checks that samples decide, each with what it should have measured.

use super::expected::Expected;
use super::part::PartCounts;
use super::{Recount, at};
use farfield_base::Outcome;
use serde_json::Value;

impl Recount<'_> {
    /// The verdict's own sum, and the checks that samples decide.
    pub(super) fn verdict(&self, said: &Value, steady: &PartCounts) -> Expected {
        let checks = at(said, &["verdict", "checks"]).and_then(Value::as_array);
        let checks = checks.map_or(&[][..], Vec::as_slice);
        let is_failed = |check: &Value| check.get("state").and_then(Value::as_str) == Some("failed");
        let valid = !checks.iter().any(is_failed);
        let check = |check: &Value| {
            let name = check.get("name").and_then(Value::as_str).unwrap_or_default();
            let is_skipped = at(check, &["measured"]).is_none();
            let measured = if is_skipped { Expected::Open } else { self.check(name, said, steady) };
            Expected::record([("measured", measured), ("state", state(check))])
        };
        let checks = checks.iter().map(check).collect();
        Expected::record([("valid", Expected::Flag(valid)), ("checks", Expected::List(checks))])
    }

    /// Value that the check `name` should have measured.
    fn check(&self, name: &str, said: &Value, steady: &PartCounts) -> Expected {
        let open = steady.count(Outcome::Unfinished);
        match name {
            "something-measured" => match steady.reply_events {
                Some(events) => Expected::near((steady.requests + events) as f64),
                // How many events came is in no sample.
                None if steady.has_streams() => Expected::Open,
                None => Expected::near(steady.requests as f64),
            },
            "something-succeeded" => {
                let ended = (steady.requests - open).max(1);
                Expected::near(steady.count(Outcome::Ok) as f64 / ended as f64)
            }
            "littles-law" => {
                let counted = at(said, &["generator", "in_system_mean"]).and_then(Value::as_f64);
                let lasted = (self.to - self.from) as f64;
                let sampled = self.residence().0 as f64 / lasted;
                counted.filter(|counted| counted * lasted >= 1.0).map_or(Expected::Open, |counted| {
                    Expected::Near { value: (counted - sampled).abs() / counted, by: 1e-6 }
                })
            }
            "unfinished" if open == 0 => Expected::near(0.0),
            _ => Expected::Open,
        }
    }
}

/// The state of a check by its number and its limit, unless it does not apply.
fn state(check: &Value) -> Expected {
    let word = |name: &str| check.get(name).and_then(Value::as_str).unwrap_or_default();
    let number = |name: &str| check.get(name).and_then(Value::as_f64);
    let (Some(measured), Some(limit)) = (number("measured"), number("limit")) else { return Expected::Open };
    if word("state") == "skipped" {
        return Expected::Open;
    }
    let passes = if word("what").starts_with("At least") { measured >= limit } else { measured <= limit };
    Expected::word(if passes { "passed" } else { "failed" })
}
