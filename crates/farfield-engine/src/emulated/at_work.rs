//! Workers whose users are not done: what a worker carries for others goes on until all are.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A worker's share of the count.
#[derive(Debug)]
pub(crate) struct AtWork {
    workers: Arc<AtomicUsize>,
    done: bool,
}

impl AtWork {
    /// The shares of as many workers.
    pub fn of(workers: usize) -> Vec<AtWork> {
        let count = Arc::new(AtomicUsize::new(workers));
        (0..workers).map(|_| AtWork { workers: Arc::clone(&count), done: false }).collect()
    }

    /// True if this worker may end, if its users are `done`. One that `carries` something for others runs
    /// until all users are.
    pub fn is_over(&mut self, done: bool, carries: bool) -> bool {
        if done && !std::mem::replace(&mut self.done, true) {
            self.workers.fetch_sub(1, Ordering::Relaxed);
        }
        done && (!carries || self.workers.load(Ordering::Relaxed) == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_carries_for_others_waits_for_them() {
        let [mut first, mut second] = <[AtWork; 2]>::try_from(AtWork::of(2)).expect("two");
        assert!(!first.is_over(false, true));
        assert!(!first.is_over(true, true), "the second is at work");
        assert!(second.is_over(true, false));
        assert!(first.is_over(true, true));
    }
}
