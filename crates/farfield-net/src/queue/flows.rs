//! Flow queueing (RFC 8290, section 4): a queue for each flow, served by deficit round robin, new flows
//! first. It is what FQ-CoDel and FQ-PIE have in common; what drops packets is each flow's own
//! [control](FlowControl).
//!
//! A flow's queue follows from a hash of its addresses, ports and protocol, which the caller gives with each
//! packet; flows whose hashes fall into one queue share it. What leaves next depends on what comes until
//! then, so that departures are worked out as [CoDel's](super::codel) are: in order, each at its own past
//! instant, before anything newer joins.
//!
//! Queues that are full together drop from the head of the one with the most bytes: half of them, at most 64
//! packets (section 4.1).
//!
//! Memory follows the packets that wait and the flows that have any: queues that are empty, and whose control
//! remembers nothing, are forgotten before others are made. A packet costs no allocation once tables have
//! grown.

use super::Limit;
use super::codel::Waiting;
use farfield_base::Instant;
use std::collections::VecDeque;

/// The discipline of one flow's queue.
pub(crate) trait FlowControl: Default {
    /// Parameters of all flows' queues.
    type Parameters;

    /// The packet of the queue that leaves at `now`, if one is left; those that are dropped on the way go to
    /// `dropped`. `first` takes the first packet out of the queue, with the bytes that are left behind it.
    fn next(
        &mut self,
        now: Instant,
        parameters: &Self::Parameters,
        first: impl FnMut() -> Option<(Waiting, u64)>,
        dropped: impl FnMut(Waiting),
    ) -> Option<Waiting>;

    /// The queue's turn has come, and it is empty.
    fn rest(&mut self);

    /// Packets at the queue's head were dropped at `now`, since all queues together are full; none is left if
    /// it `is_empty`.
    fn overflow(&mut self, now: Instant, parameters: &Self::Parameters, is_empty: bool);

    /// True if the queue, which is empty, behaves from `now` on as one that has never had a packet.
    fn is_fresh(&mut self, now: Instant, parameters: &Self::Parameters) -> bool;
}

/// The most packets that one overflow drops (RFC 8290, section 4.1).
const DROP_BATCH: u32 = 64;

/// No packet, as the place of one.
const NONE: u32 = u32::MAX;

/// Queues from which on those that remember nothing any more are looked for before another is made.
const SWEPT_LEAST: usize = 16;

/// The flows' queues and the packets in them.
#[derive(Debug, Clone, Default)]
pub(crate) struct FlowQueues<C> {
    /// Queues that have packets, wait for their turn, or remember something; slots of others are free.
    queues: Vec<FlowQueue<C>>,
    free_queues: Vec<u16>,
    /// Numbers of queues with their slots, in order of numbers.
    numbers: Vec<(u16, u16)>,
    /// Slots of queues whose flows have just begun, in order of service.
    new: VecDeque<u16>,
    /// Slots of queues that have had their turn, in order of service.
    old: VecDeque<u16>,
    packets: PacketPool,
    newest: Instant,
    left_at: Instant,
}

/// The packets of all queues.
#[derive(Debug, Clone, Default)]
struct PacketPool {
    places: Vec<QueuedPacket>,
    free: Vec<u32>,
    count: u64,
    bytes: u64,
}

/// A packet of a queue, and the place of the one that waits behind it there.
#[derive(Debug, Clone, Copy)]
struct QueuedPacket {
    packet: Waiting,
    next: u32,
}

/// The queue of a flow, or of several that share a hash.
#[derive(Debug, Clone, Default)]
struct FlowQueue<C> {
    control: C,
    packets: FlowPackets,
    /// Bytes that it may still send in this round, below zero if it has sent more.
    credit: i64,
    number: u16,
    is_listed: bool,
}

/// The packets of a queue: the places of the first and the last, and their bytes.
#[derive(Debug, Clone)]
struct FlowPackets {
    bytes: u64,
    head: u32,
    tail: u32,
}

impl<C: FlowControl> FlowQueues<C> {
    /// Instant at which the newest packet came, while any waits: all others came before it.
    pub fn newest(&self) -> Option<Instant> {
        (self.packets.count > 0).then_some(self.newest)
    }

    /// Instant at which the last packet left, while queues wait for a turn, with packets or without.
    pub fn listed_since(&self) -> Option<Instant> {
        let is_listing = !(self.new.is_empty() && self.old.is_empty());
        is_listing.then_some(self.left_at)
    }

    /// The slot of the queue, of `queues` in all, for flows with this hash.
    pub fn slot_of(&mut self, hash: u32, queues: u16, now: Instant, parameters: &C::Parameters) -> u16 {
        let number = ((u64::from(hash) * u64::from(queues)) >> 32) as u16;
        if let Ok(at) = self.numbers.binary_search_by_key(&number, |(number, _)| *number) {
            return self.numbers[at].1;
        }
        let slots = self.queues.len();
        if self.free_queues.is_empty() && slots >= SWEPT_LEAST && slots.is_power_of_two() {
            self.sweep(now, parameters);
        }
        let at = self.numbers.partition_point(|(other, _)| *other < number);
        let queue = FlowQueue { number, ..FlowQueue::default() };
        let slot = match self.free_queues.pop() {
            Some(slot) => {
                self.queues[usize::from(slot)] = queue;
                slot
            }
            None => {
                self.queues.push(queue);
                self.queues.len() as u16 - 1
            }
        };
        self.numbers.insert(at, (number, slot));
        slot
    }

