//! Shards without shared links, and the links apart: nothing that happens depends on how the network is cut.

use crate::scene::{Scene, link, ms};
use farfield_base::{Instant, Merge, NetworkDrops, Sample};
use farfield_emulator::{ClientId, Crossing, Directory, Packet, ServerModel, Shard, SharedLinks};
use farfield_user::Plan;
use farfield_wire::{IpPacket, IpRepr, Message, Protocol, UdpRepr, write_packet};
use std::sync::Arc;

/// Shards, the links between them, and the server, turned by one thread in order of time.
struct Cut {
    shards: Vec<Shard>,
    links: Option<SharedLinks>,
    server: ServerModel,
    directory: Arc<Directory>,
    /// Packets that have crossed.
    crossed: u64,
}

impl Cut {
    fn of(scene: &Scene, count: u32) -> Cut {
        let simulation = scene.simulation();
        let network = &simulation.network;
        let directory = Arc::new(Directory::new(network));
        let users = |worker| Plan {
            flows: simulation.flows.clone(),
            users: simulation.users.clone(),
            tls: Vec::new(),
            worker,
            workers: count,
            window: simulation.window,
        };
        let make = if count == 1 { Shard::new } else { Shard::of_ends };
        let shard = |worker| make(Arc::clone(network), Arc::clone(&directory), users(worker));
        let links = (count > 1).then(|| SharedLinks::new(Arc::clone(network), simulation.users.seed));
        let server = ServerModel::new(
            simulation.server,
            Arc::clone(network),
            Arc::clone(&directory),
            simulation.users.seed,
        );
        Cut { shards: (0..count).map(shard).collect(), links, server, directory, crossed: 0 }
    }

    fn play(mut self, scene: &Scene) -> (Vec<Sample>, NetworkDrops, u64) {
        let end = Instant::ZERO + scene.length;
        self.shards.iter_mut().for_each(Shard::start);
        self.hand_over(Instant::ZERO);
        while let Some(now) = self.next_at().filter(|now| *now <= end) {
            self.server.step(now);
            self.links.iter_mut().for_each(|links| while links.step(now) {});
            self.shards.iter_mut().for_each(|shard| while shard.step(now, &mut ()) {});
            self.hand_over(now);
        }
        let mut drops = self.links.map(|links| links.drops()).unwrap_or_default();
        self.shards.iter().for_each(|shard| drops.merge(&shard.drops()));
        let mut samples: Vec<Sample> =
            self.shards.iter_mut().flat_map(|shard| shard.take_samples()).collect();
        samples.sort_by_key(|sample| (sample.done, sample.user, sample.connection, sample.number));
        (samples, drops, self.crossed)
    }

    fn next_at(&self) -> Option<Instant> {
        let shards = self.shards.iter().filter_map(Shard::next_at);
        shards.chain(self.links.as_ref().and_then(SharedLinks::next_at)).chain(self.server.next_at()).min()
    }

    /// Hands packets to and fro until none is left.
    fn hand_over(&mut self, now: Instant) {
        loop {
            let mut rest = true;
            for shard in &mut self.shards {
                while let Some(departure) = shard.poll_departure() {
                    assert_eq!(departure.intended, now);
                    self.server.handle_packet(now, departure.packet);
                    rest = false;
                }
            }
            while let Some(departure) = self.server.poll_departure() {
                let client = self.directory.find(departure.packet.addresses.destination()).expect("a client");
                let shard = client.index() % self.shards.len();
                self.shards[shard].handle_packet(now, departure.packet);
                rest = false;
            }
            rest &= !self.pass_on();
            if rest {
                return;
            }
        }
    }

    /// Passes packets on between shards and links; false if there were none.
    fn pass_on(&mut self) -> bool {
        let Some(links) = &mut self.links else { return false };
        let mut some = false;
        loop {
            let count = self.shards.len() as u32;
            let up: Vec<Crossing> = self.shards.iter_mut().flat_map(|shard| shard.crossings()).collect();
            let down: Vec<Crossing> = links.crossings().collect();
            if up.is_empty() && down.is_empty() {
                return some;
            }
            some = true;
            self.crossed += (up.len() + down.len()) as u64;
            up.into_iter().for_each(|crossing| links.take(crossing));
            for crossing in down {
                self.shards[crossing.shard(count) as usize].take(crossing);
            }
        }
    }
}

