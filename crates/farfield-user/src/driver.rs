//! The models of load: when users act.
//!
//! Closed, open and partly open (hybrid) in the terms of Schroeder, Wierman and Harchol-Balter (2006), and the
//! S-Client of Banga and Druschel (1999). Everything a worker does for its share follows from numbers that are
//! the same for any number of workers: the user's, the arrival's, the attempt's.

use crate::connection::Job;
use crate::host::{ConnectionKey, Host, Wake};
use crate::itinerary::NO_ERRAND;
use crate::policy::Reuse;
use crate::population::{Plan, Population};
use crate::session::After;
use crate::settle::never_begun;
use crate::user::User;
use farfield_base::random::Purpose;
use farfield_base::{Duration, Instant, Outcome, Sample};
use farfield_traffic::arrival::{ArrivalProcess, WorkerArrivals};
use farfield_traffic::load::{LoadModel, Overload, Restart};
use std::num::NonZeroU32;

/// The pause after a failure where the policy asks for none: a page that cannot even be asked for takes no time, and would
/// be tried again at the same instant for ever.
const LEAST_PAUSE: Duration = Duration::from_us(1);

/// Load that a worker never came to has a row each up to so many; a generator that is further behind than that has
/// nothing to show, and the rest is counted as lost samples.
pub(crate) const MISSED_ROWS: u64 = 1_000_000;

/// What a population's model of load keeps.
#[derive(Debug)]
pub(crate) enum Driver {
    /// Users come once and never leave.
    Closed {
        users: u32,
        /// Those of this worker that will not come back.
        gone: u32,
    },
    /// Users come by a process: each for one page, or (`sessions`) for several with thinking between.
    Arriving { arrivals: WorkerArrivals, next: Option<(u64, Instant)>, idle: Vec<u32>, users_max: usize },
    /// Descriptors that keep trying to connect.
    Attempting { descriptors: Vec<Descriptor>, users_max: usize },
}

/// One descriptor of an S-Client.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Descriptor {
    /// The attempt that it makes, from 0; a wake for an earlier one is stale.
    epoch: u32,
    /// Attempts made, which number the users.
    attempts: u32,
    attempt: Option<ConnectionKey>,
}

/// This worker's part of `total` things dealt out one by one.
fn share(total: u32, worker: u32, workers: u32) -> u32 {
    (total + workers - 1 - worker) / workers
}

impl Driver {
    pub fn new(plan: &Plan) -> Driver {
        let stream = plan.seed.stream(Purpose::Arrivals, 0);
        let shared = |total: Option<NonZeroU32>| {
            total.map_or(usize::MAX, |total| share(total.get(), plan.worker, plan.workers).max(1) as usize)
        };
        let arriving = |process: &ArrivalProcess, users_max| Driver::Arriving {
            arrivals: process.start(stream).share(plan.worker, plan.workers),
            next: None,
            idle: Vec::new(),
            users_max: shared(users_max),
        };
        match &plan.load {
            LoadModel::Closed { users, .. } => Driver::Closed { users: users.get(), gone: 0 },
            LoadModel::Open { arrivals, users_max } => arriving(arrivals, *users_max),
            LoadModel::Hybrid { arrivals, users_max, .. } => arriving(arrivals, *users_max),
            LoadModel::Overload(overload) => Driver::Attempting {
                descriptors: vec![
                    Descriptor::default();
                    share(overload.descriptors.get(), plan.worker, plan.workers) as usize
                ],
                users_max: shared(overload.established_max),
            },
        }
    }

    /// Among how many clients a list of requests in order is dealt out.
    pub fn clients(&self) -> u64 {
        match self {
            Driver::Closed { users, .. } => u64::from(*users),
            _ => 1,
        }
    }
}

impl Population {
    /// Has the host wake this population for its first load.
    pub fn start<H: Host>(&mut self, host: &mut H) {
        let (worker, workers) = (self.plan.worker, self.plan.workers);
        match (&mut self.driver, &self.plan.load) {
            (Driver::Closed { users, .. }, LoadModel::Closed { ramp, .. }) => {
                for user in (worker..*users).step_by(workers as usize) {
                    let at = fraction(*ramp, u64::from(user), u64::from(*users));
                    host.wake_at(Instant::ZERO + at, Wake::Start { user });
                }
            }
            (Driver::Attempting { descriptors, .. }, LoadModel::Overload(overload)) => {
                for descriptor in 0..descriptors.len() as u32 {
                    let at = slot_of(overload, descriptor * workers + worker, 0);
                    host.wake_at(at, Wake::Attempt { descriptor, epoch: 0 });
                }
            }
            _ => self.await_arrival(host),
        }
    }

