//! Paths of a site: validity, and location in a folder of files.
//!
//! Percent-encoding hides no way out of the folder: dots are looked for in what is decoded (RFC 3986,
//! sections 5.2.4 and 6.2.2.2), and a path that has any is refused. Sites come from untrusted sources: a
//! server that was crawled.

use super::files::INDEX;

/// True if `path` can be both requested and a file on disk: one that ends with `/` is a folder, and its index
/// there.
pub fn is_path(path: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_graphic() && !b"?#\"<>\\'&".contains(&byte);
    let Some(parts) = path.strip_prefix('/') else { return false };
    let parts = parts.strip_suffix('/').unwrap_or(parts);
    path.bytes().all(plain) && (path == "/" || parts.split('/').all(|part| is_name(&decoded(part))))
}

/// Location on disk of the object at `path`: the names of folders, and last of the file. What is
/// percent-encoded is decoded where that is UTF-8, and a folder is its index. `None` for what [`is_path`]
/// refuses.
pub fn on_disk(path: &str) -> Option<Vec<String>> {
    if !is_path(path) {
        return None;
    }
    let (_, below) = path.split_once('/')?;
    let plain = String::from_utf8(decoded(below)).unwrap_or_else(|_| below.to_owned());
    let whole = if plain.is_empty() || plain.ends_with('/') { plain + INDEX } else { plain };
    Some(whole.split('/').map(str::to_owned).collect())
}

/// The longest name of a file or folder that the file systems in use hold, in bytes.
pub const NAME_BYTES_MAX: usize = 255;
/// The longest way from a site's folder to a file, in bytes: with the folder's own path it stays below the
/// 4096 of Linux (`PATH_MAX`).
pub const WAY_BYTES_MAX: usize = 2048;

/// True if a folder of files can hold the object at `path`. A server may have longer names than a disk.
pub fn has_file(path: &str) -> bool {
    let Some(names) = on_disk(path) else { return false };
    let way: usize = names.iter().map(|name| name.len() + 1).sum();
    way <= WAY_BYTES_MAX && names.iter().all(|name| name.len() <= NAME_BYTES_MAX)
}

/// True of a name in a folder, which leads neither up nor nowhere.
pub fn is_name(name: &[u8]) -> bool {
    !matches!(name, b"" | b"." | b"..") && !name.contains(&b'/') && !name.contains(&0)
}

/// `text` with all that is percent-encoded decoded, but for what no name on a disk holds: NUL and `/`.
pub fn decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [byte, after @ ..] = rest {
        let hidden = match after {
            [high, low, ..] if *byte == b'%' => hex(*high).zip(hex(*low)).map(|(high, low)| high << 4 | low),
            _ => None,
        };
        match hidden.filter(|hidden| !matches!(hidden, 0 | b'/')) {
            Some(hidden) => {
                bytes.push(hidden);
                rest = &after[2..];
            }
            None => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    bytes
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
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
            ("/a%+5", "a%+5"),
            ("/a%2Fb", "a%2Fb"),
            ("/a%00b", "a%00b"),
            ("/%E9.gif", "%E9.gif"),
            ("/%C3%A9.gif", "é.gif"),
            ("/", "index.html"),
            ("/sub/", "sub/index.html"),
            ("/%252e%252e/x", "%2e%2e/x"),
            ("/..a/b..", "..a/b.."),
        ] {
            assert_eq!(on_disk(path).map(|names| names.join("/")).as_deref(), Some(file), "{path}");
        }
    }

    #[test]
    fn names_are_as_long_as_a_disk_holds() {
        let name = |letter: &str, count| format!("/{}", letter.repeat(count));
        assert!(has_file("/") && has_file(&name("a", 255)) && has_file(&(name("a", 255) + "/")));
        // Percent-encoded it is three times as long, and on the disk it is not.
        assert!(has_file(&name("%41", 255)) && !has_file(&name("%41", 256)));
        assert!(!has_file(&name("a", 256)) && !has_file(&(name("a", 256) + "/x")));
        assert!(has_file(&name("a/", 1000).replace("a//", "a/")) && !has_file(&"/a".repeat(1025)));
        assert!(!has_file("/../x"));
    }

    #[test]
    fn no_encoding_leads_out_of_the_folder() {
        for path in [
            "/../b",
            "/%2e%2e/b",
            "/%2E%2e/b",
            "/.%2e/b",
            "/%2e./b",
            "/a/%2e%2e/%2e%2e/b",
            "/a/%2e",
            "/%2e%2e",
            "/%2e%2e/",
            "/%2e%2e/%ff",
            "//",
            "/a//b",
            "//etc/passwd",
            "a",
            "",
        ] {
            assert_eq!(on_disk(path), None, "{path}");
        }
    }
}
