//! Sessions as results: what is noted when one begins and when one ends.
//!
//! A session begins when its first page is due and ends with its last page, before its user thinks. One that the end of
//! the run leaves open has no end. Here is also how many are begun, and which may go on when the load is over.

use crate::driver::Driver;
use crate::host::Host;
use crate::population::{Plan, Population};
use farfield_base::{Instant, Note, SessionBegin, SessionEnd};
use farfield_traffic::load::LoadModel;

impl Plan {
    /// Sessions that this worker's users may begin: an equal part for each worker that has users.
    pub(crate) fn own_sessions(&self) -> u64 {
        let Some(most) = self.sessions.most else { return u64::MAX };
        let (worker, mut workers) = (u64::from(self.worker), u64::from(self.workers));
        if let LoadModel::Closed { users, .. } = &self.load {
            workers = workers.min(users.get().into());
        }
        if worker < workers { (most + workers - 1 - worker) / workers } else { 0 }
    }
}

impl Population {
    /// Whether samples carry the session of a request.
    pub(crate) fn tells_sessions(&self) -> bool {
        self.plan.itinerary.has_sessions() || matches!(self.plan.load, LoadModel::Hybrid { .. })
    }

    /// Notes that the user's session begins, if the page that is due is its first.
    pub(crate) fn note_begin<H: Host>(&mut self, host: &mut H, due: Instant, slot: u32) {
        if !self.tells_sessions() || matches!(self.driver, Driver::Attempting { .. }) {
            return;
        }
        let user = &mut self.users[slot as usize];
        if user.begun.is_none() {
            let begin = SessionBegin { due, user: user.number, session: user.session };
            user.begun = Some(begin);
            self.sessions_open += 1;
            host.note(Note::Begun(begin));
        }
    }

    /// Notes that the user's session is over: `broken_off` in a state, or gone its whole way.
    pub(crate) fn note_end<H: Host>(
        &mut self,
        host: &mut H,
        now: Instant,
        slot: u32,
        broken_off: Option<u16>,
    ) {
        if let Some(begin) = self.users[slot as usize].begun.take() {
            self.sessions_open -= 1;
            host.note(Note::Ended(SessionEnd { begin, at: now, broken_off }));
        }
    }

    /// The user leaves, though its session may not be over.
    pub(crate) fn abandon_session(&mut self, slot: u32) {
        let open = self.users.get_mut(slot as usize).and_then(|user| user.begun.take());
        self.sessions_open -= u64::from(open.is_some());
    }

    /// True once no more sessions are to be begun.
    pub(crate) fn sessions_ran_out(&self) -> bool {
        self.sessions_left == 0
    }

    /// True while sessions that are open go on, be the load over.
    pub(crate) fn sessions_finish(&self) -> bool {
        !self.plan.sessions.finish.is_zero() && self.sessions_open > 0 && self.requests_left > 0
    }

    /// When sessions that are open at the end of the load go on no more.
    pub(crate) fn finish_until(&self) -> Instant {
        self.plan.window.measure_to + self.plan.sessions.finish
    }

    /// True while a user in mid-session may ask for a page that is due at `due`.
    pub(crate) fn may_go_on(&self, due: Instant) -> bool {
        match self.plan.sessions.finish.is_zero() {
            true => self.may_begin(due),
            false => self.requests_left > 0 && due < self.finish_until(),
        }
    }

    /// Hands on what sessions noted of a request that is over.
    pub(crate) fn hand_notes<H: Host>(&mut self, host: &mut H) {
        while let Some(note) = self.plan.itinerary.next_note() {
            host.note(note);
        }
    }
}