    /// Load is due.
    pub(crate) fn drive<H: Host>(&mut self, host: &mut H, now: Instant, due: Instant, wake: Wake) {
        match wake {
            Wake::Arrival => self.arrive(host, now),
            Wake::Start { .. } if !self.may_begin(due) => self.count_gone(),
            Wake::Start { user } => {
                let chance = self.plan.seed.stream(Purpose::User, u64::from(user));
                let slot = self.users.insert(User::new(user, chance, None)) as u32;
                if self.begin_session(slot) {
                    self.begin_page(host, now, due, slot);
                } else {
                    self.leave(host, slot);
                }
            }
            Wake::Think { slot, turn } | Wake::Resume { slot, turn } => {
                let user = self.users.get(slot as usize).filter(|user| user.turn == turn);
                if let Some(in_session) = user.map(|user| user.begun.is_some()) {
                    if if in_session { self.may_go_on(due) } else { self.may_begin(due) } {
                        self.begin_page(host, now, due, slot);
                    } else {
                        self.leave(host, slot);
                    }
                }
            }
            Wake::Off { slot, turn } => self.end_off_time(host, now, due, slot, turn),
            Wake::Attempt { descriptor, epoch } => self.attempt_due(host, now, due, descriptor, epoch),
            Wake::Deadline | Wake::Unanswered => {
                unreachable!("time limits are the population's own affair")
            }
        }
    }

    /// True once the model of load has nothing more to begin.
    pub(crate) fn load_is_over(&self) -> bool {
        if self.sessions_ran_out() && self.users.is_empty() {
            return true;
        }
        match (&self.driver, &self.plan.load) {
            (Driver::Arriving { next: None, .. }, LoadModel::Hybrid { .. }) => self.users.is_empty(),
            (Driver::Arriving { next: None, .. }, _) => true,
            (Driver::Closed { users, gone }, _) => {
                *gone == share(*users, self.plan.worker, self.plan.workers)
            }
            _ => false,
        }
    }

    /// The user's page is over.
    pub(crate) fn after_page<H: Host>(&mut self, host: &mut H, now: Instant, slot: u32) {
        let user = &mut self.users[slot as usize];
        let after = self.plan.itinerary.after(user);
        let (think, over) = match after {
            After::Again | After::At(_) => (None, false),
            After::Page(think) => (think, false),
            After::Over(think) | After::BrokenOff(_, think) => (think, true),
        };
        user.failed |= after == After::Again;
        if over {
            let broken_off = if let After::BrokenOff(state, _) = after { Some(state) } else { None };
            self.note_end(host, now, slot, broken_off);
        }
        let goes_on = match over {
            true => self.may_begin(now) && self.comes_back(host, slot),
            false => self.may_go_on(now),
        };
        if goes_on {
            return match after {
                After::At(due) => self.await_instant(host, now, slot, due),
                _ => self.think(host, now, slot, think),
            };
        }
        match (&mut self.driver, &self.plan.load) {
            // The visitor of an open load is kept with its connections for a later arrival.
            (Driver::Arriving { idle, .. }, LoadModel::Open { .. })
                if self.plan.policy.policy != Reuse::OneRequest =>
            {
                idle.push(slot);
            }
            _ => self.leave(host, slot),
        }
    }

    /// The user's session is over: true if it begins another, as a visitor that the server has not seen.
    fn comes_back<H: Host>(&mut self, host: &mut H, slot: u32) -> bool {
        if !matches!(self.driver, Driver::Closed { .. }) {
            return false;
        }
        self.close_all(host, slot);
        self.begin_session(slot)
    }

    /// Begins the user's next session; false if there is nothing for it to do.
    fn begin_session(&mut self, slot: u32) -> bool {
        if self.sessions_ran_out() {
            return false;
        }
        let (clients, tells_sessions) = (self.driver.clients(), self.tells_sessions());
        let user = &mut self.users[slot as usize];
        let number = u64::from(user.sessions) * clients + u64::from(user.number);
        user.sessions += 1;
        user.session = if tells_sessions { number as u32 } else { Sample::NO_SESSION };
        if self.plan.load.active_off().is_some() {
            user.held.get_or_insert_default();
        }
        if matches!(self.driver, Driver::Closed { .. }) {
            user.pages_left = self.plan.itinerary.pages_max(None, &mut user.chance);
        }
        let begins = self.plan.itinerary.begin(user, number);
        self.sessions_left -= u64::from(begins && tells_sessions);
        begins
    }

