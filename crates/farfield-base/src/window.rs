//! The measured part of a run: after the warm-up, before the drain.

use crate::time::{Duration, Instant};
use serde::{Deserialize, Serialize};

/// The steady part of the run, `[measure_from, measure_to)`. Load ends at `measure_to` ([`Instant::MAX`] if
/// that is not known yet), or after a cool-down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// The end of the warm-up.
    pub measure_from: Instant,
    /// The end of the measured part, and the beginning of the cool-down or the drain.
    pub measure_to: Instant,
}

impl Window {
    /// Length of the measured part of a run that ends with a number of requests or sessions, where none was
    /// asked for: in effect no end. Written as 24h.
    pub const BY_COUNT: Duration = Duration::from_secs(24 * 3600);

    /// True if the load is to end by count, and not with its time. A load of exactly [`Self::BY_COUNT`] is
    /// taken for one.
    pub fn ends_by_count(&self) -> bool {
        self.measure_to.since(self.measure_from) == Window::BY_COUNT
    }

    /// True if `instant` is in the steady part.
    pub fn contains(&self, instant: Instant) -> bool {
        self.measure_from <= instant && instant < self.measure_to
    }

    /// Length of the steady part before `until`.
    pub fn elapsed(&self, until: Instant) -> Duration {
        self.overlap(self.measure_from, until)
    }

    /// Length of the part of the time from `from` to `to` that is in the steady part.
    pub fn overlap(&self, from: Instant, to: Instant) -> Duration {
        to.min(self.measure_to).since(from.max(self.measure_from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_inside_counts() {
        let at = Instant::from_ns;
        let window = Window { measure_from: at(100), measure_to: at(200) };
        assert!(window.contains(at(100)) && !window.contains(at(200)));
        assert_eq!(window.overlap(at(50), at(150)), Duration::from_ns(50));
        assert_eq!(window.overlap(at(250), at(300)), Duration::ZERO);
        assert_eq!(window.elapsed(at(400)), Duration::from_ns(100));
    }
}
