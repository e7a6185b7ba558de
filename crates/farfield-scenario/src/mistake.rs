//! Mistakes in a scenario, told with file, line and key, and with the right key where one is near.

use crate::ScenarioError;
use crate::overlay::Setting;
use std::path::Path;
use toml::{Table, Value};

/// Where a scenario came from.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    pub text: &'a str,
    /// `None` for what was typed on the command line alone.
    pub path: Option<&'a Path>,
}

impl Source<'_> {
    /// The text is not TOML.
    pub fn syntax(&self, error: &toml::de::Error) -> ScenarioError {
        let line = error.span().map_or(1, |span| self.line_at(span.start));
        ScenarioError::invalid(format!("{}: {}", self.place(Some(line)), error.message()))
    }

    /// A value cannot be meant: the one at `path`, or the key that `message` names.
    pub fn meaning(&self, path: &str, message: &str, settings: &[Setting]) -> ScenarioError {
        let (path, told) = match unknown(message) {
            Some(unknown) if unknown.what == "key" => (extend(path, unknown.name), unknown.tell()),
            Some(unknown) => (path.to_owned(), unknown.tell()),
            None => (path.to_owned(), plain(message)),
        };
        let line = self.line_of(&path, message);
        let typed = settings.iter().rfind(|setting| {
            let key = setting.path.join(".");
            path.starts_with(&key) || key.starts_with(path.trim_end_matches('.'))
        });
        match typed {
            Some(setting) if line.is_none() => ScenarioError::invalid(format!("{}: {told}", setting.flag)),
            _ if path == "." || path.is_empty() => {
                ScenarioError::invalid(format!("{}: {told}", self.place(None)))
            }
            _ => ScenarioError::invalid(format!("{}: {path}: {told}", self.place(line))),
        }
    }

    fn place(&self, line: Option<usize>) -> String {
        let file = self.path.map_or_else(|| "the command line".to_owned(), |path| path.display().to_string());
        match line {
            Some(line) if self.path.is_some() => format!("{file}:{line}"),
            _ => file,
        }
    }

    fn line_at(&self, offset: usize) -> usize {
        1 + self.text[..offset.min(self.text.len())].matches('\n').count()
    }

    /// The line where the key at `path` is written: the last of its parts that can be found, each looked for
    /// after the one before it. A table that is read as a whole has the key in its message, first of all that
    /// is quoted there.
    fn line_of(&self, path: &str, message: &str) -> Option<usize> {
        let (mut at, mut found) = (0, None);
        let named = message.split('`').nth(1);
        let parts = path.split(['.', '[']).map(|part| part.trim_end_matches(']'));
        let mut before = "";
        for part in parts.chain(named) {
            let place = match part.parse::<usize>() {
                // The tables of a list are counted from the top, whatever was found before.
                Ok(number) => table_in(self.text, before, number).map(|place| place.saturating_sub(at)),
                Err(_) => key_in(&self.text[at..], part),
            };
            before = part;
            let Some(place) = place else { continue };
            at += place;
            found = Some(self.line_at(at));
        }
        found
    }
}

/// The path of what `message` is about, where `path` is only that of a table around it: what has a tag is read as a
/// whole before it is understood, and serde then no longer knows where in it a value stood. The message names the key,
/// or quotes the value, first.
pub fn inside(document: &Table, path: &str, message: &str) -> String {
    let table = path.split('.').try_fold(document, |table, key| table.get(key)?.as_table());
    let (Some(table), Some(quoted)) = (table, message.split('`').nth(1)) else { return path.to_owned() };
    let says = |value: &Value| match value {
        Value::String(text) => text == quoted,
        Value::Table(_) | Value::Array(_) => false,
        other => other.to_string() == quoted,
    };
    let mut fitting = table.iter().filter(|(key, value)| *key == quoted || says(value));
    match (fitting.next(), fitting.next()) {
        (Some((key, _)), None) => format!("{path}.{key}"),
        _ => path.to_owned(),
    }
}

/// Where `key` is written as a key or as part of a table's name.
fn key_in(text: &str, key: &str) -> Option<usize> {
    let is_word = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    text.match_indices(key).map(|(place, _)| place).find(|&place| {
        let before = text[..place].chars().next_back();
        let after = text[place + key.len()..].trim_start_matches([' ', '\t', '"', '\'']).chars().next();
        !key.is_empty() && !before.is_some_and(is_word) && matches!(after, Some('=' | ']' | '.'))
    })
}

/// Where the table that is the `number`-th of the list `name`, from 0, begins: behind its header.
fn table_in(text: &str, name: &str, number: usize) -> Option<usize> {
    let mut at = 0;
    let headers = text.split_inclusive('\n').filter_map(|line| {
        let start = at;
        at += line.len();
        let list = line.trim().strip_prefix("[[")?.split("]]").next()?;
        (list.rsplit('.').next()?.trim() == name).then_some(start + line.find("]]")?)
    });
    headers.into_iter().nth(number)
}

/// What serde says of types, as a user would.
pub fn plain(message: &str) -> String {
    let message = message.replace("internally tagged enum LoadSpec", "a table with the key `model`");
    ["u16", "u32", "u64"].iter().fold(message, |message, kind| {
        message
            .replace(&format!("a nonzero {kind}"), "a whole number from 1")
            .replace(&format!("expected {kind}"), "expected a whole number from 0")
    })
}

/// A name that is not among those there are.
struct Unknown<'m> {
    name: &'m str,
    known: Vec<&'m str>,
    what: &'static str,
}

/// Reads serde's "unknown field `x`, expected one of `a`, `b`" and its like.
fn unknown(message: &str) -> Option<Unknown<'_>> {
    let what = if message.starts_with("unknown field") {
        "key"
    } else if message.starts_with("unknown variant") {
        "value"
    } else {
        return None;
    };
    let mut quoted = message.split('`').skip(1).step_by(2);
    Some(Unknown { name: quoted.next()?, known: quoted.collect(), what })
}

impl Unknown<'_> {
    fn tell(&self) -> String {
        let near = self
            .known
            .iter()
            .map(|known| (strsim::damerau_levenshtein(known, self.name), *known))
            .min()
            .filter(|(distance, known)| *distance <= 2.max(known.len() / 3));
        let known = self.known.join("`, `");
        match near {
            Some((_, near)) => format!("there is no {} `{}`; did you mean `{near}`?", self.what, self.name),
            None => format!("there is no {} `{}`; there are `{known}`", self.what, self.name),
        }
    }
}

/// The path of `name`, unknown at `path`: serde has it in the path already, or only its table's.
fn extend(path: &str, name: &str) -> String {
    if path == "." || path.is_empty() {
        name.to_owned()
    } else if path.rsplit('.').next() == Some(name) {
        path.to_owned()
    } else {
        format!("{path}.{name}")
    }
}
