//! A distribution drawn as its user changes it, by the share of values up to each, from a sample; and a load
//! over time, of the stages that make it.

use super::form::to_toml;
use farfield_base::random::{Purpose, Seed};
use farfield_base::{Duration, QuantityError, Rate};
use farfield_report::chart::{Axis, Chart, Mark, Series, Spacing};
use farfield_report::figures::three_digits;
use farfield_traffic::Distribution;
use farfield_traffic::distribution::{CountsSpec, TimesSpec};
use serde::Deserialize;
use serde_json::{Value, json};
use std::io;
use std::path::Path;

/// Values drawn.
const VALUES: usize = 4000;
/// Points of the line.
const POINTS: usize = 200;
/// The share that the axis ends at: a heavy tail would leave nothing of the rest.
const SHOWN_TO: f64 = 0.99;

/// The distribution of the field `key` as a chart, and its mean. An error is a sentence.
pub fn drawn(key: &str, value: Option<&Value>) -> Result<Value, String> {
    let is_count = key == "load.requests";
    let written = to_toml(value.unwrap_or(&Value::Null))?.ok_or("write a value, or choose a distribution")?;
    let said = |error: toml::de::Error| {
        farfield_scenario::in_user_words(error.message().lines().next().unwrap_or_default())
    };
    let distribution = if is_count {
        resolved(|load| {
            CountsSpec::deserialize(written.clone()).map_err(said)?.resolve(load).map_err(|e| e.to_string())
        })
    } else {
        resolved(|load| {
            TimesSpec::deserialize(written.clone()).map_err(said)?.resolve(load).map_err(|e| e.to_string())
        })
    }?;
    let unit = if is_count { "requests in a session" } else { "seconds" };
    let values = sampled(&distribution, is_count);
    let at = |share: f64| values[((share * values.len() as f64) as usize).min(values.len() - 1)];
    let shares = (0..=POINTS).map(|step| SHOWN_TO * step as f64 / POINTS as f64);
    let line = Series::new("share of values up to", Mark::Line, shares.map(|share| (at(share), share)));
    let title = format!("{key}, to its 99th percentile");
    let chart = Chart::new(title, Axis::linear(unit), Axis::linear("share"), vec![line]);
    let mean = distribution.mean();
    let mean = if mean.is_finite() { three_digits(mean) } else { "infinite".to_owned() };
    let words =
        format!("mean {mean}, median {}, p99 {} {unit}", three_digits(at(0.5)), three_digits(at(0.99)));
    Ok(json!({ "chart": chart.html(), "words": words }))
}

/// The load over time that the stages in the form's rows make, from the level `from` on, 0 if it is empty. An
/// error is a sentence.
pub fn course(from: &str, rows: Option<&Value>) -> Result<Value, String> {
    let rows = rows.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let text = |row: &Value, key: &str| -> String {
        row.get(key).and_then(Value::as_str).unwrap_or_default().trim().to_owned()
    };
    let mut at = Duration::ZERO;
    let mut points = vec![(0.0, if from.is_empty() { 0.0 } else { level(from)? })];
    for row in rows {
        let lasts: Duration = text(row, "for").parse().map_err(|error: QuantityError| error.to_string())?;
        at = Duration::from_ns(at.as_ns().saturating_add(lasts.as_ns()));
        points.push((at.as_secs_f64(), level(&text(row, "to"))?));
    }
    if at.is_zero() {
        return Err("the stages take no time".to_owned());
    }
    let unit = match rows.iter().any(|row| text(row, "to").contains('/')) {
        true => "arrivals in a second",
        false => "users",
    };
    let most = points.iter().fold(0.0, |most: f64, (_, level)| most.max(*level));
    let y = Axis { label: unit.to_owned(), spacing: Spacing::FromZero };
    let line = Series::new(unit, Mark::Line, points);
    let chart = Chart::new("load over time", Axis::linear("seconds"), y, vec![line]);
    let count = if rows.len() == 1 { "1 stage".to_owned() } else { format!("{} stages", rows.len()) };
    let words = format!("{count} of {at} together, at most {} {unit}", three_digits(most));
    Ok(json!({ "chart": chart.html(), "words": words }))
}

