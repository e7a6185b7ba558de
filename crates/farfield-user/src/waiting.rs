//! Time limits of requests that wait for a connection with streams to take them.
//!
//! A server says how many streams it allows at once, be it none (RFC 9113 section 5.1.2, RFC 9000 section
//! 4.6), and one that hangs may never allow another. What waits for a stream has waited since it was due,
//! and ends with the time limit of every request as timed out, without a connection. Over HTTP/1 requests
//! wait for each other's replies, each of which has its limit.
//!
//! As for the limits of connections there is no timer for each: a user whose requests wait lies in a set by
//! an instant no later than the oldest of them was due, and is looked at when the limit from there is over.

use crate::population::Population;
use crate::settle::never_begun;
use crate::slots::UserSlot;
use crate::transport::Transport;
use farfield_base::{Instant, Outcome};

impl Population {
    /// A request of the user's finds no connection that takes it: watches it, unless the user is watched.
    pub(crate) fn watch_waiting<T: Transport>(&mut self, transport: &mut T, now: Instant, slot: UserSlot) {
        if !self.version.may_have_streams() {
            return;
        }
        let user = &mut self.users[slot.index()];
        if user.watched.is_none() {
            user.watched = Some(now);
            self.waiting.insert((now, slot));
            self.arm_deadline(transport, now);
        }
    }

    /// Watches the user no longer, who leaves.
    pub(crate) fn unwatch_waiting(&mut self, slot: UserSlot) {
        if let Some(from) = self.users.get_mut(slot.index()).and_then(|user| user.watched.take()) {
            self.waiting.remove(&(from, slot));
        }
    }

    /// Ends the requests that have waited for longer than their time limit.
    pub(crate) fn end_overdue_waiting<T: Transport>(&mut self, transport: &mut T, now: Instant) {
        let timeout = self.policy.request_timeout();
        while let Some((from, slot)) = self.waiting.first().copied()
            && from + timeout <= now
        {
            self.unwatch_waiting(slot);
            // The end of a request may be the end of its user.
            while let Some(user) = self.users.get_mut(slot.index())
                && let Some(job) = user.waiting.front().copied()
            {
                if job.due + timeout > now {
                    // Those behind it were due later, but for what is sent again.
                    let from = job.due;
                    if user.watched.is_none() {
                        user.watched = Some(from);
                        self.waiting.insert((from, slot));
                    }
                    break;
                }
                user.waiting.pop_front();
                let sample = never_begun(job, user.number, now, Outcome::TimedOut);
                self.settle(transport, now, (slot, job), (None, Outcome::TimedOut.into()), sample);
            }
        }
    }
}
