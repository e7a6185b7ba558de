//! Instants of a capture.

/// Nanoseconds since 1970 by the clock of the machine that captured. Its resolution is the file's, often a
/// microsecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct UnixNs(pub u64);

impl UnixNs {
    /// Nanoseconds from `earlier` to this instant; 0 if it does not lie before.
    pub const fn since(self, earlier: UnixNs) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Nanoseconds from `other` to this instant, negative if this one comes first.
    pub const fn offset_from(self, other: UnixNs) -> i64 {
        self.0.wrapping_sub(other.0) as i64
    }
}
