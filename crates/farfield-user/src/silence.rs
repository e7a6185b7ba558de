//! The end of a load by count at a server that has fallen silent.
//!
//! A load that has a length ends with it. One that has none but a number of requests would go on for that
//! number of time limits where nobody answers: a thousand requests of one user for eight hours. So it is
//! given up once requests have failed without a byte for twice the time limit of a request, in which nothing
//! came from the server at all. A server that is slower than that limit answers nobody either. Time in which
//! nothing is asked, such as a think time, is no silence.

use crate::policy::Policy;
use farfield_base::{Duration, Instant, Outcome, Sample, Stamp, Window};

/// Silence of so many time limits of a request ends a load by count.
const TIME_LIMITS: u64 = 2;

/// The silence of the server, as far as requests that failed show it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Silence {
    /// The longest; absent where the load has an end of its own.
    most: Option<Duration>,
    /// Start of the first request that failed since bytes last came.
    since: Option<Instant>,
}

impl Silence {
    /// No silence as yet of a load in `window`.
    pub fn of(window: Window, policy: &Policy) -> Silence {
        let most = policy.request_timeout().times(TIME_LIMITS);
        Silence { most: window.ends_by_count().then_some(most), since: None }
    }

    /// A request is over, as its `sample` says; bytes of the server last came at `heard`. How long it has
    /// been silent, if that is too long.
    pub fn note(&mut self, sample: &Sample, heard: Option<Instant>) -> Option<Duration> {
        let most = self.most?;
        let is_failed = !matches!(sample.outcome, Outcome::Ok | Outcome::Unfinished | Outcome::Dropped);
        let begun = sample.begun().unwrap_or(sample.due);
        let is_after = |at: Instant| heard.is_none_or(|heard| heard < at);
        if !is_failed || sample.first_byte != Stamp::NEVER || !is_after(begun) {
            self.since = None;
            return None;
        }
        let since = *self.since.insert(self.since.filter(|at| is_after(*at)).unwrap_or(begun));
        Some(sample.done.since(since)).filter(|silent| *silent >= most)
    }
}
