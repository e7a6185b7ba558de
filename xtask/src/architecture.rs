//! The files that ARCHITECTURE.md names are there.
//!
//! A name in backticks that ends with `.rs` is a path of the repository, or leaves out `crates/farfield-` and
//! `src` as that page says, or is the end of a path in a crate that the same paragraph or row names.

use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const PAGE: &str = "ARCHITECTURE.md";

/// The folders in which code lies: of each crate, of the tools, of the papers' figures.
const FOLDERS: [&str; 3] = ["crates", "xtask", "experiments"];

/// Checks the files that the page names.
pub fn check() -> Result<()> {
    let page = fs::read_to_string(PAGE).with_context(|| format!("cannot read {PAGE}"))?;
    let mut files = BTreeSet::new();
    for folder in FOLDERS {
        list(Path::new(folder), &mut files)?;
    }
    let (named, wrong) = inspect(&page, &files);
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    eprintln!("{named} files are named by {PAGE}, and are there.");
    Ok(())
}

/// Adds all files of code below `folder`.
fn list(folder: &Path, files: &mut BTreeSet<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            list(&path, files)?;
        } else if path.extension().is_some_and(|end| end == "rs") {
            files.insert(path);
        }
    }
    Ok(())
}

/// The number of files that the page names, and a complaint for each that is not there.
fn inspect(page: &str, files: &BTreeSet<PathBuf>) -> (usize, Vec<String>) {
    let (mut named, mut wrong) = (0, Vec::new());
    for block in blocks(page) {
        let crates: BTreeSet<PathBuf> = block.iter().filter_map(|(_, name)| crate_of(name, files)).collect();
        for (line, name) in block.iter().filter(|(_, name)| name.ends_with(".rs")) {
            named += 1;
            let is_end_of =
                |path: &PathBuf| path.ends_with(name) && crates.iter().any(|folder| path.starts_with(folder));
            if !written(name).any(|path| files.contains(&path)) && !files.iter().any(is_end_of) {
                wrong.push(format!(
                    "{PAGE}:{line}: there is no `{name}`, nor does the paragraph name its crate"
                ));
            }
        }
    }
    (named, wrong)
}

/// The names in backticks of each paragraph, item of a list and row of a table, with their lines from 1.
fn blocks(page: &str) -> Vec<Vec<(usize, &str)>> {
    let mut blocks = vec![Vec::new()];
    for (index, line) in page.lines().enumerate() {
        let is_item = line.starts_with(['|', '-']) || line.starts_with(|first: char| first.is_ascii_digit());
        if is_item || line.trim().is_empty() {
            blocks.push(Vec::new());
        }
        let names = line.split('`').skip(1).step_by(2).map(|name| (index + 1, name));
        blocks.last_mut().expect("one to begin with").extend(names);
    }
    blocks
}

/// The paths that a name may be written for.
fn written(name: &str) -> impl Iterator<Item = PathBuf> {
    let (first, rest) = name.split_once('/').unwrap_or((name, ""));
    let short =
        if first == "farfield" { "crates/farfield".to_owned() } else { format!("crates/farfield-{first}") };
    [
        name.to_owned(),
        format!("crates/{name}"),
        format!("crates/{first}/src/{rest}"),
        format!("{short}/src/{rest}"),
        format!("{short}/{rest}"),
    ]
    .into_iter()
    .map(PathBuf::from)
}

/// The folder of the crate that a name is in, or that it is the name of.
fn crate_of(name: &str, files: &BTreeSet<PathBuf>) -> Option<PathBuf> {
    let folder = |path: &PathBuf| -> PathBuf {
        let parts = if path.starts_with("crates") { 2 } else { 1 };
        path.iter().take(parts).collect()
    };
    let name = name.trim_end_matches('/');
    let found = written(name).find(|path| files.iter().any(|file| file.starts_with(path)));
    found.map(|path| folder(&path)).filter(|folder| folder != Path::new("crates"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(page: &str) -> Vec<String> {
        let files = [
            "crates/farfield-net/src/queue/pie.rs",
            "crates/farfield/tests/wan/main.rs",
            "xtask/src/same.rs",
        ];
        inspect(page, &files.into_iter().map(PathBuf::from).collect()).1
    }

    #[test]
    fn files_are_named_in_full_or_short_or_beside_their_crate() {
        for page in [
            "`crates/farfield-net/src/queue/pie.rs`",
            "`farfield-net/src/queue/pie.rs`",
            "`net/queue/pie.rs`",
            "the queues of\n`farfield-net`: `pie.rs`",
            "| a queue | `net/queue/`: `queue/pie.rs` |",
            "`farfield/tests/wan/main.rs`, `xtask/src/same.rs`",
        ] {
            assert_eq!(complaints(page), [""; 0], "{page}");
        }
    }

    #[test]
    fn a_file_that_is_gone_is_named_with_its_line() {
        let said = complaints("`net/queue/pie.rs`\n\n| a queue | `net/queue/red.rs` |\n");
        assert_eq!(
            said,
            ["ARCHITECTURE.md:3: there is no `net/queue/red.rs`, nor does the paragraph name its crate"]
        );
        // The crate of another paragraph is not this one's.
        assert_eq!(complaints("`farfield-net`\n\n`pie.rs`").len(), 1);
        assert_eq!(complaints("`farfield-net`: `ie.rs`").len(), 1);
        assert_eq!(complaints("- `farfield-net`\n- `pie.rs`").len(), 1);
    }
}
