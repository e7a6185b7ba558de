//! The event store of a shard: a hierarchical timing wheel over whole nanoseconds.
//!
//! Level `k` has 64 slots, each `64^k` ns wide, and an event lies on the level of the highest base-64 digit in
//! which its time differs from the wheel's own (Varghese and Lauck 1987, scheme 7, with the radix heap's way
//! of choosing the level). So a slot of level 0 is one nanosecond: what lies in it is due at the same instant,
//! and because slots are first-in first-out at every level and a slot is dealt out before the wheel enters its
//! time, events leave in order of `(time, order of scheduling)`, exactly.
//!
//! Events lie in one slab and are linked by index: no allocation an event once the slab has grown. There is
//! no cancelling; whoever is woken checks whether it still cares.

use farfield_base::Instant;

const DIGIT_BITS: u32 = 6;
const SLOTS: usize = 1 << DIGIT_BITS;
/// 11 digits of 6 bits cover the 64 bits of an instant.
const LEVELS: usize = 11;
const NIL: u32 = u32::MAX;

/// Events in order of time, and of scheduling where times are equal.
#[derive(Debug)]
pub struct Wheel<E> {
    /// No event left in the wheel is due before this, and none can be scheduled before it.
    elapsed: u64,
    /// For each level, a bit for each slot that holds something.
    occupied: [u64; LEVELS],
    slots: Box<[[Slot; SLOTS]; LEVELS]>,
    nodes: Vec<Node<E>>,
    free: u32,
    len: usize,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    head: u32,
    tail: u32,
}

#[derive(Debug)]
struct Node<E> {
    at: u64,
    next: u32,
    /// `None` while the node is on the free list.
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
            slots: Box::new([[Slot { head: NIL, tail: NIL }; SLOTS]; LEVELS]),
            nodes: Vec::new(),
            free: NIL,
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

    /// Has `event` come out at `at`. An instant that the wheel has passed counts as the one it stands at: the
    /// event is late, but it comes, after those already due then.
    pub fn schedule(&mut self, at: Instant, event: E) {
        let at = at.as_ns().max(self.elapsed);
        let node = Node { at, next: NIL, event: Some(event) };
        let index = if self.free == NIL {
            self.nodes.push(node);
            u32::try_from(self.nodes.len() - 1).expect("fewer than 2^32 - 1 events wait at once")
        } else {
            let index = self.free;
            self.free = self.nodes[index as usize].next;
            self.nodes[index as usize] = node;
            index
        };
        self.len += 1;
        self.append(index, at);
    }

    /// Takes the next event if it is due at `now` or before, with the instant it was scheduled for.
    pub fn pop_due(&mut self, now: Instant) -> Option<(Instant, E)> {
        loop {
            let (level, slot) = self.first_slot()?;
            let start = self.slot_start(level, slot);
            if start > now.as_ns() {
                return None;
            }
            self.elapsed = self.elapsed.max(start);
            if level == 0 {
                return Some(self.take_first(slot));
            }
            self.deal_out(level, slot);
        }
    }

    /// When the next event is due. Looks through one slot: cheap while timers are spread, and exact.
    pub fn next_at(&self) -> Option<Instant> {
        let (level, slot) = self.first_slot()?;
        let mut earliest = u64::MAX;
        let mut index = self.slots[level][slot].head;
        while index != NIL {
            let node = &self.nodes[index as usize];
            earliest = earliest.min(node.at);
            index = if level == 0 { NIL } else { node.next };
        }
        Some(Instant::from_ns(earliest))
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

    fn append(&mut self, index: u32, at: u64) {
        let differing = at ^ self.elapsed;
        let level = (63 - (differing | 1).leading_zeros()) / DIGIT_BITS;
        let slot = ((at >> (level * DIGIT_BITS)) as usize) & (SLOTS - 1);
        let level = level as usize;
        self.occupied[level] |= 1 << slot;
        let place = &mut self.slots[level][slot];
        if place.tail == NIL {
            place.head = index;
        } else {
            self.nodes[place.tail as usize].next = index;
        }
        place.tail = index;
    }

    /// Moves what lies in a slot to the levels below, in order.
    fn deal_out(&mut self, level: usize, slot: usize) {
        let mut index = self.clear(level, slot);
        while index != NIL {
            let node = &mut self.nodes[index as usize];
            let (at, next) = (node.at, node.next);
            node.next = NIL;
            self.append(index, at);
            index = next;
        }
    }

    fn clear(&mut self, level: usize, slot: usize) -> u32 {
        self.occupied[level] &= !(1 << slot);
        std::mem::replace(&mut self.slots[level][slot], Slot { head: NIL, tail: NIL }).head
    }

    fn take_first(&mut self, slot: usize) -> (Instant, E) {
        let index = self.slots[0][slot].head;
        let node = &mut self.nodes[index as usize];
        let event = node.event.take().expect("a linked node holds its event");
        let at = node.at;
        let next = std::mem::replace(&mut node.next, self.free);
        self.free = index;
        self.len -= 1;
        if next == NIL {
            self.clear(0, slot);
        } else {
            self.slots[0][slot].head = next;
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
