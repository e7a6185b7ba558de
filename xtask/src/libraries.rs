//! The crates that stand for themselves: each can be packaged from its folder alone, compiles without its
//! default features, and its README has the output that docs/libraries.md shows.
//!
//! The programs of the READMEs are doctests, and the examples' output is held against the README by a test of
//! the crate: `cargo xtask test` runs both. Nothing is published here.

use anyhow::{Context, Result, bail};
use std::fs;
use xtask::process;

/// The libraries and what they are built on.
const PACKAGES: [&str; 8] = [
    "farfield-base",
    "farfield-wire",
    "farfield-tcp",
    "farfield-net",
    "farfield-log",
    "farfield-traffic",
    "farfield-fit",
    "farfield-http",
];

/// Packages with features, and sets of them that compile beside the default.
const FEATURES: [(&[&str], &str); 4] = [
    (&["farfield-fit", "farfield-http", "farfield-traffic"], ""),
    (&["farfield-http"], "http2"),
    (&["farfield-http"], "websocket"),
    (&["farfield-http"], "tls"),
];

/// The page about them.
const PAGE: &str = "docs/libraries.md";

/// Checks the packages, their features and their page.
pub fn check() -> Result<()> {
    let wrong = without_source(&read(PAGE)?, &readmes()?);
    if !wrong.is_empty() {
        bail!("{PAGE} shows output that no README of a library has:\n{}", wrong.join("\n"));
    }
    for (packages, features) in FEATURES {
        let mut clippy = process::cargo();
        clippy.arg("clippy").args(packages.iter().flat_map(|package| ["-p", package]));
        clippy.args(["--no-default-features", "--features", features, "--", "-D", "warnings"]);
        process::run(&mut clippy)?;
    }
    let mut package = process::cargo();
    // Offline: what packages of others they need is here, since they are built from it.
    package.args(["package", "--quiet", "--offline", "--no-verify", "--allow-dirty"]);
    package.args(PACKAGES.iter().flat_map(|package| ["-p", package]));
    process::run(&mut package)
}

fn read(file: &str) -> Result<String> {
    fs::read_to_string(file).with_context(|| format!("cannot read {file}"))
}

/// The READMEs of those packages that have one.
fn readmes() -> Result<Vec<String>> {
    let files = PACKAGES.iter().map(|package| format!("crates/{package}/README.md"));
    files.filter(|file| fs::exists(file).unwrap_or(false)).map(|file| read(&file)).collect()
}

/// The blocks of text of a page of which no README has every line, in order and without a gap.
fn without_source(page: &str, readmes: &[String]) -> Vec<String> {
    let blocks = page.split("```text\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.filter(|block| !readmes.iter().any(|readme| readme.contains(block))).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_that_no_readme_has_is_named() {
        let readmes = ["```text\none\ntwo\nthree\n```\n".to_owned(), "```text\nfour\n```\n".to_owned()];
        let page = "Text.\n\n```text\ntwo\nthree\n```\n\n```text\nfour\n```\n";
        assert_eq!(without_source(page, &readmes), [""; 0]);
        let changed = page.replace("three", "five");
        assert_eq!(without_source(&changed, &readmes), ["two\nfive\n"]);
    }

    #[test]
    fn a_package_with_features_is_one_of_the_packages() {
        let named = FEATURES.iter().flat_map(|(packages, _)| *packages);
        assert!(named.copied().all(|package| PACKAGES.contains(&package)));
    }
}
