//! Users in sessions with dependencies: which request comes next, and what its reply means for those after it.
//!
//! An [`Errand`] is a request under way: its bytes, and what of its reply is kept. Bodies are kept only where a state takes
//! something from them or holds something against them, up to a limit; cookies and redirects need heads alone.
//!
//! A page is its state's request, the redirects that this leads to, and what is embedded. What a user would meet that
//! stands between, a form to be filled in, a token, a cookie, is taken along from page to page in its [`Visit`].

mod cache;
mod coding;
mod encoding;
mod find;
mod form;
mod jar;
mod page;
mod reply;
mod request;
mod text;
mod urls;
mod visit;

pub(crate) use visit::Visit;

use crate::book::Target;
use crate::user::User;
use bytes::Bytes;
use farfield_base::random::Stream;
use farfield_base::{Duration, Instant, Outcome};
use farfield_http::http1::{Answering, RequestError};
use farfield_traffic::distribution::Distribution;
use farfield_traffic::session::extract::Css;
use farfield_traffic::session::path::Route;
use farfield_traffic::session::state::OnFailure;
use farfield_traffic::session::{PageLoad, Session};
use form::FormParts;
use reply::{Intake, Needs};
use request::{Recipe, Writer, Written};
use slab::Slab;
use std::sync::Arc;
use text::Filling;

/// Sessions as the users of one worker have them.
#[derive(Debug)]
pub struct Sessions {
    session: Arc<Session>,
    recipes: Arc<[Recipe]>,
    form_parts: Arc<[FormParts]>,
    needs: Arc<[Needs]>,
    /// What a page embeds things with.
    embedding: Arc<Css>,
    writer: Writer,
    errands: Slab<Errand>,
    /// Memory for bodies to come.
    bodies: Vec<Vec<u8>>,
    counts: Counts,
}

/// What was done with replies, over the whole run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    /// Bytes of content that were decoded, and what came out.
    pub coded_bytes: u64,
    pub decoded_bytes: u64,
    /// Objects of pages that embed more than is fetched of one.
    pub objects_left_out: u64,
}

/// A request under way.
#[derive(Debug)]
struct Errand {
    written: Written,
    /// Its bytes on a connection that ends with it, once they were asked for.
    other: Option<Bytes>,
    kind: Kind,
    intake: Intake,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The page's own, which may be redirected so often yet.
    Main { redirects: u8 },
    /// Embedded in the page.
    Object,
}

/// What comes after a page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum After {
    /// The next page, once the user has thought: so long, or as the load says.
    Page(Option<Duration>),
    /// The next page, which is due then.
    At(Instant),
    /// The same page again.
    Again,
    /// The session is over; who begins another thinks so long before.
    Over(Option<Duration>),
}

impl Clone for Sessions {
    fn clone(&self) -> Sessions {
        self.for_worker()
    }
}

impl Sessions {
    /// Sessions on `target`. Refuses a request that cannot be written as HTTP.
    pub fn new(session: Session, target: &Target) -> Result<Sessions, RequestError> {
        let recipes = session.states.iter().map(|state| Recipe::of(state, target));
        Ok(Sessions {
            recipes: recipes.collect::<Result<_, _>>()?,
            form_parts: session.forms.iter().map(|form| FormParts::of(&form.select)).collect(),
            needs: session.states.iter().map(Needs::of).collect(),
            embedding: Arc::new(page::embedding()),
            writer: Writer::new(target, session.page_load == PageLoad::Browser)?,
            errands: Slab::new(),
            bodies: Vec::new(),
            counts: Counts::default(),
            session: Arc::new(session),
        })
    }

    /// The same for another worker, with memory of its own and nothing under way.
    pub(crate) fn for_worker(&self) -> Sessions {
        Sessions {
            session: Arc::new(Session::clone(&self.session)),
            recipes: Arc::clone(&self.recipes),
            form_parts: Arc::clone(&self.form_parts),
            needs: Arc::clone(&self.needs),
            embedding: Arc::clone(&self.embedding),
            writer: self.writer.clone(),
            errands: Slab::new(),
            bodies: Vec::new(),
            counts: Counts::default(),
        }
    }

    /// The names of the states, by number.
    pub(crate) fn states(&self) -> Vec<String> {
        self.session.states.iter().map(|state| state.name.clone()).collect()
    }

