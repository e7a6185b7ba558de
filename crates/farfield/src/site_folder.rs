//! A site as a folder of files, for a server to serve.

use farfield_traffic::site::content::Contents;
use farfield_traffic::site::files::{INDEX, MANIFEST};
use farfield_traffic::site::{Site, html};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Writes the site's objects into `directory`, which is there and empty, an index if the site has none, and at last, when
/// the site is whole, the file that tells all of it, whose path is returned.
///
/// # Errors
/// What could not be written, and why.
pub fn write(site: &Site, directory: &Path) -> Result<PathBuf, (PathBuf, io::Error)> {
    let contents = Contents::new(site);
    for (at, object) in (0..).zip(site.objects()) {
        let path = directory.join(on_disk(&object.path));
        let folder = path.parent().unwrap_or(directory);
        fs::create_dir_all(folder).map_err(|error| (folder.to_owned(), error))?;
        let written = fs::File::create_new(&path).and_then(|mut file| contents.write(at, &mut file));
        written.map_err(|error| (path, error))?;
    }
    let index = directory.join(INDEX);
    if !index.exists() {
        let html = html::index(site.objects(), site.pages());
        fs::write(&index, html).map_err(|error| (index, error))?;
    }
    let manifest = directory.join(MANIFEST);
    match fs::write(&manifest, as_json(site)) {
        Ok(()) => Ok(manifest),
        Err(error) => Err((manifest, error)),
    }
}

/// All of a site as one line of JSON.
pub fn as_json(site: &Site) -> Vec<u8> {
    let mut text = serde_json::to_vec(site).expect("a site is JSON");
    text.push(b'\n');
    text
}

/// A path of a site as one of files: what is percent-encoded is decoded.
fn on_disk(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.trim_start_matches('/').as_bytes();
    while let [byte, after @ ..] = rest {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let decoded = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match decoded.filter(|decoded| *byte == b'%' && !matches!(decoded, 0 | b'/')) {
            Some(decoded) => {
                bytes.push(decoded);
                rest = &after[2..];
            }
            None => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| path.trim_start_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_decoded_for_the_disk() {
        for (path, file) in [
            ("/a/b.html", "a/b.html"),
            ("/a%20b.png", "a b.png"),
            ("/100%", "100%"),
            ("/a%2Fb", "a%2Fb"),
            ("/%E9.gif", "%E9.gif"),
            ("/%C3%A9.gif", "é.gif"),
        ] {
            assert_eq!(on_disk(path), file);
        }
    }
}
