//! Packets at the gateway, each behind the header that says what the kernel left undone: the large segments
//! and the rows of datagrams that it hands over are cut into packets, and packets for it leave their
//! checksums to it.
//!
//! A packet that is cut keeps its buffer: each of its pieces is a header and a range. Nothing of the data is
//! copied.

use crate::packet::{HEADERS_MAX, Packet, PacketPayload, Tcp, Udp};
use bytes::Bytes;
use farfield_wire::{
    ChecksumNeed, Gso, GsoKind, IpPacket, IpRepr, Message, ParseError, Protocol, Transport, Tso, VnetHeader,
    complete_checksum, write_packet,
};
use std::borrow::Cow;

/// The longest head of a packet that leaves through the gateway.
const HEAD_MAX: usize = VnetHeader::LEN + HEADERS_MAX;
/// Bytes of a UDP header.
const UDP_HEADER_LEN: usize = 8;
/// The checksum's place in a TCP header, and in a UDP header, in bytes.
const TCP_CHECKSUM_AT: u16 = 16;
const UDP_CHECKSUM_AT: u16 = 6;

/// Why what the gateway handed over is not a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IncomingError {
    /// The packet's headers contradict one another.
    #[error(transparent)]
    Malformed(#[from] ParseError),
    /// A kind of large packet that was not asked for.
    #[error("a large packet that is neither a TCP segment nor a row of UDP datagrams")]
    OtherKind,
}

/// Hands each packet of what the gateway handed over to `each`: the one, or those that a large segment or a
/// row of datagrams is cut into.
///
/// # Errors
/// Bytes that are no IP packet, or a large packet of another kind.
pub fn take_apart(
    header: &VnetHeader,
    bytes: &Bytes,
    mut each: impl FnMut(Packet),
) -> Result<(), IncomingError> {
    let ip = IpPacket::parse(bytes)?;
    if !is_checksum_within(header.checksum, &ip) {
        return Err(ParseError::Length.into());
    }
    match header.gso {
        Some(Gso { kind: GsoKind::TcpV4 | GsoKind::TcpV6, size, .. }) => return cut(&ip, bytes, size, each),
        Some(Gso { kind: GsoKind::Udp, size, .. }) => return cut_row(&ip, bytes, size, each),
        Some(Gso { kind: GsoKind::UdpFragments, .. }) => return Err(IncomingError::OtherKind),
        None => {}
    }
    let mut packet = Packet::parse(bytes).ok_or(ParseError::Truncated)?;
    // Bytes that stay as they are inside must have a whole checksum.
    if let (PacketPayload::Raw(raw), ChecksumNeed::Partial { start, offset }) =
        (&packet.carried, header.checksum)
    {
        let mut copy = raw.to_vec();
        complete_checksum(&mut copy, start.into(), offset.into());
        packet.carried = PacketPayload::Raw(copy.into());
    }
    each(packet);
    Ok(())
}

/// True if a checksum that is left to be done lies in the payload of the IP packet: done elsewhere, it would
/// overwrite what was parsed.
pub(crate) fn is_checksum_within(need: ChecksumNeed, ip: &IpPacket<'_>) -> bool {
    let ChecksumNeed::Partial { start, offset } = need else { return true };
    let (start, offset) = (usize::from(start), usize::from(offset));
    start >= ip.header_len() && start + offset + 2 <= ip.bytes().len()
}

fn cut(
    ip: &IpPacket<'_>,
    bytes: &Bytes,
    size: u16,
    mut each: impl FnMut(Packet),
) -> Result<(), IncomingError> {
    let Transport::Tcp(view) = ip.transport()? else { return Err(IncomingError::OtherKind) };
    let tso = Tso::new(bytes, size).map_err(|_| IncomingError::OtherKind)?;
    let large = Tcp::parse(&view, ip.ecn(), bytes);
    for index in 0..tso.packets() {
        let payload = bytes.slice(tso.payload(index));
        let mut segment = large.segment;
        let last = index + 1 == tso.packets();
        segment.seq = tso.seq(index);
        // CWR belongs to the first (Linux, `tcp_gso_segment`).
        segment.flags.cwr &= index == 0;
        segment.flags.fin &= last;
        segment.flags.psh &= last;
        segment.payload_len = payload.len() as u32;
        let carried = PacketPayload::Tcp(Tcp { segment, payload, ..large });
        each(part_of(ip, tso.wire_len(index), carried));
    }
    Ok(())
}

