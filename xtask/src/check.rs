//! `cargo xtask check`: format, lints, docs and the rules for code, generated documents, directions of
//! dependencies, circles of modules, files that ARCHITECTURE.md names, tests that pages promise, links of
//! pages, packages of libraries, licences; a warning is an error.

use crate::architecture;
use crate::book;
use crate::built;
use crate::circles;
use crate::commits;
use crate::dependencies;
use crate::directions;
use crate::docs;
use crate::house;
use crate::libraries;
use crate::promises;
use anyhow::{Result, bail};
use std::path::PathBuf;
use xtask::process;

/// Checks everything short of running the tests.
pub fn run() -> Result<()> {
    process::run(process::cargo().args(["fmt", "--all", "--check"]))?;
    // A workspace of its own, that needs a nightly compiler to build, which has to know its dependencies.
    process::run(process::cargo().args(["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"]))?;
    let locked = ["metadata", "--locked", "--format-version", "1", "--manifest-path", "fuzz/Cargo.toml"];
    process::output(process::cargo().args(locked))?;
    rules()?;
    commits::check()?;
    directions::check()?;
    circles::check()?;
    architecture::check()?;
    promises::check()?;
    book::links::check()?;
    if built::is_read_once() {
        built::tests()?;
    } else {
        process::run(process::cargo().args(["clippy", "--workspace", "--all-targets", "--"]).args(CLIPPY))?;
        document()?;
    }
    docs::check()?;
    libraries::check()?;
    dependencies::check()?;
    eprintln!("All is in order.");
    Ok(())
}

/// Documents all crates, by what clippy has just made of them: cargo knows a crate's check by the compiler
/// that made it, and would check them all once more.
fn document() -> Result<()> {
    let mut doc = process::cargo();
    doc.args(["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings");
    let clippy = PathBuf::from(doc.get_program()).with_file_name("clippy-driver");
    if clippy.is_file() {
        // As `cargo clippy` has them, or it would check again.
        doc.env("RUSTC_WORKSPACE_WRAPPER", clippy);
        doc.env("CLIPPY_ARGS", CLIPPY.map(|arg| format!("{arg}__CLIPPY_HACKERY__")).concat());
    }
    process::run(&mut doc)
}

/// Arguments of clippy's compiler.
const CLIPPY: [&str; 2] = ["-D", "warnings"];

/// The folders of this repository's code.
const FOLDERS: [&str; 4] = ["crates", "fuzz/src", "experiments", "xtask"];

fn rules() -> Result<()> {
    let broken = house::inspect(&FOLDERS)?;
    for complaint in &broken {
        eprintln!("{complaint}");
    }
    if !broken.is_empty() {
        bail!("{} broken rules for code (see CONTRIBUTING.md)", broken.len());
    }
    Ok(())
}
