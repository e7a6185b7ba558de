//! Sessions and failures in a summary.

use super::TimingSummary;
use crate::failures::FailureKind;
use crate::fold::Fold;
use farfield_base::{Duration, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The sessions that began in the measured part, each counted by what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionsSummary {
    /// Sessions whose first page was due in the measured part.
    pub begun: u64,
    /// Number of those that were completed.
    pub completed: u64,
    /// Number of those that a failure ended.
    pub broken_off: u64,
    /// Number of those that were open at the end of the run.
    pub unfinished: u64,
    /// The states that sessions were broken off in, in order; only those where one was.
    pub broken_off_in: Vec<BrokenOffIn>,
    /// From when the first page of a completed session was due to the end of its last; null if none was
    /// completed.
    pub duration: Option<TimingSummary>,
    /// Mean length of a session, those that were open at the end of the run included; null if there are
    /// none, and in a summary by an older farfield. Where sessions arrive by themselves, a run must be 50
    /// times as long for intervals of times and rates.
    #[serde(default)]
    pub mean_length_ns: Option<u64>,
}

/// Sessions that were broken off in one state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BrokenOffIn {
    /// The state's name.
    pub state: String,
    /// Number of sessions.
    pub count: u64,
}

impl SessionsSummary {
    pub(super) fn of(fold: &Fold, lasted: Duration) -> Option<SessionsSummary> {
        let sessions = fold.sessions();
        if sessions.whole_run().begun == 0 {
            return None;
        }
        let (begun, completed) = (sessions.begun_count(), sessions.completed_count());
        let broken_off = sessions.broken_off_count();
        let broken_off_in =
            sessions.broken_off().map(|(state, count)| BrokenOffIn { state: state.to_owned(), count });
        Some(SessionsSummary {
            begun,
            completed,
            broken_off,
            // With lost notes, more sessions may have ended than begun.
            unfinished: begun.saturating_sub(completed.saturating_add(broken_off)),
            broken_off_in: broken_off_in.collect(),
            duration: sessions.durations().and_then(TimingSummary::of),
            mean_length_ns: sessions.mean_length(lasted).map(|length| length.as_ns()),
        })
    }
}

/// Requests that failed in one way: of sessions, and others of which more is known than the outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailureSummary {
    /// The state that the user was in; empty where users are in no states.
    pub state: String,
    /// The subject of the failure: a check or an extraction as the scenario writes it, or the path of an
    /// embedded object; null where the outcome says all.
    pub what: Option<String>,
    /// Outcome of the requests.
    pub outcome: String,
    /// The cause: a rule that what came does not keep to, or a code and who sent it; null where no more is
    /// known than the outcome.
    #[serde(default)]
    pub cause: Option<String>,
    /// Requests due in the measured part.
    pub count: u64,
    /// Instant at which the first of these failed, from the beginning of the run.
    #[serde(default)]
    pub first_ns: Option<u64>,
    /// Instant at which the last of them failed.
    #[serde(default)]
    pub last_ns: Option<u64>,
    /// The unexpected value at the first failure, or the peer's words, in one line.
    pub instead: Option<String>,
}

impl FailureSummary {
    /// Kinds of failures in a summary at most: the most frequent ones.
    const MOST: usize = 100;

    pub(super) fn of_all(fold: &Fold) -> Vec<FailureSummary> {
        let summary = |kind: FailureKind<'_>| FailureSummary {
            state: kind.state.to_owned(),
            what: Some(kind.what.to_owned()).filter(|what| !what.is_empty()),
            outcome: kind.outcome.name().to_owned(),
            cause: kind.cause.map(|cause| cause.to_string()),
            count: kind.count,
            first_ns: kind.first.map(Instant::as_ns),
            last_ns: kind.last.map(Instant::as_ns),
            instead: kind.instead.map(str::to_owned),
        };
        fold.failures().kinds().into_iter().take(FailureSummary::MOST).map(summary).collect()
    }
}
