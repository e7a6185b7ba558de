//! A rate over time, its integral, and the inverse of the integral.
//!
//! A curve is a row of segments: a rate held, a ramp, a sine. It goes on for ever, ends, or repeats. Inside
//! one segment integral and inverse are in closed form (the sine's inverse by safeguarded Newton steps), with
//! time counted from the segment's start, so that precision does not fade over a long run.

use farfield_base::{Duration, Instant, Rate};
use std::f64::consts::TAU;

/// Course of the rate inside one segment. Rates in arrivals a second, never negative; times in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Shape {
    /// Constant.
    Hold { rate: f64 },
    /// From one rate to another, linearly over `length_s`.
    Ramp { from: f64, to: f64, length_s: f64 },
    /// mean + amplitude · sin(2πt / period), with the amplitude at most the mean.
    Sine { mean: f64, amplitude: f64, period_s: f64 },
}

impl Shape {
    fn rate(self, t: f64) -> f64 {
        match self {
            Shape::Hold { rate } => rate,
            Shape::Ramp { from, to, length_s } => from + (to - from) * t / length_s,
            Shape::Sine { mean, amplitude, period_s } => mean + amplitude * (TAU * t / period_s).sin(),
        }
    }

    /// The integral of the rate over [0, t].
    fn cumulative(self, t: f64) -> f64 {
        match self {
            Shape::Hold { rate: 0.0 } => 0.0, // also for ever, where the product is undefined
            Shape::Hold { rate } => rate * t,
            Shape::Ramp { from, to, length_s } => t * (from + (to - from) * t / length_s / 2.0),
            Shape::Sine { mean, amplitude, period_s } => {
                // 1 − cos x as 2 sin²(x/2), which does not cancel at small x.
                let half = (TAU * t / period_s / 2.0).sin();
                mean * t + amplitude * period_s / TAU * 2.0 * half * half
            }
        }
    }

    /// The t in [0, length] at which the integral reaches `count`.
    fn inverse(self, count: f64, length: f64) -> f64 {
        if count <= 0.0 {
            return 0.0;
        }
        let t = match self {
            Shape::Hold { rate } => count / rate,
            Shape::Ramp { from, to, length_s } => {
                // The quadratic's root with the sum in the denominator, exact for flat ramps too.
                let squared = from * from + 2.0 * count * (to - from) / length_s;
                2.0 * count / (from + squared.max(0.0).sqrt())
            }
            Shape::Sine { mean, period_s, .. } => {
                // Each whole period brings the mean: only the one in which it happens is searched.
                let begin = (count / (mean * period_s)).floor() * period_s;
                self.search(count, begin.min(length), (begin + period_s).min(length))
            }
        };
        t.min(length)
    }

    /// The inverse in [low, high] by Newton's method, or by halving where that would leave the bracket: the
    /// rate may touch zero.
    fn search(self, count: f64, mut low: f64, mut high: f64) -> f64 {
        const PRECISION_S: f64 = 1e-10;
        let mut t = low + (high - low) / 2.0;
        while high - low > PRECISION_S {
            let excess = self.cumulative(t) - count;
            let newton = t - excess / self.rate(t);
            if (newton - t).abs() < PRECISION_S {
                return newton.clamp(low, high);
            }
            if excess > 0.0 {
                high = t;
            } else {
                low = t;
            }
            let middle = low + (high - low) / 2.0;
            if middle <= low || middle >= high {
                break; // so late in a long segment that seconds have no finer grain
            }
            t = if newton > low && newton < high { newton } else { middle };
        }
        t
    }
}

#[derive(Debug, Clone, PartialEq)]
struct Segment {
    begins: Instant,
    count_before: f64,
    length_s: f64,
    shape: Shape,
}

/// A rate over time.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Curve {
    /// At least one, in order.
    segments: Vec<Segment>,
    length: Duration,
    /// The integral over all segments.
    total: f64,
    repeats: bool,
}

impl Curve {
    /// `rate` for ever.
    pub(super) fn steady(rate: Rate) -> Curve {
        let shape = Shape::Hold { rate: rate.as_per_second() };
        let total = shape.cumulative(f64::INFINITY);
        let segment = Segment { begins: Instant::ZERO, count_before: 0.0, length_s: f64::INFINITY, shape };
        Curve { segments: vec![segment], length: Duration::MAX, total, repeats: false }
    }

    /// Shapes one after the other, each as long as said. `None` if there is none, if it takes no time, or if
    /// nothing would ever arrive.
    pub(super) fn schedule(shapes: &[(Duration, Shape)], repeats: bool) -> Option<Curve> {
        let (mut begins, mut count_before) = (Instant::ZERO, 0.0);
        let mut segments = Vec::with_capacity(shapes.len());
        for (length, shape) in shapes.iter().copied() {
            let length_s = length.as_secs_f64();
            segments.push(Segment { begins, count_before, length_s, shape });
            begins += length;
            count_before += shape.cumulative(length_s);
        }
        let length = begins.since(Instant::ZERO);
        let some = !length.is_zero() && count_before > 0.0;
        some.then_some(Curve { segments, length, total: count_before, repeats })
    }

    /// True for one rate for ever.
    pub(super) fn is_steady(&self) -> bool {
        matches!(self.segments[..], [Segment { length_s: f64::INFINITY, .. }])
    }

    pub(super) fn mean_rate(&self) -> Option<Rate> {
        match self.segments[0] {
            Segment { length_s: f64::INFINITY, shape, .. } => Rate::per_second(shape.rate(0.0)).ok(),
            _ => Rate::per_second(self.total / self.length.as_secs_f64()).ok(),
        }
    }

