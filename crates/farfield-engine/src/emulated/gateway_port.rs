//! Gateway port: a shard's queue of the gateway, packets in and out, and the lateness of those that left.
//!
//! No packet is allocated here: received packets share chunks of memory, and sent ones are written from
//! where they lie.

use crate::os::clock::Clock;
use crate::testbed::Queue;
use crate::worker_report::PortCounts;
use bytes::BytesMut;
use farfield_base::{Duration, Instant, Window};
use farfield_emulator::offload::{Frame, take_apart};
use farfield_emulator::{Departure, Packet};
use farfield_measure::Histogram;
use farfield_wire::VnetHeader;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};

/// Size of one allocation for received packets.
const CHUNK: usize = 1 << 20;
/// The kernel takes some hundred packets in this time, a share of those that may wait before it.
const PAUSE_AFTER_REFUSAL: Duration = Duration::from_ms(1);

pub(crate) struct GatewayPort {
    queue: Queue,
    clock: Clock,
    window: Window,
    /// When the kernel can be expected to have room again.
    resumes_at: Instant,
    chunk: BytesMut,
    /// Lateness of each packet sent to the server, against its intended instant.
    pub lateness: Histogram,
    pub counts: PortCounts,
}

impl GatewayPort {
    pub fn new(queue: Queue, clock: Clock, window: Window) -> GatewayPort {
        let chunk = BytesMut::zeroed(CHUNK);
        GatewayPort {
            queue,
            clock,
            window,
            resumes_at: Instant::ZERO,
            chunk,
            lateness: Histogram::new(),
            counts: PortCounts::default(),
        }
    }

    /// Descriptor to poll for packets.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.queue.as_fd()
    }

    /// Writes a packet to the server's kernel, which does its receive work during the call.
    pub fn send(&mut self, departure: &Departure) {
        let frame = Frame::of(&departure.packet);
        if self.window.contains(departure.intended) {
            self.lateness.record(self.clock.now().since(departure.intended));
        }
        match self.queue.write(&[IoSlice::new(frame.head()), IoSlice::new(frame.rest())]) {
            Ok(true) => self.counts.sent += 1,
            Ok(false) => {
                self.counts.refused += 1;
                self.resumes_at = self.clock.now() + PAUSE_AFTER_REFUSAL;
            }
            Err(_) => self.counts.failed += 1,
        }
    }

    /// True shortly after the server's kernel has refused a packet for want of room: it needs time to make
    /// some.
    pub fn is_refused(&self, now: Instant) -> bool {
        now < self.resumes_at
    }

    /// When the kernel can be expected to have room again, or had.
    pub fn resumes_at(&self) -> Instant {
        self.resumes_at
    }

    /// Reads the next packet, or a large segment as its packets, and passes each to `each`; false if there
    /// is none.
    ///
    /// # Errors
    /// If the gateway is gone.
    pub fn receive(&mut self, each: impl FnMut(Packet)) -> io::Result<bool> {
        if self.chunk.len() < Queue::READ_LEN {
            self.chunk = BytesMut::zeroed(CHUNK);
        }
        let Some(length) = self.queue.read(&mut self.chunk)? else { return Ok(false) };
        let Ok(header) = VnetHeader::parse(&self.chunk[..length.min(VnetHeader::LEN)]) else {
            self.counts.malformed += 1;
            return Ok(true);
        };
        let bytes = self.chunk.split_to(length).freeze().slice(VnetHeader::LEN..);
        let (received, mut each) = (&mut self.counts.received, each);
        let taken = take_apart(&header, &bytes, |packet| {
            *received += 1;
            each(packet);
        });
        if taken.is_err() {
            self.counts.malformed += 1;
        }
        Ok(true)
    }
}
