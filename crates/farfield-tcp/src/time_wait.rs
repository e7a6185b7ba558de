//! TIME-WAIT without the connection: what must be known to answer for it, in 32 bytes.
//!
//! An active closer stays in TIME-WAIT for a minute (RFC 9293 §3.6.1), and a client that closes first has
//! hundreds of connections there for each one open. Nothing of a connection's transfer matters any more: its
//! two final sequence numbers and its timestamps do.
//!
//! Absent by design: when the four-tuple is used again by an active open is the owner's affair.

use crate::connection::Connection;
use crate::segment::{Flags, Options, Segment, Timestamps};
use crate::seq::SeqNumber;
use crate::state::State;
use farfield_base::{Duration, Instant};

/// A connection of which only TIME-WAIT is left; from [`Connection::time_wait`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeWait {
    until: Instant,
    /// SND.NXT.
    seq: SeqNumber,
    /// RCV.NXT.
    ack: SeqNumber,
    /// TS.Recent.
    recent: u32,
    /// Offset of our timestamp clock from the time of the run.
    offset: u32,
    /// The window field of the last ACK.
    window: u16,
    timestamps: bool,
}

/// Consequence of a segment for a connection in TIME-WAIT. Closed: an owner acts on each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TimeWaitReply {
    /// The segment is dropped.
    Nothing,
    /// The segment is answered with this acknowledgment.
    Acknowledge(Segment),
    /// A RST with the exact number ended it (RFC 9293 §3.10.7.4, RFC 5961 §3.2).
    Over,
    /// A SYN of a new connection that cannot be mistaken for the old one (RFC 9293 §3.10.7.4, MAY-2; RFC 6191
    /// §2): its owner may listen anew and hand the SYN to that connection, whose initial sequence number is
    /// to be beyond this.
    Reopen(SeqNumber),
}

impl TimeWait {
    /// Instant at which it is over.
    pub fn until(&self) -> Instant {
        self.until
    }

    /// Takes one segment; a FIN that came again makes the wait begin anew, for `time_wait` from `now`.
    pub fn handle_segment(&mut self, now: Instant, segment: &Segment, time_wait: Duration) -> TimeWaitReply {
        let flags = segment.flags;
        let ahead = segment.seq.0.wrapping_sub(self.ack.0) as i32;
        if flags.rst {
            return if ahead == 0 { TimeWaitReply::Over } else { TimeWaitReply::Nothing };
        }
        let stamped = segment.options.timestamps.filter(|_| self.timestamps);
        let newer = stamped.map(|stamps| stamps.value.wrapping_sub(self.recent) as i32);
        if flags.syn && !flags.ack {
            // RFC 6191 §2: a later timestamp; the same one, or none on either side, and a later sequence
            // number
            let fresh = newer.unwrap_or(0);
            return if fresh > 0 || (fresh == 0 && ahead > 0) {
                TimeWaitReply::Reopen(self.seq)
            } else {
                self.acknowledge(now)
            };
        }
        let old = newer.is_some_and(|newer| newer < 0);
        if flags.fin && ahead < 0 && !old {
            // RFC 9293 §3.10.7.4, eighth: restart the 2 MSL time-wait timeout
            self.until = now + time_wait;
        }
        // §3.10.7.4, first: what is not acceptable is acknowledged. A segment without length might be such an
        // ACK itself, and two ends in TIME-WAIT would answer each other for ever.
        if segment.sequence_len() > 0 { self.acknowledge(now) } else { TimeWaitReply::Nothing }
    }

    fn acknowledge(&self, now: Instant) -> TimeWaitReply {
        let value = self.offset.wrapping_add(crate::paws::ticks(now));
        let timestamps = self.timestamps.then_some(Timestamps { value, echo: self.recent });
        let options = Options { timestamps, ..Options::default() };
        let (seq, ack, window) = (self.seq, self.ack, self.window);
        TimeWaitReply::Acknowledge(Segment {
            seq,
            ack,
            flags: Flags::ACK,
            window,
            options,
            ..Segment::default()
        })
    }
}

impl Connection {
    /// Rest of a connection in [`State::TimeWait`] once its last acknowledgment is sent and its events are
    /// taken: keep this and drop the connection. `None` before that, and in every other state.
    ///
    /// The [`Event::Closed`](crate::Event::Closed) that would come at the end is then the owner's to report,
    /// at [`TimeWait::until`].
    pub fn time_wait(&self) -> Option<TimeWait> {
        let quiet = !self.ack_due && self.reset.is_none() && self.events.is_empty();
        if self.state != State::TimeWait || !quiet {
            return None;
        }
        let (recent, offset) = self.stamps.parts();
        let open = (self.receive.edge - self.receive.nxt).max(0) >> self.agreed.own_shift;
        Some(TimeWait {
            until: self.timers.earliest()?,
            seq: self.send.isn.at(self.send.max),
            ack: self.receive.isn.at(self.receive.nxt),
            recent,
            offset,
            window: open.min(i64::from(u16::MAX)) as u16,
            timestamps: self.agreed.timestamps,
        })
    }
}

const _: () = assert!(size_of::<TimeWait>() <= 32);
