//! The tasks of a maintainer as one program: `cargo xtask test`, `check`, `docs`, `dist`, `bench`, `book`,
//! `audit`, `fuzz`, `install`, `pictures`, `same`, `experiment` and `study`.
//!
//! No crate of the product is a dependency, so that it builds quickly on a new machine
//! and still works when they do not compile.

mod architecture;
mod audits;
mod bench;
mod book;
mod browser;
mod built;
mod check;
mod circles;
mod commits;
mod dependencies;
mod directions;
mod dist;
mod docs;
mod experiments;
mod fuzz;
mod house;
mod install;
mod leftovers;
mod libraries;
mod pictures;
mod promises;
mod python;
mod test;

use anyhow::Result;
use clap::Parser;
use std::process::ExitCode;
use xtask::hold;
use xtask::same;
use xtask::task::enter_repository;

/// The tasks of a maintainer of farfield.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Task {
    Test(test::TestArgs),
    /// Checks format, lints, docs, the rules for code, the generated documents and the dependencies.
    Check,
    Docs(docs::DocsArgs),
    Dist(dist::DistArgs),
    Bench(bench::BenchArgs),
    Book(book::BookArgs),
    Audit(audits::AuditArgs),
    Fuzz(fuzz::FuzzArgs),
    /// Installs what the tests and the book take from the system and by pip, which they else do themselves.
    Install,
    Pictures(pictures::PicturesArgs),
    Same(same::SameArgs),
    /// Runs the papers' figures on servers, holds them against their claims, and keeps their pages in
    /// experiments/.
    Experiment(experiments::ForwardedArgs),
    /// Computes the papers' figures of processes, and keeps their pages in experiments/.
    Study(experiments::ForwardedArgs),
    #[command(hide = true)]
    Hold(hold::HoldArgs),
}

fn main() -> ExitCode {
    xtask::task::main("xtask", run)
}

fn run(task: Task) -> Result<ExitCode> {
    if let Task::Hold(args) = task {
        // Its paths are those of the program that started it.
        return hold::run(&args);
    }
    enter_repository()?;
    match task {
        Task::Test(args) => test::run(&args),
        Task::Check => check::run().map(|()| ExitCode::SUCCESS),
        Task::Docs(args) => docs::run(&args).map(|()| ExitCode::SUCCESS),
        Task::Dist(args) => dist::run(&args).map(|()| ExitCode::SUCCESS),
        Task::Audit(args) => audits::run(&args).map(|()| ExitCode::SUCCESS),
        Task::Fuzz(args) => fuzz::run(&args),
        Task::Install => install::run().map(|()| ExitCode::SUCCESS),
        Task::Pictures(args) => pictures::run(&args).map(|()| ExitCode::SUCCESS),
        Task::Same(args) => same::run(&args),
        Task::Book(args) => book::run(&args).map(|()| ExitCode::SUCCESS),
        Task::Bench(args) => bench::run(&args).map(|()| ExitCode::SUCCESS),
        Task::Experiment(args) => experiments::run("experiment", &args),
        Task::Study(args) => experiments::run("study", &args),
        Task::Hold(_) => unreachable!("held above"),
    }
}
