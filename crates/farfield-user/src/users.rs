//! The users of one shard: what they do next, their sessions, and which of their requests wait.
//!
//! A session begins when its first page is due and ends with its last page, before its user thinks. One that
//! the end of the run leaves open has no end.

use crate::alt_svc::AltSvc;
use crate::counters::Counters;
use crate::exchange::{Exchange, Job};
use crate::itinerary::Itinerary;
use crate::load::Model;
use crate::offered_load::OfferedLoad;
use crate::session::AfterPage;
use crate::slots::{PendingSlot, UserSlot};
use crate::transport::Transport;
use crate::user::User;
use farfield_base::random::Stream;
use farfield_base::{
    Ending, HostNumber, Instant, Note, Outcome, PagePart, Sample, SessionBegin, SessionEnd, SpokenVersion,
    Stamp,
};
use farfield_http::Head;
use farfield_http::http1::Fields;
use rand::Rng;
use slab::Slab;
use std::collections::BTreeSet;
use std::ops::{Index, IndexMut};

/// The users of one shard, and what they ask for.
#[derive(Debug)]
pub(crate) struct Users {
    pub itinerary: Itinerary,
    users: Slab<User>,
    /// Samples say where in a page they are.
    records_pages: bool,
    /// Samples carry the session of a request.
    records_sessions: bool,
    /// Beginnings and ends of sessions are noted.
    notes_sessions: bool,
    /// Sessions that have begun and are not over.
    sessions_open: u64,
    /// Requests of all pages that an OFF time holds back.
    held_back: u64,
    /// Users whose requests wait for streams, by the instant that their limit counts from.
    waiting: BTreeSet<(Instant, UserSlot)>,
}

/// Requests that follow from a reply, or from a part of one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Following {
    /// All of them.
    pub queued: u32,
    /// Requests that an OFF time holds back; the others are due at once.
    pub held: u32,
}

impl Index<UserSlot> for Users {
    type Output = User;

    fn index(&self, slot: UserSlot) -> &User {
        &self.users[slot.index()]
    }
}

impl IndexMut<UserSlot> for Users {
    fn index_mut(&mut self, slot: UserSlot) -> &mut User {
        &mut self.users[slot.index()]
    }
}

impl Users {
    /// No users as yet of a load of `model`.
    pub fn new(itinerary: Itinerary, model: &dyn Model) -> Users {
        // Pages may have more than one request; a user has one of them at a time.
        let records_pages = match &itinerary {
            Itinerary::Pages(pages) => !model.is_single() && pages.embed(),
            Itinerary::Sessions(_) | Itinerary::Replays(_) => true,
        };
        let records_sessions = itinerary.has_sessions() || model.has_sessions();
        Users {
            itinerary,
            users: Slab::new(),
            records_pages,
            records_sessions,
            notes_sessions: records_sessions && !model.is_single(),
            sessions_open: 0,
            held_back: 0,
            waiting: BTreeSet::new(),
        }
    }

    /// The number of users in the system.
    pub fn len(&self) -> usize {
        self.users.len()
    }

    /// The user, unless it has left.
    pub fn find(&self, slot: UserSlot) -> Option<&User> {
        self.users.get(slot.index())
    }

    /// The user, unless it has left.
    pub fn find_mut(&mut self, slot: UserSlot) -> Option<&mut User> {
        self.users.get_mut(slot.index())
    }

    /// All users, in the order of their slots.
    pub fn iter(&self) -> impl Iterator<Item = &User> {
        self.users.iter().map(|(_, user)| user)
    }

    /// A user comes.
    pub fn add(&mut self, number: u64, rng: Stream, pages_left: Option<u64>) -> UserSlot {
        UserSlot::at(self.users.insert(User::new(number as u32, rng, pages_left)))
    }

    /// A user leaves, of whom nothing is under way.
    pub fn remove(&mut self, slot: UserSlot) {
        self.users.remove(slot.index());
    }

    /// All users are gone.
    pub fn clear(&mut self) {
        self.users.clear();
    }

    /// Sessions that have begun and are not over.
    pub fn sessions_open(&self) -> u64 {
        self.sessions_open
    }

    /// Requests of all pages that an OFF time holds back.
    pub fn held_back(&self) -> u64 {
        self.held_back
    }

