//! The checks that failed: first causes with what to do, and below each what follows from it.
//!
//! Where room is short the first cause keeps its advice longest: it is what a reader acts on.

use super::{COLUMNS, fit, list, quantity, wrapped};
use farfield_measure::verdict::{ChangedLimit, Check, Verdict};
use std::iter;

/// The indent of each line that belongs to a failed check.
const MARGIN: &str = "    ";

/// The failed checks in at most `room` lines. That a run is not complete has a line of its own elsewhere, and
/// what follows from that needs none.
pub(super) fn failed(verdict: &Verdict, room: usize) -> Vec<String> {
    let all: Vec<&Check> = verdict.failed().collect();
    let failed = all.iter().copied().filter(|check| root(&all, check).name != "completed");
    let failed: Vec<&Check> = failed.collect();
    let causes: Vec<&Check> =
        failed.iter().copied().filter(|check| root(&failed, check).name == check.name).collect();
    let follow = |cause: &Check| -> Vec<&Check> {
        let others = failed.iter().copied().filter(|check| check.name != cause.name);
        others.filter(|check| root(&failed, check).name == cause.name).collect()
    };
    let whole = |cause: &Check| [with_note(cause), advice(cause), consequences(&follow(cause))].concat();
    let terse = |cause: &Check| [vec![line(cause)], consequences(&follow(cause))].concat();
    let Some((first, others)) = causes.split_first() else { return Vec::new() };
    let attempts: [Vec<String>; 3] = [
        causes.iter().flat_map(|cause| whole(cause)).collect(),
        whole(first).into_iter().chain(others.iter().flat_map(|cause| terse(cause))).collect(),
        [vec![line(first)], advice(first), others.iter().map(|cause| line(cause)).collect()].concat(),
    ];
    if let Some(fits) = attempts.into_iter().find(|lines| lines.len() <= room) {
        return fits;
    }
    // The first cause, as much of what to do as there is room for, and the names of the rest.
    let rest: Vec<String> =
        failed.iter().filter(|check| check.name != first.name).map(|c| c.name.clone()).collect();
    let rest = if rest.is_empty() {
        None
    } else {
        Some(format!("  ! and {}", list(rest, COLUMNS - "  ! and ".len())))
    };
    let space = room.saturating_sub(usize::from(rest.is_some()));
    iter::once(line(first)).chain(advice(first)).take(space).chain(rest).take(room).collect()
}

/// "9 checks passed", with the limits that the scenario changed beside it or, in `lines` lines at most,
/// below.
pub(super) fn beside_valid(
    passed: &str,
    changed: &[ChangedLimit],
    columns: usize,
    lines: usize,
) -> Vec<String> {
    let limits: Vec<String> = changed.iter().map(|limit| format!("{} {}", limit.key, limit.value)).collect();
    let says = "set by the scenario: ";
    let limits_text = format!("{says}{}", limits.join(", "));
    let beside = format!("{passed}; {limits_text}");
    let below = wrapped(&limits_text, columns);
    if limits.is_empty() {
        vec![passed.to_owned()]
    } else if beside.chars().count() <= columns {
        vec![beside]
    } else if below.len() < lines {
        iter::once(passed.to_owned()).chain(below).collect()
    } else {
        vec![passed.to_owned(), format!("{says}{}", list(limits, columns - says.len()))]
    }
}

/// The failed check that `check` follows from in the end: itself, if it follows from none of them.
fn root<'a>(failed: &[&'a Check], check: &'a Check) -> &'a Check {
    let mut root = check;
    // As many steps as there are checks, so that a summary from elsewhere in which they go in circles ends.
    for _ in failed {
        let above = failed.iter().find(|other| Some(&other.name) == root.follows_from.as_ref());
        match above {
            Some(above) => root = above,
            None => break,
        }
    }
    root
}

fn line(check: &Check) -> String {
    let note = check.note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
    fit(&format!("{}{note}", found(check)), COLUMNS)
}

/// A check with its note; a long note has lines of its own.
fn with_note(check: &Check) -> Vec<String> {
    match &check.note {
        Some(note) if found(check).chars().count() + note.chars().count() + 3 > COLUMNS => {
            let note = wrapped(note, COLUMNS - MARGIN.len()).into_iter();
            iter::once(fit(&found(check), COLUMNS))
                .chain(note.map(|line| format!("{MARGIN}{line}")))
                .collect()
        }
        _ => vec![line(check)],
    }
}

fn advice(check: &Check) -> Vec<String> {
    const ARROW: &str = "→ ";
    let Some(advice) = &check.advice else { return Vec::new() };
    let lines = wrapped(advice, COLUMNS - MARGIN.len() - ARROW.chars().count()).into_iter().enumerate();
    lines.map(|(at, line)| format!("{MARGIN}{}{line}", if at == 0 { ARROW } else { "  " })).collect()
}

/// The consequences of a cause, in a line.
fn consequences(follow: &[&Check]) -> Vec<String> {
    if follow.is_empty() {
        return Vec::new();
    }
    let says = format!("{MARGIN}from it follow: ");
    let items = follow.iter().map(|check| match check.measured {
        Some(measured) => format!("{} {}", check.name, quantity(measured, check.unit)),
        None => check.name.clone(),
    });
    vec![fit(&format!("{says}{}", list(items.collect(), COLUMNS - says.chars().count())), COLUMNS)]
}

/// A check's name, what was found and its limit.
fn found(check: &Check) -> String {
    let against = match check.measured {
        Some(measured) => {
            format!("{}, limit {}", quantity(measured, check.unit), quantity(check.limit, check.unit))
        }
        None => "not measured".to_owned(),
    };
    format!("  ! {:<17} {against}", check.name)
}
