//! Timestamps and protection against wrapped sequence numbers: RFC 7323 §3 to §5.

use crate::segment::Timestamps;
use crate::seq::Position;
use farfield_base::{Duration, Instant};

/// RFC 7323 §5.5: after 24 days of silence TS.Recent says nothing.
const OUTDATED: Duration = Duration::from_secs(24 * 24 * 3600);

/// The clock that is sent, and the peer's that is echoed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimestampState {
    /// Added to the time of the run, so that clocks of different connections differ (RFC 7323 §5.4, §7.1).
    offset: u32,
    /// TS.Recent.
    recent: u32,
    recent_at: Instant,
    /// False until a first timestamp came.
    valid: bool,
}

impl TimestampState {
    pub(crate) fn new(offset: u32) -> TimestampState {
        TimestampState { offset, recent: 0, recent_at: Instant::ZERO, valid: false }
    }

    /// The option to send at `now`. The clock ticks each millisecond (§5.4: 1 ms to 1 s).
    pub(crate) fn stamp(&self, now: Instant) -> Timestamps {
        Timestamps { value: self.clock(now), echo: self.recent }
    }

    /// §5.3 R1: true if the segment is older than what came before, and must be dropped.
    pub(crate) fn is_old(&self, stamps: Timestamps, now: Instant) -> bool {
        let outdated = now.since(self.recent_at) > OUTDATED;
        self.valid && !outdated && (stamps.value.wrapping_sub(self.recent) as i32) < 0
    }

    /// §4.3 (2): a timestamp is kept from a segment that covers what was acknowledged last, if it is not
    /// older.
    pub(crate) fn update(
        &mut self,
        stamps: Timestamps,
        seq: Position,
        last_ack_sent: Position,
        now: Instant,
    ) {
        if seq <= last_ack_sent && !self.is_old(stamps, now) {
            self.recent = stamps.value;
            self.recent_at = now;
            self.valid = true;
        }
    }

    /// §4.1: the time since the echoed stamp was sent, to the millisecond; `None` for an echo of what was not
    /// sent lately.
    pub(crate) fn elapsed(&self, stamps: Timestamps, now: Instant) -> Option<Duration> {
        let ms = self.clock(now).wrapping_sub(stamps.echo);
        (stamps.echo != 0 && ms < 1 << 24).then(|| Duration::from_ms(u64::from(ms).max(1)))
    }

    fn clock(&self, now: Instant) -> u32 {
        self.offset.wrapping_add(ticks(now))
    }

    /// TS.Recent and the offset of our clock.
    pub(crate) fn parts(&self) -> (u32, u32) {
        (self.recent, self.offset)
    }
}

/// The clock of stamps before its offset: milliseconds, modulo 2³² as the option has it.
pub(crate) fn ticks(now: Instant) -> u32 {
    (now.as_ns() / 1_000_000) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamps(value: u32) -> Timestamps {
        Timestamps { value, echo: 0 }
    }

    #[test]
    fn older_is_refused_across_the_wrap_until_outdated() {
        let mut state = TimestampState::new(0);
        assert!(!state.is_old(stamps(77), Instant::ZERO), "nothing came before the first");
        state.update(stamps(5), 1, 1, Instant::ZERO);
        assert!(state.is_old(stamps(u32::MAX), Instant::ZERO));
        assert!(!state.is_old(stamps(5), Instant::ZERO) && !state.is_old(stamps(6), Instant::ZERO));
        let later = Instant::ZERO + OUTDATED + Duration::from_ns(1);
        assert!(!state.is_old(stamps(4), later), "24 days make TS.Recent invalid");
    }

    #[test]
    fn a_stamp_beyond_the_last_ack_is_not_kept() {
        let mut state = TimestampState::new(0);
        state.update(stamps(5), 1, 1, Instant::ZERO);
        state.update(stamps(9), 100, 1, Instant::ZERO);
        assert_eq!(state.stamp(Instant::ZERO).echo, 5);
    }
}
