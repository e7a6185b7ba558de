//! Init process of a server: it adopts the server's orphaned children, forwards the stop signal, ends when
//! the last of them has ended, and dies with this process, and all of them with it.
//!
//! It is made between fork and exec of the server's command: the forked process becomes the init (process 1
//! of a PID namespace, if one could be made) and forks once more, and that child becomes the server. After a
//! fork of a process with many threads only async-signal-safe calls (signal-safety(7)) are allowed, and
//! nothing is allocated.

use super::user::User;
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::process::{Pid, Signal};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Set-up of the server's process between fork and exec.
#[derive(Debug, Default)]
pub struct ChildSetup {
    /// The `cgroup.procs` of the control groups that it joins. The init, a copy of this process, stays
    /// outside: its memory is not the server's.
    pub groups: Vec<OwnedFd>,
    /// The `cgroup.procs` of one more group, which only counts: a server that may not join it starts all
    /// the same.
    pub account: Option<OwnedFd>,
    /// The user that it runs as; this process's user if absent.
    pub user: Option<User>,
}

/// Makes `command` run under an init. Spawn it from a thread that outlives the server: the init dies with
/// that thread.
///
/// With `own_pid_namespace` the spawning thread's first child begins a PID namespace: all in it die with the
/// init. Otherwise the server's process group is killed when this process dies, and processes that have left
/// the group stay.
///
/// # Errors
/// If no descriptor is left.
#[expect(unsafe_code, reason = "what runs between fork and exec must be fit for it")]
pub fn put_under_init(command: &mut Command, own_pid_namespace: bool, server: ChildSetup) -> io::Result<()> {
    let owner = rustix::process::pidfd_open(rustix::process::getpid(), rustix::process::PidfdFlags::empty())?;
    // SAFETY: `fork_init` makes system calls only, allocates nothing and takes no lock, as is asked of what
    // runs there.
    unsafe { command.pre_exec(move || fork_init(&owner, own_pid_namespace, &server)) };
    Ok(())
}

/// Returns in the server-to-be, never in the init.
#[expect(unsafe_code, reason = "fork has no safe wrapper")]
fn fork_init(owner: &OwnedFd, own_pid_namespace: bool, server_to_be: &ChildSetup) -> io::Result<()> {
    rustix::process::setsid()?;
    // In a PID namespace all die with the init. Otherwise the init must live on to kill its group.
    let on_death = if own_pid_namespace { Signal::KILL } else { Signal::HUP };
    rustix::process::set_parent_process_death_signal(Some(on_death))?;
    if has_ended(owner) {
        // The owner died before the request for that signal.
        exit(1);
    }
    if !own_pid_namespace {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    }
    let mask = block(&[libc::SIGTERM, libc::SIGHUP, libc::SIGCHLD])?;
    // SAFETY: the calling process has one thread; both sides make system calls only until they exec or exit.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            if own_pid_namespace {
                show_own_processes();
            }
            server_to_be.apply()?;
            unblock(&mask)
        }
        server => {
            close_all();
            exit(run_init(server, own_pid_namespace))
        }
    }
}

impl ChildSetup {
    /// Joins the groups first: a process that is no longer root may not join them.
    #[expect(unsafe_code, reason = "signal-safe writes and raw calls, for between fork and exec")]
    fn apply(&self) -> io::Result<()> {
        // SAFETY: the buffer is a constant of one byte, the descriptor is open.
        let join = |group: &OwnedFd| unsafe { libc::write(group.as_raw_fd(), c"0".as_ptr().cast(), 1) == 1 };
        if !self.groups.iter().all(join) {
            return Err(io::Error::last_os_error());
        }
        // Readers of the group see if it has processes.
        let _ = self.account.as_ref().map(join);
        self.user.as_ref().map_or(Ok(()), User::assume)
    }
}

/// The init's main loop. Returns the exit code: the server's, or 128 plus the signal that killed it, as a
/// shell does.
fn run_init(server: i32, own_pid_namespace: bool) -> i32 {
    let everybody = if own_pid_namespace { -1 } else { 0 };
    let mut code = 1;
    loop {
        let (signal, sender) = next_signal();
        match signal {
            libc::SIGCHLD => loop {
                match reap() {
                    Reaped::Ended(pid, ended_with) if pid == server => code = ended_with,
                    Reaped::Ended(..) => {}
                    Reaped::NoneNow => break,
                    Reaped::NoneLeft => return code,
                }
            },
            // A signal from this process itself, which is in the group, is ignored.
            libc::SIGTERM if sender != std::process::id() as i32 => send(everybody, libc::SIGTERM),
            libc::SIGHUP if !own_pid_namespace => send(0, libc::SIGKILL),
            _ => {}
        }
    }
}

enum Reaped {
    /// A process and its exit code.
    Ended(i32, i32),
    NoneNow,
    NoneLeft,
}

