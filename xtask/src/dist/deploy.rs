//! Files of deploy/ that a release has: the script that installs it, and the formula of Homebrew with the
//! digest of the archive.

use super::Artifact;
use super::checksums::sha256;
use super::linkage::{Architecture, Linkage};
use super::release::Release;
use anyhow::{Context, Result};
use std::fs;

/// The name of the script that installs a release.
pub const SCRIPT: &str = "install.sh";

/// The name of the formula of Homebrew.
pub const FORMULA: &str = "farfield.rb";

/// The script, as it is.
pub fn script() -> Result<Artifact> {
    Ok((SCRIPT.to_owned(), read("deploy/install.sh")?.into_bytes()))
}

/// The formula for `archive`, which is to lie in the folder of its version below the address `releases`.
pub fn formula(release: &Release, linkage: &Linkage, archive: &Artifact, releases: &str) -> Result<Artifact> {
    let architecture = match linkage.architecture {
        Architecture::X86_64 => "x86_64",
        Architecture::Aarch64 => "arm64",
    };
    let (name, content) = archive;
    let text = read("deploy/farfield.rb")?
        .replace("@RELEASES@", releases.trim_end_matches('/'))
        .replace("@VERSION@", release.version)
        .replace("@ARCHIVE@", name)
        .replace("@SHA256@", &sha256(content))
        .replace("@ARCHITECTURE@", architecture);
    Ok((FORMULA.to_owned(), text.into_bytes()))
}

fn read(file: &str) -> Result<String> {
    fs::read_to_string(file).with_context(|| format!("cannot read {file}"))
}
