//! Sessions as results: what is noted when one begins and when one ends.
//!
//! A session begins when its first page is due and ends with its last page, before its user thinks. One that
//! the end of the run leaves open has no end. Here is also how many are begun, and which may go on when the
//! load is over.

use crate::load::Worker;
use crate::population::Population;
use crate::slots::UserSlot;
use crate::transport::Transport;
use farfield_base::{Instant, Note, SessionBegin, SessionEnd};
use std::num::NonZeroU32;

/// Sessions that this worker's users may begin of the `most` of a run: an equal part for each worker that has
/// some of the `users`, where their number is fixed.
pub(crate) fn own_sessions(most: Option<u64>, worker: Worker, users: Option<NonZeroU32>) -> u64 {
    let Some(most) = most else { return u64::MAX };
    let workers = users.map_or(worker.workers, |users| worker.workers.min(users.get()));
    let (worker, workers) = (u64::from(worker.number), u64::from(workers));
    if worker < workers { (most + workers - 1 - worker) / workers } else { 0 }
}

impl Population {
    /// Whether samples carry the session of a request.
    pub(crate) fn records_sessions(&self) -> bool {
        self.itinerary.has_sessions() || self.model.has_sessions()
    }

    /// Notes that the user's session begins, if the page that is due is its first.
    pub(crate) fn note_begin<T: Transport>(&mut self, transport: &mut T, due: Instant, slot: UserSlot) {
        if !self.records_sessions() || self.model.is_single() {
            return;
        }
        let user = &mut self.users[slot.index()];
        if user.begun.is_none() {
            let begin = SessionBegin { due, user: user.number, session: user.session };
            user.begun = Some(begin);
            self.sessions_open += 1;
            transport.note(Note::Begun(begin));
        }
    }

    /// Notes that the user's session is over: `broken_off` in a state, or gone its whole way.
    pub(crate) fn note_end<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        slot: UserSlot,
        broken_off: Option<u16>,
    ) {
        if let Some(begin) = self.users[slot.index()].begun.take() {
            self.sessions_open -= 1;
            transport.note(Note::Ended(SessionEnd { begin, at: now, broken_off }));
        }
    }

    /// The user leaves, though its session may not be over.
    pub(crate) fn abandon_session(&mut self, slot: UserSlot) {
        let open = self.users.get_mut(slot.index()).and_then(|user| user.begun.take());
        self.sessions_open -= u64::from(open.is_some());
    }

    /// True once no more sessions are to be begun.
    pub(crate) fn sessions_ran_out(&self) -> bool {
        self.sessions_left == 0
    }

    /// True while sessions that are open go on, be the load over.
    pub(crate) fn sessions_finish(&self) -> bool {
        !self.sessions.finish.is_zero() && self.sessions_open > 0 && self.requests_left > 0
    }

    /// When sessions that are open at the end of the load go on no more.
    pub(crate) fn finish_until(&self) -> Instant {
        self.window.measure_to + self.sessions.finish
    }

    /// True while a user in mid-session may ask for a page that is due at `due`.
    pub(crate) fn may_go_on(&self, due: Instant) -> bool {
        match self.sessions.finish.is_zero() {
            true => self.may_begin(due),
            false => self.requests_left > 0 && due < self.finish_until(),
        }
    }

    /// Hands on what sessions noted of a request that is over.
    pub(crate) fn hand_notes<T: Transport>(&mut self, transport: &mut T) {
        while let Some(note) = self.itinerary.next_note() {
            transport.note(note);
        }
    }
}