    /// A user that will not come back.
    fn leave<H: Host>(&mut self, host: &mut H, slot: u32) {
        self.retire(host, slot);
        self.count_gone();
    }

    fn count_gone(&mut self) {
        if let Driver::Closed { gone, .. } = &mut self.driver {
            *gone += 1;
        }
    }

    /// Has the user go on at an instant of a recording, or at once if that has passed.
    fn await_instant<H: Host>(&mut self, host: &mut H, now: Instant, slot: u32, due: Instant) {
        if due <= now {
            return self.begin_page(host, now, due, slot);
        }
        if self.is_too_late(slot, due) {
            return self.leave(host, slot);
        }
        let turn = self.users[slot as usize].turn;
        host.wake_at(due, Wake::Think { slot, turn });
    }

    /// Has the user wait, so long or as the load says, and then go on.
    fn think<H: Host>(&mut self, host: &mut H, now: Instant, slot: u32, think: Option<Duration>) {
        let user = &mut self.users[slot as usize];
        let think = think.unwrap_or_else(|| match &self.plan.load {
            LoadModel::Closed { think, .. } | LoadModel::Hybrid { think, .. } => {
                think.sample_duration(&mut user.chance)
            }
            _ => Duration::ZERO,
        });
        let pause = match std::mem::take(&mut user.failed) {
            true => self.plan.policy.pause_after_failure.max(LEAST_PAUSE),
            false => Duration::ZERO,
        };
        let turn = user.turn;
        if self.is_too_late(slot, now + pause.max(think)) {
            return self.leave(host, slot);
        }
        if pause > think {
            host.wake_at(now + pause, Wake::Resume { slot, turn });
        } else if think.is_zero() {
            self.begin_page(host, now, now, slot);
        } else {
            host.wake_at(now + think, Wake::Think { slot, turn });
        }
    }

    /// True if the user is in a session that may finish and would go on with it too late, so that nobody waits for it.
    fn is_too_late(&self, slot: u32, due: Instant) -> bool {
        let finishes = !self.plan.sessions.finish.is_zero() && self.users[slot as usize].begun.is_some();
        finishes && due >= self.finish_until()
    }

    fn await_arrival<H: Host>(&mut self, host: &mut H) {
        if let Driver::Arriving { arrivals, next, .. } = &mut self.driver {
            *next = arrivals.next();
            if let Some((_, at)) = *next {
                host.wake_at(at, Wake::Arrival);
            }
        }
    }

    /// An arrival is due: a user takes it, however many are busy. Where the worker comes to it only after the load has
    /// been [finished](Self::finish), it waits for [`record_missed`](Self::record_missed), and so do those behind it.
    fn arrive<H: Host>(&mut self, host: &mut H, now: Instant) {
        let next_due = match &self.driver {
            Driver::Arriving { next: Some((_, due)), .. } => *due,
            _ => return,
        };
        if !self.may_begin(next_due) || self.sessions_ran_out() {
            return;
        }
        let Driver::Arriving { next, idle, users_max, .. } = &mut self.driver else { return };
        let Some((index, due)) = *next else { return };
        if idle.is_empty() && self.users.len() >= *users_max {
            self.drop_load(host, now, due, index as u32);
        } else {
            let visitor = idle.pop();
            self.count_begun(due);
            self.count_newcomer(due, visitor.is_none());
            let slot = self.admit(visitor, index);
            if self.begin_session(slot) {
                self.begin_page(host, now, due, slot);
            } else {
                self.leave(host, slot);
            }
        }
        self.await_arrival(host);
    }

    /// The user of an arrival: a visitor who is idle, or a new one.
    fn admit(&mut self, visitor: Option<u32>, index: u64) -> u32 {
        let mut chance = self.plan.seed.stream(Purpose::User, index);
        let pages = match &self.plan.load {
            LoadModel::Hybrid { requests, .. } => self.plan.itinerary.pages_max(Some(requests), &mut chance),
            _ => Some(1),
        };
        let number = index as u32;
        let Some(slot) = visitor else {
            return self.users.insert(User::new(number, chance, pages)) as u32;
        };
        let user = &mut self.users[slot as usize];
        (user.number, user.chance, user.turn) = (number, chance, 0);
        (user.pages_left, user.failed, user.sessions) = (pages, false, 0);
        slot
    }

