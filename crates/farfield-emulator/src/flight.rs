//! A packet under way, in 64 bytes: the line of memory that every stage of its way reads and writes.
//!
//! Nearly all packets are datagrams, or segments with no more than the usual options, between a client and
//! the server's port. What such a packet says beyond its client and its direction fits beside its data;
//! addresses and the server's port follow from the plan. Everything else (SACK blocks, fragments, ICMP,
//! damage, other ports) is kept as the whole packet.
//!
//! Packets of real hosts stay in the buffer that their kernel handed over ([`Framed`]): what links ask of
//! them lies in the fields that a segment needs not.

use crate::client::PortKind;
use crate::five_tuple::FiveTuple;
use crate::framed::Framed;
use crate::packet::{Packet, PacketPayload, Tcp, Udp, datagram_len, headers_len};
use bytes::Bytes;
use farfield_tcp::{Flags, Options, Segment, SeqNumber, Timestamps};
use farfield_wire::{Addresses, Ecn, Protocol};

/// A packet under way.
#[derive(Debug, Clone)]
pub(crate) struct Flight<C> {
    content: Content,
    /// The client that it is from or for, as the side knows it that the packet is on.
    pub client: C,
    seq: u32,
    ack: u32,
    stamp: u32,
    echo: u32,
    /// The client's.
    port: u16,
    /// The segment's window; of a frame and of a whole packet one more than the number of the server that
    /// sent it to another, or 0.
    window: u16,
    /// 0 without the option. Of a frame and of a whole packet: the number of its server or other far end.
    mss: u16,
    /// [`NO_SHIFT`] without the option.
    shift: u8,
    ttl: u8,
    bits: u8,
    /// The ECN codepoint, whether it is a datagram or a frame, and two flags of a segment.
    ip: u8,
    /// Stages behind it.
    pub stage: u8,
    pub up: bool,
}

/// The contents of a packet once it is opened.
#[derive(Debug)]
pub(crate) enum FlightContents {
    Segment(Tcp),
    Datagram(Udp),
    Whole(Box<Packet>),
}

/// The contents of a packet. Beside a whole packet the fields of a segment mean nothing; of a datagram only
/// the port and the TTL do.
#[derive(Debug, Clone)]
enum Content {
    Data(Bytes),
    Whole(Box<Packet>),
}

const NO_SHIFT: u8 = u8::MAX;

const SYN: u8 = 1;
const ACK: u8 = 2;
const FIN: u8 = 4;
const RST: u8 = 8;
const PSH: u8 = 16;
const STAMPS: u8 = 32;
const SACK_PERMITTED: u8 = 64;
const V6: u8 = 128;
/// Flag of a frame.
const WHOLE: u8 = 1;

/// The bits of ECN.
const ECN: u8 = 0b11;
const DATAGRAM: u8 = 4;
/// A frame, of which `seq` is the first packet, `ack` their number, and `stamp` the bytes of the longest;
/// `bits` is [`WHOLE`] if routers may not cut them.
const FRAME: u8 = 8;

/// Flags of a segment, beside those in `bits`.
const ECE: u8 = 16;
const CWR: u8 = 32;

/// The TTL that emulated hosts send with.
const TTL: u8 = 64;

impl<C: Copy> Flight<C> {
    /// A segment between port `port` of the client and the server's, of a host that sends with TTL 64 and DF.
    /// `None` if it must be kept as a whole packet.
    pub fn segment(
        (client, up): (C, bool),
        is_v6: bool,
        port: u16,
        segment: &Segment,
        payload: &Bytes,
    ) -> Option<Flight<C>> {
        let Segment { flags, options, .. } = segment;
        let fits =
            options.sack.is_empty() && options.mss != Some(0) && options.window_scale != Some(NO_SHIFT);
        if !fits {
            return None;
        }
        let bit = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
        let bits = bit(flags.syn, SYN)
            | bit(flags.ack, ACK)
            | bit(flags.fin, FIN)
            | bit(flags.rst, RST)
            | bit(flags.psh, PSH)
            | bit(options.timestamps.is_some(), STAMPS)
            | bit(options.sack_permitted, SACK_PERMITTED)
            | bit(is_v6, V6);
        let stamps = options.timestamps.unwrap_or_default();
        Some(Flight {
            content: Content::Data(if payload.is_empty() { Bytes::new() } else { payload.clone() }),
            client,
            seq: segment.seq.0,
            ack: segment.ack.0,
            stamp: stamps.value,
            echo: stamps.echo,
            port,
            window: segment.window,
            mss: options.mss.unwrap_or(0),
            shift: options.window_scale.unwrap_or(NO_SHIFT),
            ttl: TTL,
            bits,
            ip: segment.ecn.bits() | bit(flags.ece, ECE) | bit(flags.cwr, CWR),
            stage: 0,
            up,
        })
    }

