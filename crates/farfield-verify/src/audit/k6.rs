//! The report of k6: the summary that it prints, and the JSON of `--summary-export` or of `handleSummary`.
//!
//! `http_req_duration` goes from the begin of sending to the end of receiving; connecting and waiting for a
//! connection (`http_req_blocked`) are not in it. Its median counts as the 50th percentile.

use super::reported::{Reported, Time, Tool};
use super::text::{bytes, number, whole};
use serde_json::Value;

/// Reads the summary, or the JSON, in `text`.
pub fn read(text: &str) -> Option<Reported> {
    let json = text.trim_start();
    if json.starts_with('{') {
        return read_json(&serde_json::from_str(json).ok()?);
    }
    let mut found = Reported::nothing(Tool::K6);
    for line in text.lines() {
        let Some((name, values)) = line.split_once(':') else { continue };
        let name = name.trim().trim_end_matches('.');
        let values = values.trim();
        match name {
            "http_req_duration" => times(&mut found, values),
            "http_reqs" => {
                found.requests = whole(values);
                found.rate_per_s = values.split_whitespace().nth(1).and_then(number);
            }
            "http_req_failed" => found.errors = failures(values),
            "vus_max" => found.concurrency = whole(values),
            "data_received" => found.bytes = received(values),
            _ => {}
        }
    }
    found.if_any()
}

/// `avg=1.65ms min=1.04ms med=1.4ms max=501.84ms p(90)=1.74ms p(95)=1.96ms`.
fn times(found: &mut Reported, values: &str) {
    for (key, value) in values.split_whitespace().filter_map(|pair| pair.split_once('=')) {
        put(found, key, Time::read_go(value));
    }
    sort(found);
}

fn put(found: &mut Reported, key: &str, time: Option<Time>) {
    match key {
        "avg" => found.mean = time,
        "min" => found.min = time,
        "max" => found.max = time,
        "med" => found.push_percentile(50.0, time),
        _ => {
            let percent = key.strip_prefix("p(").and_then(|rest| rest.strip_suffix(')'));
            if let Some(percent) = percent.and_then(number) {
                found.push_percentile(percent, time);
            }
        }
    }
}

fn sort(found: &mut Reported) {
    found.percentiles.sort_by(|a, b| a.percent.total_cmp(&b.percent));
    found.percentiles.dedup_by(|a, b| a.percent == b.percent);
}

/// `1.00%  177 out of 17605`, before version 1 `1.00% ✓ 177 ✗ 17428`.
fn failures(values: &str) -> Option<u64> {
    let words: Vec<&str> = values.split_whitespace().collect();
    match words[..] {
        [_, "✓", failed, ..] | [_, failed, "out", "of", _] => whole(failed),
        _ => None,
    }
}

/// `3.8 MB 635 kB/s`.
fn received(values: &str) -> Option<u64> {
    let (number, unit) = values.split_once(' ')?;
    bytes(&format!("{number}{}", unit.split_whitespace().next()?), 1000.0)
}

/// `metrics` of either form: in that of `handleSummary` the figures are in `values`.
fn read_json(json: &Value) -> Option<Reported> {
    let metrics = json.get("metrics")?;
    let metric = |name: &str| {
        let metric = metrics.get(name)?;
        Some(metric.get("values").unwrap_or(metric))
    };
    let mut found = Reported::nothing(Tool::K6);
    for (key, value) in metric("http_req_duration")?.as_object()? {
        put(&mut found, key, value.as_f64().and_then(|ms| Time::of_s(ms / 1e3, 0.0)));
    }
    sort(&mut found);
    let number = |name: &str, key: &str| metric(name)?.get(key)?.as_f64();
    found.requests = number("http_reqs", "count").map(|count| count as u64);
    found.rate_per_s = number("http_reqs", "rate");
    // Of the rate "failed", those that failed are its passes.
    found.errors = number("http_req_failed", "passes").map(|count| count as u64);
    found.concurrency = number("vus_max", "value").or(number("vus_max", "max")).map(|count| count as u64);
    found.bytes = number("data_received", "count").map(|count| count as u64);
    found.if_any()
}