    /// A descriptor's time T has passed: drop what it waits for, and try anew.
    fn attempt_due<H: Host>(
        &mut self,
        host: &mut H,
        now: Instant,
        due: Instant,
        descriptor: u32,
        epoch: u32,
    ) {
        let Driver::Attempting { descriptors, .. } = &mut self.driver else { return };
        let state = &mut descriptors[descriptor as usize];
        if state.epoch != epoch {
            return;
        }
        if let Some(attempt) = state.attempt.take()
            && self.is_connecting(attempt)
        {
            self.abandon(host, now, attempt);
        }
        self.attempt(host, now, due, descriptor);
    }

    /// A descriptor's attempt was answered: the connection is handed on to a user of its own.
    pub(crate) fn attempt_answered<H: Host>(&mut self, host: &mut H, now: Instant, descriptor: u32) {
        let Driver::Attempting { descriptors, .. } = &mut self.driver else { return };
        descriptors[descriptor as usize].attempt = None;
        let LoadModel::Overload(overload) = &self.plan.load else { return };
        if overload.restart == Restart::AtOnce {
            self.attempt(host, now, now, descriptor);
        }
    }

    fn attempt<H: Host>(&mut self, host: &mut H, now: Instant, due: Instant, descriptor: u32) {
        if !self.may_begin(due) {
            return;
        }
        let Driver::Attempting { descriptors, users_max } = &mut self.driver else { return };
        let LoadModel::Overload(overload) = &self.plan.load else { return };
        let state = &mut descriptors[descriptor as usize];
        let global = descriptor * self.plan.workers + self.plan.worker;
        let number = state.attempts.wrapping_mul(overload.descriptors.get()).wrapping_add(global);
        state.attempts += 1;
        state.epoch += 1;
        let (attempts, epoch) = (state.attempts, state.epoch);
        let next = match overload.restart {
            Restart::Paced => slot_of(overload, global, attempts),
            Restart::AtOnce => now + overload.timeout(),
        };
        if self.users.len() >= *users_max {
            self.drop_load(host, now, due, number);
        } else {
            self.count_begun(due);
            let chance = self.plan.seed.stream(Purpose::User, u64::from(number));
            let slot = self.users.insert(User::new(number, chance, Some(1))) as u32;
            let key = self.begin_attempt(host, now, due, slot, descriptor);
            if let Driver::Attempting { descriptors, .. } = &mut self.driver {
                descriptors[descriptor as usize].attempt = Some(key);
            }
        }
        host.wake_at(next, Wake::Attempt { descriptor, epoch });
    }

    /// Records the load that was due by `now` and that this worker never came to, so that a generator which falls
    /// behind is found out: each is a request that was never begun and is unfinished.
    pub(crate) fn record_missed<H: Host>(&mut self, host: &mut H, now: Instant) {
        let end = now.min(self.plan.window.measure_to);
        if self.requests_ran_out() || self.sessions_ran_out() {
            return;
        }
        while let Some((index, due)) = self.next_missed(end) {
            if self.tally.missed >= MISSED_ROWS
                && let Some([missed, scheduled]) = self.expected_between(due, end)
            {
                self.tally.missed += missed;
                self.tally.scheduled += scheduled;
                break;
            }
            self.record_missed_one(host, now, due, index as u32);
        }
        let LoadModel::Overload(overload) = self.plan.load.clone() else { return };
        let Driver::Attempting { descriptors, .. } = &self.driver else { return };
        if overload.restart != Restart::Paced {
            return;
        }
        let attempts: Vec<u32> = descriptors.iter().map(|descriptor| descriptor.attempts).collect();
        for (descriptor, attempts) in (0..).zip(attempts) {
            let global = descriptor * self.plan.workers + self.plan.worker;
            let slots = (attempts..).map(|attempt| (attempt, slot_of(&overload, global, attempt)));
            for (attempt, due) in slots.take_while(|(_, due)| *due < end) {
                let number = attempt.wrapping_mul(overload.descriptors.get()).wrapping_add(global);
                self.record_missed_one(host, now, due, number);
            }
        }
    }

