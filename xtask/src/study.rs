//! `cargo xtask study`: builds farfield and the studies as users have them, and runs these.
//!
//! The studies are a program of their own: they read samples and captures back, and what that takes to build this program,
//! with which everything begins, shall not need.

use crate::process;
use anyhow::Result;
use clap::Args;
use std::ffi::OsString;
use std::process::{Command, ExitCode};

/// Runs studies of processes, holds them against what their papers say, and keeps their pages in docs/experiments.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub struct StudyArgs {
    /// Handed to the studies: `--help` tells of them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<OsString>,
}

/// Builds and runs.
pub fn run(args: &StudyArgs) -> Result<ExitCode> {
    process::run(process::cargo().args([
        "build",
        "--release",
        "--package",
        "farfield",
        "--package",
        "studies",
    ]))?;
    let built = process::builds()?.join("release");
    let program = built.join("farfield");
    process::run(Command::new(built.join("studies")).arg("--program").arg(program).args(&args.rest))?;
    Ok(ExitCode::SUCCESS)
}
