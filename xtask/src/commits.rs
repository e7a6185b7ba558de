//! Commits that could not be built: in each of the latest ones, every module that a file declares has its
//! file. `git bisect` goes through all of them.
//!
//! To build each would take hours; a commit that was cut by folder lacks files, which is seen in its tree
//! alone.

use anyhow::{Result, bail};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use xtask::process;

/// Commits that are looked at, from the latest on.
const LATEST: &str = "100";
/// A declaration of a module with a file of its own, as git reads it.
const DECLARATION: &str = r"^\s*(pub(\([a-z_: ]+\))? )?mod [a-z0-9_]+;";

/// Checks the latest commits, as many as the checkout has.
pub fn check() -> Result<()> {
    let Ok(latest) = git(&["rev-list", "-n", LATEST, "HEAD"]) else {
        eprintln!("The checkout has no history: its commits are not checked.");
        return Ok(());
    };
    let Some(first) = latest.lines().last() else { return Ok(()) };
    let range = format!("{first}..HEAD");
    let of_range = |which: &[&str]| {
        git(&[&["log", "--format=%H", "--no-merges", range.as_str()], which, &["--", "*.rs"]].concat())
    };
    // Those that declare modules, or lose files: the others are as whole as the ones ahead of them.
    let suspects = of_range(&["-E", "-G", DECLARATION])? + &of_range(&["--diff-filter=DR"])?;
    let suspects: BTreeSet<&str> = suspects.lines().collect();
    let mut broken = Vec::new();
    for commit in suspects {
        let files = git(&["ls-tree", "-r", "--name-only", commit])?;
        let files: BTreeSet<&str> = files.lines().collect();
        // With the lines ahead of each: a path may be given there.
        let declared = git(&["grep", "-nE", "-B3", DECLARATION, commit, "--", "*.rs"])?;
        broken.extend(missing(&declared, commit, &files).into_iter().map(|line| format!("{commit}: {line}")));
    }
    if !broken.is_empty() {
        bail!("commits lack files of modules that they declare:\n{}", broken.join("\n"));
    }
    Ok(())
}

/// The modules that lack their file among `files`, by the lines that `git grep -B3` found in a commit.
fn missing(declared: &str, commit: &str, files: &BTreeSet<&str>) -> Vec<String> {
    let mut missing = Vec::new();
    // True while attributes of the next declaration come, one of which gives it a path.
    let mut has_path = false;
    for line in declared.lines() {
        // `COMMIT:FILE:NUMBER:LINE`, and `COMMIT:FILE-NUMBER-LINE` of the lines ahead.
        let found = line.strip_prefix(commit).and_then(|rest| rest.strip_prefix(':'));
        let found = found.and_then(|rest| rest.split_once(".rs:"));
        let found = found.and_then(|(file, rest)| Some((file, rest.split_once(':')?)));
        let found = found.filter(|(_, (number, _))| number.parse::<u32>().is_ok());
        let Some((file, (_, text))) = found else {
            has_path = line.contains("#[path") || has_path && line.contains("#[");
            continue;
        };
        let name = text.trim().trim_end_matches(';').rsplit(' ').next().unwrap_or_default();
        let file = format!("{file}.rs");
        if !has_path && !places(&file, name).iter().any(|place| files.contains(place.as_str())) {
            missing.push(format!("{file} declares the module `{name}`"));
        }
        has_path = false;
    }
    missing
}

/// The files that a module of this name may have, which `file` declares.
fn places(file: &str, name: &str) -> [String; 4] {
    let path = Path::new(file);
    let folder = path.parent().unwrap_or(Path::new("")).display().to_string();
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    [
        format!("{folder}/{name}.rs"),
        format!("{folder}/{name}/mod.rs"),
        format!("{folder}/{stem}/{name}.rs"),
        format!("{folder}/{stem}/{name}/mod.rs"),
    ]
}

fn git(args: &[&str]) -> Result<String> {
    // At the root, wherever this runs: patterns of files count from the working directory.
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let output = process::output(Command::new("git").args(["-C", root]).args(args))?;
    Ok(String::from_utf8_lossy(&output).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_without_its_file_is_found() {
        let declared = "c0:a/src/lib.rs-6-\n\
                        c0:a/src/lib.rs:7:mod one;\n\
                        c0:a/src/lib.rs:7:pub mod two;\n\
                        --\n\
                        c0:a/src/two.rs-6-#[path = \"../shared.rs\"]\n\
                        c0:a/src/two.rs-6-#[allow(dead_code)]\n\
                        c0:a/src/two.rs:7:mod elsewhere;\n\
                        c0:a/src/two.rs:7:pub(crate) mod inner;\n\
                        c0:a/src/two.rs:7:    mod gone;\n";
        let files = ["a/src/lib.rs", "a/src/one.rs", "a/src/two.rs", "a/src/two/inner.rs"];
        let found = missing(declared, "c0", &files.into_iter().collect());
        assert_eq!(found, ["a/src/two.rs declares the module `gone`"]);
    }

    #[test]
    fn the_last_commits_have_their_files() {
        check().unwrap();
    }
}
