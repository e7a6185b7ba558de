//! Paths that requests of a set are for: outcomes and status codes of each one's requests in the measured
//! part, so that one page that is refused is not lost among the others.
//!
//! Paths are counted without their queries, at most [`PathNames::MAX`] of them, the first ones of the set;
//! requests for others are counted together. Requests of sessions are counted by [state](crate::states)
//! instead.

use crate::fold::PhaseStats;
use crate::outcomes::OutcomeCounts;
use crate::statuses::StatusCounts;
use farfield_base::{Outcome, Sample};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The paths of the requests of a set, by the number of the request.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PathNames {
    names: Vec<String>,
    /// The place of each request's path among the names; behind them where it has none there.
    of_request: Vec<u16>,
    /// The first requests of each name.
    requests: Vec<Vec<u32>>,
}

/// The place of a request that is counted under no path.
const NO_PATH: u16 = u16::MAX;

impl PathNames {
    /// Upper bound on paths counted separately: the first ones.
    pub const MAX: usize = 1_000;
    /// Characters of a path that are kept.
    pub const LENGTH_MAX: usize = 200;
    /// Requests that are known by their numbers of each path: the first ones.
    pub const REQUESTS_MAX: usize = 20;

    /// Paths of the targets of requests, in the order of their numbers. Equal paths are one.
    pub fn of<'a>(targets: impl IntoIterator<Item = &'a str>) -> PathNames {
        PathNames::of_some(targets.into_iter().map(Some))
    }

    /// As [`of`](Self::of); requests without a target are counted under no path.
    pub fn of_some<'a>(targets: impl IntoIterator<Item = Option<&'a str>>) -> PathNames {
        let mut known: BTreeMap<String, u16> = BTreeMap::new();
        let mut paths = PathNames::default();
        for target in targets {
            let Some(target) = target else {
                paths.of_request.push(NO_PATH);
                continue;
            };
            let path = without_query(target);
            let place = match known.get(path.as_str()) {
                Some(place) => *place,
                None if known.len() >= PathNames::MAX => PathNames::MAX as u16,
                None => {
                    let place = known.len() as u16;
                    paths.names.push(path.clone());
                    paths.requests.push(Vec::new());
                    known.insert(path, place);
                    place
                }
            };
            let number = paths.of_request.len() as u32;
            if let Some(own) = paths.requests.get_mut(usize::from(place)) {
                own.extend(Some(number).filter(|_| own.len() < PathNames::REQUESTS_MAX));
            }
            paths.of_request.push(place);
        }
        paths
    }

    /// True if requests for this path are counted separately.
    pub fn has(&self, path: &str) -> bool {
        self.names.iter().any(|own| own == path)
    }

    /// True if no further path is counted separately.
    pub fn is_full(&self) -> bool {
        self.names.len() >= PathNames::MAX
    }
}

/// The path of a target: what stands before the query, behind the host of a whole URL.
pub fn without_query(target: &str) -> String {
    // A URL in a query is no part of the path.
    let path = match target.split_once("://").filter(|_| !target.starts_with('/')) {
        Some((_, rest)) => rest.find(['/', '?']).map_or("/", |at| &rest[at..]),
        None => target,
    };
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let path = if path.is_empty() { "/" } else { path };
    path.chars().take(PathNames::LENGTH_MAX).collect()
}

farfield_base::mergeable! {
    /// Counts of a path.
    #[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
    pub struct PathCount {
        /// Requests due in the measured part, by the [code](Outcome::code) of what became of them.
        pub outcomes: OutcomeCounts,
        /// Whole replies to them, by status code.
        pub statuses: StatusCounts,
    }
}

impl PathCount {
    /// Requests due in the measured part.
    pub fn requests(&self) -> u64 {
        self.outcomes.sum()
    }

    /// Requests that ended so.
    pub fn count(&self, outcome: Outcome) -> u64 {
        self.outcomes.of(outcome)
    }

    /// The share that went wrong, as [`PhaseStats::error_share`] has it.
    pub fn error_share(&self, ignores_unfinished: bool) -> Option<f64> {
        PhaseStats::error_share_of(&self.outcomes, ignores_unfinished)
    }

    fn add(&mut self, sample: &Sample) {
        self.outcomes.add(sample.outcome);
        self.statuses.record(sample);
    }
}

farfield_base::mergeable! {
    /// The paths of a run.
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    pub struct Paths {
        known: Arc<PathNames> => same,
        counted: Vec<PathCount> => each,
        further: PathCount,
    }
}

impl Paths {
    /// Nothing yet, of these paths.
    pub fn named(known: PathNames) -> Paths {
        let counted = vec![PathCount::default(); known.names.len()];
        Paths { known: Arc::new(known), counted, further: PathCount::default() }
    }

