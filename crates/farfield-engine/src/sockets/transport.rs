//! The transport of the sockets plane: the users' connections as kernel sockets.

use crate::sample_channel::SampleSender;
use crate::sockets::SourceAddresses;
use crate::sockets::arrivals::Arrivals;
use crate::sockets::failures::{failure, failure_of_unix_socket};
use crate::sockets::peers::Peers;
use crate::sockets::unsent::Unsent;
use bytes::Bytes;
use farfield_base::{HostNumber, Instant, Note, Opened, Sample};
use farfield_net::Wheel;
use farfield_os::clock::Clock;
use farfield_os::datagram_socket::{self, DatagramRead};
use farfield_os::socket::{
    ConnectProgress, begin_connect, client_socket, handshake_rtt, receive_stamped, timestamps_kept_on,
    unix_socket,
};
use farfield_user::{Backlog, ConnectionKey, ConnectionSlot, Datagrams, Failure, Transport, Wake};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{SendFlags, SocketAddrUnix};
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

/// A worker's sockets, timers and samples on their way out.
pub(crate) struct SocketsTransport {
    pub clock: Clock,
    pub epoll: OwnedFd,
    /// Wakes with the instants for which they were asked. A reply may have arrived before the wheel's last
    /// event, and a wake that follows it by a short think time then lies in the wheel's past, where the wheel
    /// keeps no instants.
    pub wheel: Wheel<(Instant, Wake)>,
    /// Upcalls for results that the kernel gave at once, delivered after the population has returned.
    pub upcalls: VecDeque<Upcall>,
    pub samples: SampleSender,
    pub connects: u64,
    /// Connections begun, if they are noted.
    pub opened: Option<Vec<Opened>>,
    pub arrivals: Arrivals,
    /// Instant of the last send, of a SYN as well.
    pub last_sent: Instant,
    /// Datagrams that found no room in the receive buffers of sockets that are closed.
    pub datagrams_lost: u64,
    /// The kernel cuts rows of datagrams, as far as it is known.
    cuts_rows: bool,
    /// No wake is due before this instant.
    quiet_until: Instant,
    target: SocketAddr,
    /// The addresses of the hosts beside the target, by number.
    hosts: Vec<SocketAddr>,
    /// The addresses that connections go to in place of the target, if they are several or change.
    peers: Option<Peers>,
    /// The Unix socket that connections go to in place of the target.
    unix: Option<SocketAddrUnix>,
    sources: SourceAddresses,
    /// Nagle's algorithm is switched off: requests on a persistent connection must not wait for ACKs; a
    /// single request never does.
    no_delay: bool,
    sockets: Vec<Option<Socket>>,
    open: u64,
    /// Limit on open sockets: the run directory needs descriptors too.
    open_max: u64,
    /// Held for as long as there may be connections; `None` where the kernel has no timestamps.
    _timestamps: Option<OwnedFd>,
}

struct Socket {
    fd: OwnedFd,
    serial: u32,
    server: SocketAddr,
    /// While it connects: when its SYN was sent.
    connecting: Option<Instant>,
    /// The poll also reports when it is writable.
    polls_writable: bool,
    unsent: Unsent,
    /// Bytes that users have sent.
    handed: u64,
    /// The error of the first failed send. The kernel reports it once; of a reset it then reports only the
    /// end of the data, once all is read.
    broken: Option<Failure>,
    /// The socket waits for its next turn of reading.
    unread: bool,
    /// The ECN codepoint that datagrams of the socket carry.
    ecn: Option<u8>,
}

/// An event of a connection that is delivered to the population later.
///
/// An upcall of the emulator (`client_side.rs` there) also brings received bytes. Here the kernel keeps them
/// until the worker reads them, and a send may fail before they are read: hence `Broken`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Upcall {
    Connected(ConnectionKey, Instant),
    Failed(ConnectionKey, Failure),
    /// Nothing more can be sent, and the server's earlier bytes are still to be read.
    Broken(ConnectionKey),
}

/// Result of a read.
pub(crate) enum Read {
    /// The number of bytes, and the kernel's timestamp of their arrival in nanoseconds since 1970.
    Bytes(usize, Option<u64>),
    /// Datagrams, which came together.
    Datagrams(DatagramRead),
    Nothing,
    Closed,
    Failed(Failure),
}