/// Cuts a row of datagrams of `size` bytes of payload, of which the last may have less (Linux,
/// `__udp_gso_segment`).
fn cut_row(
    ip: &IpPacket<'_>,
    bytes: &Bytes,
    size: u16,
    mut each: impl FnMut(Packet),
) -> Result<(), IncomingError> {
    let Transport::Udp(view) = ip.transport()? else { return Err(IncomingError::OtherKind) };
    let Udp { source_port, destination_port, payload: row } = Udp::parse(&view, bytes);
    let headers_len = ip.header_len() + UDP_HEADER_LEN;
    let size = usize::from(size);
    for (nth, from) in (0..row.len().max(1)).step_by(size).enumerate() {
        let payload = row.slice(from..(from + size).min(row.len()));
        let len = headers_len + payload.len();
        let udp = Udp { source_port, destination_port, payload };
        match ip {
            // Routers may cut each into fragments, which its identification holds together.
            IpPacket::V4(v4) if !v4.dont_fragment() => {
                let ident = v4.ident().wrapping_add(nth as u16);
                each(cuttable(ip, ident, &udp).ok_or(ParseError::Length)?);
            }
            _ => each(part_of(ip, len, PacketPayload::Udp(udp))),
        }
    }
    Ok(())
}

/// A datagram without DF and with this identification, as bytes.
fn cuttable(ip: &IpPacket<'_>, ident: u16, udp: &Udp) -> Option<Packet> {
    let mut header = IpRepr::new(ip.addresses(), Protocol::UDP).with_ecn(ip.ecn());
    if let IpRepr::V4(v4) = &mut header {
        (v4.ttl, v4.ident, v4.dont_fragment) = (ip.hop_limit(), ident, false);
    }
    let mut bytes = vec![0; header.header_len() + UDP_HEADER_LEN + udp.payload.len()];
    write_packet(&header, &Message::Udp(udp.repr(), &udp.payload), &mut bytes);
    Packet::raw(bytes.into())
}

/// A packet of `bytes` bytes, with DF, that was cut from the one with header `ip`: the kernel hands over
/// large segments only where it discovers the path's MTU.
fn part_of(ip: &IpPacket<'_>, bytes: usize, carried: PacketPayload) -> Packet {
    let (addresses, ttl, ecn) = (ip.addresses(), ip.hop_limit(), ip.ecn());
    Packet { addresses, ttl, ecn, whole: true, bytes: bytes as u32, carried }
}

/// A packet as the gateway takes it, in two parts: the head, and the data behind it.
#[derive(Debug)]
pub struct Frame<'a> {
    head: [u8; HEAD_MAX],
    head_len: usize,
    rest: Cow<'a, [u8]>,
}

