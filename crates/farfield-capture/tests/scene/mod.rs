//! Captures made by hand: one connection at a time, a packet a microsecond, unless a test says otherwise.

#![allow(dead_code, reason = "each test file uses some of it")]

use farfield_capture::{Capture, Connection, Options, Side, Transaction, TransactionState, UnixNs, read};
use farfield_wire::pcapng::{Direction, Interface, InterfaceId, LinkType, PacketMetadata, Writer};
use farfield_wire::{Addresses, IpRepr, Message, Protocol, SeqNumber, TcpFlags, TcpRepr, write_packet};

pub const CLIENT: Side = Side::Client;
pub const SERVER: Side = Side::Server;
/// Nanoseconds between packets.
pub const STEP: u64 = 1_000;

/// A TCP segment in a packet.
#[derive(Debug, Clone)]
pub struct Packet {
    pub at: u64,
    pub from: Side,
    pub repr: TcpRepr,
    pub data: Vec<u8>,
}

/// A connection whose packets are written down.
pub struct Scene {
    pub now: u64,
    pub ports: (u16, u16),
    pub v6: bool,
    /// The next sequence numbers of client and server.
    pub seq: [u32; 2],
    /// The sequence number that each end has acknowledged of the other.
    pub acked: [u32; 2],
    pub window: [u16; 2],
    pub packets: Vec<Packet>,
}

fn index(side: Side) -> usize {
    usize::from(side == SERVER)
}

impl Scene {
    /// Before the first packet; the client's numbers wrap soon, and so do the server's.
    pub fn new() -> Scene {
        let seq = [u32::MAX - 20, u32::MAX - 50];
        let acked = [seq[1], seq[0]];
        Scene { now: 0, ports: (40_000, 80), v6: false, seq, acked, window: [1_000; 2], packets: Vec::new() }
    }

    /// Behind the handshake, which takes three packets, at 1, 2 and 3 µs.
    pub fn open() -> Scene {
        let mut scene = Scene::new();
        scene.handshake();
        scene
    }

    pub fn handshake(&mut self) {
        self.send(CLIENT, TcpFlags::SYN, b"");
        self.send(SERVER, TcpFlags::SYN | TcpFlags::ACK, b"");
        self.send(CLIENT, TcpFlags::ACK, b"");
    }

    /// Moves on without a packet.
    pub fn pass(&mut self, ns: u64) -> &mut Scene {
        self.now += ns;
        self
    }

    /// Sends a segment, which acknowledges all that the other end sent, a step later.
    pub fn send(&mut self, from: Side, flags: TcpFlags, data: &[u8]) -> &mut Scene {
        let (own, other) = (index(from), 1 - index(from));
        self.acked[own] = self.seq[other];
        self.send_again(from, 0, flags, data);
        let controls = (flags.0 & (TcpFlags::SYN | TcpFlags::FIN).0).count_ones();
        self.seq[own] = self.seq[own].wrapping_add(data.len() as u32 + controls);
        self
    }

    /// Sends data.
    pub fn say(&mut self, from: Side, data: &[u8]) -> &mut Scene {
        self.send(from, TcpFlags::ACK | TcpFlags::PSH, data)
    }

    /// Sends data that the capture lacks.
    pub fn unseen(&mut self, from: Side, data: &[u8]) -> &mut Scene {
        self.say(from, data);
        self.packets.pop();
        self
    }

    /// Sends an ACK.
    pub fn ack(&mut self, from: Side) -> &mut Scene {
        self.send(from, TcpFlags::ACK, b"")
    }