/// A number of users, or a rate in a second.
fn level(text: &str) -> Result<f64, String> {
    if text.contains('/') {
        let rate: Result<Rate, QuantityError> = text.parse();
        return rate.map(Rate::as_per_second).map_err(|error| error.to_string());
    }
    let users: Result<u32, _> = text.parse();
    users.map(f64::from).map_err(|_| format!("`{text}` is no level; write users, 100, or a rate, 50/s"))
}

/// A distribution that names no file: those of others are drawn by a run alone.
fn resolved(
    resolve: impl FnOnce(&mut farfield_traffic::Load<'_>) -> Result<Distribution, String>,
) -> Result<Distribution, String> {
    resolve(&mut |_: &Path| Err(io::Error::other("a distribution of a file is not drawn here")))
}

/// Values in ascending order, as users get them: times are not below zero, and counts are whole.
fn sampled(distribution: &Distribution, is_count: bool) -> Vec<f64> {
    let mut rng = Seed(1).stream(Purpose::User, 0);
    let mut values: Vec<f64> = (0..VALUES)
        .map(|_| match is_count {
            true => distribution.sample_count(&mut rng) as f64,
            false => distribution.sample_duration(&mut rng).as_secs_f64(),
        })
        .collect();
    values.sort_by(f64::total_cmp);
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_of_stages_are_drawn_and_mistakes_named() {
        let stage = |lasts: &str, to: &str| json!({ "for": lasts, "to": to, "name": "" });
        let rows = json!([stage("1m", "100"), stage("0s", "400"), stage("2m", "0")]);
        let found = course("", Some(&rows)).expect("a chart");
        assert!(found["chart"].as_str().is_some_and(|svg| svg.starts_with("<svg")), "{found}");
        assert_eq!(found["words"], "3 stages of 3m together, at most 400 users");
        let found = course("", Some(&json!([stage("1s", "50/s")]))).expect("a chart");
        assert_eq!(found["words"], "1 stage of 1s together, at most 50.0 arrivals in a second");
        for (rows, part) in [
            (json!([stage("soon", "1")]), "soon"),
            (json!([stage("1s", "many")]), "`many` is no level"),
            (json!([stage("0s", "1")]), "no time"),
            (json!(null), "no time"),
        ] {
            let sentence = course("", Some(&rows)).expect_err("a mistake");
            assert!(sentence.contains(part), "{rows}: {sentence}");
        }
    }

    #[test]
    fn distributions_are_drawn_and_mistakes_named() {
        let exponential = json!({ "distribution": "exponential", "mean": "2s" });
        let found = drawn("load.think", Some(&exponential)).expect("a chart");
        assert!(found["chart"].as_str().is_some_and(|svg| svg.starts_with("<svg")), "{found}");
        assert!(found["words"].as_str().is_some_and(|words| words.starts_with("mean 2.00, ")), "{found}");
        let heavy = json!({ "distribution": "pareto", "shape": "0.9", "scale": "1" });
        let found = drawn("load.think", Some(&heavy)).expect("a chart");
        assert!(found["words"].as_str().is_some_and(|words| words.starts_with("mean infinite")), "{found}");
        for (value, part) in [
            (json!({ "distribution": "exponential", "mean": "-2" }), "mean"),
            (json!({ "distribution": "expotential" }), "expotential"),
            (json!("soon"), "soon"),
            (json!({ "distribution": "empirical", "file": "/etc/passwd" }), "not drawn here"),
            (json!(""), "write a value"),
        ] {
            let sentence = drawn("load.think", Some(&value)).expect_err("a mistake");
            assert!(sentence.contains(part), "{value}: {sentence}");
        }
    }
}
