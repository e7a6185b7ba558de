//! One virtual user: its random stream, where it is in its session, and its connections.

use crate::profile::Profiles;
use crate::session::user::SessionUser;
use crate::session::visit::Visit;
use crate::slots::ConnectionSlot;
use crate::wanted::Wanted;
use farfield_base::random::Stream;
use farfield_base::{Instant, Sample, SessionBegin};
use smallvec::SmallVec;

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
    /// Requests of its page that are not over.
    pub wanted: Wanted,
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
            wanted: Wanted::default(),
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

    /// The user as its session sees it, which it has begun.
    pub fn in_session(&mut self) -> SessionUser<'_> {
        SessionUser {
            number: self.number,
            has_websocket: self.websocket.is_some(),
            rng: &mut self.rng,
            visit: self.visit.as_mut().expect("the user is in a session"),
            pages_left: &mut self.pages_left,
            wanted: &mut self.wanted,
        }
    }
}
