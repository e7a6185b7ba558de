//! TCP sockets of a network namespace, by state, and accept queues with their limits (sock_diag(7)).
//!
//! The kernel's tables are read as `ss` reads them. `/proc/net/tcp` has no limits of accept queues, and
//! writes all sockets as text.

use rustix::fd::{AsFd, OwnedFd};
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const DUMP: u16 = 0x301;
const ACKNOWLEDGE: u16 = 0x5;
const BY_FAMILY: u16 = 20;
const DESTROY: u16 = 21;
const DONE: u16 = 3;
const ERROR: u16 = 2;
const HEADER: usize = 16;
/// `struct inet_diag_req_v2`.
const REQUEST: usize = 56;
/// `struct inet_diag_msg`.
const MESSAGE: usize = 72;
/// The state of a listener, `TCP_LISTEN` (include/net/tcp_states.h).
const LISTEN: u8 = 10;
/// `struct inet_diag_sockid` within a message, and where it lies in a request.
const ID: std::ops::Range<usize> = 4..52;
const ID_AT: usize = HEADER + 8;

/// The states of TCP but for LISTEN, with the kernel's number.
pub const STATES: [(u8, &str); 11] = [
    (1, "sockets_established"),
    (2, "sockets_syn_sent"),
    (3, "sockets_syn_received"),
    (4, "sockets_fin_wait_1"),
    (5, "sockets_fin_wait_2"),
    (6, "sockets_time_wait"),
    (7, "sockets_closed"),
    (8, "sockets_close_wait"),
    (9, "sockets_last_ack"),
    (11, "sockets_closing"),
    (12, "sockets_syn_received"),
];

/// A TCP socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpSocket {
    /// The kernel's number of its state.
    pub state: u8,
    /// Local address of the socket.
    pub local: SocketAddr,
    /// Bytes to be read; for a listener the connections in its accept queue.
    pub receive_queue: u32,
    /// Bytes to be acknowledged; for a listener the most connections in its accept queue.
    pub send_queue: u32,
    /// Inode of the socket, as `/proc/PID/fd` shows it.
    pub inode: u32,
}

/// A socket to the tables of the network namespace in which it was opened.
#[derive(Debug)]
pub struct SocketTables {
    socket: OwnedFd,
    sequence: u32,
    buffer: Vec<u8>,
}

impl SocketTables {
    /// Opens a socket in the calling thread's network namespace.
    ///
    /// # Errors
    /// If the kernel has no sock_diag, or no descriptor is left.
    pub fn open() -> io::Result<SocketTables> {
        let family = AddressFamily::NETLINK;
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(family, SocketType::DGRAM, flags, Some(netlink::SOCK_DIAG))?;
        Ok(SocketTables { socket, sequence: 0, buffer: vec![0; 64 << 10] })
    }

    /// Calls `each` with every listener.
    ///
    /// # Errors
    /// The kernel's.
    pub fn listeners(&mut self, mut each: impl FnMut(TcpSocket)) -> io::Result<()> {
        self.dump(1 << LISTEN, [true; 2], &mut each)
    }

    /// Calls `each` with every socket that is no listener, of IPv4 and of IPv6 as `families` says. For each
    /// family the kernel goes through its whole table, which takes milliseconds.
    ///
    /// # Errors
    /// The kernel's.
    pub fn connections(&mut self, families: [bool; 2], mut each: impl FnMut(TcpSocket)) -> io::Result<()> {
        let states = STATES.iter().fold(0, |states, (state, _)| states | 1 << state);
        self.dump(states, families, &mut each)
    }

