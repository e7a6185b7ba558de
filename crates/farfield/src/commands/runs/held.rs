//! A run directory that is held, to be changed or removed: open, the user's own, and with no run in it that
//! is under way.

use farfield_files::{Folder, Lock};
use std::ffi::OsStr;
use std::io::ErrorKind;

/// A run that stays as it is, and whether it should not have.
#[derive(Debug)]
pub struct SkippedRun {
    pub why: String,
    pub is_failure: bool,
}

impl SkippedRun {
    fn because(why: &str) -> SkippedRun {
        SkippedRun { why: why.to_owned(), is_failure: false }
    }
}

/// The directory `name` of a run in `folder`, which nobody else changes as long as it is held; `complete` is
/// whether its summary says that the run has ended.
pub fn hold(folder: &Folder, name: &OsStr, complete: bool) -> Result<Folder, SkippedRun> {
    let whole = folder.open_below(name).map_err(|error| match error.kind() {
        ErrorKind::NotFound => SkippedRun::because("it is gone"),
        ErrorKind::PermissionDenied => SkippedRun::because("it may not be opened"),
        _ => SkippedRun::because("it is no directory but a link to one"),
    })?;
    if !whole.is_own().unwrap_or(false) {
        return Err(SkippedRun::because("it belongs to another user"));
    }
    match whole.lock() {
        Lock::Taken => Ok(whole),
        Lock::Held => Err(SkippedRun::because("it is under way, or being changed")),
        Lock::None if complete => Ok(whole),
        Lock::None => Err(SkippedRun::because("it may be under way: its file system has no locks")),
    }
}
