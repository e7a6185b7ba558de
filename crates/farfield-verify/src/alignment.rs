//! Instants of a capture on the run's time: one clock or two, and how far apart.
//!
//! A run's own capture is stamped by the clock of its samples. Another program's capture on the same machine
//! is as well, but nothing in the file says so: the run claims when it started by the clock of its machine,
//! and packets decide. Three of them show where the capture was taken, whatever the samples say: the client
//! acknowledges a SYN-ACK at once, so that the time between the two is the way from the capture to the client
//! and back (as RFC 6298's first measurement of a round trip, from the middle of the path).
//!
//! | round trip to clients | estimated offset to the claim | clocks |
//! | --- | --- | --- |
//! | within the limit of times | within its error and the limit of constant errors | one |
//! | at most 30 µs | beyond that, within 1 ms, without a drift | one, and the offset is an error |
//! | at most 30 µs | beyond that, without a drift | two by name, and the offset is an error |
//! | within the limit of times | otherwise | two |
//! | more | any | two: the capture is elsewhere |
//!
//! The second row and the third are a judgement: two clocks on one machine that do not drift apart are one,
//! and a way of 30 µs there and back leads to no other machine but the next. Beyond a millisecond packets are
//! aligned by the estimate first, since nothing would match without. A card that stamps packets with a clock
//! of its own, which another daemon keeps, is taken for an error as well, and the finding's advice names
//! that.

use crate::clock::{self, ClockBound, ClockRelation};
use crate::findings::time;
use crate::frame::Frame;
use crate::handshakes;
use crate::matching::{self, Matching};
use crate::run::{RunRecord, RunStart};
use crate::times::is_answered;
use crate::verification::AgreementLimits;
use farfield_base::{Opened, Sample};
use farfield_capture::Capture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Bounds on the clocks' relation that are used at most.
const BOUNDS: usize = 500_000;
/// Two readings of one clock are not farther apart, unless it was set between the two.
const ONE_CLOCK_NS: f64 = 1e6;
/// Packets that take longer to the clients and back may have been captured at another machine.
pub(crate) const ONE_MACHINE_NS: f64 = 30_000.0;
/// Starts that are farther apart are not expressed by each other: a double holds nanoseconds up to here.
const COMMENSURATE_NS: i64 = 1_000_000_000_000_000;

/// The clocks of run and capture.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Clocks {
    /// True if run and capture had one clock, so that the estimate only checks it.
    pub same: bool,
    /// The estimate; null without matched requests.
    pub estimate: Option<ClockRelation>,
    /// The way from the capture to the clients and back, of another program's capture: of one handshake in
    /// twenty less than this, in nanoseconds. Null of the run's own captures, and without a handshake.
    #[serde(default)]
    pub round_trip_ns: Option<u64>,
    /// Why another program's capture was taken for one of another clock; null where it was not.
    #[serde(default)]
    pub reason: Option<String>,
}

/// Finds the relation of the clocks and matches all requests by it.
pub(crate) fn align(
    samples: &[Sample],
    capture: &Capture,
    run: &RunRecord,
    limits: AgreementLimits,
) -> (Frame, Matching, Clocks) {
    match run.start {
        RunStart::Exact(start) => by_one_clock(samples, capture, run, start),
        RunStart::Claimed(start) => by_claim(samples, capture, run, start, limits),
        RunStart::Unknown => by_estimate(samples, capture, run),
    }
}

fn by_one_clock(
    samples: &[Sample],
    capture: &Capture,
    run: &RunRecord,
    start: u64,
) -> (Frame, Matching, Clocks) {
    let frame = Frame::exact(start);
    let matching = matching::match_all(samples, capture, run, &frame);
    let estimate = estimate(samples, capture, &matching, &frame);
    (frame, matching, Clocks { same: true, estimate, ..Clocks::default() })
}

