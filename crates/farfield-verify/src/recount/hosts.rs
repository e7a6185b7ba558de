//! The hosts that users ask, each counted by its number in samples.

use super::Recount;
use super::expected::Expected;
use super::part::{Counted, Which, Whose};
use farfield_base::HostNumber;
use serde_json::Value;

/// A host, as the summary `said` has it.
#[derive(Debug)]
pub struct SaidHost {
    name: String,
    url: String,
}

/// The hosts of a summary, by number; none where users ask one alone.
pub fn hosts(said: &Value) -> Vec<SaidHost> {
    let rows = said.get("hosts").and_then(Value::as_array).into_iter().flatten();
    let word = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let host = |row: &Value| SaidHost { name: word(row, "name"), url: word(row, "url") };
    rows.take(HostNumber::MOST).map(host).collect()
}

impl Recount<'_> {
    /// The requests for the host of this name.
    pub(super) fn counted_of_host(&self, name: &str) -> Option<Counted> {
        let number = self.hosts.iter().position(|own| own.name == name)?;
        Some(Counted::part(self, Which::Steady, Whose::Host(HostNumber::at(number))))
    }

    pub(super) fn expected_hosts(&self, steady: &Counted) -> Expected {
        let one = |(number, host): (usize, &SaidHost)| {
            let own = Counted::part(self, Which::Steady, Whose::Host(HostNumber::at(number)));
            let share = own.requests as f64 / steady.requests as f64;
            Expected::record([
                ("name", Expected::word(&host.name)),
                ("url", Expected::word(&host.url)),
                ("share", Expected::near_or_nothing((steady.requests > 0).then_some(share))),
                ("steady", own.expected(self, None)),
            ])
        };
        match self.hosts.is_empty() {
            true => Expected::Nothing,
            false => Expected::List(self.hosts.iter().enumerate().map(one).collect()),
        }
    }
}
