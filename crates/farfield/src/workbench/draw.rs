//! A distribution drawn as its user changes it: the share of values up to each, from a sample.

use super::form::to_toml;
use farfield_base::random::{Purpose, Seed};
use farfield_report::chart::{Axis, Chart, Mark, Series};
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
