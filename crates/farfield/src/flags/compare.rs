//! The flags of `farfield compare` and `farfield runs`.

use super::values::run_directory;
use clap::{ArgGroup, Args, ValueEnum, ValueHint};
use std::path::PathBuf;
use std::time::Duration;

/// `farfield compare`
#[derive(Debug, Args)]
#[command(after_help = "Exit codes:\n  \
    0   compared; no --fail-if was exceeded, and all were decided\n  \
    99  a --fail-if was exceeded\n  \
    3   a --fail-if is undecided: more repeats would decide; or there is no valid run to compare\n\n\
Examples:\n  \
    farfield compare before after\n  \
    farfield compare before after --fail-if 'p99 +5%' --fail-if 'rate -3%'\n  \
    farfield compare nginx apache lighttpd --metric 'p99(connect)' --format html > compared.html")]
pub struct CompareFlags {
    /// Run directories, or folders of repeats, each in a run directory of its own; the others are compared
    /// with the first; `last` is the newest of farfield-runs, `last~1` the one before it
    #[arg(required = true, num_args = 2.., value_name = "RUN|FOLDER", value_hint = ValueHint::DirPath, value_parser = run_directory)]
    pub directories: Vec<PathBuf>,
    /// A further metric: p95, p99(service), mean(connect), …; p99{mobile} is of a class, flow, host, stage or
    /// state of that name; may be repeated
    #[arg(long = "metric", value_name = "METRIC")]
    pub metrics: Vec<String>,
    /// Exit with 99 if a metric has changed by more than this, such as 'p99 +5%' or 'rate -3%', of errors
    /// in percentage points; may be repeated
    #[arg(long = "fail-if", value_name = "CHANGE")]
    pub fail_ifs: Vec<String>,
    /// Format of standard output
    #[arg(long, value_enum, default_value_t = CompareFormat::Text)]
    pub format: CompareFormat,
}

/// The format of what `farfield compare` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum CompareFormat {
    /// Text for a terminal.
    #[default]
    Text,
    /// Markdown, for a pull request.
    Markdown,
    /// A page of HTML in one file, without scripts.
    Html,
    /// All numbers as JSON.
    Json,
}

/// `farfield runs`
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("which").multiple(true).args(["keep", "older"]),
    after_help = "--prune removes run directories directly in the folder that are yours, and neither a run that is under way,\n\
nor a folder of an experiment, nor what links lead to.\n\n\
Examples:\n  \
    farfield runs\n  \
    farfield runs --prune --keep 20 --dry-run\n  \
    farfield runs --prune --older 30d"
)]
pub struct RunsFlags {
    /// The folder of run directories
    #[arg(default_value = "farfield-runs", value_hint = ValueHint::DirPath)]
    pub folder: PathBuf,
    /// Remove old runs, by --keep, --older or both, without a question
    #[arg(long, requires = "which")]
    pub prune: bool,
    /// Remove none of the newest COUNT; by age alone if absent
    #[arg(long, value_name = "COUNT", requires = "prune")]
    pub keep: Option<usize>,
    /// Remove none that began within this time, such as 30d or 12h; by number alone if absent
    #[arg(long, value_name = "TIME", requires = "prune", value_parser = age)]
    pub older: Option<Duration>,
    /// Only say what --prune would remove
    #[arg(long, requires = "prune")]
    pub dry_run: bool,
}

/// A length of time that runs are older than.
fn age(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|_| "write a time with its unit, such as 30d or 12h".to_owned())
}
