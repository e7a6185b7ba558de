//! A scenario's document: its text as TOML tables, with flags laid over them, and the line of every key.
//!
//! The text is parsed once. What a later stage finds wrong with a key it hands to [`Document::locate`],
//! which puts the key's file and line before it, or the flag that set it.

use crate::error::ScenarioError;
use crate::mistake::{self, Mistake, Unknown};
use crate::overlay::{self, Overlay, Setting};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

/// A scenario's tables, and where each key of them comes from.
#[derive(Debug, Clone)]
pub struct Document {
    /// The file; `None` for what was typed on the command line alone.
    path: Option<PathBuf>,
    /// The tables, with flags laid over them.
    table: Table,
    /// The lines of the file's own keys.
    lines: Node,
    /// Keys that flags set, each with its flag.
    flags: Vec<(String, String)>,
}

impl Document {
    /// Parses the `text` of the file at `path`, or one that flags stand for.
    ///
    /// # Errors
    /// If it is not TOML.
    pub fn parse(text: &str, path: Option<&Path>) -> Result<Document, ScenarioError> {
        let breaks: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
        let line_at = |offset: usize| 1 + breaks.partition_point(|end| *end < offset);
        let mut document = Document { path: path.map(Path::to_owned), ..Document::of(Table::new()) };
        let syntax = |document: &Document, error: &toml::de::Error| {
            let line = error.span().map_or(1, |span| line_at(span.start));
            ScenarioError::invalid(format!("{}: {}", document.place(Some(line)), error.message()))
        };
        let parsed = DeTable::parse(text).map_err(|error| syntax(&document, &error))?;
        document.lines.below = Below::table(parsed.get_ref(), &line_at);
        document.table = Table::deserialize(toml::de::Deserializer::from(parsed))
            .map_err(|error| syntax(&document, &error))?;
        Ok(document)
    }

    /// The document of tables that the command line stands for.
    pub fn of(table: Table) -> Document {
        Document { path: None, table, lines: Node { line: 1, below: Below::Nothing }, flags: Vec::new() }
    }

    /// Sets the keys that `flags` are short for.
    ///
    /// # Errors
    /// If a flag does not fit the others or the tables.
    pub fn lay_over(&mut self, flags: &Overlay) -> Result<(), ScenarioError> {
        let settings = overlay::settings(flags, &self.table)?;
        overlay::lay_over(&mut self.table, &settings)?;
        self.flags.extend(settings.into_iter().map(|Setting { key, flag, .. }| (key, flag)));
        Ok(())
    }

    /// Notes that the `flag` wrote `key`.
    pub fn attribute(&mut self, key: &str, flag: &str) {
        self.flags.push((key.to_owned(), flag.to_owned()));
    }

    /// True if the document has the key `name`.
    pub fn contains(&self, name: &str) -> bool {
        self.table.contains_key(name)
    }

    /// True if the document says how many users there are or when they come.
    pub fn has_load(&self) -> bool {
        // That of a kept scenario by an older farfield stood for none.
        let kept = "model = 'closed'\nusers = 10\nthink = '0s'".parse::<Table>().expect("TOML");
        self.table.get("load").and_then(toml::Value::as_table).is_some_and(|load| *load != kept)
    }

    /// True if the table `name` has the key `key`.
    pub fn contains_below(&self, name: &str, key: &str) -> bool {
        self.table.get(name).is_some_and(|table| table.get(key).is_some())
    }

    /// Removes the table `name`; false if there is none.
    pub fn remove(&mut self, name: &str) -> bool {
        self.table.remove(name).is_some()
    }

    /// The file's name without its extension.
    pub fn stem(&self) -> Option<String> {
        self.path.as_deref().and_then(Path::file_stem).map(|stem| stem.to_string_lossy().into_owned())
    }

    /// The folder in which relative paths begin.
    pub fn folder(&self) -> &Path {
        self.path.as_deref().and_then(Path::parent).unwrap_or(Path::new(""))
    }

    /// The tables as the type `T`.
    ///
    /// # Errors
    /// The first key or value that `T` does not have.
    pub fn typed<T: DeserializeOwned>(&self) -> Result<T, ScenarioError> {
        serde_path_to_error::deserialize(Value::Table(self.table.clone())).map_err(|error| {
            let path = error.path().to_string();
            let message = error.inner().to_string();
            // toml adds lines of its own to what is wrong.
            let message = message.lines().next().unwrap_or_default();
            self.explain(&mistake::inside(&self.table, &path, message), message)
        })
    }

