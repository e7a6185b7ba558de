//! Data that came before its turn: runs of bytes beyond the next one expected, bounded, and the SACK blocks
//! that report them (RFC 2018 §4).
//!
//! Exists only while something is missing. Where two segments disagree about a byte, the first to come wins.

use crate::seq::Position;
use std::collections::BTreeMap;
use std::ops::Range;

/// Runs that are kept at most. A run costs more than its bytes: a peer that sends every second byte alone
/// must not cost many times what was meant to be kept.
fn runs_max(bytes_max: usize) -> usize {
    8 + bytes_max / 128
}

#[derive(Debug, Default)]
pub(crate) struct Reassembly {
    /// Runs by their first position; no two touch.
    runs: BTreeMap<Position, Vec<u8>>,
    bytes: usize,
    /// A position in each of the runs that were added to last, the latest first.
    recent: [Option<Position>; 4],
}

impl Reassembly {
    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Position at which the first run begins.
    pub(crate) fn first(&self) -> Option<Position> {
        self.runs.first_key_value().map(|(start, _)| *start)
    }

    /// Keeps the parts of `bytes` that are new, as long as no more than `bytes_max` are held.
    pub(crate) fn insert(&mut self, start: Position, bytes: &[u8], bytes_max: usize) {
        let end = start + bytes.len() as Position;
        let mut at = start;
        while at < end {
            // Runs that cover `at` are passed over; the gap after one is filled up to the next.
            if let Some(covered) = self.run_at(at) {
                at = covered.end;
                continue;
            }
            let next = self.runs.range(at..).next().map_or(end, |(next, _)| end.min(*next));
            let piece = &bytes[(at - start) as usize..(next - start) as usize];
            let joins = self.runs.contains_key(&next) || self.run_at(at - 1).is_some();
            if self.bytes + piece.len() > bytes_max || !joins && self.runs.len() >= runs_max(bytes_max) {
                break;
            }
            self.bytes += piece.len();
            self.join(at, piece);
            at = next;
        }
        if self.run_at(start).is_some() {
            self.remember(start);
        }
    }

    /// Takes the run that begins at or before `next`: its position and bytes.
    pub(crate) fn take(&mut self, next: Position) -> Option<(Position, Vec<u8>)> {
        let first = self.runs.first_entry().filter(|first| *first.key() <= next)?;
        let (start, run) = first.remove_entry();
        self.bytes -= run.len();
        Some((start, run))
    }

    /// The blocks to report: that of the latest segment first (RFC 2018 §4), then those reported last.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = Range<Position>> {
        self.recent.iter().enumerate().filter_map(|(place, at)| {
            let run = self.run_at((*at)?)?;
            let reported = self.recent[..place].iter().flatten().any(|earlier| run.contains(earlier));
            (!reported).then_some(run)
        })
    }

    fn run_at(&self, at: Position) -> Option<Range<Position>> {
        let (start, run) = self.runs.range(..=at).next_back()?;
        let end = start + run.len() as Position;
        (at < end).then_some(*start..end)
    }

    /// Adds a piece that overlaps nothing, and joins it with the runs it touches.
    fn join(&mut self, at: Position, piece: &[u8]) {
        let before = self.runs.range(..at).next_back().filter(|(start, run)| *start + run.len() as i64 == at);
        let start = before.map_or(at, |(start, _)| *start);
        let after = self.runs.remove(&(at + piece.len() as Position));
        let run = self.runs.entry(start).or_default();
        run.extend_from_slice(piece);
        if let Some(after) = after {
            run.extend_from_slice(&after);
        }
    }

    fn remember(&mut self, at: Position) {
        let run = self.run_at(at);
        let same = |known: &Option<Position>| match (known, &run) {
            (Some(known), Some(run)) => run.contains(known),
            _ => known.is_none(),
        };
        let place = self.recent.iter().position(same).unwrap_or(self.recent.len() - 1);
        self.recent[..=place].rotate_right(1);
        self.recent[0] = Some(at);
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "ranges are the data here")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_first_to_come_wins_and_the_latest_is_reported_first() {
        let mut store = Reassembly::default();
        store.insert(10, b"aaaa", 100);
        store.insert(20, b"bb", 100);
        store.insert(8, b"cccccccc", 100);
        assert_eq!(store.blocks().collect::<Vec<_>>(), [8..16, 20..22]);
        assert_eq!(store.take(8), Some((8, b"ccaaaacc".to_vec())));
        assert_eq!(store.take(16), None);
    }

    #[test]
    fn the_bound_holds() {
        let mut store = Reassembly::default();
        store.insert(10, b"aaaa", 6);
        store.insert(20, b"bbb", 6);
        assert_eq!(store.blocks().collect::<Vec<_>>(), vec![10..14]);
    }

    #[test]
    fn single_bytes_are_not_kept_without_end() {
        let mut store = Reassembly::default();
        (0..10_000).for_each(|at| store.insert(2 * at, b"x", 12_800));
        assert_eq!(store.runs.len(), 108);
        // A piece that joins runs is taken still
        store.insert(1, b"y", 12_800);
        assert_eq!(store.runs.len(), 107);
    }

    proptest! {
        /// Against an array of optional bytes.
        #[test]
        fn agrees_with_an_array(inserts in prop::collection::vec((0i64..60, prop::collection::vec(any::<u8>(), 1..12)), 1..20)) {
            let mut store = Reassembly::default();
            let mut flat = [None; 80];
            for (start, bytes) in &inserts {
                store.insert(*start, bytes, usize::MAX);
                for (at, byte) in bytes.iter().enumerate() {
                    flat[*start as usize + at].get_or_insert(*byte);
                }
            }
            while let Some((start, run)) = store.take(Position::MAX) {
                for (at, byte) in run.into_iter().enumerate() {
                    prop_assert_eq!(flat[start as usize + at].take(), Some(byte));
                }
            }
            prop_assert!(flat.iter().all(Option::is_none) && store.bytes == 0);
        }
    }
}
