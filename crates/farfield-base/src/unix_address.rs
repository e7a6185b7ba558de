//! Addresses of Unix sockets (unix(7)): a path, or a name of the abstract kind that begins with `@`.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The address of a Unix socket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum UnixAddress {
    /// A file.
    Path(PathBuf),
    /// A name that is in no folder.
    Abstract(String),
}

/// Bytes of a path at most: `sun_path` has 108, of which the last is zero. An abstract name has a zero
/// before it.
const BYTES_MAX: usize = 107;

impl UnixAddress {
    /// The address with a path that is whole, where it begins in `folder`; as it is if the whole path would
    /// be too long for the system.
    #[must_use]
    pub fn within(self, folder: &Path) -> UnixAddress {
        match self {
            UnixAddress::Path(path) => {
                let whole = folder.join(&path);
                UnixAddress::Path(if whole.as_os_str().len() <= BYTES_MAX { whole } else { path })
            }
            abstract_name => abstract_name,
        }
    }
}

impl FromStr for UnixAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<UnixAddress, String> {
        let bytes = text.strip_prefix('@').unwrap_or(text);
        if bytes.is_empty() || bytes.contains('\0') {
            return Err(format!(
                "`{}` is no Unix socket; write a path, or @ and a name",
                text.escape_debug()
            ));
        }
        if bytes.len() > BYTES_MAX {
            return Err(format!(
                "the path or name of a Unix socket has {BYTES_MAX} bytes at most, and this has {}",
                bytes.len()
            ));
        }
        Ok(match text.strip_prefix('@') {
            Some(name) => UnixAddress::Abstract(name.to_owned()),
            None => UnixAddress::Path(PathBuf::from(text)),
        })
    }
}

impl TryFrom<String> for UnixAddress {
    type Error = String;

    fn try_from(text: String) -> Result<UnixAddress, String> {
        text.parse()
    }
}

impl From<UnixAddress> for String {
    fn from(address: UnixAddress) -> String {
        address.to_string()
    }
}

impl fmt::Display for UnixAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnixAddress::Path(path) => path.display().fmt(f),
            UnixAddress::Abstract(name) => write!(f, "@{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_paths_or_names() {
        for text in ["/run/a.sock", "a.sock", "@a", "@/run/a", "/tmp/\u{e9}.sock"] {
            let address: UnixAddress = text.parse().expect(text);
            assert_eq!(address.to_string(), text);
            assert_eq!(matches!(address, UnixAddress::Abstract(_)), text.starts_with('@'));
        }
        for text in ["", "@", "a\0b", "@a\0"] {
            assert!(text.parse::<UnixAddress>().is_err(), "{text:?}");
        }
        for (length, fits) in [(107, true), (108, false), (100_000, false)] {
            assert_eq!("x".repeat(length).parse::<UnixAddress>().is_ok(), fits, "{length}");
            assert_eq!(format!("@{}", "x".repeat(length)).parse::<UnixAddress>().is_ok(), fits);
        }
        let long = "x".repeat(100);
        let within =
            |text: &str| text.parse::<UnixAddress>().expect(text).within(Path::new("/srv")).to_string();
        assert_eq!(
            [within("a.sock"), within("/run/a.sock"), within("@a")],
            ["/srv/a.sock", "/run/a.sock", "@a"]
        );
        assert_eq!(within(&long), format!("/srv/{long}"));
        let longer = "x".repeat(105);
        assert_eq!(within(&longer), longer, "a whole path of 110 bytes could not be connected to");
    }
}
