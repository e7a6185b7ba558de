//! Mistakes in a scenario: the key and the sentence, and serde's messages in a user's words.

use farfield_traffic::file::FileError;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// A value that is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// The key, from the outermost table inwards.
    pub key: String,
    /// The sentence for the user: what is wrong, and what would do.
    pub sentence: String,
    /// The file that is at fault, where a value at or below `key` names one.
    pub file: Option<PathBuf>,
}

impl Mistake {
    /// The mistake that `sentence` describes, at `key`.
    pub fn at(key: impl Into<String>, sentence: impl ToString) -> Mistake {
        Mistake { key: key.into(), sentence: sentence.to_string(), file: None }
    }

    /// A file that is unreadable or invalid, named by the value at `key` or by one below it.
    pub fn in_file(key: impl Into<String>, error: &FileError) -> Mistake {
        let (FileError::Unreadable { path, .. }
        | FileError::Line { path, .. }
        | FileError::Whole { path, .. }
        | FileError::Nothing { path, .. }) = error;
        Mistake { file: Some(path.clone()), ..Mistake::at(key, error) }
    }
}

/// The path of the key that `message` is about, where `path` is only that of a table around it: serde reads
/// a tagged table as a whole and then no longer knows where in it a value was. The message names the key, or
/// quotes the value, first; a value may also be in a table further inside.
pub fn inside(document: &Table, path: &str, message: &str) -> String {
    let table = value_at(document, path).and_then(Value::as_table);
    let (Some(table), Some(quoted)) = (table, message.split('`').nth(1)) else { return path.to_owned() };
    let mut fitting = table.iter().filter(|(key, value)| *key == quoted || is_written(value, quoted));
    match (fitting.next(), fitting.next()) {
        (Some((key, _)), None) => return format!("{path}.{key}"),
        (Some(_), Some(_)) => return path.to_owned(),
        (None, _) => {}
    }
    let mut found = Vec::new();
    match message.contains(" has no `") {
        true => collect_without(table, path, quoted, &mut found),
        false => collect_written(table, path, quoted, &mut found),
    }
    match found.as_slice() {
        [_] => found.swap_remove(0),
        _ => path.to_owned(),
    }
}

/// True if a plain value is written so.
fn is_written(value: &Value, quoted: &str) -> bool {
    match value {
        Value::String(text) => text == quoted,
        Value::Table(_) | Value::Array(_) => false,
        other => other.to_string() == quoted,
    }
}

/// The value at `path`, of keys and the numbers of members: `flow[1].load`.
fn value_at<'d>(document: &'d Table, path: &str) -> Option<&'d Value> {
    let (mut table, mut at) = (Some(document), None);
    for step in path.split('.') {
        let (key, numbers) = step.split_once('[').unwrap_or((step, ""));
        let mut value = table?.get(key)?;
        for number in numbers.split('[').filter(|number| !number.is_empty()) {
            value = value.as_array()?.get(number.strip_suffix(']')?.parse::<usize>().ok()?)?;
        }
        (table, at) = (value.as_table(), Some(value));
    }
    at
}

/// The paths below `path` of all plain values that are written so.
fn collect_written(table: &Table, path: &str, quoted: &str, found: &mut Vec<String>) {
    for (key, value) in table {
        collect_written_at(value, &format!("{path}.{key}"), quoted, found);
    }
}

fn collect_written_at(value: &Value, path: &str, quoted: &str, found: &mut Vec<String>) {
    match value {
        Value::Table(table) => collect_written(table, path, quoted, found),
        Value::Array(members) => {
            for (number, member) in members.iter().enumerate() {
                collect_written_at(member, &format!("{path}[{number}]"), quoted, found);
            }
        }
        value if is_written(value, quoted) => found.push(path.to_owned()),
        _ => {}
    }
}

