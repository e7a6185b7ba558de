//! The measured part in up to 256 batches of equal time, for intervals that allow for correlation.
//!
//! Requests of one run are not independent: a queue that is long is long for many of them. What a run says of
//! a percentile, a mean, a rate or a share is as uncertain as the batches' numbers vary, slow variation above
//! all, and not as the number of requests alone has it. So each batch counts its requests, failures by
//! outcome and replies, and its times in bins; the [intervals](interval) follow from these.
//!
//! A batch is at first 16 µs long. When there are more than 256, neighbours are joined two by two, so that
//! there are 128 to 256 of them from some milliseconds on, however long a run is. A request belongs to the
//! batch in which it was due, a reply to that in which it ended. All is integer addition, and how
//! long batches and how wide bins are depends on the set of requests alone: batches of several workers
//! [merge](Batches::merge) in any order and grouping to the same numbers.
//!
//! Recording takes two indices and two additions a time, and allocates when a bin or a batch has its first.
//! At most 150 KiB for each time that is measured, a third of it where times are alike.

pub mod interval;
mod times;

use crate::timing::{Timing, Timings};
use farfield_base::{Duration, Instant, Merge, Outcome, ReplyEvent, Sample};
use interval::{NoInterval, NoIntervalReason, ResidualSeries, TimeIntervals};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use times::TimeBatches;
pub(crate) use times::{add, add_all, halve};

/// Most batches, a power of two.
const BATCHES_MAX: usize = 256;
/// The shortest batch is two to this power nanoseconds.
const SHORTEST_BITS: u32 = 14;

/// Mean lengths of a session that a run lasts at least.
const SESSIONS_MIN: u64 = 50;

/// Properties of the measured part that its batches do not show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeasuredPart {
    /// Length of the measured part.
    pub lasted: Duration,
    /// The mean length of sessions, where they arrive by themselves: for as long the rate of requests
    /// remembers how many of them there are.
    pub session: Option<Duration>,
}

impl MeasuredPart {
    /// A part without sessions that arrive.
    pub fn of(lasted: Duration) -> MeasuredPart {
        MeasuredPart { lasted, session: None }
    }

    /// A shorter run saw the number of sessions rise and fall too few times for its spectrum to show how much
    /// that matters.
    fn is_long_enough(self) -> Result<(), NoInterval> {
        let needs = self.session.map_or(0, |session| session.as_ns().saturating_mul(SESSIONS_MIN));
        if self.lasted.as_ns() >= needs { Ok(()) } else { Err(NoInterval::beside_sessions(needs)) }
    }
}

/// Requests of a part of the run, by batch of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Batches {
    /// The beginning of the first.
    from: Instant,
    /// A batch is two to this power nanoseconds.
    length_bits: u32,
    times: Timings<TimeBatches>,
    /// Requests due, without those that are to be ignored.
    due: Vec<u32>,
    /// The requests in `due` that ended otherwise than well.
    failed: Vec<u32>,
    /// The requests in `failed`, for each [code](Outcome::code) that occurred.
    failed_by_code: BTreeMap<u8, Vec<u32>>,
    /// Requests due that are to be ignored.
    ignored: u64,
    /// Replies that came as a whole.
    completed: Vec<u32>,
    /// The replies in `completed` with success.
    succeeded: Vec<u32>,
}

impl Batches {
    /// Batches from this instant on.
    pub fn new(from: Instant) -> Batches {
        Batches {
            from,
            length_bits: SHORTEST_BITS,
            times: Timings::default(),
            due: Vec::new(),
            failed: Vec::new(),
            failed_by_code: BTreeMap::new(),
            ignored: 0,
            completed: Vec::new(),
            succeeded: Vec::new(),
        }
    }

    /// False if a batch is longer than time.
    pub(crate) fn is_sound(&self) -> bool {
        self.length_bits < u64::BITS
    }

    /// Counts a request that was due from the beginning of the batches on, and its times; an unfinished one
    /// only in its connect time where these are ignored.
    pub fn record(&mut self, sample: &Sample, ignores_unfinished: bool) {
        let batch = self.record_outcome(sample, ignores_unfinished);
        if sample.outcome == Outcome::Ok {
            for timing in Timing::OF_SUCCESS {
                if let Some(time) = timing.of(sample) {
                    self.times.of_mut(timing).record(batch, time.as_ns(), 1);
                }
            }
        }
        if let Some(time) = sample.first_event_time() {
            self.times.first_event.record(batch, time.as_ns(), 1);
        }
        if let Some(time) = sample.connect_time() {
            self.times.connect.record(batch, time.as_ns(), 1);
        }
    }

    /// Counts a request as [`Batches::record`] does, but of its times only the response time.
    pub fn record_response(&mut self, sample: &Sample, ignores_unfinished: bool) {
        let batch = self.record_outcome(sample, ignores_unfinished);
        if let Some(time) = sample.success_time() {
            self.times.response.record(batch, time.as_ns(), 1);
        }
    }

    fn record_outcome(&mut self, sample: &Sample, ignores_unfinished: bool) -> usize {
        let batch = self.batch(sample.due);
        if ignores_unfinished && sample.outcome == Outcome::Unfinished {
            self.ignored += 1;
            return batch;
        }
        add(&mut self.due, batch, 1);
        if sample.outcome != Outcome::Ok {
            add(&mut self.failed, batch, 1);
            add(self.failed_by_code.entry(sample.outcome.code()).or_default(), batch, 1);
        }
        batch
    }

    /// Counts a reply that came as a whole, with success or not, from the beginning of the batches on.
    pub fn record_completed(&mut self, done: Instant, succeeded: bool) {
        let batch = self.batch(done);
        add(&mut self.completed, batch, 1);
        if succeeded {
            add(&mut self.succeeded, batch, 1);
        }
    }

