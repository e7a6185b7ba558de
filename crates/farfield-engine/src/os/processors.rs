//! Which processors the generator runs on, and how its threads are treated there.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
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

/// Has the calling thread woken when its timers are due, not up to the usual 50 µs later.
pub fn wake_sharply() -> io::Result<()> {
    Ok(rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?)
}

/// Has the calling thread stand back for the workers where they share a processor.
pub fn stand_back() -> io::Result<()> {
    // On Linux `nice` concerns the calling thread alone (sched(7)).
    rustix::process::nice(10)?;
    Ok(())
}
