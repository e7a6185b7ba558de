//! The number of a host that users ask: a scheme, a name and a port.

/// The number of a host among those that the users of a run ask, from 0, that of the target.
///
/// A host is an origin (RFC 6454 section 4, RFC 9110 section 4.3.1): a scheme, a name and a port. Each has
/// its own connections, sessions of TLS and versions of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct HostNumber(pub u8);

impl HostNumber {
    /// Hosts of a run at most.
    pub const MOST: usize = 32;
    /// The target.
    pub const TARGET: HostNumber = HostNumber(0);

    /// The number of the host at `place` in a list of all.
    ///
    /// # Panics
    /// If there are more than [`MOST`](Self::MOST), which whoever makes the list checks.
    pub fn at(place: usize) -> HostNumber {
        assert!(place < HostNumber::MOST, "hosts are counted when they are listed");
        HostNumber(place as u8)
    }

    /// The place in a list of all.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
