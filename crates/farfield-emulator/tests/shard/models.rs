//! A model of a server where time is real, played in virtual time: it is the simulated plane's, and answers
//! real hosts as a kernel does.

use crate::scene::{Scene, count, link, ms};
use farfield_base::random::Seed;
use farfield_base::{Duration, Instant, Outcome, Sample};
use farfield_emulator::{ClientId, Directory, Packet, PacketPayload, Router, ServerPlan, Shard, Tcp};
use farfield_tcp::{Flags, Segment, SeqNumber};
use farfield_user::Plan;
use farfield_wire::{
    Addresses, Icmpv4Repr, IpPacket, IpRepr, Message, Protocol, Transport, UdpRepr, write_packet,
};
use std::sync::Arc;

/// Requests that went well, in order: when each was due, sent and done.
fn times(samples: &[Sample]) -> Vec<(Instant, Option<Instant>, Instant)> {
    let good = samples.iter().filter(|sample| sample.outcome == Outcome::Ok);
    let mut times: Vec<_> = good.map(|sample| (sample.due, sample.sent.instant(), sample.done)).collect();
    times.sort();
    times
}

/// Twenty users before two workers, whose service times are exponential: the shard's model serves each
/// request when the simulated plane's does.
#[test]
fn it_is_the_model_of_the_simulated_plane() {
    let mut scene = Scene::crowd(20, ms(60));
    scene.shared = vec![link("delay = '1ms'\nrate = '10Mbit'")];
    scene.server.workers = farfield_model::Workers::Events(count(2));
    let service = "{ distribution = 'exponential', mean = '8ms' }";
    scene.server.service = distribution(service);
    let simulated = scene.play();
    let simulation = scene.simulation();
    let network = Arc::new(scene.network());
    let users = Plan {
        flows: simulation.flows,
        users: simulation.users,
        tls: Vec::new(),
        worker: 0,
        workers: 1,
        window: simulation.window,
    };
    let mut shard = Shard::new(Arc::clone(&network), Arc::new(Directory::new(&network)), users);
    shard.model_servers(vec![(0, simulation.server)]);
    shard.start();
    while let Some(next) = shard.next_at().filter(|next| *next <= simulation.drain_until) {
        assert!(shard.step(next, &mut ()), "something is due at {next:?}");
    }
    let own: Vec<Sample> = shard.take_samples().collect();
    assert!(shard.poll_departure().is_none(), "nothing leaves for a real server");
    let (own, theirs) = (times(&own), times(&simulated.samples));
    assert!(own.len() > 2_000, "{}", own.len());
    assert_eq!(own, theirs);
}

fn distribution(toml: &str) -> farfield_traffic::Distribution {
    #[derive(serde::Deserialize)]
    struct Document {
        times: farfield_traffic::DistributionSpec,
    }
    let document: Document = toml::from_str(&format!("times = {toml}")).expect("a distribution");
    document.times.resolve(&mut |_| unreachable!("no files")).expect("a distribution")
}

/// A router with a model that serves in 3 ms, and the addresses of what its client 0 sends to it, over 10 ms.
fn router() -> (Router, Addresses) {
    let scene = Scene::at(ms(10));
    let network = scene.network();
    let addresses = network.addresses(ClientId::new(0));
    let mut router = Router::new(Arc::new(network), Seed(1));
    let plan = ServerPlan { service: ms(3).into(), ..ServerPlan::events(count(1)) };
    router.model_servers(vec![(0, Arc::new(plan))]);
    (router, addresses)
}

/// The packets that have come to the client, once nothing is under way before `end`.
fn heard(router: &mut Router, end: Instant) -> Vec<(Duration, Packet)> {
    let mut heard = Vec::new();
    loop {
        assert!(router.poll_departure().is_none(), "nothing leaves for a real server");
        let arrived = std::iter::from_fn(|| router.poll_arrival());
        heard.extend(arrived.map(|own| (own.intended.since(Instant::ZERO), own.packet)));
        let Some(next) = router.next_at().filter(|next| *next <= end) else { return heard };
        assert!(router.step(next, &mut ()));
    }
}