/// The paths that the key `name` would have in those tables of the lists in `table` that lack it.
fn collect_without(table: &Table, path: &str, name: &str, found: &mut Vec<String>) {
    for (key, value) in table {
        for (number, member) in value.as_array().into_iter().flatten().enumerate() {
            if member.as_table().is_some_and(|member| !member.contains_key(name)) {
                found.push(format!("{path}.{key}[{number}].{name}"));
            }
        }
    }
}

/// The path of the member that `message` quotes first, if the list at `path` has exactly one such.
pub fn quoted_member(document: &Table, path: &str, message: &str) -> Option<String> {
    let quoted = message.split('`').nth(1)?;
    let (last, tables) = path.rsplit_once('.').map_or((path, None), |(tables, last)| (last, Some(tables)));
    let mut tables = tables.into_iter().flat_map(|tables| tables.split('.'));
    let members =
        tables.try_fold(document, |table, key| table.get(key)?.as_table())?.get(last)?.as_array()?;
    let mut fitting = (0..).zip(members).filter(|(_, member)| member.as_str() == Some(quoted));
    match (fitting.next(), fitting.next()) {
        (Some((number, _)), None) => Some(format!("{path}[{number}]")),
        _ => None,
    }
}

/// The key in `document`, at or below `path`, whose value is the name of `file`, if there is exactly one.
pub fn key_of_file(document: &Table, path: &str, file: &Path) -> Option<String> {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let mut at = document.get(first)?;
    for key in rest.into_iter().flat_map(|rest| rest.split('.')) {
        at = at.as_table()?.get(key)?;
    }
    let mut found = Vec::new();
    collect_keys(at, path, file, &mut found);
    match found.as_slice() {
        [_] => found.pop(),
        _ => None,
    }
}

fn collect_keys(value: &Value, path: &str, file: &Path, found: &mut Vec<String>) {
    match value {
        Value::String(text) if Path::new(text) == file => found.push(path.to_owned()),
        Value::Table(table) => {
            for (key, value) in table {
                collect_keys(value, &format!("{path}.{key}"), file, found);
            }
        }
        Value::Array(values) => {
            for (number, value) in values.iter().enumerate() {
                collect_keys(value, &format!("{path}[{number}]"), file, found);
            }
        }
        _ => {}
    }
}

/// serde's message in a user's words for types.
pub fn in_user_words(message: &str) -> String {
    let message = message.replace("internally tagged enum LoadSpec", "a table with the key `model`");
    ["u16", "u32", "u64"].iter().fold(message, |message, kind| {
        message
            .replace(&format!("a nonzero {kind}"), "a whole number from 1")
            .replace(&format!("expected {kind}"), "expected a whole number from 0")
    })
}

/// A name that is not among those there are.
pub struct Unknown<'m> {
    /// The name that was given.
    pub name: &'m str,
    /// The names that there are.
    known: Vec<&'m str>,
    /// "key" or "value".
    pub what: &'static str,
}

