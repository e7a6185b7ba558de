//! Time that a thread was ready to run and had no processor, by the kernel's own account.

use farfield_base::Duration;
use farfield_files::system;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// The account of one thread, kept open: reading it takes less than a microsecond.
#[derive(Debug)]
pub struct RunDelay(File);

impl RunDelay {
    /// Account of the calling thread; `None` if the kernel has none (`CONFIG_SCHED_INFO`).
    pub fn of_this_thread() -> Option<RunDelay> {
        let mut delay = RunDelay(system::open("/proc/thread-self/schedstat").ok()?);
        delay.read().map(|_| delay)
    }

    /// The total so far, which only the thread itself reads without a wait of its own in it. The second of
    /// the three numbers of `/proc/PID/task/TID/schedstat`.
    pub fn read(&mut self) -> Option<Duration> {
        let mut text = [0; 80];
        let length = self.0.read_at(&mut text, 0).ok()?;
        let text = str::from_utf8(text.get(..length)?).ok()?;
        text.split_ascii_whitespace().nth(1)?.parse().ok().map(Duration::from_ns)
    }
}

/// Processor time that threads have used, each the first of its process.
pub fn ran_of(threads: &[u32]) -> Duration {
    let ran = |thread: &u32| {
        let text = system::read_text(format!("/proc/{thread}/schedstat")).ok()?;
        text.split_whitespace().next()?.parse().ok().map(Duration::from_ns)
    };
    threads.iter().filter_map(ran).fold(Duration::ZERO, |sum, ran| sum + ran)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::thread_waited;

    #[test]
    fn it_is_what_the_kernel_counts_of_this_thread() {
        let mut delay = RunDelay::of_this_thread().expect("this kernel counts");
        let before = thread_waited().expect("this kernel counts");
        let read = delay.read().expect("a number");
        let after = thread_waited().expect("this kernel counts");
        assert!((before..=after).contains(&read), "{read:?} is not from {before:?} to {after:?}");
    }
}
