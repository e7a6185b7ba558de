//! What users ask of the sockets plane, asked of the kernel.

use crate::os::clock::Clock;
use crate::os::socket::{Progress, begin_connect};
use crate::sample_channel::SampleSender;
use crate::sockets::Sources;
use bytes::Bytes;
use farfield_base::{Instant, Note, Sample};
use farfield_net::Wheel;
use farfield_user::{ConnectionKey, ConnectionSlot, Failure, Host, Wake};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use std::collections::VecDeque;
use std::net::SocketAddr;

/// A worker's sockets, timers and samples on their way out.
pub(crate) struct SocketsHost {
    pub clock: Clock,
    pub epoll: OwnedFd,
    pub wheel: Wheel<Wake>,
    /// What the kernel said at once; handed to the population once it has returned.
    pub upcalls: VecDeque<Upcall>,
    pub samples: SampleSender,
    pub connects: u64,
    /// When something was last sent.
    pub last_sent: Instant,
    /// No wake is due before.
    quiet_until: Instant,
    target: SocketAddr,
    sources: Sources,
    /// Persistent connections must not wait for ACKs between requests; a lone request never does.
    no_delay: bool,
    sockets: Vec<Option<Socket>>,
    open: u64,
    /// Sockets that may be open at once: the run directory needs descriptors too.
    open_max: u64,
}

struct Socket {
    fd: OwnedFd,
    serial: u32,
    connecting: bool,
    /// The poll also tells when it can be written.
    polls_writable: bool,
    unsent: VecDeque<Bytes>,
    /// What the kernel said when nothing more could be sent. It says so once, and then of a reset only that there is
    /// nothing more to read, once that is so.
    broken: Option<Failure>,
    /// It waits for its next turn of being read.
    unread: bool,
}

/// Something that happened to a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Upcall {
    Connected(ConnectionKey, Instant),
    Failed(ConnectionKey, Failure),
    /// Nothing more can be sent, and what the server sent before is still to be read.
    Broken(ConnectionKey),
}

/// What a read gave.
pub(crate) enum Read {
    Bytes(usize),
    Nothing,
    Closed,
    Failed(Failure),
}

impl SocketsHost {
    pub fn new(
        clock: Clock,
        target: SocketAddr,
        sources: Sources,
        no_delay: bool,
        open_max: u64,
        samples: SampleSender,
    ) -> Result<SocketsHost, Errno> {
        Ok(SocketsHost {
            clock,
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            wheel: Wheel::new(),
            upcalls: VecDeque::new(),
            samples,
            connects: 0,
            last_sent: Instant::ZERO,
            quiet_until: Instant::ZERO,
            target,
            sources,
            no_delay,
            sockets: Vec::new(),
            open: 0,
            open_max,
        })
    }

    /// When the next wake is due; [`Instant::MAX`] if none is. [`may_be_due`](Self::may_be_due) goes by this from now on.
    pub fn look_ahead(&mut self) -> Instant {
        self.quiet_until = self.wheel.next_at().unwrap_or(Instant::MAX);
        self.quiet_until
    }

    /// False if no wake is due at `at` or before.
    pub fn may_be_due(&self, at: Instant) -> bool {
        self.quiet_until <= at
    }

    /// The connection that an event is about, unless it is gone.
    pub fn key_of(&self, data: u64) -> Option<ConnectionKey> {
        let key = ConnectionKey { slot: ConnectionSlot::new(data as u32), serial: (data >> 32) as u32 };
        self.find(key).map(|_| key)
    }

    /// True, once, if `key` was still connecting.
    pub fn take_connecting(&mut self, key: ConnectionKey) -> bool {
        self.find_mut(key).is_some_and(|socket| std::mem::take(&mut socket.connecting))
    }

    /// Notes whether `key` waits for its next turn of being read: true if that is news.
    pub fn note_unread(&mut self, key: ConnectionKey, unread: bool) -> bool {
        self.find_mut(key).is_some_and(|socket| std::mem::replace(&mut socket.unread, unread) != unread)
    }

    pub fn is_open(&self, key: ConnectionKey) -> bool {
        self.find(key).is_some()
    }

    /// Reads once into `buffer`.
    pub fn read(&self, key: ConnectionKey, buffer: &mut [u8]) -> Read {
        let Some(socket) = self.find(key) else { return Read::Nothing };
        match rustix::net::recv(&socket.fd, buffer, RecvFlags::empty()) {
            Ok((0, _)) => socket.broken.map_or(Read::Closed, Read::Failed),
            Ok((count, _)) => Read::Bytes(count),
            Err(Errno::AGAIN | Errno::INTR) => Read::Nothing,
            Err(errno) => Read::Failed(failure(errno)),
        }
    }

    /// The error that the kernel keeps for a connection.
    pub fn error(&self, key: ConnectionKey) -> Option<Failure> {
        let socket = self.find(key)?;
        match rustix::net::sockopt::socket_error(&socket.fd) {
            Ok(Err(errno)) | Err(errno) => Some(failure(errno)),
            Ok(Ok(())) => None,
        }
    }

    /// Sends what could not go before.
    pub fn flush(&mut self, key: ConnectionKey) {
        while let Some(bytes) = self.find_mut(key).and_then(|socket| socket.unsent.pop_front()) {
            if !self.write(key, &bytes) {
                return;
            }
        }
    }

