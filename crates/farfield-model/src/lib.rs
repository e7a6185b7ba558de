//! A model of a web server in virtual time: TCP by passive open, a SYN backlog, an accept queue, workers,
//! HTTP/1 and HTTP/2; and QUIC with HTTP/3 where it has TLS.
//!
//! Segments, datagrams and alarms of known clients are handed to a [`ServerCore`], and taken out of it; a
//! [`TimedServer`] turns the wheel of its alarms itself. Networks and packets are for whoever has them. The
//! server's ends of HTTP/2, HTTP/3, QUIC and TLS are farfield-http's: they share frames and messages with the
//! clients' ends.
//!
//! The model covers what clients can feel: which SYNs are dropped, how long a connection waits to be
//! accepted, how long a request waits for a worker, how long it is served, and when a connection is closed.
//! Over TLS, a handshake waits for a worker and takes its time as a request does.
//! Not modelled: processor sharing, disks, memory.
//!
//! Queues overflow as Linux's do: a SYN finds the backlog or the accept queue full and is dropped; the last
//! ACK of a handshake finds the accept queue full and is dropped, too, so that the client believes in a
//! connection that the server does not have yet, and the SYN-ACK is sent again. A queue of `n` holds `n + 1`,
//! as Linux's does.
//!
//! Nothing on the path of a packet allocates once tables have grown: replies are slices of what is kept. A
//! segment of two pieces, such as a reply's head and body in HTTP/2, is put together by TCP; over TLS,
//! handshakes and records' headers allocate.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod connection;
mod connections;
pub mod convert;
mod core;
mod events;
mod fixed;
mod http;
mod http2;
mod listen;
mod objects;
mod output;
pub mod payload;
mod peers;
mod quic;
mod secure;
mod setup;
mod slots;
mod time_wait;
mod timed;
mod work;

pub use self::core::ServerCore;
pub use events::StreamedReply;
pub use fixed::FixedReply;
pub use objects::{ObjectCost, Objects};
pub use output::ServerAlarm;
pub use payload::{IpPayload, Tcp, Udp};
pub use timed::TimedServer;

use farfield_base::{Bytes, ClientId, Duration};
use farfield_http::http2::server::ServerSettings;
use farfield_http::tls::model::Terms;
use farfield_tcp::Config;
use farfield_traffic::Distribution;
use std::fmt::Debug;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;

/// The parameters of a server.
#[derive(Debug, Clone)]
pub struct ServerPlan {
    /// The configuration of its TCP.
    pub tcp: Arc<Config>,
    /// Handshakes that may be under way at once (`tcp_max_syn_backlog`); no SYN cookies.
    pub syn_backlog: u32,
    /// Connections that may wait to be accepted: the `backlog` of `listen`, or `somaxconn` if that is less.
    pub accept_queue: u32,
    /// Processes or event loops.
    pub workers: Workers,
    /// Seconds that a worker takes for a request, drawn from a stream of each request's own.
    pub service: Distribution,
    /// The longest wait of a connection for its next request; `None` closes after each reply, and
    /// [`Duration::MAX`] never.
    pub keep_alive: Option<Duration>,
    /// The longest wait of a process that closes first for the client to close as well, which keeps it from
    /// the next connection: Apache's lingering close. Not at all if zero; event loops never do.
    pub linger: Duration,
    /// Requests after which a connection is closed.
    pub requests_max: Option<NonZeroU32>,
    /// Objects whose sizes are known, and replies that are fixed; every other path gets a reply of the size
    /// that `reply` draws.
    pub objects: Arc<Objects>,
    /// Bytes of the body of a reply, drawn from a stream of each request's own.
    pub reply: Distribution,
    /// Events of which the reply to every other path consists, over HTTP/1, in place of such a body.
    pub events: Option<StreamedReply>,
    /// Bytes of a reply that TCP holds unacknowledged at most before more is written (`SO_SNDBUF`).
    pub send_buffer: u32,
    /// TLS of its connections; absent where the scheme is http.
    pub tls: Option<Arc<Terms>>,
    /// Settings for clients that speak HTTP/2.
    pub streams: ServerSettings,
}

/// Workers that serve requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workers {
    /// Processes that each hold one connection from its acceptance until it is closed, waits for further
    /// requests included: Apache's prefork.
    Processes(NonZeroU32),
    /// Event loops that hold a request only while they serve it, first come, first served, and accept
    /// whatever waits whenever they are free: nginx.
    Events(NonZeroU32),
}

impl ServerPlan {
    /// A server of `workers` event loops that takes no time to serve, with Linux's TCP and limits.
    pub fn events(workers: NonZeroU32) -> ServerPlan {
        ServerPlan {
            tcp: Arc::new(Config::linux()),
            syn_backlog: 4096,
            accept_queue: 4096,
            workers: Workers::Events(workers),
            service: Duration::ZERO.into(),
            keep_alive: Some(Duration::from_secs(75)),
            linger: Duration::ZERO,
            requests_max: None,
            objects: Arc::default(),
            reply: Bytes(1024).into(),
            events: None,
            send_buffer: 256 * 1024,
            tls: None,
            streams: ServerSettings::default(),
        }
    }

    /// A server of `workers` processes, one connection each, and Apache's 5 s of keep-alive.
    pub fn processes(workers: NonZeroU32) -> ServerPlan {
        let (workers, keep_alive) = (Workers::Processes(workers), Some(Duration::from_secs(5)));
        ServerPlan { workers, keep_alive, accept_queue: 511, ..ServerPlan::events(NonZeroU32::MIN) }
    }
}

/// Counters of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ServerCounters {
    /// Segments with SYN alone that came for no connection.
    pub syns: u64,
    /// Segments with SYN alone that were dropped for want of room.
    pub syns_dropped: u64,
    /// Last ACKs of handshakes that found the accept queue full and were dropped.
    pub accept_overflows: u64,
    /// Connections that were established.
    pub established: u64,
    /// Connections that were accepted.
    pub accepted: u64,
    /// Handshakes of TLS that were answered in full.
    pub handshakes_full: u64,
    /// Handshakes of TLS that were answered by resuming a session.
    pub handshakes_resumed: u64,
    /// Requests read.
    pub requests: u64,
    /// Replies written to their end.
    pub replies: u64,
    /// Connections closed for want of a further request in time.
    pub idle_closes: u64,
    /// The most connections that waited to be accepted.
    pub accept_queue_most: u32,
    /// The most connections open at once, those in TIME-WAIT not counted.
    pub connections_most: u32,
    /// Time that workers served and shook hands, altogether.
    pub busy: Duration,
    /// Packets received.
    pub packets_in: u64,
    /// Packets sent.
    pub packets_out: u64,
}

/// The clients of a server, as it knows them: by number, with an address each.
pub trait ClientAddresses: Debug + Send + Sync {
    /// Clients that there are; their numbers are below it.
    fn count(&self) -> usize;

    /// The address of a client.
    fn address_of(&self, client: ClientId) -> IpAddr;

    /// The client at an address; `None` for a stranger's.
    fn client_at(&self, address: IpAddr) -> Option<ClientId>;
}
