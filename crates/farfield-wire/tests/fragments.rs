//! Fragments of a packet, in whatever order, make the packet; fragments that lie make nothing.

mod scene;

use farfield_base::{Duration, Instant};
use farfield_wire::{
    Expired, FragmentError, FragmentFault, Fragments, IpPacket, IpRepr, Message, Protocol, Reassembled,
    Reassembler, ReassemblyLimits, UdpRepr,
};
use proptest::prelude::*;
use scene::{data, packet, read_ip, tcp, tcp_packet, udp_packet, v4, v6};

const NOW: Instant = Instant::ZERO;

fn fragments(whole: &[u8], mtu: usize) -> Vec<Vec<u8>> {
    let mut fragments = Fragments::new(whole, mtu, 0xabcd_1234).expect("it may be cut");
    let mut header = [0xaa; Fragments::HEADER_LEN_MAX];
    std::iter::from_fn(|| {
        let piece = fragments.next(&mut header)?;
        Some([&header[..piece.header_len], piece.payload].concat())
    })
    .collect()
}

fn reassembler() -> Reassembler {
    Reassembler::new(ReassemblyLimits::default())
}

/// Feeds all; what the last one led to.
fn feed(reassembler: &mut Reassembler, fragments: &[Vec<u8>]) -> Result<Reassembled, FragmentFault> {
    let mut last = Ok(Reassembled::Waiting);
    for fragment in fragments {
        assert_eq!(last, Ok(Reassembled::Waiting), "before the last fragment");
        last = reassembler.handle_fragment(NOW, fragment);
    }
    last
}

/// A fragment of an IPv4 datagram whose payload is `data`.
fn v4_fragment(offset: u16, more: bool, data: &[u8]) -> Vec<u8> {
    let IpRepr::V4(ip) = IpRepr::new(v4(), Protocol(200)) else { unreachable!() };
    let ip = farfield_wire::Ipv4Repr {
        ident: 1,
        dont_fragment: false,
        more_fragments: more,
        fragment_offset_bytes: offset,
        ..ip
    };
    let mut bytes = vec![0; 20];
    ip.emit(data.len(), &mut bytes);
    [bytes, data.to_vec()].concat()
}

#[test]
fn what_must_not_or_cannot_be_cut_is_refused() {
    let refused = |bytes: &[u8], mtu| Fragments::new(bytes, mtu, 1).err();
    assert_eq!(refused(&tcp_packet(v4(), &tcp(), &data(2000)), 1500), Some(FragmentError::DontFragment));
    assert_eq!(refused(&udp_packet(v4(), &data(2000)), 27), Some(FragmentError::MtuTooSmall));
    assert_eq!(refused(&udp_packet(v6(), &data(2000)), 55), Some(FragmentError::MtuTooSmall));
    let fragment = &fragments(&udp_packet(v6(), &data(2000)), 1280)[0];
    assert_eq!(refused(fragment, 600), Some(FragmentError::AlreadyFragmented));
}

#[test]
fn what_fits_stays_as_it_is() {
    for addresses in [v4(), v6()] {
        let whole = tcp_packet(addresses, &tcp(), &data(1000));
        assert_eq!(fragments(&whole, whole.len()), [whole]);
    }
}

#[test]
fn later_fragments_carry_the_options_that_are_to_be_copied() {
    // Record route (7) is not, loose source route (0x83) is (RFC 791, section 3.1).
    let options = [7, 7, 4, 0, 0, 0, 0, 0x83, 7, 4, 9, 9, 9, 9, 0, 0];
    let IpRepr::V4(ip) = IpRepr::new(v4(), Protocol::UDP) else { unreachable!() };
    let ip = farfield_wire::Ipv4Repr { options: &options, dont_fragment: false, ..ip };
    let udp = Message::Udp(UdpRepr { source_port: 1, destination_port: 2 }, &data(100));
    let pieces = fragments(&packet(&IpRepr::V4(ip), &udp), 76);
    let options_of = |bytes: &[u8]| match read_ip(bytes) {
        IpPacket::V4(view) => view.options().map(<[u8]>::to_vec).collect::<Vec<_>>(),
        IpPacket::V6(_) => unreachable!(),
    };
    assert_eq!(options_of(&pieces[0]), [&options[..7], &options[7..14]]);
    assert_eq!(options_of(&pieces[1]), [&options[7..14]]);
    assert_eq!(pieces[1].len(), 28 + 48, "room that the options left is used");
}

#[test]
fn a_fragment_cut_again_still_makes_the_packet() {
    let whole = udp_packet(v4(), &data(5000));
    let twice: Vec<_> = fragments(&whole, 1500).iter().flat_map(|piece| fragments(piece, 576)).collect();
    assert!(twice.iter().all(|piece| piece.len() <= 576 && read_ip(piece).fragment().is_some()));
    assert_eq!(feed(&mut reassembler(), &twice), Ok(Reassembled::Whole(whole)));
}

