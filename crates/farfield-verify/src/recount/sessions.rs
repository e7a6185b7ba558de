//! Sessions of a summary, counted again by their first requests.

use super::expected::Expected;
use super::{Recount, at};
use farfield_base::Sample;
use serde_json::Value;
use std::collections::BTreeMap;

impl Recount<'_> {
    /// Sessions by when they began; what became of them must add up.
    pub(super) fn sessions(&self, said: &Value) -> Expected {
        let Some(own) = at(said, &["sessions"]) else { return Expected::Open };
        let mut first: BTreeMap<u32, u64> = BTreeMap::new();
        for sample in self.samples.iter().filter(|own| own.session != Sample::NO_SESSION) {
            let due = sample.due.as_ns();
            first.entry(sample.session).and_modify(|first| *first = (*first).min(due)).or_insert(due);
        }
        let begun = first.values().filter(|due| self.is_measured(**due)).count() as u64;
        let count = |name: &str| at(own, &[name]).and_then(Value::as_u64).unwrap_or(0);
        // Those that are over by their times, and by Little's law those that are open.
        let over = at(own, &["duration", "mean_ns"]).and_then(Value::as_u64).unwrap_or(0);
        let open = u128::from(self.left()) * u128::from(count("unfinished")) / u128::from(begun.max(1));
        let mean_length = over.max(open as u64);
        let rest = |two: [&str; 2]| Expected::Count(begun.saturating_sub(count(two[0]) + count(two[1])));
        let rows = own.get("broken_off_in").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let broken_off = |row: &Value| row.get("count").and_then(Value::as_u64).unwrap_or(0);
        let all: u64 = rows.iter().map(broken_off).sum();
        let row = |own: &Value| {
            let others = all - broken_off(own);
            let count = Expected::Count(count("broken_off").saturating_sub(others));
            Expected::record([("state", Expected::Open), ("count", count)])
        };
        Expected::record([
            ("begun", Expected::Count(begun)),
            ("completed", rest(["broken_off", "unfinished"])),
            ("broken_off", rest(["completed", "unfinished"])),
            ("unfinished", rest(["completed", "broken_off"])),
            ("broken_off_in", Expected::List(rows.iter().map(row).collect())),
            (
                "duration",
                match count("completed") {
                    0 => Expected::Nothing,
                    completed => Expected::record([("count", Expected::Count(completed))]),
                },
            ),
            (
                "mean_length_ns",
                match (mean_length, at(own, &["mean_length_ns"])) {
                    // A summary by an older farfield has none.
                    (0, _) | (_, None) => Expected::Nothing,
                    (ns, Some(_)) => Expected::Count(ns),
                },
            ),
        ])
    }
}
