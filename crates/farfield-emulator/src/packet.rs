//! A packet on its way through the emulated network: in meaning where it is TCP or UDP, as bytes where it is
//! anything else.
//!
//! Most packets are TCP segments or datagrams of emulated clients; they are never written out as bytes
//! inside. A packet becomes bytes where it leaves for a real server, where a bit of it is flipped, where a
//! router quotes it, and in captures.

use crate::five_tuple::FiveTuple;
use crate::framed::Framed;
use bytes::Bytes;
pub use farfield_model::{Tcp, Udp};
use farfield_tcp::Options;
use farfield_wire::{
    Addresses, Ecn, IpPacket, IpRepr, Message, Protocol, Transport, UdpPacket, set_ecn, set_hop_limit,
    write_packet,
};

/// The most headers of a packet that farfield writes take: IPv6, TCP with all options.
pub const HEADERS_MAX: usize = 40 + 60;

/// An IP packet between a client and the server.
#[derive(Debug, Clone)]
pub struct Packet {
    /// Source and destination.
    pub addresses: Addresses,
    /// TTL or hop limit, counted down by each router.
    pub ttl: u8,
    /// The ECN codepoint: its ends understand marks of congestion or not, and it met one or not.
    pub ecn: Ecn,
    /// False if routers may cut it into fragments: IPv4 without DF.
    pub whole: bool,
    /// Bytes from the IP header on; of packets that travel together, those of the longest.
    pub bytes: u32,
    /// Contents.
    pub carried: PacketPayload,
}

/// Contents of a packet.
#[derive(Debug, Clone)]
pub enum PacketPayload {
    /// A TCP segment with right checksums.
    Tcp(Tcp),
    /// A UDP datagram with a right checksum.
    Udp(Udp),
    /// Anything else: the whole packet as bytes, its TTL field not yet counted down, nor its ECN bits
    /// marked.
    Raw(Bytes),
    /// One packet of a real host, or several that travel together, as its kernel handed them over.
    Framed(Framed),
}

impl Packet {
    /// A segment that is to be sent, with TTL 64 and DF.
    pub fn tcp(addresses: Addresses, tcp: Tcp) -> Packet {
        let is_v6 = matches!(addresses, Addresses::V6 { .. });
        let bytes = headers_len(is_v6, &tcp.segment.options) + tcp.segment.payload_len;
        let ecn = tcp.segment.ecn;
        Packet { addresses, ttl: 64, ecn, whole: true, bytes, carried: PacketPayload::Tcp(tcp) }
    }

    /// A datagram that is to be sent, with TTL 64 and DF: one that is too big for a link is lost, as QUIC
    /// asks (RFC 9000, section 14).
    pub fn udp(addresses: Addresses, ecn: Ecn, udp: Udp) -> Packet {
        let is_v6 = matches!(addresses, Addresses::V6 { .. });
        let bytes = datagram_len(is_v6, &udp.payload);
        Packet { addresses, ttl: 64, ecn, whole: true, bytes, carried: PacketPayload::Udp(udp) }
    }

    /// A packet as bytes. `None` if it is no IP packet.
    pub fn raw(bytes: Bytes) -> Option<Packet> {
        let ip = IpPacket::parse(&bytes).ok()?;
        let (addresses, ttl, ecn, len) = (ip.addresses(), ip.hop_limit(), ip.ecn(), ip.bytes().len());
        let whole = keeps_whole(&ip);
        let bytes = bytes.slice(..len);
        Some(Packet { addresses, ttl, ecn, whole, bytes: len as u32, carried: PacketPayload::Raw(bytes) })
    }

    /// A packet from bytes, in meaning where it is a TCP segment or a UDP datagram that may not be
    /// fragmented. Its checksums are not looked at. `None` if it is no IP packet.
    pub fn parse(bytes: &Bytes) -> Option<Packet> {
        let ip = IpPacket::parse(bytes).ok()?;
        let carried = match ip.transport() {
            Ok(Transport::Tcp(view)) if keeps_whole(&ip) => {
                PacketPayload::Tcp(Tcp::parse(&view, ip.ecn(), bytes))
            }
            Ok(Transport::Udp(view)) if keeps_whole(&ip) && is_plain(&ip, &view) => {
                PacketPayload::Udp(Udp::parse(&view, bytes))
            }
            _ => return Packet::raw(bytes.clone()),
        };
        let (addresses, ttl, ecn) = (ip.addresses(), ip.hop_limit(), ip.ecn());
        Some(Packet { addresses, ttl, ecn, whole: true, bytes: ip.bytes().len() as u32, carried })
    }

    /// Packets that it stands for: of a real host, those that travel together.
    pub fn packets(&self) -> u64 {
        if let PacketPayload::Framed(framed) = &self.carried { framed.packets().into() } else { 1 }
    }

