//! The program that is shipped: linked by Zig against the symbols of glibc 2.17, with which any Linux of the
//! last ten years has it, and optimised, where it is asked for, by what a [profile](super::training) says.
//!
//! A static program would run as widely, but glibc's `getaddrinfo` loads a library for each source of names
//! that `nsswitch.conf` has, which has to be of the very glibc that is linked.

use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;
use xtask::{process, system};

/// Zig as a linker, and the subcommand of Cargo that uses it, from PyPI.
const TOOLS: [&str; 2] = ["ziglang==0.17.1", "cargo-zigbuild==0.24.1"];

/// The glibc that RHEL 7, and so manylinux2014, has.
const GLIBC: &str = "2.17";

/// Rust's name of this machine's architecture on Linux with glibc.
pub fn target() -> String {
    format!("{}-unknown-linux-gnu", std::env::consts::ARCH)
}

/// Flags of the compiler with which builds of several checkouts, and into several folders `builds`, are the
/// same; and `more` of them.
pub fn flags(builds: &Path, more: &[String]) -> Result<String> {
    let here = std::env::current_dir()?;
    let cargo = match std::env::var_os("CARGO_HOME") {
        Some(home) => PathBuf::from(home),
        None => PathBuf::from(std::env::var_os("HOME").context("HOME is not set")?).join(".cargo"),
    };
    // What is said last counts, and builds may lie in the checkout.
    let renamed = [(cargo.as_path(), "/cargo"), (here.as_path(), "/farfield"), (builds, "/builds")];
    let renamed = renamed.map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display()));
    Ok([&renamed[..], more].concat().join("\x1f"))
}

/// Builds it in the folder `builds`, with the profile if there is one; returns its path.
pub fn portable(builds: &Path, profile: Option<&Path>) -> Result<PathBuf> {
    let tools = tools()?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([tools.clone()].into_iter().chain(std::env::split_paths(&path)))?;
    let more: Vec<String> =
        profile.map(|profile| format!("-Cprofile-use={}", profile.display())).into_iter().collect();
    let mut build = Command::new(tools.join("cargo-zigbuild"));
    build.args(["zigbuild", "--locked", "--profile", process::SHIPPED, "--package", "farfield", "--target"]);
    build.arg(format!("{}.{GLIBC}", target())).env("PATH", path).env("CARGO_TARGET_DIR", builds);
    build
        .env("CARGO_INCREMENTAL", "0")
        .env("CARGO_ENCODED_RUSTFLAGS", flags(builds, &more)?)
        .env_remove("RUSTFLAGS");
    process::run(&mut build)?;
    Ok(builds.join(target()).join(process::SHIPPED).join("farfield"))
}

/// The folder of the tools' programs, installed from PyPI into an environment below the builds.
fn tools() -> Result<PathBuf> {
    let folder = process::builds()?.join("xtask-zig");
    let programs = folder.join("bin");
    if programs.join("cargo-zigbuild").is_file() && programs.join("python-zig").is_file() {
        return Ok(programs);
    }
    let python = system::find("python3").context("python3, which installs the linker, is missing")?;
    eprintln!("Installing with pip, into {}: {}.", folder.display(), TOOLS.join(" "));
    process::run(Command::new(python).args(["-m", "venv"]).arg(&folder))?;
    let mut pip = Command::new(programs.join("python3"));
    process::run(pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(TOOLS))?;
    Ok(programs)
}