    /// Ends the connections whose other end is an address that `is_wanted`, with a reset to it, and returns
    /// how many there were.
    ///
    /// # Errors
    /// `EOPNOTSUPP` from a kernel without `CONFIG_INET_DIAG_DESTROY`, `EPERM` without `CAP_NET_ADMIN`.
    pub fn destroy(&mut self, is_wanted: impl Fn(IpAddr) -> bool) -> io::Result<u32> {
        let states = STATES.iter().fold(0, |states, (state, _)| states | 1 << state);
        let mut found = Vec::new();
        self.dump_raw(states, [true; 2], &mut |message| {
            if is_wanted(address(message[0], &message[24..40]).to_canonical()) {
                found.push((message[0], message[ID].to_vec()));
            }
        })?;
        let mut ended = 0;
        for (family, id) in found {
            match self.destroy_one(family, &id) {
                Ok(()) => ended += 1,
                // It has ended by itself.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(ended)
    }

    fn destroy_one(&mut self, family: u8, id: &[u8]) -> io::Result<()> {
        self.sequence += 1;
        let mut request = request(DESTROY, ACKNOWLEDGE, self.sequence, family, u32::MAX);
        request[ID_AT..ID_AT + id.len()].copy_from_slice(id);
        sendto(self.socket.as_fd(), &request, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
        let (count, _) = recv(self.socket.as_fd(), &mut self.buffer[..], RecvFlags::empty())?;
        match self.buffer.get(HEADER..count.max(HEADER)) {
            Some(body) if body.len() >= 4 => match word(body, 0) as i32 {
                0 => Ok(()),
                error => Err(io::Error::from_raw_os_error(-error)),
            },
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    fn dump(&mut self, states: u32, families: [bool; 2], each: &mut dyn FnMut(TcpSocket)) -> io::Result<()> {
        self.dump_raw(states, families, &mut |message| each(socket(message)))
    }

    /// Calls `each` with every `struct inet_diag_msg`.
    fn dump_raw(&mut self, states: u32, families: [bool; 2], each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        let wanted = [AddressFamily::INET, AddressFamily::INET6].into_iter().zip(families);
        for family in wanted.filter_map(|(family, wanted)| wanted.then_some(family)) {
            match self.dump_family(family, states, each) {
                // A kernel without IPv6.
                Err(error) if family == AddressFamily::INET6 && error.kind() == io::ErrorKind::NotFound => {}
                dumped => dumped?,
            }
        }
        Ok(())
    }

    fn dump_family(
        &mut self,
        family: AddressFamily,
        states: u32,
        each: &mut dyn FnMut(&[u8]),
    ) -> io::Result<()> {
        self.sequence += 1;
        let request = request(BY_FAMILY, DUMP, self.sequence, family.as_raw() as u8, states);
        sendto(self.socket.as_fd(), &request, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
        loop {
            let (count, _) = recv(self.socket.as_fd(), &mut self.buffer[..], RecvFlags::empty())?;
            let mut rest = self.buffer.get(..count).ok_or(io::ErrorKind::InvalidData)?;
            while rest.len() >= HEADER {
                let length = word(rest, 0) as usize;
                let body = rest.get(HEADER..length).ok_or(io::ErrorKind::InvalidData)?;
                match u16::from_ne_bytes([rest[4], rest[5]]) {
                    DONE => return Ok(()),
                    ERROR if body.len() >= 4 => {
                        return Err(io::Error::from_raw_os_error(-(word(body, 0) as i32)));
                    }
                    BY_FAMILY if word(rest, 8) == self.sequence && body.len() >= MESSAGE => {
                        each(body);
                    }
                    _ => {}
                }
                rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
            }
        }
    }
}

/// A `struct inet_diag_req_v2` of TCP behind its header.
fn request(kind: u16, flags: u16, sequence: u32, family: u8, states: u32) -> [u8; HEADER + REQUEST] {
    const TCP: u8 = 6;
    let mut request = [0; HEADER + REQUEST];
    request[..4].copy_from_slice(&((HEADER + REQUEST) as u32).to_ne_bytes());
    request[4..6].copy_from_slice(&kind.to_ne_bytes());
    request[6..8].copy_from_slice(&flags.to_ne_bytes());
    request[8..12].copy_from_slice(&sequence.to_ne_bytes());
    request[HEADER] = family;
    request[HEADER + 1] = TCP;
    request[HEADER + 4..HEADER + 8].copy_from_slice(&states.to_ne_bytes());
    request
}

/// The address of a family in the 16 bytes that have room for either.
fn address(family: u8, bytes: &[u8]) -> IpAddr {
    match AddressFamily::from_raw(u16::from(family)) {
        AddressFamily::INET => Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]).into(),
        _ => {
            let mut whole = [0; 16];
            whole.copy_from_slice(&bytes[..16]);
            Ipv6Addr::from(whole).into()
        }
    }
}

/// The socket that a `struct inet_diag_msg` describes.
fn socket(message: &[u8]) -> TcpSocket {
    let port = u16::from_be_bytes([message[4], message[5]]);
    TcpSocket {
        state: message[1],
        local: SocketAddr::new(address(message[0], &message[8..24]), port),
        receive_queue: word(message, 56),
        send_queue: word(message, 60),
        inode: word(message, 68),
    }
}

/// The number of 32 bits at `at`, which is within `bytes`.
fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    /// As many connections wait as were made and not accepted, and the limit is that of listen(2).
    #[test]
    fn an_accept_queue_is_read_with_its_limit() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        rustix::net::listen(&listener, 7).unwrap();
        let clients: Vec<_> = (0..3).map(|_| TcpStream::connect(address).unwrap()).collect();
        let mut tables = SocketTables::open().unwrap();
        let mut found = Vec::new();
        tables.listeners(|socket| found.extend((socket.local == address).then_some(socket))).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].state, found[0].receive_queue, found[0].send_queue), (LISTEN, 3, 7));
        let mut established = 0;
        tables
            .connections([true; 2], |socket| {
                established += u32::from(socket.local == address && socket.state == 1)
            })
            .unwrap();
        assert_eq!(established, 3);
        drop(clients);
    }

    /// Only connections with the wanted address at their other end are ended, by a reset.
    #[test]
    fn connections_are_ended_by_their_other_end() {
        use std::io::Read;
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let from = |address: &str| {
            let socket =
                socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
            let address: SocketAddr = format!("{address}:0").parse().unwrap();
            rustix::net::bind(&socket, &address).unwrap();
            rustix::net::connect(&socket, &listener.local_addr().unwrap()).unwrap();
            (TcpStream::from(socket), listener.accept().unwrap().0)
        };
        let (kept, ended) = (from("127.77.3.4"), from("127.77.3.5"));
        let wanted: IpAddr = "127.77.3.5".parse().unwrap();
        match SocketTables::open().unwrap().destroy(|address| address == wanted) {
            Ok(count) => assert_eq!(count, 1),
            Err(error) => {
                let test = "connections_are_ended_by_their_other_end";
                return farfield_testkit::skip(test, &error.to_string());
            }
        }
        assert!((&ended.1).read(&mut [0]).is_err(), "the server's end");
        assert!((&ended.0).read(&mut [0]).is_err(), "the client's");
        kept.0.set_nonblocking(true).unwrap();
        assert_eq!((&kept.0).read(&mut [0]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }
}
