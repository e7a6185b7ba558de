//! Packets as bytes. What a packet says, and bytes that say it; no connections, no links, no clock.
//!
//! Each protocol has two types. A *view* (`Ipv4Packet`, `TcpPacket` …) is a slice whose lengths were checked
//! once, by `parse`: its accessors read fields and cannot fail, whatever the bytes hold. A *representation*
//! (`Ipv4Repr`, `TcpRepr` …) is the valid content: plain values that `emit` writes with every length and
//! checksum right. Bytes go view → representation, and a representation goes to bytes that read back as
//! itself.
//!
//! `parse` never looks at checksums, because with offload they are not there yet: `checksum_is_valid` does.
//! `emit` panics if the caller's buffer is too short for `header_len`: that is a bug, not an input.
//!
//! | to | look at |
//! | --- | --- |
//! | read a packet from the gateway | [`VnetHeader`], [`IpPacket::parse`], [`IpPacket::transport`] |
//! | write one | [`write_packet`] (whole), or `emit` of each layer where the payload stays elsewhere |
//! | cut a large segment into packets | [`Tso`] |
//! | a run of a large packet's packets as one again | [`Large`] |
//! | datagrams that were sent one by one as one packet | [`RowDatagram`] |
//! | be a neighbour on a link | [`ArpRepr`], [`Neighbour`] |
//! | forward | [`decrement_hop_limit`], [`Fragments`], [`IcmpError`] |
//! | put fragments together | [`Reassembler`] |
//! | write and read captures | [`pcapng`] |
//!
//! `README.md` has a packet that is written and read; `examples/capture.rs` a conversation in a capture.
//!
//! Nothing here allocates, except reassembly (fragments are rare) and reading captures (which tests and
//! reports do).

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod arp;
mod checksum;
mod ecn;
mod ethernet;
mod field;
mod forward;
mod fragment;
mod icmp;
mod icmp_error;
mod icmpv4;
mod icmpv6;
mod ip;
mod ipv4;
mod ipv6;
mod large;
mod neighbour;
mod packet;
pub mod pcapng;
mod quote;
mod reassembly;
mod row;
mod seq;
mod tcp;
mod tcp_options;
mod tso;
mod udp;
mod vnet;

pub use arp::{ArpOperation, ArpRepr};
pub use checksum::{Sum, complete_checksum, update_checksum, update_checksum_u32};
pub use ecn::Ecn;
pub use ethernet::{EthernetAddress, EthernetAddressError};
pub use forward::{
    decrement_hop_limit, mark_congestion, set_ecn, set_ecn_of_header, set_hop_limit, set_hop_limit_of_header,
};
pub use fragment::{FragmentError, FragmentPiece, Fragments};
pub use icmp::IcmpPacket;
pub use icmp_error::{IcmpError, echo_reply};
pub use icmpv4::{Icmpv4Repr, Unreachable};
pub use icmpv6::{Icmpv6Repr, Unreachablev6};
pub use ip::{Addresses, FragmentInfo, IpPacket, IpRepr, ParseError, Protocol, Transport};
pub use ipv4::{Ipv4Options, Ipv4Packet, Ipv4Repr};
pub use ipv6::{Ipv6Packet, Ipv6Repr};
pub use large::Large;
pub use neighbour::Neighbour;
pub use packet::{Message, write_packet};
pub use quote::Quote;
pub use reassembly::{Expired, FragmentFault, Reassembled, Reassembler, ReassemblyLimits};
pub use row::RowDatagram;
pub use seq::{Position, SeqNumber};
pub use tcp::{TcpFlags, TcpPacket, TcpRepr};
pub use tcp_options::{MalformedOption, SackBlocks, TcpOption, TcpOptionIter, TcpOptions, Timestamps};
pub use tso::{Tso, TsoError};
pub use udp::{UdpPacket, UdpRepr};
pub use vnet::{ChecksumNeed, Gso, GsoKind, VnetHeader};

pub use farfield_base::{Duration, Instant};

/// The programs of README.md, which `cargo test --doc` runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
