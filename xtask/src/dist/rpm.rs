//! The RPM package, of version 4, for Fedora, RHEL, SUSE and their kin, by the crate `rpm` without what
//! signs.
//!
//! It requires what rpm's own generators would find in the binary: each library with the versions of its
//! symbols. It has no scripts. Its files are packed by bzip2, which every rpm unpacks: by gzip, the crate
//! `rpm` would bring another inflater into all that is built beside it, and so into the tests of farfield.

use super::Artifact;
use super::files::FileTree;
use super::linkage::Linkage;
use super::release::{DESCRIPTION, LICENCE, Release, SUMMARY};
use anyhow::{Context, Result};
use rpm::{BuildConfig, CompressionWithLevel, Dependency, FileOptions, PackageBuilder};

/// The package.
pub fn package(release: &Release, linkage: &Linkage, files: &FileTree, effort: u32) -> Result<Artifact> {
    let architecture = linkage.architecture.linux();
    let time = u32::try_from(release.time).context("times of RPM end in 2106")?;
    let config = BuildConfig::v4().compression(CompressionWithLevel::Bzip2(effort.max(1))).source_date(time);
    let mut builder = PackageBuilder::new("farfield", release.version, LICENCE, architecture, SUMMARY);
    builder.using_config(config).description(DESCRIPTION).build_host("farfield.invalid");
    for capability in requires(linkage) {
        builder.requires(Dependency::any(capability));
    }
    builder.recommends(Dependency::any("ca-certificates"));
    for (place, file) in files.below_usr()?.iter() {
        let options = FileOptions::new(format!("/{place}")).permissions(file.mode as u16);
        let options = match place.rsplit_once('/') {
            Some((_, name)) if name.starts_with("LICENSE") => options.license(),
            _ if place.starts_with("usr/share/doc") || place.starts_with("usr/share/man") => options.doc(),
            _ => options,
        };
        builder.with_file_contents(file.content.clone(), options)?;
    }
    let mut content = Vec::new();
    builder.build().and_then(|package| package.write(&mut content)).context("cannot write an RPM")?;
    Ok((format!("farfield-{}-1.{architecture}.rpm", release.version), content))
}

/// Capabilities that the binary needs, by the names that rpm's generators give to those of 64 bits.
fn requires(linkage: &Linkage) -> Vec<String> {
    let of_library = |(library, versions): (&String, &std::collections::BTreeSet<String>)| {
        let mut names = vec![format!("{library}()(64bit)")];
        names.extend(versions.iter().map(|version| format!("{library}({version})(64bit)")));
        names
    };
    linkage.libraries.iter().flat_map(of_library).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_requires_what_rpms_generators_find() {
        let libraries = "libc.so.6 GLIBC_2.14 GLIBC_2.17\nlibgcc_s.so.1";
        let linkage = Linkage::read(&crate::dist::linkage::printed(libraries)).unwrap();
        let expected = [
            "libc.so.6()(64bit)",
            "libc.so.6(GLIBC_2.14)(64bit)",
            "libc.so.6(GLIBC_2.17)(64bit)",
            "libgcc_s.so.1()(64bit)",
        ];
        assert_eq!(requires(&linkage), expected);
    }
}
