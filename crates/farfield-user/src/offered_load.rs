//! The offered load of one worker: the model that says when users act, when the load ends, and how much of it
//! is left.

use crate::load::{Model, model_of};
use crate::plan::Share;
use crate::silence::Silence;
use crate::transport::Transport;
use crate::user::User;
use crate::worker::Worker;
use farfield_base::random::{Purpose, Seed, Stream};
use farfield_base::{Duration, Instant, Sample};
use std::num::NonZeroU32;

/// More requests than any load by count has: of one that is not counted, as many are left and more.
const UNCOUNTED: u64 = u64::MAX / 2;

/// The load of one worker.
#[derive(Debug)]
pub(crate) struct OfferedLoad {
    pub model: Box<dyn Model>,
    seed: Seed,
    /// The end of the load, unless it is over before.
    end: Instant,
    /// The longest time that sessions which are open then may go on.
    finish: Duration,
    /// No more pages, arrivals or attempts.
    finished: bool,
    requests_left: u64,
    /// Sessions that this worker's users may yet begin.
    sessions_left: u64,
    silence: Silence,
    /// Length of the server's silence when the load was given up.
    given_up: Option<Duration>,
}

/// Sessions that this worker's users may begin of the `most` of a run: an equal part for each worker that has
/// some of the `users`, where their number is fixed.
fn own_sessions(most: Option<u64>, worker: Worker, users: Option<NonZeroU32>) -> u64 {
    let Some(most) = most else { return u64::MAX };
    let workers = users.map_or(worker.workers, |users| worker.workers.min(users.get()));
    let (worker, workers) = (u64::from(worker.number), u64::from(workers));
    if worker < workers { (most + workers - 1 - worker) / workers } else { 0 }
}

impl OfferedLoad {
    /// The load of `plan`, before the run.
    pub fn of(plan: &Share) -> OfferedLoad {
        let model = model_of(plan);
        OfferedLoad {
            seed: plan.users.seed,
            end: plan.window.measure_to + plan.users.end.cool_down,
            finish: plan.users.end.finish,
            finished: false,
            requests_left: plan.users.requests_max.unwrap_or(u64::MAX),
            sessions_left: own_sessions(plan.users.end.sessions, plan.worker, model.users()),
            silence: Silence::of(plan.window, &plan.users.policy),
            given_up: None,
            model,
        }
    }

    /// Schedules the first load.
    pub fn start<T: Transport>(&mut self, transport: &mut T) {
        self.model.start(&mut |at, wake| transport.wake_at(at, wake));
    }

    /// The random stream of user `number`.
    pub fn stream(&self, number: u64) -> Stream {
        self.seed.stream(Purpose::User, number)
    }

    /// The number of clients that a list of requests in order is dealt out among.
    pub fn clients(&self) -> u64 {
        self.model.users().map_or(1, |users| users.get().into())
    }

    /// The end of the load, unless it is over before.
    pub fn end(&self) -> Instant {
        self.end
    }

    /// The load goes on until `end`.
    pub fn extend_to(&mut self, end: Instant) {
        self.end = end;
    }

    /// Begins no more load.
    pub fn finish(&mut self) {
        self.finished = true;
    }

    /// True once the load was [finished](Self::finish).
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// True while users may begin more.
    pub fn goes_on(&self) -> bool {
        !self.finished && self.requests_left > 0 && self.given_up.is_none()
    }

    /// True once the model of load has nothing more to begin, while `users` users are in the system.
    pub fn is_over(&self, users: usize) -> bool {
        self.sessions_ran_out() && users == 0 || self.model.is_over(users)
    }

    /// True while load that is due at `due` may begin, however late the worker comes to it.
    pub fn may_begin(&self, due: Instant) -> bool {
        self.goes_on() && due < self.end
    }

    /// True while a user in mid-session may ask for a page that is due at `due`.
    pub fn may_go_on(&self, due: Instant) -> bool {
        match self.finish.is_zero() {
            true => self.may_begin(due),
            false => self.requests_left > 0 && due < self.finish_until(),
        }
    }

    /// True while `sessions` sessions that are open go on, be the load over.
    pub fn sessions_finish(&self, sessions: u64) -> bool {
        !self.finish.is_zero() && sessions > 0 && self.requests_left > 0
    }

    /// Instant after which sessions that are open at the end of the load go on no more.
    pub fn finish_until(&self) -> Instant {
        self.end + self.finish
    }

    /// True if the user is in a session that may finish and would go on with it too late, so that it is not
    /// waited for.
    pub fn is_too_late(&self, user: &User, due: Instant) -> bool {
        let finishes = !self.finish.is_zero() && user.begun.is_some();
        finishes && due >= self.finish_until()
    }

    /// Requests after which no more pages are begun.
    pub fn requests_left(&self) -> u64 {
        self.requests_left
    }

    /// The requests of a load by count that were not begun.
    pub fn unbegun(&self) -> u64 {
        if self.requests_left < UNCOUNTED { self.requests_left } else { 0 }
    }

    /// Takes `requests` off those that are left.
    pub fn take_requests(&mut self, requests: u64) {
        self.requests_left = self.requests_left.saturating_sub(requests);
    }

    /// True if the count of requests has ended the load.
    pub fn requests_ran_out(&self) -> bool {
        self.requests_left == 0
    }

    /// Takes `sessions` off those that may yet be begun.
    pub fn take_sessions(&mut self, sessions: u64) {
        self.sessions_left -= sessions;
    }

    /// True once no more sessions are to be begun.
    pub fn sessions_ran_out(&self) -> bool {
        self.sessions_left == 0
    }

    /// Gives a load by count up whose server has been silent for too long: a request is over, as its `sample`
    /// says, and bytes of the server last came at `heard`.
    pub fn note_silence(&mut self, sample: &Sample, heard: Option<Instant>) {
        if let Some(silent) = self.silence.note(sample, heard) {
            self.given_up.get_or_insert(silent);
        }
    }

    /// Length of the server's silence when the load was given up, if it was.
    pub fn given_up(&self) -> Option<Duration> {
        self.given_up
    }
}
