//! Connections of which only TIME-WAIT is left: a server that closes first has a minute's worth of them.

use super::core::{Core, Place};
use crate::packet::Tcp;
use crate::patience::Owner;
use bytes::Bytes;
use farfield_base::Instant;
use farfield_tcp::TimeWait;
use farfield_tcp::time_wait::Answer;

#[derive(Debug)]
pub(crate) struct Waiting {
    wait: TimeWait,
    client: u32,
    port: u16,
    serial: u32,
}

impl Core {
    /// Takes over a connection, and lets those go whose time is over. Nobody is woken for that: who is over answers no
    /// more.
    pub fn begin_wait(&mut self, now: Instant, client: u32, port: u16, wait: TimeWait) {
        while let Some((_, owner)) = self.waiting_order.pop_front_if(|(until, _)| *until <= now) {
            let waiting = self.waiting.get(owner.place as usize).filter(|own| own.serial == owner.serial);
            match waiting.map(|waiting| waiting.wait.until()) {
                Some(until) if until > now => self.waiting_order.push_back((until, owner)),
                Some(_) => self.forget_wait(owner.place),
                None => {}
            }
        }
        let serial = self.begun;
        self.begun = serial.wrapping_add(1);
        let until = wait.until();
        let place = self.waiting.insert(Waiting { wait, client, port, serial }) as u32;
        self.peers[client as usize].set(port, Place::Waiting(place));
        self.waiting_order.push_back((until, Owner { place, serial }));
    }

    /// True if TIME-WAIT is not over yet.
    pub fn is_waiting(&self, now: Instant, place: u32) -> bool {
        self.waiting[place as usize].wait.until() > now
    }

    pub fn receive_waiting(&mut self, now: Instant, client: u32, place: u32, tcp: &Tcp) {
        let time_wait = self.plan.tcp.time_wait;
        let answer = self.waiting[place as usize].wait.handle_segment(now, &tcp.segment, time_wait);
        match answer {
            Answer::Nothing => {}
            Answer::Acknowledge(segment) => self.send(client, tcp.source_port, segment, Bytes::new()),
            Answer::Over => self.forget_wait(place),
            Answer::Reopen(beyond) => {
                self.forget_wait(place);
                self.listen(now, client, tcp, Some(beyond));
            }
        }
    }

    fn forget_wait(&mut self, place: u32) {
        let Waiting { client, port, .. } = self.waiting.remove(place as usize);
        // Another connection may be on the port by now.
        if self.peers[client as usize].find(port) == Some(Place::Waiting(place)) {
            self.peers[client as usize].forget(port);
        }
    }
}
