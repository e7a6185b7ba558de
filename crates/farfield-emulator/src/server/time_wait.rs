//! Connections of which only TIME-WAIT is left: a server that closes first has a minute's worth of them.

use super::core::{Alarm, AlarmKind, Core, Place};
use crate::packet::Tcp;
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
    pub fn begin_wait(&mut self, client: u32, port: u16, wait: TimeWait) {
        let serial = self.begun;
        self.begun = serial.wrapping_add(1);
        let until = wait.until();
        let place = self.waiting.insert(Waiting { wait, client, port, serial }) as u32;
        self.peers[client as usize].set(port, Place::Waiting(place));
        self.alarms.push((until, Alarm { kind: AlarmKind::Over, place, serial }));
    }

    pub fn end_wait(&mut self, now: Instant, place: u32, serial: u32) {
        let Some(waiting) = self.waiting.get(place as usize).filter(|own| own.serial == serial) else {
            return;
        };
        let until = waiting.wait.until();
        if until > now {
            self.alarms.push((until, Alarm { kind: AlarmKind::Over, place, serial }));
        } else {
            self.forget_wait(place);
        }
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
        self.peers[client as usize].forget(port);
    }
}
