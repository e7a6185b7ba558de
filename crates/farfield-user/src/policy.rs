//! Connection policies: how many a user opens at once, and how often it uses each.

use crate::proxy::Proxy;
use farfield_base::UnixAddress;
use farfield_base::{Bytes, Duration};
use farfield_http::http1::Limits;
use serde::{Deserialize, Serialize};
use std::num::{NonZeroU16, NonZeroU32};

/// Reuse of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reuse {
    /// One request a connection, as HTTP/1.0 had it: the request says `Connection: close`.
    OneRequest,
    /// Requests follow each other on a connection until the server or a limit ends it.
    #[default]
    Persistent,
    /// Persistent within a page; the client closes once the page is complete (early close, Liu et al. 1999).
    EarlyClose,
    /// Persistent, with up to `pipeline-depth` requests sent ahead of their replies (RFC 9112 section 9.3.2).
    /// A user whose pages hold one object asks for that many pages at a time.
    Pipelined,
    /// Pipelined within a page; the client closes once the page is complete: HTTP/1.1 with early close as Liu
    /// et al. 1999 compare it, section 5.3.
    PipelinedEarlyClose,
    /// Persistent, over HTTP/2, with up to `streams` requests at once on a connection. A user whose pages
    /// hold one object asks for that many pages at a time.
    Multiplexed,
    /// Persistent, and shared: a connection on which nothing is asked is any user's of the same machine, up
    /// to `pool-idle` of them for `pool-keep-alive` (Java's HttpURLConnection).
    SharedPool,
}

impl Reuse {
    /// True if requests are sent ahead of the replies before them.
    pub fn pipelines(self) -> bool {
        matches!(self, Reuse::Pipelined | Reuse::PipelinedEarlyClose)
    }

    /// True if the client closes its connections once a page is complete.
    pub fn closes_early(self) -> bool {
        matches!(self, Reuse::EarlyClose | Reuse::PipelinedEarlyClose)
    }
}

/// Choice among the addresses of the server's name for connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Addresses {
    /// The one that answers first before the run (RFC 8305).
    #[default]
    First,
    /// All of them, in turn.
    All,
    /// The first of those that the name has when a connection is opened: it is resolved again during the
    /// run.
    EachConnection,
}

/// The connection policy of a class of users.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Policy {
    /// Reuse of connections.
    pub policy: Reuse,
    /// Connections a user opens at most at once (browsers use 6).
    pub parallel: NonZeroU16,
    /// Requests on the way at most on one connection; matters to the pipelined policies alone.
    pub pipeline_depth: NonZeroU16,
    /// Requests on the way at most on one connection of HTTP/2, if the server allows as many; browsers send
    /// up to 100.
    pub streams: NonZeroU16,
    /// Idle connections that a machine keeps for its users at most; matters to a shared pool alone.
    pub pool_idle: u16,
    /// The time after which an idle connection of a shared pool is closed.
    pub pool_keep_alive: Duration,
    /// Requests after which the client closes a connection; unlimited if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_connection: Option<NonZeroU32>,
    /// From beginning to connect, or from sending, to the last byte; after that the connection is closed. If
    /// absent, what the length of the run calls for, or [`Policy::REQUEST_TIMEOUT_MAX`] where that is not
    /// known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_timeout: Option<Duration>,
    /// T of the S-Client (Banga and Druschel 1999, section 4.2) for loads other than overload: an attempt to
    /// connect that is not answered by then is dropped without a word. If absent, the kernel's schedule of
    /// SYNs goes on until the request's time limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub abandon_after: Option<Duration>,
    /// The longest that the content of a request with `Expect: 100-continue` waits for the server's word.
    pub expect_timeout: Duration,
    /// The pause of a user after a connection that failed. Without it a dead server would
    /// be met with a storm of attempts that no user would make.
    pub pause_after_failure: Duration,
    /// Choice among the addresses of the server's name. The plane sees to it; users do not know.
    pub addresses: Addresses,
    /// Time after which the name is resolved again, where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolve_every: Option<Duration>,
    /// The Unix socket that connections go to in place of the target's host and port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unix_socket: Option<UnixAddress>,
    /// The proxy that connections go to, `http://[user:password@]host:port`: it is asked for what is of
    /// http in absolute form, and for a tunnel (CONNECT) to what is of https.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<Proxy>,
    /// Bytes of a reply's head at most, with those of interim heads before it; also of a chunk's line and of
    /// trailers.
    pub head_limit: Bytes,
    /// Fields of a head at most.
    pub head_fields: NonZeroU16,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            policy: Reuse::default(),
            parallel: NonZeroU16::MIN,
            pipeline_depth: NonZeroU16::new(8).expect("8 is not 0"),
            streams: NonZeroU16::new(100).expect("100 is not 0"),
            pool_idle: 5,
            pool_keep_alive: Duration::from_secs(5),
            requests_per_connection: None,
            request_timeout: None,
            abandon_after: None,
            expect_timeout: Duration::from_secs(1),
            pause_after_failure: Duration::from_ms(100),
            addresses: Addresses::default(),
            resolve_every: None,
            unix_socket: None,
            proxy: None,
            head_limit: Bytes(u64::from(Limits::default().head_bytes)),
            head_fields: NonZeroU16::new(Limits::default().head_fields).expect("it is not 0"),
        }
    }
}

impl Policy {
    /// Time after which a name is resolved again where the scenario does not say.
    pub const RESOLVE_EVERY: Duration = Duration::from_secs(5);
    /// The longest that a user waits for a reply where the scenario does not say.
    pub const REQUEST_TIMEOUT_MAX: Duration = Duration::from_secs(30);
    /// The shortest such time: a slow reply is not to be taken for none.
    pub const REQUEST_TIMEOUT_MIN: Duration = Duration::from_secs(5);

    /// The time limit of a request where the scenario does not say, for a run that measures for `duration`:
    /// as long as that, so that a server which hangs is found out in the run, from 5 to 30 s.
    pub fn request_timeout_for(duration: Duration) -> Duration {
        duration.clamp(Policy::REQUEST_TIMEOUT_MIN, Policy::REQUEST_TIMEOUT_MAX)
    }

    /// True if datagrams reach the server: the alternatives that a server names (Alt-Svc) are tried.
    pub fn carries_datagrams(&self) -> bool {
        self.unix_socket.is_none() && self.proxy.is_none()
    }

    /// The time limit of a request.
    pub fn request_timeout(&self) -> Duration {
        self.request_timeout.unwrap_or(Policy::REQUEST_TIMEOUT_MAX)
    }

    /// Requests that a connection carries at most.
    pub fn requests_max(&self) -> u32 {
        match self.policy {
            Reuse::OneRequest => 1,
            _ => self.requests_per_connection.map_or(u32::MAX, NonZeroU32::get),
        }
    }

    /// Requests on the way at most on one connection of HTTP/1.
    pub fn depth(&self) -> usize {
        if self.policy.pipelines() { usize::from(self.pipeline_depth.get()) } else { 1 }
    }

    /// The limits of a reply.
    pub fn limits(&self) -> Limits {
        Limits {
            head_bytes: u32::try_from(self.head_limit.0).unwrap_or(u32::MAX),
            head_fields: self.head_fields.get(),
            ..Limits::default()
        }
    }
}