    /// A datagram between port `port` of the client and the server's, of a host that sends with TTL 64 and
    /// DF.
    pub fn datagram((client, up): (C, bool), is_v6: bool, port: u16, ecn: Ecn, payload: &Bytes) -> Flight<C> {
        let data = if payload.is_empty() { Bytes::new() } else { payload.clone() };
        Flight {
            content: Content::Data(data),
            client,
            seq: 0,
            ack: 0,
            stamp: 0,
            echo: 0,
            port,
            window: 0,
            mss: 0,
            shift: NO_SHIFT,
            ttl: TTL,
            bits: if is_v6 { V6 } else { 0 },
            ip: DATAGRAM | ecn.bits(),
            stage: 0,
            up,
        }
    }

    /// Any packet to or from server `server`, kept whole, behind `stage` stages.
    pub fn whole(packet: Packet, (client, server): (C, u16), up: bool, stage: u8) -> Flight<C> {
        Flight {
            content: Content::Whole(Box::new(packet)),
            client,
            seq: 0,
            ack: 0,
            stamp: 0,
            echo: 0,
            port: 0,
            window: 0,
            mss: server,
            shift: NO_SHIFT,
            ttl: 0,
            bits: 0,
            ip: 0,
            stage,
            up,
        }
    }

    /// Packets of a real host.
    fn frame(packet: Packet, framed: Framed, (client, server): (C, u16), up: bool) -> Flight<C> {
        let (bytes, first, count) = framed.into_parts();
        Flight {
            content: Content::Data(bytes),
            client,
            seq: first.into(),
            ack: count.into(),
            stamp: packet.bytes,
            echo: 0,
            port: 0,
            window: 0,
            mss: server,
            shift: NO_SHIFT,
            ttl: packet.ttl,
            bits: if packet.whole { WHOLE } else { 0 },
            ip: FRAME | packet.ecn.bits(),
            stage: 0,
            up,
        }
    }

    /// Packets that travel together.
    pub fn packets(&self) -> u64 {
        match &self.content {
            Content::Whole(packet) => packet.packets(),
            Content::Data(_) if self.is_frame() => self.ack.into(),
            Content::Data(_) => 1,
        }
    }

    /// A packet to or from server `server` at the beginning of its way, of which `is_plain` says whether its
    /// addresses and the server's port are those of the plan.
    pub fn of(packet: Packet, (client, server): (C, u16), up: bool, is_plain: bool) -> Flight<C> {
        let is_v6 = matches!(packet.addresses, Addresses::V6 { .. });
        let (ttl, ecn) = (packet.ttl, packet.ecn);
        let port = |source, destination| if up { source } else { destination };
        let flight = match &packet.carried {
            _ if !is_plain || !packet.whole => None,
            PacketPayload::Tcp(tcp) => {
                let port = port(tcp.source_port, tcp.destination_port);
                Flight::segment((client, up), is_v6, port, &tcp.segment, &tcp.payload)
            }
            PacketPayload::Udp(udp) => {
                let port = port(udp.source_port, udp.destination_port);
                Some(Flight::datagram((client, up), is_v6, port, ecn, &udp.payload))
            }
            PacketPayload::Raw(_) | PacketPayload::Framed(_) => None,
        };
        if let Some(flight) = flight {
            return Flight { ttl, ip: flight.ip & !ECN | ecn.bits(), ..flight };
        }
        if let PacketPayload::Framed(framed) = &packet.carried {
            let framed = framed.clone();
            return Flight::frame(packet, framed, (client, server), up);
        }
        Flight::whole(packet, (client, server), up, 0)
    }

    /// The number of its server; `None` for that of the users on its client.
    pub fn server(&self) -> Option<u16> {
        let is_whole = matches!(self.content, Content::Whole(_)) || self.is_frame();
        is_whole.then_some(self.mss)
    }

    /// The number of the server that sent it to another; `None` for packets of clients and to them.
    pub fn sender(&self) -> Option<u16> {
        self.server()?;
        self.window.checked_sub(1)
    }

    /// Sets the server that sends it to another, if one does. The packet must be a frame, or whole.
    pub fn sent_by(self, server: Option<u16>) -> Flight<C> {
        debug_assert!(self.server().is_some(), "a segment's window is its own");
        Flight { window: server.map_or(0, |server| server + 1), ..self }
    }