impl SocketsTransport {
    pub fn new(
        clock: Clock,
        target: SocketAddr,
        sources: SourceAddresses,
        no_delay: bool,
        open_max: u64,
        samples: SampleSender,
    ) -> Result<SocketsTransport, Errno> {
        Ok(SocketsTransport {
            clock,
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            wheel: Wheel::new(),
            upcalls: VecDeque::new(),
            samples,
            connects: 0,
            opened: None,
            arrivals: Arrivals::new(clock),
            last_sent: Instant::ZERO,
            datagrams_lost: 0,
            cuts_rows: true,
            quiet_until: Instant::ZERO,
            target,
            hosts: Vec::new(),
            peers: None,
            unix: None,
            sources,
            no_delay,
            sockets: Vec::new(),
            open: 0,
            open_max,
            _timestamps: timestamps_kept_on().ok(),
        })
    }

    /// Notes the addresses of connections from now on, which costs a call of the system for each.
    pub fn noting_connections(self) -> SocketsTransport {
        SocketsTransport { opened: Some(Vec::new()), ..self }
    }

    /// With connections to the addresses of `peers`, if there are any.
    pub fn spread_over(self, peers: Option<Peers>) -> SocketsTransport {
        SocketsTransport { peers, ..self }
    }

    /// With hosts beside the target, at these addresses.
    pub fn beside(self, hosts: Vec<SocketAddr>) -> SocketsTransport {
        SocketsTransport { hosts, ..self }
    }

    /// With connections to a Unix socket, if there is one.
    pub fn with_unix_socket(self, unix: Option<SocketAddrUnix>) -> SocketsTransport {
        SocketsTransport { unix, ..self }
    }

    /// Hands over what was counted by address.
    pub fn heartbeat(&mut self) {
        if let Some(peers) = &mut self.peers {
            peers.hand_over();
        }
    }

    /// The server of the next connection to `host`, which has this serial.
    fn next_server(&mut self, serial: u32, host: HostNumber) -> SocketAddr {
        match (host.index().checked_sub(1), &mut self.peers) {
            (Some(beside), _) => self.hosts[beside],
            (None, Some(peers)) => peers.next(serial),
            (None, None) => self.target,
        }
    }

    /// A connection that never came to be.
    fn failed(&mut self, key: ConnectionKey, failure: Failure) {
        if let Some(peers) = &mut self.peers {
            peers.note_ended(key.serial);
        }
        self.upcalls.push_back(Upcall::Failed(key, failure));
    }

    /// Instant of the next wake; [`Instant::MAX`] if there is none. [`may_be_due`](Self::may_be_due) uses
    /// this from now on.
    pub fn look_ahead(&mut self) -> Instant {
        self.quiet_until = self.wheel.next_at().unwrap_or(Instant::MAX);
        self.quiet_until
    }

    /// Takes a wake that is due at `now` or before, with the instant for which it was asked.
    pub fn pop_due(&mut self, now: Instant) -> Option<(Instant, Wake)> {
        self.wheel.pop_due(now).map(|(_, asked)| asked)
    }

    /// False if no wake is due at `at` or before.
    pub fn may_be_due(&self, at: Instant) -> bool {
        self.quiet_until <= at
    }

    /// The connection of an event, unless it is closed.
    pub fn key_of(&self, data: u64) -> Option<ConnectionKey> {
        let key = ConnectionKey { slot: ConnectionSlot::new(data as u32), serial: (data >> 32) as u32 };
        self.find(key).map(|_| key)
    }

    /// Once, if `key` was still connecting: when it was established, if it is.
    pub fn take_connecting(&mut self, key: ConnectionKey) -> Option<Instant> {
        let begun = self.find_mut(key)?.connecting.take()?;
        if let Some(peers) = &mut self.peers
            && self.sockets[key.slot.index()]
                .as_ref()
                .is_some_and(|socket| rustix::net::getpeername(&socket.fd).is_ok())
        {
            peers.note_established(key.serial);
        }
        self.find(key).map(|socket| self.established(&socket.fd, begun))
    }

    /// Sets whether `key` waits for its next turn of reading; true if that changes it.
    pub fn note_unread(&mut self, key: ConnectionKey, unread: bool) -> bool {
        self.find_mut(key).is_some_and(|socket| std::mem::replace(&mut socket.unread, unread) != unread)
    }

    pub fn is_open(&self, key: ConnectionKey) -> bool {
        self.find(key).is_some()
    }

    /// Reads once into `buffer`.
    pub fn read(&self, key: ConnectionKey, buffer: &mut [u8]) -> Read {
        let Some(socket) = self.find(key) else { return Read::Nothing };
        if socket.ecn.is_some() {
            return read_datagrams(socket, buffer);
        }
        match receive_stamped(&socket.fd, buffer) {
            Ok((0, _)) => socket.broken.map_or(Read::Closed, Read::Failed),
            Ok((count, stamp)) => Read::Bytes(count, stamp),
            Err(Errno::AGAIN | Errno::INTR) => Read::Nothing,
            Err(errno) => Read::Failed(failure(errno)),
        }
    }

