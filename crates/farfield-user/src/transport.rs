//! The interface between users and the plane that carries them.

use crate::slots::{ConnectionSlot, FlowNumber, UserSlot};
use bytes::Bytes;
use farfield_base::{Detail, Ending, HostNumber, Instant, Note, Outcome, Rule, Sample, TcpStats};
use std::net::SocketAddr;

/// The key by which a transport knows a connection of a population.
///
/// Slots are used again; the serial is not, so what arrives late for a connection that is gone is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionKey {
    /// The place in the population's table, dense from 0.
    pub slot: ConnectionSlot,
    /// The number of the connection, unique over the run's workers.
    pub serial: u32,
}

/// The reason that a population asked to be woken for. Wakes are not cancelled: one that is stale does
/// nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// Load is due that the model of load scheduled: an arrival, or an attempt to connect.
    Load {
        /// The source of the load as the model numbers it, such as an S-Client's descriptor.
        item: u32,
        /// Distinguishes the wake from those for earlier load of the item, which are stale.
        turn: u32,
    },
    /// A user of a closed load begins.
    Start {
        /// The user's number among the users of the whole run.
        user: u32,
    },
    /// A user's think time is over.
    Think {
        /// The user's slot.
        slot: UserSlot,
        /// The user's turn when it began to think.
        turn: u32,
    },
    /// An active OFF time inside a user's page is over.
    Off {
        /// The user's slot.
        slot: UserSlot,
        /// The user's turn when the time began.
        turn: u32,
    },
    /// A user waits no longer after a failure.
    Resume {
        /// The user's slot.
        slot: UserSlot,
        /// The user's turn when it failed.
        turn: u32,
    },
    /// The oldest request on its way of a flow may have come to its time limit.
    Deadline(FlowNumber),
    /// The oldest attempt to connect of a flow may have gone unanswered for too long.
    Unanswered(FlowNumber),
    /// The connection of a flow that has been idle in a pool for longest may have come to its end.
    Idle(FlowNumber),
    /// A timer of the QUIC connection may have come to its end.
    Quic(ConnectionKey),
    /// An attempt at HTTP/3 has taken long, if it is not over.
    Alternative(ConnectionKey),
    /// Users may have stayed with streams on the connection for as long as they do.
    Leave(ConnectionKey),
    /// Content may have waited for the server's word for as long as it is to.
    Continue(ConnectionKey),
}

impl Wake {
    /// True if load was due at this wake, which a worker that is far behind may put aside.
    pub fn begins_load(self) -> bool {
        matches!(self, Wake::Load { .. } | Wake::Think { .. } | Wake::Off { .. })
    }

    /// True if what a user does at this wake was due then: its lateness is the generator's own. Users of a
    /// closed load begin all the same, however late: they are never put aside as [load](Self::begins_load)
    /// is.
    pub fn is_scheduled(self) -> bool {
        self.begins_load() || matches!(self, Wake::Start { .. } | Wake::Resume { .. })
    }
}

/// The end of a connection, or of the attempt at one, other than by a FIN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// RST to the SYN.
    Refused,
    /// The transport gave up connecting.
    ConnectTimedOut,
    /// No route, or an ICMP error.
    Unreachable,
    /// RST on an established connection.
    Reset,
    /// The client left the network that the connection was on.
    NetworkChanged,
    /// No descriptor was left.
    NoDescriptor,
    /// No local address or port was left.
    NoAddress,
    /// As many connections wait at a Unix socket as may.
    BacklogFull,
    /// There is no Unix socket at the path, or under the name.
    NoSocket,
    /// The user that farfield runs as may not connect to the Unix socket.
    NotAllowed,
}

impl Failure {
    /// The outcome of the requests that this failure ended.
    pub fn outcome(self) -> Outcome {
        match self {
            Failure::Refused | Failure::BacklogFull | Failure::NoSocket => Outcome::ConnectRefused,
            Failure::ConnectTimedOut => Outcome::ConnectTimedOut,
            Failure::Unreachable | Failure::NotAllowed => Outcome::Unreachable,
            Failure::Reset => Outcome::Reset,
            Failure::NetworkChanged => Outcome::NetworkChanged,
            Failure::NoDescriptor => Outcome::NoDescriptor,
            Failure::NoAddress => Outcome::NoAddress,
        }
    }

    /// The ending of the requests that this failure ended.
    pub(crate) fn ending(self) -> Ending {
        let wrong = match self {
            Failure::BacklogFull => "as many connections wait at the Unix socket as its server lets (EAGAIN)",
            Failure::NoSocket => "there is no Unix socket there (ENOENT)",
            Failure::NotAllowed => "this user may not connect to the Unix socket (EACCES)",
            _ => return self.outcome().into(),
        };
        Ending::because(self.outcome(), Detail::broken(Rule::new(wrong, "")))
    }
}

