//! The channel that carries samples from a worker to the collector: full chunks out, empty ones back.
//!
//! Chunks are recycled, so that recording a sample is a copy into memory that is allocated already. A worker
//! whose channel is full waits for the collector, and counts the wait: no sample is lost silently, and
//! memory does not grow. What a heartbeat sends is mostly a few samples, which go as a copy of their own
//! size: a collector that comes seconds late at a small load has kilobytes waiting for it, not megabytes.

use farfield_base::{Instant, Note, Sample};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

/// Samples in a chunk.
const CHUNK_LEN: usize = 1024;
/// Samples below which a copy is sent, and the chunk stays.
const FEW: usize = CHUNK_LEN / 4;
/// Bound on the chunks of one worker in the channel: seconds of samples at any rate that a worker reaches,
/// so that a collector that is delayed delays no worker. Memory is allocated only as far as the collector
/// falls behind.
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
    /// All that ended before this is in this chunk or an earlier one; of a worker that has ended, all.
    pub at: Instant,
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

/// Gives a chunk's memory back to its worker; a copy of a few samples is freed.
pub(crate) fn give_back(to: &ChunkReturn, mut samples: Vec<Sample>) {
    if samples.capacity() >= CHUNK_LEN {
        samples.clear();
        // A worker that has ended needs no empty chunks.
        let _ = to.try_send(samples);
    }
}

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

    /// The senders of `workers` workers, the receiver of what they send, and the way back to each.
    pub fn for_workers(workers: usize) -> (Vec<SampleSender>, Receiver<Chunk>, Vec<ChunkReturn>) {
        let (out, chunks) = SampleSender::channel(workers);
        let ends = (0..workers).map(|number| SampleSender::new(number, out.clone()));
        let (senders, returns) = ends.unzip();
        (senders, chunks, returns)
    }

    pub fn push(&mut self, sample: Sample) {
        self.live.at = self.live.at.max(sample.done);
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
        let samples = if self.samples.len() < FEW {
            self.samples.drain(..).collect()
        } else {
            let empty = self.back.try_recv().unwrap_or_else(|_| Vec::with_capacity(CHUNK_LEN));
            std::mem::replace(&mut self.samples, empty)
        };
        let notes = std::mem::take(&mut self.notes);
        let chunk = Chunk { worker: self.worker, samples, notes, live: self.live };
        if let Err(TrySendError::Full(chunk)) = self.out.try_send(chunk) {
            self.stalls += 1;
            // A disconnected collector has failed; the run reports that when it joins it.
            let _ = self.out.send(chunk);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_base::{Instant, Outcome};

    /// Capacities of the chunks of this many heartbeats of so many samples, which wait for the collector.
    fn waiting(heartbeats: usize, samples: usize) -> Vec<usize> {
        let (out, chunks) = SampleSender::channel(1);
        let (mut sender, returns) = SampleSender::new(0, out);
        for _ in 0..heartbeats {
            for _ in 0..samples {
                sender.push(farfield_testkit::samples::request(Instant::ZERO, Instant::ZERO, Outcome::Ok));
            }
            sender.flush();
        }
        drop(sender);
        let chunks: Vec<Chunk> = chunks.iter().collect();
        assert_eq!(chunks.iter().map(|chunk| chunk.samples.len()).sum::<usize>(), heartbeats * samples);
        let capacities = chunks.iter().map(|chunk| chunk.samples.capacity()).collect();
        chunks.into_iter().for_each(|chunk| give_back(&returns, chunk.samples));
        capacities
    }

    #[test]
    fn few_samples_take_little_while_they_wait() {
        assert!(waiting(100, 4).iter().sum::<usize>() < 2 * 100 * 4);
        assert!(waiting(100, 0).iter().all(|capacity| *capacity == 0));
        assert!(waiting(10, FEW).iter().all(|capacity| *capacity == CHUNK_LEN));
        assert_eq!(waiting(3, CHUNK_LEN).iter().filter(|capacity| **capacity == CHUNK_LEN).count(), 3);
    }

    /// A whole chunk comes back to its worker, a copy does not.
    #[test]
    fn only_chunks_come_back() {
        let (out, _chunks) = SampleSender::channel(1);
        let (sender, returns) = SampleSender::new(0, out);
        give_back(&returns, Vec::with_capacity(4));
        assert!(sender.back.try_recv().is_err());
        give_back(&returns, Vec::with_capacity(CHUNK_LEN));
        assert!(sender.back.try_recv().is_ok_and(|chunk| chunk.capacity() >= CHUNK_LEN));
    }
}
