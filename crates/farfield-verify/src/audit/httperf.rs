//! The report of httperf.
//!
//! "Reply time: response" goes from the request's first byte to the reply's first, "transfer" from there to
//! its last, both as means; their sum is the response time. There are no percentiles of it. "Connection
//! time" is how long whole connections lived.

use super::reported::{Reported, Time, Tool};
use super::text::{after, number, whole};

/// Reads the report in `text`.
pub fn read(text: &str) -> Option<Reported> {
    let totals = after(text, "Total: connections")?;
    let mut found = Reported::nothing(Tool::Httperf);
    let behind = |line: &str, key: &str| line.split_once(key).map(|(_, behind)| behind.trim().to_owned());
    found.requests = behind(totals, "replies").as_deref().and_then(whole);
    found.duration =
        behind(totals, "test-duration").and_then(|time| Time::in_units(time.split_whitespace().next()?, 1.0));
    found.rate_per_s = after(text, "Request rate:").and_then(number);
    found.concurrency = after(text, "<=").and_then(whole);
    if let Some([_, response, _, transfer]) = after(text, "Reply time [ms]:")
        .and_then(|times| <[&str; 4]>::try_from(times.split_whitespace().collect::<Vec<_>>()).ok())
        && let Some(response) = Time::in_units(response, 1e-3)
        && let Some(transfer) = Time::in_units(transfer, 1e-3)
    {
        found.mean =
            Some(Time { ns: response.ns + transfer.ns, step_ns: response.step_ns + transfer.step_ns });
    }
    let of_status = |class: &str| after(text, class).and_then(whole).unwrap_or(0);
    let failed = after(text, "Errors: total").and_then(whole).unwrap_or(0);
    found.errors = Some(failed + of_status("4xx=") + of_status("5xx="));
    found.note("httperf gives the mean alone, and no percentiles of response times");
    found.if_any()
}
