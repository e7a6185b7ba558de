//! A large segment, cut, is the same bytes of the stream in packets that each stand for themselves.

mod scene;

use farfield_wire::{Addresses, IpPacket, SeqNumber, TcpFlags, TcpOptions, TcpRepr, Tso, TsoError};
use proptest::prelude::*;
use scene::{data, read_ip, read_tcp, tcp, tcp_packet, udp_packet, v4, v6};

/// All packets of a large one, header and payload put together.
fn cut(large: &[u8], size: u16) -> Vec<Vec<u8>> {
    let tso = Tso::new(large, size).expect("a TCP segment");
    let mut header = [0xaa; Tso::HEADER_LEN_MAX];
    (0..tso.packets())
        .map(|index| {
            let header_len = tso.write_header(large, index, &mut header);
            let packet = [&header[..header_len], &large[tso.payload(index)]].concat();
            assert_eq!(packet.len(), tso.wire_len(index));
            packet
        })
        .collect()
}

fn flags_of(packets: &[Vec<u8>]) -> Vec<TcpFlags> {
    packets.iter().map(|packet| read_tcp(packet).flags()).collect()
}

fn v4_ident(packet: &[u8]) -> u16 {
    match read_ip(packet) {
        IpPacket::V4(view) => view.ident(),
        IpPacket::V6(_) => panic!("not IPv4"),
    }
}

#[test]
fn only_the_last_packet_pushes_and_finishes() {
    let flags = TcpFlags::ACK | TcpFlags::PSH | TcpFlags::FIN | TcpFlags::CWR;
    let large = tcp_packet(v4(), &TcpRepr { flags, ..tcp() }, &data(3000));
    let middle = TcpFlags::ACK;
    let expected = [middle | TcpFlags::CWR, middle, middle | TcpFlags::PSH | TcpFlags::FIN];
    assert_eq!(flags_of(&cut(&large, 1448)), expected);
    assert_eq!(flags_of(&cut(&large, 3000)), [flags]);
}

#[test]
fn identifications_count_up_and_wrap() {
    let mut large = tcp_packet(v4(), &tcp(), &data(4000));
    large[4..6].copy_from_slice(&[0xff, 0xff]);
    let idents: Vec<u16> = cut(&large, 1448).iter().map(|packet| v4_ident(packet)).collect();
    assert_eq!(idents, [0xffff, 0, 1]);
}

#[test]
fn a_segment_without_data_is_one_packet() {
    for addresses in [v4(), v6()] {
        let ack = tcp_packet(addresses, &tcp(), &[]);
        assert_eq!(cut(&ack, 1448), [ack]);
    }
}

/// The kernel leaves the sum of the pseudo-header in the checksum field of what is still to cut.
#[test]
fn the_large_ones_own_checksum_does_not_matter() {
    let whole = tcp_packet(v6(), &tcp(), &data(9000));
    let mut partial = whole.clone();
    tcp().emit_partial(&v6(), 9000, &mut partial[40..]);
    assert_ne!(partial, whole);
    assert_eq!(cut(&partial, 1428), cut(&whole, 1428));
}

#[test]
fn what_is_no_segment_is_refused() {
    assert_eq!(Tso::new(&udp_packet(v4(), &data(100)), 10), Err(TsoError::NotTcp));
    assert_eq!(Tso::new(&tcp_packet(v4(), &tcp(), &data(100)), 0), Err(TsoError::SizeZero));
    assert!(matches!(Tso::new(&[], 10), Err(TsoError::Packet(_))));
}

fn addresses() -> impl Strategy<Value = Addresses> {
    prop_oneof![Just(v4()), Just(v6())]
}

proptest! {
    #[test]
    fn the_packets_make_the_segment(
        addresses in addresses(), len in 0usize..65_400, size in 300u16..9000, seq: u32, timestamps: bool,
    ) {
        let options = if timestamps { tcp().options } else { TcpOptions::default() };
        let repr = TcpRepr { seq: SeqNumber(seq), options, ..tcp() };
        let payload = data(len);
        let packets = cut(&tcp_packet(addresses, &repr, &payload), size);
        prop_assert_eq!(packets.len(), len.div_ceil(usize::from(size)).max(1));

        let mut stream: Vec<u8> = Vec::new();
        for packet in &packets {
            let view = read_tcp(packet);
            prop_assert_eq!(read_ip(packet).addresses(), addresses);
            prop_assert_eq!(view.seq().since(repr.seq) as usize, stream.len());
            let expected = TcpRepr { seq: view.seq(), flags: view.flags(), ..repr };
            prop_assert_eq!(TcpRepr::parse(&view), expected);
            stream.extend(view.payload());
        }
        prop_assert_eq!(stream, payload);
        prop_assert_eq!(flags_of(&packets).last().copied(), Some(repr.flags));
    }
}
