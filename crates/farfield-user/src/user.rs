//! One virtual user: its stream of chance, where it is in its session, and its connections.

use crate::connection::Job;
use crate::replay::Place;
use crate::session::Visit;
use farfield_base::random::Stream;
use smallvec::SmallVec;
use std::collections::VecDeque;

#[derive(Debug)]
pub(crate) struct User {
    /// The number in samples; it also chooses the source address.
    pub number: u32,
    pub chance: Stream,
    /// Pages begun; tells a wake for an earlier turn from one for this.
    pub turn: u32,
    /// Pages left in the session, this one included; `None` for a user who never leaves.
    pub pages_left: Option<u64>,
    /// The page of a set that it asked for last.
    pub page: Option<u32>,
    /// Where it is in a recorded session.
    pub place: Place,
    /// Sessions begun.
    pub sessions: u32,
    /// Requests that wait for a connection, in order.
    pub waiting: VecDeque<Job>,
    /// Requests of the page that are not over, waiting ones included.
    pub unfinished: u32,
    /// A connection failed during the page: the user pauses before going on.
    pub failed: bool,
    /// Slots of its connections.
    pub connections: SmallVec<[u32; 2]>,
    /// Where it is in its session, if it is in one with dependencies.
    pub visit: Option<Box<Visit>>,
}

impl User {
    pub fn new(number: u32, chance: Stream, pages_left: Option<u64>) -> User {
        User {
            number,
            chance,
            turn: 0,
            pages_left,
            page: None,
            place: Place::default(),
            sessions: 0,
            waiting: VecDeque::new(),
            unfinished: 0,
            failed: false,
            connections: SmallVec::new(),
            visit: None,
        }
    }

    /// Wants one more request for its page.
    pub fn queue(&mut self, job: Job) {
        self.waiting.push_back(job);
        self.unfinished += 1;
    }
}
