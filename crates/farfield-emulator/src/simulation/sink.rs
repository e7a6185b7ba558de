//! The way of samples out of a simulation while it goes on, and the way of wishes into it.

use super::partition::Partition;
use farfield_base::{Instant, Note, Sample};
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Samples that are worth handing on.
const BATCH: usize = 16_384;
/// Events between two looks at whether to stop: a few milliseconds of work, also where each event begins a
/// connection.
pub(crate) const EVENTS_A_LOOK: u64 = 256;

/// The results of a simulation since the last batch.
#[derive(Debug)]
pub struct Batch {
    /// Everything before this instant has happened.
    pub now: Instant,
    /// Gauges of what is under way.
    pub standing: SimulationGauges,
    /// The requests that ended since the last batch, in order of their end, their user and their number on
    /// their connection. All ended before `now`, or are cut off at the end of the simulation.
    pub samples: Vec<Sample>,
    /// Notes of sessions since the last batch, in the order of time, user and session.
    pub notes: Vec<Note>,
}

/// Gauges of what is under way in a simulation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SimulationGauges {
    /// Connections that clients have open or are opening.
    pub connections: u64,
    /// Requests due and not over.
    pub in_system: u64,
    /// Connections begun so far.
    pub connects: u64,
}

/// Takes batches.
pub trait Sink: Send {
    /// Takes the next one. Meanwhile time stands still.
    fn take(&mut self, batch: Batch);

    /// The virtual time from which on it is next asked whether to go on, which is so often as it names
    /// another; never, if it does not say.
    fn next_look(&self) -> Instant {
        Instant::MAX
    }

    /// True if time goes on from `now`. All that ended before `now` was taken, so that the answer, and with
    /// it the end of the simulation, need depend on nothing but virtual time.
    fn goes_on(&mut self, _now: Instant) -> bool {
        true
    }
}

/// Keeps all samples.
impl Sink for Vec<Sample> {
    fn take(&mut self, mut batch: Batch) {
        self.append(&mut batch.samples);
    }
}

/// Remote control of a simulation from another thread.
#[derive(Debug, Default)]
pub struct Remote {
    stop: AtomicBool,
    batch: AtomicBool,
}

impl Remote {
    /// Ends the simulation within some hundred events, with what it has.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Asks for a batch at the end of the window, however small.
    pub fn ask_for_batch(&self) {
        self.batch.store(true, Ordering::Relaxed);
    }

    pub(crate) fn stops(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// The place where batches are made up.
pub(crate) struct Outlet<'a> {
    sink: &'a mut dyn Sink,
    /// The end of the last batch.
    pub handed_until: Instant,
}

/// Samples that partitions hold.
#[derive(Debug, Default)]
pub(crate) struct Pending(AtomicUsize);

impl Pending {
    pub fn add(&self, samples: usize) {
        self.0.fetch_add(samples, Ordering::Relaxed);
    }

    /// True if a batch is due, which is begun then.
    pub fn is_batch(&self, remote: &Remote) -> bool {
        let due = self.0.load(Ordering::Relaxed) >= BATCH || remote.batch.swap(false, Ordering::Relaxed);
        if due {
            self.0.store(0, Ordering::Relaxed);
        }
        due
    }
}

impl<'a> Outlet<'a> {
    pub fn new(sink: &'a mut dyn Sink) -> Outlet<'a> {
        Outlet { sink, handed_until: Instant::ZERO }
    }

    /// True if the sink is to be asked at `now` whether time goes on.
    pub fn looks(&self, now: Instant) -> bool {
        now >= self.sink.next_look()
    }

    /// The answer of the sink, which has what ended before `now`.
    pub fn goes_on(&mut self, now: Instant) -> bool {
        self.sink.goes_on(now)
    }

    /// Hands on what the partitions hold, all of which have come to `now`.
    pub fn hand_on<'p>(&mut self, partitions: impl Iterator<Item = MutexGuard<'p, Partition>>, now: Instant) {
        let (mut samples, mut notes) = (Vec::with_capacity(BATCH), Vec::new());
        let mut standing = SimulationGauges::default();
        for mut partition in partitions {
            let population = partition.shard.population();
            standing.connections += population.connections() as u64;
            standing.in_system += population.in_system();
            standing.connects += partition.shard.connects();
            samples.extend(partition.shard.take_samples());
            notes.extend(partition.shard.take_notes());
        }
        self.hand_on_ordered(samples, notes, standing, now);
    }

    /// Hands on the samples and notes of all partitions, in an order that does not depend on what the
    /// partitions are.
    pub fn hand_on_ordered(
        &mut self,
        mut samples: Vec<Sample>,
        mut notes: Vec<Note>,
        standing: SimulationGauges,
        now: Instant,
    ) {
        notes.sort_by_key(Note::order);
        let order =
            |sample: &Sample| (sample.done, sample.user, sample.connection, sample.number, sample.due);
        samples.sort_by_key(order);
        let first = samples.first().map_or(now, |sample| sample.done);
        assert!(self.handed_until <= first, "a request ended at {first:?}, before {:?}", self.handed_until);
        self.handed_until = now;
        self.sink.take(Batch { now, standing, samples, notes });
    }
}
