//! The recording's clock: when messages passed, on the wall's clock and since the recording began.

#![expect(clippy::disallowed_methods, reason = "a recording says when what passed did")]

use farfield_base::Instant;
use std::time::{Duration, SystemTime};

/// Clock of a recording.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecordingClock {
    began: std::time::Instant,
    /// The date at the beginning: later ones follow from it, whatever is done to the wall's clock meanwhile.
    date: SystemTime,
}

impl RecordingClock {
    /// A clock that reads zero now.
    pub(crate) fn start() -> RecordingClock {
        RecordingClock { began: std::time::Instant::now(), date: SystemTime::now() }
    }

    /// Time since the beginning.
    pub(crate) fn now(&self) -> Instant {
        Instant::from_ns(u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// The date at an instant.
    pub(crate) fn date(&self, at: Instant) -> SystemTime {
        self.date + Duration::from_nanos(at.as_ns())
    }
}
