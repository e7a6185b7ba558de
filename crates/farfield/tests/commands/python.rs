//! The Python package, by its own tests (python/tests), which run the program of these tests: with the Python
//! that has readers of Parquet, pytest and mypy, and with every other one that is here and new enough.

use crate::common::skip;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Oldest version of Python, of which 3 is the major one.
const OLDEST: u32 = 10;

/// The folder of the package and its tests.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python")
}

/// The interpreter that has what tests want; another one where there is none.
fn interpreter() -> PathBuf {
    std::env::var_os("FARFIELD_PYTHON").unwrap_or_else(|| "python3".into()).into()
}

/// The minor version of an interpreter of Python 3 that runs.
fn version(python: &Path) -> Option<u32> {
    let script = "import sys; print(sys.version_info.minor if sys.version_info.major == 3 else 0)";
    let output = Command::new(python).args(["-c", script]).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().parse().ok())?
}

/// Runs tests by `python`, and returns how many ran and how many of these were skipped.
fn ran(python: &Path, tests: &[&str]) -> (u32, u32) {
    let mut command = Command::new(python);
    command.args(["-m", "unittest"]).args(tests).current_dir(folder());
    // Nothing is left in the tree, and nobody's settings count.
    command.env("PYTHONDONTWRITEBYTECODE", "1").env("FARFIELD_PROGRAM", env!("CARGO_BIN_EXE_farfield"));
    command.env_remove("PYTHONPATH").env_remove("PYTEST_ADDOPTS");
    let output = command.output().expect("it was there");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{text}{}", String::from_utf8_lossy(&output.stdout));
    let number_after = |word: &str| {
        let rest = &text[text.rfind(word)? + word.len()..];
        rest[..rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len())].parse().ok()
    };
    (number_after("\nRan ").expect("a count"), number_after("skipped=").unwrap_or(0))
}

/// Runs a module of tests by the Python that has all of `needs`; `test` is skipped where there is none.
fn module(test: &str, module: &str, needs: &str) {
    let python = interpreter();
    if version(&python).is_none_or(|minor| minor < OLDEST) {
        return skip(test, &format!("there is no Python 3.{OLDEST}"));
    }
    let has = Command::new(&python).args(["-c", &format!("import {needs}")]).output();
    if !has.is_ok_and(|output| output.status.success()) {
        return skip(test, &format!("{} cannot import {needs}", python.display()));
    }
    let (all, skipped) = ran(&python, &[module]);
    assert!(all > 0 && skipped == 0, "{module}: {all} tests, {skipped} of them skipped");
}

#[test]
fn python_takes_hostile_values_and_keywords() {
    module("python_takes_hostile_values_and_keywords", "tests.test_values", "tomllib");
}

#[test]
fn python_reads_documents_of_its_schemas_alone() {
    module("python_reads_documents_of_its_schemas_alone", "tests.test_documents", "json");
}

#[test]
fn python_makes_runs_and_raises_by_exit_code() {
    module("python_makes_runs_and_raises_by_exit_code", "tests.test_runs", "pyarrow, polars, pandas");
}

#[test]
fn python_keeps_what_ctrl_c_ends_and_leaves_no_process() {
    module("python_keeps_what_ctrl_c_ends_and_leaves_no_process", "tests.test_ends", "json");
}

#[test]
fn python_makes_one_run_of_parts_over_a_cluster() {
    module("python_makes_one_run_of_parts_over_a_cluster", "tests.test_ray", "json");
}

#[test]
fn pytest_skips_a_test_whose_run_is_invalid() {
    module("pytest_skips_a_test_whose_run_is_invalid", "tests.test_plugin", "pytest");
}

#[test]
fn python_is_typed_strictly() {
    module("python_is_typed_strictly", "tests.test_types", "mypy");
}

#[test]
fn the_pages_on_python_run_as_they_are_printed() {
    module("the_pages_on_python_run_as_they_are_printed", "tests.test_pages", "pyarrow, pandas, matplotlib");
}

/// Interpreters of other versions, in folders of pyenv and on the `PATH`: the first of each version.
fn others() -> BTreeMap<u32, PathBuf> {
    let own = version(&interpreter());
    let mut found = BTreeMap::new();
    let pyenv = std::env::var_os("PYENV_ROOT").map(|root| Path::new(&root).join("versions"));
    let installed = pyenv.and_then(|folder| std::fs::read_dir(folder).ok()).into_iter().flatten().flatten();
    let installed = installed.map(|entry| entry.path().join("bin/python3"));
    let on_path = (OLDEST..=OLDEST + 9).map(|minor| PathBuf::from(format!("python3.{minor}")));
    for python in installed.chain(on_path) {
        if let Some(minor) = version(&python).filter(|minor| *minor >= OLDEST && Some(*minor) != own) {
            found.entry(minor).or_insert(python);
        }
    }
    found
}

/// Without what extras bring, and with the syntax of their years.
#[test]
fn other_pythons_run_the_package_by_their_standard_library() {
    let test = "other_pythons_run_the_package_by_their_standard_library";
    let pythons = others();
    if pythons.is_empty() {
        return skip(test, &format!("there is no other Python from 3.{OLDEST} on"));
    }
    let quick = ["tests.test_values", "tests.test_documents", "tests.test_others"];
    for (minor, python) in pythons {
        let (all, skipped) = ran(&python, &quick);
        assert!(all > 20 && skipped < 10, "3.{minor}: {all} tests, {skipped} of them skipped");
        println!("3.{minor}: {all} tests");
    }
}