    /// Counts a `sample` of the measured part.
    pub fn record(&mut self, sample: &Sample) {
        let place = self.known.of_request.get(sample.request as usize);
        let Some(place) = place.filter(|place| **place != NO_PATH) else { return };
        self.counted.get_mut(usize::from(*place)).unwrap_or(&mut self.further).add(sample);
    }

    /// The paths in the order of the set, each with its counts.
    pub fn counted(&self) -> impl ExactSizeIterator<Item = (&str, &PathCount)> {
        self.known.names.iter().map(String::as_str).zip(&self.counted)
    }

    /// Numbers of the requests for a path, at most [`PathNames::REQUESTS_MAX`]; none of one that is unknown.
    pub fn requests_for(&self, path: &str) -> &[u32] {
        let place = self.known.names.iter().position(|own| own == path);
        place.map_or(&[], |place| &self.known.requests[place])
    }

    /// Requests for paths beyond the first [`PathNames::MAX`].
    pub fn further(&self) -> &PathCount {
        &self.further
    }

    /// The counts of one path; `None` if it is not counted by itself.
    pub fn path(&self, name: &str) -> Option<&PathCount> {
        self.counted().find(|(own, _)| *own == name).map(|(_, count)| count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::scene::{sample, window};
    use crate::{Fold, Threshold};
    use farfield_base::{Instant, Merge};

    #[test]
    fn targets_are_paths_without_queries() {
        let check = |target: &str, path: &str| assert_eq!(without_query(target), path, "{target}");
        check("/a?b#c", "/a");
        check("/", "/");
        check("http://shop.test/a/b?c", "/a/b");
        check("http://shop.test", "/");
        check("http://shop.test?a=/b", "/");
        check("*", "*");
        check("/go?to=http://other.test/x", "/go");
        check(&format!("/{}", "ü".repeat(300)), &format!("/{}", "ü".repeat(199)));
    }

    #[test]
    fn requests_of_a_path_are_counted_with_its_codes_and_judged_alone() {
        let paths = PathNames::of(["/a?1", "/b", "/a?2"]);
        let fold = |from: u64, to: u64| {
            let mut fold = Fold::new(window(10, 1_000)).naming_paths(paths.clone());
            for n in from..to {
                let (outcome, status) = match n % 3 {
                    1 => (Outcome::Status4xx, 429),
                    _ => (Outcome::Ok, 200),
                };
                let request = (n % 3) as u32;
                fold.record(&Sample {
                    request,
                    outcome,
                    status,
                    ..sample(n * 1_000_000, (n + 1) * 1_000_000)
                });
            }
            fold
        };
        let mut all = fold(0, 50);
        all.merge(&fold(50, 100));
        assert_eq!(all.paths(), fold(0, 100).paths());
        // 90 are due in the window, of which every third is for /b.
        let counts: Vec<_> = all.paths().counted().map(|(path, count)| (path, count.requests())).collect();
        assert_eq!(counts, [("/a", 60), ("/b", 30)]);
        assert_eq!(all.paths().path("/b").map(|count| count.statuses.of(429)), Some(30));
        let measured = |text: &str| {
            let threshold: Threshold = text.parse().expect("a threshold");
            let result = threshold.evaluate(&all, Instant::from_ns(1_000_000_000), true);
            (result.measured, result.passed)
        };
        assert_eq!(measured("status.429{/b}<1%"), (Some(1.0), false));
        assert_eq!(measured("status.4xx{/a}==0"), (Some(0.0), true));
        assert_eq!(measured("errors{/b}<100%"), (Some(1.0), false));
        assert_eq!(measured("requests{/a}>=60"), (Some(60.0), true));
        assert_eq!(measured("errors{/c}<1%"), (None, false), "nobody was asked for it");
    }

    #[test]
    fn more_paths_than_are_counted_are_together() {
        let targets: Vec<String> = (0..PathNames::MAX + 2).map(|n| format!("/{n}")).collect();
        let mut paths = Paths::named(PathNames::of(targets.iter().map(String::as_str)));
        for request in [0, 999, 1_000, 1_001, 1_002] {
            paths.record(&Sample { request, ..sample(0, 1) });
        }
        assert_eq!(paths.counted().len(), PathNames::MAX);
        assert_eq!(paths.path("/999").map(PathCount::requests), Some(1));
        assert_eq!(paths.further().requests(), 2, "number 1,002 is of no request");
        let names = PathNames::of(["/a?1", "/a?2"]);
        assert_eq!((names.has("/a"), names.has("/a?1"), names.names.len()), (true, false, 1));
    }
}