#[test]
fn an_exact_repetition_does_no_harm() {
    let whole = udp_packet(v6(), &data(3000));
    let pieces = fragments(&whole, 1280);
    let repeated = [&pieces[1], &pieces[1], &pieces[0], &pieces[0], &pieces[2]].map(Clone::clone);
    assert_eq!(feed(&mut reassembler(), &repeated), Ok(Reassembled::Whole(whole)));
}

#[test]
fn fragments_that_contradict_give_the_datagram_up() {
    let first = v4_fragment(0, true, &[1; 16]);
    let contradicts = |before: &[&Vec<u8>], fragment: Vec<u8>| {
        let mut reassembler = reassembler();
        for before in before {
            assert_eq!(reassembler.handle_fragment(NOW, before), Ok(Reassembled::Waiting));
        }
        assert_eq!(reassembler.handle_fragment(NOW, &fragment), Err(FragmentFault::Contradiction));
        assert_eq!(reassembler.bytes_held(), 0);
        // RFC 5722: what is still to come goes the same way, and its sender is sent nothing.
        let rest = v4_fragment(16, false, &[2; 8]);
        assert_eq!(reassembler.handle_fragment(NOW, &rest), Err(FragmentFault::GivenUp));
        assert_eq!(reassembler.poll_expired(Instant::MAX), Some(Expired { first: None }));
    };
    let last = v4_fragment(32, false, &[3; 5]);
    contradicts(&[&first], v4_fragment(8, true, &[1; 16]));
    contradicts(&[&first], v4_fragment(0, true, &[9; 16])); // the same place, other bytes
    contradicts(&[&first], v4_fragment(0, true, &[1; 8]));
    contradicts(&[&v4_fragment(24, true, &[1; 8])], v4_fragment(24, false, &[1; 8])); // an end where there was more
    contradicts(&[&last], v4_fragment(40, true, &[4; 8])); // beyond the end
    contradicts(&[&last], v4_fragment(24, false, &[4; 4])); // another end
    contradicts(&[&v4_fragment(64, true, &[5; 8])], last.clone());
}

#[test]
fn impossible_fragments_are_thrown_away() {
    let refused = |fragment: &[u8]| reassembler().handle_fragment(NOW, fragment).err();
    assert_eq!(refused(&udp_packet(v4(), &[])), Some(FragmentFault::NotAFragment));
    assert_eq!(refused(&v4_fragment(8, true, &[])), Some(FragmentFault::Length));
    assert_eq!(refused(&v4_fragment(8, true, &[0; 9])), Some(FragmentFault::Length));
    assert_eq!(refused(&v4_fragment(65_528, false, &[0; 8])), Some(FragmentFault::TooLong));
    // The first of these holds the fragment header and 8 bytes of TCP's 32.
    let tiny = &fragments(&tcp_packet(v6(), &tcp(), &data(50)), 56)[0];
    assert_eq!(refused(tiny), Some(FragmentFault::HeadersMissing));
}

#[test]
fn an_atomic_fragment_is_whole_by_itself() {
    let whole = udp_packet(v6(), &data(64));
    let mut atomic = whole[..40].to_vec();
    (atomic[5], atomic[6]) = (whole[5] + 8, 44);
    atomic.extend([17, 0, 0, 0, 0, 0, 0, 1]);
    atomic.extend(&whole[40..]);
    let mut reassembler = reassembler();
    assert_eq!(reassembler.handle_fragment(NOW, &atomic), Ok(Reassembled::Whole(whole)));
    assert_eq!(reassembler.datagrams(), 0);
}

/// A packet that is nothing but fragment headers, each of a whole datagram: taking them off one by one
/// copies 64 KiB 8,000 times, and by recursion runs out of stack.
#[test]
fn fragment_headers_inside_fragments_end_at_once() {
    let nested = |headers: usize| {
        let mut payload = [44, 0, 0, 0, 0, 0, 0, 9].repeat(headers);
        *payload.iter_mut().rev().nth(7).unwrap() = 59; // the last one names no next header
        let mut packet = udp_packet(v6(), &payload);
        packet.drain(40..48);
        (packet[4], packet[5]) = ((payload.len() >> 8) as u8, payload.len() as u8);
        packet[6] = 44;
        packet
    };
    let mut reassembler = reassembler();
    for headers in [2, 3, 8_000] {
        let fault = reassembler.handle_fragment(NOW, &nested(headers));
        assert_eq!(fault, Err(FragmentFault::Nested), "{headers} headers");
    }
    // In pieces as well: what they make together is a fragment.
    let inner = [59, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0];
    let piece = |offset: u8, more: u8, data: &[u8]| {
        let mut packet = nested(2);
        packet.truncate(40);
        packet.extend([44, 0, 0, offset | more, 0, 0, 0, 7]);
        packet.extend(data);
        packet[5] = packet.len() as u8 - 40;
        packet
    };
    assert_eq!(reassembler.handle_fragment(NOW, &piece(8, 0, &inner[8..])), Ok(Reassembled::Waiting));
    assert_eq!(reassembler.handle_fragment(NOW, &piece(0, 1, &inner[..8])), Err(FragmentFault::Nested));
    assert_eq!((reassembler.datagrams(), reassembler.bytes_held()), (0, 0));
}

