//! Position of one user in its session, and its knowledge.
//!
//! A user who thinks keeps its variables, its cookies and the forms that the next page may need: hundreds of
//! bytes.

use super::cache::Cache;
use super::form::Form;
use super::jar::Jar;
use farfield_base::HostNumber;
use farfield_traffic::session::path::PathProgress;
use smallvec::SmallVec;
use std::collections::BTreeSet;
use url::Url;

/// Position of a session among its states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum VisitPosition {
    /// At this place among those that it begins with.
    First(u16),
    /// On its way.
    #[default]
    Way,
    /// At this place among those that it ends with.
    Last(u16),
}

/// The session of one user.
#[derive(Debug, Clone, Default)]
pub(crate) struct Visit {
    /// The number of the session, which no two of a run share.
    pub number: u64,
    /// Pages asked for before.
    pub click: u32,
    /// The state that the user is in.
    pub state: u16,
    pub progress: PathProgress,
    /// The list of the session's states that it is in.
    pub stage: VisitPosition,
    /// The state that the session was broken off in, if it was, while its last states are asked for.
    pub broken_off: Option<u16>,
    /// Times that the state was asked for in a row before.
    pub repeats: u32,
    /// Times that the state was tried again.
    pub retries: u32,
    /// The page failed.
    pub failed: bool,
    /// The target that was asked for last, path and query, and its host.
    pub location: String,
    pub host: HostNumber,
    /// The host of the WebSocket that was opened last.
    pub websocket_host: HostNumber,
    /// The page before, where requests name it, and its host.
    pub referer: String,
    pub referer_host: HostNumber,
    pub jar: Jar,
    pub cache: Cache,
    /// Objects that the page has been seen to embed, by key.
    pub seen: BTreeSet<u64>,
    /// The base of the page's references, if it names one.
    pub base: Option<Box<Url>>,
    variables: Box<[Option<Box<[u8]>>]>,
    rows: SmallVec<[u32; 2]>,
    /// The forms of the page, by number.
    forms: Vec<(u16, Form)>,
}

impl Visit {
    /// Begins session `number` with these rows of data and values of variables.
    pub fn begin(&mut self, number: u64, given: &[Option<Box<[u8]>>], rows: SmallVec<[u32; 2]>) {
        let location = std::mem::take(&mut self.location);
        let mut jar = std::mem::take(&mut self.jar);
        jar.clear();
        *self = Visit { number, variables: given.into(), rows, location, jar, ..Visit::default() };
        self.location.clear();
    }

    /// The next page is asked for: what the one before embedded is of no matter.
    pub fn turn_page(&mut self) {
        self.failed = false;
        self.seen.clear();
        self.base = None;
    }

    /// The page that links stand on: what was asked for last or, before that, the target's root.
    pub fn page(&self) -> &str {
        if self.location.is_empty() { "/" } else { &self.location }
    }

    /// The value of a variable; empty if it has none.
    pub fn variable(&self, number: u16) -> &[u8] {
        self.variables[usize::from(number)].as_deref().unwrap_or_default()
    }

    /// The values of all variables, by number.
    pub fn variables(&self) -> &[Option<Box<[u8]>>] {
        &self.variables
    }

    /// Sets a variable.
    pub fn set(&mut self, number: u16, value: Box<[u8]>) {
        self.variables[usize::from(number)] = Some(value);
    }

    /// The row of a file of data.
    pub fn row(&self, data: u16) -> u32 {
        self.rows[usize::from(data)]
    }

    /// The form of the page before, if it had it.
    pub fn form(&self, number: u16) -> Option<&Form> {
        self.forms.iter().find(|(own, _)| *own == number).map(|(_, form)| form)
    }

    /// Keeps the page's forms in place of those of the page before.
    pub fn keep_forms(&mut self, forms: Vec<(u16, Form)>) {
        self.forms = forms;
    }
}
