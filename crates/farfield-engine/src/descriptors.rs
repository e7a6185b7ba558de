//! Open descriptors: every connection takes one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// How many this process may have now, and could have if it asks; `None` for no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptors {
    /// In force.
    pub soft: Option<u64>,
    /// May be asked for.
    pub hard: Option<u64>,
}

/// The limits as they stand.
pub fn limits() -> Descriptors {
    let limit = getrlimit(Resource::Nofile);
    Descriptors { soft: limit.current, hard: limit.maximum }
}

/// Asks for as many as this process may have.
pub fn raise() -> Descriptors {
    let limit = getrlimit(Resource::Nofile);
    // Refused, the limit stays, and requests that find no descriptor say so.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    limits()
}

/// Descriptors that connections may not have: the run directory's files, polls, what the system opens.
const RESERVE: u64 = 64;

/// How many connections may be open at once, so that the run can still write what it measured.
pub fn for_connections() -> u64 {
    let open = std::fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count() as u64);
    limits().soft.unwrap_or(u64::MAX).saturating_sub(open + RESERVE)
}
