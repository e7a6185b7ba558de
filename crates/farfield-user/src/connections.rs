//! The connections of one shard, and what they have in common: the policy, the clients that they are opened
//! with, what reads replies on them and what sends.
//!
//! Their traffic is in the modules `streams`, `quic`, `secure`, `early` and `tunnel`; the choice of a
//! connection for a request, in `dispatch`.

use crate::book::HttpVersion;
use crate::buffers::Buffers;
use crate::connection::{Connection, State};
use crate::event_policy::EventPolicy;
use crate::plan::Share;
use crate::policy::{Policy, Reuse};
use crate::pool::Pools;
use crate::protocol::Reading;
use crate::slots::{DescriptorSlot, UserSlot};
use crate::table::Table;
use crate::transport::ConnectionKey;
use crate::user::User;
use bytes::Bytes;
use farfield_base::Instant;
use farfield_base::random::Seed;
use farfield_http::http1::{KnownHead, Limits};
use farfield_http::http2::Heads;
use farfield_http::{quic, tls};
use std::collections::VecDeque;
use std::sync::Arc;

/// The connections of one shard.
#[derive(Debug)]
pub(crate) struct Connections {
    pub table: Table,
    pub policy: Policy,
    pub events: EventPolicy,
    /// The version of HTTP that users speak.
    pub version: HttpVersion,
    pub clients: Clients,
    pub readers: Readers,
    pub buffers: Buffers,
    /// Idle connections that belong to no user, where users share connections.
    pub pools: Option<Pools>,
    /// The connection whose replies are being read: what they lead to on it leaves together, behind the last.
    pub reading: Option<ConnectionKey>,
    /// Attempts to connect that are dropped if still unanswered at the instant, the oldest first.
    pub unanswered: VecDeque<(Instant, ConnectionKey)>,
    /// The number of the next connection, and the distance to the one behind it.
    serials: (u32, u32),
    requests_sent: u64,
    is_deadline_armed: bool,
}

/// Clients of TLS, HTTP/3 and proxies that connections are opened with.
#[derive(Debug)]
pub(crate) struct Clients {
    /// Of connections of TCP; absent where the scheme is http.
    pub tls: Option<tls::Client>,
    /// Of the connections of users who may speak HTTP/3.
    pub http3: Option<quic::Client>,
    /// The request for a tunnel through a proxy, where there is one to go through.
    pub tunnel: Option<Bytes>,
}

/// Limits and buffers that replies are read with.
#[derive(Debug)]
pub(crate) struct Readers {
    pub limits: Limits,
    /// Buffers for heads of replies on streams.
    pub heads: Heads,
    /// Buffer for plaintext on its way to a reader.
    pub plain: Vec<u8>,
    known_head: KnownHead,
}

impl Readers {
    /// Means of reading for a connection's protocol, whose bytes come out of a session of TLS or not.
    pub fn reading(&mut self, over_tls: bool) -> Reading<'_> {
        let Readers { limits, heads, known_head, .. } = self;
        Reading { known_head, heads, limits, over_tls }
    }
}

impl Clients {
    fn of(plan: &Share) -> Clients {
        let version = plan.itinerary.version();
        let tls = plan.tls.as_ref();
        let tunnel = plan.policy.proxy.as_ref().filter(|_| tls.is_some() || !version.has_absolute_form());
        let carries_quic = version == HttpVersion::Http3 || plan.policy.carries_datagrams();
        Clients {
            tunnel: tunnel.map(|proxy| proxy.tunnel_request(plan.itinerary.host(), tls.is_some()).into()),
            http3: quic_client(version, tls, plan.seed, plan.worker).filter(|_| carries_quic),
            tls: tls.filter(|_| version != HttpVersion::Http3).map(tls::Client::new),
        }
    }

    /// Forgets the tickets of user `user`.
    pub fn forget(&self, user: u32) {
        if let Some(client) = &self.tls {
            client.forget(user);
        }
        if let Some(client) = &self.http3 {
            client.forget(user);
        }
    }
}

