//! The origin's clock: nanoseconds since it started, and waiting for an instant.
//!
//! Waits are by async-io, whose timers are good to some tens of microseconds; tokio's are whole
//! milliseconds, far coarser than a service time.

#![expect(clippy::disallowed_methods, reason = "a server that takes known times has to read a clock")]

use async_io::Timer;
use farfield_base::Instant;

/// Time since the origin started.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    start: std::time::Instant,
}

impl Clock {
    /// A clock that reads zero now.
    pub(crate) fn start() -> Clock {
        Clock { start: std::time::Instant::now() }
    }

    /// Time since the start.
    pub(crate) fn now(&self) -> Instant {
        Instant::from_ns(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Waits until `instant`: never less, usually some tens of microseconds more.
    pub(crate) async fn reach(&self, instant: Instant) {
        if self.now() < instant {
            self.timer(instant).await;
        }
    }

    /// A timer that ends at `instant`.
    pub(crate) fn timer(&self, instant: Instant) -> Timer {
        Timer::at(self.start + std::time::Duration::from_nanos(instant.as_ns()))
    }
}
