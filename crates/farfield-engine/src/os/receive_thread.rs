//! The kernel's receive work of an interface in threads of its own, one for each queue (threaded NAPI, Linux 5.12: the
//! kernel's documentation, networking/napi), which can be put on processors as any thread can.
//!
//! Without it whoever writes a packet does the receive work before the call returns; with it the call hands the packet over,
//! and a thread `napi/<interface>-<number>` does the rest. That thread takes turns with the server: woken for each packet, it would take
//! the processor from a server in the middle of a request, and both would do little but change places (docs/performance.md).

use crate::os::interface_sysfs::InterfaceSysfs;
use crate::os::processors;
use rustix::process::Pid;
use std::{fs, io};

/// Has threads on `processors` do the receive work of `interface`, an interface of the calling thread's network namespace
/// that is up and was made for it. Where any part is refused all is as before.
///
/// # Errors
/// `NotFound` from an older kernel, or where the threads cannot be seen (in a PID namespace); `EPERM` where they may not be
/// moved (in a user namespace); `EINVAL` for a processor that is not there.
pub fn start_on(interface: &str, queues: usize, processors: &[usize]) -> io::Result<()> {
    let sysfs = InterfaceSysfs::open()?;
    // Interfaces of other namespaces may have the same name, and so threads of the same name.
    let before = threads_of(interface)?;
    sysfs.write(interface, "threaded", "1")?;
    let placed = place_threads(interface, queues, &before, processors);
    if placed.is_err() {
        // What cannot be placed would run beside a shard. If it cannot be stopped either, lateness shows it.
        let _ = sysfs.write(interface, "threaded", "0");
    }
    placed
}

fn place_threads(interface: &str, queues: usize, before: &[Pid], processors: &[usize]) -> io::Result<()> {
    let mut threads = threads_of(interface)?;
    threads.retain(|thread| !before.contains(thread));
    if threads.len() < queues {
        let text = format!("{} of {queues} threads napi/{interface}-… are to be seen", threads.len());
        return Err(io::Error::new(io::ErrorKind::NotFound, text));
    }
    threads.into_iter().try_for_each(|thread| {
        processors::set_affinity(Some(thread), processors)?;
        processors::set_batch(thread)
    })
}

/// The threads that do the receive work of interfaces of this name, anywhere on the machine.
fn threads_of(interface: &str) -> io::Result<Vec<Pid>> {
    /// `TASK_COMM_LEN` without its end: older kernels cut names.
    const NAME_LEN: usize = 15;
    let whole = format!("napi/{interface}-");
    let begins = &whole[..whole.len().min(NAME_LEN)];
    let mut threads = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let Ok(number) = entry?.file_name().to_string_lossy().parse() else { continue };
        // A process may have ended since.
        let Ok(name) = fs::read_to_string(format!("/proc/{number}/comm")) else { continue };
        if name.starts_with(begins)
            && let Some(pid) = Pid::from_raw(number)
        {
            threads.push(pid);
        }
    }
    Ok(threads)
}
