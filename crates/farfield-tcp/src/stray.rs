//! The answer to a segment that belongs to no connection.

use crate::segment::{Flags, Segment};
use crate::seq::SeqNumber;

/// The reset that RFC 9293 §3.10.7.1 sends for a segment to a closed port; `None` for a reset, which gets no
/// answer.
pub fn reply_to_stray(segment: &Segment) -> Option<Segment> {
    Reset::to_stray(segment).map(Reset::into_segment)
}

/// A reset on its way out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reset {
    pub(crate) seq: SeqNumber,
    pub(crate) ack: Option<SeqNumber>,
}

impl Reset {
    pub(crate) fn to_stray(segment: &Segment) -> Option<Reset> {
        if segment.flags.rst {
            return None;
        }
        // RFC 9293 §3.10.7.1: <SEQ=SEG.ACK><CTL=RST>, or without an ACK
        // <SEQ=0><ACK=SEG.SEQ+SEG.LEN><CTL=RST,ACK>
        Some(if segment.flags.ack {
            Reset { seq: segment.ack, ack: None }
        } else {
            let after = segment.seq.at(i64::from(segment.sequence_len()));
            Reset { seq: SeqNumber(0), ack: Some(after) }
        })
    }

    pub(crate) fn into_segment(self) -> Segment {
        Segment {
            seq: self.seq,
            ack: self.ack.unwrap_or_default(),
            flags: if self.ack.is_some() { Flags::RST_ACK } else { Flags::RST },
            ..Segment::default()
        }
    }
}
