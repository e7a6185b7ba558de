//! A site as a folder of files, for a server to serve.
//!
//! A site's paths may come from a stranger: nothing is written outside the folder, nor through a link in it.
//! Each folder is opened below the one before, and each file is new.

use farfield_files::Folder;
use farfield_traffic::site::content::SiteContents;
use farfield_traffic::site::files::{INDEX, MANIFEST};
use farfield_traffic::site::path::{NAME_BYTES_MAX, WAY_BYTES_MAX};
use farfield_traffic::site::{Site, html, path};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A site in a folder.
#[derive(Debug)]
pub struct SiteFolder {
    /// The path of its manifest.
    pub manifest: PathBuf,
    /// Objects without a file, since no folder has names as long as theirs.
    left_out: usize,
    first_left_out: Option<String>,
}

impl SiteFolder {
    /// The objects without a file, as a sentence, if there are any.
    pub fn left_out(&self) -> Option<String> {
        let first = self.first_left_out.as_ref()?;
        let shown: String = first.chars().take(60).collect();
        Some(format!(
            "{} of the site's objects have no file, such as {shown}…: a name has {NAME_BYTES_MAX} bytes at most, and a \
             whole path {WAY_BYTES_MAX}; requests for them find nothing",
            self.left_out
        ))
    }
}

/// Writes the site's objects into `directory`, which is there and empty, an index if the site has none, and
/// at last, when the site is whole, its manifest. `/a` beside `/a/b` is the index of
/// its folder, to which file servers redirect.
///
/// # Errors
/// The file or folder that could not be written, and the system's reason.
pub fn write(site: &Site, directory: &Path) -> Result<SiteFolder, (PathBuf, io::Error)> {
    let contents = SiteContents::new(site);
    let root = Folder::open(directory).map_err(|error| (directory.to_owned(), error))?;
    let mut written = BTreeSet::new();
    let (mut left_out, mut first_left_out) = (0, None);
    let folders: BTreeSet<Vec<String>> = site
        .objects()
        .iter()
        .filter(|object| path::has_file(&object.path))
        .filter_map(|object| path::on_disk(&object.path))
        .flat_map(|names| (1..names.len()).map(move |depth| names[..depth].to_vec()))
        .collect();
    for (at, object) in (0..).zip(site.objects()) {
        let outside = || io::Error::new(io::ErrorKind::InvalidInput, "it would lie outside the folder");
        let mut names = path::on_disk(&object.path).ok_or_else(|| (object.path.clone().into(), outside()))?;
        if !path::has_file(&object.path) {
            left_out += 1;
            first_left_out.get_or_insert_with(|| object.path.clone());
            continue;
        }
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
    Ok(SiteFolder { manifest: directory.join(MANIFEST), left_out, first_left_out })
}

/// Makes the file that `names` lead to from `root`, folders and all. What is there already is not followed
/// if it is a link, nor written over.
fn new_file(root: &Folder, names: &[String]) -> io::Result<File> {
    match names.iter().all(|name| path::is_name(name.as_bytes())) {
        true => root.publish_below(names),
        false => Err(io::ErrorKind::InvalidInput.into()),
    }
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

    /// A path that a server has, and a disk has not.
    #[test]
    fn what_is_too_long_for_a_file_is_left_out_and_counted() {
        let long = "a".repeat(300);
        let paths =
            ["/".to_owned(), "/b".to_owned(), format!("/{long}"), format!("/{long}/c"), "/d/".repeat(1100)];
        let objects: Vec<String> = paths
            .iter()
            .map(|path| format!(r#"{{"path":"{}","kind":"other","size":3}}"#, path.replace("//", "/")))
            .collect();
        let text =
            format!(r#"{{"seed":1,"objects":[{}],"pages":[{{"object":0,"weight":1}}]}}"#, objects.join(","));
        let site: Site = serde_json::from_str(&text).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let made = write(&site, folder.path()).unwrap();
        assert!(made.manifest.is_file() && folder.path().join("b").is_file());
        let said = made.left_out().expect("three are");
        assert!(
            said.starts_with(&format!("3 of the site's objects have no file, such as /{}", &long[..59])),
            "{said}"
        );
    }

    /// A folder with a link out of it, as another user of the machine may have put there meanwhile.
    #[test]
    fn nothing_is_written_through_a_link() {
        let outside = tempfile::tempdir().unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(outside.path(), folder.path().join("sub")).unwrap();
        std::os::unix::fs::symlink(outside.path().join("new"), folder.path().join("a")).unwrap();
        let root = Folder::open(folder.path()).unwrap();
        let names = |path: &str| path.split('/').map(str::to_owned).collect::<Vec<_>>();
        for path in ["sub/x", "a", "..", "../x", "", "b/../../x"] {
            assert!(new_file(&root, &names(path)).is_err(), "{path}");
        }
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
        assert!(new_file(&root, &names("c/d/e")).is_ok() && folder.path().join("c/d/e").is_file());
    }
}
