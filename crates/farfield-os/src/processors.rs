//! Processor affinity and scheduling of the generator's threads.

use farfield_base::Duration;
use farfield_files::system;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::Timespec;
use std::fmt::Write;
use std::io;
use std::num::NonZeroU64;

/// The processors that this process may use, in order.
pub fn allowed() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect())
}

/// The processors that a thread may use, by its number, in order.
pub fn of_thread(thread: u32) -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(Pid::from_raw(thread.cast_signed()))?;
    Ok((0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect())
}

/// Confines the calling thread, and those it starts, to `processors`.
pub fn confine(processors: &[usize]) -> io::Result<()> {
    set_affinity(None, processors)
}

/// Confines `thread`, by default the calling one, to `processors`.
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

/// Reduces the wake-up latency of the calling thread: its timers fire without the usual slack of 50 µs, and,
/// with EEVDF, a shorter slice lets it run before others on its processor. Its share of the processor stays
/// the same.
pub fn reduce_wake_latency() -> io::Result<()> {
    rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?;
    schedule(&short_slices(Duration::from_us(100))?)
}

/// The affinity of a thread, restored when this is dropped.
#[derive(Debug)]
pub struct SavedAffinity {
    before: Option<CpuSet>,
}

impl SavedAffinity {
    /// Saves the affinity of the calling thread.
    pub fn save() -> SavedAffinity {
        SavedAffinity { before: sched_getaffinity(None).ok() }
    }
}

impl Drop for SavedAffinity {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // This affinity was valid before, so it is refused only if the machine has changed.
            let _ = sched_setaffinity(None, before);
        }
    }
}

/// Idle time of two processors since boot.
#[derive(Debug, Clone, Copy)]
pub struct IdleTimes {
    ticks: [u64; 2],
}

impl IdleTimes {
    /// Reads the kernel's counts (proc_stat(5)).
    pub fn read(processors: [usize; 2]) -> io::Result<IdleTimes> {
        let account = system::read_text("/proc/stat")?;
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

    /// The share of `seconds` for which each has idled since an earlier reading.
    pub fn shares_since(&self, earlier: &IdleTimes, seconds: f64) -> [f64; 2] {
        let per_second = rustix::param::clock_ticks_per_second() as f64;
        let share = |nth: usize| {
            let ticks = self.ticks[nth].saturating_sub(earlier.ticks[nth]);
            ticks as f64 / per_second / seconds.max(f64::MIN_POSITIVE)
        };
        [share(0), share(1)]
    }
}

/// Sleeps for 20 µs, so that any other ready thread runs.
pub fn yield_briefly() {
    yield_for(Duration::from_us(20));
}

/// Sleeps for `moment`, less than a second, so that any other ready thread runs.
pub fn yield_for(moment: Duration) {
    let moment = Timespec { tv_sec: 0, tv_nsec: moment.as_ns().min(999_999_999) as i64 };
    // If interrupted, the sleep is shorter.
    let _ = rustix::thread::nanosleep(&moment);
}

/// Gives the calling thread the lowest real-time priority (`SCHED_FIFO`, sched(7)): no thread of normal
/// priority preempts it. It has to yield the processor regularly.
///
/// # Errors
/// `EPERM` without `CAP_SYS_NICE` or a limit that allows it (`RLIMIT_RTPRIO`), or where control groups give
/// no time to real-time threads.
pub fn set_real_time() -> io::Result<()> {
    schedule(&libc::sched_attr { sched_policy: libc::SCHED_FIFO as u32, sched_priority: 1, ..normal() })
}

/// True if [`set_real_time`] is allowed: a thread tries it and ends.
pub fn may_be_real_time() -> bool {
    std::thread::spawn(set_real_time).join().is_ok_and(|result| result.is_ok())
}

/// Attributes of the calling thread with a shorter slice. Under EEVDF (Linux 6.12 and later) a thread with a
/// shorter slice runs sooner after it wakes: its deadline is the time of waking plus the slice
/// (sched_setattr(2), `sched_runtime`). Its share of the processor stays the same.
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

/// Sets the scheduling attributes of the calling thread.
fn schedule(attributes: &libc::sched_attr) -> io::Result<()> {
    schedule_thread(None, attributes)
}

/// Sets the scheduling attributes of `thread`, by default the calling one.
#[expect(unsafe_code, reason = "the call has no safe wrapper in rustix")]
fn schedule_thread(thread: Option<Pid>, attributes: &libc::sched_attr) -> io::Result<()> {
    let thread = thread.map_or(0, |thread| thread.as_raw_nonzero().get());
    // SAFETY: the pointer is that of a live `sched_attr`, which the kernel reads as far as its `size` says.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, thread, std::ptr::from_ref(attributes), 0) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Lowers the priority of the calling thread below that of workers on the same processor.
pub fn set_background() -> io::Result<()> {
    // On Linux `nice` concerns the calling thread alone (sched(7)). At 15 its weight is 1/28 of a worker's,
    // so that a worker that wakes runs soon, and it still gets a thirtieth of a full processor. As a batch
    // thread it preempts no other when it wakes.
    schedule(&libc::sched_attr { sched_policy: libc::SCHED_BATCH as u32, sched_nice: 15, ..normal() })
}

/// Makes the calling thread run only on an idle processor: any thread that wakes there preempts it.
pub fn set_idle() -> io::Result<()> {
    schedule(&libc::sched_attr { sched_policy: libc::SCHED_IDLE as u32, ..normal() })
}

/// Gives `thread` batch scheduling (sched(7)): when it wakes it preempts no other thread. Its share of the
/// processor stays the same.
pub fn set_batch(thread: Pid) -> io::Result<()> {
    schedule_thread(Some(thread), &libc::sched_attr { sched_policy: libc::SCHED_BATCH as u32, ..normal() })
}

/// Restores the normal priority after [`set_background`], when the workers have ended. Needs `CAP_SYS_NICE`.
pub fn set_normal() -> io::Result<()> {
    schedule(&normal())
}

/// Restores the normal priority of another thread of this process. Needs `CAP_SYS_NICE`.
pub(crate) fn set_normal_of(thread: Pid) -> io::Result<()> {
    schedule_thread(Some(thread), &normal())
}

/// Processor numbers in the kernel's list format: `0-2,5`.
pub fn listed(processors: &[usize]) -> String {
    let mut words = String::new();
    let mut at = 0;
    while at < processors.len() {
        let mut last = at;
        while processors.get(last + 1).is_some_and(|next| *next == processors[last] + 1) {
            last += 1;
        }
        let separator = if words.is_empty() { "" } else { "," };
        let _ = match last - at {
            0 => write!(words, "{separator}{}", processors[at]),
            _ => write!(words, "{separator}{}-{}", processors[at], processors[last]),
        };
        at = last + 1;
    }
    words
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
