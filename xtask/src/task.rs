//! The frame of the maintainers' programs: where they run, and how they end.

use anyhow::{Context, Result};
use clap::Parser;
use std::path::Path;
use std::process::ExitCode;

/// Reads the task that was typed and runs it. An error is printed after the name of the `program`, and fails
/// it.
pub fn main<T: Parser>(program: &str, run: impl FnOnce(T) -> Result<ExitCode>) -> ExitCode {
    run(T::parse()).unwrap_or_else(|error| {
        eprintln!("{program}: {error:#}");
        ExitCode::FAILURE
    })
}

/// Makes the root of the repository the working directory: a task's paths are relative to it, wherever the
/// command was typed.
pub fn enter_repository() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask/ lies in a repository")?;
    std::env::set_current_dir(root).with_context(|| format!("cannot enter {}", root.display()))
}
