//! Path of a session through its states: a list, a weighted choice, or a table of transitions as RUBiS and
//! TPC-W have it (Markov, with an entry, `back` and `end`).

use super::SessionError;
use super::around::Around;
use crate::alias::AliasTable;
use farfield_base::random::Stream;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A way as written in `path`: names in order, or weights by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a path is a list of states' names, or a table of their weights")]
pub enum PathSpec {
    /// States one after the other, and then the end.
    List(Vec<String>),
    /// Any of these each time, as often as it weighs, without an end of its own.
    Choice(BTreeMap<String, f64>),
}

/// Entry of a session: a state, or several with their probabilities.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "an entry is a state's name, or a table of probabilities by name")]
pub enum EntrySpec {
    /// Always here.
    State(String),
    /// Several states, each with its probability.
    States(BTreeMap<String, f64>),
}

/// Probabilities by the state gone from and the state gone to, which may be [`BACK`] and [`END`].
pub type TransitionsSpec = BTreeMap<String, BTreeMap<String, f64>>;

/// Name in a table of transitions: back to the state before this one.
pub const BACK: &str = "back";
/// Name in a table of transitions: the end of the session.
pub const END: &str = "end";

/// Distance from 1 that the sum of a row's probabilities may have: printed tables are rounded.
const SUM_ERROR_MAX: f64 = 1e-6;
/// States that a session can go back over; those before are forgotten.
const TRAIL_MAX: usize = 32;

/// Path of a session through states, which are numbers from 0. A transition takes constant time.
#[derive(Debug, Clone, PartialEq)]
pub enum StatePath {
    /// States one after the other, and then the end.
    List(Box<[u16]>),
    /// A choice among states each time.
    Choice {
        /// The choice among `states`.
        table: AliasTable,
        /// The states to choose among.
        states: Box<[u16]>,
    },
    /// A table of transitions.
    Markov {
        /// Probabilities of the first state.
        entry: TransitionRow,
        /// Rows by the state left.
        rows: Box<[TransitionRow]>,
    },
}

/// Transitions from one state, each with its probability.
#[derive(Debug, Clone, PartialEq)]
pub struct TransitionRow {
    table: AliasTable,
    transitions: Box<[Transition]>,
    weights: Box<[f64]>,
}

/// Transition to the next state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transition {
    /// To a state.
    To(u16),
    /// To the state before.
    Back,
    /// To the end.
    End,
}

impl Transition {
    /// The state that it leads to by itself.
    fn state(self) -> Option<u16> {
        match self {
            Transition::To(state) => Some(state),
            Transition::Back | Transition::End => None,
        }
    }
}

/// Position of a session on its path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathProgress {
    /// The place in a list, or the state.
    at: u16,
    /// States that can be gone back to, the last one last.
    trail: Vec<u16>,
}

impl TransitionRow {
    fn draw(&self, rng: &mut Stream) -> Transition {
        self.transitions[self.table.sample(rng)]
    }

    /// The transitions with their probabilities.
    pub fn transitions(&self) -> impl Iterator<Item = (Transition, f64)> {
        self.transitions.iter().copied().zip(self.weights.iter().copied())
    }
}

impl StatePath {
    /// The first state of a session.
    pub fn begin(&self, rng: &mut Stream) -> (PathProgress, u16) {
        match self {
            StatePath::List(states) => (PathProgress::default(), states[0]),
            StatePath::Choice { table, states } => (PathProgress::default(), states[table.sample(rng)]),
            StatePath::Markov { entry, .. } => {
                let at = entered(entry, rng);
                (PathProgress { at, trail: Vec::new() }, at)
            }
        }
    }

