//! Checks of a state, by the names that the scenario has for it: those under which failures are counted.

use super::check::{self, Unmet};
use super::failure::one_line;
use super::filling::Filling;
use farfield_traffic::session::{Check, Extraction, Session, SessionState, ValueSource};
use std::sync::Arc;

/// Bytes of a text or an expression in the name of its check.
const NAME_BYTES: usize = 80;
/// Bytes before a text that must not be there, when it is shown.
const BEFORE_BYTES: usize = 60;

/// The names of what a state asks for.
#[derive(Debug, Clone)]
pub(crate) struct CheckNames {
    pub status: Arc<str>,
    /// Names of checks, by key and place among those of the key.
    checks: Vec<(&'static str, Vec<Arc<str>>)>,
    /// Names of extractions, by place.
    pub extract: Vec<Arc<str>>,
    /// Name of the form that the state sends.
    pub form: Arc<str>,
    /// The empty name, for outcomes that say all.
    pub none: Arc<str>,
}

impl CheckNames {
    /// The names of a state of `session`.
    pub fn of(state: &SessionState, session: &Session) -> CheckNames {
        let quoted = |key: &str, text: &str| -> Arc<str> {
            format!("{key} `{}`", one_line(text.as_bytes(), NAME_BYTES)).into()
        };
        let check = |key: &str, text: &str| quoted(&format!("check.{key}"), text);
        let spec = &state.check.spec;
        let form = state.form.map_or("", |form| session.forms[usize::from(form)].name.as_str());
        let named = |extraction: &Extraction| {
            format!("extract.{}", session.variables[usize::from(extraction.variable)]).into()
        };
        CheckNames {
            status: "check.status".into(),
            checks: vec![
                ("header", spec.header.keys().map(|name| check("header", name.as_str())).collect()),
                ("contains", spec.contains.iter().map(|text| check("contains", text.as_str())).collect()),
                ("lacks", spec.lacks.iter().map(|text| check("lacks", text.as_str())).collect()),
                ("regex", spec.regex.iter().map(|regex| check("regex", regex.template().as_str())).collect()),
                ("css", spec.css.0.iter().map(|(css, _)| check("css", css.template().as_str())).collect()),
                ("json", spec.json.0.iter().map(|(at, _)| check("json", at.template().as_str())).collect()),
            ],
            extract: state.extract.iter().map(named).collect(),
            form: quoted("form", form),
            none: "".into(),
        }
    }

    /// The name of a check that does not hold.
    pub fn check(&self, unmet: &Unmet) -> Arc<str> {
        let of_key = self.checks.iter().find(|(key, _)| *key == unmet.key);
        of_key.and_then(|(_, names)| names.get(unmet.place)).unwrap_or(&self.none).clone()
    }
}

/// The value that a reply has in place of what a check asks for, in one line; nothing where the reply as a
/// whole is all there is to say.
pub(super) fn instead(
    unmet: &Unmet,
    check: &Check,
    head: Option<&[u8]>,
    body: &[u8],
    mut filling: Filling<'_>,
) -> Option<String> {
    match unmet.key {
        "header" => Some(match head {
            Some(value) => format!("it is `{}`", one_line(value, NAME_BYTES)),
            None => "there is no such field".to_owned(),
        }),
        "lacks" => {
            let text = check::filled(&check.lacks[unmet.place], &mut filling);
            let at = memchr::memmem::find(body, &text)?;
            let around = one_line(&body[at.saturating_sub(BEFORE_BYTES)..], 3 * BEFORE_BYTES);
            Some(format!("a body with `{around}`"))
        }
        _ => unmet.in_words(check, body, &mut filling).instead,
    }
}

/// The field that a reply has in place of a value that is taken from its head; nothing where it is taken from
/// the body.
pub(super) fn missing(from: &ValueSource) -> Option<String> {
    match from {
        ValueSource::Header(name) => Some(format!("there is no header field `{name}`")),
        ValueSource::Cookie(name) => Some(format!("there is no cookie `{name}`")),
        _ => None,
    }
}
