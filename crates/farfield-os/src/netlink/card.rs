//! Properties of a network card, and targets of the kernel's routes by it (rtnetlink(7)).

use super::{LINK_HEADER_LEN, Message, Netlink, attribute, bits, family, malformed};
use std::io;
use std::net::IpAddr;

/// An interface as the kernel has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CardEntry {
    /// Index of the interface.
    pub index: u32,
    /// True if the frames are Ethernet's.
    pub is_ethernet: bool,
    /// Somebody has set it up.
    pub is_up: bool,
    /// There is a link, as far as the device knows.
    pub has_carrier: bool,
    /// The largest IP packet on it, in bytes.
    pub mtu: u32,
    /// Ethernet address of the interface.
    pub address: [u8; 6],
}

/// `ARPHRD_ETHER` of if_arp.h.
const ETHERNET: u16 = 1;

impl Netlink {
    /// The interface `name`.
    ///
    /// # Errors
    /// `ENODEV` if there is none, `InvalidInput` for a name that no interface can have.
    pub fn card(&mut self, name: &str) -> io::Result<CardEntry> {
        if name.is_empty() || name.len() >= libc::IFNAMSIZ || name.contains(['/', '\0']) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let reply = self.look_at(Message::link(libc::RTM_GETLINK, 0, 0).text(libc::IFLA_IFNAME, name))?;
        let word = |at: usize| u32::from_ne_bytes([reply[at], reply[at + 1], reply[at + 2], reply[at + 3]]);
        let flags = word(8);
        let attributes = &reply[LINK_HEADER_LEN..];
        let mtu = attribute(attributes, libc::IFLA_MTU).and_then(|mtu| mtu.try_into().ok());
        let address = attribute(attributes, libc::IFLA_ADDRESS).and_then(|address| address.try_into().ok());
        Ok(CardEntry {
            index: word(4),
            is_ethernet: u16::from_ne_bytes([reply[2], reply[3]]) == ETHERNET,
            is_up: flags & libc::IFF_UP as u32 != 0,
            has_carrier: flags & libc::IFF_RUNNING as u32 != 0,
            mtu: mtu.map(u32::from_ne_bytes).ok_or_else(malformed)?,
            address: address.unwrap_or_default(),
        })
    }

    /// The router to which the kernel sends packets to `address` by `interface`; `None` if it has no route by
    /// it, or one on the link itself.
    pub fn router_towards(&mut self, address: IpAddr, interface: u32) -> Option<IpAddr> {
        const HEADER_LEN: usize = 12;
        let header = [family(address), bits(address), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let message = Message::new(libc::RTM_GETROUTE, 0, &header).address(libc::RTA_DST, address);
        let reply = self.look_at(message.word(libc::RTA_OIF, interface)).ok()?;
        match attribute(reply.get(HEADER_LEN..)?, libc::RTA_GATEWAY)? {
            bytes if bytes.len() == 4 => <[u8; 4]>::try_from(bytes).ok().map(IpAddr::from),
            bytes => <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from),
        }
    }
}
