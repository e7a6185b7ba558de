//! Conditional and repeated states, by the values of variables.
//!
//! `if-found = "next"` requests a state only where the variable has a value that is not empty, `unless-found`
//! only where it has none. `repeat = 3` requests it three times in a row, `while-found = "next"` again for as
//! long as its own reply gave the variable a value, `repeat` times at most.

use super::names::Names;
use super::state::StateSpec;
use super::{Session, SessionError};
use std::collections::BTreeSet;
use std::num::NonZeroU32;

/// Times that a state with `while-found` is asked for at most, where the scenario does not say.
pub const REPEATS_MAX: u32 = 100;

/// Condition under which a state is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Condition {
    /// The variable.
    pub variable: u16,
    /// The variable must have a value that is not empty; if not, it must have none.
    pub found: bool,
}

/// Repetition of a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repeat {
    /// So often at most.
    pub times: u32,
    /// Repeats only while this variable has a value that is not empty.
    pub while_found: Option<u16>,
}

impl StateSpec {
    /// The variables that decide whether the state is asked for, by their keys.
    pub(super) fn deciding(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let keys = [
            ("if-found", &self.if_found),
            ("unless-found", &self.unless_found),
            ("while-found", &self.while_found),
        ];
        keys.into_iter().filter_map(|(key, name)| Some((key, name.as_deref()?)))
    }

    /// The state's conditions and repeats; `key` is where the state stands.
    pub(super) fn course(
        &self,
        names: &Names,
        key: &str,
    ) -> Result<(Vec<Condition>, Option<Repeat>), SessionError> {
        let variable = |part: &str, name: &str| names.known_variable(&format!("{key}.{part}"), name);
        let mut conditions = Vec::new();
        for (part, name, found) in
            [("if-found", &self.if_found, true), ("unless-found", &self.unless_found, false)]
        {
            if let Some(name) = name {
                conditions.push(Condition { variable: variable(part, name)?, found });
            }
        }
        let while_found =
            self.while_found.as_deref().map(|name| variable("while-found", name)).transpose()?;
        let repeat = (while_found.is_some() || self.repeat.is_some())
            .then(|| Repeat { times: self.repeat.map_or(REPEATS_MAX, NonZeroU32::get), while_found });
        Ok((conditions, repeat))
    }
}

impl Session {
    /// The states that a session can begin in, those among them that stand behind states which may be left
    /// out.
    pub(super) fn entries(&self) -> BTreeSet<u16> {
        let mut entries = self.begins();
        let follows = self.follows();
        let skipped: Vec<u16> =
            entries.iter().copied().filter(|state| self.may_be_left_out(*state)).collect();
        for (from, to) in follows {
            if skipped.contains(&from) {
                entries.insert(to);
            }
        }
        entries
    }

    /// The pairs of states that can follow each other, over states that may be left out and again to those
    /// that are repeated.
    pub(super) fn follows(&self) -> BTreeSet<(u16, u16)> {
        let mut pairs = self.pairs();
        let repeated = (0..).zip(&self.states).filter(|(_, state)| state.repeat.is_some());
        pairs.extend(repeated.map(|(number, _)| (number, number)));
        for left_out in (0..self.states.len() as u16).filter(|state| self.may_be_left_out(*state)) {
            let before: Vec<u16> =
                pairs.iter().filter(|(_, to)| *to == left_out).map(|(from, _)| *from).collect();
            let behind: Vec<u16> =
                pairs.iter().filter(|(from, _)| *from == left_out).map(|(_, to)| *to).collect();
            pairs.extend(before.iter().flat_map(|from| behind.iter().map(move |to| (*from, *to))));
        }
        pairs
    }

    fn may_be_left_out(&self, state: u16) -> bool {
        !self.states[usize::from(state)].conditions.is_empty()
    }
}
