//! Itineraries: what a user asks for next. The seam between when users act and what they do.
//!
//! A population asks here for the next page, shows here what comes back, and is handed what that led to.
//! The choice between pages of a set, with bytes that were encoded before the run, and sessions that depend
//! on replies, is made here and nowhere else.

use crate::book::{Book, Http2Request};
use crate::exchange::Job;
use crate::pages::Pages;
use crate::replay::Replays;
use crate::session::trace::TraceEvent;
use crate::session::{AfterPage, Sessions, is_last};
use crate::slots::PendingSlot;
use crate::target::{HostName, Target};
use crate::user::User;
use crate::version::HttpVersion;
use bytes::Bytes;
use farfield_base::random::Stream;
use farfield_base::{Ending, HostNumber, Instant, LoadCounts, Note, Outcome};
use farfield_http::Head;
use farfield_http::http1::{Answering, Fields, RequestError};
use farfield_http::http2::RequestBlock;
use farfield_traffic::distribution::Distribution;
use farfield_traffic::request::RequestSet;
use farfield_traffic::session::Session;
use farfield_traffic::session::replay::Replay;
use farfield_traffic::session::websocket::SocketStep;
use std::sync::mpsc::Sender;

/// The pages or sessions of users.
#[derive(Debug, Clone)]
pub enum Itinerary {
    /// Pages of a set, in its order.
    Pages(Box<Pages>),
    /// Sessions whose requests depend on replies.
    Sessions(Box<Sessions>),
    /// Recorded sessions.
    Replays(Box<Replays>),
}

impl Itinerary {
    /// The pages of `requests`, encoded for their hosts: the target, and others. Refuses a request that
    /// cannot be written as HTTP, or whose URL is of none of them.
    pub fn pages(requests: RequestSet, hosts: &[Target]) -> Result<Itinerary, RequestError> {
        Ok(Itinerary::Pages(Box::new(Pages::new(requests, hosts)?)))
    }

    /// Sessions on these hosts: the target, and others. Refuses a request that cannot be written as HTTP, or
    /// whose URL is of none of them.
    pub fn sessions(session: Session, hosts: &[Target]) -> Result<Itinerary, RequestError> {
        Sessions::new(session, hosts).map(|sessions| Itinerary::Sessions(Box::new(sessions)))
    }

    /// The sessions of a recording, on these hosts: the target, and others. Refuses a request that cannot be
    /// written as HTTP, or whose URL is of none of them.
    pub fn replays(replay: Replay, hosts: &[Target]) -> Result<Itinerary, RequestError> {
        let pages = Pages::new(replay.requests, hosts)?;
        let (sessions, timing) = (replay.sessions.into(), replay.timing);
        Ok(Itinerary::Replays(Box::new(Replays { pages, sessions, timing })))
    }

    /// Sends what happens in sessions to `watcher`, from all workers; false if there are no sessions of
    /// states.
    pub fn trace(&mut self, watcher: Sender<TraceEvent>) -> bool {
        match self {
            Itinerary::Sessions(sessions) => {
                sessions.trace(watcher);
                true
            }
            Itinerary::Pages(_) | Itinerary::Replays(_) => false,
        }
    }

    /// Requests that are sent once in a run, before its load and behind it, as sessions of their own: as far
    /// as there is any.
    pub fn around_run(&self) -> [Option<Itinerary>; 2] {
        match self {
            Itinerary::Sessions(sessions) => {
                sessions.around_run().map(|part| part.map(|part| Itinerary::Sessions(Box::new(part))))
            }
            Itinerary::Pages(_) | Itinerary::Replays(_) => [None, None],
        }
    }

    /// Gives all sessions of states what a set-up extracted: the values of variables, by number.
    pub fn give(&mut self, values: &[Option<Box<[u8]>>]) {
        if let Itinerary::Sessions(sessions) = self {
            sessions.give(values);
        }
    }

    /// The instants at which the sessions of a recording begin, if it has them.
    pub fn starts(&self) -> Option<Vec<Instant>> {
        match self {
            Itinerary::Replays(replays) => replays.starts(),
            Itinerary::Pages(_) | Itinerary::Sessions(_) => None,
        }
    }

    /// The names of the states of sessions, by the number of their requests; none where there are no states.
    pub fn states(&self) -> Vec<String> {
        match self {
            Itinerary::Sessions(sessions) => sessions.states(),
            Itinerary::Pages(_) | Itinerary::Replays(_) => Vec::new(),
        }
    }

