//! Datagrams that were sent one by one, as a row that a kernel takes as one packet: as the driver of a card
//! joins what came in together (UDP GRO; Linux, `udp_gro_receive`), and a kernel cuts it again for a socket
//! that takes one datagram at a time.
//!
//! Only such as kernels with offload hand over can be joined: whole datagrams whose checksum is still to be
//! done, for a row's checksum is. IPv4 must not allow fragments, since identifications then mean nothing
//! (RFC 6864, section 4) and need not be kept.

use crate::checksum::Sum;
use crate::field::{put_u16, u16_at};
use crate::ip::{IpPacket, Protocol};
use crate::udp;
use crate::vnet::{ChecksumNeed, Gso, GsoKind, VnetHeader};

/// Offset of UDP's checksum in its header, in bytes.
const CHECKSUM_AT: u16 = 6;
const IPV4_LEN: usize = 20;
const IPV6_LEN: usize = 40;

/// A datagram that may be of a row.
#[derive(Debug, Clone, Copy)]
pub struct RowDatagram<'a> {
    /// The headers of IP and UDP.
    header: &'a [u8],
    payload: &'a [u8],
}

impl<'a> RowDatagram<'a> {
    /// Bytes of the longest header that [`write_header`](Self::write_header) writes.
    pub const HEADER_LEN_MAX: usize = VnetHeader::LEN + IPV6_LEN + udp::HEADER_LEN;
    /// The most datagrams of a row that every kernel takes (Linux before 6.9, `UDP_MAX_SEGMENTS`).
    pub const DATAGRAMS_MAX: usize = 64;

