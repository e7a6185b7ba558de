//! The door of the server's kernel: a UDP socket of this process at the server's address, where packets that
//! are written to a queue of the gateway can be seen to arrive.
//!
//! The kernel notes when it receives a datagram for the socket (`SO_TIMESTAMPNS`). So whoever writes one to
//! the queue learns how long packets wait before the kernel's receive work begins, whoever does that work.

use crate::os::datagram_socket;
use farfield_wire::{Addresses, IpRepr, Message, UdpRepr, VnetHeader, write_packet};
use rustix::fd::OwnedFd;
use std::io;
use std::net::{IpAddr, SocketAddr};

/// Bytes of a datagram: its number.
const NUMBER_LEN: usize = 8;

/// The way to the door of one queue.
#[derive(Debug)]
pub(crate) struct Door {
    socket: OwnedFd,
    addresses: Addresses,
    ports: UdpRepr,
}

impl Door {
    /// Opens the socket in the calling thread's network namespace, for datagrams from a client to the server,
    /// whose addresses are of one family.
    ///
    /// # Errors
    /// If the namespace has no such address, or no more descriptors or ports.
    pub fn open(client: IpAddr, server: IpAddr) -> io::Result<Door> {
        /// Of the sender, which is nobody: any will do.
        const SOURCE_PORT: u16 = 60_998;
        let addresses = match (client, server) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => Addresses::V4 { source, destination },
            (IpAddr::V6(source), IpAddr::V6(destination)) => Addresses::V6 { source, destination },
            _ => return Err(io::ErrorKind::InvalidInput.into()),
        };
        let socket = datagram_socket::open(&SocketAddr::new(client, SOURCE_PORT), Some(server))?;
        let own: SocketAddr = rustix::net::getsockname(&socket)?.try_into()?;
        let ports = UdpRepr { source_port: SOURCE_PORT, destination_port: own.port() };
        Ok(Door { socket, addresses, ports })
    }

    /// The datagram of this number, behind the header of a queue; `room` is overwritten.
    pub fn datagram(&self, number: u64, room: &mut Vec<u8>) {
        let number = number.to_be_bytes();
        let message = Message::Udp(self.ports, &number);
        let ip = IpRepr::new(self.addresses, message.protocol());
        let head = VnetHeader::default().emit();
        room.clear();
        room.extend_from_slice(&head);
        room.resize(head.len() + ip.header_len() + message.wire_len(), 0);
        write_packet(&ip, &message, &mut room[head.len()..]);
    }

    /// The next datagram that has arrived: its number, and when the kernel received it, in nanoseconds since
    /// 1970; `None` if there is none.
    pub fn arrived(&self) -> Option<(u64, u64)> {
        let mut number = [0; NUMBER_LEN];
        // An error is that of a datagram that got lost on its way.
        let received = datagram_socket::receive(&self.socket, &mut number).ok()?;
        Some((u64::from_be_bytes(number), received.stamp_unix_ns?))
    }
}
