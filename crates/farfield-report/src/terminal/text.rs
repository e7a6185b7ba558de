//! Text of the terminal's width: cut, broken into lines, labelled, coloured.

use super::{COLUMNS, LABEL, Look};
use crate::figures::{count, percent, rate, time};
use farfield_base::{printable, words};
use farfield_measure::verdict::LimitUnit;
use std::iter;

/// A number of a check or a threshold, with its unit.
pub(crate) fn quantity(number: f64, unit: LimitUnit) -> String {
    match unit {
        LimitUnit::Ns => time(number as u64),
        LimitUnit::Share => percent(number),
        LimitUnit::Count => count(number as u64),
        LimitUnit::PerSecond => rate(number),
    }
}

pub(crate) fn labelled(label: &str, text: &str) -> String {
    fit(&format!("{label:<LABEL$}{text}"), COLUMNS)
}

/// `items` with commas between them, as many as `room` columns hold, and how many more there are.
pub(super) fn list(items: Vec<String>, room: usize) -> String {
    let all = items.join(", ");
    if all.chars().count() <= room {
        return all;
    }
    let mut shown = items.len() - 1;
    loop {
        let more = format!("+{} more", items.len() - shown);
        let line = items[..shown].iter().cloned().chain(iter::once(more)).collect::<Vec<_>>().join(", ");
        if shown == 0 || line.chars().count() <= room {
            return line;
        }
        shown -= 1;
    }
}

/// `text` in lines of at most `columns`, broken between [words]; a word longer than that is cut.
pub(crate) fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words(text) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= columns => {
                line.push(' ');
                line.push_str(&fit(word, columns));
            }
            _ => lines.push(fit(word, columns)),
        }
    }
    lines
}

/// `text` in lines of at most [`COLUMNS`], the first behind `lead` and the others as far to the right.
pub(crate) fn indented(lead: &str, text: &str) -> Vec<String> {
    let width = lead.chars().count();
    let blank = " ".repeat(width);
    let lines = wrapped(text, COLUMNS.saturating_sub(width)).into_iter().enumerate();
    lines.map(|(at, line)| format!("{}{line}", if at == 0 { lead } else { blank.as_str() })).collect()
}

/// `text` in at most `columns`, its end cut off with `…`. Control characters, which a summary from
/// elsewhere could hold, do not reach the terminal.
pub(crate) fn fit(text: &str, columns: usize) -> String {
    let text = printable(text, &[]);
    if text.chars().count() <= columns {
        return text.into_owned();
    }
    text.chars().take(columns.saturating_sub(1)).chain(iter::once('…')).collect()
}

pub(crate) const RED: &str = "\x1b[1;31m";
pub(crate) const GREEN: &str = "\x1b[1;32m";
pub(crate) const YELLOW: &str = "\x1b[1;33m";
const PLAIN: &str = "\x1b[0m";

/// All that [`render`](super::render) writes beside text, with [`Look::colour`]: whoever prints it need let
/// nothing else through.
pub const COLOURS: [&str; 4] = [RED, GREEN, YELLOW, PLAIN];

/// Colours `word` at the beginning of `line`, if asked.
pub(crate) fn paint(word: &str, colour: &str, line: &str, look: Look<'_>) -> String {
    match line.strip_prefix(word) {
        Some(rest) if look.colour => format!("{colour}{word}{PLAIN}{rest}"),
        _ => line.to_owned(),
    }
}
