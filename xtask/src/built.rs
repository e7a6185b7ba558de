//! Builds of the whole workspace: a part of it would be built with other features, and dependencies twice.
//!
//! `.ci/run` has cargo compile our crates by `.ci/compile`, which lints and documents each as it is
//! compiled. Then programs are those that tests use, which would be compiled once more without the features
//! of tests.

use anyhow::Result;
use std::path::Path;
use xtask::process;

/// The program by which each crate is compiled, linted and documented at once.
const COMPILE: &str = ".ci/compile";

/// True if cargo compiles our crates by that.
pub fn is_read_once() -> bool {
    std::env::var_os("RUSTC_WORKSPACE_WRAPPER").is_some_and(|program| Path::new(&program).ends_with(COMPILE))
}

/// Builds all programs of the workspace.
pub fn programs() -> Result<()> {
    if is_read_once() {
        return tests();
    }
    process::run(process::cargo().args(["build", "--workspace", "--bins"]))
}

/// Builds all tests and benches, and the programs that they run.
pub fn tests() -> Result<()> {
    process::run(process::cargo().args(["test", "--workspace", "--all-targets", "--no-run"]))
}
