//! The flags of `farfield sweep`.

use super::heading::{LIMITS, OUTPUT};
use super::on::OnFlags;
use super::scenario::{LoadFlags, ScenarioFlags};
use super::values::count;
use clap::{Args, ValueEnum, ValueHint};
use farfield_scenario::Overlay;
use std::path::PathBuf;

/// The longest measured part that runs are lengthened to.
pub const LENGTH_MAX: &str = "5m";

/// `farfield sweep`
#[derive(Debug, Clone, Args)]
#[command(after_help = "Exit codes:\n  \
    0    every point has a valid run, and intervals are as narrow as was asked\n  \
    3    one has not, or time was short\n  \
    130  interrupted; the same command with --out goes on from there\n\n\
Examples:\n  \
    farfield sweep shop.toml --vary network.rtt=0ms,50ms,100ms --vary load.users=50,200\n  \
    farfield sweep shop.toml --vary server.command='nginx -c a.conf','nginx -c b.conf' --until 'p99 ± 5%'\n  \
    farfield sweep http://127.0.0.1:8080/ -c 20 --repeats 5\n  \
    farfield sweep shop.toml --vary load.users=500,2000 --on ssh:a,b")]
pub struct SweepFlags {
    /// The URL to load, or a scenario file
    #[arg(value_name = "URL|SCENARIO", value_hint = ValueHint::FilePath)]
    pub what: String,
    #[command(flatten)]
    pub design: DesignFlags,
    #[command(flatten)]
    pub repeat: RepeatFlags,
    #[command(flatten, next_help_heading = LIMITS)]
    pub on: OnFlags,

    #[command(flatten)]
    pub load: LoadFlags,
    #[command(flatten)]
    pub scenario: ScenarioFlags,
    /// Format of standard output
    #[arg(long, value_enum, default_value_t, help_heading = OUTPUT)]
    pub format: SweepFormat,
    /// Print no progress
    #[arg(short, long, help_heading = OUTPUT)]
    pub quiet: bool,
}

/// The runs that there are to be.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Sweep")]
pub struct DesignFlags {
    /// Vary this key, in all combinations with others; may be repeated
    #[arg(long, value_name = "KEY=VALUE,VALUE…")]
    pub vary: Vec<String>,
    /// Vary one key at a time, from the first value of each
    ///
    /// Instead of all combinations.
    #[arg(long, requires = "vary")]
    pub one_at_a_time: bool,
    /// The points as CSV, keys in the first line; none if absent
    #[arg(long, value_name = "FILE", conflicts_with = "vary", value_hint = ValueHint::FilePath)]
    pub points: Option<PathBuf>,
    /// Runs at once; if absent 1, or simulated as many as processors
    #[arg(long, value_name = "COUNT", allow_negative_numbers = true, value_parser = count::<u32>)]
    pub jobs: Option<u32>,
    /// A further metric: p95, mean(connect), …; may be repeated
    ///
    /// Or any number of the summary by its path, of what was monitored, or an expression over these.
    #[arg(long = "metric", value_name = "METRIC")]
    pub metrics: Vec<String>,
    /// The folder of the runs; farfield-runs/TIME-NAME-sweep if absent
    ///
    /// Runs that are in it are not made again.
    #[arg(short = 'o', long, value_name = "DIRECTORY", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
}

/// Repeats of each run.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = LIMITS)]
pub struct RepeatFlags {
    /// Repeat so often, each time with another seed; if absent a sweep does it 3 times, a run once
    #[arg(long, hide_short_help = true, value_name = "COUNT", allow_negative_numbers = true, value_parser = count::<u32>)]
    pub repeats: Option<u32>,
    /// Repeat until the mean is known so well: 'p99 ± 5%'; not if absent
    ///
    /// Until the interval of the mean of this metric is so narrow, and at least 5 times. Besides metrics,
    /// any number of the summary by its path, such as 'steady.rates.body_bytes_per_s ± 3%'.
    #[arg(long, value_name = "WIDTH")]
    pub until: Option<String>,
    /// Repeat so often at most
    #[arg(long, hide_short_help = true, value_name = "COUNT", default_value_t = 100, allow_negative_numbers = true, value_parser = count::<u32>)]
    pub repeats_max: u32,
    /// The longest measured part that runs are lengthened to where --until needs longer ones
    #[arg(long, hide_short_help = true, value_name = "TIME", default_value = LENGTH_MAX, allow_hyphen_values = true)]
    pub length_max: String,
    /// The time for all repeats; none is begun that would probably not end in it; no limit if absent
    #[arg(long, hide_short_help = true, value_name = "TIME")]
    pub budget: Option<String>,
}

/// `farfield experiment`
#[derive(Debug, Clone, Args)]
#[command(after_help = "Exit codes:\n  \
    0    every claim holds\n  \
    3    one is undecided, or a point has no valid run\n  \
    99   one fails\n  \
    130  interrupted; the same command with --out goes on from there\n\n\
Examples:\n  \
    farfield experiment question.toml\n  \
    farfield experiment question.toml --budget 1h --out answer\n  \
    farfield experiment --list\n  \
    farfield experiment wagon/figure-15 --out answer\n  \
    farfield experiment --recompute answer")]
pub struct ExperimentFlags {
    /// The question's file, or the name of one that is built in; absent with --list and --recompute
    #[arg(value_name = "QUESTION", value_hint = ValueHint::FilePath, conflicts_with_all = ["list", "recompute"])]
    pub question: Option<PathBuf>,
    /// List the questions that are built in
    #[arg(long, conflicts_with_all = ["recompute", "out", "budget", "on"])]
    pub list: bool,
    /// Make the pages of this experiment again from its runs, without a run; not if absent
    #[arg(long, value_name = "DIRECTORY", value_hint = ValueHint::DirPath, conflicts_with_all = ["out", "budget", "on"])]
    pub recompute: Option<PathBuf>,
    /// The time for all runs; the question's if absent
    #[arg(long, value_name = "TIME")]
    pub budget: Option<String>,
    /// The folder of the runs and of what follows from them; farfield-runs/TIME-NAME if absent
    ///
    /// Runs that are in it are not made again.
    #[arg(short = 'o', long, value_name = "DIRECTORY", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub on: OnFlags,
    /// Format of standard output
    #[arg(long, value_enum, default_value_t, help_heading = OUTPUT)]
    pub format: SweepFormat,
    /// Print no progress
    #[arg(short, long, help_heading = OUTPUT)]
    pub quiet: bool,
}

/// The format of what `farfield sweep` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum SweepFormat {
    /// The points and what moves the result, on a terminal.
    #[default]
    Text,
    /// All of it as JSON.
    Json,
    /// A row for each run, as CSV.
    Csv,
}

impl RepeatFlags {
    /// True if repeats are asked for.
    pub fn is_asked(&self) -> bool {
        self.repeats.is_some() || self.until.is_some()
    }
}

impl SweepFlags {
    /// The keys that the flags lay over a scenario, in each run.
    pub fn overlay(&self) -> Overlay {
        let mut overlay = Overlay::default();
        self.load.lay(&mut overlay);
        self.scenario.lay(&mut overlay);
        overlay
    }
}
