//! Stages of a load: a level that goes up and down, from each stage's end to the next one's along a straight
//! line.
//!
//! Levels are numbers of users in a closed load ([`UsersCourse`]) and rates of arrivals elsewhere
//! ([`ArrivalSpec`](crate::ArrivalSpec), `process = "stages"`). The load is over with its last stage.
//!
//! ```toml
//! stages = "30s:50, 1m:50, 10s:0"
//! stages = [{ for = "30s", to = 50 }, { name = "plateau", for = "1m", to = 50 }, { for = "10s", to = 0 }]
//! ```
//!
//! A stage of no time is a step.

mod course;
mod written;

pub use course::{Stay, UsersCourse};

use farfield_base::{Duration, Instant, QuantityError, Rate, StageSpan};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;

/// Limit of stages: figures are kept of each.
pub const STAGES_MAX: usize = 50;
/// Limit of a level of users, of each of whom a worker knows when it comes and goes.
pub(crate) const USERS_MAX: u32 = 10_000_000;
/// Limit of their time together.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

/// A level that stages lead to: a number of users, or a rate.
pub trait Level: Copy + PartialOrd + Serialize + fmt::Debug {
    /// An example of one, as scenarios write it.
    const EXAMPLE: &'static str;

    /// The level that a text stands for, or the sentence about what is wrong with it.
    fn read(text: &str) -> Result<Self, String>;

    /// True if nothing happens at this level.
    fn is_none(self) -> bool;

    /// A course between two levels, in words.
    fn course(from: Self, to: Self) -> String;
}

impl Level for u32 {
    const EXAMPLE: &'static str = "100";

    fn read(text: &str) -> Result<u32, String> {
        let users = text.parse().ok().filter(|users| *users <= USERS_MAX);
        users.ok_or_else(|| {
            format!("`{text}` is no number of users; write a whole number from 0 to {USERS_MAX}")
        })
    }

    fn is_none(self) -> bool {
        self == 0
    }

    fn course(from: u32, to: u32) -> String {
        let users = if from.max(to) == 1 { "user" } else { "users" };
        if from == to { format!("{to} {users}") } else { format!("{from} to {to} {users}") }
    }
}

impl Level for Rate {
    const EXAMPLE: &'static str = "\"100/s\"";

    fn read(text: &str) -> Result<Rate, String> {
        text.parse().map_err(|error: QuantityError| error.to_string())
    }

    fn is_none(self) -> bool {
        self.as_per_second() == 0.0
    }

    fn course(from: Rate, to: Rate) -> String {
        if from == to { to.to_string() } else { format!("{from} to {to}") }
    }
}

/// A stage as it is written.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stage<L> {
    /// Name of the stage in figures and thresholds; `stage-3` by default, for the third.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The time that it takes. None is a step.
    #[serde(rename = "for")]
    pub lasts: Duration,
    /// The level at its end.
    pub to: L,
}

/// The stages of a load: some, that take some time.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Stages<L>(Vec<Stage<L>>);

impl<L: Level> Stages<L> {
    /// Stages of a load, or the sentence about what is wrong with them.
    pub fn new(stages: Vec<Stage<L>>) -> Result<Stages<L>, String> {
        let example = format!("{{ for = \"1m\", to = {} }}", L::EXAMPLE);
        if stages.is_empty() {
            return Err(format!("`stages` is empty; write at least one such as {example}"));
        }
        if stages.len() > STAGES_MAX {
            return Err(format!("{} stages; write at most {STAGES_MAX}", stages.len()));
        }
        let mut total = Duration::ZERO;
        for stage in &stages {
            total = Duration::from_ns(total.as_ns().saturating_add(stage.lasts.as_ns()));
        }
        if total > LONGEST {
            return Err(format!("the stages take {total}; write at most {LONGEST} together"));
        }
        if total.is_zero() {
            return Err(format!("the stages take no time; give one a length, such as {example}"));
        }
        let stages = Stages(stages);
        let mut names = BTreeSet::new();
        for number in 0..stages.0.len() {
            let name = stages.name(number);
            let is_plain = |letter: char| letter.is_alphanumeric() || "-_.".contains(letter);
            if name.is_empty() || !name.chars().all(is_plain) {
                let plain = "letters, digits, `-`, `_` and `.`";
                return Err(format!("a stage is named {name:?}; names have {plain}, such as `plateau`"));
            }
            if !names.insert(name.clone()) {
                return Err(format!("two stages are named `{name}`; give each a name of its own"));
            }
        }
        Ok(stages)
    }

    /// The stages, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Stage<L>> {
        self.0.iter()
    }

    /// The time that all take together.
    pub fn lasts(&self) -> Duration {
        self.0.iter().fold(Duration::ZERO, |sum, stage| sum + stage.lasts)
    }

    /// The sentence about stages that bring no load at all, of one that begins at the level `from`; `None` if
    /// they bring some.
    pub fn emptiness(&self, from: L) -> Option<String> {
        let before = std::iter::once(from).chain(self.0.iter().map(|stage| stage.to));
        let happens = |(before, stage): (L, &Stage<L>)| {
            !(stage.lasts.is_zero() || before.is_none() && stage.to.is_none())
        };
        let example = L::EXAMPLE;
        (!before.zip(&self.0).any(happens)).then(|| {
            format!("the stages stay at 0, so that nothing would happen; write one such as {{ for = \"1m\", to = {example} }}")
        })
    }

    /// The levels in words, of a load that begins at the level `from`: "0 to 500 users in 3 stages".
    pub fn in_words(&self, from: L) -> String {
        let levels = || std::iter::once(from).chain(self.0.iter().map(|stage| stage.to));
        let ends = |most: L, level: L| if level > most { level } else { most };
        let least = levels().fold(from, |least, level| if level < least { level } else { least });
        let stages = if self.0.len() == 1 { "stage" } else { "stages" };
        format!("{} in {} {stages}", L::course(least, levels().fold(from, ends)), self.0.len())
    }

    fn name(&self, number: usize) -> String {
        self.0[number].name.clone().unwrap_or_else(|| format!("stage-{}", number + 1))
    }

    /// The stages that take time, on a run's clock, of a load that begins at the level `from`.
    pub fn spans(&self, from: L) -> Vec<StageSpan> {
        let (mut at, mut level) = (Instant::ZERO, from);
        let mut spans = Vec::new();
        for (number, stage) in self.0.iter().enumerate() {
            let (from, to) = (at, at + stage.lasts);
            if !stage.lasts.is_zero() {
                let (name, course) = (self.name(number), L::course(level, stage.to));
                spans.push(StageSpan { name, from, to, course });
            }
            (at, level) = (to, stage.to);
        }
        spans
    }
}
