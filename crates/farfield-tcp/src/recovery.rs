//! Loss recovery: fast retransmit and recovery (RFC 5681 §3.2), NewReno (RFC 6582), by SACK (RFC 6675), and
//! the slow start after a timeout.

use crate::config::LossRecovery;
use crate::congestion::CongestionControl;
use crate::connection::Connection;
use crate::scoreboard::{DUP_THRESH, Scoreboard};
use crate::seq::Position;

/// Phase of the sender with regard to losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Phase {
    /// Nothing is known to be lost.
    #[default]
    Open,
    /// Fast recovery.
    Fast,
    /// After a timeout, until all that was sent before it is acknowledged.
    Timeout,
}

#[derive(Debug, Default)]
pub(crate) struct Recovery {
    pub(crate) phase: Phase,
    pub(crate) dup_acks: u32,
    /// RecoveryPoint of RFC 6675 and "recover" of RFC 6582: the end of what was sent when the phase began.
    pub(crate) point: Position,
    /// The first segment is to be sent again, whatever the window.
    pub(crate) retransmit_first: bool,
    /// A partial ACK has come in this recovery: its first retransmission has arrived.
    pub(crate) partial: bool,
    /// Bytes sent by limited transmit since the last new acknowledgment.
    pub(crate) limited: u32,
    /// The ACK being processed ended fast recovery: it sets the window and does not let it grow.
    pub(crate) just_left: bool,
    /// Ranges that are SACKed; only while any are.
    pub(crate) board: Option<Box<Scoreboard>>,
}

impl Connection {
    /// Bytes thought to be in the network: FlightSize of RFC 5681, or pipe of RFC 6675.
    pub(crate) fn flight(&self) -> u64 {
        let (una, nxt) = (self.send.una, self.send.nxt);
        let sent = (nxt - una) as u64;
        match (&self.recovery.board, self.recovery.phase) {
            (None, _) => sent,
            (Some(board), Phase::Timeout) => sent - board.sacked(una, nxt),
            // Without limited transmit (RFC 6675 §5 step 3) SACKed bytes do not make room
            (Some(_), Phase::Open) if !self.config.limited_transmit => sent,
            (Some(board), _) => board.pipe(una, nxt, self.window.smss),
        }
    }

    /// Allowance of limited transmit beyond the congestion window, in bytes: a segment for each of the first
    /// two duplicate ACKs (RFC 3042 §2). With SACK the pipe has made the room already.
    pub(crate) fn limited_allowance(&self) -> u64 {
        let open = self.recovery.phase == Phase::Open && self.config.limited_transmit && !self.agreed.sack;
        if open { u64::from(self.recovery.dup_acks.min(2)) * u64::from(self.window.smss) } else { 0 }
    }

    /// A duplicate acknowledgment.
    pub(crate) fn handle_duplicate(&mut self) {
        self.recovery.dup_acks = self.recovery.dup_acks.saturating_add(1);
        match self.recovery.phase {
            // RFC 5681 §3.2 step 4: a segment has left the network; with SACK the pipe knows
            Phase::Fast if !self.agreed.sack => {
                self.window.cwnd = self.window.cwnd.saturating_add(self.window.smss);
            }
            Phase::Fast | Phase::Timeout => {}
            Phase::Open => {
                // RFC 6675 §5 steps 1 and 2: DupThresh duplicates, or the first hole is lost
                let smss = self.window.smss;
                let board = self.recovery.board.as_ref();
                let lost = board.is_some_and(|board| board.lost_before(smss) > self.send.una);
                if (self.recovery.dup_acks as usize >= DUP_THRESH || lost) && self.may_enter_fast() {
                    self.enter_fast();
                }
            }
        }
    }

    /// RFC 6582 §3.2 step 2: not for duplicates that an earlier recovery's retransmissions caused.
    fn may_enter_fast(&self) -> bool {
        let wary = !self.agreed.sack && self.config.recovery == LossRecovery::NewReno;
        !wary || self.send.una > self.recovery.point
    }

