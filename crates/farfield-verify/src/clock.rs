//! The relation of two clocks, estimated from instants that both saw, with its error.
//!
//! A request is sent before its first packet passes, and a reply passes before it is read. With θ(t) what
//! the capture's clock is ahead of the run's, each request bounds θ from above (packet − sent), each reply
//! from below (packet − read). The envelopes of these bounds enclose θ, since the least delay of many is
//! nearly none (Moon, Skelly and Towsley 1999, "Estimation and removal of clock skew from network delay
//! measurements").
//!
//! Envelopes are taken in intervals with the same number of bounds: the percentile 1 and 99 of each, so that
//! a few mismatched packets do no harm. Through their middle goes the line of Theil and Sen, the median of
//! all slopes, with Sen's confidence interval (Sen 1968, "Estimates of the regression coefficient based on
//! Kendall's tau"). The offset's error is half of the distance of the envelopes, which no estimate from
//! these packets can beat.
//!
//! Not here: clocks that are set, or whose drift changes, during a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Intervals of an estimate at most.
const INTERVALS: usize = 60;
/// Bounds of either kind in an interval at least.
const IN_INTERVAL: usize = 20;

/// An instant, and a bound on what the capture's clock is ahead of the run's then, both in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClockBound {
    /// The instant, by the capture's clock, since the assumed start of the run.
    pub at_ns: i64,
    /// The bound.
    pub ahead_ns: i64,
}

/// The advance of a capture's clock over a run's: `offset + drift · t`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClockRelation {
    /// Nanoseconds ahead at the middle of the matched packets.
    pub offset_ns: f64,
    /// The most by which that may be wrong: half the distance of the envelopes.
    pub offset_error_ns: f64,
    /// Nanoseconds that it gains per second, divided by 1,000: parts per million. Zero where not estimated.
    pub drift_ppm: f64,
    /// Half the width of the drift's 95 % confidence interval; null where it could not be estimated.
    pub drift_error_ppm: Option<f64>,
    /// The middle of the matched packets, in nanoseconds since the assumed start of the run.
    pub middle_ns: f64,
    /// Number of bounds.
    pub bounds: u64,
    /// True if replies passed after they had been read, by the estimate: the samples' instants are inexact.
    pub inverted: bool,
}

impl ClockRelation {
    /// Nanoseconds that the capture's clock is ahead at `at_ns`.
    pub fn ahead_ns(&self, at_ns: i64) -> f64 {
        self.offset_ns + self.drift_ppm * 1e-6 * (at_ns as f64 - self.middle_ns)
    }

    /// The instant `at_ns` of the capture's clock by the run's.
    pub fn to_run(&self, at_ns: i64) -> i64 {
        at_ns - self.ahead_ns(at_ns).round() as i64
    }
}

/// Estimates the relation from bounds from above and from below; `None` without either.
pub fn estimate(above: Vec<ClockBound>, below: Vec<ClockBound>) -> Option<ClockRelation> {
    let first = estimate_once(above.clone(), below.clone())?;
    // Within an interval a drift moves bounds towards and beyond each other: what is left of it once the
    // first estimate is taken off does not.
    let rest = |mut bounds: Vec<ClockBound>| {
        bounds.iter_mut().for_each(|bound| bound.ahead_ns -= first.ahead_ns(bound.at_ns).round() as i64);
        bounds
    };
    let rest = estimate_once(rest(above), rest(below))?;
    Some(ClockRelation {
        offset_ns: first.ahead_ns(rest.middle_ns as i64) + rest.offset_ns,
        drift_ppm: first.drift_ppm + rest.drift_ppm,
        ..rest
    })
}

fn estimate_once(mut above: Vec<ClockBound>, mut below: Vec<ClockBound>) -> Option<ClockRelation> {
    let fewest = above.len().min(below.len());
    if fewest == 0 {
        return None;
    }
    above.sort_unstable_by_key(|bound| bound.at_ns);
    below.sort_unstable_by_key(|bound| bound.at_ns);
    let intervals = (fewest / IN_INTERVAL).clamp(1, INTERVALS);
    let edges = edges(&above, intervals);
    let mut middles = Vec::new();
    let mut gaps = Vec::new();
    for edge in edges.windows(2) {
        let within = |bounds: &[ClockBound]| -> Vec<ClockBound> {
            let from = bounds.partition_point(|bound| bound.at_ns < edge[0]);
            let to = bounds.partition_point(|bound| bound.at_ns < edge[1]);
            bounds[from..to].to_vec()
        };
        let (high, low) = (within(&above), within(&below));
        if high.is_empty() || low.is_empty() {
            continue;
        }
        let (high_at, high) = envelope(&high, 10);
        let (low_at, low) = envelope(&low, 990);
        middles.push(((high_at + low_at) / 2.0, (high + low) / 2.0));
        gaps.push(high - low);
    }
    if middles.is_empty() {
        return None;
    }
    let (drift, drift_error) = theil_sen(&middles);
    let middle_ns = middles.iter().map(|(at, _)| at).sum::<f64>() / middles.len() as f64;
    let offset_ns = median(middles.iter().map(|(at, y)| y - drift * (at - middle_ns)).collect());
    let gap = median(gaps);
    Some(ClockRelation {
        offset_ns,
        offset_error_ns: gap.abs() / 2.0,
        drift_ppm: drift * 1e6,
        drift_error_ppm: drift_error.map(|error| error * 1e6),
        middle_ns,
        bounds: (above.len() + below.len()) as u64,
        inverted: gap < 0.0,
    })
}

