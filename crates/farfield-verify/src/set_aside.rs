//! Seconds of the measured part that the run set aside, as its summary has them.
//!
//! That the machine was disturbed in them is in no packet: the seconds are believed, and all that follows
//! from them is counted again.

use serde_json::Value;

/// Seconds that are set aside, each from an instant to another in nanoseconds of the run, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SetAside(Vec<[u64; 2]>);

impl SetAside {
    /// The seconds of a summary; none where it sets nothing aside.
    pub fn of(said: &Value) -> SetAside {
        let rows = said.get("set_aside").and_then(|own| own.get("seconds")).and_then(Value::as_array);
        let edge = |row: &Value, name: &str| row.get(name).and_then(Value::as_u64);
        let second = |row: &Value| Some([edge(row, "from_ns")?, edge(row, "to_ns")?]);
        let mut seconds: Vec<[u64; 2]> = rows.into_iter().flatten().filter_map(second).collect();
        seconds.sort_unstable();
        SetAside(seconds)
    }

    /// True if an instant lies in one of them.
    pub fn contains(&self, ns: u64) -> bool {
        let next = self.0.partition_point(|[from, _]| *from <= ns);
        next.checked_sub(1).is_some_and(|last| ns < self.0[last][1])
    }

    /// The time of those that are over at an instant.
    pub fn before(&self, ns: u64) -> u64 {
        let over = self.0.iter().take_while(|[_, to]| *to <= ns);
        over.map(|[from, to]| to.saturating_sub(*from)).sum()
    }

    /// The time of all.
    pub fn total(&self) -> u64 {
        self.before(u64::MAX)
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
