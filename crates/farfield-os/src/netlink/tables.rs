//! The kernel's tables of routes and of addresses, read whole (rtnetlink(7)).

use super::{HEADER_LEN, Message, Netlink, attribute, malformed, number};
use rustix::fd::AsFd;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{RecvFlags, SendFlags, recv, sendto};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const DUMP: u16 = 0x300;
/// `struct rtmsg`.
const ROUTE_HEADER_LEN: usize = 12;
/// `struct ifaddrmsg`.
const ADDRESS_HEADER_LEN: usize = 8;

/// A route, in whichever table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteEntry {
    /// The prefix' address.
    pub to: IpAddr,
    /// The prefix' length in bits; 0 for a default route.
    pub bits: u8,
    /// The interface, if it leads to one.
    pub interface: Option<u32>,
}

/// An address of an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressEntry {
    /// The address.
    pub address: IpAddr,
    /// The length of its prefix in bits.
    pub bits: u8,
    /// The interface.
    pub interface: u32,
}

impl Netlink {
    /// The routes of all tables and both families.
    ///
    /// # Errors
    /// The kernel's.
    pub fn routes(&mut self) -> io::Result<Vec<RouteEntry>> {
        let mut routes = Vec::new();
        for family in [libc::AF_INET, libc::AF_INET6] {
            let header = [family as u8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
            self.dump(Message::new(libc::RTM_GETROUTE, DUMP, &header), |body| {
                routes.extend(route(body));
            })?;
        }
        Ok(routes)
    }

    /// The addresses of all interfaces.
    ///
    /// # Errors
    /// The kernel's.
    pub fn addresses(&mut self) -> io::Result<Vec<AddressEntry>> {
        let mut addresses = Vec::new();
        self.dump(Message::new(libc::RTM_GETADDR, DUMP, &[0; ADDRESS_HEADER_LEN]), |body| {
            addresses.extend(address(body));
        })?;
        Ok(addresses)
    }

    /// Sends a request for a table, and calls `each` with every entry, without its netlink header.
    fn dump(&mut self, mut message: Message, mut each: impl FnMut(&[u8])) -> io::Result<()> {
        self.sequence += 1;
        let length = message.bytes.len() as u32;
        message.bytes[..4].copy_from_slice(&length.to_ne_bytes());
        message.bytes[8..12].copy_from_slice(&self.sequence.to_ne_bytes());
        sendto(self.socket.as_fd(), &message.bytes, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
        loop {
            let (count, _) = recv(self.socket.as_fd(), &mut self.buffer[..], RecvFlags::empty())?;
            let mut rest = &self.buffer[..count];
            while rest.len() >= HEADER_LEN {
                let length = number(rest, 0) as usize;
                let body = rest.get(HEADER_LEN..length).ok_or_else(malformed)?;
                if number(rest, 8) == self.sequence {
                    match i32::from(u16::from_ne_bytes([rest[4], rest[5]])) {
                        libc::NLMSG_DONE => return Ok(()),
                        libc::NLMSG_ERROR if body.len() >= 4 => match number(body, 0) as i32 {
                            // The acknowledgement of an empty table.
                            0 => return Ok(()),
                            error => return Err(io::Error::from_raw_os_error(-error)),
                        },
                        _ => each(body),
                    }
                }
                rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
            }
        }
    }
}

pub(super) fn route(body: &[u8]) -> Option<RouteEntry> {
    let (family, bits) = (*body.first()?, *body.get(1)?);
    let attributes = body.get(ROUTE_HEADER_LEN..)?;
    let to = match attribute(attributes, libc::RTA_DST) {
        Some(bytes) => address_of(bytes)?,
        None if i32::from(family) == libc::AF_INET => Ipv4Addr::UNSPECIFIED.into(),
        None => Ipv6Addr::UNSPECIFIED.into(),
    };
    let interface = attribute(attributes, libc::RTA_OIF).and_then(|index| index.try_into().ok());
    Some(RouteEntry { to, bits, interface: interface.map(u32::from_ne_bytes) })
}

pub(super) fn address(body: &[u8]) -> Option<AddressEntry> {
    let bits = *body.get(1)?;
    let interface = u32::from_ne_bytes(body.get(4..8)?.try_into().ok()?);
    let attributes = body.get(ADDRESS_HEADER_LEN..)?;
    // IFA_ADDRESS is the other end's on a link between two.
    let own = attribute(attributes, libc::IFA_LOCAL).or_else(|| attribute(attributes, libc::IFA_ADDRESS));
    Some(AddressEntry { address: address_of(own?)?, bits, interface })
}

pub(super) fn address_of(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.len() {
        4 => <[u8; 4]>::try_from(bytes).ok().map(IpAddr::from),
        16 => <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wherever this runs there is a loopback interface; where it is up, it has its address and the routes to
    /// it.
    #[test]
    fn loopback_is_in_both_tables() {
        let mut netlink = Netlink::open().unwrap();
        let loopback = netlink.index_of("lo").unwrap();
        let own = IpAddr::V4(Ipv4Addr::LOCALHOST);
        if !netlink.is_local(own).unwrap_or(false) {
            return farfield_testkit::skip("loopback_is_in_both_tables", "the loopback interface is down");
        }
        let addresses = netlink.addresses().unwrap();
        assert!(
            addresses.contains(&AddressEntry { address: own, bits: 8, interface: loopback }),
            "{addresses:?}"
        );
        let routes = netlink.routes().unwrap();
        assert!(routes.contains(&RouteEntry { to: own, bits: 32, interface: Some(loopback) }), "{routes:?}");
    }
}