/// Instants that cut `sorted` bounds into parts of the same number.
fn edges(sorted: &[ClockBound], parts: usize) -> Vec<i64> {
    let mut edges: Vec<i64> = (0..parts).map(|part| sorted[part * sorted.len() / parts].at_ns).collect();
    edges[0] = i64::MIN;
    edges.push(i64::MAX);
    edges
}

/// The mean instant of the bounds, and their percentile, in tenths of a per cent.
fn envelope(bounds: &[ClockBound], per_mille: usize) -> (f64, f64) {
    let mut values: Vec<i64> = bounds.iter().map(|bound| bound.ahead_ns).collect();
    values.sort_unstable();
    let at = bounds.iter().map(|bound| bound.at_ns as f64).sum::<f64>() / bounds.len() as f64;
    // Of few bounds the percentile is the extreme itself.
    let value = if per_mille > 500 && bounds.len() < 100 {
        values.last().copied()
    } else {
        crate::distribution::nearest_rank(&values, per_mille)
    };
    (at, value.expect("bounds are not empty") as f64)
}

/// The median slope of all pairs of points, and half the width of its 95 % interval, from four points on.
fn theil_sen(points: &[(f64, f64)]) -> (f64, Option<f64>) {
    if points.len() < 4 {
        return (0.0, None);
    }
    let mut slopes: Vec<f64> = Vec::with_capacity(points.len() * points.len() / 2);
    for (at, (x, y)) in points.iter().enumerate() {
        slopes.extend(points[at + 1..].iter().filter(|(u, _)| u != x).map(|(u, v)| (v - y) / (u - x)));
    }
    if slopes.is_empty() {
        return (0.0, None);
    }
    slopes.sort_unstable_by(f64::total_cmp);
    let n = points.len() as f64;
    let spread = 1.96 * (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
    let all = slopes.len() as f64;
    let low = (((all - spread) / 2.0).floor().max(0.0)) as usize;
    let high = (((all + spread) / 2.0).ceil() as usize).min(slopes.len() - 1);
    let error = (slopes[high] - slopes[low]) / 2.0;
    (median_of_sorted(&slopes), Some(error))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    median_of_sorted(&values)
}

fn median_of_sorted(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[half] } else { (sorted[half - 1] + sorted[half]) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_base::random::{Purpose, Seed};
    use farfield_traffic::Distribution;
    use farfield_traffic::distribution::Exponential;

    /// Delays of 2 µs and, in the mean, 40 µs more, on a clock with a known relation; one packet in `wild`
    /// is mismatched by a second.
    fn bounds(offset: f64, drift_ppm: f64, wild: Option<u64>) -> (Vec<ClockBound>, Vec<ClockBound>) {
        let mut rng = Seed(9).stream(Purpose::User, 0);
        let delay = Distribution::Exponential(Exponential::with_mean(40_000.0).expect("a mean"));
        let mut bound = |number: u64, sign: f64| {
            let at = number as f64 * 1e6;
            let late = 2_000.0 + delay.sample(&mut rng);
            let off = if wild.is_some_and(|wild| number % wild == 7) { -sign * 1e9 } else { 0.0 };
            let ahead = offset + drift_ppm * 1e-6 * at + sign * late + off;
            ClockBound { at_ns: at as i64, ahead_ns: ahead as i64 }
        };
        ((0..5_000).map(|n| bound(n, 1.0)).collect(), (0..5_000).map(|n| bound(n, -1.0)).collect())
    }

    #[test]
    fn a_known_relation_is_found_within_its_error() {
        for (offset, drift) in [(0.0, 0.0), (3.7e6, 25.0), (-8.1e9, -120.0)] {
            let (above, below) = bounds(offset, drift, None);
            let found = estimate(above, below).expect("bounds");
            for at in [0_i64, 2_500_000_000, 5_000_000_000] {
                let truth = offset + drift * 1e-6 * at as f64;
                let error = (found.ahead_ns(at) - truth).abs();
                assert!(error < found.offset_error_ns.max(3_000.0), "{found:?} at {at}: wrong by {error} ns");
            }
            let error = found.drift_error_ppm.expect("enough intervals");
            assert!((found.drift_ppm - drift).abs() < 2.0 * error + 0.01, "{found:?}");
            assert!(!found.inverted);
        }
    }

    #[test]
    fn a_few_mismatched_packets_do_no_harm() {
        let (above, below) = bounds(5e6, 0.0, Some(250));
        let found = estimate(above, below).expect("bounds");
        assert!((found.offset_ns - 5e6).abs() < 5_000.0, "{found:?}");
    }

    #[test]
    fn few_bounds_give_an_offset_without_a_drift() {
        let at = |ns, ahead| ClockBound { at_ns: ns, ahead_ns: ahead };
        let found = estimate(vec![at(10, 120)], vec![at(20, 100)]).expect("bounds");
        assert_eq!((found.offset_ns, found.offset_error_ns), (110.0, 10.0));
        assert_eq!((found.drift_ppm, found.drift_error_ppm), (0.0, None));
        assert_eq!(found.to_run(1_000), 890);
        assert!(estimate(Vec::new(), vec![at(1, 1)]).is_none());
        assert!(estimate(vec![at(10, 90)], vec![at(20, 100)]).expect("bounds").inverted);
    }
}
