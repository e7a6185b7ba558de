//! Recorded sessions asked for again: which page comes next, and when.

use crate::pages::Pages;
use crate::session::AfterPage;
use crate::user::{ReplayPosition, User};
use farfield_base::Instant;
use farfield_traffic::session::replay::{ReplayTiming, ReplayedPage, ReplayedSession};
use std::sync::Arc;

/// A recording as the users of one worker ask for it again.
#[derive(Debug, Clone)]
pub struct Replays {
    pub(crate) pages: Pages,
    pub(crate) sessions: Arc<[ReplayedSession]>,
    pub(crate) timing: ReplayTiming,
}

impl Replays {
    /// Begins the user's session of this number. Sessions that have instants are asked for once, others in
    /// turn; false once there is none.
    pub(crate) fn begin(&self, user: &mut User, number: u64) -> bool {
        let sessions = self.sessions.len() as u64;
        let once = self.sessions.iter().all(|session| session.starts.is_some());
        if once && number >= sessions {
            return false;
        }
        user.position = ReplayPosition { session: (number % sessions) as u32, step: 0 };
        true
    }

    fn session(&self, user: &User) -> &ReplayedSession {
        &self.sessions[user.position.session as usize]
    }

    /// The place of the user's page among those of the set.
    pub(crate) fn page(&self, user: &User) -> u32 {
        self.session(user).pages[user.position.step as usize].page
    }

    /// The user's page is over: when the next is due.
    pub(crate) fn after(&self, user: &mut User) -> AfterPage {
        user.position.step += 1;
        let session = self.session(user);
        let step = user.position.step as usize;
        let Some(ReplayedPage { at, .. }) = session.pages.get(step).copied() else {
            return AfterPage::Over(None);
        };
        match (self.timing, session.starts) {
            (ReplayTiming::Exact, Some(starts)) => AfterPage::At(starts + at),
            (ReplayTiming::Exact, None) if let Some(begun) = user.begun => AfterPage::At(begun.due + at),
            _ => AfterPage::Page(Some(session.pages[step - 1].think)),
        }
    }

    /// The instants at which sessions begin, if the recording has them.
    pub(crate) fn starts(&self) -> Option<Vec<Instant>> {
        self.sessions.iter().map(|session| session.starts).collect()
    }
}