    /// What was done with replies so far.
    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    /// Pages of a session at most; `of_load` is what the load says, for sessions without an end of their own.
    pub(crate) fn pages_max(&self, of_load: Option<&Distribution>, chance: &mut Stream) -> Option<u64> {
        let endless = matches!(self.session.route, Route::Choice { .. });
        let law = self.session.clicks.as_ref().or(of_load.filter(|_| endless));
        law.map(|law| law.sample_count(chance))
    }

    /// Begins the user's next session; false if there is no data left for one.
    pub(crate) fn begin(&self, user: &mut User, number: u64) -> bool {
        let rows = self.session.data.iter().map(|data| data.row(u64::from(user.number), number));
        let Some(rows) = rows.collect() else { return false };
        let visit = user.visit.get_or_insert_default();
        visit.begin(number, self.session.variables.len(), rows);
        let (progress, state) = self.session.route.begin(&mut user.chance);
        (visit.progress, visit.state) = (progress, state);
        true
    }

    /// Writes the request of the page that the user is at: its number, and its errand or why there is none: the form that
    /// it would send is not there, or it leads elsewhere.
    pub(crate) fn page(&mut self, user: &mut User, now: Instant) -> (u32, Result<u32, Outcome>) {
        let Sessions { session, recipes, writer, .. } = self;
        let User { visit, chance, number, .. } = user;
        let visit = visit.as_mut().expect("the user is in a session");
        let state = &session.states[usize::from(visit.state)];
        let base = visit.base.take().unwrap_or_else(|| Box::new(writer.server.page(visit.page())));
        visit.turn_page();
        let jar = session.cookies.then_some((&visit.jar, now));
        let filling = Filling { visit, data: &session.data, user: *number, chance };
        let recipe = &recipes[usize::from(visit.state)];
        let written = match state.form {
            None => writer.state(recipe, &base, filling, jar).ok_or(Outcome::LinkElsewhere),
            Some(number) => match visit.form(number) {
                Some(form) => {
                    let form = (form, &session.forms[usize::from(number)]);
                    writer.form(recipe, &base, form, filling, jar).ok_or(Outcome::LinkElsewhere)
                }
                None => Err(Outcome::ExtractFailed),
            },
        };
        let written = match written {
            Ok(written) => written,
            Err(outcome) => {
                visit.failed = true;
                return (u32::from(visit.state), Err(outcome));
            }
        };
        if session.page_load == PageLoad::Browser {
            std::mem::swap(&mut visit.referer, &mut visit.location);
        }
        visit.location.clear();
        visit.location.push_str(written.target());
        let state = u32::from(visit.state);
        let kind = Kind::Main { redirects: session.redirects };
        let errand = self.errand(written, kind);
        (state, Ok(errand))
    }

    /// The request that a session would begin with.
    pub(crate) fn first_request(&self, chance: &mut Stream) -> u32 {
        u32::from(self.session.route.begin(chance).1)
    }

    fn errand(&mut self, written: Written, kind: Kind) -> u32 {
        let errand = Errand { written, other: None, kind, intake: Intake::default() };
        self.errands.insert(errand) as u32
    }

    /// The bytes of an errand, for a connection that is kept or not.
    pub(crate) fn bytes(&mut self, errand: u32, persistent: bool) -> &Bytes {
        let errand = &mut self.errands[errand as usize];
        match errand.written.on(persistent) {
            None => &errand.written.bytes,
            Some(other) => errand.other.insert(other),
        }
    }

    pub(crate) fn answering(&self, errand: u32) -> Answering {
        self.errands[errand as usize].written.answering()
    }

    pub(crate) fn is_idempotent(&self, errand: u32) -> bool {
        self.errands[errand as usize].written.method.is_idempotent()
    }

    /// The user's page is over: where it goes from here.
    pub(crate) fn after(&self, user: &mut User) -> After {
        let visit = user.visit.as_mut().expect("the user is in a session");
        let state = &self.session.states[usize::from(visit.state)];
        let mut think = || {
            let law = state.think.as_ref().or(self.session.think.as_ref());
            law.map(|law| law.sample_duration(&mut user.chance))
        };
        match state.on_failure {
            OnFailure::EndSession if visit.failed => return After::Over(think()),
            OnFailure::Retry(times) if visit.failed && visit.retries < times => {
                visit.retries += 1;
                return After::Again;
            }
            OnFailure::Retry(_) if visit.failed => return After::Over(think()),
            _ => {}
        }
        let think = think();
        visit.retries = 0;
        visit.click += 1;
        match self.session.route.next(&mut visit.progress, &mut user.chance) {
            Some(state) => {
                visit.state = state;
                After::Page(think)
            }
            None => After::Over(think),
        }
    }
}
