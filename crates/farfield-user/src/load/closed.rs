//! A closed load: a fixed number of users, each of whom waits for a page, thinks, and asks for the next.

use super::{Announced, Model, Taken, Taker, Worker, fraction};
use crate::itinerary::Itinerary;
use crate::transport::Wake;
use farfield_base::random::Stream;
use farfield_base::{Duration, Instant};
use farfield_traffic::distribution::Distribution;
use std::num::NonZeroU32;

#[derive(Debug)]
pub(super) struct Closed {
    worker: Worker,
    /// Users of the whole run.
    users: NonZeroU32,
    think: Distribution,
    active_off: Option<Distribution>,
    ramp: Duration,
    /// This worker's users who will not come back.
    gone: u32,
}

impl Closed {
    pub fn new(
        worker: Worker,
        users: NonZeroU32,
        think: Distribution,
        active_off: Option<Distribution>,
        ramp: Duration,
    ) -> Closed {
        Closed { worker, users, think, active_off, ramp, gone: 0 }
    }
}

impl Model for Closed {
    fn start(&mut self, wake_at: &mut dyn FnMut(Instant, Wake)) {
        for user in (self.worker.number..self.users.get()).step_by(self.worker.workers as usize) {
            let at = fraction(self.ramp, u64::from(user), u64::from(self.users.get()));
            wake_at(Instant::ZERO + at, Wake::Start { user });
        }
    }

    fn announced(&mut self, _user: u32, _turn: u32, due: Instant) -> Option<Announced> {
        Some(Announced { due, unanswered: None })
    }

    fn take(&mut self, user: u32, _now: Instant, _users: usize) -> Taken {
        Taken { number: user.into(), taker: Taker::Newcomer, next: None }
    }

    fn is_over(&self, _users: usize) -> bool {
        self.gone == self.worker.share(self.users.get())
    }

    fn users(&self) -> Option<NonZeroU32> {
        Some(self.users)
    }

    fn pages(&self, itinerary: &Itinerary, rng: &mut Stream) -> Option<u64> {
        itinerary.pages_max(None, rng)
    }

    fn think(&self, rng: &mut Stream) -> Duration {
        self.think.sample_duration(rng)
    }

    fn active_off(&self) -> Option<&Distribution> {
        self.active_off.as_ref()
    }

    fn user_left(&mut self) {
        self.gone += 1;
    }
}
