//! A packet of a real host as its kernel handed it over: behind a virtio-net header, which says what is left
//! to do, and often many packets in one (segmentation offload).
//!
//! Nothing of it is copied inside. What is under way is a buffer, which many may share, and the run of its
//! packets that travels together: all of them where the path only takes time, each by itself where a link
//! has a rate, a queue, losses or jitter of its own. Where neighbours leave together they are one run again,
//! as a kernel that forwards joins them (GRO). The checksum stays as undone as it came.

use crate::five_tuple::FiveTuple;
use crate::offload::{IncomingError, is_checksum_within};
use crate::packet::Packet;
use bytes::Bytes;
use farfield_wire::{
    Addresses, ChecksumNeed, Ecn, IpPacket, Large, RowDatagram, VnetHeader, complete_checksum,
    set_ecn_of_header, set_hop_limit_of_header,
};
use std::ops::Range;

/// Bytes at the front of a single packet that are rewritten: the fixed header of IPv6, or of IPv4.
const FIXED_HEADER_MAX: usize = 40;

/// Packets of a real host that travel together.
#[derive(Debug, Clone)]
pub struct Framed {
    /// A virtio-net header and an IP packet, which was parsed.
    bytes: Bytes,
    first: u16,
    count: u16,
}

/// Front of what is written to a kernel: the virtio-net header and the headers with their new hop limit.
#[derive(Debug)]
pub struct Head {
    bytes: [u8; Large::HEADER_LEN_MAX],
    len: usize,
}

impl Head {
    /// The head of a row that begins with `first` and has `payload_len` bytes of payload in all, with hop
    /// limit `ttl` and ECN codepoint `ecn`.
    pub fn of_row(first: &RowDatagram<'_>, payload_len: usize, ttl: u8, ecn: Ecn) -> Head {
        let mut head = Head { bytes: [0; Large::HEADER_LEN_MAX], len: 0 };
        head.len = first.write_header(payload_len, &mut head.bytes);
        head.set(ttl, ecn);
        head
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn set(&mut self, ttl: u8, ecn: Ecn) {
        let header = &mut self.bytes[VnetHeader::LEN..self.len];
        set_hop_limit_of_header(header, ttl);
        set_ecn_of_header(header, ecn);
    }
}

impl Framed {
    /// All packets of `bytes`: a virtio-net header and an IP packet.
    ///
    /// # Errors
    /// Headers that contradict one another, or a large packet of a kind that was not asked for.
    pub fn parse(bytes: Bytes) -> Result<Framed, IncomingError> {
        let header = VnetHeader::parse(&bytes)?;
        let packet = &bytes[VnetHeader::LEN..];
        let ip = IpPacket::parse(packet)?;
        let len = VnetHeader::LEN + ip.bytes().len();
        let count = match header.gso {
            Some(gso) => Large::new(packet, gso).map_err(|_| IncomingError::OtherKind)?.packets(),
            None => 1,
        };
        if !is_checksum_within(header.checksum, &ip) {
            return Err(farfield_wire::ParseError::Length.into());
        }
        let count = u16::try_from(count).map_err(|_| farfield_wire::ParseError::Length)?;
        Ok(Framed { bytes: bytes.slice(..len), first: 0, count })
    }

    /// The buffer, the first of its packets that travel, and their number.
    pub(crate) fn into_parts(self) -> (Bytes, u16, u16) {
        (self.bytes, self.first, self.count)
    }

    /// The packets whose parts [`into_parts`](Self::into_parts) returned.
    pub(crate) fn of_parts(bytes: Bytes, first: u16, count: u16) -> Framed {
        Framed { bytes, first, count }
    }

    /// Packets that it is.
    pub fn packets(&self) -> u16 {
        self.count
    }

    /// Bytes of the longest of its packets, from the IP header on.
    pub fn longest(&self) -> u32 {
        self.large().map_or(self.packet().len(), |large| large.longest(&self.run())) as u32
    }

