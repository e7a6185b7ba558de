//! Size of the receive buffer: fixed, or grown to what the application takes in a round trip.
//!
//! Dynamic right-sizing (Fisk and Feng 2001, "Dynamic right-sizing in TCP") as Linux 6.18 does it. The
//! receiver times round trips itself, counts what the application takes in each, and makes room for twice the
//! most, as what it counts is a round trip old; and for more while that grows, so that a sender in slow start
//! never meets the window. This bounds the buffer, which grows so far by twice what arrives: a sender with a
//! large congestion window is not invited to send all at once. The buffer never shrinks, and with it no
//! window (RFC 9293 §3.8.6).
//!
//! Absent by design: the memory that packets take in Linux, where the buffer is the data that it has room for
//! here; Linux's room for data that came out of order, which takes nothing from the window here; shortage of
//! memory; segments so small that Linux does not grow a window for them.

use crate::config::ReceiveBuffer;
use crate::seq::Position;
use farfield_base::{Duration, Instant};

/// Measurements of an application and its path.
#[derive(Debug)]
pub(crate) struct RightSizing {
    /// Largest size that the buffer may have now, in bytes.
    bound: u32,
    /// Largest size that it may ever have, in bytes.
    max: u32,
    /// The most bytes that the application took in a round trip.
    most_taken: u32,
    /// The round-trip time as the receiver sees it, in µs; 0 before it was measured.
    rtt_us: u32,
    /// Bytes that the application had taken when the measurement that runs began: the low bits of a position.
    from: u32,
    /// Start of the measurement.
    since: Instant,
    timing: Timing,
}

/// Method by which a receiver times round trips.
#[derive(Debug)]
enum Timing {
    /// By the first segment that echoes a stamp (RFC 7323 §4.1); this is the last echo that counted.
    Echo(u32),
    /// By a window's worth of data, which takes a round trip or more (Fisk and Feng): the low bits of where
    /// it ends, and when it began; [`Instant::MAX`] before data came.
    Window { end: u32, since: Instant },
}

impl RightSizing {
    pub(crate) fn new(buffer: ReceiveBuffer) -> RightSizing {
        RightSizing {
            bound: buffer.initial(),
            max: buffer.max(),
            most_taken: 1,
            rtt_us: 0,
            from: 0,
            since: Instant::ZERO,
            timing: Timing::Window { end: 0, since: Instant::MAX },
        }
    }

    /// Without scaling no window is larger than `bytes`.
    pub(crate) fn cap(&mut self, bytes: u32) {
        self.bound = self.bound.min(bytes);
        self.max = self.max.min(bytes);
    }

    /// The connection is established; data begins at position 1, in segments of `rmss` bytes.
    pub(crate) fn begin(&mut self, now: Instant, rmss: u32, timestamps: bool) {
        // Linux: an initial congestion window (RFC 6928) is expected, and is no reason to grow
        self.most_taken = self.bound.min(10 * rmss).max(1);
        (self.from, self.since) = (1, now);
        if timestamps {
            self.timing = Timing::Echo(0);
        }
    }

    /// True for a buffer that may still grow.
    pub(crate) fn may_grow(&self) -> bool {
        self.bound < self.max
    }

    /// A round trip timed by the stamp `echo`. The least counts at once, a longer one for an eighth, and not
    /// at all while the application is behind with reading.
    pub(crate) fn handle_echo(&mut self, echo: u32, rtt: Option<Duration>, unread: u32) {
        let Timing::Echo(last) = &mut self.timing else { return };
        if std::mem::replace(last, echo) == echo {
            return;
        }
        let Some(rtt_us) = rtt.map(micros) else { return };
        if self.rtt_us == 0 || rtt_us < self.rtt_us {
            self.rtt_us = rtt_us;
        } else if unread == 0 {
            self.rtt_us += (rtt_us - self.rtt_us) / 8;
        }
    }

    /// All came up to `nxt`, and `window` bytes are offered from there.
    pub(crate) fn handle_progress(&mut self, now: Instant, nxt: Position, window: u32) {
        let Timing::Window { end, since } = &mut self.timing else { return };
        let at = nxt as u32;
        if *since != Instant::MAX {
            if (at.wrapping_sub(*end) as i32) < 0 {
                return;
            }
            let rtt_us = micros(now.since(*since));
            self.rtt_us = if self.rtt_us == 0 { rtt_us } else { self.rtt_us.min(rtt_us) };
        }
        (*end, *since) = (at.wrapping_add(window), now);
    }

    /// The application has taken all up to `nxt` but `unread` bytes: ends the measurement if it took a round
    /// trip. What waits to be read counts against what was taken, so that a slow reader gets no more room.
    pub(crate) fn measure(&mut self, now: Instant, nxt: Position, unread: u32) {
        if self.rtt_us == 0 || now.since(self.since) < Duration::from_us(u64::from(self.rtt_us)) {
            return;
        }
        let taken_to = (nxt - Position::from(unread)) as u32;
        let taken = i64::from(taken_to.wrapping_sub(self.from) as i32) - i64::from(unread);
        (self.from, self.since) = (taken_to, now);
        if taken > i64::from(self.most_taken) {
            self.grow(taken as u32);
        }
    }

    /// The application took `taken` bytes in a round trip, more than ever before: room for twice as much, and
    /// for six times as much where it took twice what it took before.
    fn grow(&mut self, taken: u32) {
        let (taken_before, taken_now) = (u64::from(self.most_taken), u64::from(taken));
        let twice = 2 * taken_now;
        let growth = twice.saturating_mul(2 * (taken_now - taken_before)) / taken_before;
        let room = twice.saturating_add(growth).min(u64::from(self.max)) as u32;
        self.bound = self.bound.max(room);
        self.most_taken = taken;
    }

    /// The size of a buffer of `buffer` bytes after `bytes` have come, of which and of what came before
    /// `unread` wait to be read.
    pub(crate) fn enlarged(&self, buffer: u32, bytes: u32, unread: u32) -> u32 {
        let room = self.bound.saturating_sub(unread).saturating_sub(buffer);
        buffer + room.min(bytes.saturating_mul(2))
    }
}

fn micros(time: Duration) -> u32 {
    (time.as_ns() / 1_000).clamp(1, u64::from(u32::MAX)) as u32
}
