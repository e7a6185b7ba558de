//! Reading a capture, of either order of bytes, block by block: ours, and what dumpcap, tcpdump and Wireshark
//! write. Options beside those of `super::option` are passed over, and so are blocks of other types: a Simple
//! Packet Block has no instant, so that it is of no use here.

use super::{
    BYTE_ORDER, Direction, INTERFACE, Interface, InterfaceId, LinkType, OBSOLETE_PACKET, PACKET,
    PacketMetadata, SECTION, STATISTICS, Statistics, option,
};
use std::io::{self, Read};

/// A block that says it is longer is damage: no packet or option comes near.
const BLOCK_LEN_MAX: usize = 16 << 20;

/// Why a file could not be read on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReaderError {
    /// The source failed, or ended inside a block.
    #[error("the capture cannot be read: {0}")]
    Io(#[from] io::Error),
    /// The file does not begin with a section.
    #[error("not a pcapng file")]
    NotPcapng,
    /// A length or a reference in it is impossible.
    #[error("the capture is damaged: {0}")]
    Damaged(&'static str),
}

/// Block of a file, in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// A section begins, and with it the numbering of interfaces.
    Section,
    /// An interface is described.
    Interface(Interface),
    /// A packet.
    Packet {
        /// Metadata of the packet.
        metadata: PacketMetadata,
        /// Original length of the packet, in bytes; `bytes` may be cut.
        original_len: u32,
        /// Bytes that were kept of it.
        bytes: Vec<u8>,
    },
    /// Counts of an interface.
    Statistics(InterfaceId, Statistics),
    /// A block that is not read here, by its type.
    Other(u32),
}

/// As [`Block`], its bytes those of the reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockView<'a> {
    /// A section begins, and with it the numbering of interfaces.
    Section,
    /// An interface is described.
    Interface(Interface),
    /// A packet.
    Packet {
        /// Metadata of the packet.
        metadata: PacketMetadata,
        /// Original length of the packet, in bytes; `bytes` may be cut.
        original_len: u32,
        /// Bytes that were kept of it.
        bytes: &'a [u8],
    },
    /// Counts of an interface.
    Statistics(InterfaceId, Statistics),
    /// A block that is not read here, by its type.
    Other(u32),
}

impl From<BlockView<'_>> for Block {
    fn from(view: BlockView<'_>) -> Block {
        match view {
            BlockView::Section => Block::Section,
            BlockView::Interface(interface) => Block::Interface(interface),
            BlockView::Packet { metadata, original_len, bytes } => {
                Block::Packet { metadata, original_len, bytes: bytes.to_vec() }
            }
            BlockView::Statistics(interface, statistics) => Block::Statistics(interface, statistics),
            BlockView::Other(kind) => Block::Other(kind),
        }
    }
}

/// A pcapng file being read.
#[derive(Debug)]
pub struct Reader<R> {
    from: R,
    big_endian: bool,
    /// Worth of a unit of time on each interface of this section.
    units: Vec<Unit>,
    begun: bool,
    /// The body of the block that was read last.
    body: Vec<u8>,
}

/// `if_tsresol`: the number of units in a second is a power of 10 or of 2.
#[derive(Debug, Clone, Copy)]
struct Unit {
    per_second: u128,
    /// `if_tsoffset`: seconds to be added to every time.
    offset_s: i64,
}

impl Unit {
    fn read(tsresol: u8) -> Option<Unit> {
        let exponent = u32::from(tsresol & 0x7f);
        let per_second =
            if tsresol & 0x80 == 0 { 10u128.checked_pow(exponent) } else { 2u128.checked_pow(exponent) };
        per_second.map(|per_second| Unit { per_second, offset_s: 0 })
    }

    /// Nanoseconds since 1970; what lies outside of 64 bits wraps.
    fn ns(self, time: u64) -> u64 {
        // The units that captures have, without a division of 128 bits for each packet.
        let ns = match self.per_second {
            1_000_000_000 => time,
            1_000_000 => time.wrapping_mul(1_000),
            per_second => (u128::from(time) * 1_000_000_000 / per_second) as u64,
        };
        ns.wrapping_add_signed(self.offset_s.wrapping_mul(1_000_000_000))
    }
}

