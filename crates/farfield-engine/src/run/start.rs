//! The start of a run in real time: as soon as its threads are up, or at a wall-clock time that several parts
//! of it share.

use farfield_base::Duration;
use farfield_os::clock::Clock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Time for threads that are up to get their users before the run's clock starts.
const LEAD: Duration = Duration::from_ms(20);
/// Time before a start at which what is left to do begins: reading the machine, starting threads.
const READY: Duration = Duration::from_ms(200);
/// The longest sleep before a start, after which a wish to end is seen.
const NAP: Duration = Duration::from_ms(100);

/// The time at which a run was to start is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "run.start-at was {late} ago when all was ready: give a later time, or set the clocks of the machines (NTP)"
)]
pub struct StartError {
    late: Duration,
}

/// Checks that a start at `unix_ns` is still to come.
pub(crate) fn ahead(unix_ns: Option<u64>) -> Result<(), StartError> {
    unix_ns.map_or(Ok(()), |unix_ns| ahead_of(unix_ns).map(drop))
}

/// Waits until shortly before a start at `unix_ns`, in nanoseconds since 1970, or until `stop` is set.
#[expect(clippy::disallowed_methods, reason = "a wall-clock time is waited for, which no event tells of")]
pub(super) fn wait(unix_ns: Option<u64>, stop: &AtomicBool) -> Result<(), StartError> {
    let Some(unix_ns) = unix_ns else { return Ok(()) };
    loop {
        let ahead = ahead_of(unix_ns)?;
        if ahead <= READY || stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        thread::sleep((ahead - READY).min(NAP).to_std());
    }
}

/// The clock of a run that starts at `unix_ns`, or in a moment.
pub(super) fn clock(unix_ns: Option<u64>) -> Result<Clock, StartError> {
    let Some(unix_ns) = unix_ns else { return Ok(Clock::starting_in(LEAD)) };
    let ahead = ahead_of(unix_ns)?;
    // The clock is set once more against the wall clock, which may have been adjusted while it was waited
    // for.
    Ok(Clock::starting_in(ahead).moved_to(unix_ns))
}

/// Time from now until `unix_ns`.
fn ahead_of(unix_ns: u64) -> Result<Duration, StartError> {
    let now = Clock::starting_in(Duration::ZERO).start_unix_ns();
    match unix_ns.checked_sub(now) {
        Some(ahead) => Ok(Duration::from_ns(ahead)),
        None => Err(StartError { late: Duration::from_ns(now - unix_ns) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_starts_when_it_was_asked_to() {
        let now = Clock::starting_in(Duration::ZERO).start_unix_ns();
        let at = now + Duration::from_ms(400).as_ns();
        wait(Some(at), &AtomicBool::new(false)).unwrap();
        let ahead = ahead_of(at).unwrap();
        assert!(ahead <= READY, "{ahead}");
        let start = clock(Some(at)).unwrap().start_unix_ns();
        assert!(start.abs_diff(at) < 50_000, "{start} for {at}");
    }

    #[test]
    fn a_start_that_is_over_is_refused() {
        let error = wait(Some(1_000_000_000), &AtomicBool::new(false)).unwrap_err().to_string();
        assert!(error.contains("run.start-at was") && error.contains("NTP"), "{error}");
        assert!(clock(Some(1)).is_err() && clock(None).is_ok());
    }

    #[test]
    fn a_wish_to_end_ends_the_wait() {
        let far = Clock::starting_in(Duration::from_secs(3_600)).start_unix_ns();
        assert_eq!(wait(Some(far), &AtomicBool::new(true)), Ok(()));
    }
}
