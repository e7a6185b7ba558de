//! The flags of `farfield report`.

use super::values::run_directory;
use super::verbose::VerboseFlags;
use clap::{Args, ValueEnum, ValueHint};
use std::path::PathBuf;

/// `farfield report`
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: those of the run itself.\n\n\
Examples:\n  \
    farfield report\n  \
    farfield report a -v\n  \
    farfield report a --format csv | duckdb -c \"from read_csv('/dev/stdin') limit 5\"\n  \
    farfield report a --format html --out a.html\n  \
    farfield report a --format junit --out farfield.xml\n  \
    farfield report a --format markdown >> \"$GITHUB_STEP_SUMMARY\"\n  \
    farfield report a --format hgrm --histogram steady.service --out service.hgrm")]
pub struct ReportFlags {
    /// The run directory; `last` is the newest of farfield-runs, `last~1` the one before it
    #[arg(default_value = "last", value_hint = ValueHint::DirPath, value_parser = run_directory)]
    pub directory: PathBuf,
    /// Content and format of standard output
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    pub format: ReportFormat,
    /// The histogram of `--format hgrm`, by its tag in histograms.hlog
    #[arg(long, value_name = "TAG", default_value = "steady.response")]
    pub histogram: String,
    /// Write to a file; to standard output if absent
    #[arg(short = 'o', long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub verbose: VerboseFlags,
}

/// The content and format of what `farfield report` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ReportFormat {
    /// A summary that fits a terminal.
    #[default]
    Text,
    /// The summary as JSON.
    Json,
    /// The samples as comma-separated values, a line for each request.
    Csv,
    /// The samples as JSON lines, an object for each request.
    Jsonl,
    /// All histograms, as an interval log of HdrHistogram (V2).
    Hdr,
    /// The percentiles of one histogram, as HdrHistogram's tools plot them.
    Hgrm,
    /// The checks of the verdict and the thresholds, as JUnit's XML.
    Junit,
    /// The result as Markdown, for a pull request.
    Markdown,
    /// The run as a page of HTML in one file, with charts.
    Html,
}
