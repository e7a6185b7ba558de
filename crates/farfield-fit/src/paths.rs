//! Paths of a log as files of a folder, which any web server serves under the same paths.
//!
//! Paths of a log may be impossible for files: queries, blanks, control characters, names longer than a disk
//! takes, `/a` beside `/a/b`. Each such path gets a similar valid name, one for each resource; most keep
//! their own. As a server does, it is taken without what percent-encoding hides, without empty parts and `.`,
//! and with `..` going up (RFC 3986, section 6.2.2).

use farfield_traffic::site::files::{INDEX, MANIFEST};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of a part of a path at most: disks take 255.
const PART_MAX: usize = 120;
/// Parts of a path at most.
const PARTS_MAX: usize = 24;

/// File of an object of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FilePath {
    /// Path of the request: that of the file, or of its folder if the file is the index there.
    pub(crate) asked: String,
    /// Path of the file: two objects that share it are one.
    pub(crate) file: String,
}

/// Files of the objects with these paths, most popular first; `None` for what is no path: `*`, an
/// authority, noise.
pub(crate) fn files<'a>(paths: impl Iterator<Item = &'a str>) -> Vec<Option<FilePath>> {
    let mut taken = BTreeMap::from([(MANIFEST.to_owned(), String::new())]);
    let mut found: Vec<Option<FilePath>> = paths.map(|path| one(path, &mut taken)).collect();
    let folders: BTreeSet<String> = found.iter().flatten().flat_map(|path| folders(&path.file)).collect();
    for path in found.iter_mut().flatten().filter(|path| folders.contains(&path.file)) {
        path.asked = format!("/{}/", path.file);
        path.file = format!("{}/{INDEX}", path.file);
    }
    found
}

/// The folders above a file.
fn folders(file: &str) -> impl Iterator<Item = String> {
    file.match_indices('/').map(|(at, _)| file[..at].to_owned())
}

/// `taken` has the files so far, each with the resource that it is.
fn one(path: &str, taken: &mut BTreeMap<String, String>) -> Option<FilePath> {
    let path = match path.split_once("://") {
        Some((scheme, rest)) if !scheme.contains(['/', '?']) => &rest[rest.find('/').unwrap_or(rest.len())..],
        _ => path,
    };
    let (path, query) = path.split_at(path.find('?').unwrap_or(path.len()));
    let mut parts: Vec<String> = Vec::new();
    let mut is_folder = true;
    for part in path.strip_prefix('/')?.split('/') {
        is_folder = matches!(part, "" | "." | "..");
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(decoded(part)),
        }
    }
    if is_folder {
        parts.push(INDEX.to_owned());
    }
    let last = parts.last_mut()?;
    last.push_str(query);
    let resource = parts.join("\0");
    let name = named(&parts);
    let free = (1..).map(|number| numbered(&name, number));
    let mut free = free.filter(|file| taken.get(file).is_none_or(|other| *other == resource));
    let file = free.next()?;
    let is_index = is_folder && query.is_empty();
    let asked = if is_index { format!("/{}", file.strip_suffix(INDEX)?) } else { format!("/{file}") };
    taken.insert(file.clone(), resource);
    Some(FilePath { asked, file })
}

