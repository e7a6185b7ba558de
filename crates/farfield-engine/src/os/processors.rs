//! Which processors the generator runs on, and how its threads are treated there.

use farfield_base::Duration;
use rustix::process::Pid;
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
    set_affinity(None, processors)
}

/// Confines a thread, the calling one if absent, to `processors`.
pub fn set_affinity(thread: Option<Pid>, processors: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for cpu in processors {
        if *cpu >= CpuSet::MAX_CPU {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        set.set(*cpu);
    }
    Ok(sched_setaffinity(thread, &set)?)
}

/// Has the calling thread woken when its timers are due, not up to the usual 50 µs later, and, on kernels that know
/// of it, put before others that share its processor. Its share of the processor stays what it was.
pub fn reduce_wake_latency() -> io::Result<()> {
    rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?;
    schedule(&short_slices(Duration::from_us(100))?)
}

/// The processors of a thread, which are its again when this is dropped.
#[derive(Debug)]
pub struct SavedAffinity {
    before: Option<CpuSet>,
}

impl SavedAffinity {
    /// Remembers those of the calling thread.
    pub fn save() -> SavedAffinity {
        SavedAffinity { before: sched_getaffinity(None).ok() }
    }
}

impl Drop for SavedAffinity {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // They were the thread's before, so that they are refused only if the machine has changed.
            let _ = sched_setaffinity(None, before);
        }
    }
}

/// How long two processors have idled since the machine started.
#[derive(Debug, Clone, Copy)]
pub struct IdleTimes {
    ticks: [u64; 2],
}

impl IdleTimes {
    /// Reads the kernel's account (proc_stat(5)).
    pub fn read(processors: [usize; 2]) -> io::Result<IdleTimes> {
        let account = std::fs::read_to_string("/proc/stat")?;
        let idle = |processor: usize| {
            let name = format!("cpu{processor}");
            let line = account.lines().find(|line| line.split(' ').next() == Some(name.as_str()))?;
            // user, nice, system, idle, iowait
            let ticks = line.split_whitespace().skip(4).take(2);
            ticks.map(|ticks| ticks.parse::<u64>().ok()).sum::<Option<u64>>()
        };
        let [Some(first), Some(second)] = processors.map(idle) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        Ok(IdleTimes { ticks: [first, second] })
    }

    /// The share of `seconds` that each has idled since an earlier reading.
    pub fn shares_since(&self, earlier: &IdleTimes, seconds: f64) -> [f64; 2] {
        let per_second = rustix::param::clock_ticks_per_second() as f64;
        let share = |nth: usize| {
            let ticks = self.ticks[nth].saturating_sub(earlier.ticks[nth]);
            ticks as f64 / per_second / seconds.max(f64::MIN_POSITIVE)
        };
        [share(0), share(1)]
    }
}

/// Leaves the processor for a moment, to whoever is ready, whatever it had before.
pub fn yield_briefly() {
    yield_for(Duration::from_us(20));
}

/// Leaves the processor for `moment`, less than a second, to whoever is ready.
pub fn yield_for(moment: Duration) {
    let moment = Timespec { tv_sec: 0, tv_nsec: moment.as_ns().min(999_999_999) as i64 };
    // Interrupted, it was a shorter moment.
    let _ = rustix::thread::nanosleep(&moment);
}

/// Gives the calling thread the lowest real-time priority (`SCHED_FIFO`, sched(7)): nothing of normal priority takes its
/// processor from it. It has to leave the processor by itself, again and again.
///
/// # Errors
/// `EPERM` without `CAP_SYS_NICE` or a limit that allows it (`RLIMIT_RTPRIO`), or where control groups give no time to
/// real-time threads.
pub fn set_real_time() -> io::Result<()> {
    schedule(&libc::sched_attr { sched_policy: libc::SCHED_FIFO as u32, sched_priority: 1, ..normal() })
}

/// Whether [`set_real_time`] is allowed: a thread tries it and ends.
pub fn may_be_real_time() -> bool {
    std::thread::spawn(set_real_time).join().is_ok_and(|result| result.is_ok())
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
fn schedule(attributes: &libc::sched_attr) -> io::Result<()> {
    schedule_thread(None, attributes)
}

/// Has a thread, the calling one if absent, scheduled so.
#[expect(unsafe_code, reason = "the call has no safe wrapper in rustix")]
fn schedule_thread(thread: Option<Pid>, attributes: &libc::sched_attr) -> io::Result<()> {
    let thread = thread.map_or(0, |thread| thread.as_raw_nonzero().get());
    // SAFETY: the pointer is that of a live `sched_attr`, which the kernel reads as far as its `size` says.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, thread, std::ptr::from_ref(attributes), 0) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Has the calling thread stand back for the workers where they share a processor.
pub fn set_background() -> io::Result<()> {
    // On Linux `nice` concerns the calling thread alone (sched(7)). At 15 its turn is over 28 times sooner than a
    // worker's would be, so that a worker that wakes is let on, and it still gets a thirtieth of a full processor. As a
    // batch thread it takes the processor from nobody when it wakes itself.
    schedule(&libc::sched_attr { sched_policy: libc::SCHED_BATCH as u32, sched_nice: 15, ..normal() })
}

/// Has the calling thread run only where a processor would idle: whoever wakes there takes it over at once.
pub fn set_idle() -> io::Result<()> {
    schedule(&libc::sched_attr { sched_policy: libc::SCHED_IDLE as u32, ..normal() })
}

/// Has `thread` wait, when it is woken, until whoever runs sleeps or has had its turn: batch scheduling, sched(7). Its share of the
/// processor stays what it was.
pub fn set_batch(thread: Pid) -> io::Result<()> {
    schedule_thread(Some(thread), &libc::sched_attr { sched_policy: libc::SCHED_BATCH as u32, ..normal() })
}

/// Ends [`set_background`], when the workers are gone. Only who may have any priority gets it back (`CAP_SYS_NICE`).
pub fn set_normal() -> io::Result<()> {
    schedule(&normal())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_takes_precedence_where_it_may() {
        let taken = std::thread::spawn(set_real_time).join().unwrap();
        assert_eq!(may_be_real_time(), taken.is_ok());
    }

    #[test]
    fn a_worker_wakes_sharply_with_and_without_processors_of_its_own() {
        let scheduled = std::thread::spawn(|| {
            let first = allowed()?[0];
            reduce_wake_latency()?;
            confine(&[first])?;
            reduce_wake_latency()
        });
        scheduled.join().unwrap().unwrap();
    }
}
