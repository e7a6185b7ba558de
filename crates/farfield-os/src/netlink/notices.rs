//! Notices of the kernel that its tables changed: interfaces, addresses, routes, rules and neighbours
//! (rtnetlink(7), multicast groups).

use super::tables::{address, address_of, route};
use super::{AddressEntry, HEADER_LEN, LINK_HEADER_LEN, RouteEntry, attribute, number};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, bind, recv, socket_with};
use std::io;
use std::net::IpAddr;

/// The groups: links, neighbours, and addresses, routes and rules of both families.
const GROUPS: u32 = group(1) | group(3) | group(5) | group(7) | group(8) | group(9) | group(11) | group(19);
/// `struct ndmsg`.
const NEIGHBOUR_HEADER_LEN: usize = 12;

const fn group(number: u32) -> u32 {
    1 << (number - 1)
}

/// Something that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// An interface is there; whether it is up.
    Link(u32, bool),
    /// An interface was removed.
    LinkRemoved(u32),
    /// An address was removed.
    AddressRemoved(AddressEntry),
    /// A route was added, or replaced another.
    Route(RouteEntry),
    /// A route was removed.
    RouteRemoved(RouteEntry),
    /// A rule was added or removed.
    Rules,
    /// The entry of a neighbour on an interface was made, changed or removed.
    Neighbour(u32, IpAddr),
    /// The kernel had no room for some notices.
    Lost,
}

/// A socket to which the kernel sends what changes in the network namespace in which it was opened.
#[derive(Debug)]
pub struct Notices {
    socket: OwnedFd,
    buffer: Vec<u8>,
}

impl Notices {
    /// Opens it in the calling thread's network namespace.
    ///
    /// # Errors
    /// When the kernel has no netlink or no descriptor is left.
    pub fn open() -> io::Result<Notices> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
        bind(&socket, &SocketAddrNetlink::new(0, GROUPS))?;
        Ok(Notices { socket, buffer: vec![0; 32 << 10] })
    }

    /// Changes since the last call. Where the kernel had no room for all notices, [`Notice::Lost`] stands for
    /// those that are missing.
    pub fn read(&mut self) -> Vec<Notice> {
        let mut notices = Vec::new();
        loop {
            let count = match recv(self.socket.as_fd(), &mut self.buffer[..], RecvFlags::empty()) {
                Ok((count, _)) => count,
                Err(rustix::io::Errno::INTR) => continue,
                Err(rustix::io::Errno::NOBUFS) => {
                    notices.push(Notice::Lost);
                    // Notices that follow are there still.
                    continue;
                }
                Err(_) => return notices,
            };
            let mut rest = &self.buffer[..count];
            while rest.len() >= HEADER_LEN {
                let length = number(rest, 0) as usize;
                let Some(body) = rest.get(HEADER_LEN..length) else { break };
                notices.extend(notice(u16::from_ne_bytes([rest[4], rest[5]]), body));
                rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
            }
        }
    }
}

impl AsFd for Notices {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn notice(kind: u16, body: &[u8]) -> Option<Notice> {
    Some(match kind {
        libc::RTM_NEWLINK if body.len() >= LINK_HEADER_LEN => {
            Notice::Link(number(body, 4), number(body, 8) & libc::IFF_UP as u32 != 0)
        }
        libc::RTM_DELLINK if body.len() >= LINK_HEADER_LEN => Notice::LinkRemoved(number(body, 4)),
        libc::RTM_DELADDR => Notice::AddressRemoved(address(body)?),
        libc::RTM_NEWROUTE => Notice::Route(route(body)?),
        libc::RTM_DELROUTE => Notice::RouteRemoved(route(body)?),
        libc::RTM_NEWRULE | libc::RTM_DELRULE => Notice::Rules,
        libc::RTM_NEWNEIGH | libc::RTM_DELNEIGH => {
            let attributes = body.get(NEIGHBOUR_HEADER_LEN..)?;
            Notice::Neighbour(number(body, 4), address_of(attribute(attributes, libc::NDA_DST)?)?)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages as the kernel writes them, whole and cut short.
    #[test]
    fn what_changed_is_read_from_the_kernels_messages() {
        let header = [2, 24, 0, 0, 254, 3, 0, 1, 0, 0, 0, 0];
        let attributes = [8, 0, 1, 0, 10, 1, 2, 0, 8, 0, 4, 0, 7, 0, 0, 0];
        let body = [&header[..], &attributes].concat();
        let entry = RouteEntry { to: [10, 1, 2, 0].into(), bits: 24, interface: Some(7) };
        assert_eq!(notice(libc::RTM_DELROUTE, &body), Some(Notice::RouteRemoved(entry.clone())));
        assert_eq!(notice(libc::RTM_NEWROUTE, &body), Some(Notice::Route(entry)));
        let mut link = [0; LINK_HEADER_LEN];
        (link[4], link[8]) = (7, libc::IFF_UP as u8);
        assert_eq!(notice(libc::RTM_NEWLINK, &link), Some(Notice::Link(7, true)));
        assert_eq!(notice(libc::RTM_DELLINK, &link), Some(Notice::LinkRemoved(7)));
        assert_eq!(notice(libc::RTM_DELRULE, &[]), Some(Notice::Rules));
        let neighbour =
            [&[2, 0, 0, 0, 7, 0, 0, 0, 0x80, 0, 0, 1][..], &[8, 0, 1, 0, 169, 254, 0, 1]].concat();
        assert_eq!(
            notice(libc::RTM_DELNEIGH, &neighbour),
            Some(Notice::Neighbour(7, [169, 254, 0, 1].into()))
        );
        for kind in [libc::RTM_NEWLINK, libc::RTM_DELADDR, libc::RTM_NEWROUTE, libc::RTM_NEWNEIGH] {
            assert_eq!(notice(kind, &[2, 24]), None, "{kind}");
        }
        // Others may change something here meanwhile; to read what there is waits for nothing.
        Notices::open().unwrap().read();
    }
}
