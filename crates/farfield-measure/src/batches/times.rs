//! Times by batch: counts in bins that are as fine as 128 of them allow, and sums.
//!
//! A bin is at first 1/256 of an octave. When times lie in more than [`BINS_MAX`] bins, neighbours are joined
//! two by two, until there are so few (Epicoco, Melle, Cafaro et al. 2020, "UDDSketch", IEEE Access 8). So
//! bins are 0.3 % wide where times are alike, and some 10 % where they spread over many octaves. How fine
//! they are depends on the set of times alone, not on their order or grouping.

use farfield_base::Merge;
use serde::{Deserialize, Serialize};

/// Bins that hold anything.
const BINS_MAX: usize = 128;
/// Bins of an octave at the finest, as a power of two.
const SUB_BITS: u32 = 8;
/// Times below 2^8 ns share a bin.
const LOWEST_BIT: u32 = 8;
/// Times from 2^47 ns (39 hours) share a bin.
const HIGHEST_BIT: u32 = 47;
const FINEST: usize = 1 + (((HIGHEST_BIT - LOWEST_BIT) as usize) << SUB_BITS);
/// No bin of this index holds anything.
const NONE: u16 = u16::MAX;

/// Times of one kind, by batch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TimeBatches {
    /// Neighbouring bins are joined so often.
    joined: u32,
    /// By the index of a bin, its place in `bins`.
    places: Vec<u16>,
    /// Bins that hold anything, by ascending index.
    bins: Vec<Bin>,
    /// Sum of the times of each batch in nanoseconds.
    sums_ns: Vec<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Bin {
    index: u16,
    /// Times in each batch, up to the last that is not zero.
    counts: Vec<u32>,
}

impl TimeBatches {
    /// Counts a time in `batch`, so many times. Allocates when a bin or a batch has its first.
    pub fn record(&mut self, batch: usize, ns: u64, count: u32) {
        if count == 0 {
            return;
        }
        let index = finest_index(ns);
        let place = match self.places.get(joined_index(index, self.joined)) {
            Some(&place) if place != NONE => usize::from(place),
            _ => self.open(index),
        };
        add(&mut self.bins[place].counts, batch, count);
        if self.sums_ns.len() <= batch {
            self.sums_ns.resize(batch + 1, 0);
        }
        self.sums_ns[batch] = self.sums_ns[batch].saturating_add(ns.saturating_mul(count.into()));
    }

    /// Makes one batch of two.
    pub fn double(&mut self) {
        for bin in &mut self.bins {
            halve(&mut bin.counts, u32::saturating_add);
        }
        halve(&mut self.sums_ns, u64::saturating_add);
    }

    /// Number of times in each of the first `batches`.
    pub fn counts(&self, batches: usize) -> Vec<f64> {
        self.counts_below(self.bins.len(), batches)
    }

    /// Number of times in each of the first `batches` that are in the first `bins` bins.
    pub fn counts_below(&self, bins: usize, batches: usize) -> Vec<f64> {
        let mut counts = vec![0.0; batches];
        for bin in &self.bins[..bins] {
            counts.iter_mut().zip(&bin.counts).for_each(|(sum, count)| *sum += f64::from(*count));
        }
        counts
    }

    /// Sum of the times of each of the first `batches`, in nanoseconds.
    pub fn sums(&self, batches: usize) -> Vec<f64> {
        (0..batches).map(|batch| self.sums_ns.get(batch).map_or(0.0, |sum| *sum as f64)).collect()
    }

    /// For each bin the number of times up to its upper end, over all batches.
    pub fn cumulated(&self) -> Vec<u64> {
        let mut sum = 0;
        let count = |bin: &Bin| bin.counts.iter().map(|count| u64::from(*count)).sum::<u64>();
        self.bins
            .iter()
            .map(|bin| {
                sum += count(bin);
                sum
            })
            .collect()
    }

