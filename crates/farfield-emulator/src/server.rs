//! A model of a server at the far end of a network: packets in, packets out.

use crate::packet::{Packet, PacketPayload};
use crate::plan::NetworkPlan;
use crate::{Departure, Directory};
use farfield_base::random::Seed;
use farfield_base::{ClientId, Instant};
use farfield_model::{ClientAddresses, IpPayload, ServerCore, ServerCounters, ServerPlan, Tcp, TimedServer};
use farfield_wire::{Addresses, IpPacket, Transport};
use std::net::IpAddr;
use std::sync::Arc;

/// The clients of a network, as a server knows them.
#[derive(Debug)]
struct ClientBook {
    network: Arc<NetworkPlan>,
    directory: Arc<Directory>,
}

impl ClientAddresses for ClientBook {
    fn count(&self) -> usize {
        self.network.clients.len()
    }

    fn address_of(&self, client: ClientId) -> IpAddr {
        self.network.address(client)
    }

    fn client_at(&self, address: IpAddr) -> Option<ClientId> {
        self.directory.find(address)
    }
}

/// A model of the first server of `network`, for a side that turns its wheel.
pub(crate) fn core_of(
    plan: Arc<ServerPlan>,
    network: Arc<NetworkPlan>,
    directory: Arc<Directory>,
    seed: Seed,
) -> ServerCore {
    let port = network.servers.port;
    ServerCore::new(plan, port, Arc::new(ClientBook { network, directory }), seed)
}

impl Packet {
    /// A packet that is to be sent, with TTL 64 and DF.
    pub(crate) fn of_payload(addresses: Addresses, payload: IpPayload) -> Packet {
        match payload {
            IpPayload::Segment(tcp) => Packet::tcp(addresses, tcp),
            IpPayload::Datagram(ecn, udp) => Packet::udp(addresses, ecn, udp),
        }
    }

    /// The segment or datagram that a server reads in it; `None` if it is damaged, a fragment, or of another
    /// protocol.
    pub(crate) fn into_payload(self) -> Option<IpPayload> {
        match self.carried {
            PacketPayload::Tcp(tcp) => Some(IpPayload::Segment(tcp)),
            PacketPayload::Udp(udp) => Some(IpPayload::Datagram(self.ecn, udp)),
            PacketPayload::Raw(bytes) => {
                let ip = IpPacket::parse(&bytes).ok()?;
                let Ok(Transport::Tcp(view)) = ip.transport() else { return None };
                let is_whole = ip.addresses() == self.addresses && view.checksum_is_valid(&self.addresses);
                is_whole.then(|| IpPayload::Segment(Tcp::parse(&view, self.ecn, &bytes)))
            }
            // A real host's, for a model.
            PacketPayload::Framed(_) => Packet::raw(self.to_bytes().into())?.into_payload(),
        }
    }
}

/// A model of a server at work behind a network, with time handed in.
#[derive(Debug)]
pub struct ServerModel {
    server: TimedServer,
    network: Arc<NetworkPlan>,
}

impl ServerModel {
    /// A server that listens for the clients of `network`, as its first.
    pub fn new(
        plan: Arc<ServerPlan>,
        network: Arc<NetworkPlan>,
        directory: Arc<Directory>,
        seed: Seed,
    ) -> ServerModel {
        let clients = Arc::new(ClientBook { network: Arc::clone(&network), directory });
        let server = TimedServer::new(plan, network.servers.port, clients, seed);
        ServerModel { server, network }
    }

    /// Takes a packet that came at `now`. What was due before must have been done.
    pub fn handle_packet(&mut self, now: Instant, packet: Packet) {
        if let Some(client) = self.server.client_at(packet.addresses.source()) {
            self.server.handle_payload(now, client, packet.into_payload());
        }
    }

    /// Takes a segment of `client`'s at `now`.
    pub(crate) fn handle_segment(&mut self, now: Instant, client: ClientId, tcp: &Tcp) {
        self.server.handle_segment(now, client, tcp);
    }

    /// Does the next thing that is due by `due`, at `at`; false if nothing is.
    pub(crate) fn step_at(&mut self, due: Instant, at: Instant) -> bool {
        self.server.step_at(due, at)
    }

    /// The next packet that the server sends, with the client that it is for.
    pub(crate) fn poll_sent(&mut self) -> Option<(ClientId, Packet)> {
        let (client, payload) = self.server.poll_sent()?;
        Some((client, Packet::of_payload(self.network.addresses(client).reversed(), payload)))
    }

    /// Does the next thing that is due by `now`, at its own instant; false if nothing is.
    pub fn step(&mut self, now: Instant) -> bool {
        self.server.step(now)
    }

    /// The instant of the next event, if there is one.
    pub fn next_at(&self) -> Option<Instant> {
        self.server.next_at()
    }

    /// The next packet that the server sends.
    pub fn poll_departure(&mut self) -> Option<Departure> {
        let (_, packet) = self.poll_sent()?;
        Some(Departure { intended: self.server.now(), packet, server: 0 })
    }

    /// Counters so far.
    pub fn counters(&self) -> &ServerCounters {
        self.server.counters()
    }
}
