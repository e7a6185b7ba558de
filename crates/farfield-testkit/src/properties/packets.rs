//! Packets, offload, fragments and captures: the properties of the fuzz targets `wire_packet`, `wire_offload`,
//! `wire_fragments` and `wire_capture`.

use farfield_base::{Duration, Instant};
use farfield_wire::pcapng::Reader;
use farfield_wire::{
    Addresses, FragmentFault, Fragments, IcmpError, Icmpv4Repr, Icmpv6Repr, IpPacket, Quote, Reassembled,
    Reassembler, ReassemblyLimits, TcpPacket, TcpRepr, Transport, Tso, VnetHeader, complete_checksum,
    decrement_hop_limit, echo_reply, mark_congestion,
};

/// One packet: what is read and written again reads the same; what is changed on its way stays whole.
pub fn of_a_packet(bytes: &[u8]) {
    Quote::parse(bytes);
    let mut out = [0; IcmpError::LEN_MAX];
    let Ok(ip) = IpPacket::parse(bytes) else { return };
    assert_eq!(ip.header_len() + ip.payload().len(), ip.bytes().len());
    let addresses = ip.addresses();
    match ip.transport() {
        Ok(Transport::Tcp(tcp)) => of_a_segment(&tcp, &addresses),
        Ok(Transport::Udp(udp)) => assert!(udp.payload().len() <= ip.payload().len()),
        Ok(Transport::Icmpv4(icmp)) => {
            let _ = Icmpv4Repr::parse(&icmp).map(|repr| repr.wire_len());
        }
        Ok(Transport::Icmpv6(icmp)) => {
            let _ = Icmpv6Repr::parse(&icmp).map(|repr| repr.wire_len());
        }
        _ => {}
    }
    for error in [IcmpError::HopLimitExceeded, IcmpError::NoRoute, IcmpError::TooBig { next_hop_mtu: 1280 }] {
        if let Some(len) = error.write(bytes, addresses.destination(), &mut out) {
            let reply = IpPacket::parse(&out[..len]).expect("what is written can be read");
            assert_eq!(reply.addresses().destination(), addresses.source());
        }
    }
    let mut reply = vec![0; bytes.len() + 64];
    echo_reply(bytes, &mut reply);
    let mut changed = bytes.to_vec();
    complete_checksum(&mut changed, ip.header_len(), 16);
    let mut forwarded = bytes.to_vec();
    if decrement_hop_limit(&mut forwarded) == Ok(true) {
        let hops = IpPacket::parse(&forwarded).expect("it stays a packet").hop_limit();
        assert_eq!(hops, ip.hop_limit() - 1);
    }
    if let Ok(true) = mark_congestion(&mut forwarded) {
        IpPacket::parse(&forwarded).expect("it stays a packet");
    }
}

fn of_a_segment(tcp: &TcpPacket<'_>, addresses: &Addresses) {
    tcp.checksum_is_valid(addresses);
    let repr = TcpRepr::parse(tcp);
    let mut out = [0; 60];
    let len = repr.emit(addresses, tcp.payload(), &mut out);
    assert!(len <= 60 && len.is_multiple_of(4));
    let whole = [&out[..len], tcp.payload()].concat();
    let again = TcpPacket::parse(&whole).expect("what is written can be read");
    assert!(again.checksum_is_valid(addresses));
    let mut read = TcpRepr::parse(&again);
    // SACK blocks that do not fit beside the other options are left out, and what is left are the first of them
    let (left, all) = (read.options.sack.as_slice(), repr.options.sack.as_slice());
    assert!(all.starts_with(left));
    read.options.sack = repr.options.sack;
    assert_eq!(read, repr);
}

