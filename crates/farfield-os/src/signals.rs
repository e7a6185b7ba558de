//! Signals of this process.

use farfield_files::system;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::marker::PhantomData;
use std::{mem, ptr};

/// The signals that end a run, blocked in the thread that made this, until it is dropped: the kernel hands
/// them to other threads. A thread that waits for a disk runs no handler, and yet may be the one that the
/// kernel chooses; so threads that write files take none.
#[derive(Debug)]
pub struct LeftToOthers {
    before: libc::sigset_t,
    /// Keeps the value in its thread, whose mask it restores.
    _not_send: PhantomData<*const ()>,
}

impl LeftToOthers {
    /// Blocks them in the calling thread. Threads that it starts meanwhile have them blocked, too.
    #[expect(unsafe_code, reason = "sets of signals have no safe wrapper")]
    pub fn begin() -> LeftToOthers {
        // SAFETY: all-zero is a valid `sigset_t`; the pointers are those of live ones, and the signals exist.
        let before = unsafe {
            let (mut blocked, mut before) = (mem::zeroed(), mem::zeroed());
            libc::sigemptyset(&raw mut blocked);
            for signal in [SIGINT, SIGTERM, SIGHUP] {
                libc::sigaddset(&raw mut blocked, signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const blocked, &raw mut before);
            before
        };
        LeftToOthers { before, _not_send: PhantomData }
    }
}

impl Drop for LeftToOthers {
    #[expect(unsafe_code, reason = "sets of signals have no safe wrapper")]
    fn drop(&mut self) {
        // SAFETY: the set is the thread's own from before.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, ptr::null_mut()) };
    }
}

/// True if this process was started with the signal ignored; proc_pid_status(5), `SigIgn`.
pub fn is_ignored(signal: i32) -> bool {
    let status = system::read_text("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
