//! What the network says about packets: errors of routers, answers of hosts.

use crate::flight::Flight;
use crate::packet::{Carried, Packet};
use crate::plan::NodePlan;
use crate::world::World;
use bytes::Bytes;
use farfield_wire::{Fragments, IcmpError, echo_reply};
use std::net::IpAddr;

impl World {
    /// Drops a packet at `node`, and tells its sender why.
    pub fn refuse(&mut self, flight: Flight, node: NodePlan, error: IcmpError) {
        let Flight { client, up, .. } = flight;
        let packet = self.packet_of(flight);
        let from = if node == NodePlan::SERVER { return } else { node.address(&packet.addresses) };
        let Some(answer) = error_about(&packet, error, from) else { return };
        if up {
            // Back down to the client, from the node's place on its route.
            let route = &self.plan.routes[self.way_of(client).0 as usize];
            let stage = route.down.iter().position(|hop| hop.to.id == node.id).map_or(0, |hop| hop + 1);
            self.set_out(Flight::whole(answer, client, false, stage as u8));
        } else {
            let (route, class) = self.way_of(client);
            let (route, own) = (&self.plan.routes[route as usize], self.own_stages(class, true));
            let hop = if route.edge().id == node.id {
                0
            } else {
                route.up.iter().position(|hop| hop.to.id == node.id).map_or(route.up.len(), |hop| hop + 1)
            };
            self.set_out(Flight::whole(answer, client, true, (own + hop) as u8));
        }
    }

    /// Cuts a packet into fragments of at most `mtu` bytes, which go on in its stead.
    pub fn fragment(&mut self, flight: Flight, mtu: u32) {
        let Flight { client, up, stage, .. } = flight;
        let packet = self.packet_of(flight);
        let bytes = packet.to_bytes();
        // Only IPv4 is cut by routers, and its packets bring their own identification.
        let Ok(mut fragments) = Fragments::new(&bytes, mtu as usize, 0) else { return };
        let mut header = [0; Fragments::HEADER_LEN_MAX];
        while let Some(piece) = fragments.next(&mut header) {
            let whole = [&header[..piece.header_len], piece.payload].concat();
            if let Some(mut part) = Packet::raw(Bytes::from(whole)) {
                part.ttl = packet.ttl;
                self.set_out(Flight::whole(part, client, up, stage));
            }
        }
    }

    /// Answers a packet for the client at `client` that is not TCP: echo requests, and datagrams for ports where
    /// nobody listens.
    pub fn answer(&mut self, client: u32, packet: &Packet) {
        let Carried::Raw(bytes) = &packet.carried else { return };
        let mut reply = vec![0; bytes.len()];
        let reply = match echo_reply(bytes, &mut reply) {
            Some(len) => {
                reply.truncate(len);
                Packet::raw(reply.into())
            }
            None => {
                let own = packet.addresses.destination();
                error_about(packet, IcmpError::PortUnreachable, own)
            }
        };
        if let Some(reply) = reply {
            self.send_up(client, reply);
        }
    }
}

fn error_about(packet: &Packet, error: IcmpError, from: IpAddr) -> Option<Packet> {
    let mut out = [0; IcmpError::LEN_MAX];
    let len = error.write(&packet.to_bytes(), from, &mut out)?;
    Packet::raw(Bytes::copy_from_slice(&out[..len]))
}
