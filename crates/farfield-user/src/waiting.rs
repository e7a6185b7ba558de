//! Time limits of requests that wait for a connection with streams to take them.
//!
//! A server says how many streams it allows at once, be it none (RFC 9113 section 5.1.2, RFC 9000 section
//! 4.6), and one that hangs may never allow another. What waits for a stream has waited since it was due,
//! and ends with the time limit of every request as timed out, without a connection. Over HTTP/1 requests
//! wait for each other's replies, each of which has its limit.
//!
//! As for the limits of connections there is no timer for each: a user whose requests wait lies in a set by
//! an instant no later than the oldest of them was due, and is looked at when the limit from there is over.

use crate::egress::Egress;
use crate::reaction::Reaction;
use crate::settle::never_begun;
use crate::slots::UserSlot;
use crate::transport::Transport;
use farfield_base::Outcome;

impl<T: Transport> Egress<'_, T> {
    /// A request of the user's finds no connection that takes it: watches it, unless the user is watched.
    pub(crate) fn watch_waiting(&mut self, slot: UserSlot) {
        if !self.connections.may_have_streams() {
            return;
        }
        if self.users.watch_waiting(slot, self.now) {
            self.arm_deadline();
        }
    }
}

impl<T: Transport> Reaction<'_, T> {
    /// Ends the requests that have waited for longer than their time limit.
    pub(crate) fn end_overdue_waiting(&mut self) {
        let timeout = self.connections.policy.request_timeout();
        while let Some((slot, from)) = self.users.oldest_waiting()
            && from + timeout <= self.now
        {
            self.users.unwatch_waiting(slot);
            // The end of a request may be the end of its user.
            while let Some(user) = self.users.find_mut(slot)
                && let Some(job) = user.waiting.front().copied()
            {
                if job.due + timeout > self.now {
                    // Those behind it were due later, but for what is sent again.
                    self.users.watch_waiting(slot, job.due);
                    break;
                }
                user.waiting.pop_front();
                let number = user.number;
                let host = self.users.itinerary.host_of(&job);
                let sample = never_begun((job, host), number, self.now, Outcome::TimedOut);
                self.settle((slot, job), (None, Outcome::TimedOut.into()), sample);
            }
        }
    }
}
