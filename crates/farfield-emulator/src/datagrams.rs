//! Datagram sockets of emulated clients: UDP between a user and the server, as QUIC needs it.
//!
//! A socket is bound to a port of its client and connected to the server: only what comes from the server's
//! port reaches it. A datagram is a packet like a segment: it has DF, it is queued, delayed, lost and
//! damaged by itself, and nobody sends it again. One that is too big for a link is lost, and the router's
//! answer changes nothing: a user that wants to know the path's MTU probes it (RFC 9000, section 14.3).
//!
//! Of other ICMP errors a closed port ends the socket, as a kernel reports `ECONNREFUSED` on one that is
//! connected. That there is no way ends it only until something has come from the server; later it is a
//! soft error, as it is to TCP (RFC 1122, section 4.2.3.9): routes come back, and QUIC has a time limit of
//! its own.

use crate::bindings::SocketBindings;
use crate::client::PortKind;
use crate::client_side::ClientSide;
use crate::flight::Flight;
use crate::forward::Forward;
use crate::hosts::EmulatedHosts;
use crate::icmp;
use crate::packet::{Packet, Udp};
use crate::slots::{ClientSlot, SocketSlot};
use crate::upcalls::Upcall;
use bytes::Bytes;
use farfield_base::{HostNumber, Instant};
use farfield_net::loss::Memory;
use farfield_user::{ConnectionKey, Failure};
use farfield_wire::{Ecn, IcmpError, Quote};
use slab::Slab;
use std::net::IpAddr;

/// The longest data of a datagram, which IPv4 sets.
const DATA_MAX: usize = 65_535 - 20 - 8;

/// A datagram socket.
#[derive(Debug)]
pub(crate) struct DatagramSocket {
    client: ClientSlot,
    port: u16,
    /// The number of the server that it is connected to, and the port there.
    server: u16,
    server_port: u16,
    key: ConnectionKey,
    /// Something has come from the server.
    is_heard: bool,
    /// Memory of its losses on links, where losses belong to connections.
    up_losses: Memory,
    down_losses: Memory,
}

impl DatagramSocket {
    /// Memory of its losses in one direction.
    pub fn losses(&mut self, up: bool) -> &mut Memory {
        if up { &mut self.up_losses } else { &mut self.down_losses }
    }
}

/// The datagram sockets of a side's clients. Where users open none, nothing is allocated.
#[derive(Debug, Default)]
pub(crate) struct DatagramSockets {
    sockets: Slab<DatagramSocket>,
    bound: SocketBindings,
}

/// An ICMP error about a packet that a client sent, as far as sockets mind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Complaint {
    /// The packet was larger than a link's MTU.
    TooBig { mtu: u32 },
    /// Nobody listens on the port.
    PortClosed,
    /// There is no way to the host, or it may not be taken.
    NoWay,
}

impl DatagramSockets {
    pub fn find_mut(&mut self, slot: SocketSlot) -> Option<&mut DatagramSocket> {
        self.sockets.get_mut(slot.index())
    }

    fn of(&self, key: ConnectionKey) -> Option<SocketSlot> {
        let slot = self.bound.find(key)?;
        (self.sockets.get(slot.index())?.key == key).then_some(slot)
    }

    /// The sockets of a client.
    pub fn of_client(&self, client: ClientSlot) -> Vec<SocketSlot> {
        let own = self.sockets.iter().filter(|(_, socket)| socket.client == client);
        own.map(|(slot, _)| SocketSlot::at(slot)).collect()
    }

    /// Binds a socket to port `port` of another client; returns whose it is, and the port that it had.
    pub fn rebind(&mut self, slot: SocketSlot, client: ClientSlot, port: u16) -> (ConnectionKey, u16) {
        let socket = &mut self.sockets[slot.index()];
        socket.client = client;
        let freed = std::mem::replace(&mut socket.port, port);
        (socket.up_losses, socket.down_losses) = (Memory::default(), Memory::default());
        (socket.key, freed)
    }

    fn insert(&mut self, socket: DatagramSocket) {
        let key = socket.key;
        self.bound.bind(key, SocketSlot::at(self.sockets.insert(socket)));
    }

    fn remove(&mut self, slot: SocketSlot) -> DatagramSocket {
        let socket = self.sockets.remove(slot.index());
        self.bound.unbind(socket.key);
        socket
    }
}

impl EmulatedHosts {
    /// Opens a datagram socket of a client, connected to a port of a server, for its user; returns its port.
    /// The user is called if the client has no port left.
    pub fn open_datagram_socket(
        &mut self,
        key: ConnectionKey,
        client: ClientSlot,
        (server, server_port): (u16, u16),
    ) -> Option<u16> {
        let slot = SocketSlot::at(self.datagrams.sockets.vacant_key());
        let Some(port) = self.clients[client].take_port(PortKind::Udp, slot) else {
            self.upcalls.push(Upcall::Failed(key, Failure::NoAddress, None));
            return None;
        };
        let (up_losses, down_losses) = (Memory::default(), Memory::default());
        self.datagrams.insert(DatagramSocket {
            client,
            port,
            server,
            server_port,
            key,
            is_heard: false,
            up_losses,
            down_losses,
        });
        Some(port)
    }

    /// Closes the datagram socket of `key`, of which nothing more is heard; false if there is none.
    pub fn close_datagram_socket(&mut self, key: ConnectionKey) -> bool {
        let Some(slot) = self.datagrams.of(key) else { return false };
        self.remove_datagram_socket(slot);
        true
    }

    pub fn remove_datagram_socket(&mut self, slot: SocketSlot) -> ConnectionKey {
        let DatagramSocket { client, port, key, .. } = self.datagrams.remove(slot);
        self.clients[client].free_port(PortKind::Udp, port);
        key
    }

