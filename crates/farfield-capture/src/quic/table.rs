//! QUIC connections under way, by the addresses of their two ends.

use super::connection::{CLIENT, PacketFate, QuicConnection, SERVER, begun};
use crate::http::HttpLimits;
use crate::instant::UnixNs;
use crate::rebuild::Sink;
use crate::segment::{Datagram, ordered};
use crate::tracked::Context;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

/// Connections that are looked at to find one that was silent for long.
const SAMPLED: usize = 64;

/// The connections under way.
#[derive(Debug, Default)]
pub(crate) struct QuicTable {
    connections: BTreeMap<(SocketAddr, SocketAddr), Box<QuicConnection>>,
    /// The place from which a connection to be evicted is looked for.
    hand: Option<(SocketAddr, SocketAddr)>,
}

impl QuicTable {
    /// Takes in a datagram of any connection; one that is no QUIC that is read counts as another packet.
    pub fn handle<S: Sink>(
        &mut self,
        at: UnixNs,
        interface: u32,
        datagram: &Datagram<'_>,
        context: &mut Context<'_, S>,
    ) {
        let key = ordered(datagram.source, datagram.destination);
        let waiting_max = context.waiting_max();
        if let Some(connection) = self.connections.get_mut(&key) {
            if connection.interface != interface {
                return context.limits.other_interface_packets += 1;
            }
            let by = if connection.ends[CLIENT] == datagram.source { CLIENT } else { SERVER };
            let waited = connection.waiting_bytes();
            if connection.handle(at, by, datagram.data, waiting_max) == PacketFate::Used {
                context.limits.packets_used += 1;
                let is_closed = connection.is_closed();
                connection.hand_on(context.sink, is_closed);
                return context.note_waiting(waited, connection.waiting_bytes());
            }
            if let Some(connection) = self.connections.remove(&key) {
                finish(connection, context);
            }
        }
        let secrets = context.options.secrets.as_ref().filter(|_| {
            // Its server is the one that is asked for.
            context.options.server.matches(datagram.destination)
        });
        let (Some(secrets), Some(keys)) = (secrets, begun(datagram.data)) else {
            return context.limits.packets_other += 1;
        };
        if self.connections.len() >= context.options.open_max.max(1) {
            self.evict(context);
        }
        let limits = HttpLimits {
            head_bytes_max: context.options.head_bytes_max,
            target_bytes_max: context.options.target_bytes_max,
        };
        let mut connection = Box::new(QuicConnection::new(
            *context.next_id,
            interface,
            at,
            [datagram.source, datagram.destination],
            Arc::clone(secrets),
            limits,
        ));
        *context.next_id += 1;
        connection.begin_keys(&keys);
        connection.handle(at, CLIENT, datagram.data, waiting_max);
        context.note_waiting(0, connection.waiting_bytes());
        context.limits.packets_used += 1;
        self.connections.insert(key, connection);
    }

    /// Lets one of some connections go: one that is closed, or else the one that was silent longest.
    fn evict<S: Sink>(&mut self, context: &mut Context<'_, S>) {
        let behind = self.hand.iter().flat_map(|hand| self.connections.range(hand..));
        let sampled: Vec<_> = behind.chain(&self.connections).take(SAMPLED).collect();
        self.hand = sampled.last().map(|(key, _)| **key);
        let oldest = sampled.into_iter().min_by_key(|(_, own)| (!own.is_closed(), own.last()));
        let Some(key) = oldest.map(|(key, _)| *key) else { return };
        if let Some(connection) = self.connections.remove(&key) {
            context.limits.connections_evicted += u64::from(!connection.is_closed());
            finish(connection, context);
        }
    }

    /// Lets all connections go, at the end of the file.
    pub fn finish<S: Sink>(&mut self, context: &mut Context<'_, S>) {
        while let Some((_, connection)) = self.connections.pop_first() {
            finish(connection, context);
        }
    }
}

/// Lets a connection go, and what waits there.
fn finish<S: Sink>(connection: Box<QuicConnection>, context: &mut Context<'_, S>) {
    context.note_waiting(connection.waiting_bytes(), 0);
    connection.finish(context);
}
