//! The flows of users, each counted by the numbers of its requests.

use super::Recount;
use super::expected::Expected;
use super::part::{PartCounts, RequestScope, RunPart};
use crate::run::{AskedFlow, FlowPlace, ScenarioDemands};
use serde_json::Value;

/// Flows of a summary at most.
const FLOWS_MAX: usize = 16;

/// The flows that a scenario asked for, by name; without one, those that the summary `said` has. None where
/// there are no several.
pub fn flows(said: &Value, asked: Option<&ScenarioDemands>) -> Vec<(String, FlowPlace)> {
    if let Some(asked) = asked {
        if asked.only_load().is_some() {
            return Vec::new();
        }
        // One flow has all requests, of which its own are as many as it asks for.
        let place = |(place, flow): (FlowPlace, &AskedFlow)| FlowPlace { requests: flow.requests, ..place };
        let places = asked.places().into_iter().zip(&asked.flows).map(place);
        return asked.flows.iter().map(|flow| flow.name.clone()).zip(places).collect();
    }
    let rows = said.get("flows").and_then(Value::as_array).into_iter().flatten();
    let number = |row: &Value, key: &str| row[key].as_u64().map_or(0, |number| number as u32);
    let flow = |row: &Value| {
        let (first_request, requests) = (number(row, "first_request"), number(row, "requests"));
        let place = FlowPlace { first_request, requests, first_user: 0 };
        (row["name"].as_str().unwrap_or_default().to_owned(), place)
    };
    rows.take(FLOWS_MAX).map(flow).collect()
}

impl Recount<'_> {
    /// The requests of the flow of this name.
    pub(super) fn counted_of_flow(&self, name: &str) -> Option<PartCounts> {
        let (_, place) = self.flows.iter().find(|(own, _)| own == name)?;
        Some(PartCounts::part(self, RunPart::Steady, RequestScope::Flow(*place)))
    }

    pub(super) fn expected_flows(&self, steady: &PartCounts) -> Expected {
        let one = |(name, place): &(String, FlowPlace)| {
            let own = PartCounts::part(self, RunPart::Steady, RequestScope::Flow(*place));
            let share = own.requests as f64 / steady.requests as f64;
            Expected::record([
                ("name", Expected::word(name)),
                ("share", Expected::near_or_nothing((steady.requests > 0).then_some(share))),
                ("first_request", Expected::Count(place.first_request.into())),
                ("requests", Expected::Count(place.requests.into())),
                ("steady", own.expected(self, None)),
            ])
        };
        match self.flows.is_empty() {
            true => Expected::Nothing,
            false => Expected::List(self.flows.iter().map(one).collect()),
        }
    }

    /// The number of the request of the state at this place in the summary's list: of flows, the states of
    /// each are named behind it.
    pub(super) fn request_of_state(&self, place: usize) -> u32 {
        let flow_of = |state: &str| {
            let (flow, _) = state.split_once('/')?;
            self.flows.iter().find(|(name, _)| name == flow)
        };
        match self.states.get(place).and_then(|state| flow_of(state)) {
            None => place as u32,
            Some((name, of_flow)) => {
                let before = self.states[..place]
                    .iter()
                    .filter(|state| flow_of(state).is_some_and(|(other, _)| other == name));
                of_flow.first_request + before.count() as u32
            }
        }
    }
}
