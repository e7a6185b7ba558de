//! Trials of a search as runs of this same program.

use super::load::RisingLoad;
use crate::commands::child::{ChildRun, ChildRuns, in_ns};
use crate::commands::observe::{backlog_share, bounded_by_generator, observed, still_rising};
use crate::output;
use farfield_base::printable;
use farfield_experiment::unmeasured::{CoolDowns, WarmUps};
use farfield_experiment::{Design, Observed, Runner, Stop, Trial, Validity};
use farfield_report::capacity::text;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Makes trials by child processes.
pub struct TrialRunner {
    /// Makes the runs.
    pub runs: ChildRuns,
    /// The load that rises.
    pub load: RisingLoad,
    /// The goals, each a threshold.
    pub goals: Vec<String>,
    /// The length of warm-ups.
    pub warm_ups: WarmUps,
    /// The length of cool-downs.
    pub cool_downs: CoolDowns,
    /// The folder of trials.
    pub folder: PathBuf,
    /// True if no progress is printed.
    pub quiet: bool,
}

/// The content of a trial's `design.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct TrialDesign {
    #[serde(flatten)]
    design: Design,
    load: f64,
    length_ns: u64,
}

impl Runner for TrialRunner {
    fn run(&mut self, trial: &Trial) -> Result<Observed, Stop> {
        let goals = toml::Value::from(self.goals.clone());
        let sets = [
            (self.load.key.as_str(), self.load.value(trial.load)),
            ("run.duration", in_ns(trial.length)),
            ("run.warm-up", in_ns(self.warm_ups.next(trial.length))),
            ("run.cool-down", in_ns(self.cool_downs.next(trial.length))),
            ("seed", trial.design.seed.to_string()),
            ("thresholds", goals.to_string()),
            ("output.samples", "none".to_owned()),
        ];
        let design =
            TrialDesign { design: trial.design.clone(), load: trial.load, length_ns: trial.length.as_ns() };
        let made = self.runs.run(&ChildRun {
            design: &design,
            point: &trial.design.point,
            sets: sets.map(|(key, value)| (key.to_owned(), value)).to_vec(),
            directory: self.folder.join(format!("{:04}", trial.design.number)),
        })?;
        let mut observed = observed(made.run.summary(), &self.goals, made.run.path(), made.took_s);
        if !self.load.whole {
            observed.backlog_share = backlog_share(made.run.summary());
        }
        // Of a peak throughput itself is the answer.
        if self.goals.is_empty() && observed.validity == Validity::Valid {
            observed.validity = bounded_by_generator(made.run.summary()).unwrap_or(Validity::Valid);
        }
        if self.load.is_of_sessions() && !self.goals.is_empty() && observed.validity == Validity::Valid {
            let rising = still_rising(made.run.summary(), &observed.goals);
            observed.validity = rising.unwrap_or(Validity::Valid);
        }
        self.warm_ups.note(&observed);
        self.cool_downs.note(&observed, trial.length);
        if !self.quiet && !made.read_back {
            let line = text::progress(self.load.unit, trial, &observed);
            output::put_progress(&printable(&line, &[]), false);
        }
        Ok(observed)
    }
}
