//! Models of load: when users act.
//!
//! Closed, open and partly open (hybrid) in the terms of Schroeder, Wierman and Harchol-Balter (2006), and
//! the S-Client of Banga and Druschel (1999). A [`Model`] is one worker's share of the load: it owns its
//! parameters and its state, does nothing itself, and is asked by the [`Population`](crate::Population) what
//! comes next. All that it answers follows from numbers that do not depend on how many workers there are: the
//! user's, the arrival's, the attempt's.
//!
//! A new model is a file beside these, and an arm in [`model_of`].

mod arrivals;
mod closed;
mod hybrid;
mod open;
mod overload;

use crate::itinerary::Itinerary;
use crate::plan::Share;
use crate::policy::Reuse;
use crate::slots::{DescriptorSlot, UserSlot};
use crate::transport::{ConnectionKey, Wake};
use closed::{Closed, Presence};
use farfield_base::random::{Purpose, Stream};
use farfield_base::{Duration, Instant};
use farfield_traffic::distribution::Distribution;
use farfield_traffic::load::LoadModel;
use hybrid::Hybrid;
use open::Open;
use overload::SClient;
use std::fmt::Debug;
use std::num::NonZeroU32;

/// A model of load, as one worker's share of it.
pub(crate) trait Model: Debug + Send {
    /// Schedules the wakes that the load begins with.
    fn start(&mut self, wake_at: &mut dyn FnMut(Instant, Wake));

    /// The load that a wake for `item` in its `turn`, due at `due`, announces; `None` if the wake is stale.
    fn announced(&mut self, item: u32, turn: u32, due: Instant) -> Option<Announcement>;

    /// Takes the load that was announced for `item`, while `users` users are in the system.
    fn take(&mut self, item: u32, now: Instant, users: usize) -> Assignment;

    /// True once the model has nothing more to begin, while `users` users are in the system.
    fn is_over(&self, users: usize) -> bool;

    /// The number of users of the whole run, where it is fixed: users of a closed load come back after each
    /// session.
    fn users(&self) -> Option<NonZeroU32> {
        None
    }

    /// True if each user makes one request, and no session.
    fn is_single(&self) -> bool {
        false
    }

    /// True if the model itself groups pages into sessions.
    fn has_sessions(&self) -> bool {
        false
    }

    /// Pages of a user's next session; `None` for one that ends otherwise, or never.
    fn pages(&self, itinerary: &Itinerary, rng: &mut Stream) -> Option<u64>;

    /// The think time before the user's next page.
    fn think(&self, _rng: &mut Stream) -> Duration {
        Duration::ZERO
    }

    /// The distribution of active OFF times, in seconds.
    fn active_off(&self) -> Option<&Distribution> {
        None
    }

    /// Keeps a user whose session is over, with its connections, for load to come; false if it is to leave.
    fn keep(&mut self, _user: UserSlot) -> bool {
        false
    }

    /// True if users are kept for load to come.
    fn keeps_visitors(&self) -> bool {
        false
    }

    /// The sessions that user `user`, who begins, began before it left.
    fn sessions_before(&self, _user: u32) -> u32 {
        0
    }

    /// Instant from which on user `user` begins no more pages, until it comes back.
    fn leaves_at(&self, _user: u32) -> Instant {
        Instant::MAX
    }

    /// True if user `user`, whose page is over, begins another.
    fn stays_on(&mut self, _user: u32, _now: Instant) -> bool {
        true
    }

    /// Notes that user `user` left after `sessions` sessions in all, or that it was not begun since the load
    /// was over; returns the wake with which it comes back, if it does.
    fn user_left(&mut self, _user: u32, _sessions: u32, _now: Instant) -> Option<(Instant, Wake)> {
        None
    }

    /// Records the attempt to connect that a descriptor begins.
    fn attempt_begun(&mut self, _descriptor: DescriptorSlot, _attempt: ConnectionKey) {}

    /// Records that the attempt of a descriptor was answered; returns the item and the turn of the load that
    /// is due at once, if any is.
    fn attempt_answered(&mut self, _descriptor: DescriptorSlot) -> Option<(u32, u32)> {
        None
    }

    /// Takes the next load that was due before `end` and that the worker never came to: its number, and when
    /// it was due.
    fn next_missed(&mut self, _end: Instant) -> Option<(u64, Instant)> {
        None
    }

    /// The mean number of this worker's arrivals from `from` to `to`; `None` where it is not known.
    fn expected(&self, _from: Instant, _to: Instant) -> Option<f64> {
        None
    }
}

/// Load that a wake has announced.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Announcement {
    pub due: Instant,
    /// The attempt to connect that is given up for it, if that is unanswered still.
    pub unanswered: Option<ConnectionKey>,
}

/// Load that was taken from its model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Assignment {
    /// The number of the user, the arrival or the attempt in the whole run, which is the seed of its random
    /// stream.
    pub number: u64,
    pub taker: Taker,
    /// The wake for the load that comes next.
    pub next: Option<(Instant, Wake)>,
}

/// The user that takes load.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Taker {
    /// No user: all that the scenario allows are busy.
    None,
    /// A new user.
    Newcomer,
    /// A user who was kept.
    Visitor(UserSlot),
    /// A new user, for the attempt of this descriptor.
    Attempt(DescriptorSlot),
}

/// The model of a plan's load, before the run.
pub(crate) fn model_of(plan: &Share) -> Box<dyn Model> {
    let worker = plan.worker;
    let stream = plan.users.seed.stream(Purpose::Arrivals, 0);
    match plan.load.clone() {
        LoadModel::Closed { users, stages, think, active_off, ramp } => {
            let presence = match stages {
                Some(stages) => Presence::in_stages(stages.course, worker),
                None => Presence::Always(ramp),
            };
            Box::new(Closed::new(worker, users, think, active_off, presence))
        }
        LoadModel::Open { arrivals, users_max } => {
            let keeps_visitors = !matches!(plan.users.policy.policy, Reuse::OneRequest | Reuse::SharedPool);
            Box::new(Open::new(worker, arrivals, stream, users_max, keeps_visitors))
        }
        LoadModel::Hybrid { arrivals, requests, think, active_off, users_max } => {
            Box::new(Hybrid::new(worker, arrivals, stream, users_max, requests, think, active_off))
        }
        LoadModel::Overload(overload) => Box::new(SClient::new(worker, overload)),
    }
}

/// `whole * part / parts`, without rounding before multiplying.
fn fraction(whole: Duration, part: u64, parts: u64) -> Duration {
    Duration::from_ns((u128::from(whole.as_ns()) * u128::from(part) / u128::from(parts)) as u64)
}
