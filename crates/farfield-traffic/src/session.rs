//! Sessions with dependencies: what a user does, state after state, and what it takes from each reply for the
//! next.
//!
//! A session is a path through states ([`path`]): a list, a weighted choice, or a Markov table. A state
//! ([`state`]) is a request whose parts have placeholders ([`template`]), the extractions from its reply and
//! the checks of it ([`extract`]), and the reaction to a failure. Rows of data ([`data`]) give each session
//! a user's name and password of its own.
//!
//! [`SessionSpec`] is the form of a scenario; [`SessionSpec::resolve`] returns the [`Session`], in which
//! names have become numbers. A name that no earlier state can define is an error there. How requests become
//! bytes, and how values are found in replies, is left to the runtime.

pub mod around;
pub mod course;
pub mod data;
pub mod extract;
pub mod field;
pub mod path;
pub mod query;
pub mod replay;
pub mod secret;
pub mod state;
pub mod template;
pub mod upload;
pub mod wanted;
pub mod websocket;

mod names;
mod resolve;

use crate::amount::Amount;
use crate::distribution::{CountsSpec, Distribution, DistributionSpec, TimesSpec};
use crate::file::FileError;
use around::Around;
use course::{Condition, Repeat};
use data::{Data, DataSpec};
use extract::{CheckSpec, Pick};
use farfield_base::Bytes;
use http::Method;
use path::{EntrySpec, PathSpec, StatePath, TransitionsSpec};
use query::{Css, Lookup, Pattern, Pointer};
use replay::ReplaySpec;
use secret::Secret;
use serde::{Deserialize, Serialize};
use state::{OnFailure, StateSpec};
use template::Escape;
pub use upload::{Upload, UploadContent};
use wanted::ReadyCheck;
use websocket::SocketStep;

/// `[session]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SessionSpec {
    /// The way through the states: a list, or weights; by default all states in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathSpec>,
    /// States that are asked for once, before the load. What they extract, all sessions know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set_up: Vec<String>,
    /// States that each session begins with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first: Vec<String>,
    /// States that each session ends with, wherever it was broken off.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last: Vec<String>,
    /// States that are asked for once, behind the load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tear_down: Vec<String>,
    /// Entry of a table of transitions; by default the first state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<EntrySpec>,
    /// Pages of a session at most; by default as far as its path goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clicks: Option<CountsSpec>,
    /// Think time after a page; by default that of the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think: Option<TimesSpec>,
    /// Reaction to a page's request, a check or an extraction that failed.
    #[serde(default)]
    pub on_failure: OnFailure,
    /// The user keeps cookies.
    #[serde(default = "yes")]
    pub cookies: bool,
    /// Redirects of one request that are followed.
    #[serde(default = "ten")]
    pub redirects: u8,
    /// Requests made with a page.
    #[serde(default)]
    pub page_load: PageLoad,
    /// The user keeps embedded objects, and asks again only when they are stale.
    #[serde(default)]
    pub cache: bool,
    /// Bytes of a reply's body that are kept at most, where one is looked at.
    #[serde(default = "one_mebibyte")]
    pub body_limit: Bytes,
    /// Probabilities by the state gone from and the state gone to.
    #[serde(default, skip_serializing_if = "TransitionsSpec::is_empty")]
    pub transitions: TransitionsSpec,
    /// Rows of data.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data: Vec<DataSpec>,
    /// The states.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub state: Vec<StateSpec>,
    /// A recording, in place of states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<ReplaySpec>,
}

/// Requests made with a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PageLoad {
    /// Requests that the state lists.
    #[default]
    Listed,
    /// Requests that the state lists, and objects that the page's HTML embeds, found as it arrives.
    Browser,
}

fn yes() -> bool {
    true
}

fn ten() -> u8 {
    10
}

fn one_mebibyte() -> Bytes {
    Bytes(1 << 20)
}

/// Error of an invalid session: the key, and what to write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {sentence}")]
#[non_exhaustive]
pub struct SessionError {
    /// The key, below `session`: `state[2].path`.
    pub key: String,
    /// The problem.
    pub sentence: String,
}

impl SessionError {
    pub(crate) fn at(key: impl Into<String>, sentence: impl ToString) -> SessionError {
        SessionError { key: key.into(), sentence: sentence.to_string() }
    }

    fn no_state(key: &str, name: &str, names: &[&str]) -> SessionError {
        let sentence = format!("there is no state `{name}`; there are `{}`", names.join("`, `"));
        SessionError::at(key, sentence)
    }

    fn file(key: impl Into<String>, error: &FileError) -> SessionError {
        SessionError::at(key, error)
    }
}

/// A session ready to run: names are numbers, files are read.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// The states, by number.
    pub states: Vec<SessionState>,
    /// The way through them.
    pub route: StatePath,
    /// States outside the path.
    pub around: Around,
    /// Initial values of variables, by number: those that the set-up extracted.
    pub given: Vec<Option<Box<[u8]>>>,
    /// Rows of data.
    pub data: Vec<Data>,
    /// The names of variables, by number.
    pub variables: Vec<String>,
    /// Environment variables that texts need, by number.
    pub environment: Vec<Secret>,
    /// The forms that states send, by number.
    pub forms: Vec<FormOf>,
    /// Pages of a session at most.
    pub clicks: Option<Distribution>,
    /// Seconds from the end of one page to the next, where the state does not say.
    pub think: Option<Distribution>,
    /// Users keep cookies.
    pub cookies: bool,
    /// Redirects of one request that are followed.
    pub redirects: u8,
    /// Requests made with a page.
    pub page_load: PageLoad,
    /// Users keep embedded objects.
    pub cache: bool,
    /// Bytes of a body that are kept at most, where one is looked at.
    pub body_limit: usize,
    /// Warnings for the user before a run.
    pub warnings: Vec<String>,
}

