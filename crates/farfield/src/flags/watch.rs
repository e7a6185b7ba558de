//! The flags of `farfield run` that say where its figures go while it goes on. They are no keys of the
//! scenario: they change nothing of the run.

use super::heading::OUTPUT;
use clap::{Args, ValueEnum, ValueHint};

/// Where the figures of a run go.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = OUTPUT)]
pub struct WatchFlags {
    /// Serve the figures for Prometheus at /metrics while the run goes on: at a port of the loopback
    /// interface, or at the address given; not served if absent
    #[arg(long, hide_short_help = true, value_name = "[ADDRESS:]PORT")]
    pub metrics: Option<String>,
    /// Push the figures each second by Prometheus' remote write; may be repeated
    #[arg(long, hide_short_help = true, value_name = "URL", value_hint = ValueHint::Url)]
    pub metrics_push: Vec<String>,
    /// Push the figures each second by the OpenTelemetry Protocol (JSON over HTTP); may be repeated
    #[arg(long, hide_short_help = true, value_name = "URL", value_hint = ValueHint::Url)]
    pub metrics_otlp: Vec<String>,
    /// Show the run in a browser while it goes on, at a free port or the one given
    ///
    /// The port is one of the loopback interface; an address and a port is reached by other machines. Not
    /// shown if absent.
    #[arg(long, hide_short_help = true, value_name = "[ADDRESS:]PORT", num_args = 0..=1, require_equals = true, default_missing_value = "0")]
    pub ui: Option<String>,
}

/// The format of what a run prints on standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum RunFormat {
    /// A summary that fits a terminal.
    #[default]
    Text,
    /// The summary as JSON, for pipes.
    Json,
    /// The figures so far as a line of JSON each second, and a last line with the result, for programs.
    Jsonl,
}
