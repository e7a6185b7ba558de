//! The report of ab (ApacheBench).
//!
//! Its times go from before a connection is opened (on a kept one: from before the request is written) to
//! the end of the reply. "Time per request (mean)" is not a mean of times: it is the duration of the test,
//! times the concurrency, over the requests. Percentiles are cut to whole milliseconds. "Failed requests"
//! has replies whose length differs from the first one's, which is no failure of a dynamic page; they are
//! not counted here.

use super::reported::{Reported, Time, Tool};
use super::text::{after, number, whole};

/// Reads the report in `text`.
pub fn read(text: &str) -> Option<Reported> {
    if !text.contains("Complete requests:") {
        return None;
    }
    let mut found = Reported::nothing(Tool::Ab);
    let first = |key| after(text, key).and_then(|value| value.split_whitespace().next());
    found.requests = after(text, "Complete requests:").and_then(whole);
    found.concurrency = after(text, "Concurrency Level:").and_then(whole);
    found.duration = first("Time taken for tests:").and_then(|value| Time::in_units(value, 1.0));
    found.bytes = after(text, "Total transferred:").and_then(whole);
    found.rate_per_s = after(text, "Requests per second:").and_then(number);
    found.mean = first("Time per request:").and_then(|value| Time::in_units(value, 1e-3));
    found.errors = Some(errors(text));
    if let Some(total) = text.lines().find_map(|line| line.strip_prefix("Total:"))
        && let [min, _, sd, _, max] = total.split_whitespace().collect::<Vec<_>>()[..]
    {
        let ms = |value| Time::in_units(value, 1e-3);
        (found.min, found.sd, found.max) = (ms(min), ms(sd), ms(max));
    }
    let percentiles = text.lines().skip_while(|line| !line.starts_with("Percentage of the requests"));
    for line in percentiles.skip(1) {
        if let [percent, time, ..] = line.split_whitespace().collect::<Vec<_>>()[..]
            && let Some(percent) = percent.strip_suffix('%').and_then(number)
        {
            found.push_percentile(percent, Time::in_units(time, 1e-3));
        }
    }
    found.note("ab's \"Time per request (mean)\" is duration x concurrency / requests, no mean of its times");
    found.note("ab's percentiles are cut to whole milliseconds");
    found.if_any()
}

/// Replies that are not 2xx, and requests that failed otherwise than by their length:
/// `(Connect: 0, Receive: 0, Length: 125, Exceptions: 0)`.
fn errors(text: &str) -> u64 {
    let refused = after(text, "Non-2xx responses:").and_then(whole).unwrap_or(0);
    let kinds = after(text, "(Connect:").map(|kinds| format!("Connect:{}", kinds.trim_end_matches(')')));
    let broken: u64 = kinds
        .unwrap_or_default()
        .split(',')
        .filter_map(|kind| kind.split_once(':'))
        .filter(|(kind, _)| kind.trim() != "Length")
        .filter_map(|(_, count)| whole(count))
        .sum();
    refused + broken
}
