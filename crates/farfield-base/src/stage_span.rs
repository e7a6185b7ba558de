//! A stage of a load as a part of a run, in which figures are counted by themselves.

use crate::Window;
use crate::time::{Duration, Instant};
use serde::{Deserialize, Serialize};

/// A stage on the run's clock: `[from, to)`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageSpan {
    /// Name of the stage.
    pub name: String,
    /// The course of the load in it, in words: `0 to 100 users`.
    pub course: String,
    /// Begin of the stage.
    pub from: Instant,
    /// End of the stage.
    pub to: Instant,
}

impl StageSpan {
    /// Part of the stage in the measured part of a run; `None` if it has none.
    pub fn within(&self, window: Window) -> Option<StageSpan> {
        let (from, to) = (self.from.max(window.measure_from), self.to.min(window.measure_to));
        (from < to).then(|| StageSpan { from, to, ..self.clone() })
    }

    /// True if `instant` is in it.
    pub fn contains(&self, instant: Instant) -> bool {
        self.from <= instant && instant < self.to
    }

    /// Length of the stage up to `until`.
    pub fn lasted(&self, until: Instant) -> Duration {
        self.to.min(until).since(self.from)
    }
}
