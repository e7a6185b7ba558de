//! One connection of a user: its state, and the requests on it that wait for replies.

use crate::answers::Answers;
use crate::any_protocol::AnyProtocol;
use crate::exchange::{Exchange, Job};
use crate::expect::Withheld;
use crate::pool::Idle;
use crate::progress::ReplyProgress;
use crate::slots::{ConnectionSlot, DescriptorSlot, UserSlot};
use farfield_base::{
    HostNumber, HttpStats, Instant, Outcome, Sample, SpokenVersion, Stamp, TcpStats, TlsStats,
};
use farfield_http::http1::{Answering, Reply};
use farfield_http::tls::Session;
use smallvec::SmallVec;

/// A place in the list of time limits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Link {
    pub listed: bool,
    /// The limit counts from here.
    pub from: Instant,
    pub before: Option<ConnectionSlot>,
    pub after: Option<ConnectionSlot>,
}

impl Link {
    pub const OUT: Link = Link { listed: false, from: Instant::ZERO, before: None, after: None };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectionState {
    Connecting,
    /// Established with a proxy, which is asked for a tunnel.
    Tunnelling,
    /// Established, and in the handshake of TLS.
    Securing,
    /// Requests can be sent.
    Open,
}

/// State of an attempt at HTTP/3 whose handshake is not over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// Requests wait for it.
    Ahead,
    /// Requests went over TCP instead.
    Overtaken,
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub serial: u32,
    pub user: UserSlot,
    /// The host that it leads to.
    pub host: HostNumber,
    /// The descriptor of an S-Client that waits for the connection.
    pub descriptor: Option<DescriptorSlot>,
    pub state: ConnectionState,
    /// Stay of the connection in a pool, while it is no user's.
    pub idle: Option<Idle>,
    /// The version of HTTP that is spoken on it, once that is known.
    pub spoken: Option<SpokenVersion>,
    /// True if the connection is opened for a request that has it upgraded to a WebSocket.
    pub upgrades: bool,
    /// Attempt at HTTP/3 that an alternative led to, until its handshake is over.
    pub attempt: Option<Attempt>,
    /// The server has closed its side: what has come of it is read, and nothing more is asked.
    pub ending: bool,
    /// The server floods it: it is dropped with all that waits to be sent, since to hand that over in good
    /// order could take for ever.
    pub flooded: bool,
    pub connect_begun: Instant,
    pub connected: Stamp,
    /// The session between the transport's bytes and the reader, where the scheme is https.
    pub tls: Option<Session>,
    /// The session's handshake, once it is over.
    pub secured: Option<TlsStats>,
    /// TCP statistics of the connection, once it is given up.
    pub tcp: Option<TcpStats>,
    /// Requests bound to this connection so far.
    pub requests: u32,
    /// Replies that came over it, whole.
    pub answered: u32,
    /// All of these were sent again: it was opened for such a one, and the others may follow on it.
    pub repeats: bool,
    /// Protocol of its requests and replies.
    pub protocol: AnyProtocol,
    /// Answers to the server's frames and records on their way out.
    pub answers: Answers,
    /// Content of the request that was sent last, which waits for the server's word.
    pub withheld: Option<Box<Withheld>>,
    /// In the order of their sending; over HTTP/1 this is the order of the replies (RFC 9112 section 9.3.2).
    pub in_flight: SmallVec<[Exchange; 1]>,
    /// Place among the connections that a time limit runs on.
    pub limit: Link,
    /// Place among the connections whose requests have limits of their own; see
    /// [`ConnectionSlots`](crate::table::ConnectionSlots).
    pub watched: Option<Instant>,
}

impl Connection {
    pub fn new(
        serial: u32,
        (user, host): (UserSlot, HostNumber),
        descriptor: Option<DescriptorSlot>,
    ) -> Connection {
        Connection {
            serial,
            user,
            host,
            descriptor,
            state: ConnectionState::Connecting,
            idle: None,
            spoken: None,
            upgrades: false,
            attempt: None,
            ending: false,
            flooded: false,
            connect_begun: Instant::ZERO,
            connected: Stamp::NEVER,
            tls: None,
            secured: None,
            tcp: None,
            requests: 0,
            answered: 0,
            repeats: true,
            protocol: AnyProtocol::default(),
            answers: Answers::default(),
            withheld: None,
            in_flight: SmallVec::new(),
            limit: Link::OUT,
            watched: None,
        }
    }

