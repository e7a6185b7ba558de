//! TCP sockets of emulated clients: connections with their keys and timers, and those of which only TIME-WAIT
//! is left. [`transport`](crate::transport) takes out what they send, and [`receive`](crate::receive) hands
//! in what arrives.

use crate::bindings::SocketBindings;
use crate::client_event::ClientEvent;
use crate::slots::{ClientSlot, SocketSlot};
use crate::time_wait::TimeWaits;
use farfield_base::Instant;
use farfield_net::loss::Memory;
use farfield_net::timeout_queue::{Front, Owner, Put, TimeoutQueue, TimerExpiry};
use farfield_tcp::Connection;
use farfield_user::ConnectionKey;
use slab::Slab;
use std::ops::{Index, IndexMut};

/// A connection with what surrounds it.
#[derive(Debug)]
pub(crate) struct TcpSocket {
    pub tcp: Connection,
    pub client: ClientSlot,
    /// The number of its server.
    pub server: u16,
    pub port: u16,
    /// Distinguishes its timers from those of an earlier connection in its slot.
    serial: u32,
    /// The user's key, until its user has closed it.
    pub key: Option<ConnectionKey>,
    /// The instant at which it is asked next whether a timer is due: at the earliest one's deadline, or
    /// before.
    timer_at: Instant,
    /// Memory of its losses on links, where losses belong to connections.
    up_losses: Memory,
    down_losses: Memory,
}

/// Events of timers that the wheel is to hold, with when they are due.
pub(crate) type ClientAlarm = (Instant, ClientEvent);

/// The TCP sockets of a shard's clients.
#[derive(Debug, Default)]
pub(crate) struct TcpSockets {
    table: Slab<TcpSocket>,
    bound: SocketBindings,
    begun: u32,
    /// Timers that are not on the wheel.
    timeouts: TimeoutQueue<SocketSlot>,
    pub time_waits: TimeWaits,
}

impl TcpSocket {
    /// Memory of its losses in one direction.
    pub fn losses(&mut self, up: bool) -> &mut Memory {
        if up { &mut self.up_losses } else { &mut self.down_losses }
    }
}

impl TcpSockets {
    /// The slot that the next connection gets.
    pub fn next_slot(&self) -> SocketSlot {
        SocketSlot::at(self.table.vacant_key())
    }

    /// Adds a connection from port `port` of a client.
    pub fn open(
        &mut self,
        key: ConnectionKey,
        tcp: Connection,
        (client, server): (ClientSlot, u16),
        port: u16,
    ) -> SocketSlot {
        let serial = self.begun;
        self.begun = serial.wrapping_add(1);
        let socket = SocketSlot::at(self.table.insert(TcpSocket {
            tcp,
            client,
            server,
            port,
            serial,
            key: Some(key),
            timer_at: Instant::MAX,
            up_losses: Memory::default(),
            down_losses: Memory::default(),
        }));
        self.bound.bind(key, socket);
        socket
    }

    pub fn get(&self, slot: SocketSlot) -> Option<&TcpSocket> {
        self.table.get(slot.index())
    }

    pub fn socket_mut(&mut self, slot: SocketSlot) -> Option<&mut TcpSocket> {
        self.table.get_mut(slot.index())
    }

    /// The connection that a user has `key` for.
    pub fn of(&self, key: ConnectionKey) -> Option<SocketSlot> {
        let slot = self.bound.find(key)?;
        (self.get(slot)?.key == Some(key)).then_some(slot)
    }

    /// The connections of a client.
    pub fn of_client(&self, client: ClientSlot) -> Vec<SocketSlot> {
        let own = self.table.iter().filter(|(_, socket)| socket.client == client);
        own.map(|(slot, _)| SocketSlot::at(slot)).collect()
    }

    /// Takes a connection from its user.
    pub fn release(&mut self, slot: SocketSlot) -> Option<ConnectionKey> {
        let key = self.table[slot.index()].key.take()?;
        self.bound.unbind(key);
        Some(key)
    }

    pub fn remove(&mut self, slot: SocketSlot) -> TcpSocket {
        let socket = self.table.remove(slot.index());
        if let Some(key) = socket.key {
            self.bound.unbind(key);
        }
        socket
    }

    /// Arms the connection's timer, if it is due before the event that is set; returns the event to set.
    pub fn arm_timer(&mut self, now: Instant, slot: SocketSlot) -> Option<ClientAlarm> {
        let socket = &mut self.table[slot.index()];
        let at = socket.tcp.poll_timer().filter(|at| *at < socket.timer_at)?;
        let serial = socket.serial;
        match self.timeouts.put(now, at, Owner { slot, serial }) {
            Put::OnWheel => {
                socket.timer_at = at;
                Some((at, ClientEvent::Timer(Owner { slot, serial })))
            }
            Put::Queued { asks_at, first_of } => {
                socket.timer_at = asks_at;
                first_of.map(|queue| (asks_at, ClientEvent::Timeouts(queue)))
            }
        }
    }

    /// Takes the event of a connection's timer.
    pub fn expire(
        &mut self,
        now: Instant,
        Owner { slot, serial }: Owner<SocketSlot>,
    ) -> TimerExpiry<ClientAlarm> {
        let Some(socket) = self.table.get_mut(slot.index()) else { return TimerExpiry::Stale };
        if socket.serial != serial || socket.timer_at > now {
            return TimerExpiry::Stale;
        }
        socket.timer_at = Instant::MAX;
        if socket.tcp.poll_timer().is_some_and(|at| at > now) {
            return TimerExpiry::PutOff(self.arm_timer(now, slot));
        }
        socket.tcp.handle_timer(now);
        TimerExpiry::Due
    }

    /// The front of timeout queue `queue`, taken out if it is due.
    pub fn next_timeout(&mut self, now: Instant, queue: u16) -> Front<SocketSlot> {
        let TcpSockets { table, timeouts, .. } = self;
        timeouts.front(queue, now, |owner, asks_at| {
            let socket = table.get(owner.slot.index());
            socket.is_some_and(|socket| socket.serial == owner.serial && socket.timer_at == asks_at)
        })
    }
}

impl Index<SocketSlot> for TcpSockets {
    type Output = TcpSocket;

    fn index(&self, slot: SocketSlot) -> &TcpSocket {
        &self.table[slot.index()]
    }
}

impl IndexMut<SocketSlot> for TcpSockets {
    fn index_mut(&mut self, slot: SocketSlot) -> &mut TcpSocket {
        &mut self.table[slot.index()]
    }
}
