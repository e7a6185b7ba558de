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