#[expect(unsafe_code, reason = "one call for any child, in every state of the process")]
fn reap() -> Reaped {
    let mut status = 0;
    // SAFETY: the pointer is that of a live `c_int`.
    match unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) } {
        0 => Reaped::NoneNow,
        -1 => Reaped::NoneLeft,
        pid if libc::WIFEXITED(status) => Reaped::Ended(pid, libc::WEXITSTATUS(status)),
        pid if libc::WIFSIGNALED(status) => Reaped::Ended(pid, 128 + libc::WTERMSIG(status)),
        pid => Reaped::Ended(pid, 1),
    }
}

/// Mounts a new `/proc` in a mount namespace of its own, so that the server sees its own process numbers. If
/// that is not allowed it sees the machine's, which works for most servers.
#[expect(unsafe_code, reason = "raw calls, for between fork and exec")]
fn show_own_processes() {
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    // SAFETY: all strings are constants that end in zero; null is allowed where it stands (mount(2)).
    unsafe {
        if libc::unshare(libc::CLONE_NEWNS) == 0
            && libc::mount(
                c"none".as_ptr(),
                c"/".as_ptr(),
                std::ptr::null(),
                libc::MS_REC | libc::MS_SLAVE,
                std::ptr::null(),
            ) == 0
        {
            libc::mount(c"proc".as_ptr(), c"/proc".as_ptr(), c"proc".as_ptr(), flags, std::ptr::null());
        }
    }
}

/// True if the process of this descriptor has ended.
pub fn has_ended(process: impl AsFd) -> bool {
    let mut fds = [rustix::event::PollFd::new(&process, rustix::event::PollFlags::IN)];
    let at_once = rustix::time::Timespec { tv_sec: 0, tv_nsec: 0 };
    rustix::event::poll(&mut fds, Some(&at_once)).is_ok_and(|count| count > 0)
}

/// Blocks signals, so that [`next_signal`] takes them; returns the mask before.
#[expect(unsafe_code, reason = "signal masks have no safe wrapper")]
fn block(signals: &[libc::c_int]) -> io::Result<libc::sigset_t> {
    // SAFETY: all-zero is a valid set; the pointers are those of live sets, and the signals exist.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in signals {
            libc::sigaddset(&raw mut set, *signal);
        }
        match libc::sigprocmask(libc::SIG_BLOCK, &raw const set, &raw mut before) {
            0 => Ok(before),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

#[expect(unsafe_code, reason = "signal masks have no safe wrapper")]
fn unblock(mask: &libc::sigset_t) -> io::Result<()> {
    // SAFETY: the pointer is that of a live set; null is allowed for the mask before.
    match unsafe { libc::sigprocmask(libc::SIG_SETMASK, mask, std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Waits for a blocked signal, and returns it with the sender's process number, 0 if that is outside the PID
/// namespace.
#[expect(unsafe_code, reason = "waiting for signals has no safe wrapper")]
fn next_signal() -> (libc::c_int, i32) {
    // SAFETY: all-zero is a valid set and a valid `siginfo_t`; the pointers are those of live ones; a signal
    // that a process sent carries its sender, and for the others the field is there as well.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        let mut information: libc::siginfo_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGCHLD] {
            libc::sigaddset(&raw mut set, signal);
        }
        let signal = libc::sigwaitinfo(&raw const set, &raw mut information);
        (signal, information.si_pid())
    }
}

#[expect(unsafe_code, reason = "the special process numbers have no safe wrapper")]
fn send(process: i32, signal: libc::c_int) {
    // SAFETY: the call takes two numbers.
    unsafe { libc::kill(process, signal) };
}

/// Closes every descriptor, so that the init keeps no socket, no log and no pipe of ours open.
#[expect(unsafe_code, reason = "closing all descriptors has no safe wrapper")]
fn close_all() {
    // SAFETY: the init uses no descriptor from here on. Without the call (before Linux 5.9) they are closed
    // one by one, up to a usual limit.
    unsafe {
        if libc::syscall(libc::SYS_close_range, 0, u32::MAX, 0) != 0 {
            for descriptor in 0..1_024 {
                libc::close(descriptor);
            }
        }
    }
}

#[expect(unsafe_code, reason = "no handlers and destructors of the parent are to run")]
fn exit(code: i32) -> ! {
    // SAFETY: the call takes a number and does not return.
    unsafe { libc::_exit(code) }
}

/// A process' descriptor, for signals and for waiting.
///
/// # Errors
/// `ESRCH` if it has ended.
pub fn descriptor_of(pid: u32) -> io::Result<OwnedFd> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidInput)?;
    Ok(rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty())?)
}

/// Processor time that all threads of a process have used, those that ended included.
///
/// # Errors
/// `EINVAL` or `ESRCH` if it has ended.
#[expect(unsafe_code, reason = "another process' clock has no safe wrapper in rustix")]
pub fn cpu_of(pid: u32) -> io::Result<farfield_base::Duration> {
    let mut clock: libc::clockid_t = 0;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointers are those of a live `clockid_t` and a live `timespec`.
    unsafe {
        let error = libc::clock_getcpuclockid(pid as libc::pid_t, &raw mut clock);
        if error != 0 {
            return Err(io::Error::from_raw_os_error(error));
        }
        if libc::clock_gettime(clock, &raw mut time) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(farfield_base::Duration::from_ns(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64))
}
