//! A client: an address, its own links, and the ports in use on it.

use crate::plan::{ClassPlan, ClientPlan};
use crate::slots::{ClientId, SocketSlot};
use farfield_base::Instant;
use farfield_base::random::{Purpose, Seed, Stream};
use farfield_net::loss::Scope;
use farfield_net::{Closure, Compound, Link, LinkModel, Mtu, PlainLink};
use smallvec::SmallVec;
use std::sync::Arc;

/// The first port of clients, past those that servers listen on.
const PORT_FIRST: u16 = 10_000;

/// One emulated client, in two lines of memory.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Client {
    pub number: ClientId,
    pub class: u16,
    pub route: u32,
    up: OwnLink,
    down: OwnLink,
    next_port: u16,
    /// Ports in use with what is bound to them, in order of ports.
    ports: SmallVec<[(Port, SocketSlot); 1]>,
}

/// A port of a client. The same number may be in use for both kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Port(PortKind, u16);

/// The protocol that a port belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PortKind {
    /// The port's slots are those of connections.
    Tcp,
    /// The port's slots are those of datagram sockets.
    Udp,
}

/// A client's own links in one direction.
#[derive(Debug)]
pub(crate) enum OwnLink {
    /// There are none.
    None,
    /// One deterministic link, as most are. Its model is the class's.
    Plain(PlainLink),
    /// A link that decides at once on each packet.
    Single(Box<(Link, Stream)>),
    /// Several of that kind as one: one stage.
    Compound(Compound),
    /// Links that do not: a stage each.
    Chain(Box<[Wire]>),
}

/// A link with its random stream.
#[derive(Debug)]
pub(crate) struct Wire {
    pub link: Link,
    pub rng: Stream,
    /// The instant at which the link is asked for its next fate, if packets wait before it.
    pub fate_at: Option<Instant>,
}

impl Client {
    pub fn new(number: ClientId, plan: &ClientPlan, class: &ClassPlan, seed: Seed) -> Client {
        Client {
            number,
            class: plan.class,
            route: plan.route,
            up: OwnLink::new(&class.up, number, 0, seed),
            down: OwnLink::new(&class.down, number, 1, seed),
            next_port: PORT_FIRST,
            ports: SmallVec::new(),
        }
    }

    /// The client's own links in one direction.
    pub fn own(&self, up: bool) -> &OwnLink {
        if up { &self.up } else { &self.down }
    }

    pub fn own_mut(&mut self, up: bool) -> &mut OwnLink {
        if up { &mut self.up } else { &mut self.down }
    }

    /// Takes the next port for the connection or the datagram socket in slot `socket`: one after the other,
    /// as hosts of the papers' time did. `None` if all are in use.
    pub fn take_port(&mut self, kind: PortKind, socket: SocketSlot) -> Option<u16> {
        for _ in 0..=(u16::MAX - PORT_FIRST) {
            let port = self.next_port;
            self.next_port = port.checked_add(1).unwrap_or(PORT_FIRST);
            if let Err(at) = self.position(Port(kind, port)) {
                self.ports.insert(at, (Port(kind, port), socket));
                return Some(port);
            }
        }
        None
    }

    pub fn free_port(&mut self, kind: PortKind, port: u16) {
        if let Ok(at) = self.position(Port(kind, port)) {
            self.ports.remove(at);
            if self.ports.is_empty() {
                self.ports.shrink_to_fit();
            }
        }
    }

    /// The connection or the datagram socket on a port.
    pub fn socket(&self, (kind, port): (PortKind, u16)) -> Option<SocketSlot> {
        self.position(Port(kind, port)).ok().map(|at| self.ports[at].1)
    }

    /// The port that the next connection gets, if it is free.
    pub fn next_port(&self) -> u16 {
        self.next_port
    }

    fn position(&self, port: Port) -> Result<usize, usize> {
        self.ports.binary_search_by_key(&port, |(port, _)| *port)
    }
}

impl OwnLink {
    /// The link that is hop `hop`, where packets may wait before each.
    pub fn wire(&self, hop: u8) -> Option<&Wire> {
        match self {
            OwnLink::Chain(wires) => Some(&wires[usize::from(hop)]),
            _ => None,
        }
    }

    pub fn wire_mut(&mut self, hop: u8) -> Option<&mut Wire> {
        match self {
            OwnLink::Chain(wires) => Some(&mut wires[usize::from(hop)]),
            _ => None,
        }
    }

