//! Delayed acknowledgments: RFC 9293 §3.8.6.3, RFC 5681 §4.2, and what stacks make of them.

use farfield_base::{Duration, Instant};

/// Waits that an acknowledgment may have. Every second full segment is acknowledged at once, whatever this
/// says (RFC 9293 SHLD-19), and so is all that is out of order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelayedAckPolicy {
    /// The longest wait; under 500 ms (RFC 9293 MUST-40). Zero acknowledges every segment at once.
    pub delay: Duration,
    /// The wait ends at the next multiple of `delay`, as with the 200 ms heartbeat of BSD.
    pub heartbeat: bool,
    /// Segments at the beginning of a connection that are acknowledged at once (Linux: 16), so that the
    /// peer's slow start is not slowed.
    pub quick_segments: u8,
}

/// Data that has come and is not acknowledged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DelayedAck {
    bytes: u32,
    /// The largest segment seen: what "full-sized" means for this peer.
    largest: u32,
    quick_left: u8,
}

/// Verdict on the acknowledgment of data that came in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    AtOnce,
    By(Instant),
}

impl DelayedAck {
    pub(crate) fn new(policy: &DelayedAckPolicy) -> DelayedAck {
        DelayedAck { bytes: 0, largest: 1, quick_left: policy.quick_segments }
    }

    /// Data came in order. `rmss` bounds what one segment can be: what was received merged counts as several.
    pub(crate) fn handle_data(
        &mut self,
        now: Instant,
        bytes: u32,
        rmss: u32,
        policy: &DelayedAckPolicy,
    ) -> Verdict {
        self.bytes = self.bytes.saturating_add(bytes);
        self.largest = self.largest.max(bytes.min(rmss));
        if self.quick_left > 0 {
            let segments = bytes.div_ceil(self.largest).min(u32::from(u8::MAX)) as u8;
            self.quick_left = self.quick_left.saturating_sub(segments);
            return Verdict::AtOnce;
        }
        // RFC 9293 SHLD-19, RFC 5681 §4.2: an ACK for at least every second full-sized segment
        if self.bytes > self.largest || policy.delay.is_zero() {
            return Verdict::AtOnce;
        }
        let delay = policy.delay.as_ns();
        let at = if policy.heartbeat {
            Instant::from_ns((now.as_ns() / delay + 1).saturating_mul(delay))
        } else {
            now + policy.delay
        };
        Verdict::By(at)
    }

    /// An acknowledgment of all that came was sent.
    pub(crate) fn handle_sent(&mut self) {
        self.bytes = 0;
    }
}
