//! Generators that Debian does not have, installed on request into the build folder, where nothing else sees
//! them.

use anyhow::Result;
use std::process::Command;
use xtask::process;
use xtask::system;

/// Versions that the parsers were written for.
const OHA: &str = "1.16.0";
pub const VEGETA: &str = "github.com/tsenart/vegeta/v12@v12.13.0";
pub const BOMBARDIER: &str = "github.com/codesenberg/bombardier@v1.2.6";

/// Installs oha with cargo, and vegeta and bombardier where there is a Go compiler; says what could not be
/// had.
pub fn install() -> Result<()> {
    let root = std::path::absolute(process::builds()?.join("peers"))?;
    let mut oha = process::cargo();
    oha.args(["install", "oha", "--locked", "--version", OHA, "--features", "http3", "--root"]).arg(&root);
    if let Err(error) = process::run(&mut oha) {
        eprintln!("oha is not installed: {error:#}");
    }
    let Some(go) = system::find("go") else {
        eprintln!("vegeta and bombardier are not installed: they need a Go compiler");
        return Ok(());
    };
    for module in [VEGETA, BOMBARDIER] {
        let mut install = Command::new(&go);
        install.args(["install", module]).env("GOBIN", root.join("bin"));
        if let Err(error) = process::run(&mut install) {
            eprintln!("{module} is not installed: {error:#}");
        }
    }
    Ok(())
}
