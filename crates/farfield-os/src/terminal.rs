//! The terminal of a view that takes it over, given back when the process ends without the view: by a second
//! SIGINT or SIGTERM, by any other signal that can be caught and ends a process, or by a panic.
//!
//! `restore` runs in a signal handler, and so calls only what is async-signal-safe (signal-safety(7)):
//! tcsetattr(3), poll(2), write(2) and atomics. The view itself leaves the terminal in every other case.

use super::signals::is_ignored;
use signal_hook::consts::{
    SIGABRT, SIGALRM, SIGBUS, SIGPROF, SIGQUIT, SIGSYS, SIGTRAP, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU,
};
use signal_hook::low_level::{emulate_default_handler, exit, register};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Arc, Once};
use std::{io, panic, ptr};

/// Signals that end the process at once, since nothing else catches them: from outside, such as SIGQUIT; by a
/// limit, such as SIGXCPU; or by a fault of our own, such as SIGABRT where memory ends.
const ENDING: [i32; 11] =
    [SIGABRT, SIGALRM, SIGBUS, SIGPROF, SIGQUIT, SIGSYS, SIGTRAP, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU];

/// The terminal to give back, null if none is taken. What it points to is never freed: the handler may be
/// reading it on any thread.
static TAKEN: AtomicPtr<SavedTerminal> = AtomicPtr::new(ptr::null_mut());

/// A terminal as it was before it was taken.
struct SavedTerminal {
    modes: libc::termios,
    /// The sequence that leaves the second screen.
    leaving: &'static [u8],
}

/// Keeps the modes of the terminal on standard input, before a view changes them. `restore` sets them
/// again, and writes `leaving` on standard error. From the first call on the process has its handlers.
#[expect(unsafe_code, reason = "plain modes, of which a handler makes one call, have no safe wrapper")]
pub fn keep(leaving: &'static [u8]) -> io::Result<()> {
    // SAFETY: all-zero is a valid `termios`; the pointer is that of a live one.
    let modes = unsafe {
        let mut modes: libc::termios = std::mem::zeroed();
        if libc::tcgetattr(libc::STDIN_FILENO, &raw mut modes) != 0 {
            return Err(io::Error::last_os_error());
        }
        modes
    };
    TAKEN.store(Box::leak(Box::new(SavedTerminal { modes, leaving })), Ordering::Release);
    static HANDLERS: Once = Once::new();
    HANDLERS.call_once(|| {
        // A signal that cannot be caught leaves the terminal as the view has it.
        ENDING.into_iter().filter(|signal| !is_ignored(*signal)).for_each(|signal| drop(restore_at(signal)));
        restore_at_panics();
    });
    Ok(())
}

/// True while the terminal is taken: false once it has been given back, after which nothing more is drawn.
pub fn is_kept() -> bool {
    !TAKEN.load(Ordering::Acquire).is_null()
}

/// The view has left the terminal itself: there is nothing left to restore.
pub fn forget() {
    TAKEN.store(ptr::null_mut(), Ordering::Release);
}

/// Gives the terminal back, once. Never waits for one that takes no more: it gets its modes, and keeps the
/// second screen.
#[expect(unsafe_code, reason = "a signal handler's calls, none of which may allocate or lock")]
fn restore() {
    let taken = TAKEN.swap(ptr::null_mut(), Ordering::AcqRel);
    // SAFETY: null, or what `keep` has leaked.
    let Some(taken) = (unsafe { taken.as_ref() }) else { return };
    let mut polled = libc::pollfd { fd: libc::STDERR_FILENO, events: libc::POLLOUT, revents: 0 };
    // SAFETY: the pointers are those of live values, and the length is that of the slice. Failures cannot be
    // mended, and the process ends: the terminal is gone.
    unsafe {
        libc::tcsetattr(libc::STDIN_FILENO, libc::TCSANOW, &raw const taken.modes);
        if libc::poll(&raw mut polled, 1, 0) == 1 && polled.revents & libc::POLLOUT != 0 {
            libc::write(libc::STDERR_FILENO, taken.leaving.as_ptr().cast(), taken.leaving.len());
        }
    }
}

/// Makes `signal` set `raised` or, where it is set, give the terminal back and end the process at once with
/// exit code `code`. Of two signals at the same instant, on two threads, one is the second.
#[expect(unsafe_code, reason = "what a handler may do cannot be checked")]
pub fn raise_or_end(signal: i32, raised: Arc<AtomicBool>, code: i32) -> io::Result<()> {
    let action = move || {
        if raised.swap(true, Ordering::SeqCst) {
            restore();
            exit(code);
        }
    };
    // SAFETY: the action is async-signal-safe, as the module's text says, and does not panic; so is _exit(2).
    unsafe { register(signal, action) }.map(|_| ())
}

/// Makes `signal` give the terminal back, and then do what it does by default.
#[expect(unsafe_code, reason = "what a handler may do cannot be checked")]
fn restore_at(signal: i32) -> io::Result<()> {
    let action = move || {
        restore();
        // It ends the process.
        let _ = emulate_default_handler(signal);
    };
    // SAFETY: both are async-signal-safe, and neither panics.
    unsafe { register(signal, action) }.map(|_| ())
}

/// Makes a panic give the terminal back before its message is printed, which the second screen would hide.
fn restore_at_panics() {
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        restore();
        print(panic);
    }));
}
