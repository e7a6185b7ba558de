//! Ctrl-C and its like: a run is ended with what it has.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A flag that the first SIGINT, SIGTERM or SIGHUP raises. A second SIGINT or SIGTERM ends the process at once, with what
/// the last checkpoint left; of a terminal that is closed several SIGHUPs may come. SIGHUP stays ignored where it was, as
/// under nohup(1). A file that grows past its limit (SIGXFSZ) is one that cannot be written, which the run reports.
pub fn flag() -> io::Result<Arc<AtomicBool>> {
    let raised = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order the first signal finds the flag down, and only raises it.
        flag::register_conditional_shutdown(signal, 130, Arc::clone(&raised))?;
        flag::register(signal, Arc::clone(&raised))?;
    }
    if !is_ignored(SIGHUP) {
        flag::register(SIGHUP, Arc::clone(&raised))?;
    }
    flag::register(SIGXFSZ, Arc::default())?;
    Ok(raised)
}

/// Whether this process was started with the signal ignored; proc_pid_status(5), `SigIgn`.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
