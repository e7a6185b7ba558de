//! Pages of a set: which there are, and the bytes of their requests.

use crate::book::Book;
use crate::exchange::Job;
use crate::target::Target;
use crate::user::User;
use farfield_base::{Ending, Instant, Note, SessionFailure};
use farfield_http::http1::RequestError;
use farfield_traffic::request::RequestSet;

/// Pages of a set, and the bytes of their requests.
#[derive(Debug, Clone)]
pub struct Pages {
    pub(crate) requests: RequestSet,
    pub(crate) book: Book,
    /// A page has something embedded.
    embed: bool,
    /// Embedded objects that failed, and other requests of whose failure more is known than the outcome: to
    /// be handed on.
    pub(crate) failed: Vec<Note>,
}

impl Pages {
    pub(crate) fn for_worker(&self) -> Pages {
        let (requests, book) = (self.requests.clone(), self.book.for_worker());
        Pages { requests, book, embed: self.embed, failed: Vec::new() }
    }

    pub(crate) fn new(requests: RequestSet, hosts: &[Target]) -> Result<Pages, RequestError> {
        let book = Book::encode(&requests, hosts)?;
        let embed = requests.pages().iter().any(|page| !page.embedded.is_empty());
        Ok(Pages { requests, book, embed, failed: Vec::new() })
    }

    /// Notes that a request failed, an embedded object by its path, if there is anything to say beside the
    /// outcome.
    pub(crate) fn note_failed(
        &mut self,
        user: &User,
        job: Job,
        now: Instant,
        status: Option<u16>,
        ending: &Ending,
    ) {
        let what = match (job.first, &ending.detail) {
            (true, None) => return,
            (true, Some(_)) => "",
            (false, _) => self.requests.requests()[job.request as usize].path.as_str(),
        };
        self.failed.push(Note::Failed(Box::new(SessionFailure {
            at: now,
            due: job.due,
            user: user.number,
            session: user.session,
            state: SessionFailure::NO_STATE,
            outcome: ending.outcome,
            status: status.unwrap_or(0),
            what: what.into(),
            detail: ending.detail.clone(),
            instead: None,
            exchange: None,
        })));
    }

    /// True if any page has something embedded.
    pub(crate) fn embed(&self) -> bool {
        self.embed
    }
}
