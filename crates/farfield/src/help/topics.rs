//! `farfield help scenario`, `help checks` and `help metrics`: what the pages of docs say of a name, with the
//! flag that is short for a key, and its default.

use super::nearest::{nearest, with_prefix};
use super::reference::{self, ReferenceEntry};
use super::short::wrapped;
use super::{columns, command};
use crate::exit::Exit;
use crate::flags::scenario::{LoadFlags, ResultFlags, ScenarioFlags};
use crate::output;
use crate::problem::Problem;
use farfield_scenario::{Scenario, schema};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use toml::Value;

/// Columns of names, behind which their words begin.
const NAME_MAX: usize = 40;

/// No command of that name.
pub fn unknown(path: &[&str]) -> Problem {
    let all = command();
    let mut names: Vec<&str> =
        all.get_subcommands().filter(|sub| !sub.is_hide_set()).map(|sub| sub.get_name()).collect();
    names.extend(["scenario", "checks", "metrics"]);
    let near = nearest(path.last().unwrap_or(&""), &names);
    Problem::usage(format!(
        "there is no help about `{}`; the nearest are `{}`",
        path.join(" "),
        near.join("`, `")
    ))
}

/// Keys of the scenario.
pub fn scenario(about: &[&str]) -> Result<Exit, Problem> {
    let of_page = reference::of_keys();
    let described = |key: String| {
        let words = reference::described(&of_page, &key).unwrap_or_default();
        (key, words)
    };
    let help: BTreeMap<String, String> = schema::keys().into_iter().map(described).collect();
    let keys: Vec<&str> = help.keys().map(String::as_str).collect();
    let text = match about {
        [] => {
            let tables = reference::tables();
            let tables = tables.iter().map(|(name, title)| (format!("[{name}]"), title.as_str()));
            let outer = help
                .iter()
                .filter(|(key, _)| !key.contains('.'))
                .map(|(key, words)| (key.clone(), words.as_str()));
            format!(
                "Tables of a scenario; `farfield help scenario run` lists the keys of one\n\n{}\nKeys outside of tables\n\n{}\n\
                 All keys, with examples: docs/scenario.md. `farfield run --show-scenario` prints them as they are.\n",
                list(tables),
                list(outer)
            )
        }
        [typed] => {
            let typed = typed.trim_matches(['[', ']']);
            let inside = format!("{typed}.");
            let of_table: Vec<&str> = keys.iter().filter(|key| key.starts_with(&inside)).copied().collect();
            match help.get(typed) {
                Some(words) => key_page(typed, words, &of_table),
                None if !of_table.is_empty() => listed(&help, &of_table),
                None => listed(&help, &near("key", typed, &keys)?),
            }
        }
        more => return Err(one_only("scenario", more)),
    };
    output::put(&text)?;
    Ok(Exit::Fine)
}

/// Checks of the verdict.
pub fn checks(about: &[&str]) -> Result<Exit, Problem> {
    entries(
        "check",
        &[(
            "Checks of the verdict; `farfield help checks NAME` says more, docs/verdict.md all",
            reference::checks(),
        )],
        about,
    )
}

/// Metrics: those that conditions name, and those that other programs read.
pub fn metrics(about: &[&str]) -> Result<Exit, Problem> {
    let parts = [
        (
            "Metrics of conditions (--threshold, --abort, --slo, --fail-if, --until)",
            reference::metrics_of_conditions(),
        ),
        (
            "Metrics that other programs read (--metrics, --metrics-push, --metrics-otlp)",
            reference::metrics(),
        ),
    ];
    entries("metric", &parts, about)
}

/// All entries, one of them, or those that are near to what was typed.
fn entries(what: &str, parts: &[(&str, Vec<ReferenceEntry>)], about: &[&str]) -> Result<Exit, Problem> {
    let all = || parts.iter().flat_map(|(_, entries)| entries);
    let names: Vec<&str> = all().flat_map(|entry| &entry.names).map(String::as_str).collect();
    let mut text = String::new();
    match about {
        [] => {
            for (at, (title, entries)) in parts.iter().enumerate() {
                let blank = if at > 0 { "\n" } else { "" };
                let _ = write!(text, "{blank}{title}\n\n{}", list(entries.iter().flat_map(rows)));
            }
        }
        [typed] => {
            let named = |name: &str| all().find(|entry| entry.names.iter().any(|own| own == name));
            match named(typed) {
                Some(entry) => text = entry_page(entry),
                None => {
                    let mut near: Vec<&ReferenceEntry> =
                        near(what, typed, &names)?.iter().filter_map(|name| named(name)).collect();
                    near.dedup();
                    text = list(near.iter().flat_map(|entry| rows(entry)));
                }
            }
        }
        more => return Err(one_only(what, more)),
    }
    output::put(&text)?;
    Ok(Exit::Fine)
}

