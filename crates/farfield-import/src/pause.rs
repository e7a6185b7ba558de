//! Pauses of a document: those before its entries become think times behind requests that are taken.
//!
//! A user of the document waits before an entry that is left out as before any other: its pause is added to
//! that of the entry behind it. The pause of the first entry is behind the last, since a session begins with
//! a request.

use crate::draft::{Draft, DraftEntry, StateRole};
use crate::text::quoted;
use farfield_base::Duration;
use std::collections::{BTreeMap, BTreeSet};

/// Difference where pauses have no sum.
pub const UNPAUSED: &str = "without a timer that has no equivalent";
/// Said where a request has one think time, and the document several.
pub const OF_FIRST_ROUND: &str = "behind a request of a loop there is the pause of its first round";

/// A time before a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pause {
    constant: Duration,
    spread: Spread,
    /// All that was added is in it.
    is_whole: bool,
}

/// Random part of a pause.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Spread {
    None,
    /// From 0 to this.
    Uniform(Duration),
    /// The standard deviation.
    Normal(Duration),
}

impl Default for Pause {
    fn default() -> Pause {
        Pause::of(Duration::ZERO, Spread::None)
    }
}

impl Pause {
    /// A constant time, and what is random of it.
    pub fn of(constant: Duration, spread: Spread) -> Pause {
        Pause { constant, spread, is_whole: true }
    }

    /// A pause that cannot be known.
    pub fn unknown() -> Pause {
        Pause { is_whole: false, ..Pause::default() }
    }

    /// Adds a pause. Of two that are random the second is not added: the sum is of neither family.
    pub fn join(&mut self, other: Pause) {
        self.is_whole &= other.is_whole;
        match (self.spread, other.spread) {
            (_, Spread::None) => {}
            (Spread::None, spread) => self.spread = spread,
            _ => {
                self.is_whole = false;
                return;
            }
        }
        self.constant = self.constant + other.constant;
    }

    /// The pause as a distribution of a scenario.
    fn toml(self) -> String {
        let time = |own: Duration| quoted(&own.to_string());
        let Pause { constant, spread, .. } = self;
        match spread {
            Spread::Uniform(range) if !range.is_zero() => format!(
                "{{ distribution = \"uniform\", min = {}, max = {} }}",
                time(constant),
                time(constant + range)
            ),
            Spread::Normal(deviation) if !deviation.is_zero() => format!(
                "{{ distribution = \"truncated\", min = \"0s\", max = {}, of = {{ distribution = \"normal\", mean = {}, sigma = {} }} }}",
                time(constant + deviation.times(8)),
                time(constant),
                time(deviation)
            ),
            _ => time(constant),
        }
    }

    /// True if there is none.
    pub fn is_none(self) -> bool {
        self.constant.is_zero() && self.spread == Spread::None
    }
}

impl Draft {
    /// Adds a pause behind the last entry of a path to that of its first, which comes next.
    pub fn come_round(&mut self, first: Option<usize>, pause: Pause) {
        if let Some(first) = first {
            self.entry(first).pause.join(pause);
        }
    }

    /// Think times behind the requests of the path that are taken: each is the pauses before all entries up
    /// to the next of them.
    pub fn spread_pauses(&mut self, taken: &[usize]) {
        let is_taken = |own: &usize| taken.binary_search(own).is_ok();
        let steps = self.steps();
        let Some(begin) = steps.iter().position(is_taken) else { return };
        let (mut behind, mut unpaused) = (BTreeMap::new(), BTreeSet::new());
        let (mut last, mut waited, mut differs) = (steps[begin], Pause::default(), false);
        let mut of_first = Pause::default();
        // From behind the first request once around, to the first.
        for step in (1..=steps.len()).map(|at| steps[(begin + at) % steps.len()]) {
            waited.join(self.entry(step).pause);
            if is_taken(&step) {
                unpaused.extend((!waited.is_whole).then_some(step));
                let pause = Pause { is_whole: true, ..waited };
                differs |= *behind.entry(last).or_insert(pause) != pause;
                (last, waited, of_first) = (step, Pause::default(), pause);
            }
        }
        // States before and behind the load have no think times.
        unpaused.extend(taken.iter().filter(|own| {
            let DraftEntry { role, pause, .. } = &self.entries()[**own];
            matches!(role, StateRole::SetUp | StateRole::TearDown) && *pause != Pause::default()
        }));
        for number in unpaused {
            let place = self.entry(number).place.clone();
            self.reading.differs(UNPAUSED, place);
        }
        if !self.settings.thinks && behind.values().all(|pause| pause.is_none()) {
            return;
        }
        for (number, pause) in behind {
            self.entry(number).state.think = Some(pause.toml());
        }
        if differs {
            self.note(OF_FIRST_ROUND);
        }
        if !of_first.is_none() {
            self.note("a session begins without the pause of its first request, which is at its end");
        }
    }
}
