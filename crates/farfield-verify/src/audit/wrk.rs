//! The report of wrk, with or without `--latency`, and of wrk2, which has the same form.
//!
//! wrk takes a request's time from the write of its first byte to the last byte of the reply. Before it
//! prints mean, standard deviation and percentiles it adds values that were never measured: for each time
//! of at least twice the mean gap between the requests of a connection, those that requests in that gap
//! would have had (its `stats_correct`, after HdrHistogram's correction for coordinated omission). Its mean
//! is therefore not the mean of its requests.

use super::reported::{Reported, Time, Tool};
use super::text::{after, bytes, count, number, whole};

/// Reads the report in `text`.
pub fn read(text: &str) -> Option<Reported> {
    let mut found = Reported::nothing(Tool::Wrk);
    if !text.contains("Thread Stats") {
        return None;
    }
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["Latency", mean, sd, max, _] => {
                (found.mean, found.sd, found.max) = (Time::read(mean), Time::read(sd), Time::read(max));
            }
            [requests, "requests", "in", time, read, "read"] => {
                found.requests = whole(requests);
                found.duration = Time::read(time.trim_end_matches(','));
                found.bytes = bytes(read, 1024.0);
            }
            [_, "threads", "and", connections, "connections"] => found.concurrency = whole(connections),
            [percent, time] if percent.ends_with('%') => {
                if let Some(percent) = number(percent) {
                    found.push_percentile(percent, Time::read(time));
                }
            }
            _ => {}
        }
    }
    found.rate_per_s = after(text, "Requests/sec:").and_then(count);
    let refused = after(text, "Non-2xx or 3xx responses:").and_then(whole).unwrap_or(0);
    found.errors = Some(refused + socket_errors(text));
    // Of wrk2 (its source has `Recorded Latency` in the heading of percentiles), not tried on its output.
    if text.contains("HdrHistogram - ") || text.contains("Thread calibration:") {
        found.tool = Tool::Wrk2;
        found.note(
            "wrk2 counts a time from when the request was due by its schedule, not from when it was sent",
        );
    } else {
        found.note(
            "wrk adds values that it never measured to its mean and percentiles, for times of at least twice the mean \
             gap between the requests of a connection",
        );
    }
    found.if_any()
}

/// `Socket errors: connect 0, read 3, write 0, timeout 5`.
fn socket_errors(text: &str) -> u64 {
    let kinds = after(text, "Socket errors:").unwrap_or_default();
    kinds.split(',').filter_map(|kind| kind.split_whitespace().nth(1)).filter_map(whole).sum()
}
