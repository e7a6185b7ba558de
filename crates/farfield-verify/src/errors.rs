//! Times of samples and of packets side by side: errors of matched requests, and both distributions.
//!
//! Errors are of requests that are matched, answered, complete in the capture and due in the measured part.
//! The distributions have all answered requests of the measured part on either side, matched or not, so that
//! what one side lacks shows.

use crate::distribution::{Distribution, distance};
use crate::frame::Frame;
use crate::matching::{Matching, SampleCause, TransactionCause};
use crate::run::RunRecord;
use crate::times::{TimeKind, is_answered, is_complete};
use farfield_base::{Instant, Sample};
use farfield_capture::{Capture, Transaction, TransactionState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// One of the times of requests, by samples and by packets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimeErrors {
    /// The time that is compared.
    pub time: TimeKind,
    /// Matched requests that have it on both sides.
    pub pairs: u64,
    /// The share that these are of all answered samples of the measured part that have it, but for those of
    /// clients and of times that were not to be captured; null without such.
    #[serde(default)]
    pub compared: Option<f64>,
    /// Mean of the errors' absolute values, in nanoseconds; null without pairs.
    pub mean_absolute_ns: Option<f64>,
    /// The largest absolute value of an error.
    pub max_absolute_ns: Option<i64>,
    /// Mean error: samples less packets.
    pub mean_ns: Option<f64>,
    /// The error that all requests have: the least of the larger 19 in 20, if the samples' times are longer,
    /// and the median one if they are shorter, which packets do not allow for any; null without pairs.
    #[serde(default)]
    pub constant_ns: Option<i64>,
    /// The mean absolute difference of an error from the median one of its client, which is its path's, where
    /// packets were captured beyond the clients' links; null elsewhere.
    pub beyond_path_ns: Option<f64>,
    /// The request with the largest error.
    pub worst: Option<WorstPair>,
    /// The times of all answered samples of the measured part.
    pub samples: Distribution,
    /// The times of all complete transactions of the measured part.
    pub packets: Distribution,
    /// The largest distance of the two distribution functions, from 0 to 1; null where one has no values.
    pub distance: Option<f64>,
}

/// The request with the largest error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorstPair {
    /// The request's connection, as in the samples.
    pub connection: u32,
    /// The request's number on the connection.
    pub number: u32,
    /// The time by the sample, in nanoseconds.
    pub sample_ns: i64,
    /// The time by the packets, in nanoseconds.
    pub packets_ns: i64,
}

/// All that errors are computed from.
#[derive(Debug, Clone, Copy)]
pub struct Sides<'a> {
    /// The samples.
    pub samples: &'a [Sample],
    /// The capture.
    pub capture: &'a Capture,
    /// The run's own record.
    pub run: &'a RunRecord,
    /// Instants of the capture in the run's time.
    pub frame: &'a Frame,
    /// Pairs of samples and transactions.
    pub matching: &'a Matching,
}

impl<'a> Sides<'a> {
    /// Matched requests that are answered and complete, or that their users left in mid-reply, with their
    /// transactions.
    pub fn complete_pairs(self) -> impl Iterator<Item = (&'a Sample, &'a Transaction)> {
        let both = self.matching.pairs.iter().map(move |pair| {
            (&self.samples[pair.sample as usize], &self.capture.transactions[pair.transaction as usize])
        });
        let is_cut = |transaction: &Transaction| transaction.state == TransactionState::Truncated;
        both.filter(move |(sample, transaction)| {
            let is_whole = is_complete(transaction) || sample.is_left() && is_cut(transaction);
            is_answered(sample.outcome) && is_whole
        })
    }

    /// True if the instant is in the measured part, and in no second of it that is set aside.
    pub fn is_measured(self, at_ns: i64) -> bool {
        u64::try_from(at_ns).is_ok_and(|ns| {
            let at = Instant::from_ns(ns);
            let window = self.run.window;
            window.measure_from <= at && at < window.measure_to && !self.run.set_aside.contains(ns)
        })
    }

    /// A time of a transaction, in nanoseconds; the response time from the instant at which it was due.
    pub fn packets_ns(self, time: TimeKind, transaction: &Transaction, due: Option<Instant>) -> Option<i64> {
        match time {
            TimeKind::Response => Some(self.frame.run_ns(transaction.reply_last?) - due?.as_ns() as i64),
            time if time.is_of_connection() && transaction.number > 0 => None,
            _ => time.of_packets(transaction, &self.capture.connections[transaction.connection as usize]),
        }
    }
}