    /// The packet's five-tuple.
    pub(crate) fn five_tuple(&self) -> FiveTuple {
        let addresses = self.addresses;
        let of = |protocol, source_port, destination_port| FiveTuple {
            addresses,
            protocol,
            source_port,
            destination_port,
        };
        match &self.carried {
            PacketPayload::Tcp(tcp) => of(Protocol::TCP, tcp.source_port, tcp.destination_port),
            PacketPayload::Udp(udp) => of(Protocol::UDP, udp.source_port, udp.destination_port),
            PacketPayload::Raw(bytes) => FiveTuple::of_bytes(addresses, bytes),
            PacketPayload::Framed(framed) => framed.five_tuple(),
        }
    }

    /// Writes the packet with this TTL, this ECN codepoint and whole checksums to the front of `out`, which
    /// must hold its bytes (of a segment, as many as its headers and data take); returns their number. Of
    /// packets that travel together it writes the first.
    pub fn write(&self, out: &mut [u8]) -> usize {
        match &self.carried {
            PacketPayload::Tcp(tcp) => {
                write_packet(&self.ip_header(Protocol::TCP), &Message::Tcp(&tcp.repr(), &tcp.payload), out)
            }
            PacketPayload::Udp(udp) => {
                write_packet(&self.ip_header(Protocol::UDP), &Message::Udp(udp.repr(), &udp.payload), out)
            }
            PacketPayload::Raw(bytes) => {
                let out = &mut out[..bytes.len()];
                out.copy_from_slice(bytes);
                set_hop_limit(out, self.ttl);
                set_ecn(out, self.ecn);
                bytes.len()
            }
            PacketPayload::Framed(framed) => {
                let bytes = framed.to_bytes(self.ttl, self.ecn);
                out[..bytes.len()].copy_from_slice(&bytes);
                bytes.len()
            }
        }
    }

    /// The packet as bytes, allocated: for what is rare.
    pub fn to_bytes(&self) -> Vec<u8> {
        let payload = match &self.carried {
            PacketPayload::Tcp(tcp) => tcp.payload.len() + HEADERS_MAX,
            PacketPayload::Udp(udp) => udp.payload.len() + HEADERS_MAX,
            PacketPayload::Raw(bytes) => bytes.len(),
            PacketPayload::Framed(framed) => return framed.to_bytes(self.ttl, self.ecn),
        };
        let mut out = vec![0; payload];
        let len = self.write(&mut out);
        out.truncate(len);
        out
    }

    /// Marks it: it met congestion. Its ends must understand that.
    pub fn mark(&mut self) {
        self.ecn = Ecn::Ce;
        if let PacketPayload::Tcp(tcp) = &mut self.carried {
            tcp.segment.ecn = Ecn::Ce;
        }
    }

    /// Flips one bit, counted from the packet's first.
    pub fn flip(&mut self, bit: u32) {
        let mut bytes = self.to_bytes();
        let at = bit as usize / 8;
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= 0x80 >> (bit % 8);
        }
        // Bytes that are no IP packet any more are not marked either.
        self.ecn = IpPacket::parse(&bytes).map_or(self.ecn, |ip| ip.ecn());
        self.carried = PacketPayload::Raw(bytes.into());
    }

    /// The header of the packet as emulated hosts write it.
    pub(crate) fn ip_header(&self, protocol: Protocol) -> IpRepr<'static> {
        let mut header = IpRepr::new(self.addresses, protocol).with_ecn(self.ecn);
        match &mut header {
            IpRepr::V4(v4) => (v4.ttl, v4.dont_fragment) = (self.ttl, self.whole),
            IpRepr::V6(v6) => v6.hop_limit = self.ttl,
        }
        header
    }
}

pub(crate) fn keeps_whole(ip: &IpPacket<'_>) -> bool {
    match ip {
        IpPacket::V4(v4) => v4.dont_fragment(),
        IpPacket::V6(_) => true,
    }
}

/// Bytes of the headers of a segment with these options.
pub(crate) fn headers_len(is_v6: bool, options: &Options) -> u32 {
    let ip = if is_v6 { 40 } else { 20 };
    ip + 20 + options.len() as u32
}

/// Bytes of a datagram, from the IP header on.
pub(crate) fn datagram_len(is_v6: bool, payload: &Bytes) -> u32 {
    let ip = if is_v6 { 40 } else { 20 };
    ip + 8 + payload.len() as u32
}

/// True if the datagram is as emulated hosts would write it: without IP options, extension headers and bytes
/// behind it, and with a checksum.
fn is_plain(ip: &IpPacket<'_>, udp: &UdpPacket<'_>) -> bool {
    let header_len = match ip {
        IpPacket::V4(_) => 20,
        IpPacket::V6(_) => 40,
    };
    ip.header_len() == header_len && ip.payload().len() == udp.wire_len() && udp.has_checksum()
}
