//! The send sequence space (RFC 9293 §3.3.1) and what lies in it.

use crate::send_buffer::SendBuffer;
use crate::seq::{Position, SeqNumber};
use farfield_base::Instant;

/// Positions in our direction: SYN at 0, data from 1, FIN after it.
#[derive(Debug)]
pub(crate) struct Sending {
    /// ISS.
    pub(crate) isn: SeqNumber,
    /// SND.UNA.
    pub(crate) una: Position,
    /// Position where sending goes on: SND.NXT, but set back to SND.UNA by a timeout.
    pub(crate) nxt: Position,
    /// SND.NXT of the RFC: after the highest ever sent.
    pub(crate) max: Position,
    /// SND.WND, scaled.
    pub(crate) wnd: u32,
    /// The largest window ever offered (Max.SND.WND of RFC 9293 §3.8.6.2.1 and RFC 5961 §5.2).
    pub(crate) wnd_max: u32,
    /// SND.WL1, in the peer's positions.
    pub(crate) wl1: Position,
    /// SND.WL2.
    pub(crate) wl2: Position,
    pub(crate) buffer: SendBuffer,
    /// The application has closed: a FIN follows the data.
    pub(crate) fin: bool,
    /// The segment whose round trip is being timed: its end, and when it was sent.
    pub(crate) timed: Option<(Position, Instant)>,
    /// Instant at which data was sent last.
    pub(crate) sent_at: Instant,
    /// A window probe is to be sent.
    pub(crate) probe_due: bool,
    /// Probes sent since the window closed.
    pub(crate) probes: u8,
}

impl Sending {
    pub(crate) fn new(isn: SeqNumber) -> Sending {
        Sending {
            isn,
            una: 0,
            nxt: 0,
            max: 0,
            wnd: 0,
            wnd_max: 0,
            wl1: 0,
            wl2: 0,
            buffer: SendBuffer::default(),
            fin: false,
            timed: None,
            sent_at: Instant::ZERO,
            probe_due: false,
            probes: 0,
        }
    }

    /// The position after the last byte written, which is that of the FIN.
    pub(crate) fn data_end(&self) -> Position {
        1 + self.buffer.end() as Position
    }

    /// True if data or a FIN was written and never sent.
    pub(crate) fn has_more(&self) -> bool {
        self.nxt < self.data_end() + Position::from(self.fin)
    }

    pub(crate) fn fin_acknowledged(&self) -> bool {
        self.fin && self.una > self.data_end()
    }

    /// Takes a window that the peer offers.
    pub(crate) fn offer(&mut self, wnd: u32, seq: Position, ack: Position) {
        self.wnd = wnd;
        self.wnd_max = self.wnd_max.max(wnd);
        (self.wl1, self.wl2) = (seq, ack);
    }
}
