//! Packets that were captured behind the clients' links, as they were at the clients' ends of these.
//!
//! In virtual time, on a path that is a delay and nothing else (no rate, no queue, no loss), a packet that
//! passes the gateway left its client exactly one delay before, or reaches it one delay after. The instants
//! of a capture at the gateway are then known at the clients as well, and times can be held against them to
//! the nanosecond. Paths with more than a delay are not guessed.

use crate::matching::Matching;
use farfield_base::Sample;
use farfield_capture::{Capture, End, Side, UnixNs};
use std::collections::BTreeMap;

/// The delays of a path that is nothing else, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathDelay {
    /// From the client to the gateway.
    pub up_ns: u64,
    /// From the gateway to the client.
    pub down_ns: u64,
}

/// The capture with the instants that packets of matched connections had at their clients; `None` where some
/// client's class has a path of which more is to be known, or no path is known at all.
pub fn at_clients(
    samples: &[Sample],
    capture: &Capture,
    matching: &Matching,
    paths: &[PathDelay],
) -> Option<Capture> {
    if paths.is_empty() || samples.iter().any(|sample| usize::from(sample.class) >= paths.len()) {
        return None;
    }
    let mut of_connection: BTreeMap<u32, PathDelay> = BTreeMap::new();
    for sample in samples {
        if let Some(captured) = matching.connections.get(&sample.connection) {
            of_connection.insert(*captured, paths[usize::from(sample.class)]);
        }
    }
    let mut moved = capture.clone();
    for (index, connection) in moved.connections.iter_mut().enumerate() {
        let Some(path) = of_connection.get(&(index as u32)) else { continue };
        let (sent, received) = (path.before(), path.after());
        [&mut connection.syn, &mut connection.established].into_iter().for_each(|at| *at = at.map(&sent));
        [&mut connection.syn_ack, &mut connection.secured, &mut connection.going_away]
            .into_iter()
            .for_each(|at| *at = at.map(&received));
        connection.first = sent(connection.first);
        if let End::Fin { side, at, .. } | End::Reset { side, at } = &mut connection.end {
            *at = if *side == Side::Client { sent(*at) } else { received(*at) };
        }
    }
    for transaction in &mut moved.transactions {
        let Some(path) = of_connection.get(&transaction.connection) else { continue };
        let (sent, received) = (path.before(), path.after());
        transaction.request_first = sent(transaction.request_first);
        transaction.request_last = sent(transaction.request_last);
        transaction.reply_first = transaction.reply_first.map(&received);
        transaction.reply_last = transaction.reply_last.map(&received);
        if let Some(events) = &mut transaction.events {
            (events.first, events.last) = (received(events.first), received(events.last));
        }
    }
    Some(moved)
}

impl PathDelay {
    /// Instant at which a packet left its client that passed the gateway at the one given.
    fn before(self) -> impl Fn(UnixNs) -> UnixNs {
        move |at| UnixNs(at.0.wrapping_sub(self.up_ns))
    }

    /// Instant at which a packet reached its client that passed the gateway at the one given.
    fn after(self) -> impl Fn(UnixNs) -> UnixNs {
        move |at| UnixNs(at.0.wrapping_add(self.down_ns))
    }
}