/// A part of a path without percent-encoding.
fn decoded(part: &str) -> String {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let [byte, after @ ..] = rest {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let hidden = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| *byte == b'%');
        bytes.push(hidden.unwrap_or(*byte));
        rest = if hidden.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The path of a file that these parts make.
fn named(parts: &[String]) -> String {
    let (folders, rest) = parts.split_at(parts.len().min(PARTS_MAX) - 1);
    let last = rest.join("_");
    // A folder of the index's name would stand where the index of the folder above does.
    let folders = folders.iter().map(|part| if part == INDEX { format!("{INDEX}~") } else { clean(part) });
    folders.chain([clean(&last)]).collect::<Vec<_>>().join("/")
}

/// A part with nothing in it that a file or a server takes amiss.
fn clean(part: &str) -> String {
    let plain = |c: char| c.is_ascii_graphic() && !"/?#\"<>\\'&%".contains(c);
    let mut name: String = part.chars().map(|c| if plain(c) { c } else { '_' }).collect();
    name.truncate(PART_MAX);
    // Servers refuse their own files of this kind, and `.` and `..` are no names.
    if name.starts_with(".ht") || name == "." || name == ".." { format!("_{name}") } else { name }
}

/// The `number`-th file of this name.
fn numbered(file: &str, number: u32) -> String {
    if number == 1 {
        return file.to_owned();
    }
    let name = file.rfind('/').map_or(0, |at| at + 1);
    let end = file[name..].rfind('.').filter(|at| *at > 0).map_or(file.len(), |at| name + at);
    format!("{}~{number}{}", &file[..end], &file[end..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn asked(paths: &[&str]) -> Vec<String> {
        let all = files(paths.iter().copied());
        all.into_iter().map(|path| path.map_or("none".to_owned(), |path| path.asked)).collect()
    }

    #[test]
    fn most_paths_keep_their_own() {
        let own =
            ["/", "/a/", "/a/b.gif", "/~x/v1.2/about", "/a;b=c,d+(e)!", "/index.html.bak", "/.well-known/x"];
        assert_eq!(asked(&own), own);
    }

    #[test]
    fn what_no_file_can_have_gets_a_near_name() {
        for (path, file) in [
            ("/a?x=1&y=/2", "/a_x=1_y=_2"),
            ("/a/?x", "/a/index.html_x"),
            ("/a%20b.png", "/a_b.png"),
            ("/%7Ejo/%zz%", "/~jo/_zz_"),
            ("/\u{e9}%E9%C3%A9", "/___"),
            ("/a%2Fb/%00", "/a_b/_"),
            ("/a/./b//../c", "/a/c"),
            ("/../../x", "/x"),
            ("/a/..", "/"),
            ("/.htaccess", "/_.htaccess"),
            ("/%2e%2e", "/_.."),
            ("http://host/x", "/x"),
            ("/site.json", "/site~2.json"),
            ("*", "none"),
            ("host:443", "none"),
            ("http://host", "none"),
            ("", "none"),
        ] {
            assert_eq!(asked(&[path]), [file], "{path}");
        }
        let long = format!("/{}/x", "n".repeat(300));
        assert_eq!(asked(&[&long]), [format!("/{}/x", "n".repeat(PART_MAX))]);
        assert!(asked(&[&"/d".repeat(3_000)])[0].len() < 200);
    }

    #[test]
    fn resources_stay_apart_and_spellings_come_together() {
        assert_eq!(asked(&["/a b.gif", "/a?b.gif", "/a_b.gif"]), ["/a_b.gif", "/a_b~2.gif", "/a_b~3.gif"]);
        let together = files(["/a/", "//a/index.html", "/%61/."].into_iter());
        assert!(together.iter().flatten().all(|path| path.file == "a/index.html"), "{together:?}");
    }

    #[test]
    fn a_file_that_is_a_folder_too_is_its_index() {
        assert_eq!(asked(&["/a", "/a/b", "/a/"]), ["/a/", "/a/b", "/a/"]);
        assert_eq!(asked(&["/a/index.html/b", "/a/", "/a"]), ["/a/index.html~/b", "/a/", "/a/"]);
    }

    proptest! {
        /// Files of any paths can all lie on one disk, and be asked for.
        #[test]
        fn any_paths_are_files(paths in proptest::collection::vec("/?[ab./%?\\x00é~]{0,9}(index\\.html)?/?[ab]?", 1..40)) {
            let found = files(paths.iter().map(String::as_str));
            let all: BTreeSet<&str> = found.iter().flatten().map(|path| path.file.as_str()).collect();
            for path in found.iter().flatten() {
                let above: Vec<String> = folders(&path.file).collect();
                prop_assert!(above.iter().all(|folder| !all.contains(folder.as_str())), "{:?}", path);
                prop_assert!(path.file.split('/').all(|part| !part.is_empty() && part.len() < 255));
                let index = path.asked == format!("/{}", path.file.strip_suffix(INDEX).unwrap_or("?"));
                prop_assert!(index || path.asked == format!("/{}", path.file), "{:?}", path);
            }
        }
    }
}
