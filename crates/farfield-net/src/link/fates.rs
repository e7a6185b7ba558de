//! Links whose queue decides about a packet when it is about to leave: CoDel, FQ-CoDel and FQ-PIE.
//!
//! Departures are worked out in order, each at its own past instant, before anything newer joins; what they
//! decide is kept until it is polled.

use super::{DropCause, Fate, Link, Packet, QueueState};
use crate::queue::codel::{Codel, Waiting};
use crate::queue::fq_codel::FqCodel;
use crate::queue::fq_pie::FqPie;
use crate::queue::{Discipline, Mark};
use farfield_base::Instant;
use farfield_base::random::Stream;
use rand_core::Rng;
use std::collections::VecDeque;

/// A queue that decides later, and the fates that have not been polled yet.
#[derive(Debug, Clone)]
pub(super) struct Fates {
    queue: LaterQueue,
    decided: VecDeque<(u64, Fate)>,
    flow_key: Option<u64>,
}

/// A queue that decides when packets leave.
#[derive(Debug, Clone)]
enum LaterQueue {
    Codel(Codel),
    FqCodel(FqCodel),
    FqPie(FqPie),
}

impl Fates {
    /// No packet, before a queue of this discipline.
    pub fn of(discipline: &Discipline) -> Fates {
        let queue = match discipline {
            Discipline::FqCodel(_) => LaterQueue::FqCodel(FqCodel::default()),
            Discipline::FqPie(_) => LaterQueue::FqPie(FqPie::default()),
            _ => LaterQueue::Codel(Codel::default()),
        };
        Fates { queue, decided: VecDeque::new(), flow_key: None }
    }

    /// The key of the hashes of flows, if the queue parts them; drawn when it is asked for first.
    pub fn flow_key(&mut self, rng: &mut Stream) -> Option<u64> {
        let parts_flows = matches!(self.queue, LaterQueue::FqCodel(_) | LaterQueue::FqPie(_));
        parts_flows.then(|| *self.flow_key.get_or_insert_with(|| rng.next_u64()))
    }

    /// An instant at which, or before which, all packets that wait had come; `None` if none waits.
    fn ready(&self) -> Option<Instant> {
        match &self.queue {
            LaterQueue::Codel(codel) => codel.front().map(|front| front.came),
            LaterQueue::FqCodel(flows) => flows.newest(),
            LaterQueue::FqPie(flows) => flows.newest(),
        }
    }

    /// Lets the next packet leave at `at`, if the queue has one left.
    fn leave(&mut self, at: Instant, discipline: &Discipline) -> Option<Waiting> {
        let Fates { queue, decided, .. } = self;
        let drop = |packet: Waiting| decided.push_back((packet.key, Fate::Dropped(DropCause::Delayed)));
        match (queue, discipline) {
            (LaterQueue::Codel(codel), Discipline::Codel(parameters)) => codel.leave(at, parameters, drop),
            (LaterQueue::FqCodel(flows), Discipline::FqCodel(parameters)) => {
                flows.leave(at, parameters.quantum, &parameters.codel, drop)
            }
            (LaterQueue::FqPie(flows), Discipline::FqPie(parameters)) => {
                flows.leave(at, parameters.quantum, &parameters.pie, drop)
            }
            _ => unreachable!("a link's queue is made for its discipline"),
        }
    }

    /// Takes a packet in, which `waits` unless it can leave at once; or returns why it is dropped.
    fn take(
        &mut self,
        discipline: &Discipline,
        (flow, packet): (u32, Waiting),
        waits: bool,
        rng: &mut Stream,
    ) -> Result<(), DropCause> {
        let Fates { queue, decided, .. } = self;
        let came = packet.came;
        let overflow = |packet: Waiting| decided.push_back((packet.key, Fate::Dropped(DropCause::QueueFull)));
        match (queue, discipline) {
            (LaterQueue::Codel(codel), Discipline::Codel(parameters)) => {
                let (packets, bytes) = codel.length();
                let admits =
                    parameters.limit.is_none_or(|limit| limit.admits(packets, bytes, packet.bytes.into()));
                if !admits && waits {
                    return Err(DropCause::QueueFull);
                }
                codel.push(packet);
            }
            (LaterQueue::FqCodel(flows), Discipline::FqCodel(parameters)) => {
                flows.push(flow, packet, parameters);
                if let Some(limit) = parameters.codel.limit.filter(|_| waits) {
                    flows.keep_within(came, limit, &parameters.codel, overflow);
                }
            }
            (LaterQueue::FqPie(flows), Discipline::FqPie(parameters)) => {
                if !flows.push(flow, packet, parameters, rng) {
                    return Err(DropCause::Early);
                }
                if waits {
                    flows.keep_within(came, parameters.pie.limit, &parameters.pie, overflow);
                }
            }
            _ => unreachable!("a link's queue is made for its discipline"),
        }
        Ok(())
    }

