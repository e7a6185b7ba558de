//! Connections of which only TIME-WAIT is left: a server that closes first has a minute's worth of them.

use super::core::{Core, PeerPort};
use crate::packet::Tcp;
use crate::slots::{ClientId, WaitSlot};
use crate::timeout_queue::Owner;
use bytes::Bytes;
use farfield_base::Instant;
use farfield_tcp::TimeWait;
use farfield_tcp::time_wait::Answer;

#[derive(Debug)]
pub(crate) struct Waiting {
    wait: TimeWait,
    client: ClientId,
    port: u16,
    serial: u32,
}

impl Core {
    /// Takes over a connection, and lets those go whose time is over. No alarm is set for that: one that is
    /// over answers no more.
    pub fn begin_wait(&mut self, now: Instant, client: ClientId, port: u16, wait: TimeWait) {
        while let Some((_, owner)) = self.waiting_order.pop_front_if(|(until, _)| *until <= now) {
            let waiting = self.waiting.get(owner.slot.index()).filter(|own| own.serial == owner.serial);
            match waiting.map(|waiting| waiting.wait.until()) {
                Some(until) if until > now => self.waiting_order.push_back((until, owner)),
                Some(_) => self.forget_wait(owner.slot),
                None => {}
            }
        }
        let serial = self.begun;
        self.begun = serial.wrapping_add(1);
        let until = wait.until();
        let slot = WaitSlot::at(self.waiting.insert(Waiting { wait, client, port, serial }));
        self.peers[client.index()].set(port, PeerPort::TimeWait(slot));
        self.waiting_order.push_back((until, Owner { slot, serial }));
    }

    /// True if TIME-WAIT is not over yet.
    pub fn is_waiting(&self, now: Instant, slot: WaitSlot) -> bool {
        self.waiting[slot.index()].wait.until() > now
    }

    pub fn receive_waiting(&mut self, now: Instant, client: ClientId, slot: WaitSlot, tcp: &Tcp) {
        let time_wait = self.plan.tcp.time_wait;
        let answer = self.waiting[slot.index()].wait.handle_segment(now, &tcp.segment, time_wait);
        match answer {
            Answer::Nothing => {}
            Answer::Acknowledge(segment) => self.send(client, tcp.source_port, segment, Bytes::new()),
            Answer::Over => self.forget_wait(slot),
            Answer::Reopen(beyond) => {
                self.forget_wait(slot);
                self.listen(now, client, tcp, Some(beyond));
            }
        }
    }

    fn forget_wait(&mut self, slot: WaitSlot) {
        let Waiting { client, port, .. } = self.waiting.remove(slot.index());
        // Another connection may be on the port by now.
        if self.peers[client.index()].find(port) == Some(PeerPort::TimeWait(slot)) {
            self.peers[client.index()].forget(port);
        }
    }
}
