//! The channel that carries samples from a worker to the collector: full chunks out, empty ones back.
//!
//! Chunks are recycled, so that recording a sample is a copy into memory that is allocated already. A worker whose channel
//! is full waits for the collector, and counts the wait: no sample is lost silently, and memory does not grow.

use farfield_base::{Note, Sample};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

/// Samples in a chunk.
const CHUNK_LEN: usize = 1024;
/// Bound on the chunks of one worker in the channel: seconds of samples at any rate that a worker reaches, so that a
/// collector that is delayed delays no worker. Memory is allocated only as far as the collector falls behind.
const CHUNKS_MAX: usize = 256;

/// One message from a worker to the collector.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub worker: usize,
    pub samples: Vec<Sample>,
    /// Events in sessions since the chunk before.
    pub notes: Vec<Note>,
    pub live: LiveCounts,
}

/// Connections and requests of a worker at one instant.
#[derive(Debug, Clone, Copy, Default)]
pub struct LiveCounts {
    /// Connections open or being opened.
    pub connections: u64,
    /// Requests due and not over.
    pub in_system: u64,
    /// Connections begun so far.
    pub connects: u64,
}

/// The worker's end of the channel.
#[derive(Debug)]
pub(crate) struct SampleSender {
    worker: usize,
    samples: Vec<Sample>,
    notes: Vec<Note>,
    out: SyncSender<Chunk>,
    back: Receiver<Vec<Sample>>,
    /// Number of waits for the collector.
    pub stalls: u64,
    pub live: LiveCounts,
}

/// The collector's end of the way back of one worker's empty chunks.
pub(crate) type ChunkReturn = SyncSender<Vec<Sample>>;

impl SampleSender {
    /// The sender of `worker`, into `out`.
    pub fn new(worker: usize, out: SyncSender<Chunk>) -> (SampleSender, ChunkReturn) {
        let (returns, back) = sync_channel(CHUNKS_MAX);
        let samples = Vec::with_capacity(CHUNK_LEN);
        let (notes, live) = (Vec::new(), LiveCounts::default());
        (SampleSender { worker, samples, notes, out, back, stalls: 0, live }, returns)
    }

    /// A channel with room for [`CHUNKS_MAX`] chunks of each worker.
    pub fn channel(workers: usize) -> (SyncSender<Chunk>, Receiver<Chunk>) {
        sync_channel(CHUNKS_MAX * workers)
    }

    pub fn push(&mut self, sample: Sample) {
        self.samples.push(sample);
        if self.samples.len() == CHUNK_LEN {
            self.flush();
        }
    }

    /// Adds a note to the chunk. A full list of notes is sent even if the chunk of samples is not full.
    pub fn note(&mut self, note: Note) {
        self.notes.push(note);
        if self.notes.len() == CHUNK_LEN {
            self.flush();
        }
    }

    /// Sends the chunk, even one that holds nothing but the live counts.
    pub fn flush(&mut self) {
        let empty = self.back.try_recv().unwrap_or_else(|_| Vec::with_capacity(CHUNK_LEN));
        let samples = std::mem::replace(&mut self.samples, empty);
        let notes = std::mem::take(&mut self.notes);
        let chunk = Chunk { worker: self.worker, samples, notes, live: self.live };
        if let Err(TrySendError::Full(chunk)) = self.out.try_send(chunk) {
            self.stalls += 1;
            // A disconnected collector has failed; the run reports that when it joins it.
            let _ = self.out.send(chunk);
        }
    }
}
