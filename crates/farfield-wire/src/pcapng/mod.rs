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

/// Header that packets of an interface begin with, by the number of its LINKTYPE.
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
    /// Name of the interface.
    pub name: String,
    /// Header that its packets begin with.
    pub link: LinkType,
    /// Bytes that are kept of a packet; 0 keeps all.
    pub snap_len: u32,
}

/// An interface by its place among those of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct InterfaceId(pub u32);

/// Direction of a packet, as its interface sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direction {
    /// Not said.
    #[default]
    Unknown,
    /// The packet came.
    Inbound,
    /// The packet was sent.
    Outbound,
}

/// Metadata of a captured packet: all that is known of it beside its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketMetadata {
    /// Interface that saw it.
    pub interface: InterfaceId,
    /// Instant of its capture, in nanoseconds since 1970.
    pub at_unix_ns: u64,
    /// Direction of the packet.
    pub direction: Direction,
    /// Packets that the capture lost on this interface between the one before and this one.
    pub drops: u64,
}

/// Counts of an interface over the run. Unknown ones are not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    /// Start of the capture, in nanoseconds since 1970.
    pub start_unix_ns: Option<u64>,
    /// End of the capture, in nanoseconds since 1970.
    pub end_unix_ns: Option<u64>,
    /// Packets that the interface saw.
    pub received: Option<u64>,
    /// Packets that the interface lost, for want of room.
    pub interface_drops: Option<u64>,
    /// Packets that the filter let through.
    pub filter_accepted: Option<u64>,
    /// Packets that the filter let through and the capture lost.
    pub capture_drops: Option<u64>,
}
