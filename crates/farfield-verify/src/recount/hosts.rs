//! The hosts that users ask, each counted by its number in samples.

use super::Recount;
use super::expected::Expected;
use super::part::{PartCounts, RequestScope, RunPart};
use crate::run::ScenarioDemands;
use farfield_base::HostNumber;
use serde_json::Value;

/// A host, as a summary has it.
#[derive(Debug)]
pub struct KnownHost {
    name: String,
    url: String,
}

/// The hosts that a scenario asked for, by number; without one, those that the summary `said` has. None where
/// users ask one alone.
pub fn hosts(said: &Value, asked: Option<&ScenarioDemands>) -> Vec<KnownHost> {
    let rows = said.get("hosts").and_then(Value::as_array).into_iter().flatten();
    let word = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let host = |row: &Value| KnownHost { name: word(row, "name"), url: word(row, "url") };
    let said: Vec<KnownHost> = rows.take(HostNumber::MOST).map(host).collect();
    let Some(asked) = asked else { return said };
    let known = |(place, (name, url)): (usize, &(String, Option<String>))| {
        let unknown = || said.get(place).map_or_else(String::new, |host| host.url.clone());
        KnownHost { name: name.clone(), url: url.clone().unwrap_or_else(unknown) }
    };
    asked.hosts.iter().enumerate().map(known).collect()
}

impl Recount<'_> {
    /// The requests for the host of this name.
    pub(super) fn counted_of_host(&self, name: &str) -> Option<PartCounts> {
        let number = self.hosts.iter().position(|own| own.name == name)?;
        Some(PartCounts::part(self, RunPart::Steady, RequestScope::Host(HostNumber::at(number))))
    }

    pub(super) fn expected_hosts(&self, steady: &PartCounts) -> Expected {
        let one = |(number, host): (usize, &KnownHost)| {
            let own = PartCounts::part(self, RunPart::Steady, RequestScope::Host(HostNumber::at(number)));
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
