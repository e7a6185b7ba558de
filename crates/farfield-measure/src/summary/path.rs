//! Paths of requests in a summary: how many replies with which status each had.

use super::part::{OutcomeCount, StatusCount};
use crate::fold::Fold;
use crate::paths::PathCount;
use farfield_base::Merge;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The requests of the measured part for one path, without its query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathSummary {
    /// The path; "(further paths)" stands for all that have no row of their own.
    pub path: String,
    /// Requests due.
    pub requests: u64,
    /// Share of requests that went wrong, as in the whole of the part; null without requests.
    pub error_share: Option<f64>,
    /// Outcomes of the requests; only those that occurred.
    pub outcomes: Vec<OutcomeCount>,
    /// Status codes of replies to them, in order; only those that occurred.
    pub statuses: Vec<StatusCount>,
    /// Numbers of its requests in the request set, as the column `request` of the samples has them: at most
    /// the first twenty. Empty of the further paths, and in a summary by an older farfield.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub numbers: Vec<u32>,
}

impl PathSummary {
    /// Paths of a summary with rows of their own: those with most requests.
    pub const MAX: usize = 100;
    /// Name of the row for all other paths.
    pub const FURTHER: &str = "(further paths)";

    /// The paths that say more than that all is well: where any request went wrong or any reply has another
    /// status than 200 all of them, those with most errors first; otherwise none.
    pub fn telling(paths: &[PathSummary]) -> Vec<&PathSummary> {
        let is_plain = |path: &PathSummary| {
            path.error_share.is_none_or(|share| share == 0.0)
                && path.statuses.iter().all(|own| own.status == 200)
        };
        if paths.iter().all(is_plain) {
            return Vec::new();
        }
        let mut all: Vec<&PathSummary> = paths.iter().collect();
        let errors =
            |path: &PathSummary| path.error_share.map_or(0, |share| (share * path.requests as f64) as u64);
        all.sort_by_key(|path| std::cmp::Reverse(errors(path)));
        all
    }

    fn of(path: &str, count: &PathCount, ignores_unfinished: bool) -> PathSummary {
        PathSummary {
            path: path.to_owned(),
            requests: count.requests(),
            error_share: count.error_share(ignores_unfinished),
            outcomes: OutcomeCount::of_all(&count.outcomes, |_| None),
            statuses: StatusCount::of_all(&count.statuses),
            numbers: Vec::new(),
        }
    }

    /// The paths with most requests, and the others together.
    pub(super) fn of_all(fold: &Fold) -> Vec<PathSummary> {
        let ignores_unfinished = fold.steady().ignores_unfinished();
        let paths = fold.paths();
        // A single path is the whole.
        if paths.counted().len() < 2 {
            return Vec::new();
        }
        let mut all: Vec<_> = paths.counted().filter(|(_, count)| count.requests() > 0).collect();
        // Of equal ones the first of the set: the sort is stable.
        all.sort_by_key(|(_, count)| std::cmp::Reverse(count.requests()));
        let mut further = paths.further().clone();
        all.iter().skip(PathSummary::MAX).for_each(|(_, count)| further.merge(count));
        let rows = all.iter().take(PathSummary::MAX);
        let rows = rows.map(|(path, count)| PathSummary {
            numbers: paths.requests_for(path).to_vec(),
            ..PathSummary::of(path, count, ignores_unfinished)
        });
        let further = (further.requests() > 0)
            .then(|| PathSummary::of(PathSummary::FURTHER, &further, ignores_unfinished));
        rows.chain(further).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::scene::{sample, window};
    use crate::paths::PathNames;
    use farfield_base::{Outcome, Sample};

    #[test]
    fn the_paths_with_most_requests_have_rows_and_the_others_one() {
        let targets: Vec<String> = (0..150).map(|n| format!("/{n}")).collect();
        let paths = PathNames::of(targets.iter().map(String::as_str));
        let mut fold = Fold::new(window(0, 1000)).naming_paths(paths);
        for request in (0..150).chain(100..150) {
            fold.record(&Sample { request, ..sample(0, 1) });
        }
        let all = PathSummary::of_all(&fold);
        assert_eq!(all.len(), PathSummary::MAX + 1);
        assert_eq!((all[0].path.as_str(), all[0].requests), ("/100", 2));
        assert_eq!((all[50].path.as_str(), all[50].requests), ("/0", 1));
        let further = &all[PathSummary::MAX];
        assert_eq!((further.path.as_str(), further.requests), (PathSummary::FURTHER, 50));
        assert_eq!((&all[0].numbers[..], &further.numbers[..]), (&[100][..], &[][..]));
        assert_eq!(all.iter().map(|path| path.requests).sum::<u64>(), 200);
        assert!(PathSummary::telling(&all).is_empty(), "all is well");
        let refused = Sample { request: 7, status: 404, outcome: Outcome::Status4xx, ..sample(0, 1) };
        fold.record(&refused);
        let all = PathSummary::of_all(&fold);
        let first = PathSummary::telling(&all)[0];
        assert_eq!((first.path.as_str(), first.error_share), ("/7", Some(0.5)));
        // Of a path with many requests the first ones are named.
        let targets: Vec<String> = (0..90).map(|n| format!("/{}?n={n}", n % 3)).collect();
        let paths = PathNames::of(targets.iter().map(String::as_str));
        let mut fold = Fold::new(window(0, 1000)).naming_paths(paths);
        fold.record(&Sample { request: 88, ..sample(0, 1) });
        let expected: Vec<u32> = (0..20).map(|n| 1 + 3 * n).collect();
        assert_eq!(PathSummary::of_all(&fold)[0].numbers, expected);
    }
}