/// Datagrams of one connection, which leave together: all have `segment_bytes` bytes, but for the last, which
/// may have fewer (generic segmentation offload).
#[derive(Debug, Clone, Copy)]
pub struct Datagrams<'a> {
    /// The codepoint of the IP header's ECN field, 0 to 3 (RFC 3168 section 5).
    pub ecn: u8,
    /// Bytes of each datagram, at least one.
    pub segment_bytes: usize,
    /// The datagrams, one behind another. The transport may keep a handle.
    pub bytes: &'a Bytes,
}

/// Bytes of a connection on their way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backlog {
    /// All that were ever handed to the transport.
    pub handed: u64,
    /// Bytes, the last of those handed, that the transport keeps, since they cannot go yet: the server or the
    /// path does not take them. What a kernel keeps has bounds of its own, and is none of these.
    pub kept: u64,
}

/// The plane, seen from a population. No call re-enters the population: what follows from one is handed in
/// later by `handle_*`.
pub trait Transport {
    /// Begins to connect to `host`, as client `user` (which chooses the source address), and returns when
    /// that was.
    fn connect(&mut self, connection: ConnectionKey, user: u32, host: HostNumber) -> Instant;

    /// Hands all of `bytes` to the transport, which keeps what cannot go at once, and returns when that was.
    fn send(&mut self, connection: ConnectionKey, bytes: &Bytes) -> Instant;

    /// Bytes that were [sent](Self::send) on the connection, and those of them that the transport keeps. A
    /// transport that keeps nothing may leave this out.
    fn backlog(&self, _connection: ConnectionKey) -> Backlog {
        Backlog::default()
    }

    /// True if what the transport [keeps](Self::backlog) of a connection leaves all the same once that is
    /// [closed](Self::close).
    fn sends_after_close(&self) -> bool {
        true
    }

    /// Opens a socket for datagrams to a host (UDP), as client `user`, and returns when that was: `to` its
    /// port, which it reaches, or the one that connections have if that is absent.
    /// There is no handshake to wait for: datagrams can be sent at once, and what comes back is handed in
    /// with [`handle_datagrams`](crate::Population::handle_datagrams). An error that ICMP reports for the
    /// socket is handed in as a failure: port unreachable as [`Failure::Refused`], all others as
    /// [`Failure::Unreachable`]. [`close`](Self::close) and [`abandon`](Self::abandon) close it, and send
    /// nothing.
    ///
    /// Planes that carry no datagrams refuse HTTP/3 before the run, and need not have this.
    fn open_datagrams(
        &mut self,
        _connection: ConnectionKey,
        _user: u32,
        _to: (HostNumber, Option<u16>),
    ) -> Instant {
        unreachable!("HTTP/3 is refused on a plane that carries no datagrams")
    }

    /// Sends `datagrams` on a socket that [`open_datagrams`](Self::open_datagrams) opened, as far as they can
    /// go at once, and returns when that was. Those that cannot are lost, as on a path.
    fn send_datagrams(&mut self, _connection: ConnectionKey, _datagrams: Datagrams<'_>) -> Instant {
        unreachable!("HTTP/3 is refused on a plane that carries no datagrams")
    }

    /// Closes in good order. Nothing more is heard of the connection.
    fn close(&mut self, connection: ConnectionKey);

    /// Drops an attempt to connect without a word to the server, or a connection with all that waits on it.
    fn abandon(&mut self, connection: ConnectionKey);

    /// Schedules `wake` at `at`: it is handed in then, or as soon after as can be.
    fn wake_at(&mut self, at: Instant, wake: Wake);

    /// The machine that user `user` acts on, by a number of the transport's: users of one machine may share
    /// connections. By default all act on one.
    fn machine_of(&self, _user: u32) -> u32 {
        0
    }

    /// The server of the connection, where connections go to several: the failures of one are not
    /// those of another.
    fn server_of(&self, _connection: ConnectionKey) -> Option<SocketAddr> {
        None
    }

    /// TCP statistics of the connection so far, where the plane has them. Asked for while the connection is
    /// still the user's, or when its failure is handed in.
    fn tcp_stats(&self, _connection: ConnectionKey) -> Option<TcpStats> {
        None
    }

    /// Takes the sample of a request that is over.
    fn record(&mut self, sample: Sample);

    /// Takes a note of what happened in a session.
    fn note(&mut self, _note: Note) {}
}