fn raw(addresses: Addresses, protocol: Protocol, message: &Message<'_>) -> Packet {
    let mut out = vec![0; 20 + message.wire_len()];
    write_packet(&IpRepr::new(addresses, protocol), message, &mut out);
    Packet::raw(out.into()).expect("a packet")
}

fn syn(addresses: Addresses, port: u16) -> Packet {
    let flags = Flags { syn: true, ..Flags::default() };
    let segment = Segment { seq: SeqNumber(7), flags, window: 1000, ..Segment::default() };
    let tcp = Tcp { source_port: 40_000, destination_port: port, segment, payload: bytes::Bytes::new() };
    Packet::raw(Packet::tcp(addresses, tcp).to_bytes().into()).expect("a packet")
}

fn segment(packet: &Packet) -> &Tcp {
    match &packet.carried {
        PacketPayload::Tcp(tcp) => tcp,
        other => panic!("{other:?}"),
    }
}

/// A real host's handshake, its request, and a reply after the service time.
#[test]
fn a_real_host_is_served() {
    let (mut router, addresses) = router();
    router.handle_client_packet(Instant::ZERO, syn(addresses, 80));
    let answers = heard(&mut router, Instant::ZERO + ms(50));
    let (at, syn_ack) = answers.first().expect("a SYN-ACK");
    let header = &segment(syn_ack).segment;
    assert_eq!((*at, header.flags.syn, header.flags.ack, header.ack), (ms(10), true, true, SeqNumber(8)));
    let request = bytes::Bytes::from_static(b"GET /bytes/100 HTTP/1.1\r\nHost: a\r\n\r\n");
    let flags = Flags { ack: true, psh: true, ..Flags::default() };
    let ack = SeqNumber(header.seq.0.wrapping_add(1));
    let payload_len = request.len() as u32;
    let sent = Segment { seq: SeqNumber(8), ack, flags, window: 60_000, payload_len, ..Segment::default() };
    let tcp = Tcp { source_port: 40_000, destination_port: 80, segment: sent, payload: request };
    let packet = Packet::raw(Packet::tcp(addresses, tcp).to_bytes().into()).expect("a packet");
    router.handle_client_packet(Instant::ZERO + ms(50), packet);
    let answers = heard(&mut router, Instant::ZERO + ms(90));
    let reply = answers.iter().find(|(_, packet)| !segment(packet).payload.is_empty()).expect("a reply");
    assert_eq!(reply.0, ms(50 + 10 + 3));
    assert!(segment(&reply.1).payload.starts_with(b"HTTP/1.1 200"), "{reply:?}");
}

/// Packets that are no request of its port: an echo request is answered, another port reset, a datagram
/// refused.
#[test]
fn other_packets_are_answered_as_by_a_kernel() {
    let (mut router, addresses) = router();
    router.handle_client_packet(Instant::ZERO, syn(addresses, 81));
    let answers = heard(&mut router, Instant::ZERO + ms(50));
    let [(at, reset)] = &answers[..] else { panic!("{answers:?}") };
    assert!(*at == ms(10) && segment(reset).segment.flags.rst && segment(reset).source_port == 81);
    let data = [1, 2, 3];
    let echo = Icmpv4Repr::EchoRequest { ident: 1, sequence: 2, data: &data };
    let datagram = UdpRepr { source_port: 40_000, destination_port: 53 };
    for (packet, kind) in [
        (raw(addresses, Protocol::ICMPV4, &Message::Icmpv4(echo)), 0),
        (raw(addresses, Protocol::UDP, &Message::Udp(datagram, &data)), 3),
    ] {
        router.handle_client_packet(Instant::ZERO + ms(50), packet);
        let answers = heard(&mut router, Instant::ZERO + ms(90));
        let [(_, answer)] = &answers[..] else { panic!("{answers:?}") };
        let bytes = answer.to_bytes();
        let ip = IpPacket::parse(&bytes).expect("a packet");
        let Ok(Transport::Icmpv4(icmp)) = ip.transport() else { panic!("{ip:?}") };
        assert_eq!((icmp.kind(), ip.addresses()), (kind, addresses.reversed()));
    }
}
