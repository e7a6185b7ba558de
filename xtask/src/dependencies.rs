//! Dependencies: each package's licence is one that allows farfield's own, each comes from the registry, none
//! is built once for programs and once more for tests, and known advisories are asked for where `cargo audit`
//! is installed.
//!
//! Licences are SPDX expressions (annex D of SPDX 2.3) with `/` for OR, as old packages write it. Whether a
//! licence's text lies beside the code is not looked at.

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::collections::BTreeSet;
use xtask::process;

/// Licences under which a part of farfield may come: permissive ones, and the MPL, whose files stay as they
/// are.
const ALLOWED: [&str; 14] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MPL-2.0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
    "bzip2-1.0.6",
];

/// The registry of all packages, by Cargo's name for it; its checksums are in Cargo.lock.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

#[derive(Debug, Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Debug, Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    /// `None` for a package of this workspace.
    source: Option<String>,
}

/// Checks all packages that this platform builds.
pub fn check() -> Result<()> {
    let host = host()?;
    let words = ["metadata", "--format-version", "1", "--locked", "--filter-platform", &host];
    let metadata: Metadata = serde_json::from_slice(&process::output(process::cargo().args(words))?)?;
    let wrong: Vec<String> = metadata.packages.iter().filter_map(complaint).collect();
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    eprintln!("{} packages: licences and sources are in order.", metadata.packages.len());
    let (programs, tests) = (tree("normal,build")?, tree("normal,build,dev")?);
    let twice = built_twice(&programs, &tests);
    if !twice.is_empty() {
        bail!(
            "tests ask for other features of these packages than programs do, so that all that stands on them is \
             built twice; name the features in a dependency of xtask:\n{}",
            twice.join("\n")
        );
    }
    advisories()
}

/// The packages of the workspace's programs, with those of its tests if `edges` has `dev`: a line each, with
/// its features.
fn tree(edges: &str) -> Result<String> {
    let words = ["tree", "--workspace", "--edges", edges, "--prefix", "none", "--format", "{p} {f}"];
    Ok(String::from_utf8(process::output(process::cargo().args(words))?)?)
}

/// The lines of `programs` that `tests` has not, but for packages of the workspace, which name their folder.
fn built_twice<'a>(programs: &'a str, tests: &str) -> Vec<&'a str> {
    // Where a package is named again, cargo marks the line.
    let lines = |text: &'a str| text.lines().map(|line| line.trim_end_matches(" (*)"));
    let tests: BTreeSet<&str> = tests.lines().map(|line| line.trim_end_matches(" (*)")).collect();
    let twice: BTreeSet<&str> =
        lines(programs).filter(|line| !line.contains("(/") && !tests.contains(line)).collect();
    twice.into_iter().collect()
}

/// The complaint about a package, if there is one.
fn complaint(package: &Package) -> Option<String> {
    let Package { name, version, license, source } = package;
    let text = license.as_deref().unwrap_or_default();
    if !allows(text) {
        return Some(format!(
            "{name} {version} has the licence `{text}`, which is not in the list of xtask/src/dependencies.rs: do without \
             the package, or add the licence if it allows MIT OR Apache-2.0"
        ));
    }
    match source {
        Some(source) if source != REGISTRY => {
            Some(format!("{name} {version} comes from {source}: take it from crates.io"))
        }
        _ => None,
    }
}

/// The platform that is built for here.
fn host() -> Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = process::output(std::process::Command::new(rustc).arg("-vV"))?;
    let version = String::from_utf8(version)?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc -vV names no host")
}

/// `cargo audit` and its database are a download each; where the program is not there, that is said and no
/// more.
fn advisories() -> Result<()> {
    let installed =
        process::cargo().args(["audit", "--version"]).output().is_ok_and(|output| output.status.success());
    if installed {
        return process::run(process::cargo().args(["audit", "--deny", "warnings"]));
    }
    eprintln!("Advisories were not asked for: cargo install --locked cargo-audit");
    Ok(())
}

/// True if an SPDX expression lets us choose allowed licences alone. OR binds weaker than AND, AND weaker
/// than WITH.
fn allows(expression: &str) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    any(&mut rest).is_some_and(|allowed| allowed && rest.is_empty())
}

/// `None` where it is no expression.
fn any(rest: &mut &[&str]) -> Option<bool> {
    let mut allowed = all(rest)?;
    while let ["OR", after @ ..] = rest {
        *rest = after;
        allowed |= all(rest)?;
    }
    Some(allowed)
}

fn all(rest: &mut &[&str]) -> Option<bool> {
    let mut allowed = one(rest)?;
    while let ["AND", after @ ..] = rest {
        *rest = after;
        allowed &= one(rest)?;
    }
    Some(allowed)
}

fn one(rest: &mut &[&str]) -> Option<bool> {
    match *rest {
        ["(", after @ ..] => {
            *rest = after;
            let allowed = any(rest)?;
            let [")", after @ ..] = *rest else { return None };
            *rest = after;
            Some(allowed)
        }
        [licence, "WITH", exception, after @ ..] => {
            *rest = after;
            Some(ALLOWED.contains(&format!("{licence} WITH {exception}").as_str()))
        }
        [licence, after @ ..] if !["AND", "OR", "WITH", ")"].contains(licence) => {
            *rest = after;
            Some(ALLOWED.contains(licence))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_with_other_features_in_tests_are_named() {
        let programs = "farfield v1 (/a/farfield) \nlog v0.4 \nmio v1 net,os\nlog v0.4  (*)\n";
        let tests = "farfield v1 (/a/farfield) runs\nlog v0.4 alloc,std\nmio v1 net,os (*)\n";
        assert_eq!(built_twice(programs, tests), ["log v0.4 "]);
        assert_eq!(built_twice(programs, programs), [""; 0]);
    }

    #[test]
    fn a_licence_is_allowed_by_choice_and_in_whole() {
        for yes in [
            "MIT",
            "MIT OR GPL-3.0-only",
            "GPL-3.0-only OR MIT",
            "MIT/Apache-2.0",
            "Apache-2.0 / MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception",
            "GPL-2.0-only AND MIT OR Zlib",
        ] {
            assert!(allows(yes), "{yes}");
        }
        for no in [
            "",
            "GPL-3.0-only",
            "MIT AND GPL-3.0-only",
            "(MIT OR Zlib) AND AGPL-3.0-only",
            "MIT WITH Nothing-exception",
            "MIT OR",
            "OR MIT",
            "(MIT",
            "MIT)",
            "MIT Zlib",
            "mit",
        ] {
            assert!(!allows(no), "{no}");
        }
    }

    #[test]
    fn a_package_from_elsewhere_is_named() {
        let package = |license: Option<&str>, source: Option<&str>| Package {
            name: "left-pad".into(),
            version: "1.0.0".into(),
            license: license.map(str::to_owned),
            source: source.map(str::to_owned),
        };
        assert_eq!(complaint(&package(Some("MIT"), Some(REGISTRY))), None);
        assert_eq!(complaint(&package(Some("MIT"), None)), None);
        let said = complaint(&package(Some("MIT"), Some("git+https://a.example/x#1"))).expect("a complaint");
        assert!(said.contains("left-pad 1.0.0 comes from git+https://a.example/x#1"), "{said}");
        let said = complaint(&package(None, Some(REGISTRY))).expect("a complaint");
        assert!(said.contains("has the licence ``"), "{said}");
    }
}
