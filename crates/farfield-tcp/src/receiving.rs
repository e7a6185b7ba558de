//! The receive sequence space (RFC 9293 §3.3.1) and the window that is offered in it.

use crate::config::ReceiveBuffer;
use crate::reassembly::Reassembly;
use crate::right_sizing::RightSizing;
use crate::seq::{Position, SeqNumber};

/// Positions in the peer's direction.
#[derive(Debug)]
pub(crate) struct Receiving {
    /// IRS.
    pub(crate) isn: SeqNumber,
    /// RCV.NXT.
    pub(crate) nxt: Position,
    /// RCV.NXT + RCV.WND as last advertised to the peer: never moves back (RFC 9293 SHLD-14).
    pub(crate) edge: Position,
    /// The buffer that the window stands for. It may grow, and never shrinks.
    pub(crate) buffer: u32,
    /// Size of the buffer.
    pub(crate) sizing: RightSizing,
    /// Bytes that the application has been given and not used.
    pub(crate) unread: u32,
    /// Data that came out of order.
    pub(crate) reassembly: Option<Box<Reassembly>>,
    /// Position of the peer's FIN, once it came; [`Position::MAX`] before.
    pub(crate) fin: Position,
    /// Last.ACK.sent of RFC 7323 §4.3.
    pub(crate) last_ack_sent: Position,
}

impl Receiving {
    pub(crate) fn new(buffer: ReceiveBuffer) -> Receiving {
        Receiving {
            isn: SeqNumber(0),
            nxt: 0,
            edge: 0,
            buffer: buffer.initial(),
            sizing: RightSizing::new(buffer),
            unread: 0,
            reassembly: None,
            fin: Position::MAX,
            last_ack_sent: 0,
        }
    }

    /// The peer's SYN came; without scaling a window is at most 65,535.
    pub(crate) fn begin(&mut self, isn: SeqNumber, scaling: bool) {
        self.isn = isn;
        self.nxt = 1;
        if !scaling {
            self.buffer = self.buffer.min(u32::from(u16::MAX));
            self.sizing.cap(u32::from(u16::MAX));
        }
        self.edge = 1 + Position::from(self.buffer.min(u32::from(u16::MAX)));
    }

    /// The acceptance test of RFC 9293 §3.10.7.4 (table 6) for `len` positions at `seq`.
    pub(crate) fn accepts(&self, seq: Position, len: Position) -> bool {
        if len == 0 {
            // The RFC's rows for SEG.LEN = 0, and the edge itself besides: a sender that has filled the
            // window sends its ACKs from there, and they would be lost on us.
            return self.nxt <= seq && seq <= self.edge;
        }
        // RCV.NXT =< SEG.SEQ < RCV.NXT+RCV.WND, or the same of the last position
        let within = |at: Position| self.nxt <= at && at < self.edge;
        within(seq)
            || within(seq + len - 1)
            || (seq < self.nxt && seq + len > self.edge && self.nxt < self.edge)
    }

    /// Position that the window could reach now.
    pub(crate) fn reach(&self) -> Position {
        self.nxt + Position::from(self.buffer.saturating_sub(self.unread))
    }

    /// The window to send, shifted; moves the edge.
    pub(crate) fn advertise(&mut self, shift: u8, rmss: u32) -> u16 {
        // RFC 9293 §3.8.6.2.2: the edge moves in steps of min (buffer / 2, Eff.snd.MSS)
        if self.reach() - self.edge >= Position::from(rmss.min(self.buffer / 2)) {
            self.edge = self.reach();
        }
        // Rounded up, so that what the shift cuts off does not look like a window that shrinks (RFC 7323
        // §2.4).
        let open = (self.edge - self.nxt).max(0);
        let field = ((open + (1 << shift) - 1) >> shift).min(Position::from(u16::MAX));
        self.edge = self.edge.max(self.nxt + (field << shift));
        field as u16
    }
}
