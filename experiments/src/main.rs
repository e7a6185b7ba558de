//! The papers' figures, made again: `cargo xtask experiment` and `cargo xtask study` build and run this program.
//!
//! A figure has a folder, such as `wasp/figure-9`, with its question, its page and its charts. An experiment measures: its
//! `question.toml` says what farfield runs. A study computes from a process or an equation: its code is in `study.rs`, and its
//! numbers are the same on every machine.
//!
//! - [`experiment`]: reads questions, makes runs, judges claims;
//! - [`study`]: the list of studies, and what several of them use;
//! - [`page`]: the results of both, written down.

mod experiment;
mod page;
mod study;

use anyhow::{Context, Result};
use clap::Parser;
use std::path::Path;
use std::process::ExitCode;
use xtask::{hold, process};

/// The folder of all figures, from the root of the repository.
const FOLDER: &str = "experiments";

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about = "Makes the papers' figures again.")]
enum Task {
    Experiment(experiment::ExperimentArgs),
    Study(study::StudyArgs),
    #[command(hide = true)]
    Hold(hold::HoldArgs),
}

fn main() -> ExitCode {
    match run(Task::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("experiments: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> Result<ExitCode> {
    if let Task::Hold(args) = task {
        return hold::run(&args);
    }
    // Paths are relative to the repository's root, wherever the command was typed.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("experiments/ lies in a repository")?;
    std::env::set_current_dir(root).with_context(|| format!("cannot enter {}", root.display()))?;
    match task {
        Task::Experiment(args) => experiment::run(&args),
        Task::Study(args) => study::run(&args).map(|()| ExitCode::SUCCESS),
        Task::Hold(_) => unreachable!("returned above"),
    }
}

/// Builds farfield as users have it, and returns its path.
fn build_farfield() -> Result<std::path::PathBuf> {
    process::run(process::cargo().args(["build", "--release", "--package", "farfield"]))?;
    Ok(process::builds()?.join("release/farfield"))
}
