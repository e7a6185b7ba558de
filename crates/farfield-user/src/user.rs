//! One virtual user: its random stream, where it is in its session, and its connections.

use crate::exchange::Job;
use crate::held::DeferredRequests;
use crate::profile::Profiles;
use crate::session::visit::Visit;
use crate::slots::ConnectionSlot;
use farfield_base::random::Stream;
use farfield_base::{Instant, Sample, SessionBegin};
use smallvec::SmallVec;
use std::collections::VecDeque;

/// The position of a user in a recorded session.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ReplayPosition {
    pub session: u32,
    pub step: u32,
}

#[derive(Debug)]
pub(crate) struct User {
    /// The number in samples; it also chooses the source address.
    pub number: u32,
    pub rng: Stream,
    /// Pages begun; distinguishes a wake for an earlier turn from one for this.
    pub turn: u32,
    /// Pages left in the session, this one included; `None` for a user who never leaves.
    pub pages_left: Option<u64>,
    /// The page of a set that it asked for last.
    pub page: Option<u32>,
    /// Position in a recorded session.
    pub position: ReplayPosition,
    /// Sessions begun.
    pub sessions: u32,
    /// The number of its session, as in samples.
    pub session: u32,
    /// Session of the user, once the first page was due and until it is over.
    pub begun: Option<SessionBegin>,
    /// Requests that wait for a connection, in order.
    pub waiting: VecDeque<Job>,
    /// Requests of the page that an OFF time holds back; absent where the load has no such times.
    pub held: Option<Box<DeferredRequests>>,
    /// Requests of the page that are not over, those included that wait or are held back.
    pub unfinished: u32,
    /// A connection failed during the page: the user pauses before going on.
    pub failed: bool,
    /// Slots of its connections.
    pub connections: SmallVec<[ConnectionSlot; 2]>,
    /// Position in its session, if it is in one with dependencies.
    pub visit: Option<Box<Visit>>,
    /// Memory of hosts' versions of HTTP, where these are as browsers choose them.
    pub profiles: Profiles,
    /// Place among the users whose requests wait for streams; see the module `waiting`.
    pub watched: Option<Instant>,
    /// WebSocket of the user, which is one of its connections.
    pub websocket: Option<ConnectionSlot>,
}

impl User {
    pub fn new(number: u32, rng: Stream, pages_left: Option<u64>) -> User {
        User {
            number,
            rng,
            turn: 0,
            pages_left,
            page: None,
            position: ReplayPosition::default(),
            sessions: 0,
            session: Sample::NO_SESSION,
            begun: None,
            waiting: VecDeque::new(),
            held: None,
            unfinished: 0,
            failed: false,
            connections: SmallVec::new(),
            visit: None,
            profiles: Profiles::default(),
            watched: None,
            websocket: None,
        }
    }

    /// Makes a user who was kept for load to come the user of number `number`.
    pub fn begin_anew(&mut self, number: u32, rng: Stream) {
        (self.number, self.rng, self.turn) = (number, rng, 0);
        (self.failed, self.sessions) = (false, 0);
    }

    /// Wants one more request for its page.
    pub fn queue(&mut self, job: Job) {
        self.waiting.push_back(job);
        self.unfinished += 1;
    }

    /// Wants something that its page embeds: at once, or after an OFF time.
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
