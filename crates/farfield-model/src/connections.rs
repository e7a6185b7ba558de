//! The TCP connections of a server, with their timers and their waits for requests.

use super::connection::Connection;
use super::output::Alarm;
use crate::slots::ServedSlot;
use farfield_base::Instant;
use farfield_net::timeout_queue::{Front, Owner, Put, TimeoutQueue, TimerExpiry};
use slab::Slab;
use std::ops::{Index, IndexMut};

/// The TCP connections of a server.
#[derive(Debug, Default)]
pub(crate) struct ConnectionTable {
    table: Slab<Connection>,
    begun: u32,
    /// Timers that are not on the wheel.
    timers: TimeoutQueue<ServedSlot>,
    /// Waits for requests that are not on the wheel.
    idles: TimeoutQueue<ServedSlot>,
    /// Connections that were closed beside the one that was being looked after.
    closed: Vec<ServedSlot>,
}

impl ConnectionTable {
    /// The serial number of the next connection.
    pub fn next_serial(&mut self) -> u32 {
        let serial = self.begun;
        self.begun = serial.wrapping_add(1);
        serial
    }

    pub fn add(&mut self, connection: Connection) -> ServedSlot {
        ServedSlot::at(self.table.insert(connection))
    }

    pub fn remove(&mut self, slot: ServedSlot) -> Connection {
        self.table.remove(slot.index())
    }

    /// The number of connections that there are.
    pub fn len(&self) -> u32 {
        self.table.len() as u32
    }

    pub fn get(&self, slot: ServedSlot) -> Option<&Connection> {
        self.table.get(slot.index())
    }

    /// The connection, if it is still there.
    pub fn find(&mut self, owner: Owner<ServedSlot>) -> Option<&mut Connection> {
        self.table.get_mut(owner.slot.index()).filter(|own| own.serial == owner.serial)
    }

    /// True if the connection is still there.
    pub fn has(&self, owner: Owner<ServedSlot>) -> bool {
        self.get(owner.slot).is_some_and(|own| own.serial == owner.serial)
    }

    pub fn owner_of(&self, slot: ServedSlot) -> Owner<ServedSlot> {
        Owner { slot, serial: self.table[slot.index()].serial }
    }

    /// Notes that a connection was closed, and has to send that.
    pub fn note_closed(&mut self, slot: ServedSlot) {
        self.closed.push(slot);
    }

    /// The next connection that was closed and is still there.
    pub fn next_closed(&mut self) -> Option<ServedSlot> {
        loop {
            let slot = self.closed.pop()?;
            if self.table.contains(slot.index()) {
                return Some(slot);
            }
        }
    }

    /// Arms the connection's timer, if it is due before the alarm that is set; returns the alarm to set.
    pub fn arm_timer(&mut self, now: Instant, slot: ServedSlot) -> Option<(Instant, Alarm)> {
        let connection = &mut self.table[slot.index()];
        let at = connection.tcp.poll_timer().filter(|at| *at < connection.timer_at)?;
        let owner = Owner { slot, serial: connection.serial };
        match self.timers.put(now, at, owner) {
            Put::OnWheel => {
                connection.timer_at = at;
                Some((at, Alarm::Timer(owner)))
            }
            Put::Queued { asks_at, first_of } => {
                connection.timer_at = asks_at;
                first_of.map(|queue| (asks_at, Alarm::Timers(queue)))
            }
        }
    }

    /// Takes the alarm of a connection's timer.
    pub fn expire(&mut self, now: Instant, slot: ServedSlot) -> TimerExpiry<(Instant, Alarm)> {
        let connection = &mut self.table[slot.index()];
        if connection.timer_at > now {
            return TimerExpiry::Stale;
        }
        connection.timer_at = Instant::MAX;
        if connection.tcp.poll_timer().is_some_and(|at| at > now) {
            return TimerExpiry::PutOff(self.arm_timer(now, slot));
        }
        connection.tcp.handle_timer(now);
        TimerExpiry::Due
    }

    /// The front of a queue of timers, taken out if it is due.
    pub fn next_timer(&mut self, now: Instant, queue: u16) -> Front<ServedSlot> {
        let ConnectionTable { table, timers, .. } = self;
        timers.front(queue, now, |owner, asks_at| {
            let own = table.get(owner.slot.index());
            own.is_some_and(|own| own.serial == owner.serial && own.timer_at == asks_at)
        })
    }

    /// Sees that the end of the connection's wait is noticed; returns the alarm to set for it, if one is.
    pub fn arm_idle(&mut self, now: Instant, slot: ServedSlot) -> Option<(Instant, Alarm)> {
        let connection = &mut self.table[slot.index()];
        let at = connection.idle_until;
        if at >= connection.idle_alarm_at {
            return None;
        }
        let owner = Owner { slot, serial: connection.serial };
        match self.idles.put(now, at, owner) {
            Put::OnWheel => {
                connection.idle_alarm_at = at;
                Some((at, Alarm::Idle(owner)))
            }
            Put::Queued { asks_at, first_of } => {
                connection.idle_alarm_at = asks_at;
                first_of.map(|queue| (asks_at, Alarm::Idles(queue)))
            }
        }
    }

    /// The front of a queue of waits for requests, taken out if it is due.
    pub fn next_idle(&mut self, now: Instant, queue: u16) -> Front<ServedSlot> {
        let ConnectionTable { table, idles, .. } = self;
        idles.front(queue, now, |owner, asks_at| {
            let own = table.get(owner.slot.index());
            own.is_some_and(|own| own.serial == owner.serial && own.idle_alarm_at == asks_at)
        })
    }
}

impl Index<ServedSlot> for ConnectionTable {
    type Output = Connection;

    fn index(&self, slot: ServedSlot) -> &Connection {
        &self.table[slot.index()]
    }
}

impl IndexMut<ServedSlot> for ConnectionTable {
    fn index_mut(&mut self, slot: ServedSlot) -> &mut Connection {
        &mut self.table[slot.index()]
    }
}
