//! A hybrid (partly open) load: sessions arrive openly, and pages inside one wait for each other.

use super::arrivals::Arrivals;
use super::{Announcement, Assignment, Model, Taker};
use crate::itinerary::Itinerary;
use crate::transport::Wake;
use crate::worker::Worker;
use farfield_base::random::Stream;
use farfield_base::{Duration, Instant};
use farfield_traffic::arrival::ArrivalProcess;
use farfield_traffic::distribution::Distribution;
use std::num::NonZeroU32;

#[derive(Debug)]
pub(super) struct Hybrid {
    arrivals: Arrivals,
    users_max: usize,
    /// Pages of a session.
    requests: Distribution,
    think: Distribution,
    active_off: Option<Distribution>,
}

impl Hybrid {
    pub fn new(
        worker: Worker,
        arrivals: ArrivalProcess,
        stream: Stream,
        users_max: Option<NonZeroU32>,
        requests: Distribution,
        think: Distribution,
        active_off: Option<Distribution>,
    ) -> Hybrid {
        let users_max = worker.share_of_limit(users_max);
        Hybrid { arrivals: Arrivals::new(worker, arrivals, stream), users_max, requests, think, active_off }
    }
}

impl Model for Hybrid {
    fn start(&mut self, wake_at: &mut dyn FnMut(Instant, Wake)) {
        if let Some((at, wake)) = self.arrivals.await_next() {
            wake_at(at, wake);
        }
    }

    fn announced(&mut self, _item: u32, _turn: u32, _due: Instant) -> Option<Announcement> {
        self.arrivals.announced()
    }

    fn take(&mut self, _item: u32, _now: Instant, users: usize) -> Assignment {
        let taker = if users >= self.users_max { Taker::None } else { Taker::Newcomer };
        Assignment { number: self.arrivals.number(), taker, next: self.arrivals.await_next() }
    }

    fn is_over(&self, users: usize) -> bool {
        self.arrivals.are_over() && users == 0
    }

    fn has_sessions(&self) -> bool {
        true
    }

    fn pages(&self, itinerary: &Itinerary, rng: &mut Stream) -> Option<u64> {
        itinerary.pages_max(Some(&self.requests), rng)
    }

    fn think(&self, rng: &mut Stream) -> Duration {
        self.think.sample_duration(rng)
    }

    fn active_off(&self) -> Option<&Distribution> {
        self.active_off.as_ref()
    }

    fn next_missed(&mut self, end: Instant) -> Option<(u64, Instant)> {
        self.arrivals.next_before(end)
    }

    fn expected(&self, from: Instant, to: Instant) -> Option<f64> {
        self.arrivals.expected(from, to)
    }
}