    /// Instant at which the last packet left, while flows wait for their turn, with packets or without.
    fn listed_since(&self) -> Option<Instant> {
        match &self.queue {
            LaterQueue::Codel(_) => None,
            LaterQueue::FqCodel(flows) => flows.listed_since(),
            LaterQueue::FqPie(flows) => flows.listed_since(),
        }
    }

    /// Ends the turns of flows, of which none has a packet.
    fn rest(&mut self) {
        match &mut self.queue {
            LaterQueue::Codel(_) => {}
            LaterQueue::FqCodel(flows) => flows.rest(),
            LaterQueue::FqPie(flows) => flows.rest(),
        }
    }
}

impl Link {
    /// Instant from which the next fate of a packet that [waits](Fate::Waits) can be polled. Packets offered
    /// meanwhile bring it forward only where they drop others that wait, or are dropped.
    pub fn next_fate_at(&self) -> Option<Instant> {
        let QueueState::Fates(fates) = &self.line else { return None };
        if !fates.decided.is_empty() {
            return Some(self.now);
        }
        Some(self.transmitter.next_start(&self.model.speed, fates.ready()?))
    }

    /// Takes the next fate that is decided by `now`, with the packet's key. Call until there is none.
    pub fn poll(&mut self, now: Instant, rng: &mut Stream) -> Option<(u64, Fate)> {
        self.advance(now, rng);
        let QueueState::Fates(fates) = &mut self.line else { return None };
        fates.decided.pop_front()
    }

    /// Offers a packet to a queue that decides later.
    pub(super) fn offer_for_later(&mut self, packet: Packet, rng: &mut Stream) -> Fate {
        let Link { model, now, transmitter, line, .. } = self;
        let QueueState::Fates(fates) = line else { unreachable!("a link's line is made for its discipline") };
        let waits = fates.ready().is_some() || transmitter.next_start(&model.speed, *now) > *now;
        let waiting = Waiting {
            key: packet.key,
            bytes: model.on_wire(packet.bytes),
            came: *now,
            ecn: Mark::of(packet.ecn),
        };
        if let Err(cause) = fates.take(&model.discipline, (packet.flow, waiting), waits, rng) {
            return Fate::Dropped(cause);
        }
        if waits {
            return Fate::Waits;
        }
        // It finds the link idle and nothing before it: it leaves at once, with nothing behind it.
        let front = fates.leave(*now, &model.discipline);
        debug_assert!(front.is_some_and(|front| front.key == packet.key));
        self.send(self.now, packet.bytes, rng)
    }

    /// Lets everything leave that was to leave by now, each at its own instant.
    pub(super) fn judge(&mut self, rng: &mut Stream) {
        loop {
            let Link { model, now, transmitter, line, .. } = self;
            let QueueState::Fates(fates) = line else { return };
            let Some(ready) = fates.ready() else { return self.rest() };
            let at = transmitter.next_start(&model.speed, ready);
            if at > *now {
                return;
            }
            let Some(packet) = fates.leave(at, &model.discipline) else { continue };
            // All that is queued came before `at`, for newcomers join after this; so it starts to leave at
            // `at`.
            let bytes = packet.bytes - model.overhead;
            let fate = self.send(packet.came, bytes, rng).with(packet.ecn);
            let QueueState::Fates(fates) = &mut self.line else { return };
            fates.decided.push_back((packet.key, fate));
        }
    }

    /// Lets a transmitter that has become idle find no packet, which ends the turns of flows.
    fn rest(&mut self) {
        let Link { model, now, transmitter, line, .. } = self;
        let QueueState::Fates(fates) = line else { return };
        if fates.listed_since().is_some_and(|since| transmitter.next_start(&model.speed, since) <= *now) {
            fates.rest();
        }
    }
}
