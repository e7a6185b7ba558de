//! Signals that end a run early, such as Ctrl-C; it keeps its results so far.

use farfield_os::signals::is_ignored;
use farfield_os::terminal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
use signal_hook::{flag, low_level};
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Exit code of a process that a second signal ends: 128 and the number of SIGINT, as shells have it.
const INTERRUPTED: i32 = 130;

/// A flag that the first SIGINT, SIGTERM or SIGHUP sets. A second SIGINT or SIGTERM ends the process at
/// once, with the results of the last checkpoint and the terminal as it was; several SIGHUPs do not, since a
/// closed terminal may send several. SIGHUP stays ignored if it was, as under nohup(1). SIGXFSZ is caught, so
/// that a file past its size limit is a write error, which the run reports.
pub fn flag() -> io::Result<Arc<AtomicBool>> {
    let raised = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        terminal::raise_or_end(signal, Arc::clone(&raised), INTERRUPTED)?;
    }
    if !is_ignored(SIGHUP) {
        flag::register(SIGHUP, Arc::clone(&raised))?;
    }
    flag::register(SIGXFSZ, Arc::default())?;
    Ok(raised)
}

/// Does what Ctrl-C does where the terminal sends no signal for it. The calling thread handles it before this
/// returns: two of them are two, not one that is still pending.
pub fn raise() {
    // An error would mean that there is no such signal.
    let _ = low_level::raise(SIGINT);
}

/// A flag for the parent of a program that shares its terminal: SIGTERM and SIGHUP set it. SIGINT and
/// SIGQUIT, which the program gets as well, are left to the program.
pub fn flag_of_a_parent() -> io::Result<Arc<AtomicBool>> {
    let raised = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGQUIT] {
        // Caught, not ignored: a program would inherit that.
        flag::register(signal, Arc::default())?;
    }
    flag::register(SIGTERM, Arc::clone(&raised))?;
    if !is_ignored(SIGHUP) {
        flag::register(SIGHUP, Arc::clone(&raised))?;
    }
    Ok(raised)
}
