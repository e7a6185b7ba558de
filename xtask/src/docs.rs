//! `cargo xtask docs`: writes the documents that the binary itself knows best, so that they cannot differ
//! from it.

use anyhow::{Context, Result, bail};
use clap::Args;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use xtask::process;

/// Writes the generated documents: the summary's schema, the man page, completions.
#[derive(Debug, Args)]
pub struct DocsArgs {
    /// Writes nothing, and fails if a document is not as the binary would write it.
    #[arg(long)]
    check: bool,
}

/// The file of each document, and the arguments with which `farfield generate` prints it.
const DOCUMENTS: &[(&str, &[&str])] = &[
    ("docs/summary.schema.json", &["schema"]),
    ("docs/verify.schema.json", &["verify-schema"]),
    ("docs/capacity.schema.json", &["capacity-schema"]),
    ("docs/sweep.schema.json", &["sweep-schema"]),
    ("docs/farfield.1", &["man"]),
    ("docs/completions/farfield.bash", &["completions", "bash"]),
    ("docs/completions/farfield.fish", &["completions", "fish"]),
    ("docs/completions/_farfield", &["completions", "zsh"]),
];

/// Writes the documents, or checks them.
pub fn run(args: &DocsArgs) -> Result<()> {
    if args.check { check() } else { write() }
}

/// Fails if a document is not as the binary would write it.
pub fn check() -> Result<()> {
    let farfield = build()?;
    for (file, words) in DOCUMENTS {
        let written = fs::read(file).unwrap_or_default();
        if written != generate(&farfield, words)? {
            bail!("{file} is out of date; run `cargo xtask docs`");
        }
    }
    Ok(())
}

fn write() -> Result<()> {
    let farfield = build()?;
    for (file, words) in DOCUMENTS {
        let folder = Path::new(file).parent().context("a document lies in a folder")?;
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        fs::write(file, generate(&farfield, words)?).with_context(|| format!("cannot write {file}"))?;
        println!("{file}");
    }
    Ok(())
}

/// Builds farfield and returns where it is. The whole workspace, since a part of it would be built with other
/// features, and dependencies twice.
fn build() -> Result<PathBuf> {
    process::run(process::cargo().args(["build", "--workspace", "--bins"]))?;
    Ok(process::builds()?.join("debug/farfield"))
}

fn generate(farfield: &Path, words: &[&str]) -> Result<Vec<u8>> {
    let mut command = Command::new(farfield);
    let text = process::output(command.arg("generate").args(words))?;
    if text.is_empty() {
        bail!("`{}` printed nothing", process::words(&command));
    }
    Ok(text)
}
