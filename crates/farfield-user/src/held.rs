//! Requests of a page that are held back, until an active OFF time is over (the module `off`).

use crate::exchange::Job;
use std::collections::VecDeque;

/// Requests of a user's page that OFF times hold back.
#[derive(Debug, Default)]
pub(crate) struct DeferredRequests {
    /// In the order of the page. Each OFF time that is over lets one go.
    jobs: VecDeque<Job>,
    /// OFF times that run: as many as `jobs` at most.
    pub running: u32,
}

impl DeferredRequests {
    /// Holds back one more.
    pub fn hold(&mut self, job: Job) {
        self.jobs.push_back(job);
    }

    /// An OFF time is over, which lets one go, if there is any.
    pub fn release(&mut self) -> Option<Job> {
        self.running = self.running.saturating_sub(1);
        self.jobs.pop_front()
    }

    /// The number held back.
    pub fn count(&self) -> u32 {
        self.jobs.len() as u32
    }
}
