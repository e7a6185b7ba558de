//! Datagrams of QUIC connections (RFC 9000), on which users speak HTTP/3.

use crate::population::Population;
use crate::transport::{ConnectionKey, Transport};
use farfield_base::Instant;

impl Population {
    /// Datagrams came on a socket that [`Transport::open_datagrams`] opened. All have `segment_bytes` bytes, at
    /// least one, but for the last, which may have fewer, and the same codepoint `ecn` (RFC 3168 section 5).
    pub fn handle_datagrams<T: Transport>(
        &mut self,
        _transport: &mut T,
        _now: Instant,
        _key: ConnectionKey,
        _ecn: u8,
        _segment_bytes: usize,
        _bytes: &[u8],
    ) {
    }

    /// A timer of a connection may have come to its end.
    pub(crate) fn handle_quic_timer<T: Transport>(&mut self, _: &mut T, _: Instant, _: ConnectionKey) {}
}
