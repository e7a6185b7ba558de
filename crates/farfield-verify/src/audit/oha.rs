//! The report of oha: its text, or the JSON of `--output-format json`.
//!
//! A response time includes the opening of a connection, where one has to be opened.

use super::reported::{Reported, Time, Tool};
use super::text::{after, number, whole};
use serde_json::Value;

/// Reads the text, or the JSON, in `text`.
pub fn read(text: &str) -> Option<Reported> {
    let json = text.trim_start();
    if json.starts_with('{') {
        return read_json(&serde_json::from_str(json).ok()?);
    }
    if !text.contains("Success rate:") {
        return None;
    }
    let mut found = Reported::nothing(Tool::Oha);
    found.duration = after(text, "Total:").and_then(Time::read);
    found.max = after(text, "Slowest:").and_then(Time::read);
    found.min = after(text, "Fastest:").and_then(Time::read);
    found.mean = after(text, "Average:").and_then(Time::read);
    found.rate_per_s = after(text, "Requests/sec:").and_then(number);
    for line in text.lines() {
        if let [percent, "in", time, unit] = line.split_whitespace().collect::<Vec<_>>()[..]
            && let Some(percent) = percent.strip_suffix('%').and_then(number)
        {
            found.push_percentile(percent, Time::read(&format!("{time}{unit}")));
        }
    }
    counts(&mut found, text);
    found.if_any()
}

/// Lines such as `[200] 990 responses` and `[3] connection refused`.
fn counts(found: &mut Reported, text: &str) {
    let (mut requests, mut errors) = (0, 0);
    for line in text.lines() {
        let Some((bracket, rest)) = line.trim().strip_prefix('[').and_then(|line| line.split_once(']'))
        else {
            continue;
        };
        let Some(bracketed) = whole(bracket) else { continue };
        match rest.trim().strip_suffix("responses").and_then(whole) {
            Some(replies) => {
                requests += replies;
                errors += if bracketed >= 400 { replies } else { 0 };
            }
            // Requests that the end of the test cut off are no errors of the server.
            None if rest.contains("deadline") => {}
            None => errors += bracketed,
        }
    }
    (found.requests, found.errors) = (Some(requests).filter(|count| *count > 0), Some(errors));
}

fn read_json(json: &Value) -> Option<Reported> {
    let summary = json.get("summary")?;
    let time = |of: &Value, key: &str| of.get(key)?.as_f64().and_then(|s| Time::of_s(s, 0.0));
    let mut found = Reported::nothing(Tool::Oha);
    found.duration = time(summary, "total");
    found.max = time(summary, "slowest");
    found.min = time(summary, "fastest");
    found.mean = time(summary, "average");
    found.rate_per_s = summary.get("requestsPerSec").and_then(Value::as_f64);
    found.bytes = summary.get("totalData").and_then(Value::as_u64);
    let percentiles = json.get("latencyPercentiles");
    for (name, _) in percentiles.and_then(Value::as_object).into_iter().flatten() {
        if let Some(percent) = name.strip_prefix('p').and_then(number) {
            found.push_percentile(percent, percentiles.and_then(|all| time(all, name)));
        }
    }
    found.percentiles.sort_by(|a, b| a.percent.total_cmp(&b.percent));
    let counted = |key: &str| {
        let counts = json.get(key).and_then(Value::as_object).into_iter().flatten();
        counts.map(|(name, count)| (name.clone(), count.as_u64().unwrap_or(0))).collect::<Vec<_>>()
    };
    let statuses = counted("statusCodeDistribution");
    found.requests = Some(statuses.iter().map(|(_, count)| count).sum()).filter(|count| *count > 0);
    let refused = statuses.iter().filter(|(status, _)| whole(status).is_some_and(|status| status >= 400));
    let broken = counted("errorDistribution").into_iter().filter(|(name, _)| !name.contains("deadline"));
    let broken: u64 = broken.map(|(_, count)| count).sum();
    found.errors = Some(refused.map(|(_, count)| count).sum::<u64>() + broken);
    found.if_any()
}