/// The names that begin with what was typed; of none, a problem that names the nearest.
fn near<'n>(what: &str, typed: &str, names: &[&'n str]) -> Result<Vec<&'n str>, Problem> {
    let found = with_prefix(typed, names);
    if !found.is_empty() {
        return Ok(found);
    }
    let near = nearest(typed, names);
    Err(Problem::usage(format!("there is no {what} `{typed}`; the nearest are `{}`", near.join("`, `"))))
}

fn one_only(what: &str, words: &[&str]) -> Problem {
    Problem::usage(format!("help is about one {what} at a time: leave out `{}`", words[1..].join(" ")))
}

/// A key: what it is, its default, and how it is set.
fn key_page(key: &str, words: &str, inside: &[&str]) -> String {
    let mut text = format!("{key}\n{}", paragraph(words, 2));
    let scenario = Value::try_from(Scenario::default()).ok();
    let default = key.split('.').try_fold(scenario.as_ref(), |value, key| Some(value?.get(key)));
    if let Some(default) = default.flatten().filter(|value| !value.is_table()) {
        let _ = writeln!(text, "\ndefault  {default}");
    }
    let flags = [ScenarioFlags::GROUPS, &[LoadFlags::KEYS, ResultFlags::KEYS]].concat().concat();
    let mut all = command();
    all.build();
    let run = all.find_subcommand("run");
    for (flag, _) in flags.iter().filter(|(_, own)| *own == key) {
        let flag = run.and_then(|run| run.get_arguments().find(|argument| argument.get_id() == *flag));
        if let Some(flag) = flag {
            let short = flag.get_short().map_or_else(String::new, |letter| format!("-{letter}, "));
            let _ = writeln!(text, "flag     {short}{flag}");
        }
    }
    if inside.is_empty() {
        let _ = writeln!(text, "set by   --set {key}=VALUE, or in the scenario");
    } else {
        let lines = wrapped(&inside.join(", "), columns().saturating_sub(9));
        let _ = writeln!(text, "keys     {}", lines.join("\n         "));
    }
    text
}

fn entry_page(entry: &ReferenceEntry) -> String {
    let mut text = format!("{}\n", entry.names.join(", "));
    for (column, words) in &entry.cells {
        let _ = write!(text, "\n{column}\n{}", paragraph(words, 2));
    }
    text
}

/// A row for each name, with the last of few cells, which is the meaning, or the first of many.
fn rows(entry: &ReferenceEntry) -> impl Iterator<Item = (String, &str)> {
    let last = entry.cells.last().filter(|_| entry.cells.len() < 3);
    let words = last.or(entry.cells.first()).map_or("", |(_, words)| words.as_str());
    entry.names.iter().map(move |name| (name.clone(), words))
}

fn listed(help: &BTreeMap<String, String>, keys: &[&str]) -> String {
    list(keys.iter().map(|key| ((*key).to_owned(), help.get(*key).map_or("", String::as_str))))
}

/// Names with the beginnings of what they mean, a line each.
fn list<'w>(rows: impl Iterator<Item = (String, &'w str)>) -> String {
    let rows: Vec<(String, &str)> = rows.collect();
    let widths = rows.iter().map(|(name, _)| name.chars().count()).filter(|width| *width <= NAME_MAX);
    let width = widths.max().unwrap_or(0);
    let mut text = String::new();
    for (name, words) in rows {
        let room = columns().saturating_sub(width.max(name.chars().count()) + 4).max(20);
        let mut lines = wrapped(words, room - 1).into_iter();
        let first = lines.next().unwrap_or_default();
        let more = if lines.next().is_some() { "…" } else { "" };
        let _ = writeln!(text, "{}", format!("  {name:<width$}  {first}{more}").trim_end());
    }
    text
}

fn paragraph(words: &str, indent: usize) -> String {
    let lines = wrapped(words, columns().saturating_sub(indent));
    lines.iter().map(|line| format!("{:indent$}{line}\n", "")).collect()
}
