//! `series.parquet` and `histograms.hlog` during a run.
//!
//! Encoding them takes milliseconds, for which the collector must not delay the workers. So it copies the
//! data, with pauses, and a separate thread encodes the copy. That thread runs only on an idle processor,
//! and any thread that wakes takes it over (SCHED_IDLE, sched(7)). It opens no file, so that the collector
//! never waits for one that it holds. A copy that is due while another is being encoded is skipped: the next
//! second has another.
//!
//! No thread ever waits for the encoder, not even at the end of the run: if other work fills the processors
//! it gets about a thousandth of one, and an encoding of 50 ms takes a minute. The result is encoded again
//! at the end, when the thread has its usual priority again, so that the process can end.

use crate::run_directory::{RunDirectory, RunDirectoryError};
use farfield_base::{Duration, Instant};
use farfield_measure::hlog::{self, HistogramLine};
use farfield_measure::series::{self, SeriesRows};
use farfield_measure::{EngineStats, Fold};
use farfield_os::IdleThread;
use std::io;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};

pub(crate) const SERIES: &str = "series.parquet";
pub(crate) const HISTOGRAMS: &str = "histograms.hlog";
/// The time between two copies is at least the run's time so far divided by this: a series is written as a
/// whole.
const PART_OF_RUN: u64 = 1_000;

/// A copy of the data to encode.
#[derive(Debug)]
struct SideFileData {
    rows: SeriesRows,
    lines: Vec<HistogramLine<'static>>,
}

/// The two files, encoded, and the copy that they were made of: the thread that allocated it frees it.
#[derive(Debug)]
struct EncodedSideFiles {
    series: Vec<u8>,
    histograms: Vec<u8>,
    _copied: SideFileData,
}

/// Encoder of one copy at a time. Dropping it leaves the thread to end by itself.
#[derive(Debug)]
pub(crate) struct SideFiles {
    copies: Sender<SideFileData>,
    _thread: IdleThread,
    encoded: Receiver<EncodedSideFiles>,
    busy: bool,
    next_copy: Instant,
}

impl SideFiles {
    /// Starts the thread, for a run that began at `started` since the Unix epoch.
    pub fn start(started: Duration) -> io::Result<SideFiles> {
        SideFiles::encoding_with(move |copied| encode(copied, started))
    }

    fn encoding_with(
        mut encode: impl FnMut(SideFileData) -> io::Result<EncodedSideFiles> + Send + 'static,
    ) -> io::Result<SideFiles> {
        let (copies, to_encode) = channel();
        let (done, encoded) = channel();
        let thread = IdleThread::spawn("side-files", move || {
            for copied in to_encode {
                // An error here occurs at the end of the run as well, and is reported there.
                let Ok(encoded) = encode(copied) else { return };
                if done.send(encoded).is_err() {
                    return;
                }
            }
        })?;
        Ok(SideFiles { copies, _thread: thread, encoded, busy: false, next_copy: Instant::ZERO })
    }

    /// Copies the measurements up to `now`, if the last copy has been written and was long enough ago.
    pub fn copy(&mut self, fold: &Fold, stats: &EngineStats, now: Instant, pause: &dyn Fn()) {
        if self.busy || now < self.next_copy {
            return;
        }
        self.next_copy = now + Duration::from_ns(now.as_ns() / PART_OF_RUN);
        let rows = fold.series().copy(&stats.connections_open, pause);
        let copied = SideFileData { rows, lines: hlog::snapshot(fold, stats, now, pause) };
        self.busy = self.copies.send(copied).is_ok();
    }

    /// Writes the encoded files, if there are any.
    pub fn write(&mut self, directory: &RunDirectory) -> Result<(), RunDirectoryError> {
        match self.encoded.try_recv() {
            Ok(EncodedSideFiles { series, histograms, .. }) => {
                self.busy = false;
                directory.replace(SERIES, &series)?;
                directory.replace(HISTOGRAMS, &histograms)
            }
            // If the thread has ended, the files are written at the end of the run.
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => Ok(()),
        }
    }
}

fn encode(copied: SideFileData, started: Duration) -> io::Result<EncodedSideFiles> {
    let mut encoded = EncodedSideFiles { series: Vec::new(), histograms: Vec::new(), _copied: copied };
    let SideFileData { rows, lines } = &encoded._copied;
    series::write_parquet(rows.iter(), &mut encoded.series).map_err(io::Error::other)?;
    hlog::write_lines(lines, started, &mut encoded.histograms)?;
    Ok(encoded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_base::Window;

    /// An encoder that gets no processor does not delay the end of a run.
    #[test]
    fn the_end_of_a_run_does_not_wait_for_the_encoder() {
        let (begun, has_begun) = channel();
        let (release, released) = channel::<()>();
        let encode = move |_| {
            begun.send(()).expect("the test waits");
            // Until the test is over.
            let _ = released.recv();
            Err(io::ErrorKind::Other.into())
        };
        let mut files = SideFiles::encoding_with(encode).expect("a thread");
        let window = Window { measure_from: Instant::ZERO, measure_to: Instant::from_ns(1_000_000_000) };
        files.copy(&Fold::new(window), &EngineStats::default(), Instant::from_ns(1), &|| {});
        has_begun.recv().expect("the thread runs");
        drop(files);
        drop(release);
    }
}
