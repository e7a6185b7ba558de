//! Packets that a kernel, a program beside the users or a neighbour hands to the emulator: the properties of
//! the fuzz targets `gateway_packet` and `gateway_clients`.
//!
//! The properties: no panic; a packet whose address is replaced stays one of its length and comes back as it
//! was; what is cut has no more data than came, and each part is a packet; whatever answers or errors clients
//! get, what they send for one of them is bounded, and time goes on.

use super::input::Input;
use bytes::Bytes;
use farfield_base::random::Seed;
use farfield_base::{Duration, Instant, Window};
use farfield_emulator::offload::{Frame, take_apart};
use farfield_emulator::{
    ClassPlan, ClientPlan, Directory, Framed, HostWays, NetworkPlan, OtherServers, Packet, PacketPayload,
    RoutePlan, Servers, Shard, Tcp,
};
use farfield_net::link::NoJitter;
use farfield_net::{LinkModel, LinkSpec};
use farfield_tcp::{Config, Flags, Segment};
use farfield_testbed::gateway::AddressMap;
use farfield_traffic::load::LoadSpec;
use farfield_traffic::request::RequestSetSpec;
use farfield_user::{EventPolicy, Flow, HttpVersion, Itinerary, LoadEnd, Plan, Policy, Target, UserSettings};
use farfield_wire::{IcmpError, IpPacket, VnetHeader};
use serde::Deserialize;
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, LazyLock};

/// Packets of a row that are looked at one by one.
const LOOKED_AT: usize = 64;

/// A packet behind its offload header.
pub fn of_packet(bytes: &[u8]) {
    let Some((head, packet)) = bytes.split_first_chunk::<{ VnetHeader::LEN }>() else { return };
    of_mapped(packet);
    let Ok(header) = VnetHeader::parse(head) else { return };
    let bytes = Bytes::copy_from_slice(bytes);
    let (mut packets, mut data) = (Vec::new(), 0);
    let taken = take_apart(&header, &bytes.slice(VnetHeader::LEN..), |packet| {
        if let PacketPayload::Tcp(Tcp { payload, .. }) = &packet.carried {
            data += payload.len();
        }
        packets.push(packet);
    });
    assert!(data <= packet.len() && packets.len() <= packet.len().max(1));
    assert!(taken.is_ok() || packets.len() <= 1 || data == 0, "all of it or nothing");
    packets.iter().take(LOOKED_AT).for_each(is_sound);
    if let Ok(framed) = Framed::parse(bytes) {
        of_framed(&framed);
    }
}

/// A packet that leaves can be read as one.
fn is_sound(packet: &Packet) {
    let frame = Frame::of(packet);
    let whole = [&frame.head()[VnetHeader::LEN..], frame.rest()].concat();
    let ip = IpPacket::parse(&whole).expect("what leaves can be read");
    assert_eq!(ip.addresses(), packet.addresses);
    let bytes = packet.to_bytes();
    assert_eq!(IpPacket::parse(&bytes).expect("what is captured can be read").addresses(), packet.addresses);
}

/// Packets that travel together are as many apart, and together again when they leave so.
fn of_framed(framed: &Framed) {
    let mut joined: Option<Framed> = None;
    let mut pieces = 0;
    for piece in framed.pieces() {
        assert_eq!(piece.packets(), 1);
        assert!(piece.longest() <= framed.longest());
        if usize::from(pieces) < LOOKED_AT {
            let bytes = piece.to_bytes(64, farfield_wire::Ecn::Ce);
            assert_eq!(IpPacket::parse(&bytes).expect("a packet").addresses(), framed.addresses());
            let (head, rest) = piece.emit(64, farfield_wire::Ecn::NotEct);
            assert!(head.as_bytes().len() + rest.len() >= bytes.len());
        }
        pieces += 1;
        match &mut joined {
            None => joined = Some(piece),
            Some(joined) => assert!(joined.join(&piece), "neighbours are one run"),
        }
    }
    assert_eq!(pieces, framed.packets());
    assert_eq!(joined.map(|joined| joined.packets()), Some(framed.packets()));
    is_sound(&framed.clone().into_packet());
}

