//! Real hosts in clients' places: their packets go the way of emulated clients', and are bytes all the way,
//! since a kernel may set options that an emulated host has no meaning for.
//!
//! Large packets pass whole where all that the links of their way do is take time. Elsewhere they are cut
//! where they come in: each packet is queued, lost and delayed by itself.

use crate::client_side::ClientSide;
use crate::flight::Flight;
use crate::forward::Forward;
use crate::packet::{Packet, PacketPayload};
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
    /// Packets that have come to them.
    pub arrivals: VecDeque<Departure>,
}

impl RealHosts {
    /// Every client is a real host.
    pub fn all() -> RealHosts {
        RealHosts { slots: None, arrivals: VecDeque::new() }
    }

    /// The clients in `slots` are.
    pub fn at(mut slots: Vec<ClientSlot>) -> RealHosts {
        slots.sort_unstable();
        RealHosts { slots: Some(slots), ..RealHosts::all() }
    }

    /// True if the client is one.
    pub fn has(&self, client: ClientSlot) -> bool {
        self.slots.as_ref().is_none_or(|slots| slots.binary_search(&client).is_ok())
    }
}

/// Ways on which all links only take time, up and down: of clients' own links by class, of shared ones by
/// route.
#[derive(Debug)]
pub(crate) struct LetsWhole {
    classes: Box<[[bool; 2]]>,
    routes: Box<[[bool; 2]]>,
}

impl LetsWhole {
    pub fn new(plan: &NetworkPlan) -> LetsWhole {
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

    fn of_class(&self, class: u16, up: bool) -> bool {
        self.classes[usize::from(class)][usize::from(!up)]
    }

    fn of_route(&self, route: u32, up: bool) -> bool {
        self.routes[route as usize][usize::from(!up)]
    }
}

impl ClientSide {
    /// Sends a packet from or for a real host on its way, or each packet of a large one that may not pass
    /// whole.
    pub fn send_real(&mut self, client: ClientSlot, packet: Packet, up: bool) {
        match &packet.carried {
            PacketPayload::Framed(framed) if !self.passes(client, &packet, up) => {
                framed.pieces().for_each(|piece| self.send_one(client, piece.into_packet(), up));
            }
            _ => self.send_one(client, packet, up),
        }
    }

    /// Sends a packet that a server sent to another on its way, or each packet of a large one that may
    /// not pass whole. One for nobody that it reaches is dropped.
    pub fn handle_for_server(&mut self, packet: Packet) {
        let (plan, addresses) = (&self.transit.plan, &packet.addresses);
        let ends = plan.server_at(addresses.source()).zip(plan.server_at(addresses.destination()));
        let way = ends.and_then(|(from, to)| Some((from, to, plan.route_between(from, to)?)));
        let Some((from, to, route)) = way else {
            self.transit.drops.nobody += packet.packets();
            return;
        };
        // The client that it is counted with matters to nothing: it has come to this shard, and leaves by
        // it.
        let client = ClientSlot::new(0);
        let set_out = |side: &mut ClientSide, packet: Packet| {
            side.set_out(Flight::of(packet, (client, to), true, false).sent_by(Some(from)));
        };
        match &packet.carried {
            PacketPayload::Framed(framed)
                if packet.packets() > 1 && !(packet.whole && self.edge.lets_whole.of_route(route, true)) =>
            {
                framed.pieces().for_each(|piece| set_out(self, piece.into_packet()));
            }
            _ => set_out(self, packet),
        }
    }

    fn passes(&self, client: ClientSlot, packet: &Packet, up: bool) -> bool {
        let lets_whole = || {
            let (plan, addresses) = (&self.transit.plan, &packet.addresses);
            let far =
                if up { plan.far_at(addresses.destination()) } else { plan.server_at(addresses.source()) };
            let (route, class) = self.route_of(client);
            let way = far.map_or(route, |far| plan.route_to_far(self.id_of(client), route, far));
            // The links of the program that it is for come last.
            let seat = far.and_then(|far| plan.seat(far));
            let last = seat.map(|seat| plan.clients[seat.index()].class);
            self.edge.lets_whole.of_class(class, up)
                && self.edge.lets_whole.of_route(way, up)
                && last.is_none_or(|class| self.edge.lets_whole.of_class(class, false))
        };
        packet.packets() == 1 || packet.whole && !self.edge.is_captured() && lets_whole()
    }

    fn send_one(&mut self, client: ClientSlot, packet: Packet, up: bool) {
        if up {
            self.send_up(client, packet);
        } else {
            self.send_down(client, packet);
        }
    }
}
