//! ICMP errors: about which packets, to whom, quoting how much; and echo.

mod scene;

use farfield_wire::{
    Addresses, IcmpError, Icmpv4Repr, Icmpv6Repr, IpPacket, IpRepr, Message, Protocol, Quote, SeqNumber,
    Transport, Unreachable, echo_reply,
};
use scene::{data, packet, read_ip, tcp, tcp_packet, udp_packet, v4, v6};
use std::net::IpAddr;

const ROUTER_V4: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 9, 9, 9));
const ROUTER_V6: IpAddr = IpAddr::V6(std::net::Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 9));

fn answer(error: IcmpError, offending: &[u8]) -> Option<Vec<u8>> {
    let mut out = [0xaa; IcmpError::LEN_MAX];
    let from = if offending[0] >> 4 == 4 { ROUTER_V4 } else { ROUTER_V6 };
    error.write(offending, from, &mut out).map(|len| out[..len].to_vec())
}

fn read_v4(bytes: &[u8]) -> Icmpv4Repr<'_> {
    let ip = read_ip(bytes);
    let Ok(Transport::Icmpv4(icmp)) = ip.transport() else { panic!("not ICMP") };
    assert!(icmp.checksum_is_valid(&ip.addresses()));
    Icmpv4Repr::parse(&icmp).expect("a known type")
}

fn read_v6(bytes: &[u8]) -> Icmpv6Repr<'_> {
    let ip = read_ip(bytes);
    let Ok(Transport::Icmpv6(icmp)) = ip.transport() else { panic!("not ICMP") };
    assert!(icmp.checksum_is_valid(&ip.addresses()));
    Icmpv6Repr::parse(&icmp).expect("a known type")
}

#[test]
fn fragmentation_needed_reaches_the_connection() {
    let offending = tcp_packet(v4(), &tcp(), &data(1448));
    let error = answer(IcmpError::TooBig { next_hop_mtu: 1006 }, &offending).expect("it is sent");
    assert_eq!(error.len(), 576, "as much as RFC 1812 allows");
    let ip = read_ip(&error);
    assert_eq!((ip.addresses().source(), ip.addresses().destination()), (ROUTER_V4, v4().source()));
    let Icmpv4Repr::Unreachable { reason, quote } = read_v4(&error) else { panic!("another type") };
    assert_eq!(reason, Unreachable::FragmentationNeeded { next_hop_mtu: 1006 });
    assert_eq!(quote, &offending[..548]);
    let expected = Quote {
        addresses: v4(),
        protocol: Protocol::TCP,
        source_port: 40_000,
        destination_port: 80,
        seq: SeqNumber(u32::MAX - 5_000),
    };
    assert_eq!(Quote::parse(quote), Some(expected));
    assert_eq!(Quote::parse(&quote[..28]), Some(expected), "8 bytes of TCP are enough");
    assert_eq!(Quote::parse(&quote[..27]), None);
}

#[test]
fn packet_too_big_fits_the_smallest_mtu() {
    let offending = tcp_packet(v6(), &tcp(), &data(1400));
    let error = answer(IcmpError::TooBig { next_hop_mtu: 1280 }, &offending).expect("it is sent");
    assert_eq!(error.len(), 1280);
    let Icmpv6Repr::PacketTooBig { mtu: 1280, quote } = read_v6(&error) else { panic!("another type") };
    let quote = Quote::parse(quote).expect("TCP in IPv6");
    assert_eq!((quote.addresses, quote.seq), (v6(), tcp().seq));
}

#[test]
fn traceroute_sees_time_exceeded_and_then_the_port() {
    let probe = udp_packet(v4(), &data(32));
    let hop = answer(IcmpError::HopLimitExceeded, &probe).unwrap();
    assert_eq!(read_v4(&hop), Icmpv4Repr::TimeExceeded { reassembling: false, quote: &probe });
    let end = answer(IcmpError::PortUnreachable, &probe).unwrap();
    assert_eq!(read_v4(&end), Icmpv4Repr::Unreachable { reason: Unreachable::Port, quote: &probe });
}

#[test]
fn no_error_about_errors_fragments_and_crowds() {
    let probe = udp_packet(v4(), &data(32));
    let error = answer(IcmpError::HopLimitExceeded, &probe).unwrap();
    assert_eq!(answer(IcmpError::HopLimitExceeded, &error), None);
    let error = answer(IcmpError::NoRoute, &udp_packet(v6(), &data(32))).unwrap();
    assert_eq!(answer(IcmpError::HopLimitExceeded, &error), None);

    let with = |source: [u8; 4], destination: [u8; 4]| {
        let addresses = Addresses::V4 { source: source.into(), destination: destination.into() };
        answer(IcmpError::HostUnreachable, &udp_packet(addresses, b"?")).is_some()
    };
    assert!(with([10, 0, 0, 1], [10, 0, 0, 2]));
    assert!(!with([10, 0, 0, 1], [224, 0, 0, 1]));
    assert!(!with([10, 0, 0, 1], [255; 4]));
    assert!(!with([0; 4], [10, 0, 0, 2]));
    assert!(!with([127, 0, 0, 1], [10, 0, 0, 2]));

    let mut later = probe.clone();
    later[7] = 1;
    assert_eq!(answer(IcmpError::HopLimitExceeded, &later), None);
    assert_eq!(IcmpError::NoRoute.write(&probe, ROUTER_V6, &mut [0; IcmpError::LEN_MAX]), None);
}

#[test]
fn only_too_big_is_said_about_ipv6_multicast() {
    let addresses =
        Addresses::V6 { source: "2001:db8::1".parse().unwrap(), destination: "ff02::1".parse().unwrap() };
    let offending = udp_packet(addresses, &data(10));
    assert_eq!(answer(IcmpError::NoRoute, &offending), None);
    assert!(answer(IcmpError::TooBig { next_hop_mtu: 1280 }, &offending).is_some());
}

#[test]
fn an_echo_comes_back_with_its_data() {
    let payload = data(56);
    let ping = |addresses: Addresses| {
        let request = match addresses {
            Addresses::V4 { .. } => {
                Message::Icmpv4(Icmpv4Repr::EchoRequest { ident: 7, sequence: 3, data: &payload })
            }
            Addresses::V6 { .. } => {
                Message::Icmpv6(Icmpv6Repr::EchoRequest { ident: 7, sequence: 3, data: &payload })
            }
        };
        packet(&IpRepr::new(addresses, request.protocol()), &request)
    };
    let reply = |request: &[u8]| {
        let mut out = vec![0xaa; request.len()];
        echo_reply(request, &mut out).map(|len| out[..len].to_vec())
    };
    let (back_v4, back_v6) = (reply(&ping(v4())).unwrap(), reply(&ping(v6())).unwrap());
    assert_eq!(read_v4(&back_v4), Icmpv4Repr::EchoReply { ident: 7, sequence: 3, data: &payload });
    assert_eq!(read_v6(&back_v6), Icmpv6Repr::EchoReply { ident: 7, sequence: 3, data: &payload });
    assert_eq!(read_ip(&back_v6).addresses(), v6().reversed());

    assert_eq!(reply(&back_v4), None, "an answer is not answered");
    let mut damaged = ping(v4());
    damaged[30] ^= 1;
    assert_eq!(reply(&damaged), None);
    assert!(matches!(IpPacket::parse(&back_v4), Ok(IpPacket::V4(view)) if view.ttl() == 64));
}