/// A state, ready to run.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionState {
    /// Name of the state.
    pub name: String,
    /// The part of a WebSocket's life that it is, if it is one.
    pub websocket: Option<SocketStep>,
    /// The method, where no form says.
    pub method: Method,
    /// The target; a form's own action if absent.
    pub path: Option<Text>,
    /// Header fields, by name in lower case.
    pub headers: Vec<(String, Text)>,
    /// The body.
    pub body: Option<Text>,
    /// The form that is sent, by number.
    pub form: Option<u16>,
    /// Targets fetched with the page.
    pub embedded: Vec<String>,
    /// The number of the first of these as a request.
    pub embedded_first: u32,
    /// Seconds that the user thinks after this page.
    pub think: Option<Distribution>,
    /// Extractions from the reply, in order.
    pub extract: Vec<Extraction>,
    /// Checks of the reply.
    pub check: Check,
    /// Reaction to a failure.
    pub on_failure: OnFailure,
    /// Conditions under which the state is requested.
    pub conditions: Vec<Condition>,
    /// Repetition of the request, if any.
    pub repeat: Option<Repeat>,
    /// The forms that states after this one send, which are kept from its reply.
    pub forms_kept: Vec<u16>,
}

/// A value that is taken from a reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Extraction {
    /// The number of the variable that keeps it.
    pub variable: u16,
    /// Source of the value.
    pub from: ValueSource,
    /// Choice among several values.
    pub pick: Pick,
    /// The value where there is none. Without one, that is a failure.
    pub default: Option<String>,
}

/// Source of a value in a reply: an [`extract::ExtractSource`], ready to run.
#[derive(Debug, Clone, PartialEq)]
pub enum ValueSource {
    /// A group of each match.
    Regex {
        /// The expression.
        pattern: Lookup<Pattern>,
        /// The group; 0 is the whole match.
        group: usize,
    },
    /// Value at this JSON pointer.
    Json(Lookup<Pointer>),
    /// An attribute of each element or, without one, its text.
    Css {
        /// The elements.
        select: Lookup<Css>,
        /// The attribute, in lower case.
        attribute: Option<String>,
    },
    /// Each value of a header field, by its name in lower case.
    Header(String),
    /// The value of a cookie of the user's.
    Cookie(String),
}

/// A form, and what is filled into it.
#[derive(Debug, Clone, PartialEq)]
pub struct FormOf {
    /// Selector of the forms, as the scenario has it.
    pub name: String,
    /// Selector of the forms.
    pub select: Lookup<Css>,
    /// Choice among the selected forms.
    pub pick: Pick,
    /// Values by field; a field with several values is listed once for each.
    pub fields: Vec<(String, Text)>,
    /// Fields that are not sent.
    pub left_out: Vec<String>,
    /// The files that are sent, by field.
    pub files: Vec<(String, Upload)>,
    /// The button that is pressed.
    pub submit: Option<String>,
}

/// Checks of a reply.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Check {
    /// As written; checks with placeholders are in the lists below.
    pub spec: CheckSpec,
    /// Texts that the body must have in it.
    pub contains: Vec<Text>,
    /// Texts that the body must not have in it.
    pub lacks: Vec<Text>,
    /// Expressions that the body must match.
    pub regex: Vec<Lookup<Pattern>>,
    /// Elements of the body.
    pub css: Vec<ReadyCheck<Css>>,
    /// Values of a JSON body.
    pub json: Vec<ReadyCheck<Pointer>>,
}

/// A template in which names are numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Text(pub Box<[TextPiece]>);

/// A piece of a [`Text`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextPiece {
    /// Literal text.
    Plain(Box<str>),
    /// Bytes as they are.
    Bytes(bytes::Bytes),
    /// A value, and how it is written.
    Value(Value, Escape),
}

/// Value of a placeholder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// A variable.
    Variable(u16),
    /// A column of a file of data.
    Column {
        /// The file.
        data: u16,
        /// The column.
        column: u16,
    },
    /// A variable of the environment, by number.
    Environment(u16),
    /// The user's number.
    User,
    /// The session's number.
    Session,
    /// Pages asked for before.
    Click,
    /// A whole number from the first to the second.
    Random(i64, i64),
}

impl Text {
    /// The text, if it has no placeholder: then it is one piece at most.
    pub fn constant(&self) -> Option<&str> {
        match &self.0[..] {
            [] => Some(""),
            [TextPiece::Plain(text)] => Some(text),
            _ => None,
        }
    }
}

impl Session {
    /// Number of request ids: the states' own, those of what they list, and one for each
    /// state that stands for what a browser finds in its page.
    pub fn requests(&self) -> u32 {
        self.found_first() + self.states.len() as u32
    }

    /// The number of requests for what is found in the page of a `state`.
    pub fn found(&self, state: u16) -> u32 {
        self.found_first() + u32::from(state)
    }

    /// Leaves think times out, and ends a session that would not end by itself after as many pages as there
    /// are states.
    pub fn go_once(&mut self) {
        self.think = None;
        for state in &mut self.states {
            state.think = None;
        }
        if matches!(self.route, StatePath::Choice { .. }) && self.clicks.is_none() {
            let states = (0..self.states.len() as u16).filter(|state| self.around.list_of(*state).is_none());
            let pages = DistributionSpec::constant(Amount::Number(states.count() as f64));
            let pages = pages.resolve(&mut |_| unreachable!("a constant names no file"));
            self.clicks = Some(pages.expect("a constant names no file"));
        }
    }

    fn found_first(&self) -> u32 {
        self.states.last().map_or(0, |last| last.embedded_first + last.embedded.len() as u32)
    }
}

#[cfg(test)]
mod tests;
