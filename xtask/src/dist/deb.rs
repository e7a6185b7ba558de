//! The Debian package: `debian-binary`, `control.tar.gz` and `data.tar.gz` in an archive of ar (deb(5)).
//!
//! It depends on the libraries that the binary needs, in the versions that it needs, and on nothing else. It
//! has no scripts: what it installs needs none.

use super::Artifact;
use super::archive::{gzip, tar};
use super::files::FileTree;
use super::linkage::Linkage;
use super::release::{DESCRIPTION, MAINTAINER, Release, SUMMARY};
use anyhow::{Context, Result, bail};
use ar::{Builder, Header};

/// The package.
///
/// # Errors
///
/// If the binary needs a library whose package is not known here.
pub fn package(release: &Release, linkage: &Linkage, files: &FileTree, effort: u32) -> Result<Artifact> {
    let architecture = linkage.architecture.debian();
    let files = files.below_usr()?;
    let mut control = FileTree::default();
    let text = control_file(release, architecture, &depends(linkage)?, files.bytes().div_ceil(1024));
    control.add("control", 0o644, text.into_bytes());
    let members: [(&str, Vec<u8>); 3] = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", gzip(&tar(&control, "", release.time)?, effort)?),
        ("data.tar.gz", gzip(&tar(&files, "", release.time)?, effort)?),
    ];
    let mut builder = Builder::new(Vec::new());
    for (name, content) in members {
        let mut header = Header::new(name.as_bytes().to_vec(), content.len() as u64);
        header.set_mode(0o100_644);
        header.set_mtime(release.time);
        builder.append(&header, content.as_slice())?;
    }
    let content = builder.into_inner().context("cannot write an archive")?;
    Ok((format!("farfield_{}_{architecture}.deb", release.version), content))
}

/// The control file (Debian Policy, chapter 5), of a package that takes `kib` KiB installed.
fn control_file(release: &Release, architecture: &str, depends: &str, kib: u64) -> String {
    format!(
        "Package: farfield\nVersion: {}\nArchitecture: {architecture}\nMaintainer: {MAINTAINER}\n\
         Installed-Size: {kib}\nDepends: {depends}\nRecommends: ca-certificates\nSection: net\n\
         Priority: optional\nDescription: {SUMMARY}\n {DESCRIPTION}\n",
        release.version
    )
}

/// Debian's packages of the libraries that the binary needs.
fn depends(linkage: &Linkage) -> Result<String> {
    let mut packages = vec![format!("libc6 (>= {})", linkage.glibc())];
    for library in linkage.libraries.keys().filter(|library| !Linkage::is_of_glibc(library)) {
        match library.as_str() {
            "libgcc_s.so.1" => packages.push("libgcc-s1 | libgcc1".to_owned()),
            _ => bail!("{library} is of a package that is not known here: link it statically"),
        }
    }
    Ok(packages.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_binary_needs_is_what_the_package_depends_on() {
        let linkage = |libraries: &str| Linkage::read(&crate::dist::linkage::printed(libraries)).unwrap();
        let own = linkage("libc.so.6 GLIBC_2.2.5 GLIBC_2.17 GLIBC_2.9");
        assert_eq!(depends(&own).unwrap(), "libc6 (>= 2.17)");
        let more = linkage("libc.so.6 GLIBC_2.34\nlibgcc_s.so.1 GCC_3.0\nlibm.so.6 GLIBC_2.29");
        assert_eq!(depends(&more).unwrap(), "libc6 (>= 2.34), libgcc-s1 | libgcc1");
        let foreign = linkage("libc.so.6 GLIBC_2.34\nlibssl.so.3 OPENSSL_3.0.0");
        assert!(depends(&foreign).unwrap_err().to_string().starts_with("libssl.so.3 is of a package"));
    }
}
