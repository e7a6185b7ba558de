//! Ways between real hosts: programs in the places of clients, and servers. Clients reach servers by the
//! routes that they have anyway; these are the others, from program to program and from server to server.
//!
//! A program that others reach is a *seat*. As the far end of a packet seats are numbered behind the servers.

use super::NetworkPlan;
use crate::layout::Block;
use crate::slots::ClientId;
use std::net::IpAddr;

/// Ways between real hosts; none by default.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HostWays {
    /// The clients in whose places programs are.
    pub seats: Vec<ClientId>,
    /// For each seat and each other, in this order: the route from the first one's edge to the other's.
    pub between_seats: Vec<u32>,
    /// For each server and each other, in this order: the route from the one to the other, if they reach one
    /// another.
    pub between_servers: Vec<Option<u32>>,
    /// For each class, the far ends that its clients have these links for; all where there is no block,
    /// and for classes beyond these.
    pub towards: Vec<Option<Block>>,
}

impl HostWays {
    /// True if any server reaches another.
    pub fn join_servers(&self) -> bool {
        self.between_servers.iter().any(Option::is_some)
    }

    /// The route from client `from` to the seat with number `to` among them.
    fn between_seats(&self, from: ClientId, to: usize) -> Option<u32> {
        let from = self.seats.iter().position(|seat| *seat == from)?;
        self.between_seats.get(from * self.seats.len() + to).copied()
    }
}

impl NetworkPlan {
    /// Servers that there are.
    pub fn servers_count(&self) -> u16 {
        1 + self.others.servers.len() as u16
    }

    /// The client in whose place the far end with this number is; `None` if it is a server.
    pub fn seat(&self, far: u16) -> Option<ClientId> {
        let seat = far.checked_sub(self.servers_count())?;
        self.host_ways.seats.get(usize::from(seat)).copied()
    }

    /// The number, as a far end, of the program in a client's place, if one is there that others reach.
    pub fn far_of_seat(&self, client: ClientId) -> Option<u16> {
        let seat = self.host_ways.seats.iter().position(|seat| *seat == client)?;
        Some(self.servers_count() + seat as u16)
    }

    /// The number of the far end that has `address`: a server, or a program that others reach.
    pub fn far_at(&self, address: IpAddr) -> Option<u16> {
        self.server_at(address).or_else(|| {
            let has = |seat: &ClientId| self.address(*seat) == address;
            let seat = self.host_ways.seats.iter().position(has)?;
            Some(self.servers_count() + seat as u16)
        })
    }

    /// The address of a far end, for hosts of the family of `like`; `None` if it has none of that family.
    pub fn address_of_far(&self, far: u16, like: IpAddr) -> Option<IpAddr> {
        match self.seat(far) {
            None => Some(self.server(far).of(&like).ip()),
            Some(seat) => Some(self.address(seat)).filter(|address| address.is_ipv4() == like.is_ipv4()),
        }
    }

    /// The addresses of all far ends.
    pub fn far_addresses(&self) -> Vec<IpAddr> {
        let seats = self.host_ways.seats.iter().map(|seat| self.address(*seat));
        self.server_addresses().into_iter().chain(seats).collect()
    }

    /// The route from where `route`, of `client`, begins to the far end `far`.
    pub(crate) fn route_to_far(&self, client: ClientId, route: u32, far: u16) -> u32 {
        match far.checked_sub(self.servers_count()) {
            None => self.route_to(route, far),
            Some(seat) => self.host_ways.between_seats(client, usize::from(seat)).unwrap_or(route),
        }
    }

    /// The route from server `from` to server `to`, if they reach one another.
    pub(crate) fn route_between(&self, from: u16, to: u16) -> Option<u32> {
        let place = usize::from(from) * usize::from(self.servers_count()) + usize::from(to);
        self.host_ways.between_servers.get(place).copied().flatten()
    }
}
