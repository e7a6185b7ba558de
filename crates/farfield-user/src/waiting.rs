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
use crate::exchange::Job;
use crate::host::Host;
use crate::reaction::Reaction;
use crate::settle::never_begun;
use crate::slots::UserSlot;
use crate::transport::Transport;
use farfield_base::Outcome;

impl<T: Transport> Egress<'_, T> {
    /// Requests of the user's for the hosts that are `full`, by number, find no connection that takes them:
    /// watches it, unless the user is watched or they wait for no streams.
    pub(crate) fn watch_waiting(&mut self, slot: UserSlot, full: u32) {
        let hosts = self.connections.hosts.iter().enumerate();
        let waits =
            |(number, host): (usize, &Host)| full & 1 << number != 0 && host.version.may_have_streams();
        if hosts.into_iter().any(waits) && self.users.watch_waiting(slot, self.now) {
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
            while let Some((place, job)) = self.waiting_longest(slot) {
                if job.due + timeout > self.now {
                    self.users.watch_waiting(slot, job.due);
                    break;
                }
                let user = &mut self.users[slot];
                user.wanted.waiting.remove(place);
                let sample = never_begun(job, user.number, self.now, Outcome::TimedOut);
                self.settle((slot, job), (None, Outcome::TimedOut.into()), sample);
            }
        }
    }

    /// The request of the user's that has waited longest for a stream, and its place. What is sent again
    /// waits ahead of others that were due before.
    fn waiting_longest(&self, slot: UserSlot) -> Option<(usize, Job)> {
        let has_streams = |job: &Job| self.connections.host(job.host).version.may_have_streams();
        let waiting = self.users.find(slot)?.wanted.waiting.iter().copied().enumerate();
        waiting.filter(|(_, job)| has_streams(job)).min_by_key(|(place, job)| (job.due, *place))
    }
}
