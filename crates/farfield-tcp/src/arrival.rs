//! A segment arrives: the checks of RFC 9293 §3.10.7.4 in their order, hardened by RFC 5961 and RFC 7323.

use crate::connection::Connection;
use crate::event::Failure;
use crate::segment::Segment;
use crate::seq::Position;
use crate::state::State;
use crate::stray::Reset;
use crate::timers::Timer;
use farfield_base::Instant;

impl Connection {
    /// Takes one segment with its data. What is next in order is given to `deliver` at once, in pieces; the
    /// end of the peer's data is reported by [`Event::PeerFinished`](crate::Event). `payload` may be up to 64
    /// KiB of merged segments; `segment.payload_len` is its length.
    pub fn handle_segment(
        &mut self,
        now: Instant,
        segment: &Segment,
        payload: &[u8],
        mut deliver: impl FnMut(&[u8]),
    ) {
        debug_assert_eq!(segment.payload_len as usize, payload.len(), "the header names the data's length");
        match self.state {
            State::Closed => self.reset = Reset::to_stray(segment).or(self.reset),
            State::Listen => self.arrive_in_listen(now, segment),
            State::SynSent => self.arrive_in_syn_sent(now, segment, payload, &mut deliver),
            _ => self.arrive(now, segment, payload, &mut deliver),
        }
    }

    fn arrive(&mut self, now: Instant, segment: &Segment, payload: &[u8], deliver: &mut impl FnMut(&[u8])) {
        let flags = segment.flags;
        let mut seq = segment.seq.position(self.receive.isn, self.receive.nxt);
        let mut syn = flags.syn;
        if self.state == State::SynReceived && syn && !flags.rst && seq == 0 {
            // RFC 9293 §3.5 figure 8: a SYN again means that our SYN-ACK was lost; with an ACK both opened at
            // once, and what is left of the segment without its SYN is in order
            if !flags.ack {
                self.syn_due = true;
                return;
            }
            (seq, syn) = (1, false);
        }
        if syn && !flags.rst {
            // RFC 5961 §4.2: a SYN in a synchronized state is challenged, whatever its number; and whatever
            // its stamp: a peer that begins anew knows nothing of what was agreed upon
            self.challenge(now);
            return;
        }
        if !self.passes_timestamps(now, segment) {
            return;
        }
        let len = payload.len() as Position + Position::from(syn) + Position::from(flags.fin);
        let acceptable = self.receive.accepts(seq, len);
        if !acceptable && !self.handle_unacceptable(now, segment, seq, len) {
            return;
        }
        if flags.rst {
            return self.handle_reset(now, seq);
        }
        // Fifth: without ACK, drop
        let ack = segment.ack.position(self.send.isn, self.send.una);
        if !flags.ack || !self.passes_acknowledgment(now, segment, seq, ack) {
            return;
        }
        // RFC 7323 §4.3 and §5.3 R3: of segments that are accepted alone, or a forged one could stop the
        // peer's
        if let Some(stamps) = segment.options.timestamps.filter(|_| acceptable && self.agreed.timestamps) {
            self.stamps.update(stamps, seq, self.receive.last_ack_sent, now);
        }
        if acceptable {
            self.take_mark(segment);
        }
        if self.handle_ack(now, segment, seq, len) {
            // Seventh and eighth
            self.take_text(now, segment, seq, payload, deliver);
        }
    }

    /// RFC 7323 §3.2 and §5.3 R1.
    fn passes_timestamps(&mut self, now: Instant, segment: &Segment) -> bool {
        if !self.agreed.timestamps || segment.flags.rst {
            return true;
        }
        let Some(stamps) = segment.options.timestamps else {
            // RFC 7323 §3.2: a segment without the option that was agreed upon is dropped silently
            self.counters.refused += 1;
            return false;
        };
        let old = self.stamps.is_old(stamps, now);
        if old {
            // RFC 7323 §5.3 R1: acknowledge as for any unacceptable segment, and drop
            self.counters.refused += 1;
            self.acknowledge_refused(now, segment.sequence_len() > 0);
        }
        !old
    }

    /// First: the sequence number is not acceptable. True if the acknowledgment is still to be taken.
    fn handle_unacceptable(&mut self, now: Instant, segment: &Segment, seq: Position, len: Position) -> bool {
        if segment.flags.rst {
            self.counters.refused += 1;
            return false;
        }
        // RFC 9293 §3.10.7.4: in TIME-WAIT, the FIN again restarts the 2 MSL
        if self.state == State::TimeWait && segment.flags.fin {
            self.enter_time_wait(now);
        }
        self.acknowledge_refused(now, len > 0);
        // §3.10.7.4: with a closed window, ACKs and RSTs are still taken: this is a window probe
        let probe = seq == self.receive.nxt && self.receive.edge == self.receive.nxt;
        self.counters.refused += u32::from(!probe);
        probe
    }

    /// Second: a RST in the window.
    fn handle_reset(&mut self, now: Instant, seq: Position) {
        // RFC 5961 §3.2: exactly RCV.NXT resets; anything else in the window is challenged
        if seq != self.receive.nxt {
            return self.challenge(now);
        }
        match self.state {
            State::SynReceived => self.fail(Failure::Refused),
            State::Closing | State::LastAck | State::TimeWait => self.finish(),
            _ => self.fail(Failure::Reset),
        }
    }

    /// The ACK that an unacceptable segment gets (§3.10.7.4, first). One without data might be such an ACK
    /// itself: those are limited, or two peers out of step would answer each other for ever.
    fn acknowledge_refused(&mut self, now: Instant, has_length: bool) {
        if has_length || self.challenges.admit(now) {
            self.ack_due = true;
        }
    }

    /// RFC 5961 §7.
    pub(crate) fn challenge(&mut self, now: Instant) {
        self.counters.refused += 1;
        if self.challenges.admit(now) {
            self.ack_due = true;
        }
    }

    /// Starts R2 anew for what is unacknowledged, if anything is.
    pub(crate) fn note_progress(&mut self, now: Instant) {
        let waiting = self.timers.runs(Timer::Retransmit) || self.timers.runs(Timer::Persist);
        match self.config.abandon_after.filter(|_| waiting) {
            Some(after) => self.timers.set(Timer::Abandon, now + after),
            None => self.timers.stop(Timer::Abandon),
        }
    }
}
