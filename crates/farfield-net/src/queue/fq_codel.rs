//! FQ-CoDel (RFC 8290): a queue under CoDel for each flow, served by deficit round robin, new flows first.
//!
//! A flow's queue follows from a hash of its addresses, ports and protocol, which the caller gives with each
//! packet; flows whose hashes fall into one queue share it. What leaves next depends on what comes until
//! then, so that departures are worked out as [CoDel's](super::codel) are: in order, each at its own past
//! instant, before anything newer joins.
//!
//! CoDel looks at the bytes of the flow's own queue (RFC 8290, section 4.2), where Linux looks at those of
//! all queues together. A queue that is full drops from the head of the one with the most bytes: half of
//! them, at most 64 packets (section 4.1).
//!
//! Memory follows the packets that wait and the flows that have any: queues that are empty, and whose CoDel
//! remembers nothing, are forgotten before others are made. A packet costs no allocation once tables have
//! grown.

use super::codel::{self, Control, Waiting};
use farfield_base::Instant;
use std::collections::VecDeque;

/// Parameters of FQ-CoDel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameters {
    /// CoDel of each queue; its limit is that of all queues together.
    pub codel: codel::Parameters,
    /// `quantum`: bytes that a queue may send before it is another's turn, above 0 (RFC 8290, section 5.2.4).
    pub quantum: u32,
    /// Queues that flows are hashed into, above 0 (RFC 8290, section 5.2.5: 1,024).
    pub queues: u16,
}

/// The most packets that one overflow drops (RFC 8290, section 4.1).
const DROP_BATCH: u32 = 64;

/// No packet, as the place of one.
const NONE: u32 = u32::MAX;

/// A packet of a queue, and the place of the one that waits behind it there.
#[derive(Debug, Clone, Copy)]
struct QueuedPacket {
    packet: Waiting,
    next: u32,
}

/// Queues from which on those that remember nothing any more are looked for before another is made.
const SWEPT_LEAST: usize = 16;

/// The flows' queues and the packets in them.
#[derive(Debug, Clone, Default)]
pub(crate) struct FqCodel {
    /// Queues that have packets, wait for their turn, or remember drops; slots of others are free.
    queues: Vec<FlowQueue>,
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

/// The queue of a flow, or of several that share a hash.
#[derive(Debug, Clone, Default)]
struct FlowQueue {
    control: Control,
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

impl FqCodel {
    /// Instant at which the newest packet came, while any waits: all others came before it.
    pub fn newest(&self) -> Option<Instant> {
        (self.packets.count > 0).then_some(self.newest)
    }

    /// Instant at which the last packet left.
    pub fn left_at(&self) -> Instant {
        self.left_at
    }

    /// Adds a packet that waits, of a flow with this hash.
    pub fn push(&mut self, hash: u32, packet: Waiting, parameters: &Parameters) {
        let number = ((u64::from(hash) * u64::from(parameters.queues)) >> 32) as u16;
        let slot = self.slot_of(number, packet.came, parameters);
        let queue = &mut self.queues[usize::from(slot)];
        queue.packets.append(packet, &mut self.packets);
        if !queue.is_listed {
            queue.is_listed = true;
            queue.credit = i64::from(parameters.quantum);
            self.new.push_back(slot);
        }
        self.newest = packet.came;
    }

    /// Drops packets of the queues with the most bytes until what waits is within the limit.
    pub fn keep_within_limit(&mut self, parameters: &Parameters, mut dropped: impl FnMut(Waiting)) {
        let Some(limit) = parameters.codel.limit else { return };
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
        }
    }

    /// The packet that leaves at `now`, if one is left; those that CoDel drops on the way go to `dropped`
    /// (RFC 8290, section 4.2).
    pub fn leave(
        &mut self,
        now: Instant,
        parameters: &Parameters,
        mut dropped: impl FnMut(Waiting),
    ) -> Option<Waiting> {
        self.left_at = now;
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let slot = *list.front()?;
            let queue = &mut self.queues[usize::from(slot)];
            if queue.credit <= 0 {
                queue.credit += i64::from(parameters.quantum);
                list.pop_front();
                self.old.push_back(slot);
                continue;
            }
            let FlowQueue { control, packets, .. } = queue;
            let first = || packets.take_first(&mut self.packets);
            let packet = control.leave(now, &parameters.codel, first, &mut dropped);
            if let Some(packet) = packet {
                queue.credit -= i64::from(packet.bytes);
                return Some(packet);
            }
            queue.control.find_empty();
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
            queue.control.find_empty();
            queue.is_listed = false;
        }
    }

    /// True if queues wait for a turn, with packets or without.
    pub fn is_listing(&self) -> bool {
        !(self.new.is_empty() && self.old.is_empty())
    }

    /// The slot of the queue with this number.
    fn slot_of(&mut self, number: u16, now: Instant, parameters: &Parameters) -> u16 {
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

    /// Forgets the queues that no longer have anything to remember.
    fn sweep(&mut self, now: Instant, parameters: &Parameters) {
        let FqCodel { queues, free_queues, numbers, .. } = self;
        numbers.retain(|(_, slot)| {
            let queue = &queues[usize::from(*slot)];
            let is_kept = queue.is_listed || !queue.control.is_fresh(now, parameters.codel.interval);
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