impl<'a> Frame<'a> {
    /// The frame of `packet`. TCP and UDP leave their checksums to the kernel, which does them if anyone
    /// looks.
    pub fn of(packet: &'a Packet) -> Frame<'a> {
        match &packet.carried {
            PacketPayload::Tcp(tcp) => {
                let repr = tcp.repr();
                let len = repr.header_len();
                Frame::offloaded(packet, Protocol::TCP, &tcp.payload, (len, TCP_CHECKSUM_AT), |out| {
                    repr.emit_partial(&packet.addresses, tcp.payload.len(), out);
                })
            }
            PacketPayload::Udp(udp) => {
                let sizes = (UDP_HEADER_LEN, UDP_CHECKSUM_AT);
                Frame::offloaded(packet, Protocol::UDP, &udp.payload, sizes, |out| {
                    udp.repr().emit_partial(&packet.addresses, udp.payload.len(), out);
                })
            }
            PacketPayload::Raw(_) | PacketPayload::Framed(_) => {
                let mut head = [0; HEAD_MAX];
                head[..VnetHeader::LEN].copy_from_slice(&VnetHeader::default().emit());
                Frame { head, head_len: VnetHeader::LEN, rest: packet.to_bytes().into() }
            }
        }
    }

    /// The frame of a packet whose transport header, of `header_len` bytes with the checksum at
    /// `checksum_at`, `emit` writes.
    fn offloaded(
        packet: &Packet,
        protocol: Protocol,
        payload: &'a Bytes,
        (header_len, checksum_at): (usize, u16),
        emit: impl FnOnce(&mut [u8]),
    ) -> Frame<'a> {
        let mut head = [0; HEAD_MAX];
        let (vnet_part, headers) = head.split_at_mut(VnetHeader::LEN);
        let ip_len = packet.ip_header(protocol).emit(header_len + payload.len(), headers);
        emit(&mut headers[ip_len..]);
        let vnet = VnetHeader {
            checksum: ChecksumNeed::Partial { start: ip_len as u16, offset: checksum_at },
            gso: None,
            header_len: (ip_len + header_len) as u16,
        };
        vnet_part.copy_from_slice(&vnet.emit());
        Frame { head, head_len: VnetHeader::LEN + ip_len + header_len, rest: Cow::Borrowed(payload) }
    }

    /// The vnet header and, of TCP and UDP, all other headers.
    pub fn head(&self) -> &[u8] {
        &self.head[..self.head_len]
    }

