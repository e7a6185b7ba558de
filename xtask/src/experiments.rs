//! `cargo xtask experiment` and `cargo xtask study`: build and run the program `experiments`, which makes the
//! papers' figures.
//!
//! A program of its own, since it depends on crates of the product and this one must not.

use anyhow::{Context, Result};
use clap::Args;
use std::ffi::OsString;
use std::process::ExitCode;
use xtask::process;

/// Arguments for the program.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub struct ForwardedArgs {
    /// Arguments for the program; `--help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<OsString>,
}

/// Builds the program as farfield is shipped, and runs its task `task`; its exit code is the one returned.
pub fn run(task: &str, args: &ForwardedArgs) -> Result<ExitCode> {
    let mut command = process::cargo();
    command
        .args(["run", "--profile", process::SHIPPED, "--package", "experiments", "--", task])
        .args(&args.rest);
    eprintln!("$ {}", process::words(&command));
    let status = command.status().with_context(|| format!("cannot start {}", process::words(&command)))?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
