//! Matches connections by the instants of their handshakes, where nobody recorded their addresses.
//!
//! First the offset of the clocks: of all differences between the instants at which the run began some
//! connections and the SYNs of the capture, the true one occurs once for each connection and any other only
//! by coincidence, so the densest interval of a millisecond has it. Then each connection takes the SYN that
//! is nearest, in order; a second one that is about as near makes it ambiguous.
//!
//! Not here: runs whose connections begin at even intervals. Every multiple of the interval then has about
//! as many votes; all connections count as ambiguous.

use crate::frame::Frame;
use farfield_base::Sample;
use farfield_capture::Capture;
use std::collections::BTreeMap;

/// Connections of the run that vote on the offset, and SYNs that they are compared with.
const VOTERS: usize = 200;
const SYNS: usize = 20_000;
/// Width of the interval of differences that belong together.
const TOGETHER_NS: i64 = 1_000_000;
/// A SYN farther than this from its instant is another's.
const TOLERANCE_NS: i64 = 5_000_000;
/// A second SYN that is farther by less than this could as well be meant.
const AMBIGUOUS_NS: i64 = 50_000;

/// Connections that were matched, and how many of them could be confused.
#[derive(Debug, Clone, Default)]
pub struct Handshakes {
    /// The samples' connections, each with its index in the capture.
    pub connections: BTreeMap<u32, u32>,
    /// Number of them that could have been matched otherwise.
    pub ambiguous: u64,
}

/// Instants at which the run began connections, in order, with their numbers.
fn begun(samples: &[Sample]) -> Vec<(i64, u32)> {
    let first = |sample: &Sample| Some((sample.connect_begun.instant()?.as_ns() as i64, sample.connection));
    let mut begun: Vec<_> = samples.iter().filter_map(first).collect();
    begun.sort_unstable();
    begun.dedup_by_key(|(_, connection)| *connection);
    begun
}

/// SYNs of the capture in order, with the index of their connection.
fn syns(capture: &Capture, eligible: &[bool], frame: &Frame) -> Vec<(i64, u32)> {
    let each = capture.connections.iter().enumerate().filter(|(at, _)| eligible[*at]);
    let mut syns: Vec<_> =
        each.filter_map(|(at, connection)| Some((frame.run_ns(connection.syn?), at as u32))).collect();
    syns.sort_unstable();
    syns
}

/// Nanoseconds that the capture's clock is ahead of the run's, relative to `frame`, by the votes of
/// handshakes, and whether another offset has nearly as many; `None` without handshakes.
pub fn vote(samples: &[Sample], capture: &Capture, frame: &Frame) -> Option<(i64, bool)> {
    let (begun, syns) = (begun(samples), syns(capture, &vec![true; capture.connections.len()], frame));
    let early = &begun[..begun.len().min(10 * VOTERS)];
    let step = early.len().div_ceil(VOTERS).max(1);
    let syns = &syns[..syns.len().min(SYNS)];
    let mut differences: Vec<i64> =
        early.iter().step_by(step).flat_map(|(at, _)| syns.iter().map(move |(syn, _)| syn - at)).collect();
    differences.sort_unstable();
    let (best, votes) = densest(&differences)?;
    let far: Vec<i64> = differences.iter().copied().filter(|d| (d - best).abs() > 2 * TOGETHER_NS).collect();
    let second = densest(&far).map_or(0, |(_, votes)| votes);
    Some((best, second * 10 > votes * 9))
}

/// The median of the densest interval of `sorted` differences, and how many it has.
fn densest(sorted: &[i64]) -> Option<(i64, usize)> {
    let (mut from, mut best) = (0, (0, 0));
    for to in 0..sorted.len() {
        while sorted[to] - sorted[from] > TOGETHER_NS {
            from += 1;
        }
        if to + 1 - from > best.1 {
            best = (from, to + 1 - from);
        }
    }
    (best.1 > 0).then(|| (sorted[best.0 + best.1 / 2], best.1))
}

/// Matches by instants in the run's time.
pub fn by_instant(samples: &[Sample], capture: &Capture, eligible: &[bool], frame: &Frame) -> Handshakes {
    let (begun, syns) = (begun(samples), syns(capture, eligible, frame));
    let mut matched = Handshakes::default();
    let mut taken = vec![false; syns.len()];
    for (at, connection) in begun {
        let from = syns.partition_point(|(syn, _)| *syn < at - TOLERANCE_NS);
        let to = syns.partition_point(|(syn, _)| *syn <= at + TOLERANCE_NS);
        let mut near: Vec<(i64, usize)> = (from..to)
            .filter(|place| !taken[*place])
            .map(|place| ((syns[place].0 - at).abs(), place))
            .collect();
        near.sort_unstable();
        let Some((distance, place)) = near.first().copied() else { continue };
        taken[place] = true;
        matched.connections.insert(connection, syns[place].1);
        let is_ambiguous = near.get(1).is_some_and(|(second, _)| second - distance < AMBIGUOUS_NS);
        matched.ambiguous += u64::from(is_ambiguous);
    }
    matched
}
