//! Allowed dependencies among the crates of the workspace, checked against `cargo metadata` and against the
//! table of ARCHITECTURE.md.
//!
//! A crate that is not in the table has no place yet, and a dependency that is not in its row is a decision
//! to be made: both are complaints. Dev-dependencies are free, since tests may look at anything;
//! farfield-testkit is nothing else.

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::fs;
use xtask::process;

/// The page that describes the crates.
const PAGE: &str = "ARCHITECTURE.md";

/// The crate that tests alone depend on: it is beside the table.
const TESTKIT: &str = "farfield-testkit";

/// A crate, and the crates of the workspace that it may depend on.
type Row = (&'static str, &'static [&'static str]);

/// The crates, each below all that it depends on. What a row lacks is as deliberate as what it has: `net`
/// knows no TCP, `tcp` no links, `report` no engine, `xtask` no product.
const ALLOWED: [Row; 29] = [
    ("farfield-base", &[]),
    ("farfield-files", &["farfield-base"]),
    ("farfield-os", &["farfield-base", "farfield-files"]),
    ("farfield-wire", &["farfield-base"]),
    ("farfield-testbed", &["farfield-base", "farfield-files", "farfield-os", "farfield-wire"]),
    ("farfield-capture", &["farfield-base", "farfield-wire"]),
    ("farfield-tcp", &["farfield-base", "farfield-wire"]),
    ("farfield-http", &["farfield-base"]),
    ("farfield-net", &["farfield-base"]),
    ("farfield-log", &["farfield-base"]),
    ("farfield-traffic", &["farfield-base", "farfield-log"]),
    ("farfield-import", &["farfield-base", "farfield-traffic"]),
    ("farfield-fit", &["farfield-base", "farfield-log", "farfield-traffic"]),
    ("farfield-user", &["farfield-base", "farfield-http", "farfield-traffic"]),
    (
        "farfield-model",
        &[
            "farfield-base",
            "farfield-http",
            "farfield-net",
            "farfield-tcp",
            "farfield-traffic",
            "farfield-user",
            "farfield-wire",
        ],
    ),
    (
        "farfield-emulator",
        &[
            "farfield-base",
            "farfield-http",
            "farfield-model",
            "farfield-net",
            "farfield-tcp",
            "farfield-user",
            "farfield-wire",
        ],
    ),
    ("farfield-measure", &["farfield-base"]),
    (
        "farfield-verify",
        &["farfield-base", "farfield-capture", "farfield-fit", "farfield-measure", "farfield-traffic"],
    ),
    ("farfield-experiment", &["farfield-base", "farfield-measure"]),
    ("farfield-monitor", &["farfield-base", "farfield-files", "farfield-measure", "farfield-os"]),
    (
        "farfield-engine",
        &[
            "farfield-base",
            "farfield-emulator",
            "farfield-files",
            "farfield-http",
            "farfield-measure",
            "farfield-model",
            "farfield-monitor",
            "farfield-net",
            "farfield-os",
            "farfield-testbed",
            "farfield-traffic",
            "farfield-user",
            "farfield-wire",
        ],
    ),
    ("farfield-origin", &["farfield-base", "farfield-files"]),
    ("farfield-recorder", &["farfield-base"]),
    (
        "farfield-scenario",
        &[
            "farfield-base",
            "farfield-emulator",
            "farfield-engine",
            "farfield-files",
            "farfield-http",
            "farfield-import",
            "farfield-log",
            "farfield-measure",
            "farfield-model",
            "farfield-monitor",
            "farfield-net",
            "farfield-origin",
            "farfield-os",
            "farfield-tcp",
            "farfield-testbed",
            "farfield-traffic",
            "farfield-user",
        ],
    ),
    (
        "farfield-report",
        &[
            "farfield-base",
            "farfield-experiment",
            "farfield-files",
            "farfield-fit",
            "farfield-log",
            "farfield-measure",
            "farfield-traffic",
            "farfield-verify",
        ],
    ),
    (
        "farfield",
        &[
            "farfield-base",
            "farfield-capture",
            "farfield-emulator",
            "farfield-engine",
            "farfield-experiment",
            "farfield-files",
            "farfield-fit",
            "farfield-http",
            "farfield-import",
            "farfield-log",
            "farfield-measure",
            "farfield-net",
            "farfield-origin",
            "farfield-os",
            "farfield-recorder",
            "farfield-report",
            "farfield-scenario",
            "farfield-tcp",
            "farfield-testbed",
            "farfield-traffic",
            "farfield-user",
            "farfield-verify",
            "farfield-wire",
        ],
    ),
    (
        "farfield-testkit",
        &[
            "farfield-base",
            "farfield-capture",
            "farfield-emulator",
            "farfield-engine",
            "farfield-fit",
            "farfield-http",
            "farfield-import",
            "farfield-log",
            "farfield-measure",
            "farfield-net",
            "farfield-os",
            "farfield-report",
            "farfield-scenario",
            "farfield-tcp",
            "farfield-testbed",
            "farfield-traffic",
            "farfield-user",
            "farfield-wire",
        ],
    ),
    ("xtask", &[]),
    (
        "experiments",
        &[
            "farfield-base",
            "farfield-fit",
            "farfield-measure",
            "farfield-report",
            "farfield-traffic",
            "farfield-wire",
            "xtask",
        ],
    ),
];

#[derive(Debug, Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Debug, Deserialize)]
struct Package {
    name: String,
    dependencies: Vec<Dependency>,
}

#[derive(Debug, Deserialize)]
struct Dependency {
    name: String,
    /// `None` for a normal dependency, else `dev` or `build`.
    kind: Option<String>,
    /// The folder of a package of this workspace.
    path: Option<String>,
}

/// Checks the dependencies between the packages of the workspace.
pub fn check() -> Result<()> {
    let words = ["metadata", "--format-version", "1", "--no-deps", "--locked"];
    let metadata: Metadata = serde_json::from_slice(&process::output(process::cargo().args(words))?)?;
    let page = fs::read_to_string(PAGE).with_context(|| format!("cannot read {PAGE}"))?;
    let wrong = metadata.packages.iter().flat_map(complaints).chain(complaints_about(&page));
    let wrong: Vec<String> = wrong.collect();
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    eprintln!("{} crates: dependencies point where they may.", metadata.packages.len());
    Ok(())
}

/// The complaints about the page's table of crates: each of the product's crates has one row, below those of
/// all that it may depend on.
fn complaints_about(page: &str) -> Vec<String> {
    let row = |line: &str| Some(line.strip_prefix("| `farfield")?.split_once("` |")?.0.to_owned());
    // A command is no crate.
    let ends = page.lines().filter_map(row).filter(|end| !end.contains(' '));
    let listed: Vec<String> = ends.map(|end| format!("farfield{end}")).collect();
    let place = |name: &str| listed.iter().position(|own| own == name);
    let mut wrong = Vec::new();
    for (name, allowed) in ALLOWED.iter().filter(|row| row.0.starts_with("farfield") && row.0 != TESTKIT) {
        if listed.iter().filter(|own| own == name).count() != 1 {
            wrong.push(format!("{PAGE}: the table of crates has not one row of {name}"));
        }
        let is_below = |other: &&&str| place(name).is_some_and(|own| place(other) > Some(own));
        for below in allowed.iter().filter(is_below) {
            wrong.push(format!(
                "{PAGE}: {name} depends on {below}, which stands below it in the table of crates"
            ));
        }
    }
    let is_none = |name: &&String| !ALLOWED.iter().any(|row| row.0 == **name);
    wrong.extend(listed.iter().filter(is_none).map(|name| format!("{PAGE}: there is no crate {name}")));
    wrong
}

/// The complaints about one package.
fn complaints(package: &Package) -> Vec<String> {
    let name = &package.name;
    let Some((_, allowed)) = ALLOWED.iter().find(|row| row.0 == name) else {
        return vec![format!(
            "{name} is not in the table of xtask/src/directions.rs: give it a row there and in ARCHITECTURE.md"
        )];
    };
    let own = package.dependencies.iter().filter(|dependency| dependency.path.is_some());
    own.filter(|dependency| dependency.kind.as_deref() != Some("dev"))
        .filter(|dependency| !allowed.contains(&dependency.name.as_str()))
        .map(|dependency| {
            format!("{name} depends on {}, which its row in xtask/src/directions.rs lacks", dependency.name)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, dependencies: &[(&str, Option<&str>)]) -> Package {
        let dependency = |(name, kind): &(&str, Option<&str>)| Dependency {
            name: (*name).to_owned(),
            kind: kind.map(str::to_owned),
            path: Some("/crates".to_owned()),
        };
        Package { name: name.to_owned(), dependencies: dependencies.iter().map(dependency).collect() }
    }

    #[test]
    fn a_dependency_outside_of_the_row_is_named() {
        assert!(complaints(&package("farfield-tcp", &[("farfield-base", None)])).is_empty());
        assert!(complaints(&package("farfield-tcp", &[("farfield-net", Some("dev"))])).is_empty());
        let said = complaints(&package("farfield-tcp", &[("farfield-net", None)]));
        assert!(said[0].starts_with("farfield-tcp depends on farfield-net"), "{said:?}");
        let said = complaints(&package("xtask", &[("farfield-traffic", Some("build"))]));
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(complaints(&package("farfield-new", &[]))[0].contains("give it a row"));
    }

    #[test]
    fn the_page_has_a_row_of_each_crate_below_what_it_depends_on() {
        let mut rows: Vec<String> = ALLOWED
            .iter()
            .filter(|row| row.0.starts_with("farfield") && row.0 != TESTKIT)
            .map(|row| format!("| `{}` | is | knows nothing of |", row.0))
            .collect();
        assert_eq!(complaints_about(&rows.join("\n")), [""; 0]);
        rows.swap(0, 1);
        let said = complaints_about(&rows.join("\n"));
        assert!(said.len() == 1 && said[0].contains("farfield-files depends on farfield-base"), "{said:?}");
        rows.swap(0, 1);
        let last = rows.pop().unwrap();
        assert_eq!(complaints_about(&rows.join("\n")).len(), 1);
        rows.extend([last.clone(), last, "| `farfield-gone` | is | nothing |".to_owned()]);
        assert_eq!(complaints_about(&rows.join("\n")).len(), 2);
    }

    #[test]
    fn a_row_names_crates_above_it_alone() {
        for (place, (name, allowed)) in ALLOWED.iter().enumerate() {
            let above: Vec<&str> = ALLOWED[..place].iter().map(|row| row.0).collect();
            assert!(allowed.iter().all(|other| above.contains(other)), "{name}");
        }
    }
}