/// The client of HTTP/3, whose handshakes are those of `tls`, where the version may be that.
///
/// # Panics
/// If it must be HTTP/3, without TLS, which whoever makes the plan checks. Without cryptography the numbers
/// of QUIC follow from the run's seed and the worker's number.
fn quic_client(
    version: HttpVersion,
    tls: Option<&tls::Sessions>,
    seed: Seed,
    worker: u32,
) -> Option<quic::Client> {
    match (version, tls) {
        (HttpVersion::Http3, Some(tls::Sessions::Encrypted(settings))) => Some(quic::Client::new(settings)),
        (HttpVersion::Http3, Some(tls::Sessions::Modelled(offer))) => {
            let mut bytes = [0; quic::SEED_BYTES];
            bytes[..8].copy_from_slice(&seed.0.to_le_bytes());
            bytes[8..12].copy_from_slice(&worker.to_le_bytes());
            Some(quic::Client::modelled(Arc::clone(offer), bytes))
        }
        (HttpVersion::Http3, None) => unreachable!("HTTP/3 is refused without TLS"),
        // QUIC has TLS 1.3 alone (RFC 9001 section 4.2).
        (HttpVersion::Auto, Some(tls::Sessions::Encrypted(settings))) if settings.offers_tls13() => {
            Some(quic::Client::new(settings))
        }
        _ => None,
    }
}

impl Connections {
    /// No connections as yet of a `plan` whose users make one request each, on a connection of its own, or
    /// not.
    pub fn of(plan: &Share, is_single: bool) -> Connections {
        let policy = plan.policy.clone();
        let readers = Readers {
            limits: policy.limits(),
            heads: Heads::default(),
            plain: Vec::new(),
            known_head: KnownHead::new(),
        };
        Connections {
            table: Table::new(),
            version: plan.itinerary.version(),
            clients: Clients::of(plan),
            readers,
            buffers: Buffers::default(),
            pools: (policy.policy == Reuse::SharedPool && !is_single).then(Pools::default),
            reading: None,
            unanswered: VecDeque::new(),
            serials: plan.serials,
            requests_sent: 0,
            is_deadline_armed: false,
            events: plan.events,
            policy,
        }
    }

    /// A connection of a user's that is to be opened, with the next number of this worker's.
    pub fn next(&mut self, user: UserSlot, descriptor: Option<DescriptorSlot>) -> Connection {
        let (serial, distance) = self.serials;
        self.serials.0 = serial.wrapping_add(distance);
        Connection::new(serial, user, descriptor)
    }

    /// Requests that were sent, or were ready to be sent on a stream, over the whole run.
    pub fn requests_sent(&self) -> u64 {
        self.requests_sent
    }

    /// Counts a request that is sent, or is ready to be sent on a stream.
    pub fn count_sent(&mut self) {
        self.requests_sent += 1;
    }

    /// True if `key` still tries to connect.
    pub fn is_connecting(&mut self, key: ConnectionKey) -> bool {
        let is_early = |state| matches!(state, State::Connecting | State::Tunnelling);
        self.table.find(key).is_some_and(|connection| is_early(connection.state))
    }

    /// Connections that the user may have at once: one, as long as it may have streams, where the version is
    /// as browsers choose it.
    pub fn parallel(&self, user: &User) -> usize {
        let speaks_http1 = || user.profile.as_ref().and_then(|own| own.multiplexes) == Some(false);
        match self.version == HttpVersion::Auto && !speaks_http1() {
            true => 1,
            false => usize::from(self.policy.parallel.get()),
        }
    }

    /// Requests on the way at most on one connection.
    pub fn depth(&self, connection: &Connection) -> usize {
        if connection.has_streams() { usize::from(self.policy.streams.get()) } else { self.policy.depth() }
    }

    /// Requests on the way at most on a connection of the version that users speak, or may.
    pub fn depth_at_most(&self) -> usize {
        match self.version.may_have_streams() {
            true => usize::from(self.policy.streams.get()),
            false => self.policy.depth(),
        }
    }

    /// True if users look for alternatives in replies.
    pub fn looks_for_alternatives(&self) -> bool {
        self.version == HttpVersion::Auto && self.clients.http3.is_some()
    }

    /// Makes sure that a wake for the first time limit is on its way; whether none was.
    pub fn arm_deadline(&mut self) -> bool {
        !std::mem::replace(&mut self.is_deadline_armed, true)
    }

    /// The wake for the first time limit has come.
    pub fn disarm_deadline(&mut self) {
        self.is_deadline_armed = false;
    }

    /// The peer has closed its side behind the bytes that are handed in next: nothing more is asked on the
    /// connection.
    pub fn note_ending(&mut self, key: ConnectionKey) {
        if let Some(connection) = self.table.find(key) {
            connection.ending = true;
        }
    }
}
