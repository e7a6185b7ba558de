//! A segment as the connection sees it: the header's meaning, without its bytes.
//!
//! This crate depends on no wire format; whoever carries segments converts. Fields that do not concern a
//! connection (ports, checksum, urgent pointer) are absent: the urgent mechanism is not implemented, and its
//! data is read in line, as RFC 6093 §5 has it.

use crate::seq::SeqNumber;
use std::fmt;

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
}

impl Flags {
    /// A lone SYN.
    pub const SYN: Flags = Flags { syn: true, ack: false, fin: false, rst: false, psh: false };
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
    /// `S`, `A`, `F`, `R`, `P`, in this order, as packet tools write them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = [(self.syn, "S"), (self.ack, "A"), (self.fin, "F"), (self.rst, "R"), (self.psh, "P")];
        bits.into_iter().filter(|(set, _)| *set).try_for_each(|(_, name)| f.write_str(name))
    }
}

/// The options of one segment. Absent ones are `None`, `false` or empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// Maximum segment size, bytes (RFC 9293 §3.7.1); on a SYN.
    pub mss: Option<u16>,
    /// Window scale, a shift of 0 to 14; larger ones mean 14 (RFC 7323 §2.3); on a SYN.
    pub window_scale: Option<u8>,
    /// SACK-permitted (RFC 2018 §2); on a SYN.
    pub sack_permitted: bool,
    /// SACK blocks (RFC 2018 §3).
    pub sack: SackBlocks,
    /// Timestamps (RFC 7323 §3).
    pub timestamps: Option<Timestamps>,
}

impl Options {
    /// Bytes these options take in a header, each padded to a multiple of four as stacks lay them out.
    pub const fn wire_len(&self) -> u32 {
        let mut len = 0;
        if self.mss.is_some() {
            len += 4;
        }
        if self.window_scale.is_some() {
            len += 4;
        }
        if self.sack_permitted {
            len += 4;
        }
        if self.timestamps.is_some() {
            len += 12;
        }
        if self.sack.len > 0 {
            len += 4 + 8 * self.sack.len as u32;
        }
        len
    }
}

/// The timestamps option: TSval and TSecr (RFC 7323 §3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timestamps {
    /// TSval: the sender's clock.
    pub value: u32,
    /// TSecr: the clock of the receiver as the sender last saw it; means something only with ACK.
    pub echo: u32,
}

/// Up to four SACK blocks, each `[left, right)` (RFC 2018 §3), in the order of the option.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct SackBlocks {
    blocks: [(SeqNumber, SeqNumber); 4],
    len: u8,
}

impl SackBlocks {
    /// Appends a block; a fifth does not fit in a header and is left out.
    pub fn push(&mut self, left: SeqNumber, right: SeqNumber) {
        if let Some(block) = self.blocks.get_mut(usize::from(self.len)) {
            *block = (left, right);
            self.len += 1;
        }
    }

    /// The blocks.
    pub fn as_slice(&self) -> &[(SeqNumber, SeqNumber)] {
        &self.blocks[..usize::from(self.len)]
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl fmt::Debug for SackBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.as_slice()).finish()
    }
}