/// Replaced addresses leave a packet one, and come back.
fn of_mapped(packet: &[u8]) {
    let v4 = |last| IpAddr::from([192, 0, 2, last]);
    let v6 = |last| IpAddr::from(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last));
    for (shown, own) in [(v4(1), IpAddr::from([127, 0, 0, 1])), (v6(1), Ipv6Addr::LOCALHOST.into())] {
        let map = AddressMap { shown, own };
        for partial in [false, true] {
            let mut there = packet.to_vec();
            map.to_server(&mut there, partial);
            assert_eq!(there.len(), packet.len());
            if let Ok(ip) = IpPacket::parse(packet) {
                let moved = IpPacket::parse(&there).expect("it stays a packet").addresses();
                let replaced = |address| if address == shown { own } else { address };
                let before = ip.addresses();
                assert_eq!(moved.source(), replaced(before.source()));
                assert_eq!(moved.destination(), replaced(before.destination()));
            }
            let mut back = there;
            map.from_server(&mut back, partial);
            assert_eq!(back.len(), packet.len());
        }
    }
}

/// Clients that ask again and again.
const CLIENTS: u32 = 3;
const FIRST: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 1);
/// Steps of an input, events of a span of time, and packets for one that came, at most.
const STEPS_MAX: usize = 300;
const EVENTS_MAX: usize = 20_000;

/// A fuzzer's input: steps of a byte and its arguments each. A packet may answer the last one that a client
/// sent, be an ICMP error about it, or be any.
pub fn of_clients(input: &[u8]) {
    let (mut input, mut harness) = (Input(input), GatewayHarness::begin());
    let mut steps = 0;
    while !input.is_over() && steps < STEPS_MAX {
        harness.step(&mut input);
        steps += 1;
    }
    harness.pass(Duration::from_secs(30));
    harness.shard.end(harness.now);
}

struct GatewayHarness {
    shard: Shard,
    now: Instant,
    /// The last packets that clients sent.
    sent: VecDeque<Packet>,
}

impl GatewayHarness {
    fn begin() -> GatewayHarness {
        let network = Arc::new(network());
        let directory = Arc::new(Directory::new(&network));
        let mut shard = Shard::new(network, directory, users());
        shard.start();
        let mut harness = GatewayHarness { shard, now: Instant::ZERO, sent: VecDeque::new() };
        harness.pass(Duration::from_ms(20));
        harness
    }

    fn step(&mut self, input: &mut Input<'_>) {
        match input.byte() {
            b't' => self.pass(Duration::from_ms(u64::from(input.byte()))),
            b'T' => self.pass(Duration::from_ms(u64::from(input.word()))),
            b'r' => self.raw(input),
            b'i' => self.error(input),
            _ => self.answer(input),
        }
    }

    /// Does all that is due, and keeps what is sent.
    fn pass(&mut self, time: Duration) {
        self.now += time;
        let mut events = 0;
        while self.shard.step(self.now, &mut ()) {
            events += 1;
            assert!(events < EVENTS_MAX, "time goes on");
        }
        while let Some(departure) = self.shard.poll_departure() {
            self.sent.push_front(departure.packet);
        }
        self.sent.truncate(8);
        self.shard.take_samples().for_each(|sample| assert!(sample.is_ordered(), "{sample:?}"));
        self.shard.take_notes();
    }

    fn hand_in(&mut self, packet: Packet) {
        self.shard.handle_packet(self.now, packet);
        self.pass(Duration::from_ms(12));
    }

    /// Any packet, as the gateway hands it over.
    fn raw(&mut self, input: &mut Input<'_>) {
        let bytes = Bytes::copy_from_slice(input.piece());
        let header = VnetHeader::parse(&[0; VnetHeader::LEN]).expect("nothing is left to do");
        let mut packets = Vec::new();
        let _ = take_apart(&header, &bytes, |packet| packets.push(packet));
        packets.into_iter().for_each(|packet| self.hand_in(packet));
    }

    /// An ICMP error about a packet that was sent, perhaps changed at one byte.
    fn error(&mut self, input: &mut Input<'_>) {
        let (which, kind, at, with) = (input.byte(), input.byte(), input.byte(), input.byte());
        let Some(about) = self.about(which) else { return };
        let error = match kind % 4 {
            0 => IcmpError::HopLimitExceeded,
            1 => IcmpError::NoRoute,
            2 => IcmpError::PortUnreachable,
            _ => IcmpError::TooBig { next_hop_mtu: u16::from(kind) * 8 },
        };
        let mut bytes = [0; IcmpError::LEN_MAX];
        let Some(len) = error.write(&about.to_bytes(), SERVER.into(), &mut bytes) else { return };
        let mut bytes = bytes[..len].to_vec();
        bytes[usize::from(at) % len] ^= with;
        if let Some(packet) = Packet::parse(&bytes.into()) {
            self.hand_in(packet);
        }
    }

    fn about(&self, which: u8) -> Option<Packet> {
        self.sent.get(usize::from(which) % self.sent.len().max(1)).cloned()
    }

