//! The hosts of emulated clients: their ports, the TCP and UDP on them, and upcalls for users.
//!
//! Links and other hosts are not known here: what a host is to send is taken out of its sockets by the
//! [client side](crate::client_side), which hands in what arrives.

use crate::client::{Client, PortKind};
use crate::clients::ClientTable;
use crate::datagrams::{Complaint, DatagramSockets};
use crate::packet::Tcp;
use crate::plan::NetworkPlan;
use crate::slots::{ClientSlot, SocketSlot};
use crate::tcp_sockets::{ClientAlarm, TcpSockets};
use crate::upcalls::{Upcall, Upcalls};
use bytes::Bytes;
use farfield_base::random::Seed;
use farfield_base::{Duration, Instant, TcpStats};
use farfield_net::loss::Memory;
use farfield_tcp::{Connection, Event as TcpEvent, Failure as TcpFailure, Numbers, SeqNumber};
use farfield_user::{ConnectionKey, Failure};
use farfield_wire::{Reassembler, ReassemblyLimits};
use std::num::{NonZeroU8, NonZeroU32};
use std::sync::Arc;

/// The hosts of a shard's clients.
#[derive(Debug)]
pub(crate) struct EmulatedHosts {
    pub clients: ClientTable,
    pub tcp: TcpSockets,
    pub datagrams: DatagramSockets,
    pub reassembler: Reassembler,
    pub upcalls: Upcalls,
    /// Time goes on no further: nothing that is sent would arrive.
    pub is_over: bool,
    /// The seed of initial sequence numbers.
    seed: Seed,
}

impl EmulatedHosts {
    /// Hosts of these clients, without sockets.
    pub fn new(clients: ClientTable, seed: Seed) -> EmulatedHosts {
        EmulatedHosts {
            clients,
            tcp: TcpSockets::default(),
            datagrams: DatagramSockets::default(),
            reassembler: Reassembler::new(ReassemblyLimits::default()),
            upcalls: Upcalls::default(),
            is_over: false,
            seed,
        }
    }

    /// A client, with the memory of losses of the socket on `port`, if there is one.
    pub fn with_losses(
        &mut self,
        client: ClientSlot,
        port: (PortKind, u16),
        up: bool,
    ) -> (&mut Client, Option<&mut Memory>) {
        let EmulatedHosts { clients, tcp, datagrams, .. } = self;
        let client = &mut clients[client];
        let losses = client.socket(port).and_then(|slot| match port.0 {
            PortKind::Tcp => Some(tcp.socket_mut(slot)?.losses(up)),
            PortKind::Udp => Some(datagrams.find_mut(slot)?.losses(up)),
        });
        (client, losses)
    }

    /// Opens a connection of a client to a server for its user; the user is called if the client has no port
    /// left.
    pub fn open_tcp(
        &mut self,
        plan: &NetworkPlan,
        now: Instant,
        key: ConnectionKey,
        (client, server): (ClientSlot, u16),
    ) -> Option<SocketSlot> {
        let slot = self.tcp.next_slot();
        let Some(port) = self.clients[client].take_port(PortKind::Tcp, slot) else {
            self.upcalls.push(Upcall::Failed(key, Failure::NoAddress, None));
            return None;
        };
        let class = usize::from(self.clients[client].class);
        let tcp = Connection::open(Arc::clone(&plan.classes[class].tcp), self.numbers(now, client, port));
        Some(self.tcp.open(key, tcp, (client, server), port))
    }

    /// The numbers that a connection begins with: a clock of 4 µs and a hash of its ends (RFC 9293 §3.4.1),
    /// so that a port may be used again while the server still remembers it.
    fn numbers(&self, now: Instant, client: ClientSlot, port: u16) -> Numbers {
        let number = u64::from(self.clients[client].number.get());
        let mut hash = self.seed.0 ^ number << 16 ^ u64::from(port);
        hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        let clock = now.as_ns() / 4_000;
        Numbers {
            isn: SeqNumber((hash >> 32) as u32).at(clock as i64),
            // One clock for all connections of a client (RFC 7323 §5.4): a later one is never taken for an
            // older.
            timestamp_offset: (number as u32).wrapping_mul(0x9e37_79b9),
        }
    }

