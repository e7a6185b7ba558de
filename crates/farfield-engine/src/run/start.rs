//! The start of a run in real time: as soon as its threads are up, or at a wall-clock time that several parts
//! of it share.

use super::RunSettings;
use farfield_base::Duration;
use farfield_measure::parts::PartClock;
use farfield_os::clock::{Clock, monotonic_ns, unix_ns_at};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Time for threads that are up to get their users before the run's clock starts.
const LEAD: Duration = Duration::from_ms(20);
/// Time before a start at which files and captures are begun, and users made.
pub(super) const FILES: Duration = Duration::from_secs(3);
/// Time before a start at which the machine is read, and threads are started.
const THREADS: Duration = Duration::from_ms(200);
/// Time before a start that was given a moment ago, with more time for a machine that is busy.
const COMMON_THREADS: Duration = Duration::from_secs(1);
/// The longest sleep before a start, after which a wish to end is seen.
const NAP: Duration = Duration::from_ms(100);

/// Why a run did not start when it was to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// The time is over.
    #[error(
        "the start (run.start-at, or the gatherer's) was {} ago when all was ready: give a later time, set the \
         clocks of the machines (NTP), or free this machine of other work",
        in_words(*late)
    )]
    Late {
        /// Since when.
        late: Duration,
    },
    /// The run was interrupted before it.
    #[error("interrupted before its start: nothing was measured")]
    Interrupted,
}

/// A start that all parts of a run have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommonStart {
    /// The time by this machine's monotonic clock, in nanoseconds: its wall clock may be set until then.
    pub monotonic_ns: u64,
    /// The time by the wall clock that all are compared with, in nanoseconds since 1970.
    pub unix_ns: u64,
    /// Nanoseconds by which the time may be wrong here.
    pub error_ns: u64,
}

impl CommonStart {
    /// The local wall clock beside the one that all are compared with, by what it had at the start.
    pub fn wall_clock(&self, start_unix_ns: u64) -> PartClock {
        let offset_ns = start_unix_ns.cast_signed().saturating_sub(self.unix_ns.cast_signed());
        PartClock { offset_ns, error_ns: self.error_ns }
    }
}

/// The time of a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StartAt {
    /// By the wall clock, in nanoseconds since 1970.
    Unix(u64),
    /// By the monotonic clock.
    Monotonic(u64),
}

/// The source of a start that is known once all parts are ready, such as a rendezvous.
pub trait StartSource: fmt::Debug + Send + Sync {
    /// Says that this part is ready, with the scenario as all parts have it, and waits for the start.
    ///
    /// # Errors
    /// If `stop` is set, or the run is given up.
    fn await_start(&self, scenario: Option<&str>, stop: &AtomicBool) -> Result<CommonStart, StartError>;
}

/// The start that all parts have in common, if there is a source of it.
pub(super) fn common(settings: &RunSettings, stop: &AtomicBool) -> Result<Option<CommonStart>, StartError> {
    let source = settings.start_source.as_ref();
    source.map(|source| source.await_start(settings.shared_by_parts.as_deref(), stop)).transpose()
}

/// Waits until the threads of a run are to be started. Returns the time of the start, if there is one, and
/// the start that all parts have in common.
pub(super) fn wait_for_threads(
    settings: &RunSettings,
    stop: &AtomicBool,
) -> Result<(Option<StartAt>, Option<CommonStart>), StartError> {
    let common = common(settings, stop)?;
    let given = settings.start_at.map(StartAt::Unix);
    let start_at = common.map(|common| StartAt::Monotonic(common.monotonic_ns)).or(given);
    wait(start_at, if common.is_some() { COMMON_THREADS } else { THREADS }, stop)?;
    Ok((start_at, common))
}

/// A time that people wait or have waited for, to the second where it is long.
fn in_words(time: Duration) -> Duration {
    if time < Duration::from_secs(10) { time } else { Duration::from_secs(time.as_ns() / 1_000_000_000) }
}

/// Checks that a start at `unix_ns` is still to come.
pub(crate) fn ahead(unix_ns: Option<u64>) -> Result<(), StartError> {
    unix_ns.map_or(Ok(()), |unix_ns| ahead_of(StartAt::Unix(unix_ns)).map(drop))
}

