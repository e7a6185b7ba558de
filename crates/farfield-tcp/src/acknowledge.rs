//! An acknowledgment arrives: RFC 9293 §3.10.7.4, fifth; RTT (RFC 6298), SACK (RFC 2018), and what recovery
//! learns from it.

use crate::congestion::{Acked, CongestionControl};
use crate::connection::Connection;
use crate::recovery::Phase;
use crate::segment::Segment;
use crate::seq::Position;
use crate::state::State;
use crate::stray::Reset;
use crate::timers::Timer;
use farfield_base::Instant;

impl Connection {
    /// Fifth: true if the acknowledgment can be one of what was sent. That of our SYN establishes the
    /// connection.
    pub(crate) fn passes_acknowledgment(
        &mut self,
        now: Instant,
        segment: &Segment,
        seq: Position,
        ack: Position,
    ) -> bool {
        if self.state == State::SynReceived {
            // RFC 9293 §3.10.7.4: SND.UNA < SEG.ACK =< SND.NXT, or <SEQ=SEG.ACK><CTL=RST>
            if ack <= self.send.una || ack > self.send.max {
                self.counters.refused += 1;
                self.reset = Some(Reset { seq: segment.ack, ack: None });
                return false;
            }
            self.take_echo_of_syn(now, segment);
            self.establish(now, seq, ack, self.agreed.window_in(segment));
        } else if ack > self.send.max || ack < self.send.una - Position::from(self.send.wnd_max) {
            // RFC 5961 §5.2: an ACK outside [SND.UNA - MAX.SND.WND, SND.NXT] is challenged
            self.challenge(now);
            return false;
        }
        true
    }

    /// Takes an acknowledgment that passed. False if the rest of the segment is to be dropped.
    pub(crate) fn handle_ack(
        &mut self,
        now: Instant,
        segment: &Segment,
        seq: Position,
        len: Position,
    ) -> bool {
        let ack = segment.ack.position(self.send.isn, self.send.una);
        self.take_echo_of_mark(segment, ack);
        let fresh = self.take_sack(segment, ack);
        let same_window = self.take_window(segment, seq, ack);
        if ack > self.send.una {
            self.advance(now, segment, ack);
            // RFC 6675 §2: what reports SACKed bytes for the first time is a duplicate, even if it
            // acknowledges more
            if fresh > 0 && self.send.una < self.send.nxt {
                self.handle_duplicate();
            }
        } else if ack == self.send.una && self.send.una < self.send.nxt {
            // RFC 5681 §2: a duplicate ACK comes while data is outstanding (a window probe is not), has no
            // data, SYN or FIN, and the same window. With SACK (RFC 6675 §2) it is one that reports bytes not
            // known before.
            let duplicate = if self.agreed.sack { fresh > 0 } else { len == 0 && same_window };
            if duplicate {
                self.handle_duplicate();
            }
        }
        if self.send.wnd == 0 {
            self.note_progress(now);
        }
        self.leave_states_by_ack(now)
    }

    /// SND.WND, SND.WL1, SND.WL2. True if the window did not change.
    fn take_window(&mut self, segment: &Segment, seq: Position, ack: Position) -> bool {
        let wnd = self.agreed.window_in(segment);
        let same = wnd == self.send.wnd;
        let send = &mut self.send;
        // RFC 9293 §3.10.7.4: SND.UNA =< SEG.ACK, and SND.WL1 < SEG.SEQ, or equal and SND.WL2 =< SEG.ACK.
        // A segment that acknowledges more is later too, whatever its number: were its window not taken, the
        // one of before would move on with SND.UNA, beyond all that was offered
        let later = send.una < ack || send.wl1 < seq || (send.wl1 == seq && send.wl2 <= ack);
        if ack >= send.una && later {
            send.offer(wnd, seq, ack);
            if wnd > 0 {
                send.probes = 0;
                self.timers.stop(Timer::Persist);
            }
        }
        same
    }

    /// The SACK blocks: how many bytes they report for the first time.
    fn take_sack(&mut self, segment: &Segment, ack: Position) -> u64 {
        if !self.agreed.sack || segment.options.sack.is_empty() {
            return 0;
        }
        let una = self.send.una.max(ack);
        let mut fresh = 0;
        for (left, right) in segment.options.sack.as_slice() {
            let left = left.position(self.send.isn, una);
            let right = right.position(self.send.isn, una);
            // Below the acknowledgment: D-SACK (RFC 2883). Beyond what was sent, or empty: nonsense.
            if left >= una && left < right && right <= self.send.max {
                fresh += self.recovery.board.get_or_insert_default().insert(left..right);
            }
        }
        fresh
    }

    /// New data is acknowledged.
    fn advance(&mut self, now: Instant, segment: &Segment, ack: Position) {
        let flight = self.flight();
        let acked = (ack - self.send.una) as u32;
        self.send.una = ack;
        self.send.nxt = self.send.nxt.max(ack);
        self.send.buffer.release((ack - 1).max(0) as u64);
        if let Some(board) = &mut self.recovery.board {
            board.advance(ack);
        }
        self.take_round_trip(now, segment, ack);
        let restart = self.recover_by_ack(ack, acked);
        if self.recovery.phase != Phase::Fast && restart {
            // RFC 5681 §3.1 and RFC 7661: a window that was not used says nothing about the path and does not
            // grow
            let limited = flight + u64::from(self.window.smss) > u64::from(self.window.cwnd);
            if limited && !self.recovery.just_left {
                let (srtt, slow_start) = (self.rtt.srtt(), self.config.slow_start);
                self.control.grow(&mut self.window, Acked { now, bytes: acked, srtt, slow_start });
            }
        }
        self.recovery.just_left = false;
        // RFC 6298 §5.2: all acknowledged, off; §5.3: new data acknowledged, again from now
        if self.send.una == self.send.max {
            self.timers.stop(Timer::Retransmit);
        } else if restart {
            self.timers.set(Timer::Retransmit, now + self.rto());
        }
        self.note_progress(now);
    }

    /// RFC 6298 §3: Karn's algorithm, or the echoed stamp where a retransmission made the timing void. The
    /// timing of a segment sent once is exact, the stamp rounded to its clock: so the first is preferred.
    fn take_round_trip(&mut self, now: Instant, segment: &Segment, ack: Position) {
        match self.send.timed {
            Some((end, sent_at)) => {
                if end <= ack {
                    self.send.timed = None;
                    self.rtt.sample(now.since(sent_at), &self.config.rto);
                }
            }
            None => {
                let stamps = segment.options.timestamps.filter(|_| self.agreed.timestamps);
                if let Some(rtt) = stamps.and_then(|stamps| self.stamps.elapsed(stamps, now)) {
                    self.rtt.sample(rtt, &self.config.rto);
                }
            }
        }
    }

    /// State changes that the acknowledgment of our FIN leads to. False if the connection is over.
    fn leave_states_by_ack(&mut self, now: Instant) -> bool {
        if !self.send.fin_acknowledged() {
            return true;
        }
        match self.state {
            State::FinWait1 => {
                self.state = State::FinWait2;
                self.arm_fin_wait_2(now);
            }
            State::Closing => self.enter_time_wait(now),
            State::LastAck => {
                self.finish();
                return false;
            }
            _ => {}
        }
        true
    }

    /// Starts, or starts anew, the timer of FIN-WAIT-2 for a peer that has not closed.
    pub(crate) fn arm_fin_wait_2(&mut self, now: Instant) {
        if let Some(after) = self.config.fin_wait_2 {
            self.timers.set(Timer::Linger, now + after);
        }
    }
}