    pub(super) fn rate_at(&self, instant: Instant) -> f64 {
        let Some((_, within)) = self.round(instant) else { return 0.0 };
        let segment = self.segment_at(within);
        segment.shape.rate(within.since(segment.begins).as_secs_f64())
    }

    /// The integral of the rate from the start of the run to `instant`.
    pub(super) fn cumulative(&self, instant: Instant) -> f64 {
        let Some((round, within)) = self.round(instant) else { return self.total };
        let segment = self.segment_at(within);
        let inside = segment.shape.cumulative(within.since(segment.begins).as_secs_f64());
        let rounds = if round == 0 { 0.0 } else { round as f64 * self.total };
        rounds + segment.count_before + inside
    }

    /// Instant at which the integral reaches `count`, which is not negative; `None` if it never does.
    pub(super) fn instant_of(&self, count: f64) -> Option<Instant> {
        let (round, rest) = if self.repeats {
            let round = (count / self.total).floor();
            (round as u64, (count - round * self.total).clamp(0.0, self.total))
        } else if count < self.total {
            (0, count)
        } else {
            return None;
        };
        // The last of those that begin there: an arrival on the edge of a pause comes after it.
        let place = self.segments.partition_point(|segment| segment.count_before <= rest) - 1;
        let segment = &self.segments[place];
        let inside = segment.shape.inverse(rest - segment.count_before, segment.length_s);
        let instant = segment.begins + self.length.times(round) + Duration::from_secs_f64(inside);
        (instant < Instant::MAX).then_some(instant)
    }

    /// Index of the round at `instant`, from 0, and the instant within the round; `None` after the end.
    fn round(&self, instant: Instant) -> Option<(u64, Instant)> {
        let (ns, length) = (instant.as_ns(), self.length.as_ns());
        if self.repeats {
            Some((ns / length, Instant::from_ns(ns % length)))
        } else {
            (ns < length).then_some((0, instant))
        }
    }

    fn segment_at(&self, within: Instant) -> &Segment {
        &self.segments[self.segments.partition_point(|segment| segment.begins <= within) - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shape(length_s: f64) -> impl Strategy<Value = Shape> {
        let rate = || prop_oneof![1 => Just(0.0), 5 => 0.01..1e5f64];
        prop_oneof![
            rate().prop_map(|rate| Shape::Hold { rate }),
            (rate(), rate()).prop_map(move |(from, to)| Shape::Ramp { from, to, length_s }),
            (rate(), 0.0..=1.0, 0.1..100.0).prop_map(|(mean, share, period_s)| Shape::Sine {
                mean,
                amplitude: mean * share,
                period_s
            }),
        ]
    }

    fn segment() -> impl Strategy<Value = (Duration, Shape)> {
        (1u64..60_000).prop_flat_map(|ms| {
            let length = Duration::from_ms(ms);
            (Just(length), shape(length.as_secs_f64()))
        })
    }

    proptest! {
        /// The integral at the instant at which it reaches a count is that count, to what the rate makes of
        /// the nanosecond to which the instant is rounded.
        #[test]
        fn the_inverse_undoes_the_integral(
            shapes in proptest::collection::vec(segment(), 1..6),
            repeats in any::<bool>(),
            at in 0.0..1.0f64,
        ) {
            let Some(curve) = Curve::schedule(&shapes, repeats) else { return Ok(()) };
            let count = at * curve.total * if repeats { 50.0 } else { 1.0 };
            let instant = curve.instant_of(count).expect("below the total");
            let reached = curve.cumulative(instant);
            let limit = 1e5 * 2.0 * 2e-9 + 1e-12 * count;
            prop_assert!((reached - count).abs() <= limit, "{reached} at {instant:?}, not {count}");
        }

        #[test]
        fn the_integral_is_the_sum_of_the_rate(shapes in proptest::collection::vec(segment(), 1..4)) {
            let Some(curve) = Curve::schedule(&shapes, false) else { return Ok(()) };
            // Simpson's rule, segment by segment: exact for held rates and ramps, near for sines.
            for (segment, (length, shape)) in curve.segments.iter().zip(&shapes) {
                const STEPS: u32 = 20_000;
                let (whole, step) = (length.as_secs_f64(), length.as_secs_f64() / f64::from(STEPS));
                let simpson: f64 = (0..STEPS)
                    .map(|i| {
                        let t = f64::from(i) * step;
                        (shape.rate(t) + 4.0 * shape.rate(t + step / 2.0) + shape.rate(t + step)) * step / 6.0
                    })
                    .sum();
                let end = segment.begins + *length;
                let inside = curve.cumulative(end) - curve.cumulative(segment.begins);
                prop_assert!((inside - simpson).abs() <= 1e-6 * (1.0 + simpson), "{inside} not {simpson} in {whole} s");
            }
        }
    }

    #[test]
    fn nothing_arrives_in_a_pause() {
        let hold = |secs, rate| (Duration::from_secs(secs), Shape::Hold { rate });
        let curve =
            Curve::schedule(&[hold(1, 10.0), hold(5, 0.0), hold(1, 10.0)], false).expect("it has arrivals");
        assert_eq!(curve.instant_of(10.0), Some(Instant::from_ns(6_000_000_000)));
        assert_eq!(curve.instant_of(20.0), None);
        assert_eq!(curve.rate_at(Instant::from_ns(2_000_000_000)), 0.0);
        assert!(Curve::schedule(&[hold(1, 0.0)], true).is_none());
    }
}
