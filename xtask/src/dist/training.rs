//! A profile of the program for the compiler: which functions run often, and which way their branches go,
//! counted in runs on each plane.
//!
//! The program that counts is built and linked as this machine does it, and without optimisation at link
//! time: counters are put in ahead of both.

use super::build::{flags, target};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use xtask::{process, system};

/// Runs that are counted, each of some seconds: a closed loop on sockets before farfield's own server, users
/// behind emulated paths (which need root), and a simulation.
const RUNS: [&[&str]; 4] = [
    &["run", "--plane", "sockets", "-c", "64", "-d", "5s"],
    &["run", "scenarios/tour.toml", "-d", "5s"],
    &["run", "scenarios/wan.toml", "-d", "5s"],
    &["run", "--plane", "simulated", "--rtt", "80ms", "-c", "500", "-d", "30s"],
];

/// The profile, made in the folder `builds`; `None`, with one line that says why, where LLVM's tool that
/// merges counts is missing.
pub fn profile(builds: &Path) -> Result<Option<PathBuf>> {
    let Some(merge) = merging_tool()? else {
        eprintln!(
            "Without a profile: `llvm-profdata` of rustc's LLVM is missing (rustup component add llvm-tools)."
        );
        return Ok(None);
    };
    let counts = builds.join("counts");
    if counts.exists() {
        fs::remove_dir_all(&counts).with_context(|| format!("cannot empty {}", counts.display()))?;
    }
    let mut build = process::cargo();
    build.args(["build", "--locked", "--profile", process::SHIPPED, "--package", "farfield"]);
    build.args(["--target", &target()]).env("CARGO_TARGET_DIR", builds).env("CARGO_INCREMENTAL", "0");
    let counting = format!("-Cprofile-generate={}", counts.display());
    build.env("CARGO_PROFILE_DIST_LTO", "off").env("CARGO_ENCODED_RUSTFLAGS", flags(builds, &[counting])?);
    process::run(build.env_remove("RUSTFLAGS"))?;
    let farfield = builds.join(target()).join(process::SHIPPED).join("farfield");
    for words in RUNS {
        let scratch = tempfile::tempdir().context("cannot make a folder")?;
        let mut run = Command::new(&farfield);
        run.args(words).arg("-q").arg("-o").arg(scratch.path().join("run"));
        let status = run.status().with_context(|| format!("cannot start {}", farfield.display()))?;
        // A program that counts is slow, which makes a run invalid and its counts no worse.
        if !matches!(status.code(), Some(0 | 3)) {
            eprintln!("`{}` ends with {status}, and what it counted may be missing.", process::words(&run));
        }
    }
    let profile = builds.join("farfield.profdata");
    process::run(Command::new(merge).arg("merge").arg("-o").arg(&profile).arg(&counts))?;
    Ok(Some(profile))
}

/// LLVM's tool of rustc's own version: the toolchain's, or the system's.
fn merging_tool() -> Result<Option<PathBuf>> {
    let printed = |words: &[&str]| -> Result<String> {
        Ok(String::from_utf8(process::output(Command::new("rustc").args(words))?)?)
    };
    let own = Path::new(printed(&["--print", "sysroot"])?.trim())
        .join("lib/rustlib")
        .join(target())
        .join("bin/llvm-profdata");
    if own.is_file() {
        return Ok(Some(own));
    }
    let version = printed(&["-vV"])?;
    let Some(version) = version.lines().find_map(|line| line.strip_prefix("LLVM version: ")) else {
        bail!("rustc does not say which LLVM it has");
    };
    let major = version.split('.').next().unwrap_or_default();
    Ok(system::find(&format!("llvm-profdata-{major}")))
}
