//! A state of a session as a scenario writes it: a request, the extractions from its reply, and the
//! checks of it.

use super::SessionError;
use super::extract::{CheckSpec, ExtractSpec, FieldName, Pick};
use super::field::FieldSpec;
use super::query::{Css, QuerySpec};
use super::template::Template;
use super::upload::UploadSpec;
use super::websocket::{self, SocketStep};
use crate::distribution::TimesSpec;
use crate::file::{FileError, Load, read};
use crate::request::{PartError, RequestTarget, method};
use farfield_base::TextOrTable;
use http::Method;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;

/// `[[session.state]]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct StateSpec {
    /// Name of the state, as paths have it.
    pub name: StateName,
    /// The method; by default GET, or POST with a body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<Verb>,
    /// The target. May be left out where there is a form, which has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Template>,
    /// Header fields beside those that HTTP itself needs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<FieldName, Template>,
    /// The part of a WebSocket's life that the state is: `open`, `ask`, `send`, `await` or `close`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub websocket: Option<SocketStep>,
    /// The body, or the message that is sent on a WebSocket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<BodyTemplate>,
    /// A form of the page before, filled in and sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<FormSpec>,
    /// Targets fetched with GET once the reply is there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub embedded: Vec<RequestTarget>,
    /// Think time after this page; by default that of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think: Option<TimesSpec>,
    /// Extractions from the reply, by the variable's name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extract: BTreeMap<String, ExtractSpec>,
    /// Checks of the reply.
    #[serde(default, skip_serializing_if = "CheckSpec::is_empty")]
    pub check: CheckSpec,
    /// The state is left out unless this variable has a value that is not empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_found: Option<String>,
    /// The state is left out if this variable has a value that is not empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unless_found: Option<String>,
    /// Times that the state is asked for in a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<NonZeroU32>,
    /// The state is asked for again while this variable has a value that is not empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub while_found: Option<String>,
    /// Reaction to a request, a check or an extraction that failed; by default that of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<OnFailure>,
}

/// The name of a state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct StateName(String);

impl StateName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for StateName {
    type Error = String;

    fn try_from(name: String) -> Result<StateName, String> {
        let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
        match name.as_str() {
            "back" | "end" => Err(format!("`{name}` has a meaning of its own in paths; choose another name")),
            "" => Err("a state needs a name".to_owned()),
            _ if name.chars().all(fits) => Ok(StateName(name)),
            _ => Err(format!("`{name}` is no name for a state; write letters, digits, `-` and `_`")),
        }
    }
}

impl From<StateName> for String {
    fn from(name: StateName) -> String {
        name.0
    }
}

/// A method, in capitals.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Verb(Method);

impl Verb {
    /// The method.
    pub fn method(&self) -> &Method {
        &self.0
    }
}

impl TryFrom<String> for Verb {
    type Error = PartError;

    fn try_from(text: String) -> Result<Verb, PartError> {
        method(&text).map(Verb)
    }
}

impl From<Verb> for String {
    fn from(verb: Verb) -> String {
        verb.0.to_string()
    }
}

/// A body: a text, or `{ file = "order.json" }`; both may have placeholders, unless the file is no UTF-8
/// text: that is sent as it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum BodyTemplate {
    /// Content as text.
    Text(Template),
    /// Content of this file.
    File(BodyFile),
}

/// `{ file = "order.json" }`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BodyFile {
    /// The file.
    pub file: PathBuf,
}

impl<'de> Deserialize<'de> for BodyTemplate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<BodyTemplate, D::Error> {
        TextOrTable {
            expected: "a text, or a table such as { file = \"order.json\" }",
            text: |text| match Template::try_from(text.to_owned()) {
                Ok(template) => Ok(BodyTemplate::Text(template)),
                Err(error) => Err(error.to_string()),
            },
            number: None,
            table: |file: BodyFile| Ok(BodyTemplate::File(file)),
        }
        .read(deserializer)
    }
}

impl BodyTemplate {
    /// The template, its file read through `load`.
    pub(super) fn resolve(&self, load: &mut Load<'_>) -> Result<Template, FileError> {
        match self {
            BodyTemplate::Text(template) => Ok(template.clone()),
            BodyTemplate::File(BodyFile { file }) => {
                let whole = |problem: String| FileError::Whole { path: file.clone(), problem };
                // An image has no placeholders.
                match String::from_utf8(read(file, load)?) {
                    Ok(text) => Template::try_from(text).map_err(|error| whole(error.to_string())),
                    Err(error) => Ok(Template::of_bytes(error.into_bytes().into())),
                }
            }
        }
    }
}

/// A form of the page before, filled in and sent in the encoding that it asks for. Fields of the form keep
/// what they have, hidden ones too, unless they are said here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FormSpec {
    /// Selector of the form: the first of those that match.
    #[serde(default = "any_form")]
    pub select: QuerySpec<Css>,
    /// Index of the form among those that match, from 1, instead of the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<NonZeroU32>,
    /// Any of these, each as likely.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub random: bool,
    /// Values by field.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, FieldSpec>,
    /// The files that are sent, by field.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, UploadSpec>,
    /// The name of the button that is pressed, which is sent with the value that it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submit: Option<String>,
}

fn any_form() -> QuerySpec<Css> {
    let form = Template::try_from("form".to_owned()).expect("a text without placeholders");
    form.try_into().expect("a type is a selector")
}