    /// Turns a packet that has come to the edge of the program that it is for: it goes down to that program's
    /// client, and comes from the far end `far`. `hops` of its route are behind it.
    pub fn turned<D>(self, client: D, far: u16, hops: u8) -> Flight<D> {
        Flight { mss: far, up: false, stage: hops, ..self.of_client(client) }
    }

    /// Renames the packet's client to what another side knows it as.
    pub fn of_client<D>(self, client: D) -> Flight<D> {
        let Flight { content, seq, ack, stamp, echo, port, window, mss, shift, ttl, .. } = self;
        let Flight { bits, ip, stage, up, .. } = self;
        Flight { content, client, seq, ack, stamp, echo, port, window, mss, shift, ttl, bits, ip, stage, up }
    }

    /// Bytes from the IP header on; of packets that travel together, those of the longest.
    pub fn bytes(&self) -> u32 {
        match &self.content {
            Content::Whole(packet) => packet.bytes,
            Content::Data(_) if self.is_frame() => self.stamp,
            Content::Data(data) if self.is_datagram() => datagram_len(self.has(V6), data),
            Content::Data(data) => self.headers_len() + data.len() as u32,
        }
    }

    /// False if routers may cut it into fragments.
    pub fn is_whole(&self) -> bool {
        match &self.content {
            Content::Whole(packet) => packet.whole,
            Content::Data(_) => !self.is_frame() || self.bits == WHOLE,
        }
    }

    /// TTL or hop limit.
    pub fn ttl(&self) -> u8 {
        match &self.content {
            Content::Whole(packet) => packet.ttl,
            _ => self.ttl,
        }
    }

    /// Sets the TTL or hop limit.
    pub fn set_ttl(&mut self, ttl: u8) {
        match &mut self.content {
            Content::Whole(packet) => packet.ttl = ttl,
            _ => self.ttl = ttl,
        }
    }

    /// The ECN codepoint.
    pub fn ecn(&self) -> Ecn {
        match &self.content {
            Content::Whole(packet) => packet.ecn,
            Content::Data(_) => Ecn::from_bits(self.ip),
        }
    }

    /// Marks it: it met congestion. Its ends must understand that.
    pub fn mark(&mut self) {
        match &mut self.content {
            Content::Whole(packet) => packet.mark(),
            Content::Data(_) => self.ip = self.ip & !ECN | Ecn::Ce.bits(),
        }
    }

    /// The client's port, if it is a segment or a datagram.
    pub fn port(&self) -> Option<(PortKind, u16)> {
        let port = |source, destination| if self.up { source } else { destination };
        match &self.content {
            Content::Whole(packet) => match &packet.carried {
                PacketPayload::Tcp(tcp) => Some((PortKind::Tcp, port(tcp.source_port, tcp.destination_port))),
                PacketPayload::Udp(udp) => Some((PortKind::Udp, port(udp.source_port, udp.destination_port))),
                PacketPayload::Raw(_) | PacketPayload::Framed(_) => None,
            },
            Content::Data(_) if self.is_frame() => None,
            Content::Data(_) if self.is_datagram() => Some((PortKind::Udp, self.port)),
            Content::Data(_) => Some((PortKind::Tcp, self.port)),
        }
    }

    /// The packet's five-tuple. `addresses` are those of what the client sends to the server, which is on
    /// `server_port`.
    pub fn five_tuple(&self, addresses: impl FnOnce() -> Addresses, server_port: u16) -> FiveTuple {
        match &self.content {
            Content::Whole(packet) => packet.five_tuple(),
            Content::Data(bytes) if self.is_frame() => {
                Framed::of_parts(bytes.clone(), self.seq as u16, self.ack as u16).five_tuple()
            }
            Content::Data(_) => {
                let protocol = if self.is_datagram() { Protocol::UDP } else { Protocol::TCP };
                let (near, far) = (self.port, server_port);
                let (source_port, destination_port) = if self.up { (near, far) } else { (far, near) };
                let addresses = if self.up { addresses() } else { addresses().reversed() };
                FiveTuple { addresses, protocol, source_port, destination_port }
            }
        }
    }