/// An offload header, a size, and a packet: cut, the segments are the same bytes of the stream.
pub fn of_offload(bytes: &[u8]) {
    let Some((head, rest)) = bytes.split_first_chunk::<{ VnetHeader::LEN }>() else { return };
    if let Ok(header) = VnetHeader::parse(head) {
        assert_eq!(VnetHeader::parse(&header.emit()), Ok(header));
    }
    let Some((size, packet)) = rest.split_first_chunk::<2>() else { return };
    let size = u16::from_be_bytes(*size);
    let Ok(tso) = Tso::new(packet, size) else { return };
    let whole = IpPacket::parse(packet).expect("it was cut");
    let Ok(Transport::Tcp(tcp)) = whole.transport() else { return };
    let (mut out, mut at) = (vec![0; tso.header_len()], 0);
    for index in 0..tso.packets() {
        let len = tso.write_header(packet, index, &mut out);
        let range = tso.payload(index);
        assert_eq!(tcp.payload().as_ptr(), packet[packet.len().min(tso.header_len())..].as_ptr());
        assert_eq!((range.start - tso.header_len(), len + range.len()), (at, tso.wire_len(index)));
        assert!(range.len() <= usize::from(size).max(1));
        assert_eq!(tso.seq(index).since(tcp.seq()) as usize, at);
        at += range.len();
        let one = [&out[..len], &packet[range]].concat();
        let view = IpPacket::parse(&one).expect("each is a packet");
        let Ok(Transport::Tcp(segment)) = view.transport() else { panic!("each carries TCP") };
        assert!(segment.checksum_is_valid(&view.addresses()));
    }
    assert_eq!(at, tcp.payload().len(), "all of it is there");
}

/// Packets, each behind two bytes of length, as fragments that come to one host; and the first cut and put together.
pub fn of_fragments(bytes: &[u8]) {
    let limits = ReassemblyLimits { timeout: Duration::from_secs(1), datagrams_max: 4, bytes_max: 4_000 };
    let (mut reassembler, mut rest, mut now) = (Reassembler::new(limits), bytes, Instant::ZERO);
    while let Some((len, more)) = rest.split_first_chunk::<2>() {
        let (packet, after) = more.split_at(usize::from(u16::from_be_bytes(*len)).min(more.len()));
        rest = after;
        now += Duration::from_ms(60);
        if let Ok(Reassembled::Whole(whole)) = reassembler.handle_fragment(now, packet) {
            let ip = IpPacket::parse(&whole).expect("what is put together is a packet");
            assert!(ip.fragment().is_none());
        }
        assert!(reassembler.datagrams() <= 4 && reassembler.bytes_held() <= 4_000);
        while reassembler.poll_expired(now).is_some() {}
        come_together(packet);
    }
    now += Duration::from_secs(2);
    while reassembler.poll_expired(now).is_some() {}
    assert_eq!((reassembler.datagrams(), reassembler.bytes_held()), (0, 0), "nothing is held for ever");
}

fn come_together(packet: &[u8]) {
    let Ok(ip) = IpPacket::parse(packet) else { return };
    let Ok(mut fragments) = Fragments::new(packet, 120, 9) else { return };
    // RFC 7112 §5: the whole chain of headers must lie in the first fragment
    if ip.fragment().is_some() || ip.bytes().len() <= 120 || ip.header_len() > 60 {
        return;
    }
    let (mut reassembler, mut header) = (Reassembler::new(ReassemblyLimits::default()), [0; 120]);
    let mut whole = None;
    while let Some(piece) = fragments.next(&mut header) {
        assert!(piece.header_len + piece.payload.len() <= 120);
        let fragment = [&header[..piece.header_len], piece.payload].concat();
        match reassembler.handle_fragment(Instant::ZERO, &fragment) {
            Ok(Reassembled::Whole(bytes)) => whole = Some(bytes),
            Ok(Reassembled::Waiting) => {}
            // A chain that claims more headers than the first fragment holds
            Err(FragmentFault::HeadersMissing) => return,
            Err(fault) => panic!("a fragment is refused: {fault}"),
        }
    }
    let whole = whole.expect("all fragments came");
    let again = IpPacket::parse(&whole).expect("what is put together is a packet");
    assert_eq!((again.payload(), again.addresses()), (ip.payload(), ip.addresses()));
}

/// A capture is read to its end, or to what is wrong with it; each block takes some of it.
pub fn of_a_capture(bytes: &[u8]) {
    let mut reader = Reader::new(bytes);
    let mut blocks = 0;
    while let Ok(Some(_)) = reader.next_block() {
        blocks += 1;
        assert!(12 * blocks <= bytes.len(), "a block has 12 bytes at least");
    }
}