    /// The state after the one that `progress` is in; nothing if the session is at its end.
    pub fn next(&self, progress: &mut PathProgress, rng: &mut Stream) -> Option<u16> {
        match self {
            StatePath::List(states) => {
                progress.at = progress.at.saturating_add(1);
                states.get(usize::from(progress.at)).copied()
            }
            StatePath::Choice { table, states } => Some(states[table.sample(rng)]),
            StatePath::Markov { entry, rows } => {
                let to = match rows[usize::from(progress.at)].draw(rng) {
                    Transition::End => return None,
                    // Users with nowhere to go back to begin again.
                    Transition::Back => progress.trail.pop().unwrap_or_else(|| entered(entry, rng)),
                    Transition::To(state) => {
                        if progress.trail.len() == TRAIL_MAX {
                            progress.trail.remove(0);
                        }
                        progress.trail.push(progress.at);
                        state
                    }
                };
                progress.at = to;
                Some(to)
            }
        }
    }

    /// The states that a session can begin in.
    pub fn entries(&self) -> Vec<u16> {
        match self {
            StatePath::List(states) => states[..1].to_vec(),
            StatePath::Choice { states, .. } => states.to_vec(),
            StatePath::Markov { entry, .. } => targets(entry).collect(),
        }
    }

    /// The states that a session can come to from those that it begins in.
    pub(super) fn reached(&self) -> BTreeSet<u16> {
        let (entry, rows) = match self {
            StatePath::List(states) | StatePath::Choice { states, .. } => {
                return states.iter().copied().collect();
            }
            StatePath::Markov { entry, rows } => (entry, rows),
        };
        let likely = |row: &TransitionRow| {
            let to = row.transitions().filter(|(_, weight)| *weight > 0.0).map(|(to, _)| to);
            to.filter_map(Transition::state).collect::<Vec<u16>>()
        };
        let mut waiting = likely(entry);
        let mut reached = BTreeSet::new();
        while let Some(state) = waiting.pop() {
            if reached.insert(state) {
                waiting.extend(likely(&rows[usize::from(state)]));
            }
        }
        reached
    }

    /// The pairs of states that can follow each other. Back leads to any that has this state in its row, or
    /// an entry.
    pub fn follows(&self) -> Vec<(u16, u16)> {
        match self {
            StatePath::List(states) => states.windows(2).map(|pair| (pair[0], pair[1])).collect(),
            StatePath::Choice { states, .. } => {
                states.iter().flat_map(|from| states.iter().map(|to| (*from, *to))).collect()
            }
            StatePath::Markov { rows, .. } => {
                let numbered = || (0u16..).zip(rows.iter());
                let mut pairs: Vec<(u16, u16)> =
                    numbered().flat_map(|(from, row)| targets(row).map(move |to| (from, to))).collect();
                for (from, row) in numbered() {
                    if row.transitions.contains(&Transition::Back) {
                        let any = numbered().map(|(to, _)| (from, to));
                        pairs.extend(any);
                    }
                }
                pairs
            }
        }
    }
}

fn targets(row: &TransitionRow) -> impl Iterator<Item = u16> + '_ {
    row.transitions.iter().copied().filter_map(Transition::state)
}

/// A state of an entry's row, which leads to states only.
fn entered(entry: &TransitionRow, rng: &mut Stream) -> u16 {
    match entry.draw(rng) {
        Transition::To(state) => state,
        Transition::Back | Transition::End => unreachable!("an entry leads to states"),
    }
}

