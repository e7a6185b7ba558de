//! The thread of a worker: up, on its processors and quick to wake before the run's clock starts, so that the
//! first of its users is not late for a thread that the system has yet to make.

use crate::worker_report::WorkerReport;
use farfield_os::processors;
use std::io;
use std::sync::mpsc::{self, SyncSender};
use std::thread::{Builder, JoinHandle};

/// The work of a worker from the run's start to its end.
type Work = Box<dyn FnOnce() -> WorkerReport + Send>;

/// A thread that waits for its worker. It ends if it is dropped before.
#[derive(Debug)]
pub(crate) struct WorkerThread {
    work: SyncSender<Work>,
    handle: JoinHandle<Option<WorkerReport>>,
}

impl WorkerThread {
    /// Starts a thread on each of these sets of processors, or anywhere where a set is empty, and returns
    /// when all of them have run.
    ///
    /// # Errors
    /// If the system makes no further thread; those that are up end.
    pub fn start_all(processors: &[Vec<usize>]) -> io::Result<Vec<WorkerThread>> {
        let (ready, awaited) = mpsc::channel();
        let start = |(number, processors): (usize, &Vec<usize>)| {
            let (work, given) = mpsc::sync_channel::<Work>(1);
            let (processors, ready) = (processors.clone(), ready.clone());
            let handle = Builder::new().name(format!("worker-{number}")).spawn(move || {
                if !processors.is_empty() {
                    // Requested processors were checked before; if this fails all the same, lateness shows
                    // it.
                    let _ = processors::confine(&processors);
                }
                // Without this timers are up to 50 µs late, which the lateness shows.
                let _ = processors::reduce_wake_latency();
                // Fails only if whoever waits has given up.
                let _ = ready.send(());
                drop(ready);
                given.recv().ok().map(|work| work())
            })?;
            Ok(WorkerThread { work, handle })
        };
        let threads: Vec<WorkerThread> =
            processors.iter().enumerate().map(start).collect::<io::Result<_>>()?;
        drop(ready);
        awaited.iter().for_each(drop);
        Ok(threads)
    }

    /// Gives the thread its work, of which it returns the report.
    pub fn begin(
        self,
        work: impl FnOnce() -> WorkerReport + Send + 'static,
    ) -> JoinHandle<Option<WorkerReport>> {
        self.work.send(Box::new(work)).expect("the thread waits for its work");
        self.handle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_up_before_they_have_work_and_end_without_it() {
        let threads = WorkerThread::start_all(&[Vec::new(), Vec::new()]).unwrap();
        let names: Vec<_> =
            threads.iter().map(|thread| thread.handle.thread().name().unwrap().to_owned()).collect();
        assert_eq!(names, ["worker-0", "worker-1"]);
        // Each has named itself and asked for timers without slack: it has run.
        let own = std::fs::read_dir("/proc/self/task").unwrap().filter_map(|task| {
            let of_task = std::path::Path::new("/proc").join(task.unwrap().file_name());
            let read = |file: &str| Some(std::fs::read_to_string(of_task.join(file)).ok()?.trim().to_owned());
            Some((read("comm")?, read("timerslack_ns")?))
        });
        let own: Vec<(String, String)> = own.filter(|(name, _)| names.contains(name)).collect();
        assert!(own.len() == 2 && own.iter().all(|(_, slack)| slack == "1"), "{own:?}");
        for WorkerThread { work, handle } in threads {
            drop(work);
            assert!(handle.join().unwrap().is_none());
        }
    }
}