/// Waits until `ahead` before a start.
///
/// # Errors
/// If the start is over, or `stop` is set.
#[expect(clippy::disallowed_methods, reason = "a wall-clock time is waited for, which no event tells of")]
pub(super) fn wait(at: Option<StartAt>, ahead: Duration, stop: &AtomicBool) -> Result<(), StartError> {
    let Some(at) = at else { return Ok(()) };
    loop {
        let left = ahead_of(at)?;
        if stop.load(Ordering::Relaxed) {
            return Err(StartError::Interrupted);
        }
        if left <= ahead {
            return Ok(());
        }
        thread::sleep((left - ahead).min(NAP).to_std());
    }
}

/// The clock of a run that starts at a given time, or in a moment.
pub(super) fn clock(at: Option<StartAt>) -> Result<Clock, StartError> {
    let Some(at) = at else { return Ok(Clock::starting_in(LEAD)) };
    let ahead = ahead_of(at)?;
    let unix_ns = match at {
        StartAt::Unix(unix_ns) => unix_ns,
        StartAt::Monotonic(monotonic_ns) => return Ok(Clock::starting_at(monotonic_ns)),
    };
    // The clock is set once more against the wall clock, which may have been adjusted while it was waited
    // for.
    Ok(Clock::starting_in(ahead).moved_to(unix_ns))
}

/// Time from now until a start.
fn ahead_of(at: StartAt) -> Result<Duration, StartError> {
    let (at, now) = match at {
        StartAt::Unix(unix_ns) => (unix_ns, unix_ns_at(monotonic_ns())),
        StartAt::Monotonic(at) => (at, monotonic_ns()),
    };
    match at.checked_sub(now) {
        Some(ahead) => Ok(Duration::from_ns(ahead)),
        None => Err(StartError::Late { late: Duration::from_ns(now - at) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_starts_when_it_was_asked_to() {
        let now = Clock::starting_in(Duration::ZERO).start_unix_ns();
        let at = now + Duration::from_ms(400).as_ns();
        wait(Some(StartAt::Unix(at)), THREADS, &AtomicBool::new(false)).unwrap();
        let ahead = ahead_of(StartAt::Unix(at)).unwrap();
        assert!(ahead <= THREADS, "{ahead}");
        let start = clock(Some(StartAt::Unix(at))).unwrap().start_unix_ns();
        assert!(start.abs_diff(at) < 50_000, "{start} for {at}");
    }

    /// The gatherer's wall clock is an hour behind, and the start is where the monotonic clock has it.
    #[test]
    fn a_common_start_is_by_the_monotonic_clock_whatever_the_wall_clock_has() {
        const HOUR: u64 = 3_600_000_000_000;
        let at = monotonic_ns() + Duration::from_ms(400).as_ns();
        let common = CommonStart { monotonic_ns: at, unix_ns: unix_ns_at(at) - HOUR, error_ns: 7 };
        let clock = clock(Some(StartAt::Monotonic(common.monotonic_ns))).unwrap();
        assert_eq!(clock, Clock::starting_at(at));
        let wall = common.wall_clock(clock.start_unix_ns());
        assert!(wall.offset_ns.abs_diff(HOUR.cast_signed()) < 50_000 && wall.error_ns == 7, "{wall:?}");
        assert!(super::clock(Some(StartAt::Monotonic(1))).is_err());
    }

    #[test]
    fn a_start_that_is_over_is_refused() {
        let error =
            wait(Some(StartAt::Unix(1_000_000_000)), FILES, &AtomicBool::new(false)).unwrap_err().to_string();
        assert!(error.contains("run.start-at") && error.contains("NTP"), "{error}");
        assert!(clock(Some(StartAt::Unix(1))).is_err() && clock(None).is_ok());
    }

    #[test]
    fn a_wish_to_end_ends_the_wait() {
        let far = Clock::starting_in(Duration::from_secs(3_600)).start_unix_ns();
        assert_eq!(
            wait(Some(StartAt::Unix(far)), FILES, &AtomicBool::new(true)),
            Err(StartError::Interrupted)
        );
    }
}
