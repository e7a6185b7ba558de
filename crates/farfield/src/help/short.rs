//! `-h`: the flags that people use daily, a line each, below their headings; a line names the others.

use super::after::HelpFooter;
use super::{LINES, heading, literal, styled};
use clap::builder::StyledStr;
use clap::{Arg, ArgAction, Command};
use std::fmt::Write as _;

/// The heading of flags without one, which stand last.
const FURTHER: &str = "Options";
/// Columns of a flag and its value, behind which its words begin; of longer ones they begin in the next line.
const FLAG_MAX: usize = 38;
/// The page's words on the flags that it only names.
const EVERYTHING: &str =
    "Daily flags are explained, others named: `--help` explains all, `farfield help scenario` all keys.";
/// Examples that are shown where there is no room for all.
const EXAMPLES: usize = 1;

/// The help of `command`, whose flags are complete, in lines of at most `columns`.
pub fn render(command: &mut Command, columns: usize) -> StyledStr {
    let mut text = String::new();
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    for line in wrapped(&about, columns) {
        let _ = writeln!(text, "{line}");
    }
    let usage = command.render_usage().to_string();
    let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage).to_owned();
    let usage = wrapped(&usage, columns.saturating_sub(7)).join("\n       ");
    let _ = writeln!(text, "\n{} {}", heading("Usage:"), literal(&usage));
    if names_flags(command) {
        let _ = writeln!(text, "{}", wrapped(EVERYTHING, columns).join("\n"));
    }
    let subcommands: Vec<HelpRow> = command
        .get_subcommands()
        .filter(|sub| !sub.is_hide_set())
        .map(|sub| {
            HelpRow::new(sub.get_name(), &sub.get_about().map(ToString::to_string).unwrap_or_default())
        })
        .collect();
    section(&mut text, "Commands", &subcommands, columns);
    let positionals: Vec<HelpRow> = shown(command).filter(|flag| flag.is_positional()).map(row).collect();
    section(&mut text, "Arguments", &positionals, columns);
    for title in titles(command) {
        let of_title = || of_title(command, &title);
        let rows: Vec<HelpRow> = of_title().filter(|flag| !flag.is_hide_short_help_set()).map(row).collect();
        let others: Vec<String> = of_title()
            .filter(|flag| flag.is_hide_short_help_set())
            .map(|flag| format!("--{}", flag.get_long().unwrap_or_default()))
            .collect();
        section_with(&mut text, &title, &others, &rows, columns);
    }
    end(&mut text, command, columns);
    styled(&text)
}

/// True if some flags are only named.
fn names_flags(command: &Command) -> bool {
    shown(command).any(Arg::is_hide_short_help_set)
}

/// A name with words.
struct HelpRow {
    name: String,
    words: String,
}

impl HelpRow {
    fn new(name: &str, words: &str) -> HelpRow {
        HelpRow { name: name.to_owned(), words: words.to_owned() }
    }
}

/// Flags that are not hidden.
fn shown(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|flag| !flag.is_hide_set())
}

/// Headings in the order of their first flags.
fn titles(command: &Command) -> Vec<String> {
    let mut titles: Vec<String> = Vec::new();
    for flag in shown(command).filter(|flag| !flag.is_positional()) {
        if let Some(title) = flag.get_help_heading().filter(|title| !titles.iter().any(|own| own == title)) {
            titles.push(title.to_owned());
        }
    }
    titles.push(FURTHER.to_owned());
    titles
}

/// Flags of a heading; `--help` itself has no line where the page speaks of it.
fn of_title<'c>(command: &'c Command, title: &'c str) -> impl Iterator<Item = &'c Arg> {
    let speaks = names_flags(command);
    let is_help = |flag: &Arg| matches!(flag.get_action(), ArgAction::Help);
    let flags = shown(command).filter(move |flag| !(flag.is_positional() || speaks && is_help(flag)));
    flags.filter(move |flag| flag.get_help_heading().unwrap_or(FURTHER) == title)
}