    /// The place of a new bin for times of this finest index.
    #[cold]
    fn open(&mut self, index: usize) -> usize {
        let own = joined_index(index, self.joined) as u16;
        let place = self.bins.partition_point(|bin| bin.index < own);
        self.bins.insert(place, Bin { index: own, counts: Vec::new() });
        if self.bins.len() > BINS_MAX || self.places.is_empty() {
            while self.bins.len() > BINS_MAX {
                self.join();
            }
            self.index_places();
        } else {
            self.index_places_from(place);
        }
        usize::from(self.places[joined_index(index, self.joined)])
    }

    /// Makes one bin of two neighbours.
    fn join(&mut self) {
        self.joined += 1;
        let mut bins = std::mem::take(&mut self.bins);
        for bin in &mut bins {
            bin.index = joined_index(usize::from(bin.index), 1) as u16;
        }
        self.bins = together(bins);
    }

    fn index_places(&mut self) {
        self.places = vec![NONE; joined_index(FINEST - 1, self.joined) + 1];
        self.index_places_from(0);
    }

    fn index_places_from(&mut self, first: usize) {
        for (place, bin) in self.bins.iter().enumerate().skip(first) {
            self.places[usize::from(bin.index)] = place as u16;
        }
    }
}

/// Adds what `other`, with batches of the same length, counted.
impl Merge for TimeBatches {
    fn merge(&mut self, other: &TimeBatches) {
        if other.bins.is_empty() {
            return;
        }
        let mut other = other.clone();
        while self.joined < other.joined {
            self.join();
        }
        while other.joined < self.joined {
            other.join();
        }
        let mut bins = std::mem::take(&mut self.bins);
        bins.append(&mut other.bins);
        bins.sort_by_key(|bin| bin.index);
        self.bins = together(bins);
        while self.bins.len() > BINS_MAX {
            self.join();
        }
        self.index_places();
        if self.sums_ns.len() < other.sums_ns.len() {
            self.sums_ns.resize(other.sums_ns.len(), 0);
        }
        self.sums_ns.iter_mut().zip(&other.sums_ns).for_each(|(sum, ns)| *sum = sum.saturating_add(*ns));
    }
}

/// The index of the finest bin of a time: its octave, then its next eight bits.
fn finest_index(ns: u64) -> usize {
    if ns < 1 << LOWEST_BIT {
        return 0;
    }
    let octave = ns.ilog2().min(HIGHEST_BIT - 1);
    let sub = (ns >> (octave - SUB_BITS)).min((2 << SUB_BITS) - 1) as usize & ((1 << SUB_BITS) - 1);
    1 + (((octave - LOWEST_BIT) as usize) << SUB_BITS) + sub
}

/// The index of the bin that the one at `index` belongs to after so many joins. The lowest stays alone.
fn joined_index(index: usize, joins: u32) -> usize {
    index.checked_sub(1).map_or(0, |above| 1 + (above >> joins))
}

/// Bins in order of their index, those of the same index as one.
fn together(bins: Vec<Bin>) -> Vec<Bin> {
    let mut kept: Vec<Bin> = Vec::with_capacity(bins.len());
    for bin in bins {
        match kept.last_mut() {
            Some(last) if last.index == bin.index => add_all(&mut last.counts, &bin.counts),
            _ => kept.push(bin),
        }
    }
    kept
}

/// Adds to the count of a batch.
pub fn add(counts: &mut Vec<u32>, batch: usize, more: u32) {
    if counts.len() <= batch {
        counts.resize(batch + 1, 0);
    }
    counts[batch] = counts[batch].saturating_add(more);
}

/// Adds counts batch by batch.
pub fn add_all(mine: &mut Vec<u32>, theirs: &[u32]) {
    if mine.len() < theirs.len() {
        mine.resize(theirs.len(), 0);
    }
    mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine = mine.saturating_add(*theirs));
}

/// Makes one of two neighbours.
pub fn halve<T: Copy>(of: &mut Vec<T>, sum: impl Fn(T, T) -> T) {
    for pair in 0..of.len().div_ceil(2) {
        let first = of[2 * pair];
        of[pair] = of.get(2 * pair + 1).map_or(first, |second| sum(first, *second));
    }
    of.truncate(of.len().div_ceil(2));
}