    /// The data behind the head.
    pub fn rest(&self) -> &[u8] {
        &self.rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_tcp::{Flags, Segment, SeqNumber};
    use farfield_wire::{Addresses, Ecn};
    use proptest::prelude::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    const ADDRESSES: Addresses =
        Addresses::V4 { source: Ipv4Addr::new(192, 0, 2, 1), destination: Ipv4Addr::new(198, 18, 0, 7) };

    fn packet(len: usize, flags: Flags) -> Packet {
        let payload: Vec<u8> = (0..len).map(|at| at as u8).collect();
        let segment = Segment {
            seq: SeqNumber(u32::MAX - 100),
            ack: SeqNumber(9),
            flags,
            window: 77,
            payload_len: len as u32,
            ..Segment::default()
        };
        Packet::tcp(
            ADDRESSES,
            Tcp { source_port: 80, destination_port: 10_000, segment, payload: payload.into() },
        )
    }

    fn packets(header: &VnetHeader, bytes: Vec<u8>) -> Vec<Packet> {
        let mut all = Vec::new();
        take_apart(header, &bytes.into(), |packet| all.push(packet)).unwrap();
        all
    }

    proptest! {
        /// The packets of a large segment carry its data and flags.
        #[test]
        fn a_large_segment_is_its_packets(len in 1usize..60_000, size in 100u16..9_000) {
            let large = packet(len, Flags { psh: true, ece: true, cwr: true, ..Flags::FIN_ACK });
            let gso = Some(Gso { kind: GsoKind::TcpV4, size, ecn: false });
            let header = VnetHeader { gso, ..VnetHeader::default() };
            let parts = packets(&header, large.to_bytes());
            let (mut data, mut seq) = (Vec::new(), SeqNumber(u32::MAX - 100));
            for (index, part) in parts.iter().enumerate() {
                let PacketPayload::Tcp(tcp) = &part.carried else { unreachable!() };
                let last = index + 1 == parts.len();
                prop_assert_eq!((tcp.segment.seq, tcp.segment.flags.fin, tcp.segment.flags.psh), (seq, last, last));
                prop_assert_eq!((tcp.segment.flags.ece, tcp.segment.flags.cwr), (true, index == 0));
                prop_assert_eq!(part.bytes, 40 + tcp.payload.len() as u32);
                prop_assert!(tcp.payload.len() <= usize::from(size));
                seq = seq.at(tcp.payload.len() as i64);
                data.extend_from_slice(&tcp.payload);
            }
            let PacketPayload::Tcp(whole) = &large.carried else { unreachable!() };
            prop_assert_eq!(data, whole.payload.to_vec());
        }
    }

    fn v6() -> Addresses {
        let (source, destination) =
            (Ipv6Addr::from_bits(0xfd00 << 112 | 1), Ipv6Addr::from_bits(0xfd01 << 112));
        Addresses::V6 { source, destination }
    }

    fn datagram(addresses: Addresses, len: usize, ecn: Ecn) -> Packet {
        let payload: Vec<u8> = (0..len).map(|at| at as u8).collect();
        Packet::udp(
            addresses,
            ecn,
            Udp { source_port: 443, destination_port: 10_000, payload: payload.into() },
        )
    }

    proptest! {
        /// A row of datagrams is cut at every multiple of its size, and nothing of it is copied.
        #[test]
        fn a_row_is_its_datagrams(len in 1usize..60_000, size in 100u16..9_000, is_v6: bool, bits in 0u8..4) {
            let (addresses, ecn) = (if is_v6 { v6() } else { ADDRESSES }, Ecn::from_bits(bits));
            let row = datagram(addresses, len, ecn);
            let gso = Some(Gso { kind: GsoKind::Udp, size, ecn: false });
            let header = VnetHeader { gso, ..VnetHeader::default() };
            let bytes = Bytes::from(row.to_bytes());
            let mut parts = Vec::new();
            take_apart(&header, &bytes, |packet| parts.push(packet)).unwrap();
            prop_assert_eq!(parts.len(), len.div_ceil(size.into()));
            let headers = if is_v6 { 48 } else { 28 };
            for (index, part) in parts.iter().enumerate() {
                let PacketPayload::Udp(udp) = &part.carried else { unreachable!() };
                let from = headers + index * usize::from(size);
                let expected = &bytes[from..(from + usize::from(size)).min(headers + len)];
                prop_assert_eq!((udp.payload.as_ptr(), &udp.payload[..]), (expected.as_ptr(), expected));
                prop_assert_eq!((udp.source_port, udp.destination_port), (443, 10_000));
                prop_assert_eq!((part.bytes as usize, part.ecn, part.whole), (headers + expected.len(), ecn, true));
            }
        }
    }

    /// Without DF, each keeps what its fragments need: an identification of its own.
    #[test]
    fn a_row_that_may_be_fragmented_has_identifications() {
        let mut row = datagram(ADDRESSES, 2_500, Ecn::Ect0);
        row.whole = false;
        let gso = Some(Gso { kind: GsoKind::Udp, size: 1_200, ecn: false });
        let parts = packets(&VnetHeader { gso, ..VnetHeader::default() }, row.to_bytes());
        let seen: Vec<_> = parts
            .iter()
            .map(|part| {
                let bytes = part.to_bytes();
                let Ok(IpPacket::V4(v4)) = IpPacket::parse(&bytes) else { unreachable!() };
                let Ok(Transport::Udp(udp)) = IpPacket::V4(v4).transport() else { unreachable!() };
                assert!(v4.checksum_is_valid() && udp.checksum_is_valid(&ADDRESSES) && !v4.dont_fragment());
                (v4.ident(), udp.payload().len(), part.whole, part.ecn)
            })
            .collect();
        let expected = [(0, 1_200), (1, 1_200), (2, 100)];
        assert_eq!(seen, expected.map(|(ident, len)| (ident, len, false, Ecn::Ect0)));
    }

    #[test]
    fn kinds_that_were_not_asked_for_are_refused() {
        let fragments = Some(Gso { kind: GsoKind::UdpFragments, size: 1400, ecn: false });
        let header = VnetHeader { gso: fragments, ..VnetHeader::default() };
        let row = Bytes::from(datagram(ADDRESSES, 9_000, Ecn::NotEct).to_bytes());
        assert_eq!(take_apart(&header, &row, |_| unreachable!()), Err(IncomingError::OtherKind));
        let header = VnetHeader { gso: Some(Gso { kind: GsoKind::TcpV4, size: 1400, ecn: false }), ..header };
        assert_eq!(take_apart(&header, &row, |_| unreachable!()), Err(IncomingError::OtherKind));
        let header = VnetHeader { gso: Some(Gso { kind: GsoKind::Udp, size: 1400, ecn: false }), ..header };
        let segment = Bytes::from(packet(9_000, Flags::ACK).to_bytes());
        assert_eq!(take_apart(&header, &segment, |_| unreachable!()), Err(IncomingError::OtherKind));
    }

    /// A program with a packet socket may leave any checksum to be done; done within the headers, it would
    /// make another packet of what was read.
    #[test]
    fn a_checksum_that_is_to_be_done_lies_behind_the_headers() {
        let plain = Bytes::from(datagram(ADDRESSES, 100, Ecn::Ect0).to_bytes());
        for (start, offset, is_within) in
            [(0, 0, false), (0, 10, false), (19, 6, false), (20, 107, false), (120, 7, false), (20, 6, true)]
        {
            let checksum = ChecksumNeed::Partial { start, offset };
            let header = VnetHeader { checksum, ..VnetHeader::default() };
            let mut packets = 0;
            let taken = take_apart(&header, &plain, |_| packets += 1);
            assert_eq!((taken.is_ok(), packets), (is_within, usize::from(is_within)), "{checksum:?}");
            let framed = crate::Framed::parse([&header.emit()[..], &plain[..]].concat().into());
            assert_eq!(framed.is_ok(), is_within, "{checksum:?}");
        }
    }

    /// Packets from which an ordinary host would differ stay as they are, as bytes with a whole checksum.
    #[test]
    fn what_is_not_plain_stays_bytes() {
        let plain = datagram(ADDRESSES, 100, Ecn::Ect0).to_bytes();
        let [parsed] = &packets(&VnetHeader::default(), plain.clone())[..] else { panic!("one packet") };
        assert!(matches!(parsed.carried, PacketPayload::Udp(_)) && parsed.to_bytes() == plain);
        let without_checksum = [&plain[..26], &[0, 0], &plain[28..]].concat();
        let [parsed] = &packets(&VnetHeader::default(), without_checksum.clone())[..] else {
            panic!("one packet")
        };
        assert_eq!(parsed.to_bytes(), without_checksum);
        // May be cut into fragments: a partial checksum is done before.
        let mut cuttable = datagram(ADDRESSES, 100, Ecn::Ect0);
        cuttable.whole = false;
        let whole = cuttable.to_bytes();
        let frame = Frame::of(&cuttable);
        let bytes = [frame.head(), frame.rest()].concat();
        let header = VnetHeader::parse(&bytes).unwrap();
        assert!(matches!(header.checksum, ChecksumNeed::Partial { start: 20, offset: 6 }));
        assert_ne!(bytes[VnetHeader::LEN..], whole);
        let [parsed] = &packets(&header, bytes[VnetHeader::LEN..].to_vec())[..] else { panic!("one packet") };
        assert!(matches!(parsed.carried, PacketPayload::Raw(_)) && parsed.to_bytes() == whole);
    }

    #[test]
    fn a_frame_is_read_as_the_packet_it_was() {
        let raw = Packet::raw(packet(20, Flags::ACK).to_bytes().into()).unwrap();
        let datagrams = [datagram(ADDRESSES, 1_200, Ecn::Ce), datagram(v6(), 0, Ecn::Ect0)];
        for sent in [packet(300, Flags::ACK), raw].into_iter().chain(datagrams) {
            let frame = Frame::of(&sent);
            let bytes = [frame.head(), frame.rest()].concat();
            let header = VnetHeader::parse(&bytes).unwrap();
            let [got] = &packets(&header, bytes[VnetHeader::LEN..].to_vec())[..] else {
                panic!("one packet")
            };
            assert_eq!(got.to_bytes(), sent.to_bytes());
        }
    }
}