/// Resolves the keys of a scenario on a session's path through states of these `names`.
pub(super) fn resolve(
    names: &[&str],
    around: &Around,
    path: Option<&PathSpec>,
    entry: Option<&EntrySpec>,
    transitions: &TransitionsSpec,
) -> Result<StatePath, SessionError> {
    let state = |key: &str, name: &str| {
        let place = names.iter().position(|known| *known == name);
        let place = place.ok_or_else(|| SessionError::no_state(key, name, names))? as u16;
        match around.list_of(place) {
            None => Ok(place),
            Some(list) => {
                let sentence = format!("`{name}` stands in `{list}` already; write a state for each place");
                Err(SessionError::at(key, sentence))
            }
        }
    };
    if !transitions.is_empty() {
        if path.is_some() {
            return Err(SessionError::at("path", "there are `transitions` already; leave one of both out"));
        }
        return markov(names, around, entry, transitions, state);
    }
    if entry.is_some() {
        return Err(SessionError::at("entry", "is about `transitions`; leave it out"));
    }
    match path {
        None => {
            let own = (0..names.len() as u16).filter(|state| around.list_of(*state).is_none());
            Ok(StatePath::List(own.collect()))
        }
        Some(PathSpec::List(list)) if list.is_empty() => {
            Err(SessionError::at("path", "there is no state in it; name at least one"))
        }
        Some(PathSpec::List(list)) if list.len() > usize::from(u16::MAX) => {
            Err(SessionError::at("path", "is too long; name at most 65535 states"))
        }
        Some(PathSpec::List(list)) => {
            list.iter().map(|name| state("path", name)).collect::<Result<_, _>>().map(StatePath::List)
        }
        Some(PathSpec::Choice(weights)) => {
            let states: Result<_, _> = weights.keys().map(|name| state("path", name)).collect();
            let table = AliasTable::new(&weights.values().copied().collect::<Vec<_>>());
            let table = table.map_err(|error| SessionError::at("path", error))?;
            Ok(StatePath::Choice { table, states: states? })
        }
    }
}

fn markov(
    names: &[&str],
    around: &Around,
    entry: Option<&EntrySpec>,
    transitions: &TransitionsSpec,
    state: impl Fn(&str, &str) -> Result<u16, SessionError>,
) -> Result<StatePath, SessionError> {
    let to_state = |key: &str, name: &str| state(key, name).map(Transition::To);
    let entry = match entry {
        None => {
            let own = (0..).zip(names).find(|(state, _)| around.list_of(*state).is_none());
            let (_, name) = own.expect("a session has a state of its own");
            row("entry", &BTreeMap::from([((*name).to_owned(), 1.0)]), to_state)?
        }
        Some(EntrySpec::State(name)) => row("entry", &BTreeMap::from([(name.clone(), 1.0)]), to_state)?,
        Some(EntrySpec::States(states)) => row("entry", states, to_state)?,
    };
    for from in transitions.keys() {
        state("transitions", from)?;
    }
    let end = BTreeMap::from([(END.to_owned(), 1.0)]);
    let rows = (0..).zip(names).map(|(number, from)| {
        let key = format!("transitions.{from}");
        if around.list_of(number).is_some() {
            return row(&key, &end, |_, _| Ok(Transition::End));
        }
        let written = transitions.get(*from).ok_or_else(|| {
            SessionError::at(
                "transitions",
                format!("there is no row for `{from}`; write where it leads, and how often"),
            )
        })?;
        row(&key, written, |key, name| match name {
            BACK => Ok(Transition::Back),
            END => Ok(Transition::End),
            _ => to_state(key, name),
        })
    });
    Ok(StatePath::Markov { entry, rows: rows.collect::<Result<_, _>>()? })
}

fn row(
    key: &str,
    written: &BTreeMap<String, f64>,
    step: impl Fn(&str, &str) -> Result<Transition, SessionError>,
) -> Result<TransitionRow, SessionError> {
    let transitions: Result<Box<[Transition]>, _> = written.keys().map(|name| step(key, name)).collect();
    let weights: Vec<f64> = written.values().copied().collect();
    if let Some((name, bad)) = written.iter().find(|(_, weight)| !(0.0..=1.0).contains(*weight)) {
        return Err(SessionError::at(
            format!("{key}.{name}"),
            format!("is {bad}; write a probability from 0 to 1"),
        ));
    }
    let sum: f64 = weights.iter().sum();
    if (sum - 1.0).abs() > SUM_ERROR_MAX {
        let sentence =
            format!("the probabilities sum to {sum:.6}, not to 1; `{END} = …` is where a session may end");
        return Err(SessionError::at(key, sentence));
    }
    let table = AliasTable::new(&weights).map_err(|error| SessionError::at(key, error))?;
    Ok(TransitionRow { table, transitions: transitions?, weights: weights.into() })
}
