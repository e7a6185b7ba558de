//! Deadlines that nearly never pass: a connection's timers, which are put off with each segment and mostly
//! outlive it.
//!
//! Waits of about the same length lie in one queue, in the order of their beginning, which is that of their
//! ends; the wheel holds one alarm for the queue's front. So a deadline whose owner is gone by then costs an
//! entry in a queue, and no event. A wait is rounded down to an eighth of a power of two: at its end
//! the owner's real deadline has come, or the rest is waited for; a short rest is for the wheel itself.

use farfield_base::Instant;
use std::collections::VecDeque;

/// Waits below this are for the wheel: 2²⁴ ns, some 17 ms.
const OCTAVE_MIN: u32 = 24;
/// Longer waits than 2⁴⁴ ns, some five hours, are cut into several.
const OCTAVES: u32 = 20;
const PARTS: u32 = 8;

/// The owner of a deadline, by slot and serial number: slots are used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner<S> {
    /// The owner's slot.
    pub slot: S,
    /// The serial number of what is in the slot.
    pub serial: u32,
}

/// The fate of a deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// The deadline is too near for a queue: the wheel is to hold it.
    OnWheel,
    /// Into a queue, which asks its owner at this instant, at the deadline or before.
    Queued {
        /// The instant at which its owner is asked.
        asks_at: Instant,
        /// The queue was empty: the wheel is to hold an alarm for it.
        first_of: Option<u16>,
    },
}

/// The front of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Front<S> {
    /// Due, and taken out.
    Due(Owner<S>),
    /// Due at this instant.
    At(Instant),
    /// The queue is empty.
    None,
}

/// A timer whose event has come. Events of timers are not cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimerExpiry<E> {
    /// The timer's owner is gone, or was asked meanwhile.
    Stale,
    /// The timer was put off; the event is to be set, if there is one.
    PutOff(Option<E>),
    /// The owner has taken it.
    Due,
}

/// The queues.
#[derive(Debug)]
pub struct TimeoutQueue<S> {
    queues: Vec<VecDeque<(Instant, Owner<S>)>>,
}

impl<S: Copy> Default for TimeoutQueue<S> {
    fn default() -> TimeoutQueue<S> {
        TimeoutQueue { queues: vec![VecDeque::new(); (OCTAVES * PARTS) as usize] }
    }
}

impl<S: Copy> TimeoutQueue<S> {
    /// Puts a deadline at `at` into its queue, if it is far enough from `now`. Calls come in order of `now`.
    pub fn put(&mut self, now: Instant, at: Instant, owner: Owner<S>) -> Put {
        let wait_ns = at.since(now).as_ns();
        let Some(octave) = wait_ns.checked_ilog2().filter(|octave| *octave >= OCTAVE_MIN) else {
            return Put::OnWheel;
        };
        let octave = octave.min(OCTAVE_MIN + OCTAVES - 1);
        let step = octave - PARTS.ilog2();
        let part = ((wait_ns >> step) as u32 - PARTS).min(PARTS - 1);
        let asks_at = Instant::from_ns(now.as_ns() + (u64::from(PARTS + part) << step));
        let number = (octave - OCTAVE_MIN) * PARTS + part;
        let queue = &mut self.queues[number as usize];
        let first_of = queue.is_empty().then_some(number as u16);
        queue.push_back((asks_at, owner));
        Put::Queued { asks_at, first_of }
    }

    /// The front of queue `number` at `now`, taken out if it is due. Those before it are forgotten that do
    /// not wait any more, as `waits` says of an owner and the instant at which it is to be asked.
    pub fn front(
        &mut self,
        number: u16,
        now: Instant,
        waits: impl Fn(Owner<S>, Instant) -> bool,
    ) -> Front<S> {
        let queue = &mut self.queues[usize::from(number)];
        while let Some((asks_at, owner)) = queue.front().copied() {
            if waits(owner, asks_at) {
                if asks_at > now {
                    return Front::At(asks_at);
                }
                queue.pop_front();
                return Front::Due(owner);
            }
            queue.pop_front();
        }
        if queue.capacity() > 64 {
            queue.shrink_to(64);
        }
        Front::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OWNER: Owner<u32> = Owner { slot: 1, serial: 2 };

    #[test]
    fn a_near_deadline_is_for_the_wheel() {
        let near = Instant::from_ns((1 << OCTAVE_MIN) - 1);
        assert_eq!(TimeoutQueue::default().put(Instant::ZERO, near, OWNER), Put::OnWheel);
        assert_eq!(TimeoutQueue::default().put(near, Instant::ZERO, OWNER), Put::OnWheel);
    }

    proptest! {
        /// No owner is asked too late, nor more than an eighth of the wait too early.
        #[test]
        fn asks_in_time(now in 0u64..1 << 50, wait in 1u64 << OCTAVE_MIN..1 << 44) {
            let (now, at) = (Instant::from_ns(now), Instant::from_ns(now + wait));
            let Put::Queued { asks_at, first_of: Some(_) } = TimeoutQueue::default().put(now, at, OWNER) else {
                return Err(TestCaseError::fail("it is far"));
            };
            prop_assert!(asks_at <= at && at.since(asks_at).as_ns() <= wait / 8);
        }

        /// Whatever waits, each queue asks in order of time, and all are asked.
        #[test]
        fn queues_are_in_order(waits in prop::collection::vec((0u64..50_000_000, 1u64 << OCTAVE_MIN..1 << 40), 1..200)) {
            let (mut timeouts, mut now, mut queues) = (TimeoutQueue::default(), 0, Vec::new());
            for (index, (passed, wait)) in waits.iter().enumerate() {
                now += passed;
                let owner = Owner { slot: index as u32, serial: 0 };
                match timeouts.put(Instant::from_ns(now), Instant::from_ns(now + wait), owner) {
                    Put::Queued { first_of, .. } => queues.extend(first_of),
                    Put::OnWheel => unreachable!("it is far"),
                }
            }
            let mut asked = 0;
            for queue in queues {
                let (mut before, mut at) = (Instant::ZERO, Instant::ZERO);
                loop {
                    match timeouts.front(queue, at, |owner, _| owner.slot % 2 == 0) {
                        Front::Due(owner) => {
                            prop_assert_eq!(owner.slot % 2, 0);
                            asked += 1;
                        }
                        Front::At(next) => {
                            prop_assert!(next >= before);
                            (before, at) = (next, next);
                        }
                        Front::None => break,
                    }
                }
            }
            prop_assert_eq!(asked, waits.len().div_ceil(2));
        }
    }

    #[test]
    fn an_owner_that_is_gone_is_not_asked() {
        let (mut timeouts, at) = (TimeoutQueue::default(), Instant::from_ns(1 << 30));
        assert!(matches!(timeouts.put(Instant::ZERO, at, OWNER), Put::Queued { first_of: Some(48), .. }));
        assert!(matches!(timeouts.put(Instant::ZERO, at, OWNER), Put::Queued { first_of: None, .. }));
        assert_eq!(timeouts.front(48, at, |_, _| false), Front::None);
        assert!(matches!(
            timeouts.put(at, at + at.since(Instant::ZERO), OWNER),
            Put::Queued { first_of: Some(48), .. }
        ));
        assert_eq!(timeouts.front(48, at, |_, _| true), Front::At(Instant::from_ns(2 << 30)));
        assert_eq!(timeouts.front(48, Instant::from_ns(2 << 30), |_, _| true), Front::Due(OWNER));
    }
}
