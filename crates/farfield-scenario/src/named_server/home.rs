//! The folder of a server that is known by name: its configuration, and the files that it serves. It is gone
//! with the run; one that a killed run left is removed by the next.

use super::NamedServer;
use super::config::{LaunchConfig, Place};
use crate::ScenarioError;
use crate::site_folder;
use farfield_files::Folder;
use farfield_files::temporary::{self, LockedFolder};
use farfield_testbed::Command;
use farfield_traffic::site::files::INDEX;
use farfield_traffic::site::{Site, path};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// Beginning of the names of folders.
const PREFIX: &str = "farfield-server-";
/// The size of a file that no path says the size of.
const SIZE: u64 = 1_024;
/// All files that a path says the size of, at most. They are holes, and take no room on the disk.
const SIZE_MAX: u64 = 1 << 40;

/// The folder, as long as the server runs.
#[derive(Debug)]
pub struct NamedHome {
    folder: LockedFolder,
    /// The command that starts the server.
    pub command: Command,
}

impl NamedHome {
    /// Makes the folder with the server's configuration, and no files yet.
    ///
    /// # Errors
    /// If the server is not installed, or the folder cannot be made.
    pub fn make(
        server: &NamedServer,
        port: u16,
        has_v6: bool,
        as_other: bool,
    ) -> Result<NamedHome, ScenarioError> {
        let failed = |error: io::Error| {
            ScenarioError::unavailable(format!("cannot make a folder for the server: {error}"))
        };
        temporary::remove_abandoned(PREFIX);
        let folder = temporary::locked_folder(PREFIX).map_err(failed)?;
        let by_root = farfield_os::user::is_root() && !as_other;
        let place = Place { home: folder.path(), port, has_v6, by_root };
        let LaunchConfig { file, text, words } =
            server.started_at(&place).map_err(ScenarioError::unavailable)?;
        let root = Folder::open(folder.path()).map_err(failed)?;
        let put =
            |names: &[&str], text: &[u8]| root.publish_below(names).and_then(|mut file| file.write_all(text));
        put(&[file], text.as_bytes()).map_err(failed)?;
        // Its own files: process number, bodies that do not fit its buffers.
        put(&["run", "readme"], b"Files of the server.\n").map_err(failed)?;
        folder.open_to_others(&["run"], as_other).map_err(failed)?;
        Ok(NamedHome { folder, command: Command::Program(words) })
    }

    /// Puts the files there: those of the site, and one for each path that is asked for. `/bytes/N` has N
    /// bytes, all zero, and any other 1024. Returns what has no file, as a sentence.
    ///
    /// # Errors
    /// If a path can have no file, or the disk is full.
    pub fn put_files<'a>(
        &self,
        site: Option<&Site>,
        paths: impl Iterator<Item = &'a str>,
    ) -> Result<Option<String>, ScenarioError> {
        let failed = |what: &str, error: io::Error| {
            ScenarioError::unavailable(format!("cannot write the files of the server: {what}: {error}"))
        };
        let root = Folder::open(self.folder.path()).map_err(|error| failed("its folder", error))?;
        let mut left_out = None;
        if let Some(site) = site {
            drop(root.publish_below(&["site", "readme"]).map_err(|error| failed("site", error))?);
            root.open_below("site")
                .and_then(|folder| folder.remove("readme"))
                .map_err(|error| failed("site", error))?;
            let written = site_folder::write(site, &self.folder.path().join("site"));
            left_out =
                written.map_err(|(path, error)| failed(&path.display().to_string(), error))?.left_out();
        }
        let of_site: BTreeSet<&str> =
            site.iter().flat_map(|site| site.objects().iter().map(|object| object.path.as_str())).collect();
        let files = files_of(paths.filter(|path| !of_site.contains(path))).map_err(|path| {
            ScenarioError::invalid(format!(
                "server.command: a server by name has files, and {path:?} can be none; write the command of a server that \
                 answers it"
            ))
        })?;
        for (names, size) in files {
            let below: Vec<&str> = std::iter::once("site").chain(names.iter().map(String::as_str)).collect();
            match root.publish_below(&below).and_then(|file| file.set_len(size)) {
                Ok(()) => {}
                // It is the site's.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && site.is_some() => {}
                Err(error) => return Err(failed(&names.join("/"), error)),
            }
        }
        Ok(left_out)
    }
}

/// The files of these paths with their sizes; the path that can have none.
fn files_of<'a>(paths: impl Iterator<Item = &'a str>) -> Result<BTreeMap<Vec<String>, u64>, String> {
    let mut files = BTreeMap::new();
    for asked in paths {
        let plain = asked.split(['?', '#']).next().unwrap_or_default();
        let names = path::on_disk(plain).filter(|_| path::has_file(plain));
        let names = names.ok_or_else(|| asked.to_owned())?;
        let size = match plain.strip_prefix("/bytes/") {
            Some(number) => {
                number.parse().ok().filter(|size| *size <= SIZE_MAX).ok_or_else(|| asked.to_owned())?
            }
            None => SIZE,
        };
        files.insert(names, size);
    }
    let folders: BTreeSet<Vec<String>> =
        files.keys().flat_map(|names| (1..names.len()).map(|depth| names[..depth].to_vec())).collect();
    // `/a` beside `/a/b` is the index of its folder, to which file servers redirect.
    let placed = files.into_iter().map(|(mut names, size)| {
        while folders.contains(&names) {
            names.push(INDEX.to_owned());
        }
        (names, size)
    });
    Ok(placed.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_path_has_a_file() {
        let paths = ["/", "/bytes/70000", "/1k", "/a", "/a/b?x=1", "/1k"];
        let files = files_of(paths.into_iter()).expect("files");
        let found: Vec<(String, u64)> =
            files.into_iter().map(|(names, size)| (names.join("/"), size)).collect();
        let expected = [
            ("1k", 1024),
            ("a/b", 1024),
            ("a/index.html", 1024),
            ("bytes/70000", 70_000),
            ("index.html", 1024),
        ];
        assert_eq!(found, expected.map(|(name, size)| (name.to_owned(), size)));
    }

    #[test]
    fn a_path_that_can_have_no_file_is_named() {
        for path in
            ["/../etc/passwd", "/%2e%2e/x", "*", "/bytes/much", "/bytes/99999999999999", &"/a".repeat(2_000)]
        {
            assert_eq!(files_of([path].into_iter()), Err(path.to_owned()));
        }
    }

    /// The folder of a run that was killed is not there for ever; one that is in use is left alone.
    #[test]
    fn what_a_killed_run_left_is_removed() {
        const OWN: &str = "farfield-test-abandoned-";
        let used = temporary::locked_folder(OWN).expect("a folder");
        let left = temporary::locked_folder(OWN).expect("a folder").abandon();
        std::fs::create_dir(left.join("site")).expect("own folder");
        temporary::remove_abandoned(OWN);
        assert!(used.path().is_dir() && !left.exists());
        let path = used.path().to_owned();
        drop(used);
        assert!(!path.exists());
    }
}
