//! Users in sessions with dependencies: which request comes next, and what its reply means for those after
//! it.
//!
//! A [`PendingRequest`] is a request under way: its bytes, and what of its reply is kept. Bodies are kept
//! only where a state takes something from them or holds something against them, up to a limit; cookies and
//! redirects need heads alone.
//!
//! A page is its state's request, the redirects that this leads to, and what is embedded. What a user would
//! meet that stands between, a form to be filled in, a token, a cookie, is taken along from page to page in
//! its [`Visit`].

mod cache;
mod charset;
mod check;
mod coding;
mod cookie_date;
mod encoding;
mod failure;
mod filling;
mod find;
mod form;
mod html;
mod jar;
mod mask;
mod names;
mod page;
mod recipe;
mod reply;
mod request;
mod socket_part;
mod text;
pub(crate) mod trace;
mod urls;
pub(crate) mod user;
pub(crate) mod visit;
mod way;
mod websocket;

pub(crate) use way::is_last;

use crate::outgoing::Outgoing;
use crate::slots::PendingSlot;
use crate::target::{HostName, Target};
use bytes::Bytes;
use failure::{Failed, Failures};
use farfield_base::random::Stream;
use farfield_base::{Duration, HostNumber, Instant, LoadCounts, Note, Outcome};
use farfield_http::http1::{Answering, RequestError};
use farfield_http::http2::RequestBlock;
use farfield_traffic::distribution::Distribution;
use farfield_traffic::session::path::StatePath;
use farfield_traffic::session::query::Css;
use farfield_traffic::session::websocket::SocketStep;
use farfield_traffic::session::{PageLoad, Session};
use filling::Filling;
use form::FormParts;
use mask::Mask;
use names::CheckNames;
use recipe::Recipe;
use reply::{Intake, Needs};
use request::{RequestBytes, Writer};
use slab::Slab;
use std::sync::Arc;
use trace::{Traced, Tracer};
use user::SessionUser;
use visit::Visit;

/// Sessions as the users of one worker have them.
#[derive(Debug)]
pub struct Sessions {
    session: Arc<Session>,
    recipes: Arc<[Recipe]>,
    /// Parts of each form, where its selector is the same each time.
    form_parts: Arc<[Option<FormParts>]>,
    needs: Arc<[Needs]>,
    check_names: Arc<[CheckNames]>,
    failures: Failures,
    /// The elements that a page embeds objects with.
    embedding: Arc<Css>,
    writer: Writer,
    pending: Slab<PendingRequest>,
    /// Memory for bodies to come.
    bodies: Vec<Vec<u8>>,
    /// Counters of what was done with replies.
    counts: LoadCounts,
    /// Memory for header blocks of HTTP/2, as they are made and as they are sent.
    block: Vec<u8>,
    outgoing: Outgoing,
    /// Tracer that events are reported to, if anybody watches.
    tracer: Option<Tracer>,
}

/// A request under way.
#[derive(Debug)]
struct PendingRequest {
    written: RequestBytes,
    /// Bytes of the request on a connection that ends with it, once they were asked for.
    other: Option<Bytes>,
    kind: RequestRole,
    intake: Intake,
    /// The parts of it that a watcher is shown.
    traced: Option<Box<Traced>>,
}

/// The role of a request in its page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestRole {
    /// The page's own request, which may be redirected this often yet.
    Main { redirects: u8 },
    /// Embedded in the page.
    Object,
}

/// The step after a page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum AfterPage {
    /// The next page, once the user has thought: so long, or as the load says.
    Page(Option<Duration>),
    /// The next page, which is due then.
    At(Instant),
    /// The page once more.
    Again,
    /// The session is over; who begins another thinks so long before.
    Over(Option<Duration>),
    /// The session is broken off in this state, whose page failed; the same holds of the next.
    BrokenOff(u16, Option<Duration>),
}

impl Clone for Sessions {
    fn clone(&self) -> Sessions {
        self.for_worker()
    }
}

impl Sessions {
    /// Sessions on these hosts, of which the target is the first. Refuses a request that cannot be written as
    /// HTTP, or whose URL is of none of them.
    pub fn new(session: Session, targets: &[Target]) -> Result<Sessions, RequestError> {
        let hosts = HostName::of_all(targets);
        let recipes = session.states.iter().map(|state| Recipe::of(state, &hosts, targets));
        Ok(Sessions {
            recipes: recipes.collect::<Result<_, _>>()?,
            form_parts: session.forms.iter().map(FormParts::fixed).collect(),
            needs: session.states.iter().map(Needs::of).collect(),
            check_names: session.states.iter().map(|state| CheckNames::of(state, &session)).collect(),
            failures: Failures::of(Arc::new(Mask::of(&session.environment))),
            embedding: Arc::new(page::embedding()),
            writer: Writer::new(Arc::clone(&hosts), targets, session.page_load == PageLoad::Browser)?,
            pending: Slab::new(),
            bodies: Vec::new(),
            counts: LoadCounts::default(),
            block: Vec::new(),
            outgoing: Outgoing::default(),
            tracer: None,
            session: Arc::new(session),
        })
    }

