//! What a study is run with.

use std::path::PathBuf;

/// What a study is run with.
#[derive(Debug, Clone)]
pub struct Setting {
    /// Fewer and shorter series.
    pub is_quick: bool,
    /// The farfield that runs are made with.
    pub farfield: PathBuf,
    /// A folder for what runs leave, which is removed afterwards.
    pub scratch: PathBuf,
}

impl Setting {
    /// One of two, by whether this is the quick form.
    pub fn pick<T>(&self, quick: T, full: T) -> T {
        if self.is_quick { quick } else { full }
    }
}
