//! A segment as the connection sees it: the header's meaning, without its bytes.
//!
//! Sequence numbers and options are those of [`farfield_wire`]. Fields that do not concern a connection
//! (ports, checksum, urgent pointer) are absent: the urgent mechanism is not implemented, and its data is
//! read in line, as RFC 6093 §5 has it.

use crate::seq::SeqNumber;
use std::fmt;

pub use farfield_wire::{Ecn, SackBlocks, TcpOptions as Options, Timestamps};

/// One TCP segment's header (RFC 9293 §3.1), in meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Segment {
    /// SEG.SEQ: of the SYN if there is one, else of the first byte of data.
    pub seq: SeqNumber,
    /// SEG.ACK; means something only where `flags.ack` is set.
    pub ack: SeqNumber,
    /// The control bits.
    pub flags: Flags,
    /// The window as it stands in the header: not yet scaled.
    pub window: u16,
    /// The options.
    pub options: Options,
    /// Bytes of data.
    pub payload_len: u32,
    /// The ECN codepoint of the IP packet that carries it.
    pub ecn: Ecn,
}

impl Segment {
    /// SEG.LEN of RFC 9293 §3.4: bytes of data, and one each for SYN and FIN.
    pub const fn sequence_len(&self) -> u32 {
        self.payload_len + self.flags.syn as u32 + self.flags.fin as u32
    }
}

/// The control bits that this connection knows (RFC 9293 §3.1).
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags {
    /// Synchronize sequence numbers.
    pub syn: bool,
    /// The acknowledgment field is significant.
    pub ack: bool,
    /// No more data from the sender.
    pub fin: bool,
    /// Reset the connection.
    pub rst: bool,
    /// Push.
    pub psh: bool,
    /// ECN echo (RFC 3168).
    pub ece: bool,
    /// Congestion window reduced (RFC 3168).
    pub cwr: bool,
}

impl Flags {
    /// A lone SYN.
    pub const SYN: Flags =
        Flags { syn: true, ack: false, fin: false, rst: false, psh: false, ece: false, cwr: false };
    /// SYN and ACK.
    pub const SYN_ACK: Flags = Flags { ack: true, ..Flags::SYN };
    /// A lone ACK.
    pub const ACK: Flags = Flags { syn: false, ..Flags::SYN_ACK };
    /// FIN and ACK.
    pub const FIN_ACK: Flags = Flags { fin: true, ..Flags::ACK };
    /// A lone RST.
    pub const RST: Flags = Flags { rst: true, syn: false, ..Flags::SYN };
    /// RST and ACK.
    pub const RST_ACK: Flags = Flags { rst: true, ..Flags::ACK };
}

impl fmt::Debug for Flags {
    /// `S`, `A`, `F`, `R`, `P`, `E`, `W`, in this order, as packet tools write them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = [
            (self.syn, "S"),
            (self.ack, "A"),
            (self.fin, "F"),
            (self.rst, "R"),
            (self.psh, "P"),
            (self.ece, "E"),
            (self.cwr, "W"),
        ];
        bits.into_iter().filter(|(set, _)| *set).try_for_each(|(_, name)| f.write_str(name))
    }
}
