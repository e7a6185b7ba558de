//! `[[flow]]`: users of several kinds side by side, each kind with a load and with requests of its own.
//!
//! A flow is read as the scenario would be that has its load, its requests and its session, and all else of
//! the scenario around it. A flow without requests and session asks for what the scenario's own say, so that
//! flows can share them.

use super::Scenario;
use super::mistake::Mistake;
use farfield_base::Duration;
use farfield_measure::Threshold;
use farfield_traffic::session::SessionSpec;
use farfield_traffic::{LoadSpec, RequestSetSpec};
use farfield_user::Flow;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;

/// Characters of a flow's name at most.
const NAME_MAX: usize = 40;

/// `[[flow]]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FlowSpec {
    /// Its name in results.
    pub name: String,
    /// Its model of load.
    #[serde(default)]
    pub load: LoadSpec,
    /// Conditions that its part of the result is compared with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thresholds: Vec<Threshold>,
    /// Its requests; the scenario's if absent, as its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<RequestSetSpec>,
    /// Its session; the scenario's if absent, as its requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionSpec>,
}

/// A flow as a scenario of its own.
pub(crate) struct FlowScenario {
    /// Its name; empty where the scenario has no flows.
    pub name: String,
    pub scenario: Scenario,
    /// The tables that are the flow's own, and where they are.
    own: Option<(usize, &'static [&'static str])>,
}

impl FlowScenario {
    /// The mistake as one of the whole scenario.
    pub fn locate(&self, mistake: Mistake) -> Mistake {
        let Some((number, tables)) = self.own else { return mistake };
        let table = mistake.key.split(['.', '[']).next().unwrap_or_default();
        match tables.contains(&table) {
            true => Mistake { key: format!("flow[{number}].{}", mistake.key), ..mistake },
            false => mistake,
        }
    }
}

impl Scenario {
    /// Each flow as a scenario of its own, in order; the scenario itself where it has none.
    pub(crate) fn flows(&self) -> Vec<FlowScenario> {
        if self.flow.is_empty() {
            return vec![FlowScenario { name: String::new(), scenario: self.clone(), own: None }];
        }
        let of_flow = |(number, flow): (usize, &FlowSpec)| {
            let asks = flow.requests.is_some() || flow.session.is_some();
            let (requests, session) = match asks {
                true => (flow.requests.clone(), flow.session.clone()),
                false => (self.requests.clone(), self.session.clone()),
            };
            let load = flow.load.clone();
            let scenario = Scenario { flow: Vec::new(), load, requests, session, ..self.clone() };
            let tables: &[&str] = if asks { &["load", "requests", "session"] } else { &["load"] };
            FlowScenario { name: flow.name.clone(), scenario, own: Some((number, tables)) }
        };
        self.flow.iter().enumerate().map(of_flow).collect()
    }

    /// The loads of all flows.
    pub(crate) fn loads(&self) -> impl Iterator<Item = &LoadSpec> {
        let own = self.flow.is_empty().then_some(&self.load);
        own.into_iter().chain(self.flow.iter().map(|flow| &flow.load))
    }

    /// The users of all flows whose number is known.
    pub(crate) fn users(&self) -> Option<NonZeroU32> {
        let known = self.loads().filter_map(LoadSpec::users);
        known.reduce(|sum, users| sum.saturating_add(users.get()))
    }

    /// The time that the stages of a load take, the longest if several have some.
    pub(crate) fn stages_last(&self) -> Option<Duration> {
        self.loads().filter_map(LoadSpec::stages_last).max()
    }

    /// The thresholds and aborts of the whole run, and those of flows.
    pub(crate) fn all_thresholds(&self) -> Vec<Threshold> {
        let own = self.thresholds.iter().chain(&self.aborts).cloned();
        let of_flow = |flow: &FlowSpec| {
            let name = flow.name.clone();
            flow.thresholds.clone().into_iter().map(move |threshold| threshold.of(&name))
        };
        own.chain(self.flow.iter().flat_map(of_flow)).collect()
    }

    /// Refuses flows that cannot be told apart, and what is not to be had of several.
    pub(crate) fn check_flows(&self) -> Result<(), Mistake> {
        if self.flow.is_empty() {
            return Ok(());
        }
        if self.flow.len() > Flow::MOST {
            return Err(Mistake::at(
                "flow",
                format!("{} flows are more than {}; write fewer", self.flow.len(), Flow::MOST),
            ));
        }
        for (number, flow) in self.flow.iter().enumerate() {
            let at = |key: &str, sentence: String| Mistake::at(format!("flow[{number}].{key}"), sentence);
            let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
            let is_name = !flow.name.is_empty() && flow.name.chars().all(is_plain);
            if !is_name || flow.name.chars().count() > NAME_MAX {
                let sentence = format!(
                    "a name has 1 to {NAME_MAX} letters, digits, `-`, `_` or `.`; write one such as `checkout`"
                );
                return Err(at("name", sentence));
            }
            if self.flow[..number].iter().any(|other| other.name == flow.name) {
                return Err(at("name", format!("there is a flow `{}` already; write another", flow.name)));
            }
            if flow.requests.as_ref().is_some_and(|requests| requests.site().is_some()) {
                let sentence =
                    "a site is one that all flows share: write it under `[requests]`, and leave this out";
                return Err(at("requests", sentence.to_owned()));
            }
            if let Some(scoped) = flow.thresholds.iter().find(|threshold| threshold.scope().is_some()) {
                let sentence =
                    format!("`{scoped}` names a part; write it at the top, or leave the braces out");
                return Err(at("thresholds", sentence));
            }
        }
        let of_all =
            "ends a run by a number that would be each flow's; with flows write how long, `run.duration`";
        if self.run.requests.is_some() {
            return Err(Mistake::at("run.requests", of_all));
        }
        if self.run.sessions.is_some() {
            return Err(Mistake::at("run.sessions", of_all));
        }
        Ok(())
    }
}
