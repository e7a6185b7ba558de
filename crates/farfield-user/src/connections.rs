//! The connections of one shard, and what they have in common: the policy, the hosts that they lead to, what
//! reads replies on them and what sends.
//!
//! Their traffic is in the modules `streams`, `quic`, `secure`, `early` and `tunnel`; the choice of a
//! connection for a request, in `dispatch`.

use crate::buffers::Buffers;
use crate::connection::{Connection, ConnectionState};
use crate::event_policy::EventPolicy;
use crate::host::Host;
use crate::plan::Share;
use crate::policy::{Policy, Reuse};
use crate::pool::Pools;
use crate::protocol::ReplyContext;
use crate::slots::{DescriptorSlot, UserSlot};
use crate::table::ConnectionSlots;
use crate::transport::ConnectionKey;
use crate::user::User;
use crate::version::HttpVersion;
use farfield_base::{HostNumber, Instant, SpokenVersion};
use farfield_http::Heads;
use farfield_http::http1::{KnownHead, Limits};
use std::collections::VecDeque;

/// The connections of one shard.
#[derive(Debug)]
pub(crate) struct Connections {
    pub table: ConnectionSlots,
    pub policy: Policy,
    pub events: EventPolicy,
    /// The hosts that users ask, by number; the target is the first.
    pub hosts: Vec<Host>,
    /// Some are reached by tunnels through a proxy.
    pub has_tunnels: bool,
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
    pub fn reading(&mut self, over_tls: bool) -> ReplyContext<'_> {
        let Readers { limits, heads, known_head, .. } = self;
        ReplyContext { known_head, heads, limits, over_tls }
    }
}

impl Connections {
    /// No connections as yet of a `plan` whose users make one request each, on a connection of its own, or
    /// not.
    pub fn of(plan: &Share, is_single: bool) -> Connections {
        let policy = plan.users.policy.clone();
        let readers = Readers {
            limits: policy.limits(),
            heads: Heads::default(),
            plain: Vec::new(),
            known_head: KnownHead::new(),
        };
        let hosts = Host::of_all(plan);
        Connections {
            table: ConnectionSlots::new(),
            has_tunnels: hosts.iter().any(|host| host.tunnel.is_some()),
            hosts,
            readers,
            buffers: Buffers::default(),
            pools: (policy.policy == Reuse::SharedPool && !is_single).then(Pools::default),
            reading: None,
            unanswered: VecDeque::new(),
            serials: plan.serials,
            requests_sent: 0,
            is_deadline_armed: false,
            events: plan.users.events,
            policy,
        }
    }

    /// A connection of a user's that is to be opened, with the next number of this worker's.
    pub fn next(
        &mut self,
        user: UserSlot,
        host: HostNumber,
        descriptor: Option<DescriptorSlot>,
    ) -> Connection {
        let (serial, distance) = self.serials;
        self.serials.0 = serial.wrapping_add(distance);
        Connection::new(serial, (user, host), descriptor)
    }

    /// A host.
    pub fn host(&self, number: HostNumber) -> &Host {
        &self.hosts[number.index()]
    }

    /// True if bytes of the connection are sealed.
    pub fn is_sealed(&mut self, key: ConnectionKey) -> bool {
        let host = match &self.hosts[..] {
            [target] => target,
            hosts => match self.table.find(key) {
                Some(connection) => &hosts[connection.host.index()],
                None => return false,
            },
        };
        host.tls.is_some()
    }

    /// True if some connections may have streams.
    pub fn may_have_streams(&self) -> bool {
        self.hosts.iter().any(|host| host.version.may_have_streams())
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
        let is_early = |state| matches!(state, ConnectionState::Connecting | ConnectionState::Tunnelling);
        self.table.find(key).is_some_and(|connection| is_early(connection.state))
    }

    /// Connections to `host` that the user may have at once: one, as long as it may have streams, where the
    /// version is as browsers choose it.
    pub fn parallel(&self, user: &User, host: HostNumber) -> usize {
        let spoken = || user.profiles.of(host).and_then(|own| own.spoken);
        let may_have_streams = || spoken().is_none_or(SpokenVersion::has_streams);
        match self.host(host).version == HttpVersion::Auto && may_have_streams() {
            true => 1,
            false => usize::from(self.policy.parallel.get()),
        }
    }

    /// Requests on the way at most on one connection.
    pub fn depth(&self, connection: &Connection) -> usize {
        if connection.has_streams() { usize::from(self.policy.streams.get()) } else { self.policy.depth() }
    }

    /// Requests on the way at most on a connection to the target, of the version that users speak, or may.
    pub fn depth_at_most(&self) -> usize {
        match self.host(HostNumber::TARGET).version.may_have_streams() {
            true => usize::from(self.policy.streams.get()),
            false => self.policy.depth(),
        }
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