#[test]
fn congestion_that_one_fragment_met_is_kept() {
    let mut whole = udp_packet(v4(), &data(3000));
    whole[1] = 0b10; // ECN-capable
    let mut pieces = fragments(&whole, 1500);
    assert_eq!(farfield_wire::mark_congestion(&mut pieces[1]), Ok(true));
    let Ok(Reassembled::Whole(back)) = feed(&mut reassembler(), &pieces) else { panic!("not whole") };
    assert_eq!(back[1], 0b11);
    read_ip(&back);
}

#[test]
fn time_runs_out_for_what_stays_incomplete() {
    let limits = ReassemblyLimits { timeout: Duration::from_secs(30), ..ReassemblyLimits::default() };
    let mut reassembler = Reassembler::new(limits);
    let pieces = fragments(&udp_packet(v4(), &data(3000)), 1500);
    let others = fragments(&udp_packet(v6(), &data(3000)), 1280);
    let at = |secs| NOW + Duration::from_secs(secs);
    reassembler.handle_fragment(at(1), &pieces[0]).unwrap();
    reassembler.handle_fragment(at(2), &others[1]).unwrap();
    reassembler.handle_fragment(at(20), &pieces[2]).unwrap(); // later fragments do not buy time
    assert_eq!(reassembler.next_timeout(), Some(at(31)));
    assert_eq!(reassembler.poll_expired(at(30)), None);
    assert_eq!(reassembler.poll_expired(at(31)), Some(Expired { first: Some(pieces[0].clone()) }));
    assert_eq!(reassembler.poll_expired(at(31)), None);
    assert_eq!(reassembler.poll_expired(at(32)), Some(Expired { first: None })); // its first never came
    assert_eq!((reassembler.datagrams(), reassembler.bytes_held(), reassembler.next_timeout()), (0, 0, None));
}

#[test]
fn the_oldest_make_room() {
    let limits = ReassemblyLimits { datagrams_max: 2, bytes_max: 200, ..ReassemblyLimits::default() };
    let mut reassembler = Reassembler::new(limits);
    let fragment = |ident: u8, offset, len| {
        let mut bytes = v4_fragment(offset, true, &vec![0; len]);
        bytes[5] = ident;
        bytes
    };
    for ident in 0..10 {
        assert_eq!(reassembler.handle_fragment(NOW, &fragment(ident, 8, 8)), Ok(Reassembled::Waiting));
        assert!(reassembler.datagrams() <= 2);
    }
    assert_eq!(reassembler.handle_fragment(NOW, &fragment(10, 80, 80)), Ok(Reassembled::Waiting));
    assert_eq!((reassembler.datagrams(), reassembler.bytes_held()), (2, 16 + 160));
    assert_eq!(reassembler.handle_fragment(NOW, &fragment(11, 200, 8)), Err(FragmentFault::NoRoom));
    assert_eq!((reassembler.datagrams(), reassembler.bytes_held()), (0, 0));
}

proptest! {
    #[test]
    fn fragments_in_any_order_make_the_packet(
        family: bool, len in 0usize..20_000, mtu in 68usize..3000,
        order in any::<prop::sample::Index>(), reverse: bool,
    ) {
        let whole = udp_packet(if family { v6() } else { v4() }, &data(len));
        let mut pieces = fragments(&whole, mtu);
        prop_assert!(pieces.iter().all(|piece| piece.len() <= mtu));
        if pieces.len() == 1 {
            prop_assert_eq!(&pieces[0], &whole);
            return Ok(());
        }
        pieces.iter().for_each(|piece| { read_ip(piece); });
        let turn = order.index(pieces.len());
        pieces.rotate_left(turn);
        if reverse {
            pieces.reverse();
        }
        let mut reassembler = reassembler();
        let back = feed(&mut reassembler, &pieces);
        prop_assert_eq!((reassembler.datagrams(), reassembler.bytes_held()), (0, 0));
        prop_assert_eq!(back, Ok(Reassembled::Whole(whole)));
    }

    /// Bytes that are held are those that are accounted for, within bounds, whatever comes.
    #[test]
    fn lies_cost_no_more_than_allowed(
        pieces in prop::collection::vec((0u16..40, any::<bool>(), 0usize..6, any::<u8>(), 0u8..3), 1..60),
    ) {
        let limits = ReassemblyLimits { datagrams_max: 2, bytes_max: 500, ..ReassemblyLimits::default() };
        let mut reassembler = Reassembler::new(limits);
        for (offset, more, words, byte, ident) in pieces {
            let mut bytes = v4_fragment(offset * 8, more, &vec![byte; words * 8]);
            bytes[5] = ident;
            if let Ok(Reassembled::Whole(whole)) = reassembler.handle_fragment(NOW, &bytes) {
                prop_assert!(IpPacket::parse(&whole).is_ok());
            }
            prop_assert!(reassembler.datagrams() <= 2 && reassembler.bytes_held() <= 500);
        }
        while reassembler.poll_expired(Instant::MAX).is_some() {}
        prop_assert_eq!((reassembler.datagrams(), reassembler.bytes_held()), (0, 0));
    }
}
