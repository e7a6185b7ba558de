//! The event store of a shard: a hierarchical timing wheel over whole nanoseconds.
//!
//! Level `k` has 64 slots, each `64^k` ns wide, and an event lies on the level of the highest base-64 digit
//! in which its time differs from the wheel's own (Varghese and Lauck 1987, scheme 7, with the radix heap's
//! way of choosing the level). So a slot of level 0 is one nanosecond: what lies in it is due at the same
//! instant, and because slots are first-in first-out at every level and a slot is dealt out before the wheel
//! enters its time, events leave in order of `(time, order of scheduling)`, exactly.
//!
//! The wheel goes from event to event, not from slot to slot: it takes the earliest of the first slot
//! straight out, and deals the others out by how they differ from that one. Most events are so dealt out once
//! or twice on their way, whatever the level they began on.
//!
//! Events of a slot lie side by side in chunks, and chunks in one slab: dealing out reads memory in order,
//! and nothing is allocated for an event once the slab has grown. There is no cancelling; the receiver of an
//! event checks whether it still cares.

use farfield_base::{Instant, index_type};

const DIGIT_BITS: u32 = 6;
const SLOTS: usize = 1 << DIGIT_BITS;
/// 11 digits of 6 bits cover the 64 bits of an instant.
const LEVELS: usize = 11;
/// Events of a chunk: enough to read in order, few enough not to waste a chunk on a slot with one event.
const CHUNK: usize = 10;
/// The level whose slots are named when they are dealt out: 64³ ns each.
const SOON_LEVEL: usize = 3;

/// Events in order of time, and of scheduling where times are equal.
///
/// ```
/// use farfield_net::{Duration, Instant, Wheel};
///
/// let mut wheel = Wheel::new();
/// let at = |ms| Instant::ZERO + Duration::from_ms(ms);
/// wheel.schedule(at(30), "third");
/// wheel.schedule(at(10), "first");
/// wheel.schedule(at(10), "second");
/// assert_eq!(wheel.next_at(), Some(at(10)));
/// assert_eq!(wheel.pop_due(at(20)), Some((at(10), "first")));
/// assert_eq!(wheel.pop_due(at(20)), Some((at(10), "second")));
/// assert_eq!(wheel.pop_due(at(20)), None);
/// assert_eq!(wheel.pop_due(Instant::MAX), Some((at(30), "third")));
/// ```
#[derive(Debug)]
pub struct Wheel<E> {
    /// No event left in the wheel is due before this, and none can be scheduled before it.
    elapsed: u64,
    /// For each level, a bit for each slot that holds something.
    occupied: [u64; LEVELS],
    slots: Box<[[Slot; SLOTS]; LEVELS]>,
    chunks: Vec<Chunk<E>>,
    /// The first of the chunks that are not in use.
    free: Option<ChunkSlot>,
    len: usize,
}

index_type! {
    /// A chunk: its place in the slab.
    struct ChunkSlot;
}

/// The chunks of a slot.
#[derive(Debug, Clone, Copy)]
struct Slot {
    first: Option<ChunkSlot>,
    last: Option<ChunkSlot>,
}

const EMPTY: Slot = Slot { first: None, last: None };
// A wheel has 704 slots.
const _: () = assert!(size_of::<Slot>() == 8);

#[derive(Debug)]
struct Chunk<E> {
    /// The chunk after it in its slot, or on the free list.
    next: Option<ChunkSlot>,
    /// The chunk's events are those of `from..to`; none is left only while it is on the free list.
    from: u8,
    to: u8,
    events: [WheelEntry<E>; CHUNK],
}

#[derive(Debug)]
struct WheelEntry<E> {
    at: u64,
    /// `None` outside of the chunk's `from..to`.
    event: Option<E>,
}

impl<E> Default for Wheel<E> {
    fn default() -> Self {
        Wheel::new()
    }
}

impl<E> Wheel<E> {
    /// An empty wheel at the start of the run.
    pub fn new() -> Wheel<E> {
        Wheel {
            elapsed: 0,
            occupied: [0; LEVELS],
            slots: Box::new([[EMPTY; SLOTS]; LEVELS]),
            chunks: Vec::new(),
            free: None,
            len: 0,
        }
    }

    /// Events waiting.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if nothing waits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Schedules `event` at `at`. An instant that the wheel has passed counts as the one it stands at: the
    /// event is late, but it comes, after those already due then.
    pub fn schedule(&mut self, at: Instant, event: E) {
        self.len += 1;
        self.append(at.as_ns().max(self.elapsed), event);
    }

    /// Takes the next event if it is due at `now` or before, with the instant it was scheduled for.
    pub fn pop_due(&mut self, now: Instant) -> Option<(Instant, E)> {
        self.pop_due_naming(now, |_| {})
    }

