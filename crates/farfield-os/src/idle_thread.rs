//! Threads that run only on an idle processor, for as long as whoever started them needs that.

use crate::processors;
use rustix::process::Pid;
use rustix::thread::gettid;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread::{Builder, JoinHandle};

/// A thread from which any other takes the processor (SCHED_IDLE, sched(7)).
///
/// Dropping it lets the thread go on at the usual priority, as far as this process may raise it. A process
/// is over with its last thread, and even a thread that is killed needs a processor to end: beside loops at
/// a nice value of -20 one at idle priority gets none for minutes.
#[derive(Debug)]
pub struct IdleThread {
    /// Until it is waited for.
    thread: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// The system's number of the thread; 0 until it has begun.
    number: AtomicI32,
    /// Nobody needs it to be idle any more.
    is_released: AtomicBool,
}

impl IdleThread {
    /// Starts a thread with this name. Where its priority cannot be lowered, it works at the usual one.
    ///
    /// # Errors
    /// If the system has no room for another thread.
    pub fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<IdleThread> {
        let shared = Arc::new(Shared::default());
        let own = Arc::clone(&shared);
        let thread = Builder::new().name(name.to_owned()).spawn(move || {
            own.number.store(gettid().as_raw_nonzero().get(), Ordering::SeqCst);
            let _ = processors::set_idle();
            if own.is_released.load(Ordering::SeqCst) {
                let _ = processors::set_normal();
            }
            work();
        })?;
        Ok(IdleThread { thread: Some(thread), shared })
    }

    /// True once the thread has ended.
    pub fn is_finished(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits for the end of the thread, which goes on at the usual priority.
    pub fn join(mut self) {
        self.release();
        // A panic of the thread was reported by it.
        let _ = self.thread.take().map(JoinHandle::join);
    }

    fn release(&self) {
        self.shared.is_released.store(true, Ordering::SeqCst);
        // The number of a thread that has ended may be that of another.
        if !self.is_finished()
            && let Some(thread) = Pid::from_raw(self.shared.number.load(Ordering::SeqCst))
        {
            let _ = processors::set_normal_of(thread);
        }
    }
}

impl Drop for IdleThread {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_files::system;
    use std::sync::mpsc::channel;

    /// The policy of a thread, field 41 of its `stat` (proc_pid_stat(5)).
    fn policy(number: i32) -> Option<i32> {
        let stat = system::read_text(format!("/proc/self/task/{number}/stat")).ok()?;
        let (_, behind) = stat.rsplit_once(')')?;
        behind.split_whitespace().nth(38)?.parse().ok()
    }

    #[test]
    fn a_thread_is_idle_until_nobody_needs_it_to_be() {
        let (say, number) = channel();
        let (go_on, wait) = channel::<()>();
        let thread = IdleThread::spawn("idle", move || {
            say.send(gettid().as_raw_nonzero().get()).expect("the test waits");
            let _ = wait.recv();
        });
        let thread = thread.expect("a thread");
        let number = number.recv().expect("it began");
        assert_eq!(policy(number), Some(libc::SCHED_IDLE));
        // Only who may give a thread a higher priority takes it back.
        let may_raise = std::thread::spawn(|| {
            processors::set_idle().expect("anybody may");
            processors::set_normal().is_ok()
        });
        let may_raise = may_raise.join().expect("no panic");
        drop(thread);
        let expected = if may_raise { libc::SCHED_OTHER } else { libc::SCHED_IDLE };
        assert_eq!(policy(number), Some(expected));
        drop(go_on);
    }
}
