//! The papers' figures, made again: `cargo xtask experiment` and `cargo xtask study` build and run this
//! program.
//!
//! A figure has a folder, such as `wasp/figure-9`, with its question, its page and its charts. An experiment
//! measures: its `question.toml` says what farfield runs. A study computes from a process or an equation: its
//! code is in `study.rs`, and its numbers are the same on every machine.
//!
//! - [`experiment`]: reads questions, makes runs, judges claims;
//! - [`study`]: the list of studies, and what several of them use;
//! - [`page`]: the results of both, written down;
//! - [`index`]: the list of claims that do not hold, from all pages.

mod experiment;
mod index;
mod page;
mod study;

use anyhow::Result;
use clap::Parser;
use std::process::ExitCode;
use xtask::task::enter_repository;
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
    xtask::task::main("experiments", run)
}

fn run(task: Task) -> Result<ExitCode> {
    if let Task::Hold(args) = task {
        // Its paths are those of the program that started it.
        return hold::run(&args);
    }
    enter_repository()?;
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
