//! The stages of a load, each counted as the measured part of a run that consists of it alone.

use super::Recount;
use super::expected::Expected;
use super::part::{PartCounts, RequestScope, RunPart};
use crate::set_aside::SetAside;
use farfield_base::{Instant, StageSpan, Window};
use farfield_traffic::stages::STAGES_MAX;
use serde_json::Value;

/// The stages that a scenario asked for; without one, those that the summary `said` has.
pub fn stages(said: &Value, asked: Option<&[StageSpan]>) -> Vec<StageSpan> {
    asked.map_or_else(|| spans(said, "stages"), <[StageSpan]>::to_vec)
}

/// The parts of time that the summary has under `key`.
pub fn spans(said: &Value, key: &str) -> Vec<StageSpan> {
    let rows = said.get(key).and_then(Value::as_array).into_iter().flatten();
    let word = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let at = |row: &Value, key: &str| Instant::from_ns(row[key].as_u64().unwrap_or(0));
    let stage = |row: &Value| StageSpan {
        name: word(row, "name"),
        course: word(row, "course"),
        from: at(row, "from_ns"),
        to: at(row, "to_ns"),
    };
    // A summary from elsewhere may name any number, each of which would count all samples.
    rows.take(STAGES_MAX).map(stage).collect()
}

impl<'a> Recount<'a> {
    /// The stage as a run of its own; `None` if it has no part in the measured part.
    fn stage(&self, stage: &StageSpan) -> Option<Recount<'a>> {
        let [measure_from, measure_to] = [self.from, self.to].map(Instant::from_ns);
        let inside = stage.within(Window { measure_from, measure_to })?;
        Some(Recount {
            from: inside.from.as_ns(),
            to: inside.to.as_ns(),
            ended_early: self.ended_early && stage.to > measure_to,
            classes: Vec::new(),
            states: Vec::new(),
            flows: Vec::new(),
            hosts: Vec::new(),
            stages: Vec::new(),
            conditions: Vec::new(),
            aside: SetAside::default(),
            ..*self
        })
    }

    /// The requests of the stage of this name.
    pub(super) fn counted_of_stage(&self, name: &str) -> Option<PartCounts> {
        let stage = self.stages.iter().find(|stage| stage.name == name)?;
        Some(PartCounts::part(&self.stage(stage)?, RunPart::Steady, RequestScope::All))
    }

    pub(super) fn expected_stages(&self) -> Expected {
        self.expected_parts(&self.stages)
    }

    pub(super) fn expected_conditions(&self) -> Expected {
        self.expected_parts(&self.conditions)
    }

    fn expected_parts(&self, parts: &[StageSpan]) -> Expected {
        let one = |stage: &StageSpan| {
            let own = self.stage(stage)?;
            Some(Expected::record([
                ("name", Expected::word(&stage.name)),
                ("course", Expected::word(&stage.course)),
                ("from_ns", Expected::Count(own.from)),
                ("to_ns", Expected::Count(own.to)),
                ("steady", PartCounts::part(&own, RunPart::Steady, RequestScope::All).expected(&own, None)),
            ]))
        };
        match parts.is_empty() {
            true => Expected::Nothing,
            false => Expected::List(parts.iter().filter_map(one).collect()),
        }
    }
}
