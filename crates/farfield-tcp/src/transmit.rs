//! Segments to send: resets, SYNs, lost data, new data as windows allow, acknowledgments, in this order.

use crate::connection::Connection;
use crate::recovery::Phase;
use crate::scoreboard::NextSeg;
use crate::segment::{Ecn, Flags, Options, Segment};
use crate::seq::Position;
use crate::state::State;
use crate::timers::Timer;
use farfield_base::Instant;
use std::ops::Range;

/// A segment to send, with the bytes of the stream that it carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transmit {
    /// The header.
    pub segment: Segment,
    /// Offsets in what was written: [`Connection::payload`] gives the bytes.
    pub payload: Range<u64>,
}

/// Why a range of positions is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// The range is next: new, or going back after a timeout.
    Next,
    /// Loss recovery found it lost.
    Lost,
    /// The window is closed, or too small, and is probed.
    Probe,
}

impl Connection {
    /// The next segment to send, if there is one now. The owner calls it until there is none.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        if let Some(reset) = self.reset.take() {
            let mut segment = reset.into_segment();
            // RFC 7323 §3.2: a RST, too, should carry what was agreed upon
            segment.options.timestamps = self.agreed.timestamps.then(|| self.stamps.stamp(now));
            return Some(Transmit { segment, payload: 0..0 });
        }
        match self.state {
            State::Listen => None,
            State::SynSent => self.poll_syn(now),
            State::SynReceived => self.poll_syn(now).or_else(|| self.poll_ack(now)),
            _ => self.poll_data(now).or_else(|| self.poll_ack(now)),
        }
    }

    fn poll_data(&mut self, now: Instant) -> Option<Transmit> {
        if !self.state.can_send() {
            return None;
        }
        let idle = self.send.una == self.send.max;
        if idle && self.send.has_more() && now.since(self.send.sent_at) > self.rto() {
            // RFC 5681 §4.1: after an idle retransmission timeout, begin from the restart window
            let restart = self.config.initial_window.bytes(self.window.smss);
            self.window.cwnd = self.window.cwnd.min(restart);
        }
        match self.choose() {
            Some((range, cause)) => Some(self.send_range(now, range, cause)),
            None => {
                // RFC 9293 §3.8.6.1: something to send, nothing outstanding to bring an ACK: the window is
                // the reason
                let silent = self.send.una == self.send.nxt && self.send.has_more();
                if silent && !self.timers.runs(Timer::Retransmit) && !self.timers.runs(Timer::Persist) {
                    self.arm_persist(now);
                }
                None
            }
        }
    }

    fn choose(&mut self) -> Option<(Range<Position>, Cause)> {
        let limit = self.segment_limit();
        let una = self.send.una;
        if std::mem::take(&mut self.recovery.retransmit_first) {
            let hole_end = self.recovery.board.as_ref().map_or(Position::MAX, |board| board.hole_from(una).1);
            let end = (una + limit).min(self.send.max).min(hole_end);
            if let Some(board) = &mut self.recovery.board {
                board.high_rxt = end;
            }
            if end > una {
                return Some((una..end, Cause::Lost));
            }
        }
        if std::mem::take(&mut self.send.probe_due) && una == self.send.nxt && self.send.has_more() {
            // RFC 9293 §3.8.6.1: at least one octet; §3.8.6.2.1 (4): the override timeout sends what the
            // window takes, which is a segment like others
            let room = Position::from(self.send.wnd).min(limit);
            let end = (una + room.max(1)).min(self.send.data_end()).max(una + 1);
            return Some((una..end, if room > 0 { Cause::Next } else { Cause::Probe }));
        }
        if self.recovery.phase == Phase::Fast && self.recovery.board.is_some() {
            return self.choose_by_sack(limit);
        }
        let next = self.next_range(limit)?;
        let room = u64::from(self.window.cwnd) + self.limited_allowance();
        let flight = self.flight();
        // A FIN takes a position and no room: it waits for no window that its segment's data has
        let data = (next.end.min(self.send.data_end()) - next.start) as u64;
        let fits = flight == 0 || flight + data <= room;
        fits.then_some((next, Cause::Next))
    }

    /// RFC 6675 §5 step C: while cwnd - pipe >= 1 SMSS, the segment that NextSeg () names.
    fn choose_by_sack(&mut self, limit: Position) -> Option<(Range<Position>, Cause)> {
        let smss = self.window.smss;
        if u64::from(self.window.cwnd) < self.flight() + u64::from(smss) {
            return None;
        }
        let next = self.next_range(limit);
        let (una, nxt, point) = (self.send.una, self.send.nxt, self.recovery.point);
        // A partial ACK is the arrival of a retransmission, which was sent after all that lies before
        // RecoveryPoint
        let tail_overtaken = self.recovery.partial && self.send.max == point;
        let board = self.recovery.board.as_mut()?;
        match board.next_seg(una, nxt, limit as u32, next.is_some(), tail_overtaken)? {
            NextSeg::Hole(hole) => {
                // Step C.2: HighRxt
                board.high_rxt = hole.end;
                Some((hole, Cause::Lost))
            }
            NextSeg::New => next.map(|next| (next, Cause::Next)),
            NextSeg::Rescue(tail) => {
                // NextSeg rule 4: RescueRxt is set to RecoveryPoint, HighRxt stays
                board.rescue_rxt = Some(point);
                Some((tail, Cause::Lost))
            }
        }
    }

    /// Range that lies next in the stream, as far as the peer's window and the sender's manners allow.
    fn next_range(&self, limit: Position) -> Option<Range<Position>> {
        let send = &self.send;
        let again = send.nxt < send.max;
        let (start, hole_end) = match self.recovery.board.as_ref().filter(|_| again) {
            Some(board) => board.hole_from(send.nxt),
            None => (send.nxt, Position::MAX),
        };
        // D and U of RFC 9293 §3.8.6.2.1
        let available = send.data_end() - start;
        let usable = send.una + Position::from(send.wnd) - start;
        let len = available.min(usable).min(limit).min(hole_end - start);
        let fin = send.fin && len == available && usable > len && available >= 0;
        if len < 0 || usable <= 0 || (len == 0 && !fin) {
            return None;
        }
        // RFC 9293 §3.8.6.2.1 (1): a full segment; a FIN or a retransmission waits for nothing
        let full = len >= limit || fin || start < send.max;
        // (2), (3): all there is, or half the largest window, if nothing is outstanding or Nagle is off
        // (§3.7.4)
        let patient = self.config.nagle && send.nxt > send.una;
        let worth = !patient && (len == available || len >= Position::from(send.wnd_max / 2));
        (full || worth).then_some(start..start + len + Position::from(fin))
    }

    fn send_range(&mut self, now: Instant, range: Range<Position>, cause: Cause) -> Transmit {
        let again = range.start < self.send.max;
        let data_end = self.send.data_end();
        let (from, to) = (range.start.min(data_end), range.end.min(data_end));
        if again {
            self.counters.retransmits += 1;
            // RFC 6298 §3: Karn's algorithm
            self.send.timed = None;
        } else if self.send.timed.is_none() && cause == Cause::Next {
            self.send.timed = Some((range.end, now));
        }
        if cause == Cause::Next {
            self.send.nxt = range.end;
            if !again && self.recovery.phase == Phase::Open && self.recovery.dup_acks > 0 {
                self.recovery.limited += (range.end - range.start) as u32;
            }
        }
        self.send.max = self.send.max.max(range.end);
        self.send.sent_at = now;
        // RFC 6298 §5.1
        if cause != Cause::Probe && !self.timers.runs(Timer::Retransmit) {
            self.timers.stop(Timer::Persist);
            self.timers.set(Timer::Retransmit, now + self.rto());
            self.note_progress(now);
        } else if cause == Cause::Lost && range.start == self.send.una {
            // RFC 6675 §6: a retransmission re-arms the timer, here that of the first hole (as in Linux): its
            // ACK takes a round trip, and what is left of the timer may be less. RFC 6582 §3.2 step 3:
            // without SACK a partial ACK after the first does not.
            if self.agreed.sack || !self.recovery.partial {
                self.timers.set(Timer::Retransmit, now + self.rto());
            }
        }
        let has_data = to > from;
        let (ecn, cwr) = self.ecn_of_data(again || !has_data || cause == Cause::Probe);
        let flags = Flags {
            cwr,
            fin: range.end > data_end,
            // RFC 9293 §3.9.1.2: PSH on the last segment of what there is
            psh: to == data_end && has_data,
            ..Flags::ACK
        };
        let mut transmit = self.emit(now, range.start, flags, (from - 1) as u64..(to - 1) as u64);
        transmit.segment.ecn = ecn;
        transmit
    }

    fn poll_ack(&mut self, now: Instant) -> Option<Transmit> {
        // RFC 9293 §3.10.7.4: <SEQ=SND.NXT><ACK=RCV.NXT><CTL=ACK>
        self.ack_due.then(|| self.emit(now, self.send.max, Flags::ACK, 0..0))
    }

    /// Puts the acknowledgment, window and options on a segment of a synchronized connection.
    fn emit(&mut self, now: Instant, seq: Position, flags: Flags, payload: Range<u64>) -> Transmit {
        self.ack_due = false;
        self.timers.stop(Timer::DelayedAck);
        self.delayed_ack.handle_sent();
        self.receive.last_ack_sent = self.receive.nxt;
        let segment = Segment {
            seq: self.send.isn.at(seq),
            ack: self.receive.isn.at(self.receive.nxt),
            flags: Flags { ece: self.echoes_mark(), ..flags },
            window: self.receive.advertise(self.agreed.own_shift, self.agreed.rmss(&self.config)),
            options: self.options(now),
            payload_len: (payload.end - payload.start) as u32,
            ecn: Ecn::NotEct,
        };
        Transmit { segment, payload }
    }

    fn options(&self, now: Instant) -> Options {
        let mut options = Options {
            timestamps: self.agreed.timestamps.then(|| self.stamps.stamp(now)),
            ..Options::default()
        };
        if let Some(reassembly) = self.receive.reassembly.as_ref().filter(|_| self.agreed.sack) {
            for block in reassembly.blocks().take(self.sack_blocks_max()) {
                options.sack.push(self.receive.isn.at(block.start), self.receive.isn.at(block.end));
            }
        }
        options
    }

    /// RFC 2018 §3: 40 bytes of options hold four blocks, or three beside timestamps.
    fn sack_blocks_max(&self) -> usize {
        if self.agreed.timestamps { 3 } else { 4 }
    }

    /// Bytes of data that fit in a segment now: SMSS less the room of SACK blocks (RFC 9293 §3.7.1).
    fn segment_limit(&self) -> Position {
        let reassembly = self.receive.reassembly.as_ref().filter(|_| self.agreed.sack);
        let blocks =
            reassembly.map_or(0, |reassembly| reassembly.blocks().take(self.sack_blocks_max()).count());
        let room = if blocks > 0 { 4 + 8 * blocks as i64 } else { 0 };
        (Position::from(self.window.smss) - room).max(1)
    }
}