    /// The targets of the requests of a set, by their numbers; none of sessions of states, which have those.
    pub fn targets(&self) -> impl Iterator<Item = &str> {
        let requests = match self {
            Itinerary::Pages(pages) => pages.requests.requests(),
            Itinerary::Replays(replays) => replays.pages.requests.requests(),
            Itinerary::Sessions(_) => &[],
        };
        requests.iter().map(|request| request.path.as_str())
    }

    /// The number of requests that are distinguished.
    pub fn requests(&self) -> u32 {
        match self {
            Itinerary::Pages(pages) => pages.requests.requests().len() as u32,
            Itinerary::Replays(replays) => replays.pages.requests.requests().len() as u32,
            Itinerary::Sessions(sessions) => sessions.requests(),
        }
    }

    /// True if users act in sessions.
    pub fn has_sessions(&self) -> bool {
        matches!(self, Itinerary::Sessions(_) | Itinerary::Replays(_))
    }

    /// True if a session has an end of its own, so that it can go its whole way.
    pub fn sessions_end(&self) -> bool {
        match self {
            Itinerary::Sessions(sessions) => sessions.end(),
            Itinerary::Replays(_) => true,
            Itinerary::Pages(_) => false,
        }
    }

    /// Counters of what was done with replies so far.
    pub(crate) fn counts(&self) -> LoadCounts {
        match self {
            Itinerary::Sessions(sessions) => sessions.counts(),
            Itinerary::Pages(_) | Itinerary::Replays(_) => LoadCounts::default(),
        }
    }

    /// A copy in memory of its own, so that workers do not meet on reference counts.
    pub fn for_worker(&self) -> Itinerary {
        match self {
            Itinerary::Pages(pages) => Itinerary::Pages(Box::new(pages.for_worker())),
            Itinerary::Sessions(sessions) => Itinerary::Sessions(Box::new(sessions.for_worker())),
            Itinerary::Replays(replays) => {
                let pages = replays.pages.for_worker();
                Itinerary::Replays(Box::new(Replays { pages, ..Replays::clone(replays) }))
            }
        }
    }

    /// Begins the user's session, of this number among those of the run; false if there is nothing for it to
    /// do.
    pub(crate) fn begin(&self, user: &mut User, number: u64) -> bool {
        match self {
            Itinerary::Pages(_) => {
                user.page = None;
                true
            }
            Itinerary::Sessions(sessions) => {
                user.visit.get_or_insert_default();
                sessions.begin(&mut user.in_session(), number)
            }
            Itinerary::Replays(replays) => replays.begin(user, number),
        }
    }

    /// Pages of a session at most; `of_load` is what the load says.
    pub(crate) fn pages_max(&self, of_load: Option<&Distribution>, rng: &mut Stream) -> Option<u64> {
        match self {
            Itinerary::Pages(_) => of_load.map(|pages| pages.sample_count(rng)),
            Itinerary::Sessions(sessions) => sessions.pages_max(of_load, rng),
            Itinerary::Replays(_) => None,
        }
    }

    /// Pages that a user may ask for at once, where `depth` fit on a connection.
    pub(crate) fn pages_at_once(&self, depth: usize) -> u64 {
        match self {
            Itinerary::Pages(pages) if !pages.embed() => depth as u64,
            Itinerary::Pages(_) | Itinerary::Sessions(_) | Itinerary::Replays(_) => 1,
        }
    }

    /// The user's next page, for which it is one of `clients` to ask: its request, with its slot in a session
    /// with dependencies, or why it cannot be asked for.
    pub(crate) fn page(
        &mut self,
        user: &mut User,
        clients: u64,
        now: Instant,
    ) -> (u32, Result<Option<PendingSlot>, Outcome>) {
        match self {
            Itinerary::Pages(pages) => {
                let (client, turn) = (u64::from(user.number), u64::from(user.turn));
                let page = pages.requests.next(user.page, client, clients, turn, &mut user.rng);
                user.page = Some(page);
                (pages.requests.pages()[page as usize].main.0, Ok(None))
            }
            Itinerary::Sessions(sessions) => sessions.page(&mut user.in_session(), now),
            Itinerary::Replays(replays) => {
                let page = replays.page(user);
                (replays.pages.requests.pages()[page as usize].main.0, Ok(None))
            }
        }
    }

    /// The page that user `number` would ask for first.
    pub(crate) fn first_page(&self, number: u32, rng: &mut Stream) -> u32 {
        match self {
            Itinerary::Pages(pages) => pages.requests.page(u64::from(number), 1, 0, rng).main.0,
            Itinerary::Sessions(sessions) => sessions.first_request(rng),
            Itinerary::Replays(replays) => replays.pages.requests.pages()[0].main.0,
        }
    }

