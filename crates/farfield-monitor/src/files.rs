//! The file of the series while the run goes on.
//!
//! As the series are, it is encoded by a thread that runs on idle processors only; the monitors' own thread
//! hands it to whoever writes it.

use farfield_base::{Duration, Instant};
use farfield_measure::MonitorLog;
use farfield_measure::monitor::{self, Snapshot};
use farfield_os::IdleThread;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};

/// The time between two copies is at least the run's time so far divided by this.
const PART_OF_RUN: u64 = 200;

/// Writes a file that is whole.
pub type Writer = Box<dyn FnMut(&[u8]) + Send>;

/// Encoder of one copy at a time. Dropping it leaves its thread to end by itself.
pub(crate) struct MonitorFiles {
    write: Writer,
    copies: Sender<Snapshot>,
    _thread: IdleThread,
    encoded: Receiver<Vec<u8>>,
    busy: bool,
    next_copy: Instant,
}

impl MonitorFiles {
    pub fn start(write: Writer) -> io::Result<MonitorFiles> {
        let (copies, to_encode) = channel();
        let (done, encoded) = channel();
        let thread = IdleThread::spawn("monitor-files", move || {
            for copied in to_encode {
                let mut file = Vec::new();
                if monitor::write_parquet(&copied, &mut file).is_err() || done.send(file).is_err() {
                    return;
                }
            }
        })?;
        Ok(MonitorFiles { write, copies, _thread: thread, encoded, busy: false, next_copy: Instant::ZERO })
    }

    /// Writes what has been encoded, and has the readings up to `now` encoded next.
    pub fn update(&mut self, log: &MonitorLog, now: Instant) {
        if let Ok(file) = self.encoded.try_recv() {
            self.busy = false;
            (self.write)(&file);
        }
        if self.busy || now < self.next_copy {
            return;
        }
        self.next_copy = now + Duration::from_ns(now.as_ns() / PART_OF_RUN);
        self.busy = self.copies.send(log.snapshot()).is_ok();
    }
}
