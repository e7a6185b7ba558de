//! A closed load: users each of whom waits for a page, thinks, and asks for the next.
//!
//! Their number is fixed, or goes along stages: then a user begins when the number grows to it, leaves after
//! its page when the number has fallen below it, and comes back, as somebody whom the server has not seen,
//! when it grows again.

use super::{Announcement, Assignment, Model, Taker, fraction};
use crate::itinerary::Itinerary;
use crate::transport::Wake;
use crate::worker::Worker;
use farfield_base::random::Stream;
use farfield_base::{Duration, Instant};
use farfield_traffic::distribution::Distribution;
use farfield_traffic::stages::{Stay, UsersCourse};
use std::num::NonZeroU32;

#[derive(Debug)]
pub(super) struct Closed {
    worker: Worker,
    /// Users of the whole run.
    users: NonZeroU32,
    think: Distribution,
    active_off: Option<Distribution>,
    presence: Presence,
}

/// Times at which users are there.
#[derive(Debug)]
pub(super) enum Presence {
    /// From their begins on, which are spread evenly over this time.
    Always(Duration),
    /// Along stages.
    InStages(Box<InStages>),
}

#[derive(Debug)]
pub(super) struct InStages {
    course: UsersCourse,
    /// The stay of each of this worker's users, or the next one.
    stays: Vec<Stay>,
    /// The sessions that each began before that.
    sessions: Vec<u32>,
}

impl Presence {
    /// Along this course, of the users of `worker`.
    pub fn in_stages(course: UsersCourse, worker: Worker) -> Presence {
        let own = (worker.number..course.most().get()).step_by(worker.workers as usize);
        let first = |user| course.stay(user, Instant::ZERO).unwrap_or(NEVER);
        let stays: Vec<Stay> = own.map(first).collect();
        Presence::InStages(Box::new(InStages { sessions: vec![0; stays.len()], stays, course }))
    }
}

/// No stay.
const NEVER: Stay = Stay { number: 0, from: Instant::MAX, until: Instant::MAX };

impl Closed {
    pub fn new(
        worker: Worker,
        users: NonZeroU32,
        think: Distribution,
        active_off: Option<Distribution>,
        presence: Presence,
    ) -> Closed {
        Closed { worker, users, think, active_off, presence }
    }

    /// The place of user `user` among this worker's.
    fn place(&self, user: u32) -> usize {
        (user / self.worker.workers) as usize
    }
}

impl Model for Closed {
    fn start(&mut self, wake_at: &mut dyn FnMut(Instant, Wake)) {
        for user in (self.worker.number..self.users.get()).step_by(self.worker.workers as usize) {
            let at = match &self.presence {
                Presence::Always(ramp) => {
                    Instant::ZERO + fraction(*ramp, u64::from(user), u64::from(self.users.get()))
                }
                Presence::InStages(stages) => stages.stays[self.place(user)].from,
            };
            if at != Instant::MAX {
                wake_at(at, Wake::Start { user });
            }
        }
    }

    fn announced(&mut self, _user: u32, _turn: u32, due: Instant) -> Option<Announcement> {
        Some(Announcement { due, unanswered: None })
    }

    fn take(&mut self, user: u32, _now: Instant, _users: usize) -> Assignment {
        let stay = match &self.presence {
            Presence::Always(_) => 0,
            Presence::InStages(stages) => stages.stays[self.place(user)].number,
        };
        // A user who comes back has the same number, and other random numbers.
        let number = u64::from(stay) << 32 | u64::from(user);
        Assignment { number, taker: Taker::Newcomer, next: None }
    }

    fn sessions_before(&self, user: u32) -> u32 {
        match &self.presence {
            Presence::Always(_) => 0,
            Presence::InStages(stages) => stages.sessions[self.place(user)],
        }
    }

    /// Stages last as long as they were asked to, be all users gone.
    fn is_over(&self, _users: usize) -> bool {
        match &self.presence {
            Presence::Always(_) => self.worker.share(self.users.get()) == 0,
            Presence::InStages(_) => false,
        }
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

    fn leaves_at(&self, user: u32) -> Instant {
        match &self.presence {
            Presence::Always(_) => Instant::MAX,
            Presence::InStages(stages) => stages.stays[self.place(user)].until,
        }
    }

    fn stays_on(&mut self, user: u32, now: Instant) -> bool {
        let place = self.place(user);
        let Presence::InStages(stages) = &mut self.presence else { return true };
        let stay = &mut stages.stays[place];
        // A user whose page took longer than it was away for has never left.
        if stay.until <= now
            && let Some(next) = stages.course.stay(user, now).filter(|next| next.from <= now)
        {
            *stay = next;
        }
        now < stay.until
    }

    fn user_left(&mut self, user: u32, sessions: u32, now: Instant) -> Option<(Instant, Wake)> {
        let place = self.place(user);
        let next = match &mut self.presence {
            Presence::Always(_) => None,
            Presence::InStages(stages) => {
                stages.sessions[place] = sessions;
                let after = now.max(stages.stays[place].until);
                let next = stages.course.stay(user, after);
                stages.stays[place] = next.unwrap_or(NEVER);
                next
            }
        };
        next.map(|stay| (stay.from.max(now), Wake::Start { user }))
    }
}