    /// A copy for another worker, with memory of its own and nothing under way.
    pub(crate) fn for_worker(&self) -> Sessions {
        Sessions {
            session: Arc::new(Session::clone(&self.session)),
            recipes: Arc::clone(&self.recipes),
            form_parts: Arc::clone(&self.form_parts),
            needs: Arc::clone(&self.needs),
            check_names: Arc::clone(&self.check_names),
            failures: Failures::of(self.failures.mask()),
            embedding: Arc::clone(&self.embedding),
            writer: self.writer.clone(),
            pending: Slab::new(),
            bodies: Vec::new(),
            counts: LoadCounts::default(),
            block: Vec::new(),
            outgoing: Outgoing::default(),
            tracer: self.tracer.clone(),
        }
    }

    /// Sessions of the same states, gone through as `session` says, which is a part of these sessions'.
    fn of_part(&self, session: Session) -> Sessions {
        Sessions { session: Arc::new(session), ..self.for_worker() }
    }

    /// The set-up of a run and its tear-down, as far as there are any.
    pub(crate) fn around_run(&self) -> [Option<Sessions>; 2] {
        [self.session.set_up(), self.session.tear_down()].map(|part| part.map(|part| self.of_part(part)))
    }

    /// Gives all sessions these values of variables, by number.
    pub(crate) fn give(&mut self, values: &[Option<Box<[u8]>>]) {
        Arc::make_mut(&mut self.session).given = values.to_vec();
    }

    /// The names of the states, by number.
    pub(crate) fn states(&self) -> Vec<String> {
        self.session.states.iter().map(|state| state.name.clone()).collect()
    }

    /// The number of requests that are distinguished: of states, and of what they embed.
    pub(crate) fn requests(&self) -> u32 {
        self.session.requests()
    }

    /// True if sessions end by themselves: a choice among states goes on for ever.
    pub(crate) fn end(&self) -> bool {
        self.session.clicks.is_some() || !matches!(self.session.route, StatePath::Choice { .. })
    }

    /// Counters of what was done with replies so far.
    pub(crate) fn counts(&self) -> LoadCounts {
        self.counts
    }

    /// Pages of a session at most; `of_load` is what the load says, for sessions without an end of their own.
    pub(crate) fn pages_max(&self, of_load: Option<&Distribution>, rng: &mut Stream) -> Option<u64> {
        let endless = matches!(self.session.route, StatePath::Choice { .. });
        let pages = self.session.clicks.as_ref().or(of_load.filter(|_| endless));
        pages.map(|pages| pages.sample_count(rng))
    }

    /// Begins the user's next session; false if there is no data left for one.
    pub(crate) fn begin(&self, user: &mut SessionUser<'_>, number: u64) -> bool {
        let rows = self.session.data.iter().map(|data| data.row(u64::from(user.number), number));
        let Some(rows) = rows.collect() else { return false };
        user.visit.begin(number, &self.session.given, rows);
        user.visit.state = self.entry(user.visit, user.rng);
        self.trace_begun(user.visit);
        self.skip(user)
    }

    /// Writes the request of the page that the user is at: its number, and its slot or why there is none: the
    /// form that it would send is not there, or it leads elsewhere.
    pub(crate) fn page(
        &mut self,
        user: &mut SessionUser<'_>,
        now: Instant,
    ) -> (u32, Result<Option<PendingSlot>, Outcome>) {
        self.trace_state(user.visit);
        let step = self.session.states[usize::from(user.visit.state)].websocket;
        if let Some(step) = step.filter(|step| *step != SocketStep::Open) {
            return self.message(user, step, now);
        }
        let Sessions { session, recipes, writer, counts, tracer, .. } = self;
        let (visit, rng, number) = (&mut *user.visit, &mut *user.rng, user.number);
        let state = &session.states[usize::from(visit.state)];
        let base =
            visit.base.take().unwrap_or_else(|| Box::new(writer.servers.at(visit.host).page(visit.page())));
        visit.turn_page();
        let jar = session.cookies.then_some((&visit.jar, now));
        let filling = Filling { visit, session, user: number, rng };
        let recipe = &recipes[usize::from(visit.state)];
        let written = match state.form {
            None => writer.state(recipe, &base, filling, jar).ok_or(Outcome::LinkElsewhere),
            Some(number) => match visit.form(number) {
                Some(form) => {
                    let form = (form, &session.forms[usize::from(number)]);
                    let unknown = form.0.unknown(form.1);
                    if !unknown.is_empty() {
                        counts.forms_unlike += 1;
                        trace::unknown_fields(tracer.as_ref(), &unknown, &form.0.names());
                    }
                    writer.form(recipe, &base, form, filling, jar).ok_or(Outcome::LinkElsewhere)
                }
                None => Err(Outcome::ExtractFailed),
            },
        };
        let written = match written {
            Ok(written) => written,
            Err(outcome) => {
                visit.failed = true;
                let state = u32::from(visit.state);
                self.trace_not_asked(user.visit, outcome);
                self.note_unwritten(user, now, outcome);
                return (state, Err(outcome));
            }
        };
        if session.page_load == PageLoad::Browser {
            std::mem::swap(&mut visit.referer, &mut visit.location);
            visit.referer_host = visit.host;
        }
        if step.is_some() {
            // What follows is a page behind the one before, whatever is open beside it.
            visit.websocket_host = written.host;
            let state = u32::from(visit.state);
            let slot = self.pend(written, RequestRole::Main { redirects: 0 }, now);
            return (state, Ok(Some(slot)));
        }
        visit.host = written.host;
        visit.location.clear();
        visit.location.push_str(written.target());
        let state = u32::from(visit.state);
        let kind = RequestRole::Main { redirects: session.redirects };
        let slot = self.pend(written, kind, now);
        (state, Ok(Some(slot)))
    }

