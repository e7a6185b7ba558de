//! The kernel's receive work of an interface in threads of its own, one for each queue (threaded NAPI, Linux
//! 5.12: the kernel's documentation, networking/napi), which can be bound to processors like any thread.
//!
//! Without it the thread that writes a packet does the receive work before the call returns; with it the
//! call only queues the packet, and a thread `napi/<interface>-<number>` does the rest. That thread has
//! batch scheduling: woken for each packet, it would otherwise preempt a server in the middle of a request,
//! and both would do little but switch (docs/lab/programs.md).

use crate::interface_sysfs::InterfaceSysfs;
use crate::processors;
use farfield_files::system;
use rustix::process::Pid;
use std::{fs, io};

/// Moves the receive work of `interface` to kernel threads on `processors`. The interface is up, and was
/// made with support for this in the calling thread's network namespace. Returns their numbers. On an error
/// everything is as before.
///
/// # Errors
/// `NotFound` from an older kernel, or where the threads cannot be seen (in a PID namespace); `EPERM` where
/// they may not be moved (in a user namespace); `EINVAL` for a processor that is not there.
pub fn start_on(interface: &str, queues: usize, processors: &[usize]) -> io::Result<Vec<u32>> {
    let sysfs = InterfaceSysfs::open()?;
    // Interfaces of other namespaces may have the same name, and so threads of the same name.
    let before = threads_of(interface)?;
    sysfs.write(interface, "threaded", "1")?;
    let placed = place_threads(interface, queues, &before, processors);
    if placed.is_err() {
        // A thread that cannot be bound might run beside a shard. If it cannot be stopped either, lateness
        // shows it.
        let _ = sysfs.write(interface, "threaded", "0");
    }
    placed
}

fn place_threads(
    interface: &str,
    queues: usize,
    before: &[Pid],
    processors: &[usize],
) -> io::Result<Vec<u32>> {
    let mut threads = threads_of(interface)?;
    threads.retain(|thread| !before.contains(thread));
    if threads.len() < queues {
        let text = format!("{} of {queues} threads napi/{interface}-… are to be seen", threads.len());
        return Err(io::Error::new(io::ErrorKind::NotFound, text));
    }
    let place = |thread: Pid| {
        processors::set_affinity(Some(thread), processors)?;
        processors::set_batch(thread)?;
        Ok(thread.as_raw_nonzero().get().cast_unsigned())
    };
    threads.into_iter().map(place).collect()
}

/// The kernel threads for interfaces of this name, in all namespaces of the machine.
fn threads_of(interface: &str) -> io::Result<Vec<Pid>> {
    /// `TASK_COMM_LEN` without its end: older kernels cut names.
    const NAME_LEN: usize = 15;
    let whole = format!("napi/{interface}-");
    let begins = &whole[..whole.len().min(NAME_LEN)];
    let mut threads = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let Ok(number) = entry?.file_name().to_string_lossy().parse() else { continue };
        // A process may have ended since.
        let Ok(name) = system::read_text(format!("/proc/{number}/comm")) else { continue };
        if name.starts_with(begins)
            && let Some(pid) = Pid::from_raw(number)
        {
            threads.push(pid);
        }
    }
    Ok(threads)
}