    /// Bytes of the next read from a connection that may have `room` bytes more in this turn: datagrams are
    /// read whole, or cut off.
    pub fn piece(&self, key: ConnectionKey, room: usize) -> usize {
        let of_datagrams = self.find(key).is_some_and(|socket| socket.ecn.is_some());
        if of_datagrams { datagram_socket::READ_BYTES } else { room }
    }

    /// The error that the kernel keeps for a connection.
    pub fn error(&self, key: ConnectionKey) -> Option<Failure> {
        let socket = self.find(key)?;
        match rustix::net::sockopt::socket_error(&socket.fd) {
            Ok(Err(errno)) | Err(errno) => Some(failure(errno)),
            Ok(Ok(())) => None,
        }
    }

    /// Sends the bytes that the kernel did not accept before.
    pub fn flush(&mut self, key: ConnectionKey) {
        while let Some(bytes) = self.find_mut(key).and_then(|socket| socket.unsent.pop()) {
            if !self.write(key, &bytes) {
                return;
            }
        }
    }

    /// Writes `bytes`; keeps the rest that the kernel does not accept, in front of the unsent bytes, and
    /// returns false.
    fn write(&mut self, key: ConnectionKey, bytes: &Bytes) -> bool {
        let Some(socket) = self.sockets.get_mut(key.slot.index()).and_then(Option::as_mut) else {
            return true;
        };
        let sent = match rustix::net::send(&socket.fd, bytes, SendFlags::NOSIGNAL) {
            Ok(sent) => sent,
            Err(Errno::AGAIN | Errno::INTR) => 0,
            Err(errno) => {
                socket.broken = Some(failure(errno));
                socket.unsent.clear();
                self.upcalls.push_back(Upcall::Broken(key));
                return false;
            }
        };
        if sent == bytes.len() {
            return true;
        }
        socket.unsent.put_back(bytes.slice(sent..));
        if !socket.polls_writable {
            socket.polls_writable = true;
            let interest = READABLE | EventFlags::OUT;
            if epoll::modify(&self.epoll, &socket.fd, data_of(key), interest).is_err() {
                self.upcalls.push_back(Upcall::Failed(key, Failure::NoDescriptor));
            }
        }
        false
    }

    /// Begins a connection to `server`. Returns the instant at which it was begun, as far as it came, and at
    /// which it was established, if it is already.
    fn begin(
        &mut self,
        key: ConnectionKey,
        user: u32,
        server: SocketAddr,
    ) -> (Instant, Result<Option<Instant>, Errno>) {
        if self.open >= self.open_max {
            return (self.clock.now(), Err(Errno::MFILE));
        }
        let created = match &self.unix {
            Some(_) => unix_socket(),
            None => client_socket(&server, self.source(user, &server), self.no_delay),
        };
        // Making a socket would count as time of the handshake.
        let begun = self.clock.now();
        let connected = created.and_then(|fd| {
            let progress = match &self.unix {
                Some(unix) => begin_connect(&fd, unix)?,
                None => begin_connect(&fd, &server)?,
            };
            let connected = (progress == ConnectProgress::Connected).then(|| self.established(&fd, begun));
            self.keep(key, fd, server, connected.is_none().then_some(begun), None)?;
            if let (Some(peers), Some(_)) = (&mut self.peers, connected) {
                peers.note_established(key.serial);
            }
            Ok(connected)
        });
        (begun, connected)
    }

    /// The address that a user connects from to `server`; the kernel's choice where the user's is of another
    /// family, or of this machine alone and the server is elsewhere.
    fn source(&self, user: u32, server: &SocketAddr) -> Option<IpAddr> {
        let leads_there = |source: &IpAddr| {
            let is_near = !source.is_loopback() || server.ip().is_loopback();
            source.is_ipv4() == server.is_ipv4() && is_near
        };
        self.sources.address(user).filter(leads_there)
    }

    /// The instant at which a connection was established whose SYN left at `begun`: when the SYN-ACK came, as
    /// the kernel measured it, and not when this was noticed.
    fn established(&self, fd: &OwnedFd, begun: Instant) -> Instant {
        let now = self.clock.now();
        handshake_rtt(fd).map_or(now, |rtt| (begun + rtt).min(now))
    }

