//! Which processors the generator runs on, and how its threads are treated there.

use farfield_base::Duration;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::Timespec;
use std::io;
use std::num::NonZeroU64;

/// The processors that this process may use, in order.
pub fn allowed() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect())
}

/// Confines the calling thread, and those it starts, to `processors`.
pub fn confine(processors: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for cpu in processors {
        if *cpu >= CpuSet::MAX_CPU {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        set.set(*cpu);
    }
    Ok(sched_setaffinity(None, &set)?)
}

/// Has the calling thread woken when its timers are due, not up to the usual 50 µs later, and, on kernels that know
/// of it, put before others that share its processor. Its share of the processor stays what it was: a real-time
/// priority would keep it longer from being held up, and everything else on its processor from running at all.
pub fn wake_sharply() -> io::Result<()> {
    rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?;
    schedule(&short_slices(Duration::from_us(100))?)
}

/// Leaves the processor for a moment, to whoever is ready, whatever it had before.
pub fn step_aside() {
    const MOMENT: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000 };
    // Interrupted, it was a shorter moment.
    let _ = rustix::thread::nanosleep(&MOMENT);
}

/// Under EEVDF (Linux 6.12 and later) whoever asks for shorter slices is let on sooner when woken: the deadline
/// that decides is the time of waking plus the slice (sched_setattr(2), `sched_runtime`). Its share of the processor
/// stays what it was.
fn short_slices(slice: Duration) -> io::Result<libc::sched_attr> {
    let sched_nice = rustix::process::nice(0)?;
    Ok(libc::sched_attr { sched_nice, sched_runtime: slice.as_ns(), ..normal() })
}

/// The normal policy at nice 0.
fn normal() -> libc::sched_attr {
    libc::sched_attr {
        size: size_of::<libc::sched_attr>() as u32,
        sched_policy: libc::SCHED_OTHER as u32,
        sched_flags: 0,
        sched_nice: 0,
        sched_priority: 0,
        sched_runtime: 0,
        sched_deadline: 0,
        sched_period: 0,
    }
}

/// Has the calling thread scheduled so.
#[expect(unsafe_code, reason = "the call has no safe wrapper in rustix")]
fn schedule(attributes: &libc::sched_attr) -> io::Result<()> {
    // SAFETY: the pointer is that of a live `sched_attr`, which the kernel reads as far as its `size` says.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, std::ptr::from_ref(attributes), 0) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Has the calling thread stand back for the workers where they share a processor.
pub fn stand_back() -> io::Result<()> {
    // On Linux `nice` concerns the calling thread alone (sched(7)). At 15 its turn is over 28 times sooner than a
    // worker's would be, so that a worker that wakes is let on, and it still gets a thirtieth of a full processor. As a
    // batch thread it takes the processor from nobody when it wakes itself.
    schedule(&libc::sched_attr { sched_policy: libc::SCHED_BATCH as u32, sched_nice: 15, ..normal() })
}

/// Has the calling thread run only where a processor would idle: whoever wakes there takes it over at once.
pub fn idle_only() -> io::Result<()> {
    schedule(&libc::sched_attr { sched_policy: libc::SCHED_IDLE as u32, ..normal() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_wakes_sharply_with_and_without_processors_of_its_own() {
        let scheduled = std::thread::spawn(|| {
            let first = allowed()?[0];
            wake_sharply()?;
            confine(&[first])?;
            wake_sharply()
        });
        scheduled.join().unwrap().unwrap();
    }
}
