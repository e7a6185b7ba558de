//! An open load: pages arrive whatever became of those before, each taken by a visitor of its own.
//!
//! A visitor whose page is over is kept with its connections for a later arrival, unless connections are for
//! one request each.

use super::arrivals::Arrivals;
use super::{Announcement, Assignment, Model, Taker};
use crate::itinerary::Itinerary;
use crate::slots::UserSlot;
use crate::transport::Wake;
use crate::worker::Worker;
use farfield_base::Instant;
use farfield_base::random::Stream;
use farfield_traffic::arrival::ArrivalProcess;
use std::num::NonZeroU32;

#[derive(Debug)]
pub(super) struct Open {
    arrivals: Arrivals,
    users_max: usize,
    keeps_visitors: bool,
    /// Visitors who are kept, the latest last.
    idle: Vec<UserSlot>,
}

impl Open {
    pub fn new(
        worker: Worker,
        arrivals: ArrivalProcess,
        stream: Stream,
        users_max: Option<NonZeroU32>,
        keeps_visitors: bool,
    ) -> Open {
        Open {
            arrivals: Arrivals::new(worker, arrivals, stream),
            users_max: worker.share_of_limit(users_max),
            keeps_visitors,
            idle: Vec::new(),
        }
    }
}

impl Model for Open {
    fn start(&mut self, wake_at: &mut dyn FnMut(Instant, Wake)) {
        if let Some((at, wake)) = self.arrivals.await_next() {
            wake_at(at, wake);
        }
    }

    fn announced(&mut self, _item: u32, _turn: u32, _due: Instant) -> Option<Announcement> {
        self.arrivals.announced()
    }

    fn take(&mut self, _item: u32, _now: Instant, users: usize) -> Assignment {
        let taker = match self.idle.pop() {
            Some(visitor) => Taker::Visitor(visitor),
            None if users >= self.users_max => Taker::None,
            None => Taker::Newcomer,
        };
        Assignment { number: self.arrivals.number(), taker, next: self.arrivals.await_next() }
    }

    fn is_over(&self, _users: usize) -> bool {
        self.arrivals.are_over()
    }

    fn pages(&self, _itinerary: &Itinerary, _rng: &mut Stream) -> Option<u64> {
        Some(1)
    }

    fn keep(&mut self, user: UserSlot) -> bool {
        if self.keeps_visitors {
            self.idle.push(user);
        }
        self.keeps_visitors
    }

    fn keeps_visitors(&self) -> bool {
        self.keeps_visitors
    }

    fn next_missed(&mut self, end: Instant) -> Option<(u64, Instant)> {
        self.arrivals.next_before(end)
    }

    fn expected(&self, from: Instant, to: Instant) -> Option<f64> {
        self.arrivals.expected(from, to)
    }
}
