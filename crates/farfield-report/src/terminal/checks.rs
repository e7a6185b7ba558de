//! The checks that failed: first causes with what to do, and below each what follows from it.
//!
//! In little room the first cause keeps its advice longest: it is what a reader acts on.

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
    let noted = |cause: &Check| [with_note(cause), consequences(&follow(cause))].concat();
    let terse = |cause: &Check| [vec![line(cause)], consequences(&follow(cause))].concat();
    let Some((first, others)) = causes.split_first() else { return Vec::new() };
    let attempts: [Vec<String>; 5] = [
        causes.iter().flat_map(|cause| whole(cause)).collect(),
        whole(first).into_iter().chain(others.iter().flat_map(|cause| noted(cause))).collect(),
        // The notes of others say what is wrong beside the first cause: they outrank the end of its own.
        [vec![line(first)], advice(first), others.iter().flat_map(|cause| noted(cause)).collect()].concat(),
        whole(first).into_iter().chain(others.iter().flat_map(|cause| terse(cause))).collect(),
        [vec![line(first)], advice(first), others.iter().map(|cause| line(cause)).collect()].concat(),
    ];
    if let Some(fits) = attempts.into_iter().find(|lines| lines.len() <= room) {
        return fits;
    }
    in_short(first, others, &failed, room)
}

/// Lines of the first cause with all of its advice; none where nothing failed.
pub(super) fn first_cause_lines(verdict: &Verdict) -> usize {
    verdict.first_cause().map_or(0, |cause| 1 + advice(cause).len())
}

/// The first cause with as many whole sentences of what to do as there is room for, and a line of each other
/// cause, or where there is none for these the names of all that failed beside it.
fn in_short(first: &Check, others: &[&Check], failed: &[&Check], room: usize) -> Vec<String> {
    let named = |checks: &mut dyn Iterator<Item = &&Check>| {
        let names: Vec<String> = checks.map(|check| check.name.clone()).collect();
        (!names.is_empty()).then(|| format!("  ! and {}", list(names, COLUMNS - "  ! and ".len())))
    };
    let is_cause = |check: &Check| others.iter().chain([&first]).any(|cause| cause.name == check.name);
    let lines = others.iter().map(|cause| line(cause));
    let following = named(&mut failed.iter().filter(|check| !is_cause(check)));
    // Two lines for the first, and one for each other.
    let rest: Vec<String> = match room.checked_sub(2 + others.len()) {
        Some(left) => lines.chain(following.filter(|_| left > 0)).collect(),
        None if room < 2 => Vec::new(),
        None => named(&mut failed.iter().filter(|check| check.name != first.name)).into_iter().collect(),
    };
    let space = room.saturating_sub(rest.len());
    let advice = advice_within(first, space.saturating_sub(1));
    iter::once(line(first)).chain(advice).take(space).chain(rest).take(room).collect()
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
    check.advice.as_deref().map_or_else(Vec::new, in_lines)
}

fn in_lines(advice: &str) -> Vec<String> {
    const ARROW: &str = "→ ";
    let lines = wrapped(advice, COLUMNS - MARGIN.len() - ARROW.chars().count()).into_iter().enumerate();
    lines.map(|(at, line)| format!("{MARGIN}{}{line}", if at == 0 { ARROW } else { "  " })).collect()
}