    /// The datagram of `packet`, an IP packet behind `vnet`; `None` if it cannot be of a row.
    pub fn of(vnet: &VnetHeader, packet: &'a [u8]) -> Option<RowDatagram<'a>> {
        let ip = IpPacket::parse(packet).ok()?;
        let ip_len = match ip {
            IpPacket::V4(v4) if v4.dont_fragment() && v4.fragment().is_none() => IPV4_LEN,
            IpPacket::V4(_) => return None,
            IpPacket::V6(_) => IPV6_LEN,
        };
        let undone = ChecksumNeed::Partial { start: ip_len as u16, offset: CHECKSUM_AT };
        let header_len = ip_len + udp::HEADER_LEN;
        let packet = ip.bytes();
        let is_one = vnet.gso.is_none()
            && vnet.checksum == undone
            && ip.protocol() == Protocol::UDP
            && ip.header_len() == ip_len
            && packet.len() > header_len
            && usize::from(u16_at(packet, ip_len + 4)) == packet.len() - ip_len;
        let (header, payload) = packet.split_at_checked(header_len)?;
        is_one.then_some(RowDatagram { header, payload })
    }

    /// Data of the datagram; never empty.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// True if a row of datagrams as long as this one may go on with `next`: of the same flow, and not
    /// longer. One that is shorter ends it. Hop limits and ECN codepoints are left to the caller.
    pub fn goes_on_with(&self, next: &RowDatagram<'_>) -> bool {
        next.payload.len() <= self.payload.len() && self.flow() == next.flow()
    }

    /// All of the headers that a row has in common: type of service but for ECN, flow label, flags, addresses
    /// and ports.
    fn flow(&self) -> ([u8; 4], &'a [u8]) {
        let header = self.header;
        match header.len() - udp::HEADER_LEN {
            IPV4_LEN => ([header[0], header[1] & !3, header[6], header[7]], &header[12..24]),
            _ => ([header[0], header[1] & !0x30, header[2], header[3]], &header[8..44]),
        }
    }

    /// Writes the header of a row that begins with this datagram and has `payload_len` bytes in all to the
    /// front of `out`: the virtio-net header, then those of IP and UDP; returns their length.
    ///
    /// # Panics
    /// If a packet cannot hold the row, or `out` its header.
    pub fn write_header(&self, payload_len: usize, out: &mut [u8]) -> usize {
        let len = VnetHeader::LEN + self.header.len();
        let (vnet, header) = out[..len].split_at_mut(VnetHeader::LEN);
        header.copy_from_slice(self.header);
        let (ip, udp) = header.split_at_mut(self.header.len() - udp::HEADER_LEN);
        let carried = u16::try_from(udp::HEADER_LEN + payload_len).expect("a row fits into a packet");
        let checksum = ChecksumNeed::Partial { start: ip.len() as u16, offset: CHECKSUM_AT };
        let gso = Gso { kind: GsoKind::Udp, size: self.payload.len() as u16, ecn: false };
        let gso = (payload_len > self.payload.len()).then_some(gso);
        vnet.copy_from_slice(&VnetHeader { checksum, gso, header_len: self.header.len() as u16 }.emit());
        let addresses = if ip.len() == IPV4_LEN {
            let total = carried.checked_add(IPV4_LEN as u16).expect("a row fits into a packet");
            put_u16(ip, 2, total);
            put_u16(ip, 10, 0);
            let checksum = Sum::of(ip).checksum();
            put_u16(ip, 10, checksum);
            &ip[12..20]
        } else {
            put_u16(ip, 4, carried);
            &ip[8..40]
        };
        let pseudo = Sum::of(addresses).word(carried).word(u16::from(Protocol::UDP.0));
        put_u16(udp, 4, carried);
        put_u16(udp, usize::from(CHECKSUM_AT), pseudo.fold());
        len
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::large::Large;
    use crate::{Addresses, IpRepr, Message, UdpRepr, complete_checksum, write_packet};
    use proptest::prelude::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    /// A datagram as a kernel with offload hands it over.
    fn datagram(is_v6: bool, from: u16, data: &[u8]) -> (VnetHeader, Vec<u8>) {
        let addresses = if is_v6 {
            Addresses::V6 { source: Ipv6Addr::from_bits(0xfd00 << 112), destination: Ipv6Addr::LOCALHOST }
        } else {
            let (source, destination) = (Ipv4Addr::new(198, 18, 0, 1), Ipv4Addr::new(192, 0, 2, 1));
            Addresses::V4 { source, destination }
        };
        let message = Message::Udp(UdpRepr { source_port: from, destination_port: 443 }, data);
        let mut packet = vec![0; 40 + message.wire_len()];
        let len = write_packet(&IpRepr::new(addresses, Protocol::UDP), &message, &mut packet);
        packet.truncate(len);
        let start = if is_v6 { 40 } else { 20 };
        (vnet(start), packet)
    }

    fn vnet(start: u16) -> VnetHeader {
        let checksum = ChecksumNeed::Partial { start, offset: CHECKSUM_AT };
        VnetHeader { checksum, gso: None, header_len: 0 }
    }

    proptest! {
        /// A row, cut as a kernel cuts it, is the datagrams that it was made of.
        #[test]
        fn a_row_is_its_datagrams(size in 1usize..1_200, count in 1usize..40, last in 1usize..1_200, is_v6: bool) {
            let mut lengths = vec![size; count];
            lengths.push(last.min(size));
            let sent: Vec<(VnetHeader, Vec<u8>)> =
                lengths.iter().enumerate().map(|(nth, &len)| datagram(is_v6, 5, &vec![nth as u8; len])).collect();
            let row: Vec<RowDatagram<'_>> =
                sent.iter().map(|(vnet, packet)| RowDatagram::of(vnet, packet).unwrap()).collect();
            prop_assert!(row[1..].iter().all(|next| row[0].goes_on_with(next)));
            let data: Vec<u8> = row.iter().flat_map(RowDatagram::payload).copied().collect();
            let mut head = [0xaa; RowDatagram::HEADER_LEN_MAX];
            let len = row[0].write_header(data.len(), &mut head);
            let gso = VnetHeader::parse(&head).unwrap().gso.unwrap();
            let packet = [&head[VnetHeader::LEN..len], &data[..]].concat();
            let large = Large::new(&packet, gso).unwrap();
            prop_assert_eq!(large.packets(), sent.len());
            for (nth, (_, one)) in sent.iter().enumerate() {
                let mut head = [0; Large::HEADER_LEN_MAX];
                let len = large.write_header(&packet, &(nth..nth + 1), &mut head);
                let mut cut = [&head[VnetHeader::LEN..len], &packet[large.payload(&(nth..nth + 1))]].concat();
                let start = if is_v6 { 40 } else { 20 };
                prop_assert!(complete_checksum(&mut cut, start, CHECKSUM_AT.into()));
                // Identifications of IPv4 count on; the rest is as it was sent.
                if !is_v6 {
                    cut[4..6].copy_from_slice(&one[4..6]);
                    cut[10..12].copy_from_slice(&one[10..12]);
                }
                prop_assert_eq!(&cut, one);
            }
        }
    }

    #[test]
    fn what_differs_begins_a_row_of_its_own() {
        for is_v6 in [false, true] {
            let (vnet, packet) = datagram(is_v6, 5, &[1; 100]);
            let first = RowDatagram::of(&vnet, &packet).unwrap();
            let longer = datagram(is_v6, 5, &[1; 101]);
            assert!(!first.goes_on_with(&RowDatagram::of(&longer.0, &longer.1).unwrap()));
            let other_port = datagram(is_v6, 6, &[1; 100]);
            assert!(!first.goes_on_with(&RowDatagram::of(&other_port.0, &other_port.1).unwrap()));
            // One bit of each byte of the header: of those that a row has in common, none may differ. ECN,
            // the hop limit, identification, lengths and checksums may.
            let own: &[usize] = if is_v6 { &[4, 5, 7, 46, 47] } else { &[2, 3, 4, 5, 8, 10, 11, 26, 27] };
            for at in (0..first.header.len()).filter(|at| !own.contains(at)) {
                let mut other = packet.clone();
                other[at] ^= 4;
                let goes_on = RowDatagram::of(&vnet, &other).is_some_and(|other| first.goes_on_with(&other));
                assert!(!goes_on, "byte {at}");
            }
            let mut congested = packet.clone();
            congested[1] ^= if is_v6 { 0x30 } else { 3 };
            assert!(first.goes_on_with(&RowDatagram::of(&vnet, &congested).unwrap()));
        }
    }

    #[test]
    fn what_cannot_be_of_a_row() {
        let (vnet, packet) = datagram(false, 5, &[1; 100]);
        let done = VnetHeader { checksum: ChecksumNeed::Whole, ..vnet };
        assert!(RowDatagram::of(&done, &packet).is_none(), "its checksum is done");
        let gso = Some(Gso { kind: GsoKind::Udp, size: 50, ecn: false });
        assert!(RowDatagram::of(&VnetHeader { gso, ..vnet }, &packet).is_none(), "it is a row");
        let mut fragments = packet.clone();
        fragments[6] &= !0x40;
        assert!(RowDatagram::of(&vnet, &fragments).is_none(), "it may be cut into fragments");
        let mut short = packet.clone();
        short[25] -= 1;
        assert!(RowDatagram::of(&vnet, &short).is_none(), "UDP is shorter than IP");
        let (vnet, empty) = datagram(true, 5, &[]);
        assert!(RowDatagram::of(&vnet, &empty).is_none(), "it has no data");
    }
}
