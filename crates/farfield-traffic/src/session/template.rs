//! Texts with placeholders: `/cart?item=${item}&t=${token|url}`.
//!
//! A placeholder names a variable of the session or a column of its data, or a built-in: `${user}`, the
//! user's number; `${session}`, the number of the session, which no two share; `${click}`, the pages asked
//! for before this one; `${random(1,100)}`, a whole number between both, drawn anew each time;
//! `${env.TOKEN}`, a variable of the environment. After a bar comes the encoding of the value: `url` (RFC
//! 3986 section 2), `form` (like `url`, with `+` for blanks), `json` (inside of a string), `base64`. `$$` is
//! a `$`.
//!
//! A template is parsed once, when the scenario is read. The runtime fills it.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// A text with placeholders, as written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Template {
    text: String,
    parts: Vec<TemplatePart>,
}

/// A piece of a [`Template`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplatePart {
    /// Literal text.
    Text(String),
    /// The bytes of a file that is no text, in which nothing is replaced.
    Bytes(Bytes),
    /// A placeholder.
    Placeholder {
        /// Source of the value.
        name: Name,
        /// Encoding of the value.
        escape: Escape,
    },
}

/// Source of the value of a placeholder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Name {
    /// A variable, or a column of the data.
    Variable(String),
    /// The user's number.
    User,
    /// The session's number.
    Session,
    /// Pages that the session asked for before.
    Click,
    /// A variable of farfield's own environment.
    Environment(String),
    /// A whole number from the first to the second, both among them.
    Random(i64, i64),
}

/// Encoding of a value in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Escape {
    /// Literal text.
    #[default]
    Plain,
    /// Percent-encoded, all but letters, digits and `-._~`.
    Url,
    /// A value of `application/x-www-form-urlencoded`.
    Form,
    /// The inside of a JSON string.
    Json,
    /// Base64, with padding (RFC 4648 section 4).
    Base64,
}

/// Error of a text that is no template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// A placeholder without an end.
    #[error("`{0}` has a `${{` without its `}}`; close it, or write `$$` for a `$`")]
    Open(String),
    /// No name.
    #[error("`${{{0}}}` names no variable; write letters, digits, `-`, `_` and `.`, or `random(1,100)`")]
    Name(String),
    /// No such way of writing.
    #[error("`${{{0}}}` ends in no way of writing; write `|url`, `|form`, `|json` or `|base64`")]
    Escape(String),
    /// Bounds of a random number.
    #[error("`${{{0}}}`: write two whole numbers, the smaller first, as in `random(1,100)`")]
    Random(String),
}

impl Template {
    /// Bytes as they are.
    pub(super) fn of_bytes(bytes: Bytes) -> Template {
        Template { text: String::new(), parts: vec![TemplatePart::Bytes(bytes)] }
    }

    /// Parts in order.
    pub fn parts(&self) -> &[TemplatePart] {
        &self.parts
    }

    /// The text as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The text, if there is no placeholder in it.
    pub fn constant(&self) -> Option<String> {
        let text = |part: &TemplatePart| match part {
            TemplatePart::Text(text) => Some(text.clone()),
            TemplatePart::Bytes(_) | TemplatePart::Placeholder { .. } => None,
        };
        self.parts.iter().map(text).collect()
    }

    /// The names of variables and columns in it, in order.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            TemplatePart::Placeholder { name: Name::Variable(name), .. } => Some(name.as_str()),
            _ => None,
        })
    }
}

impl TryFrom<String> for Template {
    type Error = TemplateError;

    fn try_from(text: String) -> Result<Template, TemplateError> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text.as_str();
        while let Some(at) = rest.find('$') {
            plain.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix('{') {
                let (inside, after) =
                    after.split_once('}').ok_or_else(|| TemplateError::Open(text.clone()))?;
                if !plain.is_empty() {
                    parts.push(TemplatePart::Text(std::mem::take(&mut plain)));
                }
                parts.push(placeholder(inside)?);
                rest = after;
            } else {
                plain.push('$');
                rest = rest.strip_prefix('$').unwrap_or(rest);
            }
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(TemplatePart::Text(plain));
        }
        Ok(Template { text, parts })
    }
}

impl From<Template> for String {
    fn from(template: Template) -> String {
        template.text
    }
}

