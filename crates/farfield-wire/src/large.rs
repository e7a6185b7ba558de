//! Large packets of a kernel with segmentation offload, TCP (TSO) or UDP (USO), and any run of their packets
//! as one large packet again.
//!
//! A kernel that forwards cuts such a packet where the next interface wants it cut, and joins what arrives
//! together (GRO). Between two kernels both are the choice of a range: a run of neighbours is a header of its
//! own before a range of the large packet's payload, from one packet to all of them. Headers are those of
//! segmentation (Linux, `tcp_gso_segment` and `__udp_gso_segment`): sequence numbers, IPv4 identifications
//! and lengths; FIN and PSH where the last packet is, CWR where the first is. The checksum of TCP or UDP is
//! left partial, as the large packet has it: [`complete_checksum`](crate::complete_checksum) completes it.

use crate::checksum::Sum;
use crate::field::{put_u16, put_u32, u16_at};
use crate::ip::{IpPacket, ParseError, Protocol};
use crate::tcp::{CHECKSUM_AT, TcpFlags, TcpPacket};
use crate::tso::TsoError;
use crate::udp;
use crate::vnet::{ChecksumNeed, Gso, GsoKind, VnetHeader};
use std::ops::Range;

/// Offset of UDP's checksum in its header, in bytes.
const UDP_CHECKSUM_AT: usize = 6;

/// Cut of a large packet: lengths of its headers and of the payload of its packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Large {
    gso: Gso,
    ip_len: u16,
    header_len: u16,
    payload_len: u16,
    is_v4: bool,
}

impl Large {
    /// The most bytes that [`write_header`](Self::write_header) writes for packets without IPv6 extension
    /// headers.
    pub const HEADER_LEN_MAX: usize = VnetHeader::LEN + 120;

    /// Cut of `packet`, an IP packet, as `gso` says. One that is not larger stays one.
    ///
    /// # Errors
    /// When it is no whole packet of the protocol that `gso` says, or has more headers than
    /// [`HEADER_LEN_MAX`](Self::HEADER_LEN_MAX).
    pub fn new(packet: &[u8], gso: Gso) -> Result<Large, TsoError> {
        let ip = IpPacket::parse(packet)?;
        let protocol = match gso.kind {
            GsoKind::TcpV4 | GsoKind::TcpV6 => Protocol::TCP,
            GsoKind::Udp => Protocol::UDP,
            GsoKind::UdpFragments => return Err(TsoError::NotTcp),
        };
        if ip.protocol() != protocol || ip.fragment().is_some() {
            return Err(TsoError::NotTcp);
        }
        if gso.size == 0 {
            return Err(TsoError::SizeZero);
        }
        let ip_len = ip.header_len();
        let transport_len = match gso.kind {
            GsoKind::Udp if ip.payload().len() < udp::HEADER_LEN => return Err(ParseError::Truncated.into()),
            GsoKind::Udp => udp::HEADER_LEN,
            _ => TcpPacket::parse(ip.payload())?.header_len(),
        };
        let header_len = ip_len + transport_len;
        if header_len > Large::HEADER_LEN_MAX - VnetHeader::LEN {
            return Err(ParseError::Length.into());
        }
        Ok(Large {
            gso,
            ip_len: ip_len as u16,
            header_len: header_len as u16,
            payload_len: (ip.bytes().len() - header_len) as u16,
            is_v4: matches!(ip, IpPacket::V4(_)),
        })
    }

    /// Packets that it is cut into, at least one.
    pub fn packets(&self) -> usize {
        usize::from(self.payload_len.div_ceil(self.gso.size).max(1))
    }

    /// Range in the large packet of the payload of the packets `run`.
    ///
    /// # Panics
    /// If there are no such packets; so do all methods that take a run.
    pub fn payload(&self, run: &Range<usize>) -> Range<usize> {
        assert!(run.start < run.end && run.end <= self.packets(), "packets {run:?} of {}", self.packets());
        let (size, end) = (usize::from(self.gso.size), usize::from(self.payload_len));
        let header_len = usize::from(self.header_len);
        header_len + run.start * size..header_len + (run.end * size).min(end)
    }

    /// Bytes of the longest of the packets `run`, from the IP header on.
    pub fn longest(&self, run: &Range<usize>) -> usize {
        usize::from(self.header_len) + self.payload(run).len().min(usize::from(self.gso.size))
    }

