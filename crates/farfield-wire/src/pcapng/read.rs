//! Reading a capture, of either order of bytes, block by block. For tests and for checking what a run
//! captured: it allocates for each packet, and of options reads those that the writer writes (so
//! `if_tsoffset` is not added).

use super::{
    BYTE_ORDER, Direction, INTERFACE, Interface, InterfaceId, LinkType, PACKET, PacketFacts, SECTION,
    STATISTICS, Statistics, option,
};
use std::io::{self, Read};

/// A block that says it is longer is damage: no packet or option comes near.
const BLOCK_LEN_MAX: usize = 16 << 20;

/// Why a file could not be read on.
#[derive(Debug, thiserror::Error)]
pub enum ReaderError {
    /// The source failed, or ended inside a block.
    #[error("the capture cannot be read: {0}")]
    Io(#[from] io::Error),
    /// It does not begin with a section.
    #[error("not a pcapng file")]
    NotPcapng,
    /// A length or a reference in it is impossible.
    #[error("the capture is damaged: {0}")]
    Damaged(&'static str),
}

/// What a file holds, in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// A section begins, and with it the numbering of interfaces.
    Section,
    /// An interface is described.
    Interface(Interface),
    /// A packet.
    Packet {
        /// What is known of it.
        facts: PacketFacts,
        /// Its length before it was cut.
        original_len: u32,
        /// What was kept of it.
        bytes: Vec<u8>,
    },
    /// What an interface saw.
    Statistics(InterfaceId, Statistics),
    /// A block that is not read here, by its type.
    Other(u32),
}

/// A pcapng file being read.
#[derive(Debug)]
pub struct Reader<R> {
    from: R,
    big_endian: bool,
    /// Of each interface of this section, what a unit of time is worth.
    units: Vec<Unit>,
    begun: bool,
}

/// `if_tsresol`: the number of units in a second is a power of 10 or of 2.
#[derive(Debug, Clone, Copy)]
struct Unit {
    per_second: u128,
}

impl Unit {
    fn read(tsresol: u8) -> Option<Unit> {
        let exponent = u32::from(tsresol & 0x7f);
        let per_second =
            if tsresol & 0x80 == 0 { 10u128.checked_pow(exponent) } else { 2u128.checked_pow(exponent) };
        per_second.map(|per_second| Unit { per_second })
    }

    fn ns(self, time: u64) -> u64 {
        (u128::from(time) * 1_000_000_000 / self.per_second) as u64
    }
}

impl<R: Read> Reader<R> {
    /// Reads from the beginning of a file.
    pub fn new(from: R) -> Reader<R> {
        Reader { from, big_endian: cfg!(target_endian = "big"), units: Vec::new(), begun: false }
    }

    /// The next block; `None` at the end of the file.
    ///
    /// # Errors
    /// See [`ReaderError`].
    pub fn next_block(&mut self) -> Result<Option<Block>, ReaderError> {
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
        let mut body = vec![0; length - already];
        self.from.read_exact(&mut body)?;
        if self.u32(&body, body.len() - 4) as usize != length {
            return Err(ReaderError::Damaged("the two lengths of a block differ"));
        }
        body.truncate(body.len() - 4);
        let block = match kind {
            SECTION => Ok(Block::Section),
            INTERFACE => self.interface(&body),
            PACKET => self.packet(&body),
            STATISTICS => self.statistics(&body),
            kind => Ok(Block::Other(kind)),
        };
        block.map(Some)
    }

    fn interface(&mut self, body: &[u8]) -> Result<Block, ReaderError> {
        let (fixed, options) = body.split_at_checked(8).ok_or(ReaderError::Damaged("a short interface"))?;
        let mut name = String::new();
        let mut tsresol = 6;
        self.each_option(options, |code, value| match code {
            option::IF_NAME => name = String::from_utf8_lossy(value).into_owned(),
            option::IF_TSRESOL => tsresol = value.first().copied().unwrap_or(tsresol),
            _ => {}
        })?;
        self.units.push(Unit::read(tsresol).ok_or(ReaderError::Damaged("the resolution of time"))?);
        let link = LinkType(self.u16(fixed, 0));
        Ok(Block::Interface(Interface { name, link, snap_len: self.u32(fixed, 4) }))
    }

    fn packet(&self, body: &[u8]) -> Result<Block, ReaderError> {
        let (fixed, rest) = body.split_at_checked(20).ok_or(ReaderError::Damaged("a short packet"))?;
        let captured_len = self.u32(fixed, 12) as usize;
        let (bytes, options) = rest
            .split_at_checked(captured_len.next_multiple_of(4))
            .ok_or(ReaderError::Damaged("the length of a packet"))?;
        let interface = InterfaceId(self.u32(fixed, 0));
        let at_unix_ns = self.unit(interface)?.ns(self.time(fixed, 4));
        let mut facts = PacketFacts { interface, at_unix_ns, direction: Direction::Unknown, drops: 0 };
        self.each_option(options, |code, value| match (code, value.len()) {
            (option::EPB_FLAGS, 4) => {
                facts.direction = match self.u32(value, 0) & 3 {
                    1 => Direction::Inbound,
                    2 => Direction::Outbound,
                    _ => Direction::Unknown,
                }
            }
            (option::EPB_DROPCOUNT, 8) => facts.drops = self.u64(value),
            _ => {}
        })?;
        let bytes = bytes[..captured_len].to_vec();
        Ok(Block::Packet { facts, original_len: self.u32(fixed, 16), bytes })
    }

    fn statistics(&self, body: &[u8]) -> Result<Block, ReaderError> {
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
        Ok(Block::Statistics(interface, all))
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
