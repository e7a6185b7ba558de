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
    /// Whether no progress is printed.
    pub quiet: bool,
}

impl PointRunner for SweepRunner {
    fn run(&self, run: &PlannedRun) -> Result<PointRun, Stop> {
        let set = |Setting { key, value }: &Setting| (key.clone(), value.clone());
        let seed = ("seed".to_owned(), run.design.seed.to_string());
        let sets = run.settings.iter().map(set).chain([seed]);
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
            let line = text::progress(run, &came_to);
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
            missed: {
                let missed = made.run.summary().thresholds.iter().filter(|threshold| !threshold.passed);
                missed.map(|threshold| threshold.text.clone()).collect()
            },
            directory: made.run.path().to_owned(),
            took_s: made.took_s,
        }
    }
}