/// By matched packets alone, in a frame that begins with the capture's first packet.
fn by_estimate(samples: &[Sample], capture: &Capture, run: &RunRecord) -> (Frame, Matching, Clocks) {
    let mut frame = Frame::exact(capture.limits.first.map_or(0, |at| at.0));
    let ahead = match &run.connections {
        Some(rows) => by_addresses(rows, capture, &frame),
        None => handshakes::vote(samples, capture, &frame).map(|(ahead, _)| ahead),
    };
    frame.relation = ClockRelation { offset_ns: ahead.unwrap_or(0) as f64, ..ClockRelation::default() };
    let mut matching = matching::match_all(samples, capture, run, &frame);
    let estimate = estimate(samples, capture, &matching, &frame);
    if let Some(found) = estimate {
        frame.relation = found;
        matching = matching::match_all(samples, capture, run, &frame);
    }
    let clocks = Clocks { estimate, round_trip_ns: round_trip(capture, &matching), ..Clocks::default() };
    (frame, matching, clocks)
}

/// By matched packets, held against the claim that the run started at `start` by the capture's clock.
fn by_claim(
    samples: &[Sample],
    capture: &Capture,
    run: &RunRecord,
    start: u64,
    limits: AgreementLimits,
) -> (Frame, Matching, Clocks) {
    let (mut frame, matching, mut clocks) = by_estimate(samples, capture, run);
    // The difference of the two starts, whichever is the later.
    let apart = frame.start_unix_ns.wrapping_sub(start) as i64;
    let Some(found) = clocks.estimate else { return (frame, matching, clocks) };
    if apart.unsigned_abs() < COMMENSURATE_NS.unsigned_abs() {
        let moved = ClockRelation {
            offset_ns: found.offset_ns + apart as f64,
            middle_ns: found.middle_ns + apart as f64,
            ..found
        };
        frame = Frame { start_unix_ns: start, relation: moved };
        clocks.estimate = Some(moved);
        clocks.reason = two_clocks(&moved, clocks.round_trip_ns, &matching, run, limits);
    } else {
        let days = apart.unsigned_abs() / 86_400_000_000_000;
        clocks.reason = Some(format!("the capture's clock is {days} days from that of the run's machine"));
    }
    if clocks.reason.is_some() {
        return (frame, matching, clocks);
    }
    let round_trip_ns = clocks.round_trip_ns;
    let (frame, matching, clocks) = by_one_clock(samples, capture, run, start);
    (frame, matching, Clocks { round_trip_ns, ..clocks })
}

/// Why a capture that is apart from the claim by `found` has another clock, or may have one; `None` if it has
/// that of the run's machine.
fn two_clocks(
    found: &ClockRelation,
    round_trip_ns: Option<u64>,
    matching: &Matching,
    run: &RunRecord,
    limits: AgreementLimits,
) -> Option<String> {
    let limit = limits.error_ns as f64;
    let (offset, error) = (found.offset_ns, found.offset_error_ns);
    let away = away(found, round_trip_ns);
    if away > limit && !matching.at_gateway {
        return Some(format!(
            "packets take {} from the capture to the clients and back, so that it was not taken at the run's \
             machine, whatever its clock",
            time(away)
        ));
    }
    if let Some(gained) = gained(found, run, limit) {
        return Some(format!(
            "it gains {:.1} ppm on the run's, {} over the run, which a machine's own clock does not",
            found.drift_ppm,
            time(gained)
        ));
    }
    // A scenario may excuse any error of times; another clock is another clock all the same.
    let is_apart = offset.abs() > error + (limits.constant_ns.max(1) as f64).min(ONE_CLOCK_NS);
    let may_be_two = offset.abs() > ONE_CLOCK_NS || away > ONE_MACHINE_NS && !matching.at_gateway;
    (is_apart && may_be_two).then(|| {
        format!(
            "it is {} ± {} {} that of the run's machine: another machine's, or one that was set",
            time(offset.abs()),
            time(error),
            if offset > 0.0 { "ahead of" } else { "behind" }
        )
    })
}

/// The way from the capture to the clients and back, in nanoseconds. Without a handshake the requests
/// themselves bound it, if samples are right.
fn away(found: &ClockRelation, round_trip_ns: Option<u64>) -> f64 {
    round_trip_ns.map_or(2.0 * found.offset_error_ns, |ns| ns as f64)
}

