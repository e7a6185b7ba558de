//! Marks of congestion in place of drops (RFC 3168).

/// Ability of a packet to be marked, and whether it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Mark {
    /// Its ends do not understand marks.
    #[default]
    Unable,
    /// It may be marked.
    Able,
    /// It is marked.
    Marked,
}

impl Mark {
    /// That of a packet that is `able`.
    pub fn of(able: bool) -> Mark {
        if able { Mark::Able } else { Mark::Unable }
    }

    /// It meets congestion: true if it is marked now, false if it is to be dropped.
    pub fn meet(&mut self) -> bool {
        if *self == Mark::Able {
            *self = Mark::Marked;
        }
        *self == Mark::Marked
    }
}
