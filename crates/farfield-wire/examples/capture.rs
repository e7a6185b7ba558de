//! A conversation of TCP written as packets into a capture, and the capture read back, one line a packet.
//!
//! `cargo run -p farfield-wire --example capture` prints the lines; with a path it also writes the capture
//! there, for Wireshark or `tcpdump -r`.
//!
//! The server's answer is one large segment, as a kernel hands it to a network card; [`Tso`] cuts it into
//! packets.

use farfield_wire::pcapng::{
    Block, Direction, Interface, InterfaceId, LinkType, PacketMetadata, Reader, Writer,
};
use farfield_wire::{
    Addresses, IpPacket, IpRepr, Message, Protocol, SeqNumber, TcpFlags, TcpOptions, TcpRepr, Transport, Tso,
    write_packet,
};
use std::error::Error;
use std::fmt::Write;
use std::net::Ipv4Addr;

const CLIENT: (Ipv4Addr, u16) = (Ipv4Addr::new(198, 18, 0, 1), 40_000);
const SERVER: (Ipv4Addr, u16) = (Ipv4Addr::new(10, 0, 0, 1), 80);
/// 1 January 2026.
const START_UNIX_NS: u64 = 1_767_225_600_000_000_000;
const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: example\r\n\r\n";
/// Bytes of data that a packet carries at most.
const MSS: u16 = 1_460;

/// A segment from one end to the other as an IP packet, its checksums whole.
fn packet(from_client: bool, segment: TcpRepr, data: &[u8]) -> Vec<u8> {
    let (from, to) = if from_client { (CLIENT, SERVER) } else { (SERVER, CLIENT) };
    let ip = IpRepr::new(Addresses::V4 { source: from.0, destination: to.0 }, Protocol::TCP);
    let segment = TcpRepr { source_port: from.1, destination_port: to.1, window: 65_535, ..segment };
    let message = Message::Tcp(&segment, data);
    let mut bytes = vec![0; ip.header_len() + message.wire_len()];
    write_packet(&ip, &message, &mut bytes);
    bytes
}

/// The packets that one large packet becomes.
fn cut(large: &[u8]) -> Result<Vec<Vec<u8>>, Box<dyn Error>> {
    let tso = Tso::new(large, MSS)?;
    let one = |index| {
        let mut bytes = vec![0; tso.header_len()];
        tso.write_header(large, index, &mut bytes);
        bytes.extend_from_slice(&large[tso.payload(index)]);
        bytes
    };
    Ok((0..tso.packets()).map(one).collect())
}

/// A packet as a capture has it: milliseconds from its start, direction, bytes.
type Captured = (u64, Direction, Vec<u8>);

/// A handshake, a request and its answer.
fn conversation() -> Result<Vec<Captured>, Box<dyn Error>> {
    let offer = TcpOptions { mss: Some(MSS), sack_permitted: true, ..TcpOptions::default() };
    let (client, server) = (SeqNumber(1_000), SeqNumber(50_000));
    let answer = [b"HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n".as_slice(), &[b'x'; 3_000]].concat();
    let asked = REQUEST.len() as u32;

    let syn = TcpRepr { seq: client, flags: TcpFlags::SYN, options: offer, ..TcpRepr::default() };
    let syn_ack = TcpRepr { seq: server, ack: client + 1, flags: TcpFlags::SYN | TcpFlags::ACK, ..syn };
    let ack = TcpRepr { seq: client + 1, ack: server + 1, flags: TcpFlags::ACK, ..TcpRepr::default() };
    let request = TcpRepr { flags: TcpFlags::PSH | TcpFlags::ACK, ..ack };
    let reply = TcpRepr { seq: server + 1, ack: client + 1 + asked, ..request };
    let taken = TcpRepr { seq: reply.ack, ack: reply.seq + answer.len() as u32, ..ack };

    let mut packets = vec![
        (0, Direction::Outbound, packet(true, syn, &[])),
        (40, Direction::Inbound, packet(false, syn_ack, &[])),
        (40, Direction::Outbound, packet(true, ack, &[])),
        (40, Direction::Outbound, packet(true, request, REQUEST)),
    ];
    let pieces = cut(&packet(false, reply, &answer))?;
    packets.extend(pieces.into_iter().map(|piece| (81, Direction::Inbound, piece)));
    packets.push((81, Direction::Outbound, packet(true, taken, &[])));
    Ok(packets)
}

/// The conversation as a file in pcapng.
pub fn capture() -> Result<Vec<u8>, Box<dyn Error>> {
    let mut writer = Writer::new(Vec::new(), "farfield-wire's example")?;
    let interface =
        writer.add_interface(&Interface { name: "tun0".to_owned(), link: LinkType::RAW, snap_len: 0 })?;
    for (ms, direction, packet) in conversation()? {
        let at_unix_ns = START_UNIX_NS + ms * 1_000_000;
        writer.packet(&PacketMetadata { interface, at_unix_ns, direction, drops: 0 }, &[&packet])?;
    }
    Ok(writer.finish()?)
}

/// A line for each packet of a capture.
pub fn lines(capture: &[u8]) -> Result<String, Box<dyn Error>> {
    let (mut reader, mut text) = (Reader::new(capture), String::new());
    while let Some(block) = reader.next_block()? {
        let Block::Packet { metadata, bytes, .. } = block else { continue };
        debug_assert_eq!(metadata.interface, InterfaceId(0));
        let ip = IpPacket::parse(&bytes)?;
        let Transport::Tcp(tcp) = ip.transport()? else { continue };
        let addresses = ip.addresses();
        writeln!(
            text,
            "{:5.1} ms  {}:{} > {}:{}  {:?}  seq {} ack {}, {} bytes, checksum {}",
            (metadata.at_unix_ns - START_UNIX_NS) as f64 / 1e6,
            addresses.source(),
            tcp.source_port(),
            addresses.destination(),
            tcp.destination_port(),
            tcp.flags(),
            tcp.seq().0,
            tcp.ack().0,
            tcp.payload().len(),
            if tcp.checksum_is_valid(&addresses) { "right" } else { "wrong" },
        )?;
    }
    Ok(text)
}

fn main() -> Result<(), Box<dyn Error>> {
    let capture = capture()?;
    print!("{}", lines(&capture)?);
    if let Some(path) = std::env::args_os().nth(1) {
        std::fs::write(&path, &capture)?;
        println!("{} bytes in {}", capture.len(), path.display());
    }
    Ok(())
}