/// The nanoseconds that a clock which does not keep the run's pace gains over the run; `None` of one that
/// does, within `limit`.
fn gained(found: &ClockRelation, run: &RunRecord, limit: f64) -> Option<f64> {
    let gained = found.drift_ppm * 1e-6 * run.end.as_ns() as f64;
    let error = found.drift_error_ppm?;
    let is_beyond = gained.abs() > limit.max(2.0 * found.offset_error_ns);
    (found.drift_ppm.abs() > 2.0 * error && is_beyond).then_some(gained)
}

/// True if the clock of a capture that was taken at the run's machine keeps the run's pace, and yet is not
/// the run's: one of the two is set wrong.
pub(crate) fn is_set_wrong(
    clocks: &Clocks,
    at_gateway: bool,
    run: &RunRecord,
    limits: AgreementLimits,
) -> bool {
    let Some(found) = clocks.estimate.filter(|_| clocks.reason.is_some() && !at_gateway) else {
        return false;
    };
    let is_here = away(&found, clocks.round_trip_ns) <= ONE_MACHINE_NS;
    is_here && gained(&found, run, limits.error_ns as f64).is_none()
}

/// The time that one in twenty of the matched connections at most had between SYN-ACK and the client's
/// acknowledgement, in nanoseconds.
fn round_trip(capture: &Capture, matching: &Matching) -> Option<u64> {
    let ways = ways(capture, matching);
    ways.get(ways.len() / 20).copied()
}

/// The ways from the capture to the clients of matched connections and back, in nanoseconds, in order.
pub(crate) fn ways(capture: &Capture, matching: &Matching) -> Vec<u64> {
    let connections = matching.connections.values().map(|at| &capture.connections[*at as usize]);
    let mut ways: Vec<u64> = connections
        .filter(|connection| !connection.is_quic)
        .filter_map(|connection| connection.established?.0.checked_sub(connection.syn_ack?.0))
        .collect();
    ways.sort_unstable();
    ways
}

/// Nanoseconds that the capture's clock is ahead, in the median of connections whose client addresses occur
/// once.
fn by_addresses(rows: &[Opened], capture: &Capture, frame: &Frame) -> Option<i64> {
    let mut seen: BTreeMap<_, Vec<i64>> = BTreeMap::new();
    for connection in &capture.connections {
        let at = frame.since_start(connection.syn.unwrap_or(connection.first));
        seen.entry(connection.client).or_default().push(at);
    }
    let mut begun: BTreeMap<_, Vec<i64>> = BTreeMap::new();
    for row in rows {
        begun.entry(row.client).or_default().push(row.at.as_ns() as i64);
    }
    let once = |(client, begun): (_, Vec<i64>)| {
        let seen = seen.get(&client).filter(|seen| seen.len() == 1 && begun.len() == 1)?;
        Some(seen[0] - begun[0])
    };
    let mut ahead: Vec<i64> = begun.into_iter().filter_map(once).collect();
    ahead.sort_unstable();
    ahead.get(ahead.len() / 2).copied()
}

/// The clocks' relation by matched requests: a packet of a request passes after it was sent, one of a reply
/// before it was read.
pub(crate) fn estimate(
    samples: &[Sample],
    capture: &Capture,
    matching: &Matching,
    frame: &Frame,
) -> Option<ClockRelation> {
    let step = matching.pairs.len().div_ceil(BOUNDS).max(1);
    let (mut above, mut below) = (Vec::new(), Vec::new());
    for pair in matching.pairs.iter().step_by(step) {
        let sample = &samples[pair.sample as usize];
        let transaction = &capture.transactions[pair.transaction as usize];
        let bound = |packet: i64, run: u64| ClockBound { at_ns: packet, ahead_ns: packet - run as i64 };
        if let Some(sent) = sample.sent.instant() {
            above.push(bound(frame.since_start(transaction.request_first), sent.as_ns()));
        }
        let first = sample.first_byte.instant().filter(|_| is_answered(sample.outcome));
        if let Some((read, passed)) = first.zip(transaction.reply_first) {
            below.push(bound(frame.since_start(passed), read.as_ns()));
        }
    }
    clock::estimate(above, below)
}
