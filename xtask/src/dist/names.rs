//! Names of the files of releases, of any version and architecture: what a new release may replace.

use super::linkage::Architecture;
use super::{checksums, deploy};

/// True if a release, this or an earlier one, has a file of this name.
pub fn is_of_release(name: &str) -> bool {
    [checksums::NAME, deploy::SCRIPT, deploy::FORMULA].contains(&name)
        || of_version(name, "farfield-", ".cdx.json")
        || [Architecture::X86_64, Architecture::Aarch64].into_iter().any(|one| is_package(name, one))
}

/// True if this is the name of an archive, an image or a package for the architecture.
fn is_package(name: &str, architecture: Architecture) -> bool {
    let (linux, debian) = (architecture.linux(), architecture.debian());
    // The version of glibc is between them.
    let wheel =
        name.strip_suffix(&format!("_{linux}.whl")).and_then(|rest| rest.split_once("-py3-none-manylinux_"));
    of_version(name, "farfield-", &format!("-{linux}-linux.tar.gz"))
        || of_version(name, "farfield-", &format!("-{linux}-oci.tar"))
        || of_version(name, "farfield-", &format!("-1.{linux}.rpm"))
        || of_version(name, "farfield_", &format!("_{debian}.deb"))
        || wheel.is_some_and(|(stem, glibc)| {
            of_version(stem, "farfield-", "")
                && glibc.bytes().all(|letter| letter.is_ascii_digit() || letter == b'_')
        })
}

/// True if a version of semver is between `begin` and `end`, and nothing else.
fn of_version(name: &str, begin: &str, end: &str) -> bool {
    let between = name.strip_prefix(begin).and_then(|rest| rest.strip_suffix(end));
    between.is_some_and(|version| semver::Version::parse(version).is_ok())
}