    /// Takes events as [`pop_due`](Self::pop_due) does; hands to `soon` events that come next: those of some
    /// 262 µs, when the wheel comes to them. A hint: what is scheduled later may come before, and single
    /// events are not named.
    pub fn pop_due_naming(&mut self, now: Instant, mut soon: impl FnMut(&E)) -> Option<(Instant, E)> {
        let now = now.as_ns();
        loop {
            let (level, slot) = self.first_slot()?;
            let start = self.slot_start(level, slot);
            if start > now {
                return None;
            }
            if level == 0 {
                self.elapsed = self.elapsed.max(start);
                return Some(self.take_first(slot));
            }
            let (earliest, only) = self.earliest(level, slot);
            if earliest <= now {
                self.elapsed = earliest;
                let event = self.take_earliest(level, slot, earliest, &mut soon);
                return Some((Instant::from_ns(earliest), event));
            }
            if only {
                return None;
            }
            self.elapsed = self.elapsed.max(start);
            self.deal_out(level, slot, &mut soon);
        }
    }

    /// Due instant of the next event. Looks through one slot: cheap while timers are spread, and exact.
    pub fn next_at(&self) -> Option<Instant> {
        let (level, slot) = self.first_slot()?;
        Some(Instant::from_ns(self.earliest(level, slot).0))
    }

    /// The occupied slot that comes first in time: on the lowest occupied level, for everything on a level is
    /// due before anything on the level above.
    fn first_slot(&self) -> Option<(usize, usize)> {
        let level = self.occupied.iter().position(|&slots| slots != 0)?;
        Some((level, self.occupied[level].trailing_zeros() as usize))
    }

    /// The first nanosecond of a slot, in the turn of its level that the wheel is in.
    fn slot_start(&self, level: usize, slot: usize) -> u64 {
        let shift = level as u32 * DIGIT_BITS;
        let above = self.elapsed.checked_shr(shift + DIGIT_BITS).unwrap_or(0);
        above.checked_shl(shift + DIGIT_BITS).unwrap_or(0) | ((slot as u64) << shift)
    }

    /// Due instant in ns of the earliest event of an occupied slot, and true if it is the slot's only one.
    fn earliest(&self, level: usize, slot: usize) -> (u64, bool) {
        let (mut earliest, mut count) = (u64::MAX, 0);
        let mut next = self.slots[level][slot].first;
        while let Some(chunk_at) = next {
            let chunk = &self.chunks[chunk_at.index()];
            let events = &chunk.events[usize::from(chunk.from)..usize::from(chunk.to)];
            earliest = events.iter().fold(earliest, |earliest, entry| earliest.min(entry.at));
            count += events.len();
            // All of a slot of level 0 is due at once.
            next = if level == 0 { None } else { chunk.next };
        }
        (earliest, count == 1)
    }

    fn append(&mut self, at: u64, event: E) {
        let differing = at ^ self.elapsed;
        let level = (63 - (differing | 1).leading_zeros()) / DIGIT_BITS;
        let slot = ((at >> (level * DIGIT_BITS)) as usize) & (SLOTS - 1);
        let level = level as usize;
        let last = self.slots[level][slot].last;
        let chunk_at = match last {
            Some(last) if usize::from(self.chunks[last.index()].to) < CHUNK => last,
            _ => self.extend(level, slot),
        };
        let chunk = &mut self.chunks[chunk_at.index()];
        chunk.events[usize::from(chunk.to)] = WheelEntry { at, event: Some(event) };
        chunk.to += 1;
    }

    /// Adds an empty chunk to a slot.
    fn extend(&mut self, level: usize, slot: usize) -> ChunkSlot {
        let chunk_at = if let Some(chunk_at) = self.free {
            let chunk = &mut self.chunks[chunk_at.index()];
            self.free = chunk.next.take();
            (chunk.from, chunk.to) = (0, 0);
            chunk_at
        } else {
            let number = u32::try_from(self.chunks.len()).expect("fewer than 2^32 - 1 chunks wait at once");
            let events = std::array::from_fn(|_| WheelEntry { at: 0, event: None });
            self.chunks.push(Chunk { next: None, from: 0, to: 0, events });
            ChunkSlot::new(number)
        };
        self.occupied[level] |= 1 << slot;
        let Slot { first, last } = &mut self.slots[level][slot];
        match *last {
            None => *first = Some(chunk_at),
            Some(last) => self.chunks[last.index()].next = Some(chunk_at),
        }
        *last = Some(chunk_at);
        chunk_at
    }

    /// Moves what lies in a slot to the levels below, in order.
    fn deal_out(&mut self, level: usize, slot: usize, soon: &mut impl FnMut(&E)) {
        let mut next = self.clear(level, slot);
        while let Some(chunk_at) = next {
            let chunk = &self.chunks[chunk_at.index()];
            for index in chunk.from..chunk.to {
                let entry = &mut self.chunks[chunk_at.index()].events[usize::from(index)];
                let at = entry.at;
                if let Some(event) = entry.event.take() {
                    if level == SOON_LEVEL {
                        soon(&event);
                    }
                    self.append(at, event);
                }
            }
            next = self.release(chunk_at);
        }
    }