    /// The book of requests that were encoded before the run, where there is one.
    fn book(&self) -> Option<&Book> {
        match self {
            Itinerary::Pages(pages) => Some(&pages.book),
            Itinerary::Replays(replays) => Some(&replays.pages.book),
            Itinerary::Sessions(_) => None,
        }
    }

    /// The bytes of a request, for a connection that is kept or not.
    pub(crate) fn bytes(&mut self, job: &Job, persistent: bool) -> &Bytes {
        match self {
            Itinerary::Pages(pages) => pages.book.bytes(job.request, persistent),
            Itinerary::Replays(replays) => replays.pages.book.bytes(job.request, persistent),
            Itinerary::Sessions(sessions) => sessions.bytes(job.written(), persistent),
        }
    }

    /// Hands a request for a stream of HTTP/2, its block and its body, to `send`.
    pub(crate) fn with_stream<R>(&mut self, job: &Job, send: impl FnOnce(&RequestBlock, &Bytes) -> R) -> R {
        if let Itinerary::Sessions(sessions) = self {
            let (block, body) = sessions.for_stream(job.written());
            return send(&block, &body);
        }
        let book = self.book().expect("pages and recordings have encoded requests");
        let Http2Request { block, body } = book.http2(job.request);
        send(block, body)
    }

    /// Bytes of a stream of HTTP/3 for a request, in up to two pieces.
    pub(crate) fn for_http3(&mut self, job: &Job) -> [Bytes; 2] {
        if let Itinerary::Sessions(sessions) = self {
            return sessions.for_http3(job.written());
        }
        let book = self.book().expect("pages and recordings have encoded requests");
        [book.http3(job.request).clone(), Bytes::new()]
    }

    /// The hosts that requests are for, by number.
    pub(crate) fn hosts(&self) -> &[HostName] {
        match self {
            Itinerary::Sessions(sessions) => sessions.hosts(),
            Itinerary::Pages(pages) => pages.book.hosts(),
            Itinerary::Replays(replays) => replays.pages.book.hosts(),
        }
    }

    /// The scheme, `://` and the authority of each host, by number.
    pub fn origins(&self) -> impl Iterator<Item = &str> {
        self.hosts().iter().map(|host| &*host.origin)
    }

    /// The host's name or address, with the port where it is not the scheme's own.
    pub fn host(&self, number: HostNumber) -> &str {
        &self.hosts()[number.index()].authority
    }

    /// The version that requests to the target are written for.
    pub fn version(&self) -> HttpVersion {
        self.hosts()[HostNumber::TARGET.index()].version
    }

    /// The host of a request, as it is written in a session, or as it would be.
    pub(crate) fn host_of(&self, request: u32, pending: Option<PendingSlot>) -> HostNumber {
        match self {
            Itinerary::Sessions(sessions) => sessions.host_of(request, pending),
            Itinerary::Pages(pages) => pages.book.entry(request).host,
            Itinerary::Replays(replays) => replays.pages.book.entry(request).host,
        }
    }

    /// The bytes at the end of a request of HTTP/1 that wait for the server's word, if it asks for that.
    pub(crate) fn expecting_bytes(&self, job: &Job) -> usize {
        match self {
            Itinerary::Sessions(sessions) => sessions.expecting_bytes(job.written()),
            Itinerary::Pages(pages) => pages.book.entry(job.request).expecting_bytes as usize,
            Itinerary::Replays(replays) => replays.pages.book.entry(job.request).expecting_bytes as usize,
        }
    }

    /// The part of a WebSocket's life that a request is, if it is one.
    pub(crate) fn socket_step(&self, job: &Job) -> Option<SocketStep> {
        match self {
            Itinerary::Sessions(sessions) => job.pending.and_then(|slot| sessions.socket_step(slot)),
            Itinerary::Pages(_) | Itinerary::Replays(_) => None,
        }
    }

    /// True if users open WebSockets.
    pub(crate) fn opens_websockets(&self) -> bool {
        if let Itinerary::Sessions(sessions) = self { sessions.open_websockets() } else { false }
    }

    /// True if the head of the reply to `job` has its connection upgraded to a WebSocket.
    pub(crate) fn upgrades(&self, job: &Job) -> bool {
        if let Itinerary::Sessions(sessions) = self { sessions.upgrades(job.written()) } else { false }
    }

