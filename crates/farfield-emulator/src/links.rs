//! The links of a shard: its clients' own, and the shared ones where the shard is alone.
//!
//! Each client has the state of its own links beside its ports, since packets need both. Here are the
//! properties that all clients of a class share, and the packets that wait before the links. Each packet asks
//! for these properties at each stage, so that the methods are inlined.

use crate::client::{Client, Lane, OwnLink, Wire};
use crate::client_event::ClientEvent;
use crate::clients::ClientTable;
use crate::flight::Flight;
use crate::forward::PacketPath;
use crate::plan::NetworkPlan;
use crate::shared::{flow_of, links_of};
use crate::slots::{ClientSlot, SharedLinkId};
use crate::transit::Transit;
use farfield_base::random::Seed;
use farfield_net::loss::Memory;
use farfield_net::{Arrival, Closure, Delivery, Fate, Mtu, PlainBacklogs};
use farfield_wire::Ecn;

/// The sides of the network that a shard has beside its clients and their own links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShardScope {
    /// Nothing: packets for the server leave at the edge.
    Nothing,
    /// The gateway: packets cross to shared links and back.
    Gateway,
    /// Shared links and the gateway.
    Everything,
}

/// A link of a shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkPosition {
    Shared(SharedLinkId),
    Own { client: ClientSlot, up: bool, hop: u8 },
}

/// The links of a shard.
#[derive(Debug)]
pub(crate) struct ShardLinks {
    beyond: ShardScope,
    /// For each class, its clients' own links up and down.
    lanes: Box<[(Lane, Lane)]>,
    /// Packets that wait before clients' own links.
    lines: PlainBacklogs,
    /// Shared links, where they are here.
    shared: Box<[Wire]>,
}

impl ShardLinks {
    /// The links of `plan` that a shard with `beyond` has, idle.
    pub fn new(plan: &NetworkPlan, seed: Seed, beyond: ShardScope) -> ShardLinks {
        ShardLinks {
            beyond,
            lanes: plan.classes.iter().map(|class| class.lanes()).collect(),
            lines: PlainBacklogs::default(),
            shared: if beyond == ShardScope::Everything { links_of(plan, seed) } else { Box::default() },
        }
    }

    /// True if packets cross to the shared links of another thread, and back.
    pub fn cross_to_shared(&self) -> bool {
        self.beyond == ShardScope::Gateway
    }

    /// True if what lies ahead of the packet is here.
    #[inline]
    pub fn hold(&self, flight: &Flight<ClientSlot>, way: &PacketPath) -> bool {
        match self.beyond {
            ShardScope::Everything => true,
            ShardScope::Gateway => !way.is_at_shared(flight),
            ShardScope::Nothing => !way.is_at_shared(flight) && !way.is_at_server(flight),
        }
    }

    /// The own links of a class's clients in one direction.
    #[inline]
    pub fn lane(&self, class: u16, up: bool) -> &Lane {
        let (there, back) = &self.lanes[usize::from(class)];
        if up { there } else { back }
    }

    #[inline]
    pub fn mtu(&self, clients: &ClientTable, at: LinkPosition) -> Mtu {
        match at {
            LinkPosition::Shared(link) => self.shared[link.index()].link.model().mtu_of_link(),
            LinkPosition::Own { client, up, hop } => {
                let client = &clients[client];
                let lane = || self.lane(client.class, up).mtu;
                client.own(up).wire(hop).map_or_else(lane, |wire| wire.link.model().mtu_of_link())
            }
        }
    }

    /// Times at which a link takes no packets, if there are any.
    #[inline]
    pub fn closure<'a>(&'a self, clients: &'a ClientTable, at: LinkPosition) -> Option<&'a Closure> {
        match at {
            LinkPosition::Shared(link) => self.shared[link.index()].link.model().closure(),
            LinkPosition::Own { client, up, hop } => {
                let client = &clients[client];
                let lane = || self.lane(client.class, up).closure.as_ref();
                client.own(up).wire(hop).map_or_else(lane, |wire| wire.link.model().closure())
            }
        }
    }

    /// A link that packets may wait before; `None` for one that decides on each at once.
    pub fn wire<'a>(&'a mut self, clients: &'a mut ClientTable, at: LinkPosition) -> Option<&'a mut Wire> {
        match at {
            LinkPosition::Shared(link) => Some(&mut self.shared[link.index()]),
            LinkPosition::Own { client, up, hop } => clients[client].own_mut(up).wire_mut(hop),
        }
    }

    pub fn shared_mut(&mut self, link: SharedLinkId) -> &mut Wire {
        &mut self.shared[link.index()]
    }

    /// Offers a packet to one of its client's own links. `losses` is the memory of its connection's losses,
    /// if it is of a connection that lends one, which counts where they belong to connections. Links that are
    /// a stage each have memories of their own, for one may not take another's losses for its.
    #[inline]
    pub fn offer_own(
        &mut self,
        transit: &Transit<ClientSlot, LinkPosition, ClientEvent>,
        client: &mut Client,
        losses: Option<&mut Memory>,
        flight: &Flight<ClientSlot>,
        hop: u8,
    ) -> Fate {
        let (up, now) = (flight.up, transit.now);
        // The slot that the packet will have if it waits.
        let key = transit.flights.vacant_key() as u64;
        let packet = farfield_net::Packet::new(flight.bytes(), key);
        let through = |at| Fate::Delivered(Delivery { first: Arrival::whole(at), copy: None });
        let able = |packet: farfield_net::Packet| packet.able_to_be_marked(flight.ecn() != Ecn::NotEct);
        let (class, number) = (usize::from(client.class), client.number);
        let flow = |key| flow_of(key, &transit.plan, number, flight);
        match client.own_mut(up) {
            OwnLink::None => through(now),
            OwnLink::Plain(link) => {
                let class = &transit.plan.classes[class];
                let model = if up { &class.up[0] } else { &class.down[0] };
                link.offer(model, &mut self.lines, now, packet.bytes).map_or_else(Fate::Dropped, through)
            }
            OwnLink::Single(wire) => {
                let (link, rng) = &mut **wire;
                match losses {
                    Some(losses) => link.offer_of(losses, now, able(packet), rng),
                    None => {
                        let flow = link.flow_key(rng).map_or(0, flow);
                        link.offer(now, able(packet).of_flow(flow), rng)
                    }
                }
            }
            OwnLink::Compound(compound) => match losses {
                Some(losses) => compound.offer_of(losses, now, able(packet)),
                None => {
                    let flow = compound.flow_key().map_or(0, flow);
                    compound.offer(now, able(packet).of_flow(flow))
                }
            },
            OwnLink::Chain(wires) => {
                let wire = &mut wires[usize::from(hop)];
                let packet = able(packet).of_flow(wire.flow(&transit.plan, || number, flight));
                wire.link.offer(now, packet, &mut wire.rng)
            }
        }
    }
}
