//! The link of a network card as its sockets' threads see it: Ethernet addresses of the machines there, which
//! the card's own thread learns.
//!
//! A queue has a copy of the table, and takes a new one where the table has changed: a packet costs a look at
//! a counter and into a map, and no lock.

use super::CardError;
use crate::gateway::blocks::is_in;
use farfield_wire::EthernetAddress;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The most machines that are remembered.
const KNOWN_MOST: usize = 1 << 16;

/// The machines that are reached by a card.
#[derive(Debug)]
pub(crate) struct Peers {
    pub blocks: Vec<(IpAddr, u8)>,
    /// Routers to them, by family.
    pub hops: [Option<IpAddr>; 2],
}

impl Peers {
    /// True if packets may be sent to `address`.
    pub fn contain(&self, address: IpAddr) -> bool {
        is_in(&self.blocks, address)
    }

    /// Machine that passes packets to `address` on: a router, or itself.
    pub fn hop_of(&self, address: IpAddr) -> IpAddr {
        self.hops[usize::from(address.is_ipv6())].unwrap_or(address)
    }

    /// True if the Ethernet address of `address` is ever needed.
    pub fn matter(&self, address: IpAddr) -> bool {
        self.hops.contains(&Some(address)) || self.contain(address)
    }
}

/// A card's link, as far as it is known.
#[derive(Debug)]
pub(crate) struct Link {
    /// The interface's name.
    pub name: String,
    /// The Ethernet address of own frames.
    pub own: EthernetAddress,
    pub peers: Peers,
    table: Mutex<BTreeMap<IpAddr, EthernetAddress>>,
    /// Machines that another one said to be as well: the Ethernet address that was known, and the other.
    disputed: Mutex<BTreeMap<IpAddr, [EthernetAddress; 2]>>,
    /// Grows with each change of the table.
    version: AtomicU64,
    /// Machines that packets were for, whose address is not known.
    wanted: Mutex<BTreeSet<IpAddr>>,
    /// Packets to these.
    unresolved: AtomicU64,
    fault: OnceLock<CardError>,
}

impl Link {
    pub fn new(name: String, own: EthernetAddress, peers: Peers) -> Link {
        Link {
            name,
            own,
            peers,
            table: Mutex::default(),
            disputed: Mutex::default(),
            version: AtomicU64::new(1),
            wanted: Mutex::default(),
            unresolved: AtomicU64::new(0),
            fault: OnceLock::new(),
        }
    }

    /// Takes note of a machine's Ethernet address.
    pub fn learn(&self, address: IpAddr, ethernet: EthernetAddress) {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        if table.get(&address) == Some(&ethernet)
            || table.len() >= KNOWN_MOST && !table.contains_key(&address)
        {
            return;
        }
        table.insert(address, ethernet);
        self.version.fetch_add(1, Ordering::Release);
    }