impl<'m> Unknown<'m> {
    /// Reads serde's "unknown field `x`, expected one of `a`, `b`" and its like.
    pub fn of(message: &'m str) -> Option<Unknown<'m>> {
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

    /// The value that the field calls by the name that was given.
    fn synonym(&self) -> Option<&'static str> {
        let (_, own) = SYNONYMS.iter().find(|(word, _)| word.eq_ignore_ascii_case(self.name))?;
        self.known.contains(own).then_some(*own)
    }

    /// The sentence for the user: with the right name if one is near; else with all that there are, or the
    /// nearest of many.
    pub fn sentence(&self) -> String {
        let distance = |known: &&str| strsim::damerau_levenshtein(known, self.name);
        let none = format!("there is no {} `{}`", self.what, self.name);
        if let Some(own) = self.synonym() {
            return format!("{none}; did you mean `{own}`?");
        }
        let closest = self.known.iter().map(|own| (distance(own), own)).min();
        let is_slip = |distance: usize, own: &str| {
            distance <= 2.max(own.len() / 3) && distance < own.len().min(self.name.len())
        };
        if let Some((_, own)) = closest.filter(|(distance, own)| is_slip(*distance, own)) {
            return format!("{none}; did you mean `{own}`?");
        }
        if self.known.len() <= LISTED_MAX {
            return format!("{none}; there are `{}`", self.known.join("`, `"));
        }
        // Of names that are not meant by a slip of the hand a long one may have a word in common.
        let share = |own: &&str| distance(own) * 1000 / own.len().max(self.name.len()).max(1);
        let mut near: Vec<(usize, &str)> = self.known.iter().map(|own| (share(own), *own)).collect();
        near.sort_unstable();
        let near: Vec<&str> = near.into_iter().take(NEAREST).map(|(_, own)| own).collect();
        format!("{none}; the nearest of {} are `{}`", self.known.len(), near.join("`, `"))
    }
}

/// Words of the field for values that have another name here.
const SYNONYMS: [(&str, &str); 15] = [
    ("lte", "4g"),
    ("nr", "5g"),
    ("wlan", "wifi"),
    ("802.11", "wifi"),
    ("ftth", "fibre"),
    ("fttp", "fibre"),
    ("adsl", "dsl"),
    ("vdsl", "dsl"),
    ("vdsl2", "dsl"),
    ("leo", "low-orbit"),
    ("satellite-leo", "low-orbit"),
    ("leo-satellite", "low-orbit"),
    ("geo", "geostationary"),
    ("vsat", "geostationary"),
    ("lan", "ethernet"),
];

/// Names in a sentence at most; of more, the nearest.
const LISTED_MAX: usize = 16;
const NEAREST: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_net::access::Access;
    use serde::de::value::StrDeserializer;

    #[test]
    fn a_word_of_the_field_leads_to_its_preset() {
        let sentence = |word: &str| {
            let error =
                serde::Deserialize::deserialize(StrDeserializer::<serde::de::value::Error>::new(word))
                    .map(|access: Access| access)
                    .expect_err("no preset");
            Unknown::of(&error.to_string()).expect("an unknown variant").sentence()
        };
        for (word, meant) in SYNONYMS {
            assert_eq!(sentence(word), format!("there is no value `{word}`; did you mean `{meant}`?"));
        }
        assert_eq!(sentence("LTE"), "there is no value `LTE`; did you mean `4g`?");
        assert_eq!(sentence("fiber"), "there is no value `fiber`; did you mean `fibre`?");
        // Nothing of `t1` is in it, be the two as near as two letters.
        let listed = sentence("abc");
        assert!(listed.starts_with("there is no value `abc`; there are `modem-56k`, "), "{listed}");
        assert!(listed.contains("`4g`, `5g`, `wifi`"), "{listed}");
        // Where there is no such value, the word is one like any other.
        let message = "unknown variant `lte`, expected one of `load`, `users`";
        let said = Unknown::of(message).expect("an unknown variant").sentence();
        assert_eq!(said, "there is no value `lte`; there are `load`, `users`");
    }

    #[test]
    fn the_nearest_of_many_names_come_first() {
        let sentence = |name: &str, known: &str| {
            let known: Vec<String> = known.split(' ').map(|own| format!("`{own}`")).collect();
            let message = format!("unknown field `{name}`, expected one of {}", known.join(", "));
            Unknown::of(&message).expect("an unknown field").sentence()
        };
        let few = "users rate model";
        assert_eq!(sentence("modle", few), "there is no key `modle`; did you mean `model`?");
        assert_eq!(
            sentence("throughput", few),
            "there is no key `throughput`; there are `users`, `rate`, `model`"
        );
        let many: Vec<String> = (10..40).map(|at| format!("key-{at}")).collect();
        let said = sentence("timeouts", &format!("{} connect-timeout request-timeout", many.join(" ")));
        let nearest = "the nearest of 32 are `connect-timeout`, `request-timeout`, `";
        assert!(said.starts_with(&format!("there is no key `timeouts`; {nearest}")), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}
