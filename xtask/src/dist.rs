//! `cargo xtask dist`: the files of a release, made on this machine from one binary, without a daemon and
//! without a service elsewhere.
//!
//! A release is a flat folder. Each kind of package has a module here, all of them install the same
//! [`files`]. Times are those of the commit, and names are in order: two packagings of one binary are equal
//! byte for byte. Nothing is signed and nothing is uploaded.

mod archive;
mod build;
mod checksums;
mod deb;
mod deploy;
mod files;
mod image;
mod linkage;
mod names;
mod release;
mod rpm;
mod sbom;
mod training;
mod wheel;

use anyhow::{Context, Result, bail};
use clap::Args;
use files::FileTree;
use linkage::Linkage;
use release::Release;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use xtask::process;

/// Makes the files of a release: archive, packages, wheel, image, bill of materials, checksums.
#[derive(Debug, Args)]
pub struct DistArgs {
    /// Packages this binary, stripped or not, and builds none.
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Counts first, in runs of a program that is built for it, which parts run often, and has the compiler
    /// optimise these.
    #[arg(long, conflicts_with = "binary")]
    guided: bool,
    /// The folder for the files; `dist-files` beside the builds by default. An earlier release there is
    /// replaced.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Address below which releases are published, for the formula of Homebrew; without it none is made.
    #[arg(long, value_name = "URL")]
    releases: Option<String>,
    /// Effort of compression, from 0 to 9.
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(0..=9))]
    compression: u32,
}

/// A file of the release: its name in the folder, and its bytes.
pub type Artifact = (String, Vec<u8>);

/// Makes them all, and says what there is.
pub fn run(args: &DistArgs) -> Result<()> {
    let built = match &args.binary {
        Some(file) => file.clone(),
        None => built(args.guided)?,
    };
    let release = Release::of_checkout()?;
    is_of(&release, &built)?;
    let out = match &args.out {
        Some(folder) => folder.clone(),
        None => process::builds()?.join("dist-files"),
    };
    earlier(&out)?;
    let linkage = Linkage::of(&built)?;
    let scratch = tempfile::tempdir().context("cannot make a folder")?;
    let binary = stripped(&built, scratch.path())?;
    let artifacts = artifacts(args, &release, &linkage, &binary)?;
    write(&out, &artifacts)?;
    for (name, content) in &artifacts {
        println!("{:>11} {}", content.len(), out.join(name).display());
    }
    println!("The program has {} bytes. {}", fs::metadata(&binary)?.len(), linkage.in_words());
    if args.releases.is_none() {
        println!("There is no formula: it needs the address of releases (--releases URL).");
    }
    Ok(())
}

/// Checks that the program says to be of the release.
fn is_of(release: &Release, program: &Path) -> Result<()> {
    let said = process::output(Command::new(program).arg("--version"))?;
    let (said, expected) = (String::from_utf8_lossy(&said), format!("farfield {}", release.version));
    if said.trim() != expected {
        bail!("{} is `{}`, and the release is of `{expected}`", program.display(), said.trim());
    }
    Ok(())
}

/// Builds the program that is shipped, in a folder of its own beside the other builds.
fn built(guided: bool) -> Result<PathBuf> {
    let builds = process::builds()?.join("dist-builds");
    let profile = if guided { training::profile(&builds)? } else { None };
    build::portable(&builds, profile.as_deref())
}

/// All files of the release, their digests last.
fn artifacts(args: &DistArgs, release: &Release, linkage: &Linkage, binary: &Path) -> Result<Vec<Artifact>> {
    let (files, effort) = (FileTree::of_checkout(binary)?, args.compression);
    let archive = archive::tarball(release, linkage, &files, effort)?;
    let mut artifacts = vec![
        deb::package(release, linkage, &files, effort)?,
        rpm::package(release, linkage, &files, effort)?,
        wheel::package(release, linkage, &files, effort)?,
        image::package(release, linkage, binary, &files, effort)?,
        sbom::bill(release, linkage)?,
        deploy::script()?,
    ];
    if let Some(releases) = &args.releases {
        artifacts.push(deploy::formula(release, linkage, &archive, releases)?);
    }
    artifacts.push(archive);
    artifacts.push(checksums::of(&artifacts));
    Ok(artifacts)
}

/// A copy in `folder` of the program `built`, without symbols.
fn stripped(built: &Path, folder: &Path) -> Result<PathBuf> {
    let file = folder.join("farfield");
    let mut strip = Command::new("strip");
    process::output(strip.args(["--strip-all", "-o"]).arg(&file).arg(built))
        .context("strip, of the package binutils, fails")?;
    Ok(file)
}

/// Files of an earlier release in the folder `out`, if it has no others.
fn earlier(out: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    if !out.exists() {
        return Ok(files);
    }
    for entry in fs::read_dir(out).with_context(|| format!("cannot read {}", out.display()))? {
        let entry = entry?;
        let is_release = entry.file_name().to_str().is_some_and(names::is_of_release);
        if !is_release || !entry.file_type()?.is_file() {
            bail!("{} is of no release: name another folder with --out", entry.path().display());
        }
        files.push(entry.path());
    }
    Ok(files)
}

/// Writes the release into `out`, in place of the one that is there.
fn write(out: &Path, artifacts: &[Artifact]) -> Result<()> {
    for file in earlier(out)? {
        fs::remove_file(&file).with_context(|| format!("cannot remove {}", file.display()))?;
    }
    fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
    for (name, content) in artifacts {
        let file = out.join(name);
        fs::write(&file, content).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(())
}
