//! The runs of a sweep, each in a folder of its point: `point-02/repeat-1`.

use crate::commands::child::{Asked, ChildRuns, Made, in_ns};
use crate::commands::observe::validity;
use crate::output;
use farfield_base::{Duration, printable};
use farfield_experiment::Stop;
use farfield_experiment::sweep::{Course, PlannedRun, PointRun, PointRunner, Reading, RunLength, Setting};
use farfield_report::comparison::metric::Metric;
use farfield_report::sweep::text;
use std::path::PathBuf;

/// Makes the runs by child processes.
pub struct SweepRunner {
    /// Makes them.
    pub runs: ChildRuns,
    /// What they are read for.
    pub metrics: Vec<Metric>,
    /// The time limit of requests, which does not follow the length of longer runs.
    pub request_timeout: Option<Duration>,
    /// The folder of the sweep.
    pub folder: PathBuf,
    /// Whether no progress is printed.
    pub quiet: bool,
}

impl PointRunner for SweepRunner {
    fn run(&self, run: &PlannedRun) -> Result<PointRun, Stop> {
        let set = |Setting { key, value }: &Setting| (key.clone(), value.clone());
        let seed = ("seed".to_owned(), run.design.seed.to_string());
        let sets = run.length.iter().flat_map(|length| self.of_length(length));
        let sets = sets.chain(run.settings.iter().map(set)).chain([seed]);
        let length = run.length.map_or(String::new(), |RunLength { measured, warm_up }| {
            format!("-of-{measured}-after-{warm_up}")
        });
        let again = match run.attempt {
            0 => String::new(),
            again => format!("-again-{again}"),
        };
        let name = format!("repeat-{}{length}{again}", run.design.repeat);
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
    /// The keys of a run that is not as long as its scenario says.
    fn of_length(&self, length: &RunLength) -> Vec<(String, String)> {
        let own = |key: &str, time: Duration| (key.to_owned(), in_ns(time));
        let timeout = self.request_timeout.map(|limit| own("connections.request-timeout", limit));
        let both = [own("run.duration", length.measured), own("run.warm-up", length.warm_up)];
        timeout.into_iter().chain(both).collect()
    }

    fn came_to(&self, made: &Made) -> PointRun {
        let reading = |metric: &Metric| {
            let value = metric.of_run(&made.run);
            Reading {
                metric: metric.to_string(),
                scale: metric.scale(),
                value: value.ok(),
                unknown: value.err().map(str::to_owned),
                need: metric.need_of(&made.run),
            }
        };
        PointRun {
            validity: validity(made.run.summary(), &[]),
            readings: self.metrics.iter().map(reading).collect(),
            course: made.run.summary().settling.map(|settling| Course {
                settled_ns: settling.settled_ns,
                halves_ratio: settling.halves_ratio(),
            }),
            missed: {
                let missed = made.run.summary().thresholds.iter().filter(|threshold| !threshold.passed);
                missed.map(|threshold| threshold.text.clone()).collect()
            },
            directory: made.run.path().to_owned(),
            took_s: made.took_s,
        }
    }
}
