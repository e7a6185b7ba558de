//! The clock of the real planes: nanoseconds of `CLOCK_MONOTONIC` since the start of the run.

use farfield_base::{Duration, Instant};
use farfield_files::system;
use rustix::time::{ClockId, clock_gettime};

/// The run's clock. Every thread has a copy, and all count from the same start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    start_ns: u64,
}

impl Clock {
    /// A clock that starts after `lead`, in which threads get ready; until then it stands at zero.
    pub fn starting_in(lead: Duration) -> Clock {
        Clock { start_ns: monotonic_ns() + lead.as_ns() }
    }

    /// The clock, started when the wall clock has `unix_ns`, in nanoseconds since 1970, as it stands now.
    #[must_use]
    pub fn moved_to(self, unix_ns: u64) -> Clock {
        Clock { start_ns: (self.start_ns + unix_ns).saturating_sub(self.start_unix_ns()) }
    }

    /// The time of the run.
    pub fn now(&self) -> Instant {
        self.instant_of(monotonic_ns())
    }

    /// The time of the run at a reading of [`monotonic_ns`].
    pub fn instant_of(&self, monotonic_ns: u64) -> Instant {
        Instant::from_ns(monotonic_ns.saturating_sub(self.start_ns))
    }

    /// The wall clock (`CLOCK_REALTIME`) at the start of the run, as it stands now against the monotonic
    /// clock, in nanoseconds since 1970. The clocks are read until two readings are a tenth of a microsecond
    /// apart, at most ten times; those that are closest count. Half of their distance is the error.
    pub fn start_unix_ns(&self) -> u64 {
        unix_ns_at(self.start_ns)
    }

    /// The clock that starts at a reading of [`monotonic_ns`].
    pub fn starting_at(monotonic_ns: u64) -> Clock {
        Clock { start_ns: monotonic_ns }
    }

    /// Time until the run starts.
    pub fn until_start(&self) -> Duration {
        Duration::from_ns(self.start_ns.saturating_sub(monotonic_ns()))
    }
}

/// The wall clock (`CLOCK_REALTIME`) at a reading of [`monotonic_ns`], as it stands now against that, in
/// nanoseconds since 1970. The clocks are read until two readings are a tenth of a microsecond apart, at most
/// ten times; those that are closest count. Half of their distance is the error.
pub fn unix_ns_at(at_monotonic_ns: u64) -> u64 {
    const CLOSE_NS: u64 = 100;
    let reading = || {
        let before = monotonic_ns();
        let wall = clock_gettime(ClockId::Realtime);
        let after = monotonic_ns();
        let wall_ns = wall.tv_sec as u64 * 1_000_000_000 + wall.tv_nsec as u64;
        (after - before, wall_ns, before + (after - before) / 2)
    };
    let mut best = reading();
    for _ in 1..10 {
        if best.0 <= CLOSE_NS {
            break;
        }
        best = best.min(reading());
    }
    let (_, wall_ns, monotonic_ns) = best;
    (wall_ns + at_monotonic_ns).saturating_sub(monotonic_ns)
}

/// `CLOCK_MONOTONIC`: nanoseconds since some instant before the run. A step of the wall clock does not
/// change it.
pub fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Processor time that the calling thread has used.
pub fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::from_ns(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Total time for which the calling thread was ready to run and had no processor; `None` if the kernel does
/// not count it (`CONFIG_SCHED_INFO`). The second of the three numbers of `/proc/thread-self/schedstat`.
pub fn thread_waited() -> Option<Duration> {
    let text = system::read_text("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().nth(1)?.parse().ok().map(Duration::from_ns)
}

/// Processor time that all threads of the process have used.
pub fn process_cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::from_ns(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// The machine's clocks at one instant, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct Readings {
    /// `CLOCK_MONOTONIC`.
    pub monotonic_ns: i64,
    /// `CLOCK_BOOTTIME`, which also counts while the machine is suspended.
    pub boot_ns: i64,
    /// `CLOCK_REALTIME`, which can be set.
    pub wall_ns: i64,
}

impl Readings {
    /// All clocks now.
    pub fn now() -> Readings {
        let read = |clock| {
            let time = clock_gettime(clock);
            time.tv_sec as i64 * 1_000_000_000 + time.tv_nsec as i64
        };
        Readings {
            monotonic_ns: read(ClockId::Monotonic),
            boot_ns: read(ClockId::Boottime),
            wall_ns: read(ClockId::Realtime),
        }
    }
}

/// The standard library's clock, for libraries whose times are on it. It counts as the run's clock does.
#[expect(
    clippy::disallowed_methods,
    reason = "QUIC's library takes the time as this type, and reads no clock"
)]
pub fn library_now() -> std::time::Instant {
    std::time::Instant::now()
}

/// The wall clock, as seconds since 1970 (UTC).
pub fn unix_seconds() -> u64 {
    clock_gettime(ClockId::Realtime).tv_sec as u64
}

/// The wall clock, as milliseconds since 1970 (UTC).
pub fn unix_ms() -> u64 {
    let now = clock_gettime(ClockId::Realtime);
    now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000
}