    /// Hands a datagram of the server's to the socket on its port; returns it if there is none.
    fn deliver_datagram(&mut self, client: ClientSlot, ecn: Ecn, udp: Udp) -> Option<Udp> {
        let slot = self.clients[client].socket((PortKind::Udp, udp.destination_port));
        let socket = slot.and_then(|slot| self.datagrams.find_mut(slot));
        let Some(socket) = socket.filter(|own| own.server_port == udp.source_port) else { return Some(udp) };
        socket.is_heard = true;
        self.upcalls.push(Upcall::Datagram(socket.key, ecn, udp.payload));
        None
    }

    /// An ICMP error about a datagram that the client sent to `server`, the address of its socket's server.
    pub fn receive_udp_complaint(
        &mut self,
        client: ClientSlot,
        server: IpAddr,
        quote: &Quote,
        complaint: Complaint,
    ) {
        let slot = self.clients[client].socket((PortKind::Udp, quote.source_port));
        let Some(slot) = slot.filter(|_| quote.addresses.destination() == server) else { return };
        let DatagramSocket { is_heard, server_port, .. } = self.datagrams.sockets[slot.index()];
        if quote.destination_port != server_port {
            return;
        }
        let failure = match complaint {
            Complaint::PortClosed => Failure::Refused,
            Complaint::NoWay if !is_heard => Failure::Unreachable,
            Complaint::NoWay | Complaint::TooBig { .. } => return,
        };
        let key = self.remove_datagram_socket(slot);
        self.upcalls.push(Upcall::Failed(key, failure, None));
    }
}

impl ClientSide {
    /// Opens a datagram socket of the client that `user` acts on to a host, to another of its ports than the
    /// usual one where one is named.
    pub fn open_datagram_socket(
        &mut self,
        key: ConnectionKey,
        user: u32,
        (host, server_port): (HostNumber, Option<u16>),
    ) -> Instant {
        self.records.connects += 1;
        let client = self.hosts.clients.present_of(user);
        let server = self.server_for(client, host);
        let server_port = server_port.unwrap_or(self.transit.plan.server(server).port);
        if let Some(port) = self.hosts.open_datagram_socket(key, client, (server, server_port)) {
            self.note_opened(key, user, (client, server), (port, server_port));
        }
        self.transit.now
    }

    /// Sends a row of datagrams of `size` bytes, of which the last may have less, all at once.
    pub fn send_row(&mut self, key: ConnectionKey, ecn: Ecn, size: usize, row: &Bytes) -> Instant {
        let datagrams = &self.hosts.datagrams;
        let slot = datagrams.of(key).filter(|_| !self.hosts.is_over);
        if let Some(DatagramSocket { client, port, server, server_port, .. }) =
            slot.map(|slot| &datagrams.sockets[slot.index()])
        {
            let (client, ports) = ((*client, *server), (*port, *server_port));
            for from in (0..row.len()).step_by(size.max(1)) {
                let payload = row.slice(from..(from + size.max(1)).min(row.len()));
                self.send_datagram(client, ports, ecn, &payload);
            }
        }
        self.transit.now
    }

    fn send_datagram(
        &mut self,
        (client, server): (ClientSlot, u16),
        (port, destination_port): (u16, u16),
        ecn: Ecn,
        payload: &Bytes,
    ) {
        if payload.len() > DATA_MAX {
            self.transit.drops.too_big += 1;
            return;
        }
        // A flight is for the usual port of the usual server.
        let is_usual = server == self.server_for(client, HostNumber::TARGET)
            && destination_port == self.port_of_server(client);
        if !self.edge.is_captured() && is_usual {
            let flight = Flight::datagram((client, true), self.is_v6(client), port, ecn, payload);
            return self.set_out(flight);
        }
        let udp = Udp { source_port: port, destination_port, payload: payload.clone() };
        let addresses = self.transit.plan.addresses_to(self.id_of(client), server);
        self.send_up(client, Packet::udp(addresses, ecn, udp));
    }

    /// The address of the server that the datagram socket on a client's `port` is connected to, or of its
    /// users' server where there is no such socket.
    pub fn server_of_datagrams(&self, client: ClientSlot, port: u16) -> IpAddr {
        let slot = self.hosts.clients[client].socket((PortKind::Udp, port));
        let socket = slot.and_then(|slot| self.hosts.datagrams.sockets.get(slot.index()));
        let usual = || self.server_for(client, HostNumber::TARGET);
        let server = socket.map_or_else(usual, |socket| socket.server);
        self.transit.plan.addresses_to(self.id_of(client), server).destination()
    }

    /// A datagram, in a `packet` where it is not one as the plan has them.
    pub fn receive_datagram(&mut self, client: ClientSlot, packet: Option<&Packet>, ecn: Ecn, udp: Udp) {
        let source = packet.map_or(self.addresses(client).destination(), |packet| packet.addresses.source());
        let is_of_server = source == self.server_of_datagrams(client, udp.destination_port);
        let unwanted = if is_of_server { self.hosts.deliver_datagram(client, ecn, udp) } else { Some(udp) };
        let Some(udp) = unwanted else { return };
        let own = Packet::udp(self.addresses(client).reversed(), ecn, udp);
        let packet = packet.unwrap_or(&own);
        let from = packet.addresses.destination();
        if let Some(reply) = icmp::error_about(packet, IcmpError::PortUnreachable, from) {
            self.send_up(client, reply);
        }
    }
}

#[cfg(test)]
mod stage;
#[cfg(test)]
mod tests;