    /// The segment or the datagram, with the server on `server_port`; or the packet, if it was kept whole.
    pub fn open(self, server_port: u16) -> FlightContents {
        if self.is_frame() {
            return FlightContents::Whole(Box::new(self.into_frame()));
        }
        let (segment, is_datagram) = (self.header(), self.is_datagram());
        let (source_port, destination_port) =
            if self.up { (self.port, server_port) } else { (server_port, self.port) };
        match self.content {
            Content::Whole(packet) => FlightContents::Whole(packet),
            Content::Data(payload) if is_datagram => {
                FlightContents::Datagram(Udp { source_port, destination_port, payload })
            }
            Content::Data(payload) => {
                FlightContents::Segment(Tcp { source_port, destination_port, segment, payload })
            }
        }
    }

    /// The packet. `addresses` are those of what the client sends to the server.
    pub fn into_packet(self, addresses: impl FnOnce() -> Addresses, server_port: u16) -> Packet {
        if self.is_frame() {
            return self.into_frame();
        }
        let (up, ttl, ecn) = (self.up, self.ttl, self.ecn());
        let addresses = || if up { addresses() } else { addresses().reversed() };
        match self.open(server_port) {
            FlightContents::Segment(tcp) => Packet { ttl, ecn, ..Packet::tcp(addresses(), tcp) },
            FlightContents::Datagram(udp) => Packet { ttl, ..Packet::udp(addresses(), ecn, udp) },
            FlightContents::Whole(packet) => *packet,
        }
    }

    /// The packets of a real host that this is.
    fn into_frame(self) -> Packet {
        let ecn = self.ecn();
        let Content::Data(bytes) = self.content else { unreachable!("a frame is bytes") };
        let framed = Framed::of_parts(bytes, self.seq as u16, self.ack as u16);
        Packet {
            addresses: framed.addresses(),
            ttl: self.ttl,
            ecn,
            whole: self.bits == WHOLE,
            bytes: self.stamp,
            carried: PacketPayload::Framed(framed),
        }
    }

    fn is_frame(&self) -> bool {
        self.ip & FRAME != 0
    }

    fn is_datagram(&self) -> bool {
        self.ip & DATAGRAM != 0
    }

    fn headers_len(&self) -> u32 {
        headers_len(self.has(V6), &self.options())
    }

    fn options(&self) -> Options {
        Options {
            mss: (self.mss != 0).then_some(self.mss),
            window_scale: (self.shift != NO_SHIFT).then_some(self.shift),
            sack_permitted: self.has(SACK_PERMITTED),
            timestamps: self.has(STAMPS).then_some(Timestamps { value: self.stamp, echo: self.echo }),
            ..Options::default()
        }
    }

    fn header(&self) -> Segment {
        Segment {
            seq: SeqNumber(self.seq),
            ack: SeqNumber(self.ack),
            flags: Flags {
                syn: self.has(SYN),
                ack: self.has(ACK),
                fin: self.has(FIN),
                rst: self.has(RST),
                psh: self.has(PSH),
                ece: self.ip & ECE != 0,
                cwr: self.ip & CWR != 0,
            },
            window: self.window,
            options: self.options(),
            payload_len: if let Content::Data(data) = &self.content { data.len() as u32 } else { 0 },
            ecn: Ecn::from_bits(self.ip),
        }
    }

