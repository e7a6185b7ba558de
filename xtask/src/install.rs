//! `cargo xtask install`: all that the tests and the book take from the system and by pip.
//!
//! Both install it themselves where it is missing. A build from nothing begins with this beside the compiler:
//! downloads mostly wait.

use crate::{book, python};
use anyhow::{Result, bail};
use std::path::{Path, PathBuf};
use xtask::{process, system};

/// The tests' needs besides the programs of the system, as far as they could be had.
#[derive(Debug, Default)]
pub struct Provided {
    /// A Python that has the packages of the tests.
    pub python: Option<PathBuf>,
    /// The file of axe-core.
    pub axe: Option<PathBuf>,
}

/// Installs everything, or fails with what is missing.
pub fn run() -> Result<()> {
    let builds = std::path::absolute(process::builds()?)?;
    let missing = system::provide(system::FOR_TESTS, true)?;
    let provided = by_pip(&builds, true);
    book::provide(&builds, true)?;
    if !missing.is_empty() || provided.python.is_none() || provided.axe.is_none() {
        bail!("not all could be installed");
    }
    eprintln!("All that the tests and the book want is installed.");
    Ok(())
}

/// Sees to it that the Python packages of the tests are in the build folder `builds`, as far as can be.
pub fn by_pip(builds: &Path, may_install: bool) -> Provided {
    let python = python::provide(builds, may_install);
    let axe = python.as_deref().and_then(|python| python::provide_axe(python, may_install));
    Provided { python, axe }
}