    /// Writes the header of the packets `run` as one to the front of `out`: the virtio-net header, then those
    /// of IP and TCP or UDP; returns their length. `packet` is the one that this was made from.
    pub fn write_header(&self, packet: &[u8], run: &Range<usize>, out: &mut [u8]) -> usize {
        let header_len = usize::from(self.header_len);
        let payload_len = self.payload(run).len();
        let (vnet, header) = out[..VnetHeader::LEN + header_len].split_at_mut(VnetHeader::LEN);
        header.copy_from_slice(&packet[..header_len]);
        vnet.copy_from_slice(&self.vnet(run).emit());
        let (ip, transport) = header.split_at_mut(usize::from(self.ip_len));
        let carried_len = transport.len() + payload_len;
        self.write_ip(ip, run.start, carried_len);
        let addresses = if self.is_v4 { &ip[12..20] } else { &ip[8..40] };
        let pseudo = Sum::of(addresses).word(carried_len as u16).word(u16::from(self.protocol().0));
        if self.gso.kind == GsoKind::Udp {
            put_u16(transport, 4, carried_len as u16);
            put_u16(transport, UDP_CHECKSUM_AT, pseudo.fold());
        } else {
            let seq = crate::field::u32_at(transport, 4);
            put_u32(transport, 4, seq.wrapping_add((run.start * usize::from(self.gso.size)) as u32));
            transport[13] = self.flags(TcpFlags(transport[13]), run).0;
            put_u16(transport, CHECKSUM_AT, pseudo.fold());
        }
        VnetHeader::LEN + header_len
    }

    fn protocol(&self) -> Protocol {
        if self.gso.kind == GsoKind::Udp { Protocol::UDP } else { Protocol::TCP }
    }

    fn vnet(&self, run: &Range<usize>) -> VnetHeader {
        let offset = if self.gso.kind == GsoKind::Udp { UDP_CHECKSUM_AT } else { CHECKSUM_AT };
        let is_large = self.payload(run).len() > usize::from(self.gso.size);
        VnetHeader {
            checksum: ChecksumNeed::Partial { start: self.ip_len, offset: offset as u16 },
            gso: is_large.then_some(Gso { ecn: self.gso.ecn && run.start == 0, ..self.gso }),
            header_len: self.header_len,
        }
    }

    fn flags(&self, flags: TcpFlags, run: &Range<usize>) -> TcpFlags {
        let flags =
            if run.end < self.packets() { flags.without(TcpFlags::FIN | TcpFlags::PSH) } else { flags };
        if run.start > 0 { flags.without(TcpFlags::CWR) } else { flags }
    }