/// Parses the text between `${` and `}`.
fn placeholder(inside: &str) -> Result<TemplatePart, TemplateError> {
    let (name, escape) = match inside.split_once('|') {
        Some((name, escape)) => (name.trim(), escape.trim()),
        None => (inside.trim(), ""),
    };
    let escape = match escape {
        "" if !inside.contains('|') => Escape::Plain,
        "url" => Escape::Url,
        "form" => Escape::Form,
        "json" => Escape::Json,
        "base64" => Escape::Base64,
        _ => return Err(TemplateError::Escape(inside.to_owned())),
    };
    let name = match name {
        "user" => Name::User,
        "session" => Name::Session,
        "click" => Name::Click,
        _ if name.strip_prefix("env.").is_some_and(is_name) => {
            Name::Environment(name["env.".len()..].to_owned())
        }
        _ if name.starts_with("random(") => random(name, inside)?,
        _ if is_name(name) => Name::Variable(name.to_owned()),
        _ => return Err(TemplateError::Name(inside.to_owned())),
    };
    Ok(TemplatePart::Placeholder { name, escape })
}

fn random(name: &str, inside: &str) -> Result<Name, TemplateError> {
    let wrong = || TemplateError::Random(inside.to_owned());
    let bounds = name.strip_prefix("random(").and_then(|rest| rest.strip_suffix(')')).ok_or_else(wrong)?;
    let (from, to) = bounds.split_once(',').ok_or_else(wrong)?;
    match (from.trim().parse(), to.trim().parse()) {
        (Ok(from), Ok(to)) if from <= to => Ok(Name::Random(from, to)),
        _ => Err(wrong()),
    }
}

/// True if `name` is valid for a variable.
pub(super) fn is_name(name: &str) -> bool {
    let inner = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty()
        && !name.starts_with("env.")
        && !["user", "session", "click"].contains(&name)
        && name.chars().all(inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parts(text: &str) -> Vec<TemplatePart> {
        Template::try_from(text.to_owned()).expect(text).parts
    }

    fn text(text: &str) -> TemplatePart {
        TemplatePart::Text(text.to_owned())
    }

    fn placeholder(name: Name, escape: Escape) -> TemplatePart {
        TemplatePart::Placeholder { name, escape }
    }

    #[test]
    fn a_text_is_taken_apart() {
        let named = |name: &str| Name::Variable(name.to_owned());
        assert_eq!(parts(""), []);
        assert_eq!(parts("a $ b $$ c $${d}"), [text("a $ b $ c ${d}")]);
        assert_eq!(
            parts("/x?u=${user}&t=${token|url}!"),
            [
                text("/x?u="),
                placeholder(Name::User, Escape::Plain),
                text("&t="),
                placeholder(named("token"), Escape::Url),
                text("!")
            ]
        );
        assert_eq!(parts("${env.A_1|url}"), [placeholder(Name::Environment("A_1".into()), Escape::Url)]);
        assert_eq!(
            parts("${ random( -5, 5 ) | json }${a.b}"),
            [placeholder(Name::Random(-5, 5), Escape::Json), placeholder(named("a.b"), Escape::Plain)]
        );
    }

    #[test]
    fn what_is_no_template_is_refused() {
        let error_of = |text: &str| Template::try_from(text.to_owned()).expect_err(text);
        assert_eq!(error_of("a${b"), TemplateError::Open("a${b".into()));
        assert_eq!(error_of("${}"), TemplateError::Name("".into()));
        assert_eq!(error_of("${a b}"), TemplateError::Name("a b".into()));
        assert_eq!(error_of("${env.}"), TemplateError::Name("env.".into()));
        assert_eq!(error_of("${a|upper}"), TemplateError::Escape("a|upper".into()));
        assert_eq!(error_of("${a|}"), TemplateError::Escape("a|".into()));
        for wrong in ["random(2,1)", "random(1)", "random(a,b)", "random(1,2"] {
            assert_eq!(error_of(&format!("${{{wrong}}}")), TemplateError::Random(wrong.into()));
        }
    }

    proptest! {
        /// Filling each placeholder with what was written there, and doubling each `$`, gives the text again.
        #[test]
        fn pieces_make_up_the_text(text in "([a-z$ ]{0,6}(\\$\\{[a-z]{1,5}(\\|url)?\\})?){0,5}") {
            let text = text.replace("$$", "$").replace('$', "$$").replace("$${", "${");
            let written: String = parts(&text).into_iter().map(|part| match part {
                TemplatePart::Text(text) => text.replace('$', "$$"),
                TemplatePart::Bytes(_) => unreachable!("a text has none"),
                TemplatePart::Placeholder { name, escape } => {
                    let name = match name {
                        Name::Variable(name) => name,
                        Name::User => "user".to_owned(),
                        Name::Session => "session".to_owned(),
                        Name::Click => "click".to_owned(),
                        Name::Environment(name) => format!("env.{name}"),
                        Name::Random(..) => unreachable!("none is written"),
                    };
                    format!("${{{name}{}}}", if escape == Escape::Url { "|url" } else { "" })
                }
            }).collect();
            prop_assert_eq!(written, text);
        }

        #[test]
        fn any_text_is_a_template_or_refused(text in "[${}|a-z(),0-9é]{0,40}") {
            let _ = Template::try_from(text);
        }
    }
}