impl<R: Read> Reader<R> {
    /// Reads from the beginning of a file.
    pub fn new(from: R) -> Reader<R> {
        let big_endian = cfg!(target_endian = "big");
        Reader { from, big_endian, units: Vec::new(), begun: false, body: Vec::new() }
    }

    /// The next block; `None` at the end of the file.
    ///
    /// # Errors
    /// See [`ReaderError`].
    pub fn next_block(&mut self) -> Result<Option<Block>, ReaderError> {
        Ok(self.next_view()?.map(Block::from))
    }

    /// As [`next_block`](Self::next_block), without a copy of the packet.
    ///
    /// # Errors
    /// See [`ReaderError`].
    pub fn next_view(&mut self) -> Result<Option<BlockView<'_>>, ReaderError> {
        let mut head = [0; 8];
        match self.from.read(&mut head[..1])? {
            0 if self.begun => return Ok(None),
            0 => return Err(ReaderError::NotPcapng),
            _ => self.from.read_exact(&mut head[1..])?,
        }
        // The section's type reads the same either way, and gives the byte order of what follows.
        let is_section = u32::from_ne_bytes([head[0], head[1], head[2], head[3]]) == SECTION;
        if !is_section && !self.begun {
            return Err(ReaderError::NotPcapng);
        }
        let mut magic = [0; 4];
        if is_section {
            self.from.read_exact(&mut magic)?;
            self.big_endian = match magic {
                _ if u32::from_be_bytes(magic) == BYTE_ORDER => true,
                _ if u32::from_le_bytes(magic) == BYTE_ORDER => false,
                _ => return Err(ReaderError::NotPcapng),
            };
            self.begun = true;
            self.units.clear();
        }
        let (kind, length) = (self.u32(&head, 0), self.u32(&head, 4) as usize);
        let already = if is_section { 12 } else { 8 };
        if length < already + 4 || !length.is_multiple_of(4) || length > BLOCK_LEN_MAX {
            return Err(ReaderError::Damaged("the length of a block"));
        }
        self.body.clear();
        self.from.by_ref().take((length - already) as u64).read_to_end(&mut self.body)?;
        if self.body.len() < length - already {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        let end = self.body.len() - 4;
        if self.u32(&self.body, end) as usize != length {
            return Err(ReaderError::Damaged("the two lengths of a block differ"));
        }
        self.body.truncate(end);
        let view = match kind {
            SECTION => BlockView::Section,
            INTERFACE => self.interface()?,
            PACKET => self.packet(&self.body)?,
            OBSOLETE_PACKET => self.obsolete_packet(&self.body)?,
            STATISTICS => self.statistics(&self.body)?,
            kind => BlockView::Other(kind),
        };
        Ok(Some(view))
    }

