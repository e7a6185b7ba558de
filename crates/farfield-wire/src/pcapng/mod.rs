//! Captures in pcapng (draft-ietf-opsawg-pcapng): written, and read back.
//!
//! A file is one section with interfaces, packets and statistics, all times in nanoseconds. What a capture
//! lost it says itself: packets carry the count of those lost before them, and statistics the sums.

mod read;
mod write;

pub use read::{Block, BlockView, Reader, ReaderError};
pub use write::Writer;

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
/// The type of a Simple Packet Block: a packet without an instant.
pub const SIMPLE_PACKET: u32 = 3;
const STATISTICS: u32 = 5;
const PACKET: u32 = 6;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;

/// Codes of options, which are a block type's own.
mod option {
    pub const END: u16 = 0;
    pub const USER_APPLICATION: u16 = 4;
    pub const IF_NAME: u16 = 2;
    pub const IF_TSRESOL: u16 = 9;
    pub const IF_TSOFFSET: u16 = 14;
    pub const EPB_FLAGS: u16 = 2;
    pub const EPB_DROPCOUNT: u16 = 4;
    pub const ISB_STARTTIME: u16 = 2;
    pub const ISB_ENDTIME: u16 = 3;
    pub const ISB_IFRECV: u16 = 4;
    pub const ISB_IFDROP: u16 = 5;
    pub const ISB_FILTERACCEPT: u16 = 6;
    pub const ISB_OSDROP: u16 = 7;
}

/// What packets of an interface begin with, by the number of its LINKTYPE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkType(pub u16);

impl LinkType {
    /// An Ethernet header.
    pub const ETHERNET: LinkType = LinkType(1);
    /// An IP header, of either version.
    pub const RAW: LinkType = LinkType(101);
}

/// An interface, described.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// What its packets begin with.
    pub link: LinkType,
    /// Bytes that are kept of a packet; 0 keeps all.
    pub snap_len: u32,
}

/// An interface by its place among those of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct InterfaceId(pub u32);

/// Which way a packet went, as its interface sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direction {
    /// Not said.
    #[default]
    Unknown,
    /// It came.
    Inbound,
    /// It was sent.
    Outbound,
}

/// What is known of a captured packet beside its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketMetadata {
    /// Where it was seen.
    pub interface: InterfaceId,
    /// When, in nanoseconds since 1970.
    pub at_unix_ns: u64,
    /// Which way it went.
    pub direction: Direction,
    /// Packets that the capture lost on this interface between the one before and this one.
    pub drops: u64,
}

/// What an interface saw over the run. What is not known is not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    /// When capturing began, in nanoseconds since 1970.
    pub start_unix_ns: Option<u64>,
    /// When it ended.
    pub end_unix_ns: Option<u64>,
    /// Packets that the interface saw.
    pub received: Option<u64>,
    /// Packets that the interface lost, for want of room.
    pub interface_drops: Option<u64>,
    /// Packets that the filter let through.
    pub filter_accepted: Option<u64>,
    /// Of those, packets that the capture lost.
    pub capture_drops: Option<u64>,
}
