//! `farfield experiment --recompute`: the page of an experiment from its evidence, without a run.

use super::asked;
use super::document::Question;
use super::evidence::{Evidence, POINTS_FILE};
use crate::commands::child::ChildResult;
use crate::commands::sweep::runner::came_to;
use crate::commands::sweep::{answer, keep, plan};
use crate::exit::Exit;
use crate::flags::on::OnFlags;
use crate::flags::sweep::SweepFormat;
use crate::problem::Problem;
use farfield_experiment::sweep::{RunRecord, SweepReport};
use farfield_report::RunDirectory;
use std::path::Path;

/// Makes `sweep.json`, the pages and the tables in `folder` again, and prints the answer.
pub fn recompute(folder: &Path, format: SweepFormat) -> Result<Exit, Problem> {
    let (evidence, text) = Evidence::read(folder)?;
    let refuse = |why: &dyn std::fmt::Display| Problem::usage(format!("{}: {why}", folder.display()));
    let mut question = Question::read(&text, folder).map_err(|why| refuse(&why))?;
    if question.design.points.is_some() {
        question.design.points = Some(folder.join(POINTS_FILE));
    }
    let planned = plan::design_of(&asked(&question, None, &OnFlags::default()))?;
    let mut runs = Vec::with_capacity(evidence.runs.len());
    for own in &evidence.runs {
        if own.point >= planned.plan.points.len() {
            return Err(refuse(&format!(
                "evidence.json has a run of point {}, of fewer points",
                own.point + 1
            )));
        }
        let run = RunDirectory::open(folder.join(&own.directory)).map_err(|error| refuse(&error))?;
        let made = ChildResult { run, took_s: own.took_s, read_back: true };
        let came_to = came_to(&made, &planned.columns, &question.relaxed, folder);
        runs.push(RunRecord::at(own.point, own.attempt, own.design.clone(), came_to));
    }
    let report = SweepReport::of(&planned.plan, runs, evidence.ended.clone());
    let rows = keep(folder, &report, Some(&evidence.story(&question)))?;
    answer(&report, &rows, folder, format)
}