    /// Counts the gap before an event of a stream, if there was one before it, and none before those
    /// alongside.
    pub fn record_event(&mut self, event: &ReplyEvent, at: Instant) {
        let batch = self.batch(at);
        if let Some(gap) = event.gap {
            self.times.event_gap.record(batch, gap.as_ns(), 1);
        }
        self.times.event_gap.record(batch, 0, event.alongside);
    }

    /// The intervals of one of the times.
    pub fn times(&self, timing: Timing, measured: MeasuredPart) -> Result<TimeIntervals<'_>, NoInterval> {
        measured.is_long_enough()?;
        TimeIntervals::new(self.times.of(timing), self.span(measured.lasted))
    }

    /// The interval of the number of requests due a second; none where some of them are ignored.
    pub fn due_per_s(&self, measured: MeasuredPart) -> Result<[f64; 2], NoInterval> {
        if self.ignored > 0 {
            return Err(NoInterval::because(NoIntervalReason::NotKept));
        }
        self.per_s(&self.due, measured)
    }

    /// The interval of the number of whole replies a second.
    pub fn completed_per_s(&self, measured: MeasuredPart) -> Result<[f64; 2], NoInterval> {
        self.per_s(&self.completed, measured)
    }

    /// The interval of the number of successful replies a second.
    pub fn succeeded_per_s(&self, measured: MeasuredPart) -> Result<[f64; 2], NoInterval> {
        self.per_s(&self.succeeded, measured)
    }

    fn per_s(&self, events: &[u32], measured: MeasuredPart) -> Result<[f64; 2], NoInterval> {
        measured.is_long_enough()?;
        let lasted = measured.lasted;
        let span = self.span(lasted);
        let counts = of_batches(events, span.whole);
        let [low, high] = ResidualSeries::of_counts(&counts, span)?.count_interval(total(events))?;
        let seconds = lasted.as_secs_f64();
        Ok([low / seconds, high / seconds])
    }

    /// The interval of the share of requests that failed.
    pub fn error_share(&self, lasted: Duration) -> Result<[f64; 2], NoInterval> {
        let span = self.span(lasted);
        let (failed, due) = (of_batches(&self.failed, span.whole), of_batches(&self.due, span.whole));
        interval::share(&failed, &due, total(&self.failed), total(&self.due), span)
    }

    /// The interval of the share of requests that ended so.
    pub fn outcome_share(&self, outcome: Outcome, lasted: Duration) -> Result<[f64; 2], NoInterval> {
        if outcome == Outcome::Ok {
            return self.error_share(lasted).map(|[low, high]| [1.0 - high, 1.0 - low]);
        }
        if self.ignored > 0 && outcome == Outcome::Unfinished {
            return Err(NoInterval::because(NoIntervalReason::NotKept));
        }
        let span = self.span(lasted);
        let own = self.failed_by_code.get(&outcome.code()).map_or(&[][..], Vec::as_slice);
        let (counts, due) = (of_batches(own, span.whole), of_batches(&self.due, span.whole));
        interval::share(&counts, &due, total(own), total(&self.due), span)
    }

    fn span(&self, lasted: Duration) -> BatchSpan {
        BatchSpan {
            whole: usize::try_from(lasted.as_ns() >> self.length_bits).unwrap_or(usize::MAX).min(BATCHES_MAX),
            lasted_batches: lasted.as_ns() as f64 / (1_u64 << self.length_bits) as f64,
            lasted,
        }
    }

    /// The batch of an instant, which may make one of two before.
    fn batch(&mut self, at: Instant) -> usize {
        let ns = at.since(self.from).as_ns();
        while ns >> self.length_bits >= BATCHES_MAX as u64 {
            self.double();
        }
        (ns >> self.length_bits) as usize
    }

    /// Makes one batch of two.
    #[cold]
    fn double(&mut self) {
        self.length_bits += 1;
        for timing in Timing::ALL {
            self.times.of_mut(timing).double();
        }
        let by_code = self.failed_by_code.values_mut();
        let all = [&mut self.due, &mut self.failed, &mut self.completed, &mut self.succeeded];
        by_code.chain(all).for_each(|counts| halve(counts, u32::saturating_add));
    }
}

/// Adds what `other` counted.
///
/// # Panics
/// If the two begin at different instants.
impl Merge for Batches {
    fn merge(&mut self, other: &Batches) {
        assert_eq!(self.from, other.from, "batches of one run begin together");
        while self.length_bits < other.length_bits {
            self.double();
        }
        let mut longer;
        let mut other = other;
        if other.length_bits < self.length_bits {
            longer = other.clone();
            while longer.length_bits < self.length_bits {
                longer.double();
            }
            other = &longer;
        }
        self.times.merge(&other.times);
        add_all(&mut self.due, &other.due);
        add_all(&mut self.failed, &other.failed);
        for (code, counts) in &other.failed_by_code {
            add_all(self.failed_by_code.entry(*code).or_default(), counts);
        }
        self.ignored += other.ignored;
        add_all(&mut self.completed, &other.completed);
        add_all(&mut self.succeeded, &other.succeeded);
    }
}

/// The measured part in batches.
#[derive(Debug, Clone, Copy)]
struct BatchSpan {
    /// Batches that lie in it as a whole.
    whole: usize,
    /// Length of the measured part in batches.
    lasted_batches: f64,
    lasted: Duration,
}

fn of_batches(counts: &[u32], batches: usize) -> Vec<f64> {
    (0..batches).map(|batch| counts.get(batch).map_or(0.0, |count| f64::from(*count))).collect()
}

fn total(counts: &[u32]) -> u64 {
    counts.iter().map(|count| u64::from(*count)).sum()
}

#[cfg(test)]
mod tests;
