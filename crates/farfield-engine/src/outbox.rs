//! The way of samples from a worker to the collector: full chunks out, empty ones back.
//!
//! Chunks go round, so that recording a sample is a copy into memory that is there. If the collector cannot
//! keep up, a worker waits for it, which is counted: nothing is lost unseen, and memory does not grow.

use farfield_base::{Note, Sample};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

/// Samples in a chunk.
const CHUNK: usize = 1024;
/// Chunks of one worker at most on their way: seconds of samples at any rate that a worker can do, so that a collector that is
/// held up holds up no worker. Memory is taken only as far as it falls behind.
const CHUNKS: usize = 256;

/// What a worker tells the collector.
#[derive(Debug)]
pub(crate) struct Parcel {
    pub worker: usize,
    pub samples: Vec<Sample>,
    /// What happened in sessions meanwhile.
    pub notes: Vec<Note>,
    pub beat: Beat,
}

/// How a worker stands.
#[derive(Debug, Clone, Copy, Default)]
pub struct Beat {
    /// Connections open or being opened.
    pub connections: u64,
    /// Requests due and not over.
    pub in_system: u64,
    /// Connections begun so far.
    pub connects: u64,
}

/// A worker's end.
#[derive(Debug)]
pub(crate) struct Outbox {
    worker: usize,
    chunk: Vec<Sample>,
    notes: Vec<Note>,
    out: SyncSender<Parcel>,
    back: Receiver<Vec<Sample>>,
    /// Times that the worker had to wait for the collector.
    pub stalls: u64,
    pub beat: Beat,
}

/// The collector's way to give chunks back to one worker.
pub(crate) type Returns = SyncSender<Vec<Sample>>;

impl Outbox {
    /// The outbox of `worker`, which sends to `out`.
    pub fn new(worker: usize, out: SyncSender<Parcel>) -> (Outbox, Returns) {
        let (returns, back) = sync_channel(CHUNKS);
        let chunk = Vec::with_capacity(CHUNK);
        (Outbox { worker, chunk, notes: Vec::new(), out, back, stalls: 0, beat: Beat::default() }, returns)
    }

    /// A channel that holds what all `workers` may have on their way.
    pub fn channel(workers: usize) -> (SyncSender<Parcel>, Receiver<Parcel>) {
        sync_channel(CHUNKS * workers)
    }

    pub fn push(&mut self, sample: Sample) {
        self.chunk.push(sample);
        if self.chunk.len() == CHUNK {
            self.post();
        }
    }

    /// Takes a note along with the samples; many of them do not wait for a full chunk.
    pub fn note(&mut self, note: Note) {
        self.notes.push(note);
        if self.notes.len() == CHUNK {
            self.post();
        }
    }

    /// Sends what there is, be it only the beat.
    pub fn post(&mut self) {
        let empty = self.back.try_recv().unwrap_or_else(|_| Vec::with_capacity(CHUNK));
        let samples = std::mem::replace(&mut self.chunk, empty);
        let notes = std::mem::take(&mut self.notes);
        let parcel = Parcel { worker: self.worker, samples, notes, beat: self.beat };
        if let Err(TrySendError::Full(parcel)) = self.out.try_send(parcel) {
            self.stalls += 1;
            // A collector that is gone has failed, which the run reports when it joins it.
            let _ = self.out.send(parcel);
        }
    }
}
