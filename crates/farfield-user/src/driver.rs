//! Users as the model of load drives them: who begins, who goes on, thinks, comes back or leaves.

use crate::load::{Announcement, Assignment, Taker};
use crate::reaction::Reaction;
use crate::session::AfterPage;
use crate::slots::{DescriptorSlot, UserSlot};
use crate::transport::{Transport, Wake};
use farfield_base::{Duration, Instant};

/// The pause after a failure where the policy asks for none: a page that cannot even be asked for takes no
/// time, and would be tried again at the same instant for ever.
const LEAST_PAUSE: Duration = Duration::from_us(1);

impl<T: Transport> Reaction<'_, T> {
    /// Begins the load that the model announced for `item`, or drops it if no user can take it. Where the
    /// worker comes to it only after the load has been [finished](crate::Population::finish),
    /// [`record_missed`](Self::record_missed) counts it, and what is behind it.
    pub(crate) fn begin_load(&mut self, due: Instant, item: u32, turn: u32) {
        let Some(Announcement { due, unanswered }) = self.load.model.announced(item, turn, due) else {
            return;
        };
        if let Some(attempt) = unanswered
            && self.connections.is_connecting(attempt)
        {
            self.abandon(attempt);
        }
        if !self.load.may_begin(due) || !self.load.model.is_single() && self.load.sessions_ran_out() {
            return self.note_left(item, self.load.model.sessions_before(item));
        }
        let Assignment { number, taker, next } = self.load.model.take(item, self.now, self.users.len());
        match taker {
            Taker::None => self.drop_load(due, number as u32),
            Taker::Newcomer => {
                self.count_begun(due, true);
                let slot = self.users.add(number, self.load.stream(number), None);
                self.users[slot].sessions = self.load.model.sessions_before(item);
                self.begin_first(due, slot);
            }
            Taker::Visitor(slot) => {
                self.count_begun(due, false);
                self.egress().forget_tickets(slot);
                let rng = self.load.stream(number);
                self.users[slot].begin_anew(number as u32, rng);
                self.begin_first(due, slot);
            }
            Taker::Attempt(descriptor) => {
                self.count_begun(due, true);
                let slot = self.users.add(number, self.load.stream(number), Some(1));
                let attempt = self.begin_attempt(due, slot, descriptor);
                self.load.model.attempt_begun(descriptor, attempt);
            }
        }
        if let Some((at, wake)) = next {
            self.transport.wake_at(at, wake);
        }
    }

    /// Begins the first session of a user.
    fn begin_first(&mut self, due: Instant, slot: UserSlot) {
        if self.users.begin_session(self.load, slot) {
            self.begin_page(due, slot);
        } else {
            self.leave(slot);
        }
    }

    /// The attempt of a descriptor was answered: its connection is the user's from now on.
    pub(crate) fn handle_answered(&mut self, descriptor: DescriptorSlot) {
        if let Some((item, turn)) = self.load.model.attempt_answered(descriptor) {
            self.begin_load(self.now, item, turn);
        }
    }

    /// A user has thought, or has paused after a failure.
    pub(crate) fn go_on(&mut self, due: Instant, slot: UserSlot, turn: u32) {
        let Some(user) = self.users.find(slot).filter(|user| user.turn == turn) else { return };
        let goes_on = if user.begun.is_some() { self.load.may_go_on(due) } else { self.load.may_begin(due) };
        if goes_on && self.load.model.stays_on(user.number, due) {
            self.begin_page(due, slot);
        } else {
            self.leave(slot);
        }
    }

    /// The user's page is over.
    pub(crate) fn after_page(&mut self, slot: UserSlot) {
        let after = self.users.after_page(slot);
        let (think, over) = match after {
            AfterPage::Again | AfterPage::At(_) => (None, false),
            AfterPage::Page(think) => (think, false),
            AfterPage::Over(think) | AfterPage::BrokenOff(_, think) => (think, true),
        };
        if over {
            self.egress().end_websocket(slot);
            let broken_off = if let AfterPage::BrokenOff(state, _) = after { Some(state) } else { None };
            if let Some(note) = self.users.note_end(self.now, slot, broken_off) {
                self.transport.note(note);
            }
        }
        let goes_on = match over {
            _ if !self.load.model.stays_on(self.users[slot].number, self.now) => false,
            true => self.load.may_begin(self.now) && self.comes_back(slot),
            false => self.load.may_go_on(self.now),
        };
        match after {
            AfterPage::At(due) if goes_on => self.await_instant(slot, due),
            _ if goes_on => self.think(slot, think),
            _ if self.load.model.keep(slot) => {}
            _ => self.leave(slot),
        }
    }

    /// The user's session is over: true if it begins another, as a visitor that the server has not seen.
    fn comes_back(&mut self, slot: UserSlot) -> bool {
        if self.load.model.users().is_none() {
            return false;
        }
        self.egress().close_all(slot);
        self.egress().forget_tickets(slot);
        self.users.begin_session(self.load, slot)
    }

    /// A user leaves, for good or to come back as a newcomer.
    fn leave(&mut self, slot: UserSlot) {
        let (user, sessions) = (self.users[slot].number, self.users[slot].sessions);
        self.egress().retire(slot);
        self.note_left(user, sessions);
    }

    /// User `user` is gone, who has begun so many sessions.
    fn note_left(&mut self, user: u32, sessions: u32) {
        if let Some((at, wake)) = self.load.model.user_left(user, sessions, self.now) {
            self.transport.wake_at(at, wake);
        }
    }

    /// The instant `due` of a user's next page, or the earlier one at which the user leaves.
    fn before_leaving(&self, slot: UserSlot, due: Instant) -> Instant {
        due.min(self.load.model.leaves_at(self.users[slot].number).max(self.now))
    }

    /// Schedules the user's next page for an instant of a recording, or begins it at once if that has passed.
    fn await_instant(&mut self, slot: UserSlot, due: Instant) {
        if due <= self.now {
            return self.begin_page(due, slot);
        }
        if self.load.is_too_late(&self.users[slot], due) {
            return self.leave(slot);
        }
        let turn = self.users[slot].turn;
        self.transport.wake_at(self.before_leaving(slot, due), Wake::Think { slot, turn });
    }

    /// Schedules the user's next page after a think time: `think`, or by default one that the model of load
    /// draws.
    fn think(&mut self, slot: UserSlot, think: Option<Duration>) {
        let user = &mut self.users[slot];
        let think = think.unwrap_or_else(|| self.load.model.think(&mut user.rng));
        let pause = match std::mem::take(&mut user.failed) {
            true => self.connections.policy.pause_after_failure.max(LEAST_PAUSE),
            false => Duration::ZERO,
        };
        let turn = user.turn;
        if self.load.is_too_late(&self.users[slot], self.now + pause.max(think)) {
            return self.leave(slot);
        }
        if pause > think {
            self.transport.wake_at(self.before_leaving(slot, self.now + pause), Wake::Resume { slot, turn });
        } else if think.is_zero() {
            self.begin_page(self.now, slot);
        } else {
            self.transport.wake_at(self.before_leaving(slot, self.now + think), Wake::Think { slot, turn });
        }
    }

    /// Counts load that was scheduled and is begun, and by whom. The users of a closed load are not
    /// scheduled: they begin when they are ready.
    fn count_begun(&mut self, due: Instant, newcomer: bool) {
        if self.load.model.users().is_some() {
            return;
        }
        self.counters.count_begun(due);
        if self.load.model.keeps_visitors() {
            self.counters.count_visitor(due, newcomer);
        }
    }
}
