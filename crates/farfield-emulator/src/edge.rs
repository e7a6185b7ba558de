//! The edge of a shard's network: the gateway to servers, models of servers and real hosts beside emulated
//! ones, and the capture of what passes there.

use crate::capture::{CapturePlan, CapturePoint, CapturedPacket, ShardCapture};
use crate::directory::Directory;
use crate::models::Models;
use crate::packet::Packet;
use crate::plan::NetworkPlan;
use crate::real_hosts::{LetsWhole, RealHosts};
use crate::slots::{ClientId, ClientSlot};
use crate::transit::Departure;
use farfield_base::Instant;
use farfield_base::random::Seed;
use farfield_model::ServerPlan;
use std::collections::VecDeque;
use std::sync::Arc;

/// The ends of a shard's network that are no emulated hosts.
#[derive(Debug)]
pub(crate) struct NetworkEdge {
    /// Packets that have come to the gateway, where it is here.
    pub departures: VecDeque<Departure>,
    /// Servers that are models; absent where all are real.
    pub models: Option<Box<Models>>,
    /// Clients that are real hosts; absent where all are emulated.
    real_hosts: Option<Box<RealHosts>>,
    pub lets_whole: LetsWhole,
    tap: Option<Box<ShardCapture>>,
    /// The seed of models.
    seed: Seed,
}

impl NetworkEdge {
    /// The edge of `plan`: all clients are emulated, all servers real, and nothing is captured.
    pub fn new(plan: &NetworkPlan, seed: Seed) -> NetworkEdge {
        NetworkEdge {
            departures: VecDeque::new(),
            models: None,
            real_hosts: None,
            lets_whole: LetsWhole::new(plan),
            tap: None,
            seed,
        }
    }

    /// Lets models be the servers of `network` with these numbers.
    pub fn model_servers(
        &mut self,
        servers: Vec<(u16, Arc<ServerPlan>)>,
        network: &NetworkPlan,
        directory: &Arc<Directory>,
    ) {
        if !servers.is_empty() {
            self.models = Some(Box::new(Models::new(servers, network, directory, self.seed)));
        }
    }

    /// Captures packets from now on.
    pub fn capture(&mut self, plan: &CapturePlan) {
        self.tap = Some(Box::new(ShardCapture::new(plan)));
    }

    pub fn is_captured(&self) -> bool {
        self.tap.is_some()
    }

    /// Takes the packets that were captured, in order.
    pub fn take_captured(&mut self) -> Vec<CapturedPacket> {
        self.tap.as_mut().map(|tap| std::mem::take(&mut tap.seen)).unwrap_or_default()
    }

    /// Shows a packet of client `number` to the capture, if there is one.
    pub fn show(
        &mut self,
        now: Instant,
        point: CapturePoint,
        number: ClientId,
        outbound: bool,
        packet: &Packet,
    ) {
        if let Some(tap) = &mut self.tap {
            tap.see(now, point, number, outbound, packet);
        }
    }

    /// Puts real hosts in clients' places.
    pub fn seat(&mut self, hosts: RealHosts) {
        self.real_hosts = Some(Box::new(hosts));
    }

    pub fn has_real_hosts(&self) -> bool {
        self.real_hosts.is_some()
    }

    /// True if the client is a real host.
    pub fn is_real(&self, client: ClientSlot) -> bool {
        self.real_hosts.as_ref().is_some_and(|hosts| hosts.has(client))
    }

    /// Hands a packet to the real host that it is for.
    pub fn arrive(&mut self, packet: Departure) {
        if let Some(hosts) = &mut self.real_hosts {
            hosts.arrivals.push_back(packet);
        }
    }

    /// The next packet that has come to a real host.
    pub fn next_arrival(&mut self) -> Option<Departure> {
        self.real_hosts.as_mut()?.arrivals.pop_front()
    }
}
