//! Gateway port: a shard's queue of the gateway, packets in and out, and the lateness of those that left.
//!
//! No packet is allocated here: received packets share chunks of memory, and sent ones are written from
//! where they lie.

use crate::emulated::delivery::Delivery;
use crate::emulated::pickup::Pickup;
use farfield_base::{Duration, Instant, NetworkDrops, PacketCounts, Window};
use farfield_emulator::offload::{Frame, take_apart};
use farfield_emulator::{Departure, Framed, Packet, PacketPayload};
use farfield_measure::Histogram;
use farfield_os::clock::Clock;
use farfield_testbed::gateway::{Chunks, Queue};
use farfield_wire::{IpPacket, VnetHeader};
use std::io::{self, IoSlice};
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};

/// Chunks of received packets that are kept to be used again, of 1 MiB each.
const CHUNKS_KEPT: usize = 4;
/// The kernel takes some hundred packets in this time, a share of those that may wait before it.
const PAUSE_AFTER_REFUSAL: Duration = Duration::from_ms(1);

pub(crate) struct GatewayPort {
    /// The number of its server.
    pub server: u16,
    queue: Queue,
    clock: Clock,
    window: Window,
    /// The instant at which the kernel can be expected to have room again.
    resumes_at: Instant,
    /// Real hosts among the clients, whose packets stay as the kernel hands them over.
    hosts: Vec<IpAddr>,
    chunks: Chunks,
    /// Lateness of each packet sent to the server, against its intended instant.
    pub lateness: Histogram,
    /// Lateness with which the server's kernel receives what is sent, where that can be seen.
    pub delivery: Option<Delivery>,
    /// Time that packets from the server's kernel wait here.
    pub pickup: Pickup,
    pub counts: PacketCounts,
    /// Packets that were damaged on the way to a network card.
    pub drops: NetworkDrops,
}

impl GatewayPort {
    pub fn new(queue: Queue, clock: Clock, window: Window) -> GatewayPort {
        let delivery = queue.door().map(|door| Delivery::new(door, clock, window));
        let pickup = Pickup::new(window);
        let pickup = match queue.door() {
            Some(door) => pickup.with_marks(door, clock),
            None => pickup,
        };
        GatewayPort {
            server: 0,
            queue,
            clock,
            window,
            resumes_at: Instant::ZERO,
            hosts: Vec::new(),
            chunks: Chunks::new(CHUNKS_KEPT),
            lateness: Histogram::new(),
            delivery,
            pickup,
            counts: PacketCounts::default(),
            drops: NetworkDrops::default(),
        }
    }

    /// Sets the number of its server.
    pub fn of_server(self, server: u16) -> GatewayPort {
        GatewayPort { server, ..self }
    }

    /// Sets the real hosts among the clients.
    pub fn with_hosts(self, hosts: Vec<IpAddr>) -> GatewayPort {
        GatewayPort { hosts, ..self }
    }

    /// Descriptor to poll for packets.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.queue.as_fd()
    }

    /// Writes a packet to the server's kernel.
    pub fn send(&mut self, departure: &Departure) {
        let mut now = self.clock.now();
        if let Some(delivery) = &mut self.delivery
            && delivery.probe(&mut self.queue, now)
        {
            now = self.clock.now();
        }
        let Packet { ttl, ecn, carried, .. } = &departure.packet;
        let packets = departure.packet.packets();
        if self.window.contains(departure.intended) {
            let late = now.since(departure.intended);
            (0..packets).for_each(|_| self.lateness.record(late));
        }
        let written = match carried {
            PacketPayload::Framed(framed) => {
                let (head, rest) = framed.emit(*ttl, *ecn);
                self.queue.write(&[IoSlice::new(head.as_bytes()), IoSlice::new(rest)])
            }
            PacketPayload::Tcp(_) | PacketPayload::Udp(_) | PacketPayload::Raw(_) => {
                let frame = Frame::of(&departure.packet);
                self.queue.write(&[IoSlice::new(frame.head()), IoSlice::new(frame.rest())])
            }
        };
        match written {
            Ok(true) => self.counts.up += packets,
            Ok(false) => {
                self.counts.refused += packets;
                self.resumes_at = self.clock.now() + PAUSE_AFTER_REFUSAL;
            }
            Err(_) => self.counts.overruns += 1,
        }
    }

    /// True shortly after the server's kernel has refused a packet for want of room: it needs time to make
    /// some.
    pub fn is_refused(&self, now: Instant) -> bool {
        now < self.resumes_at
    }

    /// The instant at which the kernel can be expected to have room again, or had.
    pub fn resumes_at(&self) -> Instant {
        self.resumes_at
    }

    /// Reads the next packet, or a large segment as its packets, and passes each to `each`; false if there
    /// is none.
    ///
    /// # Errors
    /// If the gateway is gone.
    pub fn receive(&mut self, each: impl FnMut(Packet)) -> io::Result<bool> {
        let Some(length) = self.queue.read(self.chunks.room(Queue::READ_LEN))? else { return Ok(false) };
        let framed = self.chunks.take(length);
        let Ok(header) = VnetHeader::parse(&framed) else {
            self.count_unreadable();
            return Ok(true);
        };
        let bytes = framed.slice(VnetHeader::LEN..);
        if self.pickup.is_mark(&bytes) {
            return Ok(true);
        }
        let (received, mut each) = (&mut self.counts.down, each);
        if is_for(&self.hosts, &bytes) {
            match Framed::parse(framed) {
                Ok(framed) => {
                    *received += u64::from(framed.packets());
                    each(framed.into_packet());
                }
                Err(_) => self.count_unreadable(),
            }
            return Ok(true);
        }
        let taken = take_apart(&header, &bytes, |packet| {
            *received += 1;
            each(packet);
        });
        if taken.is_err() {
            self.count_unreadable();
        }
        Ok(true)
    }

    /// Counts what cannot be read. A kernel on this machine sends no such packet; what comes by a card, from
    /// machines there or from anybody in their name, was damaged on the way, and is dropped as any host drops
    /// it.
    fn count_unreadable(&mut self) {
        match self.queue.is_on_card() {
            true => self.drops.damaged += 1,
            false => self.counts.overruns += 1,
        }
    }
}

/// True if an IP packet is for one of `hosts`.
fn is_for(hosts: &[IpAddr], packet: &[u8]) -> bool {
    !hosts.is_empty() && IpPacket::parse(packet).is_ok_and(|ip| hosts.contains(&ip.addresses().destination()))
}
