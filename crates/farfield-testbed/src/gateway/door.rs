//! The door of the server's kernel: a UDP socket of this process at the server's address, where packets that
//! are written to a queue of the gateway can be seen to arrive.
//!
//! The kernel notes when it receives a datagram for the socket (`SO_TIMESTAMPNS`). So whoever writes one to
//! the queue learns how long packets wait before the kernel's receive work begins, whoever does that work.
//! And what is sent from the socket comes back through the queue, behind all that the kernel had put there: a
//! mark.

use farfield_os::datagram_socket;
use farfield_wire::{Addresses, IpPacket, IpRepr, Message, Protocol, UdpRepr, VnetHeader, write_packet};
use rustix::fd::OwnedFd;
use rustix::net::SendFlags;
use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr};

/// Bytes of a datagram: its number.
const NUMBER_LEN: usize = 8;
/// Bytes of its header.
const UDP_LEN: usize = 8;

/// The way to the door of one queue.
#[derive(Debug)]
pub struct Door {
    socket: OwnedFd,
    addresses: Addresses,
    ports: UdpRepr,
    /// Datagrams to the client come to the queue.
    marks: bool,
}

/// Numbers of datagrams, one after another: who has not seen one does not guess it.
#[derive(Debug)]
pub struct DatagramNumbers(u64);

impl DatagramNumbers {
    /// From a random one; where none can be had, from `instead`.
    pub fn from_random_or(instead: u64) -> DatagramNumbers {
        DatagramNumbers(random().unwrap_or(instead).max(1))
    }

    /// The last.
    pub fn last(&self) -> u64 {
        self.0
    }

    /// The next, never zero (Marsaglia 2003, xorshift).
    pub fn draw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

fn random() -> io::Result<u64> {
    let mut random = [0; 8];
    farfield_files::system::open("/dev/urandom")?.read_exact(&mut random)?;
    Ok(u64::from_ne_bytes(random))
}

impl Door {
    /// Opens the socket in the calling thread's network namespace, for datagrams from a client to the server,
    /// whose addresses are of one family.
    ///
    /// # Errors
    /// If the namespace has no such address, or no more descriptors or ports.
    pub fn open(client: IpAddr, server: IpAddr) -> io::Result<Door> {
        /// The port of the sender, which is nobody: any will do.
        const SOURCE_PORT: u16 = 60_998;
        let addresses = match (client, server) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => Addresses::V4 { source, destination },
            (IpAddr::V6(source), IpAddr::V6(destination)) => Addresses::V6 { source, destination },
            _ => return Err(io::ErrorKind::InvalidInput.into()),
        };
        let socket = datagram_socket::open(&SocketAddr::new(client, SOURCE_PORT), Some(server))?;
        let own: SocketAddr = rustix::net::getsockname(&socket)?.try_into()?;
        let ports = UdpRepr { source_port: SOURCE_PORT, destination_port: own.port() };
        Ok(Door { socket, addresses, ports, marks: false })
    }

    /// With marks: packets to the client come to the door's queue.
    pub fn with_marks(self) -> Door {
        Door { marks: true, ..self }
    }

    /// Sends the mark of this number to the queue; false if that cannot be.
    pub fn mark(&self, number: u64) -> bool {
        self.marks && rustix::net::send(&self.socket, &number.to_be_bytes(), SendFlags::DONTWAIT).is_ok()
    }

    /// The number of a mark, if `packet`, from the server's kernel, is one.
    #[inline]
    pub fn marked(&self, packet: &[u8]) -> Option<u64> {
        let at = packet.len().checked_sub(UDP_LEN + NUMBER_LEN)?;
        // Most packets are longer, or shorter.
        let ip_header = if self.addresses.source().is_ipv4() { 20 } else { 40 };
        (at == ip_header).then(|| self.number_of(packet, at)).flatten()
    }

    fn number_of(&self, packet: &[u8], at: usize) -> Option<u64> {
        let ip = IpPacket::parse(packet).ok()?;
        let between = ip.addresses();
        let backwards = between.source() == self.addresses.destination()
            && between.destination() == self.addresses.source();
        let ports = [self.ports.destination_port, self.ports.source_port].map(u16::to_be_bytes).concat();
        let (udp, number) = packet[at..].split_at(UDP_LEN);
        let is_mark = self.marks && backwards && ip.protocol() == Protocol::UDP && udp.starts_with(&ports);
        is_mark.then(|| number.try_into().ok().map(u64::from_be_bytes)).flatten()
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