    /// Binds a request to the connection.
    pub fn bind(&mut self, job: Job, answering: Answering) {
        let number = self.requests;
        self.requests += 1;
        self.repeats &= job.again;
        let (sent, first_byte) = (Stamp::NEVER, Stamp::NEVER);
        let progress = ReplyProgress::NONE;
        self.in_flight.push(Exchange {
            job,
            sent,
            first_byte,
            processed: false,
            number,
            answering,
            progress,
            came: Stamp::NEVER,
        });
    }

    /// True if nothing of a reply to `exchange` came, so that it may be sent again elsewhere: the connection
    /// had been used before, and the server may have closed it before the request arrived (RFC 9112 section
    /// 9.3.1). Over HTTP/1 that is a request that is not the first. Among streams the order says nothing,
    /// and all are treated alike: the connection has been used once a reply came over it (RFC 9110 section
    /// 9.2.2).
    pub fn may_repeat(&self, exchange: &Exchange) -> bool {
        let is_used = if self.has_streams() { self.answered > 0 } else { exchange.number > 0 };
        let is_unanswered = exchange.first_byte == Stamp::NEVER && !exchange.processed;
        is_used && is_unanswered && !exchange.job.again
    }

    /// True if its requests are on streams: of HTTP/2 once it is open, of HTTP/3 from the beginning.
    pub fn has_streams(&self) -> bool {
        self.protocol.has_streams()
    }

    /// True if it is one of QUIC.
    pub fn is_over_quic(&self) -> bool {
        self.spoken.is_some_and(SpokenVersion::is_over_quic)
    }

    /// The reply to `exchange`, as far as it came.
    fn so_far(&self, exchange: &Exchange) -> Option<Reply> {
        if self.state == ConnectionState::Tunnelling {
            return None;
        }
        self.protocol.so_far(&self.in_flight, exchange.number)
    }

    /// The sample of an `exchange` that ended with `outcome` before its reply did, with what came of that.
    pub fn sample_unfinished(
        &self,
        exchange: &Exchange,
        user: u32,
        done: Instant,
        outcome: Outcome,
    ) -> Sample {
        let done = exchange.end_at(done);
        let mut exchange = *exchange;
        exchange.progress.give_up(done);
        let exchange = &exchange;
        let mut sample = Sample { outcome, ..self.sample(exchange, user, done) };
        if let Some(so_far) = self.so_far(exchange) {
            (sample.status, sample.body_bytes) = (so_far.status, so_far.body_bytes);
            sample.reply_bytes = so_far.reply_bytes;
        }
        sample
    }

    /// The version of HTTP of `exchange`, and its stream, at `now`.
    fn http_of(&self, exchange: &Exchange, now: Instant) -> HttpStats {
        let version = || self.spoken.filter(|_| self.state == ConnectionState::Open).map(HttpStats::of);
        self.protocol.stats(exchange.number, now).or_else(version).unwrap_or(HttpStats::UNKNOWN)
    }

    /// The sample of `exchange`, with the connect times if it had this connection opened.
    pub fn sample(&self, exchange: &Exchange, user: u32, done: Instant) -> Sample {
        // An attempt at HTTP/3 may have been begun for a request that went over TCP, and be used by a later
        // one.
        let first = exchange.number == 0 && self.connect_begun >= exchange.job.due;
        Sample {
            due: exchange.job.due,
            connect_begun: if first { Stamp::at(self.connect_begun) } else { Stamp::NEVER },
            connected: if first { self.connected } else { Stamp::NEVER },
            sent: exchange.sent,
            first_byte: exchange.first_byte,
            done,
            user,
            host: self.host,
            connection: self.serial,
            number: exchange.number,
            request: exchange.job.request,
            outcome: Outcome::Ok,
            tcp: self.tcp,
            tls: if first { self.secured } else { None },
            http: self.http_of(exchange, done),
            longest_gap: exchange.progress.longest_gap(),
            events: exchange.progress.events(),
            ..Sample::EMPTY
        }
    }
}
