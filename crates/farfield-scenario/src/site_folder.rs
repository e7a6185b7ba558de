//! A site as a folder of files, for a server to serve.
//!
//! A site's paths may come from a stranger: nothing is written outside the folder, nor through a link in it.
//! Each folder is opened below the one before, and each file is new.

use farfield_traffic::site::content::Contents;
use farfield_traffic::site::files::{INDEX, MANIFEST};
use farfield_traffic::site::{Site, html, path};
use rustix::fs::{Mode, OFlags};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// Writes the site's objects into `directory`, which is there and empty, an index if the site has none, and
/// at last, when the site is whole, its manifest, whose path is returned. `/a` beside `/a/b` is the index of
/// its folder, to which file servers redirect.
///
/// # Errors
/// The file or folder that could not be written, and the system's reason.
pub fn write(site: &Site, directory: &Path) -> Result<PathBuf, (PathBuf, io::Error)> {
    let contents = Contents::new(site);
    let root = open_folder(directory).map_err(|error| (directory.to_owned(), error))?;
    let mut written = BTreeSet::new();
    let folders: BTreeSet<Vec<String>> = site
        .objects()
        .iter()
        .filter_map(|object| path::on_disk(&object.path))
        .flat_map(|names| (1..names.len()).map(move |depth| names[..depth].to_vec()))
        .collect();
    for (at, object) in (0..).zip(site.objects()) {
        let outside = || io::Error::new(io::ErrorKind::InvalidInput, "it would lie outside the folder");
        let mut names = path::on_disk(&object.path).ok_or_else(|| (object.path.clone().into(), outside()))?;
        while folders.contains(&names) {
            names.push(INDEX.to_owned());
        }
        // A folder and its index may both have been seen, and are one file. The site itself is written last.
        if names == [MANIFEST] || !written.insert(names.clone()) {
            continue;
        }
        let made = new_file(&root, &names).and_then(|mut file| contents.write(at, &mut file));
        made.map_err(|error| (directory.join(names.join("/")), error))?;
    }
    let put = |name: &str, text: &[u8]| {
        let made = new_file(&root, &[name.to_owned()]).and_then(|mut file| file.write_all(text));
        made.map_err(|error| (directory.join(name), error))
    };
    if !written.contains([INDEX.to_owned()].as_slice()) && !folders.contains([INDEX.to_owned()].as_slice()) {
        put(INDEX, html::index(site.objects(), site.pages()).as_bytes())?;
    }
    put(MANIFEST, &as_json(site))?;
    Ok(directory.join(MANIFEST))
}

/// Makes the file that `names` lead to from `root`, folders and all. What is there already is not followed
/// if it is a link, nor written over.
fn new_file(root: &OwnedFd, names: &[String]) -> io::Result<File> {
    let (name, folders) = names.split_last().ok_or(io::ErrorKind::InvalidInput)?;
    if !names.iter().all(|name| path::is_name(name.as_bytes())) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut below = root.try_clone()?;
    for folder in folders {
        match rustix::fs::mkdirat(&below, folder, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        below = rustix::fs::openat(&below, folder, FOLDER, Mode::empty())?;
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::openat(&below, name, flags, Mode::from_raw_mode(0o666))?))
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The folder itself may be named through links: it is the user's own word.
fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// All of a site as one line of JSON.
pub fn as_json(site: &Site) -> Vec<u8> {
    let mut text = serde_json::to_vec(site).expect("a site is JSON");
    text.push(b'\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server has both `/a` and `/a/b`; a folder of files has not.
    #[test]
    fn a_file_that_is_a_folder_too_is_its_index() {
        let paths = ["/", "/a", "/a/b", "/a/b/c.png", "/index.html/x"];
        let objects: Vec<String> =
            paths.iter().map(|path| format!(r#"{{"path":"{path}","kind":"other","size":3}}"#)).collect();
        let text =
            format!(r#"{{"seed":1,"objects":[{}],"pages":[{{"object":0,"weight":1}}]}}"#, objects.join(","));
        let site: Site = serde_json::from_str(&text).unwrap();
        let folder = tempfile::tempdir().unwrap();
        write(&site, folder.path()).unwrap();
        for file in ["index.html/index.html", "a/index.html", "a/b/index.html", "a/b/c.png", "index.html/x"] {
            assert!(folder.path().join(file).is_file(), "{file}");
        }
    }

    /// A folder with a link out of it, as another user of the machine may have put there meanwhile.
    #[test]
    fn nothing_is_written_through_a_link() {
        let outside = tempfile::tempdir().unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(outside.path(), folder.path().join("sub")).unwrap();
        std::os::unix::fs::symlink(outside.path().join("new"), folder.path().join("a")).unwrap();
        let root = open_folder(folder.path()).unwrap();
        let names = |path: &str| path.split('/').map(str::to_owned).collect::<Vec<_>>();
        for path in ["sub/x", "a", "..", "../x", "", "b/../../x"] {
            assert!(new_file(&root, &names(path)).is_err(), "{path}");
        }
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
        assert!(new_file(&root, &names("c/d/e")).is_ok() && folder.path().join("c/d/e").is_file());
    }
}
