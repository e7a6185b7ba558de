//! The report of Locust: the tables that it prints, and the `_stats.csv` of `--csv`.
//!
//! A response time goes from before the request, a connection that has to be opened among it, to the end of
//! the body. Percentiles come from times rounded to two significant digits (whole milliseconds below 100
//! ms).

use super::reported::{Reported, Time, Tool};
use super::text::{number, whole};

/// Reads the tables, or the CSV, in `text`. The rows of all requests together ("Aggregated") count.
pub fn read(text: &str) -> Option<Reported> {
    if text.starts_with("Type,Name,Request Count") { read_csv(text) } else { read_tables(text) }
}

/// Milliseconds of a percentile; 101 ms is printed as 100.
fn rounded(ms: &str) -> Option<Time> {
    let value: f64 = ms.parse().ok()?;
    let step_ms = [(100.0, 1.0), (1_000.0, 10.0), (10_000.0, 100.0)]
        .iter()
        .find(|(below, _)| value < *below)
        .map_or(1_000.0, |(_, step)| *step);
    Time::of_s(value / 1e3, step_ms / 1e3)
}

fn read_csv(text: &str) -> Option<Reported> {
    let mut rows = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let names = rows.headers().ok()?.clone();
    let all = rows.records().filter_map(Result::ok).filter(|row| row.get(1) == Some("Aggregated")).last()?;
    let value = |name: &str| all.get(names.iter().position(|column| column == name)?);
    let ms = |name| value(name).and_then(number).and_then(|ms| Time::of_s(ms / 1e3, 0.0));
    let mut found = Reported::nothing(Tool::Locust);
    found.requests = value("Request Count").and_then(whole);
    found.errors = value("Failure Count").and_then(whole);
    found.rate_per_s = value("Requests/s").and_then(number);
    found.mean = ms("Average Response Time");
    found.min = ms("Min Response Time");
    found.max = ms("Max Response Time");
    for (name, time) in names.iter().zip(all.iter()) {
        if let Some(percent) = name.strip_suffix('%').and_then(number) {
            found.push_percentile(percent, rounded(time));
        }
    }
    found.if_any()
}

fn read_tables(text: &str) -> Option<Reported> {
    let mut found = Reported::nothing(Tool::Locust);
    let mut percents: Vec<f64> = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            // Each table is printed again as the test goes on: the last one counts.
            ["Type", "Name", ..] => {
                percents = words.iter().filter_map(|word| number(word.strip_suffix('%')?)).collect();
            }
            ["Aggregated", requests, fails, "|", mean, min, max, median, "|", rate, _] => {
                found.requests = whole(requests);
                found.errors = whole(fails);
                let ms = |value| Time::in_units(value, 1e-3);
                (found.mean, found.min, found.max) = (ms(mean), ms(min), ms(max));
                found.percentiles.clear();
                found.push_percentile(50.0, rounded(median));
                found.rate_per_s = number(rate);
            }
            ["Aggregated", ref times @ ..] if !percents.is_empty() && times.len() > percents.len() => {
                found.percentiles.clear();
                for (percent, time) in percents.iter().zip(times) {
                    found.push_percentile(*percent, rounded(time));
                }
            }
            _ => {}
        }
    }
    found.if_any()
}
