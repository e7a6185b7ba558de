//! `farfield runs --prune`: old run directories are removed, by their number, their age, or both.
//!
//! A directory is removed if it has a summary that this farfield reads, is directly in the folder, is this
//! user's, and if nobody holds its lock. The folder and each run in it are held open from the first look
//! to the removal, so that no link, and nothing that takes a name meanwhile, leads to anything else.

use super::held::{SkippedRun, hold};
use crate::commands::compare::refused;
use crate::exit::Exit;
use crate::flags::compare::RunsFlags;
use crate::output;
use crate::problem::Problem;
use farfield_files::Folder;
use farfield_os::clock::unix_seconds;
use farfield_report::directory::SUMMARY_FILE;
use farfield_report::figures::bytes;
use farfield_report::runs::{ListedRun, list};
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Removes the runs that the flags ask for, or says which these are.
pub fn prune(flags: &RunsFlags) -> Result<Exit, Problem> {
    let folder = own_folder(&flags.folder)?;
    let runs = list(&flags.folder).map_err(refused)?;
    let (mut text, mut freed, mut removed, mut failed) = (String::new(), 0, 0, false);
    for run in due(&runs, flags.keep, flags.older) {
        match remove(&folder, run, flags.dry_run) {
            Ok(size) => {
                freed += size;
                removed += 1;
                let word = if flags.dry_run { "would remove" } else { "removed" };
                let _ = writeln!(text, "{word} {} ({})", run.name, bytes(size as f64));
            }
            Err(SkippedRun { why, is_failure }) => {
                failed |= is_failure;
                let _ = writeln!(text, "left {}: {why}", run.name);
            }
        }
    }
    let word = if flags.dry_run { "would be removed" } else { "removed" };
    let _ = writeln!(text, "{removed} of {} runs {word}, {}", runs.len(), bytes(freed as f64));
    output::put(&text)?;
    Ok(if failed { Exit::Failed } else { Exit::Fine })
}

/// The folder, which must be a folder of the user's own and no link.
fn own_folder(path: &Path) -> Result<Folder, Problem> {
    let shown = path.display();
    let refuse = |why: &dyn std::fmt::Display| Problem::usage(format!("`{shown}` is not pruned: {why}"));
    let named = path.symlink_metadata().map_err(|error| refuse(&error))?;
    if named.is_symlink() {
        return Err(refuse(&"it is a link; name the folder that it leads to"));
    }
    let folder = Folder::open(path).map_err(|error| refuse(&error))?;
    match folder.is_own() {
        Ok(true) => Ok(folder),
        Ok(false) => Err(refuse(&"it belongs to another user")),
        Err(error) => Err(refuse(&error)),
    }
}

/// The runs that are beyond the newest `keep` and older than `older`, of which one may be absent. The list
/// has the newest first; a run without an instant of its start is never due.
fn due(runs: &[ListedRun], keep: Option<usize>, older: Option<Duration>) -> impl Iterator<Item = &ListedRun> {
    let now = UNIX_EPOCH + Duration::from_secs(unix_seconds());
    let before = older.map(|older| now.checked_sub(older).unwrap_or(UNIX_EPOCH));
    let begun = |run: &ListedRun| humantime::parse_rfc3339(run.started_at()).ok();
    let is_older = move |begun: SystemTime| before.is_none_or(|before| begun < before);
    runs.iter().skip(keep.unwrap_or(0)).filter(move |run| begun(run).is_some_and(&is_older))
}

/// Removes a run and returns its bytes on disk.
fn remove(folder: &Folder, run: &ListedRun, dry_run: bool) -> Result<u64, SkippedRun> {
    let name = run.path.file_name().unwrap_or(run.path.as_os_str());
    let whole = hold(folder, name, run.run.as_ref().is_ok_and(|run| run.summary().complete))?;
    let failure = |error: std::io::Error| SkippedRun { why: error.to_string(), is_failure: true };
    let size = whole.bytes_on_disk().map_err(failure)?;
    if !dry_run {
        folder.remove_whole(name, &whole, SUMMARY_FILE).map_err(failure)?;
    }
    Ok(size)
}