    /// The frame's packets, one by one.
    pub fn pieces(&self) -> impl Iterator<Item = Framed> + use<> {
        let whole = self.clone();
        (self.first..self.first + self.count).map(move |first| Framed { first, count: 1, ..whole.clone() })
    }

    /// Takes `next` in, if its packets are those that follow in the same buffer.
    pub fn join(&mut self, next: &Framed) -> bool {
        let follows = self.first + self.count == next.first
            && self.bytes.as_ptr() == next.bytes.as_ptr()
            && self.bytes.len() == next.bytes.len();
        if follows {
            self.count += next.count;
        }
        follows
    }

    /// The datagram that it is, if it may be of a row of those that were sent one by one.
    pub fn row_datagram(&self) -> Option<RowDatagram<'_>> {
        RowDatagram::of(&VnetHeader::parse(&self.bytes).ok()?, self.packet())
    }

    /// Source and destination.
    pub fn addresses(&self) -> Addresses {
        self.ip().addresses()
    }

    /// The five-tuple that all packets of the frame share.
    pub(crate) fn five_tuple(&self) -> FiveTuple {
        FiveTuple::of_bytes(self.addresses(), self.packet())
    }

    /// The whole as a packet under way, with the hop limit that it came with.
    pub fn into_packet(self) -> Packet {
        let ip = self.ip();
        let (ttl, ecn, whole) = (ip.hop_limit(), ip.ecn(), crate::packet::keeps_whole(&ip));
        let bytes = self.longest();
        Packet {
            addresses: self.addresses(),
            ttl,
            ecn,
            whole,
            bytes,
            carried: crate::PacketPayload::Framed(self),
        }
    }

    /// The packet as a kernel takes it: a head with hop limit `ttl` and ECN codepoint `ecn`, and the bytes
    /// behind it.
    pub fn emit(&self, ttl: u8, ecn: Ecn) -> (Head, &[u8]) {
        let mut head = Head { bytes: [0; Large::HEADER_LEN_MAX], len: 0 };
        let packet = self.packet();
        let rest = match self.large().filter(|large| usize::from(self.count) < large.packets()) {
            Some(large) => {
                head.len = large.write_header(packet, &self.run(), &mut head.bytes);
                &packet[large.payload(&self.run())]
            }
            None => {
                head.len = self.bytes.len().min(VnetHeader::LEN + FIXED_HEADER_MAX);
                head.bytes[..head.len].copy_from_slice(&self.bytes[..head.len]);
                &self.bytes[head.len..]
            }
        };
        head.set(ttl, ecn);
        (head, rest)
    }

    /// The first packet as bytes with hop limit `ttl` and ECN codepoint `ecn`, its checksum whole. Allocates.
    pub fn to_bytes(&self, ttl: u8, ecn: Ecn) -> Vec<u8> {
        let one = Framed { count: 1, ..self.clone() };
        let (head, rest) = one.emit(ttl, ecn);
        let mut out = [&head.as_bytes()[VnetHeader::LEN..], rest].concat();
        if let Ok(VnetHeader { checksum: ChecksumNeed::Partial { start, offset }, .. }) =
            VnetHeader::parse(head.as_bytes())
        {
            complete_checksum(&mut out, start.into(), offset.into());
        }
        out
    }

    fn packet(&self) -> &[u8] {
        &self.bytes[VnetHeader::LEN..]
    }