    /// Hands a segment to a connection.
    pub fn receive_segment(&mut self, now: Instant, slot: SocketSlot, tcp: &Tcp) {
        let EmulatedHosts { tcp: sockets, upcalls, .. } = self;
        let socket = &mut sockets[slot];
        let (key, payload) = (socket.key, &tcp.payload);
        let (opening, before) = (!socket.tcp.state().is_synchronized(), upcalls.len());
        let mut unwanted = false;
        socket.tcp.handle_segment(now, &tcp.segment, payload, |bytes| match key {
            Some(key) => upcalls.push(Upcall::Received(key, piece_of(payload, bytes))),
            None => unwanted = true,
        });
        if let Some(key) = key.filter(|_| opening && upcalls.len() > before) {
            // Text on a SYN-ACK: the upcall of the connection comes first
            let event = socket.tcp.poll_event();
            debug_assert_eq!(event, Some(TcpEvent::Connected));
            upcalls.insert(before, Upcall::Connected(key));
        }
        if unwanted {
            // RFC 9293 §3.6.1: data for a user who has closed: the peer is reset.
            socket.tcp.abort();
        }
    }

    /// Queues the upcalls of a connection that has sent all it may, and lets it go if it is over; returns the
    /// event of its timer, if one is to be set.
    pub fn settle(&mut self, now: Instant, slot: SocketSlot) -> Option<ClientAlarm> {
        self.queue_upcalls(slot);
        let socket = &self.tcp[slot];
        if socket.tcp.is_done() {
            self.remove_tcp(slot);
            return None;
        }
        if let Some(wait) = socket.tcp.time_wait() {
            let (client, port) = (socket.client, socket.port);
            self.remove_tcp(slot);
            self.tcp.time_waits.take(now, client, port, wait);
            return None;
        }
        self.tcp.arm_timer(now, slot)
    }

    fn queue_upcalls(&mut self, slot: SocketSlot) {
        let EmulatedHosts { tcp, upcalls, .. } = self;
        let socket = &mut tcp[slot];
        while let Some(event) = socket.tcp.poll_event() {
            let Some(key) = socket.key else { continue };
            upcalls.push(match event {
                TcpEvent::Connected => Upcall::Connected(key),
                TcpEvent::PeerFinished => Upcall::Closed(key),
                TcpEvent::Failed(failure) => {
                    Upcall::Failed(key, failure_of(failure), Some(stats_of(&socket.tcp)))
                }
                TcpEvent::Closed => continue,
            });
        }
    }

    /// Hands a connection an ICMP error about what it sent, on a path whose headers have `headers_len` bytes.
    /// RFC 1122 §4.2.3.9: that there is no way ends only an attempt to connect.
    pub fn receive_tcp_complaint(&mut self, slot: SocketSlot, complaint: Complaint, headers_len: u32) {
        let socket = &mut self.tcp[slot];
        match complaint {
            Complaint::TooBig { mtu } => {
                let mss = mtu.saturating_sub(headers_len);
                socket.tcp.reduce_mss(mss.min(u32::from(u16::MAX)) as u16);
            }
            _ if !socket.tcp.state().is_synchronized() => {
                socket.tcp.abort();
                let counters = stats_of(&socket.tcp);
                if let Some(key) = self.tcp.release(slot) {
                    self.upcalls.push(Upcall::Failed(key, Failure::Unreachable, Some(counters)));
                }
            }
            _ => {}
        }
    }

    /// Forgets a connection, and frees its port.
    pub fn remove_tcp(&mut self, slot: SocketSlot) {
        let socket = self.tcp.remove(slot);
        self.clients[socket.client].free_port(PortKind::Tcp, socket.port);
    }
}

/// The counters of a connection that a sample keeps.
pub(crate) fn stats_of(tcp: &Connection) -> TcpStats {
    let short = |count: u32| u16::try_from(count).unwrap_or(u16::MAX);
    let counters = tcp.counters();
    let micros = |srtt: Duration| NonZeroU32::new(u32::try_from(srtt.as_ns() / 1_000).unwrap_or(u32::MAX));
    TcpStats {
        syn_tries: NonZeroU8::new(counters.syns_sent).unwrap_or(NonZeroU8::MIN),
        retransmits: short(counters.retransmits),
        out_of_order: short(counters.out_of_order),
        srtt_us: tcp.srtt().and_then(micros),
    }
}

fn failure_of(failure: TcpFailure) -> Failure {
    match failure {
        TcpFailure::Refused => Failure::Refused,
        TcpFailure::Reset => Failure::Reset,
        TcpFailure::TimedOut => Failure::ConnectTimedOut,
    }
}

/// `bytes` as a part of `payload` if it lies there, and else a copy: what filled a gap comes from a store.
fn piece_of(payload: &Bytes, bytes: &[u8]) -> Bytes {
    if payload.as_ptr_range().contains(&bytes.as_ptr()) {
        payload.slice_ref(bytes)
    } else {
        Bytes::copy_from_slice(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_shared_where_they_can_be() {
        let payload = Bytes::from_static(b"abcdef");
        assert_eq!(piece_of(&payload, &payload[2..4]).as_ptr(), payload[2..].as_ptr());
        assert_eq!(piece_of(&payload, b"xy"), Bytes::from_static(b"xy"));
    }
}
