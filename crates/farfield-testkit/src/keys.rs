//! Values of keys as a scenario writes them: read, written, read again, or refused; and the files that they
//! name.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use std::io;
use std::path::Path;

#[derive(Serialize, Deserialize)]
struct Document<T> {
    key: T,
}

/// The value of `key = <text>`.
pub fn read<T: DeserializeOwned>(text: &str) -> T {
    try_read(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The value of `key = <text>`, or the sentence that refuses it.
pub fn try_read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let document = toml::from_str::<Document<T>>(&format!("key = {text}"));
    document.map(|document| document.key).map_err(|error| error.message().to_owned())
}

/// Reads `text`, writes it, reads it again, and returns what was written: both must be the same value.
pub fn round_trip<T: DeserializeOwned + Serialize + PartialEq + Debug>(text: &str) -> String {
    let key: T = read(text);
    let written = toml::to_string(&Document { key }).unwrap_or_else(|error| panic!("{text}: {error}"));
    let again = toml::from_str::<Document<T>>(&written).unwrap_or_else(|error| panic!("{written}: {error}"));
    assert_eq!(again.key, read::<T>(text), "written as {written}");
    written
}

/// Asserts that `text` is refused with a sentence that has all of `parts`.
pub fn refused<T: DeserializeOwned + Debug>(text: &str, parts: &[&str]) {
    let message = try_read::<T>(text).expect_err(text);
    for part in parts {
        assert!(message.contains(part), "{text}\nwas refused with: {message}\nwhich lacks: {part}");
    }
}

/// A loader without any file.
pub fn no_files(path: &Path) -> io::Result<Vec<u8>> {
    panic!("{} was opened", path.display())
}

/// A loader whose every file holds `text`.
pub fn holding(text: &str) -> impl FnMut(&Path) -> io::Result<Vec<u8>> {
    move |_| Ok(text.as_bytes().to_vec())
}
