//! Delivery: how late the server's kernel receives what a shard has written to the gateway.
//!
//! Where a thread of the kernel's does the receive work, a packet that has been written waits until that
//! thread has a processor, which other work on the machine can keep from it for milliseconds; then every
//! response time is that much too long. So right before a packet, every ten milliseconds at most, a datagram
//! is written to a [door](crate::gateway::Door) in the server's kernel, and the time until the kernel
//! receives it is recorded.

use crate::gateway::{Door, Queue};
use crate::os::clock::Clock;
use farfield_base::{Duration, Instant, Window};
use farfield_measure::Histogram;
use std::io::IoSlice;
use std::sync::Arc;

/// The least time between two probes.
const BETWEEN: Duration = Duration::from_ms(10);
/// A probe that has not arrived by then is not waited for any longer.
const LOST_AFTER: Duration = Duration::from_secs(2);
/// Datagrams that are read at once: one is under way, and whatever else comes is not ours.
const READS_MAX: usize = 16;

/// The probes of one queue.
pub(crate) struct Delivery {
    door: Arc<Door>,
    clock: Clock,
    window: Window,
    number: u64,
    /// When the last probe was written, if it has not been seen to arrive.
    under_way: Option<Instant>,
    /// Whether any has arrived: where none can, none is late.
    arrives: bool,
    next_at: Instant,
    datagram: Vec<u8>,
    /// Time from the writing of each probe to its reception by the server's kernel.
    pub lateness: Histogram,
}

impl Delivery {
    pub fn new(door: Arc<Door>, clock: Clock, window: Window) -> Delivery {
        Delivery {
            door,
            clock,
            window,
            number: 0,
            under_way: None,
            arrives: false,
            next_at: Instant::ZERO,
            datagram: Vec::new(),
            lateness: Histogram::new(),
        }
    }

    /// Writes a probe if at `now` it is time for one and none is under way; false if it is not time, and
    /// nothing was done. Call it before a packet is written.
    #[inline]
    pub fn probe(&mut self, queue: &mut Queue, now: Instant) -> bool {
        let is_time = now >= self.next_at;
        if is_time {
            self.write(queue, now);
        }
        is_time
    }

    fn write(&mut self, queue: &mut Queue, now: Instant) {
        self.next_at = now + BETWEEN;
        self.look();
        if let Some(written) = self.under_way {
            let late = now.since(written);
            if late < LOST_AFTER {
                return;
            }
            if self.arrives {
                self.record(written, late);
            }
        }
        self.number += 1;
        self.door.datagram(self.number, &mut self.datagram);
        let written = self.clock.now();
        let accepted = queue.write(&[IoSlice::new(&self.datagram)]);
        self.under_way = accepted.is_ok_and(|accepted| accepted).then_some(written);
    }

    /// Records the probe that was under way, if it has arrived.
    pub fn look(&mut self) {
        for _ in 0..READS_MAX {
            let Some((number, received_unix_ns)) = self.door.arrived() else { return };
            let Some(written) = self.under_way.filter(|_| number == self.number) else { continue };
            (self.under_way, self.arrives) = (None, true);
            // The wall clock may have been set since the last one.
            let received = Instant::from_ns(received_unix_ns.saturating_sub(self.clock.start_unix_ns()));
            self.record(written, received.since(written));
        }
    }

    fn record(&mut self, written: Instant, late: Duration) {
        if self.window.contains(written) {
            self.lateness.record(late);
        }
    }
}
