//! An overload: the S-Client of Banga and Druschel (1999), whose descriptors keep trying to connect.

use super::{Announcement, Assignment, Model, Taker, fraction};
use crate::itinerary::Itinerary;
use crate::slots::DescriptorSlot;
use crate::transport::{ConnectionKey, Wake};
use crate::worker::Worker;
use farfield_base::Instant;
use farfield_base::random::Stream;
use farfield_traffic::load::{Overload, Restart};

#[derive(Debug)]
pub(super) struct SClient {
    worker: Worker,
    overload: Overload,
    /// Descriptors of the worker.
    descriptors: Vec<Descriptor>,
    users_max: usize,
    /// Descriptors before this one have no missed attempt left.
    missed_from: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct Descriptor {
    /// The attempt that it makes, from 0; a wake for an earlier one is stale.
    epoch: u32,
    /// Attempts made, which number the users.
    attempts: u32,
    attempt: Option<ConnectionKey>,
}

impl SClient {
    pub fn new(worker: Worker, overload: Overload) -> SClient {
        let descriptors = worker.share(overload.descriptors.get()) as usize;
        SClient {
            worker,
            descriptors: vec![Descriptor::default(); descriptors],
            users_max: worker.share_of_limit(overload.established_max),
            missed_from: 0,
            overload,
        }
    }

    /// The number of a descriptor among those of all workers.
    fn global(&self, descriptor: u32) -> u32 {
        descriptor * self.worker.workers + self.worker.number
    }

    /// The number of an attempt among those of all descriptors.
    fn number(&self, descriptor: u32, attempt: u32) -> u64 {
        let number = attempt.wrapping_mul(self.overload.descriptors.get());
        number.wrapping_add(self.global(descriptor)).into()
    }

    /// The instant of a descriptor's `attempt`-th attempt when paced: the D descriptors are spread over T
    /// (Banga and Druschel 1999, section 4.2), so attempts leave at exactly D/T.
    fn paced_at(&self, descriptor: u32, attempt: u32) -> Instant {
        let (timeout, all) = (self.overload.timeout(), self.overload.descriptors.get());
        let offset = fraction(timeout, self.global(descriptor).into(), all.into());
        Instant::ZERO + timeout.times(attempt.into()) + offset
    }
}

impl Model for SClient {
    fn start(&mut self, wake_at: &mut dyn FnMut(Instant, Wake)) {
        for item in 0..self.descriptors.len() as u32 {
            wake_at(self.paced_at(item, 0), Wake::Load { item, turn: 0 });
        }
    }

    fn announced(&mut self, descriptor: u32, epoch: u32, due: Instant) -> Option<Announcement> {
        let descriptor = &mut self.descriptors[descriptor as usize];
        (descriptor.epoch == epoch).then(|| Announcement { due, unanswered: descriptor.attempt.take() })
    }

    fn take(&mut self, item: u32, now: Instant, users: usize) -> Assignment {
        let descriptor = &mut self.descriptors[item as usize];
        let attempt = descriptor.attempts;
        descriptor.attempts += 1;
        descriptor.epoch += 1;
        let turn = descriptor.epoch;
        let next_at = match self.overload.restart {
            Restart::Paced => self.paced_at(item, attempt + 1),
            Restart::AtOnce => now + self.overload.timeout(),
        };
        let taker = match users >= self.users_max {
            true => Taker::None,
            false => Taker::Attempt(DescriptorSlot::new(item)),
        };
        let next = Some((next_at, Wake::Load { item, turn }));
        Assignment { number: self.number(item, attempt), taker, next }
    }

    /// Attempts go on to the end of the run.
    fn is_over(&self, _users: usize) -> bool {
        false
    }

    fn is_single(&self) -> bool {
        true
    }

    fn pages(&self, _itinerary: &Itinerary, _rng: &mut Stream) -> Option<u64> {
        Some(1)
    }

    fn attempt_begun(&mut self, descriptor: DescriptorSlot, attempt: ConnectionKey) {
        self.descriptors[descriptor.index()].attempt = Some(attempt);
    }

    fn attempt_answered(&mut self, slot: DescriptorSlot) -> Option<(u32, u32)> {
        let descriptor = &mut self.descriptors[slot.index()];
        descriptor.attempt = None;
        (self.overload.restart == Restart::AtOnce).then_some((slot.get(), descriptor.epoch))
    }

    /// Descriptor by descriptor, and of each in the order of time.
    fn next_missed(&mut self, end: Instant) -> Option<(u64, Instant)> {
        if self.overload.restart != Restart::Paced {
            return None;
        }
        while let Some(descriptor) = self.descriptors.get(self.missed_from as usize) {
            let attempt = descriptor.attempts;
            let due = self.paced_at(self.missed_from, attempt);
            if due < end {
                self.descriptors[self.missed_from as usize].attempts += 1;
                return Some((self.number(self.missed_from, attempt), due));
            }
            self.missed_from += 1;
        }
        None
    }
}
