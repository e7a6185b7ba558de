//! The connection policy: what users did with connections, against what was asked for.
//!
//! The user of a request is known from the samples and from the run's own list of connections; how many
//! requests a connection carried, how many were on the way at once, and how long it was open, from packets.

use crate::concurrency::closed_ns;
use crate::errors::Sides;
use crate::matching::Pair;
use crate::run::ScenarioDemands;
use crate::websockets;
use farfield_base::{HostNumber, Sample};
use farfield_capture::{Transaction, authority_hash};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

/// Use of connections by users.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyStats {
    /// Connections whose requests are of several users.
    pub shared: u64,
    /// The most users of one connection.
    pub users_max: u64,
    /// Samples of another user than the one who began the connection, by the run's list of connections.
    pub other_users: u64,
    /// The most requests on one connection.
    pub requests_max: u32,
    /// Connections with more requests than the policy allows.
    pub overused: u64,
    /// Requests that were sent before the reply to the one before was complete.
    pub pipelined: u64,
    /// The most requests on the way at once on one connection.
    pub depth_max: u32,
    /// The most connections of one user open at once, by the packets.
    pub parallel_max: u64,
    /// Users with more connections at once than the policy allows.
    pub parallel_over: u64,
    /// Client addresses with requests of several classes.
    pub mixed_addresses: u64,
    /// Connections that led to several hosts, or to another server than others to their host.
    #[serde(default)]
    pub astray: u64,
    /// Requests that name another host than that of their samples.
    #[serde(default)]
    pub misaddressed: u64,
}

/// Reads the policy off matched connections; limits are those of `asked`, if it is known.
pub fn policy(sides: Sides<'_>, asked: Option<&ScenarioDemands>) -> PolicyStats {
    let authorities = asked.map_or(&[][..], |asked| &asked.authorities);
    let asked = asked.map(|asked| &asked.policy);
    let mut stats = PolicyStats::default();
    let users = users_of_connections(sides);
    stats.shared = users.values().filter(|users| users.len() > 1).count() as u64;
    stats.users_max = users.values().map(|users| users.len() as u64).max().unwrap_or(0);
    stats.other_users = other_users(sides);
    let hosts = hosts_of_connections(sides);
    stats.astray = astray(sides, &hosts);
    stats.misaddressed = misaddressed(sides, authorities);
    let websockets = websockets::connections(sides.capture);
    for captured in sides.matching.connections.values().filter(|own| !websockets.contains(own)) {
        let requests = sides.capture.connections[*captured as usize].requests;
        stats.requests_max = stats.requests_max.max(requests);
        stats.overused += u64::from(asked.is_some_and(|asked| requests > asked.requests_max));
    }
    let of_run: BTreeSet<u32> = sides.matching.connections.values().copied().collect();
    let of_run = sides.capture.transactions.iter().filter(|t| of_run.contains(&t.connection));
    stats.pipelined = of_run.clone().filter(|transaction| transaction.pipelined).count() as u64;
    stats.depth_max = depth_max(of_run);
    let shares = asked.is_some_and(|asked| asked.shares);
    if !shares {
        let most = parallel(sides, (&users, &hosts), &websockets);
        stats.parallel_max = most.iter().copied().max().unwrap_or(0);
        let over = |most: &&u64| asked.is_some_and(|asked| **most > u64::from(asked.parallel));
        stats.parallel_over = most.iter().filter(over).count() as u64;
    }
    stats.mixed_addresses = mixed_addresses(sides);
    stats
}

/// The users of each matched connection, by the samples.
fn users_of_connections(sides: Sides<'_>) -> BTreeMap<u32, BTreeSet<u32>> {
    let mut users: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for sample in sides.samples.iter().filter(|sample| sample.connection != Sample::NO_CONNECTION) {
        users.entry(sample.connection).or_default().insert(sample.user);
    }
    users
}

fn other_users(sides: Sides<'_>) -> u64 {
    let rows: BTreeMap<u32, u32> =
        sides.run.connections.iter().flatten().map(|row| (row.connection, row.user)).collect();
    let other = |sample: &&Sample| rows.get(&sample.connection).is_some_and(|user| *user != sample.user);
    sides.samples.iter().filter(other).count() as u64
}

/// The most requests on the way at once on any connection: for each, how many before it were not answered
/// when it was sent.
fn depth_max<'a>(transactions: impl Iterator<Item = &'a Transaction>) -> u32 {
    let mut waiting: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    let mut most = 0;
    // Messages of a WebSocket may go unanswered.
    for transaction in transactions.filter(|transaction| transaction.message.is_none()) {
        let ends = waiting.entry(transaction.connection).or_default();
        ends.retain(|end| *end > transaction.request_first.0);
        ends.push(transaction.reply_last.map_or(u64::MAX, |at| at.0));
        most = most.max(ends.len());
    }
    most as u32
}

