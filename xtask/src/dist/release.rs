//! Facts of a release that all packages repeat: version, time, words.

use anyhow::{Context, Result};
use std::process::Command;
use xtask::process;

/// One sentence about farfield, without a full stop, as package lists want it.
pub const SUMMARY: &str = "web-server benchmark with emulated clients far away and a verdict on each run";

/// A paragraph about farfield.
pub const DESCRIPTION: &str = "farfield sends realistic load to a web server, records every request, and \
checks itself: each run ends with a verdict on the measurement. Clients far away have addresses, a TCP and \
paths of their own, emulated inside its process.";

/// The licence, an SPDX expression.
pub const LICENCE: &str = "MIT OR Apache-2.0";

/// Maintainers as packages name them. No address of theirs is public: issues go where the code is.
pub const MAINTAINER: &str = "The maintainers of farfield <maintainers@farfield.invalid>";

/// A release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    /// The version of the workspace.
    pub version: &'static str,
    /// The time of all files, in seconds since 1970.
    pub time: u64,
}

impl Release {
    /// The release of this checkout: at the time of `SOURCE_DATE_EPOCH`, or of the commit.
    ///
    /// # Errors
    ///
    /// Without either, and if the variable is no number.
    pub fn of_checkout() -> Result<Release> {
        let seconds = match std::env::var("SOURCE_DATE_EPOCH") {
            Ok(seconds) => seconds,
            Err(_) => {
                let printed = process::output(Command::new("git").args(["log", "-1", "--format=%ct"]))
                    .context("the time of the commit is not known: set SOURCE_DATE_EPOCH")?;
                String::from_utf8(printed)?
            }
        };
        let time = seconds.trim().parse().with_context(|| format!("`{seconds}` is no number of seconds"))?;
        // This program has the workspace's version.
        Ok(Release { version: env!("CARGO_PKG_VERSION"), time })
    }
}
