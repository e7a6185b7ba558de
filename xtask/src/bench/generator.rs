//! Load generators: the arguments that give each its work, and the figures that it reports.
//!
//! Every one gets one thread and the same work in its own flags; what it prints is read by a parser that is
//! tested against what it printed once.

pub mod ab;
pub mod bombardier;
pub mod farfield;
pub mod h2load;
pub mod oha;
pub mod vegeta;
pub mod wrk;

use anyhow::{Context, Result};
use std::fmt::Debug;
use std::path::Path;
use std::process::Command;

/// The work of a generator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// The URL requested.
    pub url: String,
    /// Connections, or users with one each.
    pub connections: u32,
    /// The duration in seconds.
    pub seconds: u32,
    /// The pace of requests.
    pub pace: Pace,
    /// The reuse of connections.
    pub reuse: Reuse,
    /// The version of HTTP.
    pub version: Version,
}

/// A version of HTTP, with the requests at once on each connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.1: one.
    Http1,
    /// HTTP/2.
    Http2(u32),
    /// HTTP/3.
    Http3(u32),
}

/// Pace of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Each connection asks again once it is answered.
    Closed,
    /// So many a second, whatever becomes of them.
    Open(u32),
}

/// The reuse of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reuse {
    /// Until the end.
    KeepAlive,
    /// Once.
    OneRequest,
}

/// A generator's report.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Report {
    /// Requests that were answered well, from its start to its end.
    pub completed: u64,
    /// Requests that went wrong.
    pub failed: u64,
    /// Requests completed a second, by its own clock.
    pub per_s: f64,
}

/// A load generator.
pub trait Generator: Debug + Sync {
    /// The name of its executable.
    fn name(&self) -> &'static str;

    /// The argument with which it prints its version.
    fn version_arg(&self) -> &'static str {
        "--version"
    }

    /// The version that is installed on request, of what does not print its own if built from source.
    fn installed_version(&self) -> Option<&'static str> {
        None
    }

    /// The command that does `work` with the executable `program`; files it needs go to `scratch`.
    fn command(&self, program: &Path, work: &Work, scratch: &Path) -> Result<Command>;

    /// The report in its output.
    fn parse(&self, output: &str) -> Result<Report>;
}

/// The number behind `label` in the first line that begins with it, blanks aside.
fn number_after(output: &str, label: &str) -> Result<f64> {
    let rest = output.lines().find_map(|line| line.trim_start().strip_prefix(label));
    let word = rest.and_then(|rest| rest.split_whitespace().next());
    let number = word.and_then(|word| word.trim_end_matches(',').parse().ok());
    number.with_context(|| format!("no number after `{label}`"))
}