    /// Sends a segment that begins `back` numbers before the next one, with the last acknowledgment.
    pub fn send_again(&mut self, from: Side, back: u32, flags: TcpFlags, data: &[u8]) -> &mut Scene {
        self.now += STEP;
        let own = index(from);
        let (source_port, destination_port) =
            if own == 0 { self.ports } else { (self.ports.1, self.ports.0) };
        let repr = TcpRepr {
            source_port,
            destination_port,
            seq: SeqNumber(self.seq[own].wrapping_sub(back)),
            ack: SeqNumber(if flags.contains(TcpFlags::ACK) { self.acked[own] } else { 0 }),
            flags,
            window: self.window[own],
            ..TcpRepr::default()
        };
        self.packets.push(Packet { at: self.now, from, repr, data: data.to_vec() });
        self
    }

    /// Both ends close, the client first.
    pub fn close(&mut self) -> &mut Scene {
        self.send(CLIENT, TcpFlags::FIN | TcpFlags::ACK, b"");
        self.send(SERVER, TcpFlags::FIN | TcpFlags::ACK, b"").ack(CLIENT)
    }

    /// IP packets with their instants.
    pub fn ip_packets(&self) -> Vec<(u64, Vec<u8>)> {
        self.packets.iter().map(|packet| (packet.at, self.ip_packet(packet))).collect()
    }

    pub fn ip_packet(&self, packet: &Packet) -> Vec<u8> {
        let (v4, v6) = (([198, 18, 0, 1].into(), [10, 0, 0, 1].into()), (1u128.into(), 2u128.into()));
        let addresses = match self.v6 {
            false => Addresses::V4 { source: v4.0, destination: v4.1 },
            true => Addresses::V6 { source: v6.0, destination: v6.1 },
        };
        let addresses = if packet.from == CLIENT { addresses } else { addresses.reversed() };
        let ip = IpRepr::new(addresses, Protocol::TCP);
        let message = Message::Tcp(&packet.repr, &packet.data);
        let mut bytes = vec![0; ip.header_len() + message.wire_len()];
        write_packet(&ip, &message, &mut bytes);
        bytes
    }

    /// The file.
    pub fn file(&self) -> Vec<u8> {
        file(&self.ip_packets(), 0)
    }

    /// The capture rebuilt of it.
    pub fn rebuilt(&self) -> Capture {
        rebuilt(&self.file())
    }
}

/// A pcapng file of IP packets, each cut to `snap_len` bytes; 0 cuts none.
pub fn file(packets: &[(u64, Vec<u8>)], snap_len: u32) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), "test").unwrap();
    let interface = Interface { name: "a".into(), link: LinkType::RAW, snap_len };
    writer.add_interface(&interface).unwrap();
    for (at_unix_ns, bytes) in packets {
        let metadata = PacketMetadata {
            interface: InterfaceId(0),
            at_unix_ns: *at_unix_ns,
            direction: Direction::Unknown,
            drops: 0,
        };
        writer.packet(&metadata, &[bytes]).unwrap();
    }
    writer.finish().unwrap()
}

pub fn rebuilt(file: &[u8]) -> Capture {
    read(file, &Options::default()).expect("a capture")
}

/// The only connection.
pub fn only(capture: &Capture) -> &Connection {
    assert_eq!(capture.connections.len(), 1, "{capture:#?}");
    &capture.connections[0]
}

/// The instant of step `step`.
pub fn at(step: u64) -> UnixNs {
    UnixNs(step * STEP)
}

/// State, status, bytes of body, bytes in all: of each transaction.
pub fn outcomes(capture: &Capture) -> Vec<(TransactionState, u16, u64, u64)> {
    let outcome = |it: &Transaction| (it.state, it.status, it.body_bytes, it.reply_bytes);
    capture.transactions.iter().map(outcome).collect()
}

/// A reply with a body of `len` bytes.
pub fn reply(len: usize) -> Vec<u8> {
    let mut bytes = format!("HTTP/1.1 200 OK\r\nContent-Length: {len}\r\n\r\n").into_bytes();
    bytes.extend((0..len).map(|at| b'a' + (at % 26) as u8));
    bytes
}

pub const GET: &[u8] = b"GET /a HTTP/1.1\r\nHost: b\r\n\r\n";
