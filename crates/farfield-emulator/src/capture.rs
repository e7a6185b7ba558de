//! Packets seen at the gateway and at clients' interfaces, for a capture file.
//!
//! A packet that is seen is kept in meaning, its data shared; it becomes bytes where it is written.

use crate::packet::{Packet, PacketPayload};
use crate::slots::ClientId;
use farfield_base::Instant;
use std::collections::BTreeMap;

/// The packets that are captured.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CapturePlan {
    /// All packets between the network and the server.
    pub gateway: bool,
    /// Clients, by number, whose packets are seen at their own interface.
    pub clients: Vec<u32>,
    /// Only packets of these clients; of all, if empty.
    pub of_clients: Vec<u32>,
    /// Only TCP and UDP from or to this port.
    pub port: Option<u16>,
}

/// A packet that was seen.
#[derive(Debug, Clone)]
pub struct CapturedPacket {
    /// The instant at which it was meant to pass; for packets from the server, at which they did.
    pub at: Instant,
    /// The interface: 0 is the gateway, then come the plan's clients in order.
    pub interface: u32,
    /// The packet leaves, as the interface sees it: the gateway sends to the server, a client to the
    /// network.
    pub outbound: bool,
    /// The packet, as it was there.
    pub packet: Packet,
}

/// The packets to keep of those that are seen.
#[derive(Debug)]
pub struct CaptureFilter {
    /// In order; all, if empty.
    of_clients: Vec<u32>,
    port: Option<u16>,
}

impl CaptureFilter {
    /// The filter of `plan`.
    pub fn of(plan: &CapturePlan) -> CaptureFilter {
        let mut of_clients = plan.of_clients.clone();
        of_clients.sort_unstable();
        CaptureFilter { of_clients, port: plan.port }
    }

    /// True if a packet from or to client `number` is to be kept.
    pub fn keeps(&self, number: ClientId, packet: &Packet) -> bool {
        let of_client = self.of_clients.is_empty() || self.of_clients.binary_search(&number.get()).is_ok();
        of_client && self.port.is_none_or(|port| has_port(packet, port))
    }
}

/// A shard's capturing.
#[derive(Debug)]
pub(crate) struct ShardCapture {
    gateway: bool,
    /// Interfaces by the clients' numbers.
    interfaces: BTreeMap<u32, u32>,
    filter: CaptureFilter,
    pub seen: Vec<CapturedPacket>,
}

/// The place at which a packet is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CapturePoint {
    Gateway,
    Client,
}

impl ShardCapture {
    pub fn new(plan: &CapturePlan) -> ShardCapture {
        let interfaces = plan.clients.iter().zip(1..).map(|(client, interface)| (*client, interface));
        ShardCapture {
            gateway: plan.gateway,
            interfaces: interfaces.collect(),
            filter: CaptureFilter::of(plan),
            seen: Vec::new(),
        }
    }

    /// Keeps a packet of client `number`, if it is asked for at `point`.
    pub fn see(
        &mut self,
        at: Instant,
        point: CapturePoint,
        number: ClientId,
        outbound: bool,
        packet: &Packet,
    ) {
        let interface = match point {
            CapturePoint::Gateway if self.gateway => 0,
            CapturePoint::Gateway => return,
            CapturePoint::Client => match self.interfaces.get(&number.get()) {
                Some(interface) => *interface,
                None => return,
            },
        };
        if self.filter.keeps(number, packet) {
            self.seen.push(CapturedPacket { at, interface, outbound, packet: packet.clone() });
        }
    }
}

fn has_port(packet: &Packet, port: u16) -> bool {
    match &packet.carried {
        PacketPayload::Tcp(tcp) => tcp.source_port == port || tcp.destination_port == port,
        PacketPayload::Udp(udp) => udp.source_port == port || udp.destination_port == port,
        PacketPayload::Raw(_) | PacketPayload::Framed(_) => false,
    }
}
