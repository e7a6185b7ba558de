//! What a shard owns beside its users: clients, connections, links, packets under way, and the wheel that turns it all.

use crate::capture::{Place, Tap};
use crate::client::{Client, Lane, Wire};
use crate::directory::Directory;
use crate::flight::Flight;
use crate::lingering::Lingering;
use crate::packet::Packet;
use crate::patience::Patience;
use crate::plan::NetworkPlan;
use crate::server::Alarm;
use bytes::Bytes;
use farfield_base::random::{Purpose, Seed};
use farfield_base::{Instant, Note, Sample, TcpStats};
use farfield_net::loss::Memory;
use farfield_net::{Cause, Lines, Link, Wheel};
use farfield_tcp::Connection;
use farfield_user::{ConnectionKey, Failure, Wake};
use farfield_wire::{Addresses, Reassembler, ReassemblyLimits};
use slab::Slab;
use std::collections::VecDeque;
use std::sync::Arc;

/// The state that everything in a shard acts on, apart from its users, who act on it through
/// [`Host`](farfield_user::Host).
#[derive(Debug)]
pub(crate) struct World {
    pub plan: Arc<NetworkPlan>,
    pub directory: Arc<Directory>,
    pub seed: Seed,
    pub shard: u32,
    pub shards: u32,
    /// Which part of the way is this world's.
    pub reach: Reach,
    /// For each class, its clients' own links up and down.
    pub lanes: Box<[(Lane, Lane)]>,
    /// Packets that wait before clients' own links.
    pub lines: Lines,
    /// Packets that have left for another world, with when they get there.
    pub crossings: Vec<Crossing>,
    /// The instant that things happen at.
    pub now: Instant,
    pub wheel: Wheel<Event>,
    /// The shard's own clients: number `shard`, `shard + shards`, ….
    pub clients: Vec<Client>,
    pub shared: Vec<Wire>,
    pub connections: Slab<Socket>,
    /// For each slot of the population's connections, the place of the one that is bound to it.
    pub bound: Vec<u32>,
    pub sockets_begun: u32,
    /// Timers of connections that are not on the wheel.
    pub patience: Patience,
    pub lingering: Lingering,
    pub flights: Slab<Flight>,
    /// Places of packets whose events come soon.
    pub soon: Vec<u32>,
    pub reassembler: Reassembler,
    pub departures: VecDeque<Departure>,
    /// Packets that have come to a model of a server.
    pub at_server: VecDeque<Flight>,
    /// What users are to hear once they have returned.
    pub told: VecDeque<Told>,
    /// How the connection fared whose failure a user is being told of.
    pub parting: Option<(ConnectionKey, TcpStats)>,
    pub samples: Vec<Sample>,
    /// What happened in sessions.
    pub notes: Vec<Note>,
    pub connects: u64,
    pub drops: Drops,
    pub tap: Option<Box<Tap>>,
}

/// What the wheel brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// Users asked for it.
    Wake(Wake),
    /// A timer of the connection at `place` may be due.
    Timer { place: u32, serial: u32 },
    /// Timers of a queue of waits may be due.
    Waits(u16),
    /// A packet under way has come to the end of its stage.
    Packet(u32),
    /// A queue has decided on a packet that waited.
    Verdict(At),
    /// A model of a server asked for it.
    Server(Alarm),
}

/// Which part of the way between clients and the server a world holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// All of it.
    Whole,
    /// Clients and their own links.
    Clients,
    /// Shared links: what is between clients' own and the server. Clients go by their numbers here and below.
    Shared,
    /// Of the shared links those towards the server, and the first away from it.
    Near,
    /// Shared links away from the server, but the first.
    Far,
    /// Clients and their own links, and the server's door: all but shared links.
    Ends,
    /// Shared links alone: clients go by their numbers, and nothing arrives here.
    Middle,
}

/// A packet between worlds, on its way from one thread to another: the instant at which it is meant to be at the other
/// side goes with it.
#[derive(Debug)]
pub struct Crossing {
    pub(crate) at: Instant,
    pub(crate) flight: Flight,
}

/// A link of the shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum At {
    Shared(u32),
    Own { client: u32, up: bool, hop: u8 },
}

/// A connection with what surrounds it.
#[derive(Debug)]
pub(crate) struct Socket {
    pub tcp: Connection,
    /// Its client's place in [`World::clients`].
    pub client: u32,
    pub port: u16,
    /// Tells its timers from those of an earlier connection at its place.
    pub serial: u32,
    /// Whose it is, until its user has closed it.
    pub key: Option<ConnectionKey>,
    /// When it is asked next whether a timer is due: at the earliest one's deadline, or before.
    pub timer_at: Instant,
    /// What links remember of its losses, where losses belong to connections.
    pub up_losses: Memory,
    pub down_losses: Memory,
}

/// Something that happened to a connection, for its user.
#[derive(Debug)]
pub(crate) enum Told {
    Connected(ConnectionKey),
    Received(ConnectionKey, Bytes),
    Closed(ConnectionKey),
    /// With how it fared, if it was ever begun.
    Failed(ConnectionKey, Failure, Option<TcpStats>),
}

