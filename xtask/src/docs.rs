//! `cargo xtask docs`: writes the documents that the binary itself knows best, so that they cannot differ
//! from it, and the modules of the Python package that follow from these.

use crate::built;
use anyhow::{Context, Result, bail};
use clap::Args;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use xtask::{process, system};

/// Writes the generated documents: schemas, man pages, completions.
#[derive(Debug, Args)]
pub struct DocsArgs {
    /// Writes nothing, and fails if a document is not as the binary would write it.
    #[arg(long)]
    check: bool,
}

/// The file of each document, and the arguments with which farfield prints it.
const DOCUMENTS: &[(&str, &[&str])] = &[
    ("docs/scenario.schema.json", &["schema", "scenario"]),
    ("docs/summary.schema.json", &["schema", "summary"]),
    ("docs/verify.schema.json", &["schema", "verify"]),
    ("docs/capacity.schema.json", &["schema", "capacity"]),
    ("docs/sweep.schema.json", &["schema", "sweep"]),
    ("docs/completions/farfield.bash", &["generate", "completions", "bash"]),
    ("docs/completions/farfield.fish", &["generate", "completions", "fish"]),
    ("docs/completions/_farfield", &["generate", "completions", "zsh"]),
    ("docs/completions/farfield.ps1", &["generate", "completions", "powershell"]),
];
/// The folder of the man pages, one a command.
const MAN_PAGES: &str = "docs/man";

/// The program that writes modules of the Python package from schemas and completions.
const PYTHON_MODULES: &str = "python/generate.py";

/// Writes the documents, or checks them.
pub fn run(args: &DocsArgs) -> Result<()> {
    if args.check { check() } else { write() }
}

/// The file of each document with its words, man pages among them.
fn documents(farfield: &Path) -> Result<Vec<(PathBuf, Vec<String>)>> {
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let mut all: Vec<_> = DOCUMENTS.iter().map(|(file, words)| (PathBuf::from(file), owned(words))).collect();
    let commands = String::from_utf8(printed(farfield, &owned(&["generate", "commands"]))?)?;
    for command in commands.lines() {
        let path: Vec<&str> = command.split_whitespace().collect();
        let name: Vec<&str> = std::iter::once("farfield").chain(path.iter().copied()).collect();
        let file = Path::new(MAN_PAGES).join(format!("{}.1", name.join("-")));
        all.push((file, owned(&[&["generate", "man"], path.as_slice()].concat())));
    }
    Ok(all)
}

/// Fails if a document is not as the binary would write it, or a man page is of no command.
pub fn check() -> Result<()> {
    let farfield = build()?;
    let documents = documents(&farfield)?;
    for (file, words) in &documents {
        if fs::read(file).unwrap_or_default() != printed(&farfield, words)? {
            bail!("{} is out of date; run `cargo xtask docs`", file.display());
        }
    }
    if let Some(old) = old_pages(&documents)?.first() {
        bail!("{} is of no command; run `cargo xtask docs`", old.display());
    }
    python_modules(&["--check"])
}

/// Runs the program that writes the Python package's modules, or checks them.
fn python_modules(words: &[&str]) -> Result<()> {
    let python =
        system::find("python3").context("python3 is missing: it writes modules of python/farfield")?;
    process::run(Command::new(python).arg(PYTHON_MODULES).args(words))
}

fn write() -> Result<()> {
    let farfield = build()?;
    let documents = documents(&farfield)?;
    for (file, words) in &documents {
        let folder = file.parent().context("a document lies in a folder")?;
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        fs::write(file, printed(&farfield, words)?)
            .with_context(|| format!("cannot write {}", file.display()))?;
        println!("{}", file.display());
    }
    for old in old_pages(&documents)? {
        fs::remove_file(&old).with_context(|| format!("cannot remove {}", old.display()))?;
    }
    python_modules(&[])
}

/// Man pages of commands that there are no more.
fn old_pages(documents: &[(PathBuf, Vec<String>)]) -> Result<Vec<PathBuf>> {
    let mut old = Vec::new();
    for entry in fs::read_dir(MAN_PAGES).with_context(|| format!("cannot read {MAN_PAGES}"))? {
        let path = entry?.path();
        if !documents.iter().any(|(file, _)| *file == path) {
            old.push(path);
        }
    }
    Ok(old)
}

/// Builds farfield and returns where it is.
fn build() -> Result<PathBuf> {
    built::programs()?;
    Ok(process::builds()?.join("debug/farfield"))
}

fn printed(farfield: &Path, words: &[String]) -> Result<Vec<u8>> {
    let mut command = Command::new(farfield);
    let text = process::output(command.args(words))?;
    if text.is_empty() {
        bail!("`{}` printed nothing", process::words(&command));
    }
    Ok(text)
}
