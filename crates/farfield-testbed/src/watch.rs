//! Watch over what the testbed has set up in its namespace: that nobody else takes the gateway's interface,
//! its address, the routes to clients, or the neighbour behind them away while a run lasts.
//!
//! A route that is gone looks like a server that fell silent. So the kernel's notices are read as they come,
//! by one thread for all testbeds of a run, and the first change of what is ours is kept with its instant.

use super::Testbed;
use crate::gateway::InterfaceState;
use farfield_base::{Duration, Instant};
use farfield_os::clock::Clock;
use farfield_os::netlink::{Netlink, Notice, Notices};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fd::OwnedFd;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

/// The watch over the testbeds of a run. Dropped, it ends.
#[derive(Debug)]
pub struct NetworkWatch {
    ends: Arc<OwnedFd>,
    thread: Option<JoinHandle<Option<String>>>,
}

/// The watch over one testbed.
struct Watcher {
    notices: Notices,
    netlink: Netlink,
    watched: InterfaceState,
}

impl NetworkWatch {
    /// Watches `testbeds` from now on, by `clock`.
    ///
    /// # Errors
    /// If a namespace cannot be entered, or there is no thread or descriptor left.
    pub fn begin<'a>(testbeds: impl Iterator<Item = &'a Testbed>, clock: Clock) -> io::Result<NetworkWatch> {
        let watcher = |testbed: &Testbed| {
            let Some(watched) = testbed.watched() else { return Ok(None) };
            let opened = testbed.inside(|| Ok::<_, io::Error>((Notices::open()?, Netlink::open()?)))?;
            let (notices, netlink) = opened?;
            Ok(Some(Watcher { notices, netlink, watched }))
        };
        let watchers: Vec<Option<Watcher>> = testbeds.map(watcher).collect::<io::Result<_>>()?;
        let mut watchers: Vec<Watcher> = watchers.into_iter().flatten().collect();
        let ends = Arc::new(eventfd(0, EventfdFlags::CLOEXEC)?);
        let ended = Arc::clone(&ends);
        let named = Builder::new().name("network watch".to_owned());
        let thread = named.spawn(move || watch(&mut watchers, &ended, clock))?;
        Ok(NetworkWatch { ends, thread: Some(thread) })
    }

    /// Ends the watch; returns the first change of what is the run's, in words.
    pub fn end(mut self) -> Option<String> {
        self.stop()
    }

    fn stop(&mut self) -> Option<String> {
        let thread = self.thread.take()?;
        // A counter that is full wakes the thread as well.
        let _ = rustix::io::write(&*self.ends, &1u64.to_ne_bytes());
        thread.join().expect("a watch does not panic")
    }
}

impl Drop for NetworkWatch {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Reads notices until the first change, or until the watch `ends`.
fn watch(watchers: &mut [Watcher], ends: &OwnedFd, clock: Clock) -> Option<String> {
    loop {
        let sources = watchers.iter().map(|watcher| PollFd::new(&watcher.notices, PollFlags::IN));
        let mut polled: Vec<PollFd<'_>> = sources.chain([PollFd::new(ends, PollFlags::IN)]).collect();
        if poll(&mut polled, None).is_err_and(|error| error != rustix::io::Errno::INTR) {
            return None;
        }
        let is_over = polled.last().is_some_and(|end| !end.revents().is_empty());
        let at = clock.now();
        for watcher in watchers.iter_mut() {
            if let Some(change) = watcher.change() {
                return Some(in_words(&change, at));
            }
        }
        if is_over {
            return None;
        }
    }
}

fn in_words(change: &str, at: Instant) -> String {
    let second = (at.since(Instant::ZERO).max(Duration::ZERO)).as_secs_f64();
    format!("something else {change} at second {second:.1}")
}

impl Watcher {
    /// The first of the new notices that concerns what is ours.
    fn change(&mut self) -> Option<String> {
        let notices = self.notices.read();
        notices.iter().find_map(|notice| self.concerns(notice))
    }