    /// A machine's Ethernet address.
    pub fn find(&self, address: IpAddr) -> Option<EthernetAddress> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner).get(&address).copied()
    }

    /// Takes note that another one says to be a machine that is known.
    pub fn dispute(&self, address: IpAddr, by: [EthernetAddress; 2]) {
        self.disputed.lock().unwrap_or_else(PoisonError::into_inner).insert(address, by);
    }

    /// The address that packets to `address` go to, and who say to have it, if they are two.
    pub fn dispute_on_the_way_to(&self, address: IpAddr) -> Option<(IpAddr, [EthernetAddress; 2])> {
        let hop = self.peers.hop_of(address);
        let by = self.disputed.lock().unwrap_or_else(PoisonError::into_inner).get(&hop).copied();
        by.map(|by| (hop, by))
    }

    /// All that are known.
    pub fn known(&self) -> BTreeMap<IpAddr, EthernetAddress> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes out the machines that packets were for in vain.
    pub fn take_wanted(&self) -> BTreeSet<IpAddr> {
        std::mem::take(&mut *self.wanted.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Packets that went to nobody, since the machine's Ethernet address was not known.
    pub fn unresolved(&self) -> u64 {
        self.unresolved.load(Ordering::Relaxed)
    }

    /// Ends the use of the card; the first reason counts.
    pub fn fail(&self, fault: CardError) {
        // A later one follows from the first.
        let _ = self.fault.set(fault);
    }

    /// Why the card can be used no longer, if so.
    pub fn fault(&self) -> Option<&CardError> {
        self.fault.get()
    }

    fn miss(&self, hop: IpAddr) {
        self.unresolved.fetch_add(1, Ordering::Relaxed);
        let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        if wanted.len() < KNOWN_MOST {
            wanted.insert(hop);
        }
    }
}

/// A queue's view of the link.
#[derive(Debug, Clone)]
pub(crate) struct CardPort {
    link: Arc<Link>,
    table: BTreeMap<IpAddr, EthernetAddress>,
    version: u64,
}

impl CardPort {
    pub fn new(link: Arc<Link>) -> CardPort {
        CardPort { link, table: BTreeMap::new(), version: 0 }
    }

    /// Receiver and sender of a frame with a packet to `address`; `None` if it is nobody's, or not known yet.
    pub fn towards(&mut self, address: IpAddr) -> Option<[[u8; 6]; 2]> {
        if !self.link.peers.contain(address) {
            return None;
        }
        let version = self.link.version.load(Ordering::Acquire);
        if version != self.version {
            (self.table, self.version) = (self.link.known(), version);
        }
        let hop = self.link.peers.hop_of(address);
        let Some(ethernet) = self.table.get(&hop) else {
            self.link.miss(hop);
            return None;
        };
        Some([ethernet.0, self.link.own.0])
    }

    /// Why the card can be used no longer, if so.
    pub fn fault(&self) -> Option<&CardError> {
        self.link.fault()
    }

    /// The error of reading or writing, in words.
    pub fn in_words(&self, error: std::io::Error) -> std::io::Error {
        let error = CardError::of_running(&self.link.name, error);
        std::io::Error::other(self.fault().cloned().unwrap_or(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: EthernetAddress = EthernetAddress([2, 0, 0, 0, 0, 1]);
    const ROUTER: EthernetAddress = EthernetAddress([2, 0, 0, 0, 0, 2]);
    const SERVER: EthernetAddress = EthernetAddress([2, 0, 0, 0, 0, 3]);

    fn link(hop: Option<&str>) -> Arc<Link> {
        let blocks = vec![("10.1.2.3".parse().unwrap(), 32), ("fd00::1".parse().unwrap(), 128)];
        let hops = [hop.map(|hop| hop.parse().unwrap()), None];
        Arc::new(Link::new("eth1".to_owned(), OWN, Peers { blocks, hops }))
    }

    #[test]
    fn packets_go_to_named_machines_by_their_routers() {
        let (link, server) = (link(Some("10.9.9.9")), "10.1.2.3".parse().unwrap());
        let mut port = CardPort::new(Arc::clone(&link));
        assert_eq!(port.towards(server), None, "nobody is known");
        assert_eq!((link.unresolved(), link.take_wanted()), (1, ["10.9.9.9".parse().unwrap()].into()));
        link.learn("10.9.9.9".parse().unwrap(), ROUTER);
        assert_eq!(port.towards(server), Some([ROUTER.0, OWN.0]));
        link.learn("10.9.9.9".parse().unwrap(), SERVER);
        assert_eq!(port.towards(server), Some([SERVER.0, OWN.0]), "another router has taken over");
        link.learn("fd00::1".parse().unwrap(), ROUTER);
        assert_eq!(port.towards("fd00::1".parse().unwrap()), Some([ROUTER.0, OWN.0]));
    }

    #[test]
    fn nothing_goes_to_machines_that_were_not_named() {
        let link = link(None);
        let mut port = CardPort::new(Arc::clone(&link));
        link.learn("10.1.2.4".parse().unwrap(), SERVER);
        assert_eq!(port.towards("10.1.2.4".parse().unwrap()), None);
        assert_eq!((link.unresolved(), link.take_wanted().len()), (0, 0), "nor is it asked for");
    }
}