    fn has(&self, bit: u8) -> bool {
        self.bits & bit != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slots::ClientId;
    use farfield_tcp::SackBlocks;
    use proptest::prelude::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    const PORT: u16 = 80;

    fn addresses(is_v6: bool) -> Addresses {
        if is_v6 {
            let source = Ipv6Addr::from_bits(0xfd00 << 112 | 7);
            Addresses::V6 { source, destination: Ipv6Addr::LOCALHOST }
        } else {
            let source = Ipv4Addr::new(198, 18, 0, 7);
            Addresses::V4 { source, destination: Ipv4Addr::new(10, 1, 0, 1) }
        }
    }

    fn options() -> impl Strategy<Value = Options> {
        let stamps = any::<Option<(u32, u32)>>();
        (any::<Option<u16>>(), any::<Option<u8>>(), any::<bool>(), stamps, 0u32..3).prop_map(
            |(mss, window_scale, sack_permitted, stamps, blocks)| {
                let mut sack = SackBlocks::default();
                (0..blocks).for_each(|block| {
                    sack.push(SeqNumber(block * 2), SeqNumber(block * 2 + 1));
                });
                let timestamps = stamps.map(|(value, echo)| Timestamps { value, echo });
                Options { mss, window_scale, sack_permitted, sack, timestamps }
            },
        )
    }

    #[test]
    fn it_takes_a_line_of_memory() {
        assert_eq!(size_of::<Flight<ClientId>>(), 64);
    }

    proptest! {
        /// Whatever a segment says, the packet that comes out is the one that went in, and is as long all the
        /// way.
        #[test]
        fn it_says_what_the_packet_says(
            options in options(), (up, is_v6, is_plain, whole) in any::<(bool, bool, bool, bool)>(),
            (seq, ack, window, port, ttl) in any::<(u32, u32, u16, u16, u8)>(),
            (syn, fin, rst, psh, ece, cwr) in any::<(bool, bool, bool, bool, bool, bool)>(),
            len in 0usize..3, bits in 0u8..4,
        ) {
            let ecn = Ecn::from_bits(bits);
            let segment = Segment {
                seq: SeqNumber(seq), ack: SeqNumber(ack), window, options, payload_len: len as u32,
                flags: Flags { syn, ack: !syn, fin, rst, psh, ece, cwr }, ecn,
            };
            let (source_port, destination_port) = if up { (port, PORT) } else { (PORT, port) };
            let to = if up { addresses(is_v6) } else { addresses(is_v6).reversed() };
            let tcp = Tcp { source_port, destination_port, segment, payload: Bytes::from(vec![7; len]) };
            let packet = Packet { ttl, ecn, whole, ..Packet::tcp(to, tcp) };
            let flight = Flight::of(packet.clone(), (ClientId::new(3), 0), up, is_plain);
            prop_assert_eq!((flight.bytes(), flight.is_whole(), flight.ttl()), (packet.bytes, whole, ttl));
            prop_assert_eq!((flight.port(), flight.ecn()), (Some((PortKind::Tcp, port)), ecn));
            prop_assert_eq!((flight.client, flight.up, flight.stage), (ClientId::new(3), up, 0));
            let five_tuple = flight.five_tuple(|| addresses(is_v6), PORT);
            prop_assert_eq!(five_tuple, packet.five_tuple());
            prop_assert_eq!(five_tuple, Packet::raw(packet.to_bytes().into()).unwrap().five_tuple());
            let mut marked = flight.clone();
            marked.mark();
            let marked = marked.into_packet(|| addresses(is_v6), PORT);
            let PacketPayload::Tcp(of_marked) = &marked.carried else { unreachable!() };
            prop_assert_eq!((marked.ecn, of_marked.segment), (Ecn::Ce, Segment { ecn: Ecn::Ce, ..segment }));
            let there = flight.into_packet(|| addresses(is_v6), PORT);
            prop_assert_eq!((there.addresses, there.bytes, there.whole), (packet.addresses, packet.bytes, whole));
            prop_assert_eq!((there.ttl, there.ecn), (ttl, ecn));
            let (PacketPayload::Tcp(there), PacketPayload::Tcp(tcp)) = (there.carried, packet.carried) else { unreachable!() };
            prop_assert_eq!((there.source_port, there.destination_port), (tcp.source_port, tcp.destination_port));
            prop_assert_eq!((there.segment, there.payload), (tcp.segment, tcp.payload));
        }

        /// A datagram is carried likewise, whichever side it passes.
        #[test]
        fn it_carries_what_a_datagram_carries(
            (up, is_v6, is_plain, whole) in any::<(bool, bool, bool, bool)>(),
            (port, ttl) in any::<(u16, u8)>(), len in 0usize..3, bits in 0u8..4,
        ) {
            let (source_port, destination_port) = if up { (port, PORT) } else { (PORT, port) };
            let to = if up { addresses(is_v6) } else { addresses(is_v6).reversed() };
            let udp = Udp { source_port, destination_port, payload: Bytes::from(vec![7; len]) };
            let ecn = Ecn::from_bits(bits);
            let packet = Packet { ttl, whole, ..Packet::udp(to, ecn, udp.clone()) };
            let flight = Flight::of(packet.clone(), (ClientId::new(3), 0), up, is_plain).of_client(ClientId::new(4));
            prop_assert_eq!((flight.bytes(), flight.is_whole(), flight.ttl()), (packet.bytes, whole, ttl));
            prop_assert_eq!((flight.port(), flight.ecn()), (Some((PortKind::Udp, port)), ecn));
            prop_assert_eq!(flight.five_tuple(|| addresses(is_v6), PORT), packet.five_tuple());
            let there = flight.into_packet(|| addresses(is_v6), PORT);
            prop_assert_eq!((there.addresses, there.bytes, there.whole), (packet.addresses, packet.bytes, whole));
            prop_assert_eq!((there.ttl, there.ecn), (ttl, ecn));
            let PacketPayload::Udp(there) = there.carried else { unreachable!() };
            prop_assert_eq!(there, udp);
        }
    }
}
