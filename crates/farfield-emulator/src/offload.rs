//! Packets at the gateway, each behind the header that says what the kernel left undone: the large segments
//! that it hands over are cut into packets, and packets for it leave their checksums to it.
//!
//! A large segment keeps its buffer: each of its packets is a header and a range. Nothing of the data is
//! copied.

use crate::packet::{Carried, HEADERS_MAX, Packet, Tcp, ip_header};
use bytes::Bytes;
use farfield_wire::{
    ChecksumNeed, GsoKind, IpPacket, Message, ParseError, Protocol, Transport, Tso, VnetHeader,
    complete_checksum,
};
use std::borrow::Cow;

/// The longest head of a packet that leaves through the gateway.
const HEAD_MAX: usize = VnetHeader::LEN + HEADERS_MAX;

/// Why what the gateway handed over is not a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IncomingError {
    /// Its headers contradict one another.
    #[error(transparent)]
    Malformed(#[from] ParseError),
    /// A kind of large packet that was not asked for.
    #[error("a large packet that is not TCP")]
    NotTcp,
}

/// Hands each packet of what the gateway handed over to `each`: the one, or those that a large segment is cut
/// into.
///
/// # Errors
/// When it is no IP packet, or a large one of another kind than TCP.
pub fn take_apart(
    header: &VnetHeader,
    bytes: &Bytes,
    mut each: impl FnMut(Packet),
) -> Result<(), IncomingError> {
    let ip = IpPacket::parse(bytes)?;
    if let Some(gso) = header.gso {
        if !matches!(gso.kind, GsoKind::TcpV4 | GsoKind::TcpV6) {
            return Err(IncomingError::NotTcp);
        }
        return cut(&ip, bytes, gso.size, each);
    }
    let packet = match header.checksum {
        ChecksumNeed::Partial { start, offset } if needs_bytes(&ip) => {
            let mut copy = bytes.to_vec();
            complete_checksum(&mut copy, start.into(), offset.into());
            Packet::raw(copy.into())
        }
        _ => Packet::parse(bytes),
    };
    each(packet.ok_or(ParseError::Truncated)?);
    Ok(())
}

fn cut(
    ip: &IpPacket<'_>,
    bytes: &Bytes,
    size: u16,
    mut each: impl FnMut(Packet),
) -> Result<(), IncomingError> {
    let Transport::Tcp(view) = ip.transport()? else { return Err(IncomingError::NotTcp) };
    let tso = Tso::new(bytes, size).map_err(|_| IncomingError::NotTcp)?;
    let large = Tcp::parse(&view, bytes);
    for index in 0..tso.packets() {
        let payload = bytes.slice(tso.payload(index));
        let mut segment = large.segment;
        let last = index + 1 == tso.packets();
        segment.seq = tso.seq(index);
        segment.flags.fin &= last;
        segment.flags.psh &= last;
        segment.payload_len = payload.len() as u32;
        each(Packet {
            addresses: ip.addresses(),
            ttl: ip.hop_limit(),
            // The kernel makes large segments only where it discovers the path's MTU.
            whole: true,
            bytes: tso.wire_len(index) as u32,
            carried: Carried::Tcp(Tcp { segment, payload, ..large }),
        });
    }
    Ok(())
}

/// True if the packet stays as bytes inside, so that its checksum must be whole.
fn needs_bytes(ip: &IpPacket<'_>) -> bool {
    let may_be_cut = matches!(ip, IpPacket::V4(v4) if !v4.dont_fragment());
    may_be_cut || ip.protocol() != Protocol::TCP
}

/// A packet as the gateway takes it, in two parts: the head, and the data behind it.
#[derive(Debug)]
pub struct Frame<'a> {
    head: [u8; HEAD_MAX],
    head_len: usize,
    rest: Cow<'a, [u8]>,
}

impl<'a> Frame<'a> {
    /// The frame of `packet`. TCP leaves its checksum to the kernel, which does it if anyone looks at it.
    pub fn of(packet: &'a Packet) -> Frame<'a> {
        let mut head = [0; HEAD_MAX];
        let Carried::Tcp(tcp) = &packet.carried else {
            head[..VnetHeader::LEN].copy_from_slice(&VnetHeader::default().emit());
            return Frame { head, head_len: VnetHeader::LEN, rest: packet.to_bytes().into() };
        };
        let repr = tcp.repr();
        let ip = ip_header(packet.addresses, packet.ttl, packet.whole, Protocol::TCP);
        let (vnet_part, headers) = head.split_at_mut(VnetHeader::LEN);
        let message_len = Message::Tcp(&repr, &tcp.payload).wire_len();
        let ip_len = ip.emit(message_len, headers);
        let tcp_len = repr.emit_partial(&packet.addresses, tcp.payload.len(), &mut headers[ip_len..]);
        let vnet = VnetHeader {
            checksum: ChecksumNeed::Partial { start: ip_len as u16, offset: 16 },
            gso: None,
            header_len: (ip_len + tcp_len) as u16,
        };
        vnet_part.copy_from_slice(&vnet.emit());
        Frame { head, head_len: VnetHeader::LEN + ip_len + tcp_len, rest: Cow::Borrowed(&tcp.payload) }
    }

    /// The vnet header and, of TCP, all other headers.
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
    use farfield_wire::{Addresses, Gso};
    use proptest::prelude::*;
    use std::net::Ipv4Addr;

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
            let large = packet(len, Flags { psh: true, ..Flags::FIN_ACK });
            let gso = Some(Gso { kind: GsoKind::TcpV4, size, ecn: false });
            let header = VnetHeader { gso, ..VnetHeader::default() };
            let parts = packets(&header, large.to_bytes());
            let (mut data, mut seq) = (Vec::new(), SeqNumber(u32::MAX - 100));
            for (index, part) in parts.iter().enumerate() {
                let Carried::Tcp(tcp) = &part.carried else { unreachable!() };
                let last = index + 1 == parts.len();
                prop_assert_eq!((tcp.segment.seq, tcp.segment.flags.fin, tcp.segment.flags.psh), (seq, last, last));
                prop_assert_eq!(part.bytes, 40 + tcp.payload.len() as u32);
                prop_assert!(tcp.payload.len() <= usize::from(size));
                seq = seq.at(tcp.payload.len() as i64);
                data.extend_from_slice(&tcp.payload);
            }
            let Carried::Tcp(whole) = &large.carried else { unreachable!() };
            prop_assert_eq!(data, whole.payload.to_vec());
        }
    }

    #[test]
    fn a_frame_is_read_as_the_packet_it_was() {
        for sent in [packet(300, Flags::ACK), Packet::raw(packet(20, Flags::ACK).to_bytes().into()).unwrap()]
        {
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