    /// True if a message is the one that `job` awaits.
    pub(crate) fn is_awaited(&mut self, user: &mut User, job: Job, message: &[u8]) -> bool {
        match self {
            Itinerary::Sessions(sessions) => sessions.is_awaited(&mut user.in_session(), job, message),
            Itinerary::Pages(_) | Itinerary::Replays(_) => false,
        }
    }

    /// Bytes of a body that sessions keep at most.
    pub(crate) fn body_limit(&self) -> usize {
        if let Itinerary::Sessions(sessions) = self { sessions.body_limit() } else { 0 }
    }

    pub(crate) fn answering(&self, job: &Job) -> Answering {
        match self {
            Itinerary::Sessions(sessions) => sessions.answering(job.written()),
            _ => {
                self.book().expect("pages and recordings have encoded requests").entry(job.request).answering
            }
        }
    }

    /// True if the request may be sent twice.
    pub(crate) fn is_idempotent(&self, job: &Job) -> bool {
        match self {
            Itinerary::Sessions(sessions) => sessions.is_idempotent(job.written()),
            _ => {
                self.book().expect("pages and recordings have encoded requests").entry(job.request).idempotent
            }
        }
    }

    /// True if the request asks for no change of anything.
    pub(crate) fn is_safe(&self, job: &Job) -> bool {
        match self {
            Itinerary::Sessions(sessions) => sessions.is_safe(job.written()),
            _ => self.book().expect("pages and recordings have encoded requests").entry(job.request).safe,
        }
    }

    /// The head of the reply to `job` has come.
    pub(crate) fn head(&mut self, user: &mut User, job: Job, now: Instant, head: Head, fields: Fields<'_>) {
        if let Itinerary::Sessions(sessions) = self {
            sessions.head(&mut user.in_session(), job, now, head, fields);
        }
    }

    /// Bytes of the body of the reply to `job` have come. What they embed is queued.
    pub(crate) fn body(&mut self, user: &mut User, job: Job, now: Instant, bytes: &[u8]) {
        if let Itinerary::Sessions(sessions) = self {
            sessions.body(&mut user.in_session(), job, now, bytes);
        }
    }

    /// `job` is over, with a reply of this status or without one: what became of it. What it led to is
    /// queued, unless the user is `alone` with its one object.
    pub(crate) fn over(
        &mut self,
        user: &mut User,
        job: Job,
        now: Instant,
        status: Option<u16>,
        ending: &Ending,
        alone: bool,
    ) -> Outcome {
        let outcome = ending.outcome;
        match self {
            Itinerary::Sessions(sessions) => {
                return sessions.over(&mut user.in_session(), job, now, status, ending);
            }
            Itinerary::Pages(pages) if outcome != Outcome::Ok => {
                pages.note_failed(user, job, now, status, ending);
            }
            Itinerary::Replays(replays) if outcome != Outcome::Ok => {
                replays.pages.note_failed(user, job, now, status, ending);
            }
            _ if outcome != Outcome::Ok || alone || !job.first => {}
            Itinerary::Pages(pages) => {
                // Users who ask for several pages at once ask for some that embed nothing.
                let page = user.page.map(|page| &pages.requests.pages()[page as usize]);
                for embedded in page.iter().flat_map(|page| &page.embedded) {
                    let host = pages.book.entry(embedded.0).host;
                    user.wanted.embed(job.led_to(embedded.0, host, None, now));
                }
            }
            Itinerary::Replays(replays) => {
                let page = &replays.pages.requests.pages()[replays.page(user) as usize];
                for embedded in &page.embedded {
                    let host = replays.pages.book.entry(embedded.0).host;
                    user.wanted.embed(job.led_to(embedded.0, host, None, now));
                }
            }
        }
        outcome
    }

    /// The next note of what failed.
    pub(crate) fn next_note(&mut self) -> Option<Note> {
        match self {
            Itinerary::Sessions(sessions) => sessions.next_note(),
            Itinerary::Pages(pages) => pages.failed.pop(),
            Itinerary::Replays(replays) => replays.pages.failed.pop(),
        }
    }

    /// The user's page is over: where it goes from here.
    pub(crate) fn after(&self, user: &mut User) -> AfterPage {
        match self {
            Itinerary::Pages(_) => match user.pages_left.as_mut().is_some_and(is_last) {
                true => AfterPage::Over(None),
                false => AfterPage::Page(None),
            },
            Itinerary::Sessions(sessions) => sessions.after(&mut user.in_session()),
            Itinerary::Replays(replays) => replays.after(user),
        }
    }
}