    /// Begins the user's next session; false if there is nothing for it to do.
    pub fn begin_session(&mut self, load: &mut OfferedLoad, slot: UserSlot) -> bool {
        if load.sessions_ran_out() {
            return false;
        }
        let user = &mut self.users[slot.index()];
        let number = u64::from(user.sessions) * load.clients() + u64::from(user.number);
        user.sessions += 1;
        user.session = if self.records_sessions { number as u32 } else { Sample::NO_SESSION };
        if load.model.active_off().is_some() {
            user.wanted.held.get_or_insert_default();
        }
        user.pages_left = load.model.pages(&self.itinerary, &mut user.rng);
        let begins = self.itinerary.begin(user, number);
        load.take_sessions(u64::from(begins && self.records_sessions));
        begins
    }

    /// Notes that the user's session begins, if the page that is due is its first.
    pub fn note_begin<T: Transport>(&mut self, transport: &mut T, due: Instant, slot: UserSlot) {
        if !self.notes_sessions {
            return;
        }
        let user = &mut self.users[slot.index()];
        if user.begun.is_none() {
            let begin = SessionBegin { due, user: user.number, session: user.session };
            user.begun = Some(begin);
            self.sessions_open += 1;
            transport.note(Note::Begun(begin));
        }
    }

    /// The user's session was over `at` an instant: `broken_off` in a state, or gone its whole way. The note
    /// of that, if its beginning had one.
    pub fn note_end(&mut self, at: Instant, slot: UserSlot, broken_off: Option<u16>) -> Option<Note> {
        let begin = self[slot].begun.take()?;
        self.sessions_open -= 1;
        Some(Note::Ended(SessionEnd { begin, at, broken_off }))
    }

    /// The user leaves, though its session may not be over.
    pub fn abandon_session(&mut self, slot: UserSlot) {
        let open = self.find_mut(slot).and_then(|user| user.begun.take());
        self.sessions_open -= u64::from(open.is_some());
    }

    /// Hands on what sessions noted of a request that is over.
    pub fn hand_notes<T: Transport>(&mut self, transport: &mut T) {
        while let Some(note) = self.itinerary.next_note() {
            transport.note(note);
        }
    }

    /// The user's next page, for which it is one of `clients` to ask: its request, with its slot in a session
    /// with dependencies, or why it cannot be asked for.
    pub fn next_page(
        &mut self,
        slot: UserSlot,
        clients: u64,
        now: Instant,
    ) -> (u32, Result<Option<PendingSlot>, Outcome>) {
        let user = &mut self.users[slot.index()];
        let page = self.itinerary.page(user, clients, now);
        user.turn += 1;
        page
    }

    /// The one request of a user of an S-Client.
    pub fn first_request(&mut self, slot: UserSlot) -> u32 {
        let user = &mut self.users[slot.index()];
        let request = self.itinerary.first_page(user.number, &mut user.rng);
        user.wanted.unfinished += 1;
        request
    }

    /// The user's page is over: where it goes from here.
    pub fn after_page(&mut self, slot: UserSlot) -> AfterPage {
        let user = &mut self.users[slot.index()];
        let after = self.itinerary.after(user);
        user.failed |= after == AfterPage::Again;
        after
    }

    /// The head of the reply to `job` came to the user.
    pub fn receive_head(&mut self, slot: UserSlot, job: Job, now: Instant, head: Head, fields: Fields<'_>) {
        self.itinerary.head(&mut self.users[slot.index()], job, now, head, fields);
    }

    /// True if a message on the user's WebSocket is the one that `job` awaits.
    pub fn is_awaited(&mut self, slot: UserSlot, job: Job, message: &[u8]) -> bool {
        self.itinerary.is_awaited(&mut self.users[slot.index()], job, message)
    }

    /// Bytes of a message that the user's WebSocket keeps at most, and a seed for its masks.
    pub fn websocket_limits(&mut self, slot: UserSlot) -> (usize, u64) {
        (self.itinerary.body_limit(), self.users[slot.index()].rng.next_u64())
    }

    /// Bytes of the body of the reply to `job` came to the user: what they embed is queued.
    pub fn receive_body(&mut self, slot: UserSlot, job: Job, now: Instant, body: &[u8]) -> Following {
        let user = &mut self.users[slot.index()];
        let before = (user.wanted.unfinished, user.wanted.held_back());
        self.itinerary.body(user, job, now, body);
        self.following(slot, before)
    }