fn row(flag: &Arg) -> HelpRow {
    let short = match flag.get_short() {
        Some(letter) => format!("-{letter}, "),
        None if flag.is_positional() => String::new(),
        None => "    ".to_owned(),
    };
    let mut words = match flag.get_action() {
        ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong => {
            "Print this page; --help prints everything".to_owned()
        }
        _ => flag.get_help().map(ToString::to_string).unwrap_or_default(),
    };
    let values: Vec<String> =
        flag.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
    let values = values.join(", ");
    let is_listed = super::defaults::takes_value(flag) && !values.is_empty() && values.len() <= 30;
    if is_listed && !flag.get_possible_values().iter().any(|value| words.contains(value.get_name())) {
        let _ = write!(words, " [{values}]");
    }
    let defaults: Vec<_> = flag.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if !defaults.is_empty() && super::defaults::takes_value(flag) {
        let _ = write!(words, " [default: {}]", defaults.join(" "));
    }
    HelpRow { name: format!("{short}{flag}"), words }
}

fn section(text: &mut String, title: &str, rows: &[HelpRow], columns: usize) {
    section_with(text, title, &[], rows, columns);
}

/// A section, whose heading names the flags that only `--help` has.
fn section_with(text: &mut String, title: &str, others: &[String], rows: &[HelpRow], columns: usize) {
    if rows.is_empty() && others.is_empty() {
        return;
    }
    let _ = write!(text, "\n{}", heading(&format!("{title}:")));
    let others = if others.is_empty() { String::new() } else { format!("also {}", others.join(", ")) };
    let indent = title.chars().count() + 2;
    for (at, line) in wrapped(&others, columns.saturating_sub(indent)).iter().enumerate() {
        let gap = if at == 0 { " ".to_owned() } else { format!("\n{:indent$}", "") };
        let _ = write!(text, "{}", format!("{gap}{line}").trim_end_matches(' '));
    }
    text.push('\n');
    let widths = rows.iter().map(|row| row.name.chars().count()).filter(|width| *width <= FLAG_MAX);
    let width = widths.max().unwrap_or(0).min(columns / 2);
    for row in rows {
        let lines = wrapped(&row.words, columns.saturating_sub(width + 4));
        let mut lines = lines.iter();
        let name = literal(&row.name);
        match row.name.chars().count() {
            own if own <= width => {
                let gap = " ".repeat(width - own + 2);
                let first = lines.next().map_or("", String::as_str);
                let _ = writeln!(text, "{}", format!("  {name}{gap}{first}").trim_end());
            }
            _ => {
                let _ = writeln!(text, "  {name}");
            }
        }
        for line in lines {
            let _ = writeln!(text, "{:width$}    {line}", "");
        }
    }
}

/// Prose, exit codes and examples as far as there is room, which the first examples always have.
fn end(text: &mut String, command: &Command, columns: usize) {
    let whole = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let lines: Vec<String> = whole.lines().flat_map(|line| kept_or_wrapped(line, columns)).collect();
    let taken = text.lines().count() + 1;
    if taken + lines.len() <= LINES {
        if !lines.is_empty() {
            let _ = writeln!(text, "\n{}", lines.join("\n"));
        }
        return;
    }
    let examples = HelpFooter::of(command).examples;
    let lines: Vec<String> = examples
        .iter()
        .take(EXAMPLES)
        .flat_map(|line| kept_or_wrapped(line, columns.saturating_sub(9)))
        .collect();
    if !lines.is_empty() {
        let _ = writeln!(text, "\n{} {}", heading("Example:"), lines.join("\n    "));
    }
}

/// A line as it is, or wrapped below its own indentation where it is too long.
fn kept_or_wrapped(line: &str, columns: usize) -> Vec<String> {
    if line.chars().count() <= columns {
        return vec![line.to_owned()];
    }
    let indent = line.len() - line.trim_start().len();
    let indent = " ".repeat(indent);
    let lines = wrapped(line.trim_start(), columns.saturating_sub(indent.len() + 4));
    let more = |(at, line): (usize, &String)| format!("{indent}{}{line}", if at > 0 { "    " } else { "" });
    lines.iter().enumerate().map(more).collect()
}

/// `text` in lines of at most `columns`; a word that is longer has a line of its own.
pub fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("there is a first one");
        let taken = last.chars().count();
        if taken > 0 && taken + 1 + word.chars().count() > columns {
            lines.push(word.to_owned());
        } else {
            last.push_str(if taken > 0 { " " } else { "" });
            last.push_str(word);
        }
    }
    lines
}