    /// Opens a socket for datagrams to `target`, and returns when it was ready.
    fn begin_datagrams(
        &mut self,
        key: ConnectionKey,
        user: u32,
        target: &SocketAddr,
    ) -> (Instant, Result<(), Errno>) {
        if self.open >= self.open_max {
            return (self.clock.now(), Err(Errno::MFILE));
        }
        let opened = datagram_socket::open(target, self.source(user, target));
        let begun = self.clock.now();
        (begun, opened.and_then(|fd| self.keep(key, fd, *target, None, Some(0))))
    }

    /// Registers a socket with the poll; `connecting` since an instant, if it still is, and with the
    /// codepoint of its datagrams if it is for those.
    fn keep(
        &mut self,
        key: ConnectionKey,
        fd: OwnedFd,
        server: SocketAddr,
        connecting: Option<Instant>,
        ecn: Option<u8>,
    ) -> Result<(), Errno> {
        let interest = if connecting.is_some() { READABLE | EventFlags::OUT } else { READABLE };
        epoll::add(&self.epoll, &fd, data_of(key), interest)?;
        let socket = Socket {
            fd,
            serial: key.serial,
            server,
            connecting,
            polls_writable: connecting.is_some(),
            unsent: Unsent::default(),
            handed: 0,
            broken: None,
            unread: false,
            ecn,
        };
        let slot = key.slot.index();
        if self.sockets.len() <= slot {
            self.sockets.resize_with(slot + 1, || None);
        }
        self.sockets[slot] = Some(socket);
        self.open += 1;
        Ok(())
    }

    fn note_opened(&mut self, key: ConnectionKey, user: u32, at: Instant, server: SocketAddr) {
        let connection = key.serial;
        let client = self.find(key).and_then(|socket| rustix::net::getsockname(&socket.fd).ok());
        // A connection that was reset at once has its addresses still.
        let client = client.and_then(|address| SocketAddr::try_from(address).ok());
        if let (Some(client), Some(opened)) = (client, &mut self.opened) {
            opened.push(Opened { connection, user, at, client, server });
        }
    }

    fn find(&self, key: ConnectionKey) -> Option<&Socket> {
        self.sockets.get(key.slot.index())?.as_ref().filter(|socket| socket.serial == key.serial)
    }

    fn find_mut(&mut self, key: ConnectionKey) -> Option<&mut Socket> {
        self.sockets.get_mut(key.slot.index())?.as_mut().filter(|socket| socket.serial == key.serial)
    }

    fn forget(&mut self, key: ConnectionKey) {
        if let Some(peers) = &mut self.peers {
            peers.note_ended(key.serial);
        }
        if let Some(socket) = self.find(key) {
            if socket.ecn.is_some() {
                self.datagrams_lost += u64::from(datagram_socket::dropped(&socket.fd).unwrap_or(0));
            }
            // Closing the descriptor also removes it from the poll.
            self.sockets[key.slot.index()] = None;
            self.open -= 1;
        }
    }
}

impl Transport for SocketsTransport {
    fn connect(&mut self, key: ConnectionKey, user: u32, host: HostNumber) -> Instant {
        self.connects += 1;
        let server = self.next_server(key.serial, host);
        let (begun, connected) = self.begin(key, user, server);
        self.last_sent = begun;
        if connected.is_ok() && self.opened.is_some() {
            self.note_opened(key, user, begun, server);
        }
        match connected {
            Ok(Some(connected)) => self.upcalls.push_back(Upcall::Connected(key, connected)),
            Ok(None) => {}
            Err(errno) if self.unix.is_some() => self.failed(key, failure_of_unix_socket(errno)),
            Err(errno) => self.failed(key, failure(errno)),
        }
        begun
    }

    fn send(&mut self, key: ConnectionKey, bytes: &Bytes) -> Instant {
        let sent = self.clock.now();
        self.last_sent = sent;
        let Some(socket) = self.find_mut(key).filter(|socket| socket.broken.is_none()) else { return sent };
        socket.handed += bytes.len() as u64;
        if socket.unsent.is_empty() {
            self.write(key, bytes);
        } else {
            socket.unsent.push(bytes);
        }
        sent
    }

    fn backlog(&self, key: ConnectionKey) -> Backlog {
        let of = |socket: &Socket| Backlog { handed: socket.handed, kept: socket.unsent.bytes() };
        self.find(key).map(of).unwrap_or_default()
    }

    fn sends_after_close(&self) -> bool {
        false
    }