    /// Writes `bytes`; keeps what does not go, in front of all that waits, and returns false.
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
        socket.unsent.push_front(bytes.slice(sent..));
        if !socket.polls_writable {
            socket.polls_writable = true;
            let interest = READABLE | EventFlags::OUT;
            if epoll::modify(&self.epoll, &socket.fd, data_of(key), interest).is_err() {
                self.upcalls.push_back(Upcall::Failed(key, Failure::NoDescriptor));
            }
        }
        false
    }

    fn begin(&mut self, key: ConnectionKey, user: u32) -> Result<Progress, Errno> {
        if self.open >= self.open_max {
            return Err(Errno::MFILE);
        }
        let (fd, progress) = begin_connect(&self.target, self.sources.address(user), self.no_delay)?;
        let connecting = progress == Progress::UnderWay;
        let interest = if connecting { READABLE | EventFlags::OUT } else { READABLE };
        epoll::add(&self.epoll, &fd, data_of(key), interest)?;
        let socket = Socket {
            fd,
            serial: key.serial,
            connecting,
            polls_writable: connecting,
            unsent: VecDeque::new(),
            broken: None,
            unread: false,
        };
        let slot = key.slot.index();
        if self.sockets.len() <= slot {
            self.sockets.resize_with(slot + 1, || None);
        }
        self.sockets[slot] = Some(socket);
        self.open += 1;
        Ok(progress)
    }

    fn find(&self, key: ConnectionKey) -> Option<&Socket> {
        self.sockets.get(key.slot.index())?.as_ref().filter(|socket| socket.serial == key.serial)
    }

    fn find_mut(&mut self, key: ConnectionKey) -> Option<&mut Socket> {
        self.sockets.get_mut(key.slot.index())?.as_mut().filter(|socket| socket.serial == key.serial)
    }

    fn forget(&mut self, key: ConnectionKey) {
        if self.find(key).is_some() {
            // Closing the descriptor also takes it out of the poll.
            self.sockets[key.slot.index()] = None;
            self.open -= 1;
        }
    }
}

impl Host for SocketsHost {
    fn connect(&mut self, key: ConnectionKey, user: u32) -> Instant {
        let begun = self.clock.now();
        self.connects += 1;
        match self.begin(key, user) {
            Ok(Progress::Connected) => self.upcalls.push_back(Upcall::Connected(key, self.clock.now())),
            Ok(Progress::UnderWay) => {}
            Err(errno) => self.upcalls.push_back(Upcall::Failed(key, failure(errno))),
        }
        begun
    }

    fn send(&mut self, key: ConnectionKey, bytes: &Bytes) -> Instant {
        let sent = self.clock.now();
        self.last_sent = sent;
        match self.find_mut(key) {
            Some(socket) if socket.broken.is_some() => {}
            Some(socket) if !socket.unsent.is_empty() => socket.unsent.push_back(bytes.clone()),
            Some(_) => {
                self.write(key, bytes);
            }
            None => {}
        }
        sent
    }

    fn close(&mut self, key: ConnectionKey) {
        self.forget(key);
    }

    /// A socket that has not heard from the server is closed without a packet: tcp(7) sends a RST only where
    /// the peer holds state.
    fn abandon(&mut self, key: ConnectionKey) {
        self.forget(key);
    }

    fn wake_at(&mut self, at: Instant, wake: Wake) {
        self.quiet_until = self.quiet_until.min(at);
        self.wheel.schedule(at, wake);
    }

    fn record(&mut self, sample: Sample) {
        self.samples.push(sample);
    }

    fn note(&mut self, note: Note) {
        self.samples.note(note);
    }
}

/// Edge-triggered, so that a connection is registered once for its life.
const READABLE: EventFlags = EventFlags::IN.union(EventFlags::RDHUP).union(EventFlags::ET);

fn data_of(key: ConnectionKey) -> EventData {
    EventData::new_u64((u64::from(key.serial) << 32) | u64::from(key.slot.get()))
}

fn failure(errno: Errno) -> Failure {
    match errno {
        Errno::CONNREFUSED => Failure::Refused,
        Errno::TIMEDOUT => Failure::ConnectTimedOut,
        Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS => Failure::NoDescriptor,
        Errno::ADDRNOTAVAIL | Errno::ADDRINUSE | Errno::AGAIN => Failure::NoAddress,
        Errno::CONNRESET | Errno::PIPE | Errno::NOTCONN => Failure::Reset,
        _ => Failure::Unreachable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_base::Duration;

    /// Between replies the clock is read for wakes only if one may be due, and no wake that is asked for meanwhile is missed.
    #[test]
    fn a_wake_may_be_due_from_when_it_was_asked_for() {
        let at = |ms| Instant::ZERO + Duration::from_ms(ms);
        let (out, _parcels) = SampleSender::channel(1);
        let (samples, _returns) = SampleSender::new(0, out);
        let target = SocketAddr::from(([127, 0, 0, 1], 80));
        let clock = Clock::starting_in(Duration::ZERO);
        let mut host = SocketsHost::new(clock, target, Sources::default(), true, 1, samples).unwrap();
        assert!(host.may_be_due(at(0)), "it has not looked yet");
        assert_eq!(host.look_ahead(), Instant::MAX);
        assert!(!host.may_be_due(at(1_000_000)));
        host.wake_at(at(9), Wake::Deadline);
        host.wake_at(at(5), Wake::Load { item: 0, turn: 0 });
        host.wake_at(at(7), Wake::Load { item: 0, turn: 0 });
        assert!(!host.may_be_due(at(4)) && host.may_be_due(at(5)));
        assert_eq!(host.look_ahead(), at(5));
        assert_eq!(host.wheel.pop_due(at(6)), Some((at(5), Wake::Load { item: 0, turn: 0 })));
        assert_eq!(host.look_ahead(), at(7));
        assert!(!host.may_be_due(at(6)));
    }
}
