//! The runs of a sweep, each in a folder of its point: `point-02/repeat-1`.

use crate::commands::child::{Asked, ChildRuns, Made};
use crate::commands::observe::validity;
use crate::output;
use farfield_base::printable;
use farfield_experiment::Stop;
use farfield_experiment::sweep::{PlannedRun, PointRun, PointRunner, Reading, Setting};
use farfield_report::comparison::metric::Metric;
use farfield_report::sweep::text;
use std::path::PathBuf;

/// Makes the runs by child processes.
pub struct SweepRunner {
    /// Makes them.
    pub runs: ChildRuns,
    /// What they are read for.
    pub metrics: Vec<Metric>,
    /// The folder of the sweep.
    pub folder: PathBuf,
    /// Runs that there are to be, before any that follow from these.
    pub in_all: u32,
    /// Whether no progress is printed.
    pub quiet: bool,
}

impl PointRunner for SweepRunner {
    fn run(&self, run: &PlannedRun) -> Result<PointRun, Stop> {
        let set = |Setting { key, value }: &Setting| (key.clone(), value.clone());
        let sets = run.settings.iter().map(set).chain([
            ("seed".to_owned(), run.design.seed.to_string()),
            ("output.samples".to_owned(), "none".to_owned()),
        ]);
        let name = match run.attempt {
            0 => format!("repeat-{}", run.design.repeat),
            again => format!("repeat-{}-again-{again}", run.design.repeat),
        };
        let made = self.runs.run(&Asked {
            design: &run.design,
            point: &run.design.point,
            sets: sets.collect(),
            directory: self.folder.join(format!("point-{:02}", run.point + 1)).join(name),
        })?;
        let came_to = self.came_to(&made);
        if !self.quiet && !made.read_back {
            let line = text::progress(run, &came_to, self.in_all);
            output::put_progress(&printable(&line, &[]), false);
        }
        Ok(came_to)
    }
}

impl SweepRunner {
    fn came_to(&self, made: &Made) -> PointRun {
        let reading = |metric: &Metric| {
            let value = metric.of_run(&made.run);
            Reading {
                metric: metric.to_string(),
                scale: metric.scale(),
                value: value.ok(),
                unknown: value.err().map(str::to_owned),
            }
        };
        PointRun {
            validity: validity(made.run.summary(), &[]),
            readings: self.metrics.iter().map(reading).collect(),
            directory: made.run.path().to_owned(),
            took_s: made.took_s,
        }
    }
}
