//! Ranges that the peer holds beyond its cumulative acknowledgment, and what that says is lost: the
//! scoreboard of RFC 6675 §3 and §4.
//!
//! Exists only while something is reported. Blocks, not bytes, are counted: a scoreboard is a few ranges.

use crate::seq::Position;
use std::ops::Range;

/// RFC 6675 §2: three signs make a loss.
pub(crate) const DUP_THRESH: usize = 3;
/// A peer that reports more separate ranges is not believed beyond these; they come again with later ACKs.
const RANGES_MAX: usize = 256;

#[derive(Debug, Default)]
pub(crate) struct Scoreboard {
    /// SACKed ranges, in order; no two touch; all above the cumulative acknowledgment.
    ranges: Vec<Range<Position>>,
    /// HighRxt: everything not SACKed before this was retransmitted in this recovery.
    pub(crate) high_rxt: Position,
    /// RescueRxt: the end of what the rescue retransmission of this recovery covered.
    pub(crate) rescue_rxt: Option<Position>,
}

/// Segment to be sent next in recovery (RFC 6675 §4, NextSeg).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NextSeg {
    /// Rules 1 and 3: a hole, or the beginning of it.
    Hole(Range<Position>),
    /// Rule 2: data not yet sent.
    New,
    /// Rule 4: the end of what is outstanding.
    Rescue(Range<Position>),
}

