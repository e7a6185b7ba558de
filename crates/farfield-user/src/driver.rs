//! Users as the model of load drives them: who begins, who goes on, thinks, comes back or leaves.

use crate::load::{Announced, Taken, Taker};
use crate::population::Population;
use crate::session::After;
use crate::slots::{DescriptorSlot, UserSlot};
use crate::transport::{Transport, Wake};
use crate::user::User;
use farfield_base::random::Purpose;
use farfield_base::{Duration, Instant, Sample};

/// The pause after a failure where the policy asks for none: a page that cannot even be asked for takes no
/// time, and would be tried again at the same instant for ever.
const LEAST_PAUSE: Duration = Duration::from_us(1);

impl Population {
    /// Schedules the first load.
    pub fn start<T: Transport>(&mut self, transport: &mut T) {
        self.model.start(&mut |at, wake| transport.wake_at(at, wake));
    }

    /// Begins the load that the model announced for `item`, or drops it if no user can take it. Where the
    /// worker comes to it only after the load has been [finished](Self::finish),
    /// [`record_missed`](Self::record_missed) counts it, and what is behind it.
    pub(crate) fn begin_load<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        due: Instant,
        item: u32,
        turn: u32,
    ) {
        let Some(Announced { due, unanswered }) = self.model.announced(item, turn, due) else { return };
        if let Some(attempt) = unanswered
            && self.is_connecting(attempt)
        {
            self.abandon(transport, now, attempt);
        }
        if !self.may_begin(due) || !self.model.is_single() && self.sessions_ran_out() {
            return self.model.user_left();
        }
        let Taken { number, taker, next } = self.model.take(item, now, self.users.len());
        match taker {
            Taker::None => self.drop_load(transport, now, due, number as u32),
            Taker::Newcomer => {
                self.count_begun(due, true);
                let slot = self.add_user(number, None);
                self.begin_first(transport, now, due, slot);
            }
            Taker::Visitor(slot) => {
                self.count_begun(due, false);
                self.forget_tickets(slot);
                let rng = self.seed.stream(Purpose::User, number);
                self.users[slot.index()].begin_anew(number as u32, rng);
                self.begin_first(transport, now, due, slot);
            }
            Taker::Attempt(descriptor) => {
                self.count_begun(due, true);
                let slot = self.add_user(number, Some(1));
                let attempt = self.begin_attempt(transport, now, due, slot, descriptor);
                self.model.attempt_begun(descriptor, attempt);
            }
        }
        if let Some((at, wake)) = next {
            transport.wake_at(at, wake);
        }
    }

    fn add_user(&mut self, number: u64, pages_left: Option<u64>) -> UserSlot {
        let rng = self.seed.stream(Purpose::User, number);
        UserSlot::at(self.users.insert(User::new(number as u32, rng, pages_left)))
    }

    /// Begins the first session of a user.
    fn begin_first<T: Transport>(&mut self, transport: &mut T, now: Instant, due: Instant, slot: UserSlot) {
        if self.begin_session(slot) {
            self.begin_page(transport, now, due, slot);
        } else {
            self.leave(transport, slot);
        }
    }

    /// The attempt of a descriptor was answered: its connection is the user's from now on.
    pub(crate) fn handle_answered<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        descriptor: DescriptorSlot,
    ) {
        if let Some((item, turn)) = self.model.attempt_answered(descriptor) {
            self.begin_load(transport, now, now, item, turn);
        }
    }

    /// A user has thought, or has paused after a failure.
    pub(crate) fn go_on<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        due: Instant,
        slot: UserSlot,
        turn: u32,
    ) {
        let Some(user) = self.users.get(slot.index()).filter(|user| user.turn == turn) else { return };
        let goes_on = if user.begun.is_some() { self.may_go_on(due) } else { self.may_begin(due) };
        if goes_on {
            self.begin_page(transport, now, due, slot);
        } else {
            self.leave(transport, slot);
        }
    }

    /// True once the model of load has nothing more to begin.
    pub(crate) fn load_is_over(&self) -> bool {
        self.sessions_ran_out() && self.users.is_empty() || self.model.is_over(self.users.len())
    }

    /// The user's page is over.
    pub(crate) fn after_page<T: Transport>(&mut self, transport: &mut T, now: Instant, slot: UserSlot) {
        let user = &mut self.users[slot.index()];
        let after = self.itinerary.after(user);
        let (think, over) = match after {
            After::Again | After::At(_) => (None, false),
            After::Page(think) => (think, false),
            After::Over(think) | After::BrokenOff(_, think) => (think, true),
        };
        user.failed |= after == After::Again;
        if over {
            let broken_off = if let After::BrokenOff(state, _) = after { Some(state) } else { None };
            self.note_end(transport, now, slot, broken_off);
        }
        let goes_on = match over {
            true => self.may_begin(now) && self.comes_back(transport, slot),
            false => self.may_go_on(now),
        };
        match after {
            After::At(due) if goes_on => self.await_instant(transport, now, slot, due),
            _ if goes_on => self.think(transport, now, slot, think),
            _ if self.model.keep(slot) => {}
            _ => self.leave(transport, slot),
        }
    }

    /// The user's session is over: true if it begins another, as a visitor that the server has not seen.
    fn comes_back<T: Transport>(&mut self, transport: &mut T, slot: UserSlot) -> bool {
        if self.model.users().is_none() {
            return false;
        }
        self.close_all(transport, slot);
        self.forget_tickets(slot);
        self.begin_session(slot)
    }

    /// Begins the user's next session; false if there is nothing for it to do.
    fn begin_session(&mut self, slot: UserSlot) -> bool {
        if self.sessions_ran_out() {
            return false;
        }
        let (clients, records_sessions) = (self.clients(), self.records_sessions());
        let user = &mut self.users[slot.index()];
        let number = u64::from(user.sessions) * clients + u64::from(user.number);
        user.sessions += 1;
        user.session = if records_sessions { number as u32 } else { Sample::NO_SESSION };
        if self.model.active_off().is_some() {
            user.held.get_or_insert_default();
        }
        user.pages_left = self.model.pages(&self.itinerary, &mut user.rng);
        let begins = self.itinerary.begin(user, number);
        self.sessions_left -= u64::from(begins && records_sessions);
        begins
    }

    /// The number of clients that a list of requests in order is dealt out among.
    pub(crate) fn clients(&self) -> u64 {
        self.model.users().map_or(1, |users| users.get().into())
    }

    /// A user that will not come back.
    fn leave<T: Transport>(&mut self, transport: &mut T, slot: UserSlot) {
        self.retire(transport, slot);
        self.model.user_left();
    }

    /// Schedules the user's next page for an instant of a recording, or begins it at once if that has passed.
    fn await_instant<T: Transport>(&mut self, transport: &mut T, now: Instant, slot: UserSlot, due: Instant) {
        if due <= now {
            return self.begin_page(transport, now, due, slot);
        }
        if self.is_too_late(slot, due) {
            return self.leave(transport, slot);
        }
        let turn = self.users[slot.index()].turn;
        transport.wake_at(due, Wake::Think { slot, turn });
    }

    /// Schedules the user's next page after a think time: `think`, or by default one that the model of load
    /// draws.
    fn think<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        slot: UserSlot,
        think: Option<Duration>,
    ) {
        let user = &mut self.users[slot.index()];
        let think = think.unwrap_or_else(|| self.model.think(&mut user.rng));
        let pause = match std::mem::take(&mut user.failed) {
            true => self.policy.pause_after_failure.max(LEAST_PAUSE),
            false => Duration::ZERO,
        };
        let turn = user.turn;
        if self.is_too_late(slot, now + pause.max(think)) {
            return self.leave(transport, slot);
        }
        if pause > think {
            transport.wake_at(now + pause, Wake::Resume { slot, turn });
        } else if think.is_zero() {
            self.begin_page(transport, now, now, slot);
        } else {
            transport.wake_at(now + think, Wake::Think { slot, turn });
        }
    }

    /// True if the user is in a session that may finish and would go on with it too late, so that it is not
    /// waited for.
    fn is_too_late(&self, slot: UserSlot, due: Instant) -> bool {
        let finishes = !self.sessions.finish.is_zero() && self.users[slot.index()].begun.is_some();
        finishes && due >= self.finish_until()
    }

    /// True while load that is due at `due` may begin, however late the worker comes to it.
    pub(crate) fn may_begin(&self, due: Instant) -> bool {
        self.goes_on() && due < self.window.measure_to
    }

    /// Counts load that was scheduled and is begun, and who begins it in the later half of the window, when
    /// there have been visitors for long. The users of a closed load are not scheduled: they begin when they
    /// are ready.
    fn count_begun(&mut self, due: Instant, newcomer: bool) {
        let window = self.window;
        if self.model.users().is_some() || !window.contains(due) {
            return;
        }
        self.tally.scheduled += 1;
        self.tally.begun += 1;
        let half = Duration::from_ns(window.measure_to.since(window.measure_from).as_ns() / 2);
        if self.model.keeps_visitors() && due >= window.measure_from + half {
            self.tally.begun_later += 1;
            self.tally.newcomers_later += u64::from(newcomer);
        }
    }
}
