//! States outside the path of sessions: once before and after the load, and at both ends of each
//! session.
//!
//! `set-up` is requested once in a run, before its load; all sessions have the values that these states
//! extract. `tear-down` is requested once after the load. `first` are the states that each session begins
//! with, and `last` those that it ends with, wherever it is aborted. Each is a list of states, in order,
//! which occur nowhere else.

use super::{Session, SessionError, SessionSpec};
use std::collections::{BTreeMap, BTreeSet};

/// The states around the way, by number.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Around {
    /// Once, before the load.
    pub set_up: Box<[u16]>,
    /// At the beginning of each session.
    pub first: Box<[u16]>,
    /// At the end of each session.
    pub last: Box<[u16]>,
    /// Once, behind the load.
    pub tear_down: Box<[u16]>,
}

impl Around {
    /// The states outside the path of `spec`, whose states have these `names`.
    pub(super) fn of(spec: &SessionSpec, names: &[&str]) -> Result<Around, SessionError> {
        let mut known: BTreeMap<u16, &str> = BTreeMap::new();
        let mut list = |key: &'static str, list: &[String]| {
            let number = |name: &String| {
                let place = names.iter().position(|known| known == name);
                let place = place.ok_or_else(|| SessionError::no_state(key, name, names))? as u16;
                match known.insert(place, key) {
                    None => Ok(place),
                    Some(before) => {
                        let sentence =
                            format!("`{name}` stands in `{before}` already; write a state for each place");
                        Err(SessionError::at(key, sentence))
                    }
                }
            };
            list.iter().map(number).collect::<Result<Box<[u16]>, _>>()
        };
        let around = Around {
            set_up: list("set-up", &spec.set_up)?,
            first: list("first", &spec.first)?,
            last: list("last", &spec.last)?,
            tear_down: list("tear-down", &spec.tear_down)?,
        };
        match known.len() == names.len() {
            true => Err(SessionError::at(
                "state",
                "all states stand in `set-up`, `first`, `last` or `tear-down`; write one for sessions to go through",
            )),
            false => Ok(around),
        }
    }

    /// The list that has this state, if one does.
    pub(super) fn list_of(&self, state: u16) -> Option<&'static str> {
        let lists = [
            ("set-up", &self.set_up),
            ("first", &self.first),
            ("last", &self.last),
            ("tear-down", &self.tear_down),
        ];
        lists.into_iter().find(|(_, list)| list.contains(&state)).map(|(key, _)| key)
    }

    /// True if `state` is requested once in a run, and not by sessions.
    pub fn is_once(&self, state: u16) -> bool {
        self.set_up.contains(&state) || self.tear_down.contains(&state)
    }
}

impl Session {
    /// The states that a session, the set-up or the tear-down can begin in, as far as none is left out. The
    /// last states are among them: a session that is broken off comes there from anywhere.
    pub(super) fn begins(&self) -> BTreeSet<u16> {
        let around = &self.around;
        let mut begins: BTreeSet<u16> = [&around.set_up, &around.last, &around.tear_down]
            .into_iter()
            .filter_map(|list| list.first().copied())
            .collect();
        match around.first.first() {
            Some(first) => drop(begins.insert(*first)),
            None => begins.extend(self.route.entries()),
        }
        begins
    }

    /// The pairs of states that follow each other, as far as none is left out or repeated.
    pub(super) fn pairs(&self) -> BTreeSet<(u16, u16)> {
        let around = &self.around;
        let follows = self.route.follows().into_iter().filter(|(_, to)| around.list_of(*to).is_none());
        let mut pairs: BTreeSet<(u16, u16)> = follows.collect();
        for list in [&around.set_up, &around.first, &around.last, &around.tear_down] {
            pairs.extend(list.windows(2).map(|pair| (pair[0], pair[1])));
        }
        if let Some(last) = around.first.last() {
            pairs.extend(self.route.entries().into_iter().map(|entry| (*last, entry)));
        }
        if let Some(last) = around.last.first() {
            let session = (0..self.states.len() as u16)
                .filter(|state| around.list_of(*state).is_none_or(|list| list == "first"));
            pairs.extend(session.map(|state| (state, *last)));
        }
        pairs
    }

    /// The session that the set-up is, if there is one: it goes through its states once, without thinking.
    pub fn set_up(&self) -> Option<Session> {
        self.only(&self.around.set_up)
    }

    /// The session that the tear-down is, if there is one.
    pub fn tear_down(&self) -> Option<Session> {
        self.only(&self.around.tear_down)
    }

    fn only(&self, list: &[u16]) -> Option<Session> {
        if list.is_empty() {
            return None;
        }
        let mut only = Session {
            route: super::path::StatePath::List(list.into()),
            around: Around::default(),
            data: Vec::new(),
            clicks: None,
            think: None,
            ..self.clone()
        };
        only.states.iter_mut().for_each(|state| state.think = None);
        Some(only)
    }
}