    fn write_ip(&self, ip: &mut [u8], first: usize, carried_len: usize) {
        if self.is_v4 {
            put_u16(ip, 2, (ip.len() + carried_len) as u16);
            put_u16(ip, 4, u16_at(ip, 4).wrapping_add(first as u16));
            put_u16(ip, 10, 0);
            let checksum = Sum::of(ip).checksum();
            put_u16(ip, 10, checksum);
        } else {
            put_u16(ip, 4, (ip.len() - crate::ipv6::HEADER_LEN + carried_len) as u16);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tso::Tso;
    use crate::{
        Addresses, IpRepr, Message, SeqNumber, TcpOptions, TcpRepr, Transport, UdpRepr, complete_checksum,
        write_packet,
    };
    use proptest::prelude::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    fn addresses(is_v6: bool) -> Addresses {
        if is_v6 {
            let (source, destination) = (Ipv6Addr::from_bits(0xfd00 << 112 | 7), Ipv6Addr::LOCALHOST);
            Addresses::V6 { source, destination }
        } else {
            let (source, destination) = (Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(198, 18, 0, 7));
            Addresses::V4 { source, destination }
        }
    }

    fn tcp(is_v6: bool, data: &[u8]) -> Vec<u8> {
        let flags = TcpFlags::ACK | TcpFlags::PSH | TcpFlags::FIN | TcpFlags::CWR;
        let repr = TcpRepr {
            source_port: 80,
            destination_port: 9,
            seq: SeqNumber(u32::MAX - 70),
            ack: SeqNumber(3),
            flags,
            window: 7,
            urgent: 0,
            options: TcpOptions::default(),
        };
        packet(is_v6, Protocol::TCP, &Message::Tcp(&repr, data))
    }

    fn packet(is_v6: bool, protocol: Protocol, message: &Message<'_>) -> Vec<u8> {
        let mut out = vec![0; 120 + message.wire_len()];
        let len = write_packet(&IpRepr::new(addresses(is_v6), protocol), message, &mut out);
        out.truncate(len);
        out
    }

    /// The packets `run` of a large one as a kernel would take them, checksum completed.
    fn taken(large: &Large, packet: &[u8], run: Range<usize>) -> (VnetHeader, Vec<u8>) {
        let mut head = [0xaa; Large::HEADER_LEN_MAX];
        let len = large.write_header(packet, &run, &mut head);
        let vnet = VnetHeader::parse(&head).unwrap();
        let mut whole = [&head[VnetHeader::LEN..len], &packet[large.payload(&run)]].concat();
        let ChecksumNeed::Partial { start, offset } = vnet.checksum else { panic!("{vnet:?}") };
        assert!(complete_checksum(&mut whole, start.into(), offset.into()));
        (vnet, whole)
    }

    fn gso(kind: GsoKind, size: u16) -> Gso {
        Gso { kind, size, ecn: true }
    }

    proptest! {
        /// Any run of packets, cut again, is what segmentation of the large packet gives for them.
        #[test]
        fn a_run_is_its_packets(
            len in 1usize..9_000, size in 100u16..1_500, is_v6: bool, from in 0usize..90, count in 1usize..90,
        ) {
            let bytes = tcp(is_v6, &vec![b'd'; len]);
            let kind = if is_v6 { GsoKind::TcpV6 } else { GsoKind::TcpV4 };
            let large = Large::new(&bytes, gso(kind, size)).unwrap();
            let tso = Tso::new(&bytes, size).unwrap();
            prop_assert_eq!(large.packets(), tso.packets());
            let from = from.min(large.packets() - 1);
            let run = from..(from + count).min(large.packets());
            let (vnet, joined) = taken(&large, &bytes, run.clone());
            prop_assert_eq!(vnet.gso.is_some(), large.payload(&run).len() > usize::from(size));
            prop_assert!(vnet.gso.is_none_or(|gso| gso.ecn == (run.start == 0)));
            let again = Tso::new(&joined, size).unwrap();
            prop_assert_eq!(again.packets(), run.len());
            for (nth, index) in run.clone().enumerate() {
                let (mut one, mut other) = ([0; Tso::HEADER_LEN_MAX], [0; Tso::HEADER_LEN_MAX]);
                let (one_len, other_len) =
                    (again.write_header(&joined, nth, &mut one), tso.write_header(&bytes, index, &mut other));
                prop_assert_eq!(&one[..one_len], &other[..other_len]);
                prop_assert_eq!(&joined[again.payload(nth)], &bytes[tso.payload(index)]);
            }
            let longest = run.clone().map(|index| tso.wire_len(index)).max();
            prop_assert_eq!(Some(large.longest(&run)), longest);
        }

        #[test]
        fn datagrams_are_of_one_size_but_for_the_last(
            len in 1usize..9_000, size in 100u16..1_400, is_v6: bool, ports: (u16, u16),
        ) {
            let data: Vec<u8> = (0..len).map(|at| at as u8).collect();
            let repr = UdpRepr { source_port: ports.0, destination_port: ports.1 };
            let bytes = packet(is_v6, Protocol::UDP, &Message::Udp(repr, &data));
            let large = Large::new(&bytes, gso(GsoKind::Udp, size)).unwrap();
            let mut got = Vec::new();
            for index in 0..large.packets() {
                let (vnet, one) = taken(&large, &bytes, index..index + 1);
                prop_assert_eq!(vnet.gso, None);
                let ip = IpPacket::parse(&one).unwrap();
                let Ok(Transport::Udp(udp)) = ip.transport() else { panic!("{ip:?}") };
                prop_assert!(udp.checksum_is_valid(&ip.addresses()));
                prop_assert_eq!((udp.source_port(), udp.destination_port()), ports);
                prop_assert_eq!(udp.payload().len(), usize::from(size).min(len - got.len()));
                got.extend_from_slice(udp.payload());
            }
            prop_assert_eq!(got, data);
        }
    }

    #[test]
    fn what_is_not_what_it_says_is_refused() {
        let bytes = tcp(false, b"data");
        assert_eq!(Large::new(&bytes, gso(GsoKind::Udp, 100)), Err(TsoError::NotTcp));
        assert_eq!(Large::new(&bytes, gso(GsoKind::UdpFragments, 100)), Err(TsoError::NotTcp));
        assert_eq!(Large::new(&bytes, gso(GsoKind::TcpV4, 0)), Err(TsoError::SizeZero));
        assert!(matches!(Large::new(&bytes[..19], gso(GsoKind::TcpV4, 9)), Err(TsoError::Packet(_))));
    }
}