    /// The error that names where the mistake's key stands.
    pub fn locate(&self, mistake: &Mistake) -> ScenarioError {
        let file = mistake.file.as_deref();
        let naming = file.and_then(|file| mistake::key_of_file(&self.table, &mistake.key, file));
        self.explain(naming.as_deref().unwrap_or(&mistake.key), &mistake.sentence)
    }

    /// The error of the key at `path`, or of the key that serde's `message` names.
    fn explain(&self, path: &str, message: &str) -> ScenarioError {
        let (path, sentence) = match Unknown::of(message) {
            Some(unknown) if unknown.what == "key" => (extend(path, unknown.name), unknown.sentence()),
            Some(unknown) => (path.to_owned(), unknown.sentence()),
            None => (path.to_owned(), mistake::in_user_words(message)),
        };
        let member = mistake::quoted_member(&self.table, &path, message);
        let line = self.lines.line_of(member.as_deref().unwrap_or(&path), message);
        if let Some(flag) = self.flag_of(&path, line) {
            return ScenarioError::invalid(format!("{flag}: {sentence}"));
        }
        match path == "." || path.is_empty() {
            true => ScenarioError::invalid(format!("{}: {sentence}", self.place(None))),
            false => ScenarioError::Key { place: self.place(line), key: path, sentence },
        }
    }

    /// The flag that set the key at `path` or, where the file has no line for it, a key below.
    fn flag_of(&self, path: &str, line: Option<usize>) -> Option<&str> {
        let of_key = |(key, _): &&(String, String)| {
            is_at_or_below(path, key) || line.is_none() && is_at_or_below(key, path)
        };
        self.flags.iter().rfind(of_key).map(|(_, flag)| flag.as_str())
    }

    fn place(&self, line: Option<usize>) -> String {
        let file = self
            .path
            .as_ref()
            .map_or_else(|| "the command line".to_owned(), |path| path.display().to_string());
        match line {
            Some(line) if self.path.is_some() => format!("{file}:{line}"),
            _ => file,
        }
    }
}

/// True if the key `path` is `key` or lies in its table or list.
fn is_at_or_below(path: &str, key: &str) -> bool {
    path.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
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

/// A key or a member of a list, from 1 its line, and what is below it.
#[derive(Debug, Clone)]
struct Node {
    line: usize,
    below: Below,
}

/// Keys or members below a key.
#[derive(Debug, Clone)]
enum Below {
    Nothing,
    Table(BTreeMap<String, Node>),
    List(Vec<Node>),
}

impl Below {
    fn table(table: &DeTable<'_>, line_at: &dyn Fn(usize) -> usize) -> Below {
        let node = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
            let name: &std::borrow::Cow<'_, str> = key.get_ref();
            (name.to_string(), Node { line: line_at(key.span().start), below: Below::of(value, line_at) })
        };
        Below::Table(table.iter().map(node).collect())
    }

    fn of(value: &Spanned<DeValue<'_>>, line_at: &dyn Fn(usize) -> usize) -> Below {
        let member = |value: &Spanned<DeValue<'_>>| Node {
            line: line_at(value.span().start),
            below: Below::of(value, line_at),
        };
        match value.get_ref() {
            DeValue::Table(table) => Below::table(table, line_at),
            DeValue::Array(values) => Below::List(values.iter().map(member).collect()),
            _ => Below::Nothing,
        }
    }
}

impl Node {
    /// The line of the key at `path`, or of the last table on the way to it that is written. A table that is
    /// read as a whole has the key in its message, first of all that is quoted there.
    fn line_of(&self, path: &str, message: &str) -> Option<usize> {
        let mut found = None;
        let (mut at, mut rest) = (self, path);
        while let Some((next, after)) = at.step(rest) {
            found = Some(next.line);
            (at, rest) = (next, after);
        }
        let named = message.split('`').nth(1).and_then(|name| at.child(name));
        named.map(|named| named.line).or(found)
    }

