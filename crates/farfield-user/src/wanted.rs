//! Requests of a user's page that are not over: those that wait for a connection, those that an OFF time
//! holds back, and how many there are with those that are on their way.

use crate::exchange::Job;
use crate::held::DeferredRequests;
use std::collections::VecDeque;

/// Requests of a user's page.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    /// Requests that wait for a connection, in order.
    pub waiting: VecDeque<Job>,
    /// Requests of the page that an OFF time holds back; absent where the load has no such times.
    pub held: Option<Box<DeferredRequests>>,
    /// Requests of the page that are not over, those included that wait or are held back.
    pub unfinished: u32,
}

impl Wanted {
    /// Wants one more request for the page.
    pub fn queue(&mut self, job: Job) {
        self.waiting.push_back(job);
        self.unfinished += 1;
    }

    /// Wants something that the page embeds: at once, or after an OFF time.
    pub fn embed(&mut self, job: Job) {
        match &mut self.held {
            Some(held) => held.hold(job),
            None => self.waiting.push_back(job),
        }
        self.unfinished += 1;
    }

    /// Requests of the page that are held back.
    pub fn held_back(&self) -> u32 {
        self.held.as_ref().map_or(0, |held| held.count())
    }
}
