//! The table of states: what became of the requests of each step of users' sessions, and how long they took.
//!
//! A session may have dozens of states. Those that a reader looks for have a line each, in the order of the
//! session: where most went wrong and, among those that went equally well, the ones asked for most.

use super::{LABEL, end_table, fit, or_dash, quantile, row};
use crate::figures::{count, percent};
use farfield_measure::Quantile;
use farfield_measure::summary::StateSummary;
use std::cmp::Reverse;

/// States that have a line each; a line counts the others.
const STATES: usize = 8;

/// A line for each state that matters most, and a blank line behind them; nothing where there are no states.
pub(super) fn table(states: &[StateSummary]) -> Vec<String> {
    if states.is_empty() {
        return Vec::new();
    }
    let names = ["errors", "checks", "p50", "p95", "p99", "max"].map(str::to_owned);
    let mut lines = vec![row("state", names, "requests")];
    lines.extend(shown(states).into_iter().map(state_row));
    end_table(lines, states.len().saturating_sub(STATES))
}

/// The states with a line, in order.
fn shown(states: &[StateSummary]) -> Vec<&StateSummary> {
    let mut places: Vec<usize> = (0..states.len()).collect();
    // Shares are not equal by chance where they are not zero; a millionth is nothing to a reader.
    let errors = |state: &StateSummary| state.error_share.map_or(0, |share| (share * 1e6) as u64);
    places.sort_by_key(|place| Reverse((errors(&states[*place]), states[*place].requests)));
    places.truncate(STATES);
    places.sort_unstable();
    places.into_iter().map(|place| &states[place]).collect()
}

/// The share of errors, how many checks and extractions failed among them, and response times of what went
/// well.
fn state_row(state: &StateSummary) -> String {
    let StateSummary { name, requests, error_share, response, outcomes, .. } = state;
    let checks =
        outcomes.iter().filter(|outcome| ["check-failed", "extract-failed"].contains(&&*outcome.name));
    let columns = [
        or_dash(*error_share, percent),
        count(checks.map(|outcome| outcome.count).sum()),
        quantile(response, Quantile::P50),
        quantile(response, Quantile::P95),
        quantile(response, Quantile::P99),
        or_dash(response.as_ref().map(|times| times.max_ns), crate::figures::time),
    ];
    row(&fit(name, LABEL - 1), columns, &count(*requests))
}

#[cfg(test)]
mod tests {
    use super::super::scene::Scene;
    use super::super::tests::plain;
    use super::super::{COLUMNS, LINES};
    use super::*;
    use farfield_base::Outcome;

    /// The n-th request takes 1 + n % 10 ms and is for state n % 10, so that there are a hundred for each in
    /// the window. Of the fourth every other check fails.
    fn scene(states: usize) -> Scene {
        let mut scene = Scene::good();
        scene.states = (0..states).map(|n| format!("state-{n}")).collect();
        scene.states[1] = "a-state-with-a-long-name".to_owned();
        for (at, sample) in scene.samples.iter_mut().enumerate() {
            sample.request = (at % 10) as u32;
            if at % 20 == 3 {
                sample.outcome = Outcome::CheckFailed;
            }
        }
        scene
    }

    #[test]
    fn states_have_a_table() {
        let text = plain(&scene(4).summary());
        let rows: Vec<Vec<&str>> = text
            .split("\nstate ")
            .nth(1)
            .expect("a table of states")
            .lines()
            .take(6)
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(rows[0], ["errors", "checks", "p50", "p95", "p99", "max", "requests"], "{text}");
        assert_eq!(rows[1], ["state-0", "0%", "0", "1.00ms", "1.00ms", "1.00ms", "1.00ms", "100"], "{text}");
        assert_eq!(rows[2][0], "a-state-wi…");
        assert_eq!(
            rows[4],
            ["state-3", "50%", "50", "4.00ms", "4.00ms", "4.00ms", "4.00ms", "100"],
            "{text}"
        );
        assert!(rows[5].is_empty(), "{text}");
        assert!(text.lines().count() <= LINES + 6, "{text}");
    }

    #[test]
    fn the_worst_and_the_most_frequent_are_shown() {
        let mut scene = scene(30);
        // Requests of the first state become those of the last two, fewer of each than of the others.
        for (at, sample) in scene.samples.iter_mut().enumerate().filter(|(at, _)| at % 10 == 0) {
            sample.request = if at % 30 == 0 { 29 } else { 28 };
        }
        let text = plain(&scene.summary());
        let table: Vec<&str> =
            text.split("\nstate ").nth(1).expect("a table").lines().skip(1).take(9).collect();
        let names: Vec<&str> = table.iter().filter_map(|row| row.split_whitespace().next()).collect();
        let most =
            ["a-state-wi…", "state-2", "state-3", "state-4", "state-5", "state-6", "state-7", "state-8"];
        assert_eq!(names[..8], most, "{text}");
        assert_eq!(table[8], "  and 22 more, in summary.json", "{text}");
        assert!(text.lines().count() <= LINES + STATES + 3, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
    }

    #[test]
    fn a_state_that_nobody_came_to_has_dashes() {
        let text = plain(&scene(11).summary());
        assert!(!text.contains("state-10 "), "{text}");
        let mut unborn = Scene::good();
        unborn.states = vec!["home".to_owned()];
        unborn.samples.clear();
        let text = plain(&unborn.summary());
        let row = text.lines().find(|line| line.starts_with("home ")).expect("a row");
        assert_eq!(row.split_whitespace().collect::<Vec<_>>(), ["home", "-", "0", "-", "-", "-", "-", "0"]);
    }
}
