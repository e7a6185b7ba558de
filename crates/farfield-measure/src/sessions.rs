//! Sessions as results: the number that began in the measured part, their outcomes, and their durations.
//!
//! A session belongs to the part of the run in which its first page was due, however late it ends. It is
//! completed when it has reached its end, broken off when a failure ended it in a state, and unfinished
//! if it was open at the end of the run.

use crate::histogram::Histogram;
use farfield_base::{Duration, SessionBegin, SessionEnd, Window};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

farfield_base::mergeable! {
    /// The sessions of a run.
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    pub struct Sessions {
        names: Vec<String> => same,
        begun: u64,
        broken_off: BTreeMap<u16, u64>,
        /// A histogram is 304 KiB: made when the first session is completed.
        durations: Option<Box<Histogram>>,
        all: WholeRun,
    }
}

farfield_base::mergeable! {
    /// Sessions of the whole run, the warm-up included.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub struct WholeRun {
        /// Sessions that began.
        pub begun: u64,
        /// Sessions that were completed.
        pub completed: u64,
        /// Sessions that were broken off.
        pub broken_off: u64,
    }
}

impl Sessions {
    /// Sessions whose states have these names, by number.
    pub fn named(names: Vec<String>) -> Sessions {
        Sessions { names, ..Sessions::default() }
    }

    /// Counts one that began.
    pub fn begun(&mut self, begin: &SessionBegin, window: Window) {
        self.all.begun += 1;
        self.begun += u64::from(window.contains(begin.due));
    }

    /// Counts one that ended.
    pub fn ended(&mut self, end: &SessionEnd, window: Window) {
        match end.broken_off {
            None => self.all.completed += 1,
            Some(_) => self.all.broken_off += 1,
        }
        if !window.contains(end.begin.due) {
            return;
        }
        match end.broken_off {
            None => self.durations.get_or_insert_default().record(end.at.since(end.begin.due)),
            Some(state) => *self.broken_off.entry(state).or_default() += 1,
        }
    }

    /// Sessions that began in the measured part.
    pub fn begun_count(&self) -> u64 {
        self.begun
    }

    /// Number of those that were completed.
    pub fn completed_count(&self) -> u64 {
        self.durations.as_ref().map_or(0, |durations| durations.count())
    }

    /// Number of those that a failure ended.
    pub fn broken_off_count(&self) -> u64 {
        self.broken_off.values().sum()
    }

    /// The states in which sessions were broken off, by name, with their number, in the order of the states.
    pub fn broken_off(&self) -> impl Iterator<Item = (&str, u64)> {
        self.broken_off.iter().map(|(state, count)| (name(&self.names, *state), *count))
    }

    /// From when the first page of a completed session was due to the end of its last; `None` if none was
    /// completed.
    pub fn durations(&self) -> Option<&Histogram> {
        self.durations.as_deref()
    }

    /// Mean length of a session, in a measured part that `lasted` so long; `None` if none is over or open.
    /// Completed ones alone are the short ones where a run is short: those that are open at its end say by
    /// their number how long others take (Little's law), and the longer of the two is taken.
    pub fn mean_length(&self, lasted: Duration) -> Option<Duration> {
        let completed = self.durations().and_then(Histogram::mean);
        let over = self.completed_count() + self.broken_off_count();
        let open = u128::from(self.begun.saturating_sub(over));
        let by_number = (u128::from(lasted.as_ns()) * open).checked_div(u128::from(self.begun));
        let by_number = by_number.filter(|ns| *ns > 0).map(|ns| Duration::from_ns(ns as u64));
        completed.max(by_number)
    }

    /// Sessions of the whole run.
    pub fn whole_run(&self) -> WholeRun {
        self.all
    }
}

/// The name of a state, of those by number; empty where states have no names, as in recordings.
pub(crate) fn name(names: &[String], state: u16) -> &str {
    names.get(usize::from(state)).map_or("", String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::Fold;
    use crate::fold::scene::window;
    use farfield_base::{Instant, Merge, Note};

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_ms(ms)
    }

    /// Begins at each instant; ends where one is given.
    fn notes() -> Vec<Note> {
        let sessions = [
            (5, Some((15, None))),
            (10, Some((14, None))),
            (11, Some((19, None))),
            (12, Some((30, Some(1)))),
            (13, Some((13, Some(0)))),
            (14, None),
            (20, Some((21, None))),
        ];
        let mut notes = Vec::new();
        for (number, (due, end)) in (0..).zip(sessions) {
            let begin = SessionBegin { due: at(due), user: number, session: number };
            notes.push(Note::Begun(begin));
            if let Some((ended, broken_off)) = end {
                notes.push(Note::Ended(SessionEnd { begin, at: at(ended), broken_off }));
            }
        }
        notes
    }

    fn fold(notes: &[Note]) -> Fold {
        let names = ["home", "buy"].map(str::to_owned).to_vec();
        let mut fold = Fold::new(window(10, 20)).naming_states(names);
        notes.iter().for_each(|note| fold.note(note));
        fold
    }

    #[test]
    fn a_session_counts_where_it_began() {
        let fold = fold(&notes());
        let sessions = fold.sessions();
        assert_eq!(
            (sessions.begun_count(), sessions.completed_count(), sessions.broken_off_count()),
            (5, 2, 2)
        );
        assert_eq!(sessions.broken_off().collect::<Vec<_>>(), [("home", 1), ("buy", 1)]);
        let durations = sessions.durations().expect("two were completed");
        assert_eq!(
            (durations.min(), durations.max()),
            (Some(Duration::from_ms(4)), Some(Duration::from_ms(8)))
        );
        assert_eq!(sessions.whole_run(), WholeRun { begun: 7, completed: 4, broken_off: 2 });
    }

    /// Two that took 4 and 8 ms; one of one that is still open after 10 ms.
    #[test]
    fn sessions_last_as_those_that_are_over_or_as_those_that_are_open() {
        let length = |notes: &[Note]| fold(notes).sessions().mean_length(Duration::from_ms(10));
        assert_eq!(length(&notes()), Some(Duration::from_ms(6)));
        let begin = SessionBegin { due: at(14), user: 0, session: 0 };
        assert_eq!(length(&[Note::Begun(begin)]), Some(Duration::from_ms(10)));
        assert_eq!(length(&[]), None);
    }

    #[test]
    fn merging_is_counting_together() {
        let notes = notes();
        for cut in 0..notes.len() {
            let mut merged = fold(&notes[cut..]);
            merged.merge(&fold(&notes[..cut]));
            assert_eq!(merged.sessions(), fold(&notes).sessions());
        }
    }
}