    /// Notes that the request of the user's page could not be written.
    fn note_unwritten(&mut self, user: &SessionUser<'_>, now: Instant, outcome: Outcome) {
        let visit = &*user.visit;
        let names = &self.check_names[usize::from(visit.state)];
        let failed = Failed {
            at: now,
            due: now,
            user: user.number,
            session: visit.number,
            state: visit.state,
            outcome,
            status: None,
            detail: None,
            request: None,
            head: &[],
            body: &[],
        };
        let (what, instead) = match outcome {
            Outcome::ExtractFailed => (Arc::clone(&names.form), "the page before has no such form"),
            Outcome::WebSocketClosed => (Arc::clone(&names.none), "no WebSocket is open, after"),
            _ => (Arc::clone(&names.none), "it leads to another server or scheme"),
        };
        self.failures.note(failed, what, || format!("{instead}: {}", visit.page()));
    }

    /// The next note of what failed.
    pub(crate) fn next_note(&mut self) -> Option<Note> {
        self.failures.pop()
    }

    /// The request that a session would begin with.
    pub(crate) fn first_request(&self, rng: &mut Stream) -> u32 {
        u32::from(self.entry(&mut Visit::default(), rng))
    }

    /// Keeps a request that is to be sent.
    fn pend(&mut self, written: RequestBytes, kind: RequestRole, now: Instant) -> PendingSlot {
        let traced = self.trace_request(&written, kind, now);
        let pending = PendingRequest { written, other: None, kind, intake: Intake::default(), traced };
        PendingSlot::at(self.pending.insert(pending))
    }

    /// The bytes of a pending request, for a connection that is kept or not.
    pub(crate) fn bytes(&mut self, slot: PendingSlot, persistent: bool) -> &Bytes {
        let pending = &mut self.pending[slot.index()];
        match pending.written.on(persistent) {
            None => &pending.written.bytes,
            Some(other) => pending.other.insert(other),
        }
    }

    /// A request for a stream of HTTP/2: its block and its body.
    pub(crate) fn for_stream(&mut self, slot: PendingSlot) -> (RequestBlock, Bytes) {
        let written = &self.pending[slot.index()].written;
        let scheme = self.writer.servers.at(written.host).scheme();
        written.for_stream(scheme, &mut self.block, &mut self.outgoing)
    }

    /// Bytes of a stream of HTTP/3 for a request: its head, and its body.
    pub(crate) fn for_http3(&mut self, slot: PendingSlot) -> [Bytes; 2] {
        let written = &self.pending[slot.index()].written;
        let scheme = self.writer.servers.at(written.host).scheme();
        written.for_http3(scheme, &mut self.block, &mut self.outgoing)
    }

    /// The hosts that requests are for, by number.
    pub(crate) fn hosts(&self) -> &[HostName] {
        &self.writer.hosts
    }

    /// The host that a pending request is for or, before it is written, its state.
    pub(crate) fn host_of(&self, request: u32, slot: Option<PendingSlot>) -> HostNumber {
        match slot {
            Some(slot) => self.pending[slot.index()].written.host,
            None => self.recipes.get(request as usize).map_or(HostNumber::TARGET, |recipe| recipe.host),
        }
    }

    pub(crate) fn expecting_bytes(&self, slot: PendingSlot) -> usize {
        self.pending[slot.index()].written.expecting_bytes()
    }

    pub(crate) fn answering(&self, slot: PendingSlot) -> Answering {
        self.pending[slot.index()].written.answering()
    }

    pub(crate) fn is_idempotent(&self, slot: PendingSlot) -> bool {
        self.pending[slot.index()].written.method.is_idempotent()
    }

    pub(crate) fn is_safe(&self, slot: PendingSlot) -> bool {
        self.pending[slot.index()].written.method.is_safe()
    }

    /// The user's page is over: where it goes from here.
    pub(crate) fn after(&self, user: &mut SessionUser<'_>) -> AfterPage {
        let after = self.next(user);
        match after {
            AfterPage::Over(_) => self.trace_ended(user.visit, None),
            AfterPage::BrokenOff(state, _) => self.trace_ended(user.visit, Some(state)),
            AfterPage::Page(_) | AfterPage::At(_) | AfterPage::Again => {}
        }
        after
    }
}
