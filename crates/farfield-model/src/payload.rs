//! The payload of an IP packet between hosts: a segment of TCP or a datagram of UDP, with its ports.

use crate::convert::{repr_of, segment_of};
use bytes::Bytes;
use farfield_tcp::Segment;
use farfield_wire::{Ecn, TcpPacket, TcpRepr, UdpPacket, UdpRepr};

/// A segment or a datagram.
#[derive(Debug, Clone)]
pub enum IpPayload {
    /// A segment of TCP, which has the ECN codepoint of its packet.
    Segment(Tcp),
    /// A datagram of UDP in a packet with this ECN codepoint.
    Datagram(Ecn, Udp),
}

/// A TCP segment with its ports and data.
#[derive(Debug, Clone)]
pub struct Tcp {
    /// The sender's port.
    pub source_port: u16,
    /// The receiver's port.
    pub destination_port: u16,
    /// The header.
    pub segment: Segment,
    /// The data, as many bytes as the segment says.
    pub payload: Bytes,
}

/// A UDP datagram with its ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Udp {
    /// The sender's port.
    pub source_port: u16,
    /// The receiver's port.
    pub destination_port: u16,
    /// The data, at most 65,507 bytes.
    pub payload: Bytes,
}

impl Udp {
    /// The datagram that `view` shows, whose bytes lie in `packet`.
    pub fn parse(view: &UdpPacket<'_>, packet: &Bytes) -> Udp {
        let payload = view.payload();
        Udp {
            source_port: view.source_port(),
            destination_port: view.destination_port(),
            payload: if payload.is_empty() { Bytes::new() } else { packet.slice_ref(payload) },
        }
    }

    /// The header, as the wire has it.
    pub fn repr(&self) -> UdpRepr {
        UdpRepr { source_port: self.source_port, destination_port: self.destination_port }
    }
}

impl Tcp {
    /// The segment that `view` shows, whose bytes lie in `packet`, which has this codepoint.
    pub fn parse(view: &TcpPacket<'_>, ecn: Ecn, packet: &Bytes) -> Tcp {
        let repr = TcpRepr::parse(view);
        let payload = view.payload();
        Tcp {
            source_port: repr.source_port,
            destination_port: repr.destination_port,
            segment: Segment { ecn, ..segment_of(&repr, payload.len() as u32) },
            payload: if payload.is_empty() { Bytes::new() } else { packet.slice_ref(payload) },
        }
    }

    /// The header, as the wire has it.
    pub fn repr(&self) -> TcpRepr {
        repr_of(&self.segment, self.source_port, self.destination_port)
    }
}