/// The advice in at most `room` lines: whole, or as many of its sentences and clauses as there is room for,
/// or where it is. None is cut off in its middle.
fn advice_within(check: &Check, room: usize) -> Vec<String> {
    let Some(advice) = &check.advice else { return Vec::new() };
    let whole = in_lines(advice);
    if whole.len() <= room {
        return whole;
    }
    let ends = advice.match_indices(['.', ';']).map(|(at, mark)| at + mark.len());
    let ends: Vec<usize> = ends.filter(|end| advice[*end..].starts_with(' ')).collect();
    let begun = ends.into_iter().rev().map(|end| {
        let begun = advice[..end].trim_end_matches(';');
        in_lines(&format!("{begun} (more in summary.json)"))
    });
    let elsewhere = || in_lines("what to do: summary.json, `advice`");
    begun.into_iter().find(|lines| lines.len() <= room).unwrap_or_else(elsewhere)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::scene::Scene;
    use farfield_measure::verdict::CheckState;

    /// The text behind the arrow, in one line; nothing where there is none.
    fn advised(lines: &[String]) -> String {
        let from = lines.iter().position(|line| line.contains('→')).unwrap_or(lines.len());
        let of = lines[from..].iter().take_while(|line| {
            let text = line.trim_start();
            line.starts_with(MARGIN) && !text.starts_with("from it follow")
        });
        let words: Vec<&str> = of.flat_map(|line| line.trim_start_matches([' ', '→']).split(' ')).collect();
        words.join(" ")
    }

    /// In whatever room: an advice is whole, or ends with a sentence or a clause and says where the rest is.
    #[test]
    fn an_advice_is_never_cut_in_its_middle() {
        let advice = "stop other work on this machine, which takes what the workers need; or give the workers \
                      processors of their own by `sockets.processors`. A machine with 80 % of its time taken at 2.5 s \
                      measures nothing. Measure again then.";
        let mut verdict = Scene::worst().summary().verdict;
        for check in &mut verdict.checks {
            check.advice = Some(advice.to_owned());
        }
        let mut seen = std::collections::BTreeSet::new();
        for room in 1..60 {
            let lines = failed(&verdict, room);
            assert!(lines.len() <= room, "{room}: {lines:?}");
            let advised = advised(&lines);
            let begun = advised.strip_suffix(" (more in summary.json)");
            let ends_well = begun.is_some_and(|begun| {
                let rest = advice.strip_prefix(begun).expect("its beginning");
                begun.ends_with('.') || rest.starts_with(';')
            });
            let elsewhere = advised.is_empty() || advised == "what to do: summary.json, `advice`";
            assert!(advised == advice || ends_well || elsewhere, "{room}: {advised}");
            seen.insert(advised.len());
        }
        assert!(seen.len() >= 4, "whole, in part, elsewhere and not at all: {seen:?}");
    }

    /// The note of a second cause is whole where giving up the end of the first's makes room for it.
    #[test]
    fn what_else_is_wrong_is_not_cut_off() {
        let mut verdict = Scene::worst().summary().verdict;
        let mut kept = 0;
        verdict.checks.retain_mut(|check| {
            if check.state != CheckState::Failed || check.name == "completed" || kept == 2 {
                return false;
            }
            check.follows_from = None;
            check.advice = Some("do this".to_owned());
            let note = [
                "long words of the first cause ".repeat(6),
                "0 of 60 requests succeeded and 40 were reset".into(),
            ];
            check.note = Some(note[kept].trim().to_owned());
            kept += 1;
            true
        });
        let in_room = |room| failed(&verdict, room).join("\n");
        assert!(in_room(8).contains("\n    → do this\n  ! "), "{}", in_room(8));
        assert!(in_room(1).contains("long words"), "the first cause, not what else: {}", in_room(1));
        for room in 4..9 {
            let text = in_room(room);
            assert!(text.contains("40 were reset"), "{room}:\n{text}");
            assert!(text.contains("→ do this"), "{room}:\n{text}");
        }
    }

    /// However long the first cause's advice is, each other cause has a line where there are as many.
    #[test]
    fn each_cause_has_a_line() {
        let mut verdict = Scene::worst().summary().verdict;
        verdict.checks.retain(|check| check.state == CheckState::Failed && check.name != "completed");
        for check in &mut verdict.checks {
            check.follows_from = None;
            check.advice = Some("do one thing after the other, and much of it. ".repeat(20));
        }
        let causes = verdict.checks.len();
        assert!(causes > 2, "{causes}");
        for room in 1..30 {
            let lines = failed(&verdict, room);
            let beginning = |check: &&Check| lines.iter().any(|line| line.starts_with(&found(check)));
            let shown = verdict.checks.iter().filter(beginning).count();
            assert_eq!(shown, if room > causes { causes } else { 1 }, "{room}: {lines:#?}");
            assert!(lines.len() <= room, "{room}: {lines:#?}");
        }
    }

    /// A number stands beside its unit, wherever lines end.
    #[test]
    fn a_number_and_its_unit_are_in_one_line() {
        let text = "other processes took 85 % of 2 processors for 1.5 s, 300 ms of it at once";
        for columns in 12..90 {
            for line in wrapped(text, columns) {
                assert!(!line.starts_with(['%', 's']) && !line.starts_with("ms"), "{columns}: {line}");
            }
        }
    }
}
