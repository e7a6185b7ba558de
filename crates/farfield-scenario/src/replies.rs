//! `[[simulated.reply]]`: fixed replies of the model of a server, and the check that sessions find in them
//! what they need.
//!
//! All other replies of the model are 200 and a body of a given size without content: no token, no form, no
//! cookie. A session that would extract something from such a reply, or check one, would always fail, and is
//! refused here.

use super::mistake::Mistake;
use super::simulated::SimulatedSpec;
use farfield_base::random::{Purpose, Seed};
use farfield_model::FixedReply;
use farfield_traffic::file::Load;
use farfield_traffic::request::{BodySpec, Headers, RequestTarget};
use farfield_traffic::session::extract::HeaderCheck;
use farfield_traffic::session::state::Verb;
use farfield_traffic::session::{PageLoad, Session, SessionState};
use serde::{Deserialize, Serialize};

/// A fixed reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ReplySpec {
    /// Path that it answers; a query matters only if it is written here.
    pub path: RequestTarget,
    /// Method that it answers; any if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<Verb>,
    /// Status.
    #[serde(default)]
    pub status: FinalStatus,
    /// Header fields, beside those that frame the body.
    #[serde(default, skip_serializing_if = "Headers::is_empty")]
    pub headers: Headers,
    /// Body; none if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<BodySpec>,
}

/// A final status, from 200 to 599.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u16", into = "u16")]
pub struct FinalStatus(u16);

impl Default for FinalStatus {
    fn default() -> FinalStatus {
        FinalStatus(200)
    }
}

impl TryFrom<u16> for FinalStatus {
    type Error = String;

    fn try_from(status: u16) -> Result<FinalStatus, String> {
        match status {
            200..=599 => Ok(FinalStatus(status)),
            _ => Err(format!("`{status}` is no final status; write a status from 200 to 599")),
        }
    }
}

impl From<FinalStatus> for u16 {
    fn from(status: FinalStatus) -> u16 {
        status.0
    }
}

/// A path, the method that is answered there (any if absent), and the reply.
pub type Replied = (String, Option<String>, FixedReply);

impl SimulatedSpec {
    /// The fixed replies of the model of a server; bodies are read through `load`, or random by `seed`.
    pub(crate) fn fixed_replies(&self, seed: Seed, load: &mut Load<'_>) -> Result<Vec<Replied>, Mistake> {
        let mut replies: Vec<Replied> = Vec::with_capacity(self.reply.len());
        for (number, spec) in self.reply.iter().enumerate() {
            let key = |part: &str| format!("simulated.reply[{number}].{part}");
            let method = spec.method.as_ref().map(|verb| verb.method().to_string());
            if replies.iter().any(|(path, own, _)| path == spec.path.as_str() && *own == method) {
                let sentence = "a reply before has the same path and method; leave out one of both";
                return Err(Mistake::at(key("path"), sentence));
            }
            if let Some((name, _)) = spec.headers.fields().iter().find(|(name, _)| *name == "connection") {
                let sentence = "the model itself says what becomes of the connection; leave it out";
                return Err(Mistake::at(key(&format!("headers.{name}")), sentence));
            }
            let stream = seed.stream(Purpose::Server, u64::MAX - number as u64);
            let body = spec.body.as_ref().map(|body| body.resolve(load, stream)).transpose();
            let body = body.map_err(|error| Mistake::at(key("body"), error))?.unwrap_or_default();
            let fields = spec.headers.fields().iter();
            let headers = fields.map(|(name, value)| (name.to_string(), value.as_bytes().to_vec())).collect();
            let reply = FixedReply { status: spec.status.into(), headers, body };
            replies.push((spec.path.as_str().to_owned(), method, reply));
        }
        Ok(replies)
    }

    /// Refuses a session that needs content that the model's replies do not have.
    pub(crate) fn check_replies(&self, session: &Session) -> Result<(), Mistake> {
        let replies = &self.reply;
        if session.page_load == PageLoad::Browser && !replies.iter().any(ReplySpec::is_html) {
            let sentence = "what pages embed is found in their HTML, and the model of a server has none; write a page as \
                            a `[[simulated.reply]]` with `content-type`, or list what is fetched with `embedded`";
            return Err(Mistake::at("session.page-load", sentence));
        }
        for (number, state) in session.states.iter().enumerate() {
            let Some(need) = need_of(session, state) else { continue };
            let path = state.path.as_ref().and_then(farfield_traffic::session::Text::constant);
            let answered = match &path {
                Some(path) => replies.iter().any(|reply| reply.answers(path, state.method.as_str())),
                // The path is known only during the run.
                None => !replies.is_empty(),
            };
            if !answered {
                let of = path.unwrap_or_else(|| &state.name);
                let sentence = format!(
                    "the model of a server answers `{of}` with nothing but a size; write what it answers as a \
                     `[[simulated.reply]]`, or choose another plane"
                );
                let key = match need {
                    Need::Of(part) => format!("session.state[{number}].{part}"),
                    Need::Form(sender) => format!("session.state[{sender}].form"),
                };
                return Err(Mistake::at(key, sentence));
            }
        }
        Ok(())
    }
}

impl ReplySpec {
    fn is_html(&self) -> bool {
        self.headers.fields().iter().any(|(name, value)| {
            *name == "content-type" && value.to_str().is_ok_and(|value| value.contains("html"))
        })
    }

    /// True if the model answers `path` with this reply.
    fn answers(&self, path: &str, method: &str) -> bool {
        let bare = path.split_once('?').map_or(path, |(bare, _)| bare);
        let method = if method == "HEAD" { "GET" } else { method };
        let of_method = self.method.as_ref().is_none_or(|verb| verb.method() == method);
        of_method && [path, bare].contains(&self.path.as_str())
    }
}

/// Content that a state needs of its reply.
enum Need {
    /// Content for this key of the state.
    Of(String),
    /// A form, which a later state sends.
    Form(usize),
}

/// The first content that a state needs of its reply, if there is any.
fn need_of(session: &Session, state: &SessionState) -> Option<Need> {
    let check = &state.check.spec;
    let part = |part: &str| Some(Need::Of(part.to_owned()));
    if check.status.as_ref().is_some_and(|statuses| !statuses.have(200)) {
        return part("check.status");
    }
    if let Some((name, _)) = check.header.iter().find(|(_, wanted)| **wanted != HeaderCheck::Present(false)) {
        return part(&format!("check.header.{}", name.as_str()));
    }
    if !check.contains.is_empty() {
        return part("check.contains");
    }
    if !check.regex.is_empty() {
        return part("check.regex");
    }
    if !check.css.is_empty() {
        return part("check.css");
    }
    if !check.json.is_empty() {
        return part("check.json");
    }
    if let Some(needed) = state.extract.iter().find(|extraction| extraction.default.is_none()) {
        return part(&format!("extract.{}", session.variables[usize::from(needed.variable)]));
    }
    let sender = |form: &u16| session.states.iter().position(|state| state.form == Some(*form));
    state.forms_kept.first().and_then(sender).map(Need::Form)
}