impl Scoreboard {
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        *self = Scoreboard::default();
    }

    /// Update (): takes one block, and says how many bytes it reports that were not known. The caller has
    /// checked that it lies between the cumulative acknowledgment and what was sent.
    pub(crate) fn insert(&mut self, block: Range<Position>) -> u64 {
        let first = self.ranges.partition_point(|range| range.end < block.start);
        let last = self.ranges.partition_point(|range| range.start <= block.end);
        if first == last && self.ranges.len() >= RANGES_MAX {
            return 0;
        }
        let known: i64 = self.ranges[first..last].iter().map(|range| range.end - range.start).sum();
        let start =
            self.ranges[first..last].first().map_or(block.start, |range| range.start.min(block.start));
        let end = self.ranges[first..last].last().map_or(block.end, |range| range.end.max(block.end));
        self.ranges.splice(first..last, std::iter::once(start..end));
        ((end - start) - known) as u64
    }

    /// The cumulative acknowledgment is `una` now.
    pub(crate) fn advance(&mut self, una: Position) {
        let gone = self.ranges.partition_point(|range| range.end <= una);
        self.ranges.drain(..gone);
        if let Some(first) = self.ranges.first_mut() {
            first.start = first.start.max(una);
        }
        self.high_rxt = self.high_rxt.max(una);
    }

    /// RFC 2018 §8: a peer whose first hole is gone without its acknowledgment having moved has thrown data
    /// away.
    pub(crate) fn shows_reneging(&self, una: Position) -> bool {
        self.ranges.first().is_some_and(|first| first.start <= una)
    }

    /// IsLost () for every position at once: positions not SACKed are lost exactly if they lie before this.
    ///
    /// RFC 6675 §4: lost if DupThresh discontiguous ranges, or more than (DupThresh - 1) * SMSS bytes, are
    /// SACKed above. Both can only grow downwards, so one boundary says it all.
    pub(crate) fn lost_before(&self, smss: u32) -> Position {
        let mut bytes = 0;
        for (above, range) in self.ranges.iter().rev().enumerate() {
            bytes += range.end - range.start;
            if above + 1 >= DUP_THRESH || bytes > (DUP_THRESH as i64 - 1) * i64::from(smss) {
                return range.start;
            }
        }
        Position::MIN
    }

    /// SetPipe (): bytes between `una` and `sent_to` thought to be in the network (RFC 6675 §4).
    pub(crate) fn pipe(&self, una: Position, sent_to: Position, smss: u32) -> u64 {
        let lost = self.lost_before(smss);
        let span = |from: Position, to: Position| (to - from).max(0) as u64;
        let hole = |hole: Range<Position>| {
            // (a) not lost: its first transmission is on its way; (b) retransmitted: that one is
            span(hole.start.max(lost), hole.end) + span(hole.start, hole.end.min(self.high_rxt))
        };
        self.holes(una, sent_to).map(hole).sum()
    }

    /// Bytes SACKed between `from` and `to`.
    pub(crate) fn sacked(&self, from: Position, to: Position) -> u64 {
        let inside = |range: &Range<Position>| (range.end.min(to) - range.start.max(from)).max(0) as u64;
        self.ranges.iter().map(inside).sum()
    }

    /// `at`, or the end of the SACKed range that it lies in; and where the next SACKed range begins.
    pub(crate) fn hole_from(&self, at: Position) -> (Position, Position) {
        let place = self.ranges.partition_point(|range| range.end <= at);
        let starts = |place: usize| self.ranges.get(place).map_or(Position::MAX, |range| range.start);
        match self.ranges.get(place) {
            Some(range) if range.start <= at => (range.end, starts(place + 1)),
            _ => (at, starts(place)),
        }
    }

    /// NextSeg () of RFC 6675 §4. `new` says if there is unsent data that the peer's window allows,
    /// `tail_overtaken` that a later transmission than that of the last byte has arrived.
    pub(crate) fn next_seg(
        &self,
        una: Position,
        sent_to: Position,
        smss: u32,
        new: bool,
        tail_overtaken: bool,
    ) -> Option<NextSeg> {
        let cut = |hole: Range<Position>| hole.start..hole.end.min(hole.start + i64::from(smss));
        let highest = self.ranges.last().map_or(Position::MIN, |range| range.end);
        let (start, end) = self.hole_from(self.high_rxt.max(una));
        // Rules 1.a and 1.b: the smallest not SACKed, beyond HighRxt, below the highest SACKed
        let candidate = (start < highest).then(|| cut(start..end));
        // Rules 1 and 1.c: and lost
        if let Some(hole) = candidate.clone().filter(|hole| hole.start < self.lost_before(smss)) {
            return Some(NextSeg::Hole(hole));
        }
        // Rule 2: unsent data
        if new {
            return Some(NextSeg::New);
        }
        // Rule 3: as rule 1, lost or not
        if let Some(hole) = candidate {
            return Some(NextSeg::Hole(hole));
        }
        // Rule 4: once a recovery, the highest outstanding bytes that are not SACKed, to keep the ACK clock.
        // The rule as it stands sends them again while they are on their way; only if they were overtaken are
        // they lost
        let last_hole_start = highest.max(una);
        let rescued = self.rescue_rxt.is_some_and(|rescue| rescue >= una);
        if tail_overtaken && !rescued && last_hole_start < sent_to {
            let start = last_hole_start.max(sent_to - i64::from(smss));
            return Some(NextSeg::Rescue(start..sent_to));
        }
        None
    }

    fn holes(&self, una: Position, sent_to: Position) -> impl Iterator<Item = Range<Position>> {
        let starts = std::iter::once(una).chain(self.ranges.iter().map(|range| range.end));
        let ends = self.ranges.iter().map(|range| range.start).chain(std::iter::once(sent_to));
        starts.zip(ends).map(|(start, end)| start..end).filter(|hole| hole.start < hole.end)
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "ranges are the data here")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn board(blocks: &[Range<Position>]) -> Scoreboard {
        let mut board = Scoreboard::default();
        blocks.iter().for_each(|block| {
            board.insert(block.clone());
        });
        board
    }

    #[test]
    fn three_ranges_or_more_than_two_segments_make_a_loss() {
        assert_eq!(board(&[200..300, 400..500]).lost_before(100), Position::MIN);
        assert_eq!(board(&[200..300, 400..500, 600..601]).lost_before(100), 200);
        assert_eq!(board(&[200..400]).lost_before(100), Position::MIN);
        assert_eq!(board(&[200..401]).lost_before(100), 200);
    }

    #[test]
    fn next_seg_takes_the_rules_in_order() {
        let board = board(&[200..300, 400..500, 600..800]);
        assert_eq!(board.next_seg(100, 1000, 100, true, true), Some(NextSeg::Hole(100..200)));
        let retransmitted =
            |high_rxt| Scoreboard { high_rxt, ranges: board.ranges.clone(), rescue_rxt: None };
        // 500..600 has only 200 bytes in one range above it: not lost
        assert_eq!(retransmitted(500).next_seg(100, 1000, 100, true, true), Some(NextSeg::New));
        assert_eq!(retransmitted(500).next_seg(100, 1000, 100, false, true), Some(NextSeg::Hole(500..600)));
        assert_eq!(
            retransmitted(600).next_seg(100, 1000, 100, false, true),
            Some(NextSeg::Rescue(900..1000))
        );
        assert_eq!(retransmitted(600).next_seg(100, 1000, 100, false, false), None);
    }

    /// One entry a byte: SetPipe as the RFC words it.
    fn pipe_by_bytes(sacked: &[bool], una: i64, high_rxt: i64, smss: usize) -> u64 {
        let is_lost = |at: usize| {
            let above = &sacked[at + 1..];
            let ranges = (0..above.len()).filter(|&i| above[i] && (i == 0 || !above[i - 1])).count();
            ranges >= 3 || above.iter().filter(|s| **s).count() > 2 * smss
        };
        let cost = |at: usize| u64::from(!is_lost(at)) + u64::from((at as i64) < high_rxt);
        (una as usize..sacked.len()).filter(|&at| !sacked[at]).map(cost).sum()
    }

    proptest! {
        #[test]
        fn pipe_agrees_with_one_entry_a_byte(
            blocks in prop::collection::vec((1i64..60, 1i64..9), 0..9), high_rxt in 0i64..60,
        ) {
            let mut board = Scoreboard::default();
            let mut sacked = [false; 70];
            for (start, len) in blocks {
                let fresh = (start..start + len).filter(|&at| !std::mem::replace(&mut sacked[at as usize], true));
                let fresh = fresh.count() as u64;
                prop_assert_eq!(board.insert(start..start + len), fresh);
            }
            board.high_rxt = high_rxt;
            prop_assert_eq!(board.pipe(0, 70, 4), pipe_by_bytes(&sacked, 0, high_rxt, 4));
            prop_assert_eq!(board.sacked(0, 70), sacked.iter().filter(|s| **s).count() as u64);
        }
    }
}
