//! Marks of congestion in place of drops (RFC 3168).

/// Ability of a packet to be marked, and whether it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Mark {
    /// The packet's ends do not understand marks.
    #[default]
    Unable,
    /// The packet may be marked.
    Able,
    /// The packet is marked.
    Marked,
}

impl Mark {
    /// The mark of a packet that is `able`.
    pub fn of(able: bool) -> Mark {
        if able { Mark::Able } else { Mark::Unable }
    }

    /// Meets congestion: true if the packet is marked now, false if it is to be dropped.
    pub fn meet(&mut self) -> bool {
        if *self == Mark::Able {
            *self = Mark::Marked;
        }
        *self == Mark::Marked
    }
}
