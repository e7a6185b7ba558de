//! Needs of a binary: its architecture, its dynamic loader, and the shared libraries with the versions of
//! symbols that it needs of each, as readelf of the binutils prints them.

use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use xtask::process;

/// An architecture that releases are made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Architecture {
    X86_64,
    Aarch64,
}

impl Architecture {
    /// The name that `uname -m`, RPM and Rust have for it.
    pub fn linux(self) -> &'static str {
        match self {
            Architecture::X86_64 => "x86_64",
            Architecture::Aarch64 => "aarch64",
        }
    }

    /// Debian's and OCI's name for it.
    pub fn debian(self) -> &'static str {
        match self {
            Architecture::X86_64 => "amd64",
            Architecture::Aarch64 => "arm64",
        }
    }
}

/// Needs of a binary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Linkage {
    pub architecture: Architecture,
    /// The path of the dynamic loader.
    pub loader: String,
    /// Shared libraries, and the versions of symbols that are needed of each, such as `GLIBC_2.17`.
    pub libraries: BTreeMap<String, BTreeSet<String>>,
}

impl Linkage {
    /// The needs of the program `binary`.
    ///
    /// # Errors
    ///
    /// If readelf is missing, or the file is no dynamically linked program of a known architecture.
    pub fn of(binary: &Path) -> Result<Linkage> {
        let mut readelf = Command::new("readelf");
        readelf.args(["--wide", "--file-header", "--program-headers", "--dynamic", "--version-info"]);
        let printed = process::output(readelf.arg(binary).env("LC_ALL", "C"))
            .context("readelf, of the package binutils, cannot read the binary")?;
        Linkage::read(&String::from_utf8_lossy(&printed)).with_context(|| format!("in {}", binary.display()))
    }

    /// The needs that readelf's output states.
    pub fn read(printed: &str) -> Result<Linkage> {
        let after = |line: &str, words: &str| {
            line.split_once(words).map(|(_, rest)| rest.trim_end_matches(']').trim().to_owned())
        };
        let machine = printed.lines().find_map(|line| after(line, "Machine:"));
        let architecture = match machine.as_deref() {
            Some("Advanced Micro Devices X86-64") => Architecture::X86_64,
            Some("AArch64") => Architecture::Aarch64,
            other => bail!("no release is made for the machine `{}`", other.unwrap_or_default()),
        };
        let loader = printed.lines().find_map(|line| after(line, "Requesting program interpreter:"));
        let loader = loader.context("a statically linked program cannot look names up everywhere")?;
        let mut libraries: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut versions_of = None;
        for line in printed.lines() {
            if let Some(library) = after(line, "Shared library: [") {
                libraries.entry(library).or_default();
            } else if let Some(rest) = after(line, "  File: ") {
                versions_of = rest.split_whitespace().next().map(str::to_owned);
            } else if let (Some(library), Some(rest)) = (&versions_of, after(line, "  Name: ")) {
                let version = rest.split_whitespace().next().unwrap_or_default().to_owned();
                libraries.entry(library.clone()).or_default().insert(version);
            }
        }
        if libraries.is_empty() {
            bail!("it names no shared library");
        }
        Ok(Linkage { architecture, loader, libraries })
    }

    /// The oldest glibc with all that is needed, such as `2.17`.
    pub fn glibc(&self) -> String {
        let numbers = self.libraries.values().flatten().filter_map(|version| numbers(version));
        let highest = numbers.max().unwrap_or_default();
        highest.iter().map(u32::to_string).collect::<Vec<_>>().join(".")
    }

    /// True of the libraries that glibc consists of, and of its loader.
    pub fn is_of_glibc(library: &str) -> bool {
        let stem = library.split(['.', '-']).next().unwrap_or_default();
        ["ld", "libc", "libdl", "libm", "libpthread", "libresolv", "librt", "libutil"].contains(&stem)
    }

    /// One line about where the binary runs.
    pub fn in_words(&self) -> String {
        let libraries: Vec<&str> = self.libraries.keys().map(String::as_str).collect();
        format!(
            "It runs on {} with glibc {} or newer ({}).",
            self.architecture.linux(),
            self.glibc(),
            libraries.join(", ")
        )
    }
}

/// The numbers of a version of glibc's symbols.
fn numbers(version: &str) -> Option<Vec<u32>> {
    version.strip_prefix("GLIBC_")?.split('.').map(|number| number.parse().ok()).collect()
}

/// The output of readelf for a program that needs these libraries, one a line with its versions.
#[cfg(test)]
pub fn printed(libraries: &str) -> String {
    let mut text = "  Machine:                           Advanced Micro Devices X86-64\n      \
                    [Requesting program interpreter: /lib64/ld-linux-x86-64.so.2]\n"
        .to_owned();
    for line in libraries.lines() {
        let mut words = line.split(' ');
        let library = words.next().unwrap_or_default();
        text += &format!(" 0x0000000000000001 (NEEDED)             Shared library: [{library}]\n");
        text += &format!("  000000: Version: 1  File: {library}  Cnt: 1\n");
        for version in words {
            text += &format!("  0x0010:   Name: {version}  Flags: none  Version: 4\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_version_decides_by_number() {
        let linkage = Linkage::read(&printed("libc.so.6 GLIBC_2.9 GLIBC_2.17 GLIBC_2.2.5")).unwrap();
        assert_eq!((linkage.architecture, linkage.glibc().as_str()), (Architecture::X86_64, "2.17"));
        assert_eq!(linkage.loader, "/lib64/ld-linux-x86-64.so.2");
        assert_eq!(linkage.in_words(), "It runs on x86_64 with glibc 2.17 or newer (libc.so.6).");
    }

    /// This test's own program is one that the linker of this machine made.
    #[test]
    fn a_program_of_this_machine_can_be_read() {
        let own = std::env::current_exe().unwrap();
        let linkage = Linkage::of(&own).unwrap();
        assert!(linkage.libraries.contains_key("libc.so.6"), "{linkage:?}");
        assert!(Path::new(&linkage.loader).exists());
        assert!(Linkage::of(Path::new("/etc/passwd")).is_err());
    }
}