    /// The node that `path` begins with, and the rest of the path. A key may have dots of its own.
    fn step<'p>(&self, path: &'p str) -> Option<(&Node, &'p str)> {
        match &self.below {
            Below::Nothing => None,
            Below::Table(nodes) => {
                let path = path.strip_prefix('.').unwrap_or(path);
                let fitting = nodes.iter().filter(|(key, _)| is_at_or_below(path, key));
                let (key, node) = fitting.max_by_key(|(key, _)| key.len())?;
                Some((node, &path[key.len()..]))
            }
            Below::List(nodes) => {
                let (number, rest) = path.strip_prefix('[')?.split_once(']')?;
                Some((nodes.get(number.parse::<usize>().ok()?)?, rest))
            }
        }
    }

    fn child(&self, name: &str) -> Option<&Node> {
        match &self.below {
            Below::Table(nodes) => nodes.get(name),
            Below::Nothing | Below::List(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_its_line() {
        let text = "a = 1\n[b]\nc = { d = 1 }\n\n[[e]]\nf = 1\n[[e]]\nf = [\n  1,\n  2,\n]\n[g.'x.y']\nz = 1\n[g.x]\nw = 1\n";
        let document = Document::parse(text, None).expect("TOML");
        let line = |path: &str| document.lines.line_of(path, "");
        for (path, expected) in [
            ("a", Some(1)),
            ("b", Some(2)),
            ("b.c.d", Some(3)),
            ("b.c.missing", Some(3)),
            ("e[0].f", Some(6)),
            ("e[1]", Some(7)),
            ("e[1].f", Some(8)),
            ("e[1].f[1]", Some(10)),
            ("e[1].missing", Some(7)),
            ("e[2].f", Some(5)),
            ("g.x.y.z", Some(13)),
            ("g.x.w", Some(15)),
            ("missing.a", None),
            (".", None),
        ] {
            assert_eq!(line(path), expected, "{path}");
        }
        assert_eq!(document.lines.line_of("b", "`c` is wrong"), Some(3), "the key that the message names");
    }

    /// A list that is read as a whole has the line of the member that the message quotes.
    #[test]
    fn a_member_of_a_list_has_its_line() {
        let text = "[sockets]\nsources = [\n  '127.0.0.1',\n  'x',\n]";
        let document = Document::parse(text, Some(Path::new("s.toml"))).expect("TOML");
        let error = document.typed::<crate::Scenario>().expect_err(text).to_string();
        assert!(error.starts_with("s.toml:4: sockets.sources: `x` "), "{error}");
    }

    /// A mistake in a table that is read as a whole, be it of a list, has its own key.
    #[test]
    fn a_mistake_in_a_list_of_tables_has_its_key() {
        let key = |text: &str| {
            let document = Document::parse(text, Some(Path::new("s.toml"))).expect("TOML");
            match document.typed::<crate::Scenario>().expect_err(text) {
                ScenarioError::Key { key, .. } => key,
                other => panic!("{text}: {other}"),
            }
        };
        let stages = |rows: &str| format!("[load]\nmodel = 'closed'\nstages = [{rows}]");
        for (text, expected) in [
            (
                "[[flow]]\nname = 'a'\n[[flow]]\nname = 'b'\nload = { model = 'closed', users = 0 }",
                "flow[1].load.users",
            ),
            (stages("{ for = '1s', to = 1 }, { for = 'soon', to = 2 }").as_str(), "load.stages[1].for"),
            (stages("{ for = '1s', to = 1 }, { for = '2s' }").as_str(), "load.stages[1].to"),
            // Two that are as wrong are one table's.
            (stages("{ for = 'soon', to = 1 }, { for = 'soon', to = 2 }").as_str(), "load"),
            (
                "[session]\nstate = [{ name = 'a', path = '/' }, { name = 'a b', path = '/' }]",
                "session.state[1].name",
            ),
        ] {
            assert_eq!(key(text), expected, "{text}");
        }
    }

    /// A value that a flag set is not the file's, even where the file has its table or had another value.
    #[test]
    fn a_flag_over_a_file_is_named() {
        let flags = Overlay::default().with("load.think", "--think", "soon");
        for text in ["[load]\nusers = 3", "[load]\nthink = '1s'"] {
            let mut document = Document::parse(text, Some(Path::new("s.toml"))).expect("TOML");
            document.lay_over(&flags).expect("keys that fit");
            let error = document.typed::<crate::Scenario>().expect_err(text).to_string();
            assert!(error.starts_with("--think: "), "{error}");
        }
    }
}