    fn ip(&self) -> IpPacket<'_> {
        IpPacket::parse(self.packet()).expect("it was parsed when it came")
    }

    fn run(&self) -> Range<usize> {
        usize::from(self.first)..usize::from(self.first) + usize::from(self.count)
    }

    /// The large packet that it is, if it is one that can be cut.
    fn large(&self) -> Option<Large> {
        let gso = VnetHeader::parse(&self.bytes).ok()?.gso?;
        Large::new(self.packet(), gso).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_wire::{Gso, GsoKind, IpRepr, Message, Protocol, Transport, UdpRepr, write_packet};
    use std::net::Ipv4Addr;

    /// A datagram of `len` bytes of payload, to be cut at `size` if that is given.
    fn datagrams(len: usize, size: Option<u16>) -> Bytes {
        let addresses =
            Addresses::V4 { source: Ipv4Addr::new(198, 18, 0, 1), destination: Ipv4Addr::LOCALHOST };
        let data: Vec<u8> = (0..len).map(|at| at as u8).collect();
        let message = Message::Udp(UdpRepr { source_port: 5, destination_port: 6 }, &data);
        let mut bytes = vec![0; VnetHeader::LEN + 20 + message.wire_len()];
        write_packet(&IpRepr::new(addresses, Protocol::UDP), &message, &mut bytes[VnetHeader::LEN..]);
        let gso = size.map(|size| Gso { kind: GsoKind::Udp, size, ecn: false });
        let checksum = match size {
            Some(_) => ChecksumNeed::Partial { start: 20, offset: 6 },
            None => ChecksumNeed::Whole,
        };
        bytes[..VnetHeader::LEN].copy_from_slice(&VnetHeader { checksum, gso, header_len: 28 }.emit());
        bytes.into()
    }

    fn payload(packet: &[u8]) -> Vec<u8> {
        let ip = IpPacket::parse(packet).unwrap();
        assert!(matches!(&ip, IpPacket::V4(v4) if v4.checksum_is_valid() && v4.ttl() == 9));
        let Ok(Transport::Udp(udp)) = ip.transport() else { panic!("{ip:?}") };
        assert!(udp.checksum_is_valid(&ip.addresses()));
        udp.payload().to_vec()
    }

    #[test]
    fn pieces_join_again_to_what_they_were() {
        let bytes = datagrams(1_000, Some(300));
        let whole = Framed::parse(bytes.clone()).unwrap();
        assert_eq!((whole.packets(), whole.longest()), (4, 328));
        assert_eq!((whole.five_tuple().source_port, whole.five_tuple().destination_port), (5, 6));
        let pieces: Vec<Framed> = whole.pieces().collect();
        let lengths: Vec<u32> = pieces.iter().map(Framed::longest).collect();
        assert_eq!(lengths, [328, 328, 328, 128]);
        let all: Vec<u8> = pieces.iter().flat_map(|piece| payload(&piece.to_bytes(9, Ecn::NotEct))).collect();
        assert_eq!(all, &bytes[VnetHeader::LEN + 28..]);
        let mut joined = pieces[0].clone();
        assert!(!joined.join(&pieces[2]), "one is missing between them");
        assert!(pieces[1..].iter().all(|piece| joined.join(piece)));
        let (head, rest) = joined.emit(64, Ecn::NotEct);
        assert_eq!([head.as_bytes(), rest].concat(), bytes);
        let mut other = Framed::parse(datagrams(1_000, Some(300))).unwrap().pieces();
        assert!(!joined.join(&other.next().unwrap()), "another buffer");
    }

    #[test]
    fn a_packet_by_itself_is_as_it_was_but_for_its_hops() {
        let bytes = datagrams(70, None);
        let framed = Framed::parse(bytes.clone()).unwrap();
        assert_eq!((framed.packets(), framed.longest()), (1, 98));
        assert_eq!(payload(&framed.to_bytes(9, Ecn::NotEct)), &bytes[VnetHeader::LEN + 28..]);
        let (head, rest) = framed.emit(64, Ecn::NotEct);
        assert_eq!([head.as_bytes(), rest].concat(), bytes);
    }

    #[test]
    fn a_checksum_beyond_the_packet_is_refused() {
        let mut bytes = datagrams(70, Some(100)).to_vec();
        let checksum = ChecksumNeed::Partial { start: 97, offset: 6 };
        bytes[..VnetHeader::LEN].copy_from_slice(&VnetHeader { checksum, ..VnetHeader::default() }.emit());
        assert!(Framed::parse(bytes.into()).is_err());
    }
}
