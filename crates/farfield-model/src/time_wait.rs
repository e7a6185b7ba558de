//! Connections of which only TIME-WAIT is left: a server that closes first has a minute's worth of them.

use super::core::ServerCore;
use super::peers::{PeerPort, PeerTable};
use crate::payload::Tcp;
use crate::slots::{ClientId, WaitSlot};
use bytes::Bytes;
use farfield_base::Instant;
use farfield_net::timeout_queue::Owner;
use farfield_tcp::TimeWait;
use farfield_tcp::time_wait::TimeWaitReply;
use slab::Slab;
use std::collections::VecDeque;

#[derive(Debug)]
struct ClosedConnection {
    wait: TimeWait,
    client: ClientId,
    port: u16,
    serial: u32,
}

/// The connections of a server that are in TIME-WAIT.
#[derive(Debug, Default)]
pub(crate) struct ClosedConnections {
    table: Slab<ClosedConnection>,
    /// In the order of their beginning, with when to look at them again.
    order: VecDeque<(Instant, Owner<WaitSlot>)>,
    begun: u32,
}

impl ClosedConnections {
    /// Takes over a connection, and lets those go whose time is over. No alarm is set for that: one that is
    /// over answers no more.
    pub fn take(&mut self, now: Instant, peers: &mut PeerTable, client: ClientId, port: u16, wait: TimeWait) {
        while let Some((_, owner)) = self.order.pop_front_if(|(until, _)| *until <= now) {
            let waiting = self.table.get(owner.slot.index()).filter(|own| own.serial == owner.serial);
            match waiting.map(|waiting| waiting.wait.until()) {
                Some(until) if until > now => self.order.push_back((until, owner)),
                Some(_) => self.forget(peers, owner.slot),
                None => {}
            }
        }
        let serial = self.begun;
        self.begun = serial.wrapping_add(1);
        let until = wait.until();
        let slot = WaitSlot::at(self.table.insert(ClosedConnection { wait, client, port, serial }));
        peers[client].set(port, PeerPort::TimeWait(slot));
        self.order.push_back((until, Owner { slot, serial }));
    }

    /// True if TIME-WAIT is not over yet.
    pub fn is_waiting(&self, now: Instant, slot: WaitSlot) -> bool {
        self.table[slot.index()].wait.until() > now
    }

    fn forget(&mut self, peers: &mut PeerTable, slot: WaitSlot) {
        let ClosedConnection { client, port, .. } = self.table.remove(slot.index());
        // Another connection may be on the port by now.
        if peers[client].find(port) == Some(PeerPort::TimeWait(slot)) {
            peers[client].forget(port);
        }
    }
}

impl ServerCore {
    /// Takes a segment for a connection in TIME-WAIT.
    pub(crate) fn receive_waiting(&mut self, now: Instant, client: ClientId, slot: WaitSlot, tcp: &Tcp) {
        let time_wait = self.setup.plan.tcp.time_wait;
        let ServerCore { peers, closed, .. } = self;
        match closed.table[slot.index()].wait.handle_segment(now, &tcp.segment, time_wait) {
            TimeWaitReply::Nothing => {}
            TimeWaitReply::Acknowledge(segment) => self.send(client, tcp.source_port, segment, Bytes::new()),
            TimeWaitReply::Over => closed.forget(peers, slot),
            TimeWaitReply::Reopen(beyond) => {
                closed.forget(peers, slot);
                self.listen(now, client, tcp, Some(beyond));
            }
        }
    }
}