    /// A segment that answers one that was sent, with data, give or take a little.
    fn answer(&mut self, input: &mut Input<'_>) {
        let (which, bits, kinds) = (input.byte(), input.byte(), input.byte());
        let Some(about) = self.about(which) else { return };
        let PacketPayload::Tcp(tcp) = about.carried else { return };
        let mut segment = Segment { window: 20_000, ..Segment::default() };
        segment.flags = match bits & 7 {
            0 => Flags { syn: true, ack: true, ..Flags::default() },
            1 => Flags { rst: true, ack: bits & 8 != 0, ..Flags::default() },
            2 => Flags { fin: true, ack: true, ..Flags::default() },
            3 => Flags { syn: bits & 8 != 0, fin: bits & 16 != 0, psh: bits & 32 != 0, ..Flags::default() },
            _ => Flags { ack: true, ..Flags::default() },
        };
        let asked = tcp.segment;
        // The server's first number follows from the client's.
        let own = if asked.flags.ack { asked.ack } else { asked.seq };
        segment.seq = own;
        segment.ack =
            asked.seq + (asked.payload_len + u32::from(asked.flags.syn) + u32::from(asked.flags.fin));
        if kinds & 1 != 0 {
            segment.seq = own + input.step() as u32;
        }
        if kinds & 2 != 0 {
            segment.ack += input.step() as u32;
        }
        if kinds & 4 != 0 {
            segment.window = input.word();
        }
        if let Some(stamps) = asked.options.timestamps {
            let echo =
                farfield_tcp::Timestamps { value: (self.now.as_ns() / 1_000_000) as u32, echo: stamps.value };
            segment.options.timestamps = (kinds & 8 == 0).then_some(echo);
        }
        if segment.flags.syn {
            segment.options.mss = Some(if kinds & 16 != 0 { input.word() } else { 1_460 });
            segment.options.window_scale = (kinds & 32 != 0).then_some(7);
        }
        let payload = Bytes::copy_from_slice(if kinds & 64 != 0 { input.piece() } else { &[] });
        segment.payload_len = payload.len() as u32;
        let carried =
            Tcp { source_port: tcp.destination_port, destination_port: tcp.source_port, segment, payload };
        self.hand_in(Packet::tcp(about.addresses.reversed(), carried));
    }
}

fn network() -> NetworkPlan {
    static LINK: LazyLock<Arc<LinkModel>> = LazyLock::new(|| {
        let spec: LinkSpec<NoJitter> = toml::from_str("delay = '5ms'").expect("a link");
        Arc::new(spec.resolve(|never| match *never {}, &mut |_| unreachable!("no trace")).expect("a link"))
    });
    let class = ClassPlan {
        name: "all".into(),
        tcp: Arc::new(Config::linux()),
        up: vec![Arc::clone(&LINK)],
        down: vec![Arc::clone(&LINK)],
        first_address: FIRST.into(),
    };
    NetworkPlan {
        others: OtherServers::default(),
        host_ways: HostWays::default(),
        servers: Servers { v4: SERVER, v6: Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 1, 1), port: 80 },
        classes: vec![class],
        routes: vec![RoutePlan::direct(0)],
        cross_traffic: Vec::new(),
        moves: Vec::new(),
        shared: Vec::new(),
        clients: (0..CLIENTS).map(|rank| ClientPlan { class: 0, route: 0, rank }).collect(),
    }
}

fn users() -> Plan {
    #[derive(Deserialize)]
    struct Document {
        load: LoadSpec,
    }
    let load = format!("load = {{ model = 'closed', users = {CLIENTS}, think = '100ms' }}");
    let document: Document = toml::from_str(&load).expect("a load");
    let spec: RequestSetSpec = toml::from_str("[[request]]\npath = '/'").expect("requests");
    let requests = spec.resolve(&mut |_| unreachable!("no files"), Seed(1)).expect("requests");
    let target = Target {
        host: "server".into(),
        version: HttpVersion::Http11,
        authorization: None,
        secure: false,
        proxy: None,
    };
    let end = Instant::ZERO + Duration::from_secs(3_600);
    Plan {
        flows: Flow::only(
            document.load.resolve(&mut |_| unreachable!("no files")).expect("a load"),
            Itinerary::pages(requests, &[target]).expect("requests that can be written"),
        ),
        users: UserSettings {
            policy: Policy::default(),
            events: EventPolicy::default(),
            seed: Seed(1),
            requests_max: None,
            end: LoadEnd::default(),
        },
        tls: Vec::new(),
        worker: 0,
        workers: 1,
        window: Window { measure_from: Instant::ZERO, measure_to: end },
    }
}
