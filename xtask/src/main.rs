//! The tasks of a maintainer as one program: `cargo xtask test`, `check`, `docs`, `bench`, `experiment` and `study`.
//!
//! It stands beside the product and depends on none of its crates, so that it builds quickly on a new machine
//! and still works when they do not compile.

mod bench;
mod check;
mod dependencies;
mod directions;
mod docs;
mod experiments;
mod house;
mod leftovers;
mod python;
mod test;

use anyhow::{Context, Result};
use clap::Parser;
use std::path::Path;
use std::process::ExitCode;
use xtask::hold;

/// The tasks of a maintainer of farfield.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Task {
    Test(test::TestArgs),
    /// Checks format, lints, docs, the rules for code, the generated documents and the dependencies.
    Check,
    Docs(docs::DocsArgs),
    Bench(bench::BenchArgs),
    /// Runs the papers' figures on servers, holds them against their claims, and keeps their pages in experiments/.
    Experiment(experiments::ForwardedArgs),
    /// Computes the papers' figures of processes, and keeps their pages in experiments/.
    Study(experiments::ForwardedArgs),
    #[command(hide = true)]
    Hold(hold::HoldArgs),
}

fn main() -> ExitCode {
    match run(Task::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> Result<ExitCode> {
    if let Task::Hold(args) = task {
        return hold::run(&args);
    }
    // Every path below is relative to the repository's root, wherever the command was typed.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask lies in no repository")?;
    std::env::set_current_dir(root).with_context(|| format!("cannot enter {}", root.display()))?;
    match task {
        Task::Test(args) => test::run(&args),
        Task::Check => check::run().map(|()| ExitCode::SUCCESS),
        Task::Docs(args) => docs::run(&args).map(|()| ExitCode::SUCCESS),
        Task::Bench(args) => bench::run(&args).map(|()| ExitCode::SUCCESS),
        Task::Experiment(args) => experiments::run("experiment", &args),
        Task::Study(args) => experiments::run("study", &args),
        Task::Hold(_) => unreachable!("held above"),
    }
}