    fn concerns(&mut self, notice: &Notice) -> Option<String> {
        let Watcher { watched, netlink, .. } = self;
        let (own, name) = (watched.interface, &watched.name);
        match notice {
            Notice::Link(link, false) if *link == own => {
                Some(format!("took the gateway's interface {name} down"))
            }
            Notice::LinkRemoved(link) if *link == own => {
                Some(format!("removed the gateway's interface {name}"))
            }
            Notice::AddressRemoved(entry)
                if entry.interface == own && watched.addresses.contains(&entry.address) =>
            {
                Some(format!("removed the address {} of the gateway's interface {name}", entry.address))
            }
            Notice::RouteRemoved(entry) if entry.interface == Some(own) => {
                let is_ours = watched.blocks.contains(&(entry.to, entry.bits));
                is_ours.then(|| format!("removed the route to {}/{}", entry.to, entry.bits))
            }
            Notice::Route(entry) if entry.interface != Some(own) => {
                // Below a default route to clients others have routes of their own.
                let may_have = |bits: u8| bits == 0 && entry.bits > 0;
                let covers = |(to, bits): &(IpAddr, u8)| {
                    entry.bits >= *bits && !may_have(*bits) && shares(*to, entry.to, *bits)
                };
                let is_in_the_way = watched.blocks.iter().any(covers);
                is_in_the_way.then(|| format!("routed {}/{} away from clients", entry.to, entry.bits))
            }
            Notice::Rules => {
                let mut blocks = watched.blocks.iter();
                let astray = blocks.find(|(to, _)| netlink.interface_towards(*to).ok() != Some(own))?;
                Some(format!("changed the rules for packets to {}/{}", astray.0, astray.1))
            }
            Notice::Neighbour(link, address) if *link == own && watched.neighbours.contains(address) => {
                Some(format!("changed the neighbour {address}, behind which clients are,"))
            }
            Notice::Lost => missing(watched, netlink),
            _ => None,
        }
    }
}

/// Property of ours that is not in the kernel's tables, in words; for when notices of it may have been lost.
fn missing(watched: &InterfaceState, netlink: &mut Netlink) -> Option<String> {
    let InterfaceState { interface: own, name, blocks, addresses, .. } = watched;
    if netlink.name_of(*own).is_err() {
        return Some(format!("removed the gateway's interface {name}"));
    }
    let held = netlink.addresses().ok()?;
    let is_held = |own_address: IpAddr| {
        held.iter().any(|entry| entry.interface == *own && entry.address == own_address)
    };
    if let Some(address) = addresses.iter().find(|address| !is_held(**address)) {
        return Some(format!("removed the address {address} of the gateway's interface {name}"));
    }
    // The address of a default route is nobody's.
    let mut blocks = blocks.iter().filter(|(_, bits)| *bits > 0);
    let (to, bits) = blocks.find(|(to, _)| netlink.interface_towards(*to).ok() != Some(*own))?;
    Some(format!("changed the way to {to}/{bits}"))
}

/// True if two addresses have their first `bits` bits in common.
fn shares(one: IpAddr, other: IpAddr, bits: u8) -> bool {
    let differ = match (one, other) {
        (IpAddr::V4(one), IpAddr::V4(other)) => u128::from(one.to_bits() ^ other.to_bits()) << 96,
        (IpAddr::V6(one), IpAddr::V6(other)) => one.to_bits() ^ other.to_bits(),
        _ => return false,
    };
    differ.leading_zeros() >= u32::from(bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_os::netlink::{AddressEntry, RouteEntry};

    #[test]
    fn only_changes_of_what_is_ours_are_named() {
        let watched = InterfaceState {
            interface: 7,
            name: "ff0".to_owned(),
            blocks: vec![([10, 1, 0, 0].into(), 16)],
            addresses: vec![[192, 0, 2, 1].into()],
            neighbours: vec![[169, 254, 0, 1].into()],
        };
        let (notices, netlink) = (Notices::open().unwrap(), Netlink::open().unwrap());
        let mut watcher = Watcher { notices, netlink, watched };
        let route =
            |to: [u8; 4], bits, interface| RouteEntry { to: to.into(), bits, interface: Some(interface) };
        let address = |address: [u8; 4]| AddressEntry { address: address.into(), bits: 32, interface: 7 };
        let named = [
            (Notice::RouteRemoved(route([10, 1, 0, 0], 16, 7)), "removed the route to 10.1.0.0/16"),
            (Notice::Route(route([10, 1, 9, 0], 24, 3)), "routed 10.1.9.0/24 away from clients"),
            (Notice::Route(route([10, 1, 0, 0], 16, 3)), "routed 10.1.0.0/16 away from clients"),
            (Notice::Link(7, false), "took the gateway's interface ff0 down"),
            (Notice::LinkRemoved(7), "removed the gateway's interface ff0"),
            (
                Notice::AddressRemoved(address([192, 0, 2, 1])),
                "removed the address 192.0.2.1 of the gateway's interface ff0",
            ),
            (
                Notice::Neighbour(7, [169, 254, 0, 1].into()),
                "changed the neighbour 169.254.0.1, behind which clients are,",
            ),
            // No rule here leads to interface 7.
            (Notice::Rules, "changed the rules for packets to 10.1.0.0/16"),
        ];
        for (notice, words) in named {
            assert_eq!(watcher.concerns(&notice).as_deref(), Some(words));
        }
        let others = [
            Notice::RouteRemoved(route([10, 1, 0, 0], 16, 3)),
            Notice::RouteRemoved(route([10, 2, 0, 0], 16, 7)),
            Notice::Route(route([10, 0, 0, 0], 8, 3)),
            Notice::Route(route([10, 2, 0, 0], 16, 3)),
            Notice::Route(route([10, 1, 0, 0], 16, 7)),
            Notice::Link(7, true),
            Notice::Link(3, false),
            Notice::AddressRemoved(address([192, 0, 2, 9])),
            Notice::Neighbour(7, [169, 254, 0, 2].into()),
        ];
        others.iter().for_each(|notice| assert_eq!(watcher.concerns(notice), None, "{notice:?}"));
        // Of all this nothing is there.
        let lost = watcher.concerns(&Notice::Lost);
        assert!(lost.is_some_and(|words| words.starts_with("removed the ")));
        let (blocks, addresses, neighbours) = (Vec::new(), Vec::new(), Vec::new());
        watcher.watched =
            InterfaceState { interface: 1, name: "lo".to_owned(), blocks, addresses, neighbours };
        assert_eq!(watcher.concerns(&Notice::Lost), None, "every namespace has a loopback interface");
        let at = Instant::from_ns(2_149_000_000);
        let words = "something else removed the route to 10.1.0.0/16 at second 2.1";
        assert_eq!(in_words("removed the route to 10.1.0.0/16", at), words);
    }

    #[test]
    fn prefixes_are_compared_by_their_bits() {
        let v4 = |address: [u8; 4]| IpAddr::from(address);
        assert!(
            shares(v4([10, 1, 2, 3]), v4([10, 1, 255, 3]), 16)
                && shares(v4([1, 2, 3, 4]), v4([9, 9, 9, 9]), 0)
        );
        assert!(
            !shares(v4([10, 1, 2, 3]), v4([10, 1, 3, 3]), 24)
                && !shares(v4([0, 0, 0, 0]), "::".parse().unwrap(), 0)
        );
        assert!(shares("fd00::1".parse().unwrap(), "fd00::2".parse().unwrap(), 64));
    }
}