/// The errors of one time.
pub fn errors(sides: Sides<'_>, time: TimeKind) -> TimeErrors {
    let (mut pairs, mut sum, mut signed, mut worst) = (0_u64, 0_i128, 0_i128, None::<WorstPair>);
    let mut packets = Vec::new();
    let mut paths: BTreeMap<IpAddr, Vec<i64>> = BTreeMap::new();
    let mut each = Vec::new();
    for (sample, transaction) in sides.complete_pairs() {
        if !sides.is_measured(sample.due.as_ns() as i64) {
            continue;
        }
        let of_packets = sides.packets_ns(time, transaction, Some(sample.due));
        if !sample.is_left() || time.of_sample(sample).is_some() {
            packets.extend(of_packets);
        }
        let Some((sample_ns, packets_ns)) = time.of_sample(sample).zip(of_packets) else { continue };
        pairs += 1;
        let error = i128::from(sample_ns) - i128::from(packets_ns);
        (sum, signed) = (sum + error.abs(), signed + error);
        each.push(error as i64);
        if sides.matching.at_gateway {
            let client = sides.capture.connections[transaction.connection as usize].client.ip();
            paths.entry(client).or_default().push(error as i64);
        }
        if worst.is_none_or(|worst| error.abs() > i128::from(worst.sample_ns - worst.packets_ns).abs()) {
            worst = Some(WorstPair {
                connection: sample.connection,
                number: sample.number,
                sample_ns,
                packets_ns,
            });
        }
    }
    packets.extend(alone(sides, time));
    let mut samples = of_samples(sides, time, SampleCause::is_out_of_reach);
    let holds_all = sides.run.captures_all && sides.capture.limits.cut_short.is_none();
    let beyond: fn(SampleCause) -> bool = match holds_all {
        true => |cause| cause == SampleCause::CameBefore,
        false => |cause| cause == SampleCause::CameBefore || cause.is_beyond_capture(),
    };
    let reachable = of_samples(sides, time, beyond).len();
    samples.sort_unstable();
    packets.sort_unstable();
    let mean = |sum: i128| (pairs > 0).then(|| sum as f64 / pairs as f64);
    TimeErrors {
        time,
        pairs,
        compared: (reachable > 0).then(|| pairs as f64 / reachable as f64),
        mean_absolute_ns: mean(sum),
        max_absolute_ns: worst.map(|worst| (worst.sample_ns - worst.packets_ns).abs()),
        mean_ns: mean(signed),
        constant_ns: constant(each),
        beyond_path_ns: beyond_paths(paths),
        worst,
        samples: Distribution::of_sorted(&samples),
        packets: Distribution::of_sorted(&packets),
        distance: distance(&samples, &packets),
    }
}

/// The errors of one time, of matched requests that were due in the measured part: samples less packets.
pub(crate) fn each(sides: Sides<'_>, time: TimeKind) -> Vec<i64> {
    let measured = sides.complete_pairs().filter(|(own, _)| sides.is_measured(own.due.as_ns() as i64));
    let error = |(sample, transaction): (&Sample, &Transaction)| {
        Some(time.of_sample(sample)? - sides.packets_ns(time, transaction, Some(sample.due))?)
    };
    measured.filter_map(error).collect()
}

/// The error that all requests have, of the errors of each.
pub(crate) fn constant(mut errors: Vec<i64>) -> Option<i64> {
    errors.sort_unstable();
    let [low, median] = [errors.get(errors.len() / 20)?, errors.get(errors.len() / 2)?];
    Some(if *low > 0 { *low } else { (*median).min(0) })
}

/// Times of answered samples of the measured part, without those that are alone for a cause that is
/// `left_out`.
fn of_samples(sides: Sides<'_>, time: TimeKind, left_out: fn(SampleCause) -> bool) -> Vec<i64> {
    let alone = sides.matching.samples_alone.iter().filter(|(_, cause)| left_out(*cause));
    let alone: BTreeSet<u32> = alone.map(|(at, _)| *at).collect();
    let each = sides.samples.iter().enumerate().filter(|(at, _)| !alone.contains(&(*at as u32)));
    let measured = each.filter(|(_, sample)| sides.is_measured(sample.due.as_ns() as i64));
    let answered = measured.filter(|(_, sample)| is_answered(sample.outcome));
    answered.filter_map(|(_, sample)| time.of_sample(sample)).collect()
}

/// The mean absolute difference of errors from the median of their client; `None` without errors.
fn beyond_paths(paths: BTreeMap<IpAddr, Vec<i64>>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0_usize);
    for mut errors in paths.into_values() {
        errors.sort_unstable();
        let median = errors[errors.len() / 2];
        sum += errors.iter().map(|error| (error - median).abs() as f64).sum::<f64>();
        count += errors.len();
    }
    (count > 0).then(|| sum / count as f64)
}

/// Times of complete transactions of the measured part that no sample is of, though one should be.
fn alone(sides: Sides<'_>, time: TimeKind) -> impl Iterator<Item = i64> {
    let unexplained = |cause| cause == TransactionCause::Unexplained;
    let alone = sides.matching.transactions_alone.iter().filter(move |(_, cause)| unexplained(*cause));
    let transactions = alone.map(move |(at, _)| &sides.capture.transactions[*at as usize]);
    transactions
        .filter(move |t| is_complete(t) && sides.is_measured(sides.frame.run_ns(t.request_first)))
        .filter_map(move |transaction| sides.packets_ns(time, transaction, None))
}
