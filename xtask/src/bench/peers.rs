//! Generators that Debian does not have, installed on request into the build folder, where nothing else sees
//! them.

use anyhow::Result;
use std::process::Command;
use xtask::process;
use xtask::system;

/// Versions that the parsers were written for.
const OHA: &str = "1.16.0";
const K6: &str = "go.k6.io/k6@v0.57.0";

/// Installs oha with cargo, and k6 where there is a Go compiler; says what could not be had.
pub fn install() -> Result<()> {
    let root = std::path::absolute(process::builds()?.join("peers"))?;
    let mut oha = process::cargo();
    oha.args(["install", "oha", "--locked", "--version", OHA, "--features", "http3", "--root"]).arg(&root);
    if let Err(error) = process::run(&mut oha) {
        eprintln!("oha is not installed: {error:#}");
    }
    let Some(go) = system::find("go") else {
        eprintln!("k6 is not installed: it needs a Go compiler");
        return Ok(());
    };
    let mut k6 = Command::new(go);
    k6.args(["install", K6]).env("GOBIN", root.join("bin"));
    if let Err(error) = process::run(&mut k6) {
        eprintln!("k6 is not installed: {error:#}");
    }
    Ok(())
}
