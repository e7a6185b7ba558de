//! CoDel (RFC 8289, section 5): drop, as it is about to leave, what has waited too long for too long.
//!
//! The fate of a packet needs the bytes that are queued behind it *when it leaves*, so it cannot be known
//! when the packet comes. But nothing else about a departure depends on the future, so no event a departure
//! is needed for exactness: departures are worked out in order, each at its own past instant, whenever
//! somebody asks, before anything newer joins the queue. A packet that finds the link idle leaves at once,
//! and its fate is known at once; that of one that waits is known when it is asked for. Asking late by less
//! than the link's propagation delay makes nobody late, for the packet is still under way then.

use super::{Limit, Mark};
use farfield_base::{Duration, Instant};
use std::collections::VecDeque;

/// Parameters of CoDel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameters {
    /// The most that may wait, whatever CoDel says; `None` is all there is.
    pub limit: Option<Limit>,
    /// `TARGET`: the standing delay that is tolerated (RFC 8289: 5 ms).
    pub target: Duration,
    /// `INTERVAL`: how long it must stand (RFC 8289: 100 ms).
    pub interval: Duration,
    /// `maxpacket`: with at most so many bytes behind it a packet is never dropped.
    pub max_packet: u64,
    /// Packets whose ends understand it are marked in place of being dropped (RFC 3168; as in Linux).
    pub ecn: bool,
}

/// A packet that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub key: u64,
    pub bytes: u32,
    pub came: Instant,
    pub ecn: Mark,
}

/// A queue of its own under CoDel.
#[derive(Debug, Clone, Default)]
pub(crate) struct Codel {
    waiting: VecDeque<Waiting>,
    bytes: u64,
    control: Control,
}

impl Codel {
    /// The next to leave, if nothing is dropped.
    pub fn front(&self) -> Option<&Waiting> {
        self.waiting.front()
    }

    /// Packets and bytes that wait.
    pub fn length(&self) -> (u64, u64) {
        (self.waiting.len() as u64, self.bytes)
    }

    /// Adds a packet that waits.
    pub fn push(&mut self, packet: Waiting) {
        self.bytes += u64::from(packet.bytes);
        self.waiting.push_back(packet);
    }

    /// The packet that leaves at `now`, if one is left; those dropped on the way go to `dropped`.
    pub fn leave(
        &mut self,
        now: Instant,
        parameters: &Parameters,
        dropped: impl FnMut(Waiting),
    ) -> Option<Waiting> {
        let Codel { waiting, bytes, control } = self;
        let first = || {
            let packet = waiting.pop_front()?;
            *bytes -= u64::from(packet.bytes);
            Some((packet, *bytes))
        };
        control.leave(now, parameters, first, dropped)
    }
}

/// Memory of the control law, apart from the packets; names are the RFC's.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Control {
    first_above_time: Option<Instant>,
    drop_next: Instant,
    count: u32,
    lastcount: u32,
    dropping: bool,
}

impl Control {
    /// `deque`: the packet that leaves at `now`, if one is left; those dropped on the way go to `dropped`.
    /// `first` takes the first packet out of the queue, with the bytes that are left behind it.
    pub fn leave(
        &mut self,
        now: Instant,
        parameters: &Parameters,
        mut first: impl FnMut() -> Option<(Waiting, u64)>,
        mut dropped: impl FnMut(Waiting),
    ) -> Option<Waiting> {
        let (mut packet, mut may_drop) = self.judge(first(), now, parameters);
        if self.dropping {
            self.dropping = may_drop;
            // A backlog may be so large that several drops are due by now.
            while self.dropping && now >= self.drop_next {
                self.count += 1;
                if parameters.ecn && marks(&mut packet) {
                    self.drop_next = control_law(self.drop_next, parameters.interval, self.count);
                    break;
                }
                packet.into_iter().for_each(&mut dropped);
                (packet, may_drop) = self.judge(first(), now, parameters);
                if may_drop {
                    self.drop_next = control_law(self.drop_next, parameters.interval, self.count);
                } else {
                    self.dropping = false;
                }
            }
        } else if may_drop {
            if !(parameters.ecn && marks(&mut packet)) {
                packet.into_iter().for_each(&mut dropped);
                (packet, _) = self.judge(first(), now, parameters);
            }
            self.start_dropping(now, parameters.interval);
        }
        packet
    }

    /// `deque` of an empty queue.
    pub fn find_empty(&mut self) {
        self.first_above_time = None;
        self.dropping = false;
    }

    /// True if an empty queue behaves from `now` on as one that has never dropped.
    pub fn forgets(&self, now: Instant, interval: Duration) -> bool {
        let is_at_rest = self.first_above_time.is_none() && !self.dropping;
        is_at_rest && self.recent_drops(now, interval).is_none()
    }

    /// Enters the dropping state, near the rate that held the queue down if that was not long ago.
    fn start_dropping(&mut self, now: Instant, interval: Duration) {
        self.dropping = true;
        self.count = self.recent_drops(now, interval).unwrap_or(1);
        self.drop_next = control_law(now, interval, self.count);
        self.lastcount = self.count;
    }

    /// Drops of the last dropping state beyond those that it began with, if there were several and they are
    /// not long ago.
    fn recent_drops(&self, now: Instant, interval: Duration) -> Option<u32> {
        let delta = self.count.wrapping_sub(self.lastcount);
        (delta > 1 && now.since(self.drop_next) < interval.times(16)).then_some(delta)
    }

    /// `dodequeue`, behind taking the packet: says whether it may be dropped.
    fn judge(
        &mut self,
        first: Option<(Waiting, u64)>,
        now: Instant,
        parameters: &Parameters,
    ) -> (Option<Waiting>, bool) {
        let Some((packet, bytes_left)) = first else {
            self.first_above_time = None;
            return (None, false);
        };
        if now.since(packet.came) < parameters.target || bytes_left <= parameters.max_packet {
            self.first_above_time = None;
            return (Some(packet), false);
        }
        match self.first_above_time {
            None => {
                self.first_above_time = Some(now + parameters.interval);
                (Some(packet), false)
            }
            Some(since) => (Some(packet), now >= since),
        }
    }
}

/// Marks the packet, if its ends understand that.
fn marks(packet: &mut Option<Waiting>) -> bool {
    packet.as_mut().is_some_and(|packet| packet.ecn.meet())
}

/// Instant at which the next drop is due: drops come closer with the square root of their number (RFC 8289,
/// section 5).
fn control_law(from: Instant, interval: Duration, count: u32) -> Instant {
    from + Duration::from_ns((interval.as_ns() as f64 / f64::from(count).sqrt()) as u64)
}
