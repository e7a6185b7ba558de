//! Bodies of requests on streams that wait for the server to allow more of them (flow control, RFC 9113
//! section 5.2, RFC 9000 section 4), and for how long each has.

use farfield_base::{Duration, Instant};

/// The stalls of a connection's requests that are not over.
#[derive(Debug, Default)]
pub(crate) struct Stalls(Vec<Stall>);

#[derive(Debug)]
struct Stall {
    number: u32,
    /// Start of its wait, if it waits.
    since: Option<Instant>,
    total: Duration,
}

impl Stalls {
    /// The body of request `number` waits since `at`.
    pub fn begin(&mut self, number: u32, at: Instant) {
        self.0.push(Stall { number, since: Some(at), total: Duration::ZERO });
    }

    /// Counts how long bodies have waited up to `now`, and which wait further.
    pub fn count(&mut self, now: Instant, is_stalled: impl Fn(u32) -> bool) {
        for stall in self.0.iter_mut().filter(|stall| stall.since.is_some()) {
            stall.total = stall.until(now);
            stall.since = is_stalled(stall.number).then_some(now);
        }
    }

    /// The microseconds that the body of request `number` has waited up to `now`, at most 2^32-1.
    pub fn us_of(&self, number: u32, now: Instant) -> u32 {
        let stall = self.0.iter().find(|stall| stall.number == number);
        let stalled = stall.map_or(Duration::ZERO, |stall| stall.until(now));
        u32::try_from(stalled.as_ns() / 1000).unwrap_or(u32::MAX)
    }

    /// Forgets request `number`, which is over.
    pub fn forget(&mut self, number: u32) {
        self.0.retain(|stall| stall.number != number);
    }
}

impl Stall {
    fn until(&self, now: Instant) -> Duration {
        self.total + self.since.map_or(Duration::ZERO, |since| now.max(since).since(since))
    }
}
