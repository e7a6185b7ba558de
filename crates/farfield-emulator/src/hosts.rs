//! Real hosts in clients' places: their packets go the way of emulated clients', and are bytes all the way,
//! since a kernel may set options that an emulated host has no meaning for.
//!
//! Large packets pass whole where all that the links of their way do is take time. Elsewhere they are cut
//! where they come in: each packet is queued, lost and delayed by itself.

use crate::client_side::ClientSide;
use crate::forward::Forward;
use crate::packet::{Carried, Packet};
use crate::plan::{HopPlan, NetworkPlan};
use crate::slots::ClientSlot;
use crate::transit::Departure;
use farfield_net::LinkModel;
use std::collections::VecDeque;
use std::sync::Arc;

/// The real hosts of a side, and what has come to them.
#[derive(Debug)]
pub(crate) struct RealHosts {
    /// In order; all clients if absent.
    slots: Option<Vec<ClientSlot>>,
    lets_whole: LetsWhole,
    /// Packets that have come to them.
    pub arrivals: VecDeque<Departure>,
}

impl RealHosts {
    /// Every client is a real host.
    pub fn all(plan: &NetworkPlan) -> RealHosts {
        RealHosts { slots: None, lets_whole: LetsWhole::new(plan), arrivals: VecDeque::new() }
    }

    /// The clients in `slots` are.
    pub fn at(mut slots: Vec<ClientSlot>, plan: &NetworkPlan) -> RealHosts {
        slots.sort_unstable();
        RealHosts { slots: Some(slots), ..RealHosts::all(plan) }
    }

    /// Whether the client is one.
    pub fn has(&self, client: ClientSlot) -> bool {
        self.slots.as_ref().is_none_or(|slots| slots.binary_search(&client).is_ok())
    }
}

/// Where all links only take time, up and down: of clients' own links by class, of shared ones by route.
#[derive(Debug)]
struct LetsWhole {
    classes: Box<[[bool; 2]]>,
    routes: Box<[[bool; 2]]>,
}

impl LetsWhole {
    fn new(plan: &NetworkPlan) -> LetsWhole {
        let own = |links: &[Arc<LinkModel>]| links.iter().all(|link| link.only_takes_time());
        let shared = |hops: &[HopPlan]| {
            let mut links = hops.iter().filter_map(|hop| hop.link);
            links.all(|link| plan.shared[link.index()].only_takes_time())
        };
        LetsWhole {
            classes: plan.classes.iter().map(|class| [own(&class.up), own(&class.down)]).collect(),
            routes: plan.routes.iter().map(|route| [shared(&route.up), shared(&route.down)]).collect(),
        }
    }

    fn of(&self, class: u16, route: u32, up: bool) -> bool {
        let direction = usize::from(!up);
        self.classes[usize::from(class)][direction] && self.routes[route as usize][direction]
    }
}

impl ClientSide {
    /// Whether the client is a real host.
    pub fn is_real(&self, client: ClientSlot) -> bool {
        self.hosts.as_ref().is_some_and(|hosts| hosts.has(client))
    }

    /// Sends a packet from or for a real host on its way, or each packet of a large one that may not pass
    /// whole.
    pub fn send_real(&mut self, client: ClientSlot, packet: Packet, up: bool) {
        match &packet.carried {
            Carried::Framed(framed) if !self.passes(client, &packet, up) => {
                framed.pieces().for_each(|piece| self.send_one(client, piece.into_packet(), up));
            }
            _ => self.send_one(client, packet, up),
        }
    }

    fn passes(&self, client: ClientSlot, packet: &Packet, up: bool) -> bool {
        let lets_whole = || {
            let (plan, addresses) = (&self.transit.plan, &packet.addresses);
            let server = plan.server_at(if up { addresses.destination() } else { addresses.source() });
            let (route, class) = self.route_of(client);
            let route = server.map_or(route, |server| plan.route_to(route, server));
            self.hosts.as_ref().is_some_and(|hosts| hosts.lets_whole.of(class, route, up))
        };
        packet.packets() == 1 || packet.whole && self.tap.is_none() && lets_whole()
    }

    fn send_one(&mut self, client: ClientSlot, packet: Packet, up: bool) {
        if up {
            self.send_up(client, packet);
        } else {
            self.send_down(client, packet);
        }
    }
}