    /// The user's request ended so, with a reply of this status or without one: what became of it, its place
    /// in its page, and what follows from it, which is queued unless the user is `alone` with its one object.
    pub fn end_request(
        &mut self,
        slot: UserSlot,
        job: Job,
        now: Instant,
        (status, ending): (Option<u16>, &Ending),
        alone: bool,
    ) -> (Outcome, PagePart, Following) {
        let user = &mut self.users[slot.index()];
        let before = (user.wanted.unfinished, user.wanted.held_back());
        let outcome = self.itinerary.over(user, job, now, status, ending, alone);
        let following = self.following(slot, before);
        let user = &mut self.users[slot.index()];
        user.wanted.unfinished -= 1;
        let page = match self.records_pages {
            true => PagePart::of(job.first, user.wanted.unfinished == 0),
            false => PagePart::Untracked,
        };
        (outcome, page, following)
    }

    /// Requests that the user has queued since these counts were taken.
    fn following(&mut self, slot: UserSlot, (unfinished, held_back): (u32, u32)) -> Following {
        let wanted = &self.users[slot.index()].wanted;
        let (queued, held) = (wanted.unfinished - unfinished, wanted.held_back() - held_back);
        self.held_back += u64::from(held);
        Following { queued, held }
    }

    /// The place of an unfinished request in its page, which is not over either.
    pub fn page_left_open(&self, job: Job) -> PagePart {
        if self.records_pages { PagePart::of(job.first, false) } else { PagePart::Untracked }
    }

    /// Queues a request of the user's that an OFF time held back, and that is due at `due`; false if there is
    /// none.
    pub fn release_held(&mut self, slot: UserSlot, due: Instant) -> bool {
        let wanted = &mut self.users[slot.index()].wanted;
        let Some(job) = wanted.held.as_mut().and_then(|held| held.release()) else { return false };
        wanted.waiting.push_back(Job { due, ..job });
        self.held_back -= 1;
        true
    }

    /// Queues requests whose connection is gone, ahead of all that wait. What is sent again is never
    /// pipelined, so none comes here twice.
    pub fn put_back(&mut self, counters: &mut Counters, user: UserSlot, gone: &[Exchange]) {
        let user = &mut self[user];
        for exchange in gone.iter().rev() {
            let sent = exchange.sent != Stamp::NEVER;
            counters.load.resent += u64::from(sent);
            user.wanted.waiting.push_front(Job { again: sent || exchange.job.again, ..exchange.job });
        }
    }

    /// Watches a user whose oldest request waits for a stream since `from`, unless the user is watched;
    /// whether it was not.
    pub fn watch_waiting(&mut self, slot: UserSlot, from: Instant) -> bool {
        let user = &mut self.users[slot.index()];
        let is_new = user.watched.is_none();
        if is_new {
            user.watched = Some(from);
            self.waiting.insert((from, slot));
        }
        is_new
    }

    /// Watches the user no longer, who leaves.
    pub fn unwatch_waiting(&mut self, slot: UserSlot) {
        if let Some(from) = self.find_mut(slot).and_then(|user| user.watched.take()) {
            self.waiting.remove(&(from, slot));
        }
    }

    /// The watched user to be looked at first, and the instant that its limit counts from.
    pub fn oldest_waiting(&self) -> Option<(UserSlot, Instant)> {
        self.waiting.first().map(|(from, slot)| (*slot, *from))
    }

    /// The version that the user's connections of TCP to `host` had last.
    pub fn remembered(&self, slot: UserSlot, host: HostNumber) -> Option<SpokenVersion> {
        self[slot].profiles.of(host)?.spoken
    }

    /// The head of a reply of `host` to the user says this of alternatives.
    pub fn note_alternative(
        &mut self,
        counters: &mut Counters,
        now: Instant,
        (slot, host): (UserSlot, HostNumber),
        found: AltSvc,
    ) {
        self[slot].profiles.of_mut(host).note_alternative(now, found);
        counters.load.alternatives.elsewhere += u64::from(found == AltSvc::Elsewhere);
    }
}
