//! Limits on open descriptors, of which every connection takes one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The limits of this process; `None` for no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptors {
    /// Limit in force.
    pub soft: Option<u64>,
    /// Limit up to which the soft one can be raised.
    pub hard: Option<u64>,
}

/// The current limits.
pub fn limits() -> Descriptors {
    let limit = getrlimit(Resource::Nofile);
    Descriptors { soft: limit.current, hard: limit.maximum }
}

/// Raises the soft limit to the hard one.
pub fn raise() -> Descriptors {
    let limit = getrlimit(Resource::Nofile);
    // If refused, the limit stays, and requests that find no descriptor fail with that outcome.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    limits()
}

/// Descriptors reserved for the run directory's files, polls and the system's libraries.
const RESERVE: u64 = 64;

/// Number of connections that may be open at once, so that the run can still write its results.
pub fn for_connections() -> u64 {
    let open = std::fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count() as u64);
    limits().soft.unwrap_or(u64::MAX).saturating_sub(open + RESERVE)
}