/// The hosts of each matched connection, by the samples.
fn hosts_of_connections(sides: Sides<'_>) -> BTreeMap<u32, BTreeSet<HostNumber>> {
    let mut hosts: BTreeMap<u32, BTreeSet<HostNumber>> = BTreeMap::new();
    for sample in sides.samples.iter().filter(|sample| sample.connection != Sample::NO_CONNECTION) {
        hosts.entry(sample.connection).or_default().insert(sample.host);
    }
    hosts
}

/// The number of connections that, by the samples, led to several hosts, or by the packets to another server
/// than others to their host. The target may have several.
fn astray(sides: Sides<'_>, hosts: &BTreeMap<u32, BTreeSet<HostNumber>>) -> u64 {
    let mut servers: BTreeMap<(HostNumber, bool, bool), SocketAddr> = BTreeMap::new();
    let mut count = 0;
    for (number, captured) in &sides.matching.connections {
        let connection = &sides.capture.connections[*captured as usize];
        // An alternative of a host's is on another of its ports.
        let server = SocketAddr::new(
            connection.server.ip(),
            if connection.is_quic { 0 } else { connection.server.port() },
        );
        let mut own = hosts.get(number).into_iter().flatten();
        let Some(host) = own.next() else { continue };
        let known = *servers.entry((*host, connection.is_quic, server.is_ipv4())).or_insert(server);
        let is_elsewhere = *host != HostNumber::TARGET && known != server;
        count += u64::from(own.next().is_some() || is_elsewhere);
    }
    count
}

/// The number of requests whose Host field or `:authority` is another host's than that of their samples.
fn misaddressed(sides: Sides<'_>, authorities: &[Option<String>]) -> u64 {
    let expected: Vec<Option<u64>> =
        authorities.iter().map(|own| own.as_ref().map(|own| authority_hash(own.as_bytes()))).collect();
    let is_another = |pair: &&Pair| {
        let host = sides.samples[pair.sample as usize].host;
        let found = sides.capture.transactions[pair.transaction as usize].authority;
        let expected = expected.get(host.index()).copied().flatten();
        found != 0 && expected.is_some_and(|expected| expected != found)
    };
    sides.matching.pairs.iter().filter(is_another).count() as u64
}

/// Sets by the number of a connection.
type ByConnection<T> = BTreeMap<u32, BTreeSet<T>>;

/// An instant at which there is one connection more, or less.
type ConnectionChange = (i64, i64);

/// The most connections that each user had open at once to one host, beside WebSockets.
fn parallel(
    sides: Sides<'_>,
    (users, hosts): (&ByConnection<u32>, &ByConnection<HostNumber>),
    websockets: &BTreeSet<u32>,
) -> Vec<u64> {
    let mut events: BTreeMap<(u32, Option<HostNumber>), Vec<ConnectionChange>> = BTreeMap::new();
    let of_requests = sides.matching.connections.iter().filter(|(_, own)| !websockets.contains(own));
    for (number, captured) in of_requests {
        let connection = &sides.capture.connections[*captured as usize];
        let from = sides.frame.run_ns(connection.syn.unwrap_or(connection.first));
        // One on which the server takes no more requests is no user's any more.
        let ends = [closed_ns(sides, connection), connection.going_away.map(|at| sides.frame.run_ns(at))];
        let to = ends.into_iter().flatten().min().unwrap_or(i64::MAX);
        let host = hosts.get(number).and_then(|hosts| hosts.first().copied());
        for user in users.get(number).into_iter().flatten() {
            events.entry((*user, host)).or_default().extend([(from, 1), (to, -1)]);
        }
    }
    let most = |mut events: Vec<ConnectionChange>| {
        // A connection that ends when another begins was not open beside it.
        events.sort_unstable();
        let (mut open, mut most) = (0, 0);
        for (_, step) in events {
            open += step;
            most = most.max(open);
        }
        most as u64
    };
    events.into_values().map(most).collect()
}

fn mixed_addresses(sides: Sides<'_>) -> u64 {
    let mut classes: BTreeMap<IpAddr, BTreeSet<u16>> = BTreeMap::new();
    for pair in &sides.matching.pairs {
        let transaction = &sides.capture.transactions[pair.transaction as usize];
        let client = sides.capture.connections[transaction.connection as usize].client.ip();
        classes.entry(client).or_default().insert(sides.samples[pair.sample as usize].class);
    }
    classes.values().filter(|classes| classes.len() > 1).count() as u64
}
