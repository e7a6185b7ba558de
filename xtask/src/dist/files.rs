//! The files that every package installs: the program, man pages, completions, licences and the first pages
//! to read, by their places below a prefix such as `/usr`. No service, no configuration.

use super::archive::gzip;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The place of the program below the prefix.
pub const PROGRAM: &str = "bin/farfield";

/// Completions and documents of the checkout, and their places below the prefix.
const DOCUMENTS: [(&str, &str); 7] = [
    ("docs/completions/farfield.bash", "share/bash-completion/completions/farfield"),
    ("docs/completions/farfield.fish", "share/fish/vendor_completions.d/farfield.fish"),
    ("docs/completions/_farfield", "share/zsh/site-functions/_farfield"),
    ("LICENSE-APACHE", "share/doc/farfield/LICENSE-APACHE"),
    ("LICENSE-MIT", "share/doc/farfield/LICENSE-MIT"),
    ("README.md", "share/doc/farfield/README.md"),
    ("CHANGELOG.md", "share/doc/farfield/CHANGELOG.md"),
];
/// The folder of man pages, in the checkout and below the prefix.
const MAN_PAGES: (&str, &str) = ("docs/man", "share/man/man1");

/// A file of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackagedFile {
    /// Permissions: 0o755 of programs, 0o644 of all else.
    pub mode: u32,
    pub content: Vec<u8>,
}

/// Files by their places, `/` between folders and none ahead.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileTree {
    files: BTreeMap<String, PackagedFile>,
}

impl FileTree {
    /// The files of this checkout around the program `binary`.
    ///
    /// # Errors
    ///
    /// If a file cannot be read; a man page that there is none of is no error.
    pub fn of_checkout(binary: &Path) -> Result<FileTree> {
        let mut tree = FileTree::default();
        tree.add(PROGRAM, 0o755, read(binary)?);
        for (file, place) in DOCUMENTS {
            tree.add(place, 0o644, read(Path::new(file))?);
        }
        let (folder, place) = MAN_PAGES;
        for page in fs::read_dir(folder).with_context(|| format!("cannot read {folder}"))? {
            let page = page?;
            tree.add(&format!("{place}/{}", page.file_name().display()), 0o644, read(&page.path())?);
        }
        Ok(tree)
    }

    /// Adds a file, in place of one that is there.
    pub fn add(&mut self, place: &str, mode: u32, content: Vec<u8>) {
        self.files.insert(place.to_owned(), PackagedFile { mode, content });
    }

    /// The files in order of their places.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &PackagedFile)> {
        self.files.iter().map(|(place, file)| (place.as_str(), file))
    }

    /// The files as systems want them below `/usr`, by places from the root: man pages compressed.
    pub fn below_usr(&self) -> Result<FileTree> {
        let mut tree = FileTree::default();
        for (place, file) in self.iter() {
            match place.starts_with(MAN_PAGES.1) {
                true => tree.add(&format!("usr/{place}.gz"), file.mode, gzip(&file.content, 9)?),
                false => tree.add(&format!("usr/{place}"), file.mode, file.content.clone()),
            }
        }
        Ok(tree)
    }

    /// The folders of all files, outer ones first.
    pub fn folders(&self) -> Vec<&str> {
        let mut folders: Vec<&str> = self.files.keys().flat_map(|place| above(place)).collect();
        folders.sort_unstable();
        folders.dedup();
        folders
    }

    /// Number of bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files.values().map(|file| file.content.len() as u64).sum()
    }
}

/// The folders above a place.
fn above(place: &str) -> impl Iterator<Item = &str> {
    place.match_indices('/').map(|(end, _)| &place[..end])
}

fn read(file: &Path) -> Result<Vec<u8>> {
    fs::read(file).with_context(|| format!("cannot read {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_come_once_and_outer_ones_first() {
        let mut tree = FileTree::default();
        for place in ["share/man/man1/b.1", "bin/b", "share/a", "top"] {
            tree.add(place, 0o644, vec![0; 3]);
        }
        assert_eq!(tree.folders(), ["bin", "share", "share/man", "share/man/man1"]);
        assert_eq!(tree.bytes(), 12);
        let places: Vec<String> =
            tree.below_usr().unwrap().iter().map(|(place, _)| place.to_owned()).collect();
        assert_eq!(places, ["usr/bin/b", "usr/share/a", "usr/share/man/man1/b.1.gz", "usr/top"]);
    }
}