    fn interface(&mut self) -> Result<BlockView<'static>, ReaderError> {
        let (fixed, options) =
            self.body.split_at_checked(8).ok_or(ReaderError::Damaged("a short interface"))?;
        let mut name = String::new();
        let (mut tsresol, mut offset_s) = (6, 0);
        self.each_option(options, |code, value| match code {
            option::IF_NAME => name = String::from_utf8_lossy(value).into_owned(),
            option::IF_TSRESOL => tsresol = value.first().copied().unwrap_or(tsresol),
            option::IF_TSOFFSET if value.len() == 8 => offset_s = self.u64(value) as i64,
            _ => {}
        })?;
        let (link, snap_len) = (LinkType(self.u16(fixed, 0)), self.u32(fixed, 4));
        let unit = Unit::read(tsresol).ok_or(ReaderError::Damaged("the resolution of time"))?;
        self.units.push(Unit { offset_s, ..unit });
        Ok(BlockView::Interface(Interface { name, link, snap_len }))
    }

    fn packet<'a>(&self, body: &'a [u8]) -> Result<BlockView<'a>, ReaderError> {
        let (fixed, rest) = body.split_at_checked(20).ok_or(ReaderError::Damaged("a short packet"))?;
        self.any_packet(InterfaceId(self.u32(fixed, 0)), 0, fixed, rest)
    }

    /// The Packet Block that files of before 2010 may have: a shorter number of the interface, and drops.
    fn obsolete_packet<'a>(&self, body: &'a [u8]) -> Result<BlockView<'a>, ReaderError> {
        let (fixed, rest) = body.split_at_checked(20).ok_or(ReaderError::Damaged("a short packet"))?;
        let drops = match self.u16(fixed, 2) {
            u16::MAX => 0, // not known
            drops => u64::from(drops),
        };
        self.any_packet(InterfaceId(self.u16(fixed, 0).into()), drops, fixed, rest)
    }

    /// The rest of a packet's block: time, lengths, bytes and options, which both types have alike.
    fn any_packet<'a>(
        &self,
        interface: InterfaceId,
        drops: u64,
        fixed: &[u8],
        rest: &'a [u8],
    ) -> Result<BlockView<'a>, ReaderError> {
        let captured_len = self.u32(fixed, 12) as usize;
        let (bytes, options) = rest
            .split_at_checked(captured_len.next_multiple_of(4))
            .ok_or(ReaderError::Damaged("the length of a packet"))?;
        let at_unix_ns = self.unit(interface)?.ns(self.time(fixed, 4));
        let mut metadata = PacketMetadata { interface, at_unix_ns, direction: Direction::Unknown, drops };
        self.each_option(options, |code, value| match (code, value.len()) {
            (option::EPB_FLAGS, 4) => {
                metadata.direction = match self.u32(value, 0) & 3 {
                    1 => Direction::Inbound,
                    2 => Direction::Outbound,
                    _ => Direction::Unknown,
                }
            }
            (option::EPB_DROPCOUNT, 8) => metadata.drops = self.u64(value),
            _ => {}
        })?;
        let bytes = &bytes[..captured_len];
        Ok(BlockView::Packet { metadata, original_len: self.u32(fixed, 16), bytes })
    }

    fn statistics(&self, body: &[u8]) -> Result<BlockView<'static>, ReaderError> {
        let (fixed, options) = body.split_at_checked(12).ok_or(ReaderError::Damaged("short statistics"))?;
        let interface = InterfaceId(self.u32(fixed, 0));
        let unit = self.unit(interface)?;
        let mut all = Statistics::default();
        self.each_option(options, |code, value| {
            if value.len() != 8 {
                return;
            }
            match code {
                option::ISB_STARTTIME => all.start_unix_ns = Some(unit.ns(self.time(value, 0))),
                option::ISB_ENDTIME => all.end_unix_ns = Some(unit.ns(self.time(value, 0))),
                option::ISB_IFRECV => all.received = Some(self.u64(value)),
                option::ISB_IFDROP => all.interface_drops = Some(self.u64(value)),
                option::ISB_FILTERACCEPT => all.filter_accepted = Some(self.u64(value)),
                option::ISB_OSDROP => all.capture_drops = Some(self.u64(value)),
                _ => {}
            }
        })?;
        Ok(BlockView::Statistics(interface, all))
    }

    fn each_option(&self, mut options: &[u8], mut each: impl FnMut(u16, &[u8])) -> Result<(), ReaderError> {
        while let Some((head, rest)) = options.split_at_checked(4) {
            let (code, length) = (self.u16(head, 0), usize::from(self.u16(head, 2)));
            if code == option::END {
                return Ok(());
            }
            let (value, rest) = rest
                .split_at_checked(length.next_multiple_of(4))
                .ok_or(ReaderError::Damaged("the length of an option"))?;
            each(code, &value[..length]);
            options = rest;
        }
        Ok(())
    }

    fn unit(&self, interface: InterfaceId) -> Result<Unit, ReaderError> {
        let unit = self.units.get(interface.0 as usize);
        unit.copied().ok_or(ReaderError::Damaged("an interface that was not described"))
    }

    fn u16(&self, bytes: &[u8], at: usize) -> u16 {
        let bytes = [bytes[at], bytes[at + 1]];
        if self.big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
    }

    fn u32(&self, bytes: &[u8], at: usize) -> u32 {
        let bytes = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }

    /// A number of 64 bits, in the file's order of bytes.
    fn u64(&self, bytes: &[u8]) -> u64 {
        let (first, second) = (u64::from(self.u32(bytes, 0)), u64::from(self.u32(bytes, 4)));
        if self.big_endian { first << 32 | second } else { second << 32 | first }
    }

    /// A time: the upper word first, whatever the order of bytes.
    fn time(&self, bytes: &[u8], at: usize) -> u64 {
        u64::from(self.u32(bytes, at)) << 32 | u64::from(self.u32(bytes, at + 4))
    }
}