    /// Takes the first of the events of a slot that are due at `earliest`, which is the wheel's time now, and
    /// moves the others to the levels below.
    fn take_earliest(&mut self, level: usize, slot: usize, earliest: u64, soon: &mut impl FnMut(&E)) -> E {
        let mut next = self.slots[level][slot].first;
        let event = loop {
            let chunk_at = next.expect("the earliest event of a slot lies in its chunks");
            let chunk = &mut self.chunks[chunk_at.index()];
            let events = &mut chunk.events[usize::from(chunk.from)..usize::from(chunk.to)];
            if let Some(entry) = events.iter_mut().find(|entry| entry.at == earliest) {
                break entry.event.take().expect("an entry in use holds its event");
            }
            next = chunk.next;
        };
        self.len -= 1;
        self.deal_out(level, slot, soon);
        event
    }

    fn clear(&mut self, level: usize, slot: usize) -> Option<ChunkSlot> {
        self.occupied[level] &= !(1 << slot);
        std::mem::replace(&mut self.slots[level][slot], EMPTY).first
    }

    /// Puts a chunk on the free list; returns the one after it.
    fn release(&mut self, chunk_at: ChunkSlot) -> Option<ChunkSlot> {
        let next = std::mem::replace(&mut self.chunks[chunk_at.index()].next, self.free);
        self.free = Some(chunk_at);
        next
    }

    fn take_first(&mut self, slot: usize) -> (Instant, E) {
        let chunk_at = self.slots[0][slot].first.expect("an occupied slot has a chunk");
        let chunk = &mut self.chunks[chunk_at.index()];
        let entry = &mut chunk.events[usize::from(chunk.from)];
        let (at, event) = (entry.at, entry.event.take().expect("an entry in use holds its event"));
        chunk.from += 1;
        self.len -= 1;
        if chunk.from == chunk.to {
            let next = self.release(chunk_at);
            if next.is_none() {
                self.clear(0, slot);
            } else {
                self.slots[0][slot].first = next;
            }
        }
        (Instant::from_ns(at), event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    fn drain(wheel: &mut Wheel<u32>) -> Vec<(u64, u32)> {
        std::iter::from_fn(|| wheel.pop_due(Instant::MAX)).map(|(at, event)| (at.as_ns(), event)).collect()
    }

    #[test]
    fn equal_times_leave_in_order_of_scheduling() {
        let mut wheel = Wheel::new();
        for event in 0..5 {
            wheel.schedule(Instant::from_ns(1_000_000), event);
        }
        let at = |event| (1_000_000, event);
        assert_eq!(drain(&mut wheel), (0..5).map(at).collect::<Vec<_>>());
    }

    #[test]
    fn nothing_comes_early() {
        let mut wheel = Wheel::new();
        wheel.schedule(Instant::from_ns(5_000), 'a');
        assert_eq!(wheel.pop_due(Instant::from_ns(4_999)), None);
        assert_eq!(wheel.pop_due(Instant::from_ns(5_000)), Some((Instant::from_ns(5_000), 'a')));
    }

    #[test]
    fn what_is_scheduled_in_the_past_comes_at_once() {
        let mut wheel = Wheel::new();
        wheel.schedule(Instant::from_ns(700), 'a');
        wheel.pop_due(Instant::from_ns(700));
        wheel.schedule(Instant::from_ns(3), 'b');
        assert_eq!(wheel.pop_due(Instant::from_ns(700)), Some((Instant::from_ns(700), 'b')));
    }

    #[test]
    fn the_last_instant_of_all_is_held() {
        let mut wheel = Wheel::new();
        wheel.schedule(Instant::MAX, 'z');
        assert_eq!(wheel.next_at(), Some(Instant::MAX));
        assert_eq!(wheel.pop_due(Instant::MAX), Some((Instant::MAX, 'z')));
        assert!(wheel.is_empty());
    }

    #[derive(Debug, Clone)]
    enum Step {
        /// Schedule so many nanoseconds after the present.
        Schedule(u64),
        /// Let so many nanoseconds pass, and take what is due.
        Pass(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        let span = (0u32..40, any::<u64>()).prop_map(|(bits, raw)| raw & ((1 << bits) - 1));
        prop_oneof![span.clone().prop_map(Step::Schedule), span.prop_map(Step::Pass)]
    }

    proptest! {
        /// Against the textbook: a binary heap of `(time, sequence)`.
        #[test]
        fn agrees_with_a_heap(steps in prop::collection::vec(step(), 1..400)) {
            let (mut wheel, mut heap) = (Wheel::new(), BinaryHeap::new());
            let mut now = 0u64;
            for (sequence, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Schedule(after) => {
                        wheel.schedule(Instant::from_ns(now + after), sequence);
                        heap.push(Reverse((now + after, sequence)));
                    }
                    Step::Pass(ns) => {
                        now += ns;
                        while let Some((at, event)) = wheel.pop_due(Instant::from_ns(now)) {
                            prop_assert_eq!(heap.pop(), Some(Reverse((at.as_ns(), event))));
                        }
                        prop_assert!(heap.peek().is_none_or(|Reverse((at, _))| *at > now));
                    }
                }
                let next = heap.peek().map(|Reverse((at, _))| Instant::from_ns(*at));
                prop_assert_eq!(wheel.next_at(), next);
                prop_assert_eq!(wheel.len(), heap.len());
            }
        }
    }
}