    fn open_datagrams(
        &mut self,
        key: ConnectionKey,
        user: u32,
        (host, port): (HostNumber, Option<u16>),
    ) -> Instant {
        self.connects += 1;
        let mut target = self.next_server(key.serial, host);
        target.set_port(port.unwrap_or(target.port()));
        let (begun, opened) = self.begin_datagrams(key, user, &target);
        self.last_sent = begun;
        match opened {
            Ok(()) if self.opened.is_some() => self.note_opened(key, user, begun, target),
            Ok(()) => {}
            Err(errno) => self.failed(key, failure(errno)),
        }
        begun
    }

    fn send_datagrams(&mut self, key: ConnectionKey, datagrams: Datagrams<'_>) -> Instant {
        let sent = self.clock.now();
        self.last_sent = sent;
        let Some(socket) = self.sockets.get_mut(key.slot.index()).and_then(Option::as_mut) else {
            return sent;
        };
        if socket.serial != key.serial || socket.broken.is_some() {
            return sent;
        }
        if socket.ecn != Some(datagrams.ecn) {
            socket.ecn = Some(datagrams.ecn);
            // A kernel that refuses sends without; QUIC finds out that its codepoints do not arrive.
            let _ = datagram_socket::set_ecn(&socket.fd, &socket.server, datagrams.ecn);
        }
        let segment_bytes = datagrams.segment_bytes.max(1);
        if self.cuts_rows && datagrams.bytes.len() > segment_bytes {
            let of_kernel = u16::try_from(segment_bytes).unwrap_or(u16::MAX);
            match datagram_socket::send_row(&socket.fd, datagrams.bytes, of_kernel) {
                // Lost as a whole, as below.
                Ok(()) | Err(Errno::AGAIN | Errno::INTR | Errno::NOBUFS) => return sent,
                Err(Errno::INVAL | Errno::IO | Errno::NOPROTOOPT | Errno::OPNOTSUPP) => {
                    self.cuts_rows = false
                }
                // One of them may be too long for the interface, and the others not.
                Err(Errno::MSGSIZE) => {}
                Err(errno) => {
                    socket.broken = Some(failure(errno));
                    self.upcalls.push_back(Upcall::Failed(key, failure(errno)));
                    return sent;
                }
            }
        }
        for datagram in datagrams.bytes.chunks(segment_bytes) {
            match rustix::net::send(&socket.fd, datagram, SendFlags::NOSIGNAL) {
                Ok(_) => {}
                // Lost, as on a path: a full queue, or a probe that is too long for the interface.
                Err(Errno::AGAIN | Errno::INTR | Errno::NOBUFS | Errno::MSGSIZE) => {}
                // An error that ICMP reported of an earlier one.
                Err(errno) => {
                    socket.broken = Some(failure(errno));
                    self.upcalls.push_back(Upcall::Failed(key, failure(errno)));
                    break;
                }
            }
        }
        sent
    }

    fn close(&mut self, key: ConnectionKey) {
        self.forget(key);
    }

    /// Closes the socket. Without a reply from the server that sends no packet: tcp(7) sends a RST only if
    /// the peer holds state.
    fn abandon(&mut self, key: ConnectionKey) {
        self.forget(key);
    }

    fn wake_at(&mut self, at: Instant, wake: Wake) {
        self.quiet_until = self.quiet_until.min(at);
        self.wheel.schedule(at, (at, wake));
    }

    fn server_of(&self, key: ConnectionKey) -> Option<SocketAddr> {
        self.peers.as_ref().and_then(|peers| peers.server_of(key.serial))
    }

    fn record(&mut self, sample: Sample) {
        if let Some(peers) = &mut self.peers {
            peers.note_request(sample.connection, sample.outcome);
        }
        self.samples.push(sample);
    }

    fn note(&mut self, note: Note) {
        self.samples.note(note);
    }
}

/// Edge-triggered events, so that a connection is registered once for its life.
const READABLE: EventFlags = EventFlags::IN.union(EventFlags::RDHUP).union(EventFlags::ET);

fn data_of(key: ConnectionKey) -> EventData {
    EventData::new_u64((u64::from(key.serial) << 32) | u64::from(key.slot.get()))
}

/// Reads datagrams once.
fn read_datagrams(socket: &Socket, buffer: &mut [u8]) -> Read {
    loop {
        return match datagram_socket::receive(&socket.fd, buffer) {
            // An empty datagram is none of QUIC's. That an earlier one was too long for the path is reported
            // once.
            Ok(DatagramRead { count: 0, .. }) | Err(Errno::MSGSIZE) => continue,
            Ok(received) => Read::Datagrams(received),
            Err(Errno::AGAIN | Errno::INTR) => Read::Nothing,
            Err(errno) => Read::Failed(failure(errno)),
        };
    }
}

#[cfg(test)]
mod tests;