/// A packet that has come to the server's door.
#[derive(Debug)]
pub struct Departure {
    /// When it was meant to be there.
    pub intended: Instant,
    /// The packet.
    pub packet: Packet,
}

/// Packets that did not arrive, by cause. All of these are the network's doing, as the scenario asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Drops {
    /// Lost on the wire.
    pub lost: u64,
    /// Found a queue full.
    pub queue_full: u64,
    /// Dropped early by RED.
    pub early: u64,
    /// Dropped by CoDel for their delay.
    pub delayed: u64,
    /// Ran out of hops.
    pub expired: u64,
    /// Too big for a link.
    pub too_big: u64,
    /// Damaged on the way and refused by the client.
    pub damaged: u64,
    /// For an address that no client has.
    pub nobody: u64,
}

impl Drops {
    pub(crate) fn count(&mut self, cause: Cause) {
        match cause {
            Cause::Lost => self.lost += 1,
            Cause::QueueFull => self.queue_full += 1,
            Cause::Early => self.early += 1,
            Cause::Delayed => self.delayed += 1,
        }
    }

    /// Adds another shard's.
    pub fn add(&mut self, other: &Drops) {
        self.lost += other.lost;
        self.queue_full += other.queue_full;
        self.early += other.early;
        self.delayed += other.delayed;
        self.expired += other.expired;
        self.too_big += other.too_big;
        self.damaged += other.damaged;
        self.nobody += other.nobody;
    }
}

/// No connection is bound to the slot.
pub(crate) const UNBOUND: u32 = u32::MAX;

impl World {
    /// The world of the clients of `shard` among `shards`, as far as it reaches.
    pub fn new(
        plan: Arc<NetworkPlan>,
        directory: Arc<Directory>,
        seed: Seed,
        (shard, shards): (u32, u32),
        reach: Reach,
    ) -> World {
        let own = |number: &usize| {
            let has_clients = matches!(reach, Reach::Whole | Reach::Clients | Reach::Ends);
            *number as u32 % shards == shard && has_clients
        };
        let clients = (0..plan.clients.len()).filter(own).map(|number| {
            let client = &plan.clients[number];
            Client::new(number as u32, client, &plan.classes[usize::from(client.class)], seed)
        });
        let has_shared = !matches!(reach, Reach::Clients | Reach::Ends);
        let shared = plan.shared.iter().enumerate().filter(|_| has_shared).map(|(number, model)| Wire {
            link: Link::new(Arc::clone(model)),
            chance: seed.stream(Purpose::Link, number as u64),
            verdict_at: None,
        });
        World {
            directory,
            seed,
            shard,
            shards,
            reach,
            lanes: plan.classes.iter().map(|class| class.lanes()).collect(),
            lines: Lines::default(),
            crossings: Vec::new(),
            now: Instant::ZERO,
            wheel: Wheel::new(),
            clients: clients.collect(),
            shared: shared.collect(),
            connections: Slab::new(),
            bound: Vec::new(),
            sockets_begun: 0,
            patience: Patience::default(),
            lingering: Lingering::default(),
            flights: Slab::new(),
            soon: Vec::new(),
            reassembler: Reassembler::new(ReassemblyLimits::default()),
            departures: VecDeque::new(),
            at_server: VecDeque::new(),
            told: VecDeque::new(),
            parting: None,
            samples: Vec::new(),
            notes: Vec::new(),
            connects: 0,
            drops: Drops::default(),
            tap: None,
            plan,
        }
    }

    /// The place of the client that user `user` acts on.
    pub fn client_of(&self, user: u32) -> u32 {
        (user % self.plan.clients.len() as u32) / self.shards
    }

    /// The route and the class of the client at `place`.
    pub fn way_of(&self, place: u32) -> (u32, u16) {
        match self.clients.get(place as usize) {
            Some(client) => (client.route, client.class),
            None => {
                let client = &self.plan.clients[place as usize];
                (client.route, client.class)
            }
        }
    }

    /// The class of user `user`'s client.
    pub fn class_of(&self, user: u32) -> u16 {
        self.plan.clients[user as usize % self.plan.clients.len()].class
    }

    /// Shows a packet of the client at `client` to the capture, if there is one.
    pub fn show(&mut self, place: Place, client: u32, outbound: bool, packet: &Packet) {
        if let Some(tap) = &mut self.tap {
            tap.see(self.now, place, self.clients[client as usize].number, outbound, packet);
        }
    }

    /// The number of the client at `place`, which is a number already where there are no clients.
    pub fn number_of(&self, place: u32) -> u32 {
        self.clients.get(place as usize).map_or(place, |client| client.number)
    }

    /// Addresses of what the client at `place` sends.
    pub fn addresses(&self, place: u32) -> Addresses {
        self.plan.addresses(self.number_of(place))
    }

    /// What `flight` is, as a packet.
    pub fn packet_of(&self, flight: Flight) -> Packet {
        let client = flight.client;
        flight.into_packet(|| self.addresses(client), self.plan.servers.port)
    }
}