    fn new(models: &[Arc<LinkModel>], client: ClientId, direction: u64, seed: Seed) -> OwnLink {
        if models.is_empty() {
            return OwnLink::None;
        }
        let wires = || {
            let wire = |(hop, model): (usize, &Arc<LinkModel>)| {
                // Shared links have the numbers below 2⁴⁰.
                let number = 1 << 40 | u64::from(client.get()) << 8 | direction << 7 | hop as u64;
                (Link::new(Arc::clone(model)), seed.stream(Purpose::Link, number))
            };
            models.iter().enumerate().map(wire).collect::<Vec<_>>()
        };
        if let [model] = models {
            if model.is_plain() {
                return OwnLink::Plain(PlainLink::default());
            }
            if model.decides_at_once()
                && let Some(wire) = wires().pop()
            {
                return OwnLink::Single(Box::new(wire));
            }
        }
        // A stage is closed when its first link is: packets come to a later one later.
        let closes_later = models.iter().skip(1).any(|model| model.closure().is_some());
        if !closes_later && let Ok(compound) = Compound::new(wires()) {
            return OwnLink::Compound(compound);
        }
        OwnLink::Chain(wires().into_iter().map(|(link, rng)| Wire { link, rng, fate_at: None }).collect())
    }

    /// Stages of the way through these links.
    fn stages(&self) -> u8 {
        match self {
            OwnLink::None => 0,
            OwnLink::Plain(_) | OwnLink::Single(_) | OwnLink::Compound(_) => 1,
            OwnLink::Chain(wires) => wires.len() as u8,
        }
    }
}

/// Properties of a class's own links in one direction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lane {
    /// Stages of the way through them.
    pub stages: u8,
    /// The least of their MTUs, where they are one stage.
    pub mtu: Mtu,
    /// Times at which they take no packets, where they are one stage: those of the one link that has some.
    pub closure: Option<Closure>,
    /// Losses on one of them belong to connections.
    pub lends: bool,
}

impl Lane {
    fn new(models: &[Arc<LinkModel>]) -> Lane {
        Lane {
            stages: OwnLink::new(models, ClientId::new(0), 0, Seed(0)).stages(),
            mtu: models.iter().map(|model| model.mtu_of_link()).min().unwrap_or_default(),
            closure: models.iter().find_map(|model| model.closure()).copied(),
            lends: models.iter().any(|model| model.loss_model().scope() == Scope::Connection),
        }
    }
}

impl ClassPlan {
    /// The lanes of its clients' own links, up and down.
    pub(crate) fn lanes(&self) -> (Lane, Lane) {
        (Lane::new(&self.up), Lane::new(&self.down))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::ClientPlan;
    use std::net::Ipv4Addr;

    fn client() -> Client {
        let class = ClassPlan {
            name: "near".into(),
            tcp: Arc::new(farfield_tcp::Config::linux()),
            up: Vec::new(),
            down: Vec::new(),
            first_address: Ipv4Addr::new(198, 18, 0, 1).into(),
        };
        Client::new(ClientId::new(0), &ClientPlan { class: 0, route: 0, rank: 0 }, &class, Seed(1))
    }

    #[test]
    fn it_takes_two_lines_of_memory() {
        assert_eq!(size_of::<Client>(), 128);
    }

    #[test]
    fn ports_go_one_after_the_other_and_round() {
        let mut client = client();
        let (at, tcp) = (SocketSlot::new, PortKind::Tcp);
        assert_eq!(
            (client.take_port(tcp, at(7)), client.take_port(tcp, at(8))),
            (Some(10_000), Some(10_001))
        );
        assert_eq!(client.socket((tcp, 10_001)), Some(at(8)));
        client.free_port(tcp, 10_000);
        for port in 10_002..=65_535u32 {
            assert_eq!(client.take_port(tcp, at(port)), Some(port as u16));
        }
        assert_eq!(client.take_port(tcp, at(1)), Some(10_000), "the one that was freed");
        assert_eq!(client.take_port(tcp, at(2)), None, "all are in use");
        assert_eq!(client.take_port(PortKind::Udp, at(3)), Some(10_001), "those of UDP are others");
    }

    #[test]
    fn ports_of_both_kinds_are_apart() {
        let (mut client, at) = (client(), SocketSlot::new);
        assert_eq!(client.take_port(PortKind::Udp, at(1)), Some(10_000));
        assert_eq!(client.take_port(PortKind::Tcp, at(2)), Some(10_001));
        assert_eq!(client.socket((PortKind::Tcp, 10_000)), None);
        assert_eq!(client.socket((PortKind::Udp, 10_000)), Some(at(1)));
        client.free_port(PortKind::Tcp, 10_000);
        assert_eq!(client.socket((PortKind::Udp, 10_000)), Some(at(1)), "a port of the other kind");
        client.free_port(PortKind::Udp, 10_000);
        assert_eq!(client.socket((PortKind::Udp, 10_000)), None);
    }
}