/// Visitors who come at instants of their own, so that hardly two packets are anywhere at once.
fn visitors() -> Scene {
    let mut scene = Scene::crowd(192, ms(25)).policy("policy = 'one-request'");
    scene.load = "{ model = 'open', arrivals = '500/s' }".into();
    scene.path = "/bytes/20000".into();
    scene.length = ms(1500);
    scene
}

#[track_caller]
fn same_in_any_number(scene: &Scene) -> (Vec<Sample>, NetworkDrops) {
    let (samples, drops, _) = Cut::of(scene, 1).play(scene);
    for count in [2, 3] {
        let (again, dropped, crossed) = Cut::of(scene, count).play(scene);
        assert!(crossed > 20 * samples.len() as u64, "{crossed} packets crossed");
        assert_eq!((again.len(), dropped), (samples.len(), drops), "{count} shards");
        assert!(again == samples, "{count} shards");
    }
    (samples, drops)
}

#[test]
fn a_shared_bottleneck() {
    let mut scene = visitors();
    scene.shared = vec![link("delay = '2ms'\nrate = '95Mbit'\nqueue = '64KiB'\nloss = '0.2%'"); 2];
    let (samples, drops) = same_in_any_number(&scene);
    assert!(
        samples.len() > 500 && drops.queue_full > 30 && drops.lost > 3,
        "{} samples, {drops:?}",
        samples.len()
    );
}

/// Between links that take no time there is no notice at all; routers that count hops and cut packets are on
/// either side.
#[test]
fn links_without_delay_and_queues_that_tell_later() {
    for queue in ["'codel'", "'fq-codel'", "'fq-pie'"] {
        let mut scene = visitors();
        scene.shared = vec![
            link(&format!("delay = '0ms'\nrate = '80Mbit'\nqueue = {queue}")),
            link("delay = '0ms'\nduplicate = '1%'\ncorrupt = '1%'"),
        ];
        let (samples, drops) = same_in_any_number(&scene);
        assert!(samples.len() > 500 && drops.damaged > 10, "{} samples, {drops:?}", samples.len());
    }
}

/// The answers to the gateway when it sends a datagram of each TTL to client 2, with their instants: routers
/// on either side of a crossing count hops and answer, and the client, whose port is closed.
fn traced(scene: &Scene, count: u32) -> Vec<(Instant, Vec<u8>)> {
    let mut cut = Cut::of(scene, count);
    let network = scene.network();
    let (mut now, mut seen) = (Instant::ZERO, Vec::new());
    for ttl in 1..=6 {
        let addresses = network.addresses(ClientId::new(2)).reversed();
        let mut ip = IpRepr::new(addresses, Protocol::UDP);
        if let IpRepr::V4(v4) = &mut ip {
            (v4.ttl, v4.dont_fragment) = (ttl, true);
        }
        let mut bytes = [0; 64];
        let datagram = Message::Udp(UdpRepr { source_port: 40_000, destination_port: 33_434 }, b"where");
        let len = write_packet(&ip, &datagram, &mut bytes);
        let packet = Packet::raw(bytes[..len].to_vec().into()).expect("a packet");
        cut.shards[2 % count as usize].handle_packet(now, packet);
        cut.pass_on();
        while let Some(next) = cut.next_at() {
            now = next;
            cut.links.iter_mut().for_each(|links| while links.step(now) {});
            cut.shards.iter_mut().for_each(|shard| while shard.step(now, &mut ()) {});
            cut.pass_on();
            let departures =
                cut.shards.iter_mut().flat_map(|shard| std::iter::from_fn(|| shard.poll_departure()));
            seen.extend(departures.map(|departure| (departure.intended, departure.packet.to_bytes())));
        }
    }
    seen
}

#[test]
fn routers_answer_from_wherever_they_are() {
    let mut scene = Scene::crowd(12, ms(20));
    scene.shared = vec![link("delay = '3ms'"), link("delay = '0ms'"), link("delay = '2ms'")];
    let whole = traced(&scene, 1);
    // Two routers between the server and the edge, the edge, and the client itself for each larger TTL.
    assert_eq!(whole.len(), 6);
    let source = |bytes: &[u8]| IpPacket::parse(bytes).expect("a packet").addresses().source();
    let sources: Vec<_> = whole.iter().map(|(_, bytes)| source(bytes)).collect();
    let client = scene.network().address(ClientId::new(2));
    assert!(
        sources[..3].iter().all(|router| *router != client)
            && sources[3..].iter().all(|host| *host == client)
    );
    for count in [2, 3] {
        assert!(traced(&scene, count) == whole, "{count} shards");
    }
}
