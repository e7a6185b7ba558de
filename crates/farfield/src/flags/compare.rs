//! The flags of `farfield compare` and `farfield runs`.

use super::values::run_directory;
use clap::{Args, ValueEnum, ValueHint};
use std::path::PathBuf;

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
    /// A further metric: p95, p99(service), mean(connect), …; may be repeated
    #[arg(long = "metric", value_name = "METRIC")]
    pub metrics: Vec<String>,
    /// Exit with 99 if a metric has changed by more than this, such as 'p99 +5%' or 'rate -3%', of errors
    /// in percentage points; may be repeated
    #[arg(long = "fail-if", value_name = "CHANGE")]
    pub fail_ifs: Vec<String>,
    /// What to print
    #[arg(long, value_enum, default_value_t = CompareFormat::Text)]
    pub format: CompareFormat,
}

/// What `farfield compare` prints.
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
pub struct RunsFlags {
    /// The folder of run directories
    #[arg(default_value = "farfield-runs", value_hint = ValueHint::DirPath)]
    pub folder: PathBuf,
}