impl FormSpec {
    /// Choice among the selected forms.
    pub(super) fn pick(&self) -> Pick {
        if self.random { Pick::Random } else { Pick::Nth(self.index.unwrap_or(NonZeroU32::MIN)) }
    }
}

/// Reaction of a session to a page's own request, a check or an extraction that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum OnFailure {
    /// Continue as after success.
    GoOn,
    /// Ends.
    #[default]
    EndSession,
    /// Asks again, at most so often, and then ends.
    Retry(u32),
}

impl TryFrom<String> for OnFailure {
    type Error = String;

    fn try_from(text: String) -> Result<OnFailure, String> {
        match text.as_str() {
            "go-on" => Ok(OnFailure::GoOn),
            "end-session" => Ok(OnFailure::EndSession),
            _ => {
                let times = text.strip_prefix("retry ").and_then(|times| times.trim().parse().ok());
                times.filter(|times| *times > 0).map(OnFailure::Retry).ok_or_else(|| {
                    format!("`{text}` is nothing to do on failure; write `go-on`, `end-session` or `retry 3`")
                })
            }
        }
    }
}

impl From<OnFailure> for String {
    fn from(what: OnFailure) -> String {
        match what {
            OnFailure::GoOn => "go-on".to_owned(),
            OnFailure::EndSession => "end-session".to_owned(),
            OnFailure::Retry(times) => format!("retry {times}"),
        }
    }
}

impl StateSpec {
    /// The method that its request has, where no form says.
    pub(super) fn verb(&self) -> Method {
        match &self.method {
            Some(verb) => verb.method().clone(),
            None if self.body.is_some() => Method::POST,
            None => Method::GET,
        }
    }

    /// Refuses what does not go together, or cannot be sent; `key` is where the state stands.
    ///
    /// # Errors
    /// The first such key.
    pub fn check(&self, key: &str) -> Result<(), SessionError> {
        let refuse = |part: &str, sentence: &str| Err(SessionError::at(format!("{key}.{part}"), sentence));
        if let Some(step) = self.websocket {
            websocket::check(key, self, step)?;
        }
        match (&self.path, &self.form) {
            (None, None) if self.websocket.is_some() => {}
            (None, None) => {
                return refuse("path", "there is nothing to ask for; write a `path`, or a `form`");
            }
            (_, Some(_)) if self.body.is_some() => {
                return refuse("body", "a form is its own body; leave one of both out");
            }
            (Some(path), _) => check_path(&format!("{key}.path"), path)?,
            (None, Some(_)) => {}
        }
        if let Some(form) = &self.form
            && form.random
            && form.index.is_some()
        {
            return refuse("form.index", "write `index` or `random`, not both");
        }
        if let Some(form) = &self.form
            && let Some(twice) = form.files.keys().find(|name| form.fields.contains_key(*name))
        {
            let sentence = "is a text and a file; leave one of both out";
            return refuse(&format!("form.files.{twice}"), sentence);
        }
        for (name, value) in &self.headers {
            let own = ["content-length", "transfer-encoding", "connection"];
            if own.contains(&name.as_str()) {
                return refuse(
                    &format!("headers.{}", name.as_str()),
                    "is written by the client; leave it out",
                );
            }
            let text: String = value.parts().iter().filter_map(plain).collect();
            if http::HeaderValue::from_str(&text).is_err() {
                let part = format!("headers.{}", name.as_str());
                return refuse(&part, "cannot be sent; write printable ASCII, on one line");
            }
        }
        if let Some(bad) = self.extract.keys().find(|name| !super::template::is_name(name)) {
            let sentence =
                format!("`{bad}` is no name for a variable; write letters, digits, `-`, `_` and `.`");
            return refuse("extract", &sentence);
        }
        Ok(())
    }
}

/// Literal text of a path, beside placeholders.
fn plain(part: &super::template::TemplatePart) -> Option<&str> {
    match part {
        super::template::TemplatePart::Text(text) => Some(text),
        super::template::TemplatePart::Bytes(_) | super::template::TemplatePart::Placeholder { .. } => None,
    }
}

fn check_path(key: &str, path: &Template) -> Result<(), SessionError> {
    let begins_well = match path.parts().first() {
        Some(super::template::TemplatePart::Text(text)) => text.starts_with('/') || is_url(text),
        Some(super::template::TemplatePart::Bytes(_) | super::template::TemplatePart::Placeholder { .. }) => {
            true
        }
        None => false,
    };
    let sendable = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#');
    match begins_well && path.parts().iter().filter_map(plain).all(sendable) {
        true => Ok(()),
        false => Err(SessionError::at(
            key,
            format!(
                "`{}` is not a path; begin it with `/`, a variable, or the scheme and the whole name of a host \
                 (`http://api.test/`), and percent-encode blanks and all but ASCII",
                path.as_str()
            ),
        )),
    }
}

/// True if the text in front of the first hole is a URL up to its path, so that its host has no hole.
fn is_url(text: &str) -> bool {
    let after = |scheme: &str| text.get(..scheme.len()).filter(|own| own.eq_ignore_ascii_case(scheme));
    let schemes = ["http://", "https://", "ws://", "wss://"];
    let scheme = schemes.into_iter().find_map(after);
    scheme.and_then(|scheme| text[scheme.len()..].split_once('/')).is_some_and(|(host, _)| !host.is_empty())
}