    /// Takes the next arrival, if it is due before `end`.
    fn next_missed(&mut self, end: Instant) -> Option<(u64, Instant)> {
        let Driver::Arriving { arrivals, next, .. } = &mut self.driver else { return None };
        let missed = next.filter(|(_, due)| *due < end)?;
        *next = arrivals.next();
        Some(missed)
    }

    /// How many arrivals this worker has from `from` to `end` in the mean, and how many of them in the window: to count
    /// what has no row one by one takes minutes where a thousand times too much was offered. `None` where the process
    /// does not know.
    fn expected_between(&self, from: Instant, end: Instant) -> Option<[u64; 2]> {
        let (LoadModel::Open { arrivals, .. } | LoadModel::Hybrid { arrivals, .. }) = &self.plan.load else {
            return None;
        };
        let own = |from: Instant| Some(arrivals.expected(from, end)? / f64::from(self.plan.workers));
        Some([own(from)? as u64, own(from.max(self.plan.window.measure_from))? as u64])
    }

    fn record_missed_one<H: Host>(&mut self, host: &mut H, now: Instant, due: Instant, number: u32) {
        self.tally.scheduled += u64::from(self.plan.window.contains(due));
        self.tally.missed += 1;
        if self.tally.missed > MISSED_ROWS {
            return;
        }
        // It was due and not over for so long, as Little's law counts.
        self.in_system.enter(now, due);
        self.in_system.leave(now);
        self.record_unmade(host, now, due, number, Outcome::Unfinished);
    }

    /// True while load that is due at `due` may begin, however late the worker comes to it.
    pub(crate) fn may_begin(&self, due: Instant) -> bool {
        self.goes_on() && due < self.plan.window.measure_to
    }

    fn count_begun(&mut self, due: Instant) {
        let counts = u64::from(self.plan.window.contains(due));
        self.tally.scheduled += counts;
        self.tally.begun += counts;
    }

    /// Counts who begins in the later half of the window, when there have been visitors for long.
    fn count_newcomer(&mut self, due: Instant, new: bool) {
        let window = self.plan.window;
        let half = Duration::from_ns(window.measure_to.since(window.measure_from).as_ns() / 2);
        let kept =
            matches!(self.plan.load, LoadModel::Open { .. }) && self.plan.policy.policy != Reuse::OneRequest;
        if kept && window.contains(due) && due >= window.measure_from + half {
            self.tally.begun_later += 1;
            self.tally.newcomers_later += u64::from(new);
        }
    }

    /// All users that the scenario allows are busy.
    fn drop_load<H: Host>(&mut self, host: &mut H, now: Instant, due: Instant, number: u32) {
        let counts = u64::from(self.plan.window.contains(due));
        self.tally.scheduled += counts;
        self.tally.dropped += counts;
        self.record_unmade(host, now, due, number, Outcome::Dropped);
    }

    /// Records load that was due and that no user has taken.
    fn record_unmade<H: Host>(
        &mut self,
        host: &mut H,
        now: Instant,
        due: Instant,
        number: u32,
        outcome: Outcome,
    ) {
        let mut chance = self.plan.seed.stream(Purpose::User, u64::from(number));
        let request = self.plan.itinerary.first_page(number, &mut chance);
        let job = Job { request, errand: NO_ERRAND, due, again: false, first: true };
        host.record(never_begun(job, number, now, outcome));
    }
}

/// When descriptor `global` of an S-Client makes its `attempt`-th attempt: the D descriptors are spread over T
/// (Banga and Druschel 1999, section 4.2), so attempts leave at exactly D/T.
fn slot_of(overload: &Overload, global: u32, attempt: u32) -> Instant {
    Instant::ZERO
        + overload.timeout().times(u64::from(attempt))
        + fraction(overload.timeout(), u64::from(global), u64::from(overload.descriptors.get()))
}

/// `whole * part / parts`, without rounding before multiplying.
fn fraction(whole: Duration, part: u64, parts: u64) -> Duration {
    Duration::from_ns((u128::from(whole.as_ns()) * u128::from(part) / u128::from(parts)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up() {
        for total in 0..40 {
            for workers in 1..7 {
                let sum: u32 = (0..workers).map(|worker| share(total, worker, workers)).sum();
                assert_eq!(sum, total);
            }
        }
    }
}