    fn enter_fast(&mut self) {
        // RFC 5681 §3.2 step 2: what limited transmit sent does not count as flight
        let outstanding = (self.send.max - self.send.una) as u32;
        if !self.has_reduced_for_mark() {
            self.control.reduce(&mut self.window, outstanding.saturating_sub(self.recovery.limited));
        }
        self.note_reduction();
        self.counters.recoveries += 1;
        self.recovery.phase = Phase::Fast;
        self.recovery.point = self.send.max;
        self.recovery.partial = false;
        self.recovery.retransmit_first = true;
        self.window.cwnd = match &mut self.recovery.board {
            // RFC 6675 §5 step 4.2, 4.3
            Some(board) => {
                board.high_rxt = self.send.una;
                board.rescue_rxt = None;
                self.window.ssthresh
            }
            // RFC 5681 §3.2 step 3
            None => self.window.ssthresh + DUP_THRESH as u32 * self.window.smss,
        };
    }

    /// New data is acknowledged; SND.UNA is `ack` already. False if the retransmission timer must not
    /// restart.
    pub(crate) fn recover_by_ack(&mut self, ack: Position, acked: u32) -> bool {
        self.recovery.dup_acks = 0;
        self.recovery.limited = 0;
        let full = ack >= self.recovery.point;
        let restart = match self.recovery.phase {
            Phase::Open => true,
            Phase::Timeout => {
                if full {
                    self.recovery.phase = Phase::Open;
                }
                true
            }
            Phase::Fast if self.agreed.sack => {
                self.recovery.partial = true;
                if full {
                    self.leave_fast(self.window.ssthresh);
                }
                true
            }
            Phase::Fast => self.recover_without_sack(full, acked),
        };
        let done = self.recovery.phase == Phase::Open;
        if done && self.recovery.board.as_ref().is_some_and(|board| board.is_empty()) {
            self.recovery.board = None;
        }
        restart
    }

    fn recover_without_sack(&mut self, full: bool, acked: u32) -> bool {
        let smss = self.window.smss;
        match self.config.recovery {
            // RFC 5681 §3.2 step 6: any new ACK deflates the window
            LossRecovery::Reno => self.leave_fast(self.window.ssthresh),
            // RFC 6582 §3.2 step 3, full: min (ssthresh, max (FlightSize, SMSS) + SMSS)
            LossRecovery::NewReno if full => {
                let flight = self.flight().min(u64::from(u32::MAX / 2)) as u32;
                self.leave_fast(self.window.ssthresh.min(flight.max(smss) + smss));
            }
            // RFC 6582 §3.2 step 3, partial: the next hole; deflate by what is acknowledged, add back a
            // segment; the timer restarts with the first partial ACK only
            LossRecovery::NewReno => {
                self.recovery.retransmit_first = true;
                let deflated = self.window.cwnd.saturating_sub(acked);
                self.window.cwnd = (deflated + if acked >= smss { smss } else { 0 }).max(smss);
                return !std::mem::replace(&mut self.recovery.partial, true);
            }
        }
        true
    }

    fn leave_fast(&mut self, cwnd: u32) {
        self.recovery.phase = Phase::Open;
        self.recovery.retransmit_first = false;
        self.recovery.just_left = true;
        self.window.cwnd = cwnd.max(self.window.smss);
    }

    /// The retransmission timer expired: RFC 5681 §3.1, RFC 6582 §4, RFC 6675 §5.1.
    pub(crate) fn enter_timeout(&mut self) {
        // RFC 5681 equation (4), unless this segment was sent again by the timer before
        if self.recovery.phase != Phase::Timeout || self.send.una >= self.recovery.point {
            let flight = (self.send.max - self.send.una) as u32;
            self.control.reduce(&mut self.window, flight);
            self.note_reduction();
        }
        self.control.handle_timeout();
        self.window.cwnd = self.window.smss;
        let una = self.send.una;
        if let Some(board) = &mut self.recovery.board {
            // RFC 2018 §8, RFC 6675 §5.1: what is SACKed is believed after a first timeout, unless the peer
            // shows that it has thrown data away; a second timeout in a row forgets it
            if board.shows_reneging(una) || self.recovery.phase == Phase::Timeout {
                board.clear();
            }
        }
        self.recovery.phase = Phase::Timeout;
        self.recovery.dup_acks = 0;
        self.recovery.limited = 0;
        self.recovery.retransmit_first = false;
        self.recovery.point = self.send.max;
    }
}