    /// The control of the queue in a slot, and the bytes that wait there.
    pub fn control_mut(&mut self, slot: u16) -> (&mut C, u64) {
        let FlowQueue { control, packets, .. } = &mut self.queues[usize::from(slot)];
        (control, packets.bytes)
    }

    /// Adds a packet that waits to the queue in a slot.
    pub fn append(&mut self, slot: u16, packet: Waiting, quantum: u32) {
        let queue = &mut self.queues[usize::from(slot)];
        queue.packets.append(packet, &mut self.packets);
        if !queue.is_listed {
            queue.is_listed = true;
            queue.credit = i64::from(quantum);
            self.new.push_back(slot);
        }
        self.newest = packet.came;
    }

    /// Drops packets of the queues with the most bytes until what waits at `now` is within `limit`.
    pub fn keep_within(
        &mut self,
        now: Instant,
        limit: Limit,
        parameters: &C::Parameters,
        mut dropped: impl FnMut(Waiting),
    ) {
        while limit.measure(self.packets.count, self.packets.bytes) > limit.count() {
            let key = |slot: &u16| {
                let queue = &self.queues[usize::from(*slot)];
                // Of several with the most, the first by number.
                (queue.packets.bytes, std::cmp::Reverse(queue.number))
            };
            let Some(fattest) = self.new.iter().chain(&self.old).copied().max_by_key(key) else { return };
            let queue = &mut self.queues[usize::from(fattest)];
            let (half, mut bytes) = (queue.packets.bytes / 2, 0);
            for _ in 0..DROP_BATCH {
                let Some((packet, _)) = queue.packets.take_first(&mut self.packets) else { break };
                bytes += u64::from(packet.bytes);
                dropped(packet);
                if bytes >= half {
                    break;
                }
            }
            queue.control.overflow(now, parameters, queue.packets.head == NONE);
        }
    }

    /// The packet that leaves at `now`, if one is left; those that controls drop on the way go to `dropped`
    /// (RFC 8290, section 4.2).
    pub fn leave(
        &mut self,
        now: Instant,
        quantum: u32,
        parameters: &C::Parameters,
        mut dropped: impl FnMut(Waiting),
    ) -> Option<Waiting> {
        self.left_at = now;
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let slot = *list.front()?;
            let queue = &mut self.queues[usize::from(slot)];
            if queue.credit <= 0 {
                queue.credit += i64::from(quantum);
                list.pop_front();
                self.old.push_back(slot);
                continue;
            }
            let FlowQueue { control, packets, .. } = queue;
            let first = || packets.take_first(&mut self.packets);
            let packet = control.next(now, parameters, first, &mut dropped);
            if let Some(packet) = packet {
                queue.credit -= i64::from(packet.bytes);
                return Some(packet);
            }
            queue.control.rest();
            if is_new {
                // It goes through the old ones first, so that it cannot come again and again before them.
                self.new.pop_front();
                self.old.push_back(slot);
            } else {
                self.old.pop_front();
                queue.is_listed = false;
            }
        }
    }

    /// The transmitter has found nothing to send: all queues have had their turns.
    pub fn rest(&mut self) {
        debug_assert_eq!(self.packets.count, 0, "packets wait for their turn");
        while let Some(slot) = self.new.pop_front().or_else(|| self.old.pop_front()) {
            let queue = &mut self.queues[usize::from(slot)];
            queue.control.rest();
            queue.is_listed = false;
        }
    }

    /// Forgets the queues that no longer have anything to remember.
    fn sweep(&mut self, now: Instant, parameters: &C::Parameters) {
        let FlowQueues { queues, free_queues, numbers, .. } = self;
        numbers.retain(|(_, slot)| {
            let queue = &mut queues[usize::from(*slot)];
            let is_kept = queue.is_listed || !queue.control.is_fresh(now, parameters);
            if !is_kept {
                free_queues.push(*slot);
            }
            is_kept
        });
    }
}

impl FlowPackets {
    /// Adds a packet that waits.
    fn append(&mut self, packet: Waiting, pool: &mut PacketPool) {
        let at = pool.put(packet);
        match self.head {
            NONE => self.head = at,
            _ => pool.places[self.tail as usize].next = at,
        }
        self.tail = at;
        self.bytes += u64::from(packet.bytes);
    }

    /// Takes the first packet, with the bytes that are left behind it.
    fn take_first(&mut self, pool: &mut PacketPool) -> Option<(Waiting, u64)> {
        if self.head == NONE {
            return None;
        }
        let QueuedPacket { packet, next } = pool.take(self.head);
        self.head = next;
        self.bytes -= u64::from(packet.bytes);
        Some((packet, self.bytes))
    }
}

impl Default for FlowPackets {
    fn default() -> FlowPackets {
        FlowPackets { bytes: 0, head: NONE, tail: NONE }
    }
}

impl PacketPool {
    /// Stores a packet, and returns its place.
    fn put(&mut self, packet: Waiting) -> u32 {
        self.count += 1;
        self.bytes += u64::from(packet.bytes);
        let queued = QueuedPacket { packet, next: NONE };
        let Some(at) = self.free.pop() else {
            self.places.push(queued);
            return self.places.len() as u32 - 1;
        };
        self.places[at as usize] = queued;
        at
    }

    fn take(&mut self, at: u32) -> QueuedPacket {
        let queued = self.places[at as usize];
        self.free.push(at);
        self.count -= 1;
        self.bytes -= u64::from(queued.packet.bytes);
        queued
    }
}
