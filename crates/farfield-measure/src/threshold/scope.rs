//! The part of a run that a threshold is of: all of it, or a class, flow, stage, host, state or path.

use super::Threshold;
use crate::fold::{Fold, PhaseStats};

impl Threshold {
    /// The figures of all requests, or of its stage, class, flow or host; `None` if it is of another part.
    pub(super) fn part<'a>(&self, fold: &'a Fold) -> Option<&'a PhaseStats> {
        let Some(name) = self.scope() else { return Some(fold.steady()) };
        fold.stages().stage(name).map(|stage| stage.part).or_else(|| part_of(fold, name))
    }

    /// The number of requests that it is of; `None` if the run has no such part.
    pub(super) fn requests(&self, fold: &Fold) -> Option<u64> {
        if let Some(part) = self.part(fold) {
            return Some(part.requests());
        }
        let name = self.scope()?;
        let of_path = fold.paths().path(name).map(|path| path.outcomes.sum());
        of_path.or_else(|| fold.states().state(name).map(|state| state.outcomes.sum()))
    }
}

/// The figures of a class of clients, a flow of users or a host.
pub(super) fn part_of<'a>(fold: &'a Fold, name: &str) -> Option<&'a PhaseStats> {
    fold.class(name).or_else(|| fold.flows().flow(name)).or_else(|| fold.hosts().host(name))
}
