//! The report of nghttp2's h2load.
//!
//! "time for request" goes from the submission of a request to the end of its stream. There are no
//! percentiles. A request counts as failed if its status is 400 or more, as errored or timed out if it got
//! none.

use super::reported::{Reported, Time, Tool};
use super::text::{after, bytes, count, whole};

/// Reads the report in `text`.
pub fn read(text: &str) -> Option<Reported> {
    let times = after(text, "time for request:")?;
    let mut found = Reported::nothing(Tool::H2load);
    if let [min, max, mean, sd, ..] = times.split_whitespace().collect::<Vec<_>>()[..] {
        (found.min, found.max) = (Time::read(min), Time::read(max));
        (found.mean, found.sd) = (Time::read(mean), Time::read(sd));
    }
    if let Some(finished) = after(text, "finished in ") {
        let mut parts = finished.split(',').map(str::trim);
        found.duration = parts.next().and_then(Time::read);
        found.rate_per_s = parts.next().and_then(|rate| count(rate.strip_suffix("req/s")?));
    }
    if let Some(requests) = after(text, "requests:") {
        let of = |kind: &str| {
            let part = requests.split(',').find(|part| part.trim().ends_with(kind))?;
            whole(part)
        };
        found.requests = of("done");
        // Those errored and timed out are among them.
        found.errors = of("failed");
    }
    found.concurrency = after(text, "spawning thread #0:").and_then(whole);
    found.bytes = after(text, "traffic:").and_then(bytes_of);
    found.if_any()
}

/// `2.06MB (2164915) total, …`: the exact number is in brackets.
fn bytes_of(traffic: &str) -> Option<u64> {
    let exact = traffic.split_once('(').and_then(|(_, behind)| whole(behind));
    exact.or_else(|| bytes(traffic.split_whitespace().next()?, 1024.0))
}
