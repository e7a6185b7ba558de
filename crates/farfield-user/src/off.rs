//! Active OFF times: what a user waits between the requests of a page.
//!
//! A SURGE user (Barford and Crovella 1998) does not ask for all that a page embeds at once: a browser works
//! on what came before it asks for the next. Here each place that the policy gives a user, a connection or a
//! part of a pipeline, takes such times by itself: where there is none of the page's requests in it, a time
//! is drawn from the user's own stream, and when it is over the next embedded object is due. Redirections are
//! followed at once.
//!
//! A request that is held back is not due, and so not in the system; a page of which something is held back
//! is not over.

use crate::reaction::Reaction;
use crate::slots::UserSlot;
use crate::transport::{Transport, Wake};
use crate::user::User;
use farfield_base::Instant;

impl<T: Transport> Reaction<'_, T> {
    /// Begins as many OFF times as there is room for requests beside those of the user's that are under way.
    pub(crate) fn begin_off_times(&mut self, slot: UserSlot) {
        let Some(times) = self.load.model.active_off() else { return };
        let depth = self.connections.depth_at_most() as u32;
        let places = u32::from(self.connections.policy.parallel.get()).saturating_mul(depth);
        // The user may have left while a completed page was looked after.
        let Some(user) = self.users.find_mut(slot) else { return };
        let (unfinished, turn) = (user.wanted.unfinished, user.turn);
        let Some(held) = &mut user.wanted.held else { return };
        let under_way = unfinished - held.count();
        while held.running < held.count() && under_way + held.running < places {
            held.running += 1;
            let off = times.sample_duration(&mut user.rng);
            self.transport.wake_at(self.now + off, Wake::Off { slot, turn });
        }
    }

    /// An OFF time is over: what it held back is due. Once the load has ended nothing more is begun.
    pub(crate) fn end_off_time(&mut self, due: Instant, slot: UserSlot, turn: u32) {
        let goes_on = !self.load.is_finished() && due < self.load.end();
        let finishes =
            self.load.sessions_finish(self.users.sessions_open()) && due < self.load.finish_until();
        let goes_on = |user: &User| goes_on || finishes && user.begun.is_some();
        let user = self.users.find(slot).filter(|user| user.turn == turn && goes_on(user));
        if user.is_some() && self.users.release_held(slot, due) {
            self.counters.in_system.enter(self.now, due);
            self.egress().pump(slot);
        }
    }
}
